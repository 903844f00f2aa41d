package redact

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// searchPlainly returns the matches of all rules in a text: each expression runs over the whole text that has one of
// the rule's hints.
func searchPlainly(text string) (list []match) {
	low := foldText(text)
	for i := range rules() {
		rule := &rules()[i]
		if rule.hints != nil && !slices.ContainsFunc(rule.hints, func(hint string) bool { return strings.Contains(low, foldText(hint)) }) {
			continue
		}
		for _, at := range rule.re().FindAllStringSubmatchIndex(text, -1) {
			list = append(list, match{rule, at})
		}
	}
	return list
}

// requireSameMatches fails if the matches in windows of a text are not those in the whole of it.
func requireSameMatches(t interface{ Fatalf(string, ...any) }, r *Redactor, text string) {
	show := func(list []match) (lines []string) {
		for _, m := range list {
			lines = append(lines, fmt.Sprintf("%s at %d of %s", m.rule.kind, m.at, m.rule.re()))
		}
		return lines
	}
	if got, want := show(r.matches(text, false)), show(searchPlainly(text)); !slices.Equal(got, want) {
		t.Fatalf("%q has\n%s\nand in windows\n%s", text, strings.Join(want, "\n"), strings.Join(got, "\n"))
	}
}

// drawMatch returns a generator of texts that an expression matches.
func drawMatch(re string) *rapid.Generator[string] {
	parsed, err := syntax.Parse(re, syntax.Perl)
	if err != nil {
		panic(err)
	}
	return rapid.StringMatching(withoutBoundaries(parsed).String())
}

// withoutBoundaries returns an expression without what matches no character, which a generator cannot aim at.
func withoutBoundaries(re *syntax.Regexp) *syntax.Regexp {
	switch re.Op {
	case syntax.OpWordBoundary, syntax.OpNoWordBoundary, syntax.OpBeginText, syntax.OpEndText, syntax.OpBeginLine, syntax.OpEndLine:
		return &syntax.Regexp{Op: syntax.OpEmptyMatch}
	}
	for i := range re.Sub {
		re.Sub[i] = withoutBoundaries(re.Sub[i])
	}
	return re
}

// Whatever a text is made of, lines with secrets, parts of them, and white space, the windows have the matches of the
// whole text.
func TestPrefilter_equalsTheWholeText(t *testing.T) {
	r, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	var generators []*rapid.Generator[string]
	for i := range rules() {
		generators = append(generators, drawMatch(rules()[i].re().String()))
	}
	between := []string{"", " ", "\n", "\n\n", " \n ", "\r\n", "\t\n\f\n", "\n\u00a0\n", ". ", "\"", "'\n", "\\n", "-", "=", ":\n", "x", "é", "\n--", "K", "ſ", "\xff"}
	rapid.Check(t, func(t *rapid.T) {
		var text strings.Builder
		for range rapid.IntRange(1, 6).Draw(t, "pieces") {
			piece := generators[rapid.IntRange(0, len(generators)-1).Draw(t, "rule")].Draw(t, "piece")
			switch rapid.IntRange(0, 5).Draw(t, "change") {
			case 0: // a part of it
				piece = piece[rapid.IntRange(0, len(piece)).Draw(t, "from"):]
			case 1:
				piece = strings.ToUpper(piece)
			case 2: // its spaces are ends of lines
				piece = strings.ReplaceAll(piece, " ", rapid.SampledFrom(between).Draw(t, "space"))
			case 3: // a hint alone
				if hints := rules()[rapid.IntRange(0, len(rules())-1).Draw(t, "hints")].hints; len(hints) > 0 {
					piece = rapid.SampledFrom(hints).Draw(t, "hint")
				}
			}
			text.WriteString(piece)
			text.WriteString(rapid.SampledFrom(between).Draw(t, "between"))
		}
		requireSameMatches(t, r, text.String())
	})
}

// The files of the corpus have the same matches, line by line and as one text.
func TestPrefilter_corpus(t *testing.T) {
	r, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"secrets.txt", "harmless.txt"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		requireSameMatches(t, r, string(data))
		for line := range strings.Lines(string(data)) {
			requireSameMatches(t, r, line)
		}
	}
}

// Few rules run over whole texts.
func TestPrefilter_knowsEachRule(t *testing.T) {
	whole := 0
	for i, rule := range ruleFilter().rules {
		if rule.literals == nil || rule.lines >= unbounded {
			t.Logf("runs over the whole text: %s", rules()[i].re())
			whole++
		}
	}
	if whole > 8 {
		t.Errorf("%d rules run over the whole text", whole)
	}
}

func TestRequiredLiterals(t *testing.T) {
	for _, c := range []struct {
		re    string
		want  []string
		lines int
	}{
		{`\bSK[0-9a-f]{32}\b`, []string{"sk"}, 0},
		{`(?i)pass(?:word|wd)?\s*[:=]\s*(\S+)`, []string{"pass", "password", "passwd"}, 2},
		{`\b(?:AKIA|ASIA)[A-Z]{4}`, []string{"akia", "asia"}, 0},
		{`[0-9a-f]{32}-us[0-9]`, []string{"-us"}, 0},
		{`(?:curl|wget)\b[^\n|]*?\s-u (\S+)`, []string{"curl", "wget"}, 1},
		{`a?[0-9]+`, nil, 0},
		{`a|bc`, nil, 0},
		{`key\W{1,12}x`, []string{"key"}, 12},
		{`key[^"]+"`, []string{"key"}, unbounded},
		{`(?:\s|\\n)+key`, []string{"key"}, unbounded},
		{`a\s+\n\s*key`, []string{"key"}, 3},
	} {
		parsed, err := syntax.Parse(c.re, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		got := requiredLiterals(parsed)
		slices.Sort(got)
		slices.Sort(c.want)
		if lines := crossedLines(parsed); !reflect.DeepEqual(got, c.want) || lines != c.lines {
			t.Errorf("%s: %q and %d lines, want %q and %d", c.re, got, lines, c.want, c.lines)
		}
	}
}

// The automaton finds the words that a search for each finds, whatever their case.
func TestAutomaton_property(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[abсk:ł ]{1,5}`)
		words := rapid.SliceOfNDistinct(word, 1, 6, rapid.ID[string]).Draw(t, "words")
		text := strings.Join(rapid.SliceOfN(rapid.OneOf(word, rapid.SampledFrom([]string{"K", "A", "Ł", "С", "ᲃ", "x"})), 0, 12).Draw(t, "text"), "")
		a := newAutomaton(words)
		places := a.scan(text, nil)
		for n, word := range words {
			var want []int
			for i := range text {
				if strings.HasSuffix(foldText(text[:i+len(string([]rune(text[i:])[0]))]), word) {
					want = append(want, i)
				}
			}
			if !slices.Equal(places[n], want) {
				t.Fatalf("%q in %q at %v, want %v", word, text, places[n], want)
			}
		}
	})
}

// The expressions look at the lines around a hint, not at the rest of the text.
func TestPrefilter_looksInWindows(t *testing.T) {
	re := regexp.MustCompile(`token`)
	text := strings.Repeat("nothing of note stands in this line of prose\n", 2_000) + "the token is here\n" + strings.Repeat("nor in this one\n", 2_000)
	f := ruleFilter()
	looked := 0
	places := f.scan(text, nil)
	for i := range f.rules {
		f.rules[i].windows(text, places, func(w window) {
			if !re.MatchString(text[w.from:w.to]) {
				t.Errorf("a window without the hint: %q", text[w.from:w.to])
			}
			looked += w.to - w.from
		})
	}
	if looked > len(text)/10 {
		t.Errorf("%d bytes are looked at of %d", looked, len(text))
	}
}
