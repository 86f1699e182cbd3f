//go:build unix

package commands_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mysqlrw/mysqlrw/commands"
)

// patience bounds every wait for an event; only a failing test waits that long.
const patience = 30 * time.Second

// TestScript runs the scripts that need no server.
func TestScript(t *testing.T) {
	folder, err := filepath.Abs("../completions")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, scriptParams("script", func(e *testscript.Env) error {
		e.Setenv("COMPLETIONS", folder)
		e.Setenv("GOOS", runtime.GOOS)
		e.Setenv("GOARCH", runtime.GOARCH)
		return nil
	}, nil))
}

// scriptParams are the parameters of the scripts in a folder of testdata.
// setup and more are added to what all scripts have.
func scriptParams(folder string, setup func(*testscript.Env) error,
	more map[string]func(*testscript.TestScript, bool, []string),
) testscript.Params {
	p := testscript.Params{
		Dir:                 filepath.Join("testdata", folder),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
		Setup: func(e *testscript.Env) error {
			if err := isolate(e); err != nil {
				return err
			}
			return setup(e)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"call": cmdCall, "exits": cmdExits, "until": cmdUntil,
			"start": cmdStart, "signal": cmdSignal, "ended": cmdEnded, "waitfor": cmdWaitFor,
			"json": cmdJSON, "capture": cmdCapture, "jsonkeys": cmdJSONKeys,
		},
	}
	for name, run := range more {
		p.Cmds[name] = run
	}
	return p
}

// isolate keeps the machine's option files, environment and terminal out of a
// script. CLOSED is an address on which nothing listens.
func isolate(e *testscript.Env) error {
	home := filepath.Join(e.WorkDir, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		return err
	}
	closed, err := closedPort()
	if err != nil {
		return err
	}
	e.Setenv("HOME", home)
	e.Setenv("NO_COLOR", "1")
	e.Setenv(raceOptions, noSleep)
	e.Setenv("TERM", "dumb")
	e.Setenv("CLOSED_PORT", closed)
	e.Setenv("CLOSED", "127.0.0.1:"+closed)
	e.Values[jobsKey{}] = &jobs{env: e, running: map[string]*job{}}
	return nil
}

// closedPort returns a port that is bound and not listened on, for as long as
// the tests run: nobody else gets it, and connections to it are refused.
func closedPort() (string, error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		return "", err
	}
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return "", err
	}
	address, err := syscall.Getsockname(fd)
	if err != nil {
		return "", err
	}
	return strconv.Itoa(address.(*syscall.SockaddrInet4).Port), nil
}

// exitCode runs a program in the foreground.
func exitCode(ts *testscript.TestScript, argv []string) int {
	err := ts.Exec(argv[0], argv[1:]...)
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	ts.Fatalf("%s: %v", argv[0], err)
	return -1
}

// cmdCall is "call CODE ARGS...": mysqlrw in this process, which takes a tenth
// of the time of a new one. Names of files must be absolute, and there is
// neither stdin nor a terminal.
func cmdCall(ts *testscript.TestScript, neg bool, args []string) {
	want := codeAnd(ts, neg, append(args, ""), "call CODE ARGS...")
	stdout, stderr, got := call(ts, args[1:])
	show(ts, stdout, stderr)
	if got != want {
		ts.Fatalf("exit code %d, want %d; stderr:\n%s", got, want, stderr)
	}
}

// cmdUntil is "until CODE ARGS...": calls until it exits so.
func cmdUntil(ts *testscript.TestScript, neg bool, args []string) {
	want := codeAnd(ts, neg, append(args, ""), "until CODE ARGS...")
	var stdout, stderr string
	err := poll(func() (err error) {
		var got int
		if stdout, stderr, got = call(ts, args[1:]); got != want {
			err = fmt.Errorf("exit code %d, want %d", got, want)
		}
		return err
	})
	show(ts, stdout, stderr)
	ts.Check(err)
}

func call(ts *testscript.TestScript, args []string) (stdout, stderr string, code int) {
	return callIn(ts.Getenv, args...)
}

// callIn runs a command line in this process. One that does not end is
// cancelled, and its exit code then is one that no script wants.
func callIn(getenv func(string) string, args ...string) (stdout, stderr string, code int) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	var out, messages bytes.Buffer
	code = commands.Call(ctx, args, &out, &messages, getenv)
	if ctx.Err() != nil {
		code = -1
		messages.WriteString("it does not end\n")
	}
	return out.String(), messages.String(), code
}

func show(ts *testscript.TestScript, stdout, stderr string) {
	_, err := io.WriteString(ts.Stdout(), stdout)
	ts.Check(err)
	_, err = io.WriteString(ts.Stderr(), stderr)
	ts.Check(err)
}

// cmdExits is "exits CODE PROGRAM ARGS...".
func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	want := codeAnd(ts, neg, args, "exits CODE PROGRAM ARGS...")
	if got := exitCode(ts, args[1:]); got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func codeAnd(ts *testscript.TestScript, neg bool, args []string, usage string) int {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: %s", usage)
	}
	code, err := strconv.Atoi(args[0])
	ts.Check(err)
	return code
}

// jobs are the programs that a script has in the background.
type jobs struct {
	env     *testscript.Env
	running map[string]*job
}

type jobsKey struct{}

type job struct {
	cmd   *exec.Cmd
	ended chan struct{}
}

// over reports whether the program has ended. A job that is nil never does.
func (j *job) over() bool {
	if j == nil {
		return false
	}
	select {
	case <-j.ended:
		return true
	default:
		return false
	}
}

// cmdStart is "start NAME PROGRAM ARGS...": a program in the background whose
// output goes to the files NAME.out and NAME.err.
func cmdStart(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: start NAME PROGRAM ARGS...")
	}
	all := ts.Value(jobsKey{}).(*jobs)
	name := args[0]
	cmd := exec.Command(args[1], args[2:]...) // found on the PATH of the test, where TestMain put it
	cmd.Dir = ts.MkAbs(".")
	for _, v := range all.env.Vars {
		key, _, _ := strings.Cut(v, "=")
		cmd.Env = append(cmd.Env, key+"="+ts.Getenv(key))
	}
	stdout, err := os.Create(ts.MkAbs(name + ".out"))
	ts.Check(err)
	defer stdout.Close()
	stderr, err := os.Create(ts.MkAbs(name + ".err"))
	ts.Check(err)
	defer stderr.Close()
	cmd.Stdout, cmd.Stderr = stdout, stderr
	ts.Check(cmd.Start())
	j := &job{cmd: cmd, ended: make(chan struct{})}
	go func() {
		defer close(j.ended)
		_ = cmd.Wait() // the state tells
	}()
	all.running[name] = j
	ts.Defer(func() {
		_ = cmd.Process.Kill() // no effect if it has ended
		<-j.ended
	})
}

func findJob(ts *testscript.TestScript, name string) *job {
	j := ts.Value(jobsKey{}).(*jobs).running[name]
	if j == nil {
		ts.Fatalf("no program %q was started", name)
	}
	return j
}

// cmdSignal is "signal INT|TERM|HUP|KILL NAME".
func cmdSignal(ts *testscript.TestScript, neg bool, args []string) {
	signals := map[string]os.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL, "HUP": syscall.SIGHUP}
	if neg || len(args) != 2 || signals[args[0]] == nil {
		ts.Fatalf("usage: signal INT|TERM|HUP|KILL NAME")
	}
	ts.Check(findJob(ts, args[1]).cmd.Process.Signal(signals[args[0]]))
}

// cmdEnded is "ended CODE NAME": waits for the end of a started program.
func cmdEnded(ts *testscript.TestScript, neg bool, args []string) {
	want := codeAnd(ts, neg, args, "ended CODE NAME")
	j := findJob(ts, args[1])
	select {
	case <-j.ended:
	case <-time.After(patience):
		ts.Fatalf("%s still runs; stderr:\n%s", args[1], ts.ReadFile(args[1]+".err"))
	}
	if got := j.cmd.ProcessState.ExitCode(); got != want {
		ts.Fatalf("exit code %d, want %d; stderr:\n%s", got, want, ts.ReadFile(args[1]+".err"))
	}
}

// cmdWaitFor is "waitfor FILE PATTERN": waits until a file has a text. It gives
// up when the program whose output the file is has ended.
func cmdWaitFor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: waitfor FILE PATTERN")
	}
	pattern, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	job := ts.Value(jobsKey{}).(*jobs).running[strings.TrimSuffix(args[0], filepath.Ext(args[0]))]
	ts.Check(poll(func() error {
		over := job.over()
		text, err := os.ReadFile(ts.MkAbs(args[0]))
		if err == nil && !pattern.Match(text) {
			err = fmt.Errorf("%s has no %q:\n%s", args[0], args[1], text)
		}
		if err != nil && over {
			ts.Fatalf("%v\nthe program has ended: %v", err, job.cmd.ProcessState)
		}
		return err
	}))
}

// poll calls try until it returns nil, and returns its last error if it never does.
func poll(try func() error) error {
	deadline := time.Now().Add(patience)
	for {
		err := try()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}
