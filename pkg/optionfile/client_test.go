package optionfile_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/optionfile"
)

// differs are the files of testdata that Read takes and my_print_defaults
// does not take, or not whole; doc.go has the reasons.
var differs = map[string]string{
	"bom.cnf": "--a=1\n",
}

// TestRead_asTheClientDoes compares Read with what my_print_defaults 9.7.4
// printed of the same files with "-s client mysqlrw": NAME.out is its output,
// NAME.fails its complaint.
func TestRead_asTheClientDoes(t *testing.T) {
	names, err := filepath.Glob("testdata/files/*.cnf")
	if err != nil || len(names) < 35 {
		t.Fatalf("found %d files, error %v", len(names), err)
	}
	expected, err := filepath.Abs("testdata/expected")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir("testdata/files") // the clients resolve includes against it
	for _, name := range names {
		name = filepath.Base(name)
		t.Run(name, func(t *testing.T) {
			stem := filepath.Join(expected, strings.TrimSuffix(name, ".cnf"))
			res, err := optionfile.Read(optionfile.Options{
				DefaultsFile: name,
				Groups:       []string{"client", "mysqlrw"},
			})
			if want, known := differs[name]; known {
				if got := printed(res); err != nil || got != want {
					t.Errorf("got %q, %v, want %q", got, err, want)
				}
				return
			}
			fails, noFailure := os.ReadFile(stem + ".fails")
			if noFailure == nil {
				checkFailure(t, err, name, string(fails))
				return
			}
			out, noOutput := os.ReadFile(stem + ".out")
			if err != nil || noOutput != nil {
				t.Fatalf("got error %v, want the content of %s.out (%v)", err, stem, noOutput)
			}
			if got, want := printed(res), plain(string(out)); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// checkFailure compares the place in err with the one that the client named.
func checkFailure(t *testing.T, err error, name, fails string) {
	t.Helper()
	line := regexp.MustCompile(`at line:? (\d+)`).FindStringSubmatch(fails)
	if line == nil {
		t.Fatalf("no line number in %q", fails)
	}
	if want := name + ":" + line[1] + ": "; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got error %v, want one that begins with %q", err, want)
	}
}

// printed is res in the form of my_print_defaults.
func printed(res optionfile.Result) string {
	var b strings.Builder
	for _, o := range res.Options() {
		b.WriteString("--")
		if o.Loose {
			b.WriteString("loose-")
		}
		b.WriteString(o.Name)
		if value, ok := o.Value(); ok {
			b.WriteString("=" + value)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// plain brings the names in the output of my_print_defaults into one spelling.
func plain(out string) string {
	out = regexp.MustCompile(`(?m)^--[a-z_-]*`).ReplaceAllStringFunc(out, func(name string) string {
		return strings.ReplaceAll(name, "_", "-")
	})
	return strings.ReplaceAll(out, "--loose-loose-", "--loose-")
}

func TestRead_malformed(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, content, want string
	}{
		{"option before the group", "user=x\n", "1: option before the first group"},
		{"open group", "[client]\na=1\n[client\n", "3: group without a closing bracket"},
		{"include of nothing", "[client]\n!include  # x\n", "2: include directive without a path"},
		{"includedir of nothing", "!includedir", "1: include directive without a path"},
		{"NUL", "[client]\nuser=a\x00b\n", "2: NUL byte, so this is no option file"},
		{"UTF-16", "[\x00c\x00l\x00", "1: NUL byte, so this is no option file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := write(t, t.TempDir(), "my.cnf", tt.content)
			_, err := optionfile.Read(optionfile.Options{DefaultsFile: path, Groups: []string{"client"}})
			if want := path + ":" + tt.want; err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
}

func TestRead_longLine(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 9000)
	path := write(t, t.TempDir(), "my.cnf", "[client]\na="+long+"\n#"+long+"\nb=1\n")
	res, err := optionfile.Read(optionfile.Options{DefaultsFile: path, Groups: []string{"client"}})
	if got, want := printed(res), "--a="+long+"\n--b=1\n"; err != nil || got != want {
		t.Errorf("got %d bytes, %v, want %d bytes", len(got), err, len(want))
	}
}

func TestRead_noSecretInPrint(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-secret"
	dir := t.TempDir()
	path := write(t, dir, "my.cnf", "[client]\npassword="+secret+"\npassword "+secret+"\n")
	res, err := optionfile.Read(optionfile.Options{DefaultsFile: path, Groups: []string{"client"}})
	if err != nil {
		t.Fatal(err)
	}
	option, _ := res.Lookup("password")
	if value, _ := option.Value(); value != secret {
		t.Errorf("got password %q, want %q", value, secret)
	}
	hidden := struct {
		r optionfile.Result
		o []optionfile.Option
	}{res, res.Options()}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		for _, x := range []any{res, &res, option, res.Options(), hidden} {
			if text := fmt.Sprintf(format, x); strings.Contains(text, secret) &&
				!strings.Contains(text, "password "+secret) {
				t.Errorf("%s of %T shows the password: %s", format, x, text)
			}
		}
		if text := fmt.Sprintf(format, res); strings.Contains(text, secret) {
			t.Errorf("%s of the result shows a name that is a password: %s", format, text)
		}
	}
	if got, want := option.String(), "password ("+path+":2)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestResult_Lookup(t *testing.T) {
	t.Parallel()
	path := write(t, t.TempDir(), "my.cnf",
		"[client]\nssl_ca=a\nloose-ssl-ca=b\npassword\nhost=\nuser=one\n[mysqlrw]\nuser=two\n[client]\nuser=three\n")
	res, err := optionfile.Read(optionfile.Options{DefaultsFile: path, Groups: []string{"mysqlrw", "client"}})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, value string
		hasValue    bool
		line        int
	}{
		{"ssl-ca", "b", true, 3},
		{"ssl_ca", "b", true, 3},
		{"password", "", false, 4},
		{"host", "", true, 5},
		{"user", "three", true, 10},
	}
	for _, tt := range tests {
		o, found := res.Lookup(tt.name)
		value, hasValue := o.Value()
		if !found || value != tt.value || hasValue != tt.hasValue || o.Line != tt.line {
			t.Errorf("%s: got %q, %t at %s, want %q, %t in line %d",
				tt.name, value, hasValue, o.Source(), tt.value, tt.hasValue, tt.line)
		}
	}
	if o, found := res.Lookup("port"); found {
		t.Errorf("port: got %v, want nothing", o)
	}
}

// write makes a file that its owner may read and write.
func write(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// isMissing says that err is about a file that does not exist.
func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
