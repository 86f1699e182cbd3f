package frontend_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/frontend"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

const (
	native = wire.NativePlugin
	sha2   = wire.SHA2Plugin
	clear_ = wire.ClearPlugin
	toSHA2 = "switch " + sha2
)

// TestLogin: by which packets who is let in, over what, and what was known before.
func TestLogin(t *testing.T) {
	const right, old, none, nativeOnly = "right", "old", "none", "native only"
	for _, tt := range []struct {
		name    string
		greeted string // the greeting's plugin
		known   string
		network string // "" is tcp
		tls     bool
		noKey   bool
		id      identity // its user is app
		path    string   // what the server says
		denied  string   // a part of the error
		asked   bool     // a server was
	}{
		{name: "fast", greeted: sha2, known: right, path: "fast, ok"},
		{name: "fast over TLS", greeted: sha2, known: right, tls: true, path: "fast, ok"},
		{name: "by key", greeted: sha2, known: none, path: "full, key, ok", asked: true},
		{name: "over TLS", greeted: sha2, known: none, tls: true, path: "full, ok", asked: true},
		{name: "on a socket", greeted: sha2, known: none, network: "unix", path: "full, ok", asked: true},
		{name: "by key in a pipe", greeted: sha2, known: none, network: "pipe", path: "full, key, ok", asked: true},
		{name: "no key", greeted: sha2, known: none, noKey: true, denied: "1045 (28000): Access denied for user 'app'@'127.0.0.1' (using password: YES); the password is needed in full: use TLS"},
		{name: "password changed", greeted: sha2, known: old, path: "full, key, ok", asked: true},
		{name: "only the other hash is known", greeted: sha2, known: nativeOnly, tls: true, path: "full, ok"},
		{name: "in the clear where all can listen", greeted: sha2, known: none, id: identity{plain: true}, path: "full", denied: "1045 (28000): Access denied for user 'app'@'127.0.0.1' (using password: YES)"},

		{name: "native", greeted: native, known: right, path: "ok"},
		{name: "native, hash only", greeted: native, known: nativeOnly, path: "ok"},
		{name: "native unknown", greeted: native, known: none, path: toSHA2 + ", full, key, ok", asked: true},
		{name: "native unknown over TLS", greeted: native, known: none, tls: true, path: toSHA2 + ", full, ok", asked: true},
		{name: "native changed", greeted: native, known: old, path: toSHA2 + ", full, key, ok", asked: true},
		{name: "native that cannot", greeted: native, known: none, id: identity{knows: func(string) bool { return false }}, path: toSHA2, denied: "EOF"},
		{name: "old client", greeted: native, known: right, id: identity{caps: wire.Protocol41}, path: "ok"},
		{name: "old client, new greeting", greeted: sha2, known: right, id: identity{caps: wire.Protocol41}, path: "ok"},
		{name: "old client unknown", greeted: native, known: none, id: identity{caps: wire.Protocol41}, denied: "1045 (28000): Access denied for user 'app'@'127.0.0.1' (using password: YES); this client cannot send its password in full: give the account in [[user]]"},
		{name: "old client changed", greeted: native, known: old, id: identity{caps: wire.Protocol41}, denied: "1045 (28000): Access denied for user 'app'@'127.0.0.1' (using password: YES); this client cannot"},

		{name: "likes native", greeted: sha2, known: right, id: identity{plugin: native}, path: toSHA2 + ", fast, ok"},
		{name: "likes native, unknown", greeted: sha2, known: none, id: identity{plugin: native}, path: toSHA2 + ", full, key, ok", asked: true},
		{name: "likes sha2", greeted: native, known: right, id: identity{plugin: sha2}, path: toSHA2 + ", fast, ok"},
		{name: "likes another", greeted: sha2, known: right, id: identity{plugin: "dialog"}, path: toSHA2 + ", fast, ok"},
		{name: "clear, known", greeted: sha2, known: right, tls: true, id: identity{plugin: clear_}, path: "ok"},
		{name: "clear, unknown", greeted: sha2, known: none, tls: true, id: identity{plugin: clear_}, path: "ok", asked: true},
		{name: "clear on a socket", greeted: sha2, known: none, network: "unix", id: identity{plugin: clear_}, path: "ok", asked: true},
		{name: "clear, but not safe", greeted: sha2, known: none, id: identity{plugin: clear_}, path: toSHA2 + ", full, key, ok", asked: true},
		{name: "clear, wrong", greeted: sha2, known: right, tls: true, id: identity{plugin: clear_, password: "wrong"}, denied: "1045 (28000): Access denied by the server", asked: true},

		// The same packets whether the account is known or not.
		{name: "wrong, unknown", greeted: sha2, known: none, id: identity{password: "wrong"}, path: "full, key", denied: "1045 (28000): Access denied by the server", asked: true},
		{name: "wrong, known", greeted: sha2, known: right, id: identity{password: "wrong"}, path: "full, key", denied: "1045 (28000): Access denied by the server", asked: true},
		{name: "native wrong, unknown", greeted: native, known: none, id: identity{password: "wrong"}, path: toSHA2 + ", full, key", denied: "1045 (28000): Access denied by the server", asked: true},
		{name: "native wrong, known", greeted: native, known: right, id: identity{password: "wrong"}, path: toSHA2 + ", full, key", denied: "1045 (28000): Access denied by the server", asked: true},
		{name: "likes native, wrong", greeted: sha2, known: right, id: identity{plugin: native, password: "wrong"}, path: toSHA2 + ", full, key", denied: "1045 (28000): Access denied by the server", asked: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := &accounts{passwords: map[string]string{"app": "secret"}, known: map[string]frontend.Credential{}}
			switch tt.known {
			case right:
				a.known["app"] = credential("secret")
			case old:
				a.known["app"] = credential("before")
			case nativeOnly:
				a.known["app"] = frontend.Credential{Native: wire.HashNative([]byte("secret"))}
			}
			o := &frontend.Options{Version: "9.7.4", ID: 5, Offer: offer, Plugin: tt.greeted, Auth: a, TLS: serverTLS(t)}
			if !tt.noKey {
				o.Key = rsaKey(t)
			}
			network := "tcp"
			if tt.network != "" {
				network = tt.network
			}
			conn, raw := pair(t, network)
			done := accept(t.Context(), raw, o)
			c := &client{Conn: conn, t: t}
			id := tt.id
			id.user = "app"
			if id.password == "" {
				id.password = "secret"
			}
			if tt.tls {
				id.tls = clientTLS(t)
			}
			checkLogin(t, c.login(id), <-done, tt.denied)
			if got := strings.Join(c.path, ", "); got != tt.path {
				t.Errorf("the server said %q, want %q", got, tt.path)
			}
			if got := len(a.asked) == 1; got != tt.asked || len(a.asked) > 1 {
				t.Errorf("asked a server for %q, want %v", a.asked, tt.asked)
			}
		})
	}
}

// checkLogin holds what both sides got against what is wanted.
func checkLogin(t *testing.T, err error, s accepted, denied string) {
	t.Helper()
	if denied == "" {
		if err != nil || s.err != nil {
			t.Fatalf("client: %v, server: %v", err, s.err)
		}
		if s.login.Full && s.login.Password != "secret" || !s.login.Full && s.login.Password != "" {
			t.Errorf("full %v, password %q", s.login.Full, string(s.login.Password))
		}
		return
	}
	if err == nil || !strings.Contains(err.Error(), denied) {
		t.Fatalf("client: %v, want %q", err, denied)
	}
	var e *frontend.Error
	if !errors.As(s.err, &e) || e.Op != "log in" || e.User != "app" || e.Remote == nil {
		t.Fatalf("server: %#v", s.err)
	}
	var said *wire.ServerError
	if told := errors.As(s.err, &said); told && said.Error() != err.Error() || !told && denied != "EOF" {
		t.Errorf("server: %v, client: %v", s.err, err)
	}
	for _, secret := range []string{"secret", "wrong"} {
		if strings.Contains(s.err.Error(), secret) {
			t.Errorf("the password stands in %v", s.err)
		}
	}
}

// TestEmptyPassword: nothing more can be asked of who has no password.
func TestEmptyPassword(t *testing.T) {
	for _, tt := range []struct {
		name, greeted, plugin string
		known                 bool
		server                string // the account's password
		path                  string
		denied                bool
		asked                 bool
	}{
		{"sha2, known", sha2, sha2, true, "", "ok", false, false},
		{"sha2, unknown", sha2, sha2, false, "", "ok", false, true},
		{"sha2, but it has one", sha2, sha2, false, "secret", "", true, true},
		{"native, known", native, native, true, "", "ok", false, false},
		{"native, unknown", native, native, false, "", "ok", false, true},
		{"native, but it has one", native, native, false, "secret", "", true, true},
		{"native after sha2", sha2, native, true, "", toSHA2 + ", ok", false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := &accounts{passwords: map[string]string{"app": tt.server}}
			if tt.known {
				a.known = map[string]frontend.Credential{"app": credential("")}
			}
			conn, raw := pair(t, "tcp")
			done := accept(t.Context(), raw, &frontend.Options{Version: "9.7.4", Offer: offer, Plugin: tt.greeted, Auth: a})
			c := &client{Conn: conn, t: t}
			err := c.login(identity{user: "app", plugin: tt.plugin})
			s := <-done
			if (err != nil) != tt.denied || (s.err != nil) != tt.denied {
				t.Fatalf("client: %v, server: %v", err, s.err)
			}
			if got := strings.Join(c.path, ", "); got != tt.path || (len(a.asked) == 1) != tt.asked {
				t.Errorf("the server said %q, want %q; asked %q", got, tt.path, a.asked)
			}
			if !tt.denied && s.login.Full == (tt.plugin != sha2 && tt.greeted == native && tt.known) {
				t.Errorf("full %v", s.login.Full)
			}
		})
	}
}

// TestLoginFacts: what the caller gets to know of a login.
func TestLoginFacts(t *testing.T) {
	long := strings.Repeat("ü", 48) // 96 bytes
	a := &accounts{known: map[string]frontend.Credential{long: credential("secret"), "\xE9\xFF": credential("secret")}}
	for _, user := range []string{long, "\xE9\xFF"} {
		conn, raw := pair(t, "tcp")
		done := accept(t.Context(), raw, &frontend.Options{
			Version: "9.7.4", ID: 77, Offer: offer, Auth: a, TLS: serverTLS(t), Status: wire.Autocommit, Charset: 255,
		})
		c := &client{Conn: conn, t: t}
		err := c.login(identity{user: user, password: "secret", database: "shop", caps: wire.SessionTrack | wire.MultiFactor, tls: clientTLS(t)})
		s := <-done
		if err != nil || s.err != nil {
			t.Fatalf("client: %v, server: %v", err, s.err)
		}
		l := s.login
		if l.User != user || l.Database != "shop" || !l.HasDatabase || l.Charset != wire.CharsetUTF8MB4 || !l.TLS || !l.Secure {
			t.Errorf("got %+v", l)
		}
		if !l.Capabilities.Has(wire.SSL|wire.ConnectWithDB|wire.SessionTrack) || l.Capabilities&(wire.MultiFactor|wire.Compress|wire.FoundRows) != 0 {
			t.Errorf("agreed on %b", l.Capabilities)
		}
		if l.Capabilities != s.Capabilities() || l.Remote != s.Remote() || l.Remote.String() != conn.LocalAddr().String() || !s.TLS() || !s.Secure() {
			t.Errorf("the connection says otherwise: %v", s.Remote())
		}
		attrs, err := wire.DecodeAttributes(l.Attributes)
		if err != nil || !slices.Equal(attrs, []wire.Attribute{{Name: "program_name", Value: "test"}}) {
			t.Errorf("attributes %v: %v", attrs, err)
		}
	}
}
