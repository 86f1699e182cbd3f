// Package pagetest answers: does the page of package admin show in a real browser
// what happens to real servers?
//
// It has tests only. They start a cluster, a proxy and its admin server, and steer
// Chromium, which Debian packages as chromium, over the DevTools protocol. Without
// Chromium they are skipped with a line that begins with CHROMIUM MISSING.
package pagetest
