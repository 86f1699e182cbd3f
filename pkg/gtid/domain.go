package gtid

import (
	"cmp"
	"iter"
	"math/bits"
	"slices"
	"strconv"
)

// DomainGTID names one MariaDB transaction.
type DomainGTID struct {
	Domain uint32 // gtid_domain_id: transactions of two domains are in no order
	Server uint32 // server_id of the server that wrote it
	Seq    uint64 // counts within the domain; 0 is no transaction
}

// String returns domain-server-sequence, as MariaDB prints it.
func (g DomainGTID) String() string { return string(g.Append(nil)) }

// Append appends what String returns.
func (g DomainGTID) Append(dst []byte) []byte {
	dst = strconv.AppendUint(dst, uint64(g.Domain), 10)
	dst = strconv.AppendUint(append(dst, '-'), uint64(g.Server), 10)
	return strconv.AppendUint(append(dst, '-'), g.Seq, 10)
}

// DomainPos is a MariaDB position: for each domain the last GTID applied. It is an immutable value
// of one word, safe for concurrent use; the zero value is the empty position. As with Set, compare
// with Equal: == compares identity.
//
// Within a domain only sequence numbers are compared; the server id is carried along and printed.
// That is sound where gtid_strict_mode is on or each domain has one writer at a time. Otherwise
// the numbers of two writers are not comparable, which no text can show.
type DomainPos struct {
	p *domainList // nil only in the empty position
}

// domainList is never written to once a DomainPos points at it.
type domainList struct {
	gtids []DomainGTID // ascending by domain, each domain once
}

func newDomainPos(gtids []DomainGTID) DomainPos {
	if len(gtids) == 0 {
		return DomainPos{}
	}
	return DomainPos{&domainList{gtids}}
}

func (p DomainPos) list() []DomainGTID {
	if p.p == nil {
		return nil
	}
	return p.p.gtids
}

func compareDomain(g DomainGTID, domain uint32) int { return cmp.Compare(g.Domain, domain) }

// IsEmpty tells whether the position names no domain.
func (p DomainPos) IsEmpty() bool { return p.p == nil }

// Domain returns the last GTID of a domain, and whether the position names the domain.
func (p DomainPos) Domain(domain uint32) (DomainGTID, bool) {
	list := p.list()
	if i, ok := slices.BinarySearchFunc(list, domain, compareDomain); ok {
		return list[i], true
	}
	return DomainGTID{}, false
}

// Domains yields the last GTID of each domain, domains ascending.
func (p DomainPos) Domains() iter.Seq[DomainGTID] { return slices.Values(p.list()) }

// With returns the position with g in the place of whatever it has for that domain, even if that
// is further on.
func (p DomainPos) With(g DomainGTID) DomainPos {
	list := p.list()
	i, found := slices.BinarySearchFunc(list, g.Domain, compareDomain)
	if found && list[i] == g {
		return p
	}
	out := make([]DomainGTID, 0, len(list)+1)
	out = append(append(out, list[:i]...), g)
	if found {
		i++
	}
	return newDomainPos(append(out, list[i:]...))
}

// Reached tells whether p is at or beyond q in every domain of q. A domain that p does not name
// stands at 0. It does not allocate.
func (p DomainPos) Reached(q DomainPos) bool {
	if p.p == q.p {
		return true
	}
	have := p.list()
	for _, want := range q.list() {
		for len(have) > 0 && have[0].Domain < want.Domain {
			have = have[1:]
		}
		if seqIn(have, want.Domain) < want.Seq {
			return false
		}
	}
	return true
}

// seqIn returns the sequence number of the first entry if that is of the domain, or 0.
func seqIn(list []DomainGTID, domain uint32) uint64 {
	if len(list) > 0 && list[0].Domain == domain {
		return list[0].Seq
	}
	return 0
}

// Equal tells whether both positions name the same GTIDs, server ids included.
func (p DomainPos) Equal(q DomainPos) bool {
	return p.p == q.p || slices.Equal(p.list(), q.list())
}

// Max returns for each domain of either position the one further on; in a tie p's. If p names all
// domains of q and has reached them, it is returned as it is.
func (p DomainPos) Max(q DomainPos) DomainPos {
	if p.covers(q) {
		return p
	}
	left, right := p.list(), q.list()
	out := make([]DomainGTID, 0, len(left)+len(right))
	for len(left) > 0 && len(right) > 0 {
		l, r := left[0], right[0]
		switch {
		case l.Domain < r.Domain:
			out, left = append(out, l), left[1:]
			continue
		case l.Domain > r.Domain:
			out, right = append(out, r), right[1:]
			continue
		case l.Seq < r.Seq:
			l = r
		}
		out, left, right = append(out, l), left[1:], right[1:]
	}
	return newDomainPos(append(append(out, left...), right...))
}

// covers is Reached for positions where a domain at 0 is to be named too.
func (p DomainPos) covers(q DomainPos) bool {
	for _, want := range q.list() {
		if have, ok := p.Domain(want.Domain); !ok || have.Seq < want.Seq {
			return false
		}
	}
	return true
}

// Min returns for each domain that both positions name the one less far on; in a tie p's.
func (p DomainPos) Min(q DomainPos) DomainPos {
	var out []DomainGTID
	for _, g := range p.list() {
		other, ok := q.Domain(g.Domain)
		if !ok {
			continue
		}
		if other.Seq < g.Seq {
			g = other
		}
		out = append(out, g)
	}
	return newDomainPos(out)
}

// Missing returns those GTIDs of q that p has not reached.
func (p DomainPos) Missing(q DomainPos) DomainPos {
	if p.Reached(q) {
		return DomainPos{}
	}
	var out []DomainGTID
	for _, want := range q.list() {
		if have, _ := p.Domain(want.Domain); have.Seq < want.Seq {
			out = append(out, want)
		}
	}
	return newDomainPos(out)
}

// Gap is how far one position is behind another in one domain.
type Gap struct {
	Domain     uint32 // in which the position is behind
	Have, Want uint64 // Have < Want; Have is 0 for a domain that is not named
}

// Len returns the distance, an upper bound of the transactions in it: a domain may skip numbers.
func (g Gap) Len() uint64 { return g.Want - g.Have }

// Behind returns the gaps between p and what it has not reached of q, domains ascending.
func (p DomainPos) Behind(q DomainPos) []Gap {
	var gaps []Gap
	for _, want := range q.list() {
		if have, _ := p.Domain(want.Domain); have.Seq < want.Seq {
			gaps = append(gaps, Gap{want.Domain, have.Seq, want.Seq})
		}
	}
	return gaps
}

// Distance returns the sum of the gaps that Behind returns. If it exceeds 64 bits it returns the
// largest uint64 and exact is false.
func (p DomainPos) Distance(q DomainPos) (n uint64, exact bool) {
	for _, gap := range p.Behind(q) {
		var carry uint64
		if n, carry = bits.Add64(n, gap.Len(), 0); carry != 0 {
			return 1<<64 - 1, false
		}
	}
	return n, true
}

// String returns the text that MariaDB reads: domains ascending, separated by commas.
func (p DomainPos) String() string { return string(p.Append(nil)) }

// Append appends what String returns and allocates only if dst is too short.
func (p DomainPos) Append(dst []byte) []byte {
	for i, g := range p.list() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = g.Append(dst)
	}
	return dst
}

// MarshalText returns what String returns and never fails.
func (p DomainPos) MarshalText() ([]byte, error) { return p.Append([]byte{}), nil }

// UnmarshalText reads what ParseDomainPos reads and leaves p alone on an error.
func (p *DomainPos) UnmarshalText(text []byte) error {
	v, err := ParseDomainPos(string(text))
	if err != nil {
		return err
	}
	*p = v
	return nil
}
