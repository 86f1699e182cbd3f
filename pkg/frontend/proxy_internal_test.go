package frontend

import (
	"encoding/binary"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
)

// proxyV2 writes a header with what stands behind its length.
func proxyV2(command, family byte, rest ...byte) string {
	b := append([]byte(proxyV2Signature), command, family)
	b = binary.BigEndian.AppendUint16(b, uint16(len(rest)))
	return string(append(b, rest...))
}

var proxyHeaders = []struct {
	name, header, from string // "bad" is an error, "" no address
}{
	{"TCP4", "PROXY TCP4 192.0.2.7 198.51.100.1 56324 3306\r\n", "192.0.2.7:56324"},
	{"TCP6", "PROXY TCP6 2001:db8::7 2001:db8::1 56324 3306\r\n", "[2001:db8::7]:56324"},
	{"unknown", "PROXY UNKNOWN\r\n", ""},
	{"unknown with more", "PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n", ""},
	{"longest", "PROXY UNKNOWN" + strings.Repeat(" ", 107-15) + "\r\n", ""},
	{"too long", "PROXY UNKNOWN" + strings.Repeat(" ", 108-15) + "\r\n", "bad"},
	{"no end", "PROXY TCP4 " + strings.Repeat("1", 200), "bad"},
	{"bare newline", "PROXY TCP4 192.0.2.7 198.51.100.1 56324 3306\n", "bad"},
	{"nothing", "PROXY \r\n", "bad"},
	{"port too large", "PROXY TCP4 192.0.2.7 198.51.100.1 65536 3306\r\n", "bad"},
	{"negative port", "PROXY TCP4 192.0.2.7 198.51.100.1 -1 3306\r\n", "bad"},
	{"no port", "PROXY TCP4 192.0.2.7 198.51.100.1 56324\r\n", "bad"},
	{"another family's address", "PROXY TCP4 2001:db8::7 2001:db8::1 56324 3306\r\n", "bad"},
	{"another family", "PROXY TCP6 192.0.2.7 198.51.100.1 56324 3306\r\n", "bad"},
	{"a name", "PROXY TCP4 localhost 198.51.100.1 56324 3306\r\n", "bad"},
	{"a zone", "PROXY TCP6 fe80::1%lo 2001:db8::1 56324 3306\r\n", "bad"},
	{"brackets", "PROXY TCP6 [2001:db8::7] 2001:db8::1 56324 3306\r\n", "bad"},
	{"two spaces", "PROXY TCP4  192.0.2.7 198.51.100.1 56324 3306\r\n", "bad"},
	{"UDP", "PROXY UDP4 192.0.2.7 198.51.100.1 56324 3306\r\n", "bad"},
	{"small letters", "proxy TCP4 192.0.2.7 198.51.100.1 56324 3306\r\n", "bad"},
	{"HTTP", "GET / HTTP/1.1\r\n", "bad"},

	{"2: TCP4", proxyV2(0x21, 0x11, 192, 0, 2, 7, 198, 51, 100, 1, 0xDC, 0x04, 0x0C, 0xEA), "192.0.2.7:56324"},
	{"2: TCP6", proxyV2(0x21, 0x21, append(append(append(net.ParseIP("2001:db8::7"), net.ParseIP("::1")...), 0xDC, 0x04), 0x0C, 0xEA)...), "[2001:db8::7]:56324"},
	{"2: with values behind", proxyV2(0x21, 0x11, 192, 0, 2, 7, 198, 51, 100, 1, 0xDC, 0x04, 0x0C, 0xEA, 3, 0, 4, 1, 2, 3, 4), "192.0.2.7:56324"},
	{"2: local", proxyV2(0x20, 0x00), ""},
	{"2: local with addresses", proxyV2(0x20, 0x11, 192, 0, 2, 7, 198, 51, 100, 1, 0xDC, 0x04, 0x0C, 0xEA), ""},
	{"2: unspecified", proxyV2(0x21, 0x00, 1, 2, 3), ""},
	{"2: socket", proxyV2(0x21, 0x31, make([]byte, 216)...), "unix"},
	{"2: socket cut", proxyV2(0x21, 0x31, make([]byte, 215)...), "bad"},
	{"2: addresses cut", proxyV2(0x21, 0x11, 192, 0, 2, 7, 198, 51, 100, 1, 0xDC, 0x04, 0x0C), "bad"},
	{"2: UDP", proxyV2(0x21, 0x12, 192, 0, 2, 7, 198, 51, 100, 1, 0xDC, 0x04, 0x0C, 0xEA), "bad"},
	{"2: version 1", proxyV2(0x11, 0x11, 192, 0, 2, 7, 198, 51, 100, 1, 0xDC, 0x04, 0x0C, 0xEA), "bad"},
	{"2: unknown command", proxyV2(0x22, 0x11, 192, 0, 2, 7, 198, 51, 100, 1, 0xDC, 0x04, 0x0C, 0xEA), "bad"},
	{"2: too long", proxyV2(0x21, 0x11, make([]byte, 5000)...), "bad"},
	{"2: another signature", "\r\n\r\n\x00\r\nQUIT\r", "bad"},
}

// TestProxyHeader: every header, and every part of one.
func TestProxyHeader(t *testing.T) {
	for _, tt := range proxyHeaders {
		t.Run(tt.name, func(t *testing.T) {
			whole := tt.header + "\x01\x00\x00\x01"
			for end := range len(whole) + 1 {
				from, n, err := parseProxyHeader([]byte(whole[:end]))
				switch {
				case tt.from == "bad":
					if err == nil && (n > 0 || end == len(whole)) {
						t.Fatalf("%d bytes: took %d, %v", end, n, from)
					}
					if err != nil && !errors.Is(err, ErrProxyHeader) {
						t.Fatal(err)
					}
				case err != nil:
					t.Fatalf("%d bytes: %v", end, err)
				case end < len(tt.header):
					if n != 0 || from != nil {
						t.Fatalf("%d bytes: took %d, %v", end, n, from)
					}
				case n != len(tt.header):
					t.Fatalf("%d bytes: took %d", end, n)
				case tt.from == "":
					if from != nil {
						t.Fatalf("got %v", from)
					}
				case tt.from == "unix":
					if from.Network() != "unix" {
						t.Fatalf("got %v", from)
					}
				case from == nil || from.String() != tt.from:
					t.Fatalf("got %v", from)
				}
			}
		})
	}
}

// FuzzProxyHeader: what is taken is taken from the same bytes again, and nothing behind it matters.
func FuzzProxyHeader(f *testing.F) {
	for _, tt := range proxyHeaders {
		f.Add([]byte(tt.header))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		from, n, err := parseProxyHeader(b)
		if err != nil {
			if n != 0 || from != nil || !errors.Is(err, ErrProxyHeader) {
				t.Fatalf("%d, %v, %v", n, from, err)
			}
			return
		}
		if n == 0 {
			if len(b) >= maxProxyHeader {
				t.Fatalf("waits for more than %d bytes", len(b))
			}
			return
		}
		again, m, err := parseProxyHeader(append(slices.Clone(b[:n]), "more"...))
		if err != nil || m != n || (from == nil) != (again == nil) || from != nil && from.String() != again.String() {
			t.Fatalf("%d, %v; then %d, %v, %v", n, from, m, again, err)
		}
	})
}
