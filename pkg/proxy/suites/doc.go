// Package suites answers: do the servers' own regression suites print through
// the proxy what they print directly?
//
// It fetches the suites of MySQL and MariaDB, has each suite's own runner say
// in its extern mode which tests that mode allows and with which environment
// and arguments, and runs every one of them from the same fresh state three
// times: twice directly on the server, once through the proxy. A test whose
// direct output does not repeat says nothing and does not count.
//
// It is a module of its own, so that a run of hours is no part of the
// project's tests. It runs on Linux.
package suites
