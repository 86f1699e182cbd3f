package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/cmd/rwbench/internal/stage"
	"github.com/mysqlrw/mysqlrw/pkg/flavor"
)

func TestParseOptions(t *testing.T) {
	o, err := parseOptions([]string{"--quick", "--flavor", "mariadb", "--threads", "1, 64", "--peer", "x=127.0.0.1:6033,pid=7", "--peer", "y=[::1]:1,pidfile=/run/y.pid"})
	if err != nil {
		t.Fatal(err)
	}
	if o.flavor != flavor.MariaDB || len(o.threads) != 2 || o.threads[1] != 64 || o.rounds != 1 || o.seconds != 2*time.Second {
		t.Errorf("got %+v", o)
	}
	want := []stage.Candidate{{Name: "x", Host: "127.0.0.1", Port: 6033, PID: 7}, {Name: "y", Host: "::1", Port: 1, PIDFile: "/run/y.pid"}}
	if !slices.Equal(o.peers, want) {
		t.Errorf("got %+v, want %+v", o.peers, want)
	}
	if o.wants("router") || !o.wants("haproxy") || len(o.loads) != 1 {
		t.Errorf("got %+v", o)
	}
}

// TestParseOptions_bad: each error says what would be right.
func TestParseOptions_bad(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"--nothing", "--help"},
		{"run", `"run" is no flag`},
		{"--flavor postgres", "--flavor"},
		{"--loads point_selects", `perhaps you mean "point_select"`},
		{"--modes xyzzyxyzzy", "these are: text,prepared"},
		{"--tls on", "these are: plain,tls"},
		{"--candidates proxysql", "these are: direct,"},
		{"--threads 8,0", "write them as 1,8,64"},
		{"--rounds 0", "at least 1"},
		{"--seconds 0", "whole seconds"},
		{"--lags 5", "write them as 0s,10ms,1s"},
		{"--trips 1ms,-1ms", "--trips"},
		{"--skews 1,x", "write them as 0,1"},
		{"--skews -1", "write them as 0,1"},
		{"--paces 2", "--paces"},
		{"--behind 1h", "--behind"},
		{"--tables 0", "--tables must be"},
		{"--sessions 0", "--sessions from"},
		{"--peer x", "NAME=HOST:PORT,pid=N"},
		{"--peer x=h,pid=1", "NAME=HOST:PORT,pid=N"},
		{"--peer x=h:1,pid=z", "NAME=HOST:PORT,pid=N"},
		{"--peer x=h:1,pidfile=", "pidfile=PATH"},
		{"--peer x=h:1,file=z", "pidfile=PATH"},
		{"--peer haproxy=h:1,pid=1", "another candidate has this name"},
		{"--peer x=h:1,pid=1 --peer x=h:2,pid=1", "another candidate has this name"},
	} {
		_, err := parseOptions(strings.Fields(tt.args))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.args, err, tt.want)
		}
	}
}
