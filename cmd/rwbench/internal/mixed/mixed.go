// Package mixed answers: how many reads and writes of many tables do some sessions get done, where do the reads run, and
// which of them are older than what was acknowledged before?
//
// Each session sends one statement after the other: the row of a table by its key, or a change of that row by one. A row
// counts its changes, so that a read is stale if it has fewer than were acknowledged when it was sent. The clients run as
// a process of their own.
package mixed

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mysqlrw/mysqlrw/cmd/rwbench/internal/child"
	"github.com/mysqlrw/mysqlrw/cmd/rwbench/internal/phases"
	"github.com/mysqlrw/mysqlrw/pkg/backend"
)

// Word is what rwbench is started again with for the clients.
const Word = "mixed-client"

// Options say what the clients do. They come to their process as JSON.
type Options struct {
	Address        string
	User, Password string
	Schema         string
	Sessions       int
	Tables, Rows   int     // Rows of each table
	Skew           float64 // the n-th table is chosen as often as the first one divided by n to the power of Skew
	Writes         float64 // share of statements that write
	Warmup, Time   time.Duration
	Seed           uint64
}

// Side is what was measured of all reads, or of all writes.
type Side struct {
	Count int64
	phases.Latencies
}

// Outcome is what the clients have found.
type Outcome struct {
	Seconds       float64
	Reads, Writes Side
	OnReplicas    int64 // of the reads
	Stale         int64 // of the reads
}

// Main is the body of a process that was started with Word and has its options on stdin.
func Main(ctx context.Context, in io.Reader, out io.Writer) error {
	o := &Options{}
	if err := json.NewDecoder(in).Decode(o); err != nil {
		return err
	}
	return child.Tell(out, func(begin, end func()) (*Outcome, error) { return Measure(ctx, o, begin, end) })
}

// Run runs clients in a process of their own: program, which calls Main. The costs are those of the clients and of the
// process pid, if that is not 0.
func Run(ctx context.Context, program string, o *Options, pid int) (*Outcome, child.Costs, error) {
	b, err := json.Marshal(o)
	if err != nil {
		return nil, child.Costs{}, err
	}
	p, err := child.Start(child.Options{Name: Word, Stdin: strings.NewReader(string(b))}, program, Word)
	if err != nil {
		return nil, child.Costs{}, err
	}
	defer p.Stop() // it has ended by itself if all went well
	found := &Outcome{}
	costs, err := p.Measured(ctx, pid, found)
	if err != nil {
		return nil, child.Costs{}, err
	}
	return found, costs, nil
}

// Prepare returns the statements that make the tables and fill them.
func Prepare(tables, rows int) []string {
	var all []string
	values := make([]string, rows)
	for i := range values {
		values[i] = fmt.Sprintf("(%d, 0)", i+1)
	}
	for i := range tables {
		all = append(all, fmt.Sprintf("CREATE TABLE %s (id INT PRIMARY KEY, n BIGINT NOT NULL)", tableName(i)),
			fmt.Sprintf("INSERT INTO %s VALUES %s", tableName(i), strings.Join(values, ", ")))
	}
	return all
}

func tableName(i int) string { return fmt.Sprintf("mixed%d", i+1) }

// shared is what all clients of a run know.
type shared struct {
	*Options
	choice choice
	// base is above what every row held before the run, so that nothing of an earlier one counts.
	base   int64
	change string // of a row, between the table's number and the row's
	// acked are the changes of each row that a server has acknowledged, for the first table's rows first.
	acked []atomic.Int64
}

// Measure connects all clients, has them work, and calls begin and end at the borders of the part that counts.
func Measure(ctx context.Context, o *Options, begin, end func()) (*Outcome, error) {
	s := &shared{Options: o, choice: newChoice(o.Tables, o.Skew), base: time.Now().Unix() << 22, acked: make([]atomic.Int64, o.Tables*o.Rows)}
	s.change = fmt.Sprintf(" SET n = GREATEST(n, %d) + 1 WHERE id = ", s.base)
	clients := make([]phases.Client, o.Sessions)
	buffers := &backend.Buffers{}
	for i := range clients {
		conn, err := backend.Dial(ctx, &backend.Options{
			Address: o.Address, User: o.User, Password: o.Password, Schema: o.Schema, TLSMode: backend.TLSDisabled,
			ConnectTimeout: 30 * time.Second, Buffers: buffers,
		})
		if err != nil {
			return nil, err
		}
		defer conn.Quit() // nothing is lost with an error of it
		clients[i] = &client{shared: s, conn: conn, random: rand.New(rand.NewPCG(o.Seed, uint64(i)))}
	}
	seconds, err := phases.Run(ctx, o.Warmup, o.Time, clients, begin, end)
	if err != nil {
		return nil, err
	}
	out := &Outcome{Seconds: seconds}
	var reads, writes phases.Times
	for _, one := range clients {
		c := one.(*client)
		reads, writes = append(reads, c.reads...), append(writes, c.writes...)
		out.OnReplicas += c.onReplicas
		out.Stale += c.stale
	}
	if len(reads) == 0 || len(writes) == 0 {
		return nil, fmt.Errorf("%d reads and %d writes were answered", len(reads), len(writes))
	}
	out.Reads = Side{Count: int64(len(reads)), Latencies: reads.Latencies()}
	out.Writes = Side{Count: int64(len(writes)), Latencies: writes.Latencies()}
	return out, nil
}
