// Package proxy answers: how does a client's statement get to the right server, and its answer back?
//
// A Proxy accepts clients, lets them log in with the accounts of the servers, and runs each statement
// where package route says. It holds no policy, no SQL grammar and no protocol of its own: it is the
// place where route, topology, pool, backend, frontend and sessionstate meet.
//
// One goroutine serves one client, from the login to the end: it reads a command, decides, takes a
// connection, writes state and statement to it in one write, relays the answer in one write, and lets
// the connection go. What a session set is known from the servers' own trackers and carried to
// whichever connection is used next; what cannot be carried holds the connection.
//
// What never happens: a write is sent twice; a statement runs with another session's state; a read
// that was promised a position runs without it. What could not be done is an error that says why.
package proxy
