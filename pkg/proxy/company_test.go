package proxy

import (
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/gtid"
)

// upTo is the position with the first n transactions.
func upTo(n int64) gtid.Value {
	all := gtid.Set{}
	for i := range n {
		all = all.Add(gtid.GTID{UUID: gtid.UUID{1}, Seq: i + 1})
	}
	return all.Value()
}

// TestCompany_join: a wait is joined by those that need no more than it waits for.
func TestCompany_join(t *testing.T) {
	var c company
	first, mine := c.join(upTo(5), false)
	if !mine {
		t.Fatal("the first one has nobody to join")
	}
	if one, mine := c.join(upTo(5), false); mine || one != first {
		t.Error("the same was not joined")
	}
	if one, mine := c.join(upTo(3), false); mine || one != first {
		t.Error("what is contained was not joined")
	}
	further, mine := c.join(upTo(6), false)
	if !mine {
		t.Error("a wait for less was joined")
	}
	alone, mine := c.join(upTo(5), true)
	if !mine {
		t.Error("one that must wait by itself joined")
	}
	for _, one := range []*guide{first, further, alone} {
		c.leave(one)
		c.leave(one) // again does nothing
		select {
		case <-one.done:
		case <-time.After(time.Minute):
			t.Error("those that joined are not let go")
		}
	}
	if _, mine := c.join(upTo(1), false); !mine {
		t.Error("a wait was joined that has ended")
	}
}
