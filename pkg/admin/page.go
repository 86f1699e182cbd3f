package admin

import (
	"embed"
	"net/http"
)

// web is the page: no build step, and nothing that is fetched from elsewhere.
//
//go:embed web
var web embed.FS

// page serves the parts of the page.
func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Path
	if name == "/" {
		name = "/index.html"
	}
	w.Header().Set("Cache-Control", "no-cache")
	http.ServeFileFS(w, r, web, "web"+name)
}
