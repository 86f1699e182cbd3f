package clients

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
)

// sysbenchRuns returns the read and write benchmarks with text and with
// prepared statements. Their speed is no matter here.
func sysbenchRuns(m machine) []run {
	r := m.packages
	if r == nil {
		return nil
	}
	var runs []run
	for prepared, server := range map[string]flavor.Flavor{"disable": flavor.MariaDB, "auto": flavor.MySQL} {
		for _, compress := range []bool{false, true} {
			mode := map[string]string{"disable": "text", "auto": "prepared"}[prepared] + ", " + map[bool]string{false: plain, true: compressed}[compress]
			options := []string{"--db-ps-mode=" + prepared, "--mysql-compression=" + map[bool]string{false: "off", true: "on"}[compress]}
			quick := flavor.Unknown
			if !compress {
				quick = server
			}
			runs = append(runs, run{
				client: "sysbench " + r.versions["sysbench"], mode: mode, quick: quick,
				do: func(ctx context.Context, _ testing.TB, at place) []check { return sysbench(ctx, r, at, options) },
			})
		}
	}
	return runs
}

func sysbench(ctx context.Context, r *root, at place, options []string) []check {
	common := append([]string{
		"--db-driver=mysql", "--mysql-host=" + at.host, "--mysql-port=" + strconv.Itoa(at.port), "--mysql-db=" + database,
		"--mysql-user=" + app.user, "--mysql-password=" + app.password, "--mysql-ignore-errors=1213,1020,1205",
		"--tables=2", "--table-size=2000", "--threads=4", "--time=0", "--events=400",
	}, options...)
	scripts := r.glob("usr/share/sysbench")
	env := with(environment(at, ""), "MARIADB_PLUGIN_DIR="+r.plugins(), "LUA_PATH="+scripts+"/?.lua")
	var checks []check
	for _, step := range []struct{ script, command string }{
		{"oltp_read_write", "prepare"},
		{"oltp_point_select", "run"},
		{"oltp_read_only", "run"},
		{"oltp_read_write", "run"},
		{"oltp_update_index", "run"},
		{"oltp_insert", "run"},
		{"select_random_ranges", "prepare"},
		{"select_random_ranges", "run"},
		{"oltp_read_write", "cleanup"},
	} {
		args := append([]string{scripts + "/" + step.script + ".lua"}, common...)
		out, errs, err := command(ctx, env, "", r.argv("usr/bin/sysbench", append(args, step.command)...)...)
		c := check{name: step.script + " " + step.command, ok: err == nil, text: sysbenchCounts(out)}
		if err != nil {
			c.text = fmt.Sprintf("%v: %s", err, tail([]byte(out+errs)))
		}
		checks = append(checks, c)
	}
	return checks
}

var countPattern = regexp.MustCompile(`(?m)^ *(transactions|reconnects): +(\d+)`)

// sysbenchCounts returns what a run has counted and must have counted: a
// deadlock is repeated, so the number of statements may differ.
func sysbenchCounts(out string) string {
	var counts []string
	for _, m := range countPattern.FindAllStringSubmatch(out, -1) {
		counts = append(counts, m[1]+" "+m[2])
	}
	return strings.Join(counts, ", ")
}
