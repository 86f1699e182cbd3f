package topology

import (
	"context"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/status"
)

// errand is a question that is put between two checks.
type errand struct {
	ask  func(context.Context, status.Querier, flavor.Server) error
	done func(error)
}

// Ask puts a question to a server over the connection by which it is watched, between two checks. It does
// not wait. ask is called once, or once more if that connection turns out to be
// broken; then done is told its error, or why it was not called. Both run on the goroutine that watches the
// server, which they must not keep waiting. Each server has room for one question: with another one in the
// way, or before and after Run, Ask returns false and calls neither.
func (m *Monitor) Ask(server int, ask func(context.Context, status.Querier, flavor.Server) error, done func(error)) bool {
	mb := m.members[server]
	mb.attending.Lock()
	defer mb.attending.Unlock()
	if !mb.attended {
		return false
	}
	select {
	case mb.errands <- errand{ask, done}:
		return true
	default:
		return false
	}
}

// run asks what an errand asks.
func (l *link) run(ctx context.Context, m *Monitor, e errand) error {
	ctx, cancel := context.WithTimeout(ctx, m.options.Timeout)
	defer cancel()
	return l.again(func() error {
		if err := l.connect(ctx, m.options.Now); err != nil {
			return err
		}
		return e.ask(ctx, l.conn, l.server)
	})
}

// attend says whether errands are run from now on. One that came too late is answered.
func (mb *member) attend(yes bool, why error) {
	mb.attending.Lock()
	mb.attended = yes
	mb.attending.Unlock()
	if yes {
		return
	}
	select {
	case e := <-mb.errands:
		e.done(why)
	default:
	}
}
