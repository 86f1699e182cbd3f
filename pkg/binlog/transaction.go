package binlog

// transaction is how far the present one is.
type transaction struct {
	open bool
	// ends says that an event will end it. If not, its first statement does.
	ends bool
	// left is how many bytes are still to come, if sized: all events that it has.
	left  int64
	sized bool
	// prepared says that its end leaves it to an XA COMMIT. Its name is in Reader.scratch then.
	prepared bool
}

// begin gives out a Begin. One that is open is cut off.
func (r *Reader) begin(ends bool) *Event {
	r.cut("a transaction begins before the one before has ended")
	r.tx = transaction{open: true, ends: ends}
	return r.put(Begin)
}

// within makes sure that a transaction is open, since what comes is of one.
func (r *Reader) within(ends bool) {
	if !r.tx.open {
		r.begin(ends).Anonymous = true
	}
}

// end gives out an End.
func (r *Reader) end() {
	r.within(true)
	r.tx.open = false
	e := r.put(End)
	if r.tx.prepared {
		e.Prepared, e.XID = true, r.scratch
	}
}

// over ends a transaction at the event that says so; in a payload, when that has been read to its end.
func (r *Reader) over() {
	if !r.payload.open {
		r.end()
	}
}

// cut ends a transaction of which no more comes.
func (r *Reader) cut(reason string) {
	if r.tx.open {
		r.put(Lost).Reason = reason
		r.end()
	}
}

// lost gives out a Lost.
func (r *Reader) lost(reason string) {
	r.within(false)
	r.put(Lost).Reason = reason
	r.single()
}

// alone tells whether what is given out is all that there is of its transaction. On MySQL, CREATE TABLE ...
// SELECT is followed by rows and an end, though nothing has said that it would be.
func (r *Reader) alone() bool {
	return !r.tx.ends && !r.payload.open && (!r.tx.sized || r.tx.left <= 0)
}

// single ends a transaction that has no other end than what was given out.
func (r *Reader) single() {
	if r.alone() {
		r.end()
	}
}
