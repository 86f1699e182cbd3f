package config

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"

	"github.com/mysqlrw/mysqlrw/route"
)

// testEnv is the environment of every test.
func testEnv(name string) (string, bool) {
	switch name {
	case "MYSQLRW_MONITOR_PASSWORD", "MYSQLRW_SHOP_PASSWORD":
		return "xyzzy-" + name, true
	}
	return "", false
}

// least is what every file needs; tests add to it.
const least = `[[listener]]
address = ":6446"
[[server]]
name = "db1"
address = "10.0.0.1"
[[server]]
name = "db2"
address = "10.0.0.2"
[monitor]
user = "mon"
password-env = "MYSQLRW_MONITOR_PASSWORD"
`

func parse(t *testing.T, text string) *Config {
	t.Helper()
	c, warnings, err := Parse("f", []byte(text), Options{Getenv: testEnv})
	if err != nil || len(warnings) > 0 {
		t.Fatalf("%v\n%v", err, warnings)
	}
	return c
}

func TestParse_least(t *testing.T) {
	t.Parallel()
	c := parse(t, least)
	if got, want := c.RoutePolicy(c.Listeners[0]), route.DefaultPolicy(); got != want {
		t.Errorf("without a policy it is\n%+v, not\n%+v", got, want)
	}
	want := defaults()
	want.Listeners, want.Servers, want.Monitor = c.Listeners, c.Servers, c.Monitor
	if !reflect.DeepEqual(c, want) {
		t.Errorf("a short file changes defaults: %+v", c)
	}
	if s := c.Servers[0]; s.Address != "10.0.0.1:3306" || s.WeightAs(route.Replica) != 100 || s.WeightAs(route.Primary) != 0 {
		t.Errorf("server: %+v", s)
	}
	if got := c.Monitor.Password.Reveal(); got != "xyzzy-MYSQLRW_MONITOR_PASSWORD" {
		t.Errorf("password %q", got)
	}
}

func TestRoutePolicy(t *testing.T) {
	t.Parallel()
	c := parse(t, least+`
[[listener]]
socket = "/run/ro.sock"
mode = "read-only"
consistency = "eventual"
[policy]
consistency = "global"
max-lag = "1s"
max-staleness = "500ms"
session-timeout = "0"
global-timeout = "1m"
timeout-action = "error"
min-reserved = 1
balancer = "weighted-round-robin"
transaction-splitting = "reads-before-write"
system-schemas = "replica"
causal-method = "sleep"
causal-sleep = "2s"
`)
	want := route.Policy{
		Method: route.BySleep, Sleep: 2e9,
		Level: route.Global, MaxLag: 1e9, MaxStaleness: 5e8, GlobalTimeout: 60e9, ErrorOnTimeout: true, MinReserved: 1,
		Balancer: route.WeightedRoundRobin, Splitting: route.SplitBeforeWrite, SystemSchemasOnReplicas: true,
	}
	if got := c.RoutePolicy(c.Listeners[0]); got != want {
		t.Errorf("got\n%+v, want\n%+v", got, want)
	}
	want.Level, want.Endpoint = route.Eventual, route.ReadOnly
	if got := c.RoutePolicy(c.Listeners[1]); got != want {
		t.Errorf("read-only: got\n%+v, want\n%+v", got, want)
	}
}

// TestSample: the sample loads, each of its values is the default, and it has
// every key, commented.
func TestSample(t *testing.T) {
	t.Parallel()
	c := parse(t, Sample)
	want := defaults()
	want.Listeners, want.Servers, want.Users = c.Listeners, c.Servers, c.Users
	want.Admin.Address = DefaultAdmin // without the table there is none
	want.Monitor.User, want.Monitor.Credentials = c.Monitor.User, c.Monitor.Credentials
	if !reflect.DeepEqual(c, want) {
		t.Errorf("the sample has\n%+v, the defaults are\n%+v", c, want)
	}
	l, s := defaultListener(), defaultServer()
	l.Address, s.Name, s.Address = c.Listeners[0].Address, c.Servers[0].Name, c.Servers[0].Address
	l.ProxyProtocol = c.Listeners[0].ProxyProtocol
	if !reflect.DeepEqual(c.Listeners[0], l) || len(l.ProxyProtocol) > 0 || !reflect.DeepEqual(c.Servers[0], s) {
		t.Errorf("not the defaults: %+v %+v", c.Listeners[0], c.Servers[0])
	}
	shown := map[string]bool{}
	for key := range sampleMeanings() {
		shown[key] = true
	}
	for _, k := range Keys() {
		name := k.Section + "." + k.Name
		if !shown[name] {
			t.Errorf("the sample lacks %s", name)
		}
		delete(shown, name)
		if k.Meaning == "" {
			t.Errorf("%s has no comment", name)
		}
		if k.Effect != Now && k.Effect != NewSessions && k.Effect != Restart {
			t.Errorf("%s has the effect %q", name, k.Effect)
		}
	}
	for key := range shown {
		t.Errorf("the sample has %s, which is no key", key)
	}
}

// TestSample_uncommented: what the sample shows and does not set is a key that
// is read. Nothing refers to a file here.
func TestSample_uncommented(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for line := range strings.Lines(Sample) {
		if strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "# ") {
			line = line[1:]
		}
		text.WriteString(line)
	}
	_, _, err := Parse("f", []byte(text.String()), Options{Getenv: testEnv})
	if err == nil || strings.Contains(err.Error(), "has no key") {
		t.Errorf("got %v, want complaints about keys that exclude each other only", err)
	}
	for line := range strings.Lines(err.Error()) {
		if !strings.Contains(line, "there is a password already") && !strings.Contains(line, "there is a token already") && !strings.Contains(line, "an address or a socket") {
			t.Errorf("unexpected: %s", line)
		}
	}
}

func TestSecret(t *testing.T) {
	t.Parallel()
	const password = "xyzzy"
	c := parse(t, least)
	c.Monitor.Password = NewSecret(password)
	asJSON, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var asTOML, logged strings.Builder
	if err := toml.NewEncoder(&asTOML).Encode(c); err != nil {
		t.Fatal(err)
	}
	slog.New(slog.NewTextHandler(&logged, nil)).Info("x", "config", c, "secret", c.Monitor.Password)
	all := []string{string(asJSON), asTOML.String(), logged.String()}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		all = append(all, fmt.Sprintf(verb, c.Monitor.Password), fmt.Sprintf(verb, *c), fmt.Sprintf(verb, &c.Monitor.Password))
	}
	for _, text := range all {
		if strings.Contains(text, password) || strings.Contains(text, fmt.Sprintf("%x", password)) {
			t.Errorf("the password is shown: %s", text)
		}
		if !strings.Contains(text, hidden) {
			t.Errorf("nothing says that there is one: %s", text)
		}
	}
	if got := fmt.Sprint(Secret{}); got != "" {
		t.Errorf("no secret prints as %q", got)
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil { // whatever the umask
			t.Fatal(err)
		}
		return path
	}
	write("secret", "from a file\r\n", 0o600)
	write("two", "one\ntwo\n", 0o600)
	for _, test := range []struct {
		name, line string
		mode       os.FileMode
		password   string
		err        string
	}{
		{"file", `password-file = "secret"`, 0o644, "from a file", ""},
		{"absolute file", `password-file = "` + filepath.Join(dir, "secret") + `"`, 0o644, "from a file", ""},
		{"here, private", `password = "here"`, 0o600, "here", ""},
		{"here, for a group", `password = "here"`, 0o640, "here", ""},
		{"here, for all", `password = "here"`, 0o644, "", "11:1: password: others may use this file: chmod o= it, or write password-file or password-env instead"},
		{"no file", `password-file = "hunter2"`, 0o644, "", "11:17: password-file: no such file or directory"},
		{"no variable", `password-env = "hunter2"`, 0o644, "", "11:16: password-env: the environment has no variable of that name, or it is empty"},
		{"two lines", `password-file = "two"`, 0o644, "", "11:17: password-file: that file does not hold a password on its only line"},
		{"no certificate", "password-file = 'secret'\n[[listener]]\naddress=':1'\nssl-ca = 'secret'", 0o644, "", "14:10: ssl-ca: secret: there is no certificate in PEM format in it"},
	} {
		text := strings.Replace(least, `password-env = "MYSQLRW_MONITOR_PASSWORD"`, test.line, 1)
		path := write(strings.ReplaceAll(test.name, " ", "-"), text, test.mode)
		c, _, err := Load(path, testEnv)
		switch {
		case test.err != "":
			if want := path + ":" + test.err; err == nil || err.Error() != want {
				t.Errorf("%s: got %v, want %s", test.name, err, want)
			}
		case err != nil:
			t.Errorf("%s: %v", test.name, err)
		case c.Monitor.Password.Reveal() != test.password:
			t.Errorf("%s: the password is %q, not %q", test.name, c.Monitor.Password.Reveal(), test.password)
		}
	}
	if _, _, err := Load(filepath.Join(dir, "none"), testEnv); !os.IsNotExist(err) {
		t.Errorf("no file: %v", err)
	}
	if _, _, err := Load(write("f", strings.Repeat("#", maxSize+1), 0o600), testEnv); err == nil || !strings.Contains(err.Error(), "f:1:1: the file has more than 1048576 bytes") {
		t.Errorf("a big file: %v", err)
	}
}

// TestLoad_withoutSecrets: who connects to nothing needs neither variables nor
// files.
func TestLoad_withoutSecrets(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	text := least + "[[user]]\nname = \"u\"\npassword-file = \"none\"\n[[listener]]\naddress = \":1\"\nssl-ca = \"none\"\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, warnings, err := Load(path, nil)
	if err != nil || len(warnings) > 0 {
		t.Fatalf("%v %v", err, warnings)
	}
	if c.Monitor.Password.IsSet() || c.Users[0].Password.IsSet() {
		t.Errorf("there is a password: %+v", c)
	}
	if _, _, err := Load(path, testEnv); err == nil {
		t.Error("with them the missing files are no error")
	}
}
