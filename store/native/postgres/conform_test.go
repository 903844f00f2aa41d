package postgres_test

import (
	"os"
	"testing"
	"time"

	"hindcast/store/media/pg/pgtest"
	"hindcast/store/native/postgres"
	"hindcast/store/storetest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// emptied are databases that are used again: to make one takes longer than most tests.
type emptied struct {
	cluster *pgtest.Cluster
	free    []string
}

// take returns a database without a session in it, for one test.
func (d *emptied) take(t *testing.T) (url string) {
	t.Helper()
	if n := len(d.free); n > 0 {
		url, d.free = d.free[n-1], d.free[:n-1]
		d.cluster.Exec(t, url, `WITH a AS (DELETE FROM hindcast.journal_visits), b AS (DELETE FROM hindcast.journal), c AS (DELETE FROM hindcast.visits),
			d AS (DELETE FROM hindcast.reasons), e AS (DELETE FROM hindcast.sessions), f AS (DELETE FROM hindcast.parts), g AS (DELETE FROM hindcast.blocks)
			DELETE FROM hindcast.states`, "SELECT setval(pg_get_serial_sequence('hindcast.journal', 'entry'), 1, false)")
	} else {
		url = d.cluster.Database(t)
		if err := postgres.Migrate(t.Context(), url); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { d.free = append(d.free, url) })
	return url
}

func TestStore_conforms(t *testing.T) {
	some := emptied{cluster: pgtest.SharedCluster(t)}
	open := func(t *testing.T, now func() time.Time) storetest.Opened {
		url := some.take(t)
		s, err := postgres.Open(t.Context(), url, postgres.WithClock(now))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { closeStore(t, s) })
		reopen := func(t *testing.T) storetest.Store {
			closeStore(t, s)
			if s, err = postgres.Open(t.Context(), url, postgres.WithClock(now)); err != nil {
				t.Fatal(err)
			}
			return s
		}
		again := func(t *testing.T) storetest.Store {
			other, err := postgres.Open(t.Context(), url, postgres.WithClock(now))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { closeStore(t, other) })
			return other
		}
		return storetest.Opened{Store: s, Reopen: reopen, Again: again}
	}
	storetest.Record(t, "postgres", open)
	storetest.Entries(t, "postgres", open)
}

func closeStore(t *testing.T, s *postgres.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
