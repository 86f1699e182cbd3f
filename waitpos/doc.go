// Package waitpos answers whether a server has applied a position, and waits
// until it has.
//
// Reached is decided by value: the server's own set or position is compared
// with the target before the first wait and after each one, so the odd answers
// of the servers' wait functions (1, -1 and NULL mean different things on
// different servers) decide nothing. Between two looks the wait happens on the
// server, in slices short enough to notice an applier that stops meanwhile.
//
// What can never arrive is told at once: the applier that would bring it is
// stopped, the source has purged it, or no source has it. A cancelled context
// ends the wait on the server too.
//
//	result, err := waitpos.Wait(ctx, db, waitpos.GTIDs(set.Value()), waitpos.Options{Timeout: 5 * time.Second})
//	switch {
//	case err != nil:           // the server could not be asked
//	case result.Reached:       // a read there sees it now
//	default:                   // result.Reason and result.Missing say why not
//	}
//
// Query and Arrived are for a caller that cannot spend the round trips of Wait: one statement, which the caller sends
// in front of the read itself, and one value. What they cannot tell is why a position is not there.
//
// # Stability
//
// Exported names, what their comments promise and the words that String returns stay as they are within a major
// version; names, fields and words can be added. Result.Detail and the texts of errors
// can change, and so can the statements that a server is asked and how often.
package waitpos
