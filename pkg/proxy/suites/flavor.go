package suites

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
)

// The runner writes an option file for its servers and clients from templates
// and, in extern mode, leaves the server to whoever started it. Here both get
// what the runner's own servers and clients get.

var envPattern = regexp.MustCompile(`@ENV\.(\w+)`)

// serverOptions returns the option file of a server: the runner's template.
func (t *tree) serverOptions(w *worker) (string, error) {
	text, err := os.ReadFile(filepath.Join(t.tests(), "include", "default_mysqld.cnf"))
	if err != nil {
		return "", err
	}
	return t.fill(w, string(text)), nil
}

// clientOptions returns the option file of the clients: what the runner writes
// in extern mode, and its templates' settings of character sets, which results
// depend on.
func (t *tree) clientOptions(w *worker, at endpoint) (string, error) {
	text, err := os.ReadFile(filepath.Join(t.tests(), "include", "default_client.cnf"))
	if err != nil {
		return "", err
	}
	plugins := ""
	if t.inst.Flavor == flavor.MariaDB {
		// As the runner does for its own servers. Programs that were unpacked
		// would look in a folder of the system.
		root := filepath.Dir(filepath.Dir(filepath.Dir(t.inst.Server)))
		if found, _ := filepath.Glob(filepath.Join(root, "usr/lib/*/libmariadb3/plugin")); len(found) > 0 {
			plugins = "plugin-dir=" + found[0] + "\n"
		}
	}
	return fmt.Sprintf("[client]\n%suser=root\npassword=\nsocket=%s\nport=%d\n[mysqlbinlog]\ncharacter-sets-dir=%s\nlocal-load=%s\n%s",
		plugins, at.socket, at.port, filepath.Join(t.share(), "charsets"), w.tmp(), t.fill(w, string(text))), nil
}

func (t *tree) fill(w *worker, text string) string {
	return envPattern.ReplaceAllStringFunc(text, func(found string) string {
		switch found {
		case "@ENV.MYSQL_TEST_DIR":
			return t.tests()
		case "@ENV.MYSQLTEST_VARDIR":
			return w.vardir()
		}
		return ""
	})
}

// commonArgs are the arguments of a server that runs and of one that makes
// the template. The option file must come first.
func (t *tree) commonArgs(data, tmp string) []string {
	args := []string{
		"--basedir=" + t.dir, "--datadir=" + data, "--tmpdir=" + tmp,
		"--character-sets-dir=" + filepath.Join(t.share(), "charsets"),
		"--lc-messages-dir=" + t.share(), "--plugin-dir=" + t.plugins(),
	}
	if os.Geteuid() == 0 {
		args = append(args, "--user=root")
	}
	return args
}

// serverArgs are the runner's, without what only slows the start down.
func (t *tree) serverArgs(w *worker, n node) []string {
	std := filepath.Join(t.tests(), "std_data")
	args := append([]string{"--defaults-file=" + w.path("server.cnf")}, t.commonArgs(n.data, n.tmp)...)
	args = append(args,
		"--socket="+n.socket, "--port="+strconv.Itoa(n.port), "--bind-address=127.0.0.1",
		"--pid-file="+n.pid, "--log-error="+n.log,
		"--general-log=1", "--general-log-file="+filepath.Join(filepath.Dir(n.data), "mysqld.log"),
		"--slow-query-log=1", "--slow-query-log-file="+filepath.Join(filepath.Dir(n.data), "mysqld-slow.log"),
		"--server-id="+strconv.Itoa(n.number), "--log-output=file", "--secure-file-priv="+w.vardir(),
		"--ssl-ca="+std+"/cacert.pem", "--ssl-cert="+std+"/server-cert.pem", "--ssl-key="+std+"/server-key.pem",
	)
	args = append(args, w.level.args(t.inst.Flavor)...)
	if t.inst.Flavor == flavor.MariaDB {
		return args
	}
	return append(args,
		"--mysqlx=OFF", "--explain-format=TRADITIONAL_STRICT",
		"--caching-sha2-password-private-key-path="+std+"/rsa_private_key.pem",
		"--caching-sha2-password-public-key-path="+std+"/rsa_public_key.pem",
		"--loose-sha256-password-private-key-path="+std+"/rsa_private_key.pem",
		"--loose-sha256-password-public-key-path="+std+"/rsa_public_key.pem",
		"--innodb-log-writer-threads=OFF", "--innodb-flush-method=nosync", "--innodb-doublewrite=OFF",
		"--innodb-use-native-aio=OFF",
	)
}

// templateSQL is what the runner feeds to a new data directory.
func (t *tree) templateSQL() (string, error) {
	var b strings.Builder
	var failed error
	file := func(dir, name string) {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil && failed == nil {
			failed = err
		}
		b.Write(text)
		b.WriteByte('\n')
	}
	include := filepath.Join(t.tests(), "include")
	if t.inst.Flavor == flavor.MySQL {
		b.WriteString("use mysql;\n")
		file(include, "mtr_test_data_timezone.sql")
		b.WriteString(mysqlTemplate)
		file(include, "mtr_warnings.sql")
		file(include, "mtr_check.sql")
		return b.String(), failed
	}
	b.WriteString("CREATE DATABASE IF NOT EXISTS mysql;\nuse mysql;\n")
	for _, name := range []string{
		"mysql_system_tables.sql", "maria_add_gis_sp_bootstrap.sql", "mysql_performance_tables.sql",
		"mysql_system_tables_data.sql", "mysql_test_data_timezone.sql", "fill_help_tables.sql", "mysql_sys_schema.sql",
	} {
		file(t.share(), name)
	}
	b.WriteString(mariadbTemplate)
	for _, name := range []string{"mtr_warnings.sql", "mtr_check.sql"} {
		text, err := os.ReadFile(filepath.Join(include, name))
		if err != nil {
			return "", err
		}
		b.WriteString(forBootstrap(string(text)))
	}
	return b.String(), failed
}

const mysqlTemplate = `
UPDATE mysql.tables_priv SET timestamp = CURRENT_TIMESTAMP, Grantor = 'root@localhost' WHERE USER = 'mysql.session';
DELETE FROM mysql.user WHERE user = '';
CREATE DATABASE test;
CREATE DATABASE mtr;
INSERT INTO mysql.db VALUES ('%','test','','Y','Y','Y','Y','Y','Y','N','Y','Y','Y','Y','Y','Y','Y','Y','N','N','Y','Y');
DELETE FROM mysql.proxies_priv WHERE user = 'root';
INSERT INTO mysql.proxies_priv VALUES ('localhost', 'root', '', '', TRUE, '', now());
`

const mariadbTemplate = `
CREATE DATABASE IF NOT EXISTS test CHARACTER SET latin1 COLLATE latin1_swedish_ci;
use mysql;
ALTER TABLE gtid_slave_pos ENGINE=Aria transactional=0;
DELETE FROM mysql.global_priv WHERE user = '';
CREATE DATABASE mtr CHARSET=latin1;
`

// forBootstrap makes the statements of a file one line each: MariaDB's
// bootstrapping server knows no DELIMITER and ends a statement at the end of a
// line that ends with a semicolon.
func forBootstrap(text string) string {
	var b strings.Builder
	delimiter := ";"
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		words := strings.Fields(line)
		switch {
		case line == "" || strings.HasPrefix(line, "--"):
			continue
		case len(words) == 2 && strings.EqualFold(words[0], "delimiter"):
			delimiter = strings.TrimSuffix(words[1], delimiter)
			continue
		}
		if before, ends := strings.CutSuffix(line, delimiter); ends {
			b.WriteString(before + ";\n")
			continue
		}
		b.WriteString(line + " ")
	}
	return b.String()
}
