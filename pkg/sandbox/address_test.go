package sandbox

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestSocketDir(t *testing.T) {
	t.Parallel()
	const file = "replica00.sock.lock"
	for _, length := range []int{10, maxSocketPath - 1 - len(file), maxSocketPath - len(file), 300} {
		dir := "/" + strings.Repeat("d", length-1)
		got, made, err := socketDir(dir, len(file))
		if err != nil {
			t.Fatal(err)
		}
		if made {
			t.Cleanup(func() { _ = os.Remove(got) })
		}
		fits := length <= maxSocketPath-1-len(file)
		if made == fits || fits && got != dir {
			t.Errorf("length %d: got %q, made %v", length, got, made)
		}
		if n := len(filepath.Join(got, file)); n > maxSocketPath {
			t.Errorf("length %d: the socket's path has %d bytes", length, n)
		}
	}
}

func TestFreePort(t *testing.T) {
	t.Parallel()
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	if port < firstPort || port > lastPort {
		t.Errorf("port %d is out of range", port)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(loopback, "0"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, text, _ := net.SplitHostPort(l.Addr().String())
	taken, _ := strconv.Atoi(text)
	if portFree(taken) {
		t.Errorf("port %d is listened on and was called free", taken)
	}
}

func TestPrepareDir(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	empty, full, old := filepath.Join(base, "empty"), filepath.Join(base, "full"), filepath.Join(base, "old")
	for _, dir := range []string{empty, full, old} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{filepath.Join(full, "precious"), filepath.Join(old, lockFile)} {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		dir        string
		made, fail bool
	}{
		{filepath.Join(base, "new", "deep"), true, false},
		{empty, false, false},
		{full, false, true},
		{old, false, true},
	} {
		path, made, err := prepareDir(c.dir)
		if made != c.made || (err != nil) != c.fail {
			t.Errorf("%s: got made %v, %v", c.dir, made, err)
		}
		if err != nil {
			continue
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: got %v, %v, want a folder for its owner only", path, info, err)
		}
	}
	if _, _, err := prepareDir(old); !errors.Is(err, ErrExists) {
		t.Errorf("got %v, want ErrExists", err)
	}
}

func TestOptionValue(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"ABC123":        "ABC123",
		"/tmp/a b.sock": `"/tmp/a b.sock"`,
		`/t/#1"\x`:      `"/t/#1\"\\x"`,
	} {
		if got := optionValue(value); got != want {
			t.Errorf("%s: got %s, want %s", value, got, want)
		}
	}
}
