package proxy_test

import (
	"database/sql"
	"flag"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
)

var sccBehind = flag.Duration("scc.behind", 2*time.Second, "how long TestSCC has a replica behind on one table while others are read and written")

// lateSite is a site whose replica has everything but the last change of table a.
type lateSite struct {
	*site
	let func() // lets the replica have it
}

// lateArgs has the replica apply other transactions while one waits for a lock.
//
// MySQL has a bound on how many it goes on with (replica_checkpoint_group), and stops before a transaction that depends on
// any that was logged behind the waiting one, so that table b must have no row changed twice. A larger bound makes each
// commit log as many bits. MariaDB goes on in other domains only.
func lateArgs(f flavor.Flavor) []string {
	if f == flavor.MariaDB {
		return []string{"--slave-parallel-threads=4", "--slave-domain-parallel-threads=2", "--innodb-lock-wait-timeout=10000"}
	}
	return []string{
		"--replica-parallel-workers=8", "--replica-preserve-commit-order=OFF", "--replica-checkpoint-group=32760", "--innodb-lock-wait-timeout=10000",
	}
}

// newLateSite has a session of the replica hold a lock on the row of a, which is changed on the primary then.
func newLateSite(t *testing.T, f flavor.Flavor) *lateSite {
	l := &lateSite{}
	l.site = newSite(t, f, sandbox.Options{Replicas: 1, ReplicaArgs: lateArgs(f)}, tracked, append(trackerUser,
		"CREATE TABLE a (id INT PRIMARY KEY, n INT NOT NULL)", "INSERT INTO a VALUES (1, 0)",
		"CREATE TABLE b (r INT, n BIGINT, PRIMARY KEY (r, n))", "INSERT INTO b VALUES (-1, 1)")...)
	tracking(t, l.running)
	lock, domain := "LOCK IN SHARE MODE", "SET SESSION gtid_domain_id = 7"
	if f == flavor.MySQL {
		lock, domain = "FOR SHARE", "DO 0" // a read-only server refuses FOR UPDATE
	}
	holder := conn(t, sandboxtest.Open(t, l.cluster.Replica(1)))
	exec(t, holder, "BEGIN")
	want(t, "the row that is locked", value(t, holder, "SELECT n FROM f.a WHERE id = 1 "+lock), "0")
	var once sync.Once
	l.let = func() { once.Do(func() { exec(t, holder, "COMMIT") }) }
	t.Cleanup(l.let) // who was cleaned up before has closed it, which does the same

	replica := sandboxtest.Open(t, l.cluster.Replica(1))
	before := l.position(l.primary, false)
	writer := conn(t, l.primary)
	exec(t, writer, domain, "UPDATE f.a SET n = 1 WHERE id = 1")
	change := missing(t, before, l.position(l.primary, false))
	if change.IsEmpty() {
		t.Fatal("the change of a has no number")
	}
	exec(t, l.primary, "INSERT INTO f.b VALUES (-1, 2)") // behind it in the log
	sandboxtest.Await(t, "the replica has the change of b", func() bool { return value(t, replica, "SELECT MAX(n) FROM f.b WHERE r = -1") == "2" })
	var lacks gtid.Value
	sandboxtest.Await(t, "the replica knows that it has", func() bool { // a number follows the change that it is of
		lacks = missing(t, l.position(replica, true), l.position(l.primary, false))
		return lacks.String() == change.String()
	})
	want(t, "a on the replica", value(t, replica, "SELECT n FROM f.a WHERE id = 1"), "0")
	t.Logf("primary %v, replica %v, which lacks %v of all that was logged", l.position(l.primary, false), l.position(replica, true), lacks)
	return l
}

// position is what a server has applied or logged.
func (l *lateSite) position(db *sql.DB, replica bool) gtid.Value {
	l.t.Helper()
	variable := "gtid_executed"
	switch {
	case l.flavor == flavor.MariaDB && replica:
		variable = "gtid_slave_pos"
	case l.flavor == flavor.MariaDB:
		variable = "gtid_binlog_pos"
	}
	v, err := gtid.ParseValue(value(l.t, db, "SELECT @@GLOBAL."+variable))
	if err != nil {
		l.t.Fatal(err)
	}
	return v
}

// missing is what of all is not in has.
func missing(t testing.TB, has, all gtid.Value) gtid.Value {
	t.Helper()
	lacks, err := has.Missing(all)
	if err != nil {
		t.Fatal(err)
	}
	return lacks
}

// TestSCC: a replica is behind on one table only. At scc it serves reads of others, which are as fresh as anywhere, also
// after writes that the proxy has not seen; reads of that table are not for it.
func TestSCC(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		l := newLateSite(t, f)
		t.Run("global", func(t *testing.T) { // the control: who waits for everything cannot read there
			c := session(t, l.app, "global")
			for range 5 {
				want(t, "b", value(t, c, "SELECT MAX(n) FROM b WHERE r = -1"), "2")
				onPrimary(t, c, "a read of b at level global")
			}
		})
		t.Run("quiet", func(t *testing.T) {
			for _, m := range []form{{}, {prepared: true}} {
				l.quiet(t, m)
			}
		})
		t.Run("outside", l.outside)
		for _, tt := range []struct {
			level string
			want  porcupine.CheckResult
		}{{"scc", porcupine.Ok}, {"eventual", porcupine.Illegal}} {
			t.Run(tt.level, func(t *testing.T) {
				h := l.history(t, tt.level, *sccBehind)
				if got := h.check(time.Minute); got != tt.want {
					t.Errorf("the history of b at level %s is %s, want %s", tt.level, got, tt.want)
				}
				if h.onReplica == 0 {
					t.Error("the replica was not read: nothing is proved")
				}
			})
		}
		l.let()
		replicated(t, l.cluster)
		replica := sandboxtest.Open(t, l.cluster.Replica(1))
		want(t, "a on the replica in the end", value(t, replica, "SELECT n FROM f.a WHERE id = 1"), "1")
		c := session(t, l.app, "scc")
		sandboxtest.Await(t, "reads of a are the replica's", func() bool {
			want(t, "a", value(t, c, "SELECT n FROM a"), "1")
			return ranOn(t, c) == "replica1"
		})
	})
}

// quiet: nothing is written. Every read of b is the replica's and waits for nothing.
func (l *lateSite) quiet(t *testing.T, m form) {
	c := session(t, l.app, "scc")
	const b = "SELECT MAX(n) FROM b WHERE r = -1"
	want(t, "b", m.value(t, c, b), "2")
	sandboxtest.Await(t, "the proxy knows what the replica has", func() bool { return value(t, c, b) != "" && ranOn(t, c) == "replica1" })
	before := counters(t, c)
	for _, query := range []string{
		b, "SELECT MAX(n) FROM f.b WHERE r = -1", "SELECT MAX(`b`.n) FROM `f` . `b` AS x, b WHERE b.r = -1 AND x.r = -1",
		"SELECT (SELECT MAX(n) FROM b AS x WHERE x.r = -1) FROM b WHERE r = -1 LIMIT 1", "WITH a1 AS (SELECT n FROM b WHERE r = -1) SELECT MAX(n) FROM a1",
	} {
		for range 20 {
			want(t, query, m.value(t, c, query), "2")
			route := routeOf(t, c)
			if route["server"] != "replica1" || route["waited"] != "" || route["level"] != "scc" {
				t.Fatalf("%s: %v, want the replica, without a wait", query, route)
			}
		}
	}
	after := counters(t, c)
	for name, n := range after {
		if n != before[name] && (strings.HasPrefix(name, "waits") || strings.HasPrefix(name, "fall-backs") || name == "reads-scc-primary") {
			t.Errorf("%s: %d more", name, n-before[name])
		}
	}
	for _, query := range []string{
		"SELECT n FROM a", "SELECT n FROM f.a", "SELECT MAX(a.n) FROM b JOIN a ON a.id = 1 WHERE b.r = -1",
		"SELECT (SELECT n FROM a) FROM b WHERE r = -1 LIMIT 1", "SELECT n FROM b WHERE r = -1 AND n IN (SELECT n FROM a)",
	} {
		want(t, query, m.value(t, c, query), "1")
		onPrimary(t, c, query)
	}
	onceMore := session(t, l.app, "scc") // which was shown nothing of a yet
	want(t, b, m.value(t, onceMore, b), "2")
	onReplica(t, onceMore, b)
}

// outside: what is written past the proxy is seen by the next read.
func (l *lateSite) outside(t *testing.T) {
	writer, reader := conn(t, l.primary), session(t, l.app, "scc")
	for n := 1; n <= 50; n++ {
		exec(t, writer, "INSERT INTO f.b VALUES (-2, "+strconv.Itoa(n)+")")
		want(t, "what was written past the proxy", value(t, reader, "SELECT MAX(n) FROM b WHERE r = -2"), strconv.Itoa(n))
	}
}

// registerStep is an operation on a register, which holds the highest number that was written.
type registerStep struct {
	register int
	write    bool
	number   int64 // that was written, or read
}

// history is all that clients did.
type history struct {
	mu               sync.Mutex
	steps            []porcupine.Operation
	reads, onReplica int
}

// highestNumber is such registers in words of the checker.
func highestNumber() porcupine.Model {
	return porcupine.Model{
		Partition: func(all []porcupine.Operation) (parts [][]porcupine.Operation) {
			by := map[int]int{}
			for _, o := range all {
				r := o.Input.(registerStep).register
				if _, there := by[r]; !there {
					by[r] = len(parts)
					parts = append(parts, nil)
				}
				parts[by[r]] = append(parts[by[r]], o)
			}
			return parts
		},
		Init: func() any { return int64(0) },
		Step: func(state, input, _ any) (bool, any) {
			held, o := state.(int64), input.(registerStep)
			if o.write {
				return true, max(held, o.number)
			}
			return o.number == held, held
		},
		Hash: func(state any) uint64 { return uint64(state.(int64)) },
	}
}

func (h *history) check(limit time.Duration) porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(highestNumber(), h.steps, limit)
}

// Registers of a history: there are always registersAtOnce, new ones after so many steps, which keeps the checker's work
// small.
const (
	registersAtOnce = 4
	stepsOfRegister = 250
)

// history has clients read and write registers of b for a while. Half of them write past the proxy.
func (l *lateSite) history(t *testing.T, level string, d time.Duration) *history {
	h := &history{}
	before := l.counted()
	var number, steps atomic.Int64
	first := rand.IntN(1 << 30) // so that no earlier history has a register
	start := time.Now()
	var all sync.WaitGroup
	for id := range 8 {
		reader := session(t, l.app, level)
		writer := reader
		if id%2 == 1 {
			writer = conn(t, l.primary)
		}
		all.Go(func() {
			random := rand.New(rand.NewPCG(uint64(id), 1))
			for time.Since(start) < d && !t.Failed() {
				round := int(steps.Add(1)) / (registersAtOnce * stepsOfRegister)
				s := registerStep{register: first + round*registersAtOnce + random.IntN(registersAtOnce), write: random.IntN(6) == 0}
				var server int
				var err error
				call := time.Since(start)
				if s.write {
					s.number = number.Add(1)
					_, err = writer.ExecContext(t.Context(), fmt.Sprintf("INSERT INTO f.b VALUES (%d, %d)", s.register, s.number))
				} else {
					err = reader.QueryRowContext(t.Context(), fmt.Sprintf("SELECT COALESCE(MAX(n), 0), UUID_SHORT() >> 56 FROM b WHERE r = %d", s.register)).
						Scan(&s.number, &server)
				}
				returned := time.Since(start)
				if err != nil {
					t.Error(err)
					return
				}
				h.add(porcupine.Operation{ClientId: id, Input: s, Call: int64(call), Return: int64(returned)}, server == l.cluster.Replica(1).ServerID)
			}
		})
	}
	all.Wait()
	t.Logf("%s: %d steps, %d reads, %d of them on the replica; %v", level, len(h.steps), h.reads, h.onReplica, l.since(before))
	return h
}

func (h *history) add(o porcupine.Operation, onReplica bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.steps = append(h.steps, o)
	if !o.Input.(registerStep).write {
		h.reads++
		if onReplica {
			h.onReplica++
		}
	}
}
