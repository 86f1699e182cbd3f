// Package child answers: how is a program run beside the benchmark, what does it cost, and how does it end?
package child

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// patience is how long a program may take to end when it is asked to, before it is killed.
const patience = 5 * time.Second

// Process is a program that runs until Stop.
type Process struct {
	name string
	cmd  *exec.Cmd
	said log
	done chan struct{} // closed when it was reaped
	err  error         // of its end; to be read when done is closed
}

// Options are what a process needs besides its arguments.
type Options struct {
	Name  string   // what errors call it
	Dir   string   // "" is that of the caller
	Env   []string // all of it; secrets go here and not into arguments, which everybody can read
	Stdin io.Reader
}

// Start runs a program in a process group of its own, so that a Ctrl-C of the terminal does not reach it:
// the caller ends it with Stop, and the kernel if the caller is killed.
func Start(o Options, argv ...string) (*Process, error) {
	p := &Process{name: o.Name, cmd: exec.Command(argv[0], argv[1:]...), done: make(chan struct{})}
	p.said.lines = make(chan string, 1000)
	p.cmd.Dir, p.cmd.Env, p.cmd.Stdin = o.Dir, append(basicEnv(), o.Env...), o.Stdin
	p.cmd.Stdout, p.cmd.Stderr = &p.said, &p.said
	p.cmd.WaitDelay = patience
	detach(p.cmd)
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", o.Name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.said.lines)
		close(p.done)
	}()
	return p, nil
}

// basicEnv is what every program gets: nothing of the caller's settings may change what is measured.
func basicEnv() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
}

// PID is that of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Await reads what the process says line by line until accept takes one, and returns an error with its last
// lines if it ends before that.
func (p *Process) Await(ctx context.Context, accept func(line string) bool) error {
	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", p.name, context.Cause(ctx))
		case line, ok := <-p.said.lines:
			if !ok {
				<-p.done
				return p.failed()
			}
			if accept(line) {
				return nil
			}
		}
	}
}

// Poll calls ready until it is nil, and returns an error if the process ends or ctx is done before that.
func (p *Process) Poll(ctx context.Context, ready func() error) error {
	for {
		err := ready()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w: %w", p.name, context.Cause(ctx), err)
		case <-p.done:
			return p.failed()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Wait waits for the end of a process that ends by itself, and returns what it said.
func (p *Process) Wait(ctx context.Context) (string, error) {
	select {
	case <-ctx.Done():
		_ = p.Stop()
		return p.said.text(), fmt.Errorf("wait for %s: %w", p.name, context.Cause(ctx))
	case <-p.done:
	}
	if p.err != nil {
		return p.said.text(), p.failed()
	}
	return p.said.text(), nil
}

func (p *Process) failed() error {
	err := p.err
	if err == nil {
		err = errors.New("it has ended")
	}
	return fmt.Errorf("%s: %w: %s", p.name, err, lastLines(p.said.text(), 4))
}

// Stop asks the process to end, kills it if it does not, and returns when it is gone. It may be called again.
func (p *Process) Stop() error {
	select {
	case <-p.done:
		return nil
	default:
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
		return nil
	case <-time.After(patience):
	}
	_ = p.cmd.Process.Kill()
	<-p.done
	return fmt.Errorf("%s did not end within %s and was killed", p.name, patience)
}

// log keeps what a process says, and hands the lines on while somebody reads them.
type log struct {
	mu    sync.Mutex
	all   bytes.Buffer
	part  []byte
	lines chan string
}

// Write drops lines that nobody awaits once there are many: a program must never wait for its reader.
func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all.Write(b)
	l.part = append(l.part, b...)
	for {
		line, rest, ok := bytes.Cut(l.part, []byte{'\n'})
		if !ok {
			return len(b), nil
		}
		select {
		case l.lines <- string(line):
		default:
		}
		l.part = rest
	}
}

func (l *log) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// lastLines returns the last lines of a text that are not blank, joined.
func lastLines(text string, n int) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines[max(0, len(lines)-n):], " | ")
}
