package optionfile_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/optionfile"
)

// tree writes the files of a case and returns their directory. A "@" in a
// content stands for the directory.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		write(t, dir, name, strings.ReplaceAll(content, "@", dir))
	}
	return dir
}

func TestRead_order(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for _, name := range []string{"etc/my.cnf", "etc/mysql/my.cnf", "mh/my.cnf", "extra.cnf", "home/.my.cnf", "only.cnf"} {
		files[name] = "[client]\nuser=" + name + "\n[client_b]\nhost=" + name + "\n[mysqlrw]\nport=" + name + "\n"
	}
	dir := tree(t, files)
	in := func(name string) string { return filepath.Join(dir, name) }
	system := []string{in("etc/my.cnf"), in("etc/mysql/my.cnf"), in("etc/none.cnf")}
	tests := []struct {
		name    string
		options optionfile.Options
		want    []string
	}{
		{
			"all",
			optionfile.Options{
				SystemFiles: system, MySQLHome: in("mh"), DefaultsExtraFile: in("extra.cnf"),
				Home: in("home"), Groups: []string{"client"},
			},
			[]string{"user=etc/my.cnf", "user=etc/mysql/my.cnf", "user=mh/my.cnf", "user=extra.cnf", "user=home/.my.cnf"},
		},
		{
			"MYSQL_HOME names a directory again",
			optionfile.Options{
				SystemFiles: system, MySQLHome: in("etc") + "/", Groups: []string{"client"},
			},
			[]string{"user=etc/mysql/my.cnf", "user=etc/my.cnf"},
		},
		{
			"group suffix",
			optionfile.Options{
				SystemFiles: system[:1], GroupSuffix: "_b", Groups: []string{"mysqlrw", "client"},
			},
			[]string{"user=etc/my.cnf", "host=etc/my.cnf", "port=etc/my.cnf"},
		},
		{
			"defaults file alone",
			optionfile.Options{
				DefaultsFile: in("only.cnf"), DefaultsExtraFile: in("extra.cnf"), SystemFiles: system,
				Home: in("home"), Groups: []string{"client"},
			},
			[]string{"user=only.cnf"},
		},
		{
			"files in the home",
			optionfile.Options{
				DefaultsExtraFile: "~/.my.cnf", SystemFiles: []string{}, Home: in("home"), Groups: []string{"client"},
			},
			[]string{"user=home/.my.cnf", "user=home/.my.cnf"},
		},
		{
			"no defaults",
			optionfile.Options{
				NoDefaults: true, DefaultsFile: in("only.cnf"), DefaultsExtraFile: in("none"),
				SystemFiles: system, Home: in("home"), Groups: []string{"client"},
			},
			nil,
		},
		{"no groups", optionfile.Options{SystemFiles: system, Home: in("home")}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			res, err := optionfile.Read(tt.options)
			if err != nil || len(res.Warnings) > 0 {
				t.Fatalf("got error %v, warnings %q", err, res.Warnings)
			}
			if got, want := printed(res), lines(tt.want); got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		})
	}
}

// lines is the output of my_print_defaults for these options.
func lines(options []string) string {
	var b strings.Builder
	for _, o := range options {
		b.WriteString("--" + o + "\n")
	}
	return b.String()
}

func TestRead_missing(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"file": "", "dir/x": ""})
	none := filepath.Join(dir, "none")
	for _, o := range []optionfile.Options{
		{DefaultsFile: none},
		{DefaultsExtraFile: none, SystemFiles: []string{}},
	} {
		if _, err := optionfile.Read(o); !isMissing(err) || !strings.Contains(err.Error(), none) {
			t.Errorf("%+v: got %v, want an error that the file is missing", o, err)
		}
	}
	usual := optionfile.Options{
		SystemFiles: []string{none, filepath.Join(dir, "file", "my.cnf")},
		MySQLHome:   none, Home: none,
	}
	if res, err := optionfile.Read(usual); err != nil || len(res.Warnings) > 0 {
		t.Errorf("missing usual files: got error %v, warnings %q", err, res.Warnings)
	}
	if _, err := optionfile.Read(optionfile.Options{DefaultsFile: filepath.Join(dir, "dir")}); err == nil {
		t.Error("a directory as the defaults file: got no error")
	}
	unreadable := optionfile.Options{SystemFiles: []string{filepath.Join(dir, "dir")}}
	checkWarning(t, unreadable, "", filepath.Join(dir, "dir"))
}

// checkWarning reads o and wants these options and exactly one warning, which
// contains the given text.
func checkWarning(t *testing.T, o optionfile.Options, options, warning string) {
	t.Helper()
	res, err := optionfile.Read(o)
	if err != nil {
		t.Fatal(err)
	}
	if got := printed(res); got != options {
		t.Errorf("got options %q, want %q", got, options)
	}
	if len(res.Warnings) != 1 || !strings.Contains(res.Warnings[0], warning) {
		t.Errorf("got warnings %q, want one with %q", res.Warnings, warning)
	}
}

func TestRead_usualFileMalformed(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"my.cnf": "[client]\n!includedir none\n", "b.cnf": "x\n"})
	for name, want := range map[string]string{"my.cnf": "my.cnf:2: ", "b.cnf": "b.cnf:1: "} {
		_, err := optionfile.Read(optionfile.Options{SystemFiles: []string{filepath.Join(dir, name)}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", name, err, want)
		}
	}
}

func TestRead_permissions(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no permission bits")
	}
	dir := tree(t, map[string]string{
		"open.cnf":      "[client]\nuser=a\n",
		"including.cnf": "[client]\nuser=b\n!include @/open.cnf\n",
		"group.cnf":     "[client]\nuser=c\n",
	})
	chmod(t, filepath.Join(dir, "open.cnf"), 0o646)
	chmod(t, filepath.Join(dir, "group.cnf"), 0o664)
	const warning = "open.cnf is ignored: everyone can write it"
	groups := []string{"client"}
	checkWarning(t, optionfile.Options{Groups: groups, DefaultsFile: filepath.Join(dir, "open.cnf")}, "", warning)
	checkWarning(t, optionfile.Options{Groups: groups, SystemFiles: []string{filepath.Join(dir, "open.cnf")}}, "", warning)
	checkWarning(t, optionfile.Options{Groups: groups, DefaultsFile: filepath.Join(dir, "including.cnf")}, "--user=b\n", warning)
	res, err := optionfile.Read(optionfile.Options{Groups: groups, DefaultsFile: filepath.Join(dir, "group.cnf")})
	if got, want := printed(res), "--user=c\n"; err != nil || got != want || len(res.Warnings) > 0 {
		t.Errorf("writable by the group: got %q, %v, %q, want %q", got, err, res.Warnings, want)
	}
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func TestRead_include(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"home/in.cnf":   "[client]\nin=home\n",
		"home.cnf":      "[client]\na=1\n!include ~/in.cnf\n",
		"missing.cnf":   "[client]\na=1\n!include @/none.cnf\nb=2\n",
		"malformed.cnf": "[client]\na=1\n!include @/bad.cnf\nb=2\n",
		"bad.cnf":       "[client]\nc=3\n[client\nd=4\n",
		"directory.cnf": "[client]\n!includedir @/d\n",
		"d/x.cnf/y":     "",
		"d/b.cnf":       "[client]\nb=1\n",
		"d/a.cnf":       "[client]\na=1\n",
		"d/a.conf":      "[client]\nconf=1\n",
		"bomb.cnf":      "[client]\n!include @/bomb.cnf\n!include @/bomb.cnf\n",
	})
	read := func(name string) optionfile.Options {
		return optionfile.Options{
			DefaultsFile: filepath.Join(dir, name), Home: filepath.Join(dir, "home"), Groups: []string{"client"},
		}
	}
	checkWarning(t, read("missing.cnf"), "--a=1\n--b=2\n", "missing.cnf:3: include: open ")
	checkWarning(t, read("malformed.cnf"), "--a=1\n--c=3\n--b=2\n", "bad.cnf:3: group without")
	for name, want := range map[string]string{"home.cnf": "--a=1\n--in=home\n", "directory.cnf": "--a=1\n--b=1\n"} {
		res, err := optionfile.Read(read(name))
		if got := printed(res); err != nil || got != want || len(res.Warnings) > 0 {
			t.Errorf("%s: got %q, %v, %q, want %q", name, got, err, res.Warnings, want)
		}
	}
	if _, err := optionfile.Read(read("bomb.cnf")); err == nil || !strings.Contains(err.Error(), "more than 1000") {
		t.Errorf("got %v, want the error of files that include each other", err)
	}
}

// TestRead_pipe reads from a file that is not a regular one, as the shell's
// <(command) is: its permissions are not looked at.
func TestRead_pipe(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/dev/fd"); err != nil {
		t.Skip("no /dev/fd here")
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := w.WriteString("[client]\nuser=p\n"); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("/dev/fd", strconv.Itoa(int(r.Fd())))
	res, err := optionfile.Read(optionfile.Options{DefaultsFile: path, Groups: []string{"client"}})
	if got, want := printed(res), "--user=p\n"; err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}
