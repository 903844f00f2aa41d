package cell

import (
	"reflect"
	"strings"
	"testing"
	"unicode"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"hindcast/model/printable"
	"hindcast/store/storetest/skip"
	"hindcast/tui/screentest"
	"hindcast/tui/theme"
)

var red = theme.Style{Start: "\x1b[31m", Reset: "\x1b[0m"}

func TestRow_cutsAndPads(t *testing.T) {
	for _, tc := range []struct {
		name, text, want string
		w                int
	}{
		{"fits", "turn", "turn  ", 6},
		{"exactly", "turn", "turn", 4},
		{"cut", "turn end", "turn…", 5},
		{"one cell", "turn", "…", 1},
		{"no cell", "turn", "", 0},
		{"negative", "turn", "", -3},
		{"wide", "東京都", "東京都", 6},
		{"wide cut", "東京都", "東京…", 5},
		{"wide cut leaves a gap", "東京都", "東… ", 4},
		{"escape", "\x1b[31mred", "^[[31mred  ", 11},
		{"escape cut", "\x1b[31mred", "^[[3…", 5},
		{"marks", "e\u0301te\u0301", "e\u0301te\u0301 ", 4},
		{"mark at the cut", "abe\u0301", "abe\u0301", 3},
		{"flag", "🇫🇷x", "🇫🇷x", 3},
		{"newline", "a\nb", "a↵b ", 4},
		{"cut where it was cut before", "foll… (ls)", "foll… ", 6},
		{"cut where it was cut before, escaped", "\x1bf… (ls)", "^[f… ", 5},
		{"invalid", "a\xff", `a\xff`, 5},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, kind := range []string{"string", "bytes"} {
				r := Begin([]byte("|"), &theme.Unicode, tc.w)
				if kind == "string" {
					r.Put(theme.Style{}, tc.text)
				} else {
					r.PutBytes(theme.Style{}, []byte(tc.text))
				}
				if got := string(r.End(theme.Style{})); got != "|"+tc.want {
					t.Errorf("%s: %q, want %q", kind, got, "|"+tc.want)
				}
			}
		})
	}
}

func TestRow_columns(t *testing.T) {
	r := Begin(nil, &theme.ASCII, 12)
	r.Column(red, "ab", 4)
	r.ColumnRight(theme.Style{}, "7", 3)
	r.Repeat(theme.Style{}, "-", 2)
	r.ColumnRight(theme.Style{}, "too long", 9)
	if got, want := string(r.End(theme.Style{})), "\x1b[31mab  \x1b[0m  7--to~"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestRow_drawnOnlyWhereItFits(t *testing.T) {
	draw := func(dst []byte) []byte { return append(dst, "○ │"...) }
	r := Begin(nil, &theme.Unicode, 5)
	r.Append(red, 3, draw)
	r.Append(red, 3, draw)
	if got, want := string(r.End(theme.Style{})), "\x1b[31m○ │\x1b[0m  "; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestRow_longLineCostsItsWindow(t *testing.T) {
	skip.Counting(t)
	allocs := testing.AllocsPerRun(10, func() {
		dst := make([]byte, 0, 8<<10)
		r := Begin(dst, &theme.Unicode, 80)
		r.Put(red, long)
		r.End(red)
	})
	if allocs > 4 {
		t.Errorf("%v allocations", allocs)
	}
}

// long is a line of 10 MB that is not plain ASCII.
var long = strings.Repeat("é\x1b[31m日本", 1<<20)

func BenchmarkRow_longLine(b *testing.B) {
	dst := make([]byte, 0, 8<<10)
	for b.Loop() {
		r := Begin(dst[:0], &theme.Unicode, 80)
		r.Put(red, long)
		r.End(red)
	}
}

func FuzzRow(f *testing.F) {
	f.Add("turn end", 5)
	f.Add("東e\u0301\u0301🇫🇷👍🏽\x1b[31m\u202e", 7)
	f.Add(strings.Repeat("ᄀ", 40), 30)
	f.Fuzz(func(t *testing.T, s string, w int) {
		if w > 300 || w < 0 {
			return
		}
		r := Begin(nil, &theme.Unicode, w)
		used := r.Put(theme.Style{}, s)
		if used+r.Room() != w {
			t.Errorf("used %d, left %d of %d", used, r.Room(), w)
		}
		got := string(r.End(theme.Style{}))
		if n := ansi.StringWidth(got); n > w {
			t.Errorf("%q in %d cells takes %d: %q", s, w, n, got)
		}
	})
}

func TestWindow_keepsTheCursorInSight(t *testing.T) {
	v := Window{Height: 10}
	v.SetLen(100)
	for _, step := range []struct {
		name        string
		do          func() bool
		cursor, top int
	}{
		{"down", func() bool { return v.Move(1) }, 1, 0},
		{"to the margin", func() bool { return v.MoveTo(8) }, 8, 1},
		{"end", func() bool { return v.MoveTo(1000) }, 99, 90},
		{"up a page", func() bool { return v.Move(-10) }, 89, 87},
		{"wheel up", func() bool { return v.Scroll(-20) }, 76, 67},
		{"top", func() bool { return v.MoveTo(-5) }, 0, 0},
		{"wheel down", func() bool { return v.Scroll(3) }, 3, 3},
	} {
		if !step.do() {
			t.Errorf("%s: nothing moved", step.name)
		}
		if v.Cursor != step.cursor || v.Top != step.top {
			t.Errorf("%s: cursor %d, top %d, want %d, %d", step.name, v.Cursor, v.Top, step.cursor, step.top)
		}
	}
	v.MoveTo(99)
	v.SetLen(3)
	if v.Cursor != 2 || v.Top != 0 || v.Move(1) {
		t.Errorf("shrunk: cursor %d, top %d", v.Cursor, v.Top)
	}
	v.SetLen(0)
	if v.Cursor != 0 || v.Top != 0 {
		t.Errorf("empty: cursor %d, top %d", v.Cursor, v.Top)
	}
}

func TestWindow_thumb(t *testing.T) {
	for _, tc := range []struct {
		v        Window
		from, to int
	}{
		{Window{Height: 10, Len: 10}, 0, 0},
		{Window{Height: 10, Len: 20}, 0, 5},
		{Window{Height: 10, Len: 20, Top: 10}, 5, 10},
		{Window{Height: 10, Len: 1_000_000, Top: 999_990}, 9, 10},
		{Window{Height: 0, Len: 5}, 0, 0},
	} {
		if from, to := tc.v.Thumb(); from != tc.from || to != tc.to {
			t.Errorf("%+v: thumb %d to %d, want %d to %d", tc.v, from, to, tc.from, tc.to)
		}
	}
}

// What a row is made of is put piece by piece: a character must take as many
// cells between two others as it takes alone, or the row is not as wide as it
// was counted to be.
func TestWidth_doesNotDependOnTheNeighbours(t *testing.T) {
	for r := rune(0x80); r <= unicode.MaxRune; r++ {
		if !unicode.IsGraphic(r) {
			continue
		}
		want := 2 + Width(string(r))
		row := Begin(nil, &theme.Unicode, want)
		row.Fill(theme.Style{}, 1)
		row.Put(theme.Style{}, string(r))
		line := string(row.End(theme.Style{}))
		if got := ansi.StringWidth(line); got != want {
			t.Errorf("%U is drawn as %q, in %d cells and not in %d", r, line, got, want)
		}
	}
}

// The glyphs of the program's own are nowhere in doubt, so that ordinary lines are
// drawn as they are.
func TestSteady_allGlyphs(t *testing.T) {
	v := reflect.ValueOf(theme.Unicode)
	for i := range v.NumField() {
		if v.Field(i).Kind() == reflect.String && !steadyLine([]byte(v.Field(i).String())) {
			t.Errorf("%s is %q, which is doubtful", v.Type().Field(i).Name, v.Field(i).String())
		}
	}
}

// Every terminal counts what is steady alike.
func TestSteady_isCountedAlike(t *testing.T) {
	for r := rune(0xa0); r <= unicode.MaxRune; r++ {
		if !isSteady(r) || !unicode.IsGraphic(r) || unicode.Is(unicode.Zs, r) {
			continue
		}
		if unicode.Is(unicode.M, r) || isJamoVowel(r) {
			t.Errorf("%U sits on another", r)
		}
		if a, b := ansi.StringWidth(string(r)), screentest.Wcwidth(r); a != b {
			t.Errorf("%U takes %d cells, or %d for wcwidth", r, a, b)
		}
	}
}

// printable passes joiners where text is cut into characters behind them, and
// nowhere else.
func TestPrintable_joinsWhatUnicodeJoins(t *testing.T) {
	for r := rune(0xa1); r <= unicode.MaxRune; r++ {
		if !unicode.IsGraphic(r) || unicode.Is(unicode.M, r) {
			continue
		}
		text := string(r) + "\u200d👩"
		c, _ := ansi.FirstGraphemeCluster(text, ansi.GraphemeWidth)
		if joined, passed := c == text, printable.String(text) == text; joined != passed {
			t.Errorf("%U joined %t, passed on %t", r, joined, passed)
		}
	}
}

// What is drawn as it stands is what printable leaves alone, one cell wide.
func TestEven_isPrintedAsItIs(t *testing.T) {
	for r := rune(0x80); r <= unicode.MaxRune; r++ {
		if isEven(r) && (printable.String(string(r)) != string(r) || ansi.StringWidth(string(r)) != 1) {
			t.Errorf("%U is printed as %q in %d cells", r, printable.String(string(r)), ansi.StringWidth(string(r)))
		}
	}
}

// What is drawn of a beginning is what would be drawn of the whole text.
func TestRow_looksNoFurtherThanItMust(t *testing.T) {
	pieces := []string{
		"a", "word ", "é", "日本", "👍🏽", "👩‍👩‍👧", "❤️", "ทำ", "e\u0301\u0302\u0303", "\u200d", "\x1b[31m", "→", "1\ufe0f\u20e3",
		strings.Repeat("ᄀ", 30), strings.Repeat("\u0301", 9), "👩\u200d", "\ufe0f",
	}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 60).Draw(t, "pieces"), "")
		w := rapid.IntRange(1, 40).Draw(t, "cells")
		row := Begin(nil, &theme.Unicode, w)
		used := row.Put(red, text)

		whole := printable.Append(nil, text)
		end, cells, _ := fit(whole, w)
		ellipsis := ""
		if end < len(whole) {
			end, cells, _ = fit(whole, w-1)
			ellipsis = theme.Unicode.Ellipsis
			cells++
		}
		want := red.Start + string(addSpaces(whole[:end:end], 0)) + ellipsis + red.Reset
		if got := string(row.dst); got != want || used != cells {
			t.Errorf("%q in %d cells is %q, %d cells, and not %q, %d cells", text, w, got, used, want, cells)
		}
	})
}

func TestWrap(t *testing.T) {
	for _, tc := range []struct {
		text string
		w    int
		want string
	}{
		{"one two three", 8, "one two|three"},
		{"one   two", 4, "one|two"},
		{"one two", 3, "one|two"},
		{"  indented words", 10, "  indented|words"},
		{"  indented", 6, "  inde|nted"},
		{"well-known a.b", 6, "well-|known|a.b"},
		{"a.b.c", 4, "a.b.|c"},
		{"one\n\ntwo ", 5, "one||two "},
		{"^Ge\u0301#", 3, "^Ge\u0301|#"}, // an accent stays with its letter
		{"日本語", 1, "日|本|語"},
		{"", 3, ""},
	} {
		if got := strings.Join(Wrap(tc.text, tc.w, "."), "|"); got != tc.want {
			t.Errorf("%q in %d cells is %q, want %q", tc.text, tc.w, got, tc.want)
		}
	}
}
