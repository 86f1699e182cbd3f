package rwdb_test

import (
	"context"
	"crypto/tls"
	"database/sql"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/rwdb"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/route"
)

// trips counts how often the program's connections send something, which is a round trip each.
type trips struct{ n atomic.Int64 }

func (c *trips) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &counting{conn, c}, nil
}

type counting struct {
	net.Conn
	c *trips
}

func (c *counting) Write(b []byte) (int, error) {
	c.c.n.Add(1)
	return c.Conn.Write(b)
}

// of returns how often something was sent meanwhile.
func (c *trips) of(do func()) int64 {
	before := c.n.Load()
	do()
	return c.n.Load() - before
}

// TestRoundTrips counts on the wire: the levels cost nothing where nothing has to be found out, a write one question
// where nothing can be heard, and a read after a write one wait at most.
func TestRoundTrips(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		var sent trips
		s := newSite(t, f, func(o *rwdb.Options, so *sandbox.Options) { so.Replicas = 1 })
		for _, encrypted := range []bool{false, true} {
			name := map[bool]string{false: "plain", true: "TLS"}[encrypted]
			t.Run(name, func(t *testing.T) {
				o := s.options
				o.Servers = append([]rwdb.Server(nil), o.Servers...)
				for i := range o.Servers {
					o.Servers[i].Config = o.Servers[i].Config.Clone()
					o.Servers[i].Config.DialFunc = sent.dial
					if encrypted {
						o.Servers[i].Config.TLS = &tls.Config{InsecureSkipVerify: true}
					}
				}
				o.MonitorInterval = 30 * time.Second // its checks are counted, too
				c, db := s.open(t, o)
				s.trips(t, c, db, &sent, encrypted)
			})
		}
	})
}

func (s *site) trips(t *testing.T, c *rwdb.Connector, db *sql.DB, sent *trips, encrypted bool) {
	ctx := t.Context()
	conn, err := db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	price := 0
	write := func() { // what changes nothing has no number, and the next read would have to ask
		price++
		exec(t, conn, ctx, fmt.Sprintf("REPLACE INTO item VALUES (1, %d)", price))
	}
	read := func() { number(t, conn, ctx, "SELECT price FROM item WHERE id = 1") }
	write()
	read() // the links are there now
	eventual := rwdb.WithLevel(ctx, route.Eventual)
	for range 20 {
		if n := sent.of(func() { number(t, conn, eventual, "SELECT COUNT(*) FROM item") }); n != 1 {
			t.Fatalf("a read at level eventual takes %d round trips", n)
		}
		want := int64(1)
		if encrypted {
			want = 2
		}
		if n := sent.of(write); n != want {
			t.Fatalf("a write takes %d round trips, want %d", n, want)
		}
		n := sent.of(read)
		o := s.last(t)
		switch {
		case n > 2, n > 1 && !encrypted:
			t.Fatalf("a read after a write takes %d round trips: %+v", n, o)
		case n == 2 && o.Waited == 0:
			t.Fatalf("a read after a write takes %d round trips, and has not waited: %+v", n, o)
		case o.Asked:
			t.Fatalf("the primary was asked where it stands: %+v", o)
		}
		if n := sent.of(read); n != 1 {
			t.Fatalf("the next read takes %d round trips: %+v", n, s.last(t))
		}
	}
	t.Logf("%+v", c.Stats())
}
