package sessionstate

import (
	"slices"
	"strings"
)

// userVariable is a variable of SET @name = literal.
type userVariable struct {
	name    string // in lower case, as servers compare names
	literal string
	hash    uint64
}

// What a session may have of user variables.
const (
	maxUserVariables = 1000
	maxUserBytes     = 1 << 20
)

// WithUserVariable returns the state with a user variable, whose name is without its @ and of ASCII
// letters, digits and _ $ . only, and whose literal means the same on every connection, as those
// that route.UserVariables returns. Nil means that the session has too many or too large ones: they
// stay on the connection.
func (s *State) WithUserVariable(name, literal string) *State {
	name = strings.ToLower(name)
	i, found := slices.BinarySearchFunc(s.user, name, func(u userVariable, name string) int {
		return strings.Compare(u.name, name)
	})
	one := userVariable{name: name, literal: literal, hash: hashText(hashText(offset, name), literal)}
	switch {
	case found && s.user[i] == one:
		return s
	case !found && len(s.user) >= maxUserVariables:
		return nil
	}
	d := *s
	if d.user = slices.Clone(s.user); found {
		d.user[i] = one
	} else {
		d.user = slices.Insert(d.user, i, one)
	}
	if d.userBytes() > maxUserBytes {
		return nil
	}
	return d.interned()
}

// WithoutUserVariables returns the state without any user variable.
func (s *State) WithoutUserVariables() *State {
	if len(s.user) == 0 {
		return s
	}
	d := *s
	d.user = nil
	return d.interned()
}

func (s *State) userBytes() int {
	n := 0
	for i := range s.user {
		n += len(s.user[i].name) + len(s.user[i].literal)
	}
	return n
}
