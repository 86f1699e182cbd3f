package proxy_test

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
)

var (
	leakStatements = flag.Int("leak.statements", 10_000, "statements of TestNoLeak on each flavor")
	leakSeed       = flag.Uint64("leak.seed", 1, "what TestNoLeak draws from")
)

// TestNoLeak: many clients with sessions of their own share few connections, and none ever sees what
// another one set. Each statement's answer is known beforehand.
func TestNoLeak(t *testing.T) {
	const clients, connections, schemas = 64, 4, 8
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: 2})
		for i := range schemas {
			leakSchema(t, c, fmt.Sprintf("leak%d", i))
			if f == flavor.MySQL {
				sandboxtest.Exec(t, c.Primary(), fmt.Sprintf("GRANT leak%d TO CURRENT_USER()", i))
			}
		}
		if err := c.WaitReplicated(t.Context()); err != nil {
			t.Fatal(err)
		}
		o := options(t, c)
		o.Pool.Max = connections
		r := start(t, c, o)
		var count, forgotten atomic.Int64
		var wait sync.WaitGroup
		for i := range clients {
			wait.Go(func() {
				l := &leaker{t: t, f: f, id: i, rand: rand.New(rand.NewPCG(*leakSeed, uint64(i))), schemas: schemas, settings: leakSettings(f), forgotten: &forgotten}
				l.run(r, &count, int64(*leakStatements))
			})
		}
		wait.Wait()
		t.Logf("%d statements of %d clients over %d connections to each server; %d asked for what was gone",
			count.Load(), clients, connections, forgotten.Load())
	})
}

// leaker is one client and what it knows of its session.
type leaker struct {
	t       *testing.T
	f       flavor.Flavor
	id      int
	rand    *rand.Rand
	schemas int

	settings  []leakSetting
	forgotten *atomic.Int64 // answers that went with a connection

	conn      *sql.Conn
	schema    int
	mode      string
	zone      string
	collation string
	variable  string
	insertID  int64
	n         int
	prepared  *sql.Stmt
	set       map[string]string // by the name of a setting
	gone      bool
	before    []string // the last statements
}

func (l *leaker) run(r *running, count *atomic.Int64, limit int64) {
	account := r.cluster.Primary()
	for count.Load() < limit && !l.t.Failed() {
		l.schema = l.rand.IntN(l.schemas)
		config := r.config(account.User, account.Password)
		config.DBName = fmt.Sprintf("leak%d", l.schema)
		config.InterpolateParams = l.rand.IntN(2) == 0
		config.MultiStatements = true
		if l.rand.IntN(4) > 0 {
			config.TLSConfig = ""
		}
		connector, err := mysql.NewConnector(config)
		if err != nil {
			l.t.Error(err)
			return
		}
		db := sql.OpenDB(connector)
		if l.conn, err = db.Conn(l.t.Context()); err != nil {
			l.errorf("%v", err)
			_ = db.Close()
			return
		}
		l.mode, l.zone, l.collation, l.variable, l.insertID, l.prepared = "", "", "", "NULL", 0, nil
		l.set, l.gone, l.before = map[string]string{}, false, nil
		for range 200 {
			if count.Add(l.step()) >= limit || l.t.Failed() || l.gone {
				break
			}
		}
		_ = l.conn.Close()
		_ = db.Close()
	}
}

// step runs a few statements and returns how many.
func (l *leaker) step() int64 {
	before := l.n
	steps := [...]func(){
		l.setMode, l.setZone, l.setNames, l.setVariable, l.use, l.insert, l.temporary, l.transaction, l.prepare, l.rowCount, l.computed,
		l.check, l.check, l.check, l.check, l.check, l.check, l.checkMode, l.checkZone, l.checkSchema, l.checkVariable, l.checkInsertID,
		l.checkPrepared, l.checkCollation,
		l.setSetting, l.setSetting, l.checkSetting, l.checkSetting, l.checkSetting, l.checkLimit, l.noAutocommit, l.savepoint, l.readOnly,
		l.xa, l.tableLock, l.namedLock, l.warnings, l.noWarning, l.found, l.textPrepare, l.routine, l.into, l.role, l.several, l.own, l.leave,
	}
	steps[l.rand.IntN(len(steps))]()
	return int64(l.n - before)
}

// says notes what is sent.
func (l *leaker) says(text string) {
	l.n++
	if l.before = append(l.before, text); len(l.before) > 12 {
		l.before = l.before[1:]
	}
}

func (l *leaker) errorf(format string, args ...any) {
	l.t.Errorf("client %d: "+format+"; it had sent:\n%s", append(append([]any{l.id}, args...), strings.Join(l.before, "\n"))...)
}

func (l *leaker) exec(format string, args ...any) sql.Result {
	text := fmt.Sprintf(format, args...)
	l.says(text)
	ctx, cancel := context.WithTimeout(l.t.Context(), time.Minute)
	defer cancel()
	res, err := l.conn.ExecContext(ctx, text)
	if err != nil {
		l.errorf("%s: %v", text, err)
	}
	return res
}

func (l *leaker) want(want, query string, args ...any) {
	l.says(query)
	ctx, cancel := context.WithTimeout(l.t.Context(), time.Minute)
	defer cancel()
	var got sql.NullString
	if err := l.conn.QueryRowContext(ctx, query, args...).Scan(&got); err != nil {
		if !l.lost(query, err) {
			l.errorf("%s: %v", query, err)
		}
		return
	}
	if !got.Valid {
		got.String = "NULL"
	}
	if got.String != want {
		l.errorf("%s: got %q, want %q", query, got.String, want)
	}
}

func (l *leaker) setMode() {
	l.mode = [...]string{"STRICT_TRANS_TABLES", "PIPES_AS_CONCAT", "ANSI_QUOTES,PIPES_AS_CONCAT", "NO_BACKSLASH_ESCAPES"}[l.rand.IntN(4)]
	l.exec("SET sql_mode = '%s'", l.mode)
}

func (l *leaker) checkMode() {
	want := "0"
	if strings.Contains(l.mode, "PIPES") {
		want = "1x"
	}
	if want == "0" {
		want = "1" // 1 OR 'x'
	}
	l.want(want, "SELECT 1 || 'x'")
	want = "1"
	if strings.Contains(l.mode, "NO_BACKSLASH") {
		want = "2"
	}
	l.want(want, `SELECT LENGTH('\n')`)
}

func (l *leaker) setZone() {
	hours := l.rand.IntN(20) - 10
	l.zone = fmt.Sprintf("%+03d:00", hours)
	l.exec("SET SESSION time_zone = '%s'", l.zone)
}

func (l *leaker) checkZone() {
	if l.zone == "" {
		return
	}
	hours, _ := strconv.Atoi(l.zone[:3])
	l.want(time.Unix(86400*30, 0).UTC().Add(time.Duration(hours)*time.Hour).Format("2006-01-02 15:04:05"), "SELECT CAST(FROM_UNIXTIME(86400*30) AS CHAR)")
}

func (l *leaker) setNames() {
	names := []string{"utf8mb4_general_ci", "utf8mb4_bin", "latin1_swedish_ci", "utf8mb4_unicode_520_ci"}
	if l.f == flavor.MySQL {
		names = append(names, "utf8mb4_0900_as_cs", "utf8mb4_ja_0900_as_cs", "utf8mb4_0900_bin") // 278, 303, 309
	} else {
		names = append(names, "utf8mb4_uca1400_ai_ci", "utf8mb4_general_nopad_ci") // 2304, 1069
	}
	l.collation = names[l.rand.IntN(len(names))]
	charset, _, _ := strings.Cut(l.collation, "_")
	l.exec("SET NAMES %s COLLATE %s", charset, l.collation)
}

func (l *leaker) checkCollation() {
	if l.collation != "" {
		l.want(l.collation, "SELECT COLLATION(CONCAT('x'))")
	}
}

func (l *leaker) setVariable() {
	l.variable = strconv.Itoa(l.id*1000 + l.rand.IntN(1000))
	if l.rand.IntN(2) == 0 {
		l.exec("SET @leak = %s", l.variable)
	} else {
		l.variable = "v" + l.variable
		l.exec("SET @leak = '%s'", l.variable)
	}
}

// computed gives the variable a value that only the server knows, for a moment.
func (l *leaker) computed() {
	l.exec("SET @leak = %d + 0 * RAND()", l.id)
	l.want(strconv.Itoa(l.id), "SELECT ROUND(@leak)")
	l.variable = strconv.Itoa(l.id)
	l.exec("SET @leak = %s", l.variable)
}

func (l *leaker) checkVariable() { l.want(l.variable, "SELECT @leak") }

func (l *leaker) use() {
	l.schema = l.rand.IntN(l.schemas)
	l.exec("USE leak%d", l.schema)
}

func (l *leaker) checkSchema() { l.want(fmt.Sprintf("leak%d", l.schema), "SELECT DATABASE()") }

func (l *leaker) check() { l.want(fmt.Sprintf("leak%d", l.schema), "SELECT name FROM me WHERE id = 1") }

func (l *leaker) insert() {
	res := l.exec("INSERT INTO log (who, n) VALUES (%d, 1)", l.id)
	if res != nil {
		l.insertID, _ = res.LastInsertId()
	}
}

func (l *leaker) checkInsertID() {
	l.want(strconv.FormatInt(l.insertID, 10), "SELECT LAST_INSERT_ID()")
}

func (l *leaker) rowCount() {
	n := 1 + l.rand.IntN(3)
	l.exec("INSERT INTO log (who, n) VALUES %s", strings.TrimSuffix(strings.Repeat(fmt.Sprintf("(%d, 1),", l.id), n), ","))
	l.says("SELECT LAST_INSERT_ID()")
	if err := l.conn.QueryRowContext(l.t.Context(), "SELECT LAST_INSERT_ID()").Scan(&l.insertID); err != nil {
		l.errorf("%v", err)
	}
}

func (l *leaker) temporary() {
	l.exec("CREATE TEMPORARY TABLE mine (who INT)")
	l.exec("INSERT INTO mine VALUES (%d)", l.id)
	l.check()
	l.want(strconv.Itoa(l.id), "SELECT who FROM mine")
	l.exec("DROP TEMPORARY TABLE mine")
}

func (l *leaker) transaction() {
	l.exec("BEGIN")
	l.exec("INSERT INTO me VALUES (%d, 'x')", 1000+l.id)
	l.want("1", fmt.Sprintf("SELECT COUNT(*) FROM me WHERE id = %d", 1000+l.id))
	l.exec("ROLLBACK")
}

func (l *leaker) prepare() {
	l.says("prepare")
	if l.prepared != nil {
		_ = l.prepared.Close()
	}
	var err error
	l.prepared, err = l.conn.PrepareContext(l.t.Context(), fmt.Sprintf("SELECT CONCAT(?, '-%d')", l.id))
	if err != nil {
		l.errorf("prepare: %v", err)
	}
}

func (l *leaker) checkPrepared() {
	if l.prepared == nil {
		return
	}
	l.says("execute")
	var got string
	arg := l.rand.IntN(100)
	if err := l.prepared.QueryRowContext(l.t.Context(), arg).Scan(&got); err != nil {
		l.errorf("execute: %v", err)
	} else if want := fmt.Sprintf("%d-%d", arg, l.id); got != want {
		l.errorf("execute: got %q, want %q", got, want)
	}
}
