package wire

import (
	"encoding/binary"
	"fmt"
)

// Step says what the bytes are that Answer.Next passed.
type Step uint8

// The steps.
const (
	StepMore  Step = iota // none: b ends inside something that must be seen whole; see Need
	StepRelay             // packets, or parts of them, that nobody needs to look at
	StepHead              // the packet that opens a result with rows, or a prepared statement
	StepEOF               // the EOF packet behind definitions, only without DeprecateEOF
	StepFile              // LOCAL INFILE: the server waits for the client's packets
	StepAuth              // COM_CHANGE_USER: the server waits for the client's answer
	StepEnd               // the OK or EOF packet that ends a result; see Final
	StepError             // an error packet, the last of the answer
)

// Answer finds its way through a server's answer to one command: how far it goes, where its
// results end, what its final packets say. It looks at the header and first byte of every packet,
// and reads whole only packets that open or end a result. It copies no bytes and allocates only
// for an error.
//
// Bytes are given to Next as they come, in pieces of any size. The packets may be relayed as they
// are; a caller that wants to change those of a step drops b[:n] and writes its own.
//
// The zero value needs Start. An Answer is used again by another Start.
type Answer struct {
	caps    Capability
	command Command
	state   answerState
	block   answerState // the state behind the definitions that are being passed

	left       int  // bytes of the present packet that are still to pass
	continued  bool // the present packet goes on in the next one
	seq        byte // that the next packet must have
	seqKnown   bool // false before the first packet and after the client's turn
	started    bool
	defs       int   // definitions still to come
	afterDefs  int   // definitions of the second block of a prepared statement
	bare       bool  // definitions are left out; the EOF packets behind them are not
	blocks     uint8 // of definitions that ended, counted for Converter
	need       int
	offset     int    // of b in the answer
	out        Status // flags of an OUT parameters' result, which MySQL leaves out at its end
	rows       uint64
	final      OK
	head       ResultHead
	prepared   PrepareOK
	errPayload []byte
}

type answerState uint8

const (
	stDone answerState = iota
	stHead             // OK, error, file or the head of a result
	stEnd              // OK or EOF
	stText
	stPrepare
	stAuth
	stDefs    // a known number of definitions
	stDefsEOF // EOF, then block
	stRows
	stFields // definitions up to EOF
)

// Start prepares for the answer to a command. caps are those of the connection to the server. It
// returns false for commands whose answer has no end that could be found: binlog dumps, clone and
// what no server knows.
func (a *Answer) Start(command Command, caps Capability) bool {
	*a = Answer{caps: caps, command: command}
	switch command {
	case ComQuit, ComStmtClose, ComStmtSendLongData:
		a.state = stDone
	case ComQuery, ComStmtExecute, ComStmtBulkExecute, ComProcessInfo:
		a.state = stHead
	case ComStmtFetch:
		a.state = stRows
	case ComStmtPrepare:
		a.state = stPrepare
	case ComFieldList:
		a.state = stFields
	case ComStatistics:
		a.state = stText
	case ComChangeUser:
		a.state = stAuth
	case ComInitDB, ComCreateDB, ComDropDB, ComRefresh, ComShutdown, ComProcessKill, ComDebug, ComPing,
		ComStmtReset, ComSetOption, ComResetConnection, ComRegisterReplica:
		a.state = stEnd
	default:
		return false
	}
	return true
}

// Done tells whether the answer is complete. It is at once for commands without an answer.
func (a *Answer) Done() bool { return a.state == stDone && a.left == 0 && !a.continued }

// Started tells whether a byte of the answer was passed.
func (a *Answer) Started() bool { return a.started }

// Between tells whether the bytes passed so far end with a whole message: only there can a proxy
// end the answer with an error of its own.
func (a *Answer) Between() bool { return a.left == 0 && !a.continued }

// Need returns, after StepMore, how many bytes the next b must have at least. That can be more than
// a buffer holds, since an OK packet has as many trackers as the server likes: a GTID set of some
// 100 KB, for one.
func (a *Answer) Need() int { return a.need }

// Final returns what the last StepEnd said. Its slices alias the b of that call.
func (a *Answer) Final() *OK { return &a.final }

// ErrorPayload returns the payload of the error packet, after StepError. It aliases that b.
func (a *Answer) ErrorPayload() []byte { return a.errPayload }

// Head returns the last head of a result.
func (a *Answer) Head() ResultHead { return a.head }

// Prepared returns what COM_STMT_PREPARE was answered, after StepHead.
func (a *Answer) Prepared() PrepareOK { return a.prepared }

// Rows returns how many rows began so far, of all results.
func (a *Answer) Rows() uint64 { return a.rows }

// InRows tells whether rows are what comes now, or the end of them.
func (a *Answer) InRows() bool { return a.state == stRows }

// Sequence returns the number that the server's next packet will have: a proxy that ends the
// answer with an error of its own uses it.
func (a *Answer) Sequence() byte { return a.seq }

// Next passes the first step of b, which begins at the first byte that was not passed yet. n is
// the step's length. Relayed packets are passed as far as b goes, but never across the end of the
// definitions or up to a part of a header; every other step is one whole packet.
//
// After an error the connection cannot be used: nobody knows what its next byte is.
func (a *Answer) Next(b []byte) (n int, step Step, err error) {
	switch {
	case a.Done():
		return 0, StepMore, nil
	case a.left > 0 || a.continued || a.state == stDefs || a.state == stRows || a.state == stFields:
		n, err = a.pass(b)
		switch {
		case n > 0: // an error comes again, on its own
			a.started = true
			a.offset += n
			return n, StepRelay, nil
		case err != nil:
			return 0, StepMore, err
		case a.need > len(b):
			return 0, StepMore, nil
		}
	}
	n, step, err = a.whole(b)
	a.offset += n
	return n, step, err
}

// pass goes over definitions, rows and what is left of them. It returns 0 and no need if the next
// packet must be seen whole.
func (a *Answer) pass(b []byte) (n int, err error) {
	a.need = 0
	if a.left > 0 {
		n = min(a.left, len(b))
		a.left -= n
		if a.left > 0 {
			a.need = 1
			return n, nil
		}
		if !a.continued && a.packetEnded() {
			return n, nil
		}
	}
	for {
		if a.state == stRows && a.seqKnown && !a.continued && a.left == 0 {
			n = a.passRows(b, n)
		}
		rest := b[n:]
		enough := HeaderSize + 1
		if a.continued {
			enough = HeaderSize
		}
		if len(rest) < enough {
			if len(rest) == HeaderSize && uint24(rest) == 0 {
				return n, a.unexpected(n, "a packet that is not empty")
			}
			a.need = enough
			return n, nil
		}
		length := int(uint24(rest))
		if !a.continued && (length == 0 || rest[HeaderSize] >= eofByte && a.special(rest[HeaderSize], length)) {
			return n, nil
		}
		if a.seqKnown && rest[3] != a.seq {
			return n, a.unexpected(n+3, "the next sequence number")
		}
		a.seq, a.seqKnown = rest[3]+1, true
		if a.state == stRows && !a.continued {
			a.rows++
		}
		a.continued = length == MaxPayload
		n += HeaderSize + length
		if n > len(b) {
			a.left = n - len(b)
			a.need = 1
			return len(b), nil
		}
		if a.state != stRows && !a.continued && a.packetEnded() {
			return n, nil
		}
	}
}

// passRows goes over the rows that lie in b[n:] as a whole and can be nothing else. It does no more
// than pass does, in fewer instructions.
func (a *Answer) passRows(b []byte, n int) int {
	seq, rows := a.seq, a.rows
	for len(b)-n > HeaderSize {
		head := binary.LittleEndian.Uint32(b[n:])
		next := n + HeaderSize + int(head&MaxPayload)
		if next > len(b) || byte(head>>24) != seq || head&MaxPayload == MaxPayload || next == n+HeaderSize ||
			b[n+HeaderSize] >= eofByte {
			break
		}
		seq++
		rows++
		n = next
	}
	a.seq, a.rows = seq, rows
	return n
}

// special tells whether a packet that begins with 0xFE or 0xFF is something else than a row or
// definition. A row begins with 0xFE if its first value has 16 MB or more; then its packet is a
// full one. No value begins with 0xFF.
func (a *Answer) special(first byte, length int) bool {
	if first == errByte || a.state != stRows {
		return true
	}
	if a.caps.Has(DeprecateEOF) {
		return length < MaxPayload
	}
	return length <= 8
}

// packetEnded counts a definition that was passed whole, and tells whether it was the last.
func (a *Answer) packetEnded() bool {
	if a.state != stDefs {
		return false
	}
	a.defs--
	if a.defs > 0 {
		return false
	}
	a.endDefs()
	return true
}

// openBlock begins a block of definitions.
func (a *Answer) openBlock(defs int) {
	a.defs = defs
	a.state = stDefs
	if a.bare {
		a.endDefs()
	}
}

// endDefs goes on behind a block of definitions.
func (a *Answer) endDefs() {
	a.blocks++
	if !a.caps.Has(DeprecateEOF) {
		a.state = stDefsEOF
		return
	}
	a.nextBlock()
}

// nextBlock goes on behind a block of definitions and its EOF.
func (a *Answer) nextBlock() {
	a.state = a.block
	if n := a.afterDefs; n > 0 {
		a.afterDefs = 0
		a.openBlock(n)
	}
}

// whole passes one packet that must be seen whole.
func (a *Answer) whole(b []byte) (n int, step Step, err error) {
	if len(b) < HeaderSize {
		a.need = HeaderSize + 1
		return 0, StepMore, nil
	}
	length, seq := Header(b)
	if length == 0 || length == MaxPayload {
		return 0, StepMore, a.unexpected(0, "a packet of 1 to 16777214 bytes")
	}
	if n = HeaderSize + length; len(b) < n {
		a.need = n
		return 0, StepMore, nil
	}
	a.need = 0
	payload := b[HeaderSize:n:n]
	// A server that ends a connection may number its error from 0 again.
	if a.seqKnown && seq != a.seq && payload[0] != errByte {
		return 0, StepMore, a.unexpected(3, "the next sequence number")
	}
	step, err = a.judge(payload)
	if err != nil {
		return 0, StepMore, err
	}
	a.started = true
	a.seq, a.seqKnown = seq+1, step != StepFile && step != StepAuth
	return n, step, nil
}

// unexpected is an error about the packet at b[at:].
func (a *Answer) unexpected(at int, want string) error {
	return &DecodeError{
		Message: fmt.Sprintf("answer to command 0x%02x", byte(a.command)), Offset: a.offset + at, Length: -1, Want: want,
	}
}
