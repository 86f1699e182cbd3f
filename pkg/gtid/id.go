package gtid

import "strconv"

// MaxSeq is the largest sequence number of a MySQL GTID. It leaves room for the exclusive end of
// an interval in an int64.
const MaxSeq = 1<<63 - 2

// GTID names one MySQL transaction. The zero value is not valid: sequence numbers start at 1.
type GTID struct {
	UUID UUID   // of the server or group that gave the number
	Tag  string // empty, or lower case
	Seq  int64  // 1 to MaxSeq
}

// ParseGTID reads uuid:number or uuid:tag:number, as strictly as ParseStrict. A text that names
// no or several transactions is an error. Errors are *ParseError.
func ParseGTID(s string) (GTID, error) {
	set, err := ParseStrict(s)
	if err != nil {
		return GTID{}, err
	}
	if src := set.sources(); len(src) == 1 && len(src[0].ivs) == 1 {
		if iv := src[0].ivs[0]; iv.First == iv.Last {
			return GTID{UUID: src[0].UUID, Tag: src[0].Tag, Seq: iv.First}, nil
		}
	}
	return GTID{}, &ParseError{Msg: "expected exactly one transaction", Near: near(s, 0), what: "GTID"}
}

// Valid tells whether a server could have created g: the number is in range and the tag is empty
// or in the form that servers print.
func (g GTID) Valid() bool {
	return g.Seq >= 1 && g.Seq <= MaxSeq && validTag(g.Tag)
}

// String returns the text that servers print, such as uuid:tag:5.
func (g GTID) String() string {
	b := g.UUID.Append(make([]byte, 0, uuidTextLen+len(g.Tag)+22))
	if g.Tag != "" {
		b = append(b, ':')
		b = append(b, g.Tag...)
	}
	b = append(b, ':')
	return string(strconv.AppendInt(b, g.Seq, 10))
}
