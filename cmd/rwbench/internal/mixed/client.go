package mixed

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"strconv"
	"time"

	"github.com/mysqlrw/mysqlrw/cmd/rwbench/internal/phases"
	"github.com/mysqlrw/mysqlrw/pkg/backend"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// primaryID is the server id that a sandbox's primary has.
const primaryID = 1

// client is one session.
type client struct {
	*shared
	conn          *backend.Conn
	random        *rand.Rand
	packet        []byte
	value         []byte
	reads, writes phases.Times // of the part that counts
	onReplicas    int64        // of these reads
	stale         int64        // of these reads
}

// Run sends one statement after the other until the run is over.
func (c *client) Run(phase func() phases.Phase) error {
	for {
		before := phase()
		if before == phases.Over {
			return nil
		}
		table, row := c.choice.pick(c.random), c.random.IntN(c.Rows)
		isWrite := c.random.Float64() < c.Writes
		began := time.Now()
		var server int
		var stale bool
		var err error
		if isWrite {
			err = c.write(table, row)
		} else {
			server, stale, err = c.read(table, row)
		}
		if err != nil {
			return err
		}
		switch {
		case before != phases.Measuring || phase() != phases.Measuring:
		case isWrite:
			c.writes.Add(began)
		default:
			c.reads.Add(began)
			if server != primaryID {
				c.onReplicas++
			}
			if stale {
				c.stale++
			}
		}
	}
}

// Interrupt ends a wait for an answer.
func (c *client) Interrupt() { _ = c.conn.SetDeadline(time.Now()) }

// read returns who gave the row, and whether that was old. UUID_SHORT has the server's number in its highest byte:
// @@server_id would be a certain server's state to a proxy. One column has both, as it is the cheapest to read.
func (c *client) read(table, row int) (server int, stale bool, err error) {
	acked := c.acked[table*c.Rows+row].Load()
	c.start("SELECT n * 256 + (UUID_SHORT() >> 56) FROM mixed", table, " WHERE id = ", row)
	if err := c.send(); err != nil {
		return 0, false, err
	}
	value, null, _, err := c.conn.AnswerValue(c.value)
	c.value = value
	if err != nil {
		return 0, false, err
	}
	both, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil || null {
		return 0, false, fmt.Errorf("table %d, row %d: got %q, want a number", table+1, row+1, value)
	}
	c.conn.Release()
	return int(both % 256), acked > 0 && both/256 < c.base+acked, nil
}

// write counts the row up.
func (c *client) write(table, row int) error {
	c.start("UPDATE mixed", table, c.change, row)
	if err := c.send(); err != nil {
		return err
	}
	ok, err := c.conn.Answer(wire.ComQuery)
	if err != nil {
		return err
	}
	if ok.AffectedRows != 1 {
		return fmt.Errorf("table %d, row %d: %d rows were changed", table+1, row+1, ok.AffectedRows)
	}
	c.conn.Release()
	c.acked[table*c.Rows+row].Add(1)
	return nil
}

// start writes a statement into the packet.
func (c *client) start(head string, table int, middle string, row int) {
	b := wire.AppendQuery(wire.Reserve(c.packet[:0]), head, c.conn.Capabilities())
	b = strconv.AppendInt(b, int64(table+1), 10)
	b = append(b, middle...)
	c.packet = strconv.AppendInt(b, int64(row+1), 10)
}

func (c *client) send() error {
	c.packet, _ = wire.Finish(c.packet, 0, 0)
	return c.conn.Write(c.packet)
}

// choice picks tables.
type choice struct {
	upTo []float64 // the sum of the weights of a table and all before it
}

func newChoice(tables int, skew float64) choice {
	c := choice{upTo: make([]float64, tables)}
	sum := 0.0
	for i := range c.upTo {
		sum += math.Pow(float64(i+1), -skew)
		c.upTo[i] = sum
	}
	return c
}

func (c choice) pick(random *rand.Rand) int {
	n := len(c.upTo)
	at := random.Float64() * c.upTo[n-1]
	return min(sort.SearchFloat64s(c.upTo, at), n-1)
}
