// Package backend answers: how does one get an authenticated connection to a MySQL or MariaDB
// server, and how are bytes put through it?
//
// Dial logs in and returns a Conn. There are two ways to use one:
//
// A relay writes whole packets with Write and looks at the answer where it lies, with Fill, Peek and
// Advance, led by wire.Answer; Release ends the answer. Nothing is allocated and nothing copied.
//
//	err := c.Write(packets)
//	answer.Start(command, c.Capabilities())
//	for !answer.Done() {
//		n, step, err := answer.Next(c.Peek())
//		if step == wire.StepMore {
//			_, err = c.Fill(answer.Need())
//			continue
//		}
//		client.Write(c.Peek()[:n])
//		c.Advance(n)
//	}
//	c.Release()
//
// Monitors and the set-up of a session use Exec, ExecAll, Query, Ping, Reset, ChangeUser, InitDB.
// Each of these is one write, and reads its whole answer; their context may end them, which makes
// the connection unusable, since nobody reads the rest of the answer.
//
// Several commands may go in one write. Answer reads the answers to those that go before the one that
// is relayed. CheckIdle finds out beforehand whether the server has gone.
//
// A Conn has no goroutine. One goroutine uses it at a time; SetDeadline and Close may be called by
// another one to interrupt it.
//
// Errors are *Error. Its Sent tells whether the server may have got what was to be sent: false means
// that it may be run elsewhere. A server's own error is a *wire.ServerError within.
//
// Passwords are computed with, never kept, and stand in no error. One is sent as it is only over TLS
// and unix sockets. Over plain TCP, caching_sha2_password, if the server has not seen the account lately,
// and sha256_password ask the server for its public key and believe it, as the mysql client does with --get-server-public-key: who can
// change the traffic can get at the password. Use TLS where that matters.
package backend
