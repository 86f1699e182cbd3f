package route

import (
	"strings"

	"github.com/mysqlrw/mysqlrw/pkg/sqltoken"
)

// walker holds the tokens of a text that are code. It is for the few statements
// that change what a session holds, and allocates.
type walker struct {
	text   string
	tokens []sqltoken.Token
}

func walk(text string, o *Options) *walker {
	w := &walker{text: text}
	lex := sqltoken.New(text, &o.Options)
	for t := lex.Next(); t.Kind != sqltoken.EOF; t = lex.Next() {
		switch t.Kind {
		case sqltoken.Comment, sqltoken.Hint, sqltoken.ExecOpen, sqltoken.ExecClose:
		default:
			w.tokens = append(w.tokens, t)
		}
	}
	return w
}

func (w *walker) piece(i int) string {
	if i < 0 || i >= len(w.tokens) {
		return ""
	}
	return w.text[w.tokens[i].Start:w.tokens[i].End]
}

func (w *walker) word(i int, keyword string) bool {
	return i >= 0 && i < len(w.tokens) && w.tokens[i].Kind == sqltoken.Word && equal(w.piece(i), keyword)
}

func (w *walker) isName(i int) bool {
	return i >= 0 && i < len(w.tokens) && (w.tokens[i].Kind == sqltoken.Word || w.tokens[i].Kind == sqltoken.Name)
}

// name reads a name at i, of which only the last part counts: db.t is t. It
// returns the index behind it.
func (w *walker) name(i int) (string, int) {
	for w.isName(i) && w.piece(i+1) == "." {
		i += 2
	}
	if !w.isName(i) {
		return "", i + 1
	}
	return unquote(w.piece(i)), i + 1
}

// names returns the list of names behind one of two keywords, without IF EXISTS
// and IF NOT EXISTS.
func (w *walker) names(keyword, or string) []string {
	i := 0
	for i < len(w.tokens) && !w.word(i, keyword) && !w.word(i, or) {
		i++
	}
	i++
	for w.word(i, "if") || w.word(i, "not") || w.word(i, "exists") {
		i++
	}
	var names []string
	for w.isName(i) {
		var name string
		name, i = w.name(i)
		names = append(names, name)
		if w.piece(i) != "," {
			break
		}
		i++
	}
	return names
}

// all returns every name in the text, words included.
func (w *walker) all() []string {
	var names []string
	for i := range w.tokens {
		if w.isName(i) {
			names = append(names, unquote(w.piece(i)))
		}
	}
	return names
}

// behind returns the names that stand behind one of the keywords.
func (w *walker) behind(keywords ...string) []string {
	var names []string
	for i := range w.tokens {
		for _, k := range keywords {
			if w.word(i, k) {
				if name, _ := w.name(i + 1); name != "" {
					names = append(names, name)
				}
			}
		}
	}
	return names
}

// assignedVariables returns the user variables that the text gives a value: in
// front of := or =, behind INTO, and all that CALL and LOAD DATA name. Nil if
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

// lock returns the name of the lock that the text takes or releases, and whether
// that is certain: one call with a literal name, run once.
func (w *walker) lock(function string) (string, bool) {
	name, calls, tables := "", 0, false
	for i := range w.tokens {
		switch {
		case w.word(i, "from"), w.word(i, "join"), w.word(i, "benchmark"):
			tables = true
		case equal(unquote(w.piece(i)), function) && w.piece(i+1) == "(":
			calls++
			if next := w.piece(i + 3); i+2 < len(w.tokens) && w.tokens[i+2].Kind == sqltoken.String && (next == "," || next == ")") {
				name = unquote(w.piece(i + 2))
			}
		}
	}
	return name, calls == 1 && !tables && name != "" && !strings.Contains(name, `\`)
}

// preparedText returns what a PREPARE will leave on the connection each time
// it is executed.
func preparedText(w *walker, o *Options) Holds {
	for i := range w.tokens {
		if !w.word(i, "from") {
			continue
		}
		if i+1 >= len(w.tokens) || w.tokens[i+1].Kind != sqltoken.String || i+2 < len(w.tokens) && w.tokens[i+2].Kind == sqltoken.String {
			break
		}
		text := unquote(w.piece(i + 1))
		if strings.Contains(text, `\`) {
			break
		}
		st := Classify(text, o)
		if st.Class == Unknown {
			break
		}
		return st.Starts()
	}
	return PinUnknown
}
