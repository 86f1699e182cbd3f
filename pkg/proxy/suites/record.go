package suites

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// verdict is what the runs of a test have shown.
type verdict string

const (
	skipped  verdict = "skipped"
	direct   verdict = "direct"   // it has not run through the proxy
	expected verdict = "expected" // the proxy's output is the suite's own result, and it has not run directly
	unstable verdict = "unstable" // two direct runs differ
	same     verdict = "same"
	differs  verdict = "differs"
)

// record is what is kept of a test. Its outputs are files beside it.
type record struct {
	Name    string
	Verdict verdict
	Reason  string  `json:",omitempty"` // of skipped
	Passes  bool    // it succeeds directly, with the suite's own result
	Ends    bool    // it comes to its end directly
	Seconds float64 // of a direct run
	Reads   reads   `json:",omitzero"` // of the last run through the proxy
}

// store is the folder of records.
type store struct{ dir string }

func (s store) path(name, kind string) string { return filepath.Join(s.dir, name+"."+kind) }

// read returns the record of a test; nil if there is none.
func (s store) read(name string) (*record, error) {
	text, err := os.ReadFile(s.path(name, "json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var r record
	return &r, json.Unmarshal(text, &r)
}

func (s store) write(r *record) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return os.WriteFile(s.path(r.Name, "json"), append(text, '\n'), 0o644)
}

func (s store) keep(name, kind string, o outcome) error {
	return os.WriteFile(s.path(name, kind), o.text, 0o644)
}

// forget removes a test's record and outputs.
func (s store) forget(name string) error {
	files, err := filepath.Glob(s.path(name, "*"))
	failed := []error{err}
	for _, file := range files {
		failed = append(failed, os.Remove(file))
	}
	return errors.Join(failed...)
}

// runDirect runs a test on the server itself.
func (w *worker) runDirect(ctx context.Context, j *job, s store) (*record, error) {
	r := &record{Name: j.test.Name, Verdict: skipped, Reason: j.wishes.skip}
	if r.Reason != "" {
		return r, s.write(r)
	}
	o, err := w.run(ctx, j, false, false)
	if err != nil {
		return nil, err
	}
	r.Seconds, r.Ends = o.seconds, o.exit == 0
	switch {
	case o.exit == skipsItself:
		r.Reason = "skips itself"
	case o.timedOut:
		r.Reason = "takes longer than " + testLimit.String()
	default:
		r.Verdict = direct
	}
	if want, err := os.ReadFile(j.test.expected()); err == nil {
		r.Passes = r.Ends && bytes.Equal(o.result, want)
	}
	return r, errors.Join(s.keep(r.Name, "direct", o), s.write(r))
}

// runSweep runs a test through the proxy only. If that prints the suite's own
// result, then so would the server. Nil is returned if it does not.
func (w *worker) runSweep(ctx context.Context, j *job, s store) (*record, error) {
	want, err := os.ReadFile(j.test.expected())
	if err != nil || j.wishes.skip != "" {
		return nil, nil
	}
	o, err := w.run(ctx, j, true, false)
	if err != nil || o.exit != 0 || !bytes.Equal(o.result, want) {
		return nil, err
	}
	r := &record{Name: j.test.Name, Verdict: expected, Passes: true, Ends: true, Seconds: o.seconds, Reads: o.reads}
	return r, errors.Join(s.keep(r.Name, "proxy", o), s.write(r))
}

// settle compares a direct run with one through the proxy that was before it.
func (s store) settle(r *record) error {
	one, err := os.ReadFile(s.path(r.Name, "direct"))
	if err != nil || r.Verdict != direct {
		return err
	}
	other, err := os.ReadFile(s.path(r.Name, "proxy"))
	if err != nil || !bytes.Equal(one, other) {
		return err
	}
	r.Verdict = same
	return s.write(r)
}

// runProxy runs a test through the proxy. An output that is the direct run's
// has been printed twice, so it repeats. Of one that differs new servers
// decide: whether it is the test that does not repeat, or the proxy. If quick
// it is taken to be the proxy.
func (w *worker) runProxy(ctx context.Context, j *job, s store, r *record, quick bool) error {
	kept, err := os.ReadFile(s.path(r.Name, "direct"))
	if err != nil {
		return err
	}
	through, err := w.run(ctx, j, true, false)
	if err != nil {
		return err
	}
	r.Reads = through.reads
	if bytes.Equal(through.text, kept) {
		r.Verdict = same
		return errors.Join(s.keep(r.Name, "proxy", through), s.write(r))
	}
	if quick {
		r.Verdict = differs
		return errors.Join(s.keep(r.Name, "proxy", through), s.write(r))
	}
	var first, second outcome
	for _, o := range []*outcome{&first, &second} {
		if *o, err = w.run(ctx, j, false, true); err != nil {
			return err
		}
	}
	if through, err = w.run(ctx, j, true, true); err != nil {
		return err
	}
	r.Reads = through.reads
	switch {
	case bytes.Equal(through.text, second.text):
		r.Verdict = same
	case bytes.Equal(first.text, second.text):
		r.Verdict = differs
	default:
		r.Verdict = unstable
	}
	return errors.Join(s.keep(r.Name, "direct", second), s.keep(r.Name, "proxy", through), s.write(r))
}
