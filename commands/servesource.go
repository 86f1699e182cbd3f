package commands

import (
	"cmp"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/mysqlrw/mysqlrw/pkg/config"
	"github.com/mysqlrw/mysqlrw/pkg/target"
	"github.com/mysqlrw/mysqlrw/route"
)

// adminToken is the variable with the token for changes, of serve --admin and of ctl.
const adminToken = "MYSQLRW_ADMIN_TOKEN"

// monitorPassword is the variable with the password of the account of --user.
const monitorPassword = "MYSQLRW_MONITOR_PASSWORD"

func serveFlags() []cli.Flag {
	flags := inCategory("Servers", []cli.Flag{
		&cli.StringFlag{Name: "config", Usage: "file of the proxy; of the flags below only those of Log go with it"},
		&cli.StringSliceFlag{Name: "listen", Category: "Servers", Usage: "ADDRESS for clients (may be repeated)"},
		&cli.StringFlag{Name: "primary", Usage: "ADDRESS of the server that takes writes"},
		&cli.StringSliceFlag{Name: "replica", Category: "Servers", Usage: "ADDRESS of a replica (may be repeated)"},
		&cli.StringFlag{Name: "admin", Usage: "host:port for metrics, dashboard and ctl; changes take the token of " + adminToken + " (default: none)"},
		enumFlag("mode", "read-write", "read-only never reaches the primary", "read-write", "read-only"),
	})
	flags = append(flags, without(policyFlags(), "read-only-endpoint")...) // that is --mode
	flags = append(flags, without(connectionFlags(), "host", "port", "socket")...)
	return append(flags, inCategory("Log", []cli.Flag{
		enumFlag("log-format", "", "of what goes to stderr (default text)", "text", "json"),
		enumFlag("log-level", "", "what is logged (default info)", "debug", "info", "warn", "error"),
	})...)
}

func without(flags []cli.Flag, names ...string) []cli.Flag {
	return slices.DeleteFunc(flags, func(f cli.Flag) bool { return slices.Contains(names, f.Names()[0]) })
}

// serveSource is where the configuration comes from: a file, which may have changed each time, or
// flags.
type serveSource struct {
	file   string
	flags  config.Flags
	more   func(*config.Config) // what no field of flags is for
	getenv func(string) (string, bool)
	log    config.Log // of the flags, stronger than what a file says
}

func newServeSource(env *environment, c *cli.Context) (*serveSource, error) {
	s := &serveSource{
		file: c.String("config"), getenv: lookup(env), more: func(*config.Config) {},
		log: config.Log{Format: enum(c, "log-format"), Level: enum(c, "log-level")},
	}
	if c.IsSet("config") {
		for _, f := range c.Command.Flags {
			if name := f.Names()[0]; c.IsSet(name) && !slices.Contains([]string{"config", "log-format", "log-level"}, name) {
				return nil, usagef("--%s and --config exclude each other: write it into the file", name)
			}
		}
		return s, nil
	}
	if len(c.StringSlice("listen")) == 0 || c.String("primary") == "" {
		return nil, usagef("needs --config FILE, or --listen ADDRESS and --primary ADDRESS, and one --replica ADDRESS for each replica")
	}
	k, err := newConnector(env, c)
	if err != nil {
		return nil, err
	}
	return s, s.fromFlags(env, c, k.settings)
}

func (s *serveSource) fromFlags(env *environment, c *cli.Context, from target.Settings) error {
	if from.SSLCAPath != "" {
		return usagef("ssl-capath: serve needs a file, ssl-ca")
	}
	p := routePolicy(c, route.DefaultPolicy())
	if enum(c, "mode") == "read-only" {
		p.Endpoint = route.ReadOnly
	}
	s.flags = config.Flags{
		Listen: c.StringSlice("listen"), Primary: c.String("primary"), Replicas: c.StringSlice("replica"),
		User: from.User, Password: config.NewSecret(from.Password.Reveal()), Policy: p,
		Admin: c.String("admin"), AdminToken: config.NewSecret(env.getenv(adminToken)),
		SSLCA: from.SSLCA, SSLCert: from.SSLCert, SSLKey: from.SSLKey, ReadFile: os.ReadFile,
	}
	if own := env.getenv(monitorPassword); own != "" && !c.IsSet(passwordFlag) && c.String("password-file") == "" && !c.Bool(askPasswordFlag) {
		s.flags.Password = config.NewSecret(own)
	}
	switch {
	case from.SSLMode != target.SSLUnset:
		s.flags.SSLMode = config.SSLMode(strings.ReplaceAll(strings.ToLower(from.SSLMode.String()), "_", "-"))
	case from.SSLCA != "":
		s.flags.SSLMode = config.VerifyCA
	}
	s.flags.VersionInterval, _ = duration(c, versionInterval)
	s.more = func(conf *config.Config) { conf.Timeouts.ConnectTimeout = from.ConnectTimeout }
	return nil
}

// load reads the configuration, as config.Load does. Values that are set are stronger.
func (s *serveSource) load(set []config.Setting) (conf *config.Config, warnings config.Errors, err error) {
	if s.file != "" {
		conf, warnings, err = config.Load(s.file, s.getenv, set...)
	} else {
		flags := s.flags
		flags.Set = set
		conf, warnings, err = flags.Config()
	}
	if err == nil {
		s.more(conf)
		conf.Log.Format = cmp.Or(s.log.Format, conf.Log.Format)
		conf.Log.Level = cmp.Or(s.log.Level, conf.Log.Level)
	}
	return conf, warnings, err
}
