//go:build unix

package commands_test

import (
	"bufio"
	"database/sql"
	"os"
	"os/exec"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

// stageToken is what changes of the stage's proxy take.
const stageToken = "0123456789abcdef"

var readyLine = regexp.MustCompile(`msg=ready addresses=(\S+) .*admin=(\S+)`)

// serve runs a proxy with one client, which is in a transaction.
func (s *stage) serve(t *testing.T) (undo func()) {
	argv := []string{"serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--primary", s.cluster.Primary().Address()}
	for _, r := range s.cluster.Replicas() {
		argv = append(argv, "--replica", r.Address())
	}
	cmd := exec.Command("mysqlrw", argv...)
	cmd.Env = []string{"HOME=" + s.home, "PATH=" + os.Getenv("PATH"), "MYSQLRW_ADMIN_TOKEN=" + stageToken}
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(log)
	var address string
	for address == "" && lines.Scan() {
		if m := readyLine.FindStringSubmatch(lines.Text()); m != nil {
			address, s.admin = m[1], m[2]
		}
	}
	if address == "" {
		t.Fatal("serve does not become ready")
	}
	drained := make(chan struct{})
	go func() { // what else it says is not looked at, but read
		defer close(drained)
		for lines.Scan() {
			continue
		}
	}()
	c := mysql.NewConfig()
	c.Net, c.Addr, c.User, c.Passwd = "tcp", address, s.cluster.Primary().User, s.cluster.Primary().Password
	db, err := sql.Open("mysql", c.FormatDSN())
	if err != nil {
		t.Fatal(err)
	}
	s.allOnline(t, db)
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
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-drained
		_ = cmd.Wait()
		s.admin = ""
	}
}

// allOnline waits until the proxy reads from every replica, and has it read once.
func (s *stage) allOnline(t *testing.T, db *sql.DB) {
	t.Helper()
	for limit := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		rows, err := db.QueryContext(t.Context(), "SHOW MYSQLRW SERVERS")
		if err != nil {
			t.Fatal(err)
		}
		online := 0
		for rows.Next() {
			var state string
			var rest [8]any
			if err := rows.Scan(&rest[0], &rest[1], &state, &rest[2], &rest[3], &rest[4], &rest[5], &rest[6], &rest[7], new(any)); err != nil {
				t.Fatal(err)
			}
			if state == "online" {
				online++
			}
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		if online == len(s.cluster.Servers) {
			break
		}
		if time.Now().After(limit) {
			t.Fatal("not all servers are online")
		}
	}
	var price int
	if err := db.QueryRowContext(t.Context(), "SELECT price FROM shop.item").Scan(&price); err != nil {
		t.Fatal(err)
	}
}
