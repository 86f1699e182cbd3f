package verify

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Promise is what a consistency level promises, weakest first.
type Promise uint8

// The promises. scc and strong promise what Global does.
const (
	// None: nothing is promised, and everything is counted.
	None Promise = iota
	// Monotonic reads: the level weak.
	Monotonic
	// Session: own writes, monotonic reads, write order.
	Session
	// Global: besides, linearizable reads.
	Global
)

// PromiseOf returns what a level of mysqlrw promises, by the level's name.
func PromiseOf(level string) (Promise, bool) {
	switch strings.ToLower(level) {
	case "eventual":
		return None, true
	case "weak":
		return Monotonic, true
	case "session":
		return Session, true
	case "global", "scc", "strong":
		return Global, true
	}
	return None, false
}

// String returns the name of the weakest level that promises it.
func (p Promise) String() string {
	return [...]string{"eventual", "weak", "session", "global"}[p]
}

// Workload is what the clients do.
type Workload uint8

const (
	// Registers: every client reads and writes all registers, and reads a
	// register again that it has just written.
	Registers Workload = iota
	// Peers: half of the clients write a register of their own and read it
	// three times; the others read one register, which one more client writes
	// every 2 ms. Published figures of other proxies are of this workload.
	Peers
)

// Workloads returns the names of the workloads, each at the index that is its constant.
func Workloads() []string { return []string{"registers", "peers"} }

// Options describe a run. Read, Write and an end (Duration or Reads) must be given.
type Options struct {
	Read  *sql.DB // what is checked; it must allow a connection for each client
	Write *sql.DB // takes the writes and the table; if it is Read, a session has one connection

	Workload   Workload // what the clients do
	Clients    int      // that work at the same time; 0 means 16
	Registers  int      // rows that they share; 0 means 16; Peers has its own number
	WriteRatio float64  // share of operations of Registers that write; 0 means 0.1

	Duration time.Duration // 0 means until Reads
	Reads    int64         // 0 means until Duration
	Timeout  time.Duration // for one statement; 0 means 10 s

	Schema     string        // "" means mysqlrw_verify; made and dropped unless it is there
	Statements []string      // run at the beginning of every session, on Read
	Settle     time.Duration // how long is waited for the table to arrive everywhere; 0 means 10 s

	Seed   uint64 // of what the clients choose
	Sample int    // operations that are put to the checker of linearizability, about; 0 means 200,000
	Show   int    // violations of each kind that are kept; 0 means 3

	Now func() time.Time // the clock, which must be monotonic; nil means time.Now

	// Progress is called about every 200 ms while clients run. It may be nil.
	Progress func(Progress)
}

// Progress is where a run stands.
type Progress struct {
	Elapsed, Duration time.Duration // Duration is that of Options: 0 if the run ends by reads
	Reads, Limit      int64         // answered until now, and Options.Reads
}

// maxClients keeps a slip of the finger from taking every connection there is.
const maxClients = 4096

// ErrNotReadable is wrapped by an error of Options.Read; others of Run are of
// Options.Write.
var ErrNotReadable = errors.New("read the table")

var errNoEnd = errors.New("neither a duration nor a number of reads is given")

func (o Options) check() (Options, error) {
	orElse := func(n *int, instead int) {
		if *n == 0 {
			*n = instead
		}
	}
	orElse(&o.Clients, 16)
	orElse(&o.Registers, 16)
	orElse(&o.Sample, 200_000)
	orElse(&o.Show, 3)
	if o.WriteRatio == 0 {
		o.WriteRatio = 0.1
	}
	if o.Schema == "" {
		o.Schema = "mysqlrw_verify"
	}
	if o.Timeout == 0 {
		o.Timeout = 10 * time.Second
	}
	if o.Settle == 0 {
		o.Settle = 10 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	switch {
	case o.Duration <= 0 && o.Reads <= 0:
		return o, errNoEnd
	case o.Clients < 1 || o.Clients > maxClients:
		return o, fmt.Errorf("number of clients %d is not from 1 to %d", o.Clients, maxClients)
	case o.Workload == Peers && o.Clients < 2:
		return o, errors.New("the workload peers needs 2 clients")
	case o.Registers < 1 || o.Registers > 100_000:
		return o, fmt.Errorf("number of registers %d is not from 1 to 100000", o.Registers)
	case o.WriteRatio < 0 || o.WriteRatio > 1:
		return o, fmt.Errorf("share of writes %g is not from 0 to 1", o.WriteRatio)
	}
	return o, nil
}

// role is what one client does, again and again.
type role struct {
	writes    float64 // share of its steps that begin with a write
	from, to  int     // its registers
	readsBack int     // reads of a register behind each write
	every     time.Duration
	private   bool // nobody else uses its registers
}

// roles returns one for each client, and the number of registers.
func (o Options) roles() ([]role, int) {
	roles := make([]role, o.Clients, o.Clients+1)
	if o.Workload == Registers {
		for i := range roles {
			roles[i] = role{writes: o.WriteRatio, to: o.Registers, readsBack: 1}
		}
		return roles, o.Registers
	}
	writers := o.Clients / 2
	for i := range roles {
		roles[i] = role{to: 1}
		if i < writers {
			roles[i] = role{writes: 1, from: i + 1, to: i + 2, readsBack: 3, private: true}
		}
	}
	return append(roles, role{writes: 1, to: 1, every: 2 * time.Millisecond}), writers + 1
}
