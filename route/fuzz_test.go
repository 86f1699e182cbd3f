package route_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sqltoken"
	"github.com/mysqlrw/mysqlrw/route"
)

// lexicalOptions returns options; every number stands for some.
func lexicalOptions(n uint16) *route.Options {
	o := &route.Options{}
	switch n & 3 {
	case 1, 3:
		o.Flavor, o.Oldest, o.Newest = flavor.MySQL, 90704, 90704
	case 2:
		o.Flavor, o.Oldest, o.Newest = flavor.MariaDB, 101119, 101119
	}
	if n&32 != 0 && o.Oldest != 0 {
		o.Oldest -= 9700
	}
	if n&64 != 0 {
		o.Newest = 0
	}
	o.ANSIQuotes, o.NoBackslashEscapes, o.IgnoreSpace = n&4 != 0, n&8 != 0, n&16 != 0
	names := []string{"utf8mb4", "latin1", "gbk", "big5", "sjis", "gb18030", "cp850", "hebrew"}
	o.Charset, _ = sqltoken.ParseCharset(names[int(n>>8)%len(names)])
	return o
}

// goesToReplica is what a hazard must prevent.
func goesToReplica(st *route.Statement) bool {
	return st.Class <= route.Read && st.Class != route.Unknown && st.Target == route.ToReplica
}

// meaning is what must not change when a text is written in another way.
func meaning(st *route.Statement) string {
	return fmt.Sprintf("%v to %v, %v, %d statements, facts %b", st.Class, st.Target, st.Reason, st.Count, st.Facts)
}

func classified(text string, o *route.Options) string {
	st := route.Classify(text, o)
	return meaning(&st)
}

// checkClassify holds what is true of every text. It returns what is wrong.
func checkClassify(text string, o *route.Options) string {
	st := route.Classify(text, o)
	again := route.Classify(strings.Clone(text), o)
	inside := func(start, end int) bool { return 0 <= start && start <= end && end <= len(text) }
	switch {
	case st != again:
		return fmt.Sprintf("two answers: %+v, %+v", st, again)
	case !inside(st.At, st.End) || !inside(st.Hint.Start, st.Hint.End):
		return fmt.Sprintf("the reason or hint lies outside of the text: %+v", st)
	case len(st.Hint.Node(text))+len(st.Hint.After(text))+len(st.Hint.Text(text)) > 3*len(text):
		return fmt.Sprintf("hint %+v", st.Hint)
	case st.Count > strings.Count(text, ";")+1 || (st.Count == 0) != (st.Class == route.Empty):
		return fmt.Sprintf("%d statements of class %v", st.Count, st.Class)
	}
	tokens, readable := codeTokens(text, o)
	if !readable {
		if goesToReplica(&st) {
			return fmt.Sprintf("%s, of a text that no server reads", meaning(&st))
		}
		return ""
	}
	for _, end := range []string{" ", "\n\t", " /* x */", "\n-- x", "\n# ' x\n", "\n/*'*/", "\n-- \"`"} {
		if got := classified(text+end, o); got != meaning(&st) {
			return fmt.Sprintf("%s; with %q behind it %s", meaning(&st), end, got)
		}
	}
	if got := classified(upper(text, tokens), o); got != meaning(&st) {
		return fmt.Sprintf("%s; in upper case %s", meaning(&st), got)
	}
	if goesToReplica(&st) {
		return checkReads(text, o)
	}
	return ""
}

// codeTokens returns the tokens, and whether a server can read them all.
func codeTokens(text string, o *route.Options) ([]sqltoken.Token, bool) {
	var tokens []sqltoken.Token
	s := sqltoken.New(text, &o.Options)
	for t := s.Next(); t.Kind != sqltoken.EOF; t = s.Next() {
		if t.Kind == sqltoken.Unterminated || t.Kind == sqltoken.Invalid {
			return nil, false
		}
		tokens = append(tokens, t)
	}
	return tokens, true
}

// upper writes all words in upper case.
func upper(text string, tokens []sqltoken.Token) string {
	b := []byte(text)
	for _, t := range tokens {
		for i := t.Start; i < t.End && t.Kind == sqltoken.Word; i++ {
			if 'a' <= b[i] && b[i] <= 'z' {
				b[i] -= 'a' - 'A'
			}
		}
	}
	return string(b)
}

// checkReads looks at a text that was taken for a plain read of options that
// leave something open: it must be one for each of the servers too; and nothing
// that changes something may stand in it for a reader that knows no more than
// quotes and comments.
func checkReads(text string, o *route.Options) string {
	for _, version := range []struct {
		flavor flavor.Flavor
		number int
	}{
		{flavor.MySQL, 80000},
		{flavor.MySQL, 90704},
		{flavor.MariaDB, 100500},
		{flavor.MariaDB, 101119},
	} {
		one := *o
		one.Flavor, one.Oldest, one.Newest = version.flavor, version.number, version.number
		if o.Flavor != flavor.Unknown && o.Flavor != one.Flavor || version.number < o.Oldest || o.Newest != 0 && version.number > o.Newest {
			continue
		}
		// What one family does not know it refuses; so does MySQL what may look
		// like a SET of a variable with the name STATEMENT.
		st := route.Classify(text, &one)
		if !goesToReplica(&st) && st.Class != route.Unknown && !(st.Class == route.Set && one.Flavor == flavor.MySQL) {
			return fmt.Sprintf("a read, but for %v %d alone %s", version.flavor, version.number, meaning(&st))
		}
	}
	if plain, ok := masked(text, o); ok {
		if found := hazard.FindString(plain); found != "" {
			return fmt.Sprintf("a read, with %q in it", found)
		}
	}
	return ""
}

var hazard = regexp.MustCompile(`(?i)(^|[^a-z0-9_.@?\s])\s*\b(FOR\s+UPDATE\b|FOR\s+SHARE\b|LOCK\s+IN\b|INTO\s*@[a-z]|INTO\s+OUTFILE\b|` +
	`(GET|RELEASE)_LOCK\s*\()|[a-z0-9_)?]\s+(FOR\s+UPDATE\b|FOR\s+SHARE\b|LOCK\s+IN\b|INTO\s*@[a-z]|INTO\s+OUTFILE\b)|:=`)

// quotedText matches what masked takes out, in a client's default sql_mode and
// in NO_BACKSLASH_ESCAPES. A regular expression is no scanner: that is the point.
var (
	quotedText  = regexp.MustCompile("(?s)'(?:[^'\\\\]|''|\\\\.)*'|\"(?:[^\"\\\\]|\"\"|\\\\.)*\"|`(?:[^`]|``)*`|/\\*.*?\\*/|--[\\x01-\\x20\\x7f][^\n]*|--$|#[^\n]*")
	quotedPlain = regexp.MustCompile("(?s)'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`(?:[^`]|``)*`|/\\*.*?\\*/|--[\\x01-\\x20\\x7f][^\n]*|--$|#[^\n]*")
)

// masked replaces strings and quoted names by ? and comments by a blank. It
// returns false for texts that need more than that.
func masked(text string, o *route.Options) (string, bool) {
	if o.ANSIQuotes || strings.ContainsAny(text, "\x00$") || strings.Contains(text, "/*!") || strings.Contains(text, "/*M!") ||
		strings.Contains(text, "@'") || strings.Contains(text, `@"`) || strings.Contains(text, "@`") || strings.Contains(text, "--\n") {
		return "", false
	}
	for i := range len(text) {
		if text[i] >= 0x80 {
			return "", false
		}
	}
	pattern := quotedText
	if o.NoBackslashEscapes {
		pattern = quotedPlain
	}
	return pattern.ReplaceAllStringFunc(text, func(s string) string {
		if strings.IndexByte("'\"`", s[0]) >= 0 {
			return "?"
		}
		return " "
	}), true
}

func FuzzClassify(f *testing.F) {
	for i, text := range []string{
		"SELECT a FROM t WHERE b = 'it''s' FOR UPDATE", "SELECT 1 /*!50701 INTO @x */", "SELECT COUNT (*) FROM t", "SELECT @a := 1, GET_LOCK('a', 1)",
		"WITH c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT * FROM c LOCK IN SHARE MODE", "SET @x = 1, SESSION a = (SELECT 1)",
		"INSERT INTO t VALUES (1); SELECT LAST_INSERT_ID()", "/* mysqlrw(max_staleness=1s) */ SELECT 1", "CREATE PROCEDURE p() BEGIN SELECT 1; END; SELECT 2",
		"SELECT t.for, t.into FROM t -- x", "EXPLAIN FORMAT=JSON SELECT 1", "SELECT 'a\xbf\\' FOR UPDATE", "SELECT @@global.x, @@hot.y", "START TRANSACTION READ ONLY",
		"SET STATEMENT max_statement_time=1 FOR SELECT 1", "SET STATEMENT FOR SELECT", "SELECT NEXT VALUE FOR s", "(SELECT 1) UNION (SELECT 2 INTO OUTFILE 'x')", "VALUES ROW(1)",
		"SELECT point(1,2), x(p) FROM t", "BEGIN NOT ATOMIC SELECT 1; END", "HANDLER t OPEN", "LOCK TABLES t READ", "SELECT $$a$$", "SHOW WARNINGS", "DO 1",
	} {
		f.Add(text, uint16(i*271))
	}
	for seed := range uint64(40) {
		g := newGenerator(seed)
		g.statement()
		f.Add(g.write(true), uint16(seed*131))
	}
	f.Fuzz(func(t *testing.T, text string, n uint16) {
		if len(text) > 4000 {
			return
		}
		if wrong := checkClassify(text, lexicalOptions(n)); wrong != "" {
			t.Fatalf("%s\n text %q\n options %+v", wrong, text, *lexicalOptions(n))
		}
	})
}

// TestClassifySoup puts words, punctuation and halves of literals side by side.
func TestClassifySoup(t *testing.T) {
	words := strings.Fields("SELECT FROM WHERE FOR UPDATE SHARE LOCK IN MODE INTO @x @ @@ @@global. := = ( ) ( ) , , . ; * - -- / /* */ /*! /*!50000 /*M! " +
		"/*!999999 /*+ # ' '' \" ` \\ \\N $$ $a$ t t.a a 1 1. .5 1e5 0x41 x'41' N'a' 'a' \"b\" `c` GET_LOCK( COUNT( f( now ( SET BEGIN END CASE WHEN IF " +
		"WITH c AS UNION ALL INSERT DELETE VALUES NEXT VALUE PREVIOUS NEXTVAL( point( EXPLAIN ANALYZE CREATE PROCEDURE SHOW WARNINGS USE mysql. " +
		"STATEMENT GLOBAL SESSION TRANSACTION READ ONLY LAST_INSERT_ID( FOUND_ROWS( ) { } fn OUTFILE OVER EXISTS NOT \xbf \xbf\\ \xa0 \x81 \x00 \xff")
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		n := rapid.Uint16().Draw(t, "options")
		var b strings.Builder
		for range r.IntN(30) {
			b.WriteString(words[r.IntN(len(words))])
			b.WriteString([]string{"", " ", " ", "\n"}[r.IntN(4)])
		}
		if wrong := checkClassify(b.String(), lexicalOptions(n)); wrong != "" {
			t.Fatalf("%s\n text %q\n options %+v", wrong, b.String(), *lexicalOptions(n))
		}
	})
}
