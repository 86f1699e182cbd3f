package suites

import (
	"github.com/mysqlrw/mysqlrw/pkg/flavor"
)

// Source is where in a test a statement stands.
type Source uint8

// The sources.
const (
	Plain     Source = iota // the text is sent as it is written
	Evaluated               // the test's variables have been replaced
	Quoted                  // the value of a variable or a condition of the test
)

// Statement is one text that a test sends to a server.
type Statement struct {
	Flavor flavor.Flavor
	// File is the path below the suite's folder, with slashes.
	File string
	// Line is where the text begins, from 1.
	Line   int
	Text   string
	Source Source
	// Delimiter ended the text; it is "" where a line or a quote did.
	Delimiter string
	// Guessed tells of variables without a known value, for which a word
	// stands in the text.
	Guessed bool
	// Errors are the errors that the test expects one of, as it writes them;
	// "0" is success. None means success.
	Errors []string
	// Mode and Charset are those of the connection, as far as the file says.
	Mode    Mode
	Charset string // in lower case; "" is the server's default
}

// Fails says whether the test expects one of the named errors.
func (s *Statement) Fails(names ...string) bool {
	for _, got := range s.Errors {
		for _, name := range names {
			if got == name {
				return true
			}
		}
	}
	return false
}

// Mode is the parts of sql_mode that change how a statement is read.
type Mode uint8

// The modes.
const (
	ANSIQuotes Mode = 1 << iota
	NoBackslashEscapes
	Oracle // MariaDB's other grammar
	IgnoreSpace
)

// Counts is what was met in a suite.
type Counts struct {
	Files, Statements int
	Sources           map[Source]int
	Guessed           int            // of the statements
	Commands          map[string]int // commands that send nothing, by name
	Skipped           map[string]int // statements that were left out, by reason
}

func newCounts() *Counts {
	return &Counts{Sources: map[Source]int{}, Commands: map[string]int{}, Skipped: map[string]int{}}
}
