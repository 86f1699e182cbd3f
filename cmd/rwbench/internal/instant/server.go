package instant

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/backend"
	"github.com/mysqlrw/mysqlrw/pkg/frontend"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// ServerOptions say what a Server pretends to be. They come to its process as JSON.
type ServerOptions struct {
	Version  string            // of the greeting
	Plugin   string            // what accounts log in with: wire.NativePlugin or wire.SHA2Plugin
	Accounts map[string]string // passwords by name
	Real     string            // address of the server that answers the rest; "" has the rest fail
}

// offered is what clients may ask for. Query attributes are left out: they would stand in front of the text that
// is looked for.
const offered = wire.LongPassword | wire.LongFlag | wire.FoundRows | wire.ConnectWithDB | wire.IgnoreSpace | wire.Protocol41 | wire.Interactive |
	wire.Transactions | wire.SecureConnection | wire.MultiStatements | wire.MultiResults | wire.PSMultiResults | wire.PluginAuth | wire.ConnectAttrs |
	wire.PluginAuthLenEnc | wire.SessionTrack | wire.DeprecateEOF

// firstID is where the numbers of connections begin: a KILL that names one finds nobody on the real server.
const firstID = 1 << 30

// Server answers clients until its listener is closed.
type Server struct {
	options *ServerOptions
	login   frontend.Options
	real    backend.Options
	last    atomic.Uint32
	clients sync.WaitGroup
}

// NewServer makes a server; Serve runs it.
func NewServer(o *ServerOptions) *Server {
	s := &Server{options: o, real: backend.Options{Address: o.Real, TLSMode: backend.TLSDisabled, ConnectTimeout: 10 * time.Second, Buffers: &backend.Buffers{}}}
	s.login = frontend.Options{
		Version: o.Version, Charset: wire.CharsetUTF8MB4, Status: wire.Autocommit, Offer: offered, Plugin: o.Plugin,
		LoginTimeout: 10 * time.Second, Auth: accounts(o.Accounts),
	}
	s.last.Store(firstID)
	return s
}

// Serve answers who connects, and returns when the listener is closed and every client has gone.
func (s *Server) Serve(ctx context.Context, l net.Listener) {
	ctx, cancel := context.WithCancel(ctx)
	for {
		raw, err := l.Accept()
		if err != nil {
			break
		}
		s.clients.Go(func() {
			stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
			defer stop()
			_ = s.serve(ctx, raw) // a client that goes away or breaks the protocol has no more to be told
		})
	}
	cancel()
	s.clients.Wait()
}

// accounts are all known: who has a wrong password is not let in.
type accounts map[string]string

func (a accounts) Known(user string) (frontend.Credential, bool) {
	password, ok := a[user]
	return frontend.Credential{Native: wire.HashNative([]byte(password)), SHA2: wire.HashSHA2([]byte(password))}, ok
}

func (a accounts) Verify(_ context.Context, l *frontend.Login) error {
	if password, ok := a[l.User]; ok && password == string(l.Password) {
		return nil
	}
	return &wire.ServerError{Code: 1045, State: "28000", Message: "Access denied for user '" + l.User + "'"}
}

func (s *Server) serve(ctx context.Context, raw net.Conn) error {
	o := s.login
	o.ID = s.last.Add(1)
	c, login, err := frontend.Accept(ctx, raw, &o)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.WriteOK(&wire.OK{Status: wire.Autocommit}); err != nil {
		return err
	}
	// From here on the socket is read without c, which would wait for it in a way that costs no memory and one
	// system call more. There is no TLS, and nothing was read ahead: the client has waited for the OK.
	one := &session{server: s, raw: raw, login: login, caps: c.Capabilities(), canned: newCanned(c.Capabilities())}
	defer one.close()
	return one.run(ctx)
}

// session is one client.
type session struct {
	server *Server
	raw    net.Conn
	login  *frontend.Login
	caps   wire.Capability
	canned *canned
	in     []byte // read and not yet answered
	out    []byte // answers not yet sent
	real   *backend.Conn
	conv   wire.Converter
}

func (s *session) close() {
	if s.real != nil {
		_ = s.real.Quit()
	}
}

func (s *session) run(ctx context.Context) error {
	buffer := make([]byte, 64<<10)
	for {
		for {
			payload, _, n, err := wire.Split(s.in)
			if err != nil {
				return err
			}
			if n == 0 {
				break
			}
			if err := s.command(ctx, payload, s.in[:n]); err != nil {
				return err
			}
			s.in = s.in[n:]
		}
		if err := s.flush(); err != nil {
			return err
		}
		// What is left is a part of a message: it goes to the front, and more behind it.
		kept := copy(buffer, s.in)
		if kept == len(buffer) {
			buffer = append(buffer, make([]byte, len(buffer))...)
		}
		n, err := s.raw.Read(buffer[kept:])
		if err != nil {
			return err
		}
		s.in = buffer[:kept+n]
	}
}

func (s *session) flush() error {
	if len(s.out) == 0 {
		return nil
	}
	_, err := s.raw.Write(s.out)
	s.out = s.out[:0]
	return err
}

// command answers one command: the canned ones at once, and the others as the real server does.
func (s *session) command(ctx context.Context, payload, packets []byte) error {
	if len(payload) == 0 {
		return errors.New("an empty command")
	}
	switch command := wire.Command(payload[0]); command {
	case wire.ComQuit:
		return io.EOF
	case wire.ComQuery:
		if bytes.HasPrefix(payload[1:], selectPrefix) {
			s.out = append(s.out, s.canned.text...)
			return nil
		}
	case wire.ComStmtPrepare:
		if bytes.HasPrefix(payload[1:], selectPrefix) {
			s.out = append(s.out, s.canned.prepared...)
		} else {
			s.refuse(payload) // proxies ask for what they want to know as text
		}
		return nil
	case wire.ComStmtExecute:
		if id, ok := wire.StatementID(payload); ok && id == cannedID {
			s.out = append(s.out, s.canned.binary...)
			return nil
		}
	case wire.ComStmtClose:
		if id, ok := wire.StatementID(payload); ok && id == cannedID {
			return nil
		}
	case wire.ComChangeUser:
		return errors.New("a change of user, which is not scripted")
	}
	if err := s.flush(); err != nil {
		return err
	}
	return s.forward(ctx, payload, packets)
}

// refuse is MySQL's word for what cannot be prepared.
func (s *session) refuse(payload []byte) {
	e := wire.ServerError{Code: 1295, State: "HY000", Message: fmt.Sprintf("%.100q is not scripted", payload[1:])}
	s.out, _ = wire.AppendMessage(s.out, e.Append(nil), 1)
}

// forward has the real server answer, over a connection of the same account.
func (s *session) forward(ctx context.Context, payload, packets []byte) error {
	if s.server.options.Real == "" {
		s.refuse(payload)
		return nil
	}
	if s.real == nil {
		o := s.server.real
		o.User, o.Password, o.Schema, o.Want = s.login.User, s.server.options.Accounts[s.login.User], s.login.Database, s.caps
		if s.login.Charset > 0 && s.login.Charset < 256 {
			o.Charset = uint8(s.login.Charset)
		}
		var err error
		if s.real, err = backend.Dial(ctx, &o); err != nil {
			return err
		}
	}
	if err := s.real.Write(s.plain(payload, packets)); err != nil {
		return err
	}
	command := wire.Command(payload[0])
	if !s.conv.Start(command, s.real.Capabilities(), s.caps, s.real.Status(), nil) {
		return fmt.Errorf("command %#x has no end that could be found", payload[0])
	}
	for !s.conv.Answer().Done() {
		var n int
		var step wire.Step
		var err error
		s.out, n, step, err = s.conv.Append(s.out, s.real.Peek())
		if err != nil {
			return err
		}
		switch step {
		case wire.StepMore:
			if _, err := s.real.Fill(s.conv.Answer().Need()); err != nil {
				return err
			}
			continue
		case wire.StepEnd:
			s.real.SetStatus(s.conv.Answer().Final().Status)
		case wire.StepFile:
			return errors.New("LOAD DATA LOCAL is not scripted")
		}
		s.real.Advance(n)
	}
	s.real.Release()
	return s.flush()
}

// plain puts the real connection's form of query attributes in front of a text, if it has agreed on them.
func (s *session) plain(payload, packets []byte) []byte {
	if wire.Command(payload[0]) != wire.ComQuery || !s.real.Capabilities().Has(wire.QueryAttributes) {
		return packets
	}
	b, _ := wire.AppendMessage(nil, wire.AppendQuery(nil, payload[1:], s.real.Capabilities()), 0)
	return b
}

// The statement that is answered at once, and what is known of it.
var selectPrefix = []byte("SELECT c FROM sbtest1 WHERE id=")

const (
	// cannedID is what no server's own counting reaches.
	cannedID = 1 << 30
	// cannedValue is as long as what sysbench stores.
	cannedValue = "08566691963-88624912351-16662227201-46648573979-64646226163-77505759394-75470094713-41097360717-15161106334-50535565977"
)

// canned are the packets of the three answers.
type canned struct{ text, prepared, binary []byte }

func newCanned(caps wire.Capability) *canned {
	c := &canned{}
	c.text = row(caps, wire.AppendLenEncString(nil, cannedValue))
	c.binary = row(caps, wire.AppendLenEncString([]byte{0, 0}, cannedValue))
	ok := wire.PrepareOK{StatementID: cannedID, Columns: 1, Params: 1}
	parameter := wire.Column{Name: []byte("?"), Charset: wire.CharsetBinary, Type: wire.TypeLongLong, Length: 21}
	p := &packets{caps: caps}
	p.put(ok.Append(nil, caps))
	p.put(parameter.Append(nil, caps))
	p.eof()
	p.put(column().Append(nil, caps))
	p.eof()
	c.prepared = p.b
	return c
}

func column() *wire.Column {
	return &wire.Column{
		Schema: []byte("sbtest"), Table: []byte("sbtest1"), OrgTable: []byte("sbtest1"), Name: []byte("c"), OrgName: []byte("c"),
		Charset: wire.CharsetUTF8MB4, Length: 480, Type: wire.TypeString, Flags: wire.ColumnNotNull,
	}
}

// row is a result of one row.
func row(caps wire.Capability, payload []byte) []byte {
	p := &packets{caps: caps}
	head := wire.ResultHead{Columns: 1}
	p.put(head.Append(nil, caps))
	p.put(column().Append(nil, caps))
	p.eof()
	p.put(payload)
	end := wire.OK{AfterRows: true, Status: wire.Autocommit, EOF: !caps.Has(wire.DeprecateEOF)}
	p.put(end.Append(nil, caps))
	return p.b
}

// packets are those of one answer.
type packets struct {
	caps wire.Capability
	b    []byte
	seq  byte // of the last one
}

func (p *packets) put(payload []byte) {
	p.b, p.seq = wire.AppendMessage(p.b, payload, p.seq+1)
	p.seq--
}

// eof ends definitions, for who has not agreed to do without.
func (p *packets) eof() {
	if !p.caps.Has(wire.DeprecateEOF) {
		end := wire.OK{AfterRows: true, EOF: true, Status: wire.Autocommit}
		p.put(end.Append(nil, p.caps))
	}
}
