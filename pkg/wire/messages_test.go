package wire_test

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// message is what most messages have.
type message interface {
	Decode(payload []byte) error
	Append(dst []byte) []byte
}

// capMessage is a message whose form depends on capabilities.
type capMessage interface {
	Decode(payload []byte, caps wire.Capability) error
	Append(dst []byte, caps wire.Capability) []byte
}

// again decodes a real payload and writes it again.
func again(m any, p []byte, caps wire.Capability) ([]byte, error) {
	switch m := m.(type) {
	case message:
		err := m.Decode(p)
		return m.Append(nil), err
	case capMessage:
		err := m.Decode(p, caps)
		return m.Append(nil, caps), err
	}
	return nil, errors.New("no message")
}

// TestMessagesAgain decodes and encodes every packet that real servers and clients sent.
func TestMessagesAgain(t *testing.T) {
	count := map[string]int{}
	for file, list := range fixtures(t, "*-*.txt") {
		if strings.Contains(file, "login") {
			continue
		}
		for _, e := range list {
			same := func(m any, p []byte) {
				t.Helper()
				count[reflect.TypeOf(m).Elem().Name()]++
				got, err := again(m, p, e.caps)
				if ok, isOK := m.(*wire.OK); isOK && ok.Trackers == nil { // MariaDB sets the bit without SessionTrack
					p = withoutBit(p, ok, e.caps)
				}
				if err != nil || !bytes.Equal(got, p) {
					t.Errorf("%s: %s: %T written again:\n got %x\nwant %x\n%v", file, e.name, m, got, p, err)
				}
			}
			eachClientPacket(t, e, same)
			eachServerPacket(t, e, same)
		}
	}
	for _, name := range []string{
		"OK", "ServerError", "ResultHead", "PrepareOK", "Column", "LocalInfile", "AuthSwitch", "InitDB", "FieldList",
		"ProcessKill", "SetOption", "StmtFetch", "StmtReset", "StmtClose", "SendLongData", "ChangeUser", "Progress", "AuthMoreData",
	} {
		if count[name] == 0 {
			t.Errorf("no %s was seen", name)
		}
	}
	t.Log(count)
}

func withoutBit(p []byte, ok *wire.OK, caps wire.Capability) []byte {
	var raw wire.OK
	if raw.Decode(p, caps) != nil || !raw.Status.Has(wire.SessionStateChanged) {
		return p
	}
	p = bytes.Clone(p)
	at := len(p) - 1 // of an EOF
	if !ok.EOF {
		at = bytes.LastIndex(p, []byte{byte(raw.Status), byte(raw.Status >> 8)}) + 1
	}
	p[at] &^= byte(wire.SessionStateChanged >> 8)
	return p
}

func eachClientPacket(t *testing.T, e *exchange, same func(m any, p []byte)) {
	p := e.command(t)
	switch wire.Command(p[0]) {
	case wire.ComInitDB:
		same(&wire.InitDB{}, p)
	case wire.ComFieldList:
		same(&wire.FieldList{}, p)
	case wire.ComProcessKill:
		same(&wire.ProcessKill{}, p)
	case wire.ComSetOption:
		same(&wire.SetOption{}, p)
	case wire.ComStmtFetch:
		same(&wire.StmtFetch{}, p)
	case wire.ComStmtReset:
		same(&wire.StmtReset{}, p)
	case wire.ComStmtClose:
		same(&wire.StmtClose{}, p)
	case wire.ComStmtSendLongData:
		same(&wire.SendLongData{}, p)
	case wire.ComChangeUser:
		same(&wire.ChangeUser{}, p)
	case wire.ComStmtExecute:
		params := map[string]int{
			"execute-bound": 2, "execute-again": 2, "execute-long-data": 2, "execute-call": 2, "cursor-call": 2,
		}[e.name]
		var m wire.Execute
		err := m.Decode(p, params, e.caps)
		got, err2 := m.Append(nil, e.caps, nil)
		if err != nil || err2 != nil || !bytes.Equal(got, p) {
			t.Errorf("%s: written again: %x, want %x: %v %v", e.name, got, p, err, err2)
		}
	case wire.ComStmtBulkExecute:
		var m wire.BulkExecute
		err := m.Decode(p, 1)
		if got := m.Append(nil); err != nil || !bytes.Equal(got, p) || len(m.Types) != 2 {
			t.Errorf("%s: written again: %x, want %x: %v", e.name, got, p, err)
		}
		for n := range 9 { // the types are the last that must be there
			if err := m.Decode(p[:n], 1); err == nil {
				t.Errorf("%s: no error if it is cut at %d", e.name, n)
			}
		}
	case wire.ComQuery:
		var q wire.Query
		err := q.Decode(p, e.caps)
		got, err2 := q.Append(nil, e.caps)
		if err != nil || err2 != nil || !bytes.Equal(got, p) {
			t.Errorf("%s: query written again: %x, want %x: %v %v", e.name, got, p, err, err2)
		}
	}
}

func eachServerPacket(t *testing.T, e *exchange, same func(m any, p []byte)) {
	var a wire.Answer
	command := wire.Command(e.command(t)[0])
	a.Start(command, e.caps)
	for rest := e.of(true); len(rest) > 0; {
		p, _, n, err := wire.Split(rest)
		if err != nil {
			t.Fatal(err)
		}
		rows := a.InRows()
		_, step, err := a.Next(rest[:n])
		if err != nil {
			t.Fatalf("%s: %v", e.name, err)
		}
		switch {
		case step == wire.StepHead && command == wire.ComStmtPrepare:
			same(&wire.PrepareOK{}, p)
		case step == wire.StepHead:
			same(&wire.ResultHead{}, p)
		case step == wire.StepEnd || step == wire.StepEOF:
			same(&wire.OK{}, p)
		case step == wire.StepError:
			same(&wire.ServerError{}, p)
		case step == wire.StepFile:
			same(&wire.LocalInfile{}, p)
		case step == wire.StepAuth && p[0] == 0xFE:
			same(&wire.AuthSwitch{}, p)
		case step == wire.StepAuth:
			same(&wire.AuthMoreData{}, p)
		case wire.IsProgress(p):
			same(&wire.Progress{}, p)
		case step == wire.StepRelay && !rows && command != wire.ComStatistics:
			same(&wire.Column{}, p)
		case step == wire.StepRelay && command == wire.ComQuery:
			row := wire.ReadTextRow(p)
			for i := range a.Head().Columns {
				if _, ok := row.Next(); !ok {
					t.Errorf("%s: row of %d values: %v", e.name, i, row.Err())
				}
			}
			if row.Skip(1) {
				t.Errorf("%s: more values than columns", e.name)
			}
		}
		rest = rest[n:]
	}
}

// TestTrackers reads what real servers track.
func TestTrackers(t *testing.T) {
	for flavor, want := range map[string][]string{
		"mysql":   {"gtids", "schema wiretest", "time_zone=+01:00", "transaction T_R_W_S_", "characteristics", "state 1"},
		"mariadb": {"last_gtid=", "schema wiretest", "time_zone=+01:00", "characteristics", "state 1"},
	} {
		var seen strings.Builder
		for _, e := range loadFixture(t, "testdata/"+flavor+"-new.txt") {
			var a wire.Answer
			a.Start(wire.Command(e.command(t)[0]), e.caps)
			for rest := e.of(true); len(rest) > 0; {
				n, step, err := a.Next(rest)
				if err != nil {
					t.Fatal(err)
				}
				if step == wire.StepEnd {
					readTrackers(t, &seen, a.Final().Trackers)
				}
				rest = rest[n:]
			}
		}
		for _, w := range want {
			if !strings.Contains(seen.String(), w) {
				t.Errorf("%s: no %q in\n%s", flavor, w, &seen)
			}
		}
	}
}

func readTrackers(t *testing.T, seen *strings.Builder, block []byte) {
	t.Helper()
	var written []byte
	r := wire.ReadTrackers(block)
	for tr, ok := r.Next(); ok; tr, ok = r.Next() {
		switch tr.Type {
		case wire.TrackVariables:
			vars := tr.Variables()
			for name, value, ok := vars.Next(); ok; name, value, ok = vars.Next() {
				seen.WriteString(string(name) + "=" + string(value) + "\n")
				written = wire.AppendVariable(written, string(name), string(value))
			}
			if vars.Err() != nil {
				t.Error(vars.Err())
			}
		case wire.TrackGTIDs:
			set, err := tr.GTIDs()
			if err != nil || !strings.Contains(string(set), ":1-") {
				t.Errorf("GTIDs %q: %v", set, err)
			}
			seen.WriteString("gtids\n")
			written = wire.AppendGTIDs(written, string(set))
		default:
			text, err := tr.Text()
			if err != nil {
				t.Errorf("tracker %d: %v", tr.Type, err)
			}
			word := map[wire.TrackerType]string{
				wire.TrackSchema: "schema ", wire.TrackStateChange: "state ", wire.TrackCharacteristics: "characteristics ",
				wire.TrackTransaction: "transaction ",
			}[tr.Type]
			seen.WriteString(word + string(text) + "\n")
			written = wire.AppendText(written, tr.Type, string(text))
		}
	}
	if r.Err() != nil {
		t.Error(r.Err())
	}
	if !bytes.Equal(written, block) {
		t.Errorf("written again: %x, want %x", written, block)
	}
}

func TestProgress(t *testing.T) {
	m := wire.Progress{Stage: 1, Stages: 2, Thousandths: 33_333, Text: []byte("copy to tmp table")}
	p := m.Append(nil)
	var back wire.Progress
	if err := back.Decode(p); err != nil || !reflect.DeepEqual(m, back) || wire.IsError(p) || !wire.IsProgress(p) {
		t.Errorf("%+v: %v", back, err)
	}
	ok := wire.OK{}
	e := &exchange{name: "progress", caps: wire.MariaDBProgress}
	b, seq := wire.AppendMessage(nil, p, 1)
	b, seq = wire.AppendMessage(b, p, seq)
	b, _ = wire.AppendMessage(b, ok.Append(nil, 0), seq)
	e.add(false, []byte{2, 0, 0, 0, byte(wire.ComQuery), 'x'})
	e.add(true, b)
	checkAnswer(t, e, len(b))
}

// TestMessages has what no fixture has.
func TestMessages(t *testing.T) {
	const caps = wire.SessionTrack
	for _, m := range []any{
		&wire.AuthSwitch{Plugin: wire.Ed25519Plugin, Data: bytes.Repeat([]byte{9}, 32)},
		&wire.AuthMoreData{Data: []byte{4}},
		&wire.LocalInfile{Name: []byte("/a/b")},
		&wire.ServerError{Code: 1040, Message: "Too many connections"},
		&wire.ServerError{Code: 1045, State: "28000", Message: "#denied"},
		&wire.Greeting{
			Version: "5.5.5-10.11.9-MariaDB", ThreadID: 9, AuthData: []byte("01234567890123456789"), AuthPlugin: "p",
			Capabilities: wire.Protocol41 | wire.PluginAuth | wire.MariaDBBulk, Charset: 45, Status: wire.Autocommit,
		},
		&wire.HandshakeResponse{Capabilities: wire.Protocol41, User: "old", AuthResponse: []byte("abc")},
		&wire.HandshakeResponse{
			Capabilities: wire.Protocol41 | wire.SecureConnection | wire.ConnectWithDB | wire.PluginAuth |
				wire.ZstdCompression | wire.MariaDBBulk,
			User: "u", AuthResponse: []byte{1, 0, 2}, Database: "d", AuthPlugin: "p", ZstdLevel: 22, MaxPacket: 1 << 24, Charset: 8,
		},
		&wire.SendLongData{StatementID: 1, Param: 2, Data: []byte("x")},
		&wire.OK{AffectedRows: 1 << 40, LastInsertID: 70000, Status: wire.InTransaction, Warnings: 3, Info: []byte("i")},
		&wire.OK{Status: wire.SessionStateChanged, Info: []byte{}, Trackers: wire.AppendText(nil, wire.TrackSchema, "")},
		&wire.OK{AfterRows: true, EOF: true, Status: wire.MoreResults, Warnings: 9},
		&wire.ResultHead{Columns: 300},
		&wire.PrepareOK{StatementID: wire.LastPrepared, Columns: 1, Params: 65535, Warnings: 1},
		&wire.Column{
			Schema: []byte{}, Table: []byte("t"), OrgTable: []byte{}, Name: bytes.Repeat([]byte("n"), 300), OrgName: []byte{},
			Charset: 63, Length: 1 << 31, Type: wire.TypeJSON, Flags: wire.ColumnBinary, Decimals: 31, HasDefault: true,
		},
	} {
		var p []byte
		switch m := m.(type) {
		case message:
			p = m.Append(nil)
		case capMessage:
			p = m.Append(nil, caps)
		}
		back := reflect.New(reflect.TypeOf(m).Elem()).Interface()
		got, err := again(back, p, caps)
		if err != nil || !bytes.Equal(got, p) || !reflect.DeepEqual(m, back) {
			t.Errorf("%+v\ncame back as %+v: %v", m, back, err)
		}
		// Whatever is cut off is missed, or was optional.
		for n := range p {
			short := reflect.New(reflect.TypeOf(m).Elem()).Interface()
			_, err := again(short, p[:n], caps)
			var decode *wire.DecodeError
			if err != nil && (!errors.As(err, &decode) || decode.Offset > n || decode.Want == "") {
				t.Errorf("%T cut at %d: %v", m, n, err)
			}
		}
	}
}
