package proxy_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
)

// leakSetting is a variable of a session, and how to tell its value by what it does.
type leakSetting struct {
	name   string
	values []string
	set    string // with %s for the value
	check  string
	want   func(value string) string
}

func leakSettings(f flavor.Flavor) []leakSetting {
	as := func(wants ...string) func(string) string {
		return func(value string) string {
			for i := 0; i < len(wants); i += 2 {
				if wants[i] == value {
					return wants[i+1]
				}
			}
			return value
		}
	}
	isolation := "tx_isolation"
	if f == flavor.MySQL {
		isolation = "transaction_isolation"
	}
	return []leakSetting{
		{"group_concat_max_len", []string{"4", "17", "400"}, "SET SESSION group_concat_max_len = %s", "SELECT LENGTH(GROUP_CONCAT(REPEAT('x', 500)))", as()},
		{"div_precision_increment", []string{"1", "5", "9"}, "SET div_precision_increment = %s", "SELECT 1/3", as("1", "0.3", "5", "0.33333", "9", "0.333333333")},
		{"lc_time_names", []string{"de_DE", "fr_FR"}, "SET lc_time_names = '%s'", "SELECT DATE_FORMAT('2020-01-01', '%W')", as("de_DE", "Mittwoch", "fr_FR", "mercredi")},
		{"default_week_format", []string{"0", "1"}, "SET @@SESSION.default_week_format = %s", "SELECT WEEK('2008-02-20')", as("0", "7", "1", "8")},
		{"timestamp", []string{"1000000000", "1000000007"}, "SET timestamp = %s", "SELECT UNIX_TIMESTAMP()", as()},
		{"auto_increment_increment", []string{"1", "10"}, "SET auto_increment_increment = %s", "SELECT @@auto_increment_increment", as()},
		{"foreign_key_checks", []string{"0", "1"}, "SET foreign_key_checks = %s", "SELECT @@foreign_key_checks", as()},
		{"sql_select_limit", []string{"2", "3"}, "SET sql_select_limit = %s", "SELECT @@sql_select_limit", as()},
		{isolation, []string{"READ COMMITTED", "SERIALIZABLE"}, "SET SESSION TRANSACTION ISOLATION LEVEL %s", "SELECT @@" + isolation, as("READ COMMITTED", "READ-COMMITTED")},
	}
}

// leakSchema makes what the steps need.
func leakSchema(t testing.TB, c *sandbox.Cluster, schema string) {
	sandboxtest.Exec(t, c.Primary(), "CREATE ROLE "+schema,
		fmt.Sprintf("CREATE DATABASE %s", schema),
		fmt.Sprintf("CREATE TABLE %s.me (id INT PRIMARY KEY, name VARCHAR(20))", schema),
		fmt.Sprintf("INSERT INTO %s.me VALUES (1, '%s')", schema, schema),
		fmt.Sprintf("CREATE TABLE %s.log (id BIGINT AUTO_INCREMENT PRIMARY KEY, who INT, n INT)", schema),
		fmt.Sprintf("CREATE PROCEDURE %s.zone(z VARCHAR(10)) SET SESSION time_zone = z", schema),
		fmt.Sprintf("CREATE PROCEDURE %s.put(v INT) BEGIN SET @leak = v; SELECT v; END", schema),
	)
}

// role is one of its own for the time of a step. Who makes a role has it on MariaDB, and may use it on
// MySQL once it is granted.
func (l *leaker) role() {
	none := "NULL"
	if l.f == flavor.MySQL {
		none = "NONE"
	}
	l.want(none, "SELECT CURRENT_ROLE()")
	l.exec("SET ROLE leak%d", l.schema)
	l.want("1", fmt.Sprintf("SELECT CURRENT_ROLE() LIKE '%%leak%d%%'", l.schema))
	l.exec("SET ROLE NONE")
	l.want(none, "SELECT CURRENT_ROLE()")
}

func (l *leaker) setSetting() {
	s := l.settings[l.rand.IntN(len(l.settings))]
	value := s.values[l.rand.IntN(len(s.values))]
	l.set[s.name] = value
	l.exec(s.set, value)
}

// checkSetting also looks at what this session has not set, which must be the server's default.
func (l *leaker) checkSetting() {
	s := l.settings[l.rand.IntN(len(l.settings))]
	if value, ok := l.set[s.name]; ok {
		l.want(s.want(value), s.check)
	} else if s.name == "timestamp" { // it has no global value
		l.want("1", "SELECT UNIX_TIMESTAMP() > 1100000000")
	} else {
		l.want("1", "SELECT @@SESSION."+s.name+" = @@GLOBAL."+s.name)
	}
}

func (l *leaker) checkLimit() {
	limit := 4
	if value, ok := l.set["sql_select_limit"]; ok {
		limit, _ = strconv.Atoi(value)
	}
	l.rows(limit, "SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4")
}

// lost tells whether the answer is that what a query asks for went with a connection. That is no wrong
// answer.
func (l *leaker) lost(query string, err error) bool {
	var refused *mysql.MySQLError
	if !errors.As(err, &refused) || refused.Number != 1105 || !strings.Contains(refused.Message, "(previous-statement)") {
		return false
	}
	l.forgotten.Add(1)
	return strings.HasPrefix(query, "SHOW ") || strings.Contains(query, "ROW_COUNT()") || strings.Contains(query, "warning_count")
}

// rows counts those of a query.
func (l *leaker) rows(want int, query string) {
	l.says(query)
	rows, err := l.conn.QueryContext(l.t.Context(), query)
	if err != nil {
		if !l.lost(query, err) {
			l.errorf("%s: %v", query, err)
		}
		return
	}
	got := 0
	for rows.Next() {
		got++
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil || got != want {
		l.errorf("%s: got %d rows, %v, want %d", query, got, err, want)
	}
}

// fails runs a statement that the server must refuse.
func (l *leaker) fails(code uint16, text string) {
	l.says(text)
	_, err := l.conn.ExecContext(l.t.Context(), text)
	var refused *mysql.MySQLError
	if !errors.As(err, &refused) || refused.Number != code {
		l.errorf("%s: got %v, want error %d", text, err, code)
	}
}

func (l *leaker) mine() string {
	return fmt.Sprintf("SELECT COUNT(*) FROM me WHERE id = %d", 1000+l.id)
}

// own writes are seen at level session, wherever the read runs and whatever is set.
func (l *leaker) own() {
	l.exec("SET mysqlrw_consistency = 'session'")
	l.insert()
	l.want("1", fmt.Sprintf("SELECT n FROM log WHERE id = %d", l.insertID))
	n := 2 + l.rand.IntN(1000)
	l.exec("UPDATE log SET n = %d WHERE id = %d", n, l.insertID)
	l.want(strconv.Itoa(n), fmt.Sprintf("SELECT n FROM log WHERE id = %d", l.insertID))
	l.exec("SET mysqlrw_consistency = 'eventual'")
}

func (l *leaker) noAutocommit() {
	l.exec("SET autocommit = 0")
	l.exec("INSERT INTO me VALUES (%d, 'x')", 1000+l.id)
	l.want("1", l.mine())
	l.exec("ROLLBACK")
	l.want("0", l.mine())
	l.exec("SET autocommit = 1")
	l.want("1", "SELECT @@autocommit")
}

func (l *leaker) savepoint() {
	l.exec("START TRANSACTION")
	l.exec("INSERT INTO me VALUES (%d, 'x')", 1000+l.id)
	l.exec("SAVEPOINT a")
	l.exec("DELETE FROM me WHERE id = %d", 1000+l.id)
	l.want("0", l.mine())
	l.exec("ROLLBACK TO a")
	l.want("1", l.mine())
	l.exec("ROLLBACK")
}

// readOnly: what SET TRANSACTION says holds for the next transaction alone, and for nobody else's.
func (l *leaker) readOnly() {
	l.exec("SET TRANSACTION READ ONLY")
	l.exec("BEGIN")
	l.fails(1792, fmt.Sprintf("INSERT INTO me VALUES (%d, 'x')", 1000+l.id))
	l.check()
	l.exec("ROLLBACK")
	l.insert()
}

func (l *leaker) xa() {
	l.exec("XA START 'leak%d'", l.id)
	l.exec("INSERT INTO me VALUES (%d, 'x')", 1000+l.id)
	l.want("1", l.mine())
	l.exec("XA END 'leak%d'", l.id)
	l.exec("XA ROLLBACK 'leak%d'", l.id)
}

func (l *leaker) tableLock() {
	l.exec("LOCK TABLES me READ, log WRITE")
	l.check()
	l.insert()
	l.fails(1099, "DELETE FROM me")
	l.exec("UNLOCK TABLES")
}

func (l *leaker) namedLock() {
	l.want("1", fmt.Sprintf("SELECT GET_LOCK('leak%d', 60)", l.id))
	l.check()
	l.want("0", fmt.Sprintf("SELECT IS_FREE_LOCK('leak%d')", l.id))
	l.want("1", fmt.Sprintf("SELECT RELEASE_LOCK('leak%d')", l.id))
	l.want("NULL", fmt.Sprintf("SELECT RELEASE_LOCK('leak%d')", l.id))
}

// warnings: what asks for the statement before gets it from the connection that ran it.
func (l *leaker) warnings() {
	l.want("12", "SELECT CAST('12x' AS SIGNED)")
	l.rows(1, "SHOW WARNINGS")
	l.want("1", "SELECT @@warning_count")
	l.fails(1062, "INSERT INTO me VALUES (1, 'x')")
	l.rows(1, "SHOW ERRORS")
	l.noWarning()
}

// noWarning: a statement without a table does not empty MariaDB's list, and it must not be somebody else's.
func (l *leaker) noWarning() {
	l.check()
	l.checkSchema()
	l.rows(0, "SHOW WARNINGS")
}

func (l *leaker) found() {
	l.rows(1, "SELECT SQL_CALC_FOUND_ROWS n FROM (SELECT 1 AS n UNION ALL SELECT 2 UNION ALL SELECT 3) AS d LIMIT 1")
	l.want("3", "SELECT FOUND_ROWS()")
	l.exec("UPDATE me SET name = name WHERE id < 0")
	l.want("0", "SELECT ROW_COUNT()")
	res := l.exec("INSERT INTO log (who, n) VALUES (%d, 1), (%d, 2)", l.id, l.id)
	l.want("2", "SELECT ROW_COUNT()")
	if res != nil {
		l.insertID, _ = res.LastInsertId()
	}
}

func (l *leaker) textPrepare() {
	l.exec("PREPARE p FROM 'SELECT ? + %d'", l.id)
	l.check()
	l.exec("SET @five = 5")
	l.want(strconv.Itoa(l.id+5), "EXECUTE p USING @five")
	l.exec("DEALLOCATE PREPARE p")
	l.fails(1243, "EXECUTE p USING @five")
}

// routine: what a procedure sets is the session's.
func (l *leaker) routine() {
	if l.rand.IntN(2) == 0 {
		l.zone = fmt.Sprintf("%+03d:00", l.rand.IntN(20)-10)
		l.exec("CALL zone('%s')", l.zone)
		l.checkZone()
		return
	}
	l.variable = strconv.Itoa(l.id*1000 + l.rand.IntN(1000))
	l.want(l.variable, fmt.Sprintf("CALL put(%s)", l.variable))
	l.checkVariable()
}

func (l *leaker) into() {
	l.variable = strconv.Itoa(l.id*1000 + l.rand.IntN(1000))
	l.exec("SELECT %s INTO @leak", l.variable)
	l.checkVariable()
	l.want(l.variable+"1", "SELECT CONCAT(@leak := @leak, 1)")
	l.checkVariable()
}

// several statements in one packet, in whose midst the session changes.
func (l *leaker) several() {
	l.schema = l.rand.IntN(l.schemas)
	l.variable = strconv.Itoa(l.id*1000 + l.rand.IntN(1000))
	text := fmt.Sprintf("SET @leak = %s; USE leak%d; SELECT DATABASE(); SELECT @leak", l.variable, l.schema)
	l.says(text)
	l.n += 3
	rows, err := l.conn.QueryContext(l.t.Context(), text)
	if err != nil {
		l.errorf("%s: %v", text, err)
		return
	}
	var got []string
	for more := true; more; more = rows.NextResultSet() {
		for rows.Next() {
			var v sql.NullString
			if err := rows.Scan(&v); err != nil {
				l.errorf("%s: %v", text, err)
			}
			got = append(got, v.String)
		}
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil || strings.Join(got, " ") != fmt.Sprintf("leak%d %s", l.schema, l.variable) {
		l.errorf("%s: got %q, %v", text, got, err)
	}
}

// leave goes away in the midst of something, which nobody may find on the connection afterwards: a
// temporary table, a transaction, a lock, a statement that runs.
func (l *leaker) leave() {
	l.gone = true
	for _, text := range [...][]string{
		{"CREATE TEMPORARY TABLE mine (who INT)"},
		{"BEGIN", fmt.Sprintf("INSERT INTO me VALUES (%d, 'x')", 1000+l.id)},
		{"SET autocommit = 0", fmt.Sprintf("INSERT INTO me VALUES (%d, 'x')", 1000+l.id)},
		{"LOCK TABLES me WRITE, log WRITE"},
		{fmt.Sprintf("DO GET_LOCK('leak%d', 60)", l.id)},
		{"PREPARE p FROM 'SELECT 1'"},
		{fmt.Sprintf("XA START 'leak%d'", l.id)},
		{"SET @@SESSION.max_join_size = 1, @leak = 'gone'"},
		{fmt.Sprintf("SET ROLE leak%d", l.schema)},
		{},
	}[l.rand.IntN(10)] {
		l.exec("%s", text)
	}
	if l.rand.IntN(2) == 0 {
		return
	}
	l.says("DO SLEEP")
	ctx, cancel := context.WithTimeout(l.t.Context(), time.Duration(l.rand.IntN(20_000))*time.Microsecond)
	defer cancel()
	if _, err := l.conn.ExecContext(ctx, "DO SLEEP(60)"); err == nil {
		l.errorf("SLEEP ended by itself")
	}
}
