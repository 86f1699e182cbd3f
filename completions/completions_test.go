package completions_test

import (
	"bytes"
	"errors"
	"io/fs"
	"testing"

	"github.com/mysqlrw/mysqlrw/completions"
)

func TestScript(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		script, err := completions.Script(shell)
		if err != nil {
			t.Errorf("%s: %v", shell, err)
		}
		// What completes must go by the hidden command, which runs nothing: a
		// line that is completed must never be run as it stands.
		if n := bytes.Count(script, []byte(" __complete -- ")); n != 1 {
			t.Errorf("%s: __complete is called %d times, want once", shell, n)
		}
		if !bytes.HasSuffix(script, []byte("\n")) || bytes.Contains(script, []byte("\r")) {
			t.Errorf("%s: lines do not end with a newline alone", shell)
		}
	}
	for _, name := range []string{"", "tcsh", "../completions", "bash/", "BASH"} {
		if _, err := completions.Script(name); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%q: got %v, want no script", name, err)
		}
	}
}
