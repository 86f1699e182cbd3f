package sqltoken

import "strings"

// clientCommands are the mysql client's, of which a server sees nothing. They
// count at the start of a line and of a statement, where the line has no
// delimiter.
const clientCommands = " source system tee notee pager nopager prompt rehash status quit exit print edit go ego clear " +
	"connect charset warnings nowarning resetconnection help ssl_session_data_print query_attributes "

// command looks at the first word of a line that begins a statement.
func (c *cutter) command(t Token) (cut, bool) {
	word := strings.ToLower(c.buf[t.Start:t.End])
	delimiter, use := word == "delimiter", word == "use"
	if !delimiter && !use && !strings.Contains(clientCommands, " "+word+" ") {
		return cut{}, false
	}
	line, end, ok := c.restOfLine(t.Start)
	if !ok {
		return cut{more: true}, true
	}
	argument := line[t.End-t.Start:]
	if trim(argument) == argument && argument != "" { // more of the word
		return cut{}, false
	}
	found := cut{text: line, first: t.Start, end: end}
	switch {
	case delimiter:
		return c.setDelimiter(found, argument), true
	case strings.Contains(line, c.delimiter), strings.Contains(line, `\g`), strings.Contains(line, `\G`):
		return cut{}, false
	case use:
		if trim(argument) == "" {
			return cut{}, false
		}
		found.text = c.buf[:t.Start+len(line)]
	default:
		found.command = true
	}
	return found, true
}

// restOfLine returns the text from i to the end of the line, and where the next
// line begins. It returns false if that has not been read yet.
func (c *cutter) restOfLine(i int) (line string, end int, ok bool) {
	n := strings.IndexByte(c.buf[i:], '\n')
	if n < 0 {
		return c.buf[i:], len(c.buf), c.eof
	}
	return strings.TrimSuffix(c.buf[i:i+n], "\r"), i + n + 1, true
}

func (c *cutter) setDelimiter(found cut, argument string) cut {
	argument = trim(argument)
	word := strings.FieldsFunc(argument, func(r rune) bool { return r == ' ' || r == '\t' })
	if len(word) > 0 {
		argument = word[0]
	}
	if argument != "" && classes[argument[0]] == quote {
		rest, _, _ := strings.Cut(argument[1:], argument[:1])
		argument = rest
	}
	if argument == "" || strings.Contains(argument, `\`) {
		found.err = ErrDelimiter
		return found
	}
	c.splitter.delimiter = argument
	found.skip = true
	return found
}

// backslash looks at a backslash outside quotes, with which the client has
// commands anywhere.
func (c *cutter) backslash(t Token) (cut, bool) {
	switch c.buf[t.End] {
	case 'g', 'G':
		return c.ended(t.Start, 2), true
	case 'c':
		return cut{first: t.Start, end: t.End + 1, skip: true}, true
	}
	if c.first >= 0 {
		return cut{}, false
	}
	line, end, ok := c.restOfLine(t.Start)
	if !ok {
		return cut{more: true}, true
	}
	if len(line) < 2 { // a backslash at the end of the line
		return cut{}, false
	}
	found := cut{text: line, first: t.Start, end: end, command: true}
	switch line[1] {
	case 'd':
		return c.setDelimiter(found, line[2:]), true
	case 'u':
		found.text, found.command = "use "+trim(line[2:]), false
	}
	return found, true
}
