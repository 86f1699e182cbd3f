package commands

import (
	"context"
	"io"
	"os"
	"os/signal"
	"os/user"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/term"
)

// environment is everything outside the program that a command may touch.
// Tests of a command give their own.
type environment struct {
	args   []string // without the program's name
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
	getenv func(string) string
	now    func() time.Time

	home string // the user's home directory, "" if there is none
	user string // the user's name, the default account

	stdinTerminal  bool // somebody would have to type
	stdoutTerminal bool // colours and redrawing are welcome
	stderrTerminal bool // progress lines are welcome
	width          int  // columns of the terminal, 0 if stdout is none

	readPassword func(prompt string) (string, error) // asks on the terminal
}

// Main runs mysqlrw with the arguments of the process and returns its exit code.
func Main() int {
	stdin := &input{File: os.Stdin}
	env := &environment{
		args:   os.Args[1:],
		stdin:  stdin,
		stdout: os.Stdout,
		stderr: os.Stderr,
		getenv: os.Getenv,
		now:    time.Now,

		stdinTerminal:  term.IsTerminal(int(os.Stdin.Fd())),
		stdoutTerminal: term.IsTerminal(int(os.Stdout.Fd())),
		stderrTerminal: term.IsTerminal(int(os.Stderr.Fd())),
		readPassword:   askPassword,
	}
	if me, err := user.Current(); err == nil {
		env.user = me.Username
	}
	if home, err := os.UserHomeDir(); err == nil {
		env.home = home
	}
	if env.stdoutTerminal {
		env.width, _, _ = term.GetSize(int(os.Stdout.Fd()))
	}
	ctx, stop := withSignals(context.Background(), stdin)
	defer stop()
	return run(ctx, env)
}

// input is stdin. Nothing interrupts a read of it, so that a signal has to know
// of one.
type input struct {
	*os.File
	waiting, interrupted atomic.Bool
}

// Read notes that the program waits for what it reads. After a signal there is
// nothing more to read.
func (in *input) Read(p []byte) (int, error) {
	in.waiting.Store(true)
	defer in.waiting.Store(false)
	if in.interrupted.Load() {
		return 0, context.Canceled
	}
	return in.File.Read(p)
}

// interrupt ends later reads, and says whether the program waits in one.
func (in *input) interrupt() bool {
	in.interrupted.Store(true)
	return in.waiting.Load()
}

// secondSignal is how much later a signal must come to count as a second one:
// timeout(1) and terminals may deliver one request twice.
const secondSignal = 300 * time.Millisecond

// withSignals ends the context at the first SIGINT or SIGTERM, with the exit
// code as its cause. The second one ends the process at once: whoever presses
// Ctrl-C twice does not want to wait for the cleaning up. So does the first one
// while the program waits for input: nothing runs on a server then.
func withSignals(parent context.Context, stdin *input) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		var first time.Time
		code := 0
		for {
			select {
			case s := <-signals:
				if code != 0 && time.Since(first) > secondSignal {
					os.Exit(code)
				}
				if code != 0 {
					continue
				}
				first, code = time.Now(), exitInt
				if s == syscall.SIGTERM {
					code = exitTerm
				}
				if stdin.interrupt() {
					os.Exit(code)
				}
				cancel(errSignal{code})
			case <-done:
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		<-ended
		cancel(nil)
	}
}

// askPassword reads a password from the terminal without showing it. It opens
// the terminal itself, so that it works when stdin is a pipe.
func askPassword(prompt string) (string, error) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		tty = os.Stdin
	} else {
		defer tty.Close()
	}
	if !term.IsTerminal(int(tty.Fd())) {
		return "", usagef("a password must be asked for, but there is no terminal: " +
			"use MYSQL_PWD, --password-file or an option file")
	}
	io.WriteString(os.Stderr, prompt)
	secret, err := term.ReadPassword(int(tty.Fd()))
	io.WriteString(os.Stderr, "\n")
	return string(secret), err
}
