package sandbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
)

// heartbeat is how often an idle source says that it lives; a replica takes
// it for lost after ten seconds.
const heartbeat = 2 * time.Second

// secure gives root a password and makes the accounts, outside the binary
// log: a cluster begins with an empty GTID set on every server. s.mu must be
// held.
func (s *Server) secure(ctx context.Context) error {
	db, err := s.openSocket()
	if err != nil {
		return err
	}
	defer db.Close()
	conn, err := db.Conn(ctx) // sql_log_bin belongs to one connection
	if err != nil {
		return fmt.Errorf("set up %s: %w", s.Name, err)
	}
	defer conn.Close()
	for _, q := range s.accountSQL() {
		if _, err := conn.ExecContext(ctx, q.text, q.args...); err != nil {
			return fmt.Errorf("set up accounts of %s: %w", s.Name, s.redact(err))
		}
	}
	s.secured = true
	return nil
}

// redactedError is an error of the server's that quoted a statement.
type redactedError struct {
	err  error
	text string
}

func (e *redactedError) Error() string { return e.text }
func (e *redactedError) Unwrap() error { return e.err }

// redact takes the passwords out of an error's text: a server that does not
// understand a statement repeats a part of it.
func (s *Server) redact(err error) error {
	r := strings.NewReplacer(s.Password, "<secret>", s.cluster.replication.password, "<secret>")
	return &redactedError{err: err, text: r.Replace(err.Error())}
}

type query struct {
	text string
	args []any
}

func (s *Server) accountSQL() []query {
	repl := s.cluster.replication
	queries := []query{
		{"SET SESSION sql_log_bin = 0", nil},
		{"ALTER USER root@localhost IDENTIFIED BY ?", []any{s.Password}},
		{"CREATE USER root@'%' IDENTIFIED BY ?", []any{s.Password}},
		{"GRANT ALL ON *.* TO root@'%' WITH GRANT OPTION", nil},
		{"CREATE USER repl@'%' IDENTIFIED BY ?", []any{repl.password}},
		{flavor.GrantReplication("repl@'%'"), nil},
	}
	if s.cluster.Flavor == flavor.MySQL && s.Role == Replica {
		// super_read_only binds root too; to clear it leaves read_only as it is.
		queries = append([]query{{"SET GLOBAL super_read_only = OFF", nil}}, queries...)
		queries = append(queries, query{"SET GLOBAL super_read_only = ON", nil})
	}
	return queries
}

// connect points every replica at its sources and waits until all of them
// read and apply.
func (c *Cluster) connect(ctx context.Context) error {
	var changes []flavor.SourceChange
	for i, p := range c.Primaries() {
		change := flavor.SourceChange{
			Channel: c.opts.channel(i), Host: p.Host, Port: p.Port,
			User: c.replication.user, Password: c.replication.password,
			GTID: !c.opts.GTIDOff, Heartbeat: heartbeat,
		}
		var err error
		if change.File, change.Position, err = p.position(ctx); err != nil {
			return err
		}
		changes = append(changes, change)
	}
	group, groupCtx := errgroup.WithContext(ctx)
	for i, r := range c.Replicas() {
		var delay time.Duration
		if i < len(c.opts.Delays) {
			delay = c.opts.Delays[i]
		}
		group.Go(func() error { return r.replicate(groupCtx, changes, delay) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return c.waitSemiSync(ctx)
}

func (s *Server) replicate(ctx context.Context, changes []flavor.SourceChange, delay time.Duration) error {
	db, err := s.openSocket()
	if err != nil {
		return err
	}
	defer db.Close()
	for _, change := range changes {
		change.Delay = delay
		for _, text := range []string{
			flavor.ChangeSource(s.cluster.Flavor, change),
			flavor.StartReplica(s.cluster.Flavor, change.Channel),
		} {
			if _, err := db.ExecContext(ctx, text); err != nil {
				return fmt.Errorf("start replication of %s: %w", s.Name, s.redact(err))
			}
		}
	}
	return s.until(ctx, "replicate", func(ctx context.Context) (bool, error) {
		return s.replicates(ctx, db, len(changes))
	})
}

// until asks every 50 ms whether something has come about on a server.
func (s *Server) until(ctx context.Context, what string, ask func(context.Context) (bool, error)) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	last := errors.New("not yet")
	for {
		yes, err := ask(ctx)
		if yes {
			return nil
		}
		if err != nil && ctx.Err() == nil {
			last = err
		}
		if fatal := (*replicationError)(nil); errors.As(err, &fatal) {
			return fmt.Errorf("wait for %s to %s: %w", s.Name, what, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s to %s: %w: %w", s.Name, what, context.Cause(ctx), last)
		case <-tick.C:
		}
	}
}

// replicationError is a stopped receiver or applier that said why.
type replicationError struct{ reason string }

func (e *replicationError) Error() string { return e.reason }

// replicates reports whether so many channels read and apply.
func (s *Server) replicates(ctx context.Context, db *sql.DB, channels int) (bool, error) {
	rows, err := records(ctx, db, flavor.ReplicaStatus(s.cluster.Flavor)[0])
	if err != nil || len(rows) != channels {
		return false, err
	}
	for _, row := range rows {
		receiver, applier := row["Replica_IO_Running"], row["Replica_SQL_Running"]
		for _, half := range []struct{ state, reason string }{
			{receiver, row["Last_IO_Error"]}, {applier, row["Last_SQL_Error"]},
		} {
			if half.state == "No" && half.reason != "" {
				return false, &replicationError{half.reason}
			}
		}
		if receiver != "Yes" || applier != "Yes" {
			return false, fmt.Errorf("receiver runs: %s, applier runs: %s, %s",
				receiver, applier, row["Last_IO_Error"])
		}
	}
	return true, nil
}

// waitSemiSync waits until each primary knows all replicas as
// semi-synchronous ones; before, it would commit alone.
func (c *Cluster) waitSemiSync(ctx context.Context) error {
	if !c.opts.SemiSync || c.opts.Replicas == 0 {
		return nil
	}
	words := flavor.SemiSync(c.Flavor)
	want := fmt.Sprint(c.opts.Replicas)
	for _, p := range c.Primaries() {
		db, err := p.openSocket()
		if err != nil {
			return err
		}
		err = p.until(ctx, "be semi-synchronous", func(ctx context.Context) (bool, error) {
			var name, clients string
			err := db.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE ?", words.SourceClients).Scan(&name, &clients)
			return clients == want, err
		})
		_ = db.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// position returns the server's place in its own binary log.
func (s *Server) position(ctx context.Context) (file string, pos uint64, err error) {
	db, err := s.openSocket()
	if err != nil {
		return "", 0, err
	}
	defer db.Close()
	rows, err := oneOf(ctx, db, flavor.BinaryLogStatus(s.cluster.Flavor))
	if err != nil {
		return "", 0, fmt.Errorf("read binary log position of %s: %w", s.Name, err)
	}
	if len(rows) != 1 {
		return "", 0, fmt.Errorf("read binary log position of %s: %d rows", s.Name, len(rows))
	}
	if _, err := fmt.Sscan(rows[0]["Position"], &pos); err != nil {
		return "", 0, fmt.Errorf("read binary log position of %s: %w", s.Name, err)
	}
	return rows[0]["File"], pos, nil
}
