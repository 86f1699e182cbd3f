package status_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/status"
	"github.com/mysqlrw/mysqlrw/pkg/status/statustest"
)

// world is a set of faked servers by address. A server's sources and replicas
// are written as "<a,b >c,d".
type world map[string]string

// open answers as the server at the address, which is known by its number.
func (w world) open(t *testing.T) status.Opener {
	return func(_ context.Context, address string) (status.Querier, func(), error) {
		text, ok := w[address]
		if !ok {
			return nil, nil, errors.New("refused")
		}
		words := strings.Fields(text)
		id := words[0]
		channels := statustest.Answer{Query: "SHOW REPLICA STATUS", Columns: []string{"Channel_Name", "Source_Host", "Source_Port"}}
		replicas := statustest.Answer{Query: "SHOW REPLICAS", Columns: []string{"Server_Id", "Host", "Port", "Replica_UUID"}}
		for _, word := range words[1:] {
			host := word[1:]
			if word[0] == '<' {
				channels.Rows = append(channels.Rows, []any{host, host, "1"})
				continue
			}
			host, number, _ := strings.Cut(host, "=")
			replicas.Rows = append(replicas.Rows, []any{number, host, "1", "uuid" + number})
		}
		answers := with(mysqlPrimary(), channels, replicas,
			statustest.Row("@@hostname", "hostname", "h", "port", "1", "id", id, "ro", "0"),
			statustest.Row("@@server_uuid AS uuid", "uuid", "uuid"+id, "sro", "0", "gtid_mode", "ON"))
		return statustest.Open(t, answers...), func() {}, nil
	}
}

// draw writes trees as "root(child child(grandchild))"; a node that could not
// be read has a question mark.
func draw(nodes []*status.Node, above map[*status.Node]bool) string {
	var parts []string
	for _, n := range nodes {
		text := strings.TrimSuffix(n.Address, ":1")
		if n.Err != nil {
			text += "?"
		}
		switch {
		case above[n]:
			text += "..."
		case len(n.Replicas) > 0:
			above[n] = true
			text += "(" + draw(n.Replicas, above) + ")"
			above[n] = false
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " ")
}

func TestWalk(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		world world
		start string
		want  string
	}{
		{"one server", world{"a:1": "1"}, "a", "a"},
		{"tree from its root", world{"a:1": "1 >b=2 >c=3", "b:1": "2 <a >d=4", "c:1": "3 <a", "d:1": "4 <b"}, "a", "a(b(d) c)"},
		{"tree from a leaf", world{"a:1": "1 >b=2 >c=3", "b:1": "2 <a >d=4", "c:1": "3 <a", "d:1": "4 <b"}, "d", "a(b(d) c)"},
		{"two sources", world{"a:1": "1 >c=3", "b:1": "2 >c=3", "c:1": "3 <a <b"}, "c", "a(c) b(c)"},
		{"ring", world{"a:1": "1 <b >b=2", "b:1": "2 <a >a=1"}, "b", "b(a(b...))"},
		{"ring with a replica", world{"a:1": "1 <b >b=2 >c=3", "b:1": "2 <a >a=1", "c:1": "3 <a"}, "a", "a(b(a...) c)"},
		{"a ring beside a tree", world{"a:1": "1 <b >b=2", "b:1": "2 <a >a=1", "x:1": "8 >y=9", "y:1": "9 <x"}, "a x", "x(y) a(b(a...))"},
		{"unreachable source", world{"b:1": "2 <a"}, "b", "a?(b)"},
		{"unreachable replica", world{"a:1": "1 >b=2"}, "a", "a(b?)"},
		{"unreachable start", world{}, "a", "a?"},
		{"two starts, one unreachable", world{"a:1": "1 >b=2", "b:1": "2 <a"}, "z b", "z? a(b)"},
		{"report_host missing: not found from the source", world{"a:1": "1 >=2"}, "a", "a"},
		{"report_host missing: found from the replica", world{"a:1": "1 >=2", "b:1": "2 <a"}, "b", "a(b)"},
		{"two addresses of one server", world{"a:1": "1 >b=2", "alias:1": "1 >b=2", "b:1": "2 <alias"}, "a", "a(b)"},
		{"started by both addresses", world{"a:1": "1", "alias:1": "1"}, "a alias", "a"},
		{"a report_host that does not work here", world{"a:1": "1 >inner=2", "b:1": "2 <a"}, "b", "a(b)"},
		{"the same, given as a start", world{"a:1": "1 >inner=2", "b:1": "2 <a"}, "b inner", "a(b inner?)"},
		{"a replica of itself", world{"a:1": "1 <a"}, "a", "a(a...)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var starts []string
			for _, s := range strings.Fields(tt.start) {
				starts = append(starts, s+":1")
			}
			roots := status.Walk(t.Context(), starts, time.Minute, tt.world.open(t))
			if got := draw(roots, map[*status.Node]bool{}); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// TestWalk_limits: a server that does not answer costs its limit, and the end
// of the context ends the walk.
func TestWalk_limits(t *testing.T) {
	t.Parallel()
	slow := func(ctx context.Context, address string) (status.Querier, func(), error) {
		<-ctx.Done()
		return nil, nil, fmt.Errorf("open %s: %w", address, ctx.Err())
	}
	roots := status.Walk(t.Context(), []string{"a:1", "b:1"}, time.Millisecond, slow)
	if got := draw(roots, map[*status.Node]bool{}); got != "a? b?" || !errors.Is(roots[0].Err, context.DeadlineExceeded) {
		t.Errorf("got %s, %v", got, roots[0].Err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if roots := status.Walk(ctx, []string{"a:1"}, time.Minute, slow); len(roots) != 0 {
		t.Errorf("got %d nodes after the end of the context", len(roots))
	}
}
