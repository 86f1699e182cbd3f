package sqltoken

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
)

// Piece is one statement of a stream.
type Piece struct {
	// Text is the statement with the comments in front of it and without its
	// delimiter. A comment of one line behind the delimiter, on its line,
	// belongs to it: the mysql client sends it so.
	Text string
	// Line is the line, from 1, of the first token that is no comment.
	Line int
	// Command says that it is no statement but a command of the mysql client,
	// such as source FILE, which a server never sees. Text is its line then.
	Command bool
}

// Errors of Split, which say the line.
var (
	// ErrDelimiter is a DELIMITER without a word, or with a backslash in it.
	ErrDelimiter = errors.New("DELIMITER must be followed by a word without a backslash")
	// ErrTooLong is a statement that is longer than any server takes (1 GiB).
	ErrTooLong = errors.New("a statement is longer than 1 GiB")
)

const (
	maxStatement = 1 << 30
	chunkSize    = 64 << 10
	// lookahead is how far behind a token its end may depend on the text.
	lookahead = 8
)

// Split cuts a stream into statements as the mysql client does: at semicolons
// or the delimiter that DELIMITER sets, at \g and \G, and drops what stands in
// front of \c. Unlike the client it keeps the body of a stored program and an
// executable comment whole where the delimiter is a semicolon, and gives a
// comment in front of a statement to the statement. Empty statements are left
// out; one of comments only is not, if it has a delimiter.
//
// USE NAME without a delimiter is a statement, the client's other commands are
// pieces of their own kind.
//
// The options are read anew for each statement, so that the caller can follow
// SET sql_mode and SET NAMES between two of them. It reads each byte a few times
// at most and holds one statement at a time. The first error is the last thing
// that is given out; it is ErrDelimiter, ErrTooLong or the reader's.
func Split(r io.Reader, o *Options) iter.Seq2[Piece, error] {
	return func(yield func(Piece, error) bool) {
		s := splitter{r: r, o: o, line: 1, bol: true, delimiter: ";"}
		for {
			p, err := s.next()
			if err == io.EOF || !yield(p, err) || err != nil {
				return
			}
		}
	}
}

// splitter is one stream being cut.
type splitter struct {
	r         io.Reader
	o         *Options
	buf       string // what has been read and not been given out
	line      int    // the line of buf's first byte
	bol       bool   // buf begins a line
	started   bool   // something has been read
	eof       bool
	delimiter string
}

// cut is where a piece ends in buf.
type cut struct {
	text    string
	first   int // the first token that is no comment
	end     int // what follows begins here
	command bool
	skip    bool // nothing to give out
	more    bool // the end has not been read yet
	err     error
}

// next returns the next piece, or io.EOF.
func (s *splitter) next() (Piece, error) {
	for {
		c := s.scan()
		switch {
		case c.err != nil:
			return Piece{}, fmt.Errorf("line %d: %w", s.lineOf(c.first), c.err)
		case c.more:
			if err := s.fill(); err != nil {
				return Piece{}, err
			}
			continue
		}
		p := Piece{Text: trim(c.text), Line: s.lineOf(c.first), Command: c.command}
		if s.eof && c.end == len(s.buf) && (c.skip || p.Text == "") {
			return Piece{}, io.EOF
		}
		s.consume(c.end)
		if !c.skip && p.Text != "" {
			return p, nil
		}
	}
}

func trim(text string) string { return strings.Trim(text, " \t\r\n\v\f") }

func (s *splitter) lineOf(at int) int { return s.line + strings.Count(s.buf[:at], "\n") }

func (s *splitter) consume(end int) {
	if end == 0 {
		return
	}
	s.line = s.lineOf(end)
	s.bol = s.buf[end-1] == '\n'
	s.buf = s.buf[end:]
}

// fill reads on. Where much is waiting already it reads as much again, so that
// a long statement is scanned a few times only.
func (s *splitter) fill() error {
	if len(s.buf) >= maxStatement {
		return fmt.Errorf("line %d: %w", s.line, ErrTooLong)
	}
	chunk := make([]byte, max(chunkSize, len(s.buf)))
	least := 1
	if len(s.buf) >= chunkSize {
		least = len(chunk)
	}
	n, err := io.ReadAtLeast(s.r, chunk, least)
	switch err {
	case nil:
	case io.EOF, io.ErrUnexpectedEOF:
		s.eof = true
	default:
		return fmt.Errorf("read statements: %w", err)
	}
	s.buf += string(chunk[:n])
	if !s.started && (len(s.buf) >= 3 || s.eof) { // a byte order mark, which the client skips too
		s.buf, s.started = strings.TrimPrefix(s.buf, "\ufeff"), true
	}
	return nil
}

// scan looks for the end of the piece at the start of buf.
func (s *splitter) scan() cut {
	c := cutter{splitter: s, first: -1, lex: New(s.buf, s.o)}
	c.find(0)
	if len(s.buf) < 3 && !s.started {
		return cut{more: true}
	}
	for {
		t := c.lex.Next()
		if t.End+max(lookahead, len(s.delimiter)) > len(s.buf) && !s.eof {
			return cut{more: true}
		}
		if found, ok := c.token(t); ok {
			return found
		}
	}
}

// cutter looks for the end of one piece.
type cutter struct {
	*splitter
	lex   Scanner
	first int // the first token that is no comment, -1 before it
	at    int // the next place of a delimiter that is not ;, -1 if there is none
	body  body
}

// find looks for the next delimiter that is not a semicolon.
func (c *cutter) find(from int) {
	c.at = -1
	if c.delimiter == ";" {
		return
	}
	if n := strings.Index(c.buf[from:], c.delimiter); n >= 0 {
		c.at = from + n
	}
}

// token takes the next token, and returns the piece if that ends it.
func (c *cutter) token(t Token) (cut, bool) {
	for c.at >= 0 && c.at < t.End {
		if c.at <= t.Start || !c.quoted(t) {
			return c.ended(c.at, len(c.delimiter)), true
		}
		c.find(t.End)
	}
	switch t.Kind {
	case EOF:
		if c.first < 0 { // comments only
			return cut{first: t.Start, end: t.End, skip: true}, true
		}
		return cut{text: c.buf, first: c.first, end: t.End}, true
	case Comment, Hint:
		return cut{}, false
	case Semicolon:
		if c.delimiter == ";" && !t.Exec && c.body.open() == 0 {
			return c.ended(t.Start, 1), true
		}
	case Invalid:
		if c.buf[t.Start] == '\\' && t.End < len(c.buf) {
			if found, ok := c.backslash(t); ok {
				return found, true
			}
		}
	case Word:
		if c.first < 0 && c.lineStart(t.Start) {
			if found, ok := c.command(t); ok {
				return found, true
			}
		}
	}
	if c.first < 0 {
		c.first = t.Start
	}
	c.body.feed(c.buf, t)
	return cut{}, false
}

// quoted says whether the client sees no delimiter inside the token.
func (c *cutter) quoted(t Token) bool {
	switch t.Kind {
	case String, Name, Comment, Hint, Unterminated:
		return true
	case UserVar:
		return classes[c.buf[t.Start+1]] == quote
	}
	return false
}

// ended is the piece that ends at a delimiter.
func (c *cutter) ended(at, length int) cut {
	found := cut{text: c.buf[:at], first: c.first, end: at + length}
	if found.first < 0 {
		found.first = len(c.buf[:at]) - len(strings.TrimLeft(c.buf[:at], " \t\r\n\v\f"))
	}
	rest := c.buf[found.end:]
	behind := strings.TrimLeft(rest, " \t\r")
	if !strings.HasPrefix(behind, "#") && !strings.HasPrefix(behind, "-- ") && !strings.HasPrefix(behind, "--\t") {
		return found
	}
	line := strings.IndexByte(rest, '\n')
	if line < 0 {
		if !c.eof {
			return cut{more: true}
		}
		line = len(rest)
	}
	if trim(found.text) != "" {
		found.text += rest[:line]
	}
	found.end += line
	return found
}

// lineStart says whether nothing but white space stands in front of i in its
// line.
func (c *cutter) lineStart(i int) bool {
	n := strings.LastIndexByte(c.buf[:i], '\n')
	return (n >= 0 || c.bol) && trim(c.buf[n+1:i]) == ""
}

// body tells by its first words whether a statement has a body of statements.
type body struct {
	stage  bodyStage
	words  int
	blocks Nesting
}

type bodyStage uint8

const (
	bodyUnknown bodyStage = iota // the next word is the first
	bodyBegin                    // behind BEGIN, which may be a transaction's
	bodyHeader                   // behind CREATE or ALTER
	bodyNone
	bodyFound
)

func (b *body) open() int {
	if b.stage != bodyFound {
		return 0
	}
	return b.blocks.Open()
}

func (b *body) feed(text string, t Token) {
	if b.stage == bodyNone || t.Kind == ExecOpen || t.Kind == ExecClose {
		return
	}
	if b.stage != bodyFound {
		b.look(text, t)
	}
	if b.stage != bodyNone {
		b.blocks.Feed(text, t)
	}
}

// headerWords is how many tokens may stand between CREATE and what is created.
const headerWords = 40

// look takes one token of the beginning.
func (b *body) look(text string, t Token) {
	w := strings.ToLower(text[t.Start:t.End])
	if t.Kind != Word && b.stage != bodyHeader {
		b.stage = bodyNone
		return
	}
	switch b.stage {
	case bodyBegin: // BEGIN NOT ATOMIC
		b.stage = bodyNone
		if w == "not" {
			b.stage = bodyFound
		}
	case bodyHeader:
		b.header(w)
	default:
		switch w {
		case "create", "alter":
			b.stage = bodyHeader
		case "begin":
			b.stage = bodyBegin
		case "if", "case", "loop", "while", "repeat", "for":
			b.stage = bodyFound
		default:
			b.stage = bodyNone
		}
	}
}

func (b *body) header(w string) {
	b.words++
	switch w {
	case "procedure", "function", "trigger", "event", "package":
		b.stage = bodyFound
	case "table", "view", "database", "schema", "index", "user", "role", "server", "sequence", "tablespace":
		b.stage = bodyNone
	default:
		if b.words > headerWords {
			b.stage = bodyNone
		}
	}
}
