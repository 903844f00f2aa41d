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

// slack is by how much the lines of a package may lie below its number, so that not each change touches it.
const slack = 50

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
		var room string
		if _, err := fmt.Sscan(line, &lines, &room); err != nil {
			t.Fatalf("%s: %q: %v", budget, line, err)
		}
		may[room] = lines
	}
	for room, lines := range have {
		switch most, named := may[room]; {
		case !named:
			t.Errorf("%s has %d lines and no budget", room, lines)
		case lines > most:
			t.Errorf("%s has %d lines, and its budget is %d: delete some, or raise it and say why", room, lines, most)
		case lines < most-slack:
			t.Errorf("%s has %d lines, and its budget is %d: lower it", room, lines, most)
		}
	}
	for room := range may {
		if _, there := have[room]; !there {
			t.Errorf("there is no package %s any more: take it out of %s", room, budget)
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
	rooms := slices.SortedFunc(maps.Keys(lines), func(a, b string) int { return cmp.Or(lines[b]-lines[a], strings.Compare(a, b)) })
	for _, room := range rooms {
		fmt.Fprintf(&text, "%6d %s\n", lines[room], room)
	}
	return text.String()
}
