package gtid

// UUID names the server that created a transaction: its server_uuid, or a group's name in Group
// Replication. The zero value is a valid UUID of zeros, which no server has by itself.
type UUID [16]byte

const (
	uuidTextLen = 36
	uuidHexLen  = 32
	hexDigits   = "0123456789abcdef"
)

// dashBefore has bit i set when the text form has a dash before byte i.
const dashBefore = 1<<4 | 1<<6 | 1<<8 | 1<<10

// ParseUUID reads the 36 characters of @@server_uuid, in either case. The forms without dashes or
// in braces, which a set may hold, are refused. The error is a *ParseError.
func ParseUUID(s string) (UUID, error) {
	p := parser{text: s, strict: true}
	u, err := p.uuid()
	switch {
	case err != nil:
	case p.pos < len(s):
		err = p.errorAt(p.pos, "expected the end of the UUID")
	default:
		err = p.complaint
	}
	if err != nil {
		err.what = "UUID"
		return UUID{}, err
	}
	return u, nil
}

// String returns the 36 lower-case characters that servers print.
func (u UUID) String() string {
	return string(u.Append(make([]byte, 0, uuidTextLen)))
}

// Append appends what String returns and allocates only if dst is too short.
func (u UUID) Append(dst []byte) []byte {
	for i, b := range u {
		if dashBefore>>i&1 != 0 {
			dst = append(dst, '-')
		}
		dst = append(dst, hexDigits[b>>4], hexDigits[b&15])
	}
	return dst
}

// MarshalText returns what String returns and never fails.
func (u UUID) MarshalText() ([]byte, error) {
	return u.Append(make([]byte, 0, uuidTextLen)), nil
}

// UnmarshalText reads what ParseUUID reads and leaves u alone on an error.
func (u *UUID) UnmarshalText(text []byte) error {
	v, err := ParseUUID(string(text))
	if err != nil {
		return err
	}
	*u = v
	return nil
}

// hexValue returns the value of a hexadecimal digit, or 0xff.
func hexValue(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10
	}
	return 0xff
}
