package binlog

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"strconv"

	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// part says what a logged text does to the transaction that it is in.
type part uint8

const (
	partStatement part = iota // nothing
	partBegin                 // another event will end it
	partEnd
	partMark // nothing, and no table either
)

// partOf reads the words that the servers log themselves, in upper case, and as users write them.
func partOf(text []byte) part {
	if len(text) == 0 {
		return partMark
	}
	switch text[0] | 0x20 {
	case 'b':
		if equalFold(text, "BEGIN") {
			return partBegin
		}
	case 'c':
		if equalFold(text, "COMMIT") {
			return partEnd
		}
	case 'r':
		switch {
		case hasPrefixFold(text, "ROLLBACK TO ") || hasPrefixFold(text, "RELEASE SAVEPOINT "):
			return partMark
		case equalFold(text, "ROLLBACK"):
			return partEnd
		}
	case 's':
		if hasPrefixFold(text, "SAVEPOINT ") {
			return partMark
		}
	case 'x':
		switch {
		case hasPrefixFold(text, "XA START "):
			return partBegin
		case hasPrefixFold(text, "XA END "), hasPrefixFold(text, "XA PREPARE "):
			return partMark
		}
	}
	return partStatement
}

func equalFold(b []byte, word string) bool { return len(b) == len(word) && hasPrefixFold(b, word) }

// hasPrefixFold is for a word in upper case.
func hasPrefixFold(b []byte, word string) bool {
	if len(b) < len(word) {
		return false
	}
	for i := range len(word) {
		c := b[i]
		if c >= 'a' && c <= 'z' {
			c -= 'a' - 'A'
		}
		if c != word[i] {
			return false
		}
	}
	return true
}

const (
	queryPost     = 13 // of the post-header
	loadQueryPost = 13 // more, of LOAD DATA
)

func (r *Reader) query(h header, body []byte) error {
	c := fields(body)
	c.Bytes(4 + 4) // connection, seconds
	schemaSize := int(c.Uint8())
	c.Bytes(2) // error
	settingsSize := int(c.Uint16())
	c.Bytes(r.format.query - queryPost)
	if h.kind == executeLoadQuery {
		c.Bytes(loadQueryPost)
	}
	settings := c.Bytes(settingsSize)
	schema := c.Bytes(schemaSize)
	c.Bytes(1) // NUL
	text := c.Rest()
	if err := broken(h, &c); err != nil {
		return err
	}
	if h.kind == queryCompressed {
		var err error
		if text, err = r.inflate(text); err != nil {
			r.lost("a statement is too large, or compressed in an unknown way")
			return nil
		}
	}
	switch partOf(text) {
	case partBegin:
		r.within(true)
		r.tx.ends = true
	case partEnd:
		r.over()
	case partStatement:
		r.within(false)
		e := r.put(Statement)
		e.Schema, e.Text, e.Alone = schema, text, r.alone()
		e.SQLMode, e.Charset = readSettings(settings)
		r.single()
	case partMark:
	}
	return nil
}

// readSettings reads what the session had set, of which the servers write these first.
func readSettings(b []byte) (mode uint64, charset uint16) {
	c := wire.NewCursor("settings of a statement", b)
	for c.Len() > 0 {
		switch c.Uint8() {
		case 0: // flags
			c.Bytes(4)
		case 1:
			mode = c.Uint64()
		case 3: // auto_increment
			c.Bytes(2 + 2)
		case 4:
			charset = c.Uint16()
			return mode, charset
		case 6: // catalog
			c.Bytes(int(c.Uint8()))
		default:
			return mode, charset
		}
	}
	return mode, charset
}

// appendXID appends the name of an XA transaction as both servers log it in XA COMMIT.
func appendXID(dst, first, second []byte, formatID uint32) []byte {
	dst = append(hex.AppendEncode(append(dst, "X'"...), first), "',X'"...)
	dst = append(hex.AppendEncode(dst, second), "',"...)
	return strconv.AppendUint(dst, uint64(formatID), 10)
}

// inflate unpacks a text as MariaDB packs it: a byte with the kind of compression and the size of the
// length, the length, the highest byte first, and the text.
func (r *Reader) inflate(b []byte) ([]byte, error) {
	if len(b) < 1 || b[0]&0xF0 != 0x80 {
		return nil, malformed("unknown compression of a statement")
	}
	n := int(b[0] & 0x07)
	if n == 0 || n > 4 || len(b) < 1+n {
		return nil, malformed("length of a compressed statement")
	}
	var size [4]byte
	copy(size[4-n:], b[1:1+n])
	length := int(binary.BigEndian.Uint32(size[:]))
	if length > maxEvent {
		return nil, malformed("statement of %d bytes", length)
	}
	return r.payload.inflate(bytes.NewReader(b[1+n:]), length)
}
