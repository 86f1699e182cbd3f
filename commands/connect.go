package commands

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/mysqlrw/mysqlrw/pkg/optionfile"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/target"
)

const (
	passwordFlag    = "password"
	askPasswordFlag = "ask-password"
)

// connectionFlags are the flags of the mysql client, with its letters.
func connectionFlags() []cli.Flag {
	sslMode := enumFlag("ssl-mode", "", "encryption (default PREFERRED)",
		"DISABLED", "PREFERRED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY")
	timeout := durationFlag("connect-timeout", 0, "limit for connecting to one server (default 5s)")
	flags := []cli.Flag{
		&cli.StringFlag{Name: "host", Aliases: []string{"h"}, Usage: "server if no TARGET is given, and default host"},
		&cli.StringFlag{Name: "port", Aliases: []string{"P"}, Usage: "TCP port (default 3306)"},
		&cli.StringFlag{Name: "user", Aliases: []string{"u"}, Usage: "account"},
		&cli.StringFlag{Name: passwordFlag, Aliases: []string{"p"}, Usage: "-p alone asks; a password written here can be seen by others"},
		&cli.BoolFlag{Name: askPasswordFlag, Hidden: true},
		&cli.StringFlag{Name: "password-file", Usage: "file whose first line is the password"},
		&cli.StringFlag{Name: "socket", Aliases: []string{"S"}, Usage: "unix socket"},
		&cli.StringFlag{Name: "defaults-file", Usage: "read only this option file"},
		&cli.StringFlag{Name: "defaults-extra-file", Usage: "read this option file too"},
		&cli.StringFlag{Name: "defaults-group-suffix", Usage: "also read the groups [client TEXT] and [mysqlrw TEXT]"},
		&cli.BoolFlag{Name: "no-defaults", Usage: "read no option file but the login path"},
		&cli.StringFlag{Name: "login-path", Usage: "group of ~/.mylogin.cnf to read"},
		sslMode,
		&cli.StringFlag{Name: "ssl-ca", Usage: "certificates that sign servers"},
		&cli.StringFlag{Name: "ssl-cert", Usage: "own certificate"},
		&cli.StringFlag{Name: "ssl-key", Usage: "key of the own certificate"},
		timeout,
	}
	return inCategory("Connection", flags)
}

// connector turns TARGET arguments into servers.
type connector struct {
	env      *environment
	settings target.Settings // what a TARGET does not say itself
}

// newConnector reads option files, environment and flags, in the order in
// which the mysql client lets the later win.
func newConnector(env *environment, c *cli.Context) (*connector, error) {
	options, err := optionfile.Read(optionfile.Options{
		Home:              env.home,
		MySQLHome:         env.getenv("MYSQL_HOME"),
		DefaultsFile:      c.String("defaults-file"),
		DefaultsExtraFile: c.String("defaults-extra-file"),
		NoDefaults:        c.Bool("no-defaults"),
		GroupSuffix:       firstOf(c.String("defaults-group-suffix"), env.getenv("MYSQL_GROUP_SUFFIX")),
		LoginPath:         c.String("login-path"),
		LoginFile:         env.getenv("MYSQL_TEST_LOGIN_FILE"),
		Groups:            []string{"client", "client-server", "client-mariadb", "mysqlrw"},
	})
	if err != nil {
		return nil, usagef("%w", err)
	}
	fromFiles, warnings, err := target.FromOptions(options)
	if err != nil {
		return nil, usagef("%w", err)
	}
	for _, w := range append(options.Warnings, warnings...) {
		fmt.Fprintf(env.stderr, "warning: %s\n", w)
	}
	fromEnvironment, err := environmentSettings(env)
	if err != nil {
		return nil, err
	}
	fromFlags, err := flagSettings(c)
	if err != nil {
		return nil, err
	}
	// The environment gives defaults: a file that names a host means it.
	s := fromEnvironment.Overlay(fromFiles).Overlay(fromFlags)
	s.Password, err = password(env, c, s)
	if s.ConnectTimeout == 0 {
		s.ConnectTimeout = 5 * time.Second
	}
	return &connector{env: env, settings: s}, err
}

func environmentSettings(env *environment) (target.Settings, error) {
	s := target.Settings{
		User:     env.user,
		Host:     env.getenv("MYSQL_HOST"),
		Socket:   env.getenv("MYSQL_UNIX_PORT"),
		Password: target.Secret(env.getenv("MYSQL_PWD")),
	}
	var err error
	if port := env.getenv("MYSQL_TCP_PORT"); port != "" {
		if s.Port, err = target.ParsePort(port); err != nil {
			return s, usagef("MYSQL_TCP_PORT: %w", err)
		}
	}
	return s, nil
}

// flagSettings reads the flags. A socket on the command line wins over a host
// that an option file names.
func flagSettings(c *cli.Context) (target.Settings, error) {
	s := target.Settings{
		Host:    c.String("host"),
		User:    c.String("user"),
		Socket:  c.String("socket"),
		SSLCA:   c.String("ssl-ca"),
		SSLCert: c.String("ssl-cert"),
		SSLKey:  c.String("ssl-key"),
	}
	if s.Socket != "" && s.Host == "" {
		s.Protocol = target.ProtocolSocket
	}
	s.ConnectTimeout, _ = duration(c, "connect-timeout")
	var err error
	if port := c.String("port"); port != "" {
		if s.Port, err = target.ParsePort(port); err != nil {
			return s, usagef("--port: %w", err)
		}
	}
	if mode := enum(c, "ssl-mode"); mode != "" {
		if s.SSLMode, err = target.ParseSSLMode(mode); err != nil {
			return s, usagef("--ssl-mode: %w", err)
		}
	}
	return s, nil
}

// password takes the password from the flags, or asks for it if a flag or an
// option file says so.
func password(env *environment, c *cli.Context, s target.Settings) (target.Secret, error) {
	switch {
	case c.IsSet(passwordFlag):
		fmt.Fprintln(env.stderr, "warning: a password on the command line can be seen by others: "+
			"use -p alone, --password-file, MYSQL_PWD or an option file")
		return target.Secret(c.String(passwordFlag)), nil
	case c.String("password-file") != "":
		line, err := firstLine(c, "password-file")
		return target.Secret(line), err
	case c.Bool(askPasswordFlag) || s.AskPassword:
		text, err := env.readPassword("Enter password: ")
		return target.Secret(text), err
	default:
		return s.Password, nil
	}
}

// firstLine reads the first line of the file that a flag names.
func firstLine(c *cli.Context, flag string) (string, error) {
	data, err := os.ReadFile(c.String(flag))
	if err != nil {
		return "", usagef("--%s: %w", flag, err)
	}
	line, _, _ := strings.Cut(string(data), "\n")
	return strings.TrimSuffix(line, "\r"), nil
}

// server is one TARGET, open.
type server struct {
	name string // as it is printed
	db   *sql.DB
}

// open resolves a TARGET. It does not connect yet.
func (k *connector) open(argument string) (server, error) {
	t, err := target.Parse(argument, k.settings)
	if err != nil {
		return server{}, usagef("%w", err)
	}
	db, err := t.Open()
	if err != nil {
		return server{}, usagef("%s: %w", t.Name, err)
	}
	return server{t.Name, db}, nil
}

// openAll resolves every TARGET before the first one is connected to, so that
// a typing error costs nothing. No argument means the server of the flags.
func (k *connector) openAll(arguments []string) ([]server, error) {
	if len(arguments) == 0 {
		arguments = []string{""}
	}
	servers := make([]server, 0, len(arguments))
	for _, a := range arguments {
		s, err := k.open(a)
		if err != nil {
			closeAll(servers)
			return nil, err
		}
		servers = append(servers, s)
	}
	return servers, nil
}

func closeAll(servers []server) {
	for _, s := range servers {
		s.db.Close()
	}
}

// inParallel runs work for every server at once and waits for all of them.
func inParallel(servers []server, work func(i int, s server)) {
	var group sync.WaitGroup
	for i, s := range servers {
		group.Go(func() { work(i, s) })
	}
	group.Wait()
}

// errNotAnswered is the cause of a context that ended because a server took
// longer than --timeout.
var errNotAnswered = errors.New("no answer within --timeout")

// within bounds the work on one server.
func within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, limit, errNotAnswered)
}

// cacheDir is where the program keeps what it installs.
func cacheDir(env *environment) (string, error) {
	if dir := env.getenv("MYSQLRW_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := sandbox.DefaultCacheDir()
	if err != nil {
		return "", usagef("no cache folder: set MYSQLRW_CACHE: %w", err)
	}
	return dir, nil
}

// firstOf returns the first text that is not empty.
func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}
