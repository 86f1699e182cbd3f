package sessionstate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// Query runs a statement on the server that a Catalog is of and returns the rows of its result;
// nil is NULL. An error of the server should be or wrap a *wire.ServerError.
type Query func(ctx context.Context, sql string) ([][][]byte, error)

// Catalog is what one server knows: its session variables, and its collations by id. It is safe
// for concurrent use.
//
// It also keeps the States that it made, at most maxStates, so that equal ones are one.
type Catalog struct {
	server     flavor.Server
	variables  map[string]*variable // by name in lower case
	collations map[uint16]collation
	charsets   map[string]string // of collations
	names      names
	login      []setting // of a client whose collation the server does not take
	mine       string    // the collation that a login with an unknown id has: the global one
	setup      string
	small      string
	look       []string
	looked     []*variable // whose values look asks for, in this order
	watch      string

	mu     sync.Mutex
	states map[uint64]*State
}

// maxStates bounds what a Catalog keeps. A proxy sees a handful, unless clients set variables to
// values that never come back.
const maxStates = 4096

type collation struct{ name, charset string }

// filenameID is a collation that MariaDB has and does not show.
const filenameID = 17

// names are the variables that this package asks for by name.
type names struct {
	client, results, collation, isolation, readOnly *variable
}

// kind is how a value of a variable is written.
type kind uint8

const (
	word   kind = iota // of an enumeration or set, or a boolean: quoted
	number             // bare: quoted is an error
	text               // quoted, or NULL, which servers report as ""
)

// variable is one that a session can set.
type variable struct {
	name  string // in lower case
	kind  kind
	use   flavor.SessionUse
	other *variable // for Alias, Part and Affects
	undo  string    // the expression that gives it back the value of a login

	global bool // it has a global value, too, as far as is known
}

// Load asks a server for its variables and collations. Any account may ask. What can change while
// the server runs is its global character set only, which counts for logins with a collation that
// it does not know.
func Load(ctx context.Context, query Query, server flavor.Server) (*Catalog, error) {
	c := &Catalog{
		server: server, variables: map[string]*variable{}, collations: map[uint16]collation{},
		charsets: map[string]string{}, states: map[uint64]*State{},
	}
	if err := c.loadVariables(ctx, query); err != nil {
		return nil, fmt.Errorf("read the session variables: %w", err)
	}
	if err := c.loadCollations(ctx, query); err != nil {
		return nil, fmt.Errorf("read the collations: %w", err)
	}
	const sql = "SELECT @@global.character_set_client, @@global.character_set_results, @@global.collation_connection"
	rows, err := query(ctx, sql)
	if err == nil && (len(rows) != 1 || len(rows[0]) != 3) {
		err = errShape
	}
	if err != nil {
		return nil, fmt.Errorf("read the global character set: %w", err)
	}
	c.mine = string(rows[0][2])
	c.login = c.charset(string(rows[0][0]), string(rows[0][1]), c.mine)
	return c, nil
}

var errShape = errors.New("the result has not the columns that were asked for")

// Server returns what Load was given.
func (c *Catalog) Server() flavor.Server { return c.server }

// Isolation returns the name of the variable for the isolation level, which servers have changed.
func (c *Catalog) Isolation() string {
	if c.names.isolation == nil {
		return "transaction_isolation"
	}
	return c.names.isolation.name
}

// Same tells whether all that d knows is as c knows it, so that one of them can serve for the
// servers of both.
func (c *Catalog) Same(d *Catalog) bool {
	if c == d {
		return true
	}
	if c.server.Flavor != d.server.Flavor || c.setup != d.setup || len(c.collations) != len(d.collations) ||
		!sameSettings(c.login, d.login) {
		return false
	}
	for id, one := range c.collations {
		if d.collations[id] != one {
			return false
		}
	}
	for name, v := range c.variables {
		w := d.variables[name]
		if w == nil || w.kind != v.kind || w.use != v.use || w.undo != v.undo {
			return false
		}
	}
	return true
}

// loadVariables reads the variables with their kinds. Before MySQL 9 there is no table of them, and
// the names are looked up in what pkg/flavor knows.
func (c *Catalog) loadVariables(ctx context.Context, query Query) error {
	sql := "SELECT VARIABLE_NAME, DATA_TYPE FROM performance_schema.variables_metadata" +
		" WHERE VARIABLE_SCOPE <> 'GLOBAL'"
	if c.server.Flavor == flavor.MariaDB {
		sql = "SELECT VARIABLE_NAME, VARIABLE_TYPE, VARIABLE_SCOPE = 'SESSION' FROM information_schema.SYSTEM_VARIABLES" +
			" WHERE VARIABLE_SCOPE <> 'GLOBAL' AND READ_ONLY = 'NO'"
	}
	rows, err := query(ctx, sql)
	if c.server.Flavor != flavor.MariaDB && (refused(err) || err == nil && len(rows) == 0) {
		return c.loadNames(ctx, query)
	}
	if err != nil {
		return err
	}
	for _, row := range rows {
		if len(row) < 2 {
			return errShape
		}
		c.add(string(row[0]), kindOf(string(row[1]))).global = len(row) > 2 && string(row[2]) == "1"
	}
	if err := c.finish(); err != nil || c.server.Flavor != flavor.MariaDB {
		return err
	}
	c.makeLook()
	return nil
}

// loadNames is for servers that do not show what kind their variables have.
func (c *Catalog) loadNames(ctx context.Context, query Query) error {
	rows, err := query(ctx, "SHOW SESSION VARIABLES")
	if err != nil {
		return err
	}
	for _, row := range rows {
		if len(row) != 2 {
			return errShape
		}
		if kind, ok := flavor.SessionKind(strings.ToLower(string(row[0]))); ok {
			c.add(string(row[0]), kindOf(kind))
		}
	}
	return c.finish()
}

// refused tells whether the server has answered that it cannot run the statement, as one of an
// older version does: no such table, column or right.
func refused(err error) bool {
	var e *wire.ServerError
	return errors.As(err, &e) && slices.Contains([]uint16{1049, 1054, 1064, 1109, 1142, 1146}, e.Code)
}

// kindOf reads the types of both servers: Integer, Numeric, BIGINT UNSIGNED, DOUBLE; String, VARCHAR.
func kindOf(dataType string) kind {
	switch t := strings.ToUpper(dataType); {
	case strings.Contains(t, "INT"), t == "NUMERIC", t == "DOUBLE":
		return number
	case t == "STRING", strings.HasPrefix(t, "VARCHAR"):
		return text
	}
	return word
}

// add takes a variable in.
func (c *Catalog) add(name string, k kind) *variable {
	v := &variable{name: strings.ToLower(name), kind: k, undo: "DEFAULT"}
	v.use, _ = flavor.SessionVariable(c.server.Flavor, v.name)
	switch v.name {
	case "character_set_results":
		v.kind = text // MariaDB says that it is an enumeration, but it can be NULL
	case "foreign_key_checks", "unique_checks":
		v.undo = "@@global." + v.name // DEFAULT turns them off on MySQL 9.7
	}
	c.variables[v.name] = v
	return v
}

// finish ties variables to each other and makes the text of Setup.
func (c *Catalog) finish() error {
	list := c.sorted()
	for name, v := range c.variables {
		if _, other := flavor.SessionVariable(c.server.Flavor, name); other != "" {
			if v.other = c.variables[other]; v.other == nil {
				v.use = flavor.Carried // the only name of it here
			}
		}
	}
	list = slices.DeleteFunc(list, func(name string) bool { return c.variables[name].use == flavor.Ignored })
	c.names = names{
		client: c.variables["character_set_client"], results: c.variables["character_set_results"],
		collation: c.variables["collation_connection"], isolation: c.variables["transaction_isolation"],
		readOnly: c.variables["transaction_read_only"],
	}
	if v := c.variables["tx_isolation"]; v != nil && v.use == flavor.Carried {
		c.names.isolation = v
	}
	if v := c.variables["tx_read_only"]; v != nil && v.use == flavor.Carried {
		c.names.readOnly = v
	}
	if n := c.names; n.client == nil || n.results == nil || n.collation == nil {
		return errors.New("there is no variable for the character set")
	}
	gtids := ", session_track_gtids='ALL_GTIDS'"
	if c.server.Flavor == flavor.MariaDB {
		list = append(list, "last_gtid")
		gtids = ""
	}
	others := "session_track_schema=ON, session_track_state_change=ON"
	if c.server.Flavor != flavor.MariaDB {
		others += ", session_track_transaction_info='CHARACTERISTICS'"
	}
	const charset = ", character_set_client=@@character_set_client, character_set_results=@@character_set_results" +
		", collation_connection=@@collation_connection"
	c.watch = "SET session_track_system_variables='" + strings.Join(list, ",") + "', " + others
	c.setup = c.watch + gtids + charset
	c.small = "SET session_track_system_variables='*', " + others + gtids + charset
	return nil
}

// Setup returns the SET that a connection gets behind its login and behind each reset. It makes the
// server report changes, and the OK that answers it reports the character set: the connection is in
// the state New(0).Track(trackers), with the schema that it had.
//
// It costs a server about 0.25 ms; statements cost the same with it as without. There is a list of
// names, and not '*', with which MySQL reports statement_id on every answer. An unknown name in it
// is a warning on MySQL and an error on MariaDB.
func (c *Catalog) Setup() string { return c.setup }

// SetupSmall returns a Setup of less than 1,024 bytes, the least that a server can be told to take as a
// packet, and as the value of an expression. It makes the server report more than is of use.
func (c *Catalog) SetupSmall() string { return c.small }

// Watch returns the part of Setup that can also be run in a transaction, where MySQL does not let
// session_track_gtids be set: for a connection whose client has changed what is reported.
func (c *Catalog) Watch() string { return c.watch }

// WatchNext returns the SET that makes MariaDB report what SET TRANSACTION says about the next
// transaction, or not any more. While it does, its query cache is off, so that is for the statements
// that may hold such a SET. MySQL always reports it, and is told nothing.
func (c *Catalog) WatchNext(on bool) string {
	switch {
	case c.server.Flavor != flavor.MariaDB:
		return ""
	case on:
		return "SET session_track_transaction_info='CHARACTERISTICS'"
	}
	return "SET session_track_transaction_info='OFF'"
}

// loadCollations reads ids. MariaDB since 10.10 has collations of one name for several character
// sets, which SHOW COLLATION shows without their ids.
func (c *Catalog) loadCollations(ctx context.Context, query Query) error {
	const newest = "SELECT FULL_COLLATION_NAME, CHARACTER_SET_NAME, ID" +
		" FROM information_schema.COLLATION_CHARACTER_SET_APPLICABILITY"
	var rows [][][]byte
	err := error(nil)
	if c.server.Flavor == flavor.MariaDB {
		rows, err = query(ctx, newest)
	}
	if rows == nil && (err == nil || refused(err)) {
		rows, err = query(ctx, "SHOW COLLATION")
	}
	if err != nil {
		return err
	}
	for _, row := range rows {
		if len(row) < 3 {
			return errShape
		}
		one := collation{name: string(row[0]), charset: string(row[1])}
		id, err := strconv.ParseUint(string(row[2]), 10, 16)
		if err != nil || one.charset == "" {
			continue
		}
		c.collations[uint16(id)], c.charsets[one.name] = one, one.charset
	}
	if c.server.Flavor == flavor.MariaDB {
		c.collations[filenameID] = collation{name: "filename", charset: "filename"}
	}
	return nil
}

// New returns the state behind a login with the collation of that id and no schema. As servers do,
// it takes their global character set for an id that they do not know.
//
// The login itself has room for ids up to 255 only; this is what the client asked for, also beyond.
func (c *Catalog) New(id uint16) *State {
	one, known := c.collations[id]
	s := &State{c: c, vars: c.login}
	if known && clientCharset(one.charset) && one.name != c.mine {
		s.vars = c.charset(one.charset, one.charset, one.name)
	}
	return s.interned()
}

// Takes tells whether servers let a client in with the collation of that id. They refuse one of a
// character set that no statement can be in, with error 1231 of SQLSTATE 42000, which says that
// character_set_client "can't be set to the value of" the character set that is returned.
func (c *Catalog) Takes(id uint16) (charset string, ok bool) {
	charset = c.collations[id].charset
	return charset, clientCharset(charset)
}

// clientCharset tells whether statements can be in the character set: in those of which every
// character has two bytes or more they cannot.
func clientCharset(name string) bool {
	switch name {
	case "ucs2", "utf16", "utf16le", "utf32", "filename":
		return false
	}
	return true
}

// charset returns the settings that every State has, in the order of their names.
func (c *Catalog) charset(client, results, collation string) []setting {
	return []setting{
		{v: c.names.client, value: client},
		{v: c.names.results, value: results},
		{v: c.names.collation, value: collation},
	}
}
