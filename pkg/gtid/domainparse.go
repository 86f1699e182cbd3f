package gtid

import (
	"cmp"
	"math"
	"slices"
)

// ParseDomainPos reads a position exactly as MariaDB 10.11 reads one that a replica is to start
// from: domain-server-sequence joined by commas, each domain once. White space and a plus may stand
// before a number, nothing behind it; no entry may be empty. The empty text is the empty position.
// The error is a *ParseError; its offset is where the text stops making sense, which MariaDB does
// not tell.
func ParseDomainPos(s string) (DomainPos, error) {
	p := domainParser{text: s}
	pos, again, err := p.run()
	switch {
	case err != nil:
		return DomainPos{}, err
	case again >= 0:
		return DomainPos{}, p.errorAt(again, "domain given twice")
	}
	return pos, nil
}

// ParseBinlogState reads the value of gtid_binlog_state, which has an entry for each server that
// wrote to a domain, the most recent last, and returns the position it stands for: the last entry
// of each domain. The syntax and the error are those of ParseDomainPos.
func ParseBinlogState(s string) (DomainPos, error) {
	p := domainParser{text: s}
	pos, _, err := p.run()
	if err != nil {
		return DomainPos{}, err
	}
	return pos, nil
}

type domainParser struct {
	text string
	pos  int
}

// entry is a GTID and where it stands in the text.
type entry struct {
	DomainGTID
	offset int
}

// run returns the last entry of each domain, and the offset of the first entry whose domain was
// there before, or -1.
func (p *domainParser) run() (_ DomainPos, again int, _ *ParseError) {
	entries, err := p.entries()
	if err != nil {
		return DomainPos{}, -1, err
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Compare(a.Domain, b.Domain) })
	again = -1
	out := make([]DomainGTID, 0, len(entries))
	for i, e := range entries {
		if i == 0 || e.Domain != entries[i-1].Domain {
			out = append(out, e.DomainGTID)
			continue
		}
		out[len(out)-1] = e.DomainGTID
		if again < 0 || e.offset < again {
			again = e.offset
		}
	}
	return newDomainPos(slices.Clip(out)), again, nil
}

func (p *domainParser) entries() ([]entry, *ParseError) {
	if p.text == "" {
		return nil, nil
	}
	var out []entry
	for {
		e := entry{offset: p.pos}
		domain, err := p.number(math.MaxUint32)
		if err == nil {
			err = p.skip('-')
		}
		var server uint64
		if err == nil {
			server, err = p.number(math.MaxUint32)
		}
		if err == nil {
			err = p.skip('-')
		}
		if err == nil {
			e.Seq, err = p.number(math.MaxUint64)
		}
		if err != nil {
			return nil, err
		}
		e.Domain, e.Server = uint32(domain), uint32(server)
		out = append(out, e)
		if p.pos == len(p.text) {
			return out, nil
		}
		if err := p.skip(','); err != nil {
			return nil, err
		}
	}
}

func (p *domainParser) errorAt(pos int, msg string) *ParseError {
	return &ParseError{Offset: pos, Msg: msg, Near: near(p.text, pos), what: "GTID position"}
}

func (p *domainParser) skip(c byte) *ParseError {
	if p.pos == len(p.text) || p.text[p.pos] != c {
		return p.errorAt(p.pos, `expected "`+string(c)+`"`)
	}
	p.pos++
	return nil
}

// isDomainSpace follows MariaDB, which reads numbers in latin1 whatever the connection says: there
// 0xa0 is a space too.
func isDomainSpace(c byte) bool { return isSpace(c) || c == 0xa0 }

// number reads a decimal number up to limit, with white space and a plus before it.
func (p *domainParser) number(limit uint64) (uint64, *ParseError) {
	for p.pos < len(p.text) && isDomainSpace(p.text[p.pos]) {
		p.pos++
	}
	if p.pos < len(p.text) && p.text[p.pos] == '+' {
		p.pos++
	}
	start := p.pos
	var n uint64
	for p.pos < len(p.text) && isDigit(p.text[p.pos]) {
		d := uint64(p.text[p.pos] - '0')
		if n > (limit-d)/10 {
			return 0, p.errorAt(start, "number out of range")
		}
		n = n*10 + d
		p.pos++
	}
	if p.pos == start {
		return 0, p.errorAt(start, "expected a number")
	}
	return n, nil
}
