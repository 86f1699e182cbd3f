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
//	st := route.Classify(text, &session.Options)                  // what the statement is
//	d := session.Decide(&st, text, &policy, &snapshot, &rotation) // who may run it
//	session.Apply(&st, text, &d, &snapshot, outcome)              // what the session is after it
//
// The rule behind all of it: a statement is a Read only if it certainly changes
// nothing and depends on nothing that lives on one connection. What is not
// understood is Unknown, and Unknown goes to the primary.
//
// # Following a decision
//
// Decide never waits and asks nobody. What takes time it asks of its caller:
//
//   - Fetch: ask the primary for its position, give it to Snapshot.SetCurrent, and decide again.
//   - Hold: let that time pass, and decide again with a snapshot of then.
//   - Wait: have the server wait that long for Require. If it does not get there, Fallback says what comes
//     of it: decide again with Policy.NoWait, or give the client TimeoutText.
//   - Target is ToPrimary and Server -1: there is none now. Wait for one and decide again, or give the
//     client Error.
//   - Target is ToHolder or ToLast: it must be the very connection that the session has there.
//   - Target is ToAll: run it on one of the session's connections, and again on each other one before that
//     is used.
//   - Target is Answer: no server is asked, as for SET mysqlrw_consistency. Target is Refuse: the client
//     gets Error. Refusal has the number that goes with it.
//
// Then Apply is told what the server said, be it an error.
//
// # Stability
//
// Exported names, what their comments promise and the words that String returns stay as they are within a major
// version; names, fields and words can be added. Explanations and the texts of Decision.Error can change. A
// statement can become a Read that was Unknown, and one of several servers that may run a statement can be
// chosen for other reasons.
package route
