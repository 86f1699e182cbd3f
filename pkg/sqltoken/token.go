package sqltoken

// Kind says what a token is.
type Kind uint8

// The kinds of token.
const (
	// EOF is the end of the text; every later call returns it again.
	EOF Kind = iota
	// Word is an unquoted name or keyword.
	Word
	// Name is a quoted name: `x`, or "x" under ANSI_QUOTES.
	Name
	// String is a string literal with its prefix, if it stands right before
	// it: 'x', "x", N'x', x'41', b'01'. A character set in front of it (_utf8)
	// is a Word of its own.
	String
	// Number is an integer, decimal, 1e5, 0x41 or 0b01.
	Number
	// UserVar is @x, @'x', @"x" or @`x` with its @. The host of an account,
	// 'u'@'h', reads the same.
	UserVar
	// SysVar is @@; the variable's name follows as words and dots.
	SysVar
	// Assign is :=.
	Assign
	// Op is one byte of punctuation.
	Op
	// Semicolon separates statements.
	Semicolon
	// Comment is a comment that no server runs: plain, to the end of the
	// line, or an executable one whose version no server has.
	Comment
	// Hint is an optimizer hint, /*+ ... */.
	Hint
	// ExecOpen begins an executable comment whose content is code: /*!,
	// /*!50000, /*M!100100. What follows is scanned as code.
	ExecOpen
	// ExecClose ends it.
	ExecClose
	// Unterminated is a string, quoted name or comment without an end; it
	// goes to the end of the text. No server runs the statement.
	Unterminated
	// Invalid is a byte that no server reads there, such as a NUL outside
	// quotes or a lone backslash; or it is the opening of an executable comment
	// that the servers of the options read in more than two ways. What follows
	// is scanned as code then.
	Invalid
)

var kindNames = [...]string{
	"EOF", "Word", "Name", "String", "Number", "UserVar", "SysVar", "Assign", "Op", "Semicolon",
	"Comment", "Hint", "ExecOpen", "ExecClose", "Unterminated", "Invalid",
}

// String returns the constant's name, for tests and messages.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "Kind?"
}

// Token is a piece of the text. It holds offsets only: the text stays with the
// caller.
type Token struct {
	// Space is where the white space in front of the token begins: the end of
	// the token before. Space, Start and End of all tokens cover the text
	// without a gap.
	Space int
	// Start and End are the token's first byte and the one after its last.
	Start, End int
	Kind       Kind
	// Exec says that the token stands inside an executable comment.
	Exec bool
}
