package proxy_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// packets after the login that are no commands.
func (h *hostile) packets(t *testing.T) {
	big := append([]byte{byte(wire.ComQuery)}, "SELECT '"+strings.Repeat("x", 2<<20)+"'"...)
	for _, tt := range []struct {
		name string
		send func(c *bareClient) error
		code uint16
	}{
		{"too large", func(c *bareClient) error { return c.send(big) }, 1153},
		{"too large in pieces", func(c *bareClient) error { return c.send(bytes.Repeat([]byte{byte(wire.ComQuery)}, 1<<24+10)) }, 1153},
		{"out of order", func(c *bareClient) error {
			c.seq = 5
			return c.send([]byte("\x03SELECT 1"))
		}, 1156},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := h.login(t)
			_ = tt.send(c) // it may be closed before all is sent
			// An answer can be lost when the other side closes with data unread.
			if _, err := c.reply(); refusedWith(err) != tt.code && !isReset(err) {
				t.Errorf("answered %v", err)
			}
			if !c.closed() {
				t.Error("still connected")
			}
		})
	}
	t.Run("half a packet", func(t *testing.T) {
		c := h.login(t)
		before := h.r.proxy.Sessions()
		_ = c.write([]byte("\x20\x00\x00\x00\x03SELECT"))
		_ = c.conn.Close()
		sandboxtest.Await(t, "the session has ended", func() bool { return h.r.proxy.Sessions() < before })
	})
}

func isReset(err error) bool {
	return err != nil && !errors.Is(err, io.EOF) && strings.Contains(err.Error(), "reset by peer")
}

// commands that are malformed get an error, and the session either goes on or is closed.
func (h *hostile) commands(t *testing.T) {
	id := func(command wire.Command, rest string) string {
		return string([]byte{byte(command), 1, 0, 0, 0}) + rest
	}
	for _, tt := range []struct {
		name   string
		send   string
		silent bool // it has no answer
	}{
		{"0x00", "\x00", false},
		{"0x0B", "\x0b", false},
		{"0x1D", "\x1d", false},
		{"0x21", "\x21", false},
		{"0x80", "\x80abc", false},
		{"0xFA", "\xfa\x01", false},
		{"0xFF", "\xff", false},
		{"no query", "\x03", false},
		{"query of zeroes", "\x03\x00\x00\x00\x00", false},
		{"query of bytes", "\x03" + string(bytes.Repeat([]byte{0xFE, 0x80, '\'', '/', '*'}, 100)), false},
		{"open comment", "\x03SELECT 1 /* ", false},
		{"open string", "\x03SELECT 'abc", false},
		{"no schema", "\x02", false},
		{"schema of zeroes", "\x02\x00\x00", false},
		{"field list without an end", "\x04t", false},
		{"process kill of nobody", "\x0c\x01\x00", false},
		{"set option of nothing", "\x1b", false},
		{"set option 77", "\x1b\x4d\x00", false},
		{"prepare nothing", "\x16", false},
		{"execute nothing", "\x17", false},
		{"execute a part", "\x17\x01\x00", false},
		{"execute nobody", id(wire.ComStmtExecute, "\x00\x01\x00\x00\x00"), false},
		{"execute without parameters", "S" + "\x00\x01\x00\x00\x00", false},
		{"execute without types", "S" + "\x00\x01\x00\x00\x00\x00\x00", false},
		{"execute with half types", "S" + "\x00\x01\x00\x00\x00\x00\x01\x03", false},
		{"execute with an unknown type", "S" + "\x00\x01\x00\x00\x00\x00\x01\x77\x00\x01", false},
		{"execute with a long length", "S" + "\x00\x01\x00\x00\x00\x00\x01\xfd\x00\xfe\xff\xff\xff\xff\xff\xff\xff\xff", false},
		{"execute with a short value", "S" + "\x00\x01\x00\x00\x00\x00\x01\x08\x00\x01\x02", false},
		{"execute with odd flags", "S" + "\xff\x01\x00\x00\x00\x00\x01\x03\x00\x01\x00\x00\x00", false},
		{"fetch nothing", "\x1c", false},
		{"fetch of nobody", id(wire.ComStmtFetch, "\x01\x00\x00\x00"), false},
		{"fetch without a cursor", "F" + "\x01\x00\x00\x00", false},
		{"reset nothing", "\x1a", false},
		{"reset nobody", id(wire.ComStmtReset, ""), false},
		{"close nothing", "\x19", true},
		{"close nobody", id(wire.ComStmtClose, ""), true},
		{"long data of nothing", "\x18", true},
		{"long data of nobody", id(wire.ComStmtSendLongData, "\x00\x00abc"), true},
		{"long data without a parameter", id(wire.ComStmtSendLongData, ""), true},
		{"long data of parameter 9", "L" + "\x09\x00abc", true},
		{"change user nothing", "\x11", false},
		{"change user half", "\x11app\x00\x14abc", false},
		{"change user without an end", "\x11" + strings.Repeat("a", 300), false},
		{"binlog dump", "\x12\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := h.login(t)
			err := c.malformed(tt.send, tt.silent)
			switch {
			case tt.silent:
			case err != nil && refusedWith(err) == 0:
				if !c.closed() {
					t.Errorf("answered %v", err)
				}
				return
			case err == nil: // then a server takes it, too
				direct, err := loginBare(t, h.c.Primary().Address(), hostileUser, hostileSecret)
				if err != nil {
					t.Fatal(err)
				}
				if err := direct.malformed(tt.send, tt.silent); err != nil {
					t.Errorf("it was taken for good, and a server says %v", err)
				}
			}
			_, err = c.command([]byte{byte(wire.ComPing)})
			switch {
			case err == nil:
				if _, err = c.query("SELECT 1"); err != nil {
					t.Errorf("the session after it: %v", err)
				}
			case !c.closed():
				t.Errorf("neither good nor closed: %v", err)
			}
		})
	}
}

// malformed sends something. S, F and L are commands to a statement that there is.
func (c *bareClient) malformed(send string, silent bool) error {
	payload := []byte(send)
	if i := strings.IndexByte("SFL", payload[0]); i >= 0 {
		stmt := c.prepare("SELECT ?")
		command := [...]wire.Command{wire.ComStmtExecute, wire.ComStmtFetch, wire.ComStmtSendLongData}[i]
		head := []byte{byte(command), byte(stmt), byte(stmt >> 8), byte(stmt >> 16), byte(stmt >> 24)}
		payload = append(head, payload[1:]...)
	}
	c.seq = 0
	if err := c.send(payload); err != nil || silent {
		return err
	}
	var a wire.Answer
	if !a.Start(wire.Command(payload[0]), c.caps) || a.Done() {
		_, err := c.reply()
		return err
	}
	_, err := c.answer(wire.Command(payload[0]))
	return err
}
