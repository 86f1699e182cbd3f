// Package wire answers what the bytes between a MySQL or MariaDB client and its server mean, and
// how such bytes are written.
//
// It holds one file for each message or family of messages, with Decode and Append on byte
// slices, and Answer, which finds the end of a server's answer without looking into its rows. It
// does no I/O, starts no goroutine, keeps no state outside the values that the caller owns, and
// allocates nothing where rows and statements pass. Values are not safe for concurrent use;
// functions are.
//
// Lifetimes: a []byte in a decoded message aliases the payload it was decoded from and is good
// as long as that buffer is; a string is a copy. Append functions write behind dst, as append
// does, and keep no reference to it.
//
// Errors: a payload that is cut short, too long or not what the protocol says gives a
// *DecodeError with the offset and what should have stood there. No input makes a panic.
//
// A payload is what stands behind the 4 bytes of a packet's header, joined if the message needed
// several packets (Split, AppendMessage). Most layouts depend on what client and server agreed on
// at the start, so decoders take those capabilities.
//
// Relaying an answer to a command, with the bytes that were read from the server in buf[r:w]:
//
//	var a wire.Answer
//	a.Start(command, capabilities)
//	for !a.Done() {
//		n, step, err := a.Next(buf[r:w])
//		switch {
//		case err != nil:              // the server does not speak the protocol
//		case step == wire.StepMore:   // write what was passed, read until a.Need() bytes are there
//		case step == wire.StepEnd:    // a.Final() has status, trackers, affected rows
//		}
//		r += n
//	}
//
// Layouts are from the manual, "MySQL Client/Server Protocol" in the source documentation at
// dev.mysql.com/doc/dev/mysql-server/latest (the page is named beside each message), and from
// mariadb.com/kb/en/clientserver-protocol. Where a real server differs, the comment says so.
package wire
