package frontend

// Holds tells whether memory for reading is held. Its reader must have ended.
func (c *Conn) Holds() bool {
	return c.in.b != nil || c.big != nil || c.zip != nil && c.zip.plain.b != nil
}
