package waitpos

import (
	"context"
	"fmt"

	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/pkg/status"
)

// look is what one look at the server has shown.
type look struct {
	reached  bool
	missing  string
	count    uint64
	gtids    gtid.Value // missing, if the target is one of GTIDs
	channels []status.Channel

	reason Reason // why what is missing can never arrive; NoReason if it can
	detail string // of the reason, or what is in the way without being one
}

// examine looks once, and judges what is missing.
func (w *waiter) examine(ctx context.Context) (look, error) {
	l, err := w.look(ctx)
	if err != nil || l.reached {
		return l, err
	}
	l.reason, l.detail, err = w.verdict(ctx, &l)
	return l, err
}

// look compares the server's position with the target, by value.
func (w *waiter) look(ctx context.Context) (look, error) {
	if !w.target.file.IsZero() {
		return w.lookFile(ctx)
	}
	if w.target.gtids.IsEmpty() {
		return look{reached: true}, nil
	}
	executed, err := status.Executed(ctx, w.conn, w.identity.Flavor)
	if err != nil {
		return look{}, err
	}
	missing, err := executed.Missing(w.target.gtids)
	if err != nil {
		return look{}, err
	}
	if missing.IsEmpty() {
		return look{reached: true}, nil
	}
	count, _, err := executed.MissingCount(w.target.gtids)
	return look{missing: missing.String(), count: count, gtids: missing}, err
}

func (w *waiter) lookFile(ctx context.Context) (look, error) {
	channels, err := status.Channels(ctx, w.conn, w.identity.Flavor)
	if err != nil {
		return look{}, err
	}
	l := look{channels: channels, missing: w.target.file.String()}
	c := findChannel(channels, w.channel)
	if c == nil || c.Exec.IsZero() {
		return l, nil
	}
	order, err := c.Exec.Compare(w.target.file)
	if err != nil {
		return look{}, fmt.Errorf("channel '%s' of %s: %w", c.Name, c.Source(), err)
	}
	if order >= 0 {
		return look{reached: true}, nil
	}
	l.missing = c.Exec.String() + " to " + w.target.file.String()
	return l, nil
}

// verdict tells whether what is missing can still arrive. NoReason means that
// it can; the detail then says what is in its way, if something is.
func (w *waiter) verdict(ctx context.Context, l *look) (Reason, string, error) {
	if l.channels == nil {
		var err error
		if l.channels, err = status.Channels(ctx, w.conn, w.identity.Flavor); err != nil {
			if status.IsDenied(err) { // without the privilege only the timeout tells
				return NoReason, "", nil
			}
			return NoReason, "", err
		}
	}
	if len(l.channels) == 0 {
		if w.group {
			return NoReason, "", nil
		}
		return NotAReplica, "the server has no replication channel", nil
	}
	if !w.target.file.IsZero() {
		reason, detail := w.blockedFile(findChannel(l.channels, w.channel))
		return reason, detail, nil
	}
	if s := w.options.Source; s != nil {
		if reason, detail := s.judge(l); reason != NoReason {
			return reason, detail, nil
		}
	}
	reason, detail := blockedGTIDs(l.channels, l.gtids)
	return reason, detail, nil
}

func findChannel(channels []status.Channel, name string) *status.Channel {
	if name == "" && len(channels) == 1 {
		return &channels[0]
	}
	for i := range channels {
		if sameChannel(channels[i].Name, name) {
			return &channels[i]
		}
	}
	return nil
}
