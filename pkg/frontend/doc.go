// Package frontend answers: who is this client, and what does it want next?
//
// Accept takes a fresh connection through all that comes before the first command: a PROXY header, the
// greeting, TLS, the login by whichever plugin the client has. The caller answers the login with
// WriteOK or WriteError, and then reads commands and writes answers:
//
//	c, login, err := frontend.Accept(ctx, raw, options)
//	err = c.WriteOK(&wire.OK{Status: wire.Autocommit})
//	for {
//		payload, err := c.ReadCommand() // io.EOF: the client has gone
//		...
//		err = c.Write(packets)
//	}
//
// It knows nothing of servers and routing. Whether a password is right is the Authenticator's word:
// what it knows lets a client in at once, and what it does not know is asked of the client in full and
// proven by a server. A client that cannot be asked is told what to do.
//
// # Which plugin
//
// A client is switched at most once, since most clients bear no more, and always to
// caching_sha2_password: it is the only plugin that tells the whole password when the
// hash is not known, or not right any more. mysql_native_password is taken if the client comes with it
// at once, which it does if Options.Plugin offers it, and the hash is known. The order of packets is the
// same for an account that is known and one that is not, until a password was right.
//
// # Memory
//
// A client that says nothing holds no buffer: one is taken when there is something to read, and given
// back with the next call that waits. That needs a plain socket or TLS; TLS keeps a few hundred bytes of
// its own. A command that does not fit 64 KB grows a buffer as its bytes come, not by what its header
// claims.
//
// A Conn has no goroutine. One goroutine uses it at a time; Close, SetDeadline, SetReadDeadline and Gone
// may be called by others.
//
// Passwords stand in no error and no log. One comes in full only over TLS, a unix socket, or encrypted
// with Options.Key. A client that asks for that key believes whoever sends it one: who can change the
// traffic can get at the password. Use TLS where that matters.
package frontend
