package suites

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// process is a program that runs until it is killed, in a process group of
// its own.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// start starts a program. It dies with this process.
func start(argv, env []string, dir string, out io.Writer) (*process, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = env, dir, out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, done: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // how it ended is nobody's question: it is killed
		close(p.done)
	}()
	return p, nil
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// kill ends the program and whatever it has started, and waits for it.
func (p *process) kill() {
	if p == nil {
		return
	}
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // it may have ended by itself
	<-p.done
}

// finished is what a program that ends by itself has printed.
type finished struct {
	stdout, stderr []byte
	exit           int // -1 if it was killed
	timedOut       bool
}

// run runs a program to its end, or kills it and what it has started when the
// time is over.
func run(ctx context.Context, limit time.Duration, argv, env []string, dir string, stdin io.Reader) (finished, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var stdout, stderr strings.Builder
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env, cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = env, dir, stdin, &stdout, &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	f := finished{
		stdout: []byte(stdout.String()), stderr: []byte(stderr.String()),
		exit: -1, timedOut: errors.Is(ctx.Err(), context.DeadlineExceeded),
	}
	if cmd.ProcessState != nil {
		f.exit = cmd.ProcessState.ExitCode()
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it left behind
	}
	var failed *exec.ExitError
	if err == nil || errors.As(err, &failed) || errors.Is(err, exec.ErrWaitDelay) || f.timedOut {
		return f, nil
	}
	return f, fmt.Errorf("run %s: %w", argv[0], err)
}

// awaitGreeting waits until a server greets on the socket.
func awaitGreeting(ctx context.Context, socket string, p *process, limit time.Duration) error {
	deadline := time.Now().Add(limit)
	for {
		err := greeted(socket)
		switch {
		case err == nil:
			return nil
		case p.ended():
			return errors.New("the server ended")
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case time.Now().After(deadline):
			return fmt.Errorf("no greeting within %s: %w", limit, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func greeted(socket string) error {
	conn, err := net.DialTimeout("unix", socket, time.Second)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetReadDeadline(time.Now().Add(2 * time.Second)); err != nil {
		return err
	}
	head := make([]byte, 5)
	if _, err := io.ReadFull(conn, head); err != nil {
		return err
	}
	if head[4] == 0xff {
		return errors.New("the server greets with an error")
	}
	return nil
}

// cleanEnv is what a program needs of this process's environment.
func cleanEnv() []string {
	return []string{"PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL=C", "HOME=" + os.TempDir()}
}
