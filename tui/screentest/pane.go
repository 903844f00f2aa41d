package screentest

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"
	"pgregory.net/rapid"

	"hindcast/keymap"
	"hindcast/tui/theme"
)

// This file is for the tests of one pane, which need no program around it.

// Rows is anything that draws itself row by row, each of exactly its width.
type Rows interface {
	AppendRow(dst []byte, y int) []byte
}

// fatal is the part of a test that a check needs, rapid's among them.
type fatal interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Colourless returns Unicode shapes and not one escape sequence.
func Colourless() *theme.Styles {
	return theme.New(theme.Choice{Palette: theme.None, Profile: termenv.Ascii, Glyphs: theme.Unicode})
}

// Themes returns each palette by its name, with as many colours as its terminals
// have.
func Themes() map[string]*theme.Styles {
	themes := map[string]*theme.Styles{}
	for name, c := range map[string]theme.Choice{
		"dark": {Palette: theme.Dark, Profile: termenv.TrueColor}, "light": {Palette: theme.Light, Profile: termenv.ANSI256},
		"16": {Palette: theme.Sixteen, Profile: termenv.ANSI}, "none": {Palette: theme.None, Profile: termenv.ANSI},
	} {
		c.Glyphs = theme.Unicode
		themes[name] = theme.New(c)
	}
	return themes
}

// Show sets the size and the content of a pane.
func Show[C any, P interface {
	Resize(w, h int)
	Set(C)
}](p P, content C, w, h int) P {
	p.Resize(w, h)
	p.Set(content)
	return p
}

// Do carries out actions; the pane must know each.
func Do(tb fatal, p interface{ Do(keymap.Action) bool }, actions ...keymap.Action) {
	tb.Helper()
	for _, a := range actions {
		if !p.Do(a) {
			tb.Fatalf("%s is not an action of the pane", a)
		}
	}
}

// Frame appends the first h rows of a pane, as a frame of the screen does.
func Frame(dst []byte, p Rows, h int) []byte {
	for y := range h {
		dst = p.AppendRow(dst, y)
	}
	return dst
}

// Draw returns the first h rows of a pane, line by line, without the spaces at the
// ends of lines.
func Draw(p Rows, h int) string {
	var b strings.Builder
	for y := range h {
		b.WriteString(strings.TrimRight(string(p.AppendRow(nil, y)), " "))
		b.WriteByte('\n')
	}
	return b.String()
}

// DrawWithStatus is Draw with the pane's status below.
func DrawWithStatus(p interface {
	Rows
	Status() string
}, h int) string {
	return Draw(p, h) + "\n" + p.Status() + "\n"
}

// DrawColoured is Draw with the bytes that switch colours as people can read them:
// each escape character as ^[.
func DrawColoured(p Rows, h int) string { return strings.ReplaceAll(Draw(p, h), "\x1b", "^[") }

// Exact checks that the first h rows of a pane without colours, and those above
// and below them, have w cells each and not one character that a terminal obeys
// or a person does not see.
func Exact(tb fatal, p Rows, w, h int) {
	tb.Helper()
	for y := -1; y <= h; y++ {
		line := string(p.AppendRow(nil, y))
		if got := ansi.StringWidth(line); got != w {
			tb.Fatalf("at width %d row %d has %d cells: %q", w, y, got, line)
		}
		if strings.ContainsFunc(line, func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf) }) {
			tb.Fatalf("at width %d row %d lets control characters through: %q", w, y, line)
		}
	}
}

// sgr are the only sequences that a pane may send: colours, and nothing else.
var sgr = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\x1b\[[0-9;]*m`) })

// ColoursOnly checks that a pane draws in every theme what it draws without
// colours, at several widths. open gives the pane, h rows high.
func ColoursOnly(tb fatal, h int, open func(styles *theme.Styles, w int) Rows) {
	tb.Helper()
	for name, styles := range Themes() {
		for _, w := range []int{1, 7, 40, 120} {
			p, plain := open(styles, w), open(Colourless(), w)
			for y := range h {
				got, want := string(p.AppendRow(nil, y)), string(plain.AppendRow(nil, y))
				if sgr().ReplaceAllString(got, "") != want {
					tb.Fatalf("theme %s: row %d in %d cells is\n%q, without colours\n%q", name, y, w, got, want)
				}
			}
		}
	}
}

// Size is how large a pane is while it is used.
type Size struct{ W, H, widest int }

// AnySize draws a size of up to that many cells in a row.
func AnySize(t *rapid.T, widest int) *Size {
	s := &Size{widest: widest}
	s.change(t)
	return s
}

func (s *Size) change(t *rapid.T) {
	s.W, s.H = rapid.IntRange(0, s.widest).Draw(t, "width"), rapid.IntRange(1, 20).Draw(t, "height")
}

// moves are the actions of every tab with a tree in it.
var moves = []keymap.Action{keymap.MoveDown, keymap.MoveUp, keymap.HalfDown, keymap.HalfUp, keymap.PageDown, keymap.PageUp,
	keymap.Top, keymap.Bottom, keymap.Open, keymap.Fold, keymap.Unfold, keymap.FoldAll, keymap.UnfoldAll}

// Tab is a tab with a tree in it that can be searched for matches of type M.
type Tab[M any] interface {
	Rows
	Resize(w, h int)
	Do(keymap.Action) bool
	Wheel(n int)
	Click(x, y int)
	Thumb() (from, to int)
	Status() string
	Path() string
	Value() []byte
	SetMatches(M) bool
	Match(n int) (at, of int)
}

// Empty checks that a tab of 3 rows without content draws the wanted text, does nothing, and has no
// selection.
func Empty[M any](tb fatal, p Tab[M], wanted string) {
	tb.Helper()
	if got := DrawWithStatus(p, 3); got != wanted {
		tb.Fatalf("screen %q, want %q", got, wanted)
	}
	for a := keymap.None; a <= keymap.Quit; a++ {
		if p.Do(a) {
			tb.Fatalf("%s does something", a)
		}
	}
	p.Click(1, 1)
	p.Wheel(2)
	if at, of := p.Match(1); at != 0 || of != 0 || p.Path() != "" || p.Value() != nil {
		tb.Fatalf("match %d of %d, path %q, value %q", at, of, p.Path(), p.Value())
	}
}

// AnyUse uses a tab without colours in any order: it moves and folds and does
// the actions that are given, clicks, resizes and searches, and what own adds;
// own[""] runs after each step. Whatever was done, the rows are exact and clean
// and the thumb is beside them.
func AnyUse[M any](t *rapid.T, p Tab[M], size *Size, find func(text string) M, own map[string]func(*rapid.T), actions ...keymap.Action) {
	actions = append(actions, moves...)
	uses := map[string]func(*rapid.T){
		"action": func(t *rapid.T) { p.Do(rapid.SampledFrom(actions).Draw(t, "action")) },
		"wheel":  func(t *rapid.T) { p.Wheel(rapid.IntRange(-5, 5).Draw(t, "by")) },
		"click": func(t *rapid.T) {
			p.Click(rapid.IntRange(0, size.W).Draw(t, "x"), rapid.IntRange(-1, size.H+1).Draw(t, "y"))
		},
		"resize": func(t *rapid.T) {
			size.change(t)
			p.Resize(size.W, size.H)
		},
		"search": func(t *rapid.T) {
			p.SetMatches(find(rapid.SampledFrom([]string{"x", "日", "word word", "1", "\x1b"}).Draw(t, "query")))
			p.Match(rapid.IntRange(-2, 2).Draw(t, "by"))
		},
	}
	for name, use := range own {
		uses[name] = use
	}
	uses[""] = func(t *rapid.T) {
		if check := own[""]; check != nil {
			check(t)
		}
		Exact(t, p, size.W, size.H)
		if from, to := p.Thumb(); from < 0 || to > size.H || from > to {
			t.Fatalf("the thumb goes from %d to %d of %d", from, to, size.H)
		}
		p.Status()
		p.Path()
		p.Value()
	}
	t.Repeat(uses)
}

// Walks checks that a pane walks up through its rows as it walks down, and that
// those it shows follow each other there.
func Walks[R comparable](tb fatal, p interface {
	First() (R, bool)
	Next(R) (R, bool)
	Prev(R) (R, bool)
}, shown []R) {
	tb.Helper()
	var every []R
	for r, ok := p.First(); ok; r, ok = p.Next(r) {
		every = append(every, r)
	}
	for i, r := range every {
		if prev, ok := p.Prev(r); ok != (i > 0) || ok && prev != every[i-1] {
			tb.Fatalf("before %v comes %v, want %v", r, prev, every[max(i-1, 0)])
		}
	}
	if len(shown) == 0 {
		if len(every) > 0 {
			tb.Fatalf("no row shows of %v", every)
		}
		return
	}
	if at := slices.Index(every, shown[0]); at < 0 || at+len(shown) > len(every) || !slices.Equal(shown, every[at:at+len(shown)]) {
		tb.Fatalf("rows %v are no part of %v", shown, every)
	}
}
