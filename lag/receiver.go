package lag

import (
	"context"
	"strconv"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/status"
)

// receiverAge returns how long a channel's receiver has been running, to the
// second on MySQL. It is not known without the privilege to see it (MySQL:
// SELECT on performance_schema.threads, MariaDB: PROCESS), nor with MySQL's
// performance_schema off.
//
// A receiver that loses its source and finds it again is not a new one.
func (m *measurer) receiverAge(ctx context.Context, channel string) (age time.Duration, known bool, err error) {
	var args []any
	if m.identity.Flavor == flavor.MySQL {
		args = append(args, channel)
	}
	rows, err := status.Query(ctx, m.q, flavor.ReceiverAge(m.identity.Flavor), args...)
	if status.IsDenied(err) || status.IsMissing(err) {
		return 0, false, nil
	}
	if err != nil || len(rows) == 0 {
		return 0, false, err
	}
	seconds, err := strconv.ParseFloat(rows[0].Text("age"), 64)
	if err != nil || seconds < 0 {
		return 0, false, nil
	}
	return time.Duration(seconds * float64(time.Second)), true, nil
}

// starting reports whether a channel's receiver is so new that it may not have
// heard from its source yet.
func (m *measurer) starting(ctx context.Context, channel string) (bool, error) {
	age, known, err := m.receiverAge(ctx, channel)
	return known && age < firstWord, err
}
