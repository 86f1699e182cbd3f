package config

import (
	"strings"
	"testing"
)

func TestDiff(t *testing.T) {
	t.Parallel()
	const third = "[[server]]\nname = \"db3\"\naddress = \"10.0.0.3\"\n"
	for _, test := range []struct {
		name          string
		before, after string
		want          []string
	}{
		{"nothing", least, "# a comment\n" + least, nil},
		{"values", least + "[policy]\nmax-lag = \"1s\"\nconsistency = \"global\"\n[log]\nformat = \"json\"\n", least + "[policy]\nmin-reserved = 1\n[log]\nslow-query = \"1m\"", []string{
			"listener[:6446].consistency: global -> session session",
			"policy.consistency: global -> session session",
			"policy.max-lag: 1s -> 30s now",
			"policy.min-reserved: 0 -> 1 now",
			"log.format: json -> text restart",
			"log.slow-query: 0s -> 1m now",
		}},
		{"listener", least, strings.Replace(least, ":6446\"", ":6447\"\nproxy-protocol = [\"10.0.0.0/8\", \"::1\"]", 1), []string{
			"listener[:6446]: there -> gone restart",
			"listener[:6447]: not there -> there restart",
		}},
		{"networks", least, strings.Replace(least, ":6446\"", ":6446\"\nproxy-protocol = [\"10.0.0.1/8\", \"::1\"]\nmode = \"read-only\"", 1), []string{
			"listener[:6446].mode: read-write -> read-only session",
			"listener[:6446].proxy-protocol: [] -> [10.0.0.0/8, ::1/128] session",
		}},
		{"server's address", least, strings.Replace(least, "10.0.0.2", "10.0.0.9", 1), []string{
			"server[db2].address: 10.0.0.2:3306 -> 10.0.0.9:3306 now",
		}},
		{"server came", least, least + third, []string{"server[db3]: not there -> there now"}},
		{"server went", least + third, strings.Replace(least, "db2", "db3", 1), []string{
			"server[db2]: there -> gone now",
			"server[db3].address: 10.0.0.3:3306 -> 10.0.0.2:3306 now",
		}},
		{"order", least, swapped(), []string{"server: in another order -> in this order now"}},
		{"password", least, strings.ReplaceAll(least, "MONITOR", "SHOP"), []string{
			"monitor.password: *** -> *** now",
			"monitor.password-env: MYSQLRW_MONITOR_PASSWORD -> MYSQLRW_SHOP_PASSWORD now",
		}},
		{"user", least, least + "[[user]]\nname = \"u\"\npassword = \"p\"\n", []string{"user[u]: not there -> there now"}},
	} {
		var got []string
		for _, c := range Diff(parse(t, test.before), parse(t, test.after)) {
			got = append(got, c.String()+" "+string(c.Effect))
		}
		if g, w := strings.Join(got, "\n"), strings.Join(test.want, "\n"); g != w {
			t.Errorf("%s: got\n%s\nwant\n%s", test.name, g, w)
		}
	}
}

// swapped is the shortest file with its servers in the other order.
func swapped() string {
	text := strings.NewReplacer("db1", "DB2", "10.0.0.1", "10.0.0.X").Replace(least)
	text = strings.NewReplacer("db2", "db1", "10.0.0.2", "10.0.0.1").Replace(text)
	return strings.NewReplacer("DB2", "db2", "10.0.0.X", "10.0.0.2").Replace(text)
}

// TestReloadable: what is left of a change needs no restart, and everything else is in it.
func TestReloadable(t *testing.T) {
	t.Parallel()
	before := parse(t, least+"[[listener]]\naddress = \":1\"\nmax-connections = 1\n[[listener]]\naddress = \":2\"\n")
	after := parse(t, least+"[[listener]]\naddress = \":3\"\n[[listener]]\naddress = \":1\"\nmax-connections = 2\n"+
		"[log]\nformat = \"json\"\nlevel = \"warn\"\n[admin]\npprof = \"on\"\n")
	var got []string
	for _, c := range Diff(before, Reloadable(before, after)) {
		got = append(got, c.String()+" "+string(c.Effect))
	}
	if want := "listener[:1].max-connections: 1 -> 2 now, log.level: info -> warn now"; strings.Join(got, ", ") != want {
		t.Errorf("got %s, want %s", strings.Join(got, ", "), want)
	}
	for _, k := range Keys() {
		if place := k.Section + "." + k.Name; k.Effect == Restart && place != "log.format" && k.Section != "listener" && place != "admin.address" && place != "admin.pprof" {
			t.Errorf("%s takes a restart, which Reloadable does not know", place)
		}
	}
}
