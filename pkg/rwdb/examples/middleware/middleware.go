// Package middleware has a session of rwdb move from one process to another in
// a signed cookie: after a request that has written, the browser's next ones
// see that write, whichever process answers them and whichever replica it
// reads.
//
// What it cannot do: a write after the first byte of the answer is too late for
// a header, and of two answers that come at once the browser keeps one cookie.
package middleware

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/mysqlrw/mysqlrw/pkg/rwdb"
)

// Sessions gives each request a rwdb.Session. It must not be changed while it
// is used.
type Sessions struct {
	Key    []byte       // of HMAC-SHA256, 32 random bytes, the same in all processes
	Logger *slog.Logger // is told of cookies that are no good
}

// Wrap returns a handler whose requests have a session in their context: that
// of the cookie, or a new one. If the session has written when the answer
// begins, it goes into a cookie. A cookie that is no good is dropped.
func (s *Sessions) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := &answer{ResponseWriter: w, sessions: s, request: r, next: next, session: new(rwdb.Session)}
		if c, err := r.Cookie(Cookie); err == nil {
			if err := s.open(c.Value, a.session); err != nil {
				a.drop(err)
			}
		}
		defer a.begin() // also where the handler has sent nothing
		a.serve()
	})
}

// Failed answers a request whose statement has failed. If no server has what
// the session of its cookie has seen, as after a failover that lost writes, the
// cookie is cleared, and a page is made once more without it.
func Failed(w http.ResponseWriter, r *http.Request, err error) {
	a, ok := r.Context().Value(answerKey{}).(*answer)
	if ok && errors.Is(err, rwdb.ErrToken) && !a.begun && !a.dropped {
		a.drop(err)
		a.session = new(rwdb.Session)
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			a.serve()
			return
		}
	}
	http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
}

// answer is a ResponseWriter that sets the cookie before the header is sent.
type answer struct {
	http.ResponseWriter
	sessions *Sessions
	request  *http.Request
	next     http.Handler
	session  *rwdb.Session
	dropped  bool // the cookie of the request
	begun    bool
}

type answerKey struct{}

func (a *answer) serve() {
	ctx := rwdb.WithSession(a.request.Context(), a.session)
	a.next.ServeHTTP(a, a.request.WithContext(context.WithValue(ctx, answerKey{}, a)))
}

func (a *answer) drop(why error) {
	a.dropped = true
	a.sessions.Logger.WarnContext(a.request.Context(), "session cookie dropped", "why", why, "client", a.request.RemoteAddr)
}

// begin is called before the header is sent.
func (a *answer) begin() {
	if a.begun {
		return
	}
	a.begun = true
	if a.session.Wrote() {
		c, err := a.sessions.seal(a.session)
		if err == nil {
			http.SetCookie(a, c)
			return
		}
		a.drop(err)
	}
	if a.dropped {
		http.SetCookie(a, cookie("", -1))
	}
}

// WriteHeader implements http.ResponseWriter. Early hints are not the answer.
func (a *answer) WriteHeader(status int) {
	if status >= http.StatusOK || status == http.StatusSwitchingProtocols {
		a.begin()
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (a *answer) Write(p []byte) (int, error) {
	a.begin()
	return a.ResponseWriter.Write(p)
}

// Flush implements http.Flusher, for handlers that stream.
func (a *answer) Flush() {
	a.begin()
	_ = http.NewResponseController(a.ResponseWriter).Flush()
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
