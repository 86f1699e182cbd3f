package gtid_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/gtid"
)

var seedFlag = flag.Uint64("gtid.seed", 0, "seed of the generated texts; 0 draws one")

// generator writes texts that a server may accept and texts that it must not, from a seed.
type generator struct {
	*rand.Rand
	seed uint64
}

func newGenerator(t *testing.T) generator {
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("to repeat: -gtid.seed=%d", seed)
	return generator{rand.New(rand.NewPCG(seed, 1)), seed}
}

func (g generator) oneIn(n int) bool { return g.IntN(n) == 0 }

func (g generator) pick(from ...string) string { return from[g.IntN(len(from))] }

// space returns white space now and then.
func (g generator) space() string {
	if !g.oneIn(8) {
		return ""
	}
	return g.pick(" ", "  ", "\n", "\t", "\v", "\f", "\r", "\r\n ")
}

func (g generator) uuid() string {
	u := g.pick(uuidU, uuidV, "3e11fa47-71ca-11e1-9e33-c80aa9429563", gtid.UUID{}.String())
	if g.oneIn(6) {
		u = strings.ToUpper(u)
	}
	switch g.IntN(12) {
	case 0:
		u = "{" + u + "}"
	case 1:
		u = strings.ReplaceAll(u, "-", "")
	}
	return u
}

func (g generator) number() string {
	switch g.IntN(24) {
	case 0:
		return g.pick("0", "00", "9223372036854775805", "9223372036854775806", "9223372036854775807",
			"9223372036854775808", "18446744073709551615", "18446744073709551616", "99999999999999999999999")
	case 1:
		return strings.Repeat("0", 1+g.IntN(25)) + strconv.Itoa(g.IntN(20))
	}
	return strconv.Itoa(1 + g.IntN(30))
}

// set writes a GTID set that is well formed but for its numbers.
func (g generator) set() string {
	var b strings.Builder
	colon := func() { b.WriteString(g.space() + ":" + g.space()) }
	b.WriteString(g.space())
	for i := range 1 + g.IntN(4) {
		if i > 0 || g.oneIn(20) {
			b.WriteString(g.space() + strings.Repeat(",", 1+g.IntN(8)/7) + g.space())
		}
		b.WriteString(g.uuid())
		for range g.IntN(5) {
			colon()
			if g.oneIn(4) {
				b.WriteString(g.pick("a", "B", "tag", "Tag", "_x1", strings.Repeat("t", 31+g.IntN(3))))
				continue
			}
			b.WriteString(g.number())
			if g.oneIn(2) {
				b.WriteString(g.space() + "-" + g.space() + g.number())
			}
		}
	}
	return b.String() + g.space() + g.pick("", "", "", ",")
}

// position writes a MariaDB position that is well formed but for its numbers and domains.
func (g generator) position() string {
	number := func(limit string) string {
		n := strconv.Itoa(g.IntN(9))
		switch g.IntN(24) {
		case 0:
			n = limit
		case 1:
			n = g.pick("4294967295", "4294967296", "18446744073709551615", "18446744073709551616", "007")
		case 2:
			n = "+" + n
		case 3:
			n = g.pick(" ", "\t", "\n", "\v", "\f", "\r", "\xa0", "  ") + n
		}
		return n
	}
	var parts []string
	for range 1 + g.IntN(4) {
		parts = append(parts, number("4294967295")+"-"+number("4294967295")+"-"+number("18446744073709551615"))
	}
	return strings.Join(parts, ",")
}

// state writes a state of a MariaDB binlog: entries of several servers in each domain.
func (g generator) state() string {
	var parts []string
	for range 1 + g.IntN(8) {
		parts = append(parts, fmt.Sprintf("%d-%d-%d", g.IntN(4), 1+g.IntN(4), 1+g.IntN(20)))
	}
	return strings.Join(parts, ",")
}

// spoil changes a text in a few places.
func (g generator) spoil(text string) string {
	b := []byte(text)
	for range 1 + g.IntN(3) {
		at := g.IntN(len(b) + 1)
		end := min(len(b), at+1+g.IntN(4))
		switch g.IntN(6) {
		case 0:
			b = slices.Delete(b, at, end)
		case 1:
			b = b[:at]
		case 2:
			b = slices.Insert(b, at, b[at:end]...)
		case 3:
			b = slices.Insert(b, at, byte(g.IntN(256)))
		case 4:
			b = slices.Insert(b, at, []byte(g.pick("é", "\u00a0", "\u2028", "０", "\x00", "''", "/**/", "-- ", "\\n"))...)
		default:
			b = slices.Insert(b, at, ":-,{} \n+0159afgxz_;'"[g.IntN(20)])
		}
	}
	return string(b)
}

// text writes what sound writes, spoiled in two of five cases, or bytes without sense.
func (g generator) text(sound func() string) string {
	switch n := g.IntN(20); {
	case n < 8:
		return g.spoil(sound())
	case n == 8:
		b := make([]byte, g.IntN(40))
		for i := range b {
			b[i] = byte(g.IntN(256))
		}
		return string(b)
	}
	return sound()
}
