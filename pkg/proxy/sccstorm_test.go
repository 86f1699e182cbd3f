package proxy_test

import (
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
)

var stormSteps = flag.Int("scc.steps", 12, "changes of the schema in TestSCCStorm at each level")

// Every row that is read has a tag, which says whose number it holds. Each number is written by one client, and grows.
const (
	tagX, tagY   = 1, 2 // tables that change their names with each other
	tagC, tagD   = 3, 4 // tables below views
	tagM, tagG   = 5, 6 // tables that come and go
	tagP, tagOfP = 7, 8 // a table that nothing happens to, and one that a trigger of it writes
	tags         = 9
)

// told is a number of which something is said before and after it happens on the servers.
type told struct{ issued, acked atomic.Int64 }

// shape is what a name stands for, which changes with each number: the tag of what is read by it is one of these, in turn.
// While a change is going on there may be nothing.
type shape struct {
	told
	tags [2]int64
	gaps bool
}

// storm changes names, views and tables while clients write and read.
type storm struct {
	*site
	numbers       [tags]told
	x, y, w, m, g shape
	still         shape // of what never changes
	altered       told
	steps         int
	over          atomic.Bool

	reads, again atomic.Int64 // of the present level, as all below
	mu           sync.Mutex
	violations   int
	examples     []string
}

// stormSetup makes the tables. x begins as that of tagX, w above c, m as a table.
var stormSetup = []string{
	"CREATE TABLE x (tag INT PRIMARY KEY, n BIGINT NOT NULL)", "INSERT INTO x VALUES (1, 0)",
	"CREATE TABLE y (tag INT PRIMARY KEY, n BIGINT NOT NULL)", "INSERT INTO y VALUES (2, 0)",
	"CREATE TABLE c (tag INT PRIMARY KEY, n BIGINT NOT NULL)", "INSERT INTO c VALUES (3, 0)",
	"CREATE TABLE d (tag INT PRIMARY KEY, n BIGINT NOT NULL)", "INSERT INTO d VALUES (4, 0)",
	"CREATE TABLE m (tag INT PRIMARY KEY, n BIGINT NOT NULL)", "INSERT INTO m VALUES (5, 0)",
	"CREATE TABLE g (tag INT PRIMARY KEY, n BIGINT NOT NULL)", "INSERT INTO g VALUES (6, 0)",
	"CREATE TABLE p (tag INT PRIMARY KEY, n BIGINT NOT NULL)", "INSERT INTO p VALUES (7, 0)",
	"CREATE TABLE q (tag INT PRIMARY KEY, n BIGINT NOT NULL)", "INSERT INTO q VALUES (8, 0)",
	"CREATE VIEW w AS SELECT tag, n FROM c", "CREATE VIEW vx AS SELECT tag, n FROM x", "CREATE VIEW vv AS SELECT tag, n FROM vx",
	"CREATE TRIGGER t AFTER UPDATE ON p FOR EACH ROW UPDATE q SET n = NEW.n WHERE tag = 8",
}

func (s *storm) shapeOf(name string) *shape {
	switch name {
	case "x", "vx", "vv":
		return &s.x
	case "y":
		return &s.y
	case "w":
		return &s.w
	case "m":
		return &s.m
	case "g":
		return &s.g
	}
	return &s.still
}

// TestSCCStorm: tables are renamed, made anew and altered, and views redefined, while replicas are late now and then. No
// read at scc has less than what was acknowledged before it began, nor by an older definition; and the same clients find
// plenty of both where nothing is promised.
func TestSCCStorm(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		s := newSite(t, f, sandbox.Options{Replicas: 2}, tracked, append(trackerUser, stormSetup...)...)
		tracking(t, s.running)
		st := &storm{site: s}
		st.x.tags, st.y.tags, st.w.tags, st.m.tags = [2]int64{tagX, tagY}, [2]int64{tagY, tagX}, [2]int64{tagC, tagD}, [2]int64{tagM, tagC}
		st.g.tags = [2]int64{tagG, tagG}
		st.w.gaps, st.m.gaps, st.g.gaps = true, true, true
		for _, level := range []string{"scc", "eventual"} {
			t.Run(level, func(t *testing.T) {
				before := s.counted()
				st.run(t, level)
				counted := s.since(before)
				t.Logf("%s: %d reads, %d that were to be tried again, %d violations; %v", level, st.reads.Load(), st.again.Load(), st.violations, counted)
				switch {
				case level == "eventual" && st.violations == 0:
					t.Error("nothing is found where nothing is promised: the check proves nothing")
				case level == "scc" && st.violations > 0:
					t.Errorf("%d violations, such as\n%s", st.violations, strings.Join(st.examples, "\n"))
				case level == "scc" && counted["reads-scc-replica"] == 0:
					t.Error("no replica was read: nothing is proved")
				}
			})
		}
	})
}

// run has clients write and read at a level until the storm is over.
func (s *storm) run(t *testing.T, level string) {
	s.reads.Store(0)
	s.again.Store(0)
	s.over.Store(false)
	s.violations, s.examples = 0, nil
	var all sync.WaitGroup
	defer all.Wait()
	defer s.over.Store(true)
	for _, w := range []struct {
		tags   []int64 // of what a write changes
		tables []string
	}{{[]int64{tagX}, []string{"x", "y"}}, {[]int64{tagY}, []string{"y", "x"}}, {[]int64{tagC}, []string{"c"}}, {[]int64{tagD}, []string{"d"}}, {[]int64{tagP, tagOfP}, []string{"p"}}} {
		conns := []*sql.Conn{conn(t, s.all), conn(t, s.primary)} // half of all is written past the proxy
		exec(t, conns[1], "USE f")
		all.Go(func() { s.write(t, conns, w.tags, w.tables) })
	}
	for id := range 9 {
		r := &stormReader{storm: s, t: t, conn: session(t, s.all, level), prepared: id%3 == 1, qualified: id%3 == 2}
		r.prepare()
		all.Go(func() { r.run(id) })
	}
	s.blow(t)
}

// write counts up what the first of the tables holds that has the tag.
func (s *storm) write(t *testing.T, conns []*sql.Conn, tags []int64, tables []string) {
	for i := 0; !s.over.Load() && !t.Failed(); i++ {
		n := s.numbers[tags[0]].issued.Load() + 1
		for _, tag := range tags {
			s.numbers[tag].issued.Store(n)
		}
		for done := int64(0); done == 0; {
			for _, table := range tables { // between two of these they may have changed their names
				r, err := conns[i%2].ExecContext(t.Context(), fmt.Sprintf("UPDATE %s SET n = %d WHERE tag = %d", table, n, tags[0]))
				if err == nil {
					done, err = r.RowsAffected()
				}
				if err != nil {
					t.Errorf("write %d of tag %d to %s: %v", n, tags[0], table, err)
					return
				}
				if done > 0 {
					break
				}
			}
		}
		for _, tag := range tags {
			s.numbers[tag].acked.Store(n)
		}
		time.Sleep(5 * time.Millisecond) // so that replicas can be read between two writes
	}
}

// blow changes the schema step by step, through the proxy and past it. Now and then a replica applies nothing for a
// while. Reads go on behind each step.
func (s *storm) blow(t *testing.T) {
	conns := []*sql.Conn{conn(t, s.primary), conn(t, s.all)}
	exec(t, conns[0], "USE f")
	for range *stormSteps {
		kinds := []func(run func(...string)){s.swap, s.redefine, s.tableOrView, s.anew, s.alter, s.redefineSlowly}
		k := s.steps
		s.steps++
		release := func() error { return nil }
		if k%3 == 0 {
			var err error
			if release, err = s.cluster.Replica(1 + k/3%2).HoldApplier(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		s.readOn(t)
		kinds[k%len(kinds)](func(statements ...string) { exec(t, conns[k%2], statements...) })
		s.readOn(t)
		if err := release(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			return
		}
	}
}

// readOn waits until there were some more reads.
func (s *storm) readOn(t *testing.T) {
	t.Helper()
	from := s.reads.Load()
	sandboxtest.Await(t, "the clients read on", func() bool { return t.Failed() || s.reads.Load() >= from+100 })
}

// while notes that numbers are the next ones before and after that happens.
func while(change func(next int64), all ...*told) {
	next := all[0].issued.Load() + 1
	for _, one := range all {
		one.issued.Store(next)
	}
	change(next)
	for _, one := range all {
		one.acked.Store(next)
	}
}

func (s *storm) swap(run func(...string)) {
	while(func(int64) { run("RENAME TABLE f.x TO f.tmp, f.y TO f.x, f.tmp TO f.y") }, &s.x.told, &s.y.told)
}

// below is the table below w.
func below(next int64) string { return [2]string{"f.c", "f.d"}[next%2] }

func (s *storm) redefine(run func(...string)) {
	while(func(next int64) { run("CREATE OR REPLACE VIEW f.w AS SELECT tag, n FROM " + below(next)) }, &s.w.told)
}

func (s *storm) redefineSlowly(run func(...string)) {
	while(func(next int64) { run("DROP VIEW f.w", "CREATE VIEW f.w AS SELECT tag, n FROM "+below(next)) }, &s.w.told)
}

func (s *storm) tableOrView(run func(...string)) {
	while(func(next int64) {
		if next%2 == 1 {
			run("DROP TABLE f.m", "CREATE VIEW f.m AS SELECT tag, n FROM f.c")
			return
		}
		run("DROP VIEW f.m")
		s.fill(run, "m", tagM)
	}, &s.m.told)
}

func (s *storm) anew(run func(...string)) {
	while(func(int64) {
		run("DROP TABLE f.g")
		s.fill(run, "g", tagG)
	}, &s.g.told)
}

// fill makes a table with the tag's next number.
func (s *storm) fill(run func(...string), table string, tag int64) {
	while(func(n int64) {
		run("CREATE TABLE f."+table+" (tag INT PRIMARY KEY, n BIGINT NOT NULL)", fmt.Sprintf("INSERT INTO f.%s VALUES (%d, %d)", table, tag, n))
	}, &s.numbers[tag])
}

func (s *storm) alter(run func(...string)) {
	while(func(next int64) {
		run([2]string{"ALTER TABLE f.c DROP COLUMN more", "ALTER TABLE f.c ADD COLUMN more INT"}[next%2])
	}, &s.altered)
}

// stormReader is one of the sessions that read.
type stormReader struct {
	*storm
	t          *testing.T
	conn       *sql.Conn
	qualified  bool // it writes the schema before each name
	prepared   bool // it has prepared each statement once
	statements []*sql.Stmt
}

// A constant table: the reads, each with the name that decides what it sees; "%s" is the schema.
var stormReads = []struct{ name, query string }{
	{"x", "SELECT tag, n FROM %sx"},
	{"y", "SELECT tag, n FROM (SELECT * FROM %sy) AS z"},
	{"vx", "SELECT tag, n FROM %svx"},
	{"vv", "SELECT v.tag, v.n FROM %svv AS v"},
	{"w", "SELECT tag, n FROM %sw"},
	{"m", "SELECT tag, n FROM %sm"},
	{"g", "SELECT tag, n FROM %sg"},
	{"c", "SELECT tag, n FROM %sc"},
	{"d", "WITH z AS (SELECT tag, n FROM %sd) SELECT tag, n FROM z"},
	{"p", "SELECT tag, n FROM %sp"},
	{"q", "SELECT tag, n FROM %sq"},
	{"q", "SELECT z.tag, z.n FROM %[1]sp AS o JOIN %[1]sq AS z ON z.tag = o.tag + 1"},
}

func (r *stormReader) text(i int) string {
	schema := ""
	if r.qualified {
		schema = "f."
	}
	return fmt.Sprintf(stormReads[i].query, schema)
}

func (r *stormReader) prepare() {
	for i := range stormReads {
		if !r.prepared {
			return
		}
		st, err := r.conn.PrepareContext(r.t.Context(), r.text(i))
		if err != nil {
			r.t.Fatal(err)
		}
		r.t.Cleanup(func() { _ = st.Close() })
		r.statements = append(r.statements, st)
	}
}

// run reads one after the other, each reader from another one on.
func (r *stormReader) run(first int) {
	for i := first; !r.over.Load() && !r.t.Failed(); i++ {
		r.read(i % len(stormReads))
	}
}

// read judges one read.
func (r *stormReader) read(i int) {
	name := stormReads[i].name
	sh := r.shapeOf(name)
	shape := sh.acked.Load()
	var acked [tags]int64
	for tag := range acked {
		acked[tag] = r.numbers[tag].acked.Load()
	}
	var tag, n int64
	var err error
	if r.prepared {
		err = r.statements[i].QueryRowContext(r.t.Context()).Scan(&tag, &n)
	} else {
		err = r.conn.QueryRowContext(r.t.Context(), r.text(i)).Scan(&tag, &n)
	}
	changing := sh.issued.Load() > shape
	switch number := code(err); {
	case errors.Is(err, sql.ErrNoRows) || number == 1146: // there is no such table
		if !changing || !sh.gaps {
			r.violates("%s: %v, though nothing was changed meanwhile", name, err)
		}
	case number == 1615 || number == 1412: // prepare it again; the definition has changed, and both ask to be tried again
		r.again.Add(1)
		return
	case err != nil:
		r.t.Errorf("%s: %v", r.text(i), err)
		return
	case tag < 1 || tag >= tags:
		r.t.Errorf("%s: tag %d", r.text(i), tag)
	case n < acked[tag]:
		r.violates("%s: %d of tag %d, after %d was acknowledged", name, n, tag, acked[tag])
	case n > r.numbers[tag].issued.Load():
		r.t.Errorf("%s: %d of tag %d, which nobody has written", r.text(i), n, tag)
	case sh != &r.still && !changing && tag != sh.tags[shape%2]:
		r.violates("%s: tag %d after change %d, want %d", name, tag, shape, sh.tags[shape%2])
	}
	r.reads.Add(1)
}

// violates notes that a read was older than it must be.
func (s *storm) violates(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.violations++; len(s.examples) < 10 {
		s.examples = append(s.examples, fmt.Sprintf(format, args...))
	}
}
