package target

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// programAttribute makes mysqlrw visible in performance_schema.
const programAttribute = "program_name:mysqlrw"

// Limits of the pool. A command reads one server with few statements at once,
// and a server may be at its max_connections.
const (
	maxOpen = 4
	maxIdle = 2
)

// Config returns a new configuration of the driver, which the caller may
// change. It reads the files of the certificates. Placeholders are filled in
// on this side, one round trip a statement; there is no read timeout; the
// driver's log is off. A password is sent in clear text, where the server
// asks for that, over mandatory TLS and over a socket only.
func (t Target) Config() (*mysql.Config, error) {
	if t.to == nil {
		return nil, errNoTarget
	}
	s := t.to
	cfg := mysql.NewConfig()
	if s.dsn != nil {
		cfg = s.dsn.Clone()
	}
	cfg.User, cfg.Passwd = s.settings.User, s.password()
	cfg.Net, cfg.Addr, cfg.DBName = s.network, s.address, s.settings.Database
	cfg.Logger = &mysql.NopLogger{}
	// The packages above find columns by name and read text.
	cfg.ParseTime, cfg.ColumnsWithAlias = false, false
	// With a collation the driver may be unable to escape safely.
	if !s.named["interpolateParams"] && !s.named["collation"] {
		cfg.InterpolateParams = true
	}
	if !s.named["timeout"] {
		cfg.Timeout = s.settings.ConnectTimeout
	}
	if !strings.Contains(cfg.ConnectionAttributes, "program_name:") {
		cfg.ConnectionAttributes = strings.TrimPrefix(cfg.ConnectionAttributes+","+programAttribute, ",")
	}
	if err := s.encrypt(cfg); err != nil {
		return nil, fmt.Errorf("configure TLS of %s: %w", t.Name, err)
	}
	// Without this, connections share one Config, and the driver writes to its
	// TLS field when it falls back to plain text.
	err := cfg.Apply(mysql.BeforeConnect(func(context.Context, *mysql.Config) error { return nil }))
	return cfg, err
}

// Open returns a small pool of connections, which the caller closes. It does
// not connect. ConnectTimeout covers the login too.
func (t Target) Open() (*sql.DB, error) {
	cfg, err := t.Config()
	if err != nil {
		return nil, err
	}
	c, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, fmt.Errorf("configure %s: %w", t.Name, err)
	}
	db := sql.OpenDB(connector{c, cfg.Timeout})
	db.SetMaxOpenConns(maxOpen)
	db.SetMaxIdleConns(maxIdle)
	return db, nil
}

// connector bounds the whole of Connect. The driver's own timeout ends with
// the dialing, and a server that hangs takes connections and says nothing.
type connector struct {
	driver.Connector
	timeout time.Duration // 0 means none
}

// Connect implements driver.Connector.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	if c.timeout <= 0 {
		return c.Connector.Connect(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	return c.Connector.Connect(ctx)
}
