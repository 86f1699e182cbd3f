package child

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"
)

// What a process says that measures: when the part that counts begins and ends, and what was found.
const (
	saysBegin   = "begin"
	saysEnd     = "end"
	saysOutcome = "outcome "
)

// outcome is what a process found, and what it used for that.
type outcome struct {
	Used  Usage
	Found any
}

// Tell has a process measure and say on out what its parent, which calls Measured, waits for.
func Tell[T any](out io.Writer, measure func(begin, end func()) (T, error)) error {
	say := func(line string) { _, _ = io.WriteString(out, line+"\n") } // who does not read has gone
	var used Usage
	var failed error
	at := func(word string) func() {
		return func() {
			failed = since(&used, os.Getpid())
			say(word)
		}
	}
	got, err := measure(at(saysBegin), at(saysEnd))
	if err == nil {
		err = failed
	}
	if err != nil {
		return err
	}
	b, err := json.Marshal(outcome{used, got})
	say(saysOutcome + string(b))
	return err
}

// Costs is what processes have used in the part that counts. RSS is that at its end.
type Costs struct {
	Own Usage // of the process that measured
	Of  Usage // of the one that was asked for
}

// Measured waits for a process that tells by Tell, decodes into found what it has found, and tells what it and the
// process pid, if that is not 0, have used meanwhile.
func (p *Process) Measured(ctx context.Context, pid int, found any) (c Costs, err error) {
	for _, word := range []string{saysBegin, saysEnd} {
		if err := p.Await(ctx, func(line string) bool { return line == word }); err != nil {
			return c, err
		}
		if pid == 0 {
			continue
		}
		if err := since(&c.Of, pid); err != nil {
			return c, err
		}
	}
	all := outcome{Found: found}
	var decoded error
	err = p.Await(ctx, func(line string) bool {
		text, ok := strings.CutPrefix(line, saysOutcome)
		if ok {
			decoded = json.Unmarshal([]byte(text), &all)
		}
		return ok
	})
	if err == nil {
		err = decoded
	}
	if err != nil {
		return c, err
	}
	c.Own = all.Used
	_, err = p.Wait(ctx)
	return c, err
}

// since makes of what a process had used before what it has used since.
func since(before *Usage, pid int) error {
	now, err := UsageOf(pid)
	now.CPU -= before.CPU
	*before = now
	return err
}
