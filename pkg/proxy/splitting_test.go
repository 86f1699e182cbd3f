package proxy_test

import (
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/proxy"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/route"
)

// TestSplitting: a read that leaves its transaction does not take the transaction's BEGIN with it.
func TestSplitting(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		s := newSite(t, f, sandbox.Options{Replicas: 1}, func(o *proxy.Options) {
			o.Listeners[0].Policy.Splitting = route.SplitBeforeWrite
		}, "CREATE TABLE a (v INT)", "INSERT INTO a VALUES (0)")
		c, outside := session(t, s.all, "eventual"), conn(t, s.primary)
		const read = "SELECT v FROM a"
		exec(t, c, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
		for _, end := range []struct{ statement, want string }{{"ROLLBACK", "0"}, {"COMMIT", "1"}} {
			exec(t, c, "START TRANSACTION")
			for range 2 {
				want(t, "v", value(t, c, read), "0")
				onReplica(t, c, read)
			}
			exec(t, c, "UPDATE a SET v = v + 1")
			onPrimary(t, c, "a write")
			want(t, "v in the transaction", value(t, c, read), "1")
			onPrimary(t, c, read)
			want(t, "v outside of it", value(t, outside, "SELECT v FROM f.a"), "0")
			exec(t, c, end.statement)
			want(t, "v behind "+end.statement, value(t, outside, "SELECT v FROM f.a"), end.want)
		}
	})
}
