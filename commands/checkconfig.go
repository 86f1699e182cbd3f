package commands

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/mysqlrw/mysqlrw/pkg/config"
	"github.com/mysqlrw/mysqlrw/route"
)

func checkConfigCommand(env *environment) *cli.Command {
	flags := []cli.Flag{
		&cli.BoolFlag{Name: "print-sample", Usage: "print a file with every key, its meaning and its default"},
	}
	return &cli.Command{
		Name:      "check-config",
		Usage:     "is this configuration of the proxy right, and if not, what is wrong where?",
		ArgsUsage: "FILE",
		Description: `FILE is read as serve reads it, with the passwords and certificates that it names. All
mistakes are told, each with line and column, and settings that have no effect as warnings.
Nothing is connected to. docs/config.md has the keys.

Exit codes: 0 it can be used, 2 it cannot.`,
		UsageText: example("check-config"),
		Flags:     append(flags, outputFlags(false)...),
		Action:    action(func(c *cli.Context) error { return runCheckConfig(env, c) }),
	}
}

// configJSON is the document of check-config.
type configJSON struct {
	OK        bool           `json:"ok"`
	File      string         `json:"file"`
	Listeners []listenerJSON `json:"listeners"`
	Servers   []serverJSON   `json:"servers"`
	Errors    config.Errors  `json:"errors"`
	Warnings  config.Errors  `json:"warnings"`
}

type listenerJSON struct {
	Address     string `json:"address"`
	Mode        string `json:"mode"`
	Consistency string `json:"consistency"`
	SSLMode     string `json:"ssl_mode"`
}

type serverJSON struct {
	Name          string  `json:"name"`
	Address       string  `json:"address"`
	Role          string  `json:"role"`
	Weight        int     `json:"weight"`
	PrimaryWeight int     `json:"primary_weight"`
	Zone          *string `json:"zone"`
	SSLMode       string  `json:"ssl_mode"`
}

func runCheckConfig(env *environment, c *cli.Context) error {
	switch {
	case c.Bool("print-sample") && c.NArg() > 0:
		return usagef("--print-sample takes no FILE")
	case c.Bool("print-sample"):
		_, err := io.WriteString(env.stdout, config.Sample)
		return err
	case c.NArg() != 1:
		return usagef("takes one FILE; --print-sample prints one to begin with")
	}
	const name = "mysqlrw check-config"
	file := c.Args().First()
	loaded, warnings, err := config.Load(file, lookup(env))
	var problems config.Errors
	if err != nil && !errors.As(err, &problems) {
		return usagef("%w", err)
	}
	tell(env, name, problems, warnings)
	p := newPrinter(env, c)
	doc := configJSON{
		OK: err == nil, File: file, Listeners: []listenerJSON{}, Servers: []serverJSON{},
		Errors: append(config.Errors{}, problems...), Warnings: append(config.Errors{}, warnings...),
	}
	if err != nil {
		if p.format == "json" {
			if err := p.print(document{json: doc}); err != nil {
				return err
			}
		}
		return answer(exitUsage)
	}
	for _, l := range loaded.Listeners {
		doc.Listeners = append(doc.Listeners, listenerJSON{l.Where(), string(l.Mode), l.Consistency.String(), string(l.SSLMode)})
	}
	for _, s := range loaded.Servers {
		doc.Servers = append(doc.Servers, serverJSON{
			s.Name, s.Address, string(s.Role), s.Weight, s.PrimaryWeight, nonEmpty(s.Zone), string(s.SSLMode),
		})
	}
	return p.printConfig(doc)
}

// lookup is the environment as config wants it. A variable that is empty is
// none: no password is.
func lookup(env *environment) func(string) (string, bool) {
	return func(name string) (string, bool) {
		text := env.getenv(name)
		return text, text != ""
	}
}

// tell prints what is wrong with a configuration, a line each.
func tell(env *environment, name string, problems, warnings config.Errors) {
	for _, p := range problems {
		fmt.Fprintf(env.stderr, "%s: %s\n", name, p)
	}
	for _, w := range warnings {
		w.Message = "warning: " + w.Message
		fmt.Fprintf(env.stderr, "%s: %s\n", name, w)
	}
}

// printConfig prints a configuration that can be used.
func (p *printer) printConfig(doc configJSON) error {
	var listeners, servers [][]cell
	for _, l := range doc.Listeners {
		listeners = append(listeners, cells(l.Address, l.Mode, l.Consistency, l.SSLMode))
	}
	for _, s := range doc.Servers {
		zone := ""
		if s.Zone != nil {
			zone = *s.Zone
		}
		servers = append(servers, cells(
			s.Name, s.Address, s.Role, strconv.Itoa(s.Weight), strconv.Itoa(s.PrimaryWeight), s.SSLMode, zone))
	}
	switch {
	case p.quiet:
		return nil
	case p.format == "plain":
		var rows [][]cell
		for _, l := range listeners {
			rows = append(rows, append(cells("listener"), l...))
		}
		for _, s := range servers {
			rows = append(rows, append(cells("server"), s...))
		}
		return p.print(document{rows: rows})
	case p.format == "json":
		return p.print(document{json: doc})
	}
	if _, err := fmt.Fprintf(p.w, "ok: %s, %s\n\n", counted(len(listeners), "listener"), counted(len(servers), "server")); err != nil {
		return err
	}
	if err := p.printTable([]string{"LISTENER", "MODE", "CONSISTENCY", "TLS"}, listeners); err != nil {
		return err
	}
	if _, err := io.WriteString(p.w, "\n"); err != nil {
		return err
	}
	return p.printTable([]string{"SERVER", "ADDRESS", "ROLE", "WEIGHT", "AS PRIMARY", "TLS", "ZONE"}, servers)
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func cells(texts ...string) []cell {
	row := make([]cell, len(texts))
	for i, t := range texts {
		row[i] = cell{text: t}
	}
	return row
}

// routeConfig reads the file of --config for a command that needs the policy
// and servers of it, and tells its warnings. The passwords are not needed.
func routeConfig(env *environment, c *cli.Context) (*config.Config, error) {
	loaded, warnings, err := config.Load(c.String("config"), nil)
	var problems config.Errors
	if errors.As(err, &problems) {
		tell(env, "mysqlrw route", problems, warnings)
		return nil, answer(exitUsage)
	}
	if err != nil {
		return nil, usagef("--config: %w", err)
	}
	if !c.Bool("quiet") {
		tell(env, "mysqlrw route", nil, warnings)
	}
	return loaded, nil
}

// policyOf is the policy of the first listener for that kind of client.
func policyOf(c *config.Config, readOnly bool) (route.Policy, error) {
	mode := config.ReadWrite
	if readOnly {
		mode = config.ReadOnly
	}
	for _, l := range c.Listeners {
		if l.Mode == mode {
			return c.RoutePolicy(l), nil
		}
	}
	if readOnly {
		return route.Policy{}, usagef("--read-only-endpoint: the configuration has no listener of mode read-only")
	}
	return c.RoutePolicy(c.Listeners[0]), nil
}

// configServers are the servers of a configuration as if all of them had all
// of it. With no primary fixed it is the first that can be one.
func configServers(c *config.Config, example route.Snapshot) route.Snapshot {
	primary := -1
	for i, s := range c.Servers {
		if s.Role == config.Primary || s.Role == config.Auto && primary < 0 {
			primary = i
		}
		if s.Role == config.Primary {
			break
		}
	}
	position := example.Servers[0].Position
	var snap route.Snapshot
	for i, s := range c.Servers {
		sv := route.Server{Name: s.Name, State: route.Online, LagKnown: true, Position: position, Zone: s.Zone}
		if i == primary {
			sv.Role, sv.LagKnown = route.Primary, false
		}
		sv.Weight = s.WeightAs(sv.Role)
		snap.Servers = append(snap.Servers, sv)
	}
	return snap
}

// configured gives servers that were asked the weights and zones of the
// configuration, if their targets are names or addresses in it.
func configured(c *config.Config, servers []route.Server) {
	for i := range servers {
		sv := &servers[i]
		for _, s := range c.Servers {
			if s.Name == sv.Name || s.Address == sv.Name {
				sv.Weight, sv.Zone = s.WeightAs(sv.Role), s.Zone
			}
		}
	}
}
