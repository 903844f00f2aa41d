package prose

import (
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/charmbracelet/x/exp/golden"
	"github.com/muesli/termenv"
	"pgregory.net/rapid"

	"hindcast/tui/cell"
	"hindcast/tui/match"
	"hindcast/tui/theme"
)

// everything has each kind of block.
const everything = "# Why it fails\n\nThe retry **never resets**, so *each* failure ***doubles*** the `delay`; ~~blame the clock~~ see [the log](logs/a.txt \"of May\"), https://x.org/y and ![a chart](chart.png).\nsecond line\n\n" +
	"### Plan\n\n- first\n  1. one\n  2. two words and more of them\n- [x] done\n- [ ] open\n\n> quoted **words** that go on for a while\n> > deeper\n\n" +
	"| case | before | after, in words |\n|:-----|-------:|:-----:|\n| a | 1 | never resets and so on and on |\n| `b` | 20 | **x** |\n\n---\n\n" +
	"```go\n// f adds\nfunc f(a int) string { return \"s\" + `t` } // 12\n\n\tif x == 10 {}\n```\n\n```diff\n@@ -1 +1 @@\n-old\n+new\n same\n```\n\n<b>html</b> &amp; \x1b[31m \u202e end"

// drawLines draws the lines of a text with the inks in front: a letter for each.
func drawLines(lines []Line) string {
	var b strings.Builder
	for _, line := range lines {
		for _, run := range line {
			if strings.TrimSpace(run.Text) != "" && run.Ink != Plain {
				fmt.Fprintf(&b, "«%c:%s»", "pHSEBmu`Lcs#kn+-@"[run.Ink], run.Text)
			} else {
				b.WriteString(run.Text)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func allLines(d *Doc, w int) (lines []Line) {
	for i := range d.Pages() {
		lines = append(lines, d.Lines(i, w, &theme.Unicode)...)
	}
	return lines
}

func TestDoc_looksAsDrawn(t *testing.T) {
	for _, w := range []int{24, 56, 100} {
		t.Run(fmt.Sprint(w), func(t *testing.T) {
			golden.RequireEqual(t, []byte(drawLines(allLines(Markdown(everything), w))))
		})
	}
}

// letters counts the letters and digits of a text.
func letters(text string) map[rune]int {
	found := map[rune]int{}
	for _, r := range text {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			found[unicode.ToLower(r)]++
		}
	}
	return found
}

// Whatever a text is made of, its lines fit, hold all of its letters and nothing that a terminal obeys.
func TestDoc_losesNothingAndFits(t *testing.T) {
	pieces := strings.SplitAfter(everything, " ")
	pieces = append(pieces, "\n", "\n\n", "    ", "- ", "> ", "| a | b |\n|-|-|\n| c | d", "```\n", "\x1b]52;c;aGk=\x07", "\u2066x\u2069", "\u009b31m", "e\u0301", "日本語", "👩‍👩‍👧", "\r\n", "\t", strings.Repeat("x", 300), "[a](\x1b]8;;x\x07)", "**b", "`")
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 80).Draw(t, "pieces"), "")
		w := rapid.IntRange(2, 120).Draw(t, "width")
		docs := []*Doc{Markdown(text), Source("go", text), Source("diff", text)}
		d := rapid.SampledFrom(docs).Draw(t, "kind")
		lines := allLines(d, w)
		if rapid.Bool().Draw(t, "raw") {
			lines = nil
			for i := range d.Pages() {
				lines = append(lines, d.RawLines(i, w)...)
			}
		}
		var shown strings.Builder
		for _, line := range lines {
			s := line.String()
			shown.WriteString(s)
			if cell.Width(s) > w {
				t.Fatalf("in %d cells: %q", w, s)
			}
			for _, r := range s {
				if unicode.IsControl(r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
					t.Fatalf("%q has %U", s, r)
				}
			}
		}
		have := letters(shown.String())
		for r, n := range letters(text) {
			if have[r] < n {
				t.Fatalf("%q is %d times in %q, and %d times in the lines\n%s", r, n, text, have[r], drawLines(lines))
			}
		}
	})
}

func TestLine_marksMatchesAcrossInks(t *testing.T) {
	tokens := theme.Tokens{Match: theme.Style{Start: "«", Reset: "»"}}
	line := Line{{Ink: Strong, Text: "the nee"}, {Text: "dle and "}, {Ink: Link, Text: "Needle", Link: "https://x.org"}}
	r := cell.Begin(nil, &theme.Unicode, 30)
	line.Draw(&r, &theme.Styles{}, &tokens, theme.Style{}, match.New("needle"))
	if got, want := strings.TrimRight(string(r.End(theme.Style{})), " "), "the «needle» and «Needle»"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A link leads to its target where the terminal opens links, and nowhere where that is no place to open.
func TestLine_links(t *testing.T) {
	styles := theme.New(theme.Choice{Palette: theme.None, Profile: termenv.Ascii, Glyphs: theme.Unicode, Links: true})
	draw := func(text string) string {
		r := cell.Begin(nil, &theme.Unicode, 60)
		Markdown(text).Lines(0, 60, &theme.Unicode)[0].Draw(&r, styles, &styles.Tokens, theme.Style{}, match.Query{})
		return strings.TrimRight(string(r.End(theme.Style{})), " ")
	}
	for text, want := range map[string]string{
		"[x](https://x.org/a;b)":   "\x1b]8;;https://x.org/a;b\x1b\\x\x1b]8;;\x1b\\ (https://x.org/a;b)",
		"[x](javascript:alert)":    "x (javascript:alert)",
		"[x](https://x\x07\x1b[)y": "x (https://x^G^[[)y",
	} {
		if got := draw(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// A text of a megabyte costs its page in sight; cutting it into pages is the rest.
func BenchmarkDoc(b *testing.B) {
	text := strings.Repeat(everything+"\n\n", 1<<20/len(everything)+1)
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			Markdown(text).Lines(0, 100, &theme.Unicode)
		}
	})
	d := Markdown(text)
	b.Run("page", func(b *testing.B) {
		for b.Loop() {
			d.Lines(d.Pages()/2, 100, &theme.Unicode)
		}
	})
}
