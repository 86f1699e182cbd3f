package lag

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/status"
)

// ErrReadOnly is returned by Beat for a server that is read-only: a row
// written there by a privileged account would be an errant transaction.
var ErrReadOnly = errors.New("the server is read-only: a heartbeat is written on the primary")

// CreateHeartbeatTable creates the table, and its database, if they are not
// there. The table is the one of pt-heartbeat, so that its readers read it too.
func CreateHeartbeatTable(ctx context.Context, db *sql.DB, name string) error {
	quoted, err := QuoteTable(name)
	if err != nil {
		return err
	}
	database := tableName.FindStringSubmatch(name)[1]
	for _, statement := range []string{
		"CREATE DATABASE IF NOT EXISTS `" + database + "`",
		flavor.HeartbeatTable(quoted),
	} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("create %s: %w", name, err)
		}
	}
	return nil
}

// Beat writes the server's own row once: the server's clock and its binary
// log position, if it may be read.
func Beat(ctx context.Context, db *sql.DB, table HeartbeatTable) error {
	quoted, err := QuoteTable(table.Name)
	if err != nil {
		return err
	}
	row, err := status.QueryRow(ctx, db, "SELECT @@GLOBAL.read_only AS ro, VERSION() AS version")
	if err != nil {
		return err
	}
	if v := row.Text("ro"); v != "0" && v != "OFF" {
		return ErrReadOnly
	}
	var file, offset any
	p, err := status.BinaryLog(ctx, db, flavor.Parse(row.Text("version")).Flavor)
	switch {
	case err == nil:
		file, offset = p.File, p.Offset
	case !status.IsDenied(err) && !errors.Is(err, status.ErrNoBinaryLog):
		return err
	}
	clock := "NOW(6)"
	if table.UTC {
		clock = "UTC_TIMESTAMP(6)"
	}
	_, err = db.ExecContext(ctx, "REPLACE INTO "+quoted+" (ts, server_id, file, position) VALUES (DATE_FORMAT("+
		clock+", '%Y-%m-%dT%H:%i:%s.%f'), @@server_id, ?, ?)", file, offset)
	if err != nil {
		return fmt.Errorf("write %s: %w", table.Name, err)
	}
	return nil
}
