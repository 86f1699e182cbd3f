package proxy

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/frontend"
	"github.com/mysqlrw/mysqlrw/pkg/netloop"
	"github.com/mysqlrw/mysqlrw/pkg/sqltoken"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
	"github.com/mysqlrw/mysqlrw/route"
)

// listener is one address for clients.
type listener struct {
	p       *Proxy
	index   int
	socket  net.Listener
	clients atomic.Int64
	// accepted and refused count clients since the start.
	accepted, refused atomic.Uint64
	// logins has one for each client that has not logged in yet. Behind so many no further one is
	// accepted: they wait in the system's queue, which is bounded.
	logins chan struct{}
}

// maxLogins is how many clients of a listener log in at a time.
const maxLogins = 256

func (l *listener) conf() *Listener { return &l.p.conf.Load().Listeners[l.index] }

// accept takes clients in until the listener is closed.
func (l *listener) accept() {
	for pause := time.Duration(0); ; {
		l.logins <- struct{}{}
		conn, err := l.socket.Accept()
		if err != nil {
			<-l.logins
			if errors.Is(err, net.ErrClosed) {
				return
			}
			// The system has no more files or memory: it will have some when clients go.
			pause = min(max(2*pause, 5*time.Millisecond), time.Second)
			l.p.log.Error("accept", "listener", l.socket.Addr().String(), "error", err)
			select {
			case <-time.After(pause):
			case <-l.p.ctx.Done():
				return
			}
			continue
		}
		pause = 0
		l.p.wait.Go(func() { l.client(conn) })
	}
}

// client serves one client from its first byte to its last.
func (l *listener) client(raw net.Conn) {
	n := l.clients.Add(1)
	l.accepted.Add(1)
	conn := l.p.loops.Wrap(raw)
	s, err := l.login(conn, n)
	<-l.logins
	if err != nil {
		l.clients.Add(-1)
		l.refused.Add(1)
		if !errors.Is(err, frontend.ErrProbe) && l.p.ctx.Err() == nil {
			l.p.log.Warn("login failed", "error", err)
		}
		return
	}
	if _, ok := conn.(*netloop.Conn); !ok { // a loop that ran the session would wait for it alone
		l.attend(s, nil)
		return
	}
	l.p.wait.Add(1)
	l.p.loops.Run(func(t *netloop.Task) {
		defer l.p.wait.Done()
		l.attend(s, t)
	})
}

// attend serves a client that has logged in, as a task of the loops, or, if that is nil, in its own goroutine.
func (l *listener) attend(s *session, t *netloop.Task) {
	defer func() {
		l.p.sessions.remove(s)
		_ = s.client.Close()
		l.clients.Add(-1)
	}()
	s.task = t
	s.client.Attach(t)
	for i := range s.links {
		if s.links[i].have {
			s.links[i].h.Member.conn.Attach(t)
		}
	}
	if err := s.serve(); !errors.Is(err, errEnd) && l.p.ctx.Err() == nil {
		s.aside() // whoever takes the log may be slow
		l.p.log.Warn("client lost", "session", s.id, "user", s.user, "remote", s.client.Remote().String(), "error", err)
	}
}

// offered is what a client may have that every server has, too.
const offered = wire.LongPassword | wire.FoundRows | wire.LongFlag | wire.ConnectWithDB | wire.NoSchema | wire.Compress | wire.ODBC |
	wire.LocalFiles | wire.IgnoreSpace | wire.Protocol41 | wire.Interactive | wire.IgnoreSigpipe | wire.Transactions |
	wire.Reserved | wire.SecureConnection | wire.MultiStatements | wire.MultiResults | wire.PSMultiResults | wire.PluginAuth |
	wire.ConnectAttrs | wire.PluginAuthLenEnc | wire.ExpiredPasswords | wire.SessionTrack | wire.DeprecateEOF | wire.ZstdCompression

// carried is what a client's connections to servers must have as it has it.
const carried = wire.FoundRows | wire.LocalFiles | wire.IgnoreSpace | wire.Interactive | wire.MultiStatements |
	wire.MultiResults | wire.PSMultiResults | wire.ExpiredPasswords | wire.MariaDBMetadata | wire.NoSchema |
	wire.SSL | compressions // the last ones where the server is to have them

const compressions = wire.Compress | wire.ZstdCompression

// wants notes what the client's connections to servers must have.
func (s *session) wants(login *frontend.Login) {
	s.want, s.zstd, s.attributes = login.Capabilities&carried, login.ZstdLevel, ""
	if s.p.conf.Load().Unshared {
		s.attributes = string(login.Attributes)
	}
}

// version is the server that clients see: the primary, or any one that is known.
func (c *cluster) version() flavor.Server {
	for _, i := range c.primaryFirst() {
		if v := c.monitor.Server(i); v.Text != "" {
			return v
		}
	}
	return flavor.Server{}
}

// versions returns the oldest and the newest version of the servers, as 90704: texts have comments
// that only some of them read.
func (c *cluster) versions() (oldest, newest int) {
	for i := range c.servers {
		v := c.monitor.Server(i).Version
		n := v.Major*10000 + v.Minor*100 + v.Patch
		if n == 0 {
			return 0, 0 // one that was not reached yet may be any
		}
		if oldest == 0 || n < oldest {
			oldest = n
		}
		newest = max(newest, n)
	}
	return oldest, newest
}

// tooManyClients says why a further client is not taken in.
func (l *listener) tooManyClients(n int64) bool {
	conf := l.p.conf.Load()
	mine := l.conf().MaxConnections
	return mine > 0 && n > int64(mine) || conf.MaxConnections > 0 && l.p.sessions.len() >= conf.MaxConnections
}

// login takes a client through its login.
func (l *listener) login(raw net.Conn, n int64) (*session, error) {
	conf := l.p.conf.Load()
	if l.tooManyClients(n) {
		return nil, turnAway(raw, "08004", 1040, "Too many connections")
	}
	c := l.p.enter()
	v := c.version()
	if v.Text == "" {
		c.leave(l.p)
		return nil, turnAway(raw, "HY000", 1105, "mysqlrw: no server has been reached yet")
	}
	s := &session{p: l.p, on: l, cluster: c, id: l.p.sessions.newID(), last: -1, began: l.p.now()}
	s.policy, s.applied = conf.Listeners[l.index].Policy, conf.Applied
	s.ctx, s.cancel = context.WithCancelCause(l.p.ctx)
	mine := l.conf()
	auth := &authenticator{s: s}
	client, login, err := frontend.Accept(s.ctx, raw, &frontend.Options{
		Version: greetingVersion(v), ID: s.id, Charset: wire.CharsetUTF8MB4, Status: wire.Autocommit, Offer: l.offer(v),
		Plugin: plugin(v), TLS: mine.TLS, RequireTLS: mine.RequireTLS, ProxyProtocol: mine.ProxyProtocol,
		LoginTimeout: conf.LoginTimeout, MaxPacket: conf.maxPacket(), Key: l.p.key, Auth: auth, Buffers: &l.p.buffers,
		StaysWho: v.Flavor == flavor.MariaDB,
	})
	if err != nil {
		s.cancel(errEnd)
		c.leave(l.p)
		return nil, err
	}
	s.client = client
	if err := s.start(login); err != nil {
		l.p.sessions.remove(s)
		s.leave()
		_ = client.Close()
		return nil, err
	}
	return s, nil
}

// greetingVersion is how the server would greet. MariaDB 10 says 5.5.5- in front, without which its
// own clients take it for MySQL.
func greetingVersion(v flavor.Server) string {
	if v.Flavor == flavor.MariaDB && !v.Version.AtLeast(11, 0, 0) {
		return "5.5.5-" + v.Text
	}
	return v.Text
}

func plugin(v flavor.Server) string {
	if v.Flavor == flavor.MariaDB {
		return wire.NativePlugin
	}
	return wire.SHA2Plugin
}

// offer is what clients of this server may ask for.
func (l *listener) offer(v flavor.Server) wire.Capability {
	offer := offered
	if v.Flavor == flavor.MariaDB {
		offer &^= wire.LongPassword | wire.ZstdCompression
		offer |= wire.MariaDBBulk
		if v.Version.AtLeast(10, 5, 2) {
			offer |= wire.MariaDBMetadata
		}
		return offer
	}
	if v.Version.AtLeast(8, 0, 23) {
		offer |= wire.QueryAttributes
	}
	return offer
}

// turnAway tells a client that has not said anything why it is not taken in.
func turnAway(raw net.Conn, state string, code uint16, message string) error {
	_ = raw.SetDeadline(time.Now().Add(time.Second))
	e := wire.ServerError{Code: code, State: state, Message: message}
	b, _ := wire.Finish(e.Append(wire.Reserve(nil)), 0, 0)
	_, _ = raw.Write(b)
	_ = raw.Close()
	return fmt.Errorf("%s: %s", raw.RemoteAddr(), message)
}

// start makes the session that a client has after its login, and answers it.
func (s *session) start(login *frontend.Login) error {
	s.links = make([]held, len(s.cluster.servers))
	if s.policy.Endpoint == route.ReadOnly {
		s.cluster.fill(&s.snap, s.p.now())
		if s.choose(&request{}, &route.Decision{Server: -1, Target: route.ToAll}) < 0 {
			err := errors.New("no replica can be read")
			_ = s.fail(1105, "08004", "mysqlrw: "+err.Error())
			return err
		}
	}
	return s.admit(login)
}

// admit begins a session for an account that is proven: after a login, or a change of the user.
func (s *session) admit(login *frontend.Login) error {
	s.user = login.User
	s.account = s.p.accounts.find(login.User)
	if s.account == nil {
		_ = s.fail(1045, "28000", "Access denied for user '"+login.User+"': the proxy has forgotten it")
		return errEnd
	}
	if err := s.provenLately(login); err != nil {
		var refused *wire.ServerError
		if errors.As(err, &refused) {
			_ = s.fail(refused.Code, refused.State, refused.Message)
		}
		return err
	}
	s.wants(login)
	if max := s.p.conf.Load().MaxConnectionsPerUser; max > 0 && s.p.sessions.ofUser(login.User) >= max {
		message := fmt.Sprintf("User '%s' has exceeded the 'max-connections-per-user' resource (current value: %d)", login.User, max)
		_ = s.fail(1226, "42000", message)
		return errors.New(message)
	}
	cat, standard := s.cluster.catalog()
	if cat == nil || s.cluster.stale() {
		if err := s.prove(s.ctx, s.account, login); err != nil && cat == nil {
			_ = s.fail(1105, "HY000", "mysqlrw: "+plain(err))
			return err
		}
		if cat, standard = s.cluster.catalog(); cat == nil {
			_ = s.fail(1105, "HY000", "mysqlrw: no server could be asked for its variables")
			return errEnd
		}
	}
	s.defaults = standard
	oldest, newest := s.cluster.versions()
	s.route.Options = route.Options{
		Options:     sqltoken.Options{Flavor: cat.Server().Flavor, Oldest: oldest, Newest: newest},
		IgnoreSpace: s.client.Capabilities().Has(wire.IgnoreSpace), SystemSchemasOnReplicas: s.policy.SystemSchemasOnReplicas,
	}
	s.first = cat.New(login.Charset)
	if standard.ownCharset {
		s.first = cat.New(0)
	}
	s.restart(s.first)
	s.p.sessions.add(s)
	if login.HasDatabase && login.Database != "" {
		if err := s.selectFirst(login.Database); err != nil {
			return err
		}
	}
	if err := s.takeOwn(); err != nil {
		return err
	}
	return s.ok()
}

// takeOwn opens the client's connection where it shares none.
func (s *session) takeOwn() error {
	if !s.p.conf.Load().Unshared {
		return nil
	}
	s.cluster.fill(&s.snap, s.p.now())
	i := s.choose(&request{}, &route.Decision{Server: -1, Target: route.ToAll})
	if i < 0 {
		return nil // its first statement waits for a server
	}
	_, err := s.acquire(i)
	var refused *wire.ServerError
	if errors.As(err, &refused) && refused.Code == abortsNew {
		return nil // which its first statement is told
	}
	if err != nil {
		s.turnedAway(err)
	}
	return err
}

// turnedAway tells a client that logs in why it cannot: in a server's words if it was a server.
func (s *session) turnedAway(err error) {
	var refused *wire.ServerError
	if errors.As(err, &refused) {
		_ = s.fail(refused.Code, refused.State, refused.Message)
		return
	}
	if errors.Is(err, context.DeadlineExceeded) {
		_ = s.fail(1040, "08004", "mysqlrw: too many connections: "+plain(err))
		return
	}
	_ = s.fail(1105, "HY000", "mysqlrw: "+plain(err))
}

// selectFirst selects the schema of a login. One that the account was seen to have is not asked for
// again: a client that comes and goes costs no round trip. If it is gone, the first statement says so.
func (s *session) selectFirst(schema string) error {
	if s.account.hasSchema(schema) || s.p.conf.Load().Unshared && isASCII(schema) { // the login says whether it is there
		s.restart(s.first.WithSchema(schema))
		return nil
	}
	s.cluster.fill(&s.snap, s.p.now())
	i := s.choose(&request{}, &route.Decision{Server: -1, Target: route.ToAll})
	if i < 0 {
		err := errors.New("no server can be reached")
		_ = s.fail(1105, "HY000", "mysqlrw: "+err.Error())
		return err
	}
	name, err := s.askSchema(i, schema)
	var refused *wire.ServerError
	if errors.Is(err, errExpired) || errors.As(err, &refused) && refused.Code == abortsNew {
		s.restart(s.first.WithSchema(schema))
		return nil
	}
	if err != nil {
		s.turnedAway(err)
		return err
	}
	if name == schema {
		s.account.noteSchema(schema, true)
	}
	s.restart(s.first.WithSchema(name))
	return nil
}

// askSchema selects a schema on a server and returns its name in UTF-8.
func (s *session) askSchema(i int, schema string) (string, error) {
	l, err := s.acquire(i)
	if err != nil {
		return "", err
	}
	defer func() {
		if s.p.conf.Load().Unshared {
			return
		}
		l.dirty = true
		s.giveBack(i, s.links[i].h)
		s.links[i] = held{}
	}()
	if l.expired != nil {
		return "", errExpired
	}
	diff, err := s.align(l)
	if err != nil {
		return "", err
	}
	for _, set := range [...]string{diff.First, diff.Set} {
		if set == "" {
			continue
		}
		if _, err := l.conn.Exec(s.ctx, set); err != nil {
			return "", err
		}
	}
	if err := l.conn.InitDB(s.ctx, schema); err != nil {
		return "", err
	}
	if isASCII(schema) {
		return schema, nil
	}
	r, err := l.conn.Query(s.ctx, "SELECT HEX(CONVERT(DATABASE() USING utf8mb4))")
	if err != nil {
		return "", err
	}
	name, err := hex.DecodeString(first(r))
	return string(name), err
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
