package sqltoken_test

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/pkg/sqltoken"
)

// script is split by the real client and by Split. It has nothing in which the
// two differ on purpose.
const script = `-- first; comment
# second; one
/* block; */ SELECT 1; -- behind
SELECT 2; /* not; behind */
SELECT 3 -- inner; x
 , 4 # inner;
 , /* inner; */ 5;
SELECT 'a;''b', "c;\"d;", ` + "`x;``y` FROM (SELECT 1 AS `x;``y`) AS t" + `;
SELECT 'two
lines;';
;;
/* only a comment */;
-- in front of a delimiter
DELIMITER //
CREATE PROCEDURE d.p() BEGIN SELECT ';'; /* // */ SELECT 2; END//
SELECT 'a//b', "//", ` + "`//` FROM (SELECT 1 AS `//`) AS t" + `// SELECT 6, ';'// SELECT 7//
delimiter ;
  DELIMITER $$
SELECT 8$$ SELECT 9 $$
DELIMITER ';;'
SELECT 10;;
SELECT 11
;;
DELIMITER ;
SELECT 12\g SELECT 13 \G
SELECT 14 \c SELECT '\c', 15;
/*!50003 SELECT 16 */; /*!50003 SELECT 17 */;
SELECT 18--1;
use d
SELECT 'in d';
SELECT
status
FROM (SELECT 1 AS status) AS t;
SELECT 19; SELECT 20`

// TestSplit_client: the real client sends the statements that Split finds.
func TestSplit_client(t *testing.T) {
	t.Parallel()
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: -1})
		primary := c.Primary()
		sandboxtest.Exec(t, primary, "CREATE DATABASE d", "SET GLOBAL log_output = 'TABLE'", "SET GLOBAL general_log = ON")
		argv, err := c.Installation().Argv("mysql", "--defaults-file="+c.ClientCnf, "--batch", "--skip-comments")
		if err != nil {
			t.Fatal(err)
		}
		if f == flavor.MySQL { // off by default since 9.6
			argv = append(argv, "--commands")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		client := exec.CommandContext(ctx, argv[0], argv[1:]...)
		client.Stdin = strings.NewReader(script)
		if out, err := client.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		sandboxtest.Exec(t, primary, "SET GLOBAL general_log = OFF")
		compareWithClient(t, f, logged(t, primary))
	})
}

// logged returns what the server was sent, without what the client asks by
// itself.
func logged(t *testing.T, s *sandbox.Server) []string {
	rows, err := sandboxtest.Open(t, s).QueryContext(t.Context(),
		"SELECT argument FROM mysql.general_log WHERE command_type = 'Query' ORDER BY event_time, thread_id")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text, "general_log") && !strings.Contains(text, "@@version_comment") {
			all = append(all, text)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func compareWithClient(t *testing.T, f flavor.Flavor, theirs []string) {
	o := &sqltoken.Options{Flavor: f, Oldest: 101100}
	var ours []string
	for p, err := range sqltoken.Split(strings.NewReader(script), o) {
		if err != nil {
			t.Fatal(err)
		}
		text := withoutComments(p.Text, o)
		if text != "" && text != "use d" { // which is no query for the client
			ours = append(ours, text)
		}
	}
	var sent []string
	for _, text := range theirs {
		if text = withoutComments(text, o); text != "use d" && text != "SELECT DATABASE ( )" { // MariaDB's asks it behind USE
			sent = append(sent, text)
		}
	}
	if !slices.Equal(ours, sent) {
		t.Errorf("ours:\n%s\n\nthe client's:\n%s", strings.Join(ours, "\n"), strings.Join(sent, "\n"))
	}
}

// withoutComments is a text's tokens without comments, separated by blanks.
func withoutComments(text string, o *sqltoken.Options) string {
	var parts []string
	lex := sqltoken.New(text, o)
	for t := lex.Next(); t.Kind != sqltoken.EOF; t = lex.Next() {
		if t.Kind != sqltoken.Comment {
			parts = append(parts, text[t.Start:t.End])
		}
	}
	return strings.Join(parts, " ")
}

// TestNesting_server: the servers take the programs that TestNesting keeps
// whole.
func TestNesting_server(t *testing.T) {
	t.Parallel()
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		primary := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: -1}).Primary()
		sandboxtest.Exec(t, primary, "SET GLOBAL log_bin_trust_function_creators = ON")
		for _, p := range programs() {
			if p.flavor != flavor.Unknown && p.flavor != f {
				continue
			}
			conn, err := sandboxtest.Open(t, primary).Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range []string{
				"DROP DATABASE IF EXISTS d", "CREATE DATABASE d", "USE d", "CREATE TABLE base (a INT, b INT)",
				"CREATE TABLE words (begin INT, end INT)", "CREATE EVENT ev ON SCHEDULE EVERY 1 DAY DISABLE DO SELECT 1",
				"SET sql_mode = '" + p.mode + "'",
			} {
				if _, err := conn.ExecContext(t.Context(), s); err != nil {
					t.Fatal(err)
				}
			}
			if strings.Contains(p.text, "PACKAGE BODY k2") {
				if _, err := conn.ExecContext(t.Context(), "CREATE PACKAGE k2 AS PROCEDURE a; FUNCTION b RETURN INT; END"); err != nil {
					t.Fatal(err)
				}
			}
			var refused *mysql.MySQLError
			if _, err := conn.ExecContext(t.Context(), p.text); errors.As(err, &refused) && refused.Number != 1305 {
				t.Errorf("%s: %v", p.name, err)
			}
			if err := conn.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}
