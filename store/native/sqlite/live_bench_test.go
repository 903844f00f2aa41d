package sqlite_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/native/sqlite"
	"hindcast/store/storetest"
)

// BenchmarkCommit is what an agent pays for the end of a turn: a state that
// grows by one message each time is the record and its last snapshot. Beside
// it what of that is the disk's: the same bytes of log, written and synced.
func BenchmarkCommit(b *testing.B) {
	for _, size := range []int{1_000, 1_000_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s, err := sqlite.Create(b.Context(), filepath.Join(b.TempDir(), "store.db"))
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			const message = `{"role":"user","content":[{"text":"what was said this time, which is not much"}]}`
			state := []byte("[" + strings.Repeat(message+",", size/len(message)) + message)
			p := &program{store: s}
			if err := p.commit(b.Context(), string(state)+"]"); err != nil {
				b.Fatal(err)
			}
			n := 0
			for b.Loop() {
				b.StopTimer()
				n++
				state = fmt.Appendf(state[:len(state):len(state)], `,{"n":%d}`, n)
				next := json.RawMessage(append(state[:len(state):len(state)], ']'))
				last := &model.Snapshot[json.RawMessage]{ID: model.SnapshotID(next), ParentID: p.data.LastSnapshot.ID, SessionID: "s", Index: n, State: next}
				data := &model.Data[json.RawMessage]{ID: "s", State: next, LastSnapshot: last}
				b.StartTimer()
				at, err := s.Commit(b.Context(), data, p.at)
				if err != nil {
					b.Fatal(err)
				}
				p.data, p.at = data, at
			}
		})
	}
	for _, pages := range []int{8, 32} {
		b.Run(fmt.Sprintf("Sync/%d", pages), func(b *testing.B) {
			f, err := os.Create(filepath.Join(b.TempDir(), "log"))
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			log := make([]byte, pages*(4096+24))
			for b.Loop() {
				if _, err := f.Write(log); err != nil {
					b.Fatal(err)
				}
				if err := f.Sync(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkGrowth asks what is new in a session: ten visits of 100,000, none of
// them, and, to compare, all that a reader without it would read.
func BenchmarkGrowth(b *testing.B) {
	const session, count = "big", 100_000
	path := filepath.Join(b.TempDir(), "store.db")
	s, err := sqlite.Create(b.Context(), path)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Import(b.Context(), storetest.Grow(session, count, 100)); err != nil {
		b.Fatal(err)
	}
	now, err := s.Cursor(b.Context(), session)
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range []int64{0, 10, count} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			since := store.Cursor{Visit: now.Visit - n, Rewrites: now.Rewrites}
			for b.Loop() {
				g, err := s.Growth(b.Context(), session, since)
				if err != nil || g.Rewritten || int64(len(g.Headers)) != n {
					b.Fatal(len(g.Headers), err)
				}
			}
		})
	}
	b.Run("Headers", func(b *testing.B) {
		for b.Loop() {
			for _, err := range s.Headers(b.Context(), session) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
