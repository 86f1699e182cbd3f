package wire

// Converter rewrites a server's answer for a client that agreed on less, or more, than the proxy
// did with the server: EOF packets, and the trackers that the client wants. Packets are numbered
// anew, since an EOF more or less moves those behind it. Rows are copied once and not looked into.
//
// Trackers that came behind rows are lost for a client with SessionTrack and without DeprecateEOF:
// its EOF has no room for them. A server of its own would send some with the next OK.
//
// What else depends on capabilities must be the same on both sides: Protocol41, OptionalMetadata,
// MariaDB's metadata. The zero value needs Start; a Converter is used again by another Start.
type Converter struct {
	answer  Answer
	client  Capability
	keep    func(Tracker) bool
	status  Status
	shift   byte   // what a packet's number is moved by
	left    int    // bytes of the present packet that are still to come
	pending bool   // an EOF is to be written before what comes next
	eofSeq  byte   // its number
	out     Status // flags of an OUT parameters' result, for the EOF in front of its row
	calls   []bool // of the statements that are still to end; see Statements
	set     Status // flags that the client is to see in each packet that has any
	scratch []byte
}

// Start prepares for the answer to a command, as Answer.Start. status is what the session's status
// was before: it goes into the EOF packets that a server with DeprecateEOF leaves out. keep tells
// which trackers the client gets if it has SessionTrack; nil means all.
func (c *Converter) Start(command Command, server, client Capability, status Status, keep func(Tracker) bool) bool {
	*c = Converter{
		client: client, keep: keep, scratch: c.scratch[:0],
		status: status &^ (SessionStateChanged | MoreResults | CursorExists),
	}
	return c.answer.Start(command, server)
}

// Set adds flags to the status that the client sees: of a transaction that the server does not know
// of yet, for one. It is called behind Start.
func (c *Converter) Set(flags Status) { c.set = flags }

// Begin says that the server's first packet has another number than the client's: the command took
// the two another number of packets. It is called behind Start.
func (c *Converter) Begin(server, client byte) { c.shift = client - server }

// Statements says which of the command's statements may have several results, as CALL, behind which
// there is an OK, too. A server says in the EOF behind the definitions already whether something
// follows the result, and clients that want one look there. It is called behind Start; without it
// there is one statement with one result.
func (c *Converter) Statements(calls []bool) { c.calls = calls }

// Answer returns the state of the server's answer: it is done when this is. Use its Next through
// Append only.
func (c *Converter) Answer() *Answer { return &c.answer }

// Shift returns what was added to the numbers of the server's packets. After StepFile and StepAuth
// the client's packets are numbered by its own view, and the server wants them without it.
func (c *Converter) Shift() byte { return c.shift }

// Append passes the first step of b, as Answer.Next, and appends what the client gets for it.
func (c *Converter) Append(dst, b []byte) (out []byte, n int, step Step, err error) {
	if c.pending && c.answer.command == ComStmtExecute {
		if need := c.peekOut(b); need > len(b) {
			c.answer.need = need
			return dst, 0, StepMore, nil
		}
	}
	blocks := c.answer.blocks
	n, step, err = c.answer.Next(b)
	if err != nil || step == StepMore {
		return dst, n, step, err
	}
	if c.pending {
		dst = c.appendPending(dst, step)
	}
	switch {
	case step == StepEOF && c.client.Has(DeprecateEOF):
		c.shift--
	case step == StepEnd:
		dst = c.appendEnd(dst, b[:n])
		if len(c.calls) > 0 && (!c.calls[0] || !c.answer.final.AfterRows) {
			c.calls = c.calls[1:]
		}
	default:
		dst = c.relay(dst, b[:n])
	}
	for ; c.answer.blocks != blocks && c.addsEOF(); blocks++ { // two if a prepare's are empty
		c.pending, c.eofSeq = true, c.answer.seq+c.shift
		c.shift++
		if c.answer.command == ComStmtPrepare {
			dst = c.appendPending(dst, step)
		}
	}
	return dst, n, step, nil
}

func (c *Converter) addsEOF() bool {
	return c.answer.caps.Has(DeprecateEOF) && !c.client.Has(DeprecateEOF)
}

// maxOutRow is the longest row that is held back to see whether it is one of OUT parameters.
const maxOutRow = 64 << 10

// peekOut looks behind the definitions for a single row of OUT parameters. Clients want to know it
// from the EOF in front of the row, and a server with DeprecateEOF says it behind. It returns how
// many bytes b must have to tell.
func (c *Converter) peekOut(b []byte) (need int) {
	c.out = 0
	if len(b) <= HeaderSize {
		return HeaderSize + 1
	}
	row, _ := Header(b)
	if b[HeaderSize] != okByte || row > maxOutRow { // no binary row, or none of interest
		return 0
	}
	end := HeaderSize + row
	if len(b) <= end+HeaderSize {
		return end + HeaderSize + 1
	}
	length, _ := Header(b[end:])
	if b[end+HeaderSize] != eofByte {
		return 0
	}
	end += HeaderSize
	if len(b) < end+length {
		return end + length
	}
	var ok OK
	if ok.Decode(b[end:end+length], c.answer.caps) == nil && ok.Status.Has(OutParameters) {
		c.out = ok.Status & (OutParameters | MoreResults)
	}
	return 0
}

// appendPending writes the EOF behind definitions. Behind those of a cursor there is one EOF only.
func (c *Converter) appendPending(dst []byte, step Step) []byte {
	c.pending = false
	if step == StepEnd && c.answer.command == ComStmtExecute && c.answer.final.Status.Has(CursorExists) {
		c.shift--
		return dst
	}
	eof := OK{EOF: true, Status: c.status | c.out | c.set}
	if c.answer.command != ComStmtPrepare && (len(c.calls) > 1 || len(c.calls) == 1 && c.calls[0]) {
		eof.Status |= MoreResults
	}
	c.out = 0
	start := len(dst)
	dst, _ = Finish(eof.Append(Reserve(dst), c.client), start, c.eofSeq)
	return dst
}

// appendEnd writes the OK or EOF that the client gets for packet.
func (c *Converter) appendEnd(dst, packet []byte) []byte {
	const both = DeprecateEOF | SessionTrack
	if c.keep == nil && c.set == 0 && (c.client^c.answer.caps)&both == 0 {
		return c.relay(dst, packet)
	}
	_, seq := Header(packet)
	end := c.answer.final
	end.Status |= c.set
	if end.Status.Has(OutParameters) && c.addsEOF() && c.answer.caps.Has(LongPassword) {
		end.Status &^= OutParameters | MoreResults // MySQL forgets them in an EOF, and clients count on it
	}
	c.scratch = end.For(c.client, c.keep, c.scratch[:0])
	start := len(dst)
	dst, _ = Finish(end.Append(Reserve(dst), c.client), start, seq+c.shift)
	return dst
}

// relay copies packets or parts of them and moves their numbers. A header is never cut in two.
func (c *Converter) relay(dst, b []byte) []byte {
	start := len(dst)
	dst = append(dst, b...)
	if c.shift == 0 { // which changes between packets only
		return dst
	}
	out := dst[start:]
	i := c.left
	for i < len(out) {
		length, _ := Header(out[i:])
		out[i+3] += c.shift
		i += HeaderSize + length
	}
	c.left = i - len(out)
	return dst
}
