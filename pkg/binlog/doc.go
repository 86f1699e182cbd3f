// Package binlog answers: which tables does each transaction change that a server logs? It reads the
// server's binary log as a replica does, and keeps of it what says that; rows are passed over.
//
//	r, err := binlog.Open(ctx, conn, binlog.Options{From: executed, ServerID: 4711})
//	for {
//		if err := r.Next(&e); err != nil { ... }
//		switch e.Kind { ... }
//	}
//
// What comes is Begin, then any number of Table, Statement and Lost, then End, for each transaction, one
// behind the other, with Heartbeat anywhere. The Reader sees to this form whatever the log holds: where a
// log says neither how a transaction begins nor how it ends, as with a statement that stands alone, Begin
// and End are the Reader's own. A transaction that is cut off has a Lost before its End.
//
// The connection's account needs what flavor.GrantReplication gives, on both flavors, and nothing else.
//
// A Reader has no goroutine. One goroutine calls Next; Close may be called by another one to end it.
package binlog
