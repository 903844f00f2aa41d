package sqlite_test

import (
	"path/filepath"
	"testing"
	"time"

	"hindcast/store/native/sqlite"
	"hindcast/store/storetest"
)

func TestStore_conforms(t *testing.T) {
	open := func(t *testing.T, now func() time.Time) storetest.Opened {
		path := filepath.Join(t.TempDir(), "store.db")
		s, err := sqlite.Create(t.Context(), path, sqlite.WithClock(now))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { closeStore(t, s) })
		reopen := func(t *testing.T) storetest.Store {
			closeStore(t, s)
			if s, err = sqlite.Open(t.Context(), path, sqlite.WithClock(now)); err != nil {
				t.Fatal(err)
			}
			return s
		}
		again := func(t *testing.T) storetest.Store {
			other, err := sqlite.Open(t.Context(), path, sqlite.WithClock(now))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { closeStore(t, other) })
			return other
		}
		return storetest.Opened{Store: s, Reopen: reopen, Again: again}
	}
	storetest.Record(t, "sqlite", open)
	storetest.Entries(t, "sqlite", open)
}

func closeStore(t *testing.T, s *sqlite.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
