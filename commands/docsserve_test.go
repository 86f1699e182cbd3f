//go:build unix

package commands_test

import (
	"bufio"
	"database/sql"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/status"
)

// stageToken is what changes of the stage's proxy take.
const stageToken = "0123456789abcdef"

var readyLine = regexp.MustCompile(`msg=ready addresses=(\S+) .*admin=(\S+)`)

// served is a serve that runs.
type served struct {
	address, admin string
	cmd            *exec.Cmd
	mu             sync.Mutex
	said           strings.Builder // what it wrote to stderr
	read           chan struct{}   // closed when that is over
}

// startServe runs serve until stop is called, or the test ends, and returns when it is ready.
func startServe(t *testing.T, env []string, args ...string) *served {
	t.Helper()
	s := &served{cmd: exec.Command("mysqlrw", append([]string{"serve"}, args...)...), read: make(chan struct{})}
	s.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), raceOptions + "=" + noSleep}, env...)
	out, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready := make(chan struct{})
	go func() {
		defer close(s.read)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			s.mu.Lock()
			s.said.WriteString(lines.Text() + "\n")
			s.mu.Unlock()
			if m := readyLine.FindStringSubmatch(lines.Text()); m != nil && s.address == "" {
				s.address, s.admin = m[1], m[2]
				close(ready)
			}
		}
	}()
	t.Cleanup(s.stop)
	select {
	case <-ready:
	case <-s.read:
		t.Fatalf("serve ends: %s", s.log())
	}
	return s
}

func (s *served) log() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said.String()
}

// stop ends it as an operator does, and waits for it.
func (s *served) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	<-s.read
	_ = s.cmd.Wait()
}

// serve runs a proxy with one client, which is in a transaction.
func (s *stage) serve(t *testing.T) (undo func()) {
	args := []string{"--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--primary", s.cluster.Primary().Address()}
	for _, r := range s.cluster.Replicas() {
		args = append(args, "--replica", r.Address())
	}
	p := startServe(t, []string{"HOME=" + s.home, "MYSQLRW_ADMIN_TOKEN=" + stageToken}, args...)
	s.admin = p.admin
	c := mysql.NewConfig()
	c.Net, c.Addr, c.User, c.Passwd = "tcp", p.address, s.cluster.Primary().User, s.cluster.Primary().Password
	db, err := sql.Open("mysql", c.FormatDSN())
	if err != nil {
		t.Fatal(err)
	}
	allOnline(t, db, len(s.cluster.Servers))
	var price int
	if err := db.QueryRowContext(t.Context(), "SELECT price FROM shop.item").Scan(&price); err != nil {
		t.Fatal(err)
	}
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{"USE shop", "UPDATE item SET price = price"} {
		if _, err := tx.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		_ = tx.Rollback()
		_ = db.Close()
		p.stop()
		s.admin = ""
	}
}

// allOnline waits until the proxy reads from every server.
func allOnline(t *testing.T, db *sql.DB, servers int) {
	t.Helper()
	for limit := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		rows, err := status.Query(t.Context(), db, "SHOW MYSQLRW SERVERS")
		if err != nil {
			t.Fatal(err)
		}
		online := 0
		for _, row := range rows {
			if state := row[2].Value; state != nil && *state == "online" {
				online++
			}
		}
		if online == servers {
			return
		}
		if time.Now().After(limit) {
			t.Fatal("not all servers are online")
		}
	}
}
