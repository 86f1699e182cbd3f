package rwdb_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/rwdb"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
)

// side is one of the two pools that a case is run with: of the plain driver on the primary, or of rwdb.
type side struct {
	*site
	db *sql.DB
}

// same wants what the plain driver gives, whatever it is.
const same = "what the plain driver gives"

// driverCase is something that a program does, and what it sees of it on the plain driver. On rwdb it is the same if
// rwdb is "".
type driverCase struct {
	name   string
	config func(*mysql.Config)
	do     func(t *testing.T, s *side) string
	want   string
	rwdb   string
}

// TestLikeTheDriver compares what programs see with the plain driver on the same server.
func TestLikeTheDriver(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		s := newSite(t, f, func(o *rwdb.Options, so *sandbox.Options) {
			o.PrimaryWait = 500 * time.Millisecond // of the cases in which no server can be used
			so.PrimaryArgs = []string{"--local-infile=ON"}
		})
		sandboxtest.Exec(t, s.Primary(), "CREATE TABLE shop.entry (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(20) UNIQUE)",
			"CREATE TABLE shop.kinds (i INT NOT NULL, u BIGINT UNSIGNED, f DOUBLE, d DECIMAL(10,3), s VARCHAR(9), b BLOB, "+
				"t DATETIME(6), j DATE, y TINYINT(1))")
		s.replicated(t)
		var cases []driverCase
		cases = append(cases, contextCases...)
		cases = append(cases, errorCases...)
		cases = append(cases, lossCases...)
		cases = append(cases, valueCases()...)
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) { c.run(t, s) })
		}
	})
}

func (c *driverCase) run(t *testing.T, s *site) {
	sandboxtest.Exec(t, s.Primary(), "DELETE FROM shop.item", "TRUNCATE TABLE shop.entry", "DELETE FROM shop.kinds",
		"INSERT INTO shop.item VALUES (1, 10), (2, 20)",
		"INSERT INTO shop.kinds VALUES (-1, 18446744073709551615, 1.5, 2.125, 'text', 'bytes', '2026-11-30 12:34:56.789', "+
			"'2026-11-30', 1), (0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)")
	s.replicated(t)
	config := s.config(s.Primary())
	if c.config != nil {
		c.config(config)
	}
	plain, err := mysql.NewConnector(config)
	if err != nil {
		t.Fatal(err)
	}
	want := c.want
	if got := c.with(t, s, plain); want == same {
		want = got
	} else if got != want {
		t.Errorf("the plain driver: %s\nwant: %s", got, want)
	}
	if c.rwdb != "" {
		want = c.rwdb
	}
	sandboxtest.Exec(t, s.Primary(), "UPDATE shop.item SET price = 10 * id", "TRUNCATE TABLE shop.entry")
	s.replicated(t)
	o := s.options
	o.Observe, o.Servers = nil, nil
	o.MonitorUser, o.MonitorPassword = config.User, config.Passwd // as it is where nobody sets it
	if config.User == "app" && config.Passwd == password {
		o.MonitorUser, o.MonitorPassword = s.Primary().User, s.Primary().Password
	}
	for _, server := range s.Servers {
		own := s.config(server)
		if c.config != nil {
			c.config(own)
		}
		o.Servers = append(o.Servers, rwdb.Server{Name: server.Name, Config: own})
	}
	through, err := rwdb.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if config.Addr == s.Primary().Address() && config.Passwd == password {
		s.ready(t, through) // so that reads go to replicas
	}
	if got := c.with(t, s, through); got != want {
		t.Errorf("rwdb: %s\nwant: %s", got, want)
	}
}

func (c *driverCase) with(t *testing.T, s *site, connector driver.Connector) string {
	db := sql.OpenDB(connector)
	defer db.Close()
	one := &side{s, db}
	one.killAll(t) // what still sleeps from before
	return c.do(t, one)
}

// shape describes an error as a program can tell it from others.
func shape(err error) string {
	var server *mysql.MySQLError
	var network *net.OpError
	switch {
	case err == nil:
		return "none"
	case err == context.Canceled, err == context.DeadlineExceeded, err == mysql.ErrInvalidConn, err == driver.ErrBadConn,
		err == mysql.ErrPktTooLarge, err == sql.ErrConnDone, err == sql.ErrTxDone, err == sql.ErrNoRows:
		return err.Error()
	case errors.As(err, &server):
		return fmt.Sprintf("server error %d (%s)", server.Number, server.SQLState[:])
	case errors.As(err, &network):
		return fmt.Sprintf("network error of %s, timeout %v", network.Op, network.Timeout())
	}
	return fmt.Sprintf("%T: %v", err, err)
}

// during runs a statement that has the text in it, and then once a server runs it.
func (s *side) during(t *testing.T, text string, run func() error, then func(server *sandbox.Server, id int)) error {
	t.Helper()
	var failed error
	var wg sync.WaitGroup
	wg.Go(func() { failed = run() })
	defer wg.Wait()
	sandboxtest.Await(t, "a server runs "+text, func() bool {
		for _, server := range s.Servers {
			if all := processes(t, server, "info LIKE '%"+text+"%' AND info NOT LIKE '%processlist%'"); len(all) > 0 {
				then(server, all[0])
				return true
			}
		}
		return false
	})
	wg.Wait()
	return failed
}

// processes returns the connections of the account on a server.
func processes(t *testing.T, server *sandbox.Server, where string) []int {
	t.Helper()
	rows, err := sandboxtest.Open(t, server).Query("SELECT id FROM information_schema.processlist WHERE user = 'app' AND " + where)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var all []int
	for rows.Next() {
		var id int
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		all = append(all, id)
	}
	return all
}

// killAll ends all connections of the account, and returns when the servers have none.
func (s *side) killAll(t *testing.T) {
	t.Helper()
	for _, server := range s.Servers {
		for _, id := range processes(t, server, "1") {
			kill(t, server, "CONNECTION", id)
		}
		sandboxtest.Await(t, "no connection on "+server.Name, func() bool { return len(processes(t, server, "1")) == 0 })
	}
}

// kill ends a connection or what it runs. One that is gone already is as good.
func kill(t *testing.T, server *sandbox.Server, what string, id int) {
	t.Helper()
	_, err := sandboxtest.Open(t, server).Exec(fmt.Sprintf("KILL %s %d", what, id))
	var e *mysql.MySQLError
	if err != nil && !(errors.As(err, &e) && e.Number == 1094) {
		t.Error(err)
	}
}

const (
	slowRead  = "SELECT /* slow */ SLEEP(30), COUNT(*) FROM item"
	slowWrite = "UPDATE /* slow */ item SET price = price + SLEEP(30) WHERE id = 1"
	marker    = "/* slow */"
)

func query(ctx context.Context, db interface {
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
}, text string, args ...any,
) error {
	rows, err := db.QueryContext(ctx, text, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
	}
	return rows.Err()
}

func execute(ctx context.Context, db interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}, text string, args ...any,
) error {
	_, err := db.ExecContext(ctx, text, args...)
	return err
}

var contextCases = []driverCase{
	{name: "cancel in a read", want: "context canceled, then 2", do: func(t *testing.T, s *side) string {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		err := s.during(t, marker, func() error { return query(ctx, s.db, slowRead) }, func(*sandbox.Server, int) { cancel() })
		return fmt.Sprintf("%s, then %d", shape(err), number(t, s.db, t.Context(), "SELECT COUNT(*) FROM item"))
	}},
	{name: "cancel in a write", want: "context canceled, then 20", do: func(t *testing.T, s *side) string {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		err := s.during(t, marker, func() error { return execute(ctx, s.db, slowWrite) }, func(server *sandbox.Server, id int) {
			cancel()
			kill(t, server, "CONNECTION", id) // or it goes on for its half a minute
		})
		return fmt.Sprintf("%s, then %d", shape(err), number(t, s.db, t.Context(), "SELECT price FROM item WHERE id = 2"))
	}},
	{name: "deadline in a read", want: "context deadline exceeded", do: func(t *testing.T, s *side) string {
		number(t, s.db, t.Context(), "SELECT 1")
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		return shape(query(ctx, s.db, slowRead))
	}},
	{name: "deadline in a prepared read", want: "context deadline exceeded", do: func(t *testing.T, s *side) string {
		stmt, err := s.db.PrepareContext(t.Context(), "SELECT /* slow */ SLEEP(?), COUNT(*) FROM item")
		if err != nil {
			return shape(err)
		}
		defer stmt.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		rows, err := stmt.QueryContext(ctx, 30)
		if err == nil {
			defer rows.Close()
			for rows.Next() {
			}
			err = rows.Err()
		}
		return shape(err)
	}},
	{name: "cancelled before", do: func(t *testing.T, s *side) string {
		number(t, s.db, t.Context(), "SELECT 1")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, begin := s.db.BeginTx(ctx, nil)
		_, prepare := s.db.PrepareContext(ctx, "SELECT 1")
		_, conn := s.db.Conn(ctx)
		return shapes(query(ctx, s.db, "SELECT 1"), execute(ctx, s.db, "DO 1"), begin, prepare, conn, s.db.PingContext(ctx))
	}, want: strings.Repeat("context canceled; ", 6)},
	{name: "cancelled before, on a connection", do: func(t *testing.T, s *side) string {
		conn, err := s.db.Conn(t.Context())
		if err != nil {
			return shape(err)
		}
		defer conn.Close()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, begin := conn.BeginTx(ctx, nil)
		_, prepare := conn.PrepareContext(ctx, "SELECT 1")
		return shapes(query(ctx, conn, "SELECT 1"), execute(ctx, conn, "DO 1"), begin, prepare, conn.PingContext(ctx),
			query(t.Context(), conn, "SELECT 1"))
	}, want: strings.Repeat("context canceled; ", 5) + "none; "},
	{name: "cancel ends a transaction", do: func(t *testing.T, s *side) string {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		tx, err := s.db.BeginTx(ctx, nil)
		if err != nil {
			return shape(err)
		}
		first := execute(ctx, tx, "UPDATE item SET price = 99 WHERE id = 2")
		cancel()
		sandboxtest.Await(t, "the end of the transaction", func() bool { return tx.Commit() == sql.ErrTxDone })
		second := execute(t.Context(), tx, "UPDATE item SET price = 98 WHERE id = 2")
		return shapes(first, second) + fmt.Sprint(number(t, s.db, t.Context(), "SELECT price FROM item WHERE id = 2"))
	}, want: "none; sql: transaction has already been committed or rolled back; 20"},
}

func shapes(all ...error) string {
	var text strings.Builder
	for _, err := range all {
		text.WriteString(shape(err) + "; ")
	}
	return text.String()
}

func dial(t *testing.T, s *side) string {
	return shapes(s.db.PingContext(t.Context()), execute(t.Context(), s.db, "DO 1"), query(t.Context(), s.db, "SELECT 1"))
}

var errorCases = []driverCase{
	{
		name: "wrong password", config: func(c *mysql.Config) { c.Passwd = "wrong" }, do: dial,
		want: strings.Repeat("server error 1045 (28000); ", 3),
	},
	{
		name: "wrong host", config: func(c *mysql.Config) { c.Addr = "127.0.0.1:1" }, do: dial,
		want: strings.Repeat("network error of dial, timeout false; ", 3),
	},
	{
		name: "unknown schema", config: func(c *mysql.Config) { c.DBName = "shopp" }, do: dial,
		want: strings.Repeat("server error 1049 (42000); ", 3),
	},
	{
		name: "a setting that fails", config: func(c *mysql.Config) { c.Params = map[string]string{"no_such_variable": "1"} }, do: dial,
		want: strings.Repeat("server error 1193 (HY000); ", 3),
	},
	{name: "read timeout", config: func(c *mysql.Config) { c.ReadTimeout = 400 * time.Millisecond }, do: func(t *testing.T, s *side) string {
		err := shapes(query(t.Context(), s.db, slowRead), execute(t.Context(), s.db, slowWrite))
		asked := 0
		for _, server := range s.Servers {
			asked += len(processes(t, server, "info LIKE '%"+marker+"%'")) // they notice nothing before they have slept
		}
		return fmt.Sprintf("%sasked %d servers", err, asked)
	}, want: "invalid connection; invalid connection; asked 2 servers"},
	{name: "packet too large", config: func(c *mysql.Config) { c.MaxAllowedPacket = 1000 }, do: func(t *testing.T, s *side) string {
		long := strings.Repeat("x", 2000)
		return shapes(
			execute(t.Context(), s.db, "INSERT INTO entry (name) VALUES ('"+long+"')"),
			query(t.Context(), s.db, "SELECT '"+long+"'"),
			execute(t.Context(), s.db, "INSERT INTO entry (name) VALUES ('short')"))
	}, want: strings.Repeat(mysql.ErrPktTooLarge.Error()+"; ", 2) + "none; "},
	{name: "server errors", do: func(t *testing.T, s *side) string {
		ctx := t.Context()
		_, prepare := s.db.PrepareContext(ctx, "SELEC")
		return shapes(
			execute(ctx, s.db, "INSERT INTO item VALUES (1, 1)"), execute(ctx, s.db, "INSERT INTO item VALUES (?, ?)", 1, 1),
			execute(ctx, s.db, "SELEC"), query(ctx, s.db, "SELECT * FROM nowhere"), query(ctx, s.db, "SELECT ? FROM nowhere", 1),
			prepare, query(ctx, s.db, "SELECT * FROM other.item"))
	}, want: "server error 1062 (23000); server error 1062 (23000); server error 1064 (42000); server error 1146 (42S02); " +
		"server error 1146 (42S02); server error 1064 (42000); server error 1142 (42000); "},
	{name: "wrong number of arguments", do: func(t *testing.T, s *side) string {
		stmt, err := s.db.PrepareContext(t.Context(), "SELECT ?")
		if err != nil {
			return shape(err)
		}
		defer stmt.Close()
		rows, err := stmt.QueryContext(t.Context(), 1, 2)
		if err == nil {
			_ = rows.Close()
		}
		return shape(err)
	}, want: "*errors.errorString: sql: expected 1 arguments, got 2"},
}
