package waitpos

import (
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/status/statustest"
)

// TestKill: a statement is killed on its own server only, by its own id.
func TestKill(t *testing.T) {
	t.Parallel()
	self := connection{7, "host/3306/2"}
	for _, tt := range []struct {
		name    string
		answers []statustest.Answer
		want    bool
	}{
		{"the same server", []statustest.Answer{
			statustest.Row("CONNECTION_ID()", "id", "8", "server", "host/3306/2"), {Query: "KILL QUERY 7"},
		}, true},
		{"another server behind the same address", []statustest.Answer{
			statustest.Row("CONNECTION_ID()", "id", "8", "server", "host/3306/3"), // a KILL would fail the test
		}, false},
		{"a server that refuses", []statustest.Answer{
			statustest.Row("CONNECTION_ID()", "id", "8", "server", "host/3306/2"), {Query: "KILL QUERY 7", Number: 1095},
		}, false},
		{"a server that does not say who it is", []statustest.Answer{{Query: "CONNECTION_ID()", Number: 1317}}, false},
		{"an id that is no number", []statustest.Answer{statustest.Row("CONNECTION_ID()", "id", "x", "server", "host/3306/2")}, false},
	} {
		w := &waiter{db: statustest.Open(t, tt.answers...), self: self}
		if got := w.kill(t.Context()); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
	// No second connection: nothing is waited for.
	db := statustest.Open(t)
	db.SetMaxOpenConns(1)
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if w := (&waiter{db: db, conn: conn, self: self}); w.kill(t.Context()) {
		t.Error("killed without a connection")
	}
}
