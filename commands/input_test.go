package commands_test

import (
	"os"
	"os/exec"
	"testing"
)

// TestInterruptedInput presses Ctrl-C once while the program waits for stdin,
// which no signal interrupts.
func TestInterruptedInput(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"classify", "-"}, {"gtid", "count", "-"}} {
		c := exec.Command(program, args...)
		c.Args[0] = "mysqlrw" // TestMain runs the command of that name
		c.Env = append(os.Environ(), "HOME="+t.TempDir())
		stdin, err := c.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		// A pipe holds 64 KiB: when more has been taken, the program is reading.
		if _, err := stdin.Write(make([]byte, 1<<17)); err != nil {
			t.Fatal(err)
		}
		if err := c.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		_ = c.Wait()
		if code := c.ProcessState.ExitCode(); code != 130 {
			t.Errorf("%v: exit code %d, want 130", args, code)
		}
	}
}
