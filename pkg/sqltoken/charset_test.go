package sqltoken

import (
	"strings"
	"testing"
)

func TestParseCharset(t *testing.T) {
	for _, test := range []struct {
		name string
		want Charset
		ok   bool
	}{
		{"utf8mb4", UTF8, true},
		{"UTF8MB3", UTF8, true},
		{"utf8", UTF8, true},
		{"binary", UTF8, true},
		{"eucjpms", UTF8, true},
		{"Latin1", latin, true},
		{"ARMSCII8", latin, true},
		{"keybcs2", cp852, true},
		{"cp932", sjis, true},
		{"SJIS", sjis, true},
		{"gbk", gbk, true},
		{"GB18030", gb18030, true},
		{"swe7", UTF8, false}, // ` is a letter in @x`y
		{"utf16", UTF8, false},
		{"ucs2", UTF8, false},
		{"filename", UTF8, false},
		{"latin1_swedish_ci", UTF8, false},
		{"latin1 ", UTF8, false},
		{"", UTF8, false},
		{"\xc1atin1", UTF8, false}, // no letter, though 0x41 is one
	} {
		got, ok := ParseCharset(test.name)
		if got != test.want || ok != test.ok {
			t.Errorf("ParseCharset(%q) = %v, %t, want %v, %t", test.name, got, ok, test.want, test.ok)
		}
	}
}

// TestCharsetString reads back every name that String gives.
func TestCharsetString(t *testing.T) {
	for c := UTF8; c <= gb18030; c++ {
		if got, ok := ParseCharset(c.String()); got != c || !ok {
			t.Errorf("ParseCharset(%q) = %v, %t, want %v", c.String(), got, ok, c)
		}
	}
	if got := (gb18030 + 1).String(); got != "unknown" {
		t.Errorf("String of no character set is %q", got)
	}
}

func TestCharLen(t *testing.T) {
	for _, test := range []struct {
		charset Charset
		text    string
		want    int
	}{
		{UTF8, "\xc3\xa9", 1},
		{latin, "\xbf\\", 1},
		{gbk, "\xbf\\", 2},
		{gbk, "\xbf`", 2},
		{gbk, "\xbf'", 1}, // a quote is never swallowed
		{gbk, "\xbf\"", 1},
		{gbk, "\xbf\n", 1},
		{gbk, "\xbf*", 1},
		{gbk, "\xbf", 1}, // the end of the text
		{gbk, "\x80\\", 1},
		{gbk, "\xff\\", 1},
		{gbk, "\xfe\xfe", 2},
		{gbk, "\x81\xff", 1},
		{gbk, "\x81\x7f", 1},
		{gbk, "\x8100\x81", 1},
		{gbk, "a\\", 1},
		{big5, "\xa4\\", 2},
		{big5, "\xa0\\", 1},
		{big5, "\xfa\\", 1},
		{big5, "\xa4\x80", 1},
		{sjis, "\x83\\", 2},
		{sjis, "\xb1\\", 1}, // half-width katakana
		{sjis, "\xfd\\", 1},
		{sjis, "\xfc\xfc", 2},
		{sjis, "\xfc\xfd", 1},
		{gb18030, "\xbf\\", 2},
		{gb18030, "\x810\x810", 1}, // four bytes, none of which looks like anything else
		{gb18030, "\xff\\", 1},
	} {
		if got := test.charset.charLen(test.text, 0); got != test.want {
			t.Errorf("%v: length of the character in %q is %d, want %d", test.charset, test.text, got, test.want)
		}
		if got := test.charset.charLen("'"+test.text, 1); got != test.want {
			t.Errorf("%v: length behind a quote of %q is %d, want %d", test.charset, test.text, got, test.want)
		}
	}
}

// TestCharsetBytes holds what the scanner relies on for every byte over 0x7F.
func TestCharsetBytes(t *testing.T) {
	for c := UTF8; c <= gb18030; c++ {
		for b := 0x80; b <= 0xff; b++ {
			text := string([]byte{byte(b), 'a'})
			space, dashed, word := c.space(byte(b)), c.dashed(byte(b)), c.wordLen(text, 0)
			if space && !dashed {
				t.Errorf("%v: %#x is white space, but -- in front of it is no comment", c, b)
			}
			if space != (word == 0) {
				t.Errorf("%v: %#x is white space: %t, length in a name %d", c, b, space, word)
			}
			if word > 1 && !c.multiByte() {
				t.Errorf("%v: %#x begins a long character of a single-byte set", c, b)
			}
		}
	}
}

func TestParseCharsetAllocates(t *testing.T) {
	name := strings.Clone("GB18030")
	if n := testing.AllocsPerRun(100, func() { ParseCharset(name) }); n != 0 {
		t.Errorf("ParseCharset allocates %v times", n)
	}
}
