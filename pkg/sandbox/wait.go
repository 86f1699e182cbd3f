package sandbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
)

// waitSeconds bounds one wait on the server, so that one that nobody listens
// to any more ends soon.
const waitSeconds = 2

// WaitReplicated returns when every replica has applied what the primaries
// have logged now. It waits for delayed replicas too, and until ctx ends for
// one that does not replicate.
func (c *Cluster) WaitReplicated(ctx context.Context) error {
	var queries []query
	for n, p := range c.Primaries() {
		q, err := c.waitQuery(ctx, n, p)
		if err != nil {
			return err
		}
		queries = append(queries, q)
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, r := range c.Replicas() {
		for _, q := range queries {
			group.Go(func() error { return r.waitFor(ctx, q) })
		}
	}
	return group.Wait()
}

// waitQuery returns the query by which a replica waits for the n-th primary.
// Its answer is NULL while the replica does not replicate.
func (c *Cluster) waitQuery(ctx context.Context, n int, p *Server) (query, error) {
	if c.opts.GTIDOff {
		file, pos, err := p.position(ctx)
		args := []any{file, pos, waitSeconds}
		channel := c.opts.channel(n)
		if channel != "" {
			args = append(args, channel)
		}
		return query{"SELECT " + flavor.PositionWait(c.Flavor, channel != "")[0], args}, err
	}
	db, err := p.openSocket()
	if err != nil {
		return query{}, err
	}
	defer db.Close()
	variable := "@@GLOBAL.gtid_executed"
	if c.Flavor == flavor.MariaDB {
		variable = "@@GLOBAL.gtid_binlog_pos"
	}
	var set string
	if err := db.QueryRowContext(ctx, "SELECT "+variable).Scan(&set); err != nil {
		return query{}, fmt.Errorf("read position of %s: %w", p.Name, err)
	}
	return query{"SELECT " + flavor.GTIDWait(c.Flavor), []any{set, waitSeconds}}, nil
}

// waitFor repeats the query until it says that the position is reached. A
// query of positions answers with the number of events that it waited for.
func (s *Server) waitFor(ctx context.Context, q query) error {
	db, err := s.openSocket()
	if err != nil {
		return err
	}
	defer db.Close()
	return s.until(ctx, "apply", func(ctx context.Context) (bool, error) {
		var answer sql.NullInt64
		err := db.QueryRowContext(ctx, q.text, q.args...).Scan(&answer)
		switch {
		case err != nil:
			return false, err
		case !answer.Valid:
			return false, errors.New("it does not replicate")
		case s.cluster.opts.GTIDOff:
			return answer.Int64 >= 0, nil
		default:
			return answer.Int64 == 0, nil
		}
	})
}
