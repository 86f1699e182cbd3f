package proxy

import (
	"fmt"

	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// command runs one command of the client. An error ends the session; what the client is to know has
// been told.
func (s *session) command(payload []byte) error {
	if len(payload) == 0 {
		return s.fail(1047, "08S01", "Unknown command")
	}
	switch c := wire.Command(payload[0]); c {
	case wire.ComQuery:
		return s.query(payload)
	case wire.ComStmtExecute:
		return s.executeStatement(payload)
	case wire.ComStmtBulkExecute:
		return s.bulkExecute(payload)
	case wire.ComStmtPrepare:
		return s.prepareStatement(payload)
	case wire.ComStmtClose:
		return s.closeStatement(payload)
	case wire.ComStmtReset:
		return s.resetStatement(payload)
	case wire.ComStmtFetch:
		return s.fetch(payload)
	case wire.ComStmtSendLongData:
		return s.longData(payload)
	case wire.ComQuit:
		return errEnd
	case wire.ComPing:
		return s.ok()
	case wire.ComInitDB:
		return s.initDB(payload)
	case wire.ComResetConnection:
		return s.resetConnection()
	case wire.ComChangeUser:
		return s.changeUser(payload)
	case wire.ComSetOption:
		return s.setOption(payload)
	case wire.ComProcessKill:
		return s.processKill(payload)
	case wire.ComFieldList, wire.ComStatistics, wire.ComProcessInfo, wire.ComDebug, wire.ComRefresh, wire.ComShutdown,
		wire.ComCreateDB, wire.ComDropDB:
		return s.onPrimary(payload)
	case wire.ComBinlogDump, wire.ComBinlogDumpGTID, wire.ComTableDump, wire.ComRegisterReplica, wire.ComClone,
		wire.ComSubscribeStream:
		return s.fail(1047, "08S01", fmt.Sprintf("mysqlrw does not pass replication commands on (0x%02x): connect to a server itself", byte(c)))
	default:
		return s.fail(1047, "08S01", "Unknown command")
	}
}

// fail tells the client an error of the proxy's own. It ends nothing.
func (s *session) fail(code uint16, state, message string) error {
	return s.client.WriteError(code, state, message)
}

// ok answers with a plain OK.
func (s *session) ok() error {
	return s.client.WriteOK(&wire.OK{Status: s.present()})
}

// present is the session's status as a server would tell it.
func (s *session) present() wire.Status {
	status := s.status & (wire.NoBackslashEscapes | wire.StatusANSIQuotes)
	switch t := &s.route.Transaction; {
	case t.Open && (!s.route.AutocommitOff || s.begin != ""):
		status |= wire.InTransaction
		if t.ReadOnly {
			status |= wire.InReadOnly
		}
	case s.route.AutocommitOff:
		status |= s.status & wire.InTransaction // it has begun if the server says so
	}
	if !s.route.AutocommitOff {
		status |= wire.Autocommit
	}
	return status
}
