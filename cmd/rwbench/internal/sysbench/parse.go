// Package sysbench answers: what does sysbench find, with this load, at this address?
package sysbench

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Report is what sysbench says of its measured part. An event is a statement of a point select, and a whole
// transaction else; latencies are of events.
type Report struct {
	Queries       int64
	QPS           float64
	Events        int64
	Errors        int64 // that it ignored, such as deadlocks
	P50, P95, P99 float64
}

// bucket is a line of the histogram: that many events took up to ms.
type bucket struct {
	ms    float64
	count int64
}

var (
	queriesLine = regexp.MustCompile(`^queries:\s+(\d+)\s+\(([\d.]+) per sec\.\)`)
	eventsLine  = regexp.MustCompile(`^transactions:\s+(\d+)\s`)
	errorsLine  = regexp.MustCompile(`^ignored errors:\s+(\d+)\s`)
	bucketLine  = regexp.MustCompile(`^([\d.]+)\s+\|[* ]*\s(\d+)$`)
)

// parse reads the last report of what sysbench prints: the warm-up ends with a report of its own.
func parse(text string) (*Report, error) {
	r := &Report{}
	var histogram []bucket
	reading := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "Latency histogram") {
			histogram, reading = nil, true
			continue
		}
		if m := bucketLine.FindStringSubmatch(line); m != nil && reading {
			ms, _ := strconv.ParseFloat(m[1], 64) // both match
			count, _ := strconv.ParseInt(m[2], 10, 64)
			histogram = append(histogram, bucket{ms, count})
			continue
		}
		if line == "SQL statistics:" {
			*r, reading = Report{}, false
		}
		if m := queriesLine.FindStringSubmatch(line); m != nil {
			r.Queries, _ = strconv.ParseInt(m[1], 10, 64)
			r.QPS, _ = strconv.ParseFloat(m[2], 64)
		}
		if m := eventsLine.FindStringSubmatch(line); m != nil {
			r.Events, _ = strconv.ParseInt(m[1], 10, 64)
		}
		if m := errorsLine.FindStringSubmatch(line); m != nil {
			r.Errors, _ = strconv.ParseInt(m[1], 10, 64)
		}
	}
	if r.Queries == 0 || r.Events == 0 {
		return nil, errors.New("read sysbench's report: it has done nothing")
	}
	var sum int64
	for _, b := range histogram {
		sum += b.count
	}
	if sum == 0 {
		return nil, fmt.Errorf("read sysbench's report: no histogram of %d events", r.Events)
	}
	r.P50, r.P95, r.P99 = percentile(histogram, sum, 50), percentile(histogram, sum, 95), percentile(histogram, sum, 99)
	return r, nil
}

// percentile is the latency that p of 100 events have at most; a bucket is 2 % wide.
func percentile(histogram []bucket, sum int64, p int64) float64 {
	need := (sum*p + 99) / 100
	for _, b := range histogram {
		if need -= b.count; need <= 0 {
			return b.ms
		}
	}
	return histogram[len(histogram)-1].ms
}
