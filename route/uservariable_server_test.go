package route

import (
	"context"
	"database/sql"
	"flag"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/pkg/sqltoken"
)

var userVariableSeed = flag.Uint64("route.uservariables.seed", 0, "seed of the random strings, 0 for a new one")

// TestUserVariablesServer sets variables in sessions of every kind, and by the literals that are
// returned in another: the variables are the same to the last bit.
func TestUserVariablesServer(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: -1})
		db := sandboxtest.Open(t, c.Primary())
		u := &userVariableTest{Options: Options{Options: sqltoken.Options{Flavor: f}}}
		for i := range u.conns {
			conn, err := db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			u.conns[i] = conn
		}
		first := *userVariableSeed
		if first == 0 {
			first = rand.Uint64()
		}
		t.Logf("repeat with -route.uservariables.seed=%d", first)
		r := rand.New(rand.NewPCG(first, 0))
		literals := []string{"1", "-1.50", "1e3", "+18446744073709551615", "0x4142", "b'0101'", "X'c3a9'", "TRUE", "NULL", "''"}
		for range 300 {
			literals = append(literals, randomString(r))
		}
		carried := 0
		for i, literal := range literals {
			if u.carries(t, r, literal) {
				carried++
			} else if i < 9 { // those before '', which MariaDB may read as NULL
				t.Errorf("%s was not read", literal)
			}
		}
		if carried < 100 {
			t.Errorf("only %d of %d were carried", carried, len(literals))
		}
	})
}

type userVariableTest struct {
	Options
	conns [2]*sql.Conn
}

// carries sets one variable on the first connection and on the second, and tells whether its literal
// could be read.
func (u *userVariableTest) carries(t *testing.T, r *rand.Rand, literal string) bool {
	t.Helper()
	// A session's character set, and what it compares by.
	sets := []string{
		"NAMES utf8mb4", "NAMES utf8mb4 COLLATE utf8mb4_bin", "NAMES utf8mb3", "NAMES latin1", "NAMES gbk", "NAMES koi8r", "NAMES binary", "NAMES swe7",
		"character_set_client=latin1, collation_connection=utf8mb4_bin", "character_set_client=utf8mb4, collation_connection=ucs2_bin",
		"character_set_client=utf8mb4, collation_connection=latin1_bin",
	}
	modes := []string{"''", "'NO_BACKSLASH_ESCAPES'", "'ANSI_QUOTES'"}
	for _, c := range u.conns {
		execute(t, c, "SET character_set_client=utf8mb4, character_set_results=utf8mb4, collation_connection=utf8mb4_bin")
	}
	all := []string{"a", "A_b", "$x", "a.b.c", "9", "_", "`quoted`", "'x'", "select"}
	name := all[r.IntN(len(all))]
	mode := modes[r.IntN(len(modes))]
	execute(t, u.conns[0], "SET @"+name+"=1, sql_mode="+mode)
	execute(t, u.conns[1], "SET @"+name+"=1, sql_mode="+modes[r.IntN(len(modes))])
	execute(t, u.conns[0], "SET "+sets[r.IntN(len(sets)-1)]) // Decide lets no text in swe7 pass
	execute(t, u.conns[1], "SET "+sets[r.IntN(len(sets))])
	var client, collation string
	row := u.conns[0].QueryRowContext(t.Context(), "SELECT @@character_set_client, @@collation_connection")
	if err := row.Scan(&client, &collation); err != nil {
		t.Fatal(err)
	}
	o := u.Options
	o.Charset, _ = sqltoken.ParseCharset(client)
	o.NoBackslashEscapes, o.ANSIQuotes = mode == modes[1], mode == modes[2]
	text := "SET @" + name + "=" + literal
	if _, err := u.conns[0].ExecContext(t.Context(), text); err != nil {
		return false // a string that is not of its character set
	}
	names, literals, ok := UserVariables(text, &o, client, collation)
	if !ok {
		return false
	}
	replay := "SET @" + names[0] + "=" + literals[0]
	execute(t, u.conns[1], replay)
	want, got := u.look(t, 0, names[0]), u.look(t, 1, names[0])
	if numeric := strings.IndexByte("+-0123456789TN", literal[0]) >= 0; numeric {
		want, got = want[:1], got[:1] // shown in the session's character set
	}
	if !slices.Equal(want, got) {
		t.Errorf("%q in %s, %s: by %s it is %q, want %q", text, client, collation, replay, got, want)
	}
	return true
}

// look returns all that a connection says about a variable.
func (u *userVariableTest) look(t *testing.T, conn int, name string) []string {
	t.Helper()
	sql := "SELECT IFNULL(HEX(@x), 'NULL'), CHARSET(@x), COLLATION(@x), COERCIBILITY(@x)"
	all := make([]string, 4)
	row := u.conns[conn].QueryRowContext(t.Context(), strings.ReplaceAll(sql, "@x", "@`"+name+"`"))
	if err := row.Scan(&all[0], &all[1], &all[2], &all[3]); err != nil {
		t.Fatal(err)
	}
	return all
}

func execute(t *testing.T, c *sql.Conn, text string) {
	t.Helper()
	if _, err := c.ExecContext(context.WithoutCancel(t.Context()), text); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
}

// randomString returns a quoted string, which the lexer may read in some sessions as something else.
func randomString(r *rand.Rand) string {
	pieces := []string{
		"a", "B", " ", "''", `""`, `\'`, `\"`, `\\`, `\n`, `\0`, `\%`, `\_`, `\x`, "é", "日", "😀", "\xe9", "\x81", "%", "`", "\t", "7",
	}
	quote := "'"
	if r.IntN(3) == 0 {
		quote = `"`
	}
	var b strings.Builder
	b.WriteString(quote)
	for range r.IntN(8) {
		piece := pieces[r.IntN(len(pieces))]
		if piece == quote {
			continue
		}
		b.WriteString(piece)
	}
	b.WriteString(quote)
	return b.String()
}
