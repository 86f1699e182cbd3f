package route

import "github.com/mysqlrw/mysqlrw/pkg/sqltoken"

// storedProgram steps over the rest of a statement that has, or is, a body of
// statements. Nothing in it runs now, or nobody can say what did.
func (s *scan) storedProgram() {
	var blocks sqltoken.Nesting
	blocks.Feed(s.text, sqltoken.Token{Start: int(s.prev.start), End: int(s.prev.end), Kind: s.prev.kind})
	for s.tok.Kind != sqltoken.EOF {
		if s.tok.Kind == sqltoken.Semicolon && blocks.Open() == 0 {
			return
		}
		blocks.Feed(s.text, s.tok)
		s.next()
	}
}
