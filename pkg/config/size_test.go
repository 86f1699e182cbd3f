package config

import "testing"

func TestSize(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text, want string
		bytes      Size
	}{
		{`"64M"`, "64M", 64 << 20}, {`"1g"`, "1G", 1 << 30}, {`"1024"`, "1K", 1024}, {`1025`, "1025", 1025}, {`16777216`, "16M", 16 << 20},
	} {
		c := parse(t, least+"[limits]\nmax-packet = "+test.text+"\n")
		if got := c.Limits.MaxPacket; got != test.bytes || got.String() != test.want {
			t.Errorf("%s: got %d, written %s", test.text, int64(got), got)
		}
	}
	if got := Size(0).String(); got != "0" {
		t.Errorf("0: got %s", got)
	}
	for _, test := range []struct{ text, want string }{
		{`"64MB"`, `f:13:14: max-packet: want a size such as "64M" or a number of bytes, not "64MB"`},
		{`"M"`, `f:13:14: max-packet: want a size such as "64M" or a number of bytes, not "M"`},
		{`""`, `f:13:14: max-packet: want a size such as "64M" or a number of bytes, not ""`},
		{`-1`, `f:13:14: max-packet: want a size such as "64M" or a number of bytes, not -1`},
		{`1.5`, `f:13:14: max-packet: want a size such as "64M" or a number of bytes, not 1.5`},
		{`"9999999999G"`, `f:13:14: max-packet: want a size such as "64M" or a number of bytes, not "9999999999G"`},
		{`"2G"`, `f:13:14: max-packet: "2G" is out of range: want 1K to 1G`},
		{`1`, `f:13:14: max-packet: 1 is out of range: want 1K to 1G`},
	} {
		_, _, err := Parse("f", []byte(least+"[limits]\nmax-packet = "+test.text+"\n"), Options{Getenv: testEnv})
		if got := errText(err); got != test.want {
			t.Errorf("%s: got %s, want %s", test.text, got, test.want)
		}
	}
}
