package suites

import (
	"fmt"
	"hash/maphash"
	"regexp"
	"strconv"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sqltoken"
	"github.com/mysqlrw/mysqlrw/route"
)

// finding is a statement that the lexer, the classifier, the oracle and the
// suite do not agree on.
type finding struct {
	*Statement
	// problem is what is wrong; a rule explains findings of one problem.
	problem string
	word    string // that the audit finds suspicious
	ours    route.Statement
	theirs  route.Class // the oracle's
	node    ast.StmtNode
	upper   string // the text in upper case, without strings and comments
}

func (f *finding) String() string {
	text := f.Text
	if len(text) > 300 {
		text = text[:300] + "..."
	}
	about := f.problem
	switch {
	case f.node != nil:
		about = fmt.Sprintf("%s (%s), oracle says %s", f.ours.Class, f.ours.Reason, f.theirs)
	case f.problem == "calls":
		about = "may run on a replica and calls " + f.word
	case f.word != "":
		about = fmt.Sprintf("%s (%s) has %s", f.ours.Class, f.ours.Reason, f.word)
	}
	return fmt.Sprintf("%s %s:%d: %s: %s", f.Flavor, f.File, f.Line, about, strconv.Quote(text))
}

// tally is what was checked of one suite.
type tally struct {
	suite    Suite
	counts   Counts
	excused  int // the suite expects a syntax error
	programs int // texts whose delimiter is not a semicolon
	distinct int // texts without repetitions under the same mode
	accepted int // of the distinct ones, by the oracle
	agreed   int
	classes  map[route.Class]int // of all statements
	replica  int                 // may run on a replica
}

// check holds every statement of one suite against everything.
type check struct {
	tally
	options route.Options
	oracle  *oracle
	seed    maphash.Seed
	seen    map[uint64]bool
	audit   *audit
	program *regexp.Regexp // the beginning of a stored program
	report  func(*finding)
}

func newCheck(s Suite, report func(*finding)) *check {
	version := s.version()
	return &check{
		tally: tally{suite: s, classes: map[route.Class]int{}},
		options: route.Options{
			Options: sqltoken.Options{Flavor: s.Flavor, Oldest: version, Newest: version},
			// What is left are reads of every kind, the most that can be sent
			// to a replica by mistake.
			SystemSchemasOnReplicas: true,
		},
		program: regexp.MustCompile(`(?is)^\s*CREATE\s+(?:OR\s+REPLACE\s+)?(?:DEFINER\s*=\s*\S+\s+)?(?:AGGREGATE\s+)?` +
			`(?:PROCEDURE|FUNCTION|TRIGGER|EVENT|PACKAGE)\b`),
		oracle: newOracle(), seed: maphash.MakeSeed(), seen: map[uint64]bool{}, audit: newAudit(), report: report,
	}
}

// version is the server's that the suite is for, as executable comments
// spell it: 90704.
func (s Suite) version() int {
	v := flavor.Parse(s.Version).Version
	return v.Major*10000 + v.Minor*100 + v.Patch
}

func (c *check) statement(s *Statement) {
	o := c.options
	o.ANSIQuotes, o.NoBackslashEscapes = s.Mode&ANSIQuotes != 0, s.Mode&NoBackslashEscapes != 0
	o.IgnoreSpace = s.Mode&IgnoreSpace != 0
	o.Charset, _ = sqltoken.ParseCharset(s.Charset) // where the name is none, the default
	c.lex(s, &o.Options)
	c.audit.created(s)
	ours := route.Classify(s.Text, &o)
	c.classes[ours.Class]++
	if ours.Target == route.ToReplica {
		c.replica++
	}
	if c.repeated(s) {
		return
	}
	c.distinct++
	if ours.Count > 1 && c.program.MatchString(s.Text) {
		c.report(&finding{Statement: s, problem: "program", ours: ours})
	}
	if ours.Target == route.ToReplica {
		for _, word := range c.audit.suspicious(s) {
			c.report(&finding{Statement: s, problem: "audit", word: word, ours: ours, upper: c.audit.bare(s)})
		}
	}
	c.compare(s, ours)
}

// repeated says whether the text has been met under the same mode.
func (c *check) repeated(s *Statement) bool {
	key := maphash.String(c.seed, fmt.Sprint(s.Mode, s.Charset, "\x00", s.Text))
	if c.seen[key] {
		return true
	}
	c.seen[key] = true
	return false
}

// compare asks the oracle. Its parser takes a list of statements too, which it
// classifies one by one, so only single ones are compared.
func (c *check) compare(s *Statement, ours route.Statement) {
	nodes, err := c.oracle.parse(s)
	if err != nil || len(nodes) != 1 {
		return
	}
	c.accepted++
	theirs := class(nodes[0])
	if theirs == ours.Class {
		c.agreed++
		return
	}
	c.report(&finding{
		Statement: s, problem: "class", ours: ours, theirs: theirs, node: nodes[0], upper: c.audit.bare(s),
	})
}

// lex checks that the tokens cover the text and that the text ends where the
// suite says it does: no string or comment goes on, and no semicolon that
// ends a statement is code.
func (c *check) lex(s *Statement, o *sqltoken.Options) {
	scanner := sqltoken.New(s.Text, o)
	end, inside := 0, 0
	problem := ""
	for {
		t := scanner.Next()
		if t.Space != end || t.Start < t.Space || t.End < t.Start || t.End == t.Start && t.Kind != sqltoken.EOF {
			problem = "gap"
			break
		}
		end = t.End
		if t.Kind == sqltoken.EOF {
			break
		}
		switch t.Kind {
		case sqltoken.Unterminated, sqltoken.Invalid:
			problem = strings.ToLower(t.Kind.String())
		case sqltoken.Semicolon:
			inside++
		}
	}
	switch {
	case problem == "" && end != len(s.Text):
		problem = "gap"
	case problem == "" && s.Delimiter == ";" && s.Source == Plain && inside > 0:
		problem = "semicolon"
	}
	if s.Delimiter != ";" {
		c.programs++
	}
	switch {
	case problem == "":
	case problem != "gap" && s.Fails("ER_PARSE_ERROR", "1064", "ER_SYNTAX_ERROR", "1149"):
		c.excused++
	default:
		c.report(&finding{Statement: s, problem: problem})
	}
}
