package route

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
)

// oracleStatement is one text, and what the servers showed about it.
type oracleStatement struct {
	text, file string

	effect  string // what it changed, "" if nothing
	depends string // on what its answer depends, "" if on nothing
	remote  bool   // the answer depends on the server, not only on the connection
	failed  int    // the number of the error that it ended with
	rows    bool   // it was answered with rows
}

// oracleHostile marks the statements that are made around something that is no
// plain read.
const oracleHostile = "hostile"

// oracleLine is one line of a file in testdata/oracle.
type oracleLine struct{ mark, text string }

// oracleLines reads the lines that are for a flavor. A line may begin with
// [mysql] or [mariadb], then with one of the marks; \n and \t in it are the
// characters, and \\ is a backslash.
func oracleLines(t *testing.T, f flavor.Flavor, file, marks string) []oracleLine {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", "oracle", file))
	if err != nil {
		t.Fatal(err)
	}
	unescape := strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t")
	var lines []oracleLine
	for line := range strings.Lines(string(content)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "# ") {
			continue
		}
		if only, rest, ok := strings.Cut(line, "] "); ok && line[0] == '[' {
			if only[1:] != f.String() {
				continue
			}
			line = rest
		}
		var l oracleLine
		if word, rest, _ := strings.Cut(line, " "); marks != "" && oneOf(word, marks) {
			l.mark, line = word, rest
		}
		l.text = unescape.Replace(line)
		lines = append(lines, l)
	}
	return lines
}

// oracleTexts are all statements of a flavor, each with the file it comes from.
// Every call of a function stands in a share of the places, in turn, unless all
// is set.
func oracleTexts(t *testing.T, f flavor.Flavor, version uint32, all bool) (texts, files []string) {
	add := func(file, text string) { texts, files = append(texts, text), append(files, file) }
	for _, file := range []string{"queries.txt", "show.txt", "effects.txt"} {
		for _, l := range oracleLines(t, f, file, "") {
			add(file, l.text)
		}
	}
	contexts := oracleLines(t, f, "contexts.txt", "")
	put := func(file, expression string, n, turn int) {
		if all {
			n = len(contexts)
		}
		for i := range n {
			c := contexts[(turn+i*len(contexts)/n)%len(contexts)].text
			add(file, strings.ReplaceAll(c, "{}", expression))
		}
	}
	for i, l := range oracleCalls(t, f, version) {
		switch l.mark {
		case "rows":
			add("calls.txt", "SELECT "+l.text+" FROM t")
			put("calls.txt", "(SELECT "+l.text+" FROM t LIMIT 1)", 3, i)
		case "pure":
			add("calls.txt", "SELECT "+l.text)
			put("calls.txt", l.text, 6, i)
		default:
			add(oracleHostile, "SELECT "+l.text)
			put(oracleHostile, l.text, 6, i)
		}
	}
	for i, l := range oracleLines(t, f, "atoms.txt", "") {
		put(oracleHostile, l.text, 20, i)
	}
	for _, q := range oracleLines(t, f, "reads.txt", "top") {
		for _, p := range oracleLines(t, f, "places.txt", "inner") {
			if q.mark == "" || p.mark == "" {
				add(oracleHostile, strings.ReplaceAll(p.text, "{q}", q.text))
			}
		}
	}
	return texts, files
}

// oracleCalls returns a call of every function that the server has built in,
// marked pure or rows if it should be a plain read. A function without a line
// in calls.txt is a failure.
func oracleCalls(t *testing.T, f flavor.Flavor, version uint32) []oracleLine {
	t.Helper()
	s := functionServer{f: f, version: version}
	lines := map[string][]oracleLine{}
	for _, l := range oracleLines(t, f, "calls.txt", "rows none") {
		name := l.text[:len(l.text)-len(strings.TrimLeft(l.text, "abcdefghijklmnopqrstuvwxyz0123456789_"))]
		lines[name] = append(lines[name], l)
	}
	var calls []oracleLine
	for _, w := range functionWords {
		info := functionInfos[w.info]
		if !s.has(info) && info.MariaDBIf == ifNothing {
			continue
		}
		switch info.Kind {
		case functionGrammar, functionSideEffect:
			continue
		}
		found := lines[w.word]
		for _, l := range lines["st_"+w.word] {
			if found == nil {
				calls = append(calls, oracleLine{"pure", strings.TrimPrefix(l.text, "st_")})
			}
		}
		for _, l := range found {
			if l.mark == "" && info.Kind == functionPure {
				l.mark = "pure"
			}
			if l.mark != "none" {
				calls = append(calls, l)
			}
		}
		if found == nil && lines["st_"+w.word] == nil && info.Kind != functionInstance {
			t.Errorf("testdata/oracle/calls.txt has no call of %s", w.word)
		}
	}
	return calls
}

// oracleCorpus are the statements of the corpus that a server of default
// settings reads as they are read there. What is expected to be no read is
// hostile.
func oracleCorpus(t *testing.T, f flavor.Flavor, version int) (texts, files []string) {
	for _, c := range statementCases(t) {
		for _, o := range c.readings() {
			if o.Flavor == f && o.Oldest <= version && (o.Newest == 0 || version <= o.Newest) &&
				o.Charset == 0 && !o.ANSIQuotes && !o.NoBackslashEscapes && !o.IgnoreSpace && !oracleDangerous(c.sql) {
				file := "corpus"
				if class, _, _ := strings.Cut(c.line, " "); !oneOf(class, "read show explain") {
					file = oracleHostile
				}
				texts, files = append(texts, c.sql), append(files, file)
			}
		}
	}
	return texts, files
}

// oracleDangerous says whether a statement steers the server, so that it must
// not be run while others are, or waits.
func oracleDangerous(text string) bool {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r < '0' || r > 'z' }) {
		if oneOf(word, "shutdown restart clone reset purge change flush kill install uninstall import binlog "+
			"stop start benchmark sleep") || strings.HasSuffix(strings.ToLower(word), "_wait") {
			return true
		}
	}
	return false
}
