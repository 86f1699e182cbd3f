package rwdb

import (
	"bytes"
	"context"
	"encoding/binary"
	"net"
	"syscall"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/pkg/topology"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// stage is how far a connection has come.
type stage uint8

const (
	greeting stage = iota // the server speaks first
	login                 // until the server says OK
	commands
	// opaque: nothing can be heard, since what passes is encrypted or compressed, or was not understood.
	opaque
)

// tracked is the driver's connection to a server. It asks, in the place of the driver, to be told of changes,
// and listens to what the server says of itself at the end of each answer. The driver passes over that.
//
// All of it but Close runs on the goroutine that uses the driver's connection.
type tracked struct {
	net.Conn
	link  *link
	stage stage
	asked bool            // the client's first packet has passed
	file  bool            // the server waits for a file, whose packets count on and begin at 0 again
	caps  wire.Capability // the server's, then what both can do
	rest  []byte          // what must be seen together with what comes next
	reply wire.Answer
	heard heard
	ahead ahead

	text     []byte     // of the last position, so that an equal one is not read again
	position gtid.Value // which it is
	long     bool       // it is too long to come with every answer
	epoch    topology.Epoch
}

// heard is what the answer to a command said of the server. The zero value is of one that has said nothing yet.
type heard struct {
	done     bool
	known    bool // status is what it said at last
	status   wire.Status
	position gtid.Value // empty if none came
}

// longest is the length of a position over which answers do not carry it: it would cost the server more than a
// check now and then.
const longest = 512

// checkable is a tracked connection whose socket the driver can look at before it uses it again.
type checkable struct {
	*tracked
	socket syscall.Conn
}

// SyscallConn returns the socket, for the driver.
func (c checkable) SyscallConn() (syscall.RawConn, error) { return c.socket.SyscallConn() }

type linkKey struct{}

// listening returns a dial function whose connections tell the link in their context what they hear.
func listening(dial func(ctx context.Context, network, address string) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		l, _ := ctx.Value(linkKey{}).(*link)
		if err != nil || l == nil {
			return conn, err
		}
		t := &tracked{Conn: conn, link: l}
		l.net = t
		if socket, ok := conn.(syscall.Conn); ok {
			return checkable{t, socket}, nil
		}
		return t, nil
	}
}

// Read has the link hear what the driver reads.
func (t *tracked) Read(b []byte) (n int, err error) {
	if t.ahead.sent {
		if err := t.settle(); err != nil {
			return 0, err
		}
	}
	if held := t.ahead.held; len(held) > 0 {
		n = copy(b, held)
		t.ahead.held = held[n:]
	} else {
		n, err = t.Conn.Read(b)
	}
	if n > 0 && t.stage != opaque {
		t.hear(b[:n])
	}
	return n, err
}

// Write notes which command the driver sends. The driver gives it whole packets.
func (t *tracked) Write(b []byte) (int, error) {
	switch {
	case t.stage == commands && !t.file && len(b) > wire.HeaderSize && b[wire.HeaderSize-1] == 0:
		if t.command(wire.Command(b[wire.HeaderSize])) && t.ahead.query != "" {
			if _, err := t.Conn.Write(t.withWait(b)); err != nil {
				return 0, err
			}
			return len(b), nil
		}
	case t.stage == login && !t.asked:
		t.asked = true
		if asked := t.ask(b); asked != nil {
			n, err := t.Conn.Write(asked)
			return min(n, len(b)), err
		}
	}
	return t.Conn.Write(b)
}

// ask returns the client's first packet with the wish to be told of changes; nil if nothing can be heard.
func (t *tracked) ask(b []byte) []byte {
	const sslRequest, extended = 32, 28
	payload := b[min(wire.HeaderSize, len(b)):]
	if len(payload) <= sslRequest {
		t.stage = opaque // TLS comes next
		return nil
	}
	wants := wire.Capability(binary.LittleEndian.Uint32(payload))
	if !wants.Has(wire.LongPassword) {
		wants |= wire.Capability(binary.LittleEndian.Uint32(payload[extended:])) << 32
	}
	if wants&(wire.Compress|wire.ZstdCompression) != 0 || !t.caps.Has(wire.SessionTrack) {
		t.stage = opaque
		return nil
	}
	wants |= wire.SessionTrack
	t.caps &= wants
	asked := bytes.Clone(b)
	binary.LittleEndian.PutUint32(asked[wire.HeaderSize:], uint32(wants))
	return asked
}

// command begins another answer, unless the command has none.
func (t *tracked) command(c wire.Command) bool {
	switch c {
	case wire.ComStmtClose, wire.ComStmtSendLongData, wire.ComQuit:
		return false
	}
	t.heard = heard{}
	t.rest = t.rest[:0]
	t.epoch = t.link.from.epoch()
	if !t.reply.Start(c, t.caps) {
		t.stage = opaque
		return false
	}
	return true
}

// hear goes through what a server says.
func (t *tracked) hear(b []byte) {
	if len(t.rest) > 0 {
		t.rest = append(t.rest, b...)
		b = t.rest
	}
	for len(b) > 0 && t.stage != opaque {
		n := 0
		if t.stage == commands {
			n = t.answer(b)
		} else {
			n = t.hello(b)
		}
		if n == 0 {
			break
		}
		b = b[n:]
	}
	t.rest = append(t.rest[:0], b...)
}

// hello goes over a packet from before the first command.
func (t *tracked) hello(b []byte) int {
	if len(b) < wire.HeaderSize {
		return 0
	}
	size := wire.HeaderSize + int(b[0]) + int(b[1])<<8 + int(b[2])<<16
	if len(b) < size || size == wire.HeaderSize {
		return 0
	}
	payload := b[wire.HeaderSize:size]
	switch {
	case t.stage == greeting:
		var g wire.Greeting
		if g.Decode(payload) != nil {
			t.stage = opaque
			return size
		}
		t.stage, t.caps = login, g.Capabilities
		t.link.flavor = flavor.MySQL
		if g.MariaDB() {
			t.link.flavor = flavor.MariaDB
		}
	case payload[0] == 0:
		t.stage = commands
	case payload[0] == 0xFF:
		t.stage = opaque // the driver gives up
	}
	return size
}

// answer goes over a part of an answer, and returns 0 if more is needed.
func (t *tracked) answer(b []byte) int {
	if t.reply.Done() {
		return 0 // a server's last word, which nobody asked for
	}
	n, step, err := t.reply.Next(b)
	if err != nil {
		t.stage = opaque
		return 0
	}
	t.file = step == wire.StepFile || t.file && step == wire.StepMore
	switch step {
	case wire.StepEnd:
		t.end(t.reply.Final())
	case wire.StepError:
		t.heard.known = false
	}
	if t.reply.Done() {
		t.heard.done = true
		t.link.answered()
	}
	return n
}

// end takes in what stands at the end of a result.
func (t *tracked) end(ok *wire.OK) {
	t.heard.known, t.heard.status = true, ok.Status
	trackers := wire.ReadTrackers(ok.Trackers)
	for one, more := trackers.Next(); more; one, more = trackers.Next() {
		switch one.Type {
		case wire.TrackGTIDs:
			if text, err := one.GTIDs(); err == nil {
				t.stands(text)
			}
		case wire.TrackVariables:
			variables := one.Variables()
			for name, value, more := variables.Next(); more; name, value, more = variables.Next() {
				if string(name) == "last_gtid" {
					t.stands(value)
				}
			}
		}
	}
}

// stands takes in a position.
func (t *tracked) stands(text []byte) {
	if len(text) == 0 {
		return
	}
	if !bytes.Equal(t.text, text) {
		v, err := gtid.ParseValue(string(text))
		if err != nil {
			return
		}
		t.text, t.position, t.long = append(t.text[:0], text...), v, len(text) > longest
	}
	if both, err := t.heard.position.Union(t.position); err == nil { // an answer can have several, each of one write
		t.heard.position = both
	} else {
		t.heard.position = t.position
	}
	t.link.from.learn(t.epoch, t.position)
}
