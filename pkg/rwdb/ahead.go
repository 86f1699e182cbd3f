package rwdb

import (
	"encoding/binary"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/wire"
	"github.com/mysqlrw/mysqlrw/route"
	"github.com/mysqlrw/mysqlrw/waitpos"
)

// ahead is a wait for a position that leaves with the next command in one write, so that it costs no round trip. The
// driver knows nothing of it: it is given the command's answer, or, where the server did not get there in time, an
// error in its place.
type ahead struct {
	query    string       // of the wait; "" if none is to be sent
	sent     bool         // and its answer has not been read
	command  wire.Command // that follows it
	began    time.Time
	took     time.Duration
	reached  bool // the server has the position
	late     bool // it has not, and the command was answered with an error
	row, out []byte
	held     []byte // read already, and not given to the driver
}

// lateFor is how long the answer of a command that came too late is waited for, so that its connection can be used
// again.
const lateFor = 100 * time.Millisecond

// arm has a wait leave with the next command.
func (t *tracked) arm(query string) {
	t.ahead.query, t.ahead.reached, t.ahead.late, t.ahead.took = query, false, false, 0
}

// disarm is called when the driver has returned, which may not have sent anything.
func (t *tracked) disarm() { t.ahead.query = "" }

// withWait returns the wait and a command as what is written.
func (t *tracked) withWait(command []byte) []byte {
	a := &t.ahead
	size := 1 + len(a.query)
	a.out = append(a.out[:0], byte(size), byte(size>>8), byte(size>>16), 0, byte(wire.ComQuery))
	a.out = append(a.out, a.query...)
	a.out = append(a.out, command...)
	a.query, a.sent, a.command, a.began = "", true, wire.Command(command[wire.HeaderSize]), time.Now()
	a.row, a.held = a.row[:0], a.held[:0]
	t.reply.Start(wire.ComQuery, t.caps)
	return a.out
}

// settle reads the answer to the wait, and makes ready what the driver gets.
func (t *tracked) settle() error {
	a := &t.ahead
	if err := t.skip(func(b []byte) { a.row = append(a.row, b...) }); err != nil {
		return err
	}
	a.took = time.Since(a.began)
	a.sent = false
	value, null := a.value()
	if a.reached = len(a.row) > 0 && waitpos.Arrived(value, null); a.reached {
		t.reply.Start(a.command, t.caps)
		return nil
	}
	a.late = true
	t.reply.Start(a.command, t.caps)
	if err := t.Conn.SetReadDeadline(time.Now().Add(lateFor)); err != nil {
		return err
	}
	if err := t.skip(func([]byte) {}); err != nil {
		return err
	}
	if err := t.unprepare(); err != nil {
		return err
	}
	if err := t.Conn.SetReadDeadline(time.Time{}); err != nil { // the driver sets its own before each read
		return err
	}
	a.held = appendTooLate(a.held[:0])
	return nil
}

// unprepare closes what the command has prepared: the driver is given an error, and will not.
func (t *tracked) unprepare() error {
	id := t.reply.Prepared().StatementID
	if t.ahead.command != wire.ComStmtPrepare || id == 0 { // an error has none
		return nil
	}
	b := binary.LittleEndian.AppendUint32([]byte{5, 0, 0, 0, byte(wire.ComStmtClose)}, id)
	_, err := t.Conn.Write(b)
	return err
}

// skip reads an answer to its end, and gives rows what it says of its rows.
func (t *tracked) skip(rows func([]byte)) error {
	a := &t.ahead
	for {
		used := 0
		for used < len(a.held) && !t.reply.Done() {
			inRows := t.reply.InRows()
			n, step, err := t.reply.Next(a.held[used:])
			if err != nil {
				t.stage = opaque
				return err
			}
			if step == wire.StepMore {
				break
			}
			if inRows && step == wire.StepRelay {
				rows(a.held[used : used+n])
			}
			used += n
		}
		a.held = append(a.held[:0], a.held[used:]...)
		if t.reply.Done() {
			return nil
		}
		from := len(a.held)
		a.held = append(a.held, make([]byte, 4096)...)
		n, err := t.Conn.Read(a.held[from:])
		a.held = a.held[:from+n]
		if err != nil && n == 0 {
			return err
		}
	}
}

// value returns the only value of the only row.
func (a *ahead) value() (value []byte, null bool) {
	if len(a.row) <= wire.HeaderSize {
		return nil, true
	}
	payload := a.row[wire.HeaderSize:]
	if length := int(payload[0]); length < 0xFB && length < len(payload) {
		return payload[1 : 1+length], false
	}
	return nil, true
}

// appendTooLate appends the answer to a command whose server did not have the position in time.
func appendTooLate(dst []byte) []byte {
	const code = 1205
	text := "#HY000" + route.TimeoutText
	size := 3 + len(text)
	dst = append(dst, byte(size), byte(size>>8), byte(size>>16), 1, 0xFF)
	dst = binary.LittleEndian.AppendUint16(dst, code)
	return append(dst, text...)
}
