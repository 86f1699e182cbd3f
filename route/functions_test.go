package route

import (
	"strings"
	"testing"
)

func TestLookupFunction(t *testing.T) {
	tests := []struct {
		word           string
		kind           functionKind
		mysql, mariadb bool
	}{
		{"abs", functionPure, true, true},
		{"ABS", functionPure, true, true},
		{"St_DisTance_sphere", functionPure, true, true},
		{"x", functionPure, false, true},
		{"Sleep", functionPure, true, true},
		{"sformat", functionPure, false, true},
		{"any_value", functionPure, true, false},
		{"nextval", functionSequence, false, true},
		{"GET_LOCK", functionLock, true, true},
		{"service_get_write_locks", functionLock, false, false},
		{"LAST_INSERT_ID", functionLastInsertID, true, true},
		{"FOUND_ROWS", functionPrevious, true, true},
		{"CONNECTION_ID", functionConnection, true, true},
		{"LOAD_FILE", functionInstance, true, true},
		{"innodb_redo_log_archive_start", functionSideEffect, true, false},
		{"md5", functionPure, false, true}, // MySQL 9.6 took it out
		{"In", functionGrammar, true, true},
		{"AGAINST", functionGrammar, true, false}, // on MariaDB only in its place
		{"point", functionPure, true, false},      // on MariaDB only with two arguments
	}
	for _, test := range tests {
		got, found := lookupFunction(test.word)
		if !found || got.Kind != test.kind || got.MySQL != test.mysql || got.MariaDB != test.mariadb {
			t.Errorf("lookupFunction(%q) = %+v, %v; want kind %d, MySQL %v, MariaDB %v",
				test.word, got, found, test.kind, test.mysql, test.mariadb)
		}
	}
}

// TestLookupFunctionUnknown has what looks like a known word to a careless
// comparison. The server takes the last two for built-ins or not, depending on
// its version; unknown is right for both.
func TestLookupFunctionUnknown(t *testing.T) {
	for _, word := range []string{
		"", "_", "f", "ab", "abss", "abs ", " abs", "`abs`", "ab\x13", "ab\x93", "get-lock", "get\x7flock", "is@ipv4",
		"update", "delete", "into", strings.Repeat("a", 100), "AB\u017f", "\u00e1bs",
	} {
		if got, found := lookupFunction(word); found || got != (functionInfo{}) || got.harmful() {
			t.Errorf("lookupFunction(%q) = %+v, %v; want nothing", word, got, found)
		}
	}
}

func TestFunctionWords(t *testing.T) {
	for _, w := range functionWords {
		want := functionInfos[w.info]
		for _, word := range []string{w.word, strings.ToUpper(w.word), strings.ToUpper(w.word[:1]) + w.word[1:]} {
			if got, found := lookupFunction(word); !found || got != want {
				t.Errorf("lookupFunction(%q) = %+v, %v; want %+v", word, got, found, want)
			}
		}
		if got, found := lookupFunction(w.word + "\x00"); found {
			t.Errorf("lookupFunction(%q and a zero byte) = %+v, want nothing", w.word, got)
		}
	}
}

// TestFunctionInfos checks what the classifier relies on.
func TestFunctionInfos(t *testing.T) {
	for _, w := range functionWords {
		i := functionInfos[w.info]
		switch {
		case i.Kind == functionUnknown:
			t.Errorf("%s has no kind", w.word)
		case i.NoSpace != (i.NoSpaceMySQL || i.NoSpaceMariaDB):
			t.Errorf("%s: NoSpace is %v, not that of either server", w.word, i.NoSpace)
		case i.MariaDBIf != ifNothing && i.MariaDB:
			t.Errorf("%s is built in on MariaDB only on a condition, and says that it is without one", w.word)
		case i.MySQL && i.MySQLUntil != 0, i.MariaDB && i.MariaDBUntil != 0:
			t.Errorf("%s was removed in a version, and says that it is built in", w.word)
		}
	}
}

func TestLookupFunctionDoesNotAllocate(t *testing.T) {
	for _, word := range []string{"COUNT", "innodb_redo_log_consumer_unregister", "no_such_function"} {
		if n := testing.AllocsPerRun(100, func() { lookupFunction(word) }); n != 0 {
			t.Errorf("lookupFunction(%q) allocates %v times", word, n)
		}
	}
}

func BenchmarkLookupFunction(b *testing.B) {
	for _, word := range []string{"IN", "COUNT", "last_insert_id", "JSON_MERGE_PRESERVE", "my_function"} {
		b.Run(word, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				lookupFunction(word)
			}
		})
	}
}
