package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// The exit codes of every command. They are part of the command-line
// contract: scripts branch on them.
const (
	exitYes     = 0   // the answer is yes, or the work is done
	exitNo      = 1   // the answer is no: over the limit, not contained, not reached in time
	exitUsage   = 2   // usage, configuration or malformed input
	exitUnknown = 3   // cannot tell: unreachable, replication broken, no privilege, unknown lag
	exitInt     = 130 // interrupted (SIGINT)
	exitTerm    = 143 // terminated (SIGTERM)
)

// codeError carries an exit code to Main. Text "" prints nothing: the
// command's output has said it.
type codeError struct {
	code int
	err  error
}

func (e *codeError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *codeError) Unwrap() error { return e.err }

// answer ends a command with a code and no message: its output was the message.
func answer(code int) error {
	if code == exitYes {
		return nil
	}
	return &codeError{code: code}
}

// usagef is an error in what the user typed: exit code 2.
func usagef(format string, args ...any) error {
	return &codeError{code: exitUsage, err: fmt.Errorf(format, args...)}
}

// cannotTell wraps an error that leaves the answer open: exit code 3.
func cannotTell(err error) error { return &codeError{code: exitUnknown, err: err} }

// errSignal is the cause of a context that a signal ended.
type errSignal struct{ code int }

func (e errSignal) Error() string {
	if e.code == exitTerm {
		return "terminated"
	}
	return "interrupted"
}

// report prints err as people see it and returns the exit code of the process.
func report(ctx context.Context, stderr io.Writer, command string, err error) int {
	var signal errSignal
	if errors.As(context.Cause(ctx), &signal) {
		return signal.code
	}
	if err == nil {
		return exitYes
	}
	code := exitUnknown
	var coded *codeError
	if errors.As(err, &coded) {
		code = coded.code
		if coded.err == nil {
			return code
		}
	}
	fmt.Fprintf(stderr, "%s: %s\n", command, err)
	return code
}
