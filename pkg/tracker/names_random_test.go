package tracker_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
)

var (
	seeds     = flag.Uint64("tracker.seeds", 400, "number of random queries that are put to each server")
	firstSeed = flag.Uint64("tracker.seed", 1, "seed of the first of them")
)

// queries makes random queries of the tables of readTables that have the columns a, t and u.
type queries struct {
	*rand.Rand
	maria bool
	ansi  bool
	folds bool // the letter case of names does not matter
	depth int
	ctes  []string
	n     int // aliases so far
}

var randomTables = [][2]string{
	{"d1", "t"},
	{"d1", "u"},
	{"d1", "w"},
	{"d2", "t"},
	{"d2", "w"},
	{"d1", "from"},
	{"d1", "1t"},
	{"d1", "a`b"},
	{"d1", "a.b"},
	{"d1", "5"},
	{"d1", "5e"},
	{"d1", "größe"},
	{"d1", "表"},
	{"表", "t"},
	{"select", "t"},
	{"from", "t"},
	{"my-db", "my-t"},
	{"1db", "1t"},
	{"d1", "one"},
	{"d1", "a?"},
	{"d1", "-- t"},
	{"d1", "a'b"},
	{"d1", "a\"b"},
	{"d.1", "t"},
	{"d1", "_t"},
	{"d1", "table"},
	{"d1", "d$"},
	{"select", "from"},
}

func (q *queries) pick(from ...string) string { return from[q.IntN(len(from))] }
func (q *queries) often(percent int) bool     { return q.IntN(100) < percent }

// gap is what may stand between two tokens.
func (q *queries) gap() string {
	if q.often(80) {
		return " "
	}
	return q.pick("\n", "\t ", "/**/", " /* FROM d1.one */ ", "-- , d1.one\n", " # '\n", "/*' */", "/* ` */", "\n--\n", "  ")
}

func (q *queries) join(tokens ...string) string {
	var b strings.Builder
	for i, token := range tokens {
		if i > 0 {
			b.WriteString(q.gap())
		}
		b.WriteString(token)
	}
	return b.String()
}

// keyword is a word in any letter case.
func (q *queries) keyword(w string) string {
	switch q.pick("", "", "lower", "mixed") {
	case "lower":
		return strings.ToLower(w)
	case "mixed":
		return w[:1] + strings.ToLower(w[1:])
	}
	return w
}

// name is a name as it may be written. Behind a dot, and right in front of one, it may be any word.
func (q *queries) name(name string, behind, before bool) string {
	if q.folds && q.often(50) {
		name = strings.ToUpper(name)
	}
	plain := !strings.ContainsAny(name, "`'\"? .-") && (behind || strings.Trim(name, "0123456789") != "")
	switch strings.ToLower(name) {
	case "from", "select", "table":
		plain = behind || before
	}
	switch {
	case plain && q.often(60):
		return name
	case q.ansi && q.often(50):
		return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
	}
	return "`" + strings.ReplaceAll(name, "`", "``") + "`"
}

// dotted is two names with a dot between them. What follows it at once is a name whatever it is;
// behind white space it is not.
func (q *queries) dotted(schema, name string) string {
	left, right := "", ""
	if q.often(15) {
		left = q.gap()
	}
	if q.often(15) {
		right = q.gap()
	}
	after := q.name(name, right == "" && left == "", false)
	if left != "" && right == "" && after[0] <= '9' { // a number
		right = " "
	}
	word := left == "" && right == "" && after[0] != '`' && after[0] != '"'
	return q.name(schema, false, word) + left + "." + right + after
}

// table is a table of some kind with an alias, which it returns too.
func (q *queries) table() (text, alias string) {
	q.n++
	alias = fmt.Sprintf("x%d", q.n)
	if q.often(10) {
		alias = q.pick("t", "u", "w", "d1", "d2") + alias
	}
	as := q.pick("", q.keyword("AS")+" ") + q.name(alias, false, false)
	if q.depth < 3 && q.often(20) {
		return q.join("("+q.query()+")", as), alias
	}
	if len(q.ctes) > 0 && q.often(30) {
		return q.join(q.name(q.pick(q.ctes...), false, false), as), alias
	}
	t := randomTables[q.IntN(len(randomTables))]
	text = q.dotted(t[0], t[1])
	if t[0] == "d1" && q.often(60) {
		text = q.name(t[1], false, false)
		if q.maria && q.often(20) {
			text = "." + q.name(t[1], false, false)
		}
	}
	return q.join(text, as), alias
}

// expression reads a column of one of the aliases, or a subquery.
func (q *queries) expression(aliases []string) string {
	alias := q.pick(aliases...)
	column := q.name(alias, false, true) + "." + q.name("a", true, false)
	switch n := q.IntN(10); {
	case n == 0:
		return q.pick("1", "1.5", ".5", "'FROM d1.one'", "'it''s'", "NULL", "@x", "0x41", "NOW()", "'größe'", "N'x'")
	case n == 1 && q.depth < 3:
		return "(" + q.join(q.keyword("SELECT"), q.pick("MAX(a)", "COUNT(*)"), q.keyword("FROM"), "("+q.query()+")", "q") + ")"
	case n == 2 && q.depth < 3:
		return q.join(q.pick("EXISTS", "NOT EXISTS"), "("+q.query()+")")
	case n == 3 && q.depth < 3:
		return q.join(column, q.pick("IN", "NOT IN", "= ANY", "> ALL"), "("+q.query()+")")
	case n == 4:
		return q.join("(", column, q.pick("+", "/", "*", "OR", "AND", "<=>"), q.expression(aliases), ")")
	case n == 5:
		return q.join("COALESCE(", column, ",", q.expression(aliases), ")")
	case n == 6:
		return q.join("CASE WHEN", column, "THEN", q.expression(aliases), "END")
	}
	return column
}

// query is a query of one column, a.
func (q *queries) query() string {
	q.depth++
	defer func() { q.depth-- }()
	ctes := len(q.ctes)
	var with []string
	if q.depth < 3 && q.often(15) {
		q.n++
		name := q.pick("t", "u", "one", fmt.Sprintf("c%d", q.n))
		body := q.query()
		with = []string{q.keyword("WITH"), q.name(name, false, false), q.pick("", "(a)"), q.keyword("AS"), "(" + body + ")"}
		q.ctes = append(q.ctes, name)
	}
	text, alias := q.table()
	aliases, from := []string{alias}, []string{text}
	if q.maria && q.often(15) {
		from = []string{"{", "oj", text, "}"}
	}
	for from[0] != "{" && q.depth < 3 && len(aliases) < 4 && q.often(35) {
		text, alias := q.table()
		aliases = append(aliases, alias)
		switch q.pick(",", "JOIN", "LEFT", "CROSS", "STRAIGHT") {
		case ",":
			from = append(from, ",", text)
		case "JOIN":
			from = append(from, q.keyword("JOIN"), text, q.keyword("ON"), q.expression([]string{alias}))
		case "LEFT":
			from = append(from, q.keyword("LEFT JOIN"), text, q.keyword("USING"), "(a)")
			if len(aliases) > 2 {
				from[len(from)-2], from[len(from)-1] = q.keyword("ON"), "1"
			}
		case "CROSS":
			from = append(from, q.keyword("CROSS JOIN"), text)
		case "STRAIGHT":
			from = append(from, q.keyword("STRAIGHT_JOIN"), text)
		}
	}
	tokens := append(with, q.keyword("SELECT"), q.pick("", "DISTINCT"), q.expression(aliases), q.keyword("AS"), "a", q.keyword("FROM"))
	tokens = append(tokens, from...)
	if q.often(40) {
		tokens = append(tokens, q.keyword("WHERE"), q.expression(aliases))
	}
	if q.often(10) {
		tokens = append(tokens, q.keyword("GROUP BY"), "1")
	}
	if q.often(10) {
		tokens = append(tokens, q.keyword("ORDER BY"), "1")
	}
	text = q.join(tokens...)
	q.ctes = q.ctes[:ctes]
	if q.depth == 1 && q.often(20) {
		text = "(" + text + ")" + q.gap() + q.keyword("UNION ALL") + q.gap() + "(" + q.query() + ")"
	}
	return text
}

// TestNamesRandom holds random queries against what real servers open.
func TestNamesRandom(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		for _, args := range [][]string{nil, {"--lower-case-table-names=1"}} {
			if f == flavor.MySQL && args != nil {
				continue // it must be so from the start of the data
			}
			o := newOpened(t, f, args...)
			for _, mode := range []string{"", "ANSI_QUOTES"} {
				o.session(mode, "utf8mb4", "d1")
				accepted, known := 0, 0
				for seed := range *seeds {
					q := &queries{
						Rand: rand.New(rand.NewPCG(*firstSeed+seed, 0)), maria: f == flavor.MariaDB, ansi: mode != "", folds: args != nil,
					}
					text := q.query()
					if q.often(10) {
						text += ";" + q.query()
					}
					verdict, refused := o.check(text)
					if refused == nil {
						accepted++
					}
					if verdict == "known" {
						known++
					}
				}
				t.Logf("mode %q: of %d queries the server took %d, and of %d something is known", mode, *seeds, accepted, known)
				if accepted < int(*seeds)*8/10 || known < int(*seeds)*9/10 {
					t.Error("these are too few")
				}
			}
		}
	})
}
