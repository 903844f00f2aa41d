package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// shapes is the file of the percentages of each wing: bare participles and single words among the names of
// functions, pronouns in comments. A number may fall; a change that raises one says why.
const shapes = "testdata/names.txt"

// shape counts names and comments of a wing.
type shape struct {
	functions, oneWord, participles int
	comments, pronouns              int
}

// numbers returns the percentages of the shape: names that are a participle or an adverb alone, names of one word,
// and comments that describe with a pronoun.
func (s *shape) numbers() [3]float64 {
	percent := func(n, of int) float64 { return 100 * float64(n) / float64(max(of, 1)) }
	return [3]float64{percent(s.participles, s.functions), percent(s.oneWord, s.functions), percent(s.pronouns, s.comments)}
}

// spared is how far a number may be below what the list allows: few changes touch the list.
const spared = 1.0

var (
	wordOfName    = regexp.MustCompile(`[A-Z]?[a-z0-9]+|[A-Z]+`)
	blockOfLines  = regexp.MustCompile(`(?m)(?:^[ \t]*//.*\n)+`)
	startOfLine   = regexp.MustCompile(`(?m)^[ \t]*//[ ]?`)
	pronounOfNone = regexp.MustCompile(`\b(is|are|was|has|says|tells|returns|of|by|in|for|with|to|knows) (what|that which|those|whom|whose|none|one that|ones)\b`)
	adverbs       = strings.Fields(`told said gone kept made begun held found left known seen shown done torn hidden written drawn came lost
		apart aside beside behind beyond above below around across since besides alike alone whole own both each few many some most
		least more none nothing nobody near far now then once twice again ever never always too`)
	verbsOnEd = []string{"embed", "feed", "need", "seed", "speed"}
)

func isParticiple(name string) bool {
	name = strings.ToLower(name)
	return slices.Contains(adverbs, name) || strings.HasSuffix(name, "ed") && !slices.Contains(verbsOnEd, name)
}

func TestRooms_names(t *testing.T) {
	have := map[string]*shape{"all": {}}
	inspectCode(t, func(at token.Position, n ast.Node) {
		dir := filepath.ToSlash(filepath.Dir(at.Filename))
		parts := strings.SplitN(dir, "/", 3)
		wing := strings.Join(parts[:min(len(parts), 2)], "/")
		if parts[0] != "store" {
			wing = parts[0]
		}
		if strings.Contains(dir, "test/") || strings.HasSuffix(dir, "test") {
			return
		}
		if have[wing] == nil {
			have[wing] = &shape{}
		}
		for _, s := range []*shape{have[wing], have["all"]} {
			switch n := n.(type) {
			case *ast.File:
				data, err := os.ReadFile(at.Filename)
				if err != nil {
					t.Fatal(err)
				}
				for _, block := range blockOfLines.FindAllString(string(data), -1) {
					s.comments++
					if pronounOfNone.MatchString(strings.ReplaceAll(startOfLine.ReplaceAllString(block, ""), "\n", " ")) {
						s.pronouns++
					}
				}
			case *ast.FuncDecl:
				s.functions++
				if len(wordOfName.FindAllString(n.Name.Name, -1)) > 1 {
					continue
				}
				s.oneWord++
				if isParticiple(n.Name.Name) {
					s.participles++
				}
			}
		}
	})
	if updating() {
		var text strings.Builder
		for _, wing := range slices.SortedFunc(maps.Keys(have), func(a, b string) int { return cmp.Compare(have[b].functions, have[a].functions) }) {
			for _, n := range have[wing].numbers() {
				fmt.Fprintf(&text, "%5.1f ", math.Ceil(n*2)/2)
			}
			fmt.Fprintln(&text, wing)
		}
		if err := os.WriteFile(shapes, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(shapes)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var may [3]float64
		var wing string
		if _, err := fmt.Sscan(line, &may[0], &may[1], &may[2], &wing); err != nil {
			t.Fatalf("%s: %q: %v", shapes, line, err)
		}
		of := have[wing]
		if of == nil {
			t.Errorf("there is no wing %s any more: take it out of %s", wing, shapes)
			continue
		}
		delete(have, wing)
		for i, n := range of.numbers() {
			what := []string{"names of functions that are a participle or an adverb", "names of functions of one word", "comments that say what, those or none"}[i]
			switch {
			case n > may[i]:
				t.Errorf("%s has %.2f %% %s, and at most %.1f %% are allowed", wing, n, what, may[i])
			case n < may[i]-spared:
				t.Errorf("%s has %.2f %% %s, and %.1f %% are allowed: lower it", wing, n, what, may[i])
			}
		}
	}
	for wing := range have {
		t.Errorf("%s is not in %s", wing, shapes)
	}
}
