package genkit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store/kinds/genkit/traces"
	"hindcast/store/media/files"
)

// What was made of traces outlives the store, as what was made of rows does.
func TestStore_remembersTraces(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", "..", "testdata", "genkit", "stepsproject-go-1.13.1"))); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, ".genkit", "traces")
	// As much as is worth keeping notes of.
	large := `{"spans":{"a":{"attributes":{"genkit:output":"` + strings.Repeat("state ", 1<<20) + `"}}}}`
	if err := os.WriteFile(filepath.Join(folder, strings.Repeat("a", 32)), []byte(large), 0o644); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	for _, e := range entries { // what was written just now is not remembered
		if err := os.Chtimes(filepath.Join(folder, e.Name()), old, old); err != nil {
			t.Fatal(err)
		}
	}
	cache := files.NewCache(t.TempDir())
	steps := func() (n int) {
		s, err := Options{Cache: cache}.Open(t.Context(), filepath.Join(dir, ".genkit", "snapshots", "planner"))
		if err != nil {
			t.Fatal(err)
		}
		for h, err := range s.Headers(t.Context(), "trip") {
			if err != nil {
				t.Fatal(err)
			}
			if h.Marks.Has(model.MarkTraced) {
				n++
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if first, again := steps(), steps(); first != 4 || again != 4 {
		t.Errorf("%d steps, then %d", first, again)
	}
	// The cache alone knows them now.
	memory := cache.Memory(traces.NoteKind, filepath.Join(dir, ".genkit"))
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := memory.Recall(e.Name(), files.StampOf(info, time.Now())); !ok {
			t.Errorf("%s is not remembered", e.Name())
		}
	}
}
