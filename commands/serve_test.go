//go:build unix

package commands_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mysqlrw/mysqlrw/pkg/status"
)

// clients are the commands by which scripts speak to a proxy that they have started.
type clients struct {
	user, password, ca string
	open               map[string]*sql.Conn
	systemd            *net.UnixConn
	told               strings.Builder
}

func (s *stand) clients() map[string]func(*testscript.TestScript, bool, []string) {
	p := s.cluster.Primary()
	c := &clients{user: p.User, password: p.Password, ca: filepath.Join(s.cluster.Dir, "ca.pem"), open: map[string]*sql.Conn{}}
	return map[string]func(*testscript.TestScript, bool, []string){
		"ready": c.ready, "fill": c.fill, "connect": c.connect, "ask": c.ask, "systemd": c.listen, "told": c.isTold, "again": again,
	}
}

// ready is "ready NAME VARIABLE...": waits until a started serve says that it is, and sets the
// variables to its addresses.
func (c *clients) ready(ts *testscript.TestScript, neg bool, args []string) {
	cmdWaitFor(ts, neg, []string{args[0] + ".err", "ready"})
	at := regexp.MustCompile(`addresses"?[=:]"?([^ "]+)`).FindStringSubmatch(ts.ReadFile(args[0] + ".err"))
	if at == nil {
		ts.Fatalf("no addresses in the line")
	}
	for i, address := range strings.Split(at[1], ",") {
		ts.Setenv(args[1+i], address)
	}
}

// fill is "fill FILE...": replaces $NAME in the files, and sets $CA. The account's password is in
// home/password.
func (c *clients) fill(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(os.WriteFile(ts.MkAbs("home/password"), []byte(c.password+"\n"), 0o600))
	ts.Setenv("USER", c.user)
	ts.Setenv("CA", c.ca)
	for _, name := range args {
		path := ts.MkAbs(name)
		ts.Check(os.WriteFile(path, []byte(os.Expand(ts.ReadFile(name), ts.Getenv)), 0o600))
	}
}

// connect is "connect NAME ADDRESS [PARAMETERS]": logs in with parameters of the driver.
func (c *clients) connect(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: connect NAME ADDRESS [PARAMETERS]")
	}
	network := "tcp"
	if filepath.IsAbs(args[1]) {
		network = "unix"
	}
	conf, err := mysql.ParseDSN(fmt.Sprintf("%s@%s(%s)/?%s", c.user, network, args[1], strings.Join(args[2:], "")))
	ts.Check(err)
	conf.Passwd, conf.Logger = c.password, &mysql.NopLogger{}
	made, err := mysql.NewConnector(conf)
	ts.Check(err)
	db := sql.OpenDB(made)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := db.Conn(ctx)
	if neg != (err != nil) {
		ts.Fatalf("connect: %v", err)
	}
	if err != nil {
		_, _ = fmt.Fprintln(ts.Stderr(), err)
		ts.Check(db.Close())
		return
	}
	c.open[args[0]] = conn
	ts.Defer(func() {
		_ = conn.Close()
		_ = db.Close()
	})
}

// ask is "ask NAME STATEMENT...": rows go to stdout; with "!" the error of the last one to stderr.
func (c *clients) ask(ts *testscript.TestScript, neg bool, args []string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for i, statement := range args[1:] {
		rows, err := status.Query(ctx, c.open[args[0]], statement)
		last := i == len(args)-2
		if (err != nil) != (neg && last) {
			ts.Fatalf("%s: %v", statement, err)
		}
		if err != nil {
			_, _ = fmt.Fprintln(ts.Stderr(), err)
		}
		for _, row := range rows {
			for j, f := range row {
				if j > 0 {
					_, _ = fmt.Fprint(ts.Stdout(), "\t")
				}
				if f.Value != nil {
					_, _ = fmt.Fprint(ts.Stdout(), *f.Value)
				}
			}
			_, _ = fmt.Fprintln(ts.Stdout())
		}
	}
}

// again is "again SIGNAL NAME": the signal once more and once more, until the program has ended. What
// comes within a moment of the first one is not a second one.
func again(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(poll(func() error {
		if findJob(ts, args[1]).over() {
			return nil
		}
		cmdSignal(ts, neg, args)
		return errors.New("it still runs")
	}))
}

// listen is "systemd": programs that are started from here on tell this socket what they do.
func (c *clients) listen(ts *testscript.TestScript, _ bool, _ []string) {
	path := ts.MkAbs("notify")
	if c.systemd != nil {
		_ = os.Remove(path) // of the last one
	}
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	ts.Check(err)
	ts.Defer(func() { _ = conn.Close() })
	c.systemd = conn
	c.told.Reset()
	ts.Setenv("NOTIFY_SOCKET", path)
}

// isTold is "told PATTERN": waits until all that was told so far, a line each, has the pattern.
func (c *clients) isTold(ts *testscript.TestScript, _ bool, args []string) {
	pattern := regexp.MustCompile(args[0])
	ts.Check(c.systemd.SetReadDeadline(time.Now().Add(patience)))
	for !pattern.MatchString(c.told.String()) {
		b := make([]byte, 1000)
		n, err := c.systemd.Read(b)
		if err != nil {
			ts.Fatalf("was told %q: %v", c.told.String(), err)
		}
		c.told.Write(append(b[:n], '\n'))
	}
}
