package optionfile

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
)

// Options say which files are read and which groups of them count.
// The zero value reads the system's files and finds no group.
type Options struct {
	Home      string // the user's home; "" means no ~/.my.cnf and no ~/.mylogin.cnf
	MySQLHome string // $MYSQL_HOME, whose my.cnf is read after the system's files

	DefaultsFile      string // --defaults-file: this one only; it is an error if it is missing
	DefaultsExtraFile string // --defaults-extra-file: read before ~/.my.cnf; may not be missing
	NoDefaults        bool   // --no-defaults: the login path file only; wins over both files above

	GroupSuffix string   // --defaults-group-suffix: every group is read with this suffix too
	Groups      []string // as in []string{"client", "mysqlrw"}; letter case does not matter

	LoginPath string // --login-path: a group of the login path file, besides Groups
	LoginFile string // $MYSQL_TEST_LOGIN_FILE; "" means .mylogin.cnf in Home

	SystemFiles []string // nil means /etc/my.cnf and /etc/mysql/my.cnf, empty means none
}

// Read reads the files as the mysql client does: the system's files,
// MySQLHome, DefaultsExtraFile, ~/.my.cnf, and last, in any case, the login
// path file. Files of this list that do not exist are passed over, except for
// the two that are named by an option.
//
// A malformed line ends the reading with an error that names file and line,
// and so does a directory of !includedir that cannot be read. An included
// file is left, with a warning, where it goes wrong. A file that all users
// can write, a login path file that anyone else can read, and a login path
// file that is damaged are passed over with a warning.
//
// Manual: dev.mysql.com/doc/refman/en/option-files.html.
func Read(o Options) (Result, error) {
	groups := o.Groups
	if o.GroupSuffix != "" {
		groups = append([]string(nil), groups...)
		for _, g := range o.Groups {
			groups = append(groups, g+o.GroupSuffix)
		}
	}
	r := &reader{home: o.Home, groups: groups}
	if err := r.optionFiles(o); err != nil {
		return Result{}, err
	}
	if err := r.loginFile(o); err != nil {
		return Result{}, err
	}
	return r.result, nil
}

// optionFiles reads everything but the login path file.
func (r *reader) optionFiles(o Options) error {
	if o.NoDefaults {
		return nil
	}
	if o.DefaultsFile != "" {
		return r.file(r.expand(o.DefaultsFile), 0)
	}
	for _, path := range usualFiles(o) {
		if err := r.usualFile(path); err != nil {
			return err
		}
	}
	if o.DefaultsExtraFile != "" {
		if err := r.file(r.expand(o.DefaultsExtraFile), 0); err != nil {
			return err
		}
	}
	if o.Home == "" {
		return nil
	}
	return r.usualFile(filepath.Join(o.Home, ".my.cnf"))
}

// usualFiles lists the files before DefaultsExtraFile. One that is named
// twice is read at its last place only.
func usualFiles(o Options) []string {
	paths := o.SystemFiles
	if paths == nil {
		paths = []string{"/etc/my.cnf", "/etc/mysql/my.cnf"}
	}
	if o.MySQLHome != "" {
		paths = append(append([]string(nil), paths...), filepath.Join(o.MySQLHome, "my.cnf"))
	}
	var once []string
	for i, path := range paths {
		again := false
		for _, later := range paths[i+1:] {
			again = again || filepath.Clean(later) == filepath.Clean(path)
		}
		if !again {
			once = append(once, path)
		}
	}
	return once
}

// usualFile reads a file that need not be there.
func (r *reader) usualFile(path string) error {
	err := r.file(path, 0)
	var unreadable unreadableError
	if !errors.As(err, &unreadable) {
		return err
	}
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		r.warn("%v", err)
	}
	return nil
}

// expand puts the home directory in the place of a leading "~/".
func (r *reader) expand(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && r.home != "" {
		return filepath.Join(r.home, rest)
	}
	return path
}

// warn adds a warning. Arguments must hold no text of a file but paths.
func (r *reader) warn(format string, args ...any) {
	r.result.Warnings = append(r.result.Warnings, fmt.Sprintf(format, args...))
}
