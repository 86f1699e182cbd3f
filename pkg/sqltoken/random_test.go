package sqltoken_test

import (
	"math/rand/v2"
	"slices"
	"strings"
)

// texts makes random SQL texts that are hard to cut into tokens, and of which a
// server takes a good part.
type texts struct {
	*rand.Rand
	charset string
	ansi    bool
}

func newTexts(seed uint64, charset, mode string) *texts {
	return &texts{Rand: rand.New(rand.NewPCG(seed, 0)), charset: charset, ansi: strings.Contains(mode, "ANSI_QUOTES")}
}

var modes = []string{"", "NO_BACKSLASH_ESCAPES", "ANSI_QUOTES", "ANSI_QUOTES,NO_BACKSLASH_ESCAPES"}

// charsets has one or more names of every way to read bytes.
var charsets = []string{
	"utf8mb4", "latin1", "cp1250", "latin7", "hebrew", "cp852", "cp850", "hp8", "macroman", "cp1251", "ujis",
	"big5", "sjis", "cp932", "gbk", "gb18030",
}

func (r *texts) pick(from ...string) string { return from[r.IntN(len(from))] }

func (r *texts) often(percent int) bool { return r.IntN(100) < percent }

// gap is what may stand between tokens; it may be nothing.
func (r *texts) gap() string {
	if r.often(50) {
		return " "
	}
	g := r.pick("", "", "\n", "\t", "\v", "\f\r", "/**/", "/* ' */", "/*/*/", "/*\"*/", "/* -- */", "/* \x00 */", "/*m! ' */",
		"-- x'\n", "--\n", "--\x01'\n", "-- /*\n", "#`\n", "#\n", "# */ \n", "/*!*/", "/*!50000*/", "/*!50000 */", "/*!050000 */",
		"/*! /* x */ */", "/*! -- */\n*/", "/*!99999 ' */", "/*!999999 ' */", "/*!999999 /* x */ y */", "/*!999999 # */",
		"/*!100100 */", "/*!80000 */", "/*+ x */", "/*+ ' */", "/*M!*/", "/*M! */", "/*M!100100*/", "/*M!999999 \" */",
		"/* /*! */", "\xa0", "\xff", "/*! /*! */", "/***/", "/*!000000*/")
	if r.often(20) {
		g += r.gap()
	}
	return g
}

// executable puts code into an executable comment that some servers run.
func (r *texts) executable(code string) string {
	opening := r.pick("/*!", "/*! ", "/*!50000", "/*!50000 ", "/*!50701 ", "/*!80000", "/*!90704 ", "/*!100100 ", "/*!101119\n",
		"/*!101120 ", "/*!99999 ", "/*!050000 ", "/*M!", "/*M! ", "/*M!50701 ", "/*M!100100", "/*! /*!50000 ", "/*!100100")
	return opening + code + r.pick("*/", " */", "/**/*/", " /* x */ */")
}

var pieces = []string{
	"'", "\"", "`", "\\", "\\\\", "''", "\"\"", "``", "\\'", "\\\"", "/*", "*/", "/*!", "--", "-- ", "#", "\n", ";", "\x00", " ", "a", "0",
	"$$", "@", "%", "\\%", "\xbf", "\x81", "\xa0", "\xe5", "\xff", "\x83", "\xa4", "\xc3\xa9", "\xf0", "\xbf\\", "\xbf'", "\xbf`", "\x810\x810",
}

// content is what may stand between quotes, if it is quoted well.
func (r *texts) content() string {
	var b strings.Builder
	for range r.IntN(6) {
		b.WriteString(r.pick(pieces...))
	}
	return b.String()
}

// quoted puts a random content between quotes, now and then as it is.
func (r *texts) quoted(q byte, escapes bool) string {
	c := r.content()
	if r.often(40) {
		return string(q) + c + string(q)
	}
	return quote(c, q, r.charset, escapes)
}

func (r *texts) name() string {
	if r.often(40) {
		return r.pick("a", "b1", "1a", "$a", "a$", "\xc3\xa9", "x\xbf", "COUNT", "share", "\xbf\\", "a\xbf`", "0x", "1e", "e5", "$a$")
	}
	if r.ansi && r.often(50) {
		return r.quoted('"', false)
	}
	return r.quoted('`', false)
}

func (r *texts) expression() string {
	switch r.IntN(12) {
	case 0, 1, 2:
		return r.pick("1", "1.", "1.5", ".5", "1e5", "1e+1", "1E-1", "0x41", "0b1", "1.e1", "00", "1.5e1", "NULL", "\\N", "-1", "1--1", "1---1")
	case 3, 4, 5:
		return "HEX(" + r.text() + ")"
	case 6:
		return r.text()
	case 7:
		return r.pick("@v", "@v.w", "@v$", "@'v'", "@", "@\xbf", "@v\xa4", "@@version_comment IS NULL", "@@global.port", "@x:=2", "@x := '3'") + r.gap()
	case 8:
		return "@" + r.quoted(r.pick("'", "\"", "`")[0], r.often(50))
	case 9:
		return "(" + r.gap() + r.expression() + r.gap() + ")"
	case 10:
		return r.expression() + r.gap() + r.pick("+", "-", "*", "/", "--", "<", "<=>", "||", "=", " DIV ", "- -", "*-", "^", "|") + r.gap() + r.expression()
	}
	return r.pick("t.`a`", "t.a", "t .a", "t. a", "t.1a", "t.5e5", "t.for", "t.$a$", "`t`.into", "LEFT (", "CONCAT(1,", "probe.now()", "now ()")
}

func (r *texts) text() string {
	prefix := r.pick("", "", "", "", "N", "n", "_utf8mb4", "_latin1 ", "_binary/**/", "x", "b", "X ", "DATE")
	return prefix + r.quoted(r.pick("'", "'", "\"")[0], r.often(80))
}

// statement makes a SELECT. Its lock would have to wait: the row of probe.held is
// locked.
func (r *texts) statement() string {
	part := []string{"SELECT", r.gap(), r.expression()}
	for range r.IntN(3) {
		if r.often(50) {
			part = append(part, r.gap(), r.pick("AS ", "AS", "", "as/**/"), r.gap(), r.name())
		}
		part = append(part, r.gap(), ",", r.gap(), r.expression())
	}
	part = append(part, r.gap())
	switch r.IntN(5) {
	case 0, 1:
		part = append(part, r.gap(), "FROM", r.gap(), r.pick("held", "`held`", "probe.held", "probe . held", "t"), r.gap())
	case 2:
		part = append(part, r.gap(), "FROM", r.gap(), "t", r.gap())
	}
	switch r.IntN(4) {
	case 0:
		part = append(part, "FOR", r.gap(), "UPDATE", r.gap(), "NOWAIT")
	case 1:
		part = append(part, "INTO", r.gap(), r.pick("@x", "@`x`", "@'x'"))
	}
	for range r.IntN(3) {
		i := r.IntN(len(part))
		if r.often(30) {
			j := min(len(part), i+1+r.IntN(3))
			part = slices.Replace(part, i, j, r.executable(strings.Join(part[i:j], "")))
		}
	}
	return strings.Join(part, "")
}

// any makes a text of one or more statements, sometimes a damaged one.
func (r *texts) any() string {
	text := r.statement()
	for r.often(12) {
		text += r.gap() + ";" + r.gap() + r.statement()
	}
	if r.often(5) {
		text += r.pick(";", ";;", "; ", "\x00", ";--", ";#", "/*", "*/")
	}
	for r.often(25) {
		i := r.IntN(len(text))
		switch r.IntN(3) {
		case 0:
			text = text[:i] + text[i+1:]
		case 1:
			text = text[:i] + r.pick(pieces...) + text[i:]
		case 2:
			text = text[:i] + r.gap() + text[i:]
		}
	}
	return text
}
