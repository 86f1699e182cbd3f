package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mysqlrw/mysqlrw/cmd/rwbench/internal/stage"
	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/near"
)

// The words that flags take.
var (
	allLoads      = []string{"point_select", "read_only", "read_write", "instant", "consistency", "tables"}
	allModes      = []string{"text", "prepared"}
	allTLS        = []string{"plain", "tls"}
	allCandidates = []string{"direct", "haproxy", "router", "router-split", "mysqlrw", "mysqlrw-eventual", "mysqlrw-global"}
)

// options are the command line.
type options struct {
	flavor                       flavor.Flavor
	loads, modes, tls, candidate []string
	threads                      []int
	lags, trips                  []time.Duration
	tables, sessions             int
	behind                       time.Duration
	paces                        []time.Duration
	skews                        []float64
	rounds                       int
	seconds, warmup              time.Duration
	peers                        []stage.Candidate
	update                       bool
	json, page                   string
	mysqlrw, cache               string
}

const usageText = `usage: rwbench [flags]

Measures mysqlrw beside HAProxy, MySQL Router and others on a primary and two replicas that it starts itself.
Client, proxies and servers share this machine. --quick takes under a minute, everything some hours.

`

func parseOptions(args []string) (*options, error) {
	o := &options{}
	set := flag.NewFlagSet("rwbench", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	quick := set.Bool("quick", false, "point selects as text with 8 threads, plain, one round of 2 s, unless other flags say otherwise")
	kind := set.String("flavor", "mysql", "servers: mysql or mariadb")
	list := func(name, value string, all []string, usage string) *string {
		return set.String(name, value, usage+": "+strings.Join(all, ","))
	}
	loads := list("loads", strings.Join(allLoads, ","), allLoads, "what is done")
	modes := list("modes", strings.Join(allModes, ","), allModes, "how statements are sent")
	secure := list("tls", strings.Join(allTLS, ","), allTLS, "connections of clients; a proxy speaks with servers as its client does")
	candidates := list("candidates", strings.Join(allCandidates, ","), allCandidates, "what stands before the servers; each --peer is added")
	threads := set.String("threads", "1,8,64,512", "clients at a time")
	lags := set.String("lags", "0s,10ms,1s", "consistency: how late replicas are; whole seconds are their own delay, others that of a relay")
	trips := set.String("trips", "0s,1ms,5ms", "consistency: round trips between proxy and servers")
	o.tablesFlags(set)
	set.IntVar(&o.rounds, "rounds", 5, "how often each candidate's turn comes")
	seconds := set.Int("seconds", 4, "how long a turn is measured, in seconds")
	warmup := set.Int("warmup", 1, "how long before that nothing is counted, in seconds")
	set.BoolVar(&o.update, "update", false, "write docs/performance.json and the tables of docs/performance.md")
	set.StringVar(&o.json, "json", "docs/performance.json", "the file of all figures that --update writes")
	set.StringVar(&o.page, "page", "docs/performance.md", "the page whose tables --update writes")
	set.StringVar(&o.mysqlrw, "mysqlrw", "", "path of a built mysqlrw; without it this tree's is built")
	set.StringVar(&o.cache, "cache", os.Getenv("MYSQLRW_CACHE"), "folder of servers and their packages")
	set.Func("peer", "another proxy: NAME=HOST:PORT,pid=N or NAME=HOST:PORT,pidfile=PATH; repeated. rwbench waits until the account that it makes can log in there", func(text string) error {
		p, err := parsePeer(text)
		o.peers = append(o.peers, p)
		return err
	})
	if err := set.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Print(usageText)
			set.SetOutput(os.Stdout)
			set.PrintDefaults()
			return nil, err
		}
		return nil, fmt.Errorf("%w; rwbench --help lists the flags", err)
	}
	if set.NArg() > 0 {
		return nil, fmt.Errorf("%q is no flag; rwbench --help lists them", set.Arg(0))
	}
	if *quick {
		makeQuick(set)
	}
	o.seconds, o.warmup = time.Duration(*seconds)*time.Second, time.Duration(*warmup)*time.Second
	var err error
	if o.flavor, err = flavor.ParseFlavor(*kind); err != nil {
		return nil, fmt.Errorf("--flavor: %w", err)
	}
	for _, l := range []struct {
		to         *[]string
		flag, text string
		all        []string
	}{
		{&o.loads, "loads", *loads, allLoads},
		{&o.modes, "modes", *modes, allModes},
		{&o.tls, "tls", *secure, allTLS},
		{&o.candidate, "candidates", *candidates, allCandidates},
	} {
		if *l.to, err = parseWords(l.flag, l.text, l.all); err != nil {
			return nil, err
		}
	}
	if o.threads, err = parseThreads(*threads); err != nil {
		return nil, err
	}
	if o.lags, err = parseDurations("lags", *lags); err != nil {
		return nil, err
	}
	if o.trips, err = parseDurations("trips", *trips); err != nil {
		return nil, err
	}
	return o, o.check()
}

// makeQuick sets what was not given to what is over soon.
func makeQuick(set *flag.FlagSet) {
	given := map[string]bool{}
	set.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for name, value := range map[string]string{
		"loads": "point_select", "modes": "text", "tls": "plain", "threads": "8", "rounds": "1", "seconds": "2", "candidates": "direct,haproxy,mysqlrw",
	} {
		if !given[name] {
			_ = set.Set(name, value) // these values are good
		}
	}
}

func (o *options) check() error {
	switch {
	case o.rounds < 1:
		return fmt.Errorf("--rounds %d: at least 1 is needed", o.rounds)
	case o.tables < 1 || o.tables > 10_000 || o.sessions < 1 || o.sessions > 1500:
		return errors.New("--tables must be from 1 to 10000, and --sessions from 1 to 1500")
	case o.behind < 0 || o.behind > time.Minute:
		return fmt.Errorf("--behind %s: it must be from 0s to 1m", o.behind)
	case o.seconds < time.Second || o.warmup < time.Second:
		return errors.New("--seconds and --warmup must be at least 1: sysbench counts in whole seconds")
	}
	for i, p := range o.peers {
		taken := slices.Contains(allCandidates, p.Name) || slices.ContainsFunc(o.peers[:i], func(other stage.Candidate) bool { return other.Name == p.Name })
		if taken {
			return fmt.Errorf("--peer %s: another candidate has this name", p.Name)
		}
	}
	return nil
}

// wants tells whether a candidate was asked for.
func (o *options) wants(name string) bool { return slices.Contains(o.candidate, name) }

func parseWords(name, text string, all []string) ([]string, error) {
	var words []string
	for _, w := range strings.Split(text, ",") {
		w = strings.TrimSpace(w)
		if !slices.Contains(all, w) {
			meant := ""
			if best := near.Word(w, all, 3); best != "" {
				meant = fmt.Sprintf(", perhaps you mean %q", best)
			}
			return nil, fmt.Errorf("--%s: there is no %q%s; these are: %s", name, w, meant, strings.Join(all, ","))
		}
		words = append(words, w)
	}
	return words, nil
}

func parseThreads(text string) ([]int, error) {
	var all []int
	for _, t := range strings.Split(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(t))
		if err != nil || n < 1 || n > 1500 {
			return nil, fmt.Errorf("--threads: %q is no number from 1 to 1500; write them as 1,8,64", t)
		}
		all = append(all, n)
	}
	return all, nil
}

// tablesFlags are those of the load tables.
func (o *options) tablesFlags(set *flag.FlagSet) {
	o.skews, o.paces = []float64{0, 1}, []time.Duration{0, 2 * time.Millisecond}
	set.IntVar(&o.tables, "tables", 500, "tables: how many")
	set.IntVar(&o.sessions, "sessions", 64, "tables: clients at a time")
	set.DurationVar(&o.behind, "behind", 50*time.Millisecond, "tables: how late replicas are, by a relay")
	set.Func("skews", "tables: the n-th is chosen as often as the first one divided by n to the power of this (default 0,1)", func(text string) (err error) {
		o.skews, err = parseSkews(text)
		return err
	})
	set.Func("paces", "tables: how long a server takes for a request, one after the other; 0s is as long as it takes (default 0s,2ms)", func(text string) (err error) {
		o.paces, err = parseDurations("paces", text)
		return err
	})
}

func parseSkews(text string) ([]float64, error) {
	var all []float64
	for _, t := range strings.Split(text, ",") {
		skew, err := strconv.ParseFloat(strings.TrimSpace(t), 64)
		if err != nil || skew < 0 || skew > 4 {
			return nil, fmt.Errorf("--skews: %q is no number from 0 to 4; write them as 0,1", t)
		}
		all = append(all, skew)
	}
	return all, nil
}

func parseDurations(name, text string) ([]time.Duration, error) {
	var all []time.Duration
	for _, t := range strings.Split(text, ",") {
		d, err := time.ParseDuration(strings.TrimSpace(t))
		if err != nil || d < 0 || d > time.Minute {
			return nil, fmt.Errorf("--%s: %q is no time up to a minute; write them as 0s,10ms,1s", name, t)
		}
		all = append(all, d)
	}
	return all, nil
}

// parsePeer reads NAME=HOST:PORT,pid=N or NAME=HOST:PORT,pidfile=PATH.
func parsePeer(text string) (stage.Candidate, error) {
	form := errors.New("write it as NAME=HOST:PORT,pid=N with the process id of the proxy, or NAME=HOST:PORT,pidfile=PATH with its file")
	name, rest, ok := strings.Cut(text, "=")
	address, process, ok2 := strings.Cut(rest, ",")
	if !ok || !ok2 || name == "" {
		return stage.Candidate{}, form
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return stage.Candidate{}, form
	}
	c := stage.Candidate{Name: name, Host: host}
	if c.Port, err = strconv.Atoi(port); err != nil {
		return c, form
	}
	if pid, ok := strings.CutPrefix(process, "pid="); ok {
		c.PID, err = strconv.Atoi(pid)
	} else if c.PIDFile, ok = strings.CutPrefix(process, "pidfile="); !ok || c.PIDFile == "" {
		err = form
	}
	if err != nil {
		return c, form
	}
	return c, nil
}
