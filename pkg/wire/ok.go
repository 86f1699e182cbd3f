package wire

import "encoding/binary"

// OK is the packet that ends an answer or a result ("Protocol::OK_Packet"). Under DeprecateEOF it
// also stands, with the first byte 0xFE, where EOF stands without it.
//
// The zero value is the plain OK of a statement that changed nothing.
type OK struct {
	AfterRows    bool // its first byte is 0xFE
	EOF          bool // it was an EOF packet: only Status and Warnings are known
	AffectedRows uint64
	LastInsertID uint64
	Status       Status
	Warnings     uint16
	Info         []byte // text such as "Rows matched: 1"; nil if there is none, not even an empty one
	Trackers     []byte // changes of the session, for ReadTrackers; nil if there are none
}

// eofSize is the payload of an EOF packet. The shortest OK has 7 bytes.
const eofSize = 5

// Decode reads an OK or EOF payload. Without SessionTrack in caps, what follows the warnings is
// the info: servers send it with a length in front, against the manual, and both forms are read.
func (m *OK) Decode(payload []byte, caps Capability) error {
	c := NewCursor("OK packet", payload)
	first := c.Uint8()
	if first != okByte && first != eofByte {
		c.failAt(0, "0x00 or 0xFE")
	}
	*m = OK{AfterRows: first == eofByte}
	if len(payload) == eofSize && m.AfterRows {
		m.EOF = true
		m.Warnings = c.Uint16()
		m.Status = Status(c.Uint16())
		return c.Err()
	}
	m.AffectedRows = c.LenEncInt()
	m.LastInsertID = c.LenEncInt()
	m.Status = Status(c.Uint16())
	m.Warnings = c.Uint16()
	if c.Len() == 0 {
		return c.Err()
	}
	if !caps.Has(SessionTrack) {
		m.Info = infoToEnd(&c)
		return c.Err()
	}
	m.Info = c.LenEncString()
	if m.Status.Has(SessionStateChanged) {
		m.Trackers = c.LenEncString()
	}
	return c.Err()
}

// infoToEnd reads a text whose length may stand in front of it.
func infoToEnd(c *Cursor) []byte {
	rest := c.Rest()
	inner := NewCursor("", rest)
	text := inner.LenEncString()
	if inner.Err() == nil && inner.Len() == 0 {
		return text
	}
	return rest
}

// Append appends the payload: an EOF packet if EOF is set, else an OK packet. The status' bit
// SessionStateChanged is sent if there are trackers and caps has SessionTrack, and not otherwise.
func (m *OK) Append(dst []byte, caps Capability) []byte {
	status := m.Status &^ SessionStateChanged
	track := m.Trackers != nil && !m.EOF && caps.Has(SessionTrack)
	if track {
		status |= SessionStateChanged
	}
	switch {
	case m.EOF:
		dst = append(dst, eofByte)
		dst = binary.LittleEndian.AppendUint16(dst, m.Warnings)
		return binary.LittleEndian.AppendUint16(dst, uint16(status))
	case m.AfterRows:
		dst = append(dst, eofByte)
	default:
		dst = append(dst, okByte)
	}
	dst = AppendLenEncInt(dst, m.AffectedRows)
	dst = AppendLenEncInt(dst, m.LastInsertID)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(status))
	dst = binary.LittleEndian.AppendUint16(dst, m.Warnings)
	if m.Info != nil || track {
		dst = AppendLenEncString(dst, m.Info)
	}
	if track {
		dst = AppendLenEncString(dst, m.Trackers)
	}
	return dst
}

// For changes m to what a client with these capabilities gets in its place: EOF after rows
// without DeprecateEOF and OK with it; and only the trackers that keep wants, none without
// SessionTrack. A nil keep wants all. Trackers that stay are written to scratch if some of them
// go, and alias it then; the longer slice is returned for the next use.
func (m *OK) For(client Capability, keep func(Tracker) bool, scratch []byte) []byte {
	m.EOF = m.AfterRows && !client.Has(DeprecateEOF)
	switch {
	case m.EOF || !client.Has(SessionTrack):
		m.Trackers = nil
	case keep != nil && m.Trackers != nil:
		start := len(scratch)
		scratch = appendKept(scratch, m.Trackers, keep)
		m.Trackers = scratch[start:]
		if len(m.Trackers) == 0 {
			m.Trackers = nil
		}
	}
	if m.Trackers == nil {
		m.Status &^= SessionStateChanged
		if len(m.Info) == 0 { // it was there only because trackers followed
			m.Info = nil
		}
	}
	return scratch
}

// appendKept appends the trackers that keep wants. What cannot be read is dropped with all behind
// it.
func appendKept(dst, block []byte, keep func(Tracker) bool) []byte {
	r := ReadTrackers(block)
	for {
		t, ok := r.Next()
		if !ok {
			return dst
		}
		if keep(t) {
			dst = AppendTracker(dst, t.Type, t.Data)
		}
	}
}
