// Package instant answers: what can a proxy do if the servers behind it cost nothing?
//
// Server speaks the protocol and answers one point select at once, with the same row; Client sends nothing but
// that. Everything else, such as what a proxy asks to watch a server and to begin a session, goes through to a
// real server, so that a proxy finds what it expects. Both run as processes of their own.
package instant
