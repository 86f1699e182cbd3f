package proxy

import (
	"log/slog"
	"strings"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/sqltoken"
)

// maxLogged is how much of a statement is logged.
const maxLogged = 1000

// logSlow logs a statement that took long, without its literals: they may be anybody's secrets.
func (s *session) logSlow(req *request, took time.Duration) {
	s.aside()
	server := ""
	if s.shown.known {
		server = s.serverName(s.shown.server)
	}
	s.p.log.LogAttrs(s.ctx, slog.LevelWarn, "slow-query", slog.Duration("took", took.Round(time.Microsecond)),
		slog.String("server", server), slog.String("user", s.user), slog.Uint64("session", uint64(s.id)),
		slog.String("reason", s.shown.d.Reason().String()), slog.String("statement", withoutLiterals(req.text, &s.route.Options.Options)))
}

// withoutLiterals returns the text with a ? in the place of each literal, and without comments. What
// the lexer cannot read is left out from there on.
func withoutLiterals(text string, o *sqltoken.Options) string {
	var b strings.Builder
	lex := sqltoken.New(text, o)
	end := 0
	for t := lex.Next(); t.Kind != sqltoken.EOF; t = lex.Next() {
		if b.Len() > maxLogged {
			b.WriteString(" ...")
			break
		}
		if t.Start > end && b.Len() > 0 {
			b.WriteByte(' ')
		}
		end = t.End
		switch t.Kind {
		case sqltoken.Comment, sqltoken.Hint:
		case sqltoken.String, sqltoken.Number, sqltoken.Unterminated:
			b.WriteByte('?')
		default:
			b.WriteString(text[t.Start:t.End])
		}
	}
	return strings.TrimSpace(b.String())
}
