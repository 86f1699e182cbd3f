package commands

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/mysqlrw/mysqlrw/pkg/admin"
	"github.com/mysqlrw/mysqlrw/pkg/config"
	"github.com/mysqlrw/mysqlrw/pkg/frontend"
	"github.com/mysqlrw/mysqlrw/pkg/proxy"
)

func serveCommand(env *environment) *cli.Command {
	return &cli.Command{
		Name:  "serve",
		Usage: "the proxy: writes go to the primary, reads to replicas that have what was asked for",
		Description: `Either --config FILE, which docs/config.md explains, or --listen, --primary and --replica: the
roles of the servers are fixed then, and what has no flag here has its default. ADDRESS is
host:port or the path of a socket. Without a file the password of --user, the account that
watches the servers, is that of MYSQLRW_MONITOR_PASSWORD or else of the usual places.

One line "ready" with the addresses goes to stderr once clients are served and a primary is
known; systemd is told too, and its watchdog is fed. Reads are served without a primary.

SIGHUP reads the file again: with an error in it everything stays as it was. SIGTERM and SIGINT
let open transactions end, for up to drain-timeout; a second one ends at once.

Exit codes: 0 a signal ended it, 2 it cannot start, 130 or 143 a second signal ended it at once.`,
		UsageText: example("serve"),
		Flags:     serveFlags(),
		Action:    action(func(c *cli.Context) error { return runServe(c.Context, env, c) }),
	}
}

// serving is a proxy that runs.
type serving struct {
	env     *environment
	source  *serveSource
	config  atomic.Pointer[config.Config]
	made    *tls.Certificate // for listeners without a certificate
	proxy   *proxy.Proxy
	admin   atomic.Pointer[admin.Server] // nil if there is none
	log     *slog.Logger
	level   slog.LevelVar
	systemd notifier
	isReady atomic.Bool // and has said so
	ending  atomic.Bool

	mu       sync.Mutex // one change at a time
	options  proxy.Options
	settings []config.Setting // of operators, stronger than the file
}

// errServed ends a serve that a signal has ended as it should: the signal is no failure.
var errServed = errors.New("served")

func runServe(ctx context.Context, env *environment, c *cli.Context) error {
	reloads := make(chan os.Signal, 1)
	signal.Notify(reloads, syscall.SIGHUP)
	defer signal.Stop(reloads)
	s := &serving{env: env, systemd: notifier(env.getenv("NOTIFY_SOCKET"))}
	if err := s.start(c); err != nil {
		return err
	}
	attended := make(chan error, 1)
	go func() { attended <- s.attend(ctx, reloads) }()
	end := s.serveAdmin()
	if runtime.GOMAXPROCS(0) == 1 { // one for the loop that serves clients, and one for everything else
		runtime.GOMAXPROCS(2)
	}
	s.proxy.Run()
	err := <-attended
	end() // last: the page shows what runs to the end
	return err
}

// start does everything up to the point where clients can connect.
func (s *serving) start(c *cli.Context) (err error) {
	if s.source, err = newServeSource(s.env, c); err != nil {
		return err
	}
	conf, warnings, err := s.source.load(nil)
	var problems config.Errors
	if errors.As(err, &problems) {
		tell(s.env, "mysqlrw serve", problems, warnings)
		return answer(exitUsage)
	} else if err != nil {
		return usagef("%w", err)
	}
	s.log = newServeLog(s.env.stderr, conf.Log.Format, &s.level)
	s.level.Set(logLevel(conf.Log.Level))
	s.warn(warnings)
	if err := s.open(conf); err != nil {
		return usagef("%w", err)
	}
	s.checkFiles()
	return nil
}

// open makes the proxy of a configuration, and opens its addresses.
func (s *serving) open(conf *config.Config) error {
	made, err := frontend.SelfSigned()
	if err != nil {
		return err
	}
	s.made = &made
	if s.options, err = s.optionsFor(conf); err != nil {
		return err
	}
	s.options.Events = s.happened
	s.config.Store(conf)
	if s.proxy, err = proxy.New(s.options); err != nil {
		return err
	}
	if err := s.proxy.Listen(); err != nil {
		return err
	}
	return s.openAdmin()
}

func (s *serving) warn(warnings config.Errors) {
	for _, w := range warnings {
		s.log.Warn("configuration", "problem", w.String())
	}
}

const (
	// readyEvery is how often is looked for the first primary.
	readyEvery = 100 * time.Millisecond
	// complainAfter and complainEvery are when is said that there is none.
	complainAfter = 2 * time.Second
	complainEvery = 10 * time.Second
)

// attend follows signals until one ends the proxy.
func (s *serving) attend(ctx context.Context, reloads <-chan os.Signal) error {
	tick := time.NewTicker(readyEvery)
	defer tick.Stop()
	var alive <-chan time.Time
	if every := watchdogEvery(s.env.getenv, os.Getpid()); every > 0 {
		watchdog := time.NewTicker(every)
		defer watchdog.Stop()
		alive = watchdog.C
	}
	complain := time.Now().Add(complainAfter)
	for {
		select {
		case <-ctx.Done():
			return s.shutdown(context.Cause(ctx))
		case <-reloads:
			s.reload()
		case <-alive: // here, and by no goroutine of its own: that would live on where this is stuck
			s.tellSystemd("WATCHDOG=1")
		case now := <-tick.C:
			switch primary := s.primary(); {
			case primary != "":
				tick.Stop()
				if err := s.promise(ctx); err != nil {
					s.proxy.Close()
					return err
				}
				s.ready(primary)
			case now.After(complain):
				complain = now.Add(complainEvery)
				s.complain()
			}
		}
	}
}

// primary returns the name of the primary, "" if there is none.
func (s *serving) primary() string {
	snap := s.proxy.Snapshot()
	if i := snap.Primary(); i >= 0 {
		return snap.Servers[i].Name
	}
	return ""
}

// ready says so whatever the level of the log is: scripts wait for it.
func (s *serving) ready(primary string) {
	s.isReady.Store(true)
	var addresses []string
	for _, a := range s.proxy.Addresses() {
		addresses = append(addresses, a.String())
	}
	r := slog.NewRecord(time.Now(), slog.LevelInfo, "ready", 0)
	r.AddAttrs(slog.String("addresses", strings.Join(addresses, ",")), slog.String("primary", primary))
	if one := s.admin.Load(); one != nil {
		r.AddAttrs(slog.String("admin", "http://"+one.Address()))
	}
	_ = s.log.Handler().Handle(context.Background(), r) // stderr is gone: nobody waits
	s.tellSystemd("READY=1")
}

// promise holds that the servers can give the levels that are promised: nothing is served at a weaker
// one without a word.
func (s *serving) promise(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, promiseTimeout)
	defer cancel()
	if err := s.proxy.Promise(ctx); err != nil {
		return usagef("%w", err)
	}
	return nil
}

// promiseTimeout bounds how long the servers are asked for what they can give.
const promiseTimeout = 5 * time.Second

// complain says why it is not ready yet.
func (s *serving) complain() {
	s.log.Warn("not ready: no primary is known, and writes wait for one")
	for _, sv := range s.proxy.Snapshot().Servers {
		s.log.Warn("is not the primary", "server", sv.Name, "state", sv.State.String(), "detail", sv.Why)
	}
}

// shutdown lets what is open end, for as long as the configuration says.
func (s *serving) shutdown(cause error) error {
	s.ending.Store(true)
	s.tellSystemd("STOPPING=1")
	limit := s.config.Load().Timeouts.DrainTimeout
	s.log.Info("shutting down", "cause", cause, "drain-timeout", limit.String())
	ctx := context.Background()
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	if err := s.proxy.Shutdown(ctx); err != nil {
		s.log.Warn("ended: drain-timeout is over, and sessions were cut")
	} else {
		s.log.Info("ended")
	}
	return errServed
}

// tellSystemd passes a state on, if systemd has started this and wants to know.
func (s *serving) tellSystemd(state string) {
	if err := s.systemd.send(state); err != nil {
		s.log.Warn("systemd cannot be told", "state", state, "error", err)
	}
}

// checkFiles warns if clients and servers may need more files than there can be. The Go runtime has
// raised the limit as far as it goes.
func (s *serving) checkFiles() {
	limit, known := fileLimit()
	if !known || s.options.MaxConnections == 0 {
		return
	}
	need := uint64(s.options.MaxConnections + len(s.options.Servers)*(s.options.Pool.Max+monitorFiles) + len(s.options.Listeners) + otherFiles)
	if need > limit {
		s.log.Warn("max-connections is more than the limit of open files allows", "limit", limit, "needed", need,
			"mend", "ulimit -n, or LimitNOFILE in a systemd unit")
	}
}

const (
	monitorFiles = 4  // for each server
	otherFiles   = 20 // stdin to stderr, the poller, files that are being read
)

// logTime is RFC 3339 in UTC with milliseconds.
const logTime = "2006-01-02T15:04:05.000Z"

func newServeLog(to io.Writer, format string, level *slog.LevelVar) *slog.Logger {
	o := &slog.HandlerOptions{Level: level, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && a.Key == slog.TimeKey {
			a.Value = slog.StringValue(a.Value.Time().UTC().Format(logTime))
		}
		return a
	}}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(to, o))
	}
	return slog.New(slog.NewTextHandler(to, o))
}

// logLevel reads a word of [log] level.
func logLevel(word string) slog.Level {
	var l slog.Level
	if err := l.UnmarshalText([]byte(word)); err != nil {
		panic(fmt.Sprintf("level %q passed the checks", word))
	}
	return l
}
