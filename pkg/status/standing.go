package status

import (
	"context"
	"fmt"
	"strings"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/gtid"
)

// Standing is where a primary stands at one moment.
type Standing struct {
	// Executed is what its own readers see at least. On MariaDB that is what it
	// has from its sources; of its own transactions it does not tell.
	Executed gtid.Value
	// Everything is an upper bound of what anybody can have seen, on it or on a
	// replica: Executed and what is being committed, which replicas may have
	// before the primary's own readers.
	Everything gtid.Value
	// ReadOnly says that it takes no writes from ordinary accounts.
	ReadOnly bool
	// NoGTIDs says that MySQL's gtid_mode is not ON: the positions prove nothing.
	NoGTIDs bool
}

// AskStanding asks a primary where it stands, in one query, for which no privilege is needed.
func AskStanding(ctx context.Context, q Querier, f flavor.Flavor) (Standing, error) {
	if f == flavor.MariaDB {
		return mariadbStanding(ctx, q)
	}
	// From left to right: a transaction that ends in between is seen in one of the two.
	row, err := QueryRow(ctx, q, "SELECT @@GLOBAL.read_only AS ro, @@GLOBAL.gtid_mode AS mode, @@GLOBAL.gtid_owned AS owned, "+
		"@@GLOBAL.gtid_executed AS executed")
	if err != nil {
		return Standing{}, fmt.Errorf("read the primary's position: %w", err)
	}
	executed, err := parseValue(f, row.Text("executed"))
	if err != nil {
		return Standing{}, fmt.Errorf("read gtid_executed: %w", err)
	}
	s := Standing{Executed: executed, Everything: executed, ReadOnly: row.Text("ro") != "0", NoGTIDs: row.Text("mode") != "ON"}
	if text := row.Text("owned"); text != "" {
		owned, err := parseOwned(text)
		if err != nil {
			return Standing{}, fmt.Errorf("read gtid_owned: %w", err)
		}
		if s.Everything, err = executed.Union(owned.Value()); err != nil {
			return Standing{}, err
		}
	}
	return s, nil
}

// parseOwned reads gtid_owned: UUID[:TAG]:NUMBER#THREAD[:NUMBER#THREAD...], ....
func parseOwned(text string) (gtid.Set, error) {
	var plain strings.Builder
	for i, source := range strings.Split(text, ",") {
		if i > 0 {
			plain.WriteByte(',')
		}
		for j, part := range strings.Split(strings.TrimSpace(source), ":") {
			if j > 0 {
				plain.WriteByte(':')
			}
			number, _, _ := strings.Cut(part, "#")
			plain.WriteString(number)
		}
	}
	return gtid.Parse(plain.String())
}

func mariadbStanding(ctx context.Context, q Querier) (Standing, error) {
	row, err := QueryRow(ctx, q, "SELECT @@GLOBAL.read_only AS ro, @@GLOBAL."+flavor.AppliedPosition+" AS applied, @@GLOBAL.gtid_binlog_pos AS written")
	if err != nil {
		return Standing{}, fmt.Errorf("read the primary's position: %w", err)
	}
	applied, err := parseValue(flavor.MariaDB, row.Text("applied"))
	if err != nil {
		return Standing{}, fmt.Errorf("read the applied position: %w", err)
	}
	written, err := parseValue(flavor.MariaDB, row.Text("written"))
	if err != nil {
		return Standing{}, fmt.Errorf("read gtid_binlog_pos: %w", err)
	}
	all, err := applied.Union(written)
	if err != nil {
		return Standing{}, err
	}
	ro := row.Text("ro")
	return Standing{Executed: applied, Everything: all, ReadOnly: ro != "0" && ro != "OFF"}, nil
}
