package route

import (
	"strings"

	"github.com/mysqlrw/mysqlrw/pkg/sqltoken"
)

// walker holds the tokens of one statement that are code, at least one. It is for the few
// statements that change what a session holds, and allocates.
type walker struct {
	text   string
	tokens []sqltoken.Token
}

// walk returns a walker for each statement of the text.
func walk(text string, o *Options) []*walker {
	var all []*walker
	w := &walker{text: text}
	lex := sqltoken.New(text, &o.Options)
	for t := lex.Next(); t.Kind != sqltoken.EOF; t = lex.Next() {
		switch t.Kind {
		case sqltoken.Comment, sqltoken.Hint, sqltoken.ExecOpen, sqltoken.ExecClose:
		case sqltoken.Semicolon:
			if len(w.tokens) > 0 {
				all = append(all, w)
			}
			w = &walker{text: text}
		default:
			w.tokens = append(w.tokens, t)
		}
	}
	if len(w.tokens) > 0 {
		all = append(all, w)
	}
	return all
}

// statement classifies the statement by itself; whole is what the text is, which
// is the same if there is no other.
func (w *walker) statement(whole *Statement, o *Options) Statement {
	if whole.Count <= 1 {
		return *whole
	}
	return Classify(w.text[w.tokens[0].Start:w.tokens[len(w.tokens)-1].End], o)
}

func (w *walker) piece(i int) string {
	if i < 0 || i >= len(w.tokens) {
		return ""
	}
	return w.text[w.tokens[i].Start:w.tokens[i].End]
}

func (w *walker) kind(i int) sqltoken.Kind {
	if i < 0 || i >= len(w.tokens) {
		return sqltoken.EOF
	}
	return w.tokens[i].Kind
}

func (w *walker) word(i int, keyword string) bool {
	return w.kind(i) == sqltoken.Word && equal(w.piece(i), keyword)
}

func (w *walker) isName(i int) bool {
	return w.kind(i) == sqltoken.Word || w.kind(i) == sqltoken.Name
}

// object is a name with the schema in front of it, if there is one.
type object struct{ schema, name string }

// name reads a name at i and returns the index behind it.
func (w *walker) name(i int) (object, int) {
	var o object
	for w.isName(i) && w.piece(i+1) == "." {
		o.schema = unquote(w.piece(i))
		i += 2
	}
	if !w.isName(i) {
		return object{}, i + 1
	}
	o.name = unquote(w.piece(i))
	return o, i + 1
}

// namesAt reads a list of names at i, behind IF EXISTS or IF NOT EXISTS.
func (w *walker) namesAt(i int) []object {
	for w.word(i, "if") || w.word(i, "not") || w.word(i, "exists") {
		i++
	}
	var names []object
	for w.isName(i) {
		var name object
		name, i = w.name(i)
		names = append(names, name)
		if w.piece(i) != "," {
			break
		}
		i++
	}
	return names
}

// names returns the list of names behind the first of some keywords.
func (w *walker) names(keywords ...string) []object {
	for i := range w.tokens {
		for _, k := range keywords {
			if w.word(i, k) {
				return w.namesAt(i + 1)
			}
		}
	}
	return nil
}

// first returns the first name behind one of the keywords, without its schema.
func (w *walker) first(keywords ...string) string {
	if names := w.names(keywords...); len(names) > 0 {
		return names[0].name
	}
	return ""
}

// handler returns the name by which HANDLER t OPEN [AS] name is known.
func (w *walker) handler() string {
	for i := range w.tokens {
		if w.word(i, "open") && i > 1 {
			if w.word(i+1, "as") {
				i++
			}
			if w.isName(i + 1) {
				return unquote(w.piece(i + 1))
			}
		}
	}
	return w.first("handler")
}

// renamed returns the tables that the statement renames, old and new name in
// turn.
func (w *walker) renamed() []object {
	var pairs []object
	switch {
	case w.word(0, "rename"):
		for i := 2; i < len(w.tokens); i++ {
			var from, to object
			if from, i = w.name(i); w.word(i, "to") {
				to, i = w.name(i + 1)
				pairs = append(pairs, from, to)
			}
		}
	case w.word(0, "alter"):
		names := w.names("table")
		for i := range w.tokens {
			if !w.word(i, "rename") || len(names) == 0 {
				continue
			}
			if w.word(i+1, "to") || w.word(i+1, "as") || w.piece(i+1) == "=" {
				i++
			}
			if w.word(i+1, "column") || w.word(i+1, "index") || w.word(i+1, "key") {
				continue
			}
			if to, _ := w.name(i + 1); to.name != "" {
				pairs = append(pairs, names[0], to)
			}
		}
	}
	return pairs
}

// assignedVariables returns the user variables that the statement gives a value:
// in front of := or =, behind INTO, and all that CALL and LOAD DATA name. Nil if
// there is none it can name.
func (w *walker) assignedVariables() []string {
	var names []string
	into, all := false, w.word(0, "call") || w.word(0, "load")
	for i, t := range w.tokens {
		switch {
		case w.word(i, "into"):
			into = true
		case t.Kind == sqltoken.UserVar:
			next := w.piece(i + 1)
			if all || into || next == ":=" || next == "=" {
				names = append(names, unquote(w.piece(i)[1:]))
			}
		case w.piece(i) != ",":
			into = false
		}
	}
	return names
}

// lock returns the name of the lock that the statement takes, "" if it is not
// known, and whether it is certain that there is one call that runs once.
func (w *walker) lock(function string) (name string, sure bool) {
	calls, often := 0, false
	for i := range w.tokens {
		switch {
		case w.word(i, "from"), w.word(i, "join"), w.word(i, "benchmark"):
			often = true
		case equal(unquote(w.piece(i)), function) && w.piece(i+1) == "(":
			calls++
			if next := w.piece(i + 3); w.kind(i+2) == sqltoken.String && (next == "," || next == ")") {
				name = unquote(w.piece(i + 2))
			}
		}
	}
	if calls != 1 || strings.Contains(name, `\`) {
		return "", false
	}
	return name, name != "" && !often
}

// plainCall says whether the statement is SELECT or DO of calls with literals
// and nothing else, so that each call certainly runs.
func (w *walker) plainCall() bool {
	for i := range w.tokens {
		switch w.kind(i) {
		case sqltoken.String, sqltoken.Number:
		case sqltoken.Name:
			if w.piece(i+1) != "(" && !w.word(i-1, "as") {
				return false
			}
		case sqltoken.Word:
			first := i == 0 && (w.word(i, "select") || w.word(i, "do"))
			alias := w.word(i, "as") || w.word(i-1, "as")
			release := w.word(i, "release_lock") || w.word(i, "release_all_locks")
			if !first && !alias && !release {
				return false
			}
		case sqltoken.Op:
			if c := w.piece(i); c != "(" && c != ")" && c != "," {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// preparedText returns what a PREPARE will leave on the connection each time
// it is executed. What changes the session in a way that only the connection
// knows is unknown state.
func preparedText(w *walker, o *Options) Holds {
	for i := range w.tokens {
		if !w.word(i, "from") {
			continue
		}
		if w.kind(i+1) != sqltoken.String || w.kind(i+2) == sqltoken.String {
			break
		}
		text := unquote(w.piece(i + 1))
		if strings.Contains(text, `\`) {
			break
		}
		st := Classify(text, o)
		switch st.Class {
		case Read, LockingRead, Write, DDL, Show, Explain, Diagnostics, Handler, LockTables, UnlockTables:
			return st.Starts()
		}
		break
	}
	return PinUnknown
}
