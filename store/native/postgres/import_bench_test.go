package postgres_test

import (
	"testing"

	"hindcast/store/media/pg/pgtest"
	"hindcast/store/storetest"
)

// BenchmarkImport takes a conversation of 2,000 snapshots of 1 kB into an empty store.
func BenchmarkImport(b *testing.B) {
	cluster := pgtest.New(b)
	for b.Loop() {
		b.StopTimer()
		s := open(b, cluster.Database(b))
		b.StartTimer()
		if _, err := s.Import(b.Context(), storetest.Grow("s", 2000, 1000)); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		s.Close()
		b.StartTimer()
	}
}

// BenchmarkTurn is what a turn of a conversation of 300 costs.
func BenchmarkTurn(b *testing.B) {
	cluster := pgtest.New(b)
	for b.Loop() {
		b.StopTimer()
		s := open(b, cluster.Database(b))
		b.StartTimer()
		recordTurns(b, s, "s", 1, 300)
		b.StopTimer()
		s.Close()
		b.StartTimer()
	}
}
