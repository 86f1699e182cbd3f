package sandbox

import (
	"reflect"
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
)

func TestParseSources(t *testing.T) {
	t.Parallel()
	one := func(uri, suite, signedBy string, components ...string) aptSource {
		return aptSource{uris: []string{uri}, suites: []string{suite}, components: components, signedBy: signedBy}
	}
	for _, c := range []struct {
		name, file, text string
		want             []aptSource
	}{
		{"empty list", "a.list", "", nil},
		{"line", "a.list", "deb http://m.test/debian bookworm main contrib\n", []aptSource{one("http://m.test/debian", "bookworm", "", "main", "contrib")}},
		{"line with options", "a.list", "deb [ arch=amd64 Signed-By=/k/A.gpg ] http://m.test/debian sid main", []aptSource{one("http://m.test/debian", "sid", "/k/A.gpg", "main")}},
		{"options without a space", "a.list", "deb[trusted=yes] http://m.test/debian sid main", []aptSource{one("http://m.test/debian", "sid", "", "main")}},
		{"comment at the end", "a.list", "deb http://m.test/debian sid main # non-free\n", []aptSource{one("http://m.test/debian", "sid", "", "main")}},
		{"flat archive", "a.list", "deb http://m.test/flat ./\n", []aptSource{{uris: []string{"http://m.test/flat"}, suites: []string{"./"}, components: []string{}}}},
		{"source code and comments", "a.list", "deb-src http://m.test/debian sid main\n# deb http://m.test/debian sid main\n", nil},
		{"unfinished options", "a.list", "deb [arch=amd64 http://m.test/debian sid main\n", nil},
		{"too short", "a.list", "deb http://m.test/debian\ndeb\n", nil},
		{"stanza", "a.sources", "Types: deb deb-src\nURIs: http://m.test/debian\nSuites: trixie trixie-updates\nComponents: main\nSigned-By: /k/A.gpg\n", []aptSource{{
			uris: []string{"http://m.test/debian"}, suites: []string{"trixie", "trixie-updates"}, components: []string{"main"}, signedBy: "/k/A.gpg",
		}}},
		{"comment inside a stanza, any case", "a.sources", "TYPES: deb\n# note\nuris: http://m.test/debian\nSuites: sid\nComponents: main\n", []aptSource{one("http://m.test/debian", "sid", "", "main")}},
		{"continuation lines", "a.sources", "Types: deb\nURIs:\n http://m.test/debian\nSuites: sid\nComponents: main\nSigned-By:\n -----BEGIN\n .\n abc\n", []aptSource{one("http://m.test/debian", "sid", "\n-----BEGIN\n.\nabc", "main")}},
		{"two stanzas, one disabled", "a.sources", "Types: deb\nURIs: http://a.test\nSuites: sid\nComponents: main\nEnabled: no\n\n\nTypes: deb\nURIs: http://b.test\nSuites: sid\nComponents: main\n", []aptSource{one("http://b.test", "sid", "", "main")}},
		{"only source code", "a.sources", "Types: deb-src\nURIs: http://a.test\nSuites: sid\nComponents: main\n", nil},
		{"no suite", "a.sources", "Types: deb\nURIs: http://a.test\n", nil},
		{"windows line ends", "a.sources", "Types: deb\r\nURIs: http://a.test\r\nSuites: sid\r\nComponents: main\r\n", []aptSource{one("http://a.test", "sid", "", "main")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := parseSources(c.file, c.text); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v\nwant %+v", got, c.want)
			}
		})
	}
}

// FuzzParseSources holds every entry to what apt would accept, and checks that
// a file in which each line is a comment has no entries.
func FuzzParseSources(f *testing.F) {
	f.Add("deb [signed-by=/k] http://m.test/debian sid main # x\n")
	f.Add("Types: deb\nURIs: http://m.test\nSuites: sid\nComponents: main\nSigned-By:\n a\n .\n\nTypes: deb\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, name := range []string{"x.list", "x.sources"} {
			for _, s := range parseSources(name, text) {
				if len(s.uris) == 0 || len(s.suites) == 0 {
					t.Fatalf("%s: entry without address or suite: %+v", name, s)
				}
				for _, word := range append(append(append([]string{}, s.uris...), s.suites...), s.components...) {
					if word == "" || len(strings.Fields(word)) != 1 {
						t.Fatalf("%s: %q is not one word", name, word)
					}
				}
			}
			hidden := "#" + strings.ReplaceAll(text, "\n", "\n#")
			if got := parseSources(name, hidden); len(got) != 0 {
				t.Fatalf("%s: comments were read as %+v", name, got)
			}
		}
	})
}

// TestSourcesText reads back what is written for apt, also for a key that is
// given as text.
func TestSourcesText(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"", "/k/A.gpg", "\n-----BEGIN\n.\nabc"} {
		want := []aptSource{{uris: []string{"http://m.test"}, suites: []string{"sid"}, components: []string{"main"}, signedBy: key}}
		if got := parseSources("x.sources", sourcesText("http://m.test", "sid", key)); !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

func TestDebianArchive(t *testing.T) {
	t.Parallel()
	sources := parseSources("a.list", strings.Join([]string{
		"deb http://security.test bookworm-security main",
		"deb http://vendor.test bookworm stable",
		"deb cdrom:[disc]/ bookworm main",
		"deb [signed-by=/k/D.gpg] http://mirror.test bookworm main",
	}, "\n"))
	for _, c := range []struct {
		name, want string
		rel        release
		sources    []aptSource
	}{
		{"the release's suite", "http://mirror.test", release{"debian", "bookworm"}, sources},
		{"another release", "", release{"debian", "trixie"}, sources},
		{"another distribution", "", release{"ubuntu", "bookworm"}, sources},
		{"suite by its role", "http://a.test", release{"debian", "forky"}, parseSources("a.list", "deb http://a.test testing main")},
		{"no sources", "", release{"debian", "bookworm"}, nil},
	} {
		got, _, ok := debianArchive(c.sources, c.rel)
		if got != c.want || ok != (c.want != "") {
			t.Errorf("%s: got %q, %v, want %q", c.name, got, ok, c.want)
		}
	}
	if _, key, _ := debianArchive(sources, release{"debian", "bookworm"}); key != "/k/D.gpg" {
		t.Errorf("got keyring %q, want /k/D.gpg", key)
	}
}

func TestParseRelease(t *testing.T) {
	t.Parallel()
	got := parseRelease("NAME=\"Debian\"\nID=debian\nVERSION_CODENAME='bookworm'\nID_LIKE=x\n")
	if want := (release{"debian", "bookworm"}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestPickServer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		names []string
		want  []string
	}{
		{[]string{"mysql-server-core"}, []string{"mysql-server-core", "mysql-client-core"}},
		{[]string{"mysql-server-core-8.0", "mysql-server-core-8.4", "mysql-server-core-8.1"}, []string{"mysql-server-core-8.4", "mysql-client-core-8.4"}},
		{[]string{"mysql-server-core-8.0", "mysql-server-core"}, []string{"mysql-server-core", "mysql-client-core"}},
		{nil, nil},
	} {
		got, err := pickServer(flavor.MySQL, c.names)
		if !reflect.DeepEqual(got, c.want) || (err != nil) != (c.want == nil) {
			t.Errorf("%v: got %v, %v, want %v", c.names, got, err, c.want)
		}
	}
}

func TestShellValue(t *testing.T) {
	t.Parallel()
	out := "LIST='/etc/apt/sources.list'\nPARTS='/etc/apt/s d/'\n"
	for name, want := range map[string]string{"LIST": "/etc/apt/sources.list", "PARTS": "/etc/apt/s d/", "NONE": "fallback"} {
		if got := shellValue(out, name, "fallback"); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
