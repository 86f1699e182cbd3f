// Package admin answers: how does an operator see and steer a running proxy? It
// serves a page, a JSON API, metrics and health over HTTP.
//
// Whoever reaches the address may look, if only this machine does: a name in the
// Host header that is not this machine's is refused, so that no web page elsewhere
// can read it through a browser. What changes something takes the token, in an
// Authorization header that no page can be made to send; where others can reach the
// address, looking takes it too. No answer has a password, a token or the text of a
// statement in it.
//
// It knows the proxy by its exported methods only. One goroutine takes a sample
// each second, for the lines of the page; net/http has those of the callers.
package admin
