package route

import (
	"flag"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
)

var oracleAll = flag.Bool("route.oracle.all", false, "put every call in every place, 80,000 statements: 13 minutes")

// TestOracle runs some thousand statements on a primary and on a replica that
// takes no writes, and holds Classify against what they did.
//
// A statement has an effect if the replica refuses it because it is read-only,
// or if on the primary the binary log has moved or anything of the following is
// not as before: variables of the server or the session, user variables,
// prepared statements, the schema, the role, the last insert id, temporary
// tables, the transaction and its savepoints, locks with a name, on tables, on
// rows; or if it wrote a file. It is run on a fresh connection and on one that
// has an open transaction and holds one of everything, so that what only takes
// away is seen as well.
//
// Its answer depends on the server if primary and replica answer differently,
// and on the connection if two connections of the primary do, of which one has
// a past: an insert id, user variables, warnings, rows found. The plans and
// costs that EXPLAIN and ANALYZE show are nobody's data, and not compared.
//
// A statement is harmless if it ran on the replica, has no effect, answers with
// rows (or is a DO), and answers the same everywhere. What answers with no rows
// is run for an effect, even if it has none now, as COMMIT without a
// transaction.
//
// Then: what has an effect is no Read and has not the target replica. What
// depends on the server has not the target replica, and what depends on the
// connection has not either, or says so by a fact for the session to act on.
// At least 99 % of what is harmless is a Read, or a Show or Explain with the
// target replica. Statements that were made around a call or query that is no
// plain read do not count there: that COUNT(GET_LOCK('a', 0)) evaluates nothing
// is for no parser to know.
func TestOracle(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		o := newOracle(t, f)
		o.sees()
		texts, files := oracleTexts(t, f, uint32(o.options.Oldest), *oracleAll)
		for _, text := range o.variables() {
			texts, files = append(texts, text), append(files, "variables")
		}
		corpusTexts, corpusFiles := oracleCorpus(t, f, o.options.Oldest)
		texts, files = append(texts, corpusTexts...), append(files, corpusFiles...)
		statements := make([]*oracleStatement, len(texts))
		for i := range texts {
			statements[i] = &oracleStatement{text: o.place(texts[i]), file: files[i]}
		}
		o.judge(statements)
		v := oracleVerdict{o: o, misses: map[string][]string{}, failed: map[int][]string{}, kinds: map[string]int{}, effects: map[string]bool{}}
		for _, s := range statements {
			v.statement(s)
		}
		v.report()
		o.blind()
		o.unseen()
	})
}

// place puts the path of a file into a statement.
func (o *oracle) place(text string) string {
	return strings.ReplaceAll(text, "%file%", o.files+"/written")
}

// readings are the options that a statement is classified with: the server it
// ran on, and servers that nobody knows. Two functions are vouched for.
func (o *oracle) readings() []Options {
	known, unknown := o.options, Options{}
	trusted := map[string]bool{"f_pure": true, "o.f_pure": true, "f_read": true, "o.f_read": true}
	known.Harmless, unknown.Harmless = trusted, trusted
	return []Options{known, unknown}
}

// oracleVerdict compares statements with their classes.
type oracleVerdict struct {
	o              *oracle
	harmless, read int
	onReplica      int // of them with the target replica
	unknown        int // Read even if the server is unknown
	total          int
	effects        map[string]bool // every kind of effect that was seen
	failures       int             // without the corpus
	violations     []string
	misses         map[string][]string // harmless, but no Read, by reason
	failed         map[int][]string
	kinds          map[string]int
}

// oracleSession are facts that tell the session what an answer depends on.
const oracleSession = FactUserVariable | FactLastInsertID | FactPrevious | FactCountsFoundRows

func (v *oracleVerdict) statement(s *oracleStatement) {
	v.total++
	readings := v.o.readings()
	for _, o := range readings {
		st := Classify(s.text, &o)
		switch {
		case s.effect != "" && (st.Class == Read || st.Target == ToReplica),
			s.depends != "" && s.remote && st.Target == ToReplica,
			s.depends != "" && st.Target == ToReplica && !st.Facts.Any(oracleSession):
			v.violations = append(v.violations, fmt.Sprintf("%s | %s | %q | %s%s | %s", s.file, o.Flavor, s.text, s.effect, s.depends,
				describe(&st, s.text)))
		}
	}
	st := Classify(s.text, &readings[0])
	switch {
	case s.failed != 0:
		v.kinds["failed"]++
		v.failed[s.failed] = append(v.failed[s.failed], s.text)
		v.failures++
	case s.effect != "":
		v.kinds["effect"]++
		for kind := range strings.SplitSeq(s.effect, ", ") {
			v.effects[kind] = true
		}
	case s.depends != "":
		v.kinds["depends"]++
	case !s.rows && !strings.HasPrefix(strings.ToLower(strings.TrimSpace(s.text)), "do"):
		v.kinds["without rows"]++
	case s.file == oracleHostile:
		v.kinds["hostile, but harmless here"]++
	default:
		v.harmless++
		if oracleReads(&st) {
			v.read++
			if st.Target == ToReplica {
				v.onReplica++
			}
		} else {
			v.misses[st.Class.String()+" "+st.Reason.String()] = append(v.misses[st.Class.String()+" "+st.Reason.String()], s.text)
		}
		if st := Classify(s.text, &readings[1]); oracleReads(&st) {
			v.unknown++
		}
	}
}

// oracleReads says whether a statement is taken for one that changes nothing.
func oracleReads(st *Statement) bool {
	return st.Class == Read || (st.Class == Show || st.Class == Explain) && st.Target == ToReplica
}

func (v *oracleVerdict) report() {
	t := v.o.t
	for _, reason := range slices.Sorted(maps.Keys(v.misses)) {
		t.Logf("harmless, but %s:\n\t%s", reason, strings.Join(v.misses[reason], "\n\t"))
	}
	for _, code := range slices.Sorted(maps.Keys(v.failed)) {
		t.Logf("failed with %d: %d\n\t%s", code, len(v.failed[code]), strings.Join(v.failed[code], "\n\t"))
	}
	for _, violation := range v.violations {
		t.Errorf("changes or depends on something, but: %s", violation)
	}
	t.Logf("%d statements: %v", v.total, v.kinds)
	t.Logf("harmless %d, Read %d (%.2f %%), with target replica %d, Read on unknown servers %d", v.harmless, v.read,
		100*float64(v.read)/float64(v.harmless), v.onReplica, v.unknown)
	if v.read*100 < v.harmless*99 {
		t.Errorf("of %d harmless statements only %d are Read", v.harmless, v.read)
	}
	want := []string{
		"refused with 1290", "file", "globals", "variables", "user_variables", "prepared", "locks", "rows", "transaction",
		"insert_id", "db", "role", "table",
	}
	for _, kind := range want {
		if !v.effects[kind] {
			t.Errorf("no statement had the effect %q, so it may be that none is seen", kind)
		}
	}
	if v.failures*20 > v.total {
		t.Errorf("%d of %d statements failed, which shows nothing about them", v.failures, v.total)
	}
}

// oracleMoving are the functions that answer differently each time, by their
// nature and not by the server's.
var oracleMoving = regexp.MustCompile(`(?i)\b(rand|random_bytes|uuid|uuid_short|uuid_v4|uuid_v7|sys_guid|sysdate|sleep)\b`)

// judge finds out about each statement. What is taken for a read is run in
// batches, since it should change nothing; a batch that does is run again one
// by one.
func (o *oracle) judge(statements []*oracleStatement) {
	const size = 30
	known := o.readings()[0]
	var reads []*oracleStatement
	for _, s := range statements {
		if st := Classify(s.text, &known); oracleReads(&st) {
			if reads = append(reads, s); len(reads) == size {
				o.batch(reads)
				reads = nil
			}
		}
	}
	o.batch(reads)
	for _, s := range statements {
		if st := Classify(s.text, &known); !oracleReads(&st) {
			o.batch([]*oracleStatement{s})
		}
	}
}

// batch runs statements on the replica, then on the connections of the primary.
func (o *oracle) batch(all []*oracleStatement) {
	o.sync()
	var ran []*oracleStatement
	answers := map[*oracleStatement]oracleAnswer{}
	for _, s := range all {
		a := o.replica.run(s.text)
		switch {
		case a.code == errReadOnly || a.code == errReadOnlyTx || a.code == errReadOnlyDB:
			s.effect = fmt.Sprint("refused with ", a.code)
		case o.written():
			s.effect = "file"
		case a.code != 0:
			s.failed = a.code
		default:
			s.rows = a.rows
			answers[s] = a
			ran = append(ran, s)
		}
	}
	if len(all) == 1 && (all[0].effect == "" || all[0].effect == "file") {
		o.replica.close()
	}
	if len(all) == 1 && all[0].failed != 0 {
		// What it lacked is there on the loaded connection.
		o.unchanged(o.loaded, all)
	}
	for _, c := range []*oracleConn{o.fresh, o.loaded} {
		if len(ran) == 0 || !o.unchanged(c, ran) {
			return
		}
	}
	for _, s := range ran {
		if s.failed == 0 {
			o.compare(s, answers[s])
		}
	}
}

// unchanged runs statements on a connection of the primary and reports whether
// they left all as it was. If they did not, the effect is noted, for several
// after each was run in a batch of its own.
func (o *oracle) unchanged(c *oracleConn, ran []*oracleStatement) bool {
	c.mark()
	for _, s := range ran {
		if a := c.run(s.text); a.code != 0 && c == o.fresh {
			s.failed = a.code
		}
	}
	what := c.changed()
	if what == "" {
		o.loaded.rest()
		return true
	}
	if len(ran) == 1 {
		ran[0].effect, ran[0].failed = what, 0
		return false
	}
	for _, s := range ran {
		s.failed = 0
		o.batch([]*oracleStatement{s})
	}
	return false
}

// oraclePlan begins the statements whose answers are plans.
var oraclePlan = regexp.MustCompile(`(?i)^[\s(]*(explain|describe|desc|analyze)\b`)

// compare asks again, on a connection with a past, and holds the answers
// against each other.
func (o *oracle) compare(s *oracleStatement, replica oracleAnswer) {
	if oraclePlan.MatchString(s.text) {
		return
	}
	var fresh, past oracleAnswer
	for range 3 { // something may have happened between two answers
		o.fresh.run("DO 0")
		fresh = o.fresh.run(s.text)
		o.past.run("SELECT SQL_CALC_FOUND_ROWS 1 FROM t LIMIT 1; SELECT 1 FROM missing")
		past = o.past.run(s.text)
		if fresh == past && fresh == replica {
			return
		}
		if again := o.fresh.run(s.text); again != fresh {
			if !oracleMoving.MatchString(s.text) {
				s.depends, s.remote = "answer moves", true
			}
			continue
		}
		replica = o.replica.run(s.text)
		if fresh == past && fresh == replica {
			s.depends = ""
			return
		}
		s.depends, s.remote = "connection", false
		if fresh != replica {
			s.depends, s.remote = "server", true
		}
	}
}
