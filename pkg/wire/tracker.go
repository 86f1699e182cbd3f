package wire

// TrackerType says what a tracker tells about ("Session State Information").
type TrackerType byte

// The types of trackers. A type that is not here is handed out as it is.
const (
	TrackVariables       TrackerType = 0 // system variables that are listed in session_track_system_variables
	TrackSchema          TrackerType = 1 // the default database
	TrackStateChange     TrackerType = 2 // "1": something in the session changed
	TrackGTIDs           TrackerType = 3 // MySQL: by session_track_gtids
	TrackCharacteristics TrackerType = 4 // statements that begin the same kind of transaction elsewhere
	TrackTransaction     TrackerType = 5 // the transaction's state, such as "T___W___"
)

// Tracker is one change of a session's state.
type Tracker struct {
	Type TrackerType
	Data []byte // as sent, without its length
}

// Text returns the value of every type but TrackVariables and TrackGTIDs: the schema's name, "1",
// statements or 8 characters of state. Against the manual, both servers send the "1" of a state
// change without a length of its own.
func (t Tracker) Text() ([]byte, error) {
	if t.Type == TrackStateChange {
		return t.Data, nil
	}
	c := NewCursor("tracker", t.Data)
	text := c.LenEncString()
	c.End()
	return text, c.Err()
}

// GTIDs returns the text of a TrackGTIDs: a GTID set, the server's whole one or what this session
// added, by the setting.
func (t Tracker) GTIDs() ([]byte, error) {
	c := NewCursor("GTID tracker", t.Data)
	if c.Uint8() != 0 {
		c.failAt(0, "encoding 0, which is text")
	}
	text := c.LenEncString()
	c.End()
	return text, c.Err()
}

// Variables reads the variables of a TrackVariables. Both servers send one in each tracker; the
// manual of MariaDB allows more.
func (t Tracker) Variables() VariableReader {
	return VariableReader{c: NewCursor("variable tracker", t.Data)}
}

// VariableReader goes through the variables of a tracker.
type VariableReader struct{ c Cursor }

// Next returns the next variable. ok is false at the end and after an error.
func (r *VariableReader) Next() (name, value []byte, ok bool) {
	if r.c.Len() == 0 {
		return nil, nil, false
	}
	name, value = r.c.LenEncString(), r.c.LenEncString()
	return name, value, r.c.err == nil
}

// Err returns a *DecodeError if Next ended before the end.
func (r *VariableReader) Err() error { return r.c.Err() }

// TrackerReader goes through the trackers of an OK packet. Everything that it hands out aliases
// the packet.
type TrackerReader struct{ c Cursor }

// ReadTrackers starts at the first of OK.Trackers; nil has none.
func ReadTrackers(block []byte) TrackerReader {
	return TrackerReader{c: NewCursor("session state", block)}
}

// Next returns the next tracker. ok is false at the end and after an error.
func (r *TrackerReader) Next() (t Tracker, ok bool) {
	if r.c.Len() == 0 {
		return Tracker{}, false
	}
	t.Type = TrackerType(r.c.Uint8())
	t.Data = r.c.LenEncString()
	return t, r.c.err == nil
}

// Err returns a *DecodeError if Next ended before the end.
func (r *TrackerReader) Err() error { return r.c.Err() }

// AppendTracker appends a tracker with its data to a block of them.
func AppendTracker(block []byte, kind TrackerType, data []byte) []byte {
	return AppendLenEncString(append(block, byte(kind)), data)
}

// AppendVariable appends the tracker of one system variable.
func AppendVariable(block []byte, name, value string) []byte {
	n := lenEncSize(len(name)) + lenEncSize(len(value))
	block = AppendLenEncInt(append(block, byte(TrackVariables)), uint64(n))
	return AppendLenEncString(AppendLenEncString(block, name), value)
}

// AppendText appends a tracker of a type with one text: schema, state change, characteristics or
// transaction.
func AppendText(block []byte, kind TrackerType, text string) []byte {
	if kind == TrackStateChange {
		return AppendTracker(block, kind, []byte(text))
	}
	block = AppendLenEncInt(append(block, byte(kind)), uint64(lenEncSize(len(text))))
	return AppendLenEncString(block, text)
}

// AppendGTIDs appends the tracker of a GTID set.
func AppendGTIDs(block []byte, set string) []byte {
	block = AppendLenEncInt(append(block, byte(TrackGTIDs)), uint64(1+lenEncSize(len(set))))
	return AppendLenEncString(append(block, 0), set)
}

// lenEncSize returns the length of a length-encoded string of n bytes.
func lenEncSize(n int) int {
	var head [9]byte
	return len(AppendLenEncInt(head[:0], uint64(n))) + n
}
