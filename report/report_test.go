package report_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/query"
	"hindcast/redact"
	"hindcast/report"
	"hindcast/store"
	"hindcast/store/sample"
	"hindcast/store/storetest"
	"hindcast/store/storetest/fake"
	"hindcast/store/storetest/skip"
)

// written returns the page on a session of rows.
func written(t testing.TB, session string, labels []model.Label, rows iter.Seq2[store.Row, error]) string {
	t.Helper()
	s := fake.New()
	if _, err := s.Import(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	tl := model.NewTimeline(storetest.Headers(t, s, session))
	tl.SetLabels(labels)
	var page bytes.Buffer
	if err := report.Write(t.Context(), &page, report.Session{Store: s, Timeline: tl, ID: session, Notes: func() []string { return []string{"a <note>"} }}); err != nil {
		t.Fatal(err)
	}
	return page.String()
}

// attacks would run a script, ask for something, or end the element that they stand in.
var attacks = []string{
	`<script>window.ran = 1</script>`, `</script><script>window.ran = 1</script>`, `</style><script>window.ran = 1</script>`, `</title><script>window.ran = 1</script>`,
	`<img src="https://example.com/x.png" onerror="window.ran = 1">`, `"><svg onload="window.ran = 1">`, `' onmouseover='window.ran = 1' x='`,
	`<iframe src="javascript:window.ran = 1"></iframe>`, `javascript:window.ran = 1`, `<a href="https://example.com">x</a>`, `<base href="https://example.com/">`,
	`<meta http-equiv="refresh" content="0; url=https://example.com">`, `<link rel="stylesheet" href="https://example.com/x.css">`, `<style>@import url(https://example.com/x.css);</style>`,
	`<form action="https://example.com"><button>x</button></form>`, `<!-- `, `--> ]]> <![CDATA[`, `&lt;script&gt;`, `&#x3c;script>`, `{{7*7}} ${7*7}`, "\u2028</pre>\u2029",
	`<script type="application/x-hindcast">`, `<object data="https://example.com"></object>`, `<audio src="https://example.com/a.mp3" autoplay>`, `<details open ontoggle="window.ran = 1">`, `</section></div></main>`,
	// And what the tests of the screen send to a terminal.
	"\x1b[31mred", "\x1b[2J", "\x1b]0;title\x07", "\x1b]8;;http://x\x1b\\", "\x1b]52;c;aGk=\x07", "\r", "\x7f", "\x00", "\u009b31m", "\u202egpj", "\u2066x\u2069", "\u200b", "\ufeff", "\U000e0041\U000e0042", "a\nb", "a\tb",
}

const hostileSession = `<script>window.ran = 1</script>`

// hostile returns a session in which every text is one of the attacks.
func hostile() iter.Seq2[store.Row, error] {
	return func(yield func(store.Row, error) bool) {
		parent := ""
		for i, attack := range attacks {
			text, _ := json.Marshal(attack)
			state := fmt.Appendf(nil, `{%s:%s,"n":%d,"long":%q,"messages":[{"role":"user","content":[{"text":%s}]},{"role":%s,"content":[{"text":"n%d"}]},
				{"role":"assistant","content":[{"text":%s},{"toolUse":{"toolUseId":%s,"name":%s,"input":{%s:%s}}},{"reasoningContent":{"reasoningText":{"text":%s}}},{"image":{"format":%s,"source":{"bytes":"AAAA"}}},{%s:1}]},
				{"role":"user","content":[{"toolResult":{"toolUseId":%s,"status":"error","content":[{"text":%s},{"json":{%s:1}}]}}]}]}`,
				text, text, i, strings.Repeat("<b>word</b> ", i), text, text, i, text, text, text, text, text, text, text, text, text, text, text)
			h := model.Header{
				ID: fmt.Sprintf("%d%s", i, strings.ToValidUTF8(attack, "")), ParentID: parent, SessionID: hostileSession, Index: i, Visit: int64(i + 1), ParentVisit: int64(i),
				Event: model.SnapshotEventNamed, EventName: attack, Title: attack, Position: attack, CreatedAt: time.Date(2026, 1, 1, 0, 0, i, 0, time.UTC), Head: i == len(attacks)-1,
			}
			parent = h.ID
			if !yield(store.Row{Header: h, State: state}, nil) {
				return
			}
		}
	}
}

// The labels of it are attacks, too.
func hostileLabels() (list []model.Label) {
	for i, attack := range attacks {
		list = append(list, model.Label{ID: fmt.Sprintf("%d%s", i, strings.ToValidUTF8(attack, "")), Name: attack, Note: attack})
	}
	return list
}

// The page has one script and one style, and whatever looks like a tag in a session is text.
func TestWrite_textIsText(t *testing.T) {
	page := written(t, hostileSession, hostileLabels(), hostile())
	for tag, want := range map[string]int{"<script": 1, "</script": 1, "<style": 1, "<meta": 5, "<title": 1, "<input": 1, "<form": 1} {
		if n := strings.Count(page, tag); n != want {
			t.Errorf("%d times %s, and not %d", n, tag, want)
		}
	}
	for _, tag := range []string{"<img", "<svg", "<iframe", "<base", "<link", "<object", "<audio", "<!--", "\x1b", "\u009b", "\u202e", "\u200b", "\x00", "href=\"http", "javascript:window.ran = 1\""} {
		if at := strings.Index(page, tag); at >= 0 {
			t.Errorf("%q is in the page: %.200q", tag, page[max(0, at-50):])
		}
	}
	if !strings.Contains(page, "&lt;script&gt;window.ran = 1&lt;/script&gt;") || !strings.Contains(page, "a &lt;note&gt;") {
		t.Error("a text is not there")
	}
}

// A page on two lines is as safe, and has the text of both sessions, what they share once.
func TestWritePair_textIsText(t *testing.T) {
	s := fake.New()
	if _, err := s.Import(t.Context(), hostile()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Import(t.Context(), sample.Rows()); err != nil {
		t.Fatal(err)
	}
	session := func(id string) report.Session {
		return report.Session{Store: s, Timeline: model.NewTimeline(storetest.Headers(t, s, id)), ID: id, Title: id, Name: id}
	}
	a, b := session(hostileSession), session(sample.Trip)
	parting, err := query.Open(s, a.Timeline).DivergeFrom(t.Context(), a.Timeline.Head(), query.Open(s, b.Timeline), b.Timeline.Head())
	if err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	if err := report.WritePair(t.Context(), &page, a, b, parting); err != nil {
		t.Fatal(err)
	}
	for tag, want := range map[string]int{"<script": 1, "</script": 1, "<style": 1, "<meta": 5, "<title": 1, "<input": 1, "<form": 1} {
		if n := strings.Count(page.String(), tag); n != want {
			t.Errorf("%d times %s, and not %d", n, tag, want)
		}
	}
	ids := map[string]bool{}
	for _, m := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(page.String(), -1) {
		if ids[m[1]] {
			t.Errorf("two elements are %q", m[1])
		}
		ids[m[1]] = true
	}
	if len(ids) < len(attacks)+10 || !strings.Contains(page.String(), "nothing in common") {
		t.Errorf("%d elements have an id", len(ids))
	}
}

// A secret of one line is hidden on the other.
func TestWritePair_hidesSecretsOfBoth(t *testing.T) {
	secret := "gh" + "p_" + strings.Repeat("a1B2", 9)
	open := func(id, text string) report.Session {
		s := fake.New()
		state := fmt.Appendf(nil, `{"messages":[{"role":"user","content":[{"text":%q}]}]}`, text)
		if _, err := s.Import(t.Context(), func(yield func(store.Row, error) bool) {
			yield(store.Row{Header: model.Header{ID: model.SnapshotID(state), SessionID: id, Head: true, Visit: 1}, State: state}, nil)
		}); err != nil {
			t.Fatal(err)
		}
		return report.Session{Store: s, Timeline: model.NewTimeline(storetest.Headers(t, s, id)), ID: id, Title: "about " + secret, Name: id}
	}
	a, b := open("a", "nothing"), open("b", "the token is "+secret)
	var err error
	if a.Redactor, err = redact.New(redact.Options{}); err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	parting := query.Parting{A: query.Line{Fork: model.NoNode, Since: []model.Node{0}}, B: query.Line{Fork: model.NoNode, Since: []model.Node{0}}}
	if err := report.WritePair(t.Context(), &page, a, b, parting); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(page.String(), secret) || strings.Count(page.String(), "[redacted github-token 1]") < 3 {
		t.Errorf("the page is %s", page.String())
	}
}

// A report whose context ends while secrets are looked for ends, too, and tells each stage.
func TestWrite_endsWithItsContext(t *testing.T) {
	s := fake.New()
	if _, err := s.Import(t.Context(), sample.Rows()); err != nil {
		t.Fatal(err)
	}
	tl := model.NewTimeline(storetest.Headers(t, s, sample.Trip))
	for _, stage := range []string{"read", "look for secrets in", "hide secrets in", "write"} {
		r, err := redact.New(redact.Options{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var told []report.Stage
		page := report.Session{Store: s, Timeline: tl, ID: sample.Trip, Redactor: r, Progress: func(at report.Stage) {
			if told = append(told, at); at.Name == stage && at.Done == 2 {
				cancel()
			}
		}}
		if err := report.Write(ctx, io.Discard, page); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", stage, err)
		}
		if last := told[len(told)-1]; last.Name != stage || last.Done > 3 || last.All < last.Done {
			t.Errorf("%s: it went on to %+v", stage, last)
		}
		cancel()
	}
}

// failing is a store whose states cannot all be read. It counts readings.
type failing struct {
	store.Store
	reads int
	fails string
}

func (s *failing) State(ctx context.Context, ref model.Ref) ([]byte, error) {
	s.reads++
	if ref.ID == s.fails {
		return nil, errors.New("the disk is gone")
	}
	return s.Store.State(ctx, ref)
}

// A state that cannot be read is told in its place, and the others are shown.
func TestWrite_statesThatCannotBeRead(t *testing.T) {
	s := fake.New()
	if _, err := s.Import(t.Context(), sample.Rows()); err != nil {
		t.Fatal(err)
	}
	headers := storetest.Headers(t, s, sample.Trip)
	var page bytes.Buffer
	broken := &failing{Store: s, fails: headers[4].ID}
	if err := report.Write(t.Context(), &page, report.Session{Store: broken, Timeline: model.NewTimeline(headers), ID: sample.Trip}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(page.String(), "cannot be read: the disk is gone"); n != 1 {
		t.Errorf("it is told %d times", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := report.Write(ctx, &page, report.Session{Store: s, Timeline: model.NewTimeline(headers), ID: sample.Trip}); !errors.Is(err, context.Canceled) {
		t.Errorf("of a context that ended: %v", err)
	}
}

// grown returns a session in which each state has a message more than the one before.
func grown(snapshots int) iter.Seq2[store.Row, error] {
	return func(yield func(store.Row, error) bool) {
		messages, parent := "", ""
		for i := range snapshots {
			if i > 0 {
				messages += ","
			}
			messages += fmt.Sprintf(`{"role":"assistant","content":[{"text":"This is answer %d, of as many words as such an answer has."}]}`, i)
			state := fmt.Appendf(nil, `{"messages":[%s],"n":%d}`, messages, i)
			h := model.Header{ID: model.SnapshotID(state), ParentID: parent, SessionID: "s", Index: i, Visit: int64(i + 1), ParentVisit: int64(i), Head: i == snapshots-1}
			parent = h.ID
			if !yield(store.Row{Header: h, State: state}, nil) {
				return
			}
		}
	}
}

// counted is a store that counts the bytes of the states that it gives.
type counted struct {
	store.Store
	states int
}

func (s *counted) State(ctx context.Context, ref model.Ref) ([]byte, error) {
	s.states++
	return s.Store.State(ctx, ref)
}

// A page holds each message once: five times the snapshots make five times the page, and each state is read once at
// most.
func TestWrite_isLinear(t *testing.T) {
	skip.Counting(t)
	measure := func(snapshots int) (size, states int, allocated float64) {
		s := fake.New()
		if _, err := s.Import(t.Context(), grown(snapshots)); err != nil {
			t.Fatal(err)
		}
		of := &counted{Store: s}
		tl := model.NewTimeline(storetest.Headers(t, s, "s"))
		var page bytes.Buffer
		write := func() {
			page.Reset()
			if err := report.Write(t.Context(), &page, report.Session{Store: of, Timeline: tl, ID: "s"}); err != nil {
				t.Fatal(err)
			}
		}
		write()
		size, states = page.Len(), of.states
		for i := range snapshots {
			words := fmt.Sprintf("This is answer %d, of as many", i)
			if n := strings.Count(page.String(), words); n != 1 && snapshots < 300 {
				t.Errorf("%d times %q", n, words)
			}
		}
		return size, states, testing.AllocsPerRun(1, write)
	}
	size, states, allocated := measure(200)
	size5, states5, allocated5 := measure(1_000)
	if states > 200 || states5 > 1_000 {
		t.Errorf("%d states are read of 200, %d of 1,000", states, states5)
	}
	if size5 > 6*size || allocated5 > 6*allocated {
		t.Errorf("%d bytes and %.0f allocations for 200 snapshots, %d and %.0f for 1,000", size, allocated, size5, allocated5)
	}
}

// pageOf returns a session of states that follow each other.
func pageOf(t testing.TB, states ...string) report.Session {
	t.Helper()
	s := fake.New()
	if _, err := s.Import(t.Context(), func(yield func(store.Row, error) bool) {
		parent := ""
		for i, state := range states {
			h := model.Header{ID: model.SnapshotID([]byte(state)), ParentID: parent, SessionID: "s", Index: i, Visit: int64(i + 1), ParentVisit: int64(i), Head: i == len(states)-1}
			parent = h.ID
			if !yield(store.Row{Header: h, State: []byte(state)}, nil) {
				return
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	return report.Session{Store: s, Timeline: model.NewTimeline(storetest.Headers(t, s, "s")), ID: "s"}
}

// textOf returns the page on a session.
func textOf(t testing.TB, page report.Session) string {
	t.Helper()
	var text strings.Builder
	if err := report.Write(t.Context(), &text, page); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// The words of a person stand alone, and the texts that an agent gave beside them are one fold behind them.
func TestWrite_foldsContext(t *testing.T) {
	text := textOf(t, pageOf(t, `{"messages":[{"role":"user","content":[{"context":{"type":"date","text":"It is Monday"}},{"text":"my words"},
		{"context":{"type":"skills","text":"a skill"}},{"context":{"type":"nothing","text":""}}]}]}`))
	person, _, _ := strings.Cut(text[strings.Index(text, `<article class="person">`):], "</article>")
	if !strings.Contains(person, "my words") || strings.Contains(person, "details") || strings.Contains(person, "Monday") {
		t.Errorf("the person said %s", person)
	}
	if !strings.Contains(text, `<details class="given"><summary><b>context</b> date 12 B, skills 7 B, nothing 0 B</summary>`) || !strings.Contains(text, "It is Monday") || strings.Contains(text, "▣") {
		t.Errorf("the context is %s", text[strings.Index(text, "</article>"):])
	}
}

// A text without words is called so, and has no sign of a picture. A picture alone is the person's.
func TestWrite_messagesWithoutWords(t *testing.T) {
	text := textOf(t, pageOf(t, `{"messages":[{"role":"user","content":""},{"role":"assistant","content":[{"type":"thinking","thinking":""},{"type":"text","text":" \n"}]},
		{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aaaa"}}]}]}`))
	_, said, _ := strings.Cut(text, `id="talk"`)
	if got := strings.Count(said, `<p class="quiet">[blank text]</p>`); got != 2 {
		t.Errorf("%d blank texts in %s", got, said)
	}
	if n, persons := strings.Count(said, "▣"), strings.Count(said, `<article class="person">`); n != 1 || persons != 2 {
		t.Errorf("%d signs of pictures and %d messages of the person in %s", n, persons, said)
	}
}

// The tree says of each branch why it was left, also where that is as of the branch around it.
func TestWrite_saysWhyEachBranchWasLeft(t *testing.T) {
	rows := func(yield func(store.Row, error) bool) {
		for i, parent := range []int{0, 1, 2, 2, 1} {
			h := model.Header{ID: fmt.Sprint("n", i+1), SessionID: "s", Index: i, Visit: int64(i + 1), ParentVisit: int64(parent), Orphaned: i > 0 && i < 4, Head: i == 4}
			if parent > 0 {
				h.ParentID = fmt.Sprint("n", parent)
			}
			if h.Orphaned {
				h.Reason = &model.Reason{Kind: model.ReasonPointer}
			}
			if !yield(store.Row{Header: h, State: fmt.Appendf(nil, `{"n":%d}`, i)}, nil) {
				return
			}
		}
	}
	page := written(t, "s", nil, rows)
	tree, _, _ := strings.Cut(page[strings.Index(page, "<nav"):], "</nav>")
	if n, branches := strings.Count(tree, "<i>"), strings.Count(tree, "╮"); n != branches || n != 2 {
		t.Errorf("%d reasons of %d branches in %s", n, branches, tree)
	}
}

// A link has its title, and code what is written after its fence.
func TestWrite_showsAllOfMarkdown(t *testing.T) {
	text := textOf(t, pageOf(t, `{"messages":[{"role":"assistant","content":"[a](b \"the title\")\n\n`+"```"+`go file=main.go\nx := 1\n`+"```"+`\n"}]}`))
	for _, want := range []string{"(b the title)", "go file=main.go"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// A message that stands alone in a state, and then in the list of the next one, is shown once; said again, it is shown
// again.
func TestWrite_showsInputOnce(t *testing.T) {
	const hello = `{"$py":"langchain_core.messages.human.HumanMessage","content":"hello there","additional_kwargs":{},"response_metadata":{},"type":"human","name":null,"id":%s}`
	first, second, third := fmt.Sprintf(hello, "null"), fmt.Sprintf(hello, `"a"`), fmt.Sprintf(hello, `"b"`)
	text := textOf(t, pageOf(t, `{"__start__":{"messages":[`+first+`]}}`, `{"messages":[`+second+`]}`, `{"messages":[`+second+`,{"$py":"langchain_core.messages.ai.AIMessage","content":"hi","additional_kwargs":{},"response_metadata":{},"type":"ai","name":null,"id":"c"},`+third+`]}`))
	if n := strings.Count(text, "<p>hello there</p>"); n != 2 {
		t.Errorf("it is shown %d times", n)
	}
}

// A message of a shape that is not known is shown as the value that it is.
func TestWrite_showsUnknownMessages(t *testing.T) {
	text := textOf(t, pageOf(t, `{"messages":[{"verse":"words of no known shape"}]}`))
	if _, talk, _ := strings.Cut(text, `id="talk"`); !strings.Contains(talk, "words of no known shape") {
		t.Errorf("the page lacks it: %s", talk)
	}
}

// A picture is shown by what its bytes are, whatever it is called: a drawing with scripts is none.
func TestWrite_showsNoDrawing(t *testing.T) {
	picture := func(kind string, data []byte) string {
		return fmt.Sprintf(`{"image":{"format":%q,"source":{"bytes":%q}}}`, kind, base64.StdEncoding.EncodeToString(data))
	}
	drawing := []byte(`<svg xmlns="http://www.w3.org/2000/svg" onload="window.ran = 1"><script>window.ran = 1</script></svg>`)
	text := textOf(t, pageOf(t, `{"messages":[{"role":"user","content":[`+picture("svg+xml", drawing)+`,`+picture("png", drawing)+`,`+
		picture("png", []byte("<html><script>window.ran = 1</script>"))+`,`+picture("jpeg", []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00"))+`]}]}`))
	if strings.Count(text, "<img") != 1 || !strings.Contains(text, `<img alt="" src="data:image/png;base64,iVBORw0K`) || strings.Contains(text, "svg+xml;") {
		t.Errorf("the pictures are %s", text[strings.Index(text, `id="talk"`):])
	}
}

// flat is a price list: each token that a model writes costs a cent.
type flat struct{}

func (flat) Cost(u conversation.Usage) (float64, conversation.PriceSource) {
	return u.Output / 100, conversation.UserPrice
}

// Each answer has its tokens, and its price where one is known, at the snapshot that adds it.
func TestWrite_tellsWhatAnswersCost(t *testing.T) {
	page := pageOf(t, `{"messages":[{"role":"user","content":[{"text":"hi"}]}]}`,
		`{"messages":[{"role":"user","content":[{"text":"hi"}]},{"role":"assistant","content":[{"text":"one"}],"usage":{"inputTokens":21400,"outputTokens":300,"totalTokens":21700,"cacheReadInputTokens":20100}}]}`)
	for _, c := range []struct {
		prices query.Prices
		want   string
	}{{nil, "21.4k in, 300 out, 20.1k from cache"}, {flat{}, "21.4k in, 300 out, 20.1k from cache · 3.00 EUR"}} {
		page.Prices, page.Currency = c.prices, "EUR"
		text := textOf(t, page)
		_, second, _ := strings.Cut(text, `id="n1"`)
		if !strings.Contains(second, `<span class="use">`+c.want+`</span>`) || strings.Count(text, `class="use"`) != 1 {
			t.Errorf("the page lacks %q: %.600s", c.want, second)
		}
	}
}

// long is a store of states that each add a message of longMessage bytes to the one before. It holds no text, and makes
// each message when it is asked for.
type long struct {
	store.Store
	messages int
}

const longMessage = 2048

// openLong returns a long store and its timeline.
func openLong(messages int) (long, *model.Timeline) {
	var headers []model.Header
	for i := range messages {
		h := model.Header{ID: fmt.Sprint("v", i), SessionID: "s", Index: i, Visit: int64(i + 1), ParentVisit: int64(i), Head: i == messages-1}
		if i > 0 {
			h.ParentID = headers[i-1].ID
		}
		headers = append(headers, h)
	}
	return long{messages: messages}, model.NewTimeline(headers)
}

func (s long) Features() store.Features { return store.Features{Ropes: s.yieldRopes, Fill: s.fillText} }

func (s long) yieldRopes(_ context.Context, refs []model.Ref) iter.Seq2[store.Rope, error] {
	return func(yield func(store.Rope, error) bool) {
		for _, ref := range refs {
			var i int64
			fmt.Sscanf(ref.ID, "v%d", &i)
			if !yield(store.Rope{Runs: []store.Run{{At: 0, Len: int64(len(longBegin)) + (i+1)*longMessage}, {At: 1 << 40, Len: 2}}}, nil) {
				return
			}
		}
	}
}

const longBegin = `{"messages":[ `

// fillText fills in bytes of the text: longBegin, then messages behind commas.
func (s long) fillText(_ context.Context, runs []store.Run, dst []byte) error {
	for _, run := range runs {
		if run.At == 1<<40 {
			dst = dst[copy(dst, "]}"):]
			continue
		}
		for at, end := run.At, run.At+run.Len; at < end; {
			text := longBegin
			begin := int64(0)
			if at >= int64(len(longBegin)) {
				i := (at - int64(len(longBegin))) / longMessage
				begin = int64(len(longBegin)) + i*longMessage
				text = fmt.Sprintf(`{"role":"assistant","content":[{"text":"This is answer %d. `, i)
				for k := i; len(text) < longMessage-20; k++ {
					text += fmt.Sprintf("word%d ", k*7919%10007)
				}
				if i > 0 {
					text = "," + text
				}
				text += strings.Repeat(".", longMessage-len(text)-len(`"}]}`)) + `"}]}`
			}
			n := copy(dst, text[at-begin:min(int64(len(text)), end-begin)])
			at, dst = at+int64(n), dst[n:]
		}
	}
	return nil
}

// Write does not hold the whole text of a large session: the heap grows by less than the text.
func TestWrite_holdsLittleOfTheText(t *testing.T) {
	skip.Counting(t)
	const messages = 20_000
	s, tl := openLong(messages)
	live := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, most := live(), uint64(0)
	r, err := redact.New(redact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	progress := func(at report.Stage) {
		if at.Done == at.All*9/10 {
			if now := live(); now > before {
				most = max(most, now-before)
			}
		}
	}
	f, err := os.Create(filepath.Join(t.TempDir(), "page.html"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := report.Write(t.Context(), f, report.Session{Store: s, Timeline: tl, ID: "s", Redactor: r, Progress: progress}); err != nil {
		t.Fatal(err)
	}
	const text = messages * longMessage
	if info, err := f.Stat(); err != nil || info.Size() < text*9/10 {
		t.Errorf("the page is %v, %v", info, err)
	}
	if most > text {
		t.Errorf("%d bytes live for a text of %d", most, text)
	}
}

// A session without snapshots is a page, too.
func TestWrite_empty(t *testing.T) {
	var page bytes.Buffer
	if err := report.Write(t.Context(), &page, report.Session{Store: fake.New(), Timeline: model.NewTimeline(nil), ID: "s"}); err != nil || !strings.HasSuffix(page.String(), "</html>\n") || !strings.Contains(page.String(), "the session has no snapshots") {
		t.Errorf("%v: %s", err, page.String())
	}
}

// BenchmarkWrite writes the page of 1,000 snapshots of up to 120 kB.
func BenchmarkWrite(b *testing.B) {
	s := fake.New()
	if _, err := s.Import(b.Context(), grown(1_000)); err != nil {
		b.Fatal(err)
	}
	tl := model.NewTimeline(slices.Collect(func(yield func(model.Header) bool) {
		for h := range s.Headers(b.Context(), "s") {
			if !yield(h) {
				return
			}
		}
	}))
	for b.Loop() {
		var page bytes.Buffer
		if err := report.Write(b.Context(), &page, report.Session{Store: s, Timeline: tl, ID: "s"}); err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(page.Len()))
	}
}
