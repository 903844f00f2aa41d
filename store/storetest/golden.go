package storetest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Golden compares a text with a file, and tells the first line that differs. With
// update it first writes the file: it is the flag -update of the tests that call.
func Golden(t testing.TB, file, got string, update *bool) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got == string(want) {
		return
	}
	a, b := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	line := 0
	for line < min(len(a), len(b)) && a[line] == b[line] {
		line++
	}
	at := func(lines []string) string {
		if line == len(lines) {
			return "the end"
		}
		return lines[line]
	}
	t.Errorf("%s, line %d:\n got %s\nwant %s\nsee what -update changes", file, line+1, at(a), at(b))
}
