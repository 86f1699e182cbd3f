//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/cmd/rwbench/internal/figures"
	"github.com/mysqlrw/mysqlrw/cmd/rwbench/internal/instant"
	"github.com/mysqlrw/mysqlrw/cmd/rwbench/internal/mixed"
	"github.com/mysqlrw/mysqlrw/cmd/rwbench/internal/sysbench"
	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
)

// TestMain lets the test's program be what rwbench starts itself as.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == mixed.Word {
		if err := mixed.Main(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if len(os.Args) == 2 && (os.Args[1] == instant.ServerWord || os.Args[1] == instant.ClientWord) {
		if err := instant.Main(context.Background(), os.Args[1], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	m.Run()
}

// runAndRead runs rwbench with --update into a folder of the test, and returns what it wrote there.
func runAndRead(t *testing.T, args ...string) *figures.Document {
	t.Helper()
	dir := t.TempDir()
	file, page := filepath.Join(dir, "f.json"), filepath.Join(dir, "f.md")
	text, err := os.ReadFile("../../docs/performance.md")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(page, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), append(args, "--update", "--json", file, "--page", page)); err != nil {
		t.Fatal(err)
	}
	d, err := figures.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	text, err = os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), d.Markdown()) {
		t.Errorf("the page has not what was measured:\n%s", text)
	}
	return d
}

// needsServers skips a test that measures, if it is no time for that.
func needsServers(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs servers")
	}
	info, _ := debug.ReadBuildInfo()
	for _, s := range info.Settings {
		if s.Key == "-race" && s.Value == "true" {
			t.Skip("the race detector makes it long; CI runs it without, too")
		}
	}
}

// complete fails for a candidate that has no figure.
func complete(t *testing.T, d *figures.Document) {
	t.Helper()
	for _, table := range d.Tables {
		for _, c := range table.Candidates {
			if c.Name == "router-split" && strings.Contains(c.Failed, "2027") {
				t.Logf("%s: %s: %s, as its new sessions do now and then", table.Label(), c.Name, c.Failed)
				continue
			}
			if c.Failed != "" || len(c.Rounds) == 0 || c.Rounds[0] == nil {
				t.Errorf("%s: %s: %+v", table.Label(), c.Name, c)
				continue
			}
			s := c.Rounds[0]
			if s.QPS <= 0 || s.P50 <= 0 || s.P50 > s.P95 || s.P95 > s.P99 || (s.Proxy != nil && (s.Proxy.CPU <= 0 || s.Proxy.RSS <= 0)) {
				t.Errorf("%s: %s: %+v", table.Label(), c.Name, s)
			}
			if (c.Name == "direct") != (s.Proxy == nil) {
				t.Errorf("%s: %s: proxy %+v", table.Label(), c.Name, s.Proxy)
			}
		}
	}
}

// TestRun: one round of a second of each load, on real servers, through TLS and without.
func TestRun(t *testing.T) {
	needsServers(t)
	if _, err := sysbench.Find(); err != nil {
		t.Skip(err)
	}
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		load := map[flavor.Flavor]string{flavor.MySQL: "point_select", flavor.MariaDB: "read_write"}[f]
		d := runAndRead(t, "--quick", "--seconds", "1", "--flavor", f.String(), "--loads", load, "--modes", "prepared", "--tls", "plain,tls",
			"--threads", "4", "--candidates", "direct,mysqlrw")
		if len(d.Tables) != 2 {
			t.Errorf("%d tables, want 2", len(d.Tables))
		}
		complete(t, d)
	})
}

// TestRun_instant: a round of every way that the scripted servers are used.
func TestRun_instant(t *testing.T) {
	needsServers(t)
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		mode := map[flavor.Flavor]string{flavor.MySQL: "text", flavor.MariaDB: "prepared"}[f]
		d := runAndRead(t, "--quick", "--seconds", "1", "--flavor", f.String(), "--loads", "instant", "--modes", mode, "--candidates", "direct,mysqlrw")
		if len(d.Tables) != 1 {
			t.Errorf("%d tables, want 1", len(d.Tables))
		}
		complete(t, d)
	})
}

// TestRun_consistency: no read of the proxy's is stale but at level eventual, whatever the lag and the way.
func TestRun_consistency(t *testing.T) {
	needsServers(t)
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		lag := map[flavor.Flavor]string{flavor.MySQL: "10ms", flavor.MariaDB: "1s"}[f]
		d := runAndRead(t, "--quick", "--seconds", "1", "--flavor", f.String(), "--loads", "consistency", "--candidates", "mysqlrw",
			"--lags", lag, "--trips", "1ms")
		if len(d.Reads) != 1 || len(d.Reads[0].Cells) != 4 {
			t.Fatalf("got %+v", d.Reads)
		}
		for _, c := range d.Reads[0].Cells {
			if c.Failed != "" || c.Pairs == 0 || c.Plain <= 0 || c.Median <= 0 || c.P95 < c.Median {
				t.Errorf("%+v", c)
			}
			if c.Stale > 0 && c.Level != "eventual" {
				t.Errorf("stale reads: %+v", c)
			}
			if c.Replicas > 0 && c.Level == "strong" {
				t.Errorf("reads that must be the primary's: %+v", c)
			}
			if c.Median < c.RoundTrip {
				t.Errorf("faster than its way: %+v", c)
			}
		}
	})
}

// TestRun_tables: what must be fresh is, and the same clients find old reads where nothing is promised.
func TestRun_tables(t *testing.T) {
	needsServers(t)
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		pace := map[flavor.Flavor]string{flavor.MySQL: "1ms", flavor.MariaDB: "0s"}[f]
		d := runAndRead(t, "--quick", "--seconds", "1", "--flavor", f.String(), "--loads", "tables", "--tables", "3", "--skews", "1", "--paces", pace)
		if len(d.Mixed) != 1 {
			t.Fatalf("%d tables, want 1", len(d.Mixed))
		}
		for _, m := range d.Mixed {
			var levels []string
			for _, l := range m.Levels {
				levels = append(levels, l.Level)
				if l.Failed != "" || len(l.Rounds) != 1 || l.Rounds[0] == nil {
					t.Errorf("%s: %+v", m.Title(), l)
					continue
				}
				s := l.Rounds[0]
				if s.QPS <= 0 || s.Reads[0] <= 0 || s.Reads[0] > s.Reads[2] || s.Writes[0] <= 0 || s.Writes[0] > s.Writes[2] || s.Driver <= 0 || s.Behind <= 0 || s.Proxy.CPU <= 0 {
					t.Errorf("%s: %s: %+v", m.Title(), l.Level, s)
				}
				switch {
				case l.Level == "eventual" && (s.Stale == 0 || s.Replicas < 1):
					t.Errorf("%s: eventual: %d old reads, share of replicas %g: nothing is proved", m.Title(), s.Stale, s.Replicas)
				case (l.Level == "global" || l.Level == "scc") && s.Stale > 0:
					t.Errorf("%s: %s: %d old reads", m.Title(), l.Level, s.Stale)
				}
			}
			if got := strings.Join(levels, " "); got != "eventual session global scc" {
				t.Errorf("%s: levels %s", m.Title(), got)
			}
		}
	})
}

// TestRun_router: MySQL Router forwards and splits, if it can be had.
func TestRun_router(t *testing.T) {
	needsServers(t)
	if _, err := sysbench.Find(); err != nil {
		t.Skip(err)
	}
	d := runAndRead(t, "--quick", "--seconds", "1", "--candidates", "direct,router,router-split", "--tls", "plain", "--threads", "4")
	if len(d.Tables) != 1 {
		t.Fatalf("%d tables, want 2", len(d.Tables))
	}
	switch n := len(d.Tables[0].Candidates); n {
	case 1:
		t.Skip("MySQL Router is not here")
	case 3:
	default:
		t.Errorf("%d candidates, want 3", n)
	}
	complete(t, d)
}
