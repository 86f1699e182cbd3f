//go:build !linux

package commands

// fileLimit is not known.
func fileLimit() (uint64, bool) { return 0, false }

// reloading is what a service manager is told before a reload.
func reloading() string { return "RELOADING=1" }
