package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/mysqlrw/mysqlrw/cmd/rwbench/internal/figures"
	"github.com/mysqlrw/mysqlrw/cmd/rwbench/internal/mixed"
	"github.com/mysqlrw/mysqlrw/cmd/rwbench/internal/phases"
	"github.com/mysqlrw/mysqlrw/cmd/rwbench/internal/stage"
)

const (
	tableRows   = 10  // of each table
	shareWrites = 0.2 // of the statements
)

// A constant table: the levels whose turns come one after the other.
var tableLevels = []string{"eventual", "session", "global", "scc"}

// tablesLoad measures sessions that read and write many tables while the replicas are late by less than a second: what
// a level costs that waits for everything, and one that waits for the tables of a read only.
func (b *bench) tablesLoad(ctx context.Context) (err error) {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	s, err := b.newStage(ctx, b.stageOptions(2))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	progress("filling the tables")
	if err := s.Cluster.Primary().Exec(ctx, append([]string{"USE " + stage.Database}, mixed.Prepare(b.tables, tableRows)...)...); err != nil {
		return err
	}
	if err := s.Cluster.WaitReplicated(ctx); err != nil {
		return err
	}
	if err := s.DelayReplication(ctx, b.behind); err != nil {
		return err
	}
	relays, slow, err := relayed(s)
	if err != nil {
		return err
	}
	for _, pace := range b.paces {
		servers := s.Servers()
		if pace > 0 {
			servers = slow
		}
		for _, r := range relays {
			r.Pace(pace)
		}
		for _, skew := range b.skews {
			m := figures.Mixed{MixedSetting: figures.MixedSetting{
				Flavor: b.flavor.String(), Sessions: b.sessions, Writes: shareWrites, Tables: b.tables, Skew: skew, Lag: inMS(b.behind),
				Pace: inMS(pace), Rounds: b.rounds, Seconds: b.seconds.Seconds(), Taken: time.Now().Format(time.DateOnly), Version: b.versions,
			}}
			if err := b.tableRounds(ctx, s, servers, self, &m); err != nil {
				return err
			}
			b.document.Mixed = append(b.document.Mixed, m)
			if err := b.keep(); err != nil {
				return err
			}
		}
	}
	return nil
}

// tableRounds measures all levels round by round; each round begins with another one.
func (b *bench) tableRounds(ctx context.Context, s *stage.Stage, servers []stage.Server, self string, m *figures.Mixed) error {
	for _, level := range tableLevels {
		m.Levels = append(m.Levels, figures.MixedLevel{Level: level})
	}
	for round := range b.rounds {
		for n := range m.Levels {
			l := &m.Levels[(round+n)%len(m.Levels)]
			var sample *figures.MixedSample
			err := s.WithMySQLRW(ctx, "mysqlrw-"+l.Level, l.Level, servers, func(c stage.Candidate) (err error) {
				if c.Version != "" {
					m.Version["mysqlrw"] = c.Version
				}
				sample, err = b.tableTurn(ctx, s, c, self, m, uint64(round))
				return err
			})
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err != nil {
				l.Failed, sample = err.Error(), nil
				progress(fmt.Sprintf("%s: %s failed: %v", m.Title(), l.Level, err))
			} else {
				progress(fmt.Sprintf("%s: round %d of %d, %s: %.0f queries/s, %.0f %% of reads on replicas, %d stale, replicas %.0f ms behind",
					m.Title(), round+1, b.rounds, l.Level, sample.QPS, sample.Replicas*100, sample.Stale, sample.Behind))
			}
			l.Rounds = append(l.Rounds, sample)
		}
	}
	return nil
}

// tableTurn is one round of one level. It begins when the replicas have caught up with the last one.
func (b *bench) tableTurn(ctx context.Context, s *stage.Stage, c stage.Candidate, self string, m *figures.Mixed, seed uint64) (*figures.MixedSample, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*(b.warmup+b.seconds)+spare)
	defer cancel()
	if err := s.Cluster.WaitReplicated(ctx); err != nil {
		return nil, err
	}
	var behind []float64
	watched, stop := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { behind = b.behindWhile(watched, s) })
	found, costs, err := mixed.Run(ctx, self, &mixed.Options{
		Address: c.HostPort(), User: stage.Account, Password: s.Password, Schema: stage.Database, Sessions: m.Sessions,
		Tables: m.Tables, Rows: tableRows, Skew: m.Skew, Writes: m.Writes, Warmup: b.warmup, Time: b.seconds, Seed: seed,
	}, c.PID)
	stop()
	watch.Wait()
	if err != nil {
		return nil, err
	}
	all := found.Reads.Count + found.Writes.Count
	late, _ := figures.SpreadOf(behind)
	return &figures.MixedSample{
		QPS: round(float64(all) / found.Seconds), Replicas: round3(float64(found.OnReplicas) / float64(found.Reads.Count)),
		Reads: three(found.Reads.Latencies), Writes: three(found.Writes.Latencies), Stale: found.Stale, Behind: round(late.Median),
		Driver: round3(costs.Own.CPU.Seconds() / found.Seconds / float64(runtime.NumCPU())), Proxy: use(costs.Of.CPU, costs.Of.RSS, all),
	}, nil
}

func three(l phases.Latencies) [3]float64 {
	return [3]float64{round3(l.P50), round3(l.P95), round3(l.P99)}
}

// behindWhile measures now and then, after the warm-up, how long the replicas take to have what the primary has.
func (b *bench) behindWhile(ctx context.Context, s *stage.Stage) (ms []float64) {
	for wait := b.warmup; ; wait = b.seconds / 8 {
		select {
		case <-ctx.Done():
			return ms
		case <-time.After(wait):
		}
		began := time.Now()
		if s.Cluster.WaitReplicated(ctx) != nil {
			return ms
		}
		ms = append(ms, inMS(time.Since(began)))
	}
}
