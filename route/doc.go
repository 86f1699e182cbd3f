// Package route answers, for one statement of one client session, which server
// may run it, and why.
//
// It is pure: text, session state, policy and a snapshot of the servers go in,
// a Decision comes out. No network, no clock, no goroutine, no lock. The
// commands classify and route and the proxy call the same functions, so that
// what is explained is what is done.
//
// Three steps, each usable alone:
//
//	st := route.Classify(text, options)             // what the statement is
//	d := session.Decide(st, text, policy, snapshot) // who may run it
//	session.Apply(st, text, d, outcome)             // what the session is after it
//
// The rule behind all of it: a statement is a Read only if it certainly changes
// nothing and depends on nothing that lives on one connection. What is not
// understood is Unknown, and Unknown goes to the primary.
package route
