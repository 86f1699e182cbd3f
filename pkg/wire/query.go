package wire

// Query is COM_QUERY.
type Query struct {
	Attributes Parameters // only under QueryAttributes
	Text       []byte     // in the client's character set; not empty, if a client means it
}

// Decode reads the whole payload, command byte included.
func (m *Query) Decode(payload []byte, caps Capability) error {
	c := commandCursor("COM_QUERY", ComQuery, payload)
	*m = Query{}
	if caps.Has(QueryAttributes) {
		count := c.LenEncInt()
		if count > maxParams {
			c.failAt(1, "at most 65535 attributes")
			count = 0
		}
		if c.LenEncInt() != 1 {
			c.Fail("one set of attributes")
		}
		m.Attributes = Parameters{Count: int(count), Named: true}
		m.Attributes.decode(&c)
		m.readAttributes(&c)
	}
	m.Text = c.Rest()
	return c.Err()
}

// readAttributes finds the end of the attributes' values, behind which the text begins.
func (m *Query) readAttributes(c *Cursor) {
	p := &m.Attributes
	if p.Count == 0 || c.err != nil {
		return
	}
	if !p.NewTypes {
		c.Fail("types of the attributes")
		return
	}
	p.Values = c.b[c.pos:]
	r := p.Read(nil)
	for range p.Count {
		r.Next()
	}
	if r.Err() != nil {
		c.failAt(c.pos+max(0, r.values.pos-1), "values of the attributes")
		return
	}
	p.Values = c.take(r.values.pos)
}

// Append appends the payload for a server with the capabilities caps. Attributes are left out
// without QueryAttributes, and the block that says that there are none is put in with it.
func (m *Query) Append(dst []byte, caps Capability) ([]byte, error) {
	dst = append(dst, byte(ComQuery))
	if caps.Has(QueryAttributes) {
		dst = append(AppendLenEncInt(dst, uint64(m.Attributes.Count)), 1)
		var err error
		if dst, err = m.Attributes.append(dst, true); err != nil {
			return nil, err
		}
	}
	return append(dst, m.Text...), nil
}

// AppendQuery appends the payload of a query without attributes.
func AppendQuery[S ~string | ~[]byte](dst []byte, text S, caps Capability) []byte {
	dst = append(dst, byte(ComQuery))
	if caps.Has(QueryAttributes) {
		dst = append(dst, 0, 1)
	}
	return append(dst, text...)
}
