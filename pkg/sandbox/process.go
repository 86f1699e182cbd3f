package sandbox

import (
	"fmt"
	"io"
	"os"
	"os/exec"
)

// process is one run of a server program under guard.
type process struct {
	os     *os.Process
	exited chan struct{} // closed when the process has ended and was reaped
	state  error         // how it ended; to be read after exited is closed
}

// waitScript holds the process back until the guard knows its id: an owner
// that dies earlier closes the pipe, and the program is never run.
const waitScript = `read -r go && exec "$@" </dev/null`

// startProcess runs argv in dir with its output appended to logPath.
//
// The end of the process is seen by a pipe that it inherits and never writes
// to: unlike waiting for the process, the pipe tells of the end while the
// process id is still taken, so the guard can be told in time.
func startProcess(g *guard, argv []string, dir, logPath string) (*process, error) {
	log, err := os.OpenFile(logPath, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	alive, inherited, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer inherited.Close()
	cmd := exec.Command("/bin/sh", append([]string{"-c", waitScript, "mysqlrw-sandbox"}, argv...)...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = serverEnv(), dir, log, log
	cmd.ExtraFiles = []*os.File{inherited}
	ownGroup(cmd)
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		_ = alive.Close()
		return nil, fmt.Errorf("start server: %w", err)
	}
	err = g.add(cmd.Process.Pid)
	if err == nil {
		_, err = io.WriteString(stdin, "go\n")
	}
	_ = stdin.Close()
	p := &process{os: cmd.Process, exited: make(chan struct{})}
	go func() {
		defer close(p.exited)
		_, _ = io.Copy(io.Discard, alive)
		_ = alive.Close()
		_ = g.remove(cmd.Process.Pid) // without a guard there is no one to tell
		p.state = cmd.Wait()
	}()
	if err != nil {
		p.kill()
		return nil, err
	}
	return p, nil
}

// kill ends the process at once and waits until it is gone. A process that
// has ended already is left alone.
func (p *process) kill() {
	_ = p.os.Kill()
	<-p.exited
}

// running reports whether the process has not been reaped.
func (p *process) running() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}
