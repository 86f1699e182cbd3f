package wire

import "encoding/binary"

// LastPrepared is the statement id by which a client of MariaDB means the statement that it
// prepared last, so that it can prepare and execute in one write.
const LastPrepared uint32 = 0xFFFFFFFF

// StatementID returns the id of the prepared statement that a command's payload names. ok is false
// for commands without one, and payloads too short to have it.
func StatementID(payload []byte) (id uint32, ok bool) {
	if len(payload) < 5 || !hasStatementID(Command(payload[0])) {
		return 0, false
	}
	return binary.LittleEndian.Uint32(payload[1:]), true
}

// PutStatementID writes another id into the payload. It tells whether the command has one.
func PutStatementID(payload []byte, id uint32) bool {
	if len(payload) < 5 || !hasStatementID(Command(payload[0])) {
		return false
	}
	binary.LittleEndian.PutUint32(payload[1:], id)
	return true
}

func hasStatementID(c Command) bool {
	switch c {
	case ComStmtExecute, ComStmtSendLongData, ComStmtClose, ComStmtReset, ComStmtFetch, ComStmtBulkExecute:
		return true
	}
	return false
}

// PrepareOK is the first packet of the answer to COM_STMT_PREPARE ("COM_STMT_PREPARE_OK").
// Definitions of the parameters follow, then of the columns.
type PrepareOK struct {
	StatementID uint32
	Columns     uint16
	Params      uint16
	Warnings    uint16
	NoMetadata  bool // no definitions follow; only under OptionalMetadata
}

// Decode reads the payload.
func (m *PrepareOK) Decode(payload []byte, caps Capability) error {
	c := NewCursor("COM_STMT_PREPARE_OK", payload)
	if c.Uint8() != okByte {
		c.failAt(0, "0x00")
	}
	*m = PrepareOK{StatementID: c.Uint32(), Columns: c.Uint16(), Params: c.Uint16()}
	c.Bytes(1)
	if c.Len() > 0 {
		m.Warnings = c.Uint16()
	}
	if caps.Has(OptionalMetadata) && c.Len() > 0 {
		m.NoMetadata = c.Uint8() == 0
	}
	return c.Err()
}

// Append appends the payload.
func (m *PrepareOK) Append(dst []byte, caps Capability) []byte {
	dst = binary.LittleEndian.AppendUint32(append(dst, okByte), m.StatementID)
	dst = binary.LittleEndian.AppendUint16(dst, m.Columns)
	dst = binary.LittleEndian.AppendUint16(dst, m.Params)
	dst = binary.LittleEndian.AppendUint16(append(dst, 0), m.Warnings)
	if caps.Has(OptionalMetadata) {
		dst = append(dst, flag(!m.NoMetadata))
	}
	return dst
}

// SendLongData is COM_STMT_SEND_LONG_DATA: a piece of a parameter's value. It has no answer; an
// error shows at COM_STMT_EXECUTE.
type SendLongData struct {
	StatementID uint32
	Param       uint16 // counted from 0
	Data        []byte
}

// Decode reads the whole payload, command byte included.
func (m *SendLongData) Decode(payload []byte) error {
	c := commandCursor("COM_STMT_SEND_LONG_DATA", ComStmtSendLongData, payload)
	*m = SendLongData{StatementID: c.Uint32(), Param: c.Uint16()}
	m.Data = c.Rest()
	return c.Err()
}

// Append appends the payload.
func (m *SendLongData) Append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(append(dst, byte(ComStmtSendLongData)), m.StatementID)
	return append(binary.LittleEndian.AppendUint16(dst, m.Param), m.Data...)
}

// StmtClose is COM_STMT_CLOSE, which has no answer.
type StmtClose struct{ StatementID uint32 }

// Decode reads the whole payload, command byte included.
func (m *StmtClose) Decode(payload []byte) error {
	c := commandCursor("COM_STMT_CLOSE", ComStmtClose, payload)
	m.StatementID = c.Uint32()
	return c.Err()
}

// Append appends the payload.
func (m *StmtClose) Append(dst []byte) []byte {
	return binary.LittleEndian.AppendUint32(append(dst, byte(ComStmtClose)), m.StatementID)
}

// StmtReset is COM_STMT_RESET: it drops the long data and closes the cursor.
type StmtReset struct{ StatementID uint32 }

// Decode reads the whole payload, command byte included.
func (m *StmtReset) Decode(payload []byte) error {
	c := commandCursor("COM_STMT_RESET", ComStmtReset, payload)
	m.StatementID = c.Uint32()
	return c.Err()
}

// Append appends the payload.
func (m *StmtReset) Append(dst []byte) []byte {
	return binary.LittleEndian.AppendUint32(append(dst, byte(ComStmtReset)), m.StatementID)
}

// StmtFetch is COM_STMT_FETCH: rows of a cursor.
type StmtFetch struct {
	StatementID uint32
	Rows        uint32
}

// Decode reads the whole payload, command byte included.
func (m *StmtFetch) Decode(payload []byte) error {
	c := commandCursor("COM_STMT_FETCH", ComStmtFetch, payload)
	*m = StmtFetch{StatementID: c.Uint32(), Rows: c.Uint32()}
	return c.Err()
}

// Append appends the payload.
func (m *StmtFetch) Append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(append(dst, byte(ComStmtFetch)), m.StatementID)
	return binary.LittleEndian.AppendUint32(dst, m.Rows)
}

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}
