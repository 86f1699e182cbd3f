package sessionstate

import (
	"encoding/hex"
	"slices"
	"strings"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
)

// lookSize is about the most bytes of one query of Look: a server can be told to take no more than
// 1,024 as a packet.
const lookSize = 900

// makeLook makes the queries of Look. Only what has a global value, too, can be carried.
func (c *Catalog) makeLook() {
	for _, name := range c.sorted() {
		v := c.variables[name]
		if !v.global || v.use != flavor.Carried && v.use != flavor.Affects && v.use != flavor.Recording {
			continue
		}
		pair := "HEX(CONVERT(@@session." + name + " USING utf8mb4)),HEX(CONVERT(@@global." + name + " USING utf8mb4))"
		c.looked = append(c.looked, v)
		if last := len(c.look) - 1; last >= 0 && len(c.look[last])+len(pair) < lookSize {
			c.look[last] += "," + pair
		} else {
			c.look = append(c.look, "SELECT "+pair)
		}
	}
	for i := range c.look {
		c.look[i] += " LIMIT 1" // which is stronger than sql_select_limit
	}
}

// Look returns queries that ask MariaDB for everything that trackers may have left out: behind a
// statement that ended in an error and could have set variables before, such as CALL, and behind SET of
// @@x. Looked reads their rows. They read no table, so that what the session may ask of the statement
// before, such as its warnings, is still there. Values are in hexadecimal, whatever character set the
// session gets results in. MySQL, which tells everything, is asked nothing.
func (c *Catalog) Look() []string { return c.look }

// Looked returns the state of the connection that gave these values for Look: those of each query's one
// row, one row behind the other. A variable whose value is not the global one counts as set, which it
// also does if the global one was changed since the login. The schema, the next transaction and user
// variables stay, and what is Bound.
func (s *State) Looked(values [][]byte) *State {
	d := draft{s: s}
	for n, v := range s.c.looked {
		if len(values) < 2*n+2 {
			break
		}
		value, global := v.looks(values[2*n]), v.looks(values[2*n+1])
		i, found := d.s.find(v.name)
		switch {
		case found && (d.s.vars[i].value != value || d.s.vars[i].doubt):
			d.own().vars[i] = setting{v: v, value: value}
		case !found && value != global:
			own := d.own()
			own.vars = slices.Insert(own.vars, i, setting{v: v, value: value})
		}
	}
	if d.s == s {
		return s
	}
	return d.s.interned()
}

// looks returns a value of Look as a tracker reports it.
func (v *variable) looks(text []byte) string {
	b := make([]byte, hex.DecodedLen(len(text)))
	n, _ := hex.Decode(b, text) // HEX() gives nothing else; nil is NULL, which trackers report as ""
	value := string(b[:n])
	if v.kind != word {
		return value
	}
	switch value { // an expression has booleans as numbers
	case "0":
		return "OFF"
	case "1":
		return "ON"
	}
	return value
}

// sorted returns the names of the variables in their order.
func (c *Catalog) sorted() []string {
	list := make([]string, 0, len(c.variables))
	for name := range c.variables {
		list = append(list, strings.ToLower(name))
	}
	slices.Sort(list)
	return list
}
