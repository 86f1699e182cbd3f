package suites

import (
	"errors"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// setting is what an included file inherits from the place that includes it.
// The zero value is a fresh connection.
type setting struct {
	mode    Mode
	charset string // of the connection, "" if its bytes need no care
	reader  string // of mysqltest
}

// visit is one reading of one file.
type visit struct {
	file string // below the suite's folder, with slashes
	setting
}

// walk reads the tests and then, in every context that was met, the files that
// they include.
type walk struct {
	suite    Suite
	language *language
	counts   *Counts
	known    map[string]bool // files of the suite
	queue    []visit
	queued   map[visit]bool
	included map[string]bool
}

// Statements returns every statement of the suite: those of the tests, ordered
// by file and line, and those of the files that tests include, once for every
// mode and character set that they are included under. After an error nothing
// follows. Counts are complete when the iteration is; it must not be nil.
func (s Suite) Statements(counts *Counts) iter.Seq2[Statement, error] {
	return func(yield func(Statement, error) bool) {
		*counts = *newCounts()
		w := &walk{
			suite: s, language: newLanguage(), counts: counts,
			known: map[string]bool{}, queued: map[visit]bool{}, included: map[string]bool{},
		}
		if err := w.run(func(st Statement) bool { return yield(st, nil) }); err != nil {
			yield(Statement{}, err)
		}
	}
}

func (w *walk) run(yield func(Statement) bool) error {
	files, err := w.suite.files()
	if err != nil {
		return err
	}
	for _, file := range files {
		w.known[file] = true
		if path.Ext(file) != ".test" {
			continue
		}
		mode, err := w.language.startMode(filepath.Join(w.suite.Dir, file))
		if err != nil {
			return err
		}
		w.add(visit{file, setting{mode: mode}})
	}
	if goOn, err := w.drain(yield); err != nil || !goOn {
		return err
	}
	for _, file := range files { // what only a name in a variable includes
		if !w.included[file] {
			w.add(visit{file: file})
		}
	}
	_, err = w.drain(yield)
	return err
}

func (w *walk) add(v visit) {
	if w.included[v.file] = true; !w.queued[v] {
		w.queued[v] = true
		w.queue = append(w.queue, v)
	}
}

// drain reads what is in the queue, and what is added meanwhile.
func (w *walk) drain(yield func(Statement) bool) (goOn bool, err error) {
	for len(w.queue) > 0 {
		v := w.queue[0]
		w.queue = w.queue[1:]
		text, err := os.ReadFile(filepath.Join(w.suite.Dir, v.file))
		if err != nil {
			return false, err
		}
		w.counts.Files++
		source := func(name string, c setting) {
			if file, known := w.resolve(v.file, name); known {
				w.add(visit{file, c})
			}
		}
		of := Statement{Flavor: w.suite.Flavor, File: v.file}
		if !w.language.extract(text, of, v.setting, w.counts, source, yield) {
			return false, nil
		}
	}
	return true, nil
}

// resolve finds an included file, which is named from the suites' folder, from
// the suite's own or from beside the file that includes it.
func (w *walk) resolve(from, name string) (string, bool) {
	dir := path.Dir(from)
	for _, base := range []string{"", path.Dir(dir), dir} {
		if file := path.Join(base, name); w.known[file] {
			return file, true
		}
	}
	return "", false
}

// setting returns what a file inherits that is included now.
func (e *extractor) setting() setting {
	c := setting{mode: e.sessions.current.mode}
	if needsCare(e.sessions.current.charset) {
		c.charset = e.sessions.current.charset
	}
	if needsCare(e.reader.charset) {
		c.reader = e.reader.charset
	}
	return c
}

// startMode reads the mode that the test's servers are started with from the
// files of options beside it, NAME.opt and NAME-ROLE.opt.
func (l *language) startMode(test string) (Mode, error) {
	base := strings.TrimSuffix(test, filepath.Ext(test))
	files, err := filepath.Glob(base + "-*.opt")
	if err != nil {
		return 0, err
	}
	mode := Mode(0)
	for _, file := range append(files, base+".opt") {
		text, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, err
		}
		for _, found := range l.patterns.option.FindAllStringSubmatch(string(text), -1) {
			mode |= l.patterns.modesIn(found[1])
		}
	}
	return mode, nil
}
