package wire

import "encoding/binary"

// Parameters is a block of values in binary form: the parameters of COM_STMT_EXECUTE with its
// query attributes behind them, or the attributes of COM_QUERY. Its slices alias the payload.
type Parameters struct {
	Count    int
	Nulls    []byte // bit i%8 of byte i/8: value i is NULL, and missing in Values
	NewTypes bool   // Types was sent; else the server remembers those of the last execution
	Types    []byte // 2 bytes for each value, its name behind them if Named
	Named    bool   // by QueryAttributes
	Values   []byte // as far as the payload goes
}

// maxParams is the most parameters that a statement may have.
const maxParams = 1<<16 - 1

// decode reads all but the values. The types' flag byte must be there if Count is not 0.
func (p *Parameters) decode(c *Cursor) {
	if p.Count == 0 {
		return
	}
	p.Nulls = c.Bytes((p.Count + 7) / 8)
	switch c.Uint8() {
	case 0:
		return
	case 1:
		p.NewTypes = true
	default:
		c.failAt(c.pos-1, "0 or 1, whether types follow")
	}
	start := c.pos
	p.skipTypes(c, p.Count)
	if c.err == nil {
		p.Types = c.b[start:c.pos:c.pos]
	}
}

// skipTypes passes over n types.
func (p *Parameters) skipTypes(c *Cursor, n int) {
	for i := 0; i < n && c.err == nil; i++ {
		c.Uint16()
		if p.Named {
			c.LenEncString()
		}
	}
}

// Param is one value of a block.
type Param struct {
	Name     []byte // only if the block is Named; empty for a parameter of the statement
	Type     ColumnType
	Unsigned bool
	Null     bool
	Value    []byte // integers and floats as sent; strings, dates and times without their length
}

// ParamReader goes through the values of a block.
type ParamReader struct {
	p        Parameters
	i        int
	types    Cursor
	values   Cursor
	longData func(i int) bool
}

// Read starts at the first value. Types must be there: sent, or remembered and put there by the
// caller. longData tells which values came by COM_STMT_SEND_LONG_DATA and are not in the packet;
// nil means none.
func (p *Parameters) Read(longData func(i int) bool) ParamReader {
	return ParamReader{
		p: *p, types: NewCursor("parameter types", p.Types), values: NewCursor("parameter values", p.Values),
		longData: longData,
	}
}

// Next returns the next value. ok is false at the end and after an error.
func (r *ParamReader) Next() (v Param, ok bool) {
	if r.i >= r.p.Count || r.Err() != nil {
		return Param{}, false
	}
	kind := r.types.Uint16()
	v.Type, v.Unsigned = ColumnType(kind), kind&0x8000 != 0
	if r.p.Named {
		v.Name = r.types.LenEncString()
	}
	if r.i/8 >= len(r.p.Nulls) {
		r.types.Fail("a bit for each value that tells NULL")
		return Param{}, false
	}
	v.Null = r.p.Nulls[r.i/8]&(1<<(r.i%8)) != 0
	if !v.Null && (r.longData == nil || !r.longData(r.i)) {
		v.Value = readValue(&r.values, v.Type)
	}
	r.i++
	return v, r.Err() == nil
}

// Err returns a *DecodeError if Next ended before the end.
func (r *ParamReader) Err() error {
	if err := r.types.Err(); err != nil {
		return err
	}
	return r.values.Err()
}

// readValue reads a value in binary form ("Binary Protocol Value").
func readValue(c *Cursor, t ColumnType) []byte {
	switch t {
	case TypeNull:
		return nil
	case TypeTiny, TypeBool:
		return c.Bytes(1)
	case TypeShort, TypeYear:
		return c.Bytes(2)
	case TypeLong, TypeInt24, TypeFloat:
		return c.Bytes(4)
	case TypeLongLong, TypeDouble:
		return c.Bytes(8)
	case TypeDate, TypeTime, TypeDateTime, TypeTimestamp:
		return c.Bytes(int(c.Uint8()))
	}
	return c.LenEncString()
}

// cut returns the first n values as a block of their own, whose slices alias p's. The last byte of
// Nulls may have bits of values that are gone.
func (p *Parameters) cut(n int, longData func(i int) bool) (Parameters, error) {
	if n >= p.Count {
		return *p, nil
	}
	r := p.Read(longData)
	for range n {
		if _, ok := r.Next(); !ok {
			return Parameters{}, r.Err()
		}
	}
	return Parameters{
		Count: n, Nulls: p.Nulls[:(n+7)/8], NewTypes: p.NewTypes, Types: p.Types[:r.types.pos],
		Named: p.Named, Values: p.Values[:r.values.pos],
	}, nil
}

// append appends the block for a server that wants names, or not.
func (p *Parameters) append(dst []byte, named bool) ([]byte, error) {
	if p.Count == 0 {
		return dst, nil
	}
	last := len(dst) + len(p.Nulls) - 1
	dst = append(dst, p.Nulls...)
	if bits := p.Count % 8; bits > 0 && last >= 0 {
		dst[last] &= 1<<bits - 1 // of values that were cut
	}
	dst = append(dst, flag(p.NewTypes))
	switch {
	case !p.NewTypes:
	case p.Named == named:
		dst = append(dst, p.Types...)
	default:
		c := NewCursor("parameter types", p.Types)
		for range p.Count {
			dst = binary.LittleEndian.AppendUint16(dst, c.Uint16())
			if p.Named {
				c.LenEncString()
			} else {
				dst = append(dst, 0)
			}
		}
		if c.Err() != nil {
			return nil, c.Err()
		}
	}
	return append(dst, p.Values...), nil
}
