package sqlite_test

import (
	"runtime"
	"testing"

	"hindcast/model"
	"hindcast/store/native/sqlite"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// A restore and its undo read a session once for the plan, and once more to verify the
// write. What they allocate tells how often they read: once more would be three for each
// two visits, and half of the visits move.
func TestRestore_readsTheSessionOnce(t *testing.T) {
	skip.Sequential(t)
	const session, count = "big", 20_000
	s, err := sqlite.Create(t.Context(), t.TempDir()+"/store.db")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Import(t.Context(), storetest.Grow(session, count, 100)); err != nil {
		t.Fatal(err)
	}
	var middle model.Ref
	reading := allocated(t, func() {
		n := 0
		for h, err := range s.Headers(t.Context(), session) {
			if err != nil {
				t.Fatal(err)
			}
			if n++; n == count/2 {
				middle = h.Ref()
			}
		}
	})
	for _, change := range []model.Change{{Op: model.OpRestore, Ref: middle}, {Op: model.OpUndo}, {Op: model.OpRedo}} {
		var plan model.Plan
		planning := allocated(t, func() {
			if plan, err = s.Plan(t.Context(), change); err != nil {
				t.Fatal(err)
			}
		})
		applying := allocated(t, func() {
			if _, err := s.Apply(t.Context(), plan); err != nil {
				t.Fatal(err)
			}
		})
		if planning > reading+count || applying > reading+count {
			t.Errorf("%s: %d allocations for the plan and %d for the write, where reading the session takes %d", change.Op, planning, applying, reading)
		}
	}
}

// allocated counts what a function allocates in one run.
func allocated(t *testing.T, run func()) uint64 {
	t.Helper()
	skip.Counting(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	run()
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs
}
