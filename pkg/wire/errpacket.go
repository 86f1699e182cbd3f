package wire

import (
	"encoding/binary"
	"fmt"
)

// ServerError is an error packet ("Protocol::ERR_Packet"), and an error. Its strings are copies.
type ServerError struct {
	Code    uint16
	State   string // 5 characters; "" if the server sent none, as before the greeting
	Message string
}

func (e *ServerError) Error() string {
	if e.State == "" {
		return fmt.Sprintf("error %d: %s", e.Code, e.Message)
	}
	return fmt.Sprintf("error %d (%s): %s", e.Code, e.State, e.Message)
}

// progressCode in the place of an error's number marks a progress packet of MariaDB.
const progressCode = 0xFFFF

const stateSize = 5

// IsError tells whether a payload that a client reads is an error packet. Progress packets begin
// like one, and are none.
func IsError(payload []byte) bool {
	return len(payload) >= 3 && payload[0] == errByte && !IsProgress(payload)
}

// Decode reads the payload. SQLSTATE is there if # marks it, whatever the capabilities.
func (e *ServerError) Decode(payload []byte) error {
	c := NewCursor("error packet", payload)
	if c.Uint8() != errByte {
		c.failAt(0, "0xFF")
	}
	*e = ServerError{Code: c.Uint16()}
	if c.Len() > stateSize && payload[c.Pos()] == '#' {
		c.Bytes(1)
		e.State = string(c.Bytes(stateSize))
	}
	e.Message = string(c.Rest())
	return c.Err()
}

// maxErrorText is what the servers' own buffer for messages holds; clients count on it.
const maxErrorText = 512

// Append appends the payload, with SQLSTATE if there is one: a client that has not sent its
// capabilities yet gets none. The message is cut after 512 bytes.
func (e *ServerError) Append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint16(append(dst, errByte), e.Code)
	if len(e.State) == stateSize {
		dst = append(append(dst, '#'), e.State...)
	}
	return append(dst, e.Message[:min(len(e.Message), maxErrorText)]...)
}

// Progress is how far a statement is, sent by MariaDB to clients with MariaDBProgress.
type Progress struct {
	Stage, Stages uint8
	Thousandths   uint32 // of a per cent of this stage
	Text          []byte
}

// IsProgress tells a progress packet from an error packet.
func IsProgress(payload []byte) bool {
	return len(payload) >= 3 && payload[0] == errByte && binary.LittleEndian.Uint16(payload[1:]) == progressCode
}

// Decode reads the payload.
func (m *Progress) Decode(payload []byte) error {
	c := NewCursor("progress packet", payload)
	if !IsProgress(payload) {
		c.Fail("0xFF 0xFF 0xFF")
	}
	c.Bytes(3)
	if c.Uint8() != 1 {
		c.Fail("one string")
	}
	*m = Progress{Stage: c.Uint8(), Stages: c.Uint8(), Thousandths: c.Uint24()}
	m.Text = c.LenEncString()
	return c.Err()
}

// Append appends the payload.
func (m *Progress) Append(dst []byte) []byte {
	dst = append(dst, errByte, 0xFF, 0xFF, 1, m.Stage, m.Stages)
	return AppendLenEncString(AppendUint24(dst, m.Thousandths), m.Text)
}
