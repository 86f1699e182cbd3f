package sandbox

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
)

// templateRevision changes whenever the way in which templates are made does,
// so that old ones are not used.
const templateRevision = "2"

// template returns a data directory that was initialised and shut down and
// must not be changed. It is made when the installation is first used, since
// initialising takes longer than everything else that Start does.
//
// In it root@localhost has no password and is the only account of a person.
func template(ctx context.Context, inst *Installation, o InstallOptions) (string, error) {
	key := sha256.Sum256([]byte(inst.Server + "\n" + inst.Version.String() + "\n" + templateRevision))
	name := fmt.Sprintf("template-%s-%s-%x", inst.Flavor, inst.Version, key[:4])
	final := filepath.Join(o.CacheDir, name)
	if exists(final) {
		return final, nil
	}
	unlock, err := lockCache(ctx, o)
	if err != nil {
		return "", err
	}
	defer unlock()
	if exists(final) {
		return final, nil
	}
	o.Progress("initialising a data directory")
	tmp, err := os.MkdirTemp(o.CacheDir, "tmp-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	data := filepath.Join(tmp, "data")
	if inst.Flavor == flavor.MariaDB {
		err = bootstrap(ctx, inst, data)
	} else {
		err = initialize(ctx, inst, data)
	}
	if err != nil {
		return "", fmt.Errorf("initialise data directory: %w", err)
	}
	return final, os.Rename(data, final)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// initialize makes MySQL's data directory. Each copy of it gets an auto.cnf
// of its own, which holds the server's UUID.
func initialize(ctx context.Context, inst *Installation, data string) error {
	err := runServer(ctx, inst, nil, append(inst.pathArgs(data),
		"--initialize-insecure", "--innodb-doublewrite=OFF", "--innodb-buffer-pool-size=64M",
		"--loose-innodb-redo-log-capacity=16M", "--auto-generate-certs=OFF", "--innodb-flush-method=nosync"))
	if err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(data, "auto.cnf")); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// bootstrap makes MariaDB's data directory with the SQL that
// mariadb-install-db feeds to the server: the script itself cannot start a
// server through a loader.
func bootstrap(ctx context.Context, inst *Installation, data string) error {
	if err := os.Mkdir(data, 0o700); err != nil {
		return err
	}
	var sql bytes.Buffer
	sql.WriteString("CREATE DATABASE IF NOT EXISTS mysql;\nUSE mysql;\nSET @auth_root_socket=NULL;\n")
	for _, name := range []string{"system_tables", "performance_tables", "system_tables_data", "sys_schema"} {
		text, err := inst.sqlFile(name)
		if err != nil {
			return err
		}
		sql.Write(text)
		sql.WriteByte('\n')
	}
	sql.WriteString("USE mysql;\nDELETE FROM global_priv WHERE Host <> 'localhost' OR User = '';\n")
	return runServer(ctx, inst, &sql, append(inst.pathArgs(data),
		"--bootstrap", "--innodb-use-native-aio=0", "--innodb-log-file-size=16M",
		"--innodb-flush-method=nosync", "--max-allowed-packet=8M", "--loose-innodb-doublewrite=0"))
}

// sqlFile reads one of MariaDB's own SQL files, which changed their first
// word in MariaDB 11.
func (i *Installation) sqlFile(name string) ([]byte, error) {
	var problems []error
	for _, family := range []string{"mariadb_", "mysql_"} {
		text, err := os.ReadFile(filepath.Join(i.shareDir(), family+name+".sql"))
		if err == nil {
			return text, nil
		}
		problems = append(problems, err)
	}
	return nil, errors.Join(problems...)
}

// runServer runs the server program until it ends by itself.
func runServer(ctx context.Context, inst *Installation, stdin io.Reader, args []string) error {
	argv, err := inst.Argv("mysqld", args...)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env, cmd.Stdin = serverEnv(), stdin
	cmd.WaitDelay = 5 * time.Second
	ownGroup(cmd)
	out, err := cmd.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("run %s: %w: %s", inst.Server, err, lastLines(string(out), 5))
	default:
		return nil
	}
}

// pathArgs are the arguments that every run of the server program needs. The
// first one must stay first.
func (i *Installation) pathArgs(data string) []string {
	args := []string{
		"--no-defaults",
		"--basedir=" + i.base,
		"--datadir=" + data,
		"--lc-messages-dir=" + i.shareDir(),
		"--secure-file-priv=",
	}
	if dir := i.pluginDir(); dir != "" {
		args = append(args, "--plugin-dir="+dir)
	}
	if os.Geteuid() == 0 {
		args = append(args, "--user=root")
	}
	return args
}

// pluginDir returns the folder of plugins, or "" if the server's own idea of
// it has to do. For a server in the cache folder that would be a folder of
// the system, with plugins of another version.
func (i *Installation) pluginDir() string {
	dirs := []string{"lib/mysql/plugin", "lib/plugin", "lib64/mysql/plugin", "lib/mariadb/plugin"}
	for _, dir := range dirs {
		path := filepath.Join(i.base, filepath.FromSlash(dir))
		if exists(path) {
			return path
		}
	}
	if i.Cached {
		return filepath.Join(i.base, filepath.FromSlash(dirs[0]))
	}
	return ""
}

// copyTree copies a folder of regular files; sockets and links have no place
// in a data directory that was shut down.
func copyTree(ctx context.Context, from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case d.IsDir():
			return os.MkdirAll(target, 0o700)
		case d.Type().IsRegular():
			return copyFile(path, target)
		default:
			return nil
		}
	})
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
