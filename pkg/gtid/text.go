package gtid

import "strconv"

// String returns the canonical text, byte for byte what the server prints: UUIDs ascending, each
// on a line of its own, the untagged source before the tags, intervals merged. The text of the
// empty set is empty.
func (s Set) String() string {
	return string(s.Append(make([]byte, 0, s.textLen())))
}

// Append appends what String returns and allocates only if dst is too short.
func (s Set) Append(dst []byte) []byte {
	list := s.sources()
	for i := range list {
		src := &list[i]
		if i == 0 || list[i-1].UUID != src.UUID {
			if i > 0 {
				dst = append(dst, ",\n"...)
			}
			dst = src.UUID.Append(dst)
		}
		if src.Tag != "" {
			dst = append(dst, ':')
			dst = append(dst, src.Tag...)
		}
		for _, iv := range src.ivs {
			dst = append(dst, ':')
			dst = strconv.AppendInt(dst, iv.First, 10)
			if iv.Last > iv.First {
				dst = append(dst, '-')
				dst = strconv.AppendInt(dst, iv.Last, 10)
			}
		}
	}
	return dst
}

// textLen returns the length of the text, or a little more.
func (s Set) textLen() int {
	n := 0
	for _, src := range s.sources() {
		n += uuidTextLen + len(",\n:") + len(src.Tag)
		for _, iv := range src.ivs {
			n += 1 + digits(iv.First)
			if iv.Last > iv.First {
				n += 1 + digits(iv.Last)
			}
		}
	}
	return n
}

func digits(n int64) int {
	d := 1
	for ; n >= 1000; n /= 1000 {
		d += 3
	}
	switch {
	case n >= 100:
		return d + 2
	case n >= 10:
		return d + 1
	}
	return d
}

// MarshalText returns what String returns and never fails.
func (s Set) MarshalText() ([]byte, error) {
	return s.Append(make([]byte, 0, s.textLen())), nil
}

// UnmarshalText reads what Parse reads and leaves s alone on an error.
func (s *Set) UnmarshalText(text []byte) error {
	v, err := Parse(string(text))
	if err != nil {
		return err
	}
	*s = v
	return nil
}
