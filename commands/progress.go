package commands

import (
	"fmt"
	"strings"
	"sync"

	"github.com/urfave/cli/v2"

	"github.com/mysqlrw/mysqlrw/pkg/verify"
	"github.com/mysqlrw/mysqlrw/waitpos"
)

// progress is one line on stderr that is drawn again in place. It shows the
// target that has most left, and only on a terminal. Its methods may be called
// from several goroutines.
type progress struct {
	env   *environment
	shown bool

	mu    sync.Mutex
	drawn bool
	state []waiting
}

type waiting struct {
	name  string
	first uint64 // transactions missing at the first look
	left  waitpos.Progress
}

func newProgress(env *environment, c *cli.Context, targets int) *progress {
	return &progress{env: env, shown: env.stderrTerminal && !c.Bool("quiet"), state: make([]waiting, targets)}
}

func (p *progress) update(i int, name string, left waitpos.Progress) {
	if !p.shown {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	w := &p.state[i]
	w.name, w.left = name, left
	w.first = max(w.first, left.Count)
	slowest := w
	for i := range p.state {
		if p.state[i].left.Count > slowest.left.Count {
			slowest = &p.state[i]
		}
	}
	p.drawn = true
	fmt.Fprintf(p.env.stderr, "\r\x1b[K%s", slowest)
}

// verify shows how far a run of verify is.
func (p *progress) verify(at verify.Progress) {
	if !p.shown {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drawn = true
	fmt.Fprintf(p.env.stderr, "\r\x1b[K%d reads, %.0fs", at.Reads, at.Elapsed.Seconds())
	if at.Duration > 0 {
		fmt.Fprintf(p.env.stderr, " of %s", shortDuration(at.Duration))
	}
}

// String is "127.0.0.1:3307 [#####.....] 50 of 100 transactions left, 1.5s".
func (w *waiting) String() string {
	if w.first == 0 {
		return fmt.Sprintf("%s: %s left, %.1fs", w.name, w.left.Missing, w.left.Waited.Seconds())
	}
	const width = 20
	done := int(float64(w.first-w.left.Count) / float64(w.first) * width)
	return fmt.Sprintf("%s [%s%s] %d of %d transactions left, %.1fs", w.name,
		strings.Repeat("#", done), strings.Repeat(".", width-done), w.left.Count, w.first, w.left.Waited.Seconds())
}

// clear takes the line away, so that the result stands on a clean line.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drawn {
		fmt.Fprint(p.env.stderr, "\r\x1b[K")
	}
}
