package rwdb_test

import (
	"context"
	"slices"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/rwdb"
	"github.com/mysqlrw/mysqlrw/route"
)

// testObserved: an observation is the observer's to keep.
func testObserved(t *testing.T, s *site) {
	var seen []rwdb.Observation
	s = s.fresh(t, func(o *rwdb.Options) {
		o.Observe = func(_ context.Context, one rwdb.Observation) { seen = append(seen, one) }
	})
	c := s.conn(t, s.db)
	exec(t, c, t.Context(), "INSERT INTO item VALUES (1, 1)")
	number(t, c, rwdb.WithLevel(t.Context(), route.Strong), priceOf1)
	if len(seen) != 2 || !slices.Equal(seen[0].Reasons, []route.Reason{route.Writes}) {
		t.Errorf("%+v", seen)
	}
}
