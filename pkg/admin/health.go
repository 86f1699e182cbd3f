package admin

import "net/http"

func (s *Server) healthy(w http.ResponseWriter, _ *http.Request) { text(w, http.StatusOK, "ok") }

func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	if why := s.o.Control.Ready(); why != "" {
		text(w, http.StatusServiceUnavailable, why)
		return
	}
	text(w, http.StatusOK, "ready")
}

func text(w http.ResponseWriter, code int, line string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(line + "\n"))
}
