package tracker

import (
	"slices"
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sqltoken"
)

// FuzzNames: whatever the text is, the list is bounded, unknown is empty, and every name that
// stands without a dot is in it.
func FuzzNames(f *testing.F) {
	for _, text := range []string{
		"SELECT a.b, `c``d`.e FROM .f, g . h WHERE i IN (SELECT 1e5, x'41' FROM j.1k)", "TABLE t; VALUES ROW(1)", hibernate,
		"SELECT \"a\"\"b\" FROM größe, \xff", "/*!50000 SELECT */ 1", "SELECT select.t, $a$, @a.b, @@c.d", "SELECT a..b", "(", ".",
	} {
		f.Add(text, "s", uint8(0), true)
		f.Add(text, "größe", uint8(9), false)
	}
	f.Fuzz(func(t *testing.T, text, schema string, charset uint8, maria bool) {
		o := &sqltoken.Options{Flavor: flavor.MySQL, Oldest: 90704, Newest: 90704, ANSIQuotes: charset&1 != 0, Charset: sqltoken.Charset(charset >> 1 % 13)}
		if maria {
			o.Flavor, o.Oldest, o.Newest = flavor.MariaDB, 101119, 101119
		}
		names, known := Names(nil, text, schema, o)
		if len(names) > maxNames || !known && len(names) > 0 {
			t.Fatalf("%d names, known %v", len(names), known)
		}
		if !known {
			return
		}
		lex := sqltoken.New(text, o)
		for tok := lex.Next(); tok.Kind != sqltoken.EOF; tok = lex.Next() {
			name := text[tok.Start:tok.End]
			if tok.Kind == sqltoken.Name {
				quote := name[:1]
				name = strings.ReplaceAll(name[1:len(name)-1], quote+quote, quote)
			} else if tok.Kind != sqltoken.Word || len(name) <= longestWord {
				continue
			}
			if beside(text[:tok.Start], -1) || beside(text[tok.End:], 1) {
				continue
			}
			if k := join(hash(schema), hash(name)); !slices.Contains(names, k) {
				t.Fatalf("%q is missing", name)
			}
		}
	})
}

// beside says whether a dot may be the token at that end of the text.
func beside(text string, side int) bool {
	text = strings.Trim(text, " \t\r\n\v\f")
	if text == "" {
		return false
	}
	end := text[0]
	if side < 0 {
		end = text[len(text)-1]
	}
	return strings.IndexByte("./#-\n\xa0\xff", end) >= 0 || strings.ContainsAny(text, "#/-")
}
