package sqltoken

import "strings"

// Nesting follows the blocks of a stored program's body, so that a semicolon
// inside BEGIN ... END is told from the one that ends the statement. Feed it
// the tokens of the statement in order, from CREATE or from the word that says
// which kind of program it is; a compound statement that stands alone, such as
// BEGIN NOT ATOMIC, from its first word. The zero value is at the start.
//
// It knows both families' programs and MariaDB's sql_mode ORACLE (AS, IS,
// packages, LOOP without DO). BEGIN, END and CASE are names to it where no
// server takes them for more: t.end, SELECT begin FROM t.
type Nesting struct {
	depth  int
	blocks [maxBlocks]block
	state  state
	kind   programKind
	parens int
	angles int // < and > of an Oracle label <<x>> that have been read
	last   string
}

// maxBlocks is how many levels are told apart; all deeper ones are one kind.
const maxBlocks = 48

// block is what an END has to close.
type block uint8

const (
	statements   block = iota // BEGIN, IF, LOOP, WHILE, FOR, CASE with statements
	repeated                  // REPEAT, before UNTIL
	condition                 // behind UNTIL: END may stand behind an expression
	expression                // CASE that is a value
	declarations              // behind AS or IS in sql_mode ORACLE, before BEGIN
)

// state is what the next word may be.
type state uint16

const (
	fed      state = 1 << iota // a token has been read
	begins                     // a statement of the body begins here
	seeks                      // the one statement of the body begins at any of the next words
	inBody                     // the header is over
	closed                     // END has just been read: IF, CASE or LOOP may belong to it
	handler                    // DECLARE ... HANDLER, before FOR
	routine                    // PROCEDURE or FUNCTION among declarations
	defined                    // AS or IS has just been read
	afterDot                   // the next word is a part of a name
)

// programKind is what is being created.
type programKind uint8

const (
	noProgram programKind = iota
	procedure
	trigger
	event
	packaged
)

// verbs begin a statement that has no blocks. In them CASE, IF and REPEAT are
// expressions. SET is not among them: a function may return one.
const verbs = " select insert update delete replace return call do with values execute prepare signal resignal table load " +
	"show explain analyze get open create drop alter rename truncate grant revoke flush kill lock unlock start commit " +
	"rollback savepoint release xa reset purge change stop check checksum optimize repair cache use "

// others are the words, besides verbs, that mean something in a program.
const others = " as atomic begin case character do each else end event for function handler if is loop not package procedure " +
	"repeat returns row set strings then trigger until while "

// keyword returns a word that means something in lower case, and any other as
// it is. It allocates nothing.
func keyword(word string) string {
	lower := true
	for i := range len(word) {
		lower = lower && (word[i] < 'A' || word[i] > 'Z')
	}
	if lower {
		return word
	}
	for _, list := range [...]string{others, verbs} {
		for rest := list[1:]; rest != ""; {
			var one string
			one, rest, _ = strings.Cut(rest, " ")
			if len(one) == len(word) && strings.EqualFold(one, word) {
				return one
			}
		}
	}
	return word
}

// Open is the number of blocks that have begun and not ended.
func (n *Nesting) Open() int { return n.depth }

func (n *Nesting) is(s state) bool { return n.state&s != 0 }

// Feed takes the next token of the text. Comments may be left out.
func (n *Nesting) Feed(text string, t Token) {
	switch t.Kind {
	case Comment, Hint, ExecOpen, ExecClose, EOF:
		return
	}
	if n.is(defined) {
		n.state &^= defined
		if t.Kind != String { // the body of a MySQL function in another language
			n.open(declarations)
			n.state |= begins
		}
	}
	dotted := n.is(afterDot)
	n.state &^= afterDot
	switch {
	case t.Kind == Word && !dotted && n.angles == 0:
		n.word(keyword(text[t.Start:t.End]))
		n.state |= fed
		return
	case t.Kind == Semicolon:
		n.state |= begins
		n.state &^= seeks | handler | routine
	case t.Kind == Op:
		n.op(text[t.Start])
	default:
		n.plain()
	}
	n.state = n.state&^closed | fed
	n.last = ""
}

// plain is a token that no statement begins with. A label may be quoted.
func (n *Nesting) plain() {
	if n.angles == 0 {
		n.state &^= begins
	}
}

func (n *Nesting) op(b byte) {
	switch b {
	case '(':
		n.parens++
	case ')':
		n.parens = max(n.parens-1, 0)
		if n.depth == 0 && n.parens == 0 && n.kind == procedure && !n.is(inBody) {
			n.state |= seeks // behind the parameters
		}
	case '.':
		n.state |= afterDot
	case ':': // ends a label
		n.state |= begins
		return
	case '<', '>':
		if n.is(begins) {
			n.angles = (n.angles + 1) % 4
			return
		}
	}
	n.plain()
}

func (n *Nesting) word(w string) {
	begin := n.is(begins) || !n.is(fed)
	may, end := begin || n.is(seeks), n.is(closed)
	n.state &^= begins | closed
	last := n.last
	n.last = w
	switch w {
	case "begin":
		n.begin(begin, may)
	case "end":
		n.end(begin)
	case "case":
		switch {
		case end:
		case may:
			n.open(statements)
		default:
			n.open(expression)
		}
	case "if", "while", "for", "loop", "repeat":
		n.loop(w, begin, may, end)
	case "until":
		if begin && n.top() == repeated {
			n.replace(condition)
		}
	case "then", "else":
		if n.depth > 0 && n.top() != expression {
			n.state |= begins
		}
	case "do":
		n.do(begin)
	case "atomic": // BEGIN NOT ATOMIC
		if last == "not" {
			n.state |= begins
		}
	case "handler":
		n.state |= handler
	case "procedure", "function", "trigger", "event", "package":
		n.program(w, begin)
	case "row":
		if n.kind == trigger && last == "each" && !n.is(inBody) {
			n.state |= seeks
		}
	case "as", "is":
		n.defines()
	case "set":
		if last != "returns" && last != "character" {
			n.verb()
		}
	default:
		if n.is(seeks) && strings.Contains(verbs, " "+w+" ") {
			n.verb()
		}
	}
}

// verb is the first word of a body that has no blocks.
func (n *Nesting) verb() {
	if n.is(seeks) {
		n.state = n.state&^seeks | inBody
	}
}

func (n *Nesting) begin(begin, may bool) {
	switch {
	case begin && n.depth > 0 && n.top() == declarations:
		n.replace(statements)
		n.state |= begins
	case may:
		n.open(statements)
		n.state |= begins
	}
}

func (n *Nesting) end(begin bool) {
	if n.depth == 0 || !begin && n.top() != expression && n.top() != condition {
		return // a name
	}
	n.depth--
	n.state |= closed
}

// loop handles the words that open a block of statements, and those that
// belong to one: END LOOP, WHILE x LOOP.
func (n *Nesting) loop(w string, begin, may, end bool) {
	switch {
	case end:
	case w == "for" && n.is(handler):
		n.state = n.state&^handler | seeks
	case may && (w != "for" || begin):
		b := statements
		if w == "repeat" {
			b = repeated
		}
		n.open(b)
		if w == "loop" || w == "repeat" {
			n.state |= begins
		}
	case w == "loop" && n.depth > 0:
		n.state |= begins
	}
}

// do ends the head of a loop or of an event, or is a statement itself.
func (n *Nesting) do(begin bool) {
	switch {
	case n.depth == 0 && n.kind == event && !n.is(inBody|seeks):
		n.state |= seeks
	case n.is(seeks):
		n.verb()
	case n.depth > 0 && !begin && n.top() != expression:
		n.state |= begins
	}
}

func (n *Nesting) program(w string, begin bool) {
	if n.depth > 0 {
		if begin && n.top() == declarations {
			n.state |= routine
		}
		return
	}
	if n.kind != noProgram {
		return
	}
	switch w {
	case "trigger":
		n.kind = trigger
	case "event":
		n.kind = event
	case "package":
		n.kind = packaged
	default:
		n.kind = procedure
	}
}

// defines handles AS and IS, which in sql_mode ORACLE stand between the head of
// a routine or package and its declarations.
func (n *Nesting) defines() {
	whole := n.depth == 0 && n.parens == 0 && !n.is(inBody) && (n.kind == procedure || n.kind == packaged)
	inner := n.depth > 0 && n.top() == declarations && n.is(routine)
	if whole || inner {
		n.state = n.state&^routine | defined
	}
}

func (n *Nesting) top() block { return n.blocks[min(n.depth, maxBlocks-1)] }

func (n *Nesting) replace(b block) { n.blocks[min(n.depth, maxBlocks-1)] = b }

func (n *Nesting) open(b block) {
	n.depth++
	n.replace(b)
	n.state = n.state&^seeks | inBody
}
