package tracker

import (
	"context"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/gtid"
)

// learned is what was read of the schema: all of asOf is in it, and nothing that is not in until.
type learned struct {
	schema      *Schema
	source      Source
	asOf, until gtid.Value
}

// askSchema asks for the schema to be read again.
func (t *Tracker) askSchema() {
	select {
	case t.asks <- struct{}{}:
	default:
	}
}

// share is how many times longer than a reading of the schema took the next one waits at least.
const share = 5

// readSchemas reads the schema whenever that is asked for, on connections of its own.
func (t *Tracker) readSchemas(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.asks:
		}
		began := time.Now()
		pause := retry
		if l, err := t.readSchema(ctx); err != nil {
			t.mu.Lock()
			t.err = err.Error()
			t.mu.Unlock()
			t.tell()
			t.askSchema()
		} else {
			pause = share * time.Since(began)
			t.mu.Lock()
			t.learned = l
			t.settle()
			t.mu.Unlock()
			t.tell()
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

func (t *Tracker) readSchema(ctx context.Context) (*learned, error) {
	conn, source, err := t.o.Connect(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Quit() }()
	ctx, cancel := context.WithTimeout(ctx, schemaTimeout)
	defer cancel()
	before, err := standing(ctx, conn)
	if err != nil {
		return nil, err
	}
	schema, err := ReadSchema(ctx, conn)
	if err != nil {
		return nil, err
	}
	after, err := standing(ctx, conn)
	if err != nil {
		return nil, err
	}
	t.schemas.Add(1)
	asOf := before.Executed
	if conn.Server().Flavor == flavor.MariaDB {
		asOf = before.Everything // it does not tell more, and has a DDL in its log when that can be seen
	}
	return &learned{schema: schema, source: source, asOf: asOf, until: after.Everything}, nil
}

// settle takes in what was read of the schema, as soon as the log has been read so far that all DDL that may be in
// it is known. It is called with mu held.
func (t *Tracker) settle() {
	l := t.learned
	if l == nil || !t.following || !t.book.read.Has(l.until) {
		return
	}
	t.learned = nil
	if l.source != t.source || !t.book.learn(l.schema, l.asOf) {
		t.askSchema()
		return
	}
	t.err = ""
	close(t.ready)
	t.ready = make(chan struct{})
}
