package suites

import (
	"slices"
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
)

// TestLevel_skip has the options without which nothing is replicated.
func TestLevel_skip(t *testing.T) {
	for args, want := range map[string]bool{
		"--skip-log-bin": true, "--loose-skip-log-bin": true, "--disable_log_bin": true, "--log-bin=OFF": true,
		"--gtid-mode=off --enforce_gtid_consistency=off": true, "--server-id=0": true,
		"": false, "--log-bin=x": false, "--gtid_mode=ON --enforce_gtid_consistency": false, "--server-id=10": false,
		"--skip-log-replica-updates": false,
	} {
		if got := level("session").skip(strings.Fields(args)) != ""; got != want {
			t.Errorf("%s: skipped: %t", args, got)
		}
		if strong.skip(strings.Fields(args)) != "" {
			t.Errorf("%s: skipped at strong", args)
		}
	}
}

// TestNode: a replica has the primary's options but for those that name what must be its own.
func TestNode(t *testing.T) {
	w := &worker{dir: "/d", number: 2, level: "session", tree: &tree{inst: &sandbox.Installation{}}}
	w.tree.inst.Flavor = flavor.MariaDB
	args := []string{"--log-error=/d/x", "--sql_mode=", "--general_log_file=y", "--read-only", "--read-only-x", "--loose-server-id=7"}
	one, two := w.node(1), w.node(2)
	if got := one.argsOf(args); !slices.Equal(got, args) {
		t.Errorf("primary: got %v", got)
	}
	if got := two.argsOf(args); !slices.Equal(got, []string{"--sql_mode=", "--read-only-x"}) {
		t.Errorf("replica: got %v", got)
	}
	mine, its := w.tree.serverArgs(w, one), w.tree.serverArgs(w, two)
	for i, arg := range its {
		name, _, _ := strings.Cut(arg, "=")
		own := slices.Contains([]string{
			"--datadir", "--tmpdir", "--socket", "--port", "--pid-file", "--log-error", "--general-log-file",
			"--slow-query-log-file", "--server-id",
		}, name)
		if own == (arg == mine[i]) {
			t.Errorf("primary %s, replica %s", mine[i], arg)
		}
	}
	config := w.serveConfig()
	for _, want := range []string{
		"address = \"127.0.0.1:23520\"\nrole = \"primary\"", "address = \"127.0.0.1:23521\"\nrole = \"replica\"", "consistency = \"session\"",
	} {
		if !strings.Contains(config, want) {
			t.Errorf("no %q in\n%s", want, config)
		}
	}
	w.level = strong
	if got := w.serveConfig(); strings.Contains(got, "replica") || len(w.nodes()) != 1 {
		t.Errorf("at strong: got\n%s", got)
	}
}

func TestWithoutReplication(t *testing.T) {
	const a = "USER\tHOST\nsystem user\t\tNULL\tQuery\nroot\tlocalhost\n"
	const b = "USER\tHOST\nroot\tlocalhost\nsystem user\t\tNULL\tConnect\n"
	if one, other := string(withoutReplication([]byte(a))), string(withoutReplication([]byte(b))); one != other || !strings.Contains(one, "root") {
		t.Errorf("got %q and %q", one, other)
	}
}
