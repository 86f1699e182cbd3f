//go:build linux

package child

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	const stat = "77 (a name) with (parens) S 1 77 77 0 -1 4194304 100 0 0 0 123 45 0 0 20 0 1 0 5 0 0"
	got, err := parseStat(stat)
	if want := 1680 * time.Millisecond; err != nil || got != want {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	for _, bad := range []string{"", "77 (x) S 1 2", strings.ReplaceAll(stat, "123", "x"), strings.ReplaceAll(stat, " 45 ", " y ")} {
		if _, err := parseStat(bad); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
	if got, err := parseRSS("Name:\tx\nVmRSS:\t  2048 kB\n"); err != nil || got != 2<<20 {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := parseRSS("Name:\tx\n"); err == nil {
		t.Error("no VmRSS, no error")
	}
}

// TestUsageOf: a process that computes has used time, and its memory is known.
func TestUsageOf(t *testing.T) {
	p, err := Start(Options{Name: "sh"}, "/bin/sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo counted; exec cat")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := p.Await(ctx, func(line string) bool { return line == "counted" }); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(ctx); err != nil { // cat finds the end of its input
		t.Fatal(err)
	}
	q, err := Start(Options{Name: "sleep"}, "/bin/sleep", "60")
	if err != nil {
		t.Fatal(err)
	}
	u, err := UsageOf(q.PID())
	if err != nil || u.RSS == 0 {
		t.Errorf("got %+v, %v", u, err)
	}
	if err := q.Stop(); err != nil {
		t.Error(err)
	}
	if err := q.Stop(); err != nil {
		t.Errorf("the second time: %v", err)
	}
	if err := syscall.Kill(q.PID(), 0); err == nil {
		t.Error("it still runs")
	}
	if _, err := UsageOf(q.PID()); err == nil {
		t.Error("it is gone, and has a use")
	}
}

// TestMeasured: what a process tells of what it has measured comes with its own use and another one's.
func TestMeasured(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	type found struct{ N int }
	var told strings.Builder
	busy := func(begin, end func()) (*found, error) {
		begin()
		for until := time.Now().Add(50 * time.Millisecond); time.Now().Before(until); {
			continue
		}
		end()
		return &found{7}, nil
	}
	if err := Tell(&told, busy); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		said string
		pid  int
		ok   bool
	}{
		{told.String(), os.Getpid(), true},
		{told.String(), 0, true},
		{told.String(), 1 << 30, false},
		{strings.ReplaceAll(told.String(), "7", "x"), 0, false},
		{"begin\nend\n", 0, false},
	} {
		p, err := Start(Options{Name: "peer", Env: []string{"SAID=" + tt.said}}, "/bin/sh", "-c", `printf %s "$SAID"`)
		if err != nil {
			t.Fatal(err)
		}
		var got found
		costs, err := p.Measured(ctx, tt.pid, &got)
		_ = p.Stop()
		if (err == nil) != tt.ok || tt.ok && (got.N != 7 || costs.Own.CPU == 0 || (costs.Of.RSS != 0) != (tt.pid != 0)) {
			t.Errorf("%q, %d: got %+v, %+v, %v", tt.said, tt.pid, got, costs, err)
		}
	}
	if err := Tell(&told, func(_, _ func()) (*found, error) { return nil, context.Canceled }); err != context.Canceled {
		t.Errorf("got %v", err)
	}
}

// TestProcess_fails: the error of a process that ended says what it said last.
func TestProcess_fails(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	start := func(script string, env ...string) *Process {
		p, err := Start(Options{Name: "peer", Env: env}, "/bin/sh", "-c", script)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for name, wait := range map[string]func(*Process) error{
		"await": func(p *Process) error { return p.Await(ctx, func(string) bool { return false }) },
		"poll":  func(p *Process) error { return p.Poll(ctx, func() error { return context.Canceled }) },
		"wait":  func(p *Process) error { _, err := p.Wait(ctx); return err },
	} {
		err := wait(start("echo $WORD; exit 3", "WORD=broken"))
		if err == nil || !strings.Contains(err.Error(), "peer: exit status 3: broken") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	over, stop := context.WithCancel(ctx)
	stop()
	p := start("exec sleep 60")
	if _, err := p.Wait(over); err == nil || !strings.Contains(err.Error(), "canceled") {
		t.Errorf("got %v", err)
	}
	if err := syscall.Kill(p.PID(), 0); err == nil {
		t.Error("it outlives the one who waited for it")
	}
	if _, err := Start(Options{Name: "nothing"}, "/no/such/program"); err == nil {
		t.Error("a program that is not there has started")
	}
}
