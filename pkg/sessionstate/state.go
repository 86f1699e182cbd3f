package sessionstate

import (
	"slices"
	"strings"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
)

// State is what a session has set. It is immutable and made by Catalog.New and the methods here.
type State struct {
	c      *Catalog
	schema string
	vars   []setting // sorted by name; the character set is always there
	user   []userVariable
	next   transaction
	hash   uint64
}

// setting is a variable with the value that was set. A variable that is not there has the value
// that a login gives.
type setting struct {
	v     *variable
	value string
	doubt bool // value may be wrong: the server is to be asked
}

// transaction is what SET TRANSACTION said about the next one. "" is nothing.
type transaction struct{ isolation, readOnly string }

// Catalog returns the catalog that the State is of.
func (s *State) Catalog() *Catalog { return s.c }

// Schema returns the default schema in UTF-8, whatever the connection's character set is, or "".
func (s *State) Schema() string { return s.schema }

// WithSchema returns the state with another default schema, in UTF-8; "" is none.
func (s *State) WithSchema(schema string) *State {
	if schema == s.schema {
		return s
	}
	d := *s
	d.schema = schema
	return d.interned()
}

// Value returns the present value of a variable that the session has set, by any of its names in
// lower case, as the server reports it: booleans are ON and OFF, and NULL is "". The character set is
// always known; any other is not if the session has not set it, or while there is something to Ask
// about it, or if it is only a part of another one.
func (s *State) Value(name string) (value string, ok bool) {
	v := s.c.variables[name]
	if v == nil {
		_, other := flavor.SessionVariable(s.c.server.Flavor, name) // such as transaction_isolation on MariaDB 10
		if v = s.c.variables[other]; v == nil {
			return "", false
		}
	}
	switch v.use {
	case flavor.Alias:
		v = v.other
	case flavor.Part:
		if !strings.HasPrefix(name, "character_set_") {
			return "", false
		}
		value, _ = s.Value(v.other.name)
		value = s.c.charsets[value]
		return value, value != ""
	}
	if i, found := s.find(v.name); found && !s.vars[i].doubt {
		return s.vars[i].value, true
	}
	return "", false
}

// Bound returns the name of a variable that the session has set and that cannot go to another
// connection, or "". Only a reset frees the session of it, unless it is one that records: that can be
// turned off.
func (s *State) Bound() string {
	for i := range s.vars {
		one := &s.vars[i]
		if one.v.use == flavor.Bound || one.v.use == flavor.Recording && one.records() {
			return one.v.name
		}
	}
	return ""
}

// records tells whether a variable that is Recording is on: profiling is ON or 1, optimizer_trace has
// enabled=on among its flags.
func (one *setting) records() bool {
	return one.value == "ON" || one.value == "1" || strings.Contains(one.value, "enabled=on")
}

// NextTransaction tells whether SET TRANSACTION without a scope waits for the next transaction.
func (s *State) NextTransaction() bool { return s.next != transaction{} }

// Equal tells whether a connection in one state is as good as one in the other. States of one
// Catalog that are equal are mostly the same pointer.
func (s *State) Equal(o *State) bool {
	switch {
	case s == o:
		return true
	case s.c == o.c && s.hash != o.hash:
		return false
	}
	return s.schema == o.schema && s.next == o.next && sameSettings(s.vars, o.vars) && slices.Equal(s.user, o.user)
}

func sameSettings(a, b []setting) bool {
	return slices.EqualFunc(a, b, func(x, y setting) bool {
		return x.value == y.value && x.doubt == y.doubt && (x.v == y.v || x.v.name == y.v.name)
	})
}

// find returns the place of a variable in s.vars.
func (s *State) find(name string) (int, bool) {
	return slices.BinarySearchFunc(s.vars, name, func(one setting, name string) int {
		return strings.Compare(one.v.name, name)
	})
}

// interned returns the catalog's own State that is equal to s, which nobody else may have yet. The
// hash is made here.
func (s *State) interned() *State {
	s.hash = s.sum()
	if s.userBytes() > maxInterned {
		return s
	}
	c := s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if same := c.states[s.hash]; same != nil && same.Equal(s) {
		return same
	}
	if len(c.states) >= maxStates {
		clear(c.states) // who has a State keeps it
	}
	c.states[s.hash] = s
	return s
}

// maxInterned is the most bytes of user variables of a State that the Catalog keeps.
const maxInterned = 1 << 10

// sum returns a hash. States that clients make collide on purpose are not interned, and nothing
// more.
func (s *State) sum() uint64 {
	h := hashText(offset, s.schema)
	h = hashText(hashText(h, s.next.isolation), s.next.readOnly)
	for i := range s.vars {
		one := &s.vars[i]
		h = hashText(hashText(h, one.v.name), one.value)
		if one.doubt {
			h = hashText(h, "?")
		}
	}
	for i := range s.user {
		h = h*prime + s.user[i].hash
	}
	return h
}

// FNV-1a, with a byte that no text has between texts.
const (
	offset uint64 = 14695981039346656037
	prime  uint64 = 1099511628211
)

func hashText(h uint64, text string) uint64 {
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * prime
	}
	return (h ^ 0xff) * prime
}
