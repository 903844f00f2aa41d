//go:build unix

package report_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hindcast/report"
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
		if got, _, _ := strings.Cut(sent.Request.URL, "#"); got != url && !strings.HasPrefix(got, "data:image/") {
			b.t.Errorf("the page asked for %s", sent.Request.URL)
		}
	}
	for _, method := range []string{"Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded", "Page.javascriptDialogOpening", "Page.windowOpen", "Page.downloadWillBegin"} {
		if list := b.happened(method); list != nil {
			b.t.Errorf("%s: %.500s", method, list)
		}
	}
}

// where returns the anchor that the page was led to last.
func where(b *browser) string { return value[string](b, "location.hash.slice(1)") }

// The page reads from top to bottom, keys go through it, a click on a row goes to its snapshot, and branches are folds
// where they parted.
func TestPage_inABrowser(t *testing.T) {
	b := startBrowser(t)
	url := file(t, written(t, sample.Trip, nil, sample.Rows()))
	b.open(url)
	if title := value[string](b, "document.title"); title != "trip-planner · Hindcast" {
		t.Errorf("the title is %q", title)
	}
	tree := value[string](b, "document.querySelector('nav').innerText")
	for _, want := range []string{"#0", "#6.1", "#13", "◉", "◌", "├─╮ left by a restore to #5 at 2026-05-04 12:06\n│ ◌   #6.1", "You have a box at the opera!"} {
		if !strings.Contains(strings.ReplaceAll(tree, "╮  ", "╮ "), want) {
			t.Errorf("the tree lacks %q:\n%s", want, tree)
		}
	}
	talk := value[string](b, "document.getElementById('talk').textContent")
	for _, want := range []string{"Two nights in Lyon in May, please.", "You leave at 10:40", "search_trains", "#6.1, 2 snapshots: left by a restore to #5"} {
		if !strings.Contains(talk, want) {
			t.Errorf("the talk lacks %q:\n%s", want, talk)
		}
	}
	b.click(`nav a[href="#n11.1"]`)
	if got := where(b); got != "n11.1" || !value[bool](b, "document.getElementById('n11.1').checkVisibility()") {
		t.Fatalf("a click on #11.1 leads to %s", got)
	}
	value[any](b, "document.querySelector('#n11\\\\.1 details.state').open = true")
	text := value[string](b, "document.getElementById('n11.1').textContent")
	for _, want := range []string{"#11.1 tool iteration", "state since #10", "/cart/total", "205.5 → 0", "Can I take a later train?", "cancel_all", "3 bookings cancelled."} {
		if !strings.Contains(strings.Join(strings.Fields(text), " "), want) {
			t.Errorf("#11.1 lacks %q:\n%s", want, text)
		}
	}
	for _, press := range []struct{ key, shows string }{
		{"j", "n12.1"}, {"k", "n11.1"}, {"g", "n0"}, {"k", "n0"}, {"G", "n13"}, {"j", "n13"}, {"g", "n0"}, {"@", "n13"},
		{"g", "n0"}, {")", "n1"}, {")", "n3"}, {"(", "n1"}, {"}", "n6.1"}, {"}", "n11.1"}, {"{", "n6.1"},
	} {
		b.press(press.key)
		if got := where(b); got != press.shows {
			t.Errorf("%s leads to %s, and not %s", press.key, got, press.shows)
		}
		if row := value[string](b, "document.querySelector('nav [aria-current]').hash.slice(1)"); row != press.shows {
			t.Errorf("%s marks %s, and not %s", press.key, row, press.shows)
		}
	}
	quiet(b, url)
}

// A branch that is open stands beside as many snapshots of the kept line, from 1100 pixels on, and no width of a
// screen cuts anything off.
func TestPage_sideBySide(t *testing.T) {
	b := startBrowser(t)
	url := file(t, written(t, sample.Trip, nil, sample.Rows()))
	for _, c := range []struct {
		width  int
		beside bool
	}{{500, false}, {1000, false}, {1100, true}, {1280, true}, {1600, true}} {
		b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": c.width, "height": 800, "deviceScaleFactor": 1, "mobile": false}, nil)
		b.open(url)
		got := value[[]float64](b, `(() => {
			const left = document.querySelector('details.left');
			left.open = true;
			const kept = document.getElementById('n7.2').closest('.kept');
			const a = left.getBoundingClientRect(), z = kept.getBoundingClientRect();
			return [a.right, z.left, a.width, kept.querySelectorAll('section').length, document.documentElement.scrollWidth];
		})()`)
		if beside := got[0] <= got[1]; beside != c.beside || beside && got[2] < 340 || got[3] != 2 || int(got[4]) > c.width {
			t.Errorf("at %d: %v", c.width, got)
		}
	}
}

// Each paragraph has the direction of its words, and code stands from left to right.
func TestPage_directions(t *testing.T) {
	b := startBrowser(t)
	b.open(file(t, textOf(t, pageOf(t, `{"messages":[{"role":"user","content":[{"text":"\u05e9\u05dc\u05d5\u05dd\n\nhello\n\n`+"```"+`\nx = 1\n`+"```"+`"}]}]}`))))
	starts := value[[]bool](b, `[...document.querySelectorAll('.md > *')].map(e => {
		const range = document.createRange();
		range.selectNodeContents(e);
		return range.getBoundingClientRect().left < e.getBoundingClientRect().left + 20;
	})`)
	if !slices.Equal(starts, []bool{false, true, true}) {
		t.Errorf("from the left stand %v", starts)
	}
}

// On paper the conversation stands below all of the tree.
func TestPage_onPaper(t *testing.T) {
	states := slices.Repeat([]string{`{"messages":[]}`}, 80)
	for i := range states {
		states[i] = `{"n":` + strconv.Itoa(i) + `,"messages":[{"role":"user","content":"words"}]}`
	}
	b := startBrowser(t)
	b.call("Emulation.setEmulatedMedia", map[string]any{"media": "print"}, nil)
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": 794, "height": 1123, "deviceScaleFactor": 1, "mobile": false}, nil)
	b.open(file(t, textOf(t, pageOf(t, states...))))
	ends := value[[]float64](b, `[document.querySelector('nav li:last-child').getBoundingClientRect().bottom, document.getElementById('talk').getBoundingClientRect().top]`)
	if ends[0] > ends[1] {
		t.Errorf("the tree ends at %v, and the conversation begins at %v", ends[0], ends[1])
	}
}

// A key and a button open all folds of the talk and close them again.
func TestPage_opensAll(t *testing.T) {
	b := startBrowser(t)
	b.open(file(t, written(t, sample.Trip, nil, sample.Rows())))
	open := func() int { return value[int](b, "document.querySelectorAll('#talk details[open]').length") }
	all := value[int](b, "document.querySelectorAll('#talk details').length")
	if n := open(); n != 0 || all < 10 {
		t.Fatalf("%d of %d folds are open", n, all)
	}
	b.press("o")
	if n := open(); n != all {
		t.Errorf("o opens %d of %d folds", n, all)
	}
	b.click("button")
	if n := open(); n != 0 {
		t.Errorf("the button leaves %d folds open", n)
	}
}

// On a page of 2,000 snapshots a key looks at the next one alone, and a search reads the texts once.
func TestPage_isQuickWhereItIsLarge(t *testing.T) {
	b := startBrowser(t)
	s, tl := openLong(2_000)
	var page strings.Builder
	if err := report.Write(t.Context(), &page, report.Session{Store: s, Timeline: tl, ID: "s"}); err != nil {
		t.Fatal(err)
	}
	b.open(file(t, page.String()))
	looks := value[int](b, `(() => {
		show(sections.at(-2));
		let looks = 0;
		step(-1, s => ++looks > 0);
		step(1, s => ++looks > 0);
		return looks;
	})()`)
	if got := where(b); looks != 2 || got != "n1998" {
		t.Errorf("two steps look at %d snapshots, and lead to %s", looks, got)
	}
	walks := value[int](b, `(() => {
		const make = document.createTreeWalker.bind(document);
		let walks = 0;
		document.createTreeWalker = (...how) => (walks++, make(...how));
		for (const words of ['a', 'an', 'answer 7', 'answer 77']) find(words);
		return walks;
	})()`)
	if told := value[string](b, "document.querySelector('output').value"); walks != 1 || told != "11 hits" {
		t.Errorf("four searches walk %d times, and the last one tells %q", walks, told)
	}
}

// What stands in a fold is found: by the browser's own search, and by the page's field, which opens the fold.
func TestPage_findsWhatIsFolded(t *testing.T) {
	b := startBrowser(t)
	b.open(file(t, written(t, sample.Trip, nil, sample.Rows())))
	const folded = "07:58 for 85.00 EUR; 09:40 for 60.50 EUR"
	if !value[bool](b, "!document.querySelector('.tool[open]')") {
		t.Fatal("a tool is not folded")
	}
	b.press("/")
	b.call("Input.insertText", map[string]any{"text": "3 bookings cancelled"}, nil)
	b.call("Input.dispatchKeyEvent", map[string]any{"type": "keyDown", "key": "Enter", "text": "\r"}, nil)
	b.call("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": "Enter"}, nil)
	if told := value[string](b, "document.querySelector('output').value"); told != "1 of 3" {
		t.Errorf("the field says %q", told)
	}
	if !value[bool](b, "[...document.querySelectorAll('details.left')].some(d => d.open && d.textContent.includes('3 bookings cancelled'))") {
		t.Error("the branch with the hit is not open")
	}
	b.call("Input.dispatchKeyEvent", map[string]any{"type": "keyDown", "key": "Escape"}, nil)
	hidden := value[bool](b, "[...document.querySelectorAll('#talk *')].some(e => e.localName !== 'details' && !e.closest('details') && getComputedStyle(e).display === 'none' && e.className !== 'here')")
	if hidden {
		t.Error("something is hidden from the browser's search")
	}
	if !value[bool](b, "window.find("+strconv.Quote(folded)+")") {
		t.Error("the browser does not find what is folded")
	}
}

// The search field finds words that styles, colours, links or line breaks part, and counts none across two paragraphs.
func TestPage_findsAcrossMarkup(t *testing.T) {
	b := startBrowser(t)
	b.open(file(t, textOf(t, pageOf(t, `{"messages":[{"role":"user","content":[{"text":"the **quick** brown `+"`fox`"+` jumps\nover it\n\nfirst end\n\nsecond begin\n\n`+"```go"+`\nfunc zebra() int {\n`+"```"+`\n\n| quick cell | brown cell |\n|---|---|\n"}]}]}`))))
	for words, hits := range map[string]string{
		"the QUICK brown fox jumps over": "1 hits", "func zebra() int {": "1 hits", "quick": "2 hits", "end second": "nothing", "cell brown": "nothing",
	} {
		got := value[[]string](b, `[(find(`+strconv.Quote(words)+`), told.value), hits.map(h => {
			const range = document.createRange();
			range.setStart(h.startContainer, h.startOffset);
			range.setEnd(h.endContainer, h.endOffset);
			return range.toString().replace(/\s/g, ' ').toLowerCase();
		}).join('|')]`)
		if got[0] != hits || hits != "nothing" && strings.Trim(strings.ReplaceAll(got[1], strings.ToLower(words), ""), "|") != "" {
			t.Errorf("%q: %q, want %s", words, got, hits)
		}
	}
}

// Printing opens all folds, and leaves them as they were.
func TestPage_printsWhatIsFolded(t *testing.T) {
	b := startBrowser(t)
	b.open(file(t, written(t, sample.Trip, nil, sample.Rows())))
	got := value[[]int](b, `(() => {
		const open = () => document.querySelectorAll('details[open]').length, list = [open()];
		for (const event of ['beforeprint', 'afterprint']) {
			dispatchEvent(new Event(event));
			list.push(open());
		}
		return list;
	})()`)
	if got[0] != got[2] || got[1] <= got[0] {
		t.Errorf("before, while and after it is printed %v folds are open", got)
	}
}

// Without scripts the page is read, and a click on a row leads to its snapshot, also to one in a fold.
func TestPage_withoutScripts(t *testing.T) {
	b := startBrowser(t)
	b.call("Emulation.setScriptExecutionDisabled", map[string]any{"value": true}, nil)
	b.open(file(t, written(t, sample.Trip, nil, sample.Rows())))
	if n := value[int](b, "document.querySelectorAll('nav [aria-current]').length"); n != 0 {
		t.Fatal("the script ran")
	}
	b.click(`nav a[href="#n6.1"]`)
	if got := where(b); got != "n6.1" || !value[bool](b, "document.getElementById('n6.1').checkVisibility()") {
		t.Errorf("a click leads to %q", got)
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
	b.click("#n3 summary")
	if value[bool](b, "'ran' in window") {
		t.Error("a script of the session ran")
	}
	elements := value[[]string](b, "[...new Set([...document.querySelectorAll('*')].map(e => e.localName))].sort()")
	own := []string{"a", "article", "b", "blockquote", "body", "button", "code", "dd", "del", "details", "div", "dl", "dt", "em", "form", "h1", "h2", "h3", "h4", "head", "header", "hr", "html", "i", "input", "ins", "li", "main", "meta", "nav", "ol", "output", "p", "pre", "q", "s", "script", "section", "span", "strong", "style", "summary", "table", "tbody", "td", "time", "title", "tr", "ul"}
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
	links := value[[]string](b, "[...document.links].map(a => a.getAttribute('href')).filter(h => !/^#n[0-9.]+$/.test(h))")
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

var update = flag.Bool("update", false, "make the picture of the page anew")

// pagePicture is the picture of the page on the front page, and mostPicture bounds its bytes.
var pagePicture = filepath.Join("..", "testdata", "pictures", "page.webp")

const mostPicture = 120 << 10

// The picture shows the demo where its first branch was left, beside the line that was kept.
func TestPage_picture(t *testing.T) {
	if *update {
		b := startBrowser(t)
		b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": 1440, "height": 820, "deviceScaleFactor": 1, "mobile": false}, nil)
		b.open(file(t, written(t, sample.Trip, nil, sample.Rows())))
		if text := value[string](b, "(() => { document.querySelectorAll('section').forEach(s => s.style.contentVisibility = 'visible'); const left = document.querySelector('details.left'); left.open = true; left.scrollIntoView({block: 'center'}); return left.innerText })()"); !strings.Contains(text, "box at the opera") {
			t.Fatalf("the branch is %q", text)
		}
		if blank := value[float64](b, "(() => { const next = document.getElementById('n7.2').getBoundingClientRect().top; return next - document.querySelector('.left').getBoundingClientRect().bottom })()"); blank > 50 {
			t.Errorf("%v pixels are blank behind the branch", blank)
		}
		var shot struct{ Data []byte }
		b.call("Page.captureScreenshot", map[string]any{"format": "webp", "quality": 75}, &shot)
		if err := os.WriteFile(pagePicture, shot.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	picture, err := os.ReadFile(pagePicture)
	if err != nil {
		t.Fatal(err)
	}
	if len(picture) > mostPicture || !strings.HasPrefix(string(picture), "RIFF") {
		t.Errorf("the picture has %d bytes and begins with %q", len(picture), picture[:min(4, len(picture))])
	}
}
