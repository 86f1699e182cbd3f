package suites

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
)

// tree is an installation as the suites' runners expect one: bin, share, lib
// and mysql-test side by side in one folder. Everything in it is a link to a
// package or a script that starts a package's program.
type tree struct {
	inst *sandbox.Installation
	dir  string
}

func (t *tree) bin(program string) string { return filepath.Join(t.dir, "bin", program) }
func (t *tree) tests() string             { return filepath.Join(t.dir, "mysql-test") }
func (t *tree) share() string             { return filepath.Join(t.dir, "share", "mysql") }
func (t *tree) plugins() string           { return filepath.Join(t.dir, "lib", "plugin") }

// makeTree makes the tree anew below dir.
func makeTree(inst *sandbox.Installation, roots []string, dir string) (*tree, error) {
	t := &tree{inst: inst, dir: dir}
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	server := filepath.Dir(filepath.Dir(filepath.Dir(inst.Server))) // of ROOT/usr/sbin/mysqld
	all := append(slices.Clone(roots), server)
	for _, root := range all {
		for from, to := range map[string]string{
			"usr/lib/mysql-test":         t.tests(),
			"usr/share/mysql/mysql-test": t.tests(),
			"usr/share/mysql":            t.share(),
			"usr/lib/mysql/plugin":       t.plugins(),
		} {
			if err := linkTree(filepath.Join(root, from), to); err != nil {
				return nil, err
			}
		}
	}
	loader, err := inst.Argv("mysqld")
	if err != nil {
		return nil, err
	}
	loader = loader[:len(loader)-1]
	if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o755); err != nil {
		return nil, err
	}
	for _, root := range all {
		for _, sub := range []string{"usr/lib/mysql-test/bin", "usr/bin", "usr/sbin"} {
			if err := t.programs(filepath.Join(root, sub), loader, all); err != nil {
				return nil, err
			}
		}
	}
	return t, errors.Join(t.stubs(), t.calm())
}

// calm replaces a file that waits until the server has no more connections
// than before, and fails if that does not come: the proxy keeps some.
func (t *tree) calm() error {
	dir := filepath.Join(t.tests(), "include")
	original, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "wait_until_count_sessions.inc")
	if original != dir {
		err = os.Remove(dir)
	}
	return errors.Join(err, linkTree(original, dir), os.Remove(file), os.WriteFile(file, []byte(waitForSessions), 0o644))
}

// waitForSessions waits as the original does, but for a second, and in vain
// without a word.
const waitForSessions = `let $wait_counter= 10;
let $wait_timeout= 0;
while ($wait_counter)
{
   let $current_sessions= query_get_value(SHOW GLOBAL STATUS LIKE 'Threads_connected', Value, 1);
   let $success= ` + "`SELECT $current_sessions <= $count_sessions`" + `;
   dec $wait_counter;
   if ($success)
   {
      let $wait_counter= 0;
   }
   if (!$success)
   {
      sleep 0.1;
   }
}
`

// linkTree links what is in one folder into another. A folder that several
// packages fill becomes a folder of links itself.
func linkTree(from, to string) error {
	entries, err := os.ReadDir(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for _, entry := range entries {
		source, target := filepath.Join(from, entry.Name()), filepath.Join(to, entry.Name())
		there, err := os.Lstat(target)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			err = os.Symlink(source, target)
		case err == nil && entry.IsDir() && there.IsDir():
			err = linkTree(source, target)
		case err == nil && entry.IsDir():
			err = splitLink(source, target)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// splitLink replaces a link to one folder by a folder of links to both.
func splitLink(source, target string) error {
	old, err := os.Readlink(target)
	if err != nil {
		return err
	}
	if err := os.Remove(target); err != nil {
		return err
	}
	if err := linkTree(old, target); err != nil {
		return err
	}
	return linkTree(source, target)
}

// programs makes a script for each program of a folder. Programs that were
// unpacked with their own C library need the loader in front.
func (t *tree) programs(from string, loader, roots []string) error {
	entries, err := os.ReadDir(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, entry := range entries {
		path, err := filepath.EvalSymlinks(filepath.Join(from, entry.Name()))
		if err != nil {
			continue // a link into a package that is not needed
		}
		words := []string{path}
		if isELF(path) && len(loader) > 0 {
			words = append(slices.Clone(loader), path)
			for i, word := range words {
				if i > 0 && words[i-1] == "--library-path" {
					words[i] = word + extraLibraries(roots)
				}
			}
		}
		script := "#!/bin/sh\nexec " + strings.Join(words, " ") + " \"$@\"\n"
		if err := os.WriteFile(t.bin(entry.Name()), []byte(script), 0o755); err != nil {
			return err
		}
	}
	return err
}

func extraLibraries(roots []string) string {
	var b strings.Builder
	for _, root := range roots {
		found, _ := filepath.Glob(filepath.Join(root, "usr/lib/*-linux-*")) // the pattern is well-formed
		for _, dir := range found {
			b.WriteString(":" + dir)
		}
	}
	return b.String()
}

func isELF(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	head := make([]byte, 4)
	_, err = file.Read(head)
	return err == nil && bytes.Equal(head, []byte("\x7fELF"))
}

// stubs stands in for programs that MariaDB's runner looks for before it
// starts and that no package has, or whose package nothing else is needed of.
// A test that runs one fails directly and through the proxy.
func (t *tree) stubs() error {
	if t.inst.Flavor != flavor.MariaDB {
		return nil
	}
	for _, name := range []string{
		"mariadb-plugin", "mariadb-conv", "mariadb-slap", "mariadb-tzinfo-to-sql", "replace",
		"myisamlog", "myisamchk", "myisampack", "myisam_ftdump", "aria_chk", "aria_pack", "perror",
		"my_safe_process", "wsrep_check_version",
	} {
		if _, err := os.Lstat(t.bin(name)); err == nil {
			continue
		}
		script := fmt.Sprintf("#!/bin/sh\necho %s is not installed >&2\nexit 1\n", name)
		if err := os.WriteFile(t.bin(name), []byte(script), 0o755); err != nil {
			return err
		}
	}
	return nil
}
