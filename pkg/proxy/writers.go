package proxy

import (
	"hash/maphash"
	"sync"
	"sync/atomic"

	"github.com/mysqlrw/mysqlrw/pkg/sqltoken"
	"github.com/mysqlrw/mysqlrw/route"
)

// writers are statements that look like reads and are none: a replica has refused them for writing.
// They are known by their digest, so that the next one goes to the primary at once.
type writers struct {
	count atomic.Int64
	mu    sync.RWMutex
	seed  maphash.Seed
	all   map[uint64]struct{}
}

// maxWriters bounds them. What is forgotten is found out again.
const maxWriters = 10_000

func (w *writers) any() bool { return w.count.Load() > 0 }

func (w *writers) has(text string, o *route.Options) bool {
	sum := w.digest(text, o)
	w.mu.RLock()
	defer w.mu.RUnlock()
	_, ok := w.all[sum]
	return ok
}

func (w *writers) add(text string, o *route.Options) {
	w.mu.Lock()
	if w.all == nil {
		w.all, w.seed = map[uint64]struct{}{}, maphash.MakeSeed()
	}
	if len(w.all) >= maxWriters {
		clear(w.all)
	}
	w.mu.Unlock()
	sum := w.digest(text, o)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all[sum] = struct{}{}
	w.count.Store(int64(len(w.all)))
}

// digest is a hash of the text without its comments and with every literal as one.
func (w *writers) digest(text string, o *route.Options) uint64 {
	var h maphash.Hash
	h.SetSeed(w.seed)
	lex := sqltoken.New(text, &o.Options)
	for t := lex.Next(); t.Kind != sqltoken.EOF; t = lex.Next() {
		switch t.Kind {
		case sqltoken.Comment, sqltoken.Hint, sqltoken.Semicolon:
		case sqltoken.String, sqltoken.Number:
			_ = h.WriteByte('?')
		default:
			_ = h.WriteByte(' ')
			for i := t.Start; i < t.End; i++ {
				c := text[i]
				if 'A' <= c && c <= 'Z' {
					c += 'a' - 'A'
				}
				_ = h.WriteByte(c)
			}
		}
	}
	return h.Sum64()
}
