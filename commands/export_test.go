package commands

import (
	"context"
	"io"
	"strings"
	"time"
)

// Call runs a command line as Main does, in this process, without a terminal
// and with nothing on stdin, and returns the exit code.
func Call(ctx context.Context, args []string, stdout, stderr io.Writer, getenv func(string) string) int {
	return run(ctx, &environment{
		args: args, stdin: strings.NewReader(""), stdout: stdout, stderr: stderr,
		getenv: getenv, now: time.Now, home: getenv("HOME"), user: "tester",
		readPassword: func(string) (string, error) { return "", usagef("there is no terminal") },
	})
}
