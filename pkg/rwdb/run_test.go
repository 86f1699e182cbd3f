package rwdb

import (
	"context"
	"database/sql/driver"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/route"
)

// instant is a connection of the driver that answers at once.
type instant struct{ driverConn }

func (instant) IsValid() bool                      { return true }
func (instant) ResetSession(context.Context) error { return nil }
func (instant) Close() error                       { return nil }
func (instant) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	return noRows{}, nil
}

// BenchmarkRun is what a read costs besides the driver: deciding where it runs, and remembering what it saw.
func BenchmarkRun(b *testing.B) {
	cluster := sandboxtest.Cluster(b, sandbox.Options{Flavor: flavor.MySQL})
	var servers []Server
	for _, s := range cluster.Servers {
		servers = append(servers, Server{Name: s.Name, Config: s.Config()})
	}
	connector, err := New(Options{Servers: servers})
	if err != nil {
		b.Fatal(err)
	}
	defer connector.Close()
	err = connector.Wait(b.Context(), func(all []route.Server) bool {
		return all[0].Role == route.Primary && all[1].State == route.Online && all[2].State == route.Online
	})
	if err != nil {
		b.Fatal(err)
	}
	c := newConn(connector)
	for i := range c.links {
		c.links[i] = &link{from: connector.servers[i], conn: instant{}}
	}
	for _, level := range []route.Level{route.Eventual, route.SessionLevel} {
		b.Run(level.String(), func(b *testing.B) {
			ctx := WithLevel(b.Context(), level)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.QueryContext(ctx, "SELECT price FROM item WHERE id = 1", nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
