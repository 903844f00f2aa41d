package sqlite_test

import (
	"iter"
	"path/filepath"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/native/sqlite"
	"hindcast/store/storetest"
)

// BenchmarkTimeline is the design's figure: 100,000 snapshots of 1 kB, a
// restore in about fifty.
func BenchmarkTimeline(b *testing.B) {
	const session, count = "big", 100_000
	path := filepath.Join(b.TempDir(), "store.db")
	s, err := sqlite.Create(b.Context(), path)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := s.Import(b.Context(), storetest.Grow(session, count, 1000)); err != nil {
		b.Fatal(err)
	}
	reopen := func(b *testing.B) {
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		if s, err = sqlite.Open(b.Context(), path); err != nil {
			b.Fatal(err)
		}
	}
	reopen(b)
	// The first screen: open, list the sessions, take the newest 200 headers.
	b.Run("OpenTail", func(b *testing.B) {
		for b.Loop() {
			reopen(b)
			for _, err := range s.Sessions(b.Context()) {
				if err != nil {
					b.Fatal(err)
				}
			}
			headers, before, err := s.Tail(b.Context(), session, 200)
			if err != nil || len(headers) != 200 || before == 0 {
				b.Fatal(len(headers), before, err)
			}
		}
	})
	b.Run("Headers", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			n := 0
			for _, err := range s.Headers(b.Context(), session) {
				if err != nil {
					b.Fatal(err)
				}
				n++
			}
			if n != count {
				b.Fatal(n)
			}
		}
	})
	headers, _, err := s.Tail(b.Context(), session, count)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("State", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			if _, err := s.State(b.Context(), headers[i*7919%count].Ref()); err != nil {
				b.Fatal(err)
			}
		}
	})
	// Half of the session is left behind, and comes back.
	b.Run("RestoreUndo", func(b *testing.B) {
		for b.Loop() {
			plan, err := s.Plan(b.Context(), model.Change{Op: model.OpRestore, Ref: headers[count/2].Ref()})
			if err != nil {
				b.Fatal(err)
			}
			if _, err := s.Apply(b.Context(), plan); err != nil {
				b.Fatal(err)
			}
			if plan, err = s.Plan(b.Context(), model.Change{Op: model.OpUndo}); err != nil {
				b.Fatal(err)
			}
			if _, err := s.Apply(b.Context(), plan); err != nil {
				b.Fatal(err)
			}
		}
	})
	if err := s.Close(); err != nil {
		b.Fatal(err)
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

// BenchmarkSaveSnapshot is what an agent pays for a snapshot of 10 kB.
func BenchmarkSaveSnapshot(b *testing.B) {
	s, err := sqlite.Create(b.Context(), filepath.Join(b.TempDir(), "store.db"))
	if err != nil {
		b.Fatal(err)
	}
	next, stop := iter.Pull2(storetest.Grow("s", 1_000_000, 10_000))
	defer stop()
	for b.Loop() {
		row, _, _ := next()
		if err := s.SaveSnapshot(b.Context(), store.Snapshot(row.Header, row.State)); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}
