package rwdb

import (
	"context"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/gtid"
)

// writingRows are the rows of a statement that may change data after its first rows have come, such as CALL.
type writingRows struct {
	driverRows
	c       *conn
	link    *link
	session *Session
}

// finishLimit bounds the question for the number of such a change.
const finishLimit = time.Second

// Close notes the number of the change, which is done now.
func (r *writingRows) Close() error {
	err := r.driverRows.Close()
	if c := r.c; c != nil {
		r.c = nil
		ctx, cancel := context.WithTimeout(context.Background(), finishLimit)
		defer cancel()
		position, named := r.link.numbered(ctx)
		if !named || !position.IsEmpty() {
			c.changed(r.session, position)
		}
	}
	return err
}

// numbered returns the number of what has just been changed on the link, which is asked for where nothing can be
// heard. It is empty and named if there was no change.
func (l *link) numbered(ctx context.Context) (position gtid.Value, named bool) {
	h := l.heard()
	switch {
	case !l.conn.IsValid():
		return gtid.Value{}, false
	case h.done:
		// MariaDB tells of every number that the session got, but with an error nobody does.
		return h.position, h.known && (l.maria() || !h.position.IsEmpty())
	case !l.opaque():
		return gtid.Value{}, false
	}
	at, err := l.standing(ctx)
	if err != nil || at.NoGTIDs {
		return gtid.Value{}, false
	}
	return at.Everything, true
}

// changed has reads see a change, or, without a position, all that there is.
func (c *conn) changed(session *Session, position gtid.Value) {
	then := c.memory
	if session != nil {
		then, _ = session.recall(nil)
	}
	now := then
	if position.IsEmpty() {
		now.Unsettle()
	} else {
		now.Wrote(position)
	}
	if session != nil {
		session.remember(&then, &now, true)
	} else {
		c.memory = now
	}
	c.c.writes.add(position)
}
