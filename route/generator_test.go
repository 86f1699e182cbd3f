package route_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mysqlrw/mysqlrw/route"
)

// generator makes queries of which it knows whether they are plain reads: they
// are, unless a hazard was put in. Words in upper case may be written in any
// case, and between parts anything may stand that is a blank.
type generator struct {
	*rand.Rand
	parts   []string
	hazards []string
	risk    int // how often a place for a hazard gets one, in percent
}

func newGenerator(seed uint64) *generator {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 1))}
	if seed%2 == 1 {
		g.risk = 3
	}
	return g
}

func (g *generator) pick(from ...string) string { return from[g.IntN(len(from))] }

func (g *generator) often(percent int) bool { return g.IntN(100) < percent }

// put adds parts that are separated by blanks here; ~ and ^ stand for a blank and
// a line feed in a part.
func (g *generator) put(text string) {
	g.parts = append(g.parts, strings.Fields(text)...)
}

// risky puts a hazard in, sometimes.
func (g *generator) risky(from ...string) bool {
	if !g.often(g.risk) {
		return false
	}
	h := g.pick(from...)
	g.hazards = append(g.hazards, h)
	g.put(h)
	return true
}

// hazardExpressions change something, or depend on one connection or server.
var hazardExpressions = []string{
	"GET_LOCK( 'a' , 1 )", "GET_LOCK ( 'a' , 1 )", "`get_lock`( 'a' , 1 )", "RELEASE_LOCK( 'a' )", "RELEASE_ALL_LOCKS( )", "IS_FREE_LOCK( 'a' )",
	"@a := 1", "@'a' := ( 1 )", "@`a` := a", "my_function( 1 )", "my_function ( )", "db . f( a )", "db.f ( a )", "`f`( )", "db.abs( 1 )", "`now`( )",
	"NOW ( )", "COUNT ( * )", "LAST_INSERT_ID( 5 )", "FOUND_ROWS( )", "ROW_COUNT( )", "CONNECTION_ID( )", "NEXTVAL( s )", "NEXT VALUE FOR s",
	"PREVIOUS VALUE FOR s", "@@server_id", "@@GLOBAL . read_only", "@@warning_count", "LOAD_FILE( 'x' )", "( SELECT 1 FROM mysql . user )",
	"( SELECT a FROM `information_schema`.tables )", "( SELECT a FROM t FOR UPDATE )", "( SELECT a FROM t LOCK IN SHARE MODE )",
	"GET_LOCK( REPLACE( 'a' , 'b' , 'c' ) , 1 )", "ABS( my_function( 1 ) )", "f( 1 )",
}

var hazardLocks = []string{
	"FOR UPDATE", "FOR SHARE", "LOCK IN SHARE MODE", "FOR UPDATE NOWAIT", "FOR UPDATE OF t SKIP LOCKED", "FOR UPDATE WAIT 5",
	"INTO @x", "INTO @'x' , @y", "INTO @`x`", "INTO OUTFILE 'f'", "INTO DUMPFILE 'f'", "INTO x",
}

func (g *generator) literal() string {
	content := g.pick("", "a", "FOR UPDATE", "INTO @x", "/*", "*/", "-- ", "#", ";", "GET_LOCK(", "it''s", `\\`, `"`, "`", "\n", "/*!50000", "@x:=1", "é", `\'`, "$$")
	content += g.pick("", " ", content, "x", "''")
	return strings.NewReplacer(" ", "~", "\n", "^").Replace("'" + content + "'")
}

func (g *generator) name() string {
	return g.pick("a", "b", "t.a", "u.b", "`a`", "`t`.`b`", "t.`for_update`", "t.for", "t.into", "`into`", "`FOR`", "`it's`", "t.update", "c1", "ab$c", "`a;b`", "`/*`")
}

func (g *generator) expression(depth int) {
	if g.risky(hazardExpressions...) {
		return
	}
	if depth > 3 {
		g.put(g.pick("1", g.literal(), g.name()))
		return
	}
	switch g.IntN(16) {
	case 0, 1:
		g.put(g.pick("1", "-1", "1.5", ".5", "1e5", "0x41", "NULL", "TRUE", "1.", "x'41'", "b'01'", "N'a'", "_utf8mb4 'a'", "DATE '2024-01-01'"))
	case 2, 3:
		g.put(g.literal())
	case 4, 5:
		g.put(g.name())
	case 6:
		g.call(depth)
	case 7:
		g.put("(")
		g.expression(depth + 1)
		g.put(")")
	case 8:
		g.expression(depth + 1)
		g.put(g.pick("+", "-", "*", "/", "AND", "OR", "<=>", "<", ">=", "!=", "||", "DIV", "LIKE", "REGEXP", "|", "<<"))
		g.expression(depth + 1)
	case 9:
		g.put("CASE WHEN")
		g.expression(depth + 1)
		g.put("THEN")
		g.expression(depth + 1)
		g.put("ELSE")
		g.expression(depth + 1)
		g.put("END")
	case 10:
		g.expression(depth + 1)
		g.put(g.pick("IN (", "NOT IN (", "= ANY (", "= ("))
		g.query(depth + 2)
		g.put(")")
	case 11:
		g.put("EXISTS (")
		g.query(depth + 2)
		g.put(")")
	case 12:
		g.put(g.pick("@v", "@'v~w'", "@`v`", "@v.w", "@@autocommit", "@@SESSION . sql_mode", "LAST_INSERT_ID()"))
	case 13:
		g.put("SUBSTRING( 'abc' FROM 1 FOR")
		g.expression(depth + 1)
		g.put(")")
	case 14:
		g.put("ROW_NUMBER( ) OVER ( PARTITION BY a ORDER BY")
		g.expression(depth + 1)
		g.put(")")
	case 15:
		g.put("CAST(")
		g.expression(depth + 1)
		g.put("AS " + g.pick("CHAR", "DECIMAL(10, 2)", "SIGNED", "CHAR(3)") + " )")
	}
}

func (g *generator) call(depth int) {
	g.put(g.pick("ABS(", "CONCAT(", "COALESCE(", "LENGTH(", "UPPER(", "GREATEST(", "IF(", "IF (", "REPLACE(", "INSERT(", "INSERT (", "LEFT(", "COUNT(",
		"SUM(", "MAX(", "GROUP_CONCAT( DISTINCT", "ROUND(", "NULLIF (", "LOWER(", "RAND("))
	for i := range 1 + g.IntN(3) {
		if i > 0 {
			g.put(",")
		}
		g.expression(depth + 1)
	}
	g.put(")")
}

func (g *generator) query(depth int) {
	switch g.IntN(8) {
	case 0:
		g.put("WITH " + g.pick("", "RECURSIVE ") + "c " + g.pick("", "( n ) ", "(n, m) ") + "AS (")
		g.query(depth + 2)
		g.put(")")
	case 1:
		if depth < 4 {
			g.put("(")
			g.query(depth + 2)
			g.put(") " + g.pick("UNION", "UNION ALL", "EXCEPT", "INTERSECT") + " (")
			g.query(depth + 2)
			g.put(")")
			return
		}
	case 2:
		if depth < 3 {
			g.selectFrom(depth)
			g.put("UNION " + g.pick("ALL", "DISTINCT", ""))
		}
	}
	g.selectFrom(depth)
}

func (g *generator) selectFrom(depth int) {
	g.put("SELECT " + g.pick("", "", "DISTINCT", "SQL_NO_CACHE", "STRAIGHT_JOIN"))
	for i := range 1 + g.IntN(3) {
		if i > 0 {
			g.put(",")
		}
		g.expression(depth + 1)
		if g.often(30) {
			g.put(g.pick("AS x", "AS `for~update`", "x1", "AS 'into~@x'", "`lock`", "AS `x;`"))
		}
	}
	if g.often(80) {
		g.put("FROM")
		g.table(depth)
		for range g.IntN(3) {
			g.put(g.pick(",", "JOIN", "LEFT JOIN", "CROSS JOIN", "NATURAL JOIN"))
			g.table(depth)
			if g.often(50) {
				g.put("ON")
				g.expression(depth + 1)
			}
		}
		if g.often(50) {
			g.put("WHERE")
			g.expression(depth + 1)
		}
		if g.often(20) {
			g.put("GROUP BY a HAVING")
			g.expression(depth + 1)
		}
		if g.often(20) {
			g.put("ORDER BY")
			g.expression(depth + 1)
			g.put(g.pick("", "DESC", "ASC"))
		}
		if g.often(20) {
			g.put("LIMIT 1 " + g.pick("", "OFFSET 2", ", 3"))
		}
	}
	g.risky(hazardLocks...)
}

func (g *generator) table(depth int) {
	if depth < 3 && g.often(20) {
		g.put("(")
		g.query(depth + 2)
		g.put(") " + g.pick("AS d", "d", "AS d ( x , y )"))
		return
	}
	g.put(g.pick("t", "t AS u", "db.t", "`db`.`t` u", "t USE INDEX FOR ORDER BY ( i )", "t FORCE INDEX ( i )", "t PARTITION ( p )"))
}

// statement makes one or more queries.
func (g *generator) statement() {
	switch g.IntN(12) {
	case 0:
		first := len(g.parts)
		g.put("DO")
		g.expression(0)
		if slices.Contains(g.parts[first:], "SELECT") {
			g.hazards = append(g.hazards, "a query in DO takes locks")
		}
	case 1:
		g.put("VALUES ROW (")
		g.expression(0)
		g.put(")")
	default:
		g.query(0)
	}
	if g.often(10) {
		g.put(";")
		g.statement()
	}
}

// write joins the parts: with one blank, or with random gaps and letters of
// random case.
func (g *generator) write(random bool) string {
	var b strings.Builder
	for i, part := range g.parts {
		part = strings.NewReplacer("~", " ", "^", "\n").Replace(part)
		if i > 0 {
			b.WriteString(g.gap(random))
		}
		if !random || strings.ContainsAny(part, "'\"`@") || strings.ToUpper(part) != part {
			b.WriteString(part)
			continue
		}
		for _, c := range part {
			if g.often(50) {
				b.WriteString(strings.ToLower(string(c)))
			} else {
				b.WriteRune(c)
			}
		}
	}
	return b.String()
}

func (g *generator) gap(random bool) string {
	if !random || g.often(40) {
		return " "
	}
	return g.pick("  ", "\n", "\t", "\r\n", "\v", "\f", "/**/", "/* x */", " /* FOR UPDATE */ ", "/* ' */", "/*;*/", " -- x\n", "\n--\n", "# '\n", "/* @x := GET_LOCK( */",
		" /*! */ ", "/*!50000 */", "/*!999999 INTO @x */ ", "/*+ x */")
}

// TestClassifyGenerated holds that a query goes to a replica if and only if it
// has no hazard, and that it does not matter how it is written.
func TestClassifyGenerated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := lexicalOptions(rapid.Uint16Range(1, 2).Draw(t, "flavor"))
		g := newGenerator(rapid.Uint64().Draw(t, "seed"))
		g.statement()
		text := g.write(false)
		st := route.Classify(text, o)
		if goesToReplica(&st) != (len(g.hazards) == 0) {
			t.Fatalf("%s; it has %q\n text %s", meaning(&st), g.hazards, text)
		}
		for range 3 {
			other := g.write(true)
			if got := classified(other, o); got != meaning(&st) {
				t.Fatalf("%s: %s\n%s: %s", meaning(&st), text, got, other)
			}
		}
		if wrong := checkClassify(text, o); wrong != "" {
			t.Fatalf("%s\n text %s", wrong, text)
		}
	})
}

// TestHazardsEverywhere puts every hazard at every place where an expression or
// the end of a query may stand.
func TestHazardsEverywhere(t *testing.T) {
	places := []string{
		"SELECT %", "SELECT a , % FROM t", "SELECT ( % )", "SELECT ABS( % )", "SELECT a FROM t WHERE %", "SELECT a FROM t WHERE a = 1 AND b IN ( 1 , % )",
		"SELECT a FROM t JOIN u ON % WHERE 1", "SELECT a FROM t GROUP BY % HAVING 1", "SELECT a FROM t GROUP BY a HAVING %", "SELECT a FROM t ORDER BY %",
		"SELECT a FROM t WHERE EXISTS ( SELECT % )", "SELECT * FROM ( SELECT % AS x ) AS d", "WITH c AS ( SELECT % ) SELECT * FROM c",
		"WITH c ( n ) AS ( SELECT 1 UNION ALL SELECT % FROM c ) SELECT * FROM c", "SELECT 1 UNION SELECT %", "( SELECT 1 ) UNION ( SELECT % )",
		"SELECT % UNION ALL SELECT 1", "SELECT CASE WHEN % THEN 1 END", "SELECT CASE a WHEN 1 THEN % ELSE 2 END", "SELECT SUM( a ) OVER ( ORDER BY % )",
		"SELECT 1 ; SELECT %", "SELECT % ; SELECT 1", "DO %", "SELECT 'a' , % -- x", "SELECT /*! 1 + */ %", "SELECT /*! % */", "EXPLAIN ANALYZE SELECT %",
		"SELECT a FROM t WHERE a = ( SELECT b FROM u WHERE c IN ( SELECT % ) )", "SELECT a FROM t LIMIT 1 ; DO 1 ; SELECT %", "VALUES ROW ( % )", "SELECT 1.%", "SELECT 'a'%",
	}
	for _, n := range []uint16{1, 2} {
		o := lexicalOptions(n)
		for _, place := range places {
			for _, h := range append(append([]string{}, hazardExpressions...), hazardLocks...) {
				lock := strings.HasPrefix(h, "FOR ") || strings.HasPrefix(h, "LOCK ") || strings.HasPrefix(h, "INTO ")
				if !lock && (strings.HasSuffix(place, ".%") || strings.HasSuffix(place, "'%")) {
					continue // 1.f() is no call
				}
				if lock && !strings.HasSuffix(place, ".%") && !strings.HasSuffix(place, "'%") {
					h = "1 " + h
				}
				text := strings.ReplaceAll(place, "%", h)
				if st := route.Classify(text, o); goesToReplica(&st) {
					t.Errorf("%v: %s: %s", o.Flavor, meaning(&st), text)
				}
			}
		}
	}
}
