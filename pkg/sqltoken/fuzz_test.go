package sqltoken_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sqltoken"
)

// numbered returns options; every number stands for some.
func numbered(n uint16) (*sqltoken.Options, string) {
	charset := charsets[int(n>>8)%len(charsets)]
	o := serverOptions([]flavor.Flavor{flavor.Unknown, flavor.MySQL, flavor.MariaDB, flavor.MySQL}[n&3], charset, "")
	o.ANSIQuotes, o.NoBackslashEscapes, o.SkipUndecided = n&4 != 0, n&8 != 0, n&16 != 0
	if n&32 != 0 || o.Flavor == flavor.Unknown {
		o.Oldest = 0
	}
	if n&64 != 0 || o.Flavor == flavor.Unknown {
		o.Newest = 0
	}
	return o, charset
}

// checkScan holds everything that is true of the tokens of any text. It returns
// what is wrong.
func checkScan(text string, o *sqltoken.Options) string {
	tokens, wrong := tokensOf(text, o)
	if wrong != "" {
		return wrong
	}
	for _, check := range []func(string, []sqltoken.Token, *sqltoken.Options) string{checkShift, checkSuffix, checkGaps} {
		if wrong := check(text, tokens, o); wrong != "" {
			return wrong + "\n tokens " + showTokens(text, tokens)
		}
	}
	return ""
}

// checkShift moves a text by some blanks: only the first token's white space
// may change.
func checkShift(text string, tokens []sqltoken.Token, o *sqltoken.Options) string {
	steps := 1
	if len(text) > 200 {
		steps = 13
	}
	for n := 1; n <= 65; n += steps {
		moved, wrong := tokensOf(strings.Repeat(" ", n)+text, o)
		if wrong != "" {
			return wrong
		}
		if len(moved) > 0 {
			moved[0].Space += n
		}
		if i := differ(tokens, moved, n); i >= 0 {
			return fmt.Sprintf("behind %d blanks token %d is another one", n, i)
		}
	}
	return ""
}

// differ returns the index of the first token that is another one when moved by
// n bytes, or -1.
func differ(tokens, moved []sqltoken.Token, n int) int {
	for i, t := range tokens {
		t.Space, t.Start, t.End = t.Space+n, t.Start+n, t.End+n
		if i >= len(moved) {
			return i
		}
		if m := moved[i]; t != m && !(i == 0 && t.Start == m.Start && t.End == m.End && t.Kind == m.Kind) {
			return i
		}
	}
	if len(moved) > len(tokens) {
		return len(tokens)
	}
	return -1
}

func undecided(text string, o *sqltoken.Options) bool {
	s := sqltoken.New(text, o)
	for s.Next().Kind != sqltoken.EOF {
	}
	return s.Undecided()
}

// checkSuffix scans from the beginning of tokens on: what stood before matters
// only in executable comments and behind a dot or @.
func checkSuffix(text string, tokens []sqltoken.Token, o *sqltoken.Options) string {
	if undecided(text, o) {
		return "" // a second version is an Invalid token
	}
	for i := range tokens {
		at := tokens[i].Space
		if tokens[i].Exec || at > 0 && tied(text, tokens, i) || len(tokens) > 40 && i%17 != 3 {
			continue
		}
		suffix, wrong := tokensOf(text[at:], o)
		if wrong != "" {
			return wrong
		}
		if j := differ(suffix, tokens[i:], at); j >= 0 {
			return fmt.Sprintf("read from %d on, token %d behind it is another one: %s", at, j, showTokens(text[at:], suffix))
		}
	}
	return ""
}

// tied says whether token i may be read in another way without the one before.
func tied(text string, tokens []sqltoken.Token, i int) bool {
	t := tokens[i]
	return i > 0 && (strings.IndexByte(".@", text[t.Space-1]) >= 0 || t.Start < len(text) && text[t.Start] == '.')
}

// checkGaps puts a blank, a comment and a line of comment between tokens.
func checkGaps(text string, tokens []sqltoken.Token, o *sqltoken.Options) string {
	kinds, unsure := code(tokens), undecided(text, o)
	for i := 1; i < len(tokens); i++ {
		t, at := tokens[i], tokens[i].Space
		if tied(text, tokens, i) || firm(tokens[:i]) || strings.HasSuffix(text[:at], "-") || len(tokens) > 40 && i%17 != 5 {
			continue
		}
		for _, gap := range []string{" ", "\n", "/* */", "/*'*/", " # '\n", "\n-- \"\n"} {
			if gap[0] == '/' && (unsure || t.Exec && strings.HasSuffix(text[:at], "*")) {
				continue // that would end the executable comment, or be nested
			}
			got, wrong := tokensOf(text[:at]+gap+text[at:], o)
			if wrong != "" {
				return wrong
			}
			if !slices.Equal(code(got), kinds) {
				return fmt.Sprintf("%q at %d makes another text of it: %s", gap, at, showTokens(text[:at]+gap+text[at:], got))
			}
		}
	}
	return ""
}

// firm says whether what stands behind those tokens may be part of the last one,
// or of the version of an executable comment, for which a blank behind the sixth
// digit counts.
func firm(tokens []sqltoken.Token) bool {
	n := len(tokens)
	switch tokens[n-1].Kind {
	case sqltoken.Invalid, sqltoken.Unterminated, sqltoken.ExecOpen:
		return true
	}
	return n > 1 && tokens[n-2].Kind == sqltoken.ExecOpen
}

// code returns the kinds of the tokens that are no comments.
func code(tokens []sqltoken.Token) []sqltoken.Kind {
	var kinds []sqltoken.Kind
	for _, t := range tokens {
		if t.Kind != sqltoken.Comment {
			kinds = append(kinds, t.Kind)
		}
	}
	return kinds
}

func FuzzScanner(f *testing.F) {
	for i, c := range readLexing(f) {
		if i%3 == 0 {
			f.Add(c.text, uint16(i*37))
		}
	}
	for seed := range uint64(32) {
		n := uint16(seed * 131)
		_, charset := numbered(n)
		f.Add(newTexts(seed, charset, "").any(), n)
	}
	f.Fuzz(func(t *testing.T, text string, n uint16) {
		if len(text) > 2000 {
			return
		}
		o, charset := numbered(n)
		if wrong := checkScan(text, o); wrong != "" {
			t.Fatalf("%s\n text %s\n options %+v, %s", wrong, escape(text), *o, charset)
		}
	})
}

// TestScannerRandom is FuzzScanner with texts that look like SQL.
func TestScannerRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Uint16().Draw(t, "options")
		o, charset := numbered(n)
		mode := modes[n>>2&1*2|n>>3&1]
		text := newTexts(rapid.Uint64().Draw(t, "seed"), charset, mode).any()
		if wrong := checkScan(text, o); wrong != "" {
			t.Fatalf("%s\n text %s\n options %+v, %s", wrong, escape(text), *o, charset)
		}
	})
}

// TestScannerQuoted puts every kind of content between quotes: it is one token,
// and what stands behind it is another one.
func TestScannerQuoted(t *testing.T) {
	piece := rapid.OneOf(rapid.SampledFrom(pieces), rapid.StringOfN(rapid.Rune(), 0, 3, -1),
		rapid.Map(rapid.Byte(), func(b byte) string { return string([]byte{b}) }))
	rapid.Check(t, func(t *rapid.T) {
		o, charset := numbered(rapid.Uint16().Draw(t, "options"))
		body := strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "content"), "")
		q := rapid.SampledFrom([]byte("'\"`")).Draw(t, "quote")
		name := q == '`' || q == '"' && o.ANSIQuotes
		kind, prefixes := sqltoken.String, []string{"", "@"}
		if q == '\'' {
			prefixes = append(prefixes, "N", "n")
		}
		if name {
			kind = sqltoken.Name
		}
		prefix := rapid.SampledFrom(prefixes).Draw(t, "prefix")
		if prefix == "@" {
			kind = sqltoken.UserVar
		}
		escapes := !name && !o.NoBackslashEscapes
		quoted := prefix + quote(body, q, charset, escapes)
		if q == '`' && takesQuote(quoted[len(prefix):], charset) {
			t.Skip("half a character takes the quote for its second byte")
		}
		for _, behind := range []string{"", ",", " /* '\"` */ x", "FOR UPDATE", "-- '", "*/", ";"} {
			tokens, wrong := tokensOf(quoted+behind, o)
			if wrong != "" {
				t.Fatalf("%s in %s", wrong, escape(quoted+behind))
			}
			if token := tokens[0]; token.Kind != kind || token.End != len(quoted) {
				t.Fatalf("%s in front of %q is a %v of %d bytes, want %v of %d (%s, %+v)",
					escape(quoted), behind, token.Kind, token.End, kind, len(quoted), charset, *o)
			}
		}
	})
}

// takesQuote says whether the last byte of a quoted name belongs to a character
// that begins before it.
func takesQuote(quoted, charset string) bool {
	i := 1
	for i < len(quoted)-1 {
		i += longChar(charset, quoted, i)
	}
	return i != len(quoted)-1
}
