package suites

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
)

// extractText returns the statements of a test's text.
func extractText(t *testing.T, f flavor.Flavor, text string) ([]Statement, *Counts) {
	t.Helper()
	var found []Statement
	counts := newCounts()
	newLanguage().extract([]byte(text), Statement{Flavor: f}, setting{}, counts, func(string, setting) {},
		func(s Statement) bool {
			found = append(found, s)
			return true
		})
	if counts.Statements != len(found) {
		t.Errorf("counted %d statements of %d", counts.Statements, len(found))
	}
	return found, counts
}

// TestExtract_texts has tests in mysqltest's language and the statements in
// them, each with its line.
func TestExtract_texts(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"statements", "SELECT 1; SELECT 2;\nSELECT\n 3;", []string{"1 SELECT 1", "1 SELECT 2", "2 SELECT\n 3"}},
		{"delimiter in quotes", "SELECT ';', \"\\\";\", `;`;", []string{"1 SELECT ';', \"\\\";\", `;`"}},
		{"comments", "# a; b\n  # it's\nSELECT 1; # c\n- d\n-- echo e\nSELECT 2 # f\n;", []string{
			"3 SELECT 1", "6 SELECT 2 # f",
		}},
		{"commands", "let $a= 1;\n--let $b= 2;\nsleep 1;\necho it;\nsource include/x.inc;\nDO SLEEP(1);", []string{
			"6 DO SLEEP(1)",
		}},
		{"a command is a whole word", "SLEEP (1);\nsleepy;\nIF (1) { DO 1; }\n", []string{"2 sleepy", "3 DO 1"}},
		{"delimiter", "delimiter |;\nBEGIN; END|\ndelimiter ;|\nSELECT 1;\n--delimiter //\nA;//\n--delimiter ;\nB;", []string{
			"2 BEGIN; END", "4 SELECT 1", "6 A;", "8 B",
		}},
		{"one line", "--send SELECT 1\n--query_vertical SELECT 'it''s'\nreap;", []string{"1 SELECT 1", "2 SELECT 'it''s'"}},
		{"query", "query IF 1 THEN SELECT 1;", []string{"1 IF 1 THEN SELECT 1"}},
		{"variables", "let $t = t1;\nlet $q = SELECT * FROM $t;\neval $q WHERE a='\\$x';\nSELECT '$t';", []string{
			"3 SELECT * FROM t1 WHERE a='$x'", "4 SELECT '$t'",
		}},
		{"unknown variables", "eval $q;\neval SELECT $a;\ninc $i;\n", []string{"2 SELECT v1"}},
		{"values", "let $a= `SELECT ';'`;\nif (`SELECT 1`)\n{\nSELECT 2;\n}\nwhile($i)\n{\n  SELECT 3;\n}", []string{
			"1 SELECT ';'", "2 SELECT 1", "4 SELECT 2", "8 SELECT 3",
		}},
		{"value of a column", "let $a= query_get_value(SHOW STATUS LIKE 'a,b', Value, 1);\n" +
			"let $s='SHOW TABLES';\nlet $b= query_get_value($s, A, 1);", []string{
			"1 SHOW STATUS LIKE 'a,b'", "3 SHOW TABLES",
		}},
		{"perl", "perl;\n print \"SELECT 1;\";\nEOF\nSELECT 2;\n--perl END_OF\nSELECT 3;\nEND_OF\nSELECT 4;", []string{
			"4 SELECT 2", "8 SELECT 4",
		}},
		{"written file", "write_file $d/x.sql;\nSELECT 1;\nEOF\n--append_file $d/x END\nSELECT 2;\nEND\nSELECT 3;", []string{
			"7 SELECT 3",
		}},
		{"not parsed", "disable_parsing;\nlet it's;\nenable_parsing;\nSELECT 1;", []string{"4 SELECT 1"}},
		{"exit", "if ($x)\n{\n  --skip no\n}\nSELECT 1;\nexit;\nSELECT 2;", []string{"5 SELECT 1"}},
		{"dollar quotes", "CREATE LIBRARY l AS $$\n a; b; $$;\nSELECT 1;\nCREATE LIBRARY m AS $x$ $$; $x$;", []string{
			"1 CREATE LIBRARY l AS $$\n a; b; $$", "3 SELECT 1", "4 CREATE LIBRARY m AS $x$ $$; $x$",
		}},
		{"dollars delimit", "delimiter $$;\nSELECT 1; $$\ndelimiter ;$$\nSELECT 2;", []string{"2 SELECT 1;", "4 SELECT 2"}},
		{"sjis", "--character_set sjis\nSELECT '\x83\x5c';\nSELECT 1;", []string{"2 SELECT '\x83\x5c'", "3 SELECT 1"}},
		{"let evaluates a query twice", "let $a= `SELECT * FROM n\\\\\\$p, '\\\\\\\\'`;", []string{"1 SELECT * FROM n$p, '\\'"}},
		{"no end", "SELECT 1;\nSELECT 2\n", []string{"1 SELECT 1", "2 SELECT 2"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			found, _ := extractText(t, flavor.MySQL, tt.text)
			var got []string
			for _, s := range found {
				got = append(got, fmt.Sprint(s.Line, " ", s.Text))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestExtract_flavors has texts that the two families' programs cut in
// different places.
func TestExtract_flavors(t *testing.T) {
	for _, tt := range []struct {
		name, text     string
		mysql, mariadb []string
	}{
		{
			"quote in a comment", "A /* it's */; B /* isn't */; C;",
			[]string{"A /* it's */", "B /* isn't */", "C"},
			[]string{"A /* it's */; B /* isn't */", "C"},
		},
		{
			"backslash in a quoted name", "A `x\\`; B `y`;",
			[]string{"A `x\\`; B `y`;"},
			[]string{"A `x\\`", "B `y`"},
		},
		{
			"backslash in a name under ANSI_QUOTES", "SET sql_mode=ansi_quotes; A \"\\\"; B;",
			[]string{"SET sql_mode=ansi_quotes", "A \"\\\"; B;"},
			[]string{"SET sql_mode=ansi_quotes", "A \"\\\"", "B"},
		},
		{"dollars", "A AS $$ b; $$; C;", []string{"A AS $$ b; $$", "C"}, []string{"A AS $$ b", "$$", "C"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for f, want := range map[flavor.Flavor][]string{flavor.MySQL: tt.mysql, flavor.MariaDB: tt.mariadb} {
				found, _ := extractText(t, f, tt.text)
				var got []string
				for _, s := range found {
					got = append(got, s.Text)
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s: got %q, want %q", f, got, want)
				}
			}
		})
	}
}

// TestExtract_sessions compares the mode and the character set that each
// statement is read with.
func TestExtract_sessions(t *testing.T) {
	for _, tt := range []struct {
		name, text, want string // of the last statement
	}{
		{"none", "x;", "0 "},
		{"list", "SET sql_mode='ANSI_QUOTES,NO_BACKSLASH_ESCAPES'; x;", "3 "},
		{"combination", "set @@session.sql_mode = ansi; x;", "9 "},
		{"oracle", "SET SESSION sql_mode=\"ORACLE\"; x;", "13 "},
		{"behind another", "SET @a=1, time_zone='+0,0', sql_mode=ANSI_QUOTES; x;", "1 "},
		{"added", "SET sql_mode=ANSI_QUOTES; SET sql_mode=CONCAT(@@sql_mode, ',no_backslash_escapes'); x;", "3 "},
		{"removed", "SET sql_mode='ANSI_QUOTES'; SET sql_mode=replace(@@sql_mode, 'ANSI_QUOTES', ''); x;", "0 "},
		{"replaced", "SET sql_mode='ANSI_QUOTES'; SET sql_mode='STRICT_ALL_TABLES'; x;", "0 "},
		{"saved", "SET @old= @@sql_mode; SET sql_mode='ANSI_QUOTES'; SET sql_mode=@old; x;", "0 "},
		{"failed", "--error ER_WRONG_VALUE_FOR_VAR\nSET sql_mode='ANSI_QUOTES,x'; x;", "0 "},
		{"of new connections", "SET GLOBAL sql_mode='ANSI_QUOTES'; connect (a,localhost,root,,); x;", "1 "},
		{"not of this one", "SET GLOBAL sql_mode='ANSI_QUOTES'; x;", "0 "},
		{"default", "SET GLOBAL sql_mode='ANSI_QUOTES'; SET sql_mode=DEFAULT; x;", "1 "},
		{"other connection", "connect (a,localhost,root,,); SET sql_mode='ANSI_QUOTES'; connection default; x;", "0 "},
		{"back", "connect (a,localhost,root,,); SET sql_mode='ANSI_QUOTES'; connection default; connection a; x;", "1 "},
		{"reset", "SET sql_mode='ANSI_QUOTES'; SET NAMES gbk; reset_connection; x;", "0 "},
		{"names", "SET NAMES 'GBK' COLLATE gbk_bin; x;", "0 gbk"},
		{"character set", "set character set sjis; x;", "0 sjis"},
		{"client", "SET @@character_set_client = cp932; x;", "0 cp932"},
		{"back to the default", "SET NAMES big5; SET NAMES DEFAULT; x;", "0 "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			found, _ := extractText(t, flavor.MySQL, tt.text)
			last := found[len(found)-1]
			if got := fmt.Sprint(uint8(last.Mode), " ", last.Charset); last.Text != "x" || got != tt.want {
				t.Errorf("got %q for %q, want %q", got, last.Text, tt.want)
			}
		})
	}
}

func TestExtract_details(t *testing.T) {
	found, counts := extractText(t, flavor.MySQL, "--error 0,ER_PARSE_ERROR, 1064\nfoo;\nbar;\nlet $x=`q`;\n--eval $y $x\n--eval a $z\n--nothing\n")
	if s := found[0]; !s.Fails("ER_PARSE_ERROR") || s.Fails("ER_DUP_ENTRY") || len(s.Errors) != 3 || s.Delimiter != ";" {
		t.Errorf("got %+v, want three errors", s)
	}
	if s := found[1]; len(s.Errors) != 0 {
		t.Errorf("got errors %q, want none", s.Errors)
	}
	if s := found[2]; s.Source != Quoted || s.Delimiter != "" {
		t.Errorf("got %+v, want a quoted one", s)
	}
	if s := found[3]; s.Source != Evaluated || !s.Guessed || s.Text != "a "+placeholder {
		t.Errorf("got %+v, want an evaluated one", s)
	}
	if counts.Guessed != 1 || counts.Commands["let"] != 1 || len(counts.Skipped) != 2 || counts.Sources[Plain] != 2 {
		t.Errorf("got %+v", counts)
	}
}

// TestExtract_stop ends when the caller has enough.
func TestExtract_stop(t *testing.T) {
	n := 0
	goOn := newLanguage().extract([]byte("a; b; c;"), Statement{}, setting{}, newCounts(), func(string, setting) {},
		func(Statement) bool {
			n++
			return n < 2
		})
	if goOn || n != 2 {
		t.Errorf("got %d statements, %v, want 2, false", n, goOn)
	}
}

// TestLanguage reads the list as a person wrote it.
func TestLanguage(t *testing.T) {
	kinds := newLanguage().kinds
	for name, want := range map[string]kind{"perl": linesKind, "send": queryKind, "eval": evalKind, "let": ownKind} {
		if got, known := kinds[name]; !known || got != want {
			t.Errorf("%s: got kind %v, %v, want %v", name, got, known, want)
		}
	}
	for name := range kinds {
		if name != strings.ToLower(name) || strings.ContainsAny(name, " #\t") {
			t.Errorf("%q is no name", name)
		}
	}
}

func TestSkippedFiles(t *testing.T) {
	if got := skippedFiles(); !slices.Contains(got, "r/*") || len(got) < 4 {
		t.Errorf("got %q", got)
	}
}
