//go:build linux

package pagetest

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/proxy"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/pkg/topology"
)

var (
	pictures = flag.Duration("page.pictures", 0, "let the servers work for so long, then write the pictures of docs/")
	soak     = flag.Duration("page.soak", 0, "look at the memory of the page for so long, besides what is done anyway")
)

// Names that a client may come with: what would be run if it were read as HTML, and letters of more than one byte and of both
// directions.
const (
	userName   = "<img src=x onerror=alert(1)>"
	schemaName = "</td><script>alert(2)</script> \u202eעברית カタログ ﷺ"
)

// TestPage looks at a page of a proxy that works.
func TestPage(t *testing.T) {
	b := startBrowser(t)
	s := newSite(t, flavor.MariaDB, "127.0.0.1:0")
	sandboxtest.Exec(t, s.cluster.Primary(), "CREATE DATABASE `"+schemaName+"`", "CREATE USER `"+userName+"` IDENTIFIED BY 'a-password'",
		"GRANT ALL ON *.* TO `"+userName+"`")
	if err := s.cluster.WaitReplicated(t.Context()); err != nil {
		t.Fatal(err)
	}
	end := s.load()
	defer end()
	leave := s.tie(userName, "a-password", schemaName)
	p := b.openTab(t, s.url(), desk)
	p.loaded(3)
	p.await("reads are shown", `document.querySelectorAll("#reads tbody tr").length > 0`)
	p.await("the configuration is shown", `document.querySelectorAll("#config tbody tr").length > 20`)
	p.await("latencies are shown", `document.querySelector(".server[data-role=primary] .latency tbody tr:nth-child(2) td:last-child").innerText.match(/\d/)`)

	t.Run("names", func(t *testing.T) { p.under(t).names() })
	t.Run("servers", func(t *testing.T) { p.under(t).servers(s) })
	t.Run("configuration", func(t *testing.T) { p.under(t).configuration() })
	t.Run("keyboard", func(t *testing.T) { p.under(t).keyboard() })
	t.Run("accessibility", func(t *testing.T) { p.under(t).accessible() })
	for _, size := range []screen{desk, phone, {800, 600, ""}} {
		for _, scheme := range []string{"light", "dark"} {
			now := size.in(scheme)
			t.Run(strings.ReplaceAll(now.String(), " ", "-"), func(t *testing.T) { p.under(t).readable(now) })
		}
	}
	p.show(desk)
	t.Run("secrets", func(t *testing.T) { s.secrets(t, p.under(t)) })
	t.Run("memory", func(t *testing.T) { p.under(t).bounded(s) })
	leave()
	if *pictures > 0 {
		t.Run("pictures", func(t *testing.T) { s.pictures(t, b) })
	}
	end()
	t.Run("restart", func(t *testing.T) { p.under(t).restart(s) })
}

// under has a tab report to another test.
func (p *tab) under(t testing.TB) *tab {
	return &tab{t: t, b: p.b, session: p.session}
}

func (p *tab) names() {
	t := p.t
	// The rows of sessions are keyed by number, so the account's is found by what it shows.
	p.await("the account's session is shown", `[...document.querySelectorAll("#sessions tbody tr")].some((r) => r.children[1].textContent === `+quote(userName)+`)`)
	var row []string
	p.eval(`[...[...document.querySelectorAll("#sessions tbody tr")].find((r) => r.children[1].textContent === `+quote(userName)+`).children].map((c) => c.textContent)`, &row)
	if row[3] != schemaName {
		t.Errorf("the schema is shown as %q", row[3])
	}
	for _, want := range []string{"transaction on primary", "temporary-table basket on primary, until DROP TABLE", "user-lock till", "keeps a connection to primary"} {
		if !strings.Contains(row[6], want) {
			t.Errorf("what ties it, %q, does not have %s", row[6], want)
		}
	}
	if !strings.Contains(row[7], "last on primary\npinned: the session is pinned to a connection") {
		t.Errorf("where and why is %q", row[7])
	}
	if n := p.text(`document.querySelectorAll("main img, main script").length`); n != "0" {
		t.Errorf("%s elements came out of names", n)
	}
}

// servers holds what is shown of a server against the API.
func (p *tab) servers(s *site) {
	t := p.t
	order := p.text(`[...document.querySelectorAll(".server")].map((n) => n.dataset.server + " " + n.dataset.role).join()`)
	if order != "primary primary,replica1 replica,replica2 replica" {
		t.Errorf("servers are shown as %s", order)
	}
	for _, one := range s.admin.Load().Servers() {
		at := `document.querySelector(".server[data-server=` + one.Name + `]")`
		shown := p.text(at + `.innerText`)
		for _, want := range []string{one.Address, one.Version, one.State, fmt.Sprintf("of %d used", one.MaxConnections)} {
			if !strings.Contains(shown, want) {
				t.Errorf("%s shows no %q:\n%s", one.Name, want, shown)
			}
		}
		weight := map[string]string{"primary": "weight --as-primary primary 50", "replica": "weight " + one.Name + " 50"}[one.Role]
		if commands := p.text(at + `.querySelector("details").textContent`); !strings.Contains(commands, "mysqlrw ctl "+weight+" --admin http://"+s.address+" ") {
			t.Errorf("commands for %s: %s", one.Name, commands)
		}
		lines := p.text(`[...` + at + `.querySelectorAll(".chart:not([hidden]) svg")].map((n) => n.getAttribute("aria-label") + n.querySelector(".line").getAttribute("d")).join("\n")`)
		for _, want := range map[string][]string{"primary": {"Reads a second of primary", "Writes and others a second of primary"}, "replica": {"Reads a second of ", "Lag of " + one.Name, "Missing transactions of "}}[one.Role] {
			if !strings.Contains(lines, want) {
				t.Errorf("%s has no line of %s: %s", one.Name, want, lines)
			}
		}
		if strings.Contains(lines, "NaN") || strings.Contains(lines, "undefined") {
			t.Errorf("lines of %s: %s", one.Name, lines)
		}
	}
	if err := s.proxy.SetWeights("replica2", proxy.Weights{}); err != nil {
		t.Fatal(err)
	}
	p.await("that it is drained is shown", `document.querySelector("#now").innerText.includes("replica2 is drained")`)
	if err := s.proxy.ResetWeights("replica2"); err != nil {
		t.Fatal(err)
	}
	p.await("that it is not any more is shown", `!document.querySelector("#now").innerText.includes("drained")`)
}

// configuration looks for a value, and for what is not the default.
func (p *tab) configuration() {
	const rows = `[...document.querySelectorAll("#config tbody tr")].map((r) => r.textContent)`
	all := p.text(rows + `.length`)
	p.eval(`document.querySelector("#config-filter").focus()`, nil)
	p.write("POLICY max-lag")
	p.await("one value is left", rows+`.join() === "policy.max-lag1sfile"`)
	p.eval(`(() => { const f = document.querySelector("#config-filter"); f.value = ""; f.dispatchEvent(new Event("input")); })()`, nil)
	p.await("all are there again", rows+`.length === `+all)
	if first := p.text(rows + `[0]`); !strings.HasSuffix(first, "file") {
		p.t.Errorf("the first value is %s", first)
	}
	p.eval(`document.querySelector("#config-changed").click()`, nil)
	p.await("only what is not the default is left", rows+`.every((r) => r.endsWith("file"))`)
	p.eval(`document.querySelector("#config-changed").click()`, nil)
}

// secrets looks for a password or token in all that can be looked at.
func (s *site) secrets(t *testing.T, p *tab) {
	texts := map[string]string{"page": p.text(`document.documentElement.outerHTML`)}
	var kept []string
	p.eval(`[document.cookie, ...Object.values(localStorage), ...Object.values(sessionStorage), ...performance.getEntriesByType("resource").map((e) => e.name)]`, &kept)
	texts["what the browser keeps"] = strings.Join(kept, "\n")
	for _, path := range []string{"metrics", "api/v1/status", "api/v1/servers", "api/v1/sessions", "api/v1/routes", "api/v1/config", "api/v1/history"} {
		answer, err := http.Get(s.url() + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Errorf("%s: %s %v", path, answer.Status, err)
		}
		texts[path] = string(body)
	}
	for where, text := range texts {
		for _, secret := range []string{token, "a-password", s.cluster.Primary().Password, "price = 5"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s has %q in it", where, secret)
			}
		}
	}
}

// bounded holds that updates do not make the page larger and larger: each event is one.
func (p *tab) bounded(s *site) {
	n := 0
	after := func(updates int) (heap, nodes float64) {
		for range updates {
			n++
			s.admin.Load().Event(topology.Event{Kind: topology.Restarted, At: time.Now(), Server: "replica1", Detail: fmt.Sprint(n)})
			p.await("the event is shown", fmt.Sprintf(`[...document.querySelectorAll("#events li")].slice(0, 3).some((e) => e.textContent.endsWith(": %d"))`, n))
		}
		return p.size()
	}
	heap, nodes := after(110) // the list of events is full
	more, moreNodes := after(150)
	p.t.Logf("%.1f MB and %.0f nodes, 150 updates later %.1f MB and %.0f nodes", heap/1e6, nodes, more/1e6, moreNodes)
	if more > heap+1e6 || moreNodes > nodes+500 {
		p.t.Error("the page grows")
	}
	if *soak > 0 {
		before := p.metric("TaskDuration")
		<-time.After(*soak)
		end, endNodes := p.size()
		if text := p.text(`document.querySelector("#events").textContent`); strings.Contains(text, "was lost") {
			p.t.Errorf("the connection was lost meanwhile: %s", text)
		}
		p.t.Logf("after %s: %.1f MB and %.0f nodes, busy for %.2f s of it", *soak, end/1e6, endNodes, p.metric("TaskDuration")-before)
	}
}

// size returns the bytes of JavaScript's heap and the number of nodes, after a collection.
func (p *tab) size() (heap, nodes float64) {
	p.t.Helper()
	p.call("HeapProfiler.collectGarbage", nil, nil)
	return p.metric("JSHeapUsedSize"), p.metric("Nodes")
}

func (p *tab) metric(name string) float64 {
	p.t.Helper()
	p.call("Performance.enable", nil, nil)
	var all struct {
		Metrics []struct {
			Name  string
			Value float64
		}
	}
	p.call("Performance.getMetrics", nil, &all)
	for _, m := range all.Metrics {
		if m.Name == name {
			return m.Value
		}
	}
	p.t.Fatalf("Chromium has no metric %s", name)
	return 0
}

// restart holds that the page says that the proxy is gone, and comes back with it.
func (p *tab) restart(s *site) {
	p.await("no connection is lost yet", `document.querySelector("#banner").textContent === ""`)
	p.eval(`document.querySelector("#config-filter").value = "kept"`, nil)
	s.stop()
	stopped := time.Now()
	p.await("the loss is told", `document.querySelector("#banner").textContent.startsWith("Connection lost, trying again.")`)
	p.t.Logf("the loss is told after %s", time.Since(stopped).Round(time.Millisecond))
	p.await("data is called old", `document.body.dataset.old === "" && /\d+ s old/.test(document.querySelector("#clock").textContent)`)
	if title := p.text(`document.title`); title != "? mysqlrw: no connection" {
		p.t.Errorf("the title is %q", title)
	}
	s.start()
	started := time.Now()
	p.await("it is back", `document.querySelector("#banner").textContent === "" && !("old" in document.body.dataset)`)
	p.t.Logf("it is back after %s", time.Since(started).Round(time.Millisecond))
	p.await("that it was started again is told", `document.querySelector("#events").textContent.includes("the proxy has been started again")`)
	p.loaded(3)
	if kept := p.text(`document.querySelector("#config-filter").value`); kept != "kept" {
		p.t.Errorf("the page was loaded again: the filter is %q", kept)
	}
	p.eval(`document.querySelector("#config-filter").value = ""`, nil)
}

// pictures writes those of the documentation, with a replica that lags, one that is drained, and reads that fall back.
func (s *site) pictures(t *testing.T, b *browser) {
	primary := s.cluster.Primary()
	defer s.tie(primary.User, primary.Password, "shop")()
	ctx, cancel := context.WithTimeout(t.Context(), *pictures)
	defer cancel()
	release := s.hold("replica1")
	late := time.AfterFunc(min(*pictures/4, 5*time.Second), release)
	defer late.Stop()
	<-ctx.Done()
	if err := s.proxy.SetWeights("replica2", proxy.Weights{}); err != nil {
		t.Fatal(err)
	}
	release = s.hold("replica1")
	defer release()
	for name, size := range map[string]screen{"dashboard-light.png": desk, "dashboard-dark.png": desk.in("dark"), "dashboard-phone.png": phone} {
		p := b.openTab(t, s.url(), size)
		for p.text(`document.readyState + location.protocol`) != "completehttp:" {
			continue
		}
		p.await("it lags", `document.querySelector("#now").innerText.includes("replica1 is lagging")`)
		p.await("reads fall back", `document.querySelector("#now").innerText.includes("fall back")`)
		p.await("the configuration is there", `document.querySelector("#config tbody tr")`)
		p.shoot(filepath.Join("../../../docs", name), 1250)
	}
}
