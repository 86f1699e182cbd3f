package commands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
)

func sandboxCommand(env *environment) *cli.Command {
	return &cli.Command{
		Name:  "sandbox",
		Usage: "real replicating clusters on 127.0.0.1, for trials and tests",
		Description: `Servers are found on PATH, else in the cache folder (MYSQLRW_CACHE), else they are taken from
the distribution's packages into that folder, without touching the system.`,
		Subcommands: []*cli.Command{
			{
				Name: "up", Usage: "start a cluster and leave it running", UsageText: example("sandbox-up"),
				Flags:  append(append([]cli.Flag{dirFlag()}, clusterFlags()...), outputFlags(false)...),
				Action: action(func(c *cli.Context) error { return sandboxUp(c.Context, env, c) }),
			},
			{
				Name: "down", Usage: "end a cluster and remove its folder", UsageText: example("sandbox-down"),
				Flags:  []cli.Flag{dirFlag()},
				Action: action(func(c *cli.Context) error { return sandboxDown(c.Context, env, c) }),
			},
			{
				Name: "status", Usage: "the servers of a cluster, and whether they run", UsageText: example("sandbox-status"),
				Flags:  append([]cli.Flag{dirFlag()}, outputFlags(false)...),
				Action: action(func(c *cli.Context) error { return sandboxStatus(env, c) }),
			},
			{
				Name: "install", Usage: "find or install the servers of a flavor", UsageText: example("sandbox-install"),
				Flags:  installFlags(),
				Action: action(func(c *cli.Context) error { return sandboxInstall(c.Context, env, c) }),
			},
			{
				Name: "keep", Hidden: true, Usage: "own a cluster until it is taken down",
				Flags:  append([]cli.Flag{dirFlag()}, clusterFlags()...),
				Action: action(func(c *cli.Context) error { return sandboxKeep(c.Context, env, c) }),
			},
		},
	}
}

func dirFlag() cli.Flag {
	return &cli.StringFlag{Name: "dir", Usage: "folder of the cluster (default: sandbox in the cache folder)"}
}

func installFlags() []cli.Flag {
	return []cli.Flag{
		enumFlag("flavor", "mysql", "kind of server", "mysql", "mariadb"),
		&cli.StringFlag{Name: "mirror", Usage: "URL of a Debian archive to install from, instead of the system's own"},
	}
}

func clusterFlags() []cli.Flag {
	return append(installFlags(),
		&cli.IntFlag{Name: "replicas", Value: 2, Usage: "number of replicas"},
		&cli.IntFlag{Name: "sources", Value: 1, Usage: "number of primaries that every replica reads from, one channel each"},
		&cli.BoolFlag{Name: "named-channels", Usage: "give the channels names also with one source"},
		&cli.StringSliceFlag{Name: "delay", Usage: "how long replicas hold transactions back; repeated: one after the other"},
		enumFlag("gtid", "on", "replicate by GTID, or by file and position", "on", "off"),
		&cli.BoolFlag{Name: "semi-sync", Usage: "a commit waits until a replica has it"},
		durationFlag("ttl", 0, "end the cluster by itself after D"),
	)
}

// sandboxOptions reads the flags that describe a cluster.
func sandboxOptions(env *environment, c *cli.Context) (sandbox.Options, error) {
	install, err := installOptions(env, c)
	if err != nil {
		return sandbox.Options{}, err
	}
	o := sandbox.Options{
		Flavor: install.Flavor, CacheDir: install.CacheDir, Mirror: install.Mirror, Progress: install.Progress,
		Replicas: c.Int("replicas"), Sources: c.Int("sources"), NamedChannels: c.Bool("named-channels"),
		GTIDOff: enum(c, "gtid") == "off", SemiSync: c.Bool("semi-sync"),
	}
	if o.Dir, err = sandboxDir(env, c); err != nil {
		return o, err
	}
	if o.Replicas < 0 || o.Sources < 1 {
		return o, usagef("--replicas must not be negative and --sources must be at least 1")
	}
	if o.Replicas == 0 {
		o.Replicas = -1 // none: the library's 0 is its default
	}
	delays := c.StringSlice("delay")
	for i := range max(o.Replicas, 0) {
		if len(delays) == 0 {
			break
		}
		d, err := parseDuration(delays[min(i, len(delays)-1)])
		if err != nil {
			return o, usagef("--delay: %w", err)
		}
		if d%time.Second != 0 {
			return o, usagef("--delay: servers delay by whole seconds, not by %s", d)
		}
		o.Delays = append(o.Delays, d)
	}
	return o, nil
}

func installOptions(env *environment, c *cli.Context) (sandbox.InstallOptions, error) {
	f, err := flavor.ParseFlavor(enum(c, "flavor"))
	if err != nil {
		return sandbox.InstallOptions{}, usagef("--flavor: %w", err)
	}
	dir, err := cacheDir(env)
	return sandbox.InstallOptions{
		Flavor: f, CacheDir: dir, Mirror: c.String("mirror"),
		Progress: func(line string) { fmt.Fprintln(env.stderr, line) },
	}, err
}

func sandboxDir(env *environment, c *cli.Context) (string, error) {
	if dir := c.String("dir"); dir != "" {
		return filepath.Abs(dir)
	}
	cache, err := cacheDir(env)
	return filepath.Join(cache, "sandbox"), err
}

// sandboxUp starts the program again, detached, to own the cluster, and
// returns when that says that the cluster replicates.
func sandboxUp(ctx context.Context, env *environment, c *cli.Context) error {
	o, err := sandboxOptions(env, c)
	if err != nil {
		return err
	}
	if _, err := sandbox.Status(o.Dir); !errors.Is(err, sandbox.ErrNoSandbox) {
		return usagef("%s holds a sandbox already: mysqlrw sandbox down --dir %s ends it", o.Dir, o.Dir)
	}
	if _, err := sandbox.Install(ctx, sandbox.InstallOptions{Flavor: o.Flavor, CacheDir: o.CacheDir, Mirror: o.Mirror, Progress: o.Progress}); err != nil {
		return cannotTell(err)
	}
	info, err := startKeeper(ctx, c, o.Dir)
	if err != nil {
		return cannotTell(err)
	}
	if err := newPrinter(env, c).print(sandboxDocument(info)); err != nil {
		return err
	}
	fmt.Fprintf(env.stderr, "up: mysql --defaults-file=%s   end: mysqlrw sandbox down --dir %s\n", info.ClientCnf, info.Dir)
	return nil
}

// startKeeper runs the hidden command keep. It writes the cluster's description
// to its stdout, a pipe, once that is ready; until then it is ours to end, and
// its messages are ours to show.
func startKeeper(ctx context.Context, c *cli.Context, dir string) (sandbox.Info, error) {
	self, err := os.Executable()
	if err != nil {
		return sandbox.Info{}, err
	}
	log, err := os.CreateTemp("", "mysqlrw-keep-*.log")
	if err != nil {
		return sandbox.Info{}, err
	}
	defer log.Close()
	os.Remove(log.Name()) // it lives as long as it is open, whatever ends us
	ready, readyWriter, err := os.Pipe()
	if err != nil {
		return sandbox.Info{}, err
	}
	defer ready.Close()
	keeper := exec.Command(self, keeperArgs(c, dir)...)
	keeper.Stdout, keeper.Stderr = readyWriter, log
	sandbox.Detach(keeper)
	err = keeper.Start()
	readyWriter.Close()
	if err != nil {
		return sandbox.Info{}, err
	}
	stop := context.AfterFunc(ctx, func() { keeper.Process.Signal(syscall.SIGTERM) })
	var info sandbox.Info
	notReady := json.NewDecoder(ready).Decode(&info)
	if interrupted := !stop(); interrupted || notReady != nil {
		keeper.Process.Signal(syscall.SIGTERM)
		ended := keeper.Wait()
		if interrupted {
			return sandbox.Info{}, context.Cause(ctx)
		}
		log.Seek(0, io.SeekStart)
		said, _ := io.ReadAll(log)
		text := strings.TrimPrefix(strings.TrimSpace(string(said)), "mysqlrw sandbox keep: ")
		if text == "" {
			return sandbox.Info{}, fmt.Errorf("start sandbox: %w", ended)
		}
		return sandbox.Info{}, errors.New(text)
	}
	return info, keeper.Process.Release()
}

// keeperArgs repeats the flags of up for keep.
func keeperArgs(c *cli.Context, dir string) []string {
	args := []string{
		"sandbox", "keep", "--dir", dir, "--flavor", enum(c, "flavor"), "--gtid", enum(c, "gtid"),
		"--replicas", strconv.Itoa(c.Int("replicas")), "--sources", strconv.Itoa(c.Int("sources")),
	}
	for _, d := range c.StringSlice("delay") {
		args = append(args, "--delay", d)
	}
	for _, name := range []string{"named-channels", "semi-sync"} {
		if c.Bool(name) {
			args = append(args, "--"+name)
		}
	}
	if ttl, _ := duration(c, "ttl"); ttl > 0 {
		args = append(args, "--ttl", ttl.String())
	}
	return args
}

func sandboxKeep(ctx context.Context, env *environment, c *cli.Context) error {
	o, err := sandboxOptions(env, c)
	if err != nil {
		return err
	}
	ttl, _ := duration(c, "ttl")
	return sandbox.Keep(ctx, o, ttl, func(info sandbox.Info) {
		_ = printJSON(env.stdout, info, "")
	})
}

func sandboxDown(ctx context.Context, env *environment, c *cli.Context) error {
	dir, err := sandboxDir(env, c)
	if err != nil {
		return err
	}
	ctx, cancel := within(ctx, time.Minute)
	defer cancel()
	err = sandbox.Down(ctx, dir)
	if errors.Is(err, sandbox.ErrNoSandbox) {
		return usagef("%w", err)
	}
	return err
}

func sandboxStatus(env *environment, c *cli.Context) error {
	dir, err := sandboxDir(env, c)
	if err != nil {
		return err
	}
	info, err := sandbox.Status(dir)
	if errors.Is(err, sandbox.ErrNoSandbox) {
		return usagef("%w", err)
	}
	if err != nil {
		return err
	}
	if err := newPrinter(env, c).print(sandboxDocument(info)); err != nil {
		return err
	}
	for _, s := range info.Servers {
		if s.Alive == nil || !*s.Alive {
			return answer(exitNo)
		}
	}
	return nil
}

func sandboxDocument(info sandbox.Info) document {
	d := document{header: []string{"NAME", "ROLE", "ADDRESS", "SERVER-ID", "OPTION FILE", "STATE"}, json: info}
	for _, s := range info.Servers {
		state := cell{text: "up", tone: goodTone}
		if s.Alive != nil && !*s.Alive {
			state = cell{text: "down", tone: badTone}
		}
		d.rows = append(d.rows, []cell{
			{text: s.Name},
			{text: string(s.Role)},
			{text: s.Address},
			{text: strconv.Itoa(s.ServerID)},
			{text: filepath.Join(info.Dir, s.Name+".cnf")},
			state,
		})
	}
	return d
}

func sandboxInstall(ctx context.Context, env *environment, c *cli.Context) error {
	o, err := installOptions(env, c)
	if err != nil {
		return err
	}
	found, err := sandbox.Install(ctx, o)
	if err != nil {
		return cannotTell(err)
	}
	fmt.Fprintf(env.stdout, "%s %s\t%s\n", found.Flavor, found.Version, found.Server)
	return nil
}
