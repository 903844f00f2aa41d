package query

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hindcast/store/storetest/skip"
)

// A match that is looked for around needles is the one that Go's package finds, whatever stands around it.
func TestPattern_findsNearNeedles(t *testing.T) {
	skip.Sequential(t)
	parts := []string{"done", "kiss", "ab", "[a-m]", ".", "(?s:.)", `\b`, `\B`, "done.*", ".*?ab", "^", "$", "(?m:^)", "(?m:$)", `\z`, `\d?`, "(?:ab|done)", "(ab){1,2}", "(?:ab)+?", "x*", `\s{0,3}`, "é", "(?-i:ab)"}
	texts := []string{"done", "DONE", "ab", "aB", "kiss", "\u212aiſs", " ", "\n", "é", "É", "日", "😀", "1", "x", "\xff", "\x80"}
	near, found := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		for range 20 {
			expr := strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 1, 5).Draw(t, "expr"), "")
			c := rapid.SampledFrom([]Case{MatchCase, IgnoreCase}).Draw(t, "case")
			p, err := Regexp(expr, c)
			if err != nil {
				t.Fatal(err)
			}
			if p.near == nil {
				continue
			}
			near++
			for range 5 {
				text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(texts), 0, 12).Draw(t, "text"), "")
				if rapid.IntRange(0, 9).Draw(t, "far") == 0 {
					text = strings.Repeat("abx ", 500) + text
				}
				from, to, ok := p.find([]byte(text))
				got, want := fmt.Sprint([]int{from, to}), fmt.Sprint(p.expr.FindStringIndex(text))
				if ok {
					found++
				} else {
					got = "[]"
				}
				if got != want {
					t.Fatalf("%q of %v in %q: %s, and Go finds %s", expr, c, text, got, want)
				}
			}
		}
	})
	if near < 100 || found < 50 {
		t.Errorf("%d expressions were looked for around needles, and %d matched", near, found)
	}
}

// An expression is tried where a text has its needle, and not at each letter: a text of a megabyte with one needle takes as
// long as finding that.
func BenchmarkPattern_nearNeedles(b *testing.B) {
	text := []byte(strings.Repeat("a line of prose that says little\n", 1<<15) + "it is done by now")
	p, err := Regexp("done [a-m]", IgnoreCase)
	if err != nil {
		b.Fatal(err)
	}
	plain := regexp.MustCompile("(?i)done [a-m]")
	b.Run("near", func(b *testing.B) {
		for b.Loop() {
			p.find(text)
		}
	})
	b.Run("everywhere", func(b *testing.B) {
		for b.Loop() {
			plain.FindIndex(text)
		}
	})
}
