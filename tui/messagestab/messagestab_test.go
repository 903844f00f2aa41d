package messagestab

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/exp/golden"
	"pgregory.net/rapid"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store/storetest/skip"
	"hindcast/tui/prose"
	"hindcast/tui/screentest"
	"hindcast/tui/theme"
)

var colourless = screentest.Colourless()

func prepare(t testing.TB, state []byte) *Content {
	t.Helper()
	tape, err := jsontape.Parse(state)
	if err != nil {
		t.Fatal(err)
	}
	return Prepare(conversation.Decode(tape), 0, "")
}

func show(c *Content, w, h int) *Pane { return screentest.Show(New(colourless), c, w, h) }

func TestPane_realConversations(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no states in testdata", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		c := prepare(t, data)
		for _, w := range []int{20, 60, 100, 160, 200} {
			t.Run(fmt.Sprintf("%s/%d", name, w), func(t *testing.T) {
				golden.RequireEqual(t, []byte(screentest.DrawWithStatus(show(c, w, 60), 60)))
			})
		}
		t.Run(name+"/unfolded", func(t *testing.T) {
			p := show(c, 100, 120)
			p.Do(keymap.UnfoldAll)
			golden.RequireEqual(t, []byte(screentest.DrawWithStatus(p, 120)))
		})
	}
}

func TestPane_opensAtTheEnd(t *testing.T) {
	c := prepare(t, long(50))
	p := show(c, 80, 10)
	if got, want := p.Status(), "message 200 of 200 · turn end"; got != want {
		t.Errorf("status %q, want %q", got, want)
	}
	if text := screentest.DrawWithStatus(p, 10); !strings.Contains(text, "The 09:40 is the next one.") || strings.Contains(text, "[0]") {
		t.Errorf("it opens at\n%s", text)
	}
}

func TestPane_nothingToShow(t *testing.T) {
	for name, c := range map[string]*Content{
		"no state":    Prepare(nil, 0, ""),
		"no messages": prepare(t, []byte(`{"cart":1}`)),
		"empty list":  prepare(t, []byte(`{"messages":[]}`)),
	} {
		p := show(c, 40, 3)
		if got, want := screentest.DrawWithStatus(p, 3), "  no messages in this state\n\n\n\n\n"; got != want {
			t.Errorf("%s: screen %q, want %q", name, got, want)
		}
		for a := keymap.None; a <= keymap.Quit; a++ {
			p.Do(a)
		}
		p.Click(2, 0)
		p.Wheel(2)
		m, err := Find(t.Context(), c, "x")
		if p.SetMatches(m) || err != nil || p.Path() != "" || p.Value() != nil {
			t.Errorf("%s: something is selected", name)
		}
	}
}

// A text without words says so.
func TestPane_saysThatATextIsBlank(t *testing.T) {
	p := show(prepare(t, []byte(`{"messages":[{"role":"user","content":""}]}`)), 40, 3)
	if got := screentest.DrawWithStatus(p, 3); !strings.Contains(got, "[blank text]") {
		t.Errorf("screen %q", got)
	}
}

// A state that is stored as bytes may well have messages: the tab says why it has none.
func TestPane_saysWhyThereIsNothing(t *testing.T) {
	tape, err := jsontape.Parse([]byte(`{"$type":"msgpack+aes"}`))
	if err != nil {
		t.Fatal(err)
	}
	p := show(Prepare(conversation.Decode(tape), 0, "states are stored as msgpack+aes and shown as bytes"), 40, 4)
	if got, want := screentest.DrawWithStatus(p, 4), "  no messages in this state:\n  states are stored as msgpack+aes and\n  shown as bytes\n\n\n\n"; got != want {
		t.Errorf("screen %q, want %q", got, want)
	}
}

func TestPane_marksTheLastMessage(t *testing.T) {
	tape, err := jsontape.Parse([]byte(`[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]`))
	if err != nil {
		t.Fatal(err)
	}
	p := show(Prepare(conversation.Decode(tape), model.MarkEvicted|model.MarkError|model.MarkInferred|model.MarkTraced, ""), 60, 6)
	if got := screentest.DrawWithStatus(p, 6); !strings.Contains(got, "[1] assistant  error, evicted\n") && !strings.Contains(got, "[1] assistant  error, evicted ") || strings.Contains(got, "user  error") {
		t.Errorf("screen\n%s", got)
	}
}

// The header's mark and the message's own member say one thing, so it shows once.
func TestPane_saysOnceThatAMessageWasRedacted(t *testing.T) {
	data, err := os.ReadFile("../../testdata/strands/python-file/session_redact/agents/agent_default/messages/message_2.json")
	if err != nil {
		t.Fatal(err)
	}
	tape, err := jsontape.Parse(append(append([]byte(`{"messages":[`), data...), "]}"...))
	if err != nil {
		t.Fatal(err)
	}
	p := show(Prepare(conversation.Decode(tape), model.MarkRedacted|model.MarkError, ""), 60, 6)
	if got := screentest.DrawWithStatus(p, 6); !strings.Contains(got, "user  error, redacted") {
		t.Errorf("screen\n%s", got)
	}
}

// A step that ends with what tools answered: that is what a person looks for.
func TestPane_showsWhatToolsHaveJustAnswered(t *testing.T) {
	const before = `{"role":"user","content":[{"text":"find trains"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"0","name":"old","input":{}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"0","status":"success","content":[{"text":"an older answer"}]}}]},`
	const calls = `{"role":"assistant","content":[{"toolUse":{"toolUseId":"1","name":"trains","input":{"to":"Lyon"}}},{"toolUse":{"toolUseId":"2","name":"hotels","input":{}}}]},`
	const results = `{"role":"user","content":[{"toolResult":{"toolUseId":"1","status":"success","content":[{"text":"{\"train\": {\"at\": \"09:40\", \"price\": 60.5}}"}]}},{"toolResult":{"toolUseId":"2","status":"error","content":[{"text":"no rooms"}]}}]}`
	p := show(prepare(t, []byte("["+before+calls+results+"]")), 60, 20)
	golden.RequireEqual(t, []byte(screentest.DrawWithStatus(p, 20)))
	if p.Path() != "/3/content/0" {
		t.Errorf("the cursor is at %q, not on the newest call", p.Path())
	}
	screentest.Do(t, p, keymap.Fold)
	if got := screentest.Draw(p, 20); strings.Contains(got, "09:40\"\n") || !strings.Contains(got, "no rooms") {
		t.Errorf("folded:\n%s", got)
	}
	p.Set(prepare(t, []byte("["+before+calls+results+`,{"role":"assistant","content":[{"text":"Booked."}]}]`)))
	if got := screentest.Draw(p, 20); strings.Contains(got, "▾") || !strings.Contains(got, "▌ Booked.") {
		t.Errorf("once the model has answered:\n%s", got)
	}
}

// The hit under the cursor stands out from its row in every theme.
func TestPane_theHitUnderTheCursorStandsOut(t *testing.T) {
	c := prepare(t, []byte(`[{"role":"user","content":[{"text":"find the needle here"}]}]`))
	m, err := Find(t.Context(), c, "needle")
	if err != nil {
		t.Fatal(err)
	}
	for name, styles := range screentest.Themes() {
		p := screentest.Show(New(styles), c, 60, 6)
		p.SetMatches(m)
		_, y, _ := p.window.Cursor()
		row := string(p.AppendRow(nil, y))
		if own := styles.Selected.Match; own.Start == styles.Selected.Text.Start || !strings.Contains(row, own.Start+"needle") {
			t.Errorf("%s: the row is %q", name, row)
		}
	}
}

func TestPane_jumpsFromMessageToMessage(t *testing.T) {
	p := show(prepare(t, long(3)), 60, 8)
	var got []string
	for _, a := range []keymap.Action{keymap.PrevMessage, keymap.PrevMessage, keymap.NextMessage, keymap.NextMessage, keymap.Top, keymap.PrevMessage, keymap.NextMessage} {
		p.Do(a)
		got = append(got, p.Path())
	}
	want := []string{"/messages/11", "/messages/9", "/messages/11", "/messages/11", "/messages/0", "/messages/0", "/messages/1"}
	if !slices.Equal(got, want) {
		t.Errorf("jumps lead to %v, want %v", got, want)
	}
}

func TestPane_givesPathAndValue(t *testing.T) {
	p := show(prepare(t, []byte(`[{"role":"user","content":[{"text":"a\nb"},{"image":{"format":"png"}}]}]`)), 60, 8)
	p.Do(keymap.Top)
	want := []string{`/0 {"role":"user","content":[{"text":"a\nb"},{"image":{"format":"png"}}]}`, "/0/content/0 a\nb", "/0/content/0 a\nb", `/0/content/1 {"image":{"format":"png"}}`}
	for _, want := range want {
		if got := p.Path() + " " + string(p.Value()); got != want {
			t.Errorf("selected %q, want %q", got, want)
		}
		p.Do(keymap.MoveDown)
	}
}

func TestPane_clickOnTheSignFolds(t *testing.T) {
	p := show(prepare(t, []byte(`[{"role":"assistant","content":[{"toolUse":{"toolUseId":"1","name":"ls","input":{"path":"/tmp"}}}]}]`)), 60, 8)
	p.Click(2, 1)
	if got := screentest.DrawWithStatus(p, 3); !strings.Contains(got, "▾ call ls") || !strings.Contains(got, `path  "/tmp"`) {
		t.Errorf("screen\n%s", got)
	}
	p.Click(2, 1)
	if got := screentest.DrawWithStatus(p, 3); !strings.Contains(got, `▸ call ls  {path: "/tmp"}`) {
		t.Errorf("screen\n%s", got)
	}
}

func TestFind_goesWhereTheTextShows(t *testing.T) {
	text := strings.Repeat("words ", 5000) + "NEEDLE" + strings.Repeat(" words", 5000)
	state, err := json.Marshal([]any{
		map[string]any{"role": "user", "content": []any{map[string]any{"text": text}}},
		map[string]any{"role": "assistant", "content": []any{map[string]any{"toolUse": map[string]any{"toolUseId": "1", "name": "find", "input": map[string]any{"in": "hay"}}}}},
		map[string]any{"role": "user", "content": []any{map[string]any{"toolResult": map[string]any{"toolUseId": "1", "status": "success", "content": []any{map[string]any{"text": "a needle"}}}}}},
		map[string]any{"role": "assistant", "content": []any{map[string]any{"text": "done"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	c := prepare(t, state)
	p := show(c, 60, 10)
	m, err := Find(t.Context(), c, "needle")
	if n, more := m.Len(); n != 2 || more || err != nil {
		t.Fatalf("%d matches, more %v, error %v; want the text and the result", n, more, err)
	}
	if !p.SetMatches(m) || p.Path() != "/0/content/0" { // from the end it goes round
		t.Errorf("the first match is at %q", p.Path())
	}
	for _, want := range []string{"a needle", "NEEDLE", "a needle"} {
		p.Match(1)
		at, y, _ := p.window.Cursor()
		if line := string(p.AppendRow(nil, y)); !strings.Contains(line, want) {
			t.Errorf("the cursor is at %+v on %q, want %q there", at, line, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Find(ctx, c, "needle"); err == nil {
		t.Error("a cancelled search goes on")
	}
}

// A word that markdown breaks, or that a line breaks, is found where it shows.
func TestFind_landsInLaidOutText(t *testing.T) {
	text := strings.Repeat("Words **of** a list:\n\n- one\n- two\n\n", 600) + "```go\nfunc needle() {}\n```\n\nthe **late** train goes at nine and stops nowhere on its long way\n\n" + strings.Repeat("- more\n", 2000)
	state, err := json.Marshal([]any{map[string]any{"role": "assistant", "content": []any{map[string]any{"text": text}}}})
	if err != nil {
		t.Fatal(err)
	}
	c := prepare(t, state)
	p := show(c, 60, 10)
	for _, raw := range []bool{false, true} {
		for query, want := range map[string]string{"needle": "func needle() {}", "nowhere on its": "nowhere on"} {
			m, err := Find(t.Context(), c, query)
			if err != nil || !p.SetMatches(m) {
				t.Fatalf("%q is not found: %v", query, err)
			}
			_, y, _ := p.window.Cursor()
			if line := string(p.AppendRow(nil, y)) + string(p.AppendRow(nil, y+1)); !strings.Contains(line, want) {
				t.Errorf("%q, raw %v: the cursor is on %q", query, raw, line)
			}
		}
		p.Do(keymap.ShowRaw)
	}
}

// R shows the text as it is spelled, and R again lays it out.
func TestPane_showsRaw(t *testing.T) {
	state, err := os.ReadFile("testdata/coding.json")
	if err != nil {
		t.Fatal(err)
	}
	p := show(prepare(t, state), 100, 100)
	p.Do(keymap.UnfoldAll)
	laidOut := screentest.DrawWithStatus(p, 100)
	p.Do(keymap.ShowRaw)
	golden.RequireEqual(t, []byte(screentest.DrawWithStatus(p, 100)))
	p.Do(keymap.ShowRaw)
	if got := screentest.DrawWithStatus(p, 100); got != laidOut {
		t.Errorf("not as before:\n%s", got)
	}
}

// Of a long text no more pages are laid out than are in sight, wherever the cursor goes.
func TestPane_laysOutTheTextInSight(t *testing.T) {
	p := show(prepare(t, markdown(1<<20)), 100, 40)
	steps := map[string]keymap.Action{"the end": keymap.Bottom, "the beginning": keymap.Top, "a page on": keymap.PageDown, "as it is spelled": keymap.ShowRaw}
	for _, name := range slices.Sorted(maps.Keys(steps)) {
		p.laidOut = 0
		p.Do(steps[name])
		if p.laidOut > 3 {
			t.Errorf("%s: %d pages of %d bytes are laid out", name, p.laidOut, 4096)
		}
	}
}

// A message of a megabyte shows its first page for three pages laid out, and memory for the text and its pages.
func TestPane_showsTheFirstPageOfAMegabyte(t *testing.T) {
	skip.Counting(t)
	c := prepare(t, markdown(1<<20))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p := show(c, 100, 40)
	screentest.Frame(nil, p, 40)
	p.Do(keymap.Top)
	screentest.Frame(nil, p, 40)
	runtime.ReadMemStats(&after)
	if p.laidOut > 6 {
		t.Errorf("%d pages are laid out", p.laidOut)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 4<<20 {
		t.Errorf("it took %d bytes", took)
	}
}

// A text that is too long to be laid out says so, once, and is found.
func TestPane_saysWhyAVeryLongTextIsAsSpelled(t *testing.T) {
	for size, want := range map[int]bool{prose.LongestDoc / 2: false, prose.LongestDoc + 4096: true} {
		c := prepare(t, markdown(size))
		p := show(c, 40, 40)
		p.Do(keymap.Top)
		text := screentest.DrawWithStatus(p, 40)
		if said := strings.Contains(text, "as spelled: 2.3 MB, above 2.1 MB\n") && strings.Contains(text, "hindcast messages --md writes it\n"); said != want || strings.Contains(text, "## Plan") != want {
			t.Errorf("%d bytes: %.600s", size, text)
		}
		p.Do(keymap.ShowRaw)
		if text := screentest.DrawWithStatus(p, 40); strings.Contains(text, "as spelled") {
			t.Errorf("%d bytes as they are spelled on purpose: %.600s", size, text)
		}
		found, err := Find(t.Context(), c, "first")
		if err != nil || len(found.At) == 0 || !p.SetMatches(found) {
			t.Errorf("%d bytes: %v, %d found", size, err, len(found.At))
		}
	}
}

// markdown returns a message of n bytes of markdown.
func markdown(n int) []byte {
	const text = "## Plan\n\nThe **first** step is `one`, then [the next](http://x.y).\n\n- a\n- b\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```go\nfunc f() {}\n```\n\n"
	state, err := json.Marshal([]any{map[string]any{"role": "assistant", "content": []any{map[string]any{"text": strings.Repeat(text, n/len(text)+1)}}}})
	if err != nil {
		panic(err) // texts are always marshalled
	}
	return state
}

func TestPane_coloursChangeNothingElse(t *testing.T) {
	state, err := os.ReadFile("testdata/odd.json")
	if err != nil {
		t.Fatal(err)
	}
	c := prepare(t, state)
	screentest.ColoursOnly(t, 30, func(styles *theme.Styles, w int) screentest.Rows {
		p := screentest.Show(New(styles), c, w, 30)
		p.Do(keymap.UnfoldAll)
		return p
	})
}

// conversations makes states of any of the shapes, with what a model may write
// into them.
func conversations() *rapid.Generator[string] {
	text := rapid.Custom(func(t *rapid.T) string {
		s := strings.Repeat(rapid.SampledFrom([]string{"", "x", "\x1b[2J", "\x1b]52;c;QUJD\x07", "\u202e", "日本", "😀 ", "\u0085", "word ", "\n", "\t"}).Draw(t, "piece"), rapid.IntRange(0, 80).Draw(t, "times"))
		data, err := json.Marshal(s + rapid.String().Draw(t, "text"))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	})
	forms := []string{
		`{"text":%s}`, `{"toolUse":{"toolUseId":"%d","name":%s,"input":{"a":%s,"b":[1,{}]}}}`,
		`{"toolResult":{"toolUseId":"%d","status":"error","content":[{"text":%s},{"json":[%s]},{"image":{"format":%s}}]}}`,
		`{"reasoningContent":{"reasoningText":{"text":%s}}}`, `{"citationsContent":{"citations":[],"content":[{"text":%s}]}}`,
		`{"guardContent":{"text":{"text":%s}}}`, `{"image":{"format":%s,"source":{"bytes":"AAAA"}}}`, `{"odd":[%s]}`,
		`{"toolRequest":{"ref":"%d","name":%s,"input":%s}}`, `{"toolResponse":{"ref":"%d","name":%s,"output":%s}}`, `{"reasoning":%s}`, `%s`, `null`,
	}
	return rapid.Custom(func(t *rapid.T) string {
		var messages []string
		for range rapid.IntRange(1, 6).Draw(t, "messages") {
			var blocks []string
			for range rapid.IntRange(0, 4).Draw(t, "blocks") {
				form := rapid.SampledFrom(forms).Draw(t, "form")
				for strings.Contains(form, "%d") {
					form = strings.Replace(form, "%d", fmt.Sprint(rapid.IntRange(0, 3).Draw(t, "id")), 1)
				}
				for strings.Contains(form, "%s") {
					form = strings.Replace(form, "%s", strings.ReplaceAll(text.Draw(t, "value"), "%", ""), 1)
				}
				blocks = append(blocks, form)
			}
			role := rapid.SampledFrom([]string{`"user"`, `"assistant"`, `"model"`, `"tool"`, `"system"`, `"\u001b[31mcritic"`}).Draw(t, "role")
			messages = append(messages, `{"role":`+role+`,"content":[`+strings.Join(blocks, ",")+`]}`)
		}
		return `{"messages":[` + strings.Join(messages, ",") + `]}`
	})
}

func TestPane_anyUseOfAnyConversation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		state := conversations().Draw(t, "state")
		tape, err := jsontape.Parse([]byte(state))
		if err != nil {
			t.Fatalf("%s: %v", state, err)
		}
		c := Prepare(conversation.Decode(tape), model.MarkEvicted, "")
		size := screentest.AnySize(t, 90)
		p := show(c, size.W, size.H)
		screentest.AnyUse(t, p, size, func(text string) Matches {
			m, _ := Find(t.Context(), c, text)
			return m
		}, map[string]func(*rapid.T){
			"": func(t *rapid.T) { screentest.Walks(t, p, p.window.Rows()) },
		}, keymap.NextMessage, keymap.PrevMessage, keymap.ShowRaw)
	})
}

// long returns a conversation of a number of turns with a tool call in each.
func long(turns int) []byte {
	const turn = `{"role":"user","content":[{"text":"and the next train?"}]},` +
		`{"role":"assistant","content":[{"text":"Let me look."},{"toolUse":{"toolUseId":"t%[1]d","name":"search","input":{"day":"2026-05-09"}}}]},` +
		`{"role":"user","content":[{"toolResult":{"toolUseId":"t%[1]d","status":"success","content":[{"text":"07:58 for 85.00 EUR"}]}}]},` +
		`{"role":"assistant","content":[{"text":"The 09:40 is the next one."}]}`
	var all []string
	for i := range turns {
		all = append(all, fmt.Sprintf(turn, i))
	}
	return []byte(`{"messages":[` + strings.Join(all, ",") + `]}`)
}

// benchmarks are conversations that are large in several ways.
func benchmarks() map[string][]byte {
	text := strings.Repeat("The 09:40 to Lyon is the next one. ", 10_000_000/35)
	return map[string][]byte{
		"100_turns":     long(100),
		"100000_turns":  long(100_000),
		"1MB_markdown":  markdown(1 << 20),
		"10MB_text":     []byte(`[{"role":"user","content":[{"text":"` + text + `"}]}]`),
		"10MB_one_word": []byte(`[{"role":"user","content":[{"text":"` + strings.Repeat("x", 10_000_000) + `"}]}]`),
	}
}

// BenchmarkSet shows a conversation from its end: what happens on the key path
// when a snapshot's conversation is there.
func BenchmarkSet(b *testing.B) {
	for name, state := range benchmarks() {
		c := prepare(b, state)
		b.Run(name, func(b *testing.B) {
			var frame []byte
			for b.Loop() {
				p := show(c, 200, 50)
				frame = screentest.Frame(frame[:0], p, 50)
			}
		})
	}
}

func BenchmarkFrame(b *testing.B) {
	for name, state := range benchmarks() {
		p := show(prepare(b, state), 200, 50)
		b.Run(name, func(b *testing.B) {
			var frame []byte
			for b.Loop() {
				frame = screentest.Frame(frame[:0], p, 50)
			}
		})
	}
}

// BenchmarkPageUp goes on through a conversation that was not yet laid out.
func BenchmarkPageUp(b *testing.B) {
	for name, state := range benchmarks() {
		p := show(prepare(b, state), 200, 50)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				p.Do(keymap.PageUp)
			}
		})
	}
}

func BenchmarkFind(b *testing.B) {
	c := prepare(b, benchmarks()["10MB_text"])
	b.SetBytes(10_000_000)
	for b.Loop() {
		if _, err := Find(b.Context(), c, "not there"); err != nil {
			b.Fatal(err)
		}
	}
}

// What a result records of an edit is a diff, as a value and as JSON in a text, until R shows what stands there.
func TestPane_showsRecordedEdits(t *testing.T) {
	const result = `{"filePath":"a.ts","structuredPatch":[{"oldStart":1,"oldLines":2,"newStart":1,"newLines":2,"lines":[" x","-y","+z"]}]}`
	for name, content := range map[string]string{"value": `[{"json":` + result + `}]`, "text": `[{"text":` + fmt.Sprintf("%q", result) + `}]`} {
		p := show(prepare(t, []byte(`{"messages":[{"role":"assistant","content":[{"toolUse":{"toolUseId":"c","name":"Write","input":{"file_path":"a.ts"}}}]},
			{"role":"user","content":[{"toolResult":{"toolUseId":"c","status":"success","content":`+content+`}}]}]}`)), 80, 20)
		p.Do(keymap.UnfoldAll)
		text := screentest.DrawWithStatus(p, 20)
		if !strings.Contains(text, "-y") || !strings.Contains(text, "+z") || strings.Contains(text, "oldStart") {
			t.Errorf("%s is drawn as\n%s", name, text)
		}
		p.Do(keymap.ShowRaw)
		if text := screentest.DrawWithStatus(p, 20); !strings.Contains(text, "structuredPatch") {
			t.Errorf("%s is raw\n%s", name, text)
		}
	}
}
