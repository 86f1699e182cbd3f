package tracker

// Key stands for a table: a hash of its schema and name. Names that a server may take for the same
// table have the same key, whatever its lower_case_table_names is; and so have some that it does
// not, which costs a needless wait and nothing more.
//
// All names that are not ASCII share one hash: which letters a text means depends on a character
// set that is not known exactly, and servers fold them by tables of their own.
type Key uint64

// The 64-bit FNV-1a hash, and what spreads its bits.
const (
	hashStart = 0xcbf29ce484222325
	hashPrime = 0x100000001b3
	spread    = 0x9e3779b97f4a7c15
	// hashOdd is the hash of every name that is not all plain.
	hashOdd = 0x6f6464
)

// KeyOf returns the key of a table by its names as a server has them, in UTF-8: in its binary log
// and its information schema.
func KeyOf[T string | []byte](schema, table T) Key {
	return join(hashStored(schema), hashStored(table))
}

// join makes a key of the hashes of a schema and of a name.
func join(schema, name uint64) Key {
	k := schema ^ (name+spread)*spread
	k = (k ^ k>>32) * spread
	return Key(k ^ k>>29)
}

// hash returns the hash of a name. Letters are folded. A name with a byte over 0x7F has hashOdd,
// and so has one with a question mark: servers put that in the place of characters that they cannot
// convert, and MySQL reads a name with an emoji as one with a question mark.
func hash[T string | []byte](name T) uint64 {
	h := uint64(hashStart)
	for i := range len(name) {
		c := name[i]
		switch {
		case c-'A' <= 'Z'-'A':
			c |= 0x20
		case c >= 0x80 || c == '?':
			return hashOdd
		}
		h = (h ^ uint64(c)) * hashPrime
	}
	return h
}

// hashStored is hash for a name that is certainly in UTF-8. The Kelvin sign and the I with a dot
// are folded, which are the only letters that servers fold to ASCII: where lower_case_table_names
// is not 0, k and i mean the same table.
func hashStored[T string | []byte](name T) uint64 {
	h := uint64(hashStart)
	for i := 0; i < len(name); i++ {
		c := name[i]
		switch {
		case c-'A' <= 'Z'-'A':
			c |= 0x20
		case c >= 0x80:
			var n int
			if c, n = foldsToASCII(name[i:]); n == 0 {
				return hashOdd
			}
			i += n - 1
		case c == '?':
			return hashOdd
		}
		h = (h ^ uint64(c)) * hashPrime
	}
	return h
}

// foldsToASCII returns the ASCII letter that servers fold the first character of s to, and the
// character's length, which is 0 if it is no such one.
func foldsToASCII[T string | []byte](s T) (c byte, n int) {
	switch {
	case len(s) >= 3 && s[0] == 0xe2 && s[1] == 0x84 && s[2] == 0xaa: // U+212A
		return 'k', 3
	case len(s) >= 2 && s[0] == 0xc4 && s[1] == 0xb0: // U+0130
		return 'i', 2
	}
	return 0, 0
}
