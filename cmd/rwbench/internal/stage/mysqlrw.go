package stage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/cmd/rwbench/internal/child"
	"github.com/mysqlrw/mysqlrw/pkg/status"
)

// build makes the product's program of this tree.
func (s *Stage) build(ctx context.Context, given string) (string, error) {
	if given != "" {
		return filepath.Abs(given)
	}
	s.progress("building mysqlrw")
	path := filepath.Join(s.Dir, "mysqlrw")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", path, "github.com/mysqlrw/mysqlrw/cmd/mysqlrw")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build mysqlrw: %w: %s; run rwbench in the module's folder, or name a built one with --mysqlrw", err, strings.TrimSpace(string(out)))
	}
	if out, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty").Output(); err == nil {
		s.version = strings.TrimSpace(string(out))
	}
	return path, nil
}

// Server is where a proxy finds a server: a relay may stand before it.
type Server struct {
	Name    string `json:"name"`
	Address string `json:"address"`
}

// Servers are those of the cluster, the primary first.
func (s *Stage) Servers() []Server {
	var all []Server
	for _, one := range s.Cluster.Servers {
		all = append(all, Server{Name: one.Name, Address: one.Address()})
	}
	return all
}

var readyLine = regexp.MustCompile(`msg=ready addresses=([^ ,]+)`)

// MySQLRW starts `mysqlrw serve` for the servers, with a level for reads and no other setting but the
// certificate and that TLS is spoken with servers if it is with the client, as it is through HAProxy; at scc it follows
// the primary's binary log. It returns when all servers are online.
func (s *Stage) MySQLRW(ctx context.Context, name, level string, servers []Server) (Candidate, error) {
	c, p, err := s.serve(ctx, name, level, servers)
	if p != nil {
		s.Own(p)
	}
	return c, err
}

// WithMySQLRW is MySQLRW for as long as use takes: a proxy that has nothing to do may still follow the servers.
func (s *Stage) WithMySQLRW(ctx context.Context, name, level string, servers []Server, use func(Candidate) error) error {
	started, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	c, p, err := s.serve(started, name, level, servers)
	if err == nil {
		err = use(c)
	}
	if p != nil {
		err = errors.Join(err, p.Stop())
	}
	return err
}

// serve starts one, which the caller stops if it is not nil.
func (s *Stage) serve(ctx context.Context, name, level string, servers []Server) (Candidate, *child.Process, error) {
	file := filepath.Join(s.Dir, name+".toml")
	if err := os.WriteFile(file, []byte(s.mysqlrwConfig(level, servers)), 0o600); err != nil {
		return Candidate{}, nil, freeError(name, err)
	}
	p, err := child.Start(child.Options{
		Name: name, Env: []string{"HOME=" + s.Dir, "MONITOR=" + s.Cluster.Primary().Password, "ACCOUNT=" + s.Password},
	}, s.mysqlrw, "serve", "--config", file)
	if err != nil {
		return Candidate{}, nil, err
	}
	c := Candidate{Name: name, PID: p.PID(), Version: s.version}
	err = p.Await(ctx, func(line string) bool {
		m := readyLine.FindStringSubmatch(line)
		if m == nil {
			return false
		}
		host, port, err := net.SplitHostPort(m[1])
		c.Host = host
		c.Port, _ = strconv.Atoi(port)
		return err == nil && c.Port != 0
	})
	if err != nil {
		return c, p, err
	}
	db := s.Open(c)
	defer db.Close()
	return c, p, p.Poll(ctx, func() error {
		if err := allOnline(ctx, db, len(servers)); err != nil || level != "scc" {
			return err
		}
		return tracking(ctx, db)
	})
}

func (s *Stage) mysqlrwConfig(level string, servers []Server) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[[listener]]\naddress = \"127.0.0.1:0\"\nssl-cert = %s\nssl-key = %s\n",
		quote(filepath.Join(s.Cluster.Dir, "server-cert.pem")), quote(filepath.Join(s.Cluster.Dir, "server-key.pem")))
	for _, one := range servers {
		fmt.Fprintf(&b, "[[server]]\nname = %s\naddress = %s\nssl-mode = \"as-client\"\n", quote(one.Name), quote(one.Address))
	}
	fmt.Fprintf(&b, "[monitor]\nuser = %s\npassword-env = \"MONITOR\"\n", quote(s.Cluster.Primary().User))
	if level == "scc" {
		b.WriteString("track-tables = \"scc\"\n")
	}
	fmt.Fprintf(&b, "[policy]\nconsistency = %s\n", quote(level))
	fmt.Fprintf(&b, "[[user]]\nname = %s\npassword-env = \"ACCOUNT\"\n", quote(Account))
	return b.String()
}

// Open returns connections of the account to a candidate.
func (s *Stage) Open(c Candidate) *sql.DB {
	conf := mysql.NewConfig()
	conf.Net, conf.Addr, conf.User, conf.Passwd, conf.DBName = "tcp", c.HostPort(), Account, s.Password, Database
	conf.InterpolateParams, conf.Logger = true, &mysql.NopLogger{}
	connector, err := mysql.NewConnector(conf)
	if err != nil {
		panic(err) // of a configuration that is always the same
	}
	return sql.OpenDB(connector)
}

// allOnline is an error while mysqlrw does not read from everywhere.
func allOnline(ctx context.Context, db *sql.DB, servers int) error {
	rows, err := status.Query(ctx, db, "SHOW MYSQLRW SERVERS")
	if err != nil {
		return err
	}
	online := 0
	for _, row := range rows {
		if state := row[2].Value; state != nil && *state == "online" {
			online++
		}
	}
	if online < servers {
		return fmt.Errorf("%d of %d servers are online", online, servers)
	}
	return nil
}

// tracking is an error while reads at scc wait for more than the tables that they name.
func tracking(ctx context.Context, db *sql.DB) error {
	rows, err := status.Query(ctx, db, "SHOW MYSQLRW TRACKER")
	if err != nil {
		return err
	}
	for _, row := range rows {
		if state := row[0].Value; state != nil && *state != "ready" {
			return fmt.Errorf("the binary log is not followed: %s", *state)
		}
	}
	if len(rows) == 0 {
		return errors.New("the binary log is not followed")
	}
	return nil
}
