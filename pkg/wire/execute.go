package wire

import (
	"encoding/binary"
	"errors"
)

// Flags of COM_STMT_EXECUTE.
const (
	CursorReadOnly byte = 0x01 // rows are fetched, not sent with the answer
	countAvailable byte = 0x08 // the number of parameters is sent although the statement has none
)

// Execute is COM_STMT_EXECUTE.
type Execute struct {
	StatementID uint32
	Flags       byte
	Iterations  uint32 // always 1
	Params      int    // parameters of the statement; what Parameters has beyond them are query attributes
	Parameters  Parameters
}

// ErrTypesUnknown is returned when query attributes cannot be told from parameters because no
// types were sent or remembered.
var ErrTypesUnknown = errors.New("write COM_STMT_EXECUTE: the types of its parameters are not known")

// Decode reads the whole payload, command byte included. params is how many parameters the
// statement has by its PrepareOK. caps are the client's.
func (m *Execute) Decode(payload []byte, params int, caps Capability) error {
	c := commandCursor("COM_STMT_EXECUTE", ComStmtExecute, payload)
	*m = Execute{StatementID: c.Uint32(), Flags: c.Uint8(), Iterations: c.Uint32(), Params: params}
	named := caps.Has(QueryAttributes)
	m.Parameters = Parameters{Count: params, Named: named}
	if params == 0 && (!named || m.Flags&countAvailable == 0) {
		return c.Err() // servers do not look at what follows, and MariaDB's client for Node sends something
	}
	if named {
		start := c.pos
		count := c.LenEncInt()
		if c.err == nil && (count < uint64(params) || count > maxParams) {
			c.failAt(start, "at least as many values as the statement has parameters")
			count = 0
		}
		m.Parameters.Count = int(count)
	}
	m.Parameters.decode(&c)
	m.Parameters.Values = c.Rest()
	return c.Err()
}

// Remember puts the types of an earlier execution where this one sends none: another server, or
// the same statement prepared again, has not seen them. types is a copy of the Parameters.Types of
// that execution by the same client.
func (m *Execute) Remember(types []byte) {
	if !m.Parameters.NewTypes && m.Parameters.Count > 0 && len(types) > 0 {
		m.Parameters.NewTypes, m.Parameters.Types = true, types
	}
}

// Append appends the payload for a server with the capabilities caps. Without QueryAttributes the
// attributes are left out, which needs the types, and longData as Parameters.Read has it.
func (m *Execute) Append(dst []byte, caps Capability, longData func(i int) bool) ([]byte, error) {
	p := &m.Parameters
	named := caps.Has(QueryAttributes)
	flags := m.Flags
	if !named {
		flags &^= countAvailable
		if p.Count > m.Params {
			if m.Params > 0 && !p.NewTypes {
				return nil, ErrTypesUnknown
			}
			short, err := p.cut(m.Params, longData)
			if err != nil {
				return nil, err
			}
			p = &short
		}
	}
	dst = binary.LittleEndian.AppendUint32(append(dst, byte(ComStmtExecute)), m.StatementID)
	dst = binary.LittleEndian.AppendUint32(append(dst, flags), m.Iterations)
	if named && (m.Params > 0 || flags&countAvailable != 0) {
		dst = AppendLenEncInt(dst, uint64(p.Count))
	}
	return p.append(dst, named)
}
