package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/mysqlrw/mysqlrw/cmd/rwbench/internal/delay"
	"github.com/mysqlrw/mysqlrw/cmd/rwbench/internal/figures"
	"github.com/mysqlrw/mysqlrw/cmd/rwbench/internal/stage"
)

const (
	readPairs = 200 // of a write and a read, for each cell, unless its time is over before
	readAlone = 50  // reads that nothing was written before
)

// reader is who is asked, and what it promises.
type reader struct {
	name, level string
	start       func(context.Context) (stage.Candidate, error)
}

// consistencyLoad measures what a read behind a write costs at each level, lag and round trip. Servers
// can delay their applier by whole seconds; for other lags a relay between the primary and its replicas delays what they
// replicate. The round trip is that between the proxy and every server.
func (b *bench) consistencyLoad(ctx context.Context) error {
	r := figures.Reads{ReadsSetting: figures.ReadsSetting{
		Flavor: b.flavor.String(), Pairs: readPairs, Taken: time.Now().Format(time.DateOnly), Version: b.versions,
	}}
	for _, lag := range b.lags {
		cells, err := b.readsWithLag(ctx, lag)
		if err != nil {
			return err
		}
		r.Cells = append(r.Cells, cells...)
	}
	b.document.Reads = append(b.document.Reads, r)
	return b.keep()
}

func (b *bench) readsWithLag(ctx context.Context, lag time.Duration) (cells []figures.ReadsCell, err error) {
	o := b.stageOptions(2)
	configured := lag%time.Second == 0
	if configured {
		o.Delays = []time.Duration{lag, lag}
	}
	s, err := b.newStage(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if !configured {
		if err := s.DelayReplication(ctx, lag); err != nil {
			return nil, err
		}
	}
	if err := s.Cluster.Primary().Exec(ctx, "CREATE TABLE "+stage.Database+".fresh (id INT PRIMARY KEY, n BIGINT NOT NULL)",
		"INSERT INTO "+stage.Database+".fresh VALUES (1, 0)"); err != nil {
		return nil, err
	}
	if err := s.Cluster.WaitReplicated(ctx); err != nil {
		return nil, err
	}
	relays, servers, err := relayed(s)
	if err != nil {
		return nil, err
	}
	readers, candidates, err := b.readers(ctx, s, servers)
	if err != nil {
		return nil, err
	}
	if len(readers) == 0 {
		return nil, errNobody
	}
	f := fresh{warmup: b.warmup, budget: b.seconds, settle: s.Cluster.WaitReplicated}
	for _, trip := range b.trips {
		for _, r := range relays {
			r.Set(trip / 2)
		}
		for i, reader := range readers {
			cell := f.measure(ctx, s.Open(candidates[i]))
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			cell.Candidate, cell.Level, cell.Lag, cell.RoundTrip = reader.name, reader.level, inMS(lag), inMS(trip)
			progress(fmt.Sprintf("consistency lag %s, round trip %s, %s %s: %d pairs, %d stale %s", lag, trip, reader.name, reader.level, cell.Pairs, cell.Stale, cell.Failed))
			cells = append(cells, cell)
		}
	}
	return cells, nil
}

// relayed puts a relay before each server.
func relayed(s *stage.Stage) ([]*delay.Relay, []stage.Server, error) {
	var relays []*delay.Relay
	servers := s.Servers()
	for i := range servers {
		r, err := delay.New(servers[i].Address)
		if err != nil {
			return nil, nil, err
		}
		s.Own(r)
		servers[i].Address = r.Address()
		relays = append(relays, r)
	}
	return relays, servers, nil
}

// readers starts who was asked for and is here.
func (b *bench) readers(ctx context.Context, s *stage.Stage, servers []stage.Server) ([]reader, []stage.Candidate, error) {
	all := []reader{{"direct", "primary", func(context.Context) (stage.Candidate, error) { return at("direct", servers[0].Address) }}}
	for _, level := range []string{"eventual", "session", "global", "strong"} {
		all = append(all, reader{"mysqlrw", level, func(ctx context.Context) (stage.Candidate, error) {
			return s.MySQLRW(ctx, "mysqlrw-"+level, level, servers)
		}})
	}
	all = append(all, reader{"router-split", "session", func(ctx context.Context) (stage.Candidate, error) { return s.RouterSplit(ctx, servers) }})
	var readers []reader
	var candidates []stage.Candidate
	for _, r := range all {
		c, err := b.candidates(ctx, []starter{{r.name, r.start}})
		if err != nil {
			return nil, nil, err
		}
		if len(c) == 1 {
			readers, candidates = append(readers, r), append(candidates, c[0])
		}
	}
	return readers, candidates, nil
}

// at is a candidate without a proxy.
func at(name, address string) (stage.Candidate, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return stage.Candidate{}, err
	}
	n, err := strconv.Atoi(port)
	return stage.Candidate{Name: name, Host: host, Port: n}, err
}

// fresh measures pairs of a write and a read in one session. Numbers only grow, so that an older one is stale.
type fresh struct {
	number         int64
	warmup, budget time.Duration // of the pairs of one cell
	settle         func(context.Context) error
}

// freshRead is the row, and the lowest byte of the number of the server that gave it: a read of @@server_id would
// be one of a certain server's state to a proxy.
const freshRead = "SELECT n, UUID_SHORT() >> 56 FROM fresh WHERE id = 1"

// primaryID is the server id that a sandbox's primary has.
const primaryID = 1

func (f *fresh) measure(ctx context.Context, db *sql.DB) (cell figures.ReadsCell) {
	defer db.Close()
	ctx, cancel := context.WithTimeout(ctx, f.warmup+f.budget+spare)
	defer cancel()
	if err := f.fill(ctx, db, &cell); err != nil {
		cell.Failed = err.Error()
	}
	return cell
}

// fill first has pairs that do not count, so that a proxy knows how late the replicas are, and lets these catch up. The
// reads alone are of another session, which nothing was written in.
func (f *fresh) fill(ctx context.Context, db *sql.DB, cell *figures.ReadsCell) error {
	writer, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer writer.Close()
	warm, err := f.pairs(ctx, writer, f.warmup)
	if err != nil {
		return err
	}
	if err := f.settle(ctx); err != nil {
		return err
	}
	other, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer other.Close()
	var alone []float64
	for range readAlone {
		one, err := f.read(ctx, other)
		if err != nil {
			return err
		}
		alone = append(alone, one.ms)
	}
	behind, err := f.pairs(ctx, writer, f.budget)
	if err != nil {
		return err
	}
	if len(warm) == 0 || len(behind) == 0 {
		return errors.New("no time for a pair")
	}
	var times []float64
	onReplicas := 0
	for _, one := range behind {
		times = append(times, one.ms)
		if one.stale {
			cell.Stale++
		}
		if one.server != primaryID {
			onReplicas++
		}
	}
	slices.Sort(times)
	plain, _ := figures.SpreadOf(alone)
	all, _ := figures.SpreadOf(times)
	cell.Plain, cell.Median, cell.P95 = round3(plain.Median), round3(all.Median), round3(times[(len(times)*95+99)/100-1])
	cell.Pairs, cell.Replicas = len(times), round(float64(onReplicas)/float64(len(times)))
	return nil
}

// answer is one read.
type answer struct {
	ms     float64
	server int
	stale  bool
}

func (f *fresh) read(ctx context.Context, conn *sql.Conn) (a answer, err error) {
	var n int64
	began := time.Now()
	err = conn.QueryRowContext(ctx, freshRead).Scan(&n, &a.server)
	a.ms, a.stale = inMS(time.Since(began)), n < f.number
	return a, err
}

// pairs writes and reads until the time is over or there are enough.
func (f *fresh) pairs(ctx context.Context, conn *sql.Conn, budget time.Duration) (all []answer, err error) {
	for end := time.Now().Add(budget); len(all) < readPairs && time.Now().Before(end); {
		f.number++
		if _, err := conn.ExecContext(ctx, "UPDATE fresh SET n = ? WHERE id = 1", f.number); err != nil {
			return nil, err
		}
		a, err := f.read(ctx, conn)
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, nil
}

func inMS(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
