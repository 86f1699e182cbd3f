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

// TestCompany_inVain: after a wait in vain one read at a time tries again, until the server is known to have what was
// missed.
func TestCompany_inVain(t *testing.T) {
	t.Parallel()
	var c company
	is := func(what string, require, known gtid.Value, want bool) {
		t.Helper()
		if got := c.inVain(require, known); got != want {
			t.Errorf("%s: in vain is %v", what, got)
		}
	}
	is("at first", upTo(5), upTo(3), false)
	first, _ := c.join(upTo(5), false)
	is("while one waits", upTo(5), upTo(3), false)
	c.miss(first)
	c.leave(first)
	is("the one that tries again", upTo(6), upTo(3), false)
	again, mine := c.join(upTo(6), false)
	if !mine {
		t.Fatal("a wait that has ended was joined")
	}
	is("while that one tries", upTo(7), upTo(3), true)
	is("for less", upTo(4), upTo(3), false)
	c.miss(again)
	c.leave(again)
	is("the next one that tries", upTo(7), upTo(3), false)
	next, _ := c.join(upTo(7), false)
	is("while that one tries", upTo(8), upTo(4), true)
	is("with what was missed first there", upTo(8), upTo(5), false)
	is("after that", upTo(8), upTo(5), false)
	c.leave(next)
}
