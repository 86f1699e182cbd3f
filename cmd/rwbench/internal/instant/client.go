package instant

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/mysqlrw/mysqlrw/cmd/rwbench/internal/phases"
	"github.com/mysqlrw/mysqlrw/pkg/backend"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// ClientOptions say what a Client does. They come to its process as JSON.
type ClientOptions struct {
	Address        string
	User, Password string
	Schema         string
	Threads        int
	Prepared       bool
	Warmup, Time   time.Duration
}

// Outcome is what clients have found; latencies in ms.
type Outcome struct {
	Queries int64
	Seconds float64
	phases.Latencies
}

// client is one connection.
type client struct {
	conn   *backend.Conn
	packet []byte
	kind   wire.Command
	answer wire.Answer
	took   phases.Times // of each statement of the measured part
}

// Measure connects all clients, has each send one statement after the other, and calls begin and end at the
// borders of the part that counts.
func Measure(ctx context.Context, o *ClientOptions, begin, end func()) (*Outcome, error) {
	clients := make([]phases.Client, o.Threads)
	buffers := &backend.Buffers{}
	for i := range clients {
		c, err := connect(ctx, o, buffers, i)
		if err != nil {
			return nil, err
		}
		clients[i] = c
		defer c.conn.Quit() // nothing is lost with an error of it
	}
	seconds, err := phases.Run(ctx, o.Warmup, o.Time, clients, begin, end)
	if err != nil {
		return nil, err
	}
	var took phases.Times
	for _, c := range clients {
		took = append(took, c.(*client).took...)
	}
	if len(took) == 0 {
		return nil, errors.New("no statement was answered")
	}
	return &Outcome{Queries: int64(len(took)), Seconds: seconds, Latencies: took.Latencies()}, nil
}

func connect(ctx context.Context, o *ClientOptions, buffers *backend.Buffers, n int) (*client, error) {
	conn, err := backend.Dial(ctx, &backend.Options{
		Address: o.Address, User: o.User, Password: o.Password, Schema: o.Schema, TLSMode: backend.TLSDisabled,
		ConnectTimeout: 30 * time.Second, Buffers: buffers,
	})
	if err != nil {
		return nil, err
	}
	c := &client{conn: conn, kind: wire.ComQuery}
	if !o.Prepared {
		text := append(slices.Clone(selectPrefix), strconv.Itoa(n+1)...)
		c.packet, _ = wire.AppendMessage(nil, wire.AppendQuery(nil, text, conn.Capabilities()), 0)
		return c, nil
	}
	prepare := append([]byte{byte(wire.ComStmtPrepare)}, selectPrefix...)
	b, _ := wire.AppendMessage(nil, append(prepare, '?'), 0)
	answer, err := c.do(wire.ComStmtPrepare, b)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	c.kind = wire.ComStmtExecute
	c.packet, err = executePacket(answer.Prepared().StatementID, uint64(n+1), conn.Capabilities())
	return c, err
}

// Run sends the statement until the run is over.
func (c *client) Run(phase func() phases.Phase) error {
	for {
		now := phase()
		if now == phases.Over {
			return nil
		}
		began := time.Now()
		answer, err := c.do(c.kind, c.packet)
		if err != nil {
			return err
		}
		if n := answer.Rows(); n != 1 {
			return fmt.Errorf("got %d rows, want 1", n)
		}
		if now == phases.Measuring && phase() == phases.Measuring {
			c.took.Add(began)
		}
	}
}

// Interrupt ends a wait for an answer.
func (c *client) Interrupt() { _ = c.conn.SetDeadline(time.Now()) }

// do sends a command and reads its answer.
func (c *client) do(kind wire.Command, packet []byte) (*wire.Answer, error) {
	if err := c.conn.Write(packet); err != nil {
		return nil, err
	}
	a := &c.answer
	a.Start(kind, c.conn.Capabilities())
	for !a.Done() {
		n, step, err := a.Next(c.conn.Peek())
		if err != nil {
			return nil, err
		}
		switch step {
		case wire.StepMore:
			if _, err := c.conn.Fill(a.Need()); err != nil {
				return nil, err
			}
			continue
		case wire.StepError:
			failed := &wire.ServerError{}
			if err := failed.Decode(a.ErrorPayload()); err != nil {
				return nil, err
			}
			return nil, failed
		}
		c.conn.Advance(n)
	}
	c.conn.Release()
	return a, nil
}

// executePacket is COM_STMT_EXECUTE with one parameter, a number.
func executePacket(id uint32, value uint64, caps wire.Capability) ([]byte, error) {
	m := wire.Execute{StatementID: id, Iterations: 1, Params: 1, Parameters: wire.Parameters{
		Count: 1, Nulls: []byte{0}, NewTypes: true, Types: []byte{byte(wire.TypeLongLong), 0}, Values: binary.LittleEndian.AppendUint64(nil, value),
	}}
	payload, err := m.Append(nil, caps, nil)
	if err != nil {
		return nil, err
	}
	b, _ := wire.AppendMessage(nil, payload, 0)
	return b, nil
}
