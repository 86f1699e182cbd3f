package config

import (
	"errors"
	"testing"

	"github.com/mysqlrw/mysqlrw/route"
)

func TestFlags(t *testing.T) {
	t.Parallel()
	p := route.DefaultPolicy()
	p.MinReserved, p.ErrorOnTimeout, p.Endpoint = 1, true, route.ReadOnly
	f := Flags{
		Listen: []string{":6446", "/run/x.sock"}, Primary: "db1", Replicas: []string{"db2:3307", "/run/db3.sock"},
		User: "m", Password: NewSecret("xyzzy"), Policy: p,
	}
	c, warnings, err := f.Config()
	if err != nil || len(warnings) > 0 {
		t.Fatalf("%v %v", err, warnings)
	}
	for _, l := range c.Listeners {
		if got := c.RoutePolicy(l); got != p {
			t.Errorf("%s: got %+v, want %+v", l.Where(), got, p)
		}
	}
	if c.Listeners[1].Socket != "/run/x.sock" || c.Monitor.Password.Reveal() != "xyzzy" {
		t.Errorf("got %+v", c)
	}
	if s := c.Servers[0]; s.Name != "db1" || s.Address != "db1:3306" || s.Role != Primary || s.Weight != 100 {
		t.Errorf("primary: %+v", s)
	}
	if s := c.Servers[2]; s.Name != "/run/db3.sock" || s.Address != "/run/db3.sock" || s.Role != Replica {
		t.Errorf("replica: %+v", s)
	}
}

func TestFlags_ssl(t *testing.T) {
	t.Parallel()
	f := Flags{Listen: []string{":1"}, Primary: "db1", Replicas: []string{"db2"}, User: "m", Password: NewSecret("x"), Policy: route.DefaultPolicy()}
	f.SSLMode, f.SSLCA = VerifyCA, "ca"
	f.ReadFile = reader(map[string][]byte{"ca": newAuthority(t).pem})
	c, _, err := f.Config()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range c.Servers {
		if s.SSLMode != VerifyCA || s.TLS().VerifyConnection == nil {
			t.Errorf("%s: got %+v", s.Name, s)
		}
	}
	f.SSLCA = "none"
	if _, _, err = f.Config(); errText(err) != "ssl-ca: open none: file does not exist\nssl-ca: open none: file does not exist" {
		t.Errorf("got %v", err)
	}
}

func TestFlags_bad(t *testing.T) {
	t.Parallel()
	_, warnings, err := Flags{Listen: []string{"6446", ":1", ":1"}, Primary: "db1:x", Policy: route.DefaultPolicy()}.Config()
	const want = `address: "6446" has no port: write "host:port", or ":port" for all addresses
address: "x" is not a port from 0 to 65535: write "host:port" or the absolute path of a socket
[monitor] needs a user: the account that asks the servers for role, lag and position
the address ":1" stands there twice`
	var problems Errors
	if !errors.As(err, &problems) || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	if len(warnings) != 1 || warnings[0].String() != "there is no replica: all reads run on the primary" {
		t.Errorf("warnings: %v", warnings)
	}
}
