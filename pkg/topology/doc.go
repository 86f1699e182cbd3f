// Package topology answers, at any moment and without a lock: which server is the primary, which
// ones may be read, and what has each of them applied?
//
// A Monitor asks every server at an interval, each in a goroutine of its own, and publishes what
// it makes of the answers as an immutable route.Snapshot. Fill copies the newest one for a
// decision and adds what changes between two checks: the positions that callers learned from
// answers (Learn) and the numbers of statements under way (Acquire, Release).
//
// Nothing is trusted before it is proven. A server is not read until it was seen to replicate,
// and no primary is chosen before every server that could be one has been asked or is certainly
// gone. With two servers that take writes and have no source there is no primary.
//
// What is known of a server's position only grows, as long as it is the same server in the same
// run of its process. It is dropped when the server was restarted or replaced, and when it reports
// less than what was known.
package topology
