package suites

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
)

// audit looks for words that nothing may have that runs on a replica, without
// the lexer or the classifier: it must not share their mistakes.
type audit struct {
	skip, skipANSI, skipNoEscape *regexp.Regexp
	words, first                 *regexp.Regexp
	create, call, named          *regexp.Regexp
	functions                    map[string]bool       // created anywhere in the suite
	calls                        map[string]*Statement // by function: a text that may run on a replica
}

func newAudit() *audit {
	const (
		comments = "|--[\\s\\x00-\\x1f][^\\n]*|#[^\\n]*|/\\*\\*/|/\\*[^!M](?s:.*?)\\*/|`[^`]*`"
		single   = `'(?:[^'\\]|\\(?s:.)|'')*'`
		double   = `"(?:[^"\\]|\\(?s:.)|"")*"`
	)
	return &audit{
		skip:         regexp.MustCompile(single + "|" + double + comments),
		skipANSI:     regexp.MustCompile(single + `|"[^"]*"` + comments),
		skipNoEscape: regexp.MustCompile(`'[^']*'|"[^"]*"` + comments),
		words: regexp.MustCompile(`\bINTO\b|\bFOR\s+(?:UPDATE|SHARE)\b|\bLOCK\s+IN\b|:=|@@[\w.]+|@[\w$.?]+|` +
			`\b(?:GET_LOCK|RELEASE_LOCK|RELEASE_ALL_LOCKS|IS_FREE_LOCK|IS_USED_LOCK|SERVICE_\w+_LOCKS?)\s*\(|` +
			`\b(?:NEXTVAL|LASTVAL|SETVAL)\s*\(|\.\s*(?:NEXTVAL|CURRVAL)\b|\b(?:NEXT|PREVIOUS)\s+VALUE\b|` +
			`\b(?:LAST_INSERT_ID|FOUND_ROWS|ROW_COUNT|CONNECTION_ID|LOAD_FILE)\s*\(|\bSQL_CALC_FOUND_ROWS\b|` +
			`\b(?:\w+_POS_WAIT|\w+_GTID_WAIT|WAIT_FOR_EXECUTED_GTID_SET|WAIT_UNTIL_\w+)\s*\(|` +
			`\b(?:GROUP_REPLICATION|ASYNCHRONOUS_CONNECTION|AUDIT|KEYRING|VERSION_TOKENS|MYSQL_QUERY)_\w+\s*\(|` +
			`\b(?:INSERT|UPDATE|DELETE|REPLACE|MERGE)\s+(?:IGNORE\s+)?\w|\bRETURNING\b|` +
			`\b(?:DROP|TRUNCATE|ALTER|GRANT|REVOKE|PREPARE|EXECUTE|HANDLER|LOCK|UNLOCK)\s+\w|\[|;\s*\w+|` +
			`\.\s*[\w$?]+\(`),
		first: regexp.MustCompile(`^(?:[\s(]|/\*M?![0-9]*)*` +
			`(?:(?:SELECT|WITH|VALUES|TABLE|SHOW|EXPLAIN|DESC|DESCRIBE|ANALYZE|HELP|DO)\b|SET\s+STATEMENT\b)`),
		create: regexp.MustCompile(`(?is)^(?:/\*.*?\*/|\s)*CREATE\s+(?:OR\s+REPLACE\s+)?(?:AGGREGATE\s+)?` +
			`(?:DEFINER\s*=\s*\S+\s+)?(?:AGGREGATE\s+)?FUNCTION\s+(?:IF\s+NOT\s+EXISTS\s+)?([\w$.\x60]+)`),
		call:      regexp.MustCompile(`[\w$]+\s*\(`),
		named:     regexp.MustCompile(`(?:\b(?:AS|WITH|RECURSIVE)|[)])\s*$`),
		functions: map[string]bool{}, calls: map[string]*Statement{},
	}
}

// bare returns the text in upper case, with a question mark for each string and
// quoted name, and without comments. Executable comments stay.
func (a *audit) bare(s *Statement) string {
	pattern := a.skip
	switch {
	case s.Mode&NoBackslashEscapes != 0:
		pattern = a.skipNoEscape
	case s.Mode&ANSIQuotes != 0:
		pattern = a.skipANSI
	}
	return strings.ToUpper(pattern.ReplaceAllStringFunc(singleBytes(s), func(found string) string {
		if strings.IndexByte("'\"`", found[0]) >= 0 {
			return "?"
		}
		return " "
	}))
}

// singleBytes replaces characters whose second byte may look like a quote.
func singleBytes(s *Statement) string {
	if !needsCare(s.Charset) {
		return s.Text
	}
	text := []byte(s.Text)
	var b strings.Builder
	for len(text) > 0 {
		n := characterLength(s.Charset, text)
		if n == 1 {
			b.WriteByte(text[0])
		} else {
			b.WriteByte('x')
		}
		text = text[n:]
	}
	return b.String()
}

// suspicious returns what a text that may run on a replica should not have.
// It keeps which functions the text calls.
func (a *audit) suspicious(s *Statement) []string {
	text := a.bare(s)
	for _, at := range a.call.FindAllStringIndex(text, -1) {
		name := strings.ToLower(strings.TrimRight(text[at[0]:at[1]], "( \t\r\n"))
		if a.calls[name] == nil && !a.columnList(text, at[0], at[1]) {
			a.calls[name] = s
		}
	}
	words := a.words.FindAllString(text, -1)
	if !a.first.MatchString(text) {
		words = append(words, "its first word")
	}
	for i, word := range words {
		words[i] = strings.Join(strings.Fields(word), " ")
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// columnList tells the name of a table in front of its columns' names from a
// call: "AS t (a)", "WITH t (a) AS (", ", t (a) AS (".
func (a *audit) columnList(text string, from, open int) bool {
	if a.named.MatchString(text[:from]) {
		return true
	}
	names, rest, _ := strings.Cut(text[open:], ")")
	return !strings.Contains(names, "(") && strings.HasPrefix(strings.TrimSpace(rest), "AS (")
}

// created keeps the name of a function that a statement creates.
func (a *audit) created(s *Statement) {
	if m := a.create.FindStringSubmatch(s.Text); m != nil {
		name := strings.ToLower(strings.ReplaceAll(m[1], "`", ""))
		a.functions[name[strings.LastIndexByte(name, '.')+1:]] = true
	}
}

// called returns the suite's own functions that a text on a replica calls, in
// order.
func (a *audit) called() []string {
	var names []string
	for name := range a.calls {
		if a.functions[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// TestAudit holds the audit itself to what it is for.
func TestAudit(t *testing.T) {
	a := newAudit()
	for _, tt := range []struct {
		text, want, charset string
		mode                Mode
	}{
		{text: "SELECT 'INTO', \"a\\\"INTO\", `INTO` /* INTO */ FROM t # INTO\n-- INTO"},
		{text: "SELECT a INTO @x FROM t", want: "@X, INTO"},
		{text: "SELECT 'it''s' FROM t FOR  UPDATE", want: "FOR UPDATE"},
		{text: "SELECT '\\' INTO ', 1", mode: NoBackslashEscapes, want: "INTO"},
		{text: "SELECT /*!50000 nextval(s) */", want: "NEXTVAL("},
		{text: "WITH c AS (SELECT 1) DELETE FROM t", want: "DELETE F"},
		{text: "/**/ SELECT 1 /* INTO */"},
		{text: "SELECT '\x83\x5c' INTO @x", charset: "sjis", want: "@X, INTO"},
		{text: "CALL p()", want: "its first word"},
		{text: "/* a */ SELECT @@x, `d`.`f`(1), get_lock (1)", want: ".?(, @@X, GET_LOCK ("},
		{text: "(SELECT 1); DROP TABLE t", want: "; DROP"},
	} {
		s := Statement{Flavor: flavor.MariaDB, Text: tt.text, Mode: tt.mode, Charset: tt.charset}
		if got := strings.Join(a.suspicious(&s), ", "); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.text, got, tt.want)
		}
	}
	for _, text := range []string{
		"CREATE FUNCTION f1() RETURNS INT RETURN 1",
		"create definer=`a`@`b` function `d`.`f2` () ...", "CREATE AGGREGATE FUNCTION IF NOT EXISTS f3(x INT)",
	} {
		a.created(&Statement{Text: text})
	}
	a.suspicious(&Statement{Text: "WITH f1(a) AS (SELECT F2 (1), f3(2), g(f4)) SELECT * FROM (SELECT 1) AS f1(b)"})
	if got := strings.Join(a.called(), " "); got != "f2 f3" {
		t.Errorf("got %q, want f2 f3", got)
	}
}
