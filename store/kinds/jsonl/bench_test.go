package jsonl_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hindcast/store/kinds/jsonl"
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

// BenchmarkGrowth reads one more after each that is appended to them.
func BenchmarkGrowth(b *testing.B) {
	path := filepath.Join(b.TempDir(), "rows.jsonl")
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	if _, err := jsonl.Write(f, storetest.Grow("s", 5_000, 10_000)); err != nil {
		b.Fatal(err)
	}
	s, err := jsonl.Open(b.Context(), path)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	cursor, err := s.Cursor(b.Context(), "s")
	if err != nil {
		b.Fatal(err)
	}
	line := []byte(`{"id":"x","sessionId":"s","index":5000,"state":"` + strings.Repeat("x", 10_000) + "\"}\n")
	for b.Loop() {
		if _, err := f.Write(line); err != nil {
			b.Fatal(err)
		}
		growth, err := s.Growth(b.Context(), "s", cursor)
		if err != nil || len(growth.Headers) != 1 {
			b.Fatal(growth, err)
		}
		cursor = growth.Cursor
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
