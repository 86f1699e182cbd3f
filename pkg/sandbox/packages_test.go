package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestFetchPackage fetches a small package that Debian has always had.
func TestFetchPackage(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing is downloaded under -short")
	}
	if _, err := newApt(t.TempDir(), "", nil); errors.Is(err, errNoApt) {
		t.Skip(err)
	}
	cache := t.TempDir()
	var lines []string
	o := InstallOptions{CacheDir: cache, Progress: func(line string) { lines = append(lines, line) }}
	root, err := FetchPackage(t.Context(), o, "hello")
	if err != nil {
		t.Fatal(err)
	}
	if !exists(filepath.Join(root, "usr/bin/hello")) || !strings.HasPrefix(filepath.Base(root), "hello_") {
		t.Errorf("the package is not complete in %s", root)
	}
	if exists(filepath.Join(root, "usr/share/doc")) {
		t.Error("documentation was not removed")
	}
	if left, _ := filepath.Glob(filepath.Join(cache, "tmp-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	fetched := len(lines)
	again, err := FetchPackage(t.Context(), o, "hello")
	if err != nil || again != root || len(lines) != fetched {
		t.Errorf("the second time got %s, %v after %q, want %s at once", again, err, lines[fetched:], root)
	}
}

// TestFetchPackage_fails names the package, and leaves nothing that is taken
// for it later.
func TestFetchPackage_fails(t *testing.T) {
	if _, err := newApt(t.TempDir(), "", nil); errors.Is(err, errNoApt) {
		t.Skip(err)
	}
	cache := t.TempDir()
	o := InstallOptions{CacheDir: cache, Mirror: "file:" + filepath.Join(cache, "no-archive")}
	_, err := FetchPackage(t.Context(), o, "hello")
	if err == nil || !strings.Contains(err.Error(), "fetch package hello") {
		t.Errorf("got %v, want an error that names the package", err)
	}
	left, err := os.ReadDir(cache)
	if err != nil || len(left) != 1 || left[0].Name() != "lock" {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if _, err := FetchPackage(t.Context(), InstallOptions{}, "hello"); err == nil {
		t.Error("got no error without a cache folder")
	}
}

// TestFetchProgram runs a program of a package, with the libraries that it came with.
func TestFetchProgram(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing is downloaded under -short")
	}
	if _, err := newApt(t.TempDir(), "", nil); errors.Is(err, errNoApt) {
		t.Skip(err)
	}
	var lines []string
	o := InstallOptions{CacheDir: t.TempDir(), Progress: func(line string) { lines = append(lines, line) }}
	argv, root, err := FetchProgram(t.Context(), o, "hello", "hello")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), argv[0], append(argv[1:], "--version")...).Output()
	if err != nil || !strings.Contains(string(out), "GNU Hello") || !strings.HasPrefix(argv[0], root) {
		t.Errorf("%v: got %q, %v", argv, out, err)
	}
	fetched := len(lines)
	if again, _, err := FetchProgram(t.Context(), o, "hello", "hello"); err != nil || again[0] != argv[0] || len(lines) != fetched {
		t.Errorf("the second time got %v, %v after %q", again, err, lines[fetched:])
	}
}

// TestFetchProgram_fails names the package.
func TestFetchProgram_fails(t *testing.T) {
	if _, err := newApt(t.TempDir(), "", nil); errors.Is(err, errNoApt) {
		t.Skip(err)
	}
	cache := t.TempDir()
	_, _, err := FetchProgram(t.Context(), InstallOptions{CacheDir: cache, Mirror: "file:" + filepath.Join(cache, "no-archive")}, "hello", "hello")
	if err == nil || !strings.Contains(err.Error(), "fetch package hello") {
		t.Errorf("got %v, want an error that names the package", err)
	}
	if _, _, err := FetchProgram(t.Context(), InstallOptions{}, "hello", "hello"); err == nil {
		t.Error("got no error without a cache folder")
	}
}
