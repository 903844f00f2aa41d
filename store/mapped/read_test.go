package mapped_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hindcast/store"
	"hindcast/store/mapped"
)

const fixtures = "../../testdata/mapped/"

// in gives a source that is one document, or lines.
func in(text string) []mapped.Source {
	return []mapped.Source{{Path: "in", In: strings.NewReader(text)}}
}

func read(t *testing.T, m mapped.Map, sources []mapped.Source) ([]store.Row, error) {
	t.Helper()
	var rows []store.Row
	for row, err := range mapped.Read(t.Context(), sources, m) {
		if err != nil {
			return rows, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func mustRead(t *testing.T, m mapped.Map, text string) []store.Row {
	t.Helper()
	rows, err := read(t, m, in(text))
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// folder writes files into a new folder and gives its path.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
