// Package status answers what one server says about itself: flavor, version,
// role, GTID sets and replication channels, as one record for every flavor
// and version.
//
// Columns are found by name, in the newest spelling (pkg/flavor), and a value
// that the server does not give stays absent: a NULL is nil, never 0 or "".
// Statements that an old or a different server does not know are tried in
// their other spelling; a missing privilege is kept in the record with what
// it hides, unless nothing can be told without it.
//
// It does not judge: how far behind a channel is, is the question of package
// lag; whether a position is reached, of package waitpos.
//
//	server, err := status.Read(ctx, db)
//	for _, c := range server.Channels {
//		fmt.Println(c.Name, c.Source(), c.Receiver, c.Applier)
//	}
package status
