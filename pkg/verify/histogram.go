package verify

import (
	"math/bits"
	"time"
)

// subBits gives every power of two 32 buckets: a value is known within 3 %.
const subBits = 5

// histogram counts durations. The zero value is empty.
type histogram struct {
	counts []int64
	total  int64
	max    time.Duration
}

func bucketOf(d time.Duration) int {
	n := uint64(max(d, 0))
	if n < 1<<subBits {
		return int(n)
	}
	shift := bits.Len64(n) - subBits - 1
	return shift<<subBits + int(n>>shift)
}

// upper is the largest duration of a bucket.
func upper(bucket int) time.Duration {
	if bucket < 1<<subBits {
		return time.Duration(bucket)
	}
	shift := bucket>>subBits - 1
	return time.Duration(uint64(bucket-shift<<subBits+1)<<shift - 1)
}

func (h *histogram) add(d time.Duration) {
	at := bucketOf(d)
	if at >= len(h.counts) {
		h.counts = append(h.counts, make([]int64, at+1-len(h.counts))...)
	}
	h.counts[at]++
	h.total++
	h.max = max(h.max, d)
}

func (h *histogram) merge(other *histogram) {
	if n := len(other.counts) - len(h.counts); n > 0 {
		h.counts = append(h.counts, make([]int64, n)...)
	}
	for i, n := range other.counts {
		h.counts[i] += n
	}
	h.total += other.total
	h.max = max(h.max, other.max)
}

// quantile returns the value that a share of all do not exceed, rounded up to
// the end of its bucket.
func (h *histogram) quantile(share float64) time.Duration {
	left := int64(share * float64(h.total))
	for i, n := range h.counts {
		if left -= n; left < 0 {
			return min(upper(i), h.max)
		}
	}
	return h.max
}

// Spread tells of a distribution of durations. Its zero value is of none.
type Spread struct {
	Count         int64         // of how many durations
	P50, P99, Max time.Duration // 50 and 99 of 100 are not above P50 and P99, which are rounded up by 3 % at most
}

func (h *histogram) spread() Spread {
	return Spread{Count: h.total, P50: h.quantile(0.5), P99: h.quantile(0.99), Max: h.max}
}
