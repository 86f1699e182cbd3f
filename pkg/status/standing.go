package status

import (
	"context"
	"errors"
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
	row, err := QueryRow(ctx, q, StandingQuery(f))
	if err != nil {
		return Standing{}, fmt.Errorf("read the primary's position: %w", err)
	}
	return ReadStanding(f, row.Text)
}

// StandingQuery is the query of AskStanding, for who has no Querier. Its one row is for ReadStanding.
func StandingQuery(f flavor.Flavor) string {
	if f == flavor.MariaDB {
		return "SELECT @@GLOBAL.read_only AS ro, @@GLOBAL." + flavor.AppliedPosition + " AS applied, @@GLOBAL.gtid_binlog_pos AS written"
	}
	// From left to right: a transaction that ends in between is seen in one of the two.
	return "SELECT @@GLOBAL.read_only AS ro, @@GLOBAL.gtid_mode AS mode, @@GLOBAL.gtid_owned AS owned, @@GLOBAL.gtid_executed AS executed"
}

// ReadStanding reads the row of StandingQuery, whose texts are had by the names of its columns.
func ReadStanding(f flavor.Flavor, text func(column string) string) (Standing, error) {
	if f == flavor.MariaDB {
		return mariadbStanding(text)
	}
	executed, err := parseValue(f, text("executed"))
	if err != nil {
		return Standing{}, fmt.Errorf("read gtid_executed: %w", err)
	}
	s := Standing{Executed: executed, Everything: executed, ReadOnly: text("ro") != "0", NoGTIDs: text("mode") != "ON"}
	if text := text("owned"); text != "" {
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

func mariadbStanding(text func(column string) string) (Standing, error) {
	applied, err := parseValue(flavor.MariaDB, text("applied"))
	if err != nil {
		return Standing{}, fmt.Errorf("read the applied position: %w", err)
	}
	written, err := parseValue(flavor.MariaDB, text("written"))
	if err != nil {
		return Standing{}, fmt.Errorf("read gtid_binlog_pos: %w", err)
	}
	all, err := applied.Union(written)
	if err != nil {
		return Standing{}, err
	}
	ro := text("ro")
	return Standing{Executed: applied, Everything: all, ReadOnly: ro != "0" && ro != "OFF"}, nil
}

// AskLogStanding does what AskStanding does on a MySQL server without GTIDs, by its binary log: that is
// ahead of what has been committed, so Executed is empty.
func AskLogStanding(ctx context.Context, q Querier) (Standing, error) {
	row, err := QueryRow(ctx, q, "SELECT @@GLOBAL.read_only AS ro, @@GLOBAL.server_uuid AS uuid")
	if err != nil {
		return Standing{}, fmt.Errorf("read the primary's position: %w", err)
	}
	end, err := ownLog(ctx, q, row.Text("uuid"))
	return Standing{Everything: end.Value(), ReadOnly: row.Text("ro") != "0"}, err
}

// LogPosition returns where a MySQL server with this UUID stands by binary log: a replica in its source's,
// up to where it has applied it, and a server without a source at the end of its own, of which it may not
// have committed everything yet. It is no place on a replica of several sources, or on one that keeps no
// positions.
func LogPosition(ctx context.Context, q Querier, uuid string) (gtid.LogPos, error) {
	channels, err := Channels(ctx, q, flavor.MySQL)
	switch {
	case err != nil || len(channels) > 1:
		return gtid.LogPos{}, err
	case len(channels) == 0:
		end, err := ownLog(ctx, q, uuid)
		if errors.Is(err, ErrNoBinaryLog) {
			return gtid.LogPos{}, nil
		}
		return end, err
	}
	c := &channels[0]
	if c.SourceUUID == "" || c.Exec.IsZero() { // it has not been connected yet
		return gtid.LogPos{}, nil
	}
	source, err := gtid.ParseUUID(c.SourceUUID)
	if err != nil {
		return gtid.LogPos{}, fmt.Errorf("read replica status: %w", err)
	}
	return gtid.LogPos{Source: source, FilePos: c.Exec}, nil
}

// ownLog returns the end of the binary log of the server with this UUID.
func ownLog(ctx context.Context, q Querier, uuid string) (gtid.LogPos, error) {
	source, err := gtid.ParseUUID(uuid)
	if err != nil {
		return gtid.LogPos{}, fmt.Errorf("read server_uuid: %w", err)
	}
	end, err := BinaryLog(ctx, q, flavor.MySQL)
	return gtid.LogPos{Source: source, FilePos: end}, err
}
