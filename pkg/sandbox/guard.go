package sandbox

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"sync"
)

// guardScript kills the servers when the process that owns them is gone,
// whatever ended it: the only writing end of its standard input is held by
// that process, so the kernel closes it. Its arguments are folders to be
// removed afterwards. Killed servers may take a moment to let go of their
// files, hence the second and third try.
const guardScript = `
trap '' HUP INT TERM
pids=
while read -r word arg; do
	case $word in
	add) pids="$pids $arg" ;;
	remove)
		rest=
		for pid in $pids; do [ "$pid" = "$arg" ] || rest="$rest $pid"; done
		pids=$rest
		;;
	end) exit 0 ;;
	esac
	echo ok
done
for pid in $pids; do kill -KILL "$pid"; done
[ $# -gt 0 ] || exit 0
for try in 1 2 3 4 5; do
	rm -rf -- "$@" && exit 0
	sleep 1
done
`

// guard is the process that runs guardScript, in a session of its own.
type guard struct {
	cmd *exec.Cmd

	mu  sync.Mutex // one exchange at a time
	in  io.WriteCloser
	out *bufio.Reader
}

// startGuard starts a guard that removes the given folders if it has to act.
func startGuard(folders ...string) (*guard, error) {
	args := append([]string{"-c", guardScript, "mysqlrw-sandbox-guard"}, folders...)
	cmd := exec.Command("/bin/sh", args...)
	cmd.Env, cmd.Dir = serverEnv(), "/"
	ownSession(cmd)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start guard: %w", err)
	}
	return &guard{cmd: cmd, in: in, out: bufio.NewReader(out)}, nil
}

// add puts a process under guard. It must not run anything yet that an end of
// the owner at this moment would leave behind.
func (g *guard) add(pid int) error { return g.say("add", pid) }

// remove tells the guard that a process has ended. It must be called before
// the process is reaped, while its id cannot belong to another one.
func (g *guard) remove(pid int) error { return g.say("remove", pid) }

func (g *guard) say(word string, pid int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, err := io.WriteString(g.in, word+" "+strconv.Itoa(pid)+"\n"); err != nil {
		return fmt.Errorf("speak to guard: %w", err)
	}
	if _, err := g.out.ReadString('\n'); err != nil {
		return fmt.Errorf("hear from guard: %w", err)
	}
	return nil
}

// end dismisses the guard, which then does nothing, and waits for it.
func (g *guard) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, _ = io.WriteString(g.in, "end\n") // a guard that is gone is as good
	_ = g.in.Close()
	_ = g.cmd.Wait()
}
