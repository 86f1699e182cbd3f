package sqltoken

// Charset tells how a server groups the bytes of a client character set
// (character_set_client) into characters, and which of them separate words.
// Character sets that a server's lexer reads alike are one Charset.
//
// The zero value is UTF8.
type Charset uint8

// UTF8 stands for every set in which no byte over 0x7F is white space and no
// byte below 0x80 is part of a longer character that could end a string or a
// word: besides utf8mb4 and utf8mb3 that is ascii, binary, the Cyrillic sets and
// the EUC encodings.
const UTF8 Charset = 0

// The other ways to read bytes. Those behind macroman have characters of
// several bytes.
const (
	latin    = UTF8 + 1 + iota // 0xA0 is white space
	cp1250                     // 0xA0 is white space, some bytes are control characters
	latin7                     // the same, with others
	hebrew                     // the same, with others
	cp852                      // 0xFF is white space
	cp850                      // 0xFF is a control character
	hp8                        // control characters only
	macroman                   // the same, with others
	big5
	sjis // also cp932
	gbk
	gb18030
)

// String returns the name of the best known of the character sets that are read
// so.
func (c Charset) String() string {
	switch c {
	case UTF8:
		return "utf8mb4"
	case latin:
		return "latin1"
	case cp1250:
		return "cp1250"
	case latin7:
		return "latin7"
	case hebrew:
		return "hebrew"
	case cp852:
		return "cp852"
	case cp850:
		return "cp850"
	case hp8:
		return "hp8"
	case macroman:
		return "macroman"
	case big5:
		return "big5"
	case sjis:
		return "sjis"
	case gbk:
		return "gbk"
	case gb18030:
		return "gb18030"
	}
	return "unknown"
}

// longestName is the length of the longest name of a character set.
const longestName = len("armscii8")

// ParseCharset returns how the character set of that name is read; upper and
// lower case mean the same. It knows every set that character_set_client can
// have on MySQL and MariaDB, and utf8, the alias that SET NAMES takes. For swe7
// it returns false too: brackets and back-quotes are letters there, so that
// nothing in this package holds for it.
func ParseCharset(name string) (Charset, bool) {
	if len(name) > longestName {
		return UTF8, false
	}
	var buf [longestName]byte
	lower := buf[:len(name)]
	for i := range lower {
		lower[i] = name[i]
		if 'A' <= name[i] && name[i] <= 'Z' {
			lower[i] |= 0x20
		}
	}
	switch string(lower) {
	case "utf8mb4", "utf8mb3", "utf8", "ascii", "binary",
		"cp1251", "cp1256", "cp1257", "koi8r", "koi8u", "macce", "tis620",
		"ujis", "eucjpms", "euckr", "gb2312":
		return UTF8, true
	case "latin1", "latin2", "latin5", "armscii8", "dec8", "geostd8", "greek":
		return latin, true
	case "cp1250":
		return cp1250, true
	case "latin7":
		return latin7, true
	case "hebrew":
		return hebrew, true
	case "cp852", "cp866", "keybcs2":
		return cp852, true
	case "cp850":
		return cp850, true
	case "hp8":
		return hp8, true
	case "macroman":
		return macroman, true
	case "big5":
		return big5, true
	case "sjis", "cp932":
		return sjis, true
	case "gbk":
		return gbk, true
	case "gb18030":
		return gb18030, true
	}
	return UTF8, false
}

// multiByte says whether a byte over 0x7F may begin a character whose next byte
// looks like a quote, a backslash or punctuation.
func (c Charset) multiByte() bool { return c > macroman }

// space says whether b, a byte over 0x7F outside quotes, is white space.
func (c Charset) space(b byte) bool {
	switch c {
	case latin, cp1250, latin7, hebrew:
		return b == 0xa0
	case cp852:
		return b == 0xff
	}
	return false
}

// dashed says whether -- followed by b, a byte over 0x7F, begins a comment:
// that is where b is white space or a control character.
func (c Charset) dashed(b byte) bool {
	switch c {
	case cp1250:
		switch b {
		case 0x80, 0x81, 0x83, 0x88, 0x90, 0x98:
			return true
		}
	case latin7:
		switch b {
		case 0x81, 0x83, 0x88, 0x8a, 0x8c, 0x90, 0x98, 0x9a, 0x9c, 0x9f, 0xa1, 0xa5:
			return true
		}
	case hebrew:
		return b == 0xa0 || b == 0xfd || b == 0xfe
	case cp850:
		return b == 0xff
	case hp8:
		return b <= 0xa0 || b == 0xb1 || b == 0xb2 || b >= 0xf2 && b <= 0xf5 || b == 0xff
	case macroman:
		return b == 0x80 || b == 0xcb || b == 0xe5
	}
	return c.space(b)
}

// wordLen returns the length of the character at i, whose first byte is over
// 0x7F, as a part of an unquoted name, or 0 if it is white space.
//
// Bytes that are no letters of a single-byte set, and bytes that make no
// character, count as parts of names too. Servers end the name there, or take
// the byte as well, but refuse the statement wherever the two would differ: to
// take them hides nothing that is run.
func (c Charset) wordLen(s string, i int) int {
	if c.space(s[i]) {
		return 0
	}
	return c.charLen(s, i)
}

// charLen returns the length of the character at i, in strings and quoted names
// and, if its first byte is over 0x7F, in unquoted names. Half a character is
// one byte: servers do not let it swallow a quote. Variables (@x) and accounts
// are read byte by byte instead (see inVariable), and what stands behind a
// backslash is one byte too.
//
// Of the sets that are UTF8 here every byte is taken for a character, and so are
// those of the characters of gb18030 that have four, 0x81 '0' 0x81 '0': where
// strings and names end is the same.
func (c Charset) charLen(s string, i int) int {
	if c <= macroman || s[i] < 0x81 || i+1 >= len(s) {
		return 1
	}
	lead, trail := s[i], s[i+1]
	switch c {
	case big5:
		if lead >= 0xa1 && lead <= 0xf9 && (trail >= 0x40 && trail <= 0x7e || trail >= 0xa1 && trail <= 0xfe) {
			return 2
		}
	case sjis:
		if (lead <= 0x9f || lead >= 0xe0 && lead <= 0xfc) && trail >= 0x40 && trail != 0x7f && trail <= 0xfc {
			return 2
		}
	default: // gbk, gb18030
		if lead != 0xff && trail >= 0x40 && trail != 0x7f && trail != 0xff {
			return 2
		}
	}
	return 1
}

// inVariable says whether b, a byte over 0x7F, can be part of the unquoted name
// of a variable (@x) or host (u@x). No byte behind it belongs to it: in GBK, @
// with 0xBF and a back-quote is a name of one byte and the start of a quoted
// one. Where the name ends before b, b may begin a word.
func (c Charset) inVariable(b byte) bool {
	switch c {
	case sjis:
		return false
	case gbk:
		return b >= 0xa1
	}
	return !c.space(b)
}
