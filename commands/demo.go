package commands

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/mysqlrw/mysqlrw/pkg/deadline"
	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
)

func demoCommand(env *environment) *cli.Command {
	return &cli.Command{
		Name:  "demo",
		Usage: "see it work: a real cluster, a replica that lags, and the commands that tell",
		Description: `Starts a primary and two replicas on 127.0.0.1, lets one replica fall behind and stop, and
runs lag, wait-gtid and status on it. Then a proxy goes in front of it, one replica a second
behind, and the same clients read and write at each consistency level: how many reads were
stale, where they ran and how long they took. It ends by itself and leaves nothing running;
--stay keeps cluster and proxy until Ctrl-C, with command lines to try.

Without --flavor it takes MySQL, or MariaDB if MySQL cannot be had.`,
		UsageText: example("demo"),
		Flags: []cli.Flag{
			enumFlag("flavor", "auto", "kind of server", "auto", "mysql", "mariadb"),
			&cli.BoolFlag{Name: "stay", Usage: "keep the cluster until Ctrl-C"},
		},
		Action: action(func(c *cli.Context) error { return runDemo(c.Context, env, c) }),
	}
}

// demo is one showing.
type demo struct {
	env     *environment
	ctx     context.Context // of the whole showing: its steps share it
	cluster *sandbox.Cluster
	cnf     string
	proxy   *demoProxy // once there is one
}

func runDemo(ctx context.Context, env *environment, c *cli.Context) error {
	cluster, err := demoCluster(ctx, env, enum(c, "flavor"))
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return cannotTell(err)
	}
	d := &demo{env: env, ctx: ctx, cluster: cluster, cnf: "--defaults-file=" + cluster.ClientCnf}
	err = d.show()
	if err == nil && c.Bool("stay") {
		d.stay()
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	d.proxy.end()
	return errors.Join(err, cluster.Close())
}

// demoCluster starts the flavor that was asked for, or the first that can be had.
func demoCluster(ctx context.Context, env *environment, word string) (*sandbox.Cluster, error) {
	cache, err := cacheDir(env)
	if err != nil {
		return nil, err
	}
	flavors := []flavor.Flavor{flavor.MySQL, flavor.MariaDB}
	if f, err := flavor.ParseFlavor(word); err == nil {
		flavors = []flavor.Flavor{f}
	}
	var failed error
	for _, f := range flavors {
		fmt.Fprintf(env.stderr, "starting a %s primary and two replicas on 127.0.0.1\n", f)
		cluster, err := sandbox.Start(ctx, sandbox.Options{
			Flavor: f, CacheDir: cache,
			Progress: func(line string) { fmt.Fprintln(env.stderr, "  "+line) },
		})
		if err == nil || ctx.Err() != nil {
			return cluster, err
		}
		fmt.Fprintf(env.stderr, "no %s here: %v\n", f, err)
		failed = errors.Join(failed, err)
	}
	return nil, failed
}

// show runs the scenes in order. Each one ends with an exit code that a script
// would branch on, and a code that is not the expected one is an error.
func (d *demo) show() error {
	primary, replica1, replica2 := d.cluster.Primary(), d.cluster.Replica(1), d.cluster.Replica(2)
	p, r1, r2 := primary.Address(), replica1.Address(), replica2.Address()
	var release func() error
	defer func() {
		if release != nil {
			_ = release() // the cluster ends anyway
		}
	}()
	steps := []func() error{
		func() error { return d.say("A primary and two replicas.") },
		func() error { return d.mysqlrw(exitYes, "status", "--topology", p) },
		func() error { return d.say("Write, then wait until both replicas have it: exit code 0.") },
		func() error {
			return d.sql(primary, "CREATE DATABASE shop", "CREATE TABLE shop.item (id INT PRIMARY KEY, price INT)",
				"INSERT INTO shop.item VALUES (111, 96)")
		},
		func() error { return d.mysqlrw(exitYes, "wait-gtid", "--source", p, "--timeout", "10s", r1, r2) },
		func() error {
			return d.say("replica2 falls behind (a read lock holds its applier up). A gate says so: exit code 1.")
		},
		func() (err error) { release, err = replica2.HoldApplier(d.ctx); return err },
		func() error { return d.sql(primary, "UPDATE shop.item SET price = 100 WHERE id = 111") },
		func() error { return deadline.Pause(d.ctx, 1500*time.Millisecond) },
		func() error { return d.mysqlrw(exitNo, "lag", "--source", p, "--max", "1s", r1, r2) },
		func() error {
			return d.say("Waiting for the write says after the timeout what is missing: exit code 1.")
		},
		func() error { return d.mysqlrw(exitNo, "wait-gtid", "--source", p, "--timeout", "1s", r2) },
		func() error { return d.say("The lock is gone, the write arrives: exit code 0.") },
		func() error { return release() },
		func() error { return d.mysqlrw(exitYes, "wait-gtid", "--source", p, "--timeout", "10s", r2) },
		func() error { return d.say("Its applier stops. The lag is unknown, which is not 0: exit code 3.") },
		func() error { return replica2.StopApplier(d.ctx, d.cluster.Flavor, "") },
		func() error { return d.sql(primary, "UPDATE shop.item SET price = 101 WHERE id = 111") },
		func() error { return d.mysqlrw(exitUnknown, "lag", r1, r2) },
		func() error { return d.say("And a wait says at once that it would be in vain: exit code 3.") },
		func() error { return d.mysqlrw(exitUnknown, "wait-gtid", "--source", p, "--timeout", "1h", r2) },
		func() error { return d.say("Started again, it catches up.") },
		func() error { return replica2.StartApplier(d.ctx, d.cluster.Flavor, "") },
		func() error { return d.mysqlrw(exitYes, "wait-gtid", "--source", p, "--timeout", "10s", r2) },
		func() error { return d.mysqlrw(exitYes, "status", "--source", p, r1, r2) },
		func() error { return d.levels() },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
		if d.ctx.Err() != nil {
			return context.Cause(d.ctx)
		}
	}
	return nil
}

func (d *demo) say(text string) error {
	_, err := fmt.Fprintf(d.env.stdout, "\n# %s\n", text)
	return err
}

// mysqlrw shows a command line, runs it in this process, and shows its exit code.
func (d *demo) mysqlrw(want int, command string, args ...string) error {
	shown := strings.Join(append([]string{"mysqlrw", command, d.cnf}, args...), " ")
	fmt.Fprintf(d.env.stdout, "$ %s\n", shown)
	env := *d.env
	env.args = append([]string{command, d.cnf}, args...)
	code := run(d.ctx, &env)
	if d.ctx.Err() != nil {
		return context.Cause(d.ctx)
	}
	fmt.Fprintf(d.env.stdout, "exit code %d\n", code)
	if code != want {
		return fmt.Errorf("%s: exit code %d, expected %d", shown, code, want)
	}
	return nil
}

func (d *demo) sql(s *sandbox.Server, statements ...string) error {
	for _, statement := range statements {
		fmt.Fprintf(d.env.stdout, "%s> %s;\n", s.Name, statement)
	}
	return s.Exec(d.ctx, statements...)
}

// stay keeps the cluster until the showing is interrupted.
func (d *demo) stay() {
	fmt.Fprintf(d.env.stdout, "\n# Cluster and proxy stay until Ctrl-C. Try:\n")
	fmt.Fprintf(d.env.stdout, "mysql --defaults-file=%s   # the proxy; in it: SHOW MYSQLRW SERVERS; SHOW MYSQLRW ROUTE;\n", d.proxy.cnf)
	admin := d.proxy.serving.admin.Load().Address()
	fmt.Fprintf(d.env.stdout, "http://%s   # its dashboard\n", admin)
	fmt.Fprintf(d.env.stdout, "mysqlrw ctl servers --admin %s   # and sessions, route, config, drain, ...\n", admin)
	for _, s := range d.cluster.Servers {
		fmt.Fprintf(d.env.stdout, "mysql --defaults-file=%s   # %s\n", filepath.Join(d.cluster.Dir, s.Name+".cnf"), s.Name)
	}
	fmt.Fprintf(d.env.stdout, "mysqlrw lag %s --watch 500ms --source %s %s %s\n", d.cnf,
		d.cluster.Primary().Address(), d.cluster.Replica(1).Address(), d.cluster.Replica(2).Address())
	<-d.ctx.Done()
}
