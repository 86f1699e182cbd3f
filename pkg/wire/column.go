package wire

import "encoding/binary"

// ColumnType is the type of a column, parameter or attribute ("enum_field_types").
type ColumnType byte

// The types that appear on the wire.
const (
	TypeDecimal    ColumnType = 0
	TypeTiny       ColumnType = 1
	TypeShort      ColumnType = 2
	TypeLong       ColumnType = 3
	TypeFloat      ColumnType = 4
	TypeDouble     ColumnType = 5
	TypeNull       ColumnType = 6
	TypeTimestamp  ColumnType = 7
	TypeLongLong   ColumnType = 8
	TypeInt24      ColumnType = 9
	TypeDate       ColumnType = 10
	TypeTime       ColumnType = 11
	TypeDateTime   ColumnType = 12
	TypeYear       ColumnType = 13
	TypeVarchar    ColumnType = 15
	TypeBit        ColumnType = 16
	TypeVector     ColumnType = 242
	TypeBool       ColumnType = 244
	TypeJSON       ColumnType = 245
	TypeNewDecimal ColumnType = 246
	TypeEnum       ColumnType = 247
	TypeSet        ColumnType = 248
	TypeTinyBlob   ColumnType = 249
	TypeMediumBlob ColumnType = 250
	TypeLongBlob   ColumnType = 251
	TypeBlob       ColumnType = 252
	TypeVarString  ColumnType = 253
	TypeString     ColumnType = 254
	TypeGeometry   ColumnType = 255
)

// Flags of a column that a proxy's own results use.
const (
	ColumnNotNull  uint16 = 0x0001
	ColumnUnsigned uint16 = 0x0020
	ColumnBinary   uint16 = 0x0080
)

// Column describes a column of a result or a parameter ("Protocol::ColumnDefinition41").
type Column struct {
	Schema, Table, OrgTable []byte // names as used and as in the schema; empty for an expression
	Name, OrgName           []byte
	Extended                []byte // MariaDB's type information; only under MariaDBMetadata
	Charset                 uint16 // a collation
	Length                  uint32 // the most bytes of a value
	Type                    ColumnType
	Flags                   uint16
	Decimals                uint8
	HasDefault              bool   // only in the answer to COM_FIELD_LIST
	Default                 []byte // nil: no default, or NULL
}

// fixedSize is the length of the fields of fixed length, which the packet names.
const fixedSize = 12

// Decode reads the payload.
func (m *Column) Decode(payload []byte, caps Capability) error {
	c := NewCursor("column definition", payload)
	c.LenEncString() // the catalog, always "def"
	*m = Column{Schema: c.LenEncString(), Table: c.LenEncString(), OrgTable: c.LenEncString()}
	m.Name, m.OrgName = c.LenEncString(), c.LenEncString()
	if caps.Has(MariaDBMetadata) {
		m.Extended = c.LenEncString()
	}
	if c.LenEncInt() != fixedSize {
		c.Fail("fixed fields of 12 bytes")
	}
	m.Charset, m.Length = c.Uint16(), c.Uint32()
	m.Type, m.Flags, m.Decimals = ColumnType(c.Uint8()), c.Uint16(), c.Uint8()
	c.Bytes(2)
	if c.Len() > 0 {
		m.HasDefault = true
		m.Default, _ = c.LenEncValue()
	}
	return c.Err()
}

// Append appends the payload.
func (m *Column) Append(dst []byte, caps Capability) []byte {
	dst = AppendLenEncString(dst, "def")
	for _, name := range [...][]byte{m.Schema, m.Table, m.OrgTable, m.Name, m.OrgName} {
		dst = AppendLenEncString(dst, name)
	}
	if caps.Has(MariaDBMetadata) {
		dst = AppendLenEncString(dst, m.Extended)
	}
	dst = append(dst, fixedSize)
	dst = binary.LittleEndian.AppendUint16(dst, m.Charset)
	dst = binary.LittleEndian.AppendUint32(dst, m.Length)
	dst = append(dst, byte(m.Type))
	dst = binary.LittleEndian.AppendUint16(dst, m.Flags)
	dst = append(dst, m.Decimals, 0, 0)
	switch {
	case !m.HasDefault:
	case m.Default == nil:
		dst = AppendNull(dst)
	default:
		dst = AppendLenEncString(dst, m.Default)
	}
	return dst
}

// ResultHead is the first packet of a result with rows ("Text Resultset").
type ResultHead struct {
	Columns int
	// NoMetadata: no definitions of columns follow. It can be set only under OptionalMetadata or
	// MariaDBCacheMetadata.
	NoMetadata bool
}

// maxColumns is far above the 4096 of the servers; a larger number is garbage.
const maxColumns = 1<<16 - 1

// Decode reads the payload. The manual of MySQL has the flag in front of the number; both servers
// send it behind.
func (m *ResultHead) Decode(payload []byte, caps Capability) error {
	c := NewCursor("result head", payload)
	n := c.LenEncInt()
	if n == 0 || n > maxColumns {
		c.failAt(0, "a number of columns")
		n = 0
	}
	*m = ResultHead{Columns: int(n)}
	if caps&(OptionalMetadata|MariaDBCacheMetadata) != 0 {
		m.NoMetadata = c.Uint8() == 0
	}
	c.End()
	return c.Err()
}

// Append appends the payload.
func (m *ResultHead) Append(dst []byte, caps Capability) []byte {
	dst = AppendLenEncInt(dst, uint64(m.Columns))
	if caps&(OptionalMetadata|MariaDBCacheMetadata) != 0 {
		dst = append(dst, flag(!m.NoMetadata))
	}
	return dst
}

// LocalInfile asks the client for a file ("Protocol::LOCAL INFILE Data"). The client sends its
// content in packets, then an empty packet, and the server answers that.
type LocalInfile struct{ Name []byte }

// Decode reads the payload.
func (m *LocalInfile) Decode(payload []byte) error {
	c := NewCursor("LOCAL INFILE request", payload)
	if c.Uint8() != fileByte {
		c.failAt(0, "0xFB")
	}
	m.Name = c.Rest()
	return c.Err()
}

// Append appends the payload.
func (m *LocalInfile) Append(dst []byte) []byte { return append(append(dst, fileByte), m.Name...) }

// TextRow reads a row of the text protocol, value by value ("Text Resultset Row"). Use it on a
// whole payload.
type TextRow struct{ c Cursor }

// ReadTextRow starts at the first value.
func ReadTextRow(payload []byte) TextRow { return TextRow{c: NewCursor("text row", payload)} }

// Next returns the next value, nil for NULL. ok is false at the end and after an error.
func (r *TextRow) Next() (value []byte, ok bool) {
	if r.c.Len() == 0 {
		return nil, false
	}
	value, _ = r.c.LenEncValue()
	return value, r.c.err == nil
}

// Skip passes over n values. It tells whether there were as many.
func (r *TextRow) Skip(n int) bool {
	for range n {
		if _, ok := r.Next(); !ok {
			return false
		}
	}
	return true
}

// Err returns a *DecodeError if Next ended before the end.
func (r *TextRow) Err() error { return r.c.Err() }
