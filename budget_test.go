package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// budget has the lines of each package and of all, its tests and what tests are made of apart. A number
// may fall; a change that raises one says why.
const budget = "testdata/lines.txt"

// room returns how many lines a number leaves free when it is written, and slack how many lines a package may
// have less than its number: few changes touch the list.
func room(lines int) int  { return min(10+lines/100, 100) }
func slack(lines int) int { return 50 + 2*room(lines) }

func TestBudget(t *testing.T) {
	have := countLines(t)
	if updating() {
		if err := os.WriteFile(budget, []byte(listLines(have)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(budget)
	if err != nil {
		t.Fatal(err)
	}
	may := map[string]int{}
	for line := range strings.Lines(string(text)) {
		var lines int
		var name string
		if _, err := fmt.Sscan(line, &lines, &name); err != nil {
			t.Fatalf("%s: %q: %v", budget, line, err)
		}
		may[name] = lines
	}
	for name, lines := range have {
		switch most, named := may[name]; {
		case !named:
			t.Errorf("%s has %d lines and no budget", name, lines)
		case lines > most:
			t.Errorf("%s has %d lines, and its budget is %d: delete some, or raise it and say why", name, lines, most)
		case lines < most-slack(most):
			t.Errorf("%s has %d lines, and its budget is %d: lower it", name, lines, most)
		}
	}
	for name := range may {
		if _, there := have[name]; !there {
			t.Errorf("there is no package %s any more: take it out of %s", name, budget)
		}
	}
}

// countLines returns the lines of code and comments of each package, and of all as "all".
func countLines(t *testing.T) map[string]int {
	lines := map[string]int{}
	inspectCode(t, func(at token.Position, n ast.Node) {
		if _, is := n.(*ast.File); !is || strings.HasPrefix(at.Filename, ".") || strings.Contains(at.Filename, "test/") {
			return
		}
		data, err := os.ReadFile(at.Filename)
		if err != nil {
			t.Fatal(err)
		}
		count := bytes.Count(data, []byte("\n"))
		lines[filepath.ToSlash(filepath.Dir(at.Filename))] += count
		lines["all"] += count
	})
	return lines
}

func listLines(lines map[string]int) string {
	var text strings.Builder
	names := slices.SortedFunc(maps.Keys(lines), func(a, b string) int { return cmp.Or(lines[b]-lines[a], strings.Compare(a, b)) })
	for _, name := range names {
		fmt.Fprintf(&text, "%6d %s\n", lines[name]+room(lines[name]), name)
	}
	return text.String()
}
