package suites

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
)

var (
	only    = flag.String("suites.run", ".", "regular expression of the tests to run")
	at      = flag.String("suites.level", string(strong), "the proxy's consistency level: session and global take a replica for each server")
	noProxy = flag.Bool("suites.direct", false, "run no test through the proxy")
	again   = flag.String("suites.again", "proxy", "what to run again if there is a result: nothing, differs, proxy, or all")
	quick   = flag.Bool("suites.quick", false, "take the first difference for one, without asking new servers")
	sweep   = flag.Bool("suites.sweep", false, "run no test directly that prints the suite's own result through the proxy")
	update  = flag.Bool("suites.update", false, "write the results to docs/suites.md")
	workers = flag.Int("suites.workers", 2, "servers that run tests at the same time")
	first   = flag.Int("suites.first", 1, "number of the first server, for two runs at the same time")
	scratch = flag.String("suites.scratch", "/dev/shm/mysqlrw-suites", "folder for servers' data; best in memory")
)

// TestSuites runs both suites directly and through the proxy.
func TestSuites(t *testing.T) {
	if !slices.Contains(levels[:], level(*at)) {
		t.Fatalf("-suites.level is %s, want one of %v", *at, levels)
	}
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		inst := sandboxtest.Installation(t, f)
		if _, err := exec.LookPath("perl"); err != nil {
			t.Skip("SUITES MISSING: the suites' runners are written in Perl")
		}
		s, err := newSuite(t.Context(), inst, sandbox.InstallOptions{
			CacheDir: sandboxtest.CacheDir(t), Progress: func(line string) { t.Log(line) },
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.runAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.report(t)
	})
}

// suite is one flavor's, ready to run.
type suite struct {
	tree     *tree
	template string
	plan     *plan
	store    store
	serve    *serve
	level    level
}

func newSuite(ctx context.Context, inst *sandbox.Installation, o sandbox.InstallOptions) (*suite, error) {
	roots, err := fetchPackages(ctx, o, inst)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(o.CacheDir, fmt.Sprintf("suites-%s-%s", inst.Flavor, inst.Version))
	s := &suite{template: filepath.Join(dir, "template"), level: level(*at)}
	own := dir // what only runs at this level have
	if s.level.replicated() {
		own += "-" + *at
	}
	s.store = store{filepath.Join(own, "results")}
	if err := os.MkdirAll(s.store.dir, 0o755); err != nil {
		return nil, err
	}
	if s.tree, err = makeTree(inst, roots, filepath.Join(dir, "tree")); err != nil {
		return nil, err
	}
	if err := makeTemplate(ctx, s.tree, s.template); err != nil {
		return nil, err
	}
	if !*noProxy {
		if s.serve, err = buildServe(ctx, own); err != nil {
			return nil, err
		}
	}
	o.Progress("asking the suite's runner for its tests")
	planner := s.worker(0)
	planner.level = strong // the runner finds one server
	s.plan, err = makePlan(ctx, planner, filepath.Join(dir, "plan.json"))
	return s, err
}

func (s *suite) worker(number int) *worker {
	return &worker{
		tree: s.tree, template: s.template, number: number, serve: s.serve, level: s.level,
		dir: filepath.Join(*scratch, fmt.Sprintf("%s-w%d", s.tree.inst.Flavor, number)),
	}
}

// runAll runs every test that is asked for.
func (s *suite) runAll(ctx context.Context) error {
	pattern, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	tests := make(chan *test)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for number := range *workers {
		wg.Go(func() {
			w := s.worker(number + *first)
			release, err := w.lock()
			if err != nil {
				cancel(err)
				return
			}
			defer release()
			defer os.RemoveAll(w.dir)
			defer w.close()
			for t := range tests {
				if err := s.one(ctx, w, t); err != nil {
					cancel(fmt.Errorf("%s: %w", t.Name, err))
				}
			}
		})
	}
	for _, t := range s.ordered() {
		if !pattern.MatchString(t.Name) {
			continue
		}
		select {
		case tests <- t:
		case <-ctx.Done():
		}
	}
	close(tests)
	wg.Wait()
	return context.Cause(ctx)
}

// ordered returns the tests with those that want the same of a server after
// each other, since every other server has to be started, and the short ones
// first.
func (s *suite) ordered() []*test {
	type item struct {
		*test
		key  string
		size int64
	}
	var items []item
	for i := range s.plan.Tests {
		t := &s.plan.Tests[i]
		wants, _ := wishesOf(t, s.tree.tests(), s.plan.Env) // it is told where the test is run
		i := item{test: t, key: strings.Join(append(wants.args, wants.timezone), " ")}
		if info, err := os.Stat(t.expected()); err == nil {
			i.size = info.Size()
		}
		items = append(items, i)
	}
	slices.SortStableFunc(items, func(a, b item) int {
		return cmp.Or(strings.Compare(a.key, b.key), cmp.Compare(a.size, b.size))
	})
	var tests []*test
	for _, i := range items {
		tests = append(tests, i.test)
	}
	return tests
}

// one does what is left to do of a test.
func (s *suite) one(ctx context.Context, w *worker, t *test) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if *again == "all" {
		if err := s.store.forget(t.Name); err != nil {
			return err
		}
	}
	r, err := s.store.read(t.Name)
	if err != nil {
		return err
	}
	if t.Skip != "" {
		return s.store.write(&record{Name: t.Name, Verdict: skipped, Reason: "the runner: " + t.Skip})
	}
	j := &job{plan: s.plan, test: t}
	if j.wishes, err = wishesOf(t, s.tree.tests(), s.environment(w, t)); err != nil {
		return err
	}
	j.wishes.skip = cmp.Or(j.wishes.skip, s.level.skip(j.wishes.args))
	if r == nil && *sweep {
		if r, err = w.runSweep(ctx, j, s.store); err != nil {
			return s.failed(ctx, t, err)
		}
	}
	swept := r != nil && r.Verdict == expected
	if swept && *sweep {
		return nil
	}
	if r == nil || swept {
		if r, err = w.runDirect(ctx, j, s.store); err != nil {
			return s.failed(ctx, t, err)
		}
		if swept {
			if err := s.store.settle(r); err != nil {
				return err
			}
		}
	}
	todo := r.Verdict == direct || r.Verdict == differs && *again != "nothing" || r.Verdict == same && *again == "proxy"
	if *noProxy || !todo {
		return nil
	}
	return w.runProxy(ctx, j, s.store, r, *quick)
}

// failed keeps that a test's server could not be had: one that does not know
// the test's options is no reason to stop.
func (s *suite) failed(ctx context.Context, t *test, err error) error {
	if ctx.Err() != nil {
		return errors.Join(err, context.Cause(ctx))
	}
	return s.store.write(&record{Name: t.Name, Verdict: skipped, Reason: "no server: " + strings.TrimSpace(err.Error())})
}

func (s *suite) environment(w *worker, t *test) map[string]string {
	env := map[string]string{}
	for _, line := range s.plan.environment(t, w, w.direct()) {
		name, value, _ := strings.Cut(line, "=")
		env[name] = value
	}
	return env
}

// report prints the verdicts and holds them against the list of differences.
func (s *suite) report(t *testing.T) {
	text, err := os.ReadFile(differencesFile)
	if err != nil {
		t.Fatal(err)
	}
	r := results{
		flavor: s.tree.inst.Flavor.String(), version: s.tree.inst.Version.String(), level: s.level, tests: len(s.plan.Tests),
	}
	if r.differences, err = readDifferences(string(text)); err != nil {
		t.Fatal(err)
	}
	for i := range s.plan.Tests {
		rec, err := s.store.read(s.plan.Tests[i].Name)
		if err != nil {
			t.Fatal(err)
		}
		if rec != nil {
			r.records = append(r.records, rec)
		}
	}
	part := r.markdown()
	t.Log(part)
	for _, name := range r.unexplained() {
		t.Errorf("%s differs: compare %s and .proxy", name, s.store.path(name, "direct"))
	}
	complete := len(r.records) == len(s.plan.Tests) && r.count(direct) == 0 && r.count(expected) == 0
	if complete && !s.level.replicated() && r.share() < 98 {
		t.Errorf("%.1f %% of the counted tests are the same, want 98", r.share())
	}
	if complete {
		t.Logf("in %s and the same now: %v", differencesFile, r.idle())
	}
	if *update {
		if err := updatePage(filepath.Join("..", "..", "..", "docs", "suites.md"), r.section(), part); err != nil {
			t.Fatal(err)
		}
	}
}
