package sqlite_test

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"testing"

	"hindcast/store"
	"hindcast/store/sqlite"
	"hindcast/store/storetest"
)

// The timeline of the design's figures: 100,000 snapshots, a restore in about
// fifty. The store is made once and kept in the temporary directory.
const (
	bigSession = "big"
	bigCount   = 100_000
)

func bigStore(b *testing.B) string {
	b.Helper()
	path := filepath.Join(os.TempDir(), "hindcast-bench-100k.db")
	s, err := sqlite.Open(b.Context(), path)
	if errors.Is(err, fs.ErrNotExist) {
		s = makeBigStore(b, path)
	} else if err != nil {
		b.Fatal(err)
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	return path
}

func makeBigStore(b *testing.B, path string) *sqlite.Store {
	b.Helper()
	s, err := sqlite.Create(b.Context(), path)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := s.Import(b.Context(), storetest.Grow(bigSession, bigCount, 1000)); err != nil {
		b.Fatal(err)
	}
	return s
}

// BenchmarkOpenTail is the first screen: open, list the sessions, take the
// newest 200 headers.
func BenchmarkOpenTail(b *testing.B) {
	path := bigStore(b)
	for b.Loop() {
		s, err := sqlite.Open(b.Context(), path)
		if err != nil {
			b.Fatal(err)
		}
		for _, err := range s.Sessions(b.Context()) {
			if err != nil {
				b.Fatal(err)
			}
		}
		headers, more, err := s.Tail(b.Context(), bigSession, 200)
		if err != nil || len(headers) != 200 || !more {
			b.Fatal(len(headers), more, err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkHeaders is the whole timeline.
func BenchmarkHeaders(b *testing.B) {
	s, err := sqlite.Open(b.Context(), bigStore(b))
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range s.Headers(b.Context(), bigSession) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != bigCount {
			b.Fatal(n)
		}
	}
}

// BenchmarkState reads one state of 1 kB.
func BenchmarkState(b *testing.B) {
	s, err := sqlite.Open(b.Context(), bigStore(b))
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	headers, _, err := s.Tail(b.Context(), bigSession, 1000)
	if err != nil {
		b.Fatal(err)
	}
	i := 0
	for b.Loop() {
		i = (i + 1) % len(headers)
		if _, err := s.State(b.Context(), headers[i].Ref()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPlanRestore plans a restore across half of the session.
func BenchmarkPlanRestore(b *testing.B) {
	s, err := sqlite.Open(b.Context(), bigStore(b))
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	headers, _, err := s.Tail(b.Context(), bigSession, bigCount)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := s.PlanRestore(b.Context(), headers[bigCount/2].Ref()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkImport takes in 10,000 snapshots of 1 kB.
func BenchmarkImport(b *testing.B) {
	for b.Loop() {
		s, err := sqlite.Create(b.Context(), filepath.Join(b.TempDir(), "store.db"))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.Import(b.Context(), storetest.Grow("s", 10_000, 1000)); err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSaveSnapshot is what an agent pays for one snapshot of 10 kB.
func BenchmarkSaveSnapshot(b *testing.B) {
	s, err := sqlite.Create(b.Context(), filepath.Join(b.TempDir(), "store.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	next, stop := iter.Pull2(storetest.Grow("s", 1_000_000, 10_000))
	defer stop()
	for b.Loop() {
		row, _, _ := next()
		if err := s.SaveSnapshot(context.Background(), store.Snapshot(row.Header, row.State)); err != nil {
			b.Fatal(err)
		}
	}
}
