package sqltoken

import (
	"strings"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
)

// quoted scans a string or quoted name whose opening quote is at i; t.Start may
// lie before it.
func (s *Scanner) quoted(t *Token, i int) {
	q := s.text[i]
	name := q == '`' || q == '"' && s.o.ANSIQuotes
	t.Kind = String
	if name {
		t.Kind = Name
	}
	if t.End = s.quoteEnd(i+1, q, !name && !s.o.NoBackslashEscapes); t.End < 0 {
		t.Kind, t.End = Unterminated, len(s.text)
	}
}

// bits scans x'41' and b'01', whose opening quote is at i: they end at the next
// quote, whatever stands before it.
func (s *Scanner) bits(t *Token, i int) {
	n := strings.IndexByte(s.text[i+1:], '\'')
	if n < 0 {
		t.Kind, t.End = Unterminated, len(s.text)
		return
	}
	t.Kind, t.End = String, i+n+2
}

// dollar scans a name that begins with $. MySQL 9 reads $tag$ ... $tag$ as a
// string, which it takes only as the body of a stored program; for MariaDB $ is
// a letter. Of an unknown server the name is assumed: it hides nothing.
func (s *Scanner) dollar(t *Token) {
	text := s.text
	t.Kind = Word
	if s.o.Flavor != flavor.MySQL || t.Space == t.Start && t.Start > 0 && (text[t.Start-1] == '.' || text[t.Start-1] == '@') {
		t.End = s.run(t.Start)
		return
	}
	i := t.Start + 1 // up to the second $, no further: a text of nothing but $ is read once
	for i < len(text) && (classes[text[i]] == letter || classes[text[i]] == digit || s.highWord(i) > 0) {
		i += max(1, s.highWord(i))
	}
	if t.End = i; i >= len(text) || text[i] != '$' {
		return
	}
	tag := text[t.Start : i+1]
	body := t.Start + len(tag)
	end := strings.Index(text[body:], tag)
	if end < 0 {
		t.Kind, t.End = Unterminated, len(text)
		return
	}
	t.Kind, t.End = String, body+end+len(tag)
}

// quoteEnd returns the index behind the closing quote q for content that
// begins at i, or -1. A doubled quote stands for one.
func (s *Scanner) quoteEnd(i int, q byte, escapes bool) int {
	text := s.text
	for i < len(text) {
		switch c := text[i]; {
		case c == q:
			if i+1 >= len(text) || text[i+1] != q {
				return i + 1
			}
			i += 2
		case c == '\\' && escapes:
			i += 2 // one byte behind it, even of a longer character
		case c >= 0x80 && s.wide:
			i += s.o.Charset.charLen(text, i)
		default:
			i++
		}
	}
	return -1
}

// lineComment scans to the end of the line. A NUL ends it too: the servers stop
// there.
func (s *Scanner) lineComment(t *Token) {
	t.Kind, t.End = Comment, len(s.text)
	if n := strings.IndexAny(s.text[t.Start:], "\n\x00"); n >= 0 {
		t.End = t.Start + n
		if s.text[t.End] == '\n' {
			t.End++
		}
	}
}

// blockComment scans /* ... */, or the opening of an executable comment.
func (s *Scanner) blockComment(t *Token) {
	text, i := s.text, t.Start+2
	t.Kind = Comment
	maria := false
	if i < len(text) {
		switch {
		case text[i] == '+':
			t.Kind = Hint
		case text[i] == '!':
			s.executable(t, i+1, false)
			return
		case text[i] == 'M' && i+1 < len(text) && text[i+1] == '!':
			maria = true
		}
	}
	if maria && s.o.Flavor != flavor.MySQL {
		s.executable(t, i+2, true)
		return
	}
	s.closeComment(t, i)
}

// closeComment ends a comment at its first */, searched from i.
func (s *Scanner) closeComment(t *Token, i int) {
	n := strings.Index(s.text[i:], "*/")
	if n < 0 {
		t.Kind, t.End = Unterminated, len(s.text)
		return
	}
	t.End = i + n + 2
}

// executable scans an executable comment whose version number begins at i.
//
// Both families read five digits. A sixth belongs to the number for MariaDB,
// for MySQL only if white space follows it: otherwise it is code there.
func (s *Scanner) executable(t *Token, i int, maria bool) {
	text := s.text
	digits := i
	for digits < len(text) && digits < i+6 && classes[text[digits]] == digit {
		digits++
	}
	if digits == i+6 && !(digits < len(text) && (classes[text[digits]] == space || s.highSpace(digits))) {
		switch s.o.Flavor {
		case flavor.MySQL:
			digits--
		case flavor.Unknown:
			t.Kind, t.End = Invalid, digits
			return
		}
	}
	version, end := 0, i
	if digits-i >= 5 {
		for _, c := range []byte(text[i:digits]) {
			version = version*10 + int(c-'0')
		}
		end = digits
	}
	code, known := s.runs(version, maria)
	if !known {
		if !s.decideLater(version, maria, i) {
			t.Kind, t.End = Invalid, digits
			return
		}
		code = !s.skip
	}
	if code {
		t.Kind, t.End, s.exec = ExecOpen, end, true
		return
	}
	t.Kind = Comment
	s.skipNested(t, i)
}

// decideLater notes an undecided comment, so that the text can be scanned both
// ways. It returns false where two ways are not enough: a server between two
// versions runs one comment and not the other, and MySQL ends at the first */
// what MariaDB reads as nested.
func (s *Scanner) decideLater(version int, maria bool, i int) bool {
	key := version*4 + 1
	if maria {
		key += 2
		if s.o.Flavor == flavor.Unknown && opensInside(s.text[i:]) {
			return false
		}
	}
	if s.undecided != 0 && s.undecided != key {
		return false
	}
	s.undecided = key
	return true
}

// opensInside says whether a comment begins in the text before one ends. It
// looks no further than that.
func opensInside(text string) bool {
	for i := 0; i < len(text); i++ {
		n := strings.IndexByte(text[i:], '*')
		if n < 0 {
			return false
		}
		i += n
		if i > 0 && text[i-1] == '/' {
			return true
		}
		if i+1 < len(text) && text[i+1] == '/' {
			return false
		}
	}
	return false
}

// runs says whether the content of an executable comment for that version is
// code; 0 is a comment without a version. known is false where the servers of
// the options differ.
func (s *Scanner) runs(version int, maria bool) (code, known bool) {
	o := s.o
	if maria && o.Flavor == flavor.Unknown {
		return false, false
	}
	if version == 0 {
		return true, true
	}
	// MariaDB skips what was written for MySQL 5.7 and later.
	if !maria && version >= 50700 && version <= 99999 && o.Flavor != flavor.MySQL {
		return false, o.Flavor == flavor.MariaDB
	}
	switch {
	case version <= o.Oldest:
		return true, true
	case o.Newest != 0 && version > o.Newest:
		return false, true
	}
	return false, false
}

// skipNested ends an executable comment that is not code: one comment may stand
// inside it.
func (s *Scanner) skipNested(t *Token, i int) {
	text := s.text
	for i+1 < len(text) {
		switch {
		case text[i] == '*' && text[i+1] == '/':
			t.End = i + 2
			return
		case text[i] == '/' && text[i+1] == '*':
			n := strings.Index(text[i+2:], "*/")
			if n < 0 {
				t.Kind, t.End = Unterminated, len(text)
				return
			}
			i += 2 + n + 2
		default:
			i++
		}
	}
	t.Kind, t.End = Unterminated, len(text)
}

// backslash scans \N, which is NULL for MariaDB; no server reads another one.
func (s *Scanner) backslash(t *Token) {
	if t.End < len(s.text) && s.text[t.End] == 'N' && s.o.Flavor != flavor.MySQL {
		t.Kind, t.End = Word, t.End+1
		return
	}
	t.Kind = Invalid
}
