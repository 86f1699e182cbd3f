package suites

import (
	_ "embed"
	"strings"
	"unicode"
)

//go:embed commands.txt
var commandList string

// kind is what a command of mysqltest does with the rest of its text.
type kind uint8

const (
	ownKind   kind = iota
	queryKind      // is sent
	evalKind       // is sent when variables are replaced
	linesKind      // lines follow that are no commands
)

// language is what is known of mysqltest's.
type language struct {
	kinds    map[string]kind // by command
	patterns *patterns
}

func newLanguage() *language {
	words := map[string]kind{"": ownKind, "query": queryKind, "eval": evalKind, "lines": linesKind}
	l := &language{kinds: map[string]kind{}, patterns: newPatterns()}
	for line := range strings.Lines(commandList) {
		if name, word, _ := strings.Cut(strings.TrimSpace(line), " "); name != "" && name != "#" {
			l.kinds[name] = words[word]
		}
	}
	return l
}

// extractor takes the statements out of one file. It does not run the test:
// it reads from the first line to the last, both branches of every condition
// and the body of every loop once.
type extractor struct {
	*reader
	kinds     map[string]kind
	counts    *Counts
	variables variables
	sessions  *sessions
	expected  []string // the errors that the next command may have
	depth     int      // of blocks
	template  Statement
	source    func(name string, c setting)
	yield     func(Statement) bool
}

// extract calls yield for each statement of the text until that returns
// false, which extract then returns. It calls source for each file that is
// included.
func (l *language) extract(
	text []byte, of Statement, in setting, counts *Counts, source func(string, setting), yield func(Statement) bool,
) bool {
	e := &extractor{
		reader: newReader(text, of.Flavor), kinds: l.kinds, counts: counts, variables: variables{},
		sessions: newSessions(in, l.patterns), template: of, source: source, yield: yield,
	}
	e.reader.charset = in.reader
	for {
		e.reader.mode = e.sessions.current.mode
		c, more := e.next()
		if !more {
			return true
		}
		goOn, end := e.command(c)
		if !goOn || end {
			return goOn
		}
	}
}

// command interprets one command. end tells that the test ends here.
func (e *extractor) command(c command) (goOn, end bool) {
	word, argument := firstWord(c.text, e.delimiter)
	name := strings.ToLower(word)
	k, own := e.kinds[name]
	expected := e.expected
	e.expected = nil
	switch {
	case c.text == "{":
		e.depth++
		e.expected = expected
		return true, false
	case c.text == "}":
		e.depth--
		return true, false
	case !own && c.oneLine:
		e.counts.Skipped["a line that begins with -- and no command"]++
		return true, false
	case !own:
		return e.send(c.text, c, Plain, false, expected), false
	case k == queryKind:
		return e.send(argument, c, Plain, false, expected), false
	case k == evalKind:
		text, guessed := e.variables.expand(argument)
		if guessed && strings.HasPrefix(argument, "$") {
			e.counts.Skipped["the statement is in an unknown variable"]++
			return true, false
		}
		return e.send(text, c, Evaluated, guessed, expected), false
	}
	e.counts.Commands[name]++
	if k == linesKind {
		e.skipLines(embeddedEnd(name, argument), c)
		return true, false
	}
	return e.own(name, argument, c)
}

// own interprets a command that sends nothing, or a query for its value.
func (e *extractor) own(name, argument string, c command) (goOn, end bool) {
	switch name {
	case "error":
		e.expected = strings.FieldsFunc(argument, func(r rune) bool { return r == ',' || r == ';' || unicode.IsSpace(r) })
	case "delimiter":
		if argument != "" {
			e.delimiter = argument
		}
	case "character_set":
		e.charset = strings.ToLower(strings.TrimRight(argument, "; "))
		e.sessions.newCharset = e.charset
	case "connect":
		arguments, _ := e.variables.expand(strings.Trim(argument, "();\r\n\t "))
		first, _, _ := strings.Cut(arguments, ",")
		e.sessions.connect(strings.TrimSpace(first))
	case "connection":
		to, _ := e.variables.expand(argument)
		e.sessions.use(strings.TrimRight(to, "; \t"))
	case "change_user", "reset_connection":
		e.sessions.reset()
	case "disable_parsing":
		e.skipParsing()
	case "let":
		value, guessed := e.variables.let(argument)
		return e.value(value, guessed, c), false
	case "inc", "dec":
		delete(e.variables, strings.TrimPrefix(argument, "$"))
	case "if", "while":
		return e.value(argument, false, c), false
	case "source":
		file, _ := e.variables.expand(strings.TrimRight(argument, "; \t"))
		e.source(file, e.setting())
	case "exit", "die", "skip":
		return true, e.depth <= 0
	}
	return true, false
}

// value sends the query that a value or a condition comes from. mysqltest
// replaces variables in it, also if let has done so before.
func (e *extractor) value(value string, guessed bool, c command) bool {
	query, found := queryOf(value)
	if !found {
		return true
	}
	text, guess := e.variables.expand(query)
	guessed = guessed || guess
	if text == placeholder || guess && strings.HasPrefix(query, "$") {
		e.counts.Skipped["the statement is in an unknown variable"]++
		return true
	}
	return e.send(unquote(text), c, Quoted, guessed, nil)
}

func (e *extractor) send(text string, c command, from Source, guessed bool, expected []string) bool {
	if text = strings.TrimRight(text, " \t\r\n"); text == "" {
		return true
	}
	s := e.template
	if from != Quoted && !c.oneLine {
		s.Delimiter = e.delimiter
	}
	s.Line, s.Text, s.Source, s.Guessed, s.Errors = c.line, text, from, guessed, expected
	s.Mode, s.Charset = e.sessions.current.mode, e.sessions.current.charset
	e.counts.Statements++
	e.counts.Sources[from]++
	if guessed {
		e.counts.Guessed++
	}
	if len(expected) == 0 || s.Fails("0") {
		e.sessions.apply(text)
	}
	return e.yield(s)
}

// skipParsing moves behind enable_parsing: what is before is not part of the
// test and need not be well-formed.
func (e *extractor) skipParsing() {
	for e.pos < len(e.text) {
		line := strings.ToLower(strings.TrimLeft(e.restOfLine(), "- \t"))
		if strings.HasPrefix(line, "enable_parsing") {
			return
		}
	}
}

// firstWord splits off the word that may be a command. It ends at a space, an
// opening parenthesis or the delimiter.
func firstWord(text, delimiter string) (word, rest string) {
	end := 0
	for end < len(text) && !isSpace(text[end]) && text[end] != '(' && !strings.HasPrefix(text[end:], delimiter) {
		end++
	}
	return text[:end], strings.TrimSpace(text[end:])
}

// embeddedEnd returns what the line after embedded lines begins with: the
// last argument, but perl's has no other before it.
func embeddedEnd(name, argument string) string {
	words := strings.Fields(argument)
	needed := 2
	if name == "perl" {
		needed = 1
	}
	if len(words) < needed {
		return "EOF"
	}
	return words[len(words)-1]
}
