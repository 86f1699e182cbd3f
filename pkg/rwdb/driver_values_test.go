package rwdb_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
)

// valueCases are those whose outcome is data, with each of the settings that change how it comes.
func valueCases() []driverCase {
	settings := []struct {
		name string
		set  func(*mysql.Config)
	}{
		{"", func(*mysql.Config) {}},
		{"interpolateParams", func(c *mysql.Config) { c.InterpolateParams = true }},
		{"compress", func(c *mysql.Config) { _ = c.Apply(mysql.EnableCompression(true)) }},
		{"parseTime", func(c *mysql.Config) { c.ParseTime = true }},
		{"clientFoundRows", func(c *mysql.Config) { c.ClientFoundRows = true }},
		{"multiStatements", func(c *mysql.Config) { c.MultiStatements = true }},
		{"columnsWithAlias", func(c *mysql.Config) { c.ColumnsWithAlias = true }},
	}
	var all []driverCase
	for _, setting := range settings {
		for _, one := range []struct {
			name string
			do   func(t *testing.T, s *side) string
		}{
			{"results", results}, {"values", values}, {"column types", columnTypes}, {"several statements", severalStatements},
		} {
			all = append(all, driverCase{
				name: strings.TrimPrefix(setting.name+" "+one.name, " "), config: setting.set, do: one.do, want: same,
			})
		}
	}
	return append(all, driverCase{
		name: "load data local", do: loadData, want: "none, 3 rows; *errors.errorString: reader 'none' is not registered; 3 rows",
	})
}

// results are what statements without rows tell.
func results(t *testing.T, s *side) string {
	ctx := t.Context()
	var all strings.Builder
	tell := func(r sql.Result, err error) {
		if err != nil {
			t.Fatal(err)
		}
		id, err := r.LastInsertId()
		n, err2 := r.RowsAffected()
		fmt.Fprintf(&all, "id %d, %d rows, %v %v; ", id, n, err, err2)
	}
	tell(s.db.ExecContext(ctx, "INSERT INTO entry (name) VALUES ('a'), ('b')"))
	tell(s.db.ExecContext(ctx, "INSERT INTO entry (name) VALUES (?)", "c"))
	tell(s.db.ExecContext(ctx, "UPDATE entry SET name = name"))
	tell(s.db.ExecContext(ctx, "UPDATE entry SET name = ? WHERE name = ?", "d", "c"))
	tell(s.db.ExecContext(ctx, "DELETE FROM entry WHERE id < ?", 3))
	tell(s.db.ExecContext(ctx, "DO 1"))
	stmt, err := s.db.PrepareContext(ctx, "INSERT INTO entry (name) VALUES (?)")
	if err != nil {
		t.Fatal(err)
	}
	defer stmt.Close()
	for _, name := range []string{"e", "f"} {
		tell(stmt.ExecContext(ctx, name))
	}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	tell(tx.ExecContext(ctx, "INSERT INTO entry (name) VALUES (?)", "g"))
	var last int64
	if err := tx.QueryRowContext(ctx, "SELECT LAST_INSERT_ID()").Scan(&last); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&all, "last %d", last)
	return all.String()
}

// dump reads all rows of all results as the driver gives them.
func dump(t *testing.T, rows *sql.Rows, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var all strings.Builder
	for more := true; more; more = rows.NextResultSet() {
		names, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&all, "%v: ", names)
		for rows.Next() {
			row := make([]any, len(names))
			into := make([]any, len(names))
			for i := range row {
				into[i] = &row[i]
			}
			if err := rows.Scan(into...); err != nil {
				t.Fatal(err)
			}
			for _, v := range row {
				fmt.Fprintf(&all, "%T(%v) ", v, v)
			}
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all.String()
}

func values(t *testing.T, s *side) string {
	ctx := t.Context()
	text, err := s.db.QueryContext(ctx, "SELECT * FROM kinds ORDER BY i")
	all := dump(t, text, err)
	binary, err := s.db.QueryContext(ctx, "SELECT kinds.*, ? AS added FROM kinds WHERE i < ? ORDER BY i", "x'\\", 5)
	return all + dump(t, binary, err)
}

func columnTypes(t *testing.T, s *side) string {
	var all strings.Builder
	for _, args := range [][]any{nil, {5}} {
		text := "SELECT kinds.*, COUNT(*) OVER () AS n FROM kinds"
		if args != nil {
			text += " WHERE i < ?"
		}
		rows, err := s.db.QueryContext(t.Context(), text, args...)
		if err != nil {
			t.Fatal(err)
		}
		types, err := rows.ColumnTypes()
		if err != nil || len(types) != 10 {
			t.Fatalf("%d types: %v", len(types), err)
		}
		for _, c := range types {
			length, hasLength := c.Length()
			precision, scale, hasScale := c.DecimalSize()
			nullable, knows := c.Nullable()
			fmt.Fprintf(&all, "%s %s %v length %d %v decimal %d %d %v nullable %v %v; ", c.Name(), c.DatabaseTypeName(), c.ScanType(),
				length, hasLength, precision, scale, hasScale, nullable, knows)
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
}

// severalStatements are one text, which is an error unless it is allowed.
func severalStatements(t *testing.T, s *side) string {
	ctx := t.Context()
	var all strings.Builder
	rows, err := s.db.QueryContext(ctx, "SELECT id FROM item ORDER BY id; SELECT COUNT(*) FROM entry")
	if err != nil {
		all.WriteString(shape(err) + "; ")
	} else {
		all.WriteString(dump(t, rows, err))
	}
	result, err := s.db.ExecContext(ctx, "INSERT INTO entry (name) VALUES ('m'); INSERT INTO entry (name) VALUES ('n'), ('o')")
	all.WriteString(shape(err))
	if err == nil {
		id, _ := result.LastInsertId()
		n, _ := result.RowsAffected()
		fmt.Fprintf(&all, " id %d, %d rows", id, n)
	}
	conn, err := s.db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(&all, "; %s; %d", allResults(t, ctx, conn), number(t, conn, ctx, "SELECT COUNT(*) FROM entry"))
	return all.String()
}

// allResults are those of each statement of a text, which the driver gives who asks its own connection.
func allResults(t *testing.T, ctx context.Context, conn *sql.Conn) string {
	t.Helper()
	var text string
	err := conn.Raw(func(c any) error {
		//lint:ignore SA1019 it is what the driver's documentation shows
		r, err := c.(driver.Execer).Exec("INSERT INTO entry (name) VALUES ('p'); UPDATE entry SET name = 'q' WHERE name = 'p'", nil)
		if err == nil {
			text = fmt.Sprint(r.(mysql.Result).AllRowsAffected(), r.(mysql.Result).AllLastInsertIds())
		}
		return err
	})
	return shape(err) + text
}

func loadData(t *testing.T, s *side) string {
	ctx := t.Context()
	mysql.RegisterReaderHandler("rows", func() io.Reader { return strings.NewReader("11\t1\n12\t2\n13\t3\n") })
	defer mysql.DeregisterReaderHandler("rows")
	exec(t, s.db, ctx, "DELETE FROM item")
	r, err := s.db.ExecContext(ctx, "LOAD DATA LOCAL INFILE 'Reader::rows' INTO TABLE item")
	if err != nil {
		return shape(err)
	}
	n, err := r.RowsAffected()
	none := execute(ctx, s.db, "LOAD DATA LOCAL INFILE 'Reader::none' INTO TABLE item")
	return fmt.Sprintf("%s, %d rows; %s; %d rows", shape(err), n, shape(none), number(t, s.db, ctx, "SELECT COUNT(*) FROM item"))
}
