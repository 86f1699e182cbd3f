package sqltoken

import (
	"strings"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
)

// Options say how the server that will get the text reads it. The zero value
// reads as a server with the default sql_mode and a UTF-8 client, and takes
// every executable comment for code of an unknown server.
type Options struct {
	// Flavor decides which executable comments are code. With
	// flavor.Unknown those that the two families read differently are
	// undecided.
	Flavor flavor.Flavor
	// Oldest and Newest are the versions of the servers that may get the text,
	// as 90704 for 9.7.4 and 101119 for 10.11.19. Newest 0 is no limit. A
	// comment for a version between them is undecided.
	Oldest, Newest int
	// ANSIQuotes is sql_mode ANSI_QUOTES: "x" is a name.
	ANSIQuotes bool
	// NoBackslashEscapes is sql_mode NO_BACKSLASH_ESCAPES, which a server also
	// reports in its status flags.
	NoBackslashEscapes bool
	// Charset is character_set_client.
	Charset Charset
	// SkipUndecided reads an executable comment that is undecided as a comment;
	// without it, as code. A caller that must be sure scans both ways.
	SkipUndecided bool
}

// Scanner cuts a text into tokens. It is a value on the caller's stack, for one
// goroutine.
type Scanner struct {
	text      string
	pos       int
	o         *Options
	exec      bool
	undecided int // the version of the first undecided comment, see decideLater; 0 is none
	// part says that the next run of name bytes is a part of a qualified name
	// though it may look like a number: t.1e5.
	part bool
	skip bool // Options.SkipUndecided
	wide bool // the character set has bytes over 0x7F that need a look
}

// New returns a scanner at the start of text. The text may lie in memory that
// the caller overwrites later, as long as it stays unchanged until the last
// token has been read. The options are read, never changed, and must outlive
// the scanner.
func New(text string, o *Options) Scanner {
	return Scanner{text: text, o: o, wide: o.Charset.multiByte(), skip: o.SkipUndecided}
}

// NewSkipping is New with Options.SkipUndecided.
func NewSkipping(text string, o *Options) Scanner {
	s := New(text, o)
	s.skip = true
	return s
}

// Undecided says whether an executable comment has been met of which the
// options cannot tell if it is code.
func (s *Scanner) Undecided() bool { return s.undecided != 0 }

// What a byte can begin.
const (
	other  = iota // a byte over 0x7F, or one that no server reads outside quotes; [ begins a name under MSSQL
	space         // white space
	letter        // letters and _
	dollar        // $: a letter, or the start of a dollar-quoted string
	digit         // 0-9
	quote         // ' " `
	slash         // / may open a comment
	dash          // - may open a comment
	hash          // # opens one
	at            // @
	colon         // : may be :=
	dot           // . may begin a number
	star          // * may close an executable comment
	semi          // ;
	escape        // \\
	single        // any other punctuation
)

var classes = [256]uint8{
	'\t': space, '\n': space, '\v': space, '\f': space, '\r': space, ' ': space,
	'0': digit, '1': digit, '2': digit, '3': digit, '4': digit,
	'5': digit, '6': digit, '7': digit, '8': digit, '9': digit,
	'a': letter, 'b': letter, 'c': letter, 'd': letter, 'e': letter, 'f': letter, 'g': letter,
	'h': letter, 'i': letter, 'j': letter, 'k': letter, 'l': letter, 'm': letter, 'n': letter,
	'o': letter, 'p': letter, 'q': letter, 'r': letter, 's': letter, 't': letter, 'u': letter,
	'v': letter, 'w': letter, 'x': letter, 'y': letter, 'z': letter,
	'A': letter, 'B': letter, 'C': letter, 'D': letter, 'E': letter, 'F': letter, 'G': letter,
	'H': letter, 'I': letter, 'J': letter, 'K': letter, 'L': letter, 'M': letter, 'N': letter,
	'O': letter, 'P': letter, 'Q': letter, 'R': letter, 'S': letter, 'T': letter, 'U': letter,
	'V': letter, 'W': letter, 'X': letter, 'Y': letter, 'Z': letter,
	'_': letter, '$': dollar,
	'\'': quote, '"': quote, '`': quote, '/': slash, '-': dash, '#': hash, '@': at, ':': colon, '.': dot,
	'*': star, ';': semi, '(': single, ')': single, ',': single, '=': single, '<': single, '>': single,
	'+': single, '%': single, '!': single, '&': single, '|': single, '^': single, '~': single, '?': single,
	'{': single, '}': single, '\\': escape,
}

// Next returns the next token; at the end of the text, EOF.
func (s *Scanner) Next() Token {
	var t Token
	s.Scan(&t)
	return t
}

// Scan is Next for a caller that has a place for the token. What most tokens
// are, words, whole numbers and punctuation, is read here; the rest in scan.
func (s *Scanner) Scan(t *Token) {
	text, i := s.text, s.pos
	t.Space, t.Exec = i, s.exec
	for i < len(text) && classes[text[i]] == space {
		i++
	}
	if i < len(text) {
		switch classes[text[i]] {
		case letter:
			j := i + 1
			for j < len(text) && classes[text[j]]-letter <= digit-letter {
				j++
			}
			if j < len(text) && (text[j] == '\'' || text[j] >= 0x80) {
				break
			}
			t.Kind, t.Start, t.End = Word, i, j
			s.pos, s.part = j, j < len(text) && text[j] == '.'
			return
		case digit:
			j := i + 1
			for j < len(text) && classes[text[j]] == digit {
				j++
			}
			if s.part || j < len(text) && (classes[text[j]]-letter <= digit-letter || text[j] == '.' || text[j] >= 0x80) {
				break
			}
			t.Kind, t.Start, t.End = Number, i, j
			s.pos = j
			return
		case quote:
			if j := s.plainString(i); j > 0 {
				t.Kind, t.Start, t.End = String, i, j
				s.pos, s.part = j, false
				return
			}
		case dot:
			if i+1 < len(text) && classes[text[i+1]] == digit {
				break
			}
			t.Kind, t.Start, t.End = Op, i, i+1
			s.pos, s.part = i+1, false
			return
		case star, dash:
			if s.exec || i+1 >= len(text) || text[i+1] == text[i] {
				break
			}
			t.Kind, t.Start, t.End = Op, i, i+1
			s.pos, s.part = i+1, false
			return
		case single:
			t.Kind, t.Start, t.End = Op, i, i+1
			s.pos, s.part = i+1, false
			return
		}
	}
	s.scan(t, i)
}

// plainString returns the end of the string at i if there is nothing in it but
// ASCII without escapes, else 0.
func (s *Scanner) plainString(i int) int {
	text := s.text
	if text[i] != '\'' {
		return 0
	}
	for j := i + 1; j < len(text); j++ {
		switch c := text[j]; {
		case c == '\'':
			if j+1 < len(text) && text[j+1] == '\'' {
				return 0
			}
			return j + 1
		case c == '\\' || c >= 0x80:
			return 0
		}
	}
	return 0
}

// scan reads the token at i, behind white space of one byte a character.
func (s *Scanner) scan(t *Token, i int) {
	text := s.text
	for i < len(text) && (classes[text[i]] == space || text[i] >= 0x80 && s.highSpace(i)) {
		i++
	}
	t.Start, t.End = i, i+1
	s.part = s.part && t.Space == i
	if i >= len(text) {
		s.pos, t.Start, t.End, t.Kind = i, i, i, EOF
		if s.exec {
			s.exec, t.Kind = false, Unterminated
		}
		return
	}
	s.start(t, i, text[i])
	// Only right behind "name." is a number a name.
	s.part = t.Kind == Word && t.End < len(text) && text[t.End] == '.' || s.part && t.Kind == Op && text[i] == '.'
	s.pos = t.End
}

// start reads the token that begins with the byte c at i.
func (s *Scanner) start(t *Token, i int, c byte) {
	t.Kind = Op
	switch classes[c] {
	case letter:
		s.word(t)
	case dollar:
		s.dollar(t)
	case digit:
		s.digits(t)
	case quote:
		s.quoted(t, i)
	case semi:
		t.Kind = Semicolon
	case single:
	case escape:
		s.backslash(t)
	case dot:
		if !s.part && classes[s.byte(i+1)] == digit {
			s.fraction(t)
		}
	case slash:
		if s.byte(i+1) == '*' {
			s.blockComment(t)
		}
	case star:
		if s.exec && s.byte(i+1) == '/' {
			t.Kind, t.End, s.exec = ExecClose, i+2, false
		}
	case dash:
		if s.byte(i+1) == '-' && s.dashed(i+2) {
			s.lineComment(t)
		}
	case hash:
		s.lineComment(t)
	case at:
		s.variable(t)
	case colon:
		if s.byte(i+1) == '=' {
			t.Kind, t.End = Assign, i+2
		}
	default:
		if s.highWord(i) > 0 {
			s.word(t)
		} else {
			t.Kind = Invalid
		}
	}
}

// byte returns the byte at i, 0 at the end of the text.
func (s *Scanner) byte(i int) byte {
	if i >= len(s.text) {
		return 0
	}
	return s.text[i]
}

// dashed says whether -- in front of i begins a comment: white space or a
// control character must follow, or nothing.
func (s *Scanner) dashed(i int) bool {
	c := s.byte(i)
	return c <= ' ' || c == 0x7f || c >= 0x80 && s.o.Charset.dashed(c)
}

// highSpace says whether the byte over 0x7F at i is white space.
func (s *Scanner) highSpace(i int) bool {
	return s.text[i] >= 0x80 && s.o.Charset.space(s.text[i])
}

// highWord returns the length of the character at i, whose first byte is over
// 0x7F, if it can be part of an unquoted name, else 0.
func (s *Scanner) highWord(i int) int {
	if s.text[i] < 0x80 {
		return 0
	}
	return s.o.Charset.wordLen(s.text, i)
}

// run returns the end of the bytes of an unquoted name that begin at i.
func (s *Scanner) run(i int) int {
	text := s.text
	for i < len(text) {
		switch classes[text[i]] {
		case letter, digit, dollar:
			i++
			continue
		case other:
			if n := s.highWord(i); n > 0 {
				i += n
				continue
			}
		}
		break
	}
	return i
}

// word scans a name or keyword, or the string behind N, x and b.
func (s *Scanner) word(t *Token) {
	t.Kind, t.End = Word, s.run(t.Start)
	if t.End-t.Start != 1 || t.End >= len(s.text) || s.text[t.End] != '\'' {
		return
	}
	switch s.text[t.Start] {
	case 'N', 'n':
		s.quoted(t, t.End)
	case 'X', 'x', 'B', 'b':
		s.bits(t, t.End)
	}
}

// digits scans what begins with a digit: a number, or a name such as 1abc.
func (s *Scanner) digits(t *Token) {
	text, start := s.text, t.Start
	end := s.run(start)
	t.End = end
	if s.part {
		t.Kind = Word
		return
	}
	t.Kind = Number
	digits := start
	for digits < end && classes[text[digits]] == digit {
		digits++
	}
	switch {
	case digits < end && text[digits] >= 0x80 && s.wide: // the two families cut it differently
		t.Kind = Invalid
	case digits == end: // 12, 1.5, 1.e5
		if end < len(text) && text[end] == '.' {
			t.End = s.exponent(s.skipDigits(end + 1))
		}
	case text[digits]|0x20 == 'e': // 1e5 and 1e+5, also in 1e5FROM; 1e is a name
		if t.End = s.exponent(digits); t.End == digits {
			t.Kind, t.End = Word, end
		}
	case start+1 == digits && text[start] == '0' && end > start+2 && based(text[digits:end]): // 0x41, 0b01
	default:
		t.Kind = Word
	}
}

// based says whether the text behind the 0 of 0x41 or 0b01 makes it a number.
func based(text string) bool {
	valid := "01"
	switch text[0] {
	case 'x':
		valid = "0123456789abcdefABCDEF"
	case 'b':
	default:
		return false // 0X41 is a name
	}
	return strings.Trim(text[1:], valid) == ""
}

// fraction scans .5 and .5e3.
func (s *Scanner) fraction(t *Token) {
	t.Kind, t.End = Number, s.exponent(s.skipDigits(t.Start+1))
}

func (s *Scanner) skipDigits(i int) int {
	for i < len(s.text) && classes[s.text[i]] == digit {
		i++
	}
	return i
}

// exponent returns the end of e5, e+5 or e-5 at i, or i if there is none.
func (s *Scanner) exponent(i int) int {
	if i+1 >= len(s.text) || s.text[i]|0x20 != 'e' {
		return i
	}
	first := i + 1
	if s.text[first] == '+' || s.text[first] == '-' {
		first++
	}
	if end := s.skipDigits(first); end > first {
		return end
	}
	return i
}

// variable scans @x, @'x' and @@.
func (s *Scanner) variable(t *Token) {
	text, i := s.text, t.Start+1
	t.Kind = Op
	if i >= len(text) {
		return
	}
	switch {
	case text[i] == '@':
		t.Kind, t.End = SysVar, i+1
	case classes[text[i]] == quote:
		s.quoted(t, i)
		if t.Kind != Unterminated {
			t.Kind = UserVar
		}
	default: // byte by byte: a character's second byte may be a quote here
		end := i
		for end < len(text) && (classes[text[end]] <= digit && classes[text[end]] >= letter || text[end] == '.' ||
			text[end] >= 0x80 && s.o.Charset.inVariable(text[end])) {
			end++
		}
		if end > i {
			t.Kind, t.End = UserVar, end
		}
	}
}
