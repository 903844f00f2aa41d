package jsonl_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"hindcast/store/jsonl"
	"hindcast/store/storetest"
)

// BenchmarkOpen reads the headers of 5,000 snapshots of 10 kB.
func BenchmarkOpen(b *testing.B) {
	var file bytes.Buffer
	if _, err := jsonl.Write(&file, storetest.Grow("s", 5_000, 10_000)); err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(b.TempDir(), "rows.jsonl")
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(file.Len()))
	b.ReportAllocs()
	for b.Loop() {
		s, err := jsonl.Open(b.Context(), path)
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWrite writes them.
func BenchmarkWrite(b *testing.B) {
	var file bytes.Buffer
	for b.Loop() {
		file.Reset()
		if _, err := jsonl.Write(&file, storetest.Grow("s", 5_000, 10_000)); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(file.Len()))
}
