package query

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"

	"hindcast/store/storetest/skip"
)

// spellText returns a text in JSON as writers spell it: with few escapes, with those of HTML, and in ASCII.
func spellText(t *rapid.T, text string) (spelled [][]byte) {
	var raw, html, ascii bytes.Buffer
	for to, escapes := range map[*bytes.Buffer]bool{&raw: false, &html: true} {
		e := json.NewEncoder(to)
		e.SetEscapeHTML(escapes)
		if err := e.Encode(text); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range raw.String() {
		switch {
		case r < 0x7f:
			ascii.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&ascii, `\u%04x`, r)
		default:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&ascii, `\u%04x\u%04X`, high, low)
		}
	}
	return [][]byte{raw.Bytes(), html.Bytes(), ascii.Bytes()}
}

// Of a text that a pattern matches JSON is never told that it cannot have it, however it is written.
func TestPattern_isSpelled(t *testing.T) {
	skip.Sequential(t)
	letters := []rune("aBkKsS .\"\\\n<'/é\u00c9ßẞİıïпП日本😀\u212aſ\x7f\ufffd")
	looked, matched := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string, most int) string {
			return string(rapid.SliceOfN(rapid.SampledFrom(letters), 1, most).Draw(t, name))
		}
		for range 20 {
			word := draw("word", 6)
			c := rapid.SampledFrom([]Case{SmartCase, MatchCase, IgnoreCase}).Draw(t, "case")
			p := Literal(word, c)
			if rapid.Bool().Draw(t, "regexp") {
				var err error
				more := rapid.SampledFrom([]string{"", ".", "+", "|z", ".*" + regexp.QuoteMeta(word)}).Draw(t, "more")
				if p, err = Regexp(regexp.QuoteMeta(word)+more, c); err != nil {
					t.Fatal(err)
				}
			}
			as := rapid.SampledFrom([]func(string) string{strings.Clone, strings.ToUpper, strings.ToLower}).Draw(t, "letters")
			text := draw("before", 9) + as(word) + draw("behind", 9) + as(word)
			if _, _, ok := p.find([]byte(text)); !ok || p.spelled == nil {
				continue
			}
			if matched++; len(p.spelled) > 1 {
				looked++
			}
			for _, in := range spellText(t, text) {
				if !p.isSpelled(in) {
					t.Fatalf("%q is in %q, and is not found in %s: %q", word, text, in, textsOf(p))
				}
			}
		}
	})
	if matched < 20 || looked < 5 {
		t.Errorf("%d texts matched, %d of them in several spellings", matched, looked)
	}
}

// The next place that may have a match is the first one of all spellings, however far that is.
func TestPattern_nextSpelled(t *testing.T) {
	p := Literal("日本", MatchCase)
	far := strings.Repeat("x", 3*spelledAtOnce)
	for text, want := range map[string]int{
		"": -1, far: -1, "日本": 0, far + "日本": len(far), far[:spelledAtOnce-1] + "日本": spelledAtOnce - 1,
		far[:spelledAtOnce-1] + `\u65e5`: spelledAtOnce - 1, `日本\u672c`: 0, `\u672C日本`: 0, `x\u672c` + far + "日本": 1, `x\u0041` + far + "日本": 7 + len(far),
	} {
		if got := p.nextSpelled([]byte(text), 0); got != want {
			t.Errorf("%.20q of %d bytes: %d, want %d", text, len(text), got, want)
		}
	}
	if got := p.nextSpelled([]byte("日本 日本"), 1); got != len("日本 ") {
		t.Errorf("from the second byte: %d", got)
	}
	for word, want := range map[string]string{
		"step 12": "[tep 12]", `say "hi"`: "[ay ]", `"`: `[\]`, "naïve": `[Ï ï \u00cf \u00CF \u00ef \u00EF]`, "Naïve": `[Naïve \u00ef \u00EF]`, "привет": `[П п \u041f \u041F \u043f \u043F]`,
		"日本語": `[日本 \u65e5 \u65E5 \u672c \u672C]`, "日日": `[日日 \u65e5 \u65E5]`, "a😀": `[a😀 \ud83d \uD83D]`, "\xff": "[]",
		"a\ufffdb": "[]", "A\ufffdb": "[A]", "don't": `[don't \u0027]`,
	} {
		if got := fmt.Sprintf("%s", textsOf(Literal(word, SmartCase))); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
}

// textsOf returns the spellings of a pattern.
func textsOf(p *Pattern) (list [][]byte) {
	for i := range p.spelled {
		list = append(list, p.spelled[i].Text())
	}
	return list
}
