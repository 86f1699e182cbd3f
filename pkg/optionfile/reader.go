package optionfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

const (
	maxDepth = 10       // of includes, as the client has it
	maxFiles = 1000     // a file that includes itself twice would be read 2047 times
	maxSize  = 16 << 20 // bytes of a file; guards against a device
)

var (
	errTooLarge = errors.New("file is larger than 16 MiB")
	errTooMany  = errors.New("more than 1000 option files: do they include each other?")
)

// reader collects the options of one Read.
type reader struct {
	home   string
	groups []string
	files  int // opened so far
	result Result
}

// file reads one option file. Its errors name the file.
func (r *reader) file(path string, depth int) error {
	if r.files++; r.files > maxFiles {
		return fmt.Errorf("read %s: %w", path, errTooMany)
	}
	data, err := readRegular(path, func(mode fs.FileMode) bool { return mode&0o002 == 0 })
	if errors.Is(err, errPermissions) {
		r.warn("%s is ignored: everyone can write it", path)
		return nil
	}
	if err != nil {
		return unreadableError{err}
	}
	return r.text(path, string(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))), depth)
}

// text reads the content of the option file at path.
func (r *reader) text(path, content string, depth int) error {
	var group string
	inGroup, wanted := false, false
	number := 0
	for s := range strings.Lines(content) {
		number++
		if strings.IndexByte(s, 0) >= 0 {
			return fmt.Errorf("%s:%d: %w", path, number, errNulByte)
		}
		l, err := parseLine(s, true)
		if err != nil {
			return fmt.Errorf("%s:%d: %w", path, number, err)
		}
		switch l.kind {
		case groupHeader:
			group, inGroup, wanted = l.text, true, isOneOf(l.text, r.groups)
		case include, includeDir:
			if err := r.directive(l, path, number, depth); err != nil {
				return err
			}
		case optionLine:
			if !inGroup {
				return fmt.Errorf("%s:%d: %w", path, number, errNoGroup)
			}
			if wanted {
				r.add(l, group, path, number)
			}
		}
	}
	return nil
}

// directive follows an include. Only a circle and an unreadable directory are
// errors; a client reads on after any other.
func (r *reader) directive(l line, path string, number, depth int) error {
	if depth >= maxDepth {
		r.warn("%s:%d: %s is ignored: includes are nested more than %d deep",
			path, number, l.text, maxDepth)
		return nil
	}
	files := []string{r.expand(l.text)}
	if l.kind == includeDir {
		var err error
		if files, err = optionFilesOf(l.text); err != nil {
			return fmt.Errorf("%s:%d: %w", path, number, err)
		}
	}
	for _, file := range files {
		err := r.file(file, depth+1)
		if errors.Is(err, errTooMany) {
			return err
		}
		if err != nil {
			r.warn("%s:%d: include: %v", path, number, err)
		}
	}
	return nil
}

// add keeps an option of a wanted group.
func (r *reader) add(l line, group, path string, number int) {
	o := newOption(l.text, l.value)
	o.Group, o.File, o.Line = group, path, number
	r.result.options = append(r.result.options, o)
}

// optionFilesOf lists what !includedir reads: in byte order, hidden files
// too, and ".cnf" itself. Clients do not expand "~" here.
func optionFilesOf(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir) // sorted
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		ext := filepath.Ext(e.Name())
		if ext == ".cnf" || ext == ".ini" && runtime.GOOS == "windows" {
			if info, err := os.Stat(filepath.Join(dir, e.Name())); err == nil && info.IsDir() {
				continue
			}
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	return files, nil
}

// isOneOf compares group names as the client does, without letter case.
func isOneOf(name string, groups []string) bool {
	for _, g := range groups {
		if strings.EqualFold(name, g) {
			return true
		}
	}
	return false
}

// errPermissions is an error of readRegular.
var errPermissions = errors.New("permissions")

// unreadableError says that a file itself could not be read, as opposed to
// something in it.
type unreadableError struct{ error }

func (e unreadableError) Unwrap() error { return e.error }

// readRegular reads a file if allowed says yes to its permission bits. As
// with the client, only regular files are asked: a pipe made for one reader
// is as good as a file. Windows has no such bits.
func readRegular(path string, allowed func(fs.FileMode) bool) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Mode().IsRegular() && runtime.GOOS != "windows" && !allowed(info.Mode().Perm()) {
		return nil, errPermissions
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxSize {
		return nil, fmt.Errorf("read %s: %w", path, errTooLarge)
	}
	return data, nil
}
