package waitpos

import (
	"strings"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/pkg/status"
)

const (
	uuidA = "aaaaaaaa-0000-0000-0000-000000000000"
	uuidB = "bbbbbbbb-0000-0000-0000-000000000000"
	uuidC = "cccccccc-0000-0000-0000-000000000000"
)

// set and position read literals of this file.
func set(text string) gtid.Set {
	s, err := gtid.Parse(text)
	if err != nil {
		panic(err)
	}
	return s
}

func position(text string) gtid.DomainPos {
	p, err := gtid.ParseDomainPos(text)
	if err != nil {
		panic(err)
	}
	return p
}

// channel makes a channel that runs, with changes.
func channel(name string, changes ...func(*status.Channel)) status.Channel {
	c := status.Channel{Name: name, Receiver: status.Running, Applier: status.Running}
	for _, change := range changes {
		change(&c)
	}
	return c
}

func from(uuid string) func(*status.Channel) { return func(c *status.Channel) { c.SourceUUID = uuid } }

func has(text string) func(*status.Channel) {
	return func(c *status.Channel) { c.Retrieved = set(text) }
}

func server(id uint32, receivedPos string) func(*status.Channel) {
	return func(c *status.Channel) {
		c.SourceServerID, c.UsingGTID = id, true
		c.ReceiverGTID = position(receivedPos)
	}
}

func ignores(domains ...uint32) func(*status.Channel) {
	return func(c *status.Channel) { c.IgnoredDomains = domains }
}

func only(domains ...uint32) func(*status.Channel) {
	return func(c *status.Channel) { c.OnlyDomains = domains }
}

func deadApplier(c *status.Channel) {
	c.Applier, c.ApplierError = status.Stopped, status.ThreadError{Number: 1062, Message: "Duplicate entry"}
}

func deadReceiver(c *status.Channel) { c.Receiver = status.Stopped }

func connecting(c *status.Channel) {
	c.Receiver, c.ReceiverError = status.Connecting, status.ThreadError{Number: 2003, Message: "cannot connect"}
}

// TestBlockedGTIDs: what is missing can arrive if, for each origin, some
// channel that brings it works.
func TestBlockedGTIDs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		channels []status.Channel
		missing  string
		want     Reason
		detail   string
	}{
		{"all runs", []status.Channel{channel("", from(uuidA))}, uuidA + ":5", NoReason, ""},
		{"applier stopped", []status.Channel{channel("", from(uuidA), deadApplier)}, uuidA + ":5", ApplierStopped, "error 1062: Duplicate entry"},
		{"receiver stopped", []status.Channel{channel("", from(uuidA), deadReceiver)}, uuidA + ":5", ReceiverStopped, "the receiver is stopped"},
		{"receiver stopped, all received", []status.Channel{channel("", from(uuidA), deadReceiver, has(uuidA+":1-9"))}, uuidA + ":5-9", NoReason, ""},
		{"receiver stopped, a part received", []status.Channel{channel("", from(uuidA), deadReceiver, has(uuidA+":1-8"))}, uuidA + ":5-9", ReceiverStopped, ""},
		{"receiver connecting: it may come back", []status.Channel{channel("", from(uuidA), connecting)}, uuidA + ":5", NoReason, "is connecting: error 2003"},
		{"two sources, the other one stopped", []status.Channel{channel("a", from(uuidA), deadApplier), channel("b", from(uuidB))}, uuidB + ":5", NoReason, ""},
		{"two sources, its own stopped", []status.Channel{channel("a", from(uuidA), deadApplier), channel("b", from(uuidB))}, uuidA + ":5", ApplierStopped, "channel 'a'"},
		{"two sources, one of two needed is stopped", []status.Channel{channel("a", from(uuidA), deadApplier), channel("b", from(uuidB))}, uuidA + ":5," + uuidB + ":5", ApplierStopped, "channel 'a'"},
		{"the same with the second", []status.Channel{channel("a", from(uuidA)), channel("b", from(uuidB), deadReceiver)}, uuidA + ":5," + uuidB + ":5", ReceiverStopped, "channel 'b'"},
		{"ring: the other channel has brought that origin before", []status.Channel{channel("a", from(uuidA), deadApplier), channel("b", from(uuidB), has(uuidA+":1-4"))}, uuidA + ":5", NoReason, ""},
		{"chain: the source passes on what another wrote", []status.Channel{channel("", from(uuidB), has(uuidA+":1-4"))}, uuidA + ":5", NoReason, ""},
		{"chain, applier stopped", []status.Channel{channel("", from(uuidB), has(uuidA+":1-4"), deadApplier)}, uuidA + ":5", ApplierStopped, ""},
		{"unknown origin, some channel works", []status.Channel{channel("a", from(uuidA), deadApplier), channel("b", from(uuidB))}, uuidC + ":5", NoReason, ""},
		{"unknown origin, none works", []status.Channel{channel("a", from(uuidA), deadApplier), channel("b", from(uuidB), deadApplier)}, uuidC + ":5", ApplierStopped, "channel 'a'"},
		{"never connected: the UUID is not known", []status.Channel{channel("", deadReceiver)}, uuidA + ":5", ReceiverStopped, ""},
		{"tags are one origin", []status.Channel{channel("", from(uuidA), deadReceiver, has(uuidA+":5:t:1"))}, uuidA + ":5:t:1", NoReason, ""},
		{"a tag that is not received", []status.Channel{channel("", from(uuidA), deadReceiver, has(uuidA+":5"))}, uuidA + ":5:t:1", ReceiverStopped, ""},
		{"state not understood: not stopped", []status.Channel{channel("", from(uuidA), func(c *status.Channel) { c.Applier = status.ThreadUnknown })}, uuidA + ":5", NoReason, ""},

		{"MariaDB: all runs", []status.Channel{channel("", server(1, "0-1-4"))}, "0-1-5", NoReason, ""},
		{"MariaDB: applier stopped", []status.Channel{channel("", server(1, "0-1-4"), deadApplier)}, "0-1-5", ApplierStopped, ""},
		{"MariaDB: received", []status.Channel{channel("", server(1, "0-1-5"), deadReceiver)}, "0-1-5", NoReason, ""},
		{"MariaDB: not received", []status.Channel{channel("", server(1, "0-1-4"), deadReceiver)}, "0-1-5", ReceiverStopped, ""},
		{"MariaDB: without GTIDs, the relay log may have it", []status.Channel{channel("", deadReceiver, func(c *status.Channel) {
			c.Exec, c.Read = gtid.FilePos{File: "b.000001", Offset: 4}, gtid.FilePos{File: "b.000002", Offset: 4}
		})}, "0-1-5", NoReason, ""},
		{"MariaDB: without GTIDs, the relay log is applied", []status.Channel{channel("", deadReceiver, func(c *status.Channel) {
			c.Exec, c.Read = gtid.FilePos{File: "b.000002", Offset: 4}, gtid.FilePos{File: "b.000002", Offset: 4}
		})}, "0-1-5", ReceiverStopped, ""},
		{"MariaDB: two domains, the other one stopped", []status.Channel{channel("a", server(1, "1-1-4"), deadApplier), channel("b", server(2, "2-2-4"))}, "2-2-5", NoReason, ""},
		{"MariaDB: two domains, its own stopped", []status.Channel{channel("a", server(1, "1-1-4"), deadApplier), channel("b", server(2, "2-2-4"))}, "1-1-5", ApplierStopped, "channel 'a'"},
		{"MariaDB: two domains, one of two needed", []status.Channel{channel("a", server(1, "1-1-4"), deadApplier), channel("b", server(2, "2-2-4"))}, "1-1-5,2-2-5", ApplierStopped, "channel 'a'"},
		{"MariaDB: the domain is left out", []status.Channel{channel("", server(1, "0-1-4"), ignores(7, 3))}, "7-1-5", Filtered, "Replicate_Ignore_Domain_Ids"},
		{"MariaDB: one of two domains is left out", []status.Channel{channel("", server(1, "0-1-4"), ignores(7))}, "0-1-5,7-1-5", Filtered, ""},
		{"MariaDB: another domain is left out", []status.Channel{channel("", server(1, "0-1-4"), ignores(7))}, "0-1-5", NoReason, ""},
		{"MariaDB: not among the only ones", []status.Channel{channel("", server(1, "0-1-4"), only(1, 2))}, "0-1-5", Filtered, "Replicate_Do_Domain_Ids"},
		{"MariaDB: among the only ones", []status.Channel{channel("", server(1, "0-1-4"), only(1, 0))}, "0-1-5", NoReason, ""},
		{"MariaDB: left out here, brought by the other", []status.Channel{channel("a", server(1, ""), ignores(7)), channel("b", server(2, "7-1-4"))}, "7-1-5", NoReason, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			missing, err := gtid.ParseValue(tt.missing)
			if err != nil {
				t.Fatal(err)
			}
			reason, detail := blockedGTIDs(tt.channels, missing)
			if reason != tt.want || !strings.Contains(detail, tt.detail) || reason == NoReason && tt.detail == "" && detail != "" {
				t.Errorf("got %q (%s), want %q (%s)", reason, detail, tt.want, tt.detail)
			}
		})
	}
}

func TestBlockedFile(t *testing.T) {
	t.Parallel()
	target := gtid.FilePos{File: "b.000002", Offset: 100}
	at := func(offset uint64) func(*status.Channel) {
		return func(c *status.Channel) { c.Read = gtid.FilePos{File: "b.000002", Offset: offset} }
	}
	for _, tt := range []struct {
		name string
		c    *status.Channel
		want Reason
	}{
		{"gone", nil, NotAReplica},
		{"runs", ptr(channel("", at(50))), NoReason},
		{"applier stopped", ptr(channel("", at(200), deadApplier)), ApplierStopped},
		{"receiver stopped before it", ptr(channel("", at(99), deadReceiver)), ReceiverStopped},
		{"receiver stopped at it", ptr(channel("", at(100), deadReceiver)), NoReason},
		{"receiver stopped, never read", ptr(channel("", deadReceiver)), ReceiverStopped},
		{"connecting", ptr(channel("", at(50), connecting)), NoReason},
	} {
		w := &waiter{target: Target{file: target}}
		if reason, detail := w.blockedFile(tt.c); reason != tt.want {
			t.Errorf("%s: got %q (%s), want %q", tt.name, reason, detail, tt.want)
		}
	}
}

func ptr[T any](v T) *T { return &v }

// TestJudge: a source tells what will never come, if it is the only one.
func TestJudge(t *testing.T) {
	t.Parallel()
	source := SourceState{
		Flavor: flavor.MySQL, UUID: uuidA,
		Executed: set(uuidA + ":1-9," + uuidC + ":1-3").Value(), Purged: set(uuidA + ":1-4").Value(),
	}
	chained := source
	chained.Chained = true
	for _, tt := range []struct {
		name     string
		source   SourceState
		channels []status.Channel
		missing  string
		want     Reason
		detail   string
	}{
		{"it has it", source, []status.Channel{channel("", from(uuidA))}, uuidA + ":8-9", NoReason, ""},
		{"it may still write it", source, []status.Channel{channel("", from(uuidA))}, uuidA + ":10-11:t:1", NoReason, ""},
		{"errant", source, []status.Channel{channel("", from(uuidA))}, uuidA + ":9," + uuidB + ":1", Errant, uuidB + ":1"},
		{"not errant: it may get more itself", chained, []status.Channel{channel("", from(uuidA))}, uuidB + ":1", NoReason, ""},
		{"not errant: there is another source", source, []status.Channel{channel("a", from(uuidA)), channel("b", from(uuidB))}, uuidB + ":1", NoReason, ""},
		{"not errant: the replica reads from another server", source, []status.Channel{channel("", from(uuidB))}, uuidB + ":1", NoReason, ""},
		{"purged", source, []status.Channel{channel("", from(uuidA))}, uuidA + ":4-9", Purged, uuidA + ":4"},
		{"purged there, received here", source, []status.Channel{channel("", from(uuidA), has(uuidA+":1-5"))}, uuidA + ":4-9", NoReason, ""},
		{"purged there, the server in between has it", source, []status.Channel{channel("", from(uuidB))}, uuidA + ":4-9", NoReason, ""},
		{"purged, and chained", chained, []status.Channel{channel("", from(uuidA))}, uuidA + ":4-9", Purged, uuidA + ":4"},
		{"MariaDB", SourceState{Flavor: flavor.MariaDB}, []status.Channel{channel("", server(1, ""))}, "0-1-5", NoReason, ""},
	} {
		missing, err := gtid.ParseValue(tt.missing)
		if err != nil {
			t.Fatal(err)
		}
		reason, detail := tt.source.judge(&look{gtids: missing, channels: tt.channels})
		if reason != tt.want || !strings.HasSuffix(detail, tt.detail) {
			t.Errorf("%s: got %q (%s), want %q (%s)", tt.name, reason, detail, tt.want, tt.detail)
		}
	}
}

// TestSlice: no server is ever told to wait for 0 seconds, which is forever,
// nor for a fraction that it would cut to 0.
func TestSlice(t *testing.T) {
	t.Parallel()
	for _, whole := range []bool{true, false} {
		w := &waiter{wholeSeconds: whole}
		for _, left := range []time.Duration{
			1, time.Microsecond, 499 * time.Microsecond, time.Millisecond, 19 * time.Millisecond, 20 * time.Millisecond,
			500 * time.Millisecond, 999 * time.Millisecond, time.Second, 1500 * time.Millisecond, time.Hour,
		} {
			d := w.slice(left)
			_, args := w.waitStatement(look{}, d)
			seconds := args[1].(string)
			switch {
			case d > left:
				t.Errorf("%s left: waits for %s", left, d)
			case d == 0:
				if left >= time.Second {
					t.Errorf("whole seconds %v, %s left: does not wait on the server", whole, left)
				}
			case strings.Trim(seconds, "0.") == "" || whole && !strings.HasSuffix(seconds, ".000"):
				t.Errorf("whole seconds %v, %s left: sends %q", whole, left, seconds)
			}
		}
	}
}
