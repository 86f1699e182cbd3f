package middleware

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/rwdb"
	"github.com/mysqlrw/mysqlrw/pkg/rwdb/examples"
	"github.com/mysqlrw/mysqlrw/pkg/rwdb/examples/internal/shoptest"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/route"
)

// process is what one process has: nothing that another one has, but the key.
type process struct {
	*httptest.Server
	sessions *Sessions
	shop     *Shop
	log      journal
}

// journal is what was logged.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

// take returns what was logged since it was called last.
func (j *journal) take() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	text := j.text.String()
	j.text.Reset()
	return text
}

func start(t *testing.T, site *shoptest.Site, o rwdb.Options) *process {
	t.Helper()
	connector, err := rwdb.New(o)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{shop: &Shop{DB: sql.OpenDB(connector)}}
	t.Cleanup(func() { _ = p.shop.DB.Close() })
	p.sessions = &Sessions{Key: []byte("the key of all processes"), Logger: slog.New(slog.NewTextHandler(&p.log, nil))}
	p.Server = httptest.NewTLSServer(p.shop.Handler(p.sessions))
	t.Cleanup(p.Close)
	site.Known(t, func() {
		ctx := rwdb.WithLevel(t.Context(), route.Eventual)
		var price int
		if err := p.shop.DB.QueryRowContext(ctx, "SELECT price FROM items WHERE id = 1").Scan(&price); err != nil {
			t.Fatal(err)
		}
	})
	return p
}

// street is two processes of one shop, on a cluster with a replica that applies
// nothing. What is posted to the first one redirects to the second one.
type street struct {
	site   *shoptest.Site
	first  *process
	second *process
}

// open starts a street. The item 1 has the price 1.
func open(t *testing.T, f flavor.Flavor) *street {
	t.Helper()
	statements := append(examples.Statements(), "INSERT INTO items (id, name, price, stock) VALUES (1, 'pen', 1, 1)")
	s := &street{site: shoptest.New(t, f, statements...)}
	s.first = start(t, s.site, s.site.Options)
	other := s.site.Options
	other.Servers = slices.Clone(other.Servers)
	slices.Reverse(other.Servers)
	s.second = start(t, s.site, other)
	s.first.shop.Site = s.second.URL
	s.second.shop.Site = s.first.URL
	s.site.Hold(t)
	s.site.Seen()
	return s
}

// browser returns a client that keeps cookies, if that is wanted. A certificate
// of the one server is good for the other one.
func (s *street) browser(t *testing.T, cookies bool) *http.Client {
	t.Helper()
	c := &http.Client{Transport: s.first.Client().Transport, Timeout: time.Minute}
	if cookies {
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		c.Jar = jar
	}
	return c
}

// do sends a request and returns the answer and its body.
func do(t *testing.T, c *http.Client, method, address string, price int, cookie string) (*http.Response, string) {
	t.Helper()
	body := url.Values{"price": {fmt.Sprint(price)}}.Encode()
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if cookie != "" {
		r.AddCookie(&http.Cookie{Name: Cookie, Value: cookie})
	}
	answer, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, strings.TrimSpace(string(text))
}

// set returns the cookie that an answer sets, or nil.
func set(t *testing.T, answer *http.Response) *http.Cookie {
	t.Helper()
	all := answer.Cookies()
	if len(all) == 0 {
		return nil
	}
	if len(all) > 1 || all[0].Name != Cookie {
		t.Fatalf("the cookies are %v", all)
	}
	return all[0]
}

func TestMiddleware(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		s := open(t, f)
		t.Run("redirects", s.redirects)
		t.Run("bad cookies", s.badCookies)
		t.Run("headers", s.headers)
	})
}

// redirects: what was posted to one process is on the page that another one
// makes, although a replica is late. Without the cookie it need not be.
func (s *street) redirects(t *testing.T) {
	page := "/items/1"
	last := 1
	browser := s.browser(t, true)
	for range 20 {
		last++
		answer, text := do(t, browser, "POST", s.first.URL+page, last, "")
		if at := answer.Request.URL.String(); at != s.second.URL+page || answer.StatusCode != http.StatusOK {
			t.Fatalf("the redirect ended with %s at %s, want %s", answer.Status, at, s.second.URL+page)
		}
		if text != fmt.Sprint(last) {
			t.Fatalf("the page shows %s after %d was posted: %+v", text, last, s.site.Seen())
		}
		if c := set(t, answer); c != nil {
			t.Errorf("a page that has written nothing sets %v", c)
		}
	}
	reads := s.site.Reads(t)
	if reads["replica1"] < 18 || reads[shoptest.Held] > 0 {
		t.Errorf("the pages were read on %v, want replica1", reads)
	}

	stale := 0
	stranger := s.browser(t, false)
	for range 20 {
		_, text := do(t, stranger, "GET", s.second.URL+page, 0, "")
		switch text {
		case "1":
			stale++
		case fmt.Sprint(last):
		default:
			t.Errorf("without the cookie the page shows %s", text)
		}
	}
	reads = s.site.Reads(t)
	if stale == 0 || stale != reads[shoptest.Held] {
		t.Errorf("without the cookie %d pages were stale, and read on %v: want all of %s, and some", stale, reads, shoptest.Held)
	}
	if text := s.first.log.take() + s.second.log.take(); text != "" {
		t.Errorf("this was logged: %s", text)
	}
}

// badCookie is one that is no good, and why; "" is one that is.
type badCookie struct{ name, value, why string }

// badCookies: one that is no good is dropped and cleared, and the page is
// made as without it. One that is signed, but of what no server knows, is found
// out by the first statement.
func (s *street) badCookies(t *testing.T) {
	item := s.second.URL + "/items/1"
	browser := s.browser(t, false)
	browser.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	answer, _ := do(t, browser, "POST", s.first.URL+"/items/1", 100, "")
	good := set(t, answer)
	if good == nil || answer.StatusCode != http.StatusSeeOther {
		t.Fatalf("a write sets no cookie: %s", answer.Status)
	}
	if good.MaxAge != 60 || !good.HttpOnly || !good.Secure || good.SameSite != http.SameSiteLaxMode {
		t.Errorf("the cookie is %v", good)
	}
	nobody := "s3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5"
	if s.site.Flavor == flavor.MariaDB {
		nobody = "s0-1-100000"
	}
	foreign := &Sessions{Key: []byte("another key")}
	now := time.Now()
	for _, tt := range []badCookie{
		{"good", good.Value, ""},
		{"tampered with", good.Value[:50] + "AAAA" + good.Value[54:], errForged.Error()},
		{"truncated", good.Value[:len(good.Value)-3], errForged.Error()},
		{"foreign", foreign.sealed(nobody, now), errForged.Error()},
		{"expired", s.first.sessions.sealed(nobody, now.Add(-2*MaxAge)), errExpired.Error()},
		{"of what was lost", s.first.sessions.sealed(nobody, now), rwdb.ErrToken.Error()},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			answer, text := do(t, browser, method, item, 0, tt.value)
			if answer.StatusCode != http.StatusOK || method == "GET" && tt.why == "" && text != "100" {
				t.Errorf("%s %s: %s %q", method, tt.name, answer.Status, text)
			}
			tt.check(t, method, answer, s.second.log.take())
		}
	}
	s.badPosts(t, browser, nobody)
}

// check fails the test if a cookie that is no good was not cleared and logged,
// or one that is was.
func (tt badCookie) check(t *testing.T, method string, answer *http.Response, logged string) {
	t.Helper()
	c := set(t, answer)
	if tt.why == "" {
		if c != nil || logged != "" {
			t.Errorf("%s %s: sets %v, logs %q", method, tt.name, c, logged)
		}
		return
	}
	if c == nil || c.MaxAge >= 0 || c.Value != "" {
		t.Errorf("%s %s: the cookie is not cleared: %v", method, tt.name, c)
	}
	if strings.Count(logged, "\n") != 1 || !strings.Contains(logged, tt.why) || strings.Contains(logged, tt.value) {
		t.Errorf("%s %s: logs %q", method, tt.name, logged)
	}
}

// badPosts: a post with a cookie that is no good is done like one without. One
// of what no server knows does nothing; the next one is without it.
func (s *street) badPosts(t *testing.T, browser *http.Client, nobody string) {
	t.Helper()
	item := s.second.URL + "/items/1"
	lost := s.first.sessions.sealed(nobody, time.Now())
	answer, _ := do(t, browser, "POST", item, 101, lost)
	if c := set(t, answer); answer.StatusCode != http.StatusInternalServerError || c == nil || c.MaxAge >= 0 {
		t.Errorf("a post with a cookie of what was lost: %s, %v", answer.Status, c)
	}
	if logged := s.second.log.take(); !strings.Contains(logged, rwdb.ErrToken.Error()) {
		t.Errorf("a post with a cookie of what was lost logs %q", logged)
	}
	if price := s.price(t); price != 100 {
		t.Errorf("a post that failed has made the price %d", price)
	}
	answer, _ = do(t, browser, "POST", item, 102, "nonsense")
	if c := set(t, answer); answer.StatusCode != http.StatusSeeOther || c == nil || c.MaxAge != 60 {
		t.Errorf("a post with a cookie of nonsense: %s, %v", answer.Status, c)
	}
	if price := s.price(t); price != 102 {
		t.Errorf("a post with a cookie of nonsense has left the price %d", price)
	}
}

// price returns what the primary has.
func (s *street) price(t *testing.T) (price int) {
	t.Helper()
	err := sandboxtest.Open(t, s.site.Primary()).QueryRowContext(t.Context(), "SELECT price FROM shop.items WHERE id = 1").Scan(&price)
	if err != nil {
		t.Fatal(err)
	}
	return price
}

// headers: the cookie is there however a handler begins its answer, unless
// it has written nothing by then.
func (s *street) headers(t *testing.T) {
	write := func(ctx context.Context) {
		if _, err := s.first.shop.DB.ExecContext(ctx, "UPDATE items SET price = price + 1 WHERE id = 1"); err != nil {
			t.Error(err)
		}
	}
	for _, tt := range []struct {
		name    string
		want    bool
		handler http.HandlerFunc
	}{
		{"nothing is sent", true, func(_ http.ResponseWriter, r *http.Request) { write(r.Context()) }},
		{"a status", true, func(w http.ResponseWriter, r *http.Request) {
			write(r.Context())
			w.WriteHeader(http.StatusNoContent)
		}},
		{"a body", true, func(w http.ResponseWriter, r *http.Request) {
			write(r.Context())
			_, _ = io.WriteString(w, "done")
		}},
		{"early hints first", true, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			write(r.Context())
			w.WriteHeader(http.StatusOK)
		}},
		{"flushed", true, func(w http.ResponseWriter, r *http.Request) {
			write(r.Context())
			w.(http.Flusher).Flush()
		}},
		{"flushed by a controller", true, func(w http.ResponseWriter, r *http.Request) {
			write(r.Context())
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
		}},
		{"a transaction", true, func(_ http.ResponseWriter, r *http.Request) { s.transaction(t, r.Context()) }},
		{"nothing is written", false, func(w http.ResponseWriter, r *http.Request) { s.first.shop.show(w, r) }},
		{"written too late", false, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "done")
			write(r.Context())
		}},
		{"written without the request's context", false, func(http.ResponseWriter, *http.Request) { write(t.Context()) }},
	} {
		server := httptest.NewTLSServer(s.first.sessions.Wrap(tt.handler))
		answer, _ := do(t, s.browser(t, false), "GET", server.URL, 0, "")
		server.Close()
		if c := set(t, answer); (c != nil) != tt.want {
			t.Errorf("%s: the cookie is %v", tt.name, c)
		}
	}
}

func (s *street) transaction(t *testing.T, ctx context.Context) {
	tx, err := s.first.shop.DB.BeginTx(ctx, nil)
	if err != nil {
		t.Error(err)
		return
	}
	if _, err := tx.ExecContext(ctx, "UPDATE items SET price = price + 1 WHERE id = 1"); err != nil {
		t.Error(err)
	}
	if err := tx.Commit(); err != nil {
		t.Error(err)
	}
}
