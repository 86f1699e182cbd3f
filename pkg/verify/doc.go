// Package verify answers: does what stands behind this address keep what a
// consistency level promises? It knows the address and nothing else, so that a
// proxy, a server and a server's replica are judged alike.
//
// Clients write numbers into registers, which are rows of a table that the run
// makes and drops, and read them. The numbers of a register are given out in
// one order, and a write changes nothing where a higher number stands: the
// register holds the highest number that has arrived. So a read is judged when
// it returns, by comparing its number with a few others, and nothing of the
// history is needed: not for a million reads, and not for a write whose outcome
// is unknown, which may take effect at any later time without moving a register
// backwards.
//
//	r, err := verify.Run(ctx, verify.Options{Read: proxy, Write: proxy, Clients: 64, Duration: time.Minute})
//	if !r.Keeps(verify.Session) { ... r.Violations ... }
//
// What is checked of a read that returned n, where "before" means that one had
// returned when the other began:
//
//   - own writes: n is not below what the session wrote to the register before;
//     a write that changed nothing does not count
//   - monotonic reads: n is not below what the session read there before
//   - write order: who has seen a write sees, from then on, every write that
//     had returned before that one began
//   - cross-session: n is not below what anybody wrote there before
//   - linearizable: besides, n is not below what anybody read there before, or
//     did not change because of it, and somebody has begun to write it
//
// The last two together are linearizability of such a register, exactly.
// Windows of the history are also put to the checker of another author.
//
// A session ends with its connection: what follows is another session, which
// nothing was promised to. A read that fails is counted by its error and judged
// nowhere. A read that finds no table or row has seen the time before the run,
// which is older than everything.
//
// It promises to touch no table that it did not make.
//
// # Stability
//
// Exported names, what their comments promise and the words that String returns stay as they are within a major
// version; names, fields and words can be added. The texts of errors, and with them
// the keys of Result.Errors, can change, and what the clients do in which order. A later version can find
// what an earlier one did not see.
package verify
