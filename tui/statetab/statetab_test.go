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
	"hindcast/model/jsontape"
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

func prepare(data []byte) *Content {
	tape, warnings, err := jsontape.ParseTolerant(data)
	return Prepare(data, tape, warnings, err)
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
					out.Write(jsonString(text.Draw(t, "key")))
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

// visible walks the tree as a person would describe it: a value, and then what
// is in it unless that is folded.
func visible(p *Pane) []row {
	var out []row
	var walk func(n jsontape.Node)
	walk = func(n jsontape.Node) {
		for line := range int32(len(p.opened[n])) + 1 {
			out = append(out, row{n, line})
		}
		if p.folded(n) {
			return
		}
		for c := p.c.tape.First(n); c != jsontape.None; c = p.c.tape.Next(c) {
			walk(c)
		}
	}
	walk(0)
	return out
}

func TestPane_anyUseOfAnyState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := values().Draw(t, "state")
		c := prepare([]byte(text))
		if c.Err() != nil {
			t.Fatalf("%s: %v", text, c.Err())
		}
		size := screentest.AnySize(t, 90)
		p := show(&Content{tape: jsontape.Prefix([]byte(text), len(text)/2), size: len(text)}, size.W, size.H)
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
	if !p.folded(p.c.tape.LookupPointer("/a")) {
		t.Error("/a is not folded any more")
	}
	p.Set(prepare([]byte(`{"cart":{"items":[]}}`)))
	if p.Path() != "/cart/items" {
		t.Errorf("the cursor is at %q, want as far as the path goes", p.Path())
	}
}

func TestPane_clickOnTheSignFolds(t *testing.T) {
	p := show(prepare([]byte(`{"a":{"x":1},"b":2}`)), 60, 20)
	p.Click(3, 1)
	if p.Path() != "/a" || !p.folded(p.Selected()) {
		t.Errorf("%q folded %v", p.Path(), p.folded(p.Selected()))
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
	c := prepare([]byte("[" + strings.Repeat("1,", most+5) + "1]"))
	m, err := Find(t.Context(), c, "1")
	if n, more := m.Len(); n != most || !more || err != nil {
		t.Errorf("%d matches, more %v, error %v", n, more, err)
	}
	p := show(c, 40, 10)
	p.SetMatches(m)
	if at, of := p.Match(-1); at != most || of != most {
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
