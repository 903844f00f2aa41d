package statetab

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/exp/golden"
	"pgregory.net/rapid"

	"hindcast/keymap"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/tui/match"
	"hindcast/tui/screentest"
	"hindcast/tui/theme"
)

var plain = screentest.Colourless()

func read(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func prepare(data []byte) *Content { return step(nil, data) }

// step prepares a state with a base, nil for none.
func step(base, data []byte) *Content {
	s := State{Data: data}
	s.Tape, s.Warnings, s.Err = jsontape.ParseTolerant(data)
	if s.Err == nil {
		s.Conversation = conversation.Decode(s.Tape)
	}
	if base != nil {
		s.Base, _, _ = jsontape.ParseTolerant(base)
	}
	c, err := Prepare(context.Background(), s)
	if err != nil {
		panic(err)
	}
	return c
}

func show(c *Content, w, h int) *Pane { return screentest.Show(New(plain), c, w, h) }

func TestPane_looksAsDrawn(t *testing.T) {
	for name, steps := range map[string]func(*Pane){
		"first": func(*Pane) {},
		"deeper": func(p *Pane) {
			screentest.Do(t, p, keymap.UnfoldAll, keymap.UnfoldAll, keymap.UnfoldAll, keymap.UnfoldAll)
		},
		"fold all": func(p *Pane) { screentest.Do(t, p, keymap.FoldAll) },
		"opened": func(p *Pane) {
			p.Select(p.c.tape.LookupPointer("/log"))
			screentest.Do(t, p, keymap.Open, keymap.MoveDown)
		},
		"found": func(p *Pane) {
			m, _ := Find(t.Context(), p.c, "TERREAUX")
			p.SetMatches(m)
		},
		"end": func(p *Pane) { screentest.Do(t, p, keymap.Bottom) },
	} {
		for _, w := range []int{20, 60, 100, 200} {
			t.Run(fmt.Sprintf("%s/%d", name, w), func(t *testing.T) {
				p := show(prepare(read(t, "state.json")), w, 24)
				steps(p)
				golden.RequireEqual(t, []byte(screentest.DrawWithStatus(p, 24)))
			})
		}
	}
}

func TestPane_showsWhatIsWrong(t *testing.T) {
	for _, tc := range []struct{ name, text string }{
		{"nothing", ""},
		{"torn", `{"a": 1, "b": [1, 2, {"c": "torn`},
		{"trailing", `{"a": 1} x`},
		{"mark", "\ufeff{\"a\": 1}"},
		{"number", `{"a": 01}`},
		{"scalar", `"only a string"`},
		{"too deep", strings.Repeat("[", 10_002)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := show(prepare([]byte(tc.text)), 60, 8)
			golden.RequireEqual(t, []byte(screentest.DrawWithStatus(p, 8)))
		})
	}
}

func TestPane_marksWhatTheStepChanged(t *testing.T) {
	const (
		before = `{"messages":[{"role":"user","content":[{"text":"book it"}]}],"cart":{"total":205.5,"items":["train","hotel","jazz club"],"gift":true},"status":"planning","model_state":{"a":1},"n":1}`
		after  = `{"messages":[{"role":"user","content":[{"text":"book it"}]},{"role":"assistant","content":[{"text":"Done: the 09:40."}]}],"cart":{"total":140.5,"items":["hotel","train","jazz club"]},"status":"booked","model_state":{"a":2},"n":1.0,"refund":{"due":true}}`
	)
	for name, steps := range map[string]func(*Pane){
		"first":  func(*Pane) {},
		"opened": func(p *Pane) { screentest.Do(t, p, keymap.UnfoldAll) },
		"folded": func(p *Pane) { screentest.Do(t, p, keymap.FoldAll) },
	} {
		for _, w := range []int{24, 60, 100} {
			t.Run(fmt.Sprintf("%s/%d", name, w), func(t *testing.T) {
				p := show(step([]byte(before), []byte(after)), w, 24)
				steps(p)
				golden.RequireEqual(t, []byte(screentest.DrawWithStatus(p, 24)))
			})
		}
	}
	if got := screentest.Draw(show(prepare([]byte(after)), 60, 24), 24); strings.Contains(got, "was") || strings.Contains(got, "+") {
		t.Errorf("without a base something is marked:\n%s", got)
	}
}

func TestPane_givesWhatWasRemoved(t *testing.T) {
	p := show(step([]byte(`{"cart":{"gift":"yes","n":1}}`), []byte(`{"cart":{"n":1}}`)), 60, 20)
	screentest.Do(t, p, keymap.MoveDown, keymap.MoveDown)
	if p.Path() != "/cart/gift" || string(p.Value()) != "yes" || p.SelectedNode() != jsontape.None {
		t.Errorf("%q is %q, selected %d", p.Path(), p.Value(), p.SelectedNode())
	}
	screentest.Do(t, p, keymap.Fold)
	if p.Path() != "/cart" || !p.isFolded(p.SelectedNode()) {
		t.Errorf("folding a removed value leads to %q", p.Path())
	}
}

func TestPane_searchesInTheOrderOfTheRows(t *testing.T) {
	p := show(prepare([]byte(`{"messages":[{"role":"user","content":[{"text":"an apple"}]}],"b":"apple","model_state":"apple","a":"apple"}`)), 60, 20)
	m, err := Find(t.Context(), p.c, "apple")
	if err != nil || !p.SetMatches(m) {
		t.Fatal("the search finds nothing", err)
	}
	got := []string{p.Path()}
	for range 4 {
		at, of := p.Match(1)
		got = append(got, fmt.Sprintf("%s %d/%d", p.Path(), at, of))
	}
	if want := "/b, /a 2/4, /messages/0/content/0/text 3/4, /model_state 4/4, /b 1/4"; strings.Join(got, ", ") != want {
		t.Errorf("matches %s, want %s", strings.Join(got, ", "), want)
	}
}

func TestPane_emptyShowsNoState(t *testing.T) {
	screentest.Empty(t, show(nil, 30, 3), "  no state\n\n\n\n\n")
}

func TestPane_coloursChangeNothingElse(t *testing.T) {
	c := prepare(read(t, "state.json"))
	screentest.ColoursOnly(t, 30, func(styles *theme.Styles, w int) screentest.Rows {
		p := screentest.Show(New(styles), c, w, 30)
		p.Do(keymap.UnfoldAll)
		return p
	})
}

// values makes texts of JSON, with what a model may write into them.
func values() *rapid.Generator[string] {
	text := rapid.Custom(func(t *rapid.T) string {
		s := rapid.SampledFrom([]string{"", "x", "\x1b[2J", "\x1b]52;c;QUJD\x07", "\u202e", "e\u0301\u0301\u0301\u0301\u0301\u0301", "日本", "😀", "\u0085", "a b", "\n\t"}).Draw(t, "piece")
		return fmt.Sprintf("%q", s+rapid.String().Draw(t, "text"))
	})
	return rapid.Custom(func(t *rapid.T) string {
		var out strings.Builder
		var write func(depth int)
		write = func(depth int) {
			switch kind := rapid.IntRange(0, 6).Draw(t, "kind"); {
			case kind <= 1 && depth < 5:
				out.WriteByte('[')
				for i := range rapid.IntRange(0, 4).Draw(t, "length") {
					if i > 0 {
						out.WriteByte(',')
					}
					write(depth + 1)
				}
				out.WriteByte(']')
			case kind <= 3 && depth < 5:
				out.WriteByte('{')
				for i := range rapid.IntRange(0, 4).Draw(t, "length") {
					if i > 0 {
						out.WriteByte(',')
					}
					key := text
					if depth < 2 {
						key = rapid.OneOf(text, rapid.SampledFrom([]string{`"messages"`, `"model_state"`, `"a"`, `"b"`}))
					}
					out.Write(jsonString(key.Draw(t, "key")))
					out.WriteByte(':')
					write(depth + 1)
				}
				out.WriteByte('}')
			case kind == 4:
				out.Write(jsonString(text.Draw(t, "string")))
			default:
				out.WriteString(rapid.SampledFrom([]string{"1", "-2.50e7", "null", "true", "NaN"}).Draw(t, "scalar"))
			}
		}
		write(0)
		return out.String()
	})
}

// jsonString spells what %q quoted as JSON, with the bytes as they are where
// JSON allows it.
func jsonString(quoted string) []byte {
	var out bytes.Buffer
	out.WriteByte('"')
	for _, c := range []byte(quoted) {
		switch {
		case c == '"' || c == '\\' || c < ' ':
			fmt.Fprintf(&out, `\u%04x`, c)
		default:
			out.WriteByte(c)
		}
	}
	out.WriteByte('"')
	return out.Bytes()
}

// visible walks the tree as a person would describe it: a value, what was taken
// out of it, and then what is in it unless that is folded; in the state itself
// what the framework keeps comes last.
func visible(p *Pane) []row {
	var out []row
	t := p.c.tape
	var walk func(n jsontape.Node)
	walk = func(n jsontape.Node) {
		out = append(out, row{node: n})
		if p.isFolded(n) {
			return
		}
		for line := range len(p.opened[n]) + min(len(p.c.removed[n]), mostRemoved) {
			out = append(out, row{n, int32(line) + 1})
		}
		var late []jsontape.Node
		for c := t.First(n); c != jsontape.None; c = t.Next(c) {
			if n == 0 && t.Kind(0) == jsontape.Object && p.c.conv.OfFramework(c) {
				late = append(late, c)
				continue
			}
			walk(c)
		}
		for _, c := range late {
			walk(c)
		}
	}
	walk(0)
	return out
}

func TestPane_anyUseOfAnyState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := values().Draw(t, "state")
		base := []byte(nil)
		if rapid.Bool().Draw(t, "has base") {
			base = []byte(values().Draw(t, "base"))
		}
		c := step(base, []byte(text))
		if c.Err() != nil {
			t.Fatalf("%s: %v", text, c.Err())
		}
		size := screentest.AnySize(t, 90)
		p := show(Preview([]byte(text)[:len(text)/2], len(text)), size.W, size.H)
		p.Set(c)
		screentest.AnyUse(t, p, size, func(text string) Matches {
			m, _ := Find(t.Context(), c, text)
			return m
		}, map[string]func(*rapid.T){
			"select": func(t *rapid.T) { p.Select(jsontape.Node(rapid.IntRange(-1, c.tape.Len()).Draw(t, "node"))) },
			"": func(t *rapid.T) {
				all, rows := visible(p), p.window.Rows()
				first := slices.Index(all, rows[0])
				if first < 0 || first+len(rows) > len(all) || !slices.Equal(rows, all[first:first+len(rows)]) {
					t.Fatalf("rows %v are no part of %v", rows, all)
				}
				if len(rows) != min(size.H, len(all)) {
					t.Fatalf("%d rows show of %d in %d", len(rows), len(all), size.H)
				}
				for i, r := range rows {
					if prev, ok := p.Prev(r); ok != (first+i > 0) || ok && prev != all[first+i-1] {
						t.Fatalf("before %v comes %v", r, prev)
					}
				}
				if last, _ := p.Last(); last != all[len(all)-1] {
					t.Fatalf("the last row is %v, want %v", last, all[len(all)-1])
				}
			},
		})
	})
}

func TestPane_wholeStateTakesOverAtTheCursor(t *testing.T) {
	data := large(1)
	// A store may have read the beginning on its own.
	p := show(Preview(bytes.Clone(data[:2*previewSize]), len(data)), 100, 30)
	screentest.Do(t, p, keymap.UnfoldAll, keymap.PageDown, keymap.MoveDown, keymap.Fold)
	before, path := screentest.DrawWithStatus(p, 30), p.Path()
	p.Set(prepare(data))
	after := screentest.DrawWithStatus(p, 30)
	if p.Path() != path || path == "" {
		t.Errorf("the cursor went from %q to %q", path, p.Path())
	}
	loading, whole := strings.Split(before, "\n"), strings.Split(after, "\n")
	for y := range 29 {
		if loading[y] != whole[y] && !strings.Contains(loading[y], "so far") && !strings.Contains(loading[y], "unfinished") {
			t.Errorf("row %d was\n%s and is\n%s", y, loading[y], whole[y])
		}
	}
	if strings.Contains(after, "loading") {
		t.Errorf("still loading:\n%s", after)
	}
}

func TestPane_keepsItsPlaceInTheNextState(t *testing.T) {
	p := show(prepare([]byte(`{"a":{"x":1},"cart":{"items":[{"p":1},{"p":2}],"total":3}}`)), 60, 20)
	p.Select(p.c.tape.LookupPointer("/a"))
	screentest.Do(t, p, keymap.Fold)
	p.Select(p.c.tape.LookupPointer("/cart/items/1/p"))
	p.Set(prepare([]byte(`{"new":0,"cart":{"total":4,"items":[{"p":1},{"q":0,"p":5}]},"a":{"y":2,"x":1}}`)))
	if p.Path() != "/cart/items/1/p" {
		t.Errorf("the cursor is at %q", p.Path())
	}
	if !p.isFolded(p.c.tape.LookupPointer("/a")) {
		t.Error("/a is not folded any more")
	}
	p.Set(prepare([]byte(`{"cart":{"items":[]}}`)))
	if p.Path() != "/cart/items" {
		t.Errorf("the cursor is at %q, want as far as the path goes", p.Path())
	}
}

func TestPane_clickOnTheSignFolds(t *testing.T) {
	p := show(prepare([]byte(`{"a":{"x":1},"b":2}`)), 60, 20)
	p.Click(4, 1)
	if p.Path() != "/a" || !p.isFolded(p.SelectedNode()) {
		t.Errorf("%q folded %v", p.Path(), p.isFolded(p.SelectedNode()))
	}
	p.Click(20, 2)
	if p.Path() != "/b" {
		t.Errorf("the cursor is at %q", p.Path())
	}
}

func TestPane_givesPathAndValue(t *testing.T) {
	p := show(prepare([]byte(`{"a/b":{"t":"x\ny","n":1.50}}`)), 60, 20)
	for pointer, want := range map[string]string{"/a~1b/t": "x\ny", "/a~1b/n": "1.50", "/a~1b": `{"t":"x\ny","n":1.50}`} {
		p.Select(p.c.tape.LookupPointer(pointer))
		if p.Path() != pointer || string(p.Value()) != want {
			t.Errorf("%q is %q, want %q", p.Path(), p.Value(), want)
		}
	}
}

func TestFind_isBoundedAndCancellable(t *testing.T) {
	c := prepare([]byte("[" + strings.Repeat("1,", match.Most+5) + "1]"))
	m, err := Find(t.Context(), c, "1")
	if n, more := m.Len(); n != match.Most || !more || err != nil {
		t.Errorf("%d matches, more %v, error %v", n, more, err)
	}
	p := show(c, 40, 10)
	p.SetMatches(m)
	if at, of := p.Match(-1); at != match.Most || of != match.Most {
		t.Errorf("match %d of %d, want the last", at, of)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Find(ctx, c, "1"); err == nil {
		t.Error("a cancelled search goes on")
	}
}

func TestMatch_goesRoundFromTheCursor(t *testing.T) {
	p := show(prepare([]byte(`["x",1,"x",2,"x"]`)), 40, 10)
	p.Select(p.c.tape.LookupPointer("/1"))
	m, err := Find(t.Context(), p.c, "X")
	if err != nil || !p.SetMatches(m) || p.Path() != "/2" {
		t.Fatalf("the first match is at %q, error %v", p.Path(), err)
	}
	var got []string
	for _, n := range []int{1, 1, 1, -1, -1} {
		at, of := p.Match(n)
		got = append(got, fmt.Sprintf("%s %d/%d", p.Path(), at, of))
	}
	if want := "/4 3/3, /0 1/3, /2 2/3, /0 1/3, /4 3/3"; strings.Join(got, ", ") != want {
		t.Errorf("matches %s, want %s", strings.Join(got, ", "), want)
	}
}
