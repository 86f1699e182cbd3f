package proxy_test

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// raw is a client that sends bytes of its own choice and sees every packet of an answer.
type raw struct {
	t        testing.TB
	c        net.Conn
	in       *bufio.Reader
	greeting wire.Greeting
	caps     wire.Capability
	seq      byte // of the packet that comes next
	nonce    []byte
	plugin   string
	ids      []uint32 // of the statements that were prepared
	params   []int
	log      strings.Builder
	// transactions: it has asked to be told of them.
	transactions bool
	prepares     bool // see exchange
}

// ordinary is what a plain client of today asks for.
const ordinary = wire.LongPassword | wire.LongFlag | wire.ConnectWithDB | wire.LocalFiles | wire.Protocol41 | wire.Transactions |
	wire.SecureConnection | wire.MultiStatements | wire.MultiResults | wire.PSMultiResults | wire.PluginAuth | wire.PluginAuthLenEnc |
	wire.SessionTrack | wire.DeprecateEOF

type rawOptions struct {
	user, password, schema string
	caps                   wire.Capability // what of it the server offers is asked for
	charset                uint8           // 0: utf8mb4_general_ci
	tls                    bool
}

// rawLimit bounds every wait of a raw client.
const rawLimit = 30 * time.Second

// dialRaw connects and logs in. The last packet of the login is an error if that failed.
func dialRaw(t testing.TB, address string, o rawOptions) (*raw, error) {
	t.Helper()
	c, err := net.DialTimeout("tcp", address, rawLimit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	r := &raw{t: t, c: c, in: bufio.NewReaderSize(c, 1<<16)}
	return r, r.login(&o)
}

func mustDialRaw(t testing.TB, address string, o rawOptions) *raw {
	t.Helper()
	r, err := dialRaw(t, address, o)
	if err != nil {
		t.Fatalf("login: %v", err)
	}
	return r
}

func (r *raw) login(o *rawOptions) error {
	p, err := r.read()
	if err != nil {
		return err
	}
	if wire.IsError(p) {
		return serverError(p)
	}
	if err := r.greeting.Decode(p); err != nil {
		return err
	}
	r.caps = o.caps & r.greeting.Capabilities
	r.nonce, r.plugin = bytes.Clone(r.greeting.AuthData), r.greeting.AuthPlugin
	m := wire.HandshakeResponse{
		Capabilities: r.caps, MaxPacket: 1 << 24, Charset: o.charset, User: o.user, Database: o.schema, AuthPlugin: r.plugin, ZstdLevel: 3,
	}
	if m.Charset == 0 {
		m.Charset = wire.CharsetUTF8MB4
	}
	if !r.caps.Has(wire.PluginAuth) {
		m.AuthPlugin, r.plugin = "", wire.NativePlugin
	}
	if o.tls {
		m.Capabilities |= wire.SSL
		r.write(r.seq, m.AppendSSLRequest(nil))
		secure := tls.Client(r.c, &tls.Config{InsecureSkipVerify: true})
		if err := secure.Handshake(); err != nil {
			return err
		}
		r.c, r.in = secure, bufio.NewReader(secure)
	}
	m.AuthResponse = r.respond(o.password)
	r.write(r.seq, m.Append(nil))
	if err := r.authenticate(o); err != nil {
		return err
	}
	if r.caps&(wire.Compress|wire.ZstdCompression) != 0 {
		r.c = &framed{Conn: r.c, from: r.in, zlib: r.caps.Has(wire.Compress)}
		r.in = bufio.NewReader(r.c)
	}
	return nil
}

func (r *raw) respond(password string) []byte {
	if r.plugin == wire.NativePlugin {
		return wire.NativeResponse([]byte(password), r.nonce)
	}
	return wire.SHA2Response([]byte(password), r.nonce)
}

// authenticate reads up to the end of a login or a change of the user.
func (r *raw) authenticate(o *rawOptions) error {
	for {
		p, err := r.read()
		switch {
		case err != nil:
			return err
		case len(p) == 0:
			return fmt.Errorf("an empty packet in the login")
		case p[0] == 0:
			return nil
		case p[0] == 0xff:
			return serverError(p)
		case p[0] == 0xfe:
			var m wire.AuthSwitch
			if err := m.Decode(p); err != nil {
				return err
			}
			r.plugin, r.nonce = m.Plugin, bytes.Clone(m.Data)
			r.write(r.seq, r.respond(o.password))
		case p[0] == 1 && len(p) == 2 && p[1] == wire.SHA2FastOK:
		case p[0] == 1 && len(p) == 2 && p[1] == wire.SHA2FullAuth:
			if err := r.full(o); err != nil {
				return err
			}
		default:
			return fmt.Errorf("unexpected in a login: %q", p)
		}
	}
}

// full sends the password itself.
func (r *raw) full(o *rawOptions) error {
	if o.tls {
		r.write(r.seq, wire.ClearResponse([]byte(o.password)))
		return nil
	}
	r.write(r.seq, []byte{wire.SHA2RequestKey})
	p, err := r.read()
	if err != nil {
		return err
	}
	key, err := wire.ParsePublicKey(p[1:])
	if err != nil {
		return err
	}
	secret, err := wire.EncryptPassword([]byte(o.password), r.nonce, key)
	if err != nil {
		return err
	}
	r.write(r.seq, secret)
	return nil
}

func serverError(p []byte) error {
	var e wire.ServerError
	if err := e.Decode(p); err != nil {
		return err
	}
	return &e
}

// write sends a message whose first packet has the number seq.
func (r *raw) write(seq byte, payload []byte) {
	r.t.Helper()
	b, next := wire.AppendMessage(nil, payload, seq)
	r.seq = next
	r.bytes(b)
}

// bytes sends bytes as they are.
func (r *raw) bytes(b []byte) {
	r.t.Helper()
	_ = r.c.SetWriteDeadline(time.Now().Add(rawLimit))
	if _, err := r.c.Write(b); err != nil {
		r.t.Fatalf("write: %v", err)
	}
}

// send begins a command.
func (r *raw) send(payload []byte) {
	r.t.Helper()
	r.write(0, payload)
}

// read reads one message. Its packets must have the numbers that follow.
func (r *raw) read() ([]byte, error) {
	_ = r.c.SetReadDeadline(time.Now().Add(rawLimit))
	var all []byte
	for {
		var head [wire.HeaderSize]byte
		if _, err := io.ReadFull(r.in, head[:]); err != nil {
			return nil, err
		}
		n, seq := wire.Header(head[:])
		if seq != r.seq && !r.framed() {
			return nil, fmt.Errorf("packet has the number %d, want %d", seq, r.seq)
		}
		r.seq++
		start := len(all)
		all = slices.Grow(all, n)[:start+n]
		if _, err := io.ReadFull(r.in, all[start:]); err != nil {
			return nil, err
		}
		if n < wire.MaxPayload {
			return all, nil
		}
	}
}

// framed tells whether the protocol is compressed. The servers do not number packets within frames as
// they do others, and no client looks.
func (r *raw) framed() bool {
	_, ok := r.c.(*framed)
	return ok
}

// packet reads one message of an answer.
func (r *raw) packet() []byte {
	r.t.Helper()
	p, err := r.read()
	if err != nil {
		r.t.Fatalf("read: %v\n%s", err, r.log.String())
	}
	return p
}

// closed fails the test if the other side has more to say, or does not close.
func (r *raw) closed() {
	r.t.Helper()
	if p, err := r.read(); err == nil {
		r.t.Errorf("got %q, want the end", p)
	} else if ne, ok := err.(net.Error); ok && ne.Timeout() {
		r.t.Error("the connection was not closed")
	}
}

// framed is the compressed protocol.
type framed struct {
	net.Conn
	from   *bufio.Reader
	zlib   bool
	plain  bytes.Buffer
	frames int // that came
}

func (f *framed) Write(b []byte) (int, error) {
	var packed bytes.Buffer
	if f.zlib {
		z := zlib.NewWriter(&packed)
		_, _ = z.Write(b)
		_ = z.Close()
	} else {
		z, err := zstd.NewWriter(&packed)
		if err != nil {
			return 0, err
		}
		_, _ = z.Write(b)
		_ = z.Close()
	}
	data, size := packed.Bytes(), len(b)
	if len(b) < 50 { // not worth it, as the servers find
		data, size = b, 0
	}
	if len(data) > wire.MaxPayload || size > wire.MaxPayload {
		return 0, fmt.Errorf("%d bytes do not fit one frame", len(b))
	}
	head := make([]byte, 7)
	wire.PutHeader(head, len(data), 0)
	head[4], head[5], head[6] = byte(size), byte(size>>8), byte(size>>16)
	if _, err := f.Conn.Write(append(head, data...)); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (f *framed) Read(b []byte) (int, error) {
	for f.plain.Len() == 0 {
		var head [7]byte
		if _, err := io.ReadFull(f.from, head[:]); err != nil {
			return 0, err
		}
		f.frames++
		n, _ := wire.Header(head[:])
		data := make([]byte, n)
		if _, err := io.ReadFull(f.from, data); err != nil {
			return 0, err
		}
		size := int(binary.LittleEndian.Uint32(append(head[4:7:7], 0)))
		if size == 0 {
			f.plain.Write(data)
			continue
		}
		if err := f.inflate(data); err != nil {
			return 0, err
		}
		if f.plain.Len() != size {
			return 0, fmt.Errorf("a frame of %d bytes says that it has %d", f.plain.Len(), size)
		}
	}
	return f.plain.Read(b)
}

func (f *framed) inflate(data []byte) error {
	if f.zlib {
		z, err := zlib.NewReader(bytes.NewReader(data))
		if err != nil {
			return err
		}
		_, err = io.Copy(&f.plain, z)
		return err
	}
	z, err := zstd.NewReader(bytes.NewReader(data))
	if err != nil {
		return err
	}
	defer z.Close()
	_, err = io.Copy(&f.plain, z)
	return err
}
