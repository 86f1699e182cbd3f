package commands

import (
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/mysqlrw/mysqlrw/pkg/config"
	"github.com/mysqlrw/mysqlrw/route"
)

// TestPolicyFlags: the flags of the policy are the keys of [policy], with the
// same words and defaults.
func TestPolicyFlags(t *testing.T) {
	t.Parallel()
	keys := map[string]config.Key{}
	for _, k := range config.Keys() {
		if k.Section == "policy" {
			keys[k.Name] = k
		}
	}
	for _, f := range policyFlags() {
		name := f.Names()[0]
		k, ok := keys[name]
		if !ok {
			if name != "read-only-endpoint" { // the mode of a listener
				t.Errorf("--%s is no key of [policy]", name)
			}
			continue
		}
		delete(keys, name)
		if e := enumOf(f); e != nil && !slices.Equal(e.allowed, k.Values) {
			t.Errorf("--%s is one of %q, the key one of %q", name, e.allowed, k.Values)
		}
		value := strings.Trim(f.(cli.DocGenerationFlag).GetValue(), `"`)
		if value == "" && (k.Default == "0" || k.Default == "0s") {
			value = k.Default
		}
		if value != k.Default {
			t.Errorf("--%s is %q without the flag, the key is %q", name, value, k.Default)
		}
	}
	for name := range keys {
		t.Errorf("the key %s has no flag", name)
	}
}

// TestRoutePolicy: flags that are given override a policy, others leave it.
func TestRoutePolicy(t *testing.T) {
	t.Parallel()
	strange := route.Policy{
		Level: route.Weak, MaxLag: 1, MaxStaleness: 2, SessionTimeout: 3, GlobalTimeout: 4, ErrorOnTimeout: true,
		MinReserved: 5, Balancer: route.WeightedRoundRobin, Zone: "z", Splitting: route.SplitBeforeWrite,
		SystemSchemasOnReplicas: true,
	}
	defaults := []string{"x"}
	for _, k := range config.Keys() {
		if k.Section == "policy" {
			defaults = append(defaults, "--"+k.Name+"="+k.Default)
		}
	}
	for _, test := range []struct {
		args []string
		want route.Policy
	}{
		{[]string{"x"}, strange},
		{defaults, route.DefaultPolicy()},
	} {
		var got route.Policy
		app := &cli.App{Flags: policyFlags(), Action: func(c *cli.Context) error {
			got = routePolicy(c, strange)
			return nil
		}}
		if err := app.Run(test.args); err != nil {
			t.Fatal(err)
		}
		if got != test.want {
			t.Errorf("%q: got\n%+v, want\n%+v", test.args, got, test.want)
		}
	}
}
