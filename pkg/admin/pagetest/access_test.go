//go:build linux

package pagetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
)

// keyboard goes through the page with the key Tab only.
func (p *tab) keyboard() {
	t := p.t
	p.eval(`(() => { const b = document.body; b.tabIndex = -1; b.focus(); b.removeAttribute("tabindex"); })()`, nil) // begin at the top
	// What can be used, in the order of the page. Places that only links lead to have tabindex -1. What comes and goes
	// meanwhile, such as a link to a server that is behind, is not looked at.
	p.eval(`globalThis.usable = [...document.querySelectorAll("a[href], button, input, summary, [tabindex='0']")].filter((n) => n.checkVisibility())`, nil)
	var count int
	p.eval(`usable.length`, &count)
	if count < 7 {
		t.Fatalf("only %d elements can be used", count)
	}
	next := 0
	for range count + 3 {
		p.press("Tab")
		var at struct {
			Index   int
			Visible bool
			What    string
		}
		p.eval(`(() => {
			const n = document.activeElement, s = getComputedStyle(n), r = n.getBoundingClientRect();
			return {
				index: usable.indexOf(n), what: n.outerHTML.slice(0, 100),
				visible: s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2 && r.bottom > 0 && r.top < innerHeight && r.right > 0 && r.left < innerWidth,
			};
		})()`, &at)
		if at.Index == next {
			next++
			if !at.Visible {
				t.Errorf("the focus is not to be seen on %s", at.What)
			}
		}
		if next == count {
			break
		}
	}
	if next < count {
		t.Fatalf("Tab does not get to %s", p.text(fmt.Sprintf(`usable[%d].outerHTML.slice(0, 200)`, next)))
	}
	// Commands unfold with a key, and stay so while the page is brought up to date.
	p.eval(`document.querySelector(".server summary").focus()`, nil)
	p.press("Enter")
	p.await("the commands are shown", `document.querySelector(".server details").open`)
	clock := p.text(`document.querySelector("#clock").textContent`)
	p.await("the page is brought up to date", `document.querySelector("#clock").textContent !== `+quote(clock))
	if at := p.text(`document.activeElement.tagName + document.querySelector(".server details").open`); at != "SUMMARYtrue" {
		t.Errorf("an update moves the focus or folds: %s", at)
	}
	p.press("Enter")
}

// node is one of the tree that a screen reader is given.
type node struct {
	Ignored          bool
	Role, Name       struct{ Value any }
	BackendDOMNodeID int
}

// accessible looks at what a screen reader is given.
func (p *tab) accessible() {
	t := p.t
	var tree struct{ Nodes []node }
	p.call("Accessibility.enable", nil, nil)
	p.call("Accessibility.getFullAXTree", nil, &tree)
	p.call("Accessibility.disable", nil, nil)
	named := []string{
		"button", "link", "textbox", "searchbox", "checkbox", "image", "img", "graphics-document", "table", "region", "heading", "DisclosureTriangle",
		"main", "columnheader", "rowheader", "list",
	}
	unnamed := []string{"list", "main"} // that may be so
	found := map[string]int{}
	for _, n := range tree.Nodes {
		role, name := fmt.Sprint(n.Role.Value), strings.TrimSpace(fmt.Sprint(n.Name.Value))
		if n.Ignored || !slices.Contains(named, role) {
			continue
		}
		found[role]++
		if (name == "" || name == "<nil>") && !slices.Contains(unnamed, role) {
			t.Errorf("a %s has no name", role)
		}
	}
	t.Logf("a screen reader finds %v", found)
	for _, role := range []string{"main", "region", "heading", "table", "image", "link", "searchbox", "checkbox", "DisclosureTriangle"} {
		if found[role] == 0 {
			t.Errorf("a screen reader finds no %s", role)
		}
	}
	var levels []int
	p.eval(`[...document.querySelectorAll("h1, h2, h3, h4")].filter((n) => n.checkVisibility()).map((n) => Number(n.tagName[1]))`, &levels)
	for i, level := range levels {
		if i == 0 && level != 1 || i > 0 && level > levels[i-1]+1 {
			t.Errorf("headings have the levels %v", levels)
			break
		}
	}
	if n := p.text(`document.querySelectorAll("[role=status], [aria-live=polite]").length`); n == "0" {
		t.Error("nothing is announced")
	}
}

// contrasts gives all texts whose contrast to their ground is under 4.5. Grounds may let others shine through.
const contrasts = `(() => {
	const parse = (c) => { const m = c.match(/[\d.]+/g).map(Number); return m.length > 3 ? m : [...m, 1]; };
	const over = (top, under) => top.slice(0, 3).map((v, i) => v * top[3] + under[i] * (1 - top[3]));
	const light = (c) => {
		const [r, g, b] = c.map((v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
		return 0.2126 * r + 0.7152 * g + 0.0722 * b;
	};
	const ground = (n) => {
		const layers = [];
		for (; n; n = n.parentElement) layers.push(parse(getComputedStyle(n).backgroundColor));
		return layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255]);
	};
	const poor = [];
	let looked = 0;
	const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (texts.nextNode()) {
		const n = texts.currentNode.parentElement;
		if (texts.currentNode.data.trim() === "" || !n.checkVisibility() || n.closest(".unseen, script, noscript")) continue;
		looked++;
		const under = ground(n), text = over(parse(getComputedStyle(n).color), under);
		const [a, b] = [light(text), light(under)].sort((x, y) => y - x);
		const ratio = (a + 0.05) / (b + 0.05);
		if (ratio < 4.5) poor.push(n.tagName + " " + texts.currentNode.data.slice(0, 30) + " " + ratio.toFixed(2));
	}
	return {looked, poor: [...new Set(poor)]};
})()`

// readable looks at the page on a screen.
func (p *tab) readable(s screen) {
	p.show(s)
	var wide struct {
		Page, Screen int
		Out          []string
	}
	// Tables lie in no box that could be moved sideways, so that nothing may stick out.
	p.eval(`({page: document.scrollingElement.scrollWidth, screen: innerWidth, out: [...document.querySelectorAll("body *")]
		.filter((n) => n.checkVisibility() && !n.closest(".unseen, .skip, svg, thead") && n.getBoundingClientRect().right > innerWidth + 0.5).map((n) => n.outerHTML.slice(0, 120))})`, &wide)
	if wide.Page > wide.Screen || len(wide.Out) > 0 {
		p.t.Errorf("the page is %d wide on %d; what sticks out: %.5q", wide.Page, wide.Screen, wide.Out)
	}
	var contrast struct {
		Looked int
		Poor   []string
	}
	p.eval(contrasts, &contrast)
	if len(contrast.Poor) > 0 || contrast.Looked < 100 {
		p.t.Errorf("of %d texts these have too little contrast: %q", contrast.Looked, contrast.Poor)
	}
}

// TestToken: where others reach the address the page asks for the token, and keeps it nowhere.
func TestToken(t *testing.T) {
	b := startBrowser(t)
	s := newSite(t, flavor.MariaDB, "0.0.0.0:0")
	p := b.openTab(t, "http://127.0.0.1:"+s.address[strings.LastIndex(s.address, ":")+1:]+"/", desk)
	for p.text(`document.readyState + location.protocol`) != "completehttp:" {
		continue
	}
	p.await("the token is asked for", `document.activeElement.id === "token" && document.querySelector("#main").hidden`)
	p.write("another token")
	p.press("Enter")
	if p.text(`document.querySelector("#token").checkValidity()`) != "false" {
		t.Error("a token with a space in it is taken")
	}
	p.eval(`document.querySelector("#token").value = ""`, nil)
	p.write("another-token")
	p.press("Enter")
	p.await("it is refused", `document.querySelector("#token-problem").textContent === "the token is another one"`)
	p.readableForm()
	p.write(token)
	p.press("Enter")
	p.loaded(3)
	p.await("the configuration is shown", `document.querySelector("#config tbody tr")`)
	if p.failedRequests() < 2 {
		t.Errorf("%d requests were refused", p.failedRequests())
	}
	var kept []string
	p.eval(`[location.href, document.cookie, ...Object.values(localStorage), ...Object.values(sessionStorage),
		...performance.getEntriesByType("resource").map((e) => e.name), document.documentElement.outerHTML, document.querySelector("#token").value]`, &kept)
	if strings.Contains(strings.Join(kept, "\n"), token) {
		t.Errorf("the token is kept: %q", kept)
	}
	s.stop()
	p.await("the loss is told", `document.querySelector("#banner").textContent !== ""`)
	s.start()
	p.await("it is back without asking", `document.querySelector("#banner").textContent === "" && document.querySelector("#access").hidden`)
}

// readableForm looks at the form on all screens.
func (p *tab) readableForm() {
	p.t.Helper()
	for _, s := range []screen{phone, phone.in("dark"), desk.in("dark"), desk} {
		p.show(s)
		var contrast struct{ Poor []string }
		p.eval(contrasts, &contrast)
		if wide := p.text(`document.scrollingElement.scrollWidth > innerWidth`); wide != "false" || len(contrast.Poor) > 0 {
			p.t.Errorf("%s: too wide: %s; too little contrast: %q", s, wide, contrast.Poor)
		}
	}
}
