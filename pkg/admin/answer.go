package admin

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/mysqlrw/mysqlrw/pkg/config"
)

// Failure is the body of every answer that is no success.
type Failure struct {
	Error    string           `json:"error"`
	Problems []config.Problem `json:"problems,omitempty"` // of a configuration
}

func send(w http.ResponseWriter, code int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		code, text = http.StatusInternalServerError, []byte(`{"error":"the answer cannot be written"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(append(text, '\n'))
}

func fail(w http.ResponseWriter, code int, message string) { send(w, code, Failure{Error: message}) }

// failed sends an error of a configuration with all its problems.
func failed(w http.ResponseWriter, err error) {
	var problems config.Errors
	if !errors.As(err, &problems) {
		fail(w, http.StatusUnprocessableEntity, err.Error())
		return
	}
	send(w, http.StatusUnprocessableEntity, Failure{Error: "the configuration is wrong, and stays as it was", Problems: problems})
}

// give makes a handler of something that only looks.
func give[T any](look func() T) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { send(w, http.StatusOK, look()) }
}

// take reads the body of a change, or answers what is wrong with it.
func take(w http.ResponseWriter, r *http.Request, into any) bool {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil && d.More() {
		err = errors.New("there is more behind it")
	}
	if err != nil {
		fail(w, http.StatusBadRequest, fmt.Sprintf("the body is not what is expected: %s", err))
		return false
	}
	return true
}

func quoted(text string) string {
	if len(text) > 100 {
		text = text[:100]
	}
	return strconv.QuoteToASCII(text)
}
