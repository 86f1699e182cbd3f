package middleware

import (
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"strconv"
)

// Shop is what one process serves of a shop. Its statements have the context of
// the request, and so its session.
type Shop struct {
	DB *sql.DB
	// Site is the address that everybody uses, behind which any process may answer: https://shop.example.
	Site string
}

// Handler returns the pages of the shop.
func (s *Shop) Handler(sessions *Sessions) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /items/{id}", s.show)
	mux.HandleFunc("POST /items/{id}", s.change)
	return sessions.Wrap(mux)
}

// change sets a price, and sends the browser to the page of the item.
func (s *Shop) change(w http.ResponseWriter, r *http.Request) {
	price, err := strconv.ParseInt(r.PostFormValue("price"), 10, 64)
	if err != nil {
		http.Error(w, "price is no number", http.StatusBadRequest)
		return
	}
	id := r.PathValue("id")
	if _, err := s.DB.ExecContext(r.Context(), "UPDATE items SET price = ? WHERE id = ?", price, id); err != nil {
		Failed(w, r, err)
		return
	}
	http.Redirect(w, r, s.Site+"/items/"+id, http.StatusSeeOther)
}

// show is the page of an item.
func (s *Shop) show(w http.ResponseWriter, r *http.Request) {
	var price int64
	err := s.DB.QueryRowContext(r.Context(), "SELECT price FROM items WHERE id = ?", r.PathValue("id")).Scan(&price)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		http.NotFound(w, r)
	case err != nil:
		Failed(w, r, err)
	default:
		fmt.Fprintln(w, price)
	}
}
