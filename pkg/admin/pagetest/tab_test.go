//go:build linux

package pagetest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// tab is a page in a profile of its own.
type tab struct {
	t       testing.TB
	b       *browser
	session string

	mu       sync.Mutex
	hosts    map[string]bool // that requests went to
	problems []string        // what the console shows as an error, but for requests that failed
	refused  int             // requests that failed
}

type object = map[string]any

// openTab opens an address at a size of a screen, and closes it when the test ends.
func (b *browser) openTab(t testing.TB, address string, s screen) *tab {
	t.Helper()
	one := &tab{t: t, b: b, hosts: map[string]bool{}}
	var profile struct{ BrowserContextID string }
	var target struct{ TargetID string }
	var attached struct{ SessionID string }
	one.browser("Target.createBrowserContext", object{}, &profile)
	one.browser("Target.createTarget", object{"url": "about:blank", "browserContextId": profile.BrowserContextID}, &target)
	one.browser("Target.attachToTarget", object{"targetId": target.TargetID, "flatten": true}, &attached)
	one.session = attached.SessionID
	b.mu.Lock()
	b.tabs[one.session] = one
	b.mu.Unlock()
	t.Cleanup(func() {
		one.browser("Target.disposeBrowserContext", object{"browserContextId": profile.BrowserContextID}, nil)
		one.mu.Lock()
		defer one.mu.Unlock()
		for _, p := range one.problems {
			t.Errorf("the console shows: %s", p)
		}
		own, _ := url.Parse(address)
		for host := range one.hosts {
			if host != own.Host {
				t.Errorf("the page asks %s", host)
			}
		}
	})
	for _, domain := range []string{"Page", "Runtime", "Log"} {
		one.call(domain+".enable", nil, nil)
	}
	one.call("Network.enable", object{"maxTotalBufferSize": 1 << 20, "maxResourceBufferSize": 1 << 19}, nil)
	one.call("Emulation.setFocusEmulationEnabled", object{"enabled": true}, nil)
	one.show(s)
	one.call("Page.navigate", object{"url": address}, nil)
	return one
}

// event takes in what the page does.
func (p *tab) event(method string, params json.RawMessage) {
	var e struct {
		Request          struct{ URL string }
		Type             string
		Args             []struct{ Value, Description any }
		ExceptionDetails struct {
			Text      string
			Exception struct{ Description string }
		}
		Entry struct{ Source, Level, Text, URL string }
	}
	if json.Unmarshal(params, &e) != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	problem := func(format string, args ...any) { p.problems = append(p.problems, fmt.Sprintf(format, args...)) }
	switch method {
	case "Network.requestWillBeSent":
		if u, err := url.Parse(e.Request.URL); err == nil && u.Scheme != "data" && u.Scheme != "about" {
			p.hosts[u.Host] = true
		}
	case "Runtime.consoleAPICalled":
		problem("%s %v", e.Type, e.Args)
	case "Runtime.exceptionThrown":
		problem("%s %s", e.ExceptionDetails.Text, e.ExceptionDetails.Exception.Description)
	case "Log.entryAdded":
		if e.Entry.Source == "network" {
			p.refused++
		} else {
			problem("%s %s: %s %s", e.Entry.Source, e.Entry.Level, e.Entry.Text, e.Entry.URL)
		}
	}
}

// failedRequests returns how many requests the console has shown as failed.
func (p *tab) failedRequests() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refused
}

func (p *tab) browser(method string, params, into any) { p.do("", method, params, into) }
func (p *tab) call(method string, params, into any)    { p.do(p.session, method, params, into) }

func (p *tab) do(session, method string, params, into any) {
	p.t.Helper()
	// Not the test's context: tabs are closed when that is over.
	if err := p.b.call(context.Background(), session, method, params, into); err != nil {
		p.t.Fatal(err)
	}
}

// eval returns what a JavaScript expression gives, or its promise.
func (p *tab) eval(expression string, into any) {
	p.t.Helper()
	var answer struct {
		Result struct {
			Value json.RawMessage
		}
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	p.call("Runtime.evaluate", object{"expression": expression, "awaitPromise": true, "returnByValue": true}, &answer)
	if e := answer.ExceptionDetails; e != nil {
		p.t.Fatalf("%s: %s %s", expression, e.Text, e.Exception.Description)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal(answer.Result.Value, into); err != nil {
		p.t.Fatalf("%s gives %s: %v", expression, answer.Result.Value, err)
	}
}

func (p *tab) text(expression string) string {
	p.t.Helper()
	var s string
	p.eval(`String(`+expression+`)`, &s)
	return s
}

// await waits until an expression is true, which is looked at after each change of the page.
func (p *tab) await(what, expression string) {
	p.t.Helper()
	var so bool
	p.eval(`new Promise((done) => {
		let watch, limit;
		const look = () => {
			let so = false;
			try { so = Boolean(`+expression+`); } catch { /* not there yet */ }
			if (so) { watch?.disconnect(); clearTimeout(limit); done(true); }
			return so;
		};
		if (look()) return;
		watch = new MutationObserver(look);
		watch.observe(document, {subtree: true, childList: true, attributes: true, characterData: true});
		limit = setTimeout(() => { watch.disconnect(); done(false); }, 45000);
	})`, &so)
	if !so {
		p.t.Fatalf("waited 45 s: %s; the page shows:\n%.3000s", what, p.text(`document.body.innerText`))
	}
}

// loaded waits until a page that is new shows servers.
func (p *tab) loaded(servers int) {
	p.t.Helper()
	// A navigation ends what is evaluated meanwhile, so it is asked from here.
	for p.text(`document.readyState + location.protocol`) != "completehttp:" {
		continue
	}
	p.await("all servers are online", fmt.Sprintf(`document.querySelectorAll('.server[data-state="online"]').length === %d`, servers))
}

// screen is what the page is looked at with.
type screen struct {
	width, height int
	scheme        string // "light" or "dark"
}

func (s screen) String() string { return fmt.Sprintf("%dx%d %s", s.width, s.height, s.scheme) }

var desk, phone = screen{1280, 900, "light"}, screen{360, 800, "light"}

func (s screen) in(scheme string) screen {
	s.scheme = scheme
	return s
}

func (p *tab) show(s screen) {
	p.t.Helper()
	p.call("Emulation.setDeviceMetricsOverride", object{"width": s.width, "height": s.height, "deviceScaleFactor": 1, "mobile": s.width < 500}, nil)
	p.call("Emulation.setEmulatedMedia", object{"features": []object{
		{"name": "prefers-color-scheme", "value": s.scheme}, {"name": "prefers-reduced-motion", "value": "reduce"},
	}}, nil)
}

// press presses a key.
func (p *tab) press(key string) {
	p.t.Helper()
	code := map[string]int{"Tab": 9, "Enter": 13}[key]
	down := object{"type": "keyDown", "key": key, "code": key, "windowsVirtualKeyCode": code}
	if key == "Enter" {
		down["text"] = "\r"
	}
	p.call("Input.dispatchKeyEvent", down, nil)
	p.call("Input.dispatchKeyEvent", object{"type": "keyUp", "key": key, "code": key, "windowsVirtualKeyCode": code}, nil)
}

// write types a text where the focus is.
func (p *tab) write(text string) {
	p.t.Helper()
	p.call("Input.insertText", object{"text": text}, nil)
}

// quote makes a JavaScript string of a text.
func quote(text string) string {
	b, _ := json.Marshal(text) // of a string
	return strings.NewReplacer("\u2028", `\u2028`, "\u2029", `\u2029`).Replace(string(b))
}
