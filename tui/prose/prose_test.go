package prose

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"hindcast/model/jsontape"
	"hindcast/tui/match"
)

func of(t testing.TB, raw []byte) Text {
	t.Helper()
	tape, err := jsontape.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return Of(tape, 0)
}

// lines returns all lines of a text.
func lines(x Text, w int) []string {
	var out []string
	for i := range x.Pages() {
		out = append(out, x.Lines(i, w)...)
	}
	return out
}

func TestText_wraps(t *testing.T) {
	for _, tc := range []struct {
		text string
		w    int
		want []string
	}{
		{`""`, 10, []string{""}},
		{`"one two three"`, 7, []string{"one two", "three"}},
		{`"one\ntwo\n"`, 20, []string{"one", "two"}},
		{`"one\r\n\r\ntwo"`, 20, []string{"one", "", "two"}},
		{`"  if x {\n\ty()\n  }"`, 20, []string{"  if x {", "    y()", "  }"}},
		{`"unbreakableword"`, 5, []string{"unbre", "akabl", "eword"}},
		{`"\u001b[2J \u202e"`, 20, []string{"^[[2J <U+202E>"}},
		{`"日本語"`, 4, []string{"日本", "語"}},
		{`1234`, 10, []string{"1234"}},
	} {
		if got := lines(of(t, []byte(tc.text)), tc.w); !slices.Equal(got, tc.want) {
			t.Errorf("%s in %d cells is %q, want %q", tc.text, tc.w, got, tc.want)
		}
	}
}

func TestText_unfinishedShowsWhatThereIs(t *testing.T) {
	tape := jsontape.Prefix([]byte(`"one two \u00e9 three"`), 13)
	if got := lines(Of(tape, 0), 20); !slices.Equal(got, []string{"one two "}) {
		t.Errorf("lines %q", got)
	}
}

// Pages put together are the text, whatever it is made of.
func TestText_pagesLoseNothing(t *testing.T) {
	pieces := []string{"word ", "\n", "x", `\`, `"`, "é", "日本", "😀", "\u0001", "\t", strings.Repeat(`\`, 100), strings.Repeat("y", 3000), strings.Repeat("😀", 900), strings.Repeat("\u0002", 700)}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 60).Draw(t, "pieces"), "")
		raw, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "escaped") { // as json.dumps writes it
			raw = escaped(text)
		}
		tape, err := jsontape.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		x := Of(tape, 0)
		var got strings.Builder
		for i := range x.Pages() {
			start, end := x.pageStart(i), x.pageStart(i+1)
			if start > end {
				t.Fatalf("page %d goes from %d to %d", i, start, end)
			}
			got.WriteString(x.decode(start, end))
		}
		if got.String() != text {
			t.Fatalf("the pages read %q, want %q", got.String(), text)
		}
	})
}

// escaped spells a string with ASCII only.
func escaped(text string) []byte {
	out := []byte{'"'}
	for _, r := range text {
		if r > 0xffff {
			r -= 0x10000
			out = fmt.Appendf(out, `\u%04x\u%04X`, 0xd800+r>>10, 0xdc00+r&0x3ff)
			continue
		}
		out = fmt.Appendf(out, `\u%04x`, r)
	}
	return append(out, '"')
}

func TestText_linesFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw, err := json.Marshal(rapid.String().Draw(t, "text"))
		if err != nil {
			t.Skip()
		}
		tape, err := jsontape.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		w := rapid.IntRange(2, 60).Draw(t, "width")
		for _, line := range lines(Of(tape, 0), w) {
			if ansi.StringWidth(line) > w || strings.ContainsAny(line, "\x1b\x07\n\r\t") {
				t.Fatalf("in %d cells: %q", w, line)
			}
		}
	})
}

func TestText_holdsAcrossPages(t *testing.T) {
	text := strings.Repeat("z", pageSize-3) + "need" + "le" + strings.Repeat("z", 2*pageSize)
	x := of(t, []byte(`"`+text+`"`))
	var pages []int
	for i := range x.Pages() {
		if x.Holds(i, match.New("NEEDLE")) {
			pages = append(pages, i)
		}
	}
	if !slices.Equal(pages, []int{0}) {
		t.Errorf("pages %v, want the first", pages)
	}
}

// BenchmarkLines shows one page in the middle of a text of any size.
func BenchmarkLines(b *testing.B) {
	for name, unit := range map[string]string{"words": "The 09:40 to Lyon is the next one. ", "backslashes": `\\`, "one_word": "x"} {
		for _, size := range []int{100_000, 10_000_000} {
			x := of(b, []byte(`"`+strings.Repeat(unit, size/len(unit))+`"`))
			b.Run(fmt.Sprintf("%s/%d", name, size), func(b *testing.B) {
				for b.Loop() {
					x.Lines(x.Pages()/2, 100)
				}
			})
		}
	}
}
