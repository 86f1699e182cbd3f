// Package pool answers: which of a server's connections does a session use for its next statement?
//
// A Pool holds the connections to one server. Connections of one kind (same account, same
// capabilities: the Key) may serve any session of that kind. A session that has done with one for
// now leaves it with Release and stays its owner: Reclaim gives it back, at the cost of a lock,
// unless another session has taken it meanwhile. So as long as there are enough connections every
// session keeps its own, with nothing to set up before a statement, and when there are not, the one
// that was idle longest changes hands. No connection is opened for a session that asks nothing.
//
// The number of connections never exceeds Options.Max, those being opened included. Who finds none
// waits in a queue, first come first served, for as long as its context lasts. A server that refuses
// for having too many connections itself counts as full for a second, and connections are opened a
// few at a time, so that a crowd of clients is no crowd of logins.
//
// A Pool starts no goroutine: connections are opened by those who ask, and Sweep closes idle ones.
package pool
