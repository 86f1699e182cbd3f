package sessionstate

import (
	"encoding/hex"
	"slices"
	"strings"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
)

// Look returns the query that asks a server for everything that trackers may have left out: on
// MariaDB behind a statement that ended in an error and could have set variables before, such as
// CALL, and on both what init_connect has set. Looked reads its rows. It takes some milliseconds,
// and fails in a session that has set a small max_join_size on MySQL.
//
// Values are in hexadecimal, whatever character set the session gets results in, and the LIMIT
// is stronger than sql_select_limit.
func (c *Catalog) Look() string {
	if c.server.Flavor == flavor.MariaDB {
		return "SELECT HEX(VARIABLE_NAME), HEX(SESSION_VALUE), HEX(GLOBAL_VALUE) FROM information_schema.SYSTEM_VARIABLES" +
			" WHERE VARIABLE_SCOPE = 'SESSION' LIMIT 100000"
	}
	return "SELECT HEX(s.VARIABLE_NAME), HEX(s.VARIABLE_VALUE), HEX(g.VARIABLE_VALUE)" +
		" FROM performance_schema.session_variables s JOIN performance_schema.global_variables g" +
		" ON g.VARIABLE_NAME = s.VARIABLE_NAME LIMIT 100000"
}

// Looked returns the state of the connection that gave these rows for Look. A variable whose value
// is not the global one counts as set, which it also does if the global one was changed since the
// login. The schema, the next transaction and user variables stay, and what is Bound.
func (s *State) Looked(rows [][][]byte) *State {
	d := draft{s: s}
	for _, row := range rows {
		if len(row) != 3 {
			continue
		}
		v := s.c.variables[strings.ToLower(unhex(row[0]))]
		if v == nil || v.use != flavor.Carried && v.use != flavor.Affects {
			continue
		}
		value := unhex(row[1])
		i, found := d.s.find(v.name)
		switch {
		case found && (d.s.vars[i].value != value || d.s.vars[i].doubt):
			d.own().vars[i] = setting{v: v, value: value}
		case !found && value != unhex(row[2]):
			own := d.own()
			own.vars = slices.Insert(own.vars, i, setting{v: v, value: value})
		}
	}
	if d.s == s {
		return s
	}
	return d.s.interned()
}

func unhex(text []byte) string {
	b := make([]byte, hex.DecodedLen(len(text)))
	n, _ := hex.Decode(b, text) // HEX() gives nothing else; nil is NULL, which trackers report as ""
	return string(b[:n])
}
