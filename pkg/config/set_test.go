package config

import (
	"strings"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/route"
)

// TestSet: values of an operator are checked as those of a file are, and are stronger.
func TestSet(t *testing.T) {
	t.Parallel()
	text := []byte(least + "[policy]\nsession-timeout = \"1s\"\n")
	c, _, err := Parse("f", text, Options{Getenv: testEnv, Set: []Setting{
		{"policy.session-timeout", "20ms"}, {"policy.consistency", "global"}, {"limits.max-connections", "7"}, {"limits.max-packet", "1M"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if c.Policy.SessionTimeout != 20*time.Millisecond || c.Listeners[0].Consistency != route.Global || c.Limits.MaxConnections != 7 ||
		c.Limits.MaxPacket != 1<<20 {
		t.Errorf("got %+v %+v %+v", c.Policy, c.Listeners[0], c.Limits)
	}
	for key, want := range map[string]string{
		"policy.session-timeout": `policy.session-timeout: "x" is not a duration`,
		"policy.consistency":     `policy.consistency: "x" is not one of eventual, weak`,
		"limits.queue-length":    `limits.queue-length: want a whole number`,
		"policy.no-such":         "policy.no-such: [policy] has no such key",
		"server.weight":          "server.weight: is no key that can be set",
		"zone":                   "zone: is no key that can be set",
		"log.format":             "log.format: takes a restart",
		"monitor.password-file":  "monitor.password-file: a secret is changed behind its file",
		"admin.token-env":        "admin.token-env: a secret is changed",
	} {
		_, _, err := Parse("f", text, Options{Getenv: testEnv, Set: []Setting{{key, "x"}}})
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", key, err, want)
		}
	}
}

// TestValues: every key is there, and no secret, nor what may be one.
func TestValues(t *testing.T) {
	t.Parallel()
	c := parse(t, least+"[admin]\ntoken-file = \"xyzzy-file\"\n[[user]]\nname = \"u\"\npassword = \"xyzzy\"\n")
	keys := map[string]bool{}
	for _, v := range c.Values() {
		section, key, _ := strings.Cut(v.Key, ".")
		section, _, _ = strings.Cut(section, "[")
		keys[section+"."+key] = true
		if strings.Contains(v.Value, "xyzzy") {
			t.Errorf("%s shows %s", v.Key, v.Value)
		}
		if v.Key == "policy.consistency" && (v.Value != "session" || !v.Default) {
			t.Errorf("got %+v", v)
		}
		if v.Key == "server[0].address" && (v.Value == "" || v.Default) {
			t.Errorf("got %+v", v)
		}
	}
	for _, k := range Keys() {
		if !keys[k.Section+"."+k.Name] {
			t.Errorf("%s.%s is missing", k.Section, k.Name)
		}
	}
}
