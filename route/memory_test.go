package route

import "testing"

// TestMerge_readBetween: what a statement of the session has been shown while another one ran is not forgotten, be
// it on the server of before.
func TestMerge_readBetween(t *testing.T) {
	on := func(server string) Memory { return Memory{seen: seen{server: server, epoch: 1}} }
	for _, tt := range []struct {
		name   string
		now    Memory // with which the statement ended
		server string
		many   bool
	}{
		{"a write that settles", Memory{}, "a", false},
		{"a read that has all that there was", on("b"), "a", true},
		{"a read there, too", on("a"), "a", false},
	} {
		m := Memory{}
		before, first := m, on("a")
		m.Merge(&before, &first)
		then := m // the statement begins
		between, end := m, on("a")
		m.Merge(&between, &end)
		m.Merge(&then, &tt.now)
		if m.seen.server != tt.server || m.seen.many != tt.many {
			t.Errorf("%s: %+v", tt.name, m.seen)
		}
	}
	m := on("a")
	then, now := m, Memory{}
	if m.Merge(&then, &now); !m.Settled() {
		t.Errorf("a write with nothing between does not settle: %+v", m.seen)
	}
}
