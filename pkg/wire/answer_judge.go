package wire

import "encoding/binary"

// judge reads a packet that opens or ends something, and moves on.
func (a *Answer) judge(p []byte) (Step, error) {
	if p[0] == errByte {
		return a.judgeError(p)
	}
	switch a.state {
	case stHead:
		return a.judgeHead(p)
	case stPrepare:
		return a.judgePrepare(p)
	case stText:
		a.state = stDone
		return StepRelay, nil
	case stAuth:
		if p[0] == eofByte || p[0] == moreDataByte {
			return StepAuth, nil
		}
	case stDefsEOF:
		return a.judgeDefsEOF(p)
	case stRows, stFields:
		if p[0] != eofByte {
			return 0, a.unexpected(HeaderSize, "EOF, OK or an error")
		}
	case stDefs:
		return 0, a.unexpected(HeaderSize, "a definition")
	}
	return a.judgeEnd(p)
}

// judgeError ends the answer, at whatever point: MySQL reports an error among the rows so. A
// progress packet ends nothing.
func (a *Answer) judgeError(p []byte) (Step, error) {
	if len(p) < 3 {
		return 0, a.unexpected(HeaderSize, "an error packet")
	}
	if a.caps.Has(MariaDBProgress) && IsProgress(p) { // else it is an error of that number, which SIGNAL can raise
		return StepRelay, nil
	}
	a.errPayload = p
	a.state = stDone
	return StepError, nil
}

func (a *Answer) judgeHead(p []byte) (Step, error) {
	switch p[0] {
	case okByte, eofByte:
		return a.judgeEnd(p)
	case fileByte:
		return StepFile, nil // what follows is another head
	}
	if err := a.head.Decode(p, a.caps); err != nil {
		return 0, err
	}
	a.block = stRows
	a.bare = a.head.NoMetadata
	a.openBlock(a.head.Columns)
	return StepHead, nil
}

func (a *Answer) judgePrepare(p []byte) (Step, error) {
	if err := a.prepared.Decode(p, a.caps); err != nil {
		return 0, err
	}
	a.block = stDone
	a.bare = a.prepared.NoMetadata
	if a.prepared.Params > 0 {
		a.afterDefs = int(a.prepared.Columns)
		a.openBlock(int(a.prepared.Params))
	} else if a.prepared.Columns > 0 {
		a.openBlock(int(a.prepared.Columns))
	} else {
		a.state = stDone
	}
	return StepHead, nil
}

// judgeDefsEOF reads the EOF between definitions and rows. If it says that there is a cursor, no
// rows follow. If it says that the row holds OUT parameters, MySQL's EOF behind the row does not
// say again that more results follow, and they do.
func (a *Answer) judgeDefsEOF(p []byte) (Step, error) {
	if p[0] != eofByte || len(p) != eofSize {
		return 0, a.unexpected(HeaderSize, "the EOF behind definitions")
	}
	status := Status(binary.LittleEndian.Uint16(p[3:]))
	if a.command == ComStmtExecute && a.block == stRows && status.Has(CursorExists) {
		return a.judgeEnd(p)
	}
	if status.Has(OutParameters) {
		a.out = status & (OutParameters | MoreResults)
	}
	a.nextBlock()
	return StepEOF, nil
}

// judgeEnd reads an OK or EOF. Only statements can have more results.
func (a *Answer) judgeEnd(p []byte) (Step, error) {
	if err := a.final.Decode(p, a.caps); err != nil {
		return 0, err
	}
	a.final.Status |= a.out
	a.out = 0
	more := a.final.Status.Has(MoreResults)
	switch a.command {
	case ComQuery, ComStmtExecute, ComStmtBulkExecute, ComProcessInfo:
	default:
		more = false
	}
	a.state = stDone
	if more {
		a.state = stHead
	}
	return StepEnd, nil
}
