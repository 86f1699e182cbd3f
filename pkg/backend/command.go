package backend

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/mysqlrw/mysqlrw/pkg/deadline"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// Outcome is what a server said to one of several statements.
type Outcome struct {
	OK  wire.OK           // of the last result; its slices are copies
	Err *wire.ServerError // nil if it went well
}

// codeIdle is what MySQL says before it closes a connection that waited too long for a command.
const codeIdle = 4031

// closing tells whether a server closes the connection behind an error: at its shutdown, and when
// the connection was killed (MariaDB's and MySQL's codes).
func closing(code uint16) bool { return code == 1053 || code == 1927 || code == 3169 }

var errFile = errors.New("server asks for a file of the client")

// Exec runs a statement, which may return rows that nobody wants, and returns the OK that ended it.
// No statement gets a file: LOAD DATA LOCAL ends the use of the connection, here and in Query.
func (c *Conn) Exec(ctx context.Context, sql string) (wire.OK, error) {
	return c.command(ctx, "run a statement on", wire.ComQuery, nil, sql)
}

// ExecAll sends statements in one write and returns what the server said to each. One that fails
// does not keep those behind it from running, and is no error here. After an error there are the
// outcomes known until then.
//
// Statements and answers should be short, as SET is: while they are written nothing is read, and a
// server that cannot get rid of its answers does not read on.
func (c *Conn) ExecAll(ctx context.Context, sqls ...string) ([]Outcome, error) {
	const op = "run statements on"
	c.out = c.out[:0]
	for _, sql := range sqls {
		start := len(c.out)
		c.out, _ = wire.Finish(wire.AppendQuery(wire.Reserve(c.out), sql, c.caps), start, 0)
	}
	list := make([]Outcome, 0, len(sqls))
	err := c.round(ctx, op, func() error {
		for i := range sqls {
			ok, err := c.end(wire.ComQuery, nil)
			e, refused := err.(*wire.ServerError) //nolint:errorlint // never wrapped
			if err != nil && !refused {
				return err
			}
			if refused && (e.Code == codeIdle && i == 0 || closing(e.Code)) {
				return err
			}
			list = append(list, Outcome{OK: ok, Err: e})
		}
		return nil
	})
	return list, err
}

// Ping asks for a sign of life.
func (c *Conn) Ping(ctx context.Context) error {
	_, err := c.command(ctx, "ping", wire.ComPing, []byte{byte(wire.ComPing)}, "")
	return err
}

// Reset makes the session as it was after the login, but for its schema, which stays, and on MySQL
// for its character set, which becomes the server's global one: SET NAMES must follow there.
func (c *Conn) Reset(ctx context.Context) error {
	_, err := c.command(ctx, "reset the session on", wire.ComResetConnection, []byte{byte(wire.ComResetConnection)}, "")
	return err
}

// InitDB selects a schema.
func (c *Conn) InitDB(ctx context.Context, schema string) error {
	m := wire.InitDB{Schema: []byte(schema)}
	_, err := c.command(ctx, "select a schema on", wire.ComInitDB, m.Append(nil), "")
	return err
}

// ChangeUser logs in anew on the same connection, which resets the session, its schema and its
// character set included. If the server refuses the account, it closes the connection.
func (c *Conn) ChangeUser(ctx context.Context, user, password, schema string) error {
	const op = "change the user on"
	secret := []byte(password)
	plugin := c.plugin
	m := wire.ChangeUser{
		User: user, AuthResponse: c.firstResponse(plugin, secret), Database: schema, Charset: uint16(c.chars),
		AuthPlugin: plugin, Attributes: c.attrs,
	}
	c.out, c.seq = wire.Finish(m.Append(wire.Reserve(c.out[:0]), c.caps), 0, 0)
	err := c.round(ctx, op, func() error { return c.authenticate(plugin, secret) })
	var e *Error
	if errors.As(err, &e) && e.Sent && c.err == nil { // refused, and soon closed
		c.err = e
	}
	return err
}

// Answer reads the whole answer to a command that was written, drops its rows, and returns the OK
// that ended it, whose slices are copies. It is for commands that go before the one that matters, in
// the same write, and is bound by SetDeadline. Release is left to the caller.
func (c *Conn) Answer(command wire.Command) (wire.OK, error) {
	ok, err := c.end(command, nil)
	return ok, c.outcome(context.Background(), "read an answer of", err)
}

// command sends one message and reads its answer.
func (c *Conn) command(ctx context.Context, op string, command wire.Command, payload []byte, sql string) (ok wire.OK, err error) {
	c.begin(payload, sql)
	err = c.round(ctx, op, func() error {
		ok, err = c.end(command, nil)
		return err
	})
	return ok, err
}

// begin puts a message into c.out: the payload, or a query.
func (c *Conn) begin(payload []byte, sql string) {
	c.out = wire.Reserve(c.out[:0])
	if payload != nil {
		c.out = append(c.out, payload...)
	} else {
		c.out = wire.AppendQuery(c.out, sql, c.caps)
	}
	c.out, _ = wire.Finish(c.out, 0, 0)
}

// round writes c.out and calls read for the answer. An error of read other than the server's ends
// the use of the connection.
func (c *Conn) round(ctx context.Context, op string, read func() error) error {
	if c.err != nil {
		return c.fail(op, false, ErrClosed)
	}
	if err := ctx.Err(); err != nil {
		return c.fail(op, false, context.Cause(ctx))
	}
	if b := c.Peek(); len(b) > 0 {
		return c.broken(op, false, unasked(b))
	}
	stop := deadline.Watch(ctx, c.raw)
	defer stop()
	err := c.Write(c.out)
	if cap(c.out) > maxKept {
		c.out = nil
	}
	if err == nil {
		err = read()
		c.Release()
	}
	return c.outcome(ctx, op, err)
}

// outcome makes the caller's error of one in a round.
func (c *Conn) outcome(ctx context.Context, op string, err error) error {
	var server *wire.ServerError
	var own *Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &own): // of Write or Fill
		own.Op, own.Err = op, cause(ctx, own.Err)
		return own
	case errors.As(err, &server) && server.Code == codeIdle:
		return c.broken(op, false, err)
	case errors.As(err, &server) && closing(server.Code):
		return c.broken(op, true, err)
	case errors.As(err, &server), errors.Is(err, ErrTooLarge):
		return c.fail(op, true, err)
	}
	return c.broken(op, true, err)
}

// end reads the answer to a command up to its end. What keep is given are the packets behind the
// head of a result: definitions and rows, in pieces.
func (c *Conn) end(command wire.Command, keep func(b []byte, head bool)) (ok wire.OK, err error) {
	a := &c.answer
	if !a.Start(command, c.caps) {
		return ok, fmt.Errorf("command 0x%02x has no answer to wait for", byte(command))
	}
	for !a.Done() {
		n, step, err := a.Next(c.Peek())
		if err != nil {
			return ok, err
		}
		switch step {
		case wire.StepMore:
			if _, err := c.Fill(a.Need()); err != nil {
				return ok, err
			}
		case wire.StepError:
			err := decodeError(a.ErrorPayload())
			c.Advance(n)
			return ok, err
		case wire.StepEnd:
			ok = *a.Final()
			ok.Info, ok.Trackers = bytes.Clone(ok.Info), bytes.Clone(ok.Trackers)
			c.status = ok.Status
		case wire.StepFile, wire.StepAuth:
			return ok, errFile
		case wire.StepHead, wire.StepRelay:
			if keep != nil {
				keep(c.Peek()[:n], step == wire.StepHead)
			}
		}
		c.Advance(n)
	}
	return ok, nil
}
