package verify

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// keptWrites is how many writes all registers together keep the times of.
	keptWrites = 1 << 20
	// checkLimit bounds the checker of linearizability.
	checkLimit = 20 * time.Second
	// grace is how long a statement may still take once the run is interrupted.
	grace = time.Second
	// reportEvery is how often Progress is called.
	reportEvery = 200 * time.Millisecond
)

// run is one Run.
type run struct {
	options   Options
	table     *table
	registers []*register
	sample    sample
	examples  examples
	names     map[int]int // server_id by what UUID_SHORT tells, where it could be asked

	start      time.Time
	statements context.Context // of all statements of clients: it outlives an interruption a little
	clock      atomic.Int64    // counts beginnings and ends of operations
	sessions   atomic.Int64
	reads      atomic.Int64
	reporting  sync.Mutex
	reported   time.Duration
}

// Run makes the table, lets the clients work, and removes it. If the context
// ends, so do the clients, and the result tells of what was done until then. With
// an error there is no result, unless it is about the removal of the table.
func Run(ctx context.Context, o Options) (*Result, error) {
	o, err := o.check()
	if err != nil {
		return nil, err
	}
	roles, registers := o.roles()
	r := &run{
		options: o, table: newTable(o, registers, o.Now()), names: map[int]int{},
		sample:   sample{random: rand.New(rand.NewPCG(o.Seed, 0)), size: windowSize, limit: max(1, o.Sample/windowSize)},
		examples: examples{limit: o.Show},
	}
	for i := range registers {
		one := newRegister(i, max(1024, keptWrites/registers))
		one.window.sample = &r.sample
		r.registers = append(r.registers, one)
	}
	if err := r.apart(ctx, r.table.make); err != nil {
		return nil, err
	}
	result, err := r.work(ctx, roles)
	return result, errors.Join(err, r.apart(ctx, r.table.drop))
}

// apart does what must not be left half done when the run is interrupted.
func (r *run) apart(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.options.Timeout)
	defer cancel()
	return do(ctx)
}

// work runs the clients between the making and the removal of the table.
func (r *run) work(ctx context.Context, roles []role) (*Result, error) {
	if err := r.table.settle(ctx, r.options.Read, r.options.Settle); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotReadable, err)
	}
	r.learnNames(ctx)
	var cancel context.CancelFunc
	r.statements, cancel = context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })()
	r.start = r.options.Now()
	clients := make([]*client, len(roles))
	var group sync.WaitGroup
	for i := range roles {
		clients[i] = &client{run: r, role: roles[i], random: rand.New(rand.NewPCG(r.options.Seed, uint64(i+1)))}
		group.Go(func() { clients[i].loop(ctx) })
	}
	group.Wait()
	return r.result(clients), nil
}

// now is the time since the start.
func (r *run) now() time.Duration { return r.options.Now().Sub(r.start) }

func (r *run) newSessionID() int { return int(r.sessions.Add(1)) }

func (r *run) over(ctx context.Context) bool {
	o := &r.options
	return ctx.Err() != nil || o.Duration > 0 && r.now() >= o.Duration || o.Reads > 0 && r.reads.Load() >= o.Reads
}

// report calls Progress if it is time to; whichever client comes first does, and
// never two at once.
func (r *run) report() {
	if r.options.Progress == nil || !r.reporting.TryLock() {
		return
	}
	defer r.reporting.Unlock()
	if now := r.now(); now-r.reported >= reportEvery {
		r.reported = now
		r.options.Progress(Progress{now, r.options.Duration, r.reads.Load(), r.options.Reads})
	}
}

// learnNames asks the servers behind both addresses for their full numbers.
// Those that are not met by that are told by their number modulo 256.
func (r *run) learnNames(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, r.options.Timeout)
	defer cancel()
	var key, id int
	if r.options.Read.QueryRowContext(ctx, "SELECT UUID_SHORT() >> 24, @@server_id").Scan(&key, &id) == nil {
		r.names[key] = id
	}
	if r.options.Write.QueryRowContext(ctx, "SELECT UUID_SHORT() >> 24, @@server_id").Scan(&key, &id) == nil {
		r.names[key] = id
	}
}

// serverID is what is known of a server's number.
func (r *run) serverID(key int) int {
	if id, known := r.names[key]; known {
		return id
	}
	return key >> 32
}

// result brings together what the clients have met.
func (r *run) result(clients []*client) *Result {
	var all tally
	for _, c := range clients {
		all.merge(&c.tally)
	}
	for _, one := range r.registers {
		if w := one.window.current; w != nil && len(w.operations) > 0 {
			r.sample.keep(w)
		}
	}
	res := &Result{
		Elapsed: r.now(), Clients: len(clients), Registers: len(r.registers), Sessions: r.sessions.Load(),
		Reads: all.reads, Writes: all.writes, Absent: all.absent, Errors: all.errors,
		OwnWrites: all.own, MonotonicReads: all.back, WriteOrder: all.order, CrossSession: all.cross,
		Inversions: all.inverted, Invented: all.invented, ByServer: map[string]int64{},
		Staleness: all.staleness.spread(), ReadTime: all.readTime.spread(),
		FirstReadTime: all.firstTime.spread(), WriteTime: all.writeTime.spread(),
		Violations: r.examples.all(),
	}
	for key, n := range all.servers {
		name := "unknown"
		if key != 0 {
			name = strconv.Itoa(r.serverID(key))
		}
		res.ByServer[name] += n
	}
	for _, v := range res.Violations {
		for i := range v.Ops {
			v.Ops[i].Server = r.serverID(v.Ops[i].Server)
		}
	}
	switch {
	case res.worst() < Global:
		res.Linearizable = No
	case all.reads > 0:
		c := r.sample.check(checkLimit)
		res.Linearizable, res.Checked, res.GivenUp = c.answer, c.inOrder, c.givenUp
	}
	return res
}
