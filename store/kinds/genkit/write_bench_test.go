package genkit

import (
	"fmt"
	"testing"

	"hindcast/model"
)

// What a restore of a session of many rows takes, and to take it back: of one that was
// listed before.
func BenchmarkRestore(b *testing.B) {
	rows := 10_000
	if testing.Short() {
		rows = 1_000
	}
	dir := b.TempDir()
	manyRows(b, dir, 1, rows, 500)
	s := open(b, dir)
	to := model.Ref{Session: "sess-0000", ID: fmt.Sprintf("00000000-%04x-4000-8000-000000000000", rows/2)}
	plan := func(b *testing.B, c model.Change) model.Plan {
		b.Helper()
		plan, err := s.Plan(b.Context(), c)
		if err != nil {
			b.Fatal(err)
		}
		return plan
	}
	restore, undo := model.Change{Op: model.OpRestore, Ref: to}, model.Change{Op: model.OpUndo}
	plan(b, restore) // the rows are read once
	b.Run("list", func(b *testing.B) {
		for b.Loop() {
			for h, err := range s.Headers(b.Context(), "sess-0000") {
				if err != nil || h.ID == "" {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("plan", func(b *testing.B) {
		for b.Loop() {
			plan(b, restore)
		}
	})
	b.Run("apply", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			p := plan(b, restore)
			b.StartTimer()
			apply(b, s, p, nil)
			b.StopTimer()
			apply(b, s, plan(b, undo), nil)
			b.StartTimer()
		}
	})
	b.Run("plan undo", func(b *testing.B) {
		apply(b, s, plan(b, restore), nil)
		for b.Loop() {
			plan(b, undo)
		}
		apply(b, s, plan(b, undo), nil)
	})
	b.Run("undo", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			apply(b, s, plan(b, restore), nil)
			p := plan(b, undo)
			b.StartTimer()
			apply(b, s, p, nil)
		}
	})
}
