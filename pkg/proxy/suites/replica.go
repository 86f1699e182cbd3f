package suites

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	_ "github.com/go-sql-driver/mysql" // the driver

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/status"
)

// level is the proxy's consistency level. At all but strong each worker's server has a replica.
type level string

const strong level = "strong"

// levels are those that a run may have.
var levels = [...]level{"session", "global", strong}

func (l level) replicated() bool { return l != strong }

// servers is how many a worker has.
func (l level) servers() int {
	if l.replicated() {
		return 2
	}
	return 1
}

// interval is how often the proxy's monitor asks: once where nothing can change but the primary, whose log
// and numbers its questions are in. A replica that the test has stopped must be noticed.
func (l level) interval() string {
	if l.replicated() {
		return "1s"
	}
	return "1h"
}

// args are what replication takes, the same on primary and replica and in direct runs.
func (l level) args(f flavor.Flavor) []string {
	switch {
	case !l.replicated():
		return nil
	case f == flavor.MariaDB:
		return []string{"--log-bin=mysqld-bin"}
	}
	return []string{"--gtid-mode=ON", "--enforce-gtid-consistency=ON"}
}

var (
	// Without these there is no replica.
	unreplicatedPattern = regexp.MustCompile(`(?i)^--(?:loose[-_])?(?:(?:skip|disable)[-_]log[-_]bin|log[-_]bin=(?:0|off)|server[-_]id=0|` +
		`(?:gtid[-_]mode|enforce[-_]gtid[-_]consistency)=off)$`)
	// A replica that was told the same would write to its primary's files, or in the place of it.
	primarysPattern = regexp.MustCompile(`^--(?:loose[-_])?(?:log[-_]error|(?:general|slow[-_]query)[-_]log[-_]file|pid[-_]file|` +
		`relay[-_]log[-_]index|tmpdir|server[-_]id|init[-_]file|read[-_]only)(?:=|$)`)
)

// skip says why a test with these options of its server cannot run at the level, or nothing.
func (l level) skip(args []string) string {
	if l.replicated() && slices.ContainsFunc(args, unreplicatedPattern.MatchString) {
		return "wants a server without binary log or GTIDs"
	}
	return ""
}

// argsOf are a node's of those that a test wants.
func (n node) argsOf(args []string) []string {
	if n.number == 1 {
		return args
	}
	return slices.DeleteFunc(slices.Clone(args), primarysPattern.MatchString)
}

// open opens a server's socket for an account without a password. Each statement has a connection of its
// own: one that stays would stand in the lists that tests print.
func (e endpoint) open() (*sql.DB, error) {
	db, err := sql.Open("mysql", "root@unix("+e.socket+")/")
	if err == nil {
		db.SetMaxIdleConns(0)
	}
	return db, err
}

// catchUpLimit is how long a replica may need for what a test has written.
const catchUpLimit = 15 * time.Second

// replicate makes the second server the first one's replica. It reads as root, since an account of its
// own would be one more than the tests know.
func (w *worker) replicate(ctx context.Context) error {
	if !w.level.replicated() {
		return nil
	}
	f := w.tree.inst.Flavor
	db, err := w.node(2).open()
	if err != nil {
		return err
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	readOnly := "SET GLOBAL read_only = ON"
	if f == flavor.MySQL {
		readOnly = "SET GLOBAL super_read_only = ON"
	}
	source := flavor.SourceChange{Host: "127.0.0.1", Port: w.direct().port, User: "root", GTID: true, Heartbeat: time.Second}
	for _, text := range []string{flavor.ChangeSource(f, source), flavor.StartReplica(f, ""), readOnly} {
		if _, err := db.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("make a replica: %w", err)
		}
	}
	for {
		channels, err := status.Channels(ctx, db, f)
		switch {
		case err != nil:
			return fmt.Errorf("start replica: %w", err)
		case running(channels):
			return nil
		case len(channels) == 1 && channels[0].ReceiverError.Number != 0:
			return fmt.Errorf("start replica: %s", channels[0].ReceiverError)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func running(channels []status.Channel) bool {
	return len(channels) == 1 && channels[0].Receiver == status.Running && channels[0].Applier == status.Running
}

// ownWrites is said of a replica that has transactions which its primary does not have. Either the proxy
// has sent it a write, or the primary's log was reset.
const ownWrites = "\n=== the replica has writes of its own\n"

// errOutOfStep is the error of a replica that is not good for another test.
var errOutOfStep = errors.New("the replica does not follow")

// inStep waits until the replica has all of its primary's transactions, and says whether it has others.
func (w *worker) inStep(ctx context.Context) (own bool, err error) {
	if !w.level.replicated() {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 2*catchUpLimit)
	defer cancel()
	f := w.tree.inst.Flavor
	primary, err := w.node(1).open()
	if err != nil {
		return false, err
	}
	defer primary.Close()
	replica, err := w.node(2).open()
	if err != nil {
		return false, err
	}
	defer replica.Close()
	has, err := status.Sendable(ctx, replica, f)
	if err != nil {
		return false, err
	}
	want, err := status.Sendable(ctx, primary, f)
	if err != nil {
		return false, err
	}
	if own = !has.IsEmpty(); f == flavor.MySQL { // MariaDB's replica logs nothing but writes of its own
		all, err := want.Contains(has)
		if own = !all; err != nil {
			return false, err
		}
	}
	channels, err := status.Channels(ctx, replica, f)
	if err != nil || own || !running(channels) {
		return own, errors.Join(errOutOfStep, err)
	}
	if !want.IsEmpty() {
		wait := flavor.GTIDWaitQuery(f, want.String(), catchUpLimit.Seconds())
		if _, err := status.QueryRow(ctx, replica, wait); err != nil {
			return false, err
		}
	}
	if has, err = status.Executed(ctx, replica, f); err != nil || !has.Equal(want) {
		return false, errors.Join(errOutOfStep, err)
	}
	return false, nil
}

// withoutReplication leaves the threads of replication out of what the runner's check says of a replica:
// they are in another state each time.
func withoutReplication(check []byte) []byte {
	return bytes.Join(slices.DeleteFunc(bytes.Split(check, []byte("\n")), func(line []byte) bool {
		return bytes.HasPrefix(line, []byte("system user\t"))
	}), []byte("\n"))
}

// reads are those that a replica may have, by where they ran.
type reads struct {
	Replica, Primary uint64
	Unknown          string `json:",omitempty"` // why the proxy did not tell: the test may have locked root out
}

// countReads asks the proxy how many reads it has sent where since it was started.
func (w *worker) countReads(ctx context.Context) (reads, error) {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	db, err := w.through().open()
	if err != nil {
		return reads{}, err
	}
	defer db.Close()
	rows, err := db.QueryContext(ctx, "SHOW MYSQLRW STATUS")
	if err != nil {
		return reads{}, err
	}
	defer rows.Close()
	var all reads
	for rows.Next() {
		var name string
		var value uint64
		if err := rows.Scan(&name, &value); err != nil {
			return reads{}, err
		}
		switch {
		case !strings.HasPrefix(name, "reads-"):
		case strings.HasSuffix(name, "-replica"):
			all.Replica += value
		case strings.HasSuffix(name, "-primary"):
			all.Primary += value
		}
	}
	return all, rows.Err()
}
