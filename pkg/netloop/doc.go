// Package netloop answers: how do thousands of goroutines wait for their connections at less cost than the
// runtime's poller has?
//
// The runtime wakes a goroutine by way of its scheduler: a thread that polls hands the goroutine to another
// thread, which has to be woken, and looks after both with a third. For a relay that does a few microseconds
// of work for each message that costs more than the work. Here a few loops wait for all connections (epoll)
// and run the waiting goroutine themselves, as a coroutine, until it waits again.
//
// A Task is such a goroutine. What it reads and writes through a Conn that it was given with Conn.Attach
// parks it, and the loop goes on. Anything else that may take long, such as a channel or a lookup of a name,
// would keep the loop from its other tasks: Task.Leave goes before it, and the task then runs on a goroutine
// of its own until it next waits for a connection.
//
// Loops are there on Linux. Elsewhere Start returns nil, whose methods leave connections as they are and run
// tasks as ordinary goroutines.
package netloop
