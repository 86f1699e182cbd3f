package commands

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/urfave/cli/v2"
)

// newApp is the whole command tree. Building it does nothing; the actions run
// with the context and the environment given here.
func newApp(env *environment) *cli.App {
	app := &cli.App{
		Name:  "mysqlrw",
		Usage: "reads from MySQL and MariaDB replicas that can be trusted",
		Commands: []*cli.Command{
			lagCommand(env),
			statusCommand(env),
			gtidCommand(env),
			waitGTIDCommand(env),
			waitPosCommand(env),
			waitSyncCommand(env),
			classifyCommand(env),
			routeCommand(env),
			serveCommand(env),
			ctlCommand(env),
			checkConfigCommand(env),
			verifyCommand(env),
			heartbeatCommand(env),
			sandboxCommand(env),
			demoCommand(env),
			completionCommand(env),
			versionCommand(env),
		},
		Writer:    env.stdout,
		ErrWriter: io.Discard, // every message goes through report

		HideHelp:                  true,
		HideVersion:               true,
		DisableSliceFlagSeparator: true, // GTID sets contain commas
		ExitErrHandler:            func(*cli.Context, error) {},
	}
	hideHelp(app.Commands)
	return app
}

// hideHelp keeps the cli package from adding its own --help with the letter h
// to every command: -h is --host, and parseArgs reads --help.
func hideHelp(commands []*cli.Command) {
	for _, c := range commands {
		c.HideHelp = true
		c.OnUsageError = func(_ *cli.Context, err error, _ bool) error { return err }
		hideHelp(c.Subcommands)
	}
}

// run does what the arguments say and returns the exit code.
func run(ctx context.Context, env *environment) int {
	app := newApp(env)
	if len(env.args) > 0 && env.args[0] == completeWord {
		return complete(app, env)
	}
	inv, err := parseArgs(app, env.args)
	name := strings.Join(append([]string{app.Name}, inv.path...), " ")
	if err != nil {
		return nagiosUsage(env, report(ctx, env.stderr, name, err))
	}
	if inv.help {
		printHelp(env.stdout, app, inv)
		if len(env.args) == 0 {
			return exitUsage
		}
		return exitYes
	}
	err = app.RunContext(ctx, append([]string{app.Name}, inv.argv...))
	if errors.Is(err, errServed) {
		return exitYes
	}
	var coded *codeError
	if err != nil && !errors.As(err, &coded) && !actionRan(err) {
		// The cli package writes every flag with one dash.
		err = usagef("%s", strings.Replace(err.Error(), " for flag -", " for flag --", 1))
	}
	code := report(ctx, env.stderr, name, err)
	if err != nil && errors.As(err, &coded) && coded.err != nil {
		return nagiosUsage(env, code)
	}
	return code
}

// actionError marks an error as coming from a command's action. What the cli
// package returns by itself is an error in the flags' values.
type actionError struct{ err error }

func (e actionError) Error() string { return e.err.Error() }
func (e actionError) Unwrap() error { return e.err }

func actionRan(err error) bool {
	var a actionError
	return errors.As(err, &a)
}

// action wraps a command's work for the cli package. An argument for a command
// that takes none would be ignored there; what was meant by it is not known.
func action(work func(*cli.Context) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		if c.Command.ArgsUsage == "" && c.NArg() > 0 {
			return usagef("takes no arguments")
		}
		if err := work(c); err != nil {
			return actionError{err}
		}
		return nil
	}
}
