package wire_test

import (
	"crypto/tls"
	"net"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// baseCaps are what every client of these tests has.
const baseCaps = wire.LongPassword | wire.FoundRows | wire.LongFlag | wire.ConnectWithDB | wire.LocalFiles |
	wire.Protocol41 | wire.Transactions | wire.SecureConnection | wire.MultiStatements | wire.MultiResults |
	wire.PSMultiResults | wire.PluginAuth | wire.PluginAuthLenEnc | wire.ConnectAttrs

// client is a bare client made of this package only.
type client struct {
	net.Conn
	t        testing.TB
	caps     wire.Capability
	greeting wire.Greeting
	nonce    []byte
	buf      []byte // read, not passed
	seq      byte
	file     []byte // for LOCAL INFILE
	password string
	log      *exchange // what goes over the wire is added here, if not nil
}

type login struct {
	address, user, password, database string
	caps                              wire.Capability
	tls                               bool
	charset                           uint8
}

func connect(t testing.TB, l login) *client {
	t.Helper()
	conn, err := net.DialTimeout("tcp", l.address, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	c := &client{Conn: conn, t: t, caps: l.caps, password: l.password}
	if l.charset == 0 {
		l.charset = wire.CharsetUTF8MB4
	}
	payload := c.read()
	if err := c.greeting.Decode(payload); err != nil {
		t.Fatal(err)
	}
	c.caps &= c.greeting.Capabilities | wire.LongPassword | wire.ConnectWithDB | wire.FoundRows
	c.nonce = append([]byte{}, c.greeting.AuthData...)
	r := wire.HandshakeResponse{
		Capabilities: c.caps, MaxPacket: 1 << 30, Charset: l.charset, User: l.user, Database: l.database,
		AuthPlugin: c.greeting.AuthPlugin, AuthResponse: c.respond(c.greeting.AuthPlugin),
		Attributes: wire.AppendAttribute(nil, "program_name", "wire_test"), ZstdLevel: 3,
	}
	if l.tls {
		r.Capabilities |= wire.SSL
		c.send(r.AppendSSLRequest(nil))
		c.Conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
	}
	c.send(r.Append(nil))
	if err := c.authenticate(); err != nil {
		t.Fatalf("login of %s: %v", l.user, err)
	}
	return c
}

func (c *client) respond(plugin string) []byte {
	switch plugin {
	case wire.NativePlugin:
		return wire.NativeResponse([]byte(c.password), c.nonce)
	case wire.SHA2Plugin:
		return wire.SHA2Response([]byte(c.password), c.nonce)
	}
	return nil
}

// authenticate goes on after the first response.
func (c *client) authenticate() error {
	for {
		p := c.read()
		switch p[0] {
		case 0x00:
			var ok wire.OK
			return ok.Decode(p, c.caps)
		case 0xFF:
			e := &wire.ServerError{}
			if err := e.Decode(p); err != nil {
				return err
			}
			return e
		default:
			if err := c.answerAuth(p); err != nil {
				return err
			}
		}
	}
}

// answerAuth answers an AuthSwitch or AuthMoreData.
func (c *client) answerAuth(p []byte) error {
	if p[0] == 0xFE {
		var s wire.AuthSwitch
		if err := s.Decode(p); err != nil {
			return err
		}
		c.nonce = append([]byte{}, s.Data...)
		c.send(c.respond(s.Plugin))
		return nil
	}
	var more wire.AuthMoreData
	if err := more.Decode(p); err != nil {
		return err
	}
	_, encrypted := c.Conn.(*tls.Conn)
	switch {
	case len(more.Data) == 1 && more.Data[0] == wire.SHA2FastOK:
	case len(more.Data) == 1 && more.Data[0] == wire.SHA2FullAuth && encrypted:
		c.send(wire.ClearResponse([]byte(c.password)))
	case len(more.Data) == 1 && more.Data[0] == wire.SHA2FullAuth:
		c.send([]byte{wire.SHA2RequestKey})
	default:
		key, err := wire.ParsePublicKey(more.Data)
		if err != nil {
			return err
		}
		secret, err := wire.EncryptPassword([]byte(c.password), c.nonce, key)
		if err != nil {
			return err
		}
		c.send(secret)
	}
	return nil
}

// fill reads more into the buffer.
func (c *client) fill() {
	c.t.Helper()
	var b [64 << 10]byte
	n, err := c.Read(b[:])
	if err != nil {
		c.t.Fatal(err)
	}
	c.buf = append(c.buf, b[:n]...)
}

// read returns the next payload outside an answer.
func (c *client) read() []byte {
	c.t.Helper()
	for {
		payload, seq, n, err := wire.Split(c.buf)
		if err != nil {
			c.t.Fatal(err)
		}
		if n > 0 {
			c.buf = c.buf[n:]
			c.seq = seq + 1
			return payload
		}
		c.fill()
	}
}

// send writes a payload with the next number.
func (c *client) send(payload []byte) {
	c.t.Helper()
	out, next := wire.AppendMessage(nil, payload, c.seq)
	c.seq = next
	if c.log != nil {
		c.log.add(false, out)
	}
	if _, err := c.Write(out); err != nil {
		c.t.Fatal(err)
	}
}

// result is what an answer came to.
type result struct {
	final    wire.OK // of the last end; its slices are not kept
	ends     int
	rows     uint64
	err      *wire.ServerError
	prepared wire.PrepareOK
	bytes    int
}

// run sends a command and reads its whole answer, in the pieces in which it comes.
func (c *client) run(payload []byte) result {
	c.t.Helper()
	var a wire.Answer
	if !a.Start(wire.Command(payload[0]), c.caps) {
		c.t.Fatalf("command %#x has no known answer", payload[0])
	}
	c.seq = 0
	c.send(payload)
	var res result
	for !a.Done() {
		n, step, err := a.Next(c.buf)
		if err != nil {
			c.t.Fatalf("answer to %q: %v", payload[:min(len(payload), 100)], err)
		}
		c.step(&a, &res, n, step)
	}
	if len(c.buf) > 0 {
		c.t.Fatalf("answer to %q: %x follows", payload[:min(len(payload), 100)], c.buf)
	}
	res.rows = a.Rows()
	return res
}

func (c *client) step(a *wire.Answer, res *result, n int, step wire.Step) {
	c.t.Helper()
	passed := c.buf[:n:n]
	switch step {
	case wire.StepMore:
		c.fill()
	case wire.StepHead:
		res.prepared = a.Prepared()
	case wire.StepEnd:
		res.final, res.ends = *a.Final(), res.ends+1
	case wire.StepError:
		res.err = &wire.ServerError{}
		if err := res.err.Decode(a.ErrorPayload()); err != nil {
			c.t.Fatal(err)
		}
	}
	if c.log != nil && n > 0 {
		c.log.add(true, passed)
	}
	res.bytes += n
	if c.buf = c.buf[n:]; len(c.buf) == 0 {
		c.buf = nil
	}
	switch step {
	case wire.StepFile:
		c.seq = a.Sequence()
		if len(c.file) > 0 {
			c.send(c.file)
		}
		c.send(nil)
	case wire.StepAuth:
		c.seq = a.Sequence()
		if err := c.answerAuth(passed[wire.HeaderSize:]); err != nil {
			c.t.Fatal(err)
		}
	}
}

// query runs a text statement and ends the test if it fails.
func (c *client) query(text string) result {
	c.t.Helper()
	res := c.run(wire.AppendQuery(nil, text, c.caps))
	if res.err != nil {
		c.t.Fatalf("%s: %v", text[:min(len(text), 200)], res.err)
	}
	return res
}
