package route

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sqltoken"
)

// The corpus is files of cases, testdata/statements and testdata/sessions:
//
//	# a remark, mostly the source of the case
//	@ name=value ...   options; before the first case they hold for the file,
//	                   elsewhere for the next case (of a session: from then on)
//	> SELECT 1         the statement, in one or more lines that begin with ">"
//	read replica read  what is expected of it
//	< failed           of a session only: what the server said
//
// In a statement \xHH is a byte if the option bytes is set, and {pad} is as many
// letters as the option pad says.

// corpusCase is one statement of a corpus file.
type corpusCase struct {
	place      string // file:line
	directives []string
	sql        string
	want       string
	outcome    string
}

// corpus reads one file. Directives behind the last case are an error.
func corpus(t *testing.T, path string) []corpusCase {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var cases []corpusCase
	var directives, sql []string
	place, open := "", false
	for i, line := range strings.Split(string(content), "\n") {
		here := filepath.Base(path) + ":" + strconv.Itoa(i+1)
		switch {
		case strings.HasPrefix(line, ">"):
			if !open {
				place, open = here, true
			}
			sql = append(sql, strings.TrimPrefix(line[1:], " "))
		case strings.TrimSpace(line) == "", strings.HasPrefix(line, "#"):
			if open {
				t.Fatalf("%s: a statement without an expectation", here)
			}
		case open:
			c := corpusCase{place: place, directives: directives, sql: strings.Join(sql, "\n"), want: line}
			cases = append(cases, c)
			directives, sql, open = nil, nil, false
		case strings.HasPrefix(line, "@ "):
			directives = append(directives, line[2:])
		case strings.HasPrefix(line, "< ") && len(cases) > 0 && directives == nil:
			cases[len(cases)-1].outcome = line[2:]
		default:
			t.Fatalf("%s: cannot be read: %s", here, line)
		}
	}
	if open || directives != nil {
		t.Fatalf("%s: the end is missing", path)
	}
	return cases
}

func corpusFiles(t *testing.T, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", folder, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in %s: %v", folder, err)
	}
	return files
}

// reading is how a statement of the corpus is to be read.
type reading struct {
	Options
	flavorSet bool
	bytes     bool
	pad       int
}

// option reads one word of a directive. It returns false for one that it does
// not know.
func (r *reading) option(t *testing.T, place, name, value string) bool {
	t.Helper()
	var err error
	ok := true
	switch name {
	case "flavor":
		if r.Flavor = flavor.Unknown; value != flavor.Unknown.String() {
			r.Flavor, err = flavor.ParseFlavor(value)
		}
		r.flavorSet = true
	case "version":
		r.Oldest = versionNumber(t, place, value)
		r.Newest = r.Oldest
	case "oldest":
		r.Oldest = versionNumber(t, place, value)
	case "newest":
		r.Newest = versionNumber(t, place, value)
	case "sql_mode":
		r.ANSIQuotes = strings.Contains(value, "ANSI_QUOTES")
		r.NoBackslashEscapes = strings.Contains(value, "NO_BACKSLASH_ESCAPES")
		r.IgnoreSpace = strings.Contains(value, "IGNORE_SPACE")
	case "charset":
		r.Charset, ok = sqltoken.ParseCharset(value)
	case "harmless":
		r.Harmless = map[string]bool{}
		for _, name := range strings.Split(value, ",") {
			r.Harmless[name] = true
		}
	case "system_schemas_on_replicas":
		r.SystemSchemasOnReplicas = true
	case "bytes":
		r.bytes = true
	case "pad":
		r.pad, err = strconv.Atoi(value)
	default:
		return false
	}
	if err != nil || !ok {
		t.Fatalf("%s: %s=%s: %v", place, name, value, err)
	}
	return true
}

// readDirectives reads the words of lines.
func (r *reading) readDirectives(t *testing.T, place string, lines []string) {
	t.Helper()
	for _, line := range lines {
		for _, word := range strings.Fields(line) {
			name, value, _ := strings.Cut(word, "=")
			if !r.option(t, place, name, value) {
				t.Fatalf("%s: unknown option %q", place, word)
			}
		}
	}
}

func versionNumber(t *testing.T, place, text string) int {
	t.Helper()
	v := flavor.Parse(text).Version
	if v.Major == 0 {
		t.Fatalf("%s: no version: %s", place, text)
	}
	return v.Major*10000 + v.Minor*100 + v.Patch
}

// readings returns the servers that a case holds for: the one that it names, or
// all there are.
func (r *reading) readings() map[string]Options {
	if r.flavorSet || r.Oldest != 0 || r.Newest != 0 {
		return map[string]Options{"": r.Options}
	}
	all := map[string]Options{}
	for _, o := range []sqltoken.Options{
		{},
		{Flavor: flavor.MySQL, Oldest: 90704, Newest: 90704},
		{Flavor: flavor.MariaDB, Oldest: 101119, Newest: 101119},
	} {
		with := r.Options
		with.Flavor, with.Oldest, with.Newest = o.Flavor, o.Oldest, o.Newest
		all[o.Flavor.String()] = with
	}
	return all
}

var hexByte = regexp.MustCompile(`\\x[0-9a-fA-F]{2}`)

// text returns the statement with what the options replace in it.
func (r *reading) text(sql string) string {
	if r.bytes {
		sql = hexByte.ReplaceAllStringFunc(sql, func(s string) string {
			n, _ := strconv.ParseUint(s[2:], 16, 8) // two hex digits
			return string([]byte{byte(n)})
		})
	}
	return strings.ReplaceAll(sql, "{pad}", strings.Repeat("x", r.pad))
}

// describe writes a statement as the corpus does.
func describe(st *Statement, text string) string {
	line := st.Class.String() + " " + st.Target.String() + " " + st.Reason.String()
	if h := st.Starts(); h != 0 {
		line += " holds=" + strings.ReplaceAll(h.String(), ", ", ",")
	}
	if h := describeHint(&st.Hint, text); h != "" {
		line += " hint=" + h
	}
	return line
}

var hintRoutes = map[HintRoute]string{
	HintToPrimary: "primary", HintToReplica: "replica", HintToNode: "node:", HintToLast: "last",
}

func describeHint(h *Hint, text string) string {
	var words []string
	switch {
	case h.Route == HintToNode:
		words = append(words, "node:"+h.Node(text))
	case h.Route == HintToReplica && h.Only:
		words = append(words, "replica-only")
	case h.Route != HintNone:
		words = append(words, hintRoutes[h.Route])
	}
	if h.HasLevel {
		words = append(words, "level:"+h.Level.String())
	}
	if h.HasMaxStaleness {
		words = append(words, "max_staleness:"+h.MaxStaleness.String())
	}
	if h.HasTimeout {
		words = append(words, "timeout:"+h.Timeout.String())
	}
	if after := h.After(text); after != "" {
		words = append(words, "after:"+after)
	}
	if h.Malformed {
		words = append(words, "malformed")
	}
	return strings.Join(words, ",")
}

// statementCase is a case with what is expected in parts.
type statementCase struct {
	corpusCase
	reading
	line string // without at=
	at   string // the text that gave the reason, if asked for
}

func statementCases(t *testing.T) []statementCase {
	t.Helper()
	var all []statementCase
	for _, path := range corpusFiles(t, "statements") {
		var file reading
		for i, c := range corpus(t, path) {
			r := file
			r.readDirectives(t, c.place, c.directives)
			if i == 0 {
				file = r
			}
			line, at, _ := strings.Cut(c.want, " at=")
			c.sql = r.text(c.sql)
			all = append(all, statementCase{corpusCase: c, reading: r, line: line, at: at})
		}
	}
	return all
}

// TestStatements holds Classify against testdata/statements.
func TestStatements(t *testing.T) {
	for _, c := range statementCases(t) {
		wrong := map[string]string{} // the servers by what they give
		for server, o := range c.readings() {
			st := Classify(c.sql, &o)
			got := describe(&st, c.sql)
			if at := c.sql[st.At:st.End]; c.at != "" && at != c.at {
				got += " at=" + at
			}
			if got != c.line {
				wrong[got] += " " + server
			}
		}
		for got, servers := range wrong {
			t.Errorf("%s%s: %s\n got %s\nwant %s", c.place, servers, shorten(c.sql), got, c.want)
		}
	}
}

func shorten(sql string) string {
	if len(sql) > 200 {
		return strconv.Quote(sql[:100]) + " ... " + strconv.Quote(sql[len(sql)-60:])
	}
	return sql
}

// TestStatementsCoverage asks for a case of every class, target, kind of hold
// and reason that a statement can have by itself.
func TestStatementsCoverage(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range statementCases(t) {
		words := strings.Fields(c.line)
		if len(words) < 3 {
			t.Errorf("%s: an expectation is: class target reason", c.place)
			continue
		}
		seen["class "+words[0]], seen["target "+words[1]], seen["reason "+words[2]] = true, true, true
		for _, word := range words[3:] {
			if holds, ok := strings.CutPrefix(word, "holds="); ok {
				for _, h := range strings.Split(holds, ",") {
					seen["hold "+h] = true
				}
			}
		}
	}
	want := []string{}
	for _, c := range Classes() {
		want = append(want, "class "+c.String())
	}
	for target := ToPrimary; target < Refuse; target++ { // only a session refuses
		want = append(want, "target "+target.String())
	}
	for _, h := range AllHolds() {
		want = append(want, "hold "+h.String())
	}
	for _, r := range AllReasons() {
		if r < EndpointReadOnly { // the others need a session
			want = append(want, "reason "+r.String())
		}
	}
	for _, w := range want {
		if !seen[w] {
			t.Errorf("no statement of the corpus has %s", w)
		}
	}
}
