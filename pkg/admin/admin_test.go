package admin

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/config"
	"github.com/mysqlrw/mysqlrw/pkg/pool"
	"github.com/mysqlrw/mysqlrw/pkg/proxy"
	"github.com/mysqlrw/mysqlrw/pkg/topology"
)

var updateDocs = flag.Bool("update-docs", false, "write docs/openapi.json and the tables of docs/operations.md")

const token = "0123456789abcdef"

// control is a configuration that nobody reads again.
type control struct {
	conf     *config.Config
	settings []config.Setting
	err      error
	ready    string
}

func (c *control) Config() *config.Config     { return c.conf }
func (c *control) Settings() []config.Setting { return c.settings }
func (c *control) Ready() string              { return c.ready }

func (c *control) Change(set []config.Setting, unset []string, applyNow bool) ([]config.Change, error) {
	if c.err != nil {
		return nil, c.err
	}
	c.settings = append(c.settings, set...)
	return []config.Change{{Key: fmt.Sprint(len(unset), applyNow), Old: "a", New: "b", Effect: config.Now}}, nil
}

// parsed is a configuration with two servers that nobody reaches.
func parsed(t *testing.T, more string) *config.Config {
	t.Helper()
	text := `[[listener]]
address = "127.0.0.1:6446"
[[server]]
name = "db1"
address = "127.0.0.1:1"
[[server]]
name = "db2"
address = "127.0.0.1:2"
[monitor]
user = "m"
password = "monitor-secret"
` + more
	c, _, err := config.Parse("f", []byte(text), config.Options{Getenv: func(string) (string, bool) { return token, true }})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// unconnected is a proxy that asks nobody.
func unconnected(t *testing.T) *proxy.Proxy {
	t.Helper()
	never := func() (*sql.DB, error) { return nil, errors.New("nobody is there") }
	p, err := proxy.New(proxy.Options{
		Servers: []proxy.Server{
			{Name: "db1", Network: "tcp", Address: "127.0.0.1:1", Role: topology.FixedPrimary, Weight: 100, Monitor: never},
			{Name: "db2", Network: "tcp", Address: "127.0.0.1:2", Weight: 100, Monitor: never},
		},
		Listeners: []proxy.Listener{{Network: "tcp", Address: "127.0.0.1:0"}}, Pool: pool.Limits{Max: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// served is a server that runs until the test ends.
func served(t *testing.T, address string, c *control) *Server {
	t.Helper()
	s, err := New(Options{Address: address, Proxy: unconnected(t), Control: c, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Run()
	}()
	t.Cleanup(func() {
		s.Close()
		<-ended
	})
	return s
}

type call struct {
	method, path, body string
	header             map[string]string
	host               string
}

func (c call) to(t *testing.T, s *Server) (code int, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), c.method, "http://"+s.Address()+c.path, strings.NewReader(c.body))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range c.header {
		r.Header.Set(k, v)
	}
	if c.host != "" {
		r.Host = c.host
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	all, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(all)
}

func bearer(text string) map[string]string {
	return map[string]string{"Authorization": "Bearer " + text}
}

// paths makes a path of one with places in it.
var paths = strings.NewReplacer("{name}", "db2", "{id}", "7")

// TestAccess: what changes something takes the token, wherever the address is; on an address that others can reach,
// what shows something does.
func TestAccess(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"127.0.0.1:0", "0.0.0.0:0"} {
		c := &control{conf: parsed(t, "[admin]\ntoken-env = \"T\"\npprof = \"on\"\n")}
		s := served(t, at, c)
		for _, e := range s.endpoints() {
			if strings.HasSuffix(e.path, "/events") || strings.Contains(e.path, "pprof/") && !strings.HasSuffix(e.path, "/") {
				continue // which take their time
			}
			for _, given := range []map[string]string{
				nil, bearer("wrong-wrong-wrong"), bearer(""), {"Authorization": "Basic " + token}, {"Authorization": token}, bearer(token + "x"),
			} {
				code, text := call{method: e.method, path: paths.Replace(e.path), header: given}.to(t, s)
				refused := e.access == changing || e.access == looking && !s.private
				if refused != (code == http.StatusUnauthorized) {
					t.Errorf("%s %s %s with %v: %d %s", at, e.method, e.path, given, code, text)
				}
			}
			code, text := call{method: e.method, path: paths.Replace(e.path), header: bearer(token), body: "{}"}.to(t, s)
			if code == http.StatusUnauthorized || code == http.StatusForbidden || code == http.StatusInternalServerError {
				t.Errorf("%s %s %s with the token: %d %s", at, e.method, e.path, code, text)
			}
		}
	}
}

// TestAccess_none: without a token in the configuration nobody can change anything.
func TestAccess_none(t *testing.T) {
	t.Parallel()
	s := served(t, "127.0.0.1:0", &control{conf: parsed(t, "[admin]\n")})
	for _, given := range []map[string]string{nil, bearer(""), bearer("x")} {
		code, text := call{method: "POST", path: "/api/v1/reload", header: given}.to(t, s)
		if code != http.StatusUnauthorized || !strings.Contains(text, "set token-file or token-env") {
			t.Errorf("with %v: %d %s", given, code, text)
		}
	}
}

// TestAccess_host: a page elsewhere cannot read the API through a name that it lets point here.
func TestAccess_host(t *testing.T) {
	t.Parallel()
	s := served(t, "127.0.0.1:0", &control{conf: parsed(t, "[admin]\n")})
	for host, want := range map[string]int{
		"": http.StatusOK, "localhost:1": http.StatusOK, "127.0.0.1": http.StatusOK, "[::1]:6460": http.StatusOK,
		"evil.example": http.StatusForbidden, "evil.example:6460": http.StatusForbidden, "127.0.0.1.evil.example": http.StatusForbidden,
		"10.0.0.1": http.StatusForbidden,
	} {
		if code, text := (call{method: "GET", path: "/api/v1/servers", host: host}).to(t, s); code != want {
			t.Errorf("%q: %d %s, want %d", host, code, text, want)
		}
	}
}

// TestBadRequests: each is told what is wrong, and nothing is changed.
func TestBadRequests(t *testing.T) {
	t.Parallel()
	c := &control{conf: parsed(t, "[admin]\ntoken-env = \"T\"\n")}
	s := served(t, "127.0.0.1:0", c)
	for _, one := range []struct {
		call
		code int
		want string
	}{
		{call{method: "PUT", path: "/api/v1/servers/db2/weight", body: "{"}, 400, "the body is not what is expected"},
		{call{method: "PUT", path: "/api/v1/servers/db2/weight", body: `{"wait":1}`}, 400, "unknown field"},
		{call{method: "PUT", path: "/api/v1/servers/db2/weight", body: `{}`}, 400, "give weight, primary_weight or both"},
		{call{method: "PUT", path: "/api/v1/servers/db2/weight", body: `{"weight":-1}`}, 422, "from 0 to 1000000"},
		{call{method: "PUT", path: "/api/v1/servers/db2/weight", body: `{"weight":1}{}`}, 400, "more behind it"},
		{call{method: "PUT", path: "/api/v1/servers/db2/weight", body: `{"weight":"` + strings.Repeat("1", maxBody) + `"}`}, 400, "too large"},
		{call{method: "PUT", path: "/api/v1/servers/db9/weight", body: `{"weight":1}`}, 404, "there are db1, db2"},
		{call{method: "POST", path: "/api/v1/servers/%00%ff/drain"}, 404, "there is no server"},
		{call{method: "POST", path: "/api/v1/sessions/x/kill"}, 400, "a session has a number"},
		{call{method: "POST", path: "/api/v1/sessions/4294967296000/kill"}, 404, "there is no session"},
		{call{method: "GET", path: "/api/v1/sessions?limit=0"}, 400, "limit: want a number from 1"},
		{call{method: "PATCH", path: "/api/v1/config", body: `{"set":{"a":1}}`}, 400, "the body is not"},
		{call{method: "GET", path: "/api/v1/nothing"}, 404, "page not found"},
		{call{method: "DELETE", path: "/api/v1/servers"}, 405, "Method Not Allowed"},
		{call{method: "GET", path: "/../../etc/passwd"}, 404, "page not found"},
	} {
		one.header = bearer(token)
		if code, text := one.to(t, s); code != one.code || !strings.Contains(text, one.want) {
			t.Errorf("%s %s %.60s: %d %.200s, want %d %s", one.method, one.path, one.body, code, text, one.code, one.want)
		}
	}
	if len(c.settings) > 0 {
		t.Errorf("set %v", c.settings)
	}
	for _, sv := range s.Servers() {
		if sv.WeightChanged {
			t.Errorf("%+v", sv)
		}
	}
}

// TestWeights: a change holds until resume.
func TestWeights(t *testing.T) {
	t.Parallel()
	s := served(t, "127.0.0.1:0", &control{conf: parsed(t, "[admin]\ntoken-env = \"T\"\n")})
	change := func(method, path, body string) (one ServerState) {
		t.Helper()
		code, text := call{method: method, path: "/api/v1/servers/" + path, body: body, header: bearer(token)}.to(t, s)
		if code != http.StatusOK {
			t.Fatalf("%s: %d %s", path, code, text)
		}
		if err := json.Unmarshal([]byte(text), &one); err != nil {
			t.Fatal(err)
		}
		return one
	}
	if one := change("PUT", "db2/weight", `{"weight":7}`); one.ReplicaWeight != 7 || one.PrimaryWeight != 0 || !one.WeightChanged || one.ConfiguredWeight != 100 {
		t.Errorf("got %+v", one)
	}
	if one := change("PUT", "db2/weight", `{"primary_weight":3}`); one.ReplicaWeight != 7 || one.PrimaryWeight != 3 {
		t.Errorf("got %+v", one)
	}
	if one := change("POST", "db2/drain", ""); one.ReplicaWeight != 0 || one.PrimaryWeight != 3 || one.Weight != 0 {
		t.Errorf("got %+v", one)
	}
	if one := change("POST", "db2/resume", ""); one.ReplicaWeight != 100 || one.PrimaryWeight != 0 || one.WeightChanged {
		t.Errorf("got %+v", one)
	}
}

// TestChange: what the process says of a change is passed on, with its lines.
func TestChange(t *testing.T) {
	t.Parallel()
	c := &control{conf: parsed(t, "[admin]\ntoken-env = \"T\"\n")}
	s := served(t, "127.0.0.1:0", c)
	change := call{method: "PATCH", path: "/api/v1/config", body: `{"set":{"policy.max-lag":"5s"},"unset":["a","b"],"apply_now":true}`, header: bearer(token)}
	if code, text := change.to(t, s); code != http.StatusOK || text != `[{"key":"2 true","old":"a","new":"b","effect":"now"}]`+"\n" {
		t.Errorf("%d %s", code, text)
	}
	if len(c.settings) != 1 || c.settings[0] != (config.Setting{Key: "policy.max-lag", Value: "5s"}) {
		t.Errorf("set %v", c.settings)
	}
	c.err = config.Errors{{File: "f.toml", Line: 3, Column: 9, Message: "no"}}
	code, text := change.to(t, s)
	var f Failure
	if err := json.Unmarshal([]byte(text), &f); err != nil || code != http.StatusUnprocessableEntity || len(f.Problems) != 1 || f.Problems[0].Line != 3 {
		t.Errorf("%d %s: %v", code, text, err)
	}
}

// TestHealth tells a process that runs from one that serves.
func TestHealth(t *testing.T) {
	t.Parallel()
	c := &control{conf: parsed(t, "[admin]\n"), ready: "no primary is known"}
	s := served(t, "127.0.0.1:0", c)
	for path, want := range map[string]string{"/healthz": "200 ok\n", "/readyz": "503 no primary is known\n"} {
		if code, text := (call{method: "GET", path: path}).to(t, s); fmt.Sprint(code, " ", text) != want {
			t.Errorf("%s: %d %s, want %s", path, code, text, want)
		}
	}
}

// TestEvents: a page is told at once what happens, with the events that it has not seen, and the state.
func TestEvents(t *testing.T) {
	t.Parallel()
	s := served(t, "127.0.0.1:0", &control{conf: parsed(t, "[admin]\n")})
	s.Event(topology.Event{Kind: topology.Restarted, Server: "before", At: time.Unix(1, 0)})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "GET", "http://"+s.Address()+"/api/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var all bytes.Buffer
	until := func(what string) {
		t.Helper()
		b := make([]byte, 4096)
		for !strings.Contains(all.String(), what) {
			n, err := answer.Body.Read(b)
			if all.Write(b[:n]); err != nil {
				t.Fatalf("%v before %s came: %s", err, what, all.String())
			}
		}
		all.Reset()
	}
	until(`"server":"before"`)
	until("event: state\n")
	s.Event(topology.Event{Kind: topology.StateChanged, Server: "db2", Old: "online", New: "offline"})
	until(`"kind":"state-changed","server":"db2","old":"online","new":"offline"`)
	s.Close() // which the page sees, and does not wait for
	if _, err := io.Copy(io.Discard, answer.Body); err == nil && ctx.Err() != nil {
		t.Error("the stream does not end with the server")
	}
}

// TestOpenAPI: docs/openapi.json is the description that the server gives.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	s := served(t, "127.0.0.1:0", &control{conf: parsed(t, "[admin]\n")})
	got, err := json.MarshalIndent(s.openAPI(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	const file = "../../docs/openapi.json"
	if *updateDocs {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is another description: go test ./pkg/admin -run TestOpenAPI -update-docs (%v)", file, err)
	}
}

// TestMetricsDocs: docs/operations.md lists every metric.
func TestMetricsDocs(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	table.WriteString("| metric | kind | labels | meaning |\n|---|---|---|---|\n")
	for _, m := range Metrics() {
		labels := make([]string, len(m.Labels))
		for i, l := range m.Labels {
			labels[i] = "`" + l + "`"
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", m.Name, m.Kind, strings.Join(labels, " "), m.Help)
	}
	const file, begin, end = "../../docs/operations.md", "<!-- metrics: written by go test ./pkg/admin -run TestMetricsDocs -update-docs -->\n\n", "\n<!-- end -->"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(data), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatal("no place for the table of metrics")
	}
	next := head + begin + table.String() + end + tail
	if *updateDocs {
		if err := os.WriteFile(file, []byte(next), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if next != string(data) {
		t.Errorf("%s does not have the metrics as they are: go test ./pkg/admin -run TestMetricsDocs -update-docs", file)
	}
}

// TestPercentile: between two bounds durations are taken to be spread evenly.
func TestPercentile(t *testing.T) {
	t.Parallel()
	bounds := proxy.Bounds()
	none := proxy.Durations{UpTo: make([]uint64, len(bounds))}
	if percentile(none, none, 0.5) != nil {
		t.Error("there is a percentile of nothing")
	}
	is := proxy.Durations{UpTo: make([]uint64, len(bounds)), Count: 100}
	for i, b := range bounds { // 50 between 1.5 and 2 ms, and 50 of more than the last bound
		if b >= 2*time.Millisecond {
			is.UpTo[i] = 50
		}
	}
	for share, want := range map[float64]float64{0.5: 2, 0.25: 1.75, 0.99: 60_000} {
		if got := percentile(none, is, share); got == nil || *got < want-0.001 || *got > want+0.001 {
			t.Errorf("%v: got %v, want %v", share, got, want)
		}
	}
	if got := percentile(is, is, 0.5); got != nil {
		t.Errorf("nothing came since, and got %v", *got)
	}
}
