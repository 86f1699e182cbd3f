package suites

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

// testLimit is for how long a test may run. What takes longer is not run
// again and does not count.
const testLimit = 90 * time.Second

// skipsItself is mysqltest's exit code for a test that finds it cannot run.
const skipsItself = 62

// outcome is what a test did once.
type outcome struct {
	text     []byte // what it printed, without what differs between places
	result   []byte // what it printed to the standard output, as it was
	exit     int
	timedOut bool
	seconds  float64
	reads    reads // that it sent through the proxy
}

// job is a test with all that its runs need.
type job struct {
	*plan
	test   *test
	wishes wishes
}

// run runs a test once. The server is a new one if it must be, or if the last
// test has left it different from a new one.
func (w *worker) run(ctx context.Context, j *job, proxy, fresh bool) (outcome, error) {
	env := j.serverEnv(w)
	if fresh || !w.clean(ctx, j.wishes.args, env) {
		if err := w.fresh(ctx, j.wishes.args, env); err != nil {
			return outcome{}, err
		}
	} else if err := w.tidy(); err != nil {
		return outcome{}, err
	}
	at := w.direct()
	if proxy {
		at = w.through()
		if err := w.startProxy(ctx); err != nil {
			w.stopProxy()
			if ctx.Err() != nil {
				return outcome{}, err
			}
			return outcome{text: []byte(err.Error()), exit: 1}, nil // a server does not let it in
		}
	}
	options, err := w.tree.clientOptions(w, at)
	if err != nil {
		return outcome{}, err
	}
	if err := os.WriteFile(w.vardir()+"/my.cnf", []byte(options), 0o644); err != nil {
		return outcome{}, err
	}
	argv := append([]string{w.tree.mysqltest()}, j.arguments(j.test, w, true)...)
	began := time.Now()
	f, err := run(ctx, testLimit, argv, j.environment(j.test, w, at), w.tree.tests(), nil)
	if err != nil {
		return outcome{}, err
	}
	o := outcome{
		text: w.neutral(f), result: f.stdout, exit: f.exit, timedOut: f.timedOut,
		seconds: time.Since(began).Seconds(),
	}
	return o, w.after(ctx, &o, proxy)
}

// after looks at what a test has left: where its reads ran, and whether the replica is still one.
func (w *worker) after(ctx context.Context, o *outcome, proxy bool) error {
	if !w.level.replicated() {
		return nil
	}
	if proxy {
		all, err := w.countReads(ctx)
		if err != nil {
			o.reads.Unknown = err.Error()
		} else {
			o.reads = reads{Replica: all.Replica - w.counted.Replica, Primary: all.Primary - w.counted.Primary}
			w.counted = all
		}
	}
	own, err := w.inStep(ctx)
	if own {
		o.text = append(o.text, ownWrites...)
	}
	w.inOrder = err == nil
	return ctx.Err()
}

// serverEnv is the environment of the server: the runner's, with the time
// zone that the test wants.
func (j *job) serverEnv(w *worker) []string {
	env := slices.DeleteFunc(j.environment(&test{}, w, w.direct()), func(s string) bool {
		return strings.HasPrefix(s, "TZ=")
	})
	zone := j.wishes.timezone
	if zone == "" {
		zone = j.test.Env["TZ"]
	}
	if zone == "" {
		zone = j.Env["TZ"]
	}
	if zone == "" || zone == "DEFAULT" {
		return env
	}
	return append(env, "TZ="+zone)
}

// neutral takes out of a test's output where it ran and which of the two
// addresses it used.
func (w *worker) neutral(f finished) []byte {
	all := slices.Concat(f.stdout, []byte("\n=== errors ===\n"), f.stderr, fmt.Appendf(nil, "\n=== exit code %d\n", f.exit))
	all = bytes.ReplaceAll(all, []byte(w.dir), []byte("WORKER"))
	all = bytes.ReplaceAll(all, []byte("mysqlrw1.sock"), []byte("mysqld.1.sock"))
	ports := regexp.MustCompile(fmt.Sprintf(`\b(%d|%d|%d)\b`, w.direct().port, w.node(2).port, w.through().port))
	return ports.ReplaceAll(all, []byte("PORT"))
}
