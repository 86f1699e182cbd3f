package tracker

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sqltoken"
)

func mysqlOptions() *sqltoken.Options {
	return &sqltoken.Options{Flavor: flavor.MySQL, Oldest: 90704, Newest: 90704}
}

func mariadbOptions() *sqltoken.Options {
	return &sqltoken.Options{Flavor: flavor.MariaDB, Oldest: 101119, Newest: 101119}
}

func TestNames(t *testing.T) {
	my, maria := mysqlOptions(), mariadbOptions()
	ansi := mysqlOptions()
	ansi.ANSIQuotes = true
	latin := mysqlOptions()
	latin.Charset, _ = sqltoken.ParseCharset("latin1")
	for _, c := range []struct {
		text string
		o    *sqltoken.Options
		want string // schema.table, separated by blanks; all that there are
	}{
		{"SELECT 1", my, ""},
		{"", my, ""},
		{"SELECT c FROM sbtest1 WHERE id = 5", my, "s.c s.sbtest1 s.id"},
		{"select C from SBTEST1 where ID = 5 -- t", my, "s.c s.sbtest1 s.id"},
		{"SELECT x.c FROM d.t x", my, "x.c d.t s.x"},
		{"SELECT x.c FROM d.t x", maria, "x.c s.c d.t s.t s.x"},
		{"SELECT * FROM .t", my, "s.t"},
		{"SELECT * FROM { oj .t }", maria, "oj.t s.t"},
		{"SELECT d.t.c, d.t.* FROM d . /* x */ t", my, "d.t t.c"},
		{"SELECT * FROM d.`select`", my, "d.select"},
		{"SELECT * FROM d.select", my, "d.select"},
		{"SELECT * FROM select.t", my, "select.t"},
		{"SELECT * FROM select .t", my, "s.t"}, // no server takes it
		{"SELECT * FROM `a``b`, `a.b`, `c`.`d`", my, "s.a`b s.a.b c.d"},
		{"SELECT * FROM 1t, d.1t, d.5, d.1e5", my, "s.1t d.1t d.5 d.1e5"},
		{`SELECT "a", 'b' FROM t`, my, "s.t"},
		{`SELECT "a""b", 'b' FROM t`, ansi, `s.a"b s.t`},
		{"SELECT @a, @@global.b", my, "global.b"},
		{"SELECT a FROM b; (TABLE c); VALUES ROW(d);", my, "s.a s.b s.c s.row s.d"},
		{"WITH c AS (SELECT a FROM t) SELECT * FROM c", my, "s.c s.a s.t"},
		{"SELECT * FROM größe, GRÖSSE, `a?`", my, "s.?"},
		{"SELECT 'größe' FROM t", latin, "s.t"},
		{"/* c */ SELECT /*+ NO_INDEX(u) */ a FROM t", my, "s.a s.t"},
	} {
		names, known := Names([]Key{1}, c.text, "s", c.o)
		var want []Key
		for _, name := range strings.Fields(c.want) {
			schema, table, _ := strings.Cut(name, ".")
			want = append(want, KeyOf(schema, table))
		}
		got := map[Key]bool{}
		for _, k := range names {
			got[k] = true
		}
		for _, k := range want {
			if !got[k] {
				t.Errorf("%q: key %d of %q is missing", c.text, k, c.want)
			}
			delete(got, k)
		}
		if !known || names[0] != 1 || len(got) != 1 {
			t.Errorf("%q: known %v, %d names too many, want %q", c.text, known, len(got)-1, c.want)
		}
	}
}

// TestUnknown: nothing is said of what is no query, or is not certainly understood.
func TestUnknown(t *testing.T) {
	latin := mysqlOptions()
	latin.Charset, _ = sqltoken.ParseCharset("latin1")
	undecided := mysqlOptions()
	undecided.Newest, undecided.SkipUndecided = 100000, true
	for _, o := range []*sqltoken.Options{mysqlOptions(), mariadbOptions(), latin, undecided, {}} {
		for _, text := range []string{
			"SHOW TABLES", "SHOW COLUMNS FROM t IN d", "DESCRIBE d.t", "EXPLAIN SELECT 1", "HANDLER t READ FIRST", "DO 1",
			"CALL p()", "EXECUTE s", "EXECUTE IMMEDIATE 'SELECT 1'", "USE d", "SELECT 1; USE d; SELECT a FROM t", "SET @a = 1",
			"CHECKSUM TABLE t", "SET STATEMENT max_statement_time = 1 FOR SELECT 1", "BEGIN NOT ATOMIC SELECT 1; END", "x",
			"INSERT INTO t VALUES (1)", "'select'", "1", "?", "SELECT a FROM t /*!50000 , u */", "SELECT a FROM t /*!999999 , u */; x",
			"SELECT /*! a */ FROM t", "SELECT a FROM t WHERE b = 'x", "SELECT a FROM `t", "SELECT a FROM t /* x", "SELECT a \x00 FROM t",
			"SELECT * FROM information_schema.tables", "SELECT * FROM Mysql . user", "SELECT * FROM `SYS`.x",
			"SELECT * FROM performance_schema.threads", "SELECT a.", "SELECT a..b", "SELECT a.'b'", "SELECT d.s.nextval", "SELECT s.CurrVal",
			"SELECT CONVERT_TZ(a, 'UTC', 'Europe/Berlin') FROM t", "SELECT * FROM \xff", "SELECT * FROM `\xc4`",
			"SELECT * FROM \u212a", "SELECT * FROM `a\u0130`", "SELECT * FROM d.`a\u0130`",
		} {
			if names, known := Names(nil, text, "s", o); known || len(names) > 0 {
				t.Errorf("%+v: %q: %d names, known %v", *o, text, len(names), known)
			}
		}
	}
	for _, schema := range []string{"mysql", "SYS", "information_schema", "performance_schema", "\u0130", "\xff"} {
		if _, known := Names(nil, "SELECT a FROM t", schema, mysqlOptions()); known {
			t.Errorf("schema %q: known", schema)
		}
	}
	if _, known := Names(nil, "SELECT a FROM größe", "s", latin); known {
		t.Error("bytes over 0x7F in latin1: known")
	}
	if _, known := Names(nil, "SELECT a FROM t /*!100000 , u */", "s", undecided); known {
		t.Error("undecided comment: known")
	}
}

func TestManyNames(t *testing.T) {
	list := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, ",c%d", i)
		}
		return "SELECT 1" + b.String() + ", c0, c1"
	}
	names, known := Names([]Key{1, 2}, list(maxNames), "s", mysqlOptions())
	if !known || len(names) != maxNames+2 {
		t.Errorf("%d names: known %v, %d", maxNames, known, len(names))
	}
	names, known = Names([]Key{1, 2}, list(maxNames+1), "s", mysqlOptions())
	if known || len(names) != 2 {
		t.Errorf("%d names: known %v, %d", maxNames+1, known, len(names))
	}
}

func TestKeyOf(t *testing.T) {
	same := [][2]string{
		{"S.T", "s.t"}, {"s.größe", "s.GRÖSSE"}, {"s.a?", "s.a\U0001f600"}, {"\u212a.\u0130t", "k.it"}, {"ß.t", "?.t"},
	}
	for _, c := range same {
		if of(c[0]) != of(c[1]) {
			t.Errorf("%q and %q differ", c[0], c[1])
		}
	}
	seen := map[Key]string{}
	for _, name := range []string{"s.t", "t.s", "st.", ".st", "s.t_", "s.t$", "s.t-", "s. t", "s.?", "?.s", "s.[", "s.{", "s.@", "s.`"} {
		if other, dup := seen[of(name)]; dup {
			t.Errorf("%q and %q have one key", name, other)
		}
		seen[of(name)] = name
	}
	if KeyOf([]byte("s"), []byte("T")) != KeyOf("s", "t") {
		t.Error("bytes and text differ")
	}
	for name, want := range map[string]uint64{
		"information_schema": hashInformationSchema, "performance_schema": hashPerformanceSchema, "mysql": hashMySQL, "sys": hashSys,
	} {
		if got := hash(name); got != want {
			t.Errorf("hash of %s is 0x%016x, not 0x%016x", name, got, want)
		}
	}
}

func of(name string) Key {
	schema, table, _ := strings.Cut(name, ".")
	return KeyOf(schema, table)
}

const hibernate = "select o1_0.id,o1_0.created,o1_0.customer_id,c1_0.id,c1_0.email,c1_0.name,o1_0.state,o1_0.total " +
	"from orders o1_0 left join customers c1_0 on c1_0.id=o1_0.customer_id where o1_0.state=? order by o1_0.id desc limit ?"

func TestAllocations(t *testing.T) {
	dst, o := make([]Key, 0, maxNames+1), mariadbOptions()
	for _, text := range []string{"SELECT c FROM sbtest1 WHERE id=501", hibernate, "SELECT `a` FROM `größe`"} {
		if n := testing.AllocsPerRun(100, func() { dst, _ = Names(dst[:0], text, "sbtest", o) }); n > 0 {
			t.Errorf("%q: %v allocations", text, n)
		}
	}
}

func BenchmarkNames(b *testing.B) {
	dst := make([]Key, 0, maxNames+1)
	for _, c := range []struct {
		name, text string
		o          *sqltoken.Options
	}{
		{"point", "SELECT c FROM sbtest1 WHERE id=501", mysqlOptions()},
		{"join", hibernate, mysqlOptions()},
		{"join-mariadb", hibernate, mariadbOptions()},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				dst, _ = Names(dst[:0], c.text, "sbtest", c.o)
			}
		})
	}
}

func BenchmarkKeyOf(b *testing.B) {
	schema, table := []byte("sbtest"), []byte("sbtest1")
	for b.Loop() {
		_ = KeyOf(schema, table)
	}
}
