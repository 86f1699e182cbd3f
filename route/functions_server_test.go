package route

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
)

// The server's answers to a call, on a connection without a database.
const (
	errSyntax     = 1064
	errNoDatabase = 1046 // MySQL: it would have to be a function of the database
	errNoFunction = 1305 // MariaDB says it even so
	errNoSuch     = 1630 // the same, for the name of a built-in
	errReadOnly   = 1290
	errReadOnlyTx = 1792
	errReadOnlyDB = 1836
)

// calls are what tells functions that are ordinary names to the grammar. Right
// behind SELECT a word could be one of its options.
var calls = []string{
	"SELECT 1+@()", "SELECT 1+@(1)", "SELECT 1+@(1,1)", "SELECT 1+@(1,1,1)", "SELECT 1+@(1,1,1,1)",
	"SELECT 1+@(1,1,1,1,1)", "SELECT 1+@(1,1,1,1,1,1)", "SELECT 1+@(1,1,1,1,1,1,1)",
}

// places are where a keyword may stand before a parenthesis in a query, and a
// plain name only if it is called. Names of tables and aliases are for the
// classifier to tell from calls.
var places = []string{
	"SELECT @(a) FROM (SELECT 1 a) t",
	"SELECT @(1,1)",
	"SELECT @(1,1,1)",
	"SELECT @(1,1,1,1)",
	"SELECT @(*) FROM (SELECT 1 a) t",
	"SELECT @() OVER (ORDER BY a) FROM (SELECT 1 a) t",
	"SELECT @(a) OVER () FROM (SELECT 1 a) t",
	"SELECT @(a) OVER (ORDER BY a) FROM (SELECT 1 a) t",
	"SELECT @(a,1) OVER (ORDER BY a) FROM (SELECT 1 a) t",
	"SELECT @(0.5) WITHIN GROUP (ORDER BY a) OVER () FROM (SELECT 1 a) t",
	"SELECT @('a' FROM 'b')",
	"SELECT @('a' IN 'b')",
	"SELECT @(1 AS CHAR)",
	"SELECT @('a' USING utf8mb4)",
	"SELECT @(DAY FROM NOW())",
	"SELECT @(DAY, 1, NOW())",
	"SELECT @(DATE, 'EUR')",
	"SELECT @(NOW(), INTERVAL 1 DAY)",
	"SELECT @(a, '$' RETURNING CHAR) FROM (SELECT '{}' a) t",
	"SELECT @('a' : 1)",
	"SELECT @(a, 'a' AS INT) FROM (SELECT '{}' a) t",
	"SELECT @(a) AGAINST ('x') FROM (SELECT '' a) t",
	"SELECT @(test.t)",
	"SELECT @(test.t, 5)",
	"SELECT @ (SELECT 1)",
	"SELECT 1 = @ (SELECT 1)",
	"SELECT 1 @ (1)",
	"SELECT 1 @ (1) AND 1",
	"SELECT 1 NOT @ (1)",
	"(SELECT 1) @ (SELECT 1)",
	"SELECT 1 FROM (SELECT 1 a) t @ (a)",
	"SELECT 1 FROM (SELECT 1 a) t GROUP BY @ (a)",
	"SELECT 1 FROM (SELECT 1 a) t JOIN (SELECT 1 a) u @ (a)",
	"SELECT 1 FROM (SELECT 1 a) t @ (SELECT 2 b) u",
	"SELECT 1 FROM (SELECT 1 a) t, @ (SELECT 2 b) u",
	"SELECT 1 FROM (SELECT 1 a) t LEFT @ (SELECT 2 b) u ON 1",
	"SELECT 1 FROM @ (SELECT 1 a) t",
	"SELECT 1 FROM test.t @ (p0)",
	"SELECT 1 FROM test.t USE @ (a)",
	"SELECT 1 FROM test.t USE INDEX FOR ORDER @ (a)",
	"SELECT 1 FROM test.t TABLESAMPLE @ (10)",
	"SELECT 1 FROM test.t FOR SYSTEM_TIME AS OF @ (NOW())",
	"SELECT 1 FROM test.t FOR SYSTEM_TIME AS @ (NOW())",
	"SELECT 1 FROM test.t FOR SYSTEM_TIME @ (NOW()) AND NOW()",
	"SELECT 1 FROM test.t FOR SYSTEM_TIME FROM NOW() @ (NOW())",
	"SELECT 1 FROM @ ('[1]', '$[*]' COLUMNS (a INT PATH '$')) t",
	"SELECT 1 FROM JSON_TABLE('[1]', '$[*]' @ (a INT PATH '$')) t",
	"SELECT 1 FROM JSON_TABLE('[1]', '$[*]' COLUMNS (a @(10) PATH '$')) t",
	"SELECT 1 FROM JSON_TABLE('[1]', '$[*]' COLUMNS (a @(10,2) PATH '$')) t",
	"SELECT 1 FROM JSON_TABLE('[1]', '$[*]' COLUMNS (a @('x') PATH '$')) t",
	"SELECT 1 FROM JSON_TABLE('[1]', '$[*]' COLUMNS (a CHAR @(10) PATH '$')) t",
	"SELECT 1 FROM JSON_TABLE('[1]', '$[*]' COLUMNS (a DOUBLE @(10,2) PATH '$')) t",
	"SELECT CASE @ (1) THEN 1 END",
	"SELECT CASE WHEN 1 @ (1) END",
	"SELECT CASE WHEN 1 THEN 1 @ (1) END",
	"SELECT CASE 1 @ (1) THEN 1 END",
	"SELECT @ (1) WHEN 1 THEN 1 END",
	"SELECT 'a' LIKE 'a' @ ('|')",
	"SELECT 1 MEMBER @ ('[1]')",
	"SELECT NOW() + @ (1) DAY",
	"SELECT MATCH(a) @ ('x') FROM (SELECT '' a) t",
	"SELECT SUM(a) @ () FROM (SELECT 1 a) t",
	"SELECT SUM(a) OVER (PARTITION @ (a)) FROM (SELECT 1 a) t",
	"SELECT PERCENTILE_CONT(0.5) WITHIN @ (ORDER BY a) OVER () FROM (SELECT 1 a) t",
	"WITH c @ (SELECT 1) SELECT * FROM c",
	"EXPLAIN @ (SELECT 1)",
	"@ (SELECT 1)",
	"VALUES @ (1), ROW (2)",
	"@ (1), (2)",
	"SELECT COUNT(@ (a)) FROM (SELECT 1 a) t",
	"SELECT TRIM(@ ('a') FROM 'aba')",
	"SELECT SUBSTRING('abc' @ (1))",
	"SELECT SUBSTRING('abc' FROM 1 @ (1))",
}

// statements are words that a parenthesis can follow in statements that are no
// reads: UPDATE (t JOIN u). They must stay out of the table, so that such a
// statement is never taken for a read because of it.
var statements = []string{"do", "kill", "update"}

// TestFunctionsOfServer takes every word in the server's program and calls it:
// whatever the server knows must be in functions.txt, and the other way round.
func TestFunctionsOfServer(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: -1})
		s := newFunctionServer(t, c)
		words := s.candidates(c.Installation().Server)
		t.Logf("%d candidates", len(words))

		known, keywords := map[string]bool{}, map[string]bool{}
		note := func(words, patterns []string) {
			for word, codes := range s.try(words, patterns) {
				if slices.Contains(codes, errSyntax) {
					keywords[word] = true
				}
				if slices.ContainsFunc(codes, s.builtin) {
					known[word] = true
				}
			}
		}
		// MariaDB's POINT and the like are told by their arguments only; a new
		// one would not be found, and be taken for a user's function.
		note(words, calls[:1])
		note(s.table(), calls[1:3])
		for _, word := range s.keywords() {
			keywords[word] = true
		}
		note(slices.Collect(maps.Keys(keywords)), s.ownPlaces())
		t.Logf("%d known", len(known))
		for _, word := range slices.Sorted(maps.Keys(known)) {
			info, _ := lookupFunction(word)
			if !s.has(info) && info.MariaDBIf == ifNothing && !slices.Contains(statements, word) {
				t.Errorf("%s knows %s, functions.txt does not", c.Version, word)
			}
		}
		for _, w := range functionWords {
			if info := functionInfos[w.info]; !known[w.word] && s.has(info) {
				t.Errorf("functions.txt says that %s knows %s, which it does not", c.Version, w.word)
			}
		}
		s.checkCalls(t)
	})
}

// checkCalls finds out for every word whether a user's function can be called
// by it, with and without a blank before the parenthesis.
func (s *functionServer) checkCalls(t *testing.T) {
	words := s.table()
	var spaced []string
	for _, call := range calls {
		spaced = append(spaced, strings.Replace(call, "(", " (", 1), strings.Replace(call, "(", "/**/(", 1))
	}
	for word, codes := range s.try(words, calls) {
		info, _ := lookupFunction(word)
		if got, want := slices.ContainsFunc(codes, s.unknown), !s.has(info); got != want {
			t.Errorf("%s(...) can call a user's function: %v, want %v; answers %v", word, got, want, codes)
		}
	}
	for word, codes := range s.try(words, spaced) {
		info, _ := lookupFunction(word)
		want := !s.has(info) || info.NoSpaceMySQL && s.f == flavor.MySQL || info.NoSpaceMariaDB && s.f == flavor.MariaDB
		if got := slices.ContainsFunc(codes, s.unknown); got != want {
			t.Errorf("%s (...) can call a user's function: %v, want %v; answers %v", word, got, want, codes)
		}
	}
}

// TestPureFunctionsChangeNothing calls each of them where nothing may be
// written, and compares what can be seen of the session and the binary log.
func TestPureFunctionsChangeNothing(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: -1})
		s := newFunctionServer(t, c)
		sandboxtest.Exec(t, c.Primary(), "CREATE DATABASE fun", "CREATE TABLE fun.t (a INT)",
			"CREATE FUNCTION fun.f() RETURNS INT DETERMINISTIC BEGIN INSERT INTO fun.t VALUES (1); RETURN 1; END")
		conn, err := s.db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		position := "SELECT @@gtid_executed"
		if f == flavor.MariaDB {
			position = "SELECT @@gtid_binlog_pos"
		}
		run := func(query string) int { return answer(conn, query) }
		if code := run("START TRANSACTION READ ONLY"); code != 0 {
			t.Fatalf("start transaction: error %d", code)
		}
		if code := run("SELECT fun.f()"); code != errReadOnlyTx {
			t.Errorf("a function that writes: error %d, want %d", code, errReadOnlyTx)
		}
		before := append(s.rows(conn, "SHOW SESSION VARIABLES"), s.rows(conn, position)...)
		answered := 0
		for _, w := range functionWords {
			info := functionInfos[w.info]
			if info.Kind != functionPure || !s.has(info) {
				continue
			}
			for _, call := range calls {
				call = strings.ReplaceAll(strings.Replace(call, "1+", "", 1), "1", "'0'")
				code := run(strings.Replace(call, "@", w.word, 1))
				if code == 0 {
					answered++
				}
				if code == errReadOnly || code == errReadOnlyTx || code == errReadOnlyDB {
					t.Errorf("%s with the arguments of %s: error %d", w.word, call, code)
				}
			}
		}
		t.Logf("%d calls were answered", answered)
		if answered < 200 {
			t.Errorf("only %d calls were answered, the others failed", answered)
		}
		after := append(s.rows(conn, "SHOW SESSION VARIABLES"), s.rows(conn, position)...)
		if !slices.Equal(before, after) {
			for i := range min(len(before), len(after)) {
				if before[i] != after[i] {
					t.Errorf("session had %q, has %q", before[i], after[i])
				}
			}
		}
	})
}

// functionServer asks one server what it takes for a function.
type functionServer struct {
	t       *testing.T
	f       flavor.Flavor
	version uint32
	db      *sql.DB
}

func newFunctionServer(t *testing.T, c *sandbox.Cluster) *functionServer {
	db := sandboxtest.Open(t, c.Primary())
	db.SetMaxOpenConns(4)
	db.SetMaxIdleConns(4)
	v := c.Version
	return &functionServer{t: t, f: c.Flavor, version: uint32(v.Major*10000 + v.Minor*100 + v.Patch), db: db}
}

// has says whether the table has a word as built in on this server.
func (s *functionServer) has(i functionInfo) bool {
	built, since, until := i.MySQL, i.MySQLSince, i.MySQLUntil
	if s.f == flavor.MariaDB {
		built, since, until = i.MariaDB, i.MariaDBSince, i.MariaDBUntil
	}
	return built && since <= s.version || s.version < until
}

// unknown says whether an error means that a user's function was looked for.
func (s *functionServer) unknown(code int) bool {
	return code == errNoFunction || code == errNoSuch || code == errNoDatabase && s.f == flavor.MySQL
}

// builtin says whether an answer means that the server knows the word.
func (s *functionServer) builtin(code int) bool { return code != errSyntax && !s.unknown(code) }

// ownPlaces returns the places in which this server takes no plain name.
func (s *functionServer) ownPlaces() []string {
	const plain = "no_word_of_any_server"
	codes := s.try([]string{plain}, places)[plain]
	var own []string
	for i, place := range places {
		if !s.builtin(codes[i]) {
			own = append(own, place)
		}
	}
	return own
}

// table returns the words of functions.txt that this server has.
func (s *functionServer) table() []string {
	var words []string
	for _, w := range functionWords {
		if info := functionInfos[w.info]; s.has(info) || info.MariaDBIf != ifNothing && s.f == flavor.MariaDB {
			words = append(words, w.word)
		}
	}
	return words
}

// answer returns the number of the error, or 0.
func answer(db interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}, query string,
) int {
	rows, err := db.QueryContext(context.Background(), query)
	if err == nil {
		for rows.Next() { // errors of the evaluation come with the rows
		}
		err = errors.Join(rows.Err(), rows.Close())
	}
	var answered *mysql.MySQLError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &answered):
		return int(answered.Number)
	}
	return -1
}

// try puts every word in place of @ in every pattern and returns the answers.
func (s *functionServer) try(words, patterns []string) map[string][]int {
	answers := make(map[string][]int, len(words))
	for _, word := range words {
		answers[word] = make([]int, len(patterns))
	}
	todo := make(chan string)
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for word := range todo {
				codes := answers[word]
				for i, pattern := range patterns {
					codes[i] = answer(s.db, strings.Replace(pattern, "@", word, 1))
					if codes[i] < 0 {
						s.t.Errorf("%s: no answer from the server", strings.Replace(pattern, "@", word, 1))
					}
				}
			}
		})
	}
	for word := range answers {
		todo <- word
	}
	close(todo)
	workers.Wait()
	return answers
}

// candidates returns every word of the server's program and of its tables about
// functions, and the words of functions.txt. The linker may have put a word into
// the end of a longer one, so MariaDB's are taken apart. Taking apart what has
// both cases too, and MySQL's, found nothing more.
func (s *functionServer) candidates(program string) []string {
	words := map[string]bool{}
	for c := 'a'; c <= 'z'; c++ {
		words[string(c)] = true
	}
	for _, w := range functionWords {
		words[w.word] = true
	}
	text, err := os.ReadFile(program)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, found := range regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]{1,63}`).FindAll(text, -1) {
		word := string(found)
		lower := strings.ToLower(word)
		words[lower] = true
		if s.f == flavor.MariaDB && len(word) <= 50 && (word == lower || word == strings.ToUpper(word)) {
			for i := 1; i < len(word)-1; i++ {
				words[lower[i:]] = true
			}
		}
	}
	queries := []string{"SELECT name FROM mysql.help_keyword UNION SELECT name FROM mysql.help_topic"}
	if s.f == flavor.MySQL {
		queries = append(queries, "SELECT udf_name FROM performance_schema.user_defined_functions")
	} else {
		queries = append(queries, "SELECT function FROM information_schema.sql_functions")
	}
	for _, query := range queries {
		for _, word := range s.rows(s.db, query) {
			words[strings.ToLower(word)] = true
		}
	}
	for _, word := range s.keywords() {
		words[word] = true
	}
	name := regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)
	maps.DeleteFunc(words, func(word string, _ bool) bool { return !name.MatchString(word) })
	return slices.Collect(maps.Keys(words))
}

func (s *functionServer) keywords() []string {
	var words []string
	for _, word := range s.rows(s.db, "SELECT word FROM information_schema.keywords") {
		if word = strings.ToLower(word); word[0] >= 'a' && word[0] <= 'z' {
			words = append(words, word)
		}
	}
	return words
}

// rows returns the rows of a query, columns separated by a blank, without the
// variables that change by themselves or by RAND().
func (s *functionServer) rows(db interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}, query string,
) []string {
	s.t.Helper()
	rows, err := db.QueryContext(s.t.Context(), query)
	if err != nil {
		s.t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		s.t.Fatalf("%s: %v", query, err)
	}
	var out []string
	values, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			s.t.Fatalf("%s: %v", query, err)
		}
		var row []string
		for _, v := range values {
			row = append(row, v.String)
		}
		switch row[0] {
		case "timestamp", "error_count", "warning_count", "statement_id", "rand_seed1", "rand_seed2":
		default:
			out = append(out, strings.Join(row, " "))
		}
	}
	if err := rows.Err(); err != nil {
		s.t.Fatalf("%s: %v", query, err)
	}
	return out
}
