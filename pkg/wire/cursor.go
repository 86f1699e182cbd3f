package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// DecodeError says where a payload is not what the protocol says.
type DecodeError struct {
	Message string // what was read, such as "COM_QUERY"
	Offset  int    // of the field that is wrong, in the payload, or in the answer if Length is -1
	Length  int    // of the payload
	Want    string // what should stand there
}

func (e *DecodeError) Error() string {
	if e.Length < 0 {
		return fmt.Sprintf("read %s: at offset %d: want %s", e.Message, e.Offset, e.Want)
	}
	return fmt.Sprintf("read %s: at offset %d of %d bytes: want %s", e.Message, e.Offset, e.Length, e.Want)
}

// Cursor reads fields from a payload, one after the other. The first field that is not there
// makes every later read return its zero value, so a decoder checks Err once, at its end. Slices
// that it returns alias the payload.
type Cursor struct {
	b    []byte
	pos  int
	name string
	err  *DecodeError
}

// NewCursor starts at the payload's first byte. The message's name is for errors.
func NewCursor(message string, payload []byte) Cursor { return Cursor{b: payload, name: message} }

// Err returns a *DecodeError, or nil if every field so far was there.
func (c *Cursor) Err() error {
	if c.err == nil {
		return nil
	}
	return c.err
}

// Pos returns how many bytes were read. After an error that is all of them.
func (c *Cursor) Pos() int { return c.pos }

// Len returns how many bytes are left; 0 after an error.
func (c *Cursor) Len() int { return len(c.b) - c.pos }

// Fail records an error at the present offset, unless there is one already.
func (c *Cursor) Fail(want string) { c.failAt(c.pos, want) }

func (c *Cursor) failAt(offset int, want string) {
	if c.err == nil {
		c.err = &DecodeError{Message: c.name, Offset: offset, Length: len(c.b), Want: want}
	}
	c.pos = len(c.b)
}

// End fails if bytes are left.
func (c *Cursor) End() {
	if c.Len() > 0 {
		c.Fail("the end")
	}
}

// Uint8 reads a byte.
func (c *Cursor) Uint8() uint8 {
	if c.Len() < 1 {
		c.Fail("1 byte")
		return 0
	}
	c.pos++
	return c.b[c.pos-1]
}

// Uint16 reads 2 bytes, the lowest first, as all integers of the protocol.
func (c *Cursor) Uint16() uint16 {
	if c.Len() < 2 {
		c.Fail("2 bytes")
		return 0
	}
	c.pos += 2
	return binary.LittleEndian.Uint16(c.b[c.pos-2:])
}

// Uint24 reads 3 bytes.
func (c *Cursor) Uint24() uint32 {
	if c.Len() < 3 {
		c.Fail("3 bytes")
		return 0
	}
	c.pos += 3
	return uint24(c.b[c.pos-3:])
}

// Uint32 reads 4 bytes.
func (c *Cursor) Uint32() uint32 {
	if c.Len() < 4 {
		c.Fail("4 bytes")
		return 0
	}
	c.pos += 4
	return binary.LittleEndian.Uint32(c.b[c.pos-4:])
}

// Uint64 reads 8 bytes.
func (c *Cursor) Uint64() uint64 {
	if c.Len() < 8 {
		c.Fail("8 bytes")
		return 0
	}
	c.pos += 8
	return binary.LittleEndian.Uint64(c.b[c.pos-8:])
}

// First bytes of a length-encoded integer that are not the integer itself.
const (
	lenEncNull = 0xFB // SQL NULL in a text row, no integer
	lenEnc2    = 0xFC
	lenEnc3    = 0xFD
	lenEnc8    = 0xFE
)

// LenEncInt reads a length-encoded integer ("Protocol::LengthEncodedInteger"). NULL (0xFB) and
// 0xFF, which begins an error packet, are errors here. Longer forms than needed are taken, as the
// servers take them.
func (c *Cursor) LenEncInt() uint64 {
	if c.Len() < 1 {
		c.Fail("a length-encoded integer")
		return 0
	}
	start := c.pos
	first := c.b[c.pos]
	c.pos++
	switch {
	case first < lenEncNull:
		return uint64(first)
	case first == lenEnc2 && c.Len() >= 2:
		return uint64(c.Uint16())
	case first == lenEnc3 && c.Len() >= 3:
		return uint64(c.Uint24())
	case first == lenEnc8 && c.Len() >= 8:
		return c.Uint64()
	}
	c.failAt(start, "a length-encoded integer")
	return 0
}

// LenEncString reads a string behind its length-encoded length. It is not nil, except after an
// error.
func (c *Cursor) LenEncString() []byte {
	start := c.pos
	n := c.LenEncInt()
	if c.err != nil {
		return nil
	}
	if n > uint64(c.Len()) {
		c.failAt(start, "a length-encoded string that ends in the message")
		return nil
	}
	return c.take(int(n))
}

// LenEncValue is LenEncString for a text row, where 0xFB stands for NULL.
func (c *Cursor) LenEncValue() (value []byte, null bool) {
	if c.Len() > 0 && c.b[c.pos] == lenEncNull {
		c.pos++
		return nil, true
	}
	return c.LenEncString(), false
}

// Bytes reads n bytes.
func (c *Cursor) Bytes(n int) []byte {
	if n < 0 || n > c.Len() {
		c.Fail("more bytes")
		return nil
	}
	return c.take(n)
}

// NullString reads up to a NUL, which it skips and does not return.
func (c *Cursor) NullString() []byte {
	n := bytes.IndexByte(c.b[c.pos:], 0)
	if n < 0 {
		c.Fail("a string with a NUL at its end")
		return nil
	}
	s := c.take(n)
	c.pos++
	return s
}

// nullOrRest is NullString for the last field of a message, whose NUL some clients leave out.
func (c *Cursor) nullOrRest() []byte {
	if bytes.IndexByte(c.b[c.pos:], 0) < 0 {
		return c.Rest()
	}
	return c.NullString()
}

// Rest reads all that is left. It is not nil, except after an error.
func (c *Cursor) Rest() []byte { return c.take(c.Len()) }

// take returns a slice without capacity behind its end, so that an append to it cannot write into
// the payload.
func (c *Cursor) take(n int) []byte {
	if c.err != nil {
		return nil
	}
	c.pos += n
	return c.b[c.pos-n : c.pos : c.pos]
}

func uint24(b []byte) uint32 { return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 }

// AppendUint24 appends the lowest 3 bytes of v.
func AppendUint24(dst []byte, v uint32) []byte { return append(dst, byte(v), byte(v>>8), byte(v>>16)) }

// AppendLenEncInt appends v in its shortest form.
func AppendLenEncInt(dst []byte, v uint64) []byte {
	switch {
	case v < lenEncNull:
		return append(dst, byte(v))
	case v < 1<<16:
		return append(dst, lenEnc2, byte(v), byte(v>>8))
	case v < 1<<24:
		return append(dst, lenEnc3, byte(v), byte(v>>8), byte(v>>16))
	}
	return binary.LittleEndian.AppendUint64(append(dst, lenEnc8), v)
}

// AppendLenEncString appends a string behind its length: a value of a text row, for one.
func AppendLenEncString[S ~string | ~[]byte](dst []byte, s S) []byte {
	return append(AppendLenEncInt(dst, uint64(len(s))), s...)
}

// AppendNull appends the NULL of a text row.
func AppendNull(dst []byte) []byte { return append(dst, lenEncNull) }

// appendNullString appends s and a NUL. A NUL in s would end it for the reader, so s is cut there.
func appendNullString[S ~string | ~[]byte](dst []byte, s S) []byte {
	for i := 0; i < len(s); i++ {
		if s[i] == 0 {
			s = s[:i]
			break
		}
	}
	return append(append(dst, s...), 0)
}
