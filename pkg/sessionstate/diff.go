package sessionstate

import (
	"encoding/hex"
	"slices"
	"strings"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
)

// Diff is what makes one connection equal to another. The statements are run in the order First,
// Schema, Set; the connection is in the wanted state then, and the trackers of the answers can be
// left unread.
type Diff struct {
	First  string // "", or a SET that lets the server read Schema
	Schema string // to be selected with COM_INIT_DB; "" if it is the same
	Set    string // "", or one SET

	// NoSchema: the wanted state has no schema and the connection has one. Only a new login or a
	// COM_CHANGE_USER undoes it.
	NoSchema bool
	// Reset: the connection was given what no SET undoes. It is to be reset first, and compared
	// again.
	Reset bool
	// Cannot is the name of a variable that cannot be set there, because of State.Bound or since that
	// server does not know it. The session has to stay where it is.
	Cannot string
}

// None tells whether nothing has to be done, and nothing is in the way.
func (d *Diff) None() bool { return *d == Diff{} }

// Diff returns what makes a connection in the state from equal to s, outside of a transaction. From
// may be of another catalog, that of the other connection's server. s should have nothing to Ask.
//
// Numbers in it are bare and everything else is quoted ASCII, so that neither character set nor
// sql_mode of the connection matter. What s has not set gets the server's global value, as in a
// login.
func (s *State) Diff(from *State) Diff {
	if s == from {
		return Diff{}
	}
	var d Diff
	w := differ{Diff: &d, to: s, from: from}
	collation, known := from.Value("collation_connection")
	w.wide = !known || !clientCharset(from.c.charsets[collation])
	w.variables()
	w.userVariables()
	w.schema()
	w.transaction()
	for _, v := range w.again {
		w.set(v)
	}
	d.Set = w.b.String()
	return d
}

type differ struct {
	*Diff
	to, from *State
	b        strings.Builder
	again    []*variable // changed by what was set before
	wide     bool        // plain strings are in a character set of two bytes or more
}

// variables goes through both states in the order of the names.
func (w *differ) variables() {
	a, b := w.to.vars, w.from.vars
	for len(a) > 0 || len(b) > 0 {
		order := 0
		switch {
		case len(a) == 0:
			order = 1
		case len(b) == 0:
			order = -1
		default:
			order = strings.Compare(a[0].v.name, b[0].v.name)
		}
		switch {
		case order < 0:
			w.changed(a[0].v)
			a = a[1:]
		case order > 0:
			w.changed(b[0].v)
			b = b[1:]
		default:
			if a[0].value != b[0].value || a[0].doubt || b[0].doubt {
				w.changed(a[0].v)
			}
			a, b = a[1:], b[1:]
		}
	}
}

// changed is called for each variable that is not the same in both.
func (w *differ) changed(v *variable) {
	if v.use != flavor.Bound {
		w.set(v)
		return
	}
	if _, set := w.to.find(v.name); set {
		w.Cannot = v.name
	} else {
		w.Reset = true
	}
}

// set makes a variable what it is in w.to.
func (w *differ) set(own *variable) {
	v := w.from.c.variables[own.name] // as the other server knows it
	if v == nil {
		w.Cannot = own.name
		return
	}
	expression := v.undo
	if i, set := w.to.find(v.name); set {
		expression = w.literal(v, w.to.vars[i].value)
	}
	assign(&w.b, v.name, expression)
	if v.use == flavor.Affects {
		w.again = append(w.again, v.other)
	}
}

// userVariables goes through both lists in the order of the names.
func (w *differ) userVariables() {
	a, b := w.to.user, w.from.user
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].name < b[0].name:
			assign(&w.b, "@"+a[0].name, a[0].literal)
			a = a[1:]
		case len(a) == 0 || b[0].name < a[0].name:
			assign(&w.b, "@"+b[0].name, "NULL")
			b = b[1:]
		default:
			if a[0].literal != b[0].literal {
				assign(&w.b, "@"+a[0].name, a[0].literal)
			}
			a, b = a[1:], b[1:]
		}
	}
}

// schema selects it. Servers read its name in character_set_client, which is made UTF-8 before, and
// what the session wants behind it.
func (w *differ) schema() {
	w.NoSchema = w.to.schema == "" && w.from.schema != ""
	if w.NoSchema || w.to.schema == w.from.schema {
		return
	}
	w.Schema = w.to.schema
	client := w.from.c.names.client
	if i, _ := w.from.find(client.name); plain(w.Schema) || w.from.vars[i].value == "utf8mb4" {
		return
	}
	w.First = "SET character_set_client='utf8mb4'"
	if !slices.Contains(w.again, client) {
		w.again = append(w.again, client)
	}
}

// transaction carries SET TRANSACTION over, or takes it back: the session's own value, set anew,
// does that on both servers.
func (w *differ) transaction() {
	n := &w.from.c.names
	to, from := w.to.next, w.from.next
	if to == from {
		return
	}
	if from.isolation != "" && to.isolation == "" {
		w.set(n.isolation)
	}
	if from.readOnly != "" && to.readOnly == "" {
		w.set(n.readOnly)
	}
	if to.isolation != "" {
		assign(&w.b, "@@"+n.isolation.name, w.quoted(to.isolation))
	}
	if to.readOnly != "" {
		assign(&w.b, "@@"+n.readOnly.name, w.quoted(to.readOnly))
	}
}

// assign appends one assignment to a SET, or begins one.
func assign(b *strings.Builder, name, expression string) {
	if b.Len() == 0 {
		b.WriteString("SET ")
	} else {
		b.WriteByte(',')
	}
	b.WriteString(name)
	b.WriteByte('=')
	b.WriteString(expression)
}

// literal writes a value as the server reported it.
func (w *differ) literal(v *variable, value string) string {
	switch {
	case v.kind == number && numeric(value):
		return value
	case v.kind == text && value == "":
		return "NULL"
	}
	return w.quoted(value)
}

func numeric(value string) bool {
	digits := false
	for i := range len(value) {
		c := value[i]
		digit := c >= '0' && c <= '9'
		if !digit && c != '.' && (c != '-' || i > 0) {
			return false
		}
		digits = digits || digit
	}
	return digits
}

// quoted writes UTF-8 text so that it means the same in every client character set and sql_mode.
// While collation_connection is one of ucs2 or utf16, servers do not know 'OFF' for what it is.
func (w *differ) quoted(value string) string {
	switch {
	case !plain(value):
		return "_utf8mb4 X'" + hex.EncodeToString([]byte(value)) + "'"
	case w.wide:
		return "_utf8mb4'" + value + "'"
	}
	return "'" + value + "'"
}

// plain tells whether the text is of characters that have the same bytes and no other meaning in
// every character set that a client can have. In swe7 [ and others are letters, and \ is a byte of
// letters in sjis.
func plain(value string) bool {
	for i := range len(value) {
		c := value[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && strings.IndexByte(" _$.,:;+-*/=%()<>&!?#", c) < 0 {
			return false
		}
	}
	return true
}
