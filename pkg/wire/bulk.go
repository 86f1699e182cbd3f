package wire

import "encoding/binary"

// bulkTypes is the flag of COM_STMT_BULK_EXECUTE that says that types follow.
const bulkTypes uint16 = 0x80

// BulkExecute is COM_STMT_BULK_EXECUTE: one statement of MariaDB, run for many rows of parameters.
type BulkExecute struct {
	StatementID uint32
	Flags       uint16
	Types       []byte // 2 bytes for each parameter; nil if the server remembers those of the last execution
	Rows        []byte // of each value a byte first: 0 before a value, 1 alone for NULL, 2 DEFAULT, 3 IGNORE
}

// Decode reads the whole payload, command byte included. params is how many parameters the
// statement has by its PrepareOK.
func (m *BulkExecute) Decode(payload []byte, params int) error {
	c := commandCursor("COM_STMT_BULK_EXECUTE", ComStmtBulkExecute, payload)
	*m = BulkExecute{StatementID: c.Uint32(), Flags: c.Uint16()}
	if m.Flags&bulkTypes != 0 {
		m.Types = c.Bytes(2 * params)
	}
	m.Rows = c.Rest()
	return c.Err()
}

// Remember is what Execute.Remember is. The two commands share the types that a server remembers.
func (m *BulkExecute) Remember(types []byte) {
	if m.Flags&bulkTypes == 0 && len(types) > 0 {
		m.Flags |= bulkTypes
		m.Types = types
	}
}

// Append appends the payload.
func (m *BulkExecute) Append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(append(dst, byte(ComStmtBulkExecute)), m.StatementID)
	dst = binary.LittleEndian.AppendUint16(dst, m.Flags)
	return append(append(dst, m.Types...), m.Rows...)
}
