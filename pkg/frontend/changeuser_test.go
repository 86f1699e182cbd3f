package frontend_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/frontend"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// TestChangeUser: another account is proven with a nonce of its own, over everything.
func TestChangeUser(t *testing.T) {
	for _, tt := range []struct {
		name, plugin, user, password string
		path                         string
		denied                       string
		atOnce                       bool // the command has a response, as MariaDB's library makes it
	}{
		{"known", sha2, "other", "word", toSHA2 + ", fast, ok", "", false},
		{"known, native", native, "other", "word", "switch " + native + ", ok", "", false},
		{"unknown", sha2, "new", "pass", toSHA2 + ", FULL, ok", "", false},
		{"unknown, native", native, "new", "pass", toSHA2 + ", FULL, ok", "", false},
		{"wrong", sha2, "other", "guess", toSHA2 + ", FULL", "1045 (28000): Access denied by the server", false},
		{"wrong, native", native, "other", "guess", "switch " + native, "1045 (28000): Access denied for user 'other'@", false},
		{"no password", sha2, "bare", "", toSHA2 + ", ok", "", false},
		{"no such", sha2, "nobody", "", toSHA2, "1045 (28000): Access denied by the server", false},
		{"known, MariaDB", native, "other", "word", "ok", "", true},
		{"unknown, MariaDB", native, "new", "pass", toSHA2 + ", FULL, ok", "", true},
		{"wrong, MariaDB", native, "other", "guess", toSHA2 + ", FULL", "1045 (28000): Access denied by the server", true},
	} {
		for _, tr := range transports {
			t.Run(tt.name+"/"+tr.name, func(t *testing.T) {
				a := &accounts{
					passwords: map[string]string{"new": "pass", "other": "word", "bare": ""},
					known:     map[string]frontend.Credential{"app": credential("secret"), "other": credential("word")},
				}
				c, s := tr.loggedIn(t, &frontend.Options{Auth: a, Key: rsaKey(t)})
				m := wire.ChangeUser{
					User: tt.user, Database: "shop", Charset: 309, AuthPlugin: tt.plugin,
					Attributes: wire.AppendAttribute(nil, "a", "b"),
				}
				if tt.atOnce {
					m.AuthResponse = wire.NativeResponse([]byte(tt.password), c.nonce)
				}
				before, path := c.nonce, "full"
				if !tr.tls && tr.network != "unix" {
					path = "full, key"
				}
				changed := make(chan accepted, 1)
				go func() { changed <- change(t, s.Conn) }()
				c.path = nil
				c.again()
				c.send(m.Append(nil, c.caps))
				id := identity{password: tt.password, plain: tr.tls}
				err := c.authenticate(id)
				got := <-changed
				if path := strings.ReplaceAll(tt.path, "FULL", path); strings.Join(c.path, ", ") != path {
					t.Errorf("the server said %q, want %q", c.path, path)
				}
				if bytes.Equal(before, c.nonce) != (tt.path == "ok") {
					t.Error("the same nonce")
				}
				if tt.denied != "" {
					if err == nil || !strings.Contains(err.Error(), tt.denied) || got.err == nil {
						t.Errorf("client: %v, server: %v", err, got.err)
					}
					if _, err := c.read(); !errors.Is(err, io.EOF) {
						t.Errorf("client goes on: %v", err)
					}
					if _, err := s.ReadCommand(); !errors.Is(err, frontend.ErrClosed) {
						t.Errorf("server goes on: %v", err)
					}
					return
				}
				l := got.login
				if err != nil || got.err != nil || l.User != tt.user || l.Database != "shop" || l.Charset != 309 || l.TLS != tr.tls {
					t.Fatalf("client: %v, server: %v, %+v", err, got.err, l)
				}
				if attrs, err := wire.DecodeAttributes(l.Attributes); err != nil || len(attrs) != 1 || attrs[0].Name != "a" {
					t.Errorf("attributes %v: %v", attrs, err)
				}
			})
		}
	}
}

// change answers a change of user with OK.
func change(t testing.TB, s *frontend.Conn) (a accepted) {
	p, err := s.ReadCommand()
	if err != nil {
		return accepted{err: err}
	}
	if a.login, a.err = s.ChangeUser(t.Context(), p); a.err == nil {
		a.err = s.WriteOK(&wire.OK{})
	}
	return a
}

// TestChangeUserStays: a client that is refused goes on as who it was, if the options say so.
func TestChangeUserStays(t *testing.T) {
	a := &accounts{known: map[string]frontend.Credential{"app": credential("secret"), "other": credential("word")}}
	c, s := transport{network: "tcp", caps: wire.Protocol41}.loggedIn(t, &frontend.Options{Auth: a, StaysWho: true})
	for _, password := range []string{"guess", "word"} {
		changed := make(chan accepted, 1)
		go func() { changed <- change(t, s.Conn) }()
		m := wire.ChangeUser{User: "other", AuthResponse: wire.NativeResponse([]byte(password), c.nonce)}
		c.command(m.Append(nil, c.caps))
		err := c.authenticate(identity{})
		got := <-changed
		if (err == nil) != (password == "word") || (got.err == nil) != (err == nil) || err != nil && !errors.Is(got.err, frontend.ErrDenied) {
			t.Errorf("%s: client: %v, server: %v", password, err, got.err)
		}
	}
}

// TestChangeUserOld: a client without plugins answers the greeting's nonce.
func TestChangeUserOld(t *testing.T) {
	for _, password := range []string{"word", "guess"} {
		a := &accounts{known: map[string]frontend.Credential{"app": credential("secret"), "other": credential("word")}}
		c, s := transport{network: "tcp", caps: wire.Protocol41}.loggedIn(t, &frontend.Options{Auth: a})
		changed := make(chan accepted, 1)
		go func() { changed <- change(t, s.Conn) }()
		m := wire.ChangeUser{User: "other", AuthResponse: wire.NativeResponse([]byte(password), c.nonce)}
		c.command(m.Append(nil, c.caps))
		err := c.authenticate(identity{})
		if got := <-changed; (err == nil) != (password == "word") || (got.err == nil) != (err == nil) {
			t.Errorf("%s: client: %v, server: %v", password, err, got.err)
		}
	}
}

// TestChangeUserCut: a command that is cut short is none.
func TestChangeUserCut(t *testing.T) {
	c, s := transports[0].loggedIn(t, &frontend.Options{})
	changed := make(chan accepted, 1)
	go func() { changed <- change(t, s.Conn) }()
	c.command([]byte{byte(wire.ComChangeUser), 'a', 0, 20, 1})
	var e wire.ServerError
	if err := e.Decode(c.must()); err != nil || e.Code != 1047 {
		t.Errorf("client got %v, %v", &e, err)
	}
	_ = c.Close()
	if got := <-changed; !errors.Is(got.err, frontend.ErrProtocol) {
		t.Errorf("server: %v", got.err)
	}
}
