package difftab

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/exp/golden"
	"pgregory.net/rapid"

	"hindcast/diff"
	"hindcast/keymap"
	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/tui/screentest"
	"hindcast/tui/theme"
)

var colourless = screentest.Colourless()

func parse(t testing.TB, text string) *jsontape.Tape {
	t.Helper()
	tape, _, err := jsontape.ParseTolerant([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return tape
}

func file(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

var (
	oldHeader = model.Header{Index: 2, Event: model.SnapshotEventTurnEnd}
	newHeader = model.Header{Index: 3, Event: model.SnapshotEventToolIterationEnd}
)

// compare prepares two texts; an empty old one stands for no state.
func compare(t testing.TB, old, new string) *Content {
	t.Helper()
	sides := Sides{New: Side{conversation.Decode(parse(t, new)), newHeader, "#3"}}
	if old != "" {
		sides.Old = Side{conversation.Decode(parse(t, old)), oldHeader, "#2"}
	}
	c, err := Prepare(t.Context(), sides)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func show(c *Content, w, h int) *Pane { return screentest.Show(New(colourless), c, w, h) }

func TestPane_looksAsDrawn(t *testing.T) {
	old, new := file(t, "old.json"), file(t, "new.json")
	for name, steps := range map[string]func(*Pane){
		"first":  func(*Pane) {},
		"opened": func(p *Pane) { screentest.Do(t, p, keymap.UnfoldAll) },
		"folded": func(p *Pane) { screentest.Do(t, p, keymap.FoldAll) },
		"no lines": func(p *Pane) {
			screentest.Do(t, p, keymap.UnfoldAll, keymap.LessContext, keymap.LessContext, keymap.LessContext)
		},
		"side by side": func(p *Pane) { screentest.Do(t, p, keymap.UnfoldAll, keymap.SideBySide) },
		"found": func(p *Pane) {
			m, _ := Find(t.Context(), p.c, "umbrella")
			p.SetMatches(m)
		},
	} {
		for _, w := range []int{20, 60, 100, 200} {
			t.Run(fmt.Sprintf("%s/%d", name, w), func(t *testing.T) {
				p := show(compare(t, old, new), w, 40)
				steps(p)
				golden.RequireEqual(t, []byte(screentest.DrawWithStatus(p, 40)))
			})
		}
	}
}

func TestPane_saysWhatItIs(t *testing.T) {
	moved := `{"list":["a long enough element","another element","the third of them"],"n":1}`
	for _, tc := range []struct{ name, old, new string }{
		{"first snapshot", "", `{"cart":{"total":1},"messages":[{"role":"user","content":[{"text":"hi"}]}]}`},
		{"first and empty", "", `{}`},
		{"first is a list", "", `[1,{"a":2}]`},
		{"first is a text", "", `"hi"`},
		{"equal", moved, moved},
		{"reformatted", moved, strings.ReplaceAll(moved, ",", " , ")},
		{"respelled", moved, strings.Replace(moved, `"n":1`, `"n":1.0`, 1)},
		{"moved", moved, `{"list":["another element","the third of them","a long enough element"],"n":1}`},
		{"root", `{"a":1}`, `[1]`},
		{"hostile", `{"\u001b[2J":"\u202eabc"}`, `{"\u001b[2J":"\u001b]52;c;QUJD\u0007 this is a much longer text","e\u0301\u0301":[NaN]}`},
		{"undecodable", `{"t":"half of a pair is here: \ud800 and it goes on"}`, `{"t":"half of a pair is here: \ud801 and it goes on"}`},
		{"one path", `{"artifacts":[{"parts":[{"text":"the draft"}]}],"n":1}`, `{"artifacts":[{"parts":[{"text":"the final text"}]}],"n":1}`},
		{"inside a message", `[{"role":"user","content":[{"text":"book the train at 10:40 please"}]},{"role":"assistant","content":"ok"}]`, `[{"role":"user","content":[{"text":"book the train at 09:40 please"}]},{"role":"assistant","content":"ok"}]`},
		{"a call came", `{"messages":[]}`, `{"messages":[{"role":"assistant","content":[{"text":"I look for it."},{"toolUse":{"toolUseId":"1","name":"search","input":{"to":"Lyon"}}}]}]}`},
		{"all gone", `{"cart":{"items":[{"a":1},{"b":2}],"total":3}}`, `{"cart":{"items":[],"total":0}}`},
		{"late change", `{"t":"` + strings.Repeat("the same words ", 30) + `10:40"}`, `{"t":"` + strings.Repeat("the same words ", 30) + `09:40"}`},
		{"duplicates", `{"o":{"a":1,"a":2}}`, `{"o":{"a":1,"a":3}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := show(compare(t, tc.old, tc.new), 70, 12)
			first := screentest.DrawWithStatus(p, 12)
			screentest.Do(t, p, keymap.UnfoldAll)
			golden.RequireEqual(t, []byte(first+"\nall open\n"+screentest.DrawWithStatus(p, 12)))
		})
	}
}

func TestPane_nothingToCompare(t *testing.T) {
	screentest.Empty(t, show(nil, 40, 3), "  nothing to compare\n\n\n\n\n")
}

func TestPane_stepsThroughTheChanges(t *testing.T) {
	p := show(compare(t, `{"a":{"x":1,"y":2},"b":[1,2],"c":3}`, `{"a":{"x":2,"y":3},"b":[1,2,3],"c":4}`), 60, 20)
	screentest.Do(t, p, keymap.FoldAll)
	var got []string
	for range 5 {
		screentest.Do(t, p, keymap.NextChange)
		got = append(got, p.Path()+" "+p.Status())
	}
	screentest.Do(t, p, keymap.PrevChange)
	got = append(got, p.Path()+" "+p.Status())
	want := []string{"/a/x change 1 of 4", "/a/y change 2 of 4", "/b/2 change 3 of 4", "/c change 4 of 4", "/a/x change 1 of 4", "/c change 4 of 4"}
	if !slices.Equal(got, want) {
		t.Errorf("steps lead to\n%q, want\n%q", got, want)
	}
}

// What side by side needs is said once, by the key that asks for it.
func TestPane_saysOnceWhatSideBySideNeeds(t *testing.T) {
	p := show(compare(t, file(t, "old.json"), file(t, "new.json")), 60, 20)
	screentest.Do(t, p, keymap.SideBySide)
	if got := p.Status(); !strings.Contains(got, "side by side needs 20 more columns") {
		t.Errorf("the status is %q", got)
	}
	screentest.Do(t, p, keymap.MoveDown)
	if got := p.Status(); strings.Contains(got, "side by side") {
		t.Errorf("after another key the status is %q", got)
	}
	p.Resize(80, 20)
	screentest.Do(t, p, keymap.UnfoldAll)
	if got := screentest.Draw(p, 20); !strings.Contains(got, "│") {
		t.Errorf("80 columns are not enough:\n%s", got)
	}
}

func TestPane_givesPathAndValue(t *testing.T) {
	p := show(compare(t, `{"gone":"old\ntext","n":1}`, `{"n":2,"new":{"a":1}}`), 60, 20)
	for _, want := range []string{"/gone old\ntext", "/n 2", `/new {"a":1}`} {
		screentest.Do(t, p, keymap.NextChange)
		if p.Path() == "/gone" || want != "/gone old\ntext" {
			if got := p.Path() + " " + string(p.Value()); got != want {
				t.Errorf("selected %q, want %q", got, want)
			}
			continue
		}
		screentest.Do(t, p, keymap.PrevChange)
		if got := p.Path() + " " + string(p.Value()); got != want {
			t.Errorf("selected %q, want %q", got, want)
		}
	}
}

func TestPane_coloursChangeNothingElse(t *testing.T) {
	c := compare(t, file(t, "old.json"), file(t, "new.json"))
	screentest.ColoursOnly(t, 30, func(styles *theme.Styles, w int) screentest.Rows {
		p := screentest.Show(New(styles), c, w, 30)
		p.Do(keymap.UnfoldAll)
		return p
	})
}

// join puts the lines of one side of a text diff together again.
func join(d *textDiff, side diff.TextOp) string {
	var lines []string
	for _, line := range d.lines {
		if line.op != diff.Same && line.op != side {
			continue
		}
		text := ""
		for _, bit := range line.bits {
			text += bit.Text
		}
		lines = append(lines, text)
	}
	return strings.Join(lines, "\n")
}

// As long as nothing is left out, the lines of each side are its text.
func TestTextLines_tellBothTexts(t *testing.T) {
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "one two", "\n", "x y z", "é"}), 0, 18).Draw(t, "pieces"), "")
	})
	rapid.Check(t, func(t *rapid.T) {
		old, new := text.Draw(t, "old"), text.Draw(t, "new")
		d := textLines(diff.Text(old, new, 0))
		for _, line := range d.lines {
			if line.skip > 0 {
				t.Skip()
			}
		}
		if got := join(d, diff.Deleted); got != strings.TrimSuffix(old, "\n") {
			t.Fatalf("the old side reads %q, want %q (new %q)", got, old, new)
		}
		if got := join(d, diff.Inserted); got != strings.TrimSuffix(new, "\n") {
			t.Fatalf("the new side reads %q, want %q (old %q)", got, new, old)
		}
	})
}

func TestTextLines_leaveOutWhatIsFarFromAChange(t *testing.T) {
	before := strings.Repeat("same\n", 50)
	d := textLines(diff.Text(before+"old\n"+before, before+"new\n"+before, 0))
	var got []string
	for _, line := range d.lines {
		switch {
		case line.skip > 0:
			got = append(got, fmt.Sprint("skip ", line.skip))
		case line.op != diff.Same:
			got = append(got, line.bits[0].Text)
		}
	}
	if want := "skip 40, old, new, skip 40"; strings.Join(got, ", ") != want {
		t.Errorf("lines %s, want %s", strings.Join(got, ", "), want)
	}
}

func TestPane_anyUseOfAnyDiff(t *testing.T) {
	words := rapid.SampledFrom([]string{"x", "\x1b[2J", "\x1b]52;c;QUJD\x07", "\u202e", "日本", "😀 ", "\u0085", "word ", "\n", "\t", "e\u0301\u0301"})
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(words, 0, 30).Draw(t, "words"), "")
	})
	state := rapid.Custom(func(t *rapid.T) string {
		value := func(label string) any {
			return rapid.OneOf(rapid.Just[any](nil), rapid.Just[any](1.5), rapid.Map(text, func(s string) any { return s })).Draw(t, label)
		}
		var messages []any
		for i := range rapid.IntRange(0, 4).Draw(t, "messages") {
			messages = append(messages, map[string]any{"role": "user", "content": []any{map[string]any{"text": fmt.Sprint(i, value("text"))}}})
		}
		data, err := json.Marshal(map[string]any{
			"messages": messages, "a": map[string]any{text.Draw(t, "key"): value("a"), "b": []any{value("b1"), map[string]any{"c": value("c")}}},
			"d": value("d"), text.Draw(t, "name"): value("e"),
		})
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	})
	rapid.Check(t, func(t *rapid.T) {
		sides := Sides{New: Side{conversation.Decode(jsontape.Prefix([]byte(state.Draw(t, "new")), 1<<20)), newHeader, "#3"}}
		if rapid.Bool().Draw(t, "has old") {
			sides.Old = Side{conversation.Decode(jsontape.Prefix([]byte(state.Draw(t, "old")), 1<<20)), oldHeader, "#2"}
		}
		c, err := Prepare(t.Context(), sides)
		if err != nil {
			t.Fatal(err)
		}
		size := screentest.AnySize(t, 150)
		p := show(c, size.W, size.H)
		screentest.AnyUse(t, p, size, func(text string) Matches {
			m, _ := Find(t.Context(), c, text)
			return m
		}, map[string]func(*rapid.T){
			"": func(t *rapid.T) { screentest.Walks(t, p, p.window.Rows()) },
		}, keymap.NextChange, keymap.PrevChange, keymap.MoreContext, keymap.LessContext, keymap.SideBySide)
	})
}

func TestPrepare_canBeCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Prepare(ctx, Sides{New: Side{Conversation: conversation.Decode(parse(t, `{}`))}}); err == nil {
		t.Error("a cancelled comparison gives a diff")
	}
}

// large gives a state of about n MB with one message more for each of extra.
func largeState(mb, extra int) string {
	var out strings.Builder
	out.WriteString(`{"cart":{"total":120.5},"messages":[`)
	i := 0
	add := func() {
		if i > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(&out, `{"role":"user","content":[{"text":"message %d: %s"}]}`, i, strings.Repeat("word ", 20))
		i++
	}
	for out.Len() < mb*1_000_000 {
		add()
	}
	for range extra {
		add()
	}
	out.WriteString(`]}`)
	return out.String()
}

// BenchmarkPrepare compares a state with one that has a message more, when both
// were seen before.
func BenchmarkPrepare(b *testing.B) {
	for _, mb := range []int{1, 10} {
		sides := Sides{Old: Side{conversation.Decode(parse(b, largeState(mb, 0))), oldHeader, "#2"}, New: Side{conversation.Decode(parse(b, largeState(mb, 1))), newHeader, "#3"}}
		b.Run(fmt.Sprintf("%dMB", mb), func(b *testing.B) {
			for b.Loop() {
				if _, err := Prepare(b.Context(), sides); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func benchmarks(b *testing.B) map[string]*Content {
	text := func(word string) string {
		data, err := json.Marshal(map[string]string{"text": strings.Repeat("The 09:40 to Lyon.\n", 250_000) + word + strings.Repeat("One more line.\n", 250_000)})
		if err != nil {
			b.Fatal(err)
		}
		return string(data)
	}
	return map[string]*Content{
		"3_changes":        compare(b, file(b, "old.json"), file(b, "new.json")),
		"100000_changes":   compare(b, `{"messages":[]}`, largeState(12, 0)),
		"8MB_text_changed": compare(b, text("old word"), text("new word")),
	}
}

func BenchmarkFrame(b *testing.B) {
	for name, c := range benchmarks(b) {
		p := show(c, 200, 50)
		screentest.Do(b, p, keymap.UnfoldAll)
		b.Run(name, func(b *testing.B) {
			var frame []byte
			for b.Loop() {
				frame = screentest.Frame(frame[:0], p, 50)
			}
		})
	}
}

func BenchmarkKeys(b *testing.B) {
	for name, c := range benchmarks(b) {
		p := show(c, 200, 50)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				screentest.Do(b, p, keymap.UnfoldAll, keymap.Bottom, keymap.PageUp, keymap.Top, keymap.FoldAll)
			}
		})
	}
}
