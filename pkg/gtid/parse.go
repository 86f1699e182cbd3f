package gtid

import "strings"

// Parse reads a GTID set exactly as MySQL 9.7 reads it. White space may stand between any two
// parts and commas may be repeated; numbers are decimal; UUIDs may be in braces or without dashes.
// A tag holds until the next tag or comma. As on the server, a reversed interval such as 5-3 and a
// UUID without intervals contribute nothing: use ParseStrict where that would hide a mistake.
// The error is a *ParseError with the server's offset. The one exception are bytes outside ASCII
// in a tag, which the server by an oversight takes for one another and which are refused here.
func Parse(s string) (Set, error) {
	p := parser{text: s}
	set, err := p.run()
	if err != nil {
		return Set{}, err
	}
	return set, nil
}

// ParseStrict reads a GTID set and refuses every text that some server would read differently or
// in part: reversed intervals, UUIDs and tags without an interval, empty elements between commas
// (dropped), leading zeros (octal up to MySQL 9.5), braces and missing dashes (refused up to 9.5).
// What it accepts is what Parse returns. The error is a *ParseError.
func ParseStrict(s string) (Set, error) {
	p := parser{text: s, strict: true}
	set, err := p.run()
	if err != nil {
		return Set{}, err
	}
	return set, nil
}

// presize bounds the intervals that are made room for before any is read, so that a text of
// nothing but colons cannot ask for much.
const presize = 1 << 16

// parser reads a text from left to right and never goes back: what starts with a colon, a minus or
// a comma can be read in one way only.
type parser struct {
	text      string
	pos       int
	strict    bool
	complaint *ParseError // the first thing that only strict reading refuses
	out       builder
}

func (p *parser) run() (Set, *ParseError) {
	p.out.ivs = make([]Interval, 0, min(strings.Count(p.text, ":"), presize))
	if err := p.set(); err != nil {
		return Set{}, err
	}
	if p.complaint != nil {
		return Set{}, p.complaint
	}
	return p.out.set(), nil
}

func (p *parser) errorAt(pos int, msg string) *ParseError {
	return &ParseError{Offset: pos, Msg: msg, Near: near(p.text, pos), what: "GTID set"}
}

// complain notes what strict reading refuses. An error of syntax further on is reported instead.
func (p *parser) complain(pos int, msg string) {
	if p.strict && p.complaint == nil {
		p.complaint = p.errorAt(pos, msg)
	}
}

// peek returns the byte at the position, or 0 at the end: no part of a set starts with a NUL.
func (p *parser) peek() byte {
	if p.pos < len(p.text) {
		return p.text[p.pos]
	}
	return 0
}

func (p *parser) space() {
	for p.pos < len(p.text) && isSpace(p.text[p.pos]) {
		p.pos++
	}
}

// spaces is what MySQL takes for white space between the parts of a set.
const spaces = " \t\n\v\f\r"

func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

func (p *parser) set() *ParseError {
	p.space()
	p.commas(0)
	for p.pos < len(p.text) {
		if err := p.uuidSet(); err != nil {
			return err
		}
		if p.pos == len(p.text) {
			break
		}
		if p.peek() != ',' {
			return p.errorAt(p.pos, `expected ","`)
		}
		p.commas(1)
	}
	return nil
}

// commas skips commas and the white space behind each. Elements are missing when there are more
// than allowed, or when nothing follows.
func (p *parser) commas(allowed int) {
	for p.peek() == ',' {
		comma := p.pos
		p.pos++
		p.space()
		if allowed--; allowed < 0 || p.pos == len(p.text) {
			p.complain(comma, "empty element beside a comma")
		}
	}
}

// uuidSet reads a UUID and its tags and intervals up to the next comma.
func (p *parser) uuidSet() *ParseError {
	bare := p.pos // start of the UUID or tag that has no interval yet, or -1
	u, err := p.uuid()
	if err != nil {
		return err
	}
	p.space()
	key := Source{UUID: u}
	p.out.open(key)
	for p.peek() == ':' {
		p.pos++
		p.space()
		if !isTagStart(p.peek()) {
			if err := p.interval(); err != nil {
				return err
			}
			bare = -1
			continue
		}
		if key.Tag != "" && bare >= 0 {
			p.complain(bare, "tag without an interval, which servers drop")
		}
		bare = p.pos
		if key.Tag, err = p.tag(key.Tag); err != nil {
			return err
		}
		p.out.open(key)
	}
	if bare >= 0 {
		p.complain(bare, "no interval, which servers take for nothing")
	}
	return nil
}

// uuid reads a UUID. Braces need dashes; without braces the first group decides about the rest.
func (p *parser) uuid() (u UUID, _ *ParseError) {
	start := p.pos
	braces := p.peek() == '{'
	if braces {
		p.complain(start, "UUID in braces, which servers before 9.6 refuse")
		p.pos++
	}
	dashes := true
	for i := range u {
		if dashBefore>>i&1 != 0 && dashes {
			switch {
			case p.peek() == '-':
				p.pos++
			case i == 4 && !braces:
				dashes = false
				p.complain(start, "UUID without dashes, which servers before 9.6 refuse")
			default:
				return u, p.errorAt(p.pos, `expected "-" in the UUID`)
			}
		}
		if len(p.text)-p.pos < 2 {
			return u, p.errorAt(p.pos, "expected two hexadecimal digits")
		}
		hi, lo := hexValue(p.text[p.pos]), hexValue(p.text[p.pos+1])
		if hi > 15 {
			return u, p.errorAt(p.pos, "expected a hexadecimal digit")
		}
		if lo > 15 {
			return u, p.errorAt(p.pos+1, "expected a hexadecimal digit")
		}
		u[i] = hi<<4 | lo
		p.pos += 2
	}
	if braces {
		if p.peek() != '}' {
			return u, p.errorAt(p.pos, `expected "}" after the UUID`)
		}
		p.pos++
	}
	return u, nil
}

// tag reads a tag and the white space behind it. It returns the old tag if the new one is equal,
// and else a copy, so that no set holds on to the text it was read from.
func (p *parser) tag(old string) (string, *ParseError) {
	start := p.pos
	for p.pos < len(p.text) && isTagByte(p.text[p.pos]) {
		p.pos++
	}
	tag := p.text[start:p.pos]
	if len(tag) > maxTagLen {
		return "", p.errorAt(start, "tag longer than 32 characters")
	}
	p.space()
	if tag == old {
		return old, nil
	}
	return strings.Clone(strings.ToLower(tag)), nil
}

// interval reads N or N-N and the white space behind it. A reversed one is dropped.
func (p *parser) interval() *ParseError {
	start := p.pos
	first, err := p.number()
	if err != nil {
		return err
	}
	if first < 1 || first > MaxSeq {
		return p.errorAt(start, "start of interval out of range")
	}
	p.space()
	last := first
	if p.peek() == '-' {
		p.pos++
		p.space()
		if last, err = p.number(); err != nil {
			return err
		}
		p.space()
		if last > MaxSeq {
			return p.errorAt(p.pos, "end of interval out of range")
		}
	}
	if last < first {
		p.complain(start, "reversed interval, which servers drop")
		return nil
	}
	p.out.add(Interval{int64(first), int64(last)})
	return nil
}

// number reads a decimal number of 64 bits.
func (p *parser) number() (uint64, *ParseError) {
	start := p.pos
	var n uint64
	for p.pos < len(p.text) && isDigit(p.text[p.pos]) {
		d := uint64(p.text[p.pos] - '0')
		if n > (1<<64-1-d)/10 {
			return 0, p.errorAt(start, "number out of range")
		}
		n = n*10 + d
		p.pos++
	}
	switch {
	case p.pos == start:
		return 0, p.errorAt(start, "expected a number")
	case p.text[start] == '0' && p.pos > start+1:
		p.complain(start, "leading zero, which makes the number octal before 9.6")
	}
	return n, nil
}
