package config

import (
	"errors"
	"strings"
	"testing"
)

// bad are additions to the shortest file, which has eleven lines, and every
// complaint about the whole. "w" marks a warning.
var bad = []struct {
	name, text string
	want       []string
}{
	{"syntax", "[policy\n", []string{
		`12:8: expected '.' or ']' to end table name, but got '\n' instead`,
	}},
	{"mistyped", "[policy]\nmax_lag = \"1s\"\nconsistancy = \"global\"\n", []string{
		"13:1: [policy] has no key max_lag: did you mean max-lag?",
		"14:1: [policy] has no key consistancy: did you mean consistency?",
	}},
	{"elsewhere", "[pool]\nmax-lag = \"1s\"\n[log]\nconsistency = \"x\"\nname = \"a\"\nxyz = 1", []string{
		"13:1: [pool] has no key max-lag: it belongs into [policy]",
		"15:1: [log] has no key consistency: it belongs into [[listener]] or [policy]",
		"16:1: [log] has no key name: it belongs into [[server]] or [[user]]",
		"17:1: [log] has no key xyz",
	}},
	{"sections", "[polcy]\n[listeners]\nx = 1\n", []string{
		"12:1: the file has no key polcy: did you mean policy?",
		"13:1: the file has no key listeners: did you mean listener?",
	}},
	{"types", "[policy]\nmax-lag = 30\nmax-staleness = 1.5\nmin-reserved = \"1\"\nzone = 1\nconsistency = true\nbalancer = [1]\n", []string{
		`13:11: max-lag: want a duration in quotes, such as "50ms", "5s" or "1m30s", not 30`,
		`14:17: max-staleness: want a duration in quotes, such as "50ms", "5s" or "1m30s", not 1.5`,
		`15:16: min-reserved: want a whole number without quotes, not "1"`,
		"16:8: zone: want a text in quotes, not 1",
		"17:15: consistency: want a text in quotes, not true",
		"18:12: balancer: want a text in quotes, not a list",
	}},
	{"durations", "[policy]\nmax-lag = \"30\"\nmax-staleness = \"-1s\"\nsession-timeout = \"2m\"\n[monitor.x]\n[timeouts]\nlogin-timeout = \"0s\"\n", []string{
		`13:11: max-lag: "30" is not a duration: write "50ms", "5s" or "1m30s"`,
		`14:17: max-staleness: "-1s" is too short: want at least 0s`,
		`15:19: session-timeout: "2m" is too long: want at most 1m`,
		"16:1: [monitor] has no key x",
		`18:17: login-timeout: "0s" is too short: want at least 1ms`,
	}},
	{"a version that is too old", "[policy]\nweak-read-version-refresh-interval = \"3s\"\nmax-staleness = \"2s\"\n", []string{
		"13:38: weak-read-version-refresh-interval: 3s is more than max-staleness, which is 2s: a version would be older than what it is for",
	}},
	{"a version without a bound", "[policy]\nweak-read-version-refresh-interval = \"3s\"\nmax-staleness = \"0s\"\n", nil},
	{"a change that takes too long", "timeout = \"5s\"\n[policy]\nweak-read-version-refresh-interval = \"100ms\"\n", []string{
		"w14:38: weak-read-version-refresh-interval: when the replica that reads at weak run on is lost, they wait for 12s, " +
			"by interval and timeout of [monitor], and get an error after primary-wait, which is 10s",
	}},
	{"words", "[policy]\nconsistency = \"sesion\"\nbalancer = \"Least-Active\"\nsystem-schemas = \"both\"\n", []string{
		`13:15: consistency: "sesion" is not one of eventual, weak, session, global, scc, strong: did you mean session?`,
		`14:12: balancer: "Least-Active" is not one of least-active, weighted-round-robin: did you mean least-active?`,
		`15:18: system-schemas: "both" is not one of primary, replica`,
	}},
	{"numbers", "[limits]\nmax-connections = -1\nqueue-length = 99999999999\n[pool]\nmax-connections = 0\n", []string{
		"13:19: max-connections: -1 is out of range: want 0 to 2147483647",
		"14:16: queue-length: 99999999999 is out of range: want 0 to 2147483647",
		"16:19: max-connections: 0 is out of range: want 1 to 2147483647",
	}},
	{"admin", "[admin]\naddress = \"0.0.0.0:6460\"\n", []string{
		"13:11: admin: others can reach it: add token-file or token-env, or listen on 127.0.0.1",
	}},
	{"admin's address", "[admin]\naddress = \"localhost\"\npprof = \"yes\"\ntoken-env = \"SHORT\"\n", []string{
		`13:11: admin: "localhost" has no port`,
		`14:9: pprof: "yes" is not one of off, on`,
		"15:13: token-env: the environment has no variable of that name, or it is empty",
	}},
	{"a section in a section", "policy = 1\n", []string{
		"12:1: [monitor] has no key policy",
	}},
	{"table for a value", "[policy.max-lag]\nx = 1\n", []string{
		`12:1: max-lag: want a duration in quotes, such as "50ms", "5s" or "1m30s", not a table`,
	}},
	{"networks", "[[listener]]\naddress = \":2\"\nproxy-protocol = [\"10.0.0.0/99\"]\n[[listener]]\naddress = \":3\"\nproxy-protocol = \"10.0.0.0/8\"\n[[listener]]\naddress = \":4\"\nproxy-protocol = [1]\n", []string{
		`14:18: proxy-protocol: "10.0.0.0/99" is neither an IP address nor a network such as 10.0.0.0/8`,
		`17:18: proxy-protocol: want a list of networks, such as ["10.0.0.0/8"], not "10.0.0.0/8"`,
		"20:18: proxy-protocol: want networks in quotes, not 1",
	}},
	{"addresses", "[[listener]]\naddress = \"127.0.0.1\"\n[[listener]]\naddress = \":70000\"\n[[listener]]\n[[listener]]\naddress = \":1\"\nsocket = \"/x\"\n[[listener]]\nsocket = \"x\"\n[[listener]]\naddress = \"\"\n", []string{
		`13:11: address: "127.0.0.1" has no port: write "host:port", or ":port" for all addresses`,
		`15:11: address: "70000" is not a port from 0 to 65535: write "host:port", or ":port" for all addresses`,
		`16:1: a listener needs an address, such as "127.0.0.1:6446", or a socket`,
		"19:1: a listener has an address or a socket: write a second [[listener]] for the other",
		`21:10: socket: want an absolute path of at most 103 bytes, not "x"`,
		`23:1: a listener needs an address, such as "127.0.0.1:6446", or a socket`,
	}},
	{"servers", "[[server]]\n[[server]]\naddress = \":3306\"\n[[server]]\naddress = \"h:0\"\n[[server]]\naddress = \"a/b\"\n[[server]]\nname = \"a b\"\naddress = \"/run/x.sock\"\nrole = \"main\"\n[[server]]\naddress = \"a:b:c\"\n", []string{
		`12:1: a server needs an address, such as "10.0.0.1:3306"`,
		`14:11: address: ":3306" names no server: write "host:port" or the absolute path of a socket`,
		`16:11: address: "h:0" names no server: write "host:port" or the absolute path of a socket`,
		`18:11: address: "a/b:3306" has characters that no host has: write "host:port" or the absolute path of a socket`,
		`20:8: name: "a b" has blanks or signs in it, so that no hint could name it`,
		`22:8: role: "main" is not one of auto, primary, replica`,
		`24:11: address: "a:b:c" has no port: write "host:port" or the absolute path of a socket`,
	}},
	{"twice", "[[listener]]\naddress = \":6446\"\n[[server]]\nname = \"db1\"\naddress = \"x\"\n[[server]]\naddress = \"10.0.0.2:3306\"\n[[user]]\nname = \"a\"\npassword = \"p\"\n[[user]]\nname = \"a\"\npassword = \"p\"\n", []string{
		`13:11: the address ":6446" stands there twice`,
		`15:8: the name "db1" stands there twice`,
		`18:11: the address "10.0.0.2:3306" stands there twice`,
		`23:8: the user "a" stands there twice`,
	}},
	{"two primaries", "[[server]]\naddress = \"p1\"\nrole = \"primary\"\n[[server]]\naddress = \"p2\"\nrole = \"primary\"\n", []string{
		"17:8: role: there is a second primary, the first is p1: two writers is a fault that nobody may write into",
	}},
	{"strong and read-only", "[[listener]]\naddress = \":2\"\nmode = \"read-only\"\nconsistency = \"strong\"\n", []string{
		"15:1: a read-only listener never reaches the primary, which level strong reads: give it another consistency",
	}},
	{"strong by policy", "[[listener]]\naddress = \":2\"\nmode = \"read-only\"\n[policy]\nconsistency = \"strong\"\n", []string{
		"12:1: a read-only listener never reaches the primary, which level strong reads: give it another consistency",
	}},
	{"passwords", "password = \"hunter2\"\n[[user]]\nname = \"a\"\n[[user]]\npassword = 1\n", []string{
		"11:1: password-env: there is a password already: keep one of password, password-file and password-env",
		"13:1: [[user]] needs password-file, password-env or password",
		"15:1: [[user]] needs a name",
		"16:12: password: want a text in quotes",
	}},
	{"empty passwords", "[[user]]\nname = \"a\"\npassword = \"\"\n[[user]]\nname = \"b\"\npassword-env = \"\"\n", []string{
		"14:12: there is nothing in the quotes",
		"17:16: there is nothing in the quotes",
	}},
	{"bare password", "password = hunter2\n", []string{
		"12:12: the value is not TOML: write it in quotes, or in ''' if there are quotes or backslashes in it",
	}},
	{"certificates", "[[listener]]\naddress = \":2\"\nssl-mode = \"verify-ca\"\nssl-key = \"k\"\n[[listener]]\naddress = \":3\"\nssl-mode = \"verify-identity\"\n[[server]]\naddress = \"x\"\nssl-cert = \"c\"\n", []string{
		"14:1: ssl-mode: verify-ca needs ssl-ca, a file of certificates to trust",
		"15:1: ssl-key needs ssl-cert beside it",
		`18:12: ssl-mode: "verify-identity" is not one of disabled, preferred, required, verify-ca`,
		"21:1: ssl-cert needs ssl-key beside it",
	}},
	{"pool", "[pool]\nmax-connections = 5\n", []string{
		"13:19: max-idle is 50: it cannot be over max-connections, which is 5",
	}},
	{"never used", "[[server]]\naddress = \"p\"\nrole = \"primary\"\nweight = 1\nzone = \"a\"\n[[server]]\naddress = \"r\"\nrole = \"replica\"\nprimary-weight = 1\n[policy]\nmax-lag = \"1s\"\nmax-staleness = \"2s\"\nmin-reserved = 9\n[limits]\nqueue-length = 1\nmax-connections = 5\n[[listener]]\naddress = \":2\"\nmax-connections = 6\n", []string{
		"w15:1: weight: never used, since the server is always the primary: its share of reads is primary-weight",
		"w16:1: zone: never used, since [policy] does not say in which zone the proxy is",
		"w20:1: primary-weight: never used, since the server is never the primary",
		"w23:17: max-staleness: never used, since max-lag is less and holds for every read",
		"w24:16: min-reserved: there are only 3 replicas to keep",
		"w26:1: queue-length: never used, since no server has max-concurrent-queries",
		"w30:19: max-connections: never reached, since that of [limits] is 5",
	}},
	{"zone of the proxy", "[policy]\nzone = \"a\"\n", []string{
		`w13:8: zone: never used, since no server is in "a"`,
	}},
}

// badWhole are whole files.
var badWhole = []struct {
	name, text string
	want       []string
}{
	{"empty", "", []string{
		"1:1: [monitor] needs a user: the account that asks the servers for role, lag and position",
		"1:1: there is no [[listener]]: add one with an address for clients",
		"1:1: there is no [[server]]: add one for the primary and for each replica",
	}},
	{"one value", "policy = 1\nlistener = 1\nserver = [1]\n\"a.b\" = 1\nmax-lag = '1s'\n", []string{
		"1:1: policy is a table: write [policy] on a line of its own",
		"1:1: [monitor] needs a user: the account that asks the servers for role, lag and position",
		"2:1: listener is a list of tables: write [[listener]] instead of [listener]",
		"3:1: server is a list of tables: write [[server]] in front of each",
		`4:1: the file has no key "a.b"`,
		"5:1: the file has no key max-lag: it belongs into [policy]",
	}},
	{"single", "[listener]\naddress = \":1\"\n[server]\n[[policy]]\n", []string{
		"1:1: listener is a list of tables: write [[listener]] instead of [listener]",
		"1:1: [monitor] needs a user: the account that asks the servers for role, lag and position",
		"3:1: server is a list of tables: write [[server]] instead of [server]",
		"4:1: policy is a table: write [policy] on a line of its own",
	}},
	{"inline", "server = [{address = \"a\", wait = 1},\n  # one\n  {address = \"b\", weight = \"x\"}]\nmonitor = {user = \"m\", password-env = \"MYSQLRW_SHOP_PASSWORD\"}\nlistener = [{address = ':1', mode = \"ro\"}]\n", []string{
		"1:27: [server] has no key wait",
		`3:28: weight: want a whole number without quotes, not "x"`,
		`5:37: mode: "ro" is not one of read-write, read-only`,
	}},
	{"dots", "policy.max-lag = 1\npolicy.\"min-reserved\" = -1\nmonitor.'user' = \"m\"\n[[listener]]\naddress = ''\n", []string{
		"1:1: there is no [[server]]: add one for the primary and for each replica",
		`1:18: max-lag: want a duration in quotes, such as "50ms", "5s" or "1m30s", not 1`,
		"2:25: min-reserved: -1 is out of range: want 0 to 2147483647",
		`5:1: a listener needs an address, such as "127.0.0.1:6446", or a socket`,
		"w3:1: m has no password: add password-file or password-env",
	}},
	{"long texts", "[policy]\nzone = \"\"\"\n[log]\nlevel = 1\\\"\"\"\"\nlag = 1\nbalancer = '''\nx'''\n", []string{
		"1:1: [monitor] needs a user: the account that asks the servers for role, lag and position",
		"1:1: there is no [[listener]]: add one with an address for clients",
		"1:1: there is no [[server]]: add one for the primary and for each replica",
		"5:1: [policy] has no key lag",
		`6:12: balancer: "x" is not one of least-active, weighted-round-robin`,
	}},
	{"characters", "\ufeff[policy]\r\n\t\"ääää\" = 1\r\n  zone = 1 # é\r\n", []string{
		"1:1: [monitor] needs a user: the account that asks the servers for role, lag and position",
		"1:1: there is no [[listener]]: add one with an address for clients",
		"1:1: there is no [[server]]: add one for the primary and for each replica",
		"2:2: [policy] has no key ääää",
		"3:10: zone: want a text in quotes, not 1",
	}},
	{"one server", "[[listener]]\naddress = \":1\"\n[[listener]]\naddress = \":2\"\nmode = \"read-only\"\n[[server]]\naddress = \"a\"\n[monitor]\nuser = \"m\"\n", []string{
		"5:1: a read-only listener needs a replica: add another [[server]]",
		"w6:1: there is no replica: all reads run on the primary",
		"w9:1: m has no password: add password-file or password-env",
	}},
	{"replicas only", "[[listener]]\naddress = \":1\"\n[[listener]]\naddress = \":2\"\nmode = \"read-only\"\nconsistency = \"global\"\n[[server]]\naddress = \"a\"\nrole = \"replica\"\nweight = 0\n[[server]]\naddress = \"b\"\nrole = \"replica\"\nweight = 0\n[monitor]\nuser = \"m\"\n", []string{
		"1:1: a read-write listener needs a primary, and every server's role is replica: make one auto or primary",
		"3:1: level global needs the primary's position, and every server's role is replica: make one auto or primary",
		"w7:1: every replica has weight 0: all reads run on the primary",
		"w16:1: m has no password: add password-file or password-env",
	}},
}

func TestParse_bad(t *testing.T) {
	t.Parallel()
	for _, test := range bad {
		complains(t, test.name, least+test.text, test.want)
	}
	for _, test := range badWhole {
		complains(t, test.name, test.text, test.want)
	}
}

func complains(t *testing.T, name, text string, want []string) {
	t.Helper()
	_, warnings, err := Parse("f", []byte(text), Options{Getenv: testEnv})
	var problems Errors
	if err != nil && !errors.As(err, &problems) {
		t.Errorf("%s: the error is of type %T", name, err)
	}
	var got []string
	for _, p := range problems {
		got = append(got, strings.TrimPrefix(p.String(), "f:"))
	}
	for _, p := range warnings {
		got = append(got, "w"+strings.TrimPrefix(p.String(), "f:"))
	}
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("%s: got\n%s\nwant\n%s", name, g, w)
	}
	if strings.Contains(strings.Join(got, ""), "hunter2") {
		t.Errorf("%s: a password is shown", name)
	}
}
