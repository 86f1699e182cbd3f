package route_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sqltoken"
	"github.com/mysqlrw/mysqlrw/route"
)

// hostileOptions are what hostile texts are read with.
func hostileOptions() []*route.Options {
	mysql, maria, unknown, several := &route.Options{}, &route.Options{}, &route.Options{}, &route.Options{}
	mysql.Flavor, mysql.Oldest, mysql.Newest = flavor.MySQL, 90704, 90704
	maria.Flavor, maria.Oldest, maria.Newest = flavor.MariaDB, 101119, 101119
	unknown.Charset, _ = sqltoken.ParseCharset("gbk")
	several.Flavor, several.Oldest, several.Newest = flavor.MariaDB, 100000, 101119
	return []*route.Options{mysql, maria, unknown, several}
}

// shape is a text that grows: a beginning, a piece again and again, an end.
type shape struct {
	name, head, piece, tail string
	read                    bool // it is a plain read; else it must not go to a replica
}

func shapes() []shape {
	var all []shape
	repeated := []struct{ name, piece string }{
		{"quotes", "'"},
		{"double quotes", `"`},
		{"back-quotes", "`"},
		{"backslashes", `\`},
		{"quoted backslashes", `'\`},
		{"openings", "/*"},
		{"closings", "*/"},
		{"executable", "/*!"},
		{"executable versions", "/*!50000 "},
		{"executable undecided", "/*!99999 "},
		{"executable skipped", "/*!999999 "},
		{"executable MariaDB", "/*M!"},
		{"executable MariaDB versions", "/*M!100100 "},
		{"executable empty", "/*!*/"},
		{"executable closings", "/*!999999 /*"},
		{"executable open and skipped", "/*! /*!999999 "},
		{"hints", "/*+"},
		{"half hints", "/*+ */"},
		{"dashes", "-"},
		{"dash comments", "-- \n"},
		{"dash comments without an end", "-- "},
		{"hashes", "#"},
		{"hash comments", "#\n"},
		{"dollars", "$"},
		{"dollar tags", "$a$"},
		{"dollar tags and blanks", "$a "},
		{"dollar strings", "$a$ $a$"},
		{"ats", "@"},
		{"at names", "@a"},
		{"at quotes", "@'"},
		{"ats and blanks", "@ "},
		{"double ats", "@@a "},
		{"dots", "."},
		{"names and dots", "a."},
		{"numbers and dots", "1."},
		{"digits", "1"},
		{"exponents", "1e"},
		{"hex", "0x"},
		{"hex quotes", "x'"},
		{"national", "N'"},
		{"colons", ":"},
		{"assignments", ":="},
		{"semicolons", ";"},
		{"statements", "SELECT 1;"},
		{"opening parentheses", "("},
		{"closing parentheses", ")"},
		{"braces", "{"},
		{"commas", ","},
		{"operators", "<=>"},
		{"calls", "f("},
		{"quoted calls", "`f`("},
		{"qualified calls", "a.f("},
		{"built-ins", "ABS("},
		{"counted built-ins", "point("},
		{"counted built-ins and commas", "point(1,"},
		{"locks", "GET_LOCK("},
		{"last ids", "LAST_INSERT_ID("},
		{"last ids and comments", "LAST_INSERT_ID(/**/"},
		{"columns", "a(b,c"},
		{"columns as", "a(b) AS ("},
		{"FOR", "FOR "},
		{"INTO", "INTO "},
		{"LOCK", "LOCK "},
		{"NEXT", "NEXT "},
		{"SELECT", "SELECT "},
		{"WITH", "WITH "},
		{"CASE", "CASE "},
		{"BEGIN", "BEGIN "},
		{"END", "END "},
		{"IF", "IF "},
		{"LOOP", "LOOP "},
		{"EXPLAIN", "EXPLAIN "},
		{"EXPLAIN FORMAT", "EXPLAIN FORMAT="},
		{"EXPLAIN (", "EXPLAIN ("},
		{"ANALYZE", "ANALYZE "},
		{"SET", "SET "},
		{"SET @@", "SET @@global."},
		{"SET a", "SET a=1,"},
		{"SET STATEMENT", "SET STATEMENT FOR "},
		{"SET STATEMENT a", "SET STATEMENT a=1 FOR "},
		{"SET SESSION", "SET SESSION/**/"},
		{"SET values", "SET @a=(SELECT "},
		{"CREATE", "CREATE "},
		{"CREATE OR", "CREATE OR REPLACE DEFINER=a@b "},
		{"PROCEDURE", "CREATE PROCEDURE p() BEGIN "},
		{"BEGIN NOT ATOMIC", "BEGIN NOT ATOMIC "},
		{"PREPARE", "PREPARE a FROM '"},
		{"HANDLER", "HANDLER "},
		{"START", "START TRANSACTION READ ONLY,"},
		{"KILL", "KILL "},
		{"NUL", "\x00"},
		{"quoted NUL", "'\x00"},
		{"control bytes", "\x01"},
		{"BOM", "\xef\xbb\xbf"},
		{"half UTF-8", "\xe2\x80"},
		{"gbk backslashes", "\xbf\\"},
		{"gbk back-quotes", "\xbf`"},
		{"gbk strings", "'\xbf\\'"},
		{"FF", "\xff"},
		{"A0", "\xa0"},
		{"N", `\N`},
		{"hint comments", "/* mysqlrw(max_staleness=1s) */"},
		{"hint openings", "/* mysqlrw("},
		{"hint lists", "/*+ mysqlrw(node=a-"},
		{"hint quotes", "/* maxscale ' */"},
		{"case expressions", "CASE WHEN 1 THEN "},
		{"brackets", "["},
		{"question marks", "?"},
	}
	for _, r := range repeated {
		all = append(all, shape{name: r.name, piece: r.piece})
		all = append(all, shape{name: "SELECT and " + r.name, head: "SELECT 1, ", piece: r.piece, tail: "\n, 1 FOR UPDATE"})
		all = append(all, shape{name: "SET and " + r.name, head: "SET @a = 1, b = ", piece: r.piece, tail: "\n, 1 INTO @x"})
		all = append(all, shape{name: "CREATE and " + r.name, head: "CREATE PROCEDURE p() BEGIN ", piece: r.piece, tail: " END"})
	}
	return append(all,
		shape{"one string", "SELECT '", "a''\\'-- /*", "'", true},
		shape{"one name", "SELECT `", "a``\"'-- /*", "` FROM t", true},
		shape{"one comment", "SELECT 1 /* ", "' /* -- ", "*/", true},
		shape{"one line", "SELECT 1 -- ", "' /* -- ", "", true},
		shape{"a list", "SELECT a FROM t WHERE b IN (1", ",23456", ")", true},
		shape{"a list of strings", "SELECT a FROM t WHERE b IN ('a'", ",'b\\'c'", ")", true},
		shape{"a list that locks", "SELECT a FROM t WHERE b IN (1", ",23456", ") FOR UPDATE", false},
		shape{"rows", "INSERT INTO t VALUES (1,'a')", ",(2,'b')", "", false},
		shape{"values", "VALUES (1)", ",(2)", "", true},
		shape{"unions", "SELECT 1", " UNION ALL SELECT a FROM t", "", true},
		shape{"sums", "SELECT 1", "+1", "", true},
		shape{"columns of a table expression", "WITH c (a", ",b", ") AS (SELECT 1) SELECT * FROM c", true},
		shape{"arguments of an unknown function", "SELECT f(a", ",b", ")", false},
		shape{"comments", "SELECT 1", "/* */", ",2", true},
		shape{"blanks", "SELECT 1", " ", ",2", true},
		shape{"reads", "SELECT 1", ";SELECT 2", "", true},
		shape{"reads and a lock", "SELECT 1", ";SELECT 2", "; SELECT 3 FOR UPDATE", false},
		shape{"a procedure", "CREATE PROCEDURE p() BEGIN ", "IF a THEN SELECT 1; END IF; ", "END", false},
	)
}

// grow returns the text of about n bytes.
func (s *shape) grow(n int) string {
	return s.head + strings.Repeat(s.piece, max(1, n/len(s.piece))) + s.tail
}

// nested opens something n times, and closes all of it.
func nested(open, middle, end string, n int) string {
	return "SELECT " + strings.Repeat(open, n) + middle + strings.Repeat(end, n)
}

// TestHostile answers texts that grow without an end, with every reading of
// them, in no more tokens than they have bytes. Where the time for a byte grows
// with the text, BenchmarkHostile shows it.
func TestHostile(t *testing.T) {
	for _, s := range shapes() {
		size := 1 << 12
		if !testing.Short() && (s.head == "" || s.read) {
			size = 1 << 16
		}
		small, large := s.grow(300), s.grow(size)
		for _, o := range hostileOptions() {
			if wrong := checkClassify(small, o); wrong != "" {
				t.Errorf("%s, %v: %s", s.name, o.Flavor, wrong)
			}
			a, b := route.Classify(small, o), route.Classify(large, o)
			if goesToReplica(&a) != s.read && (s.head != "" || s.read) || goesToReplica(&b) != goesToReplica(&a) {
				t.Errorf("%s, %v: %s; %d bytes of it: %s", s.name, o.Flavor, meaning(&a), size, meaning(&b))
			}
			if steps, allowed := scanSteps(large, o), len(large)+2; steps > allowed {
				t.Errorf("%s, %v: %d tokens in %d bytes", s.name, o.Flavor, steps, len(large))
			}
		}
	}
}

// TestHostilePacket has texts as long as a packet can be without being split.
func TestHostilePacket(t *testing.T) {
	if testing.Short() {
		t.Skip("16 MB each")
	}
	for _, s := range shapes() {
		switch s.name {
		case "one string", "one comment", "rows", "a list that locks", "reads":
			text := s.grow(1<<24 - 1<<10)
			if st := route.Classify(text, hostileOptions()[0]); goesToReplica(&st) != s.read {
				t.Errorf("%s: %s", s.name, meaning(&st))
			}
		}
	}
}

func scanSteps(text string, o *route.Options) int {
	s, n := sqltoken.New(text, &o.Options), 1
	for ; s.Next().Kind != sqltoken.EOF; n++ {
	}
	return n
}

func TestHostileAllocatesNothing(t *testing.T) {
	for _, s := range shapes() {
		text := s.grow(1 << 12)
		for _, o := range hostileOptions() {
			classify := func() { route.Classify(text, o) }
			n := testing.AllocsPerRun(1, classify)
			if n != 0 { // the runtime may have allocated beside it, but not in every run of many
				n = testing.AllocsPerRun(100, classify)
			}
			if n != 0 {
				t.Errorf("%s, %v: %v allocations", s.name, o.Flavor, n)
			}
		}
	}
}

// TestHostileNesting is deep: a reader that calls itself would run out of stack,
// which ends the process.
func TestHostileNesting(t *testing.T) {
	n := 100_000
	if testing.Short() {
		n = 5_000
	}
	for _, test := range []struct {
		text string
		read bool
	}{
		{nested("(", "1", ")", n), true},
		{nested("ABS(", "1", ")", n), true},
		{nested("(SELECT ", "1", ")", n), true},
		{nested("(SELECT ", "1 FOR UPDATE", ")", n), false},
		{nested("(SELECT ", "GET_LOCK('a',1)", ")", n), false},
		{nested("f(", "1", ")", n), false},
		{nested("CASE WHEN ", "1", " THEN 1 END", n), true},
		{nested("CASE WHEN ", "@a := 1", " THEN 1 END", n), false},
		{nested("/*! ", "1", "", 1) + strings.Repeat(" /*! +1", n) + "*/", true},
		{nested("/*! ", "1", "", 1) + strings.Repeat(" /*! +1", n) + " INTO @x */", false},
		{"CREATE PROCEDURE p() " + strings.Repeat("BEGIN ", n) + strings.Repeat("END; ", n), false},
		{"CREATE PROCEDURE p() BEGIN " + strings.Repeat("IF a THEN ", n) + strings.Repeat("END IF; ", n) + "END", false},
		{strings.Repeat("WITH c AS (", n) + "SELECT 1", true},
		{strings.Repeat("SET STATEMENT a=1 FOR ", n) + "SELECT 1 FOR UPDATE", false},
		{strings.Repeat("EXPLAIN ", n) + "DELETE FROM t", false},
		{strings.Repeat("EXPLAIN ANALYZE ", n) + "DELETE FROM t", false},
		{strings.Repeat("(", n) + "SELECT 1" + strings.Repeat(")", n), true},
		{strings.Repeat("(", n) + "SELECT 1 INTO @x" + strings.Repeat(")", n), false},
	} {
		for _, o := range hostileOptions()[:2] {
			if st := route.Classify(test.text, o); goesToReplica(&st) != test.read {
				t.Errorf("%v: %s: %.60s", o.Flavor, meaning(&st), test.text)
			}
		}
	}
}

// TestHostileSetStatement has as much nesting as the largest packet of a server
// that allows 64 MB.
func TestHostileSetStatement(t *testing.T) {
	if testing.Short() {
		t.Skip("64 MB")
	}
	text := strings.Repeat("SET STATEMENT FOR ", 64<<20/18)
	for _, o := range hostileOptions()[1:2] {
		if st := route.Classify(text, o); goesToReplica(&st) {
			t.Errorf("%v: %s", o.Flavor, meaning(&st))
		}
	}
}

// hazardous have something that must never be lost, behind much that may hide
// it.
func hazardous() []string {
	return []string{
		"SELECT 'a', \"b\", `c` FROM t WHERE d = 'e' /* f */ FOR UPDATE",
		"SELECT N'a' , x'41', 1.5 -- b\n FROM t WHERE c = @d INTO @x",
		"SELECT a /*! , 'b' */ , GET_LOCK('c', 1) FROM t",
		"SELECT @a := 'b', (SELECT c.d FROM c) # e\n",
		"SELECT 1 /*!50000 INTO @x */",
		"WITH c (n) AS (SELECT 'a' LOCK IN SHARE MODE) SELECT * FROM c",
		"SELECT t.a, db.f('b') FROM t",
		"INSERT INTO t VALUES ('a', \"b\", 1)",
		"SELECT 'a'; UPDATE t SET b = 'c'",
	}
}

// TestHostileBytes puts bytes that are no text, and halves of what hides text, at
// every place of texts with a hazard.
func TestHostileBytes(t *testing.T) {
	tricks := []string{
		"\x00", "\x01", "\x1a", "\x7f", "\x80", "\x81", "\xa0", "\xbf", "\xff", "\xbf\\", "\x83\\", "\xa4\\", "\xbf`", "\x83`", "\xbf'", "\xbf\"", "\x810", "\x810\x810",
		"\x810\x81\\", "\xe2\x80", "\xe2\x80\xa8", "\xef\xbb\xbf", "\xc0\xa7", "\xc2\xa0", "\xf0", "\xf0\x9f\x98\x80", "\xed\xa0\x80", "\\", "\\'", "'", "\"", "`", "''", "/*",
		"*/", "/*!", "/*!99999 ", "/*!999999 ", "/*M!", "/*+", "-- ", "--\x01", "#", "\n", ";", "$$", "$a$", "@", "@@", ".", ":", "0x", "{", "/**/", "-- \n",
	}
	count := 0
	for n := uint16(0); n < 8; n++ {
		for flavors := uint16(0); flavors < 3; flavors++ {
			o := lexicalOptions(n<<8 | flavors)
			for _, text := range hazardous() {
				for at := 0; at <= len(text); at += 1 + count%3 {
					trick := tricks[count%len(tricks)]
					count++
					hostile := text[:at] + trick + text[at:]
					if wrong := checkClassify(hostile, o); wrong != "" {
						t.Errorf("%s\n text %q\n options %+v", wrong, hostile, *o)
					}
					// In a string it may end it too early or too late. Then the last
					// quote has no partner.
					if st := route.Classify(hostile, o); strings.Count(text[:at], "'")%2 == 1 && goesToReplica(&st) {
						t.Errorf("%s\n text %q\n options %+v", meaning(&st), hostile, *o)
					}
				}
			}
		}
	}
	if count < 1000 {
		t.Errorf("only %d texts", count)
	}
}

// TestHostileEnds cuts texts off at every byte, so that every kind of literal and
// comment is without an end somewhere.
func TestHostileEnds(t *testing.T) {
	texts := append(hazardous(),
		"SELECT /*!50701 'a' /* b */ , \"c\" */ `d`, x'41', b'01', N'a', _utf8mb4'b', @'c', @`d`, @@global.e, 1.5e+3, .5, 0x41, \\N, $a$ b $a$ FROM t.1a",
		"/*M!100100 SELECT */ /*!999999 /* a */ b */ 1 /*+ c */ -- d\n # e\n ; /* mysqlrw(node='a', max_staleness=1s) */ SELECT 2",
		"CREATE DEFINER=a@'b' PROCEDURE p() BEGIN IF a THEN CASE b WHEN 1 THEN SELECT 'c'; END CASE; END IF; END; SELECT 1",
		"SET @@session.a = 'b', GLOBAL c = (SELECT 1), @d := 2; SET NAMES 'gbk' COLLATE x; SET TRANSACTION READ ONLY",
		"EXPLAIN FORMAT=JSON INTO @a FOR SCHEMA b SELECT 1; SET STATEMENT a=1 FOR SELECT 2; BEGIN NOT ATOMIC SELECT 1; END",
		"SELECT '\xbf\\', \"\x83\\\", `\xa4\\`, \x810\x810, @\xbf FROM \xef\xbb\xbf FOR\xa0UPDATE",
	)
	step := 3
	if testing.Short() {
		step = 7
	}
	for _, text := range texts {
		for n := uint16(0); n < 24; n++ {
			o := lexicalOptions(n&7<<8 | n>>3 | n&3<<2)
			for at := int(n) % step; at < len(text); at += step {
				if wrong := checkClassify(text[:at], o); wrong != "" {
					t.Errorf("%s\n text %q\n options %+v", wrong, text[:at], *o)
				}
				if wrong := checkClassify(text[at:], o); wrong != "" {
					t.Errorf("%s\n text %q\n options %+v", wrong, text[at:], *o)
				}
			}
		}
	}
}

func TestHostileRandomBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const likely = "'\"`\\/*!-#\n;@$.:=() \x00\xbf\xff0159eExXNMabSELECT"
	for i := range 2000 {
		b := make([]byte, r.IntN(120))
		for j := range b {
			b[j] = byte(r.IntN(256))
			if i%2 == 0 {
				b[j] = likely[r.IntN(len(likely))]
			}
		}
		o := lexicalOptions(uint16(r.IntN(1 << 16)))
		if wrong := checkClassify(string(b), o); wrong != "" {
			t.Errorf("%s\n text %q\n options %+v", wrong, b, *o)
		}
	}
}

// BenchmarkHostile shows the cost of a byte in small and large texts: where it
// grows with the size, something is not linear.
func BenchmarkHostile(b *testing.B) {
	o := hostileOptions()[1]
	for _, s := range shapes() {
		if strings.Contains(s.name, " and ") && s.head != "" {
			continue
		}
		for _, size := range []int{1 << 20, 16 << 20} {
			b.Run(fmt.Sprintf("%s/%dMB", s.name, size>>20), func(b *testing.B) {
				text := s.grow(size)
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					route.Classify(text, o)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(text)), "ns/byte")
			})
		}
	}
}
