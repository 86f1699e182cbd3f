package commands

import (
	"context"
	"database/sql"
	"strings"

	"github.com/mysqlrw/mysqlrw/pkg/rwdb"
	"github.com/mysqlrw/mysqlrw/pkg/target"
	"github.com/mysqlrw/mysqlrw/route"
)

// library returns a pool of the Go library on the servers of a cluster. Closing it ends what watches them.
func (k *connector) library(arguments []string) (server, error) {
	var o rwdb.Options
	var names []string
	for _, a := range arguments {
		t, err := target.Parse(a, k.settings)
		if err != nil {
			return server{}, usagef("%w", err)
		}
		config, err := t.Config()
		if err != nil {
			return server{}, usagef("%w", err)
		}
		o.Servers = append(o.Servers, rwdb.Server{Name: t.Name, Config: config})
		names = append(names, t.Name)
	}
	cluster, err := rwdb.New(o)
	if err != nil {
		return server{}, usagef("%w", err)
	}
	return server{name: strings.Join(names, ","), db: sql.OpenDB(cluster)}, nil
}

// asking returns a context whose statements ask the library for a level and for the bound of staleness.
func (v *verifying) asking(ctx context.Context, name string) context.Context {
	if level, ok := route.ParseLevel(name); ok {
		ctx = rwdb.WithLevel(ctx, level)
	}
	if v.bounded && name != eventual {
		ctx = rwdb.WithMaxStaleness(ctx, v.bound)
	}
	return ctx
}
