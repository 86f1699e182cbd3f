package sqltoken_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sqltoken"
)

// program is a statement with a body that the servers take as it is.
type program struct {
	name   string
	text   string
	flavor flavor.Flavor // Unknown: both take it
	mode   string        // the sql_mode that it needs
}

// programs are run on real servers by TestNesting_server.
func programs() []program {
	const maria, mysql = flavor.MariaDB, flavor.MySQL
	return []program{
		{name: "one statement", text: "CREATE PROCEDURE p() SELECT 1"},
		{name: "block", text: "CREATE PROCEDURE p() BEGIN SELECT 1; SELECT 2; END"},
		{name: "empty block", text: "CREATE PROCEDURE p() BEGIN END"},
		{name: "definer", text: "CREATE DEFINER=`root`@`localhost` PROCEDURE p(IN a INT, OUT b CHAR(3)) COMMENT 'x;y' SQL SECURITY INVOKER MODIFIES SQL DATA BEGIN SET b = 'END;'; END"},
		{name: "nested", text: "CREATE PROCEDURE p() a: BEGIN BEGIN SELECT 1; END; b: BEGIN LEAVE b; END b; END a"},
		{name: "comments", text: "CREATE PROCEDURE p() BEGIN /* END; */ SELECT 1; -- END;\n # END;\n END"},
		{name: "if", text: "CREATE PROCEDURE p(a INT) BEGIN IF a THEN SELECT 1; ELSEIF a = 2 THEN IF a THEN SELECT 2; END IF; ELSE SELECT IF(a, 1, 2); END IF; END"},
		{name: "if is the body", text: "CREATE PROCEDURE p(a INT) IF a THEN SELECT 1; SELECT 2; ELSE SELECT 3; END IF"},
		{name: "else if", text: "CREATE PROCEDURE p(a INT) BEGIN IF a THEN SELECT 1; ELSE IF a = 2 THEN SELECT 2; END IF; END IF; END"},
		{name: "if function", text: "CREATE FUNCTION f(a INT) RETURNS INT DETERMINISTIC RETURN IF(a, 1, IF(a, 2, 3))"},
		{name: "if exists", text: "CREATE PROCEDURE IF NOT EXISTS p() BEGIN DROP TABLE IF EXISTS t1; CREATE TABLE IF NOT EXISTS t1 (a INT); DROP TABLE IF EXISTS t1; END"},
		{name: "drop if exists is the body", text: "CREATE PROCEDURE p() DROP TABLE IF EXISTS nosuch"},
		{name: "case statement", text: "CREATE PROCEDURE p(a INT) BEGIN CASE a WHEN 1 THEN SELECT 1; IF a THEN SELECT 2; END IF; WHEN 2 THEN BEGIN END; ELSE SELECT 3; END CASE; SELECT 4; END"},
		{name: "case is the body", text: "CREATE PROCEDURE p(a INT) CASE WHEN a = 1 THEN IF a THEN SELECT 2; END IF; ELSE SELECT 3; END CASE"},
		{name: "case expression", text: "CREATE PROCEDURE p(a INT) BEGIN SELECT CASE a WHEN 1 THEN CASE WHEN a THEN 2 ELSE 3 END ELSE 4 END; SET a = CASE WHEN a THEN 1 END; END"},
		{name: "case expression in a head", text: "CREATE PROCEDURE p(a INT) BEGIN WHILE CASE a WHEN 1 THEN 1 ELSE 0 END DO SET a = 2; END WHILE; IF CASE WHEN a THEN 1 END THEN SELECT 1; END IF; END"},
		{name: "case is returned", text: "CREATE FUNCTION f(a INT) RETURNS VARCHAR(9) CHARACTER SET utf8mb4 DETERMINISTIC RETURN CASE a WHEN 1 THEN 'x' ELSE 'y' END"},
		{name: "case returned in a block", text: "CREATE FUNCTION f(a INT) RETURNS SET('a','b') DETERMINISTIC BEGIN RETURN CASE a WHEN 1 THEN 'a' ELSE 'b' END; END"},
		{name: "set is the body", text: "CREATE PROCEDURE p() SET @a = CASE WHEN 1 THEN 2 END"},
		{name: "loops", text: "CREATE PROCEDURE p() BEGIN DECLARE i INT DEFAULT 0; l: LOOP SET i = i + 1; IF i > 3 THEN LEAVE l; END IF; ITERATE l; END LOOP l; WHILE i > 0 DO SET i = i - 1; END WHILE; REPEAT SET i = i + 1; UNTIL i > 3 END REPEAT; END"},
		{name: "loop is the body", text: "CREATE PROCEDURE p() l: LOOP SELECT REPEAT('x', 3); LEAVE l; END LOOP l"},
		{name: "loop in a loop", text: "CREATE PROCEDURE p() a: LOOP LOOP REPEAT LEAVE a; UNTIL TRUE END REPEAT; END LOOP; END LOOP"},
		{name: "while is the body", text: "CREATE PROCEDURE p(i INT) WHILE i > 0 DO SET i = i - 1; SELECT i; END WHILE"},
		{name: "repeat is the body", text: "CREATE PROCEDURE p(i INT) REPEAT SET i = i + 1; UNTIL CASE WHEN i > 3 THEN 1 ELSE 0 END END REPEAT"},
		{name: "do", text: "CREATE PROCEDURE p(a INT) BEGIN DO IF(a, 1, 2); DO SLEEP(0), 1; WHILE a DO DO 1; SET a = 0; END WHILE; END"},
		{name: "handlers", text: "CREATE PROCEDURE p() BEGIN DECLARE a INT; DECLARE c CURSOR FOR SELECT 1 FOR UPDATE; DECLARE CONTINUE HANDLER FOR NOT FOUND SET a = 1; DECLARE EXIT HANDLER FOR SQLEXCEPTION, SQLSTATE '01000', 1062 BEGIN ROLLBACK; SELECT 1; END; OPEN c; END"},
		{name: "if is the handler", text: "CREATE PROCEDURE p(a INT) BEGIN DECLARE EXIT HANDLER FOR NOT FOUND IF a THEN SELECT 1; END IF; SELECT 2; END"},
		{name: "trigger", text: "CREATE TRIGGER tr BEFORE INSERT ON base FOR EACH ROW BEGIN SET NEW.a = 1; SET NEW.b = 2; END"},
		{name: "trigger with one statement", text: "CREATE TRIGGER tr AFTER UPDATE ON base FOR EACH ROW SET @a = CASE WHEN OLD.a THEN 1 END"},
		{name: "trigger with if", text: "CREATE TRIGGER tr BEFORE UPDATE ON base FOR EACH ROW IF NEW.a THEN SET NEW.b = 1; SET NEW.a = 2; END IF"},
		{name: "event", text: "CREATE EVENT IF NOT EXISTS e ON SCHEDULE EVERY 1 DAY STARTS CURRENT_TIMESTAMP + INTERVAL 1 DAY DISABLE COMMENT 'x' DO BEGIN SELECT 1; SELECT 2; END"},
		{name: "event with one statement", text: "CREATE EVENT e ON SCHEDULE AT CURRENT_TIMESTAMP + INTERVAL 1 DAY DISABLE DO DELETE FROM base WHERE IF(a, 1, 0)"},
		{name: "alter event", text: "ALTER EVENT ev ON SCHEDULE EVERY 1 DAY DISABLE DO BEGIN SELECT 1; SELECT 2; END"},
		{name: "names", text: "CREATE PROCEDURE p() BEGIN SELECT begin, end FROM words; SELECT w.end, w.begin, words.end FROM words w, words; UPDATE words SET end = begin; SELECT 1 AS `case`; END"},
		{name: "transaction", text: "CREATE PROCEDURE p() BEGIN START TRANSACTION; COMMIT; XA BEGIN 'x'; XA END 'x'; XA ROLLBACK 'x'; END"},
		{name: "executable comment", text: "/*!50003 CREATE*/ /*!50017 DEFINER=`root`@`localhost`*/ /*!50003 TRIGGER tr BEFORE INSERT ON base FOR EACH ROW BEGIN SET NEW.a = 1; SET NEW.b = 2; END */"},
		{name: "alias", text: "CREATE PROCEDURE p() SELECT 1 AS a, (SELECT 2) AS b"},
		{name: "view", text: "CREATE OR REPLACE VIEW v AS SELECT CASE WHEN 1 THEN 2 END AS c"},
		{name: "other language", text: "CREATE FUNCTION f() RETURNS INT LANGUAGE JAVASCRIPT AS $$ if (1) { ; } return 1 $$", flavor: mysql},
		{name: "or replace", text: "CREATE OR REPLACE AGGREGATE FUNCTION f(a INT) RETURNS INT BEGIN DECLARE b INT DEFAULT 0; DECLARE CONTINUE HANDLER FOR NOT FOUND RETURN b; LOOP FETCH GROUP NEXT ROW; SET b = b + a; END LOOP; END", flavor: maria},
		{name: "not atomic", text: "BEGIN NOT ATOMIC DECLARE a INT DEFAULT 1; IF a THEN SET a = 2; END IF; END", flavor: maria},
		{name: "if alone", text: "IF 1 THEN DO 1; DO 2; END IF", flavor: maria},
		{name: "for alone", text: "FOR i IN 1..3 DO SET @a = i; SET @b = i; END FOR", flavor: maria},
		{name: "loop alone", text: "WHILE @x < 3 DO SET @x = @x + 1; DO 1; END WHILE", flavor: maria},
		{name: "for over a query", text: "BEGIN NOT ATOMIC FOR r IN (SELECT a FROM base) DO SET @a = r.a; SET @b = 1; END FOR; END", flavor: maria},
		{name: "oracle procedure", text: "CREATE PROCEDURE p(a INT) AS b INT; c INT := CASE WHEN 1 THEN 2 END; CURSOR d IS SELECT 1; BEGIN b := 1; SELECT 1; END", flavor: maria, mode: "ORACLE"},
		{name: "oracle without parameters", text: "CREATE PROCEDURE p IS BEGIN NULL; NULL; END", flavor: maria, mode: "ORACLE"},
		{name: "oracle loops", text: "CREATE PROCEDURE p AS BEGIN <<x>> FOR i IN 1..3 LOOP NULL; NULL; END LOOP; WHILE 0 LOOP NULL; END LOOP; <<y>> LOOP EXIT y; END LOOP; END", flavor: maria, mode: "ORACLE"},
		{name: "oracle exception", text: "CREATE PROCEDURE p AS a INT; BEGIN IF 1 THEN a := 1; ELSIF 2 THEN a := 2; END IF; EXCEPTION WHEN NO_DATA_FOUND THEN a := 1; BEGIN NULL; END; WHEN OTHERS THEN NULL; END", flavor: maria, mode: "ORACLE"},
		{name: "oracle function", text: "CREATE FUNCTION f RETURN INT IS BEGIN RETURN 1; END", flavor: maria, mode: "ORACLE"},
		{name: "oracle package", text: "CREATE PACKAGE k AS PROCEDURE a; FUNCTION b RETURN INT; END", flavor: maria, mode: "ORACLE"},
		{name: "oracle package body", text: "CREATE PACKAGE BODY k2 AS x INT; PROCEDURE a AS y INT; BEGIN y := 1; END; FUNCTION b RETURN INT IS BEGIN RETURN 1; END; BEGIN x := 1; END", flavor: maria, mode: "ORACLE"},
		{name: "oracle block", text: "BEGIN NOT ATOMIC DECLARE a INT; BEGIN a := 1; END; END", flavor: maria, mode: "ORACLE"},
	}
}

// TestNesting: a program with semicolons stays whole, and what follows it is a
// statement of its own.
func TestNesting(t *testing.T) {
	t.Parallel()
	for _, p := range programs() {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			o := &sqltoken.Options{Flavor: p.flavor, Oldest: 100500}
			if p.flavor == flavor.Unknown {
				o.Flavor, o.Oldest = flavor.MySQL, 90704
			}
			got := split(t, strings.NewReader(p.text+"; SELECT 99;"), o)
			if len(got) != 2 || got[0] != "1:"+p.text || !strings.HasSuffix(got[1], ":SELECT 99") {
				t.Errorf("got %q", got)
			}
		})
	}
}

// TestNesting_none: what begins like a program and is none ends at its first
// semicolon.
func TestNesting_none(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"BEGIN", "BEGIN WORK", "START TRANSACTION", "XA BEGIN 'x'", "CREATE TABLE event (begin INT)", "CREATE INDEX begin ON t (a)",
		"CREATE USER event IDENTIFIED BY 'x'", "CREATE TABLE t (a INT CHECK (CASE WHEN a THEN 1 END))", "ALTER TABLE t ADD begin INT",
		"CREATE FUNCTION f RETURNS INT SONAME 'f.so'", "ALTER PROCEDURE p COMMENT 'begin'", "ALTER EVENT e DISABLE", "DROP PROCEDURE begin",
		"SELECT CASE WHEN 1 THEN 2 END", "SELECT 1 begin", "SELECT begin FROM t",
	} {
		got := split(t, strings.NewReader(text+"; SELECT 99;"), &sqltoken.Options{})
		if want := []string{"1:" + text, "1:SELECT 99"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestNesting_deep: more levels than are told apart.
func TestNesting_deep(t *testing.T) {
	t.Parallel()
	text := "CREATE PROCEDURE p() " + strings.Repeat("BEGIN IF 1 THEN ", 100) + "SELECT 1; " + strings.Repeat("END IF; END; ", 100)
	text = strings.TrimSuffix(text, "; ")
	got := split(t, strings.NewReader(text+"; SELECT 99;"), &sqltoken.Options{})
	if len(got) != 2 {
		t.Errorf("%d pieces", len(got))
	}
}
