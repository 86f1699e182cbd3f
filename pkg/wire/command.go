package wire

import "encoding/binary"

// Command is the first byte of what a client sends ("Command Phase").
type Command byte

// The commands, with the names of the manual. Binlog and cluster commands are named because a
// proxy must know that it cannot relay them as others.
const (
	ComQuit             Command = 0x01 // no answer, the server closes
	ComInitDB           Command = 0x02 // changes the schema
	ComQuery            Command = 0x03
	ComFieldList        Command = 0x04
	ComCreateDB         Command = 0x05
	ComDropDB           Command = 0x06
	ComRefresh          Command = 0x07
	ComShutdown         Command = 0x08
	ComStatistics       Command = 0x09 // answered by plain text
	ComProcessInfo      Command = 0x0A
	ComConnect          Command = 0x0B // never sent
	ComProcessKill      Command = 0x0C
	ComDebug            Command = 0x0D
	ComPing             Command = 0x0E
	ComTime             Command = 0x0F // never sent
	ComDelayedInsert    Command = 0x10 // never sent
	ComChangeUser       Command = 0x11
	ComBinlogDump       Command = 0x12 // endless answer
	ComTableDump        Command = 0x13
	ComConnectOut       Command = 0x14
	ComRegisterReplica  Command = 0x15
	ComStmtPrepare      Command = 0x16
	ComStmtExecute      Command = 0x17
	ComStmtSendLongData Command = 0x18 // no answer
	ComStmtClose        Command = 0x19 // no answer
	ComStmtReset        Command = 0x1A
	ComSetOption        Command = 0x1B
	ComStmtFetch        Command = 0x1C
	ComDaemon           Command = 0x1D // never sent
	ComBinlogDumpGTID   Command = 0x1E // endless answer
	ComResetConnection  Command = 0x1F
	ComClone            Command = 0x20
	ComSubscribeStream  Command = 0x21
	ComStmtBulkExecute  Command = 0xFA // MariaDB
)

// InitDB is COM_INIT_DB.
type InitDB struct{ Schema []byte }

// Decode reads the whole payload, command byte included.
func (m *InitDB) Decode(payload []byte) error {
	c := commandCursor("COM_INIT_DB", ComInitDB, payload)
	m.Schema = c.Rest()
	return c.Err()
}

// Append appends the payload.
func (m *InitDB) Append(dst []byte) []byte { return append(append(dst, byte(ComInitDB)), m.Schema...) }

// SetOption is COM_SET_OPTION.
type SetOption struct {
	// Option is 0 to switch MULTI_STATEMENTS on, 1 to switch it off, whatever was negotiated.
	Option uint16
}

// Decode reads the whole payload, command byte included.
func (m *SetOption) Decode(payload []byte) error {
	c := commandCursor("COM_SET_OPTION", ComSetOption, payload)
	m.Option = c.Uint16()
	return c.Err()
}

// Append appends the payload.
func (m *SetOption) Append(dst []byte) []byte {
	return binary.LittleEndian.AppendUint16(append(dst, byte(ComSetOption)), m.Option)
}

// ProcessKill is COM_PROCESS_KILL. A server that numbers connections beyond 32 bits cannot be
// asked this way.
type ProcessKill struct{ ConnectionID uint32 }

// Decode reads the whole payload, command byte included.
func (m *ProcessKill) Decode(payload []byte) error {
	c := commandCursor("COM_PROCESS_KILL", ComProcessKill, payload)
	m.ConnectionID = c.Uint32()
	return c.Err()
}

// Append appends the payload.
func (m *ProcessKill) Append(dst []byte) []byte {
	return binary.LittleEndian.AppendUint32(append(dst, byte(ComProcessKill)), m.ConnectionID)
}

// FieldList is COM_FIELD_LIST, which old clients send to complete names.
type FieldList struct {
	Table    []byte
	Wildcard []byte // a LIKE pattern of column names, or empty
}

// Decode reads the whole payload, command byte included.
func (m *FieldList) Decode(payload []byte) error {
	c := commandCursor("COM_FIELD_LIST", ComFieldList, payload)
	m.Table = c.NullString()
	m.Wildcard = c.Rest()
	return c.Err()
}

// Append appends the payload.
func (m *FieldList) Append(dst []byte) []byte {
	return append(appendNullString(append(dst, byte(ComFieldList)), m.Table), m.Wildcard...)
}

// commandCursor starts behind the command byte, which must be the one that is wanted.
func commandCursor(name string, command Command, payload []byte) Cursor {
	c := NewCursor(name, payload)
	if c.Len() == 0 || payload[0] != byte(command) {
		c.Fail("its command byte")
		return c
	}
	c.pos = 1
	return c
}
