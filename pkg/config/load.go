package config

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"

	"github.com/BurntSushi/toml"
)

// maxSize is far over any file that was written for this.
const maxSize = 1 << 20

// Options are what a file may refer to. What is left out is not looked at:
// passwords are then not known, nor whether certificates can be used.
type Options struct {
	// Getenv returns a variable and whether it is set, for password-env.
	Getenv func(name string) (string, bool)
	// ReadFile reads what password-file and the ssl- keys name.
	ReadFile func(path string) ([]byte, error)
	// Mode is that of the file itself: a password in it is refused if others
	// may read it. 0 is not checked.
	Mode fs.FileMode
	// Set has values that are stronger than the file's.
	Set []Setting
}

// Setting is one value that an operator gave to a running proxy.
type Setting struct {
	// Key is "section.key", such as "policy.session-timeout"; tables that there can be several of have none.
	Key   string
	Value string
}

// Load reads a file and all that it refers to; relative paths in it start from
// its folder. With no getenv it refers to nothing, for a caller that will
// connect to nothing: passwords and certificates are not read. The warnings are there with and without an error; the error is
// of type Errors unless the file cannot be read at all. Each setting is stronger than the file.
func Load(path string, getenv func(name string) (string, bool), set ...Setting) (c *Config, warnings Errors, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, nil, err
	}
	o := Options{Mode: info.Mode(), Set: set}
	if runtime.GOOS == "windows" { // it has no such bits
		o.Mode = 0
	}
	if getenv != nil {
		o.Getenv = getenv
		o.ReadFile = func(name string) ([]byte, error) {
			if !filepath.IsAbs(name) {
				name = filepath.Join(filepath.Dir(path), name)
			}
			return os.ReadFile(name)
		}
	}
	return Parse(path, text, o)
}

// Parse is Load for a text; name stands in its errors.
func Parse(name string, text []byte, o Options) (c *Config, warnings Errors, err error) {
	r := &reporter{file: name, text: strings.TrimPrefix(string(text), "\uFEFF")}
	if len(text) > maxSize {
		r.errorAt(0, "the file has more than %d bytes: it is no configuration", maxSize)
		return nil, nil, r.errors
	}
	var root map[string]any
	if _, err := toml.Decode(r.text, &root); err != nil {
		r.syntax(err)
		return nil, nil, r.errors
	}
	c = defaults()
	d := &decoder{reporter: r, places: indexOf(r.text), failed: map[string]bool{}}
	d.table("", root, reflect.ValueOf(c).Elem())
	d.set(c, o.Set)
	check := &checker{decoder: d, config: c, options: o}
	check.all()
	warnings = inOrder(r.warnings)
	if len(r.errors) > 0 {
		return nil, warnings, inOrder(r.errors)
	}
	return c, warnings, nil
}

// syntax reports what the TOML parser says. It may quote the text, and a
// password without quotes is a likely mistake.
func (r *reporter) syntax(err error) {
	var parse toml.ParseError
	if !errors.As(err, &parse) {
		r.errorAt(0, "%s", err)
		return
	}
	at := min(max(parse.Position.Start, 0), len(r.text))
	line, _, _ := strings.Cut(r.text[strings.LastIndexByte(r.text[:at], '\n')+1:], "\n")
	message := parse.Message
	if strings.Contains(strings.ToLower(line+parse.LastKey), "passw") {
		message = "the value is not TOML: write it in quotes, or in ''' if there are quotes or backslashes in it"
	}
	r.errorAt(at, "%s", message)
}
