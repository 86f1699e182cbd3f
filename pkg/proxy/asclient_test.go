package proxy_test

import (
	"errors"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
)

// TestAsClient: a server's connections have TLS and compression if and only if the client's have, whoever had
// them before; and a server without that setting has its own.
func TestAsClient(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: -1})
		for _, tt := range []struct {
			name                          string
			tls, compress, unshared, same bool
		}{
			{"as the client", true, true, false, true},
			{"as the client, unshared", true, true, true, true},
			{"its own", false, false, false, false},
		} {
			t.Run(tt.name, func(t *testing.T) {
				o := options(t, c)
				o.Unshared = tt.unshared
				o.Servers[0].TLSAsClient, o.Servers[0].CompressAsClient = tt.tls, tt.compress
				r := start(t, c, o)
				for range 2 {
					for _, has := range []struct{ tls, compression bool }{{true, false}, {false, false}, {true, true}, {false, true}} {
						asClient(t, r, has.tls, has.compression, tt.same)
					}
				}
			})
		}
	})
}

// asClient looks at the connection of a client with or without TLS and compression.
func asClient(t *testing.T, r *running, tls, compression, same bool) {
	t.Helper()
	db := r.open(func(c *mysql.Config) {
		if !tls {
			c.TLSConfig = "false"
		}
		if err := c.Apply(mysql.EnableCompression(compression)); err != nil {
			t.Fatal(err)
		}
	})
	defer db.Close()
	status := func(name string) string {
		var value string
		if err := db.QueryRowContext(t.Context(), "SHOW STATUS LIKE '"+name+"'").Scan(&name, &value); err != nil {
			t.Fatal(err)
		}
		return value
	}
	wantTLS, wantCompression := true, "OFF"
	if same {
		wantTLS = tls
		if compression {
			wantCompression = "ON"
		}
	}
	if got := status("Ssl_cipher"); (got != "") != wantTLS {
		t.Errorf("a client with TLS %v: the server's cipher is %q", tls, got)
	}
	if got := status("Compression"); got != wantCompression {
		t.Errorf("a client with compression %v: the server's is %s", compression, got)
	}
	exec(t, db, "SET @a = 1")
	if got := value(t, db, "SELECT LENGTH(REPEAT('x', 200000))"); got != "200000" {
		t.Error(got)
	}
}

// TestAsClientRefuses: an account that requires TLS cannot get in without.
func TestAsClientRefuses(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: -1})
		sandboxtest.Exec(t, c.Primary(), "CREATE USER safe IDENTIFIED BY 'Safe1.' REQUIRE SSL")
		for _, has := range []struct{ asClient, unshared bool }{{true, true}, {true, false}, {false, true}, {false, false}} {
			o := options(t, c)
			o.Servers[0].TLSAsClient, o.Unshared = has.asClient, has.unshared
			requiresTLS(t, start(t, c, o))
		}
	})
}

func requiresTLS(t *testing.T, r *running) {
	t.Helper()
	for _, encrypted := range []string{"skip-verify", "false", "skip-verify", "false"} {
		db := r.open(func(c *mysql.Config) { c.User, c.Passwd, c.TLSConfig = "safe", "Safe1.", encrypted })
		_, err := db.ExecContext(t.Context(), "DO 1")
		var refused *mysql.MySQLError
		if encrypted == "false" {
			if !errors.As(err, &refused) || refused.Number != 1045 {
				t.Errorf("without TLS: %v", err)
			}
		} else if err != nil {
			t.Error(err)
		}
	}
}
