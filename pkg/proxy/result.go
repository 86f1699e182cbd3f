package proxy

import "github.com/mysqlrw/mysqlrw/pkg/wire"

// resultColumn is a column of a result that the proxy makes itself.
type resultColumn struct {
	name   string
	number bool // unsigned, 64 bits; else text
}

// result answers with rows of text.
func (s *session) result(columns []resultColumn, rows [][]string) error {
	caps := s.client.Capabilities()
	seq := s.client.Seq()
	out := s.out[:0]
	add := func(payload func(b []byte) []byte) {
		start := len(out)
		out, seq = wire.Finish(payload(wire.Reserve(out)), start, seq)
	}
	end := wire.OK{AfterRows: true, EOF: !caps.Has(wire.DeprecateEOF), Status: s.present()}
	add(func(b []byte) []byte {
		if caps.Has(wire.MariaDBCacheMetadata) {
			return append(wire.AppendLenEncInt(b, uint64(len(columns))), 1)
		}
		return wire.AppendLenEncInt(b, uint64(len(columns)))
	})
	for _, c := range columns {
		m := wire.Column{Name: []byte(c.name), Charset: wire.CharsetUTF8MB4, Type: wire.TypeVarString, Length: 1024}
		if c.number {
			m.Charset, m.Type, m.Length = wire.CharsetBinary, wire.TypeLongLong, 21
			m.Flags = wire.ColumnNotNull | wire.ColumnUnsigned | wire.ColumnBinary
		}
		add(func(b []byte) []byte { return m.Append(b, caps) })
	}
	if !caps.Has(wire.DeprecateEOF) {
		add(func(b []byte) []byte { return end.Append(b, caps) })
	}
	for _, row := range rows {
		add(func(b []byte) []byte {
			for _, v := range row {
				b = wire.AppendLenEncString(b, v)
			}
			return b
		})
	}
	add(func(b []byte) []byte { return end.Append(b, caps) })
	s.out = out[:0]
	return s.client.Write(out)
}
