// Package target answers two questions: which server does a TARGET argument
// mean, and how is it connected to?
//
// Parse reads the argument on top of Settings that come from option files,
// environment and flags, and gives a Target: a name that is safe to print,
// the driver's configuration, and a pool of connections. Explain says in one
// word class what went wrong with a connection or a statement.
//
// It promises that no password appears in an error, in Target.Name or in what
// fmt or an encoder prints of its values, that nothing is registered with the
// driver (TLS settings belong to one Target), and that the driver logs
// nothing.
//
// The rules for an address are those of the mysql client: without a host, and
// for the host "localhost", the connection goes through the unix socket, and
// if none exists the error names it; there is no silent turn to TCP. The one
// difference: a TARGET with a port means TCP, "localhost:3307" too, while the
// client passes over the port there. A port that is not part of the TARGET is
// passed over for localhost, as the client does, unless Protocol is TCP.
//
// It does not know the environment, ask for passwords or connect by itself,
// and it makes no use of a port or host from a DNS SRV record.
//
//	settings, warnings, err := target.FromOptions(options)
//	t, err := target.Parse("repl@db2:3307", settings)
//	db, err := t.Open()
//	if err := db.PingContext(ctx); err != nil {
//		fmt.Fprintf(os.Stderr, "%s: %s\n", t.Name, target.Explain(err))
//	}
package target
