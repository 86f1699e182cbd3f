package proxy_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// bareClient is a client that sends what a test says, right or wrong, and never waits for ever.
type bareClient struct {
	t     testing.TB
	conn  net.Conn
	in    *bufio.Reader
	caps  wire.Capability
	id    uint32 // CONNECTION_ID() by the greeting
	seq   byte   // of the next packet
	limit time.Duration
}

// bareCaps are what a bare client agrees on: no more than the parsing here needs.
const bareCaps = wire.Protocol41 | wire.SecureConnection | wire.PluginAuth | wire.Transactions | wire.LongFlag | wire.MultiResults |
	wire.PSMultiResults

// dialBare connects and reads nothing.
func dialBare(t testing.TB, address string) *bareClient {
	t.Helper()
	conn, err := net.DialTimeout("tcp", address, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &bareClient{t: t, conn: conn, in: bufio.NewReaderSize(conn, 512), caps: bareCaps, limit: 30 * time.Second}
}

// loginBare connects and logs in. The error may be a *wire.ServerError.
func loginBare(t testing.TB, address, user, password string) (*bareClient, error) {
	t.Helper()
	c := dialBare(t, address)
	g, err := c.greeting()
	if err != nil {
		return c, err
	}
	return c, c.login(g, user, password)
}

// send writes one packet with the number seq, and goes on from there.
func (c *bareClient) send(payload []byte) error {
	var b []byte
	b, c.seq = wire.AppendMessage(nil, payload, c.seq)
	return c.write(b)
}

func (c *bareClient) write(b []byte) error {
	_ = c.conn.SetDeadline(time.Now().Add(c.limit))
	_, err := c.conn.Write(b)
	return err
}

// read returns the payload of one packet.
func (c *bareClient) read() ([]byte, error) {
	_ = c.conn.SetDeadline(time.Now().Add(c.limit))
	var head [wire.HeaderSize]byte
	if _, err := io.ReadFull(c.in, head[:]); err != nil {
		return nil, err
	}
	n, seq := wire.Header(head[:])
	c.seq = seq + 1
	payload := make([]byte, n)
	_, err := io.ReadFull(c.in, payload)
	return payload, err
}

// reply is read, with an error packet as the error that it is.
func (c *bareClient) reply() ([]byte, error) {
	payload, err := c.read()
	if err == nil && wire.IsError(payload) {
		e := &wire.ServerError{}
		if err := e.Decode(payload); err != nil {
			return nil, err
		}
		return payload, e
	}
	return payload, err
}

func (c *bareClient) greeting() (*wire.Greeting, error) {
	payload, err := c.reply()
	if err != nil {
		return nil, err
	}
	g := &wire.Greeting{}
	if err := g.Decode(payload); err != nil {
		return nil, err
	}
	c.id = g.ThreadID
	return g, nil
}

func (c *bareClient) login(g *wire.Greeting, user, password string) error {
	r := wire.HandshakeResponse{
		Capabilities: c.caps, MaxPacket: 1 << 24, Charset: wire.CharsetUTF8MB4, User: user, AuthPlugin: g.AuthPlugin,
		AuthResponse: c.prove(g.AuthPlugin, password, g.AuthData),
	}
	if err := c.send(r.Append(nil)); err != nil {
		return err
	}
	return c.authenticate(password, g.AuthData)
}

func (c *bareClient) prove(plugin, password string, nonce []byte) []byte {
	switch {
	case password == "":
		return nil
	case plugin == wire.NativePlugin:
		return wire.NativeResponse([]byte(password), nonce)
	}
	return wire.SHA2Response([]byte(password), nonce)
}

// authenticate goes through the rest of a login, in the clear with the password encrypted by the
// server's key.
func (c *bareClient) authenticate(password string, nonce []byte) error {
	for {
		payload, err := c.reply()
		if err != nil {
			return err
		}
		switch {
		case payload[0] == 0:
			c.seq = 0
			return nil
		case payload[0] == 0xFE:
			var m wire.AuthSwitch
			if err := m.Decode(payload); err != nil {
				return err
			}
			nonce = append([]byte(nil), m.Data...)
			if err := c.send(c.prove(m.Plugin, password, nonce)); err != nil {
				return err
			}
		case payload[0] == 1 && payload[1] == 4: // the whole password is wanted
			if err := c.send([]byte{2}); err != nil {
				return err
			}
			if payload, err = c.reply(); err != nil {
				return err
			}
			key, err := wire.ParsePublicKey(payload[1:])
			if err != nil {
				return err
			}
			secret, err := wire.EncryptPassword([]byte(password), nonce, key)
			if err != nil {
				return err
			}
			if err := c.send(secret); err != nil {
				return err
			}
		}
	}
}

// command sends a command and returns the payloads of its answer. An error packet is the error.
func (c *bareClient) command(payload []byte) ([][]byte, error) {
	c.seq = 0
	if err := c.send(payload); err != nil {
		return nil, err
	}
	return c.answer(wire.Command(payload[0]))
}

// answer reads the answer to a command.
func (c *bareClient) answer(command wire.Command) ([][]byte, error) {
	var a wire.Answer
	if !a.Start(command, c.caps) {
		return nil, errors.New("not a command with an answer")
	}
	var all [][]byte
	for !a.Done() {
		payload, err := c.reply()
		if err != nil {
			return all, err
		}
		all = append(all, payload)
		b, _ := wire.AppendMessage(nil, payload, c.seq-1)
		for len(b) > 0 {
			n, _, err := a.Next(b)
			if err != nil {
				return all, err
			}
			b = b[n:]
		}
	}
	return all, nil
}

// query runs a COM_QUERY.
func (c *bareClient) query(text string) ([][]byte, error) {
	return c.command(wire.AppendQuery(nil, text, c.caps))
}

// prepare prepares a statement and returns its number.
func (c *bareClient) prepare(text string) uint32 {
	c.t.Helper()
	all, err := c.command(append([]byte{byte(wire.ComStmtPrepare)}, text...))
	if err != nil {
		c.t.Fatalf("prepare %s: %v", text, err)
	}
	var ok wire.PrepareOK
	if err := ok.Decode(all[0], c.caps); err != nil {
		c.t.Fatal(err)
	}
	return ok.StatementID
}

// execute returns the COM_STMT_EXECUTE of a statement without parameters. Flags of 1 ask for a cursor.
func executePayload(id uint32, flags byte) []byte {
	return []byte{byte(wire.ComStmtExecute), byte(id), byte(id >> 8), byte(id >> 16), byte(id >> 24), flags, 1, 0, 0, 0}
}

// closed tells whether the other side has closed, reading what is left.
func (c *bareClient) closed() bool {
	for {
		if _, err := c.read(); err != nil {
			var timeout net.Error
			return !errors.As(err, &timeout) || !timeout.Timeout()
		}
	}
}

// refusedWith returns the number of the server's error, 0 if it is another one or none.
func refusedWith(err error) uint16 {
	var e *wire.ServerError
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}
