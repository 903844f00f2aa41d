//go:build unix

package report_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/store/sample"
)

// file puts a page where a browser finds it.
func file(t *testing.T, page string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(path, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	return "file://" + path
}

// quiet fails where the page asked for anything but itself, a script failed, or the policy
// had to stop something.
func quiet(b *browser, url string) {
	b.t.Helper()
	for _, params := range b.happened("Network.requestWillBeSent") {
		var sent struct{ Request struct{ URL string } }
		if err := json.Unmarshal([]byte(params), &sent); err != nil {
			b.t.Fatal(err)
		}
		if got, _, _ := strings.Cut(sent.Request.URL, "#"); got != url {
			b.t.Errorf("the page asked for %s", sent.Request.URL)
		}
	}
	for _, method := range []string{"Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded", "Page.javascriptDialogOpening", "Page.windowOpen", "Page.downloadWillBegin"} {
		if list := b.happened(method); list != nil {
			b.t.Errorf("%s: %.500s", method, list)
		}
	}
}

// The tree shows, the head's snapshot with it; a click on a row shows what changed there,
// keys go from row to row.
func TestPage_inABrowser(t *testing.T) {
	b := startBrowser(t)
	page := written(t, sample.Trip, nil, sample.Rows())
	url := file(t, page)
	b.open(url)
	if title := value[string](b, "document.title"); title != "trip-planner · Hindcast" {
		t.Errorf("the title is %q", title)
	}
	tree := value[string](b, "document.querySelector('nav').innerText")
	for _, want := range []string{"#0", "#6.1", "#13", "◉", "◌", "├─╮", "left by a restore to #5 at 2026-05-04 12:06:04 UTC", "You have a box at the opera!"} {
		if !strings.Contains(tree, want) {
			t.Errorf("the tree lacks %q:\n%s", want, tree)
		}
	}
	head := value[string](b, "document.body.dataset.first.slice(1)")
	if got := b.shown(); !slices.Equal(got, []string{head}) {
		t.Errorf("at first it shows %q, and not %s", got, head)
	}
	at := func(name string) string {
		t.Helper()
		return value[string](b, `[...document.querySelectorAll('nav a')].find(a => a.querySelector('.name').innerText.trim() === "`+name+`").hash.slice(1)`)
	}
	emptied := at("#11.1")
	b.click(`nav a[href="#` + emptied + `"]`)
	if got := b.shown(); !slices.Equal(got, []string{emptied}) {
		t.Fatalf("a click on #11.1 shows %q, and not %s", got, emptied)
	}
	text := value[string](b, "document.getElementById('"+emptied+"').innerText")
	for _, want := range []string{"#11.1 tool iteration", "Since #10", "/cart/total", "205.5 → 0", "Can I take a later train?", "call cancel_all", "3 bookings cancelled.", "left by a restore to #10"} {
		if !strings.Contains(text, want) {
			t.Errorf("#11.1 lacks %q:\n%s", want, text)
		}
	}
	b.click("#" + emptied + " dd a")
	if got := b.shown(); !slices.Equal(got, []string{at("#10")}) {
		t.Errorf("the link to #10 shows %q", got)
	}
	for _, press := range []struct{ key, shows string }{{"j", "#11.1"}, {"j", "#12.1"}, {"k", "#11.1"}, {"g", "#0"}, {"k", "#0"}, {"G", "#13"}, {"j", "#13"}, {"g", "#0"}, {"@", "#13"}} {
		b.press(press.key)
		if got := b.shown(); !slices.Equal(got, []string{at(press.shows)}) {
			t.Errorf("%s shows %q, and not %s", press.key, got, press.shows)
		}
		if name := value[string](b, "document.querySelector('nav [aria-current] .name').innerText.trim()"); name != press.shows {
			t.Errorf("%s marks %s, and not %s", press.key, name, press.shows)
		}
	}
	quiet(b, url)
}

// Without scripts the tree is read, and a click shows a snapshot all the same.
func TestPage_withoutScripts(t *testing.T) {
	b := startBrowser(t)
	b.call("Emulation.setScriptExecutionDisabled", map[string]any{"value": true}, nil)
	b.open(file(t, written(t, sample.Trip, nil, sample.Rows())))
	if n := value[int](b, "document.querySelectorAll('nav [aria-current]').length"); n != 0 {
		t.Fatal("the script ran")
	}
	if got := b.shown(); len(got) != 1 {
		t.Errorf("at first it shows %q", got)
	}
	b.click(`nav a[href="#n3"]`)
	if got := b.shown(); !slices.Equal(got, []string{"n3"}) {
		t.Errorf("a click shows %q", got)
	}
}

// Nothing in a session is more than text: no script of it runs, no element of it is made,
// nothing is asked for.
func TestPage_hostileSession(t *testing.T) {
	b := startBrowser(t)
	url := file(t, written(t, hostileSession, hostileLabels(), hostile()))
	b.open(url)
	b.press("g")
	for range attacks {
		b.press("j")
	}
	b.click("nav li:nth-child(5) a")
	if value[bool](b, "'ran' in window") {
		t.Error("a script of the session ran")
	}
	elements := value[[]string](b, "[...new Set([...document.querySelectorAll('*')].map(e => e.localName))].sort()")
	own := []string{"a", "article", "b", "body", "dd", "del", "div", "dl", "dt", "h1", "h2", "h3", "h4", "head", "header", "html", "ins", "li", "main", "meta", "nav", "ol", "p", "pre", "script", "section", "span", "style", "table", "tbody", "td", "title", "tr"}
	for _, name := range elements {
		if !slices.Contains(own, name) {
			t.Errorf("the session made an element %s", name)
		}
	}
	if n := value[int](b, "document.scripts.length + document.styleSheets.length"); n != 2 {
		t.Errorf("%d scripts and styles", n)
	}
	foreign := value[[]string](b, "[...document.querySelectorAll('*')].flatMap(e => [...e.attributes]).map(a => a.name).filter(n => n.startsWith('on') || ['src', 'style', 'action', 'srcdoc'].includes(n))")
	if len(foreign) > 0 {
		t.Errorf("the session set the attributes %q", foreign)
	}
	links := value[[]string](b, "[...document.links].map(a => a.getAttribute('href')).filter(h => !/^#n[0-9]+$/.test(h))")
	if len(links) > 0 {
		t.Errorf("the session made links to %q", links)
	}
	if got, want := value[int](b, "document.querySelectorAll('section').length"), len(attacks); got != want {
		t.Errorf("%d sections of %d", got, want)
	}
	text := value[string](b, "document.getElementById('n0').textContent")
	if !strings.Contains(text, attacks[0]) {
		t.Errorf("the text is not there: %.300s", text)
	}
	// The policy is in force: what the page itself would ask for is stopped.
	if value[bool](b, "(() => { const s = document.createElement('script'); s.textContent = 'window.late = 1'; document.body.append(s); return 'late' in window })()") {
		t.Error("a script that was put into the page ran")
	}
	b.events = slices.DeleteFunc(b.events, func(e event) bool {
		return e.Method == "Log.entryAdded" && strings.Contains(string(e.Params), "violat")
	})
	quiet(b, url)
}
