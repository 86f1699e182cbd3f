package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/mysqlrw/mysqlrw/cmd/rwbench/internal/figures"
	"github.com/mysqlrw/mysqlrw/cmd/rwbench/internal/stage"
	"github.com/mysqlrw/mysqlrw/cmd/rwbench/internal/sysbench"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
)

// bench is one run of rwbench.
type bench struct {
	*options
	document *figures.Document
	versions map[string]string
}

func run(ctx context.Context, args []string) error {
	o, err := parseOptions(args)
	if err != nil {
		return err
	}
	if o.cache == "" {
		if o.cache, err = sandbox.DefaultCacheDir(); err != nil {
			return err
		}
	}
	b := &bench{options: o, document: &figures.Document{Machine: stage.Machine()}, versions: map[string]string{}}
	if err := b.measure(ctx); err != nil {
		return err
	}
	if o.update {
		return nil // each table was written when it was done
	}
	return printGrids(os.Stdout, b.document)
}

// progress tells on stderr what goes on: a long run must not look as if it hung.
func progress(line string) { fmt.Fprintln(os.Stderr, line) }

func (b *bench) measure(ctx context.Context) error {
	if slices.ContainsFunc(b.loads, isSysbench) {
		if err := b.sysbenchLoads(ctx); err != nil {
			return err
		}
	}
	if slices.Contains(b.loads, "instant") {
		if err := b.instantLoad(ctx); err != nil {
			return err
		}
	}
	if slices.Contains(b.loads, "consistency") {
		if err := b.consistencyLoad(ctx); err != nil {
			return err
		}
	}
	if slices.Contains(b.loads, "tables") {
		return b.tablesLoad(ctx)
	}
	return nil
}

func (b *bench) write() error {
	d, err := figures.Read(b.json)
	if err != nil {
		return err
	}
	if !d.Merge(b.document) {
		progress("the figures of " + b.json + " were of another machine; they are replaced")
	}
	if err := d.Write(b.json); err != nil {
		return err
	}
	return d.UpdatePage(b.page)
}

// turns measures the candidates of one table round by round; each round begins with another candidate. A
// candidate that fails is tried again in the next round.
func (b *bench) turns(ctx context.Context, setting figures.Setting, all []stage.Candidate, turn func(context.Context, stage.Candidate) (*figures.Sample, error)) error {
	setting.Flavor, setting.Rounds, setting.Seconds = b.flavor.String(), b.rounds, b.seconds.Seconds()
	setting.Taken, setting.Version = time.Now().Format(time.DateOnly), b.versions
	t := figures.Table{Setting: setting, Candidates: make([]figures.Candidate, len(all))}
	for i, c := range all {
		t.Candidates[i].Name = c.Name
	}
	for round := range b.rounds {
		for n := range all {
			i := (round + n) % len(all)
			c := &t.Candidates[i]
			sample, err := turn(ctx, all[i])
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err != nil {
				c.Failed = err.Error()
				progress(fmt.Sprintf("%s: %s failed: %v", setting.Label(), c.Name, err))
			} else {
				progress(fmt.Sprintf("%s: round %d of %d, %s: %.0f queries/s", setting.Label(), round+1, b.rounds, c.Name, sample.QPS))
			}
			c.Rounds = append(c.Rounds, sample)
		}
	}
	b.document.Tables = append(b.document.Tables, t)
	return b.keep()
}

// keep writes what there is so far: a run of hours that is interrupted has not been for nothing.
func (b *bench) keep() error {
	if !b.update {
		return nil
	}
	return b.write()
}

// candidates starts what was asked for and is here, and says what is not.
func (b *bench) candidates(ctx context.Context, starts []starter) ([]stage.Candidate, error) {
	var all []stage.Candidate
	for _, s := range starts {
		if !b.wants(s.name) {
			continue
		}
		started, cancel := context.WithTimeout(ctx, time.Minute)
		c, err := s.start(started)
		cancel()
		var missing *stage.Missing
		if errors.As(err, &missing) {
			progress(missing.Error())
			continue
		}
		if err != nil {
			return nil, err
		}
		if c.Version != "" {
			b.versions[c.Name] = c.Version
		}
		all = append(all, c)
	}
	return all, nil
}

// errNobody is that nothing of what was asked for can be measured.
var errNobody = errors.New("no candidate is left: choose others with --candidates")

// starter starts one candidate.
type starter struct {
	name  string
	start func(context.Context) (stage.Candidate, error)
}

func isSysbench(load string) bool { return sysbenchScripts[load] != "" }

// A constant table: the name of a load, and sysbench's script for it.
var sysbenchScripts = map[string]string{
	"point_select": "oltp_point_select", "read_only": "oltp_read_only", "read_write": "oltp_read_write",
}

func (b *bench) stageOptions(replicas int) stage.Options {
	return stage.Options{Flavor: b.flavor, CacheDir: b.cache, Replicas: replicas, Progress: progress, MySQLRW: b.mysqlrw}
}

// newStage starts servers, and notes their version.
func (b *bench) newStage(ctx context.Context, o stage.Options) (*stage.Stage, error) {
	s, err := stage.New(ctx, o)
	if err == nil {
		b.versions[b.flavor.String()] = s.Cluster.Version.String()
	}
	return s, err
}

func (b *bench) sysbenchLoads(ctx context.Context) (err error) {
	if _, err := sysbench.Find(); err != nil {
		return err
	}
	s, err := b.newStage(ctx, b.stageOptions(2))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	progress("filling the tables")
	primary := b.target(s, s.Direct(), false)
	if err := sysbench.Prepare(ctx, primary); err != nil {
		return err
	}
	if err := s.Cluster.WaitReplicated(ctx); err != nil {
		return err
	}
	all, err := b.candidates(ctx, b.starters(s))
	if err != nil {
		return err
	}
	peers, err := s.Peers(ctx, b.peers)
	if err != nil {
		return err
	}
	all = append(all, peers...)
	if len(all) == 0 {
		return errNobody
	}
	for _, load := range b.loads {
		if !isSysbench(load) {
			continue
		}
		if err := b.sysbenchTables(ctx, s, load, all); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) starters(s *stage.Stage) []starter {
	mysqlrw := func(name, level string) starter {
		return starter{name, func(ctx context.Context) (stage.Candidate, error) { return s.MySQLRW(ctx, name, level, s.Servers()) }}
	}
	return []starter{
		{"direct", func(context.Context) (stage.Candidate, error) { return s.Direct(), nil }},
		{"haproxy", func(ctx context.Context) (stage.Candidate, error) {
			return s.HAProxy(ctx, s.Cluster.Primary().Address())
		}},
		{"router", s.Router},
		{"router-split", func(ctx context.Context) (stage.Candidate, error) { return s.RouterSplit(ctx, s.Servers()) }},
		mysqlrw("mysqlrw", "session"),
		mysqlrw("mysqlrw-eventual", "eventual"),
		mysqlrw("mysqlrw-global", "global"),
	}
}

func (b *bench) target(s *stage.Stage, c stage.Candidate, tls bool) sysbench.Target {
	host, port := c.Address(tls)
	return sysbench.Target{Host: host, Port: port, User: stage.Account, Password: s.Password, PID: c.PID, TLSDir: s.TLSDir()}
}

// sysbenchTables measures one load in every way that was asked for.
func (b *bench) sysbenchTables(ctx context.Context, s *stage.Stage, load string, all []stage.Candidate) error {
	for _, mode := range b.modes {
		for _, secure := range b.tls {
			for _, threads := range b.threads {
				l := sysbench.Load{
					Script: sysbenchScripts[load], SkipTrx: load == "read_only", Prepared: mode == "prepared", TLS: secure == "tls",
					Threads: threads, Warmup: b.warmup, Time: b.seconds,
				}
				err := b.turns(ctx, figures.Setting{Load: load, Mode: mode, TLS: l.TLS, Threads: threads}, all,
					func(ctx context.Context, c stage.Candidate) (*figures.Sample, error) { return b.turn(ctx, s, c, l) })
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// spare is what a turn may take beyond its time: clients that log in, replicas that catch up.
const spare = time.Minute

// turn is one round of one candidate. It begins when the replicas have caught up with the last one.
func (b *bench) turn(ctx context.Context, s *stage.Stage, c stage.Candidate, l sysbench.Load) (*figures.Sample, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*(l.Warmup+l.Time)+spare)
	defer cancel()
	if err := s.Cluster.WaitReplicated(ctx); err != nil {
		return nil, err
	}
	r, err := sysbench.Run(ctx, b.target(s, c, l.TLS), l)
	if err != nil {
		return nil, err
	}
	sample := &figures.Sample{QPS: round(r.QPS), P50: r.P50, P95: r.P95, P99: r.P99}
	if c.PID != 0 {
		sample.Proxy = use(r.CPU, r.RSS, r.Queries)
	}
	return sample, nil
}
