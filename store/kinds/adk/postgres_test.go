package adk

import (
	"os"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store/engine"
	"hindcast/store/media/pg/pgtest"
	"hindcast/store/storetest"
	"hindcast/store/storetest/rowstest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// recordedOn returns the URL, for a role that may only read, of a database with what DatabaseSessionService wrote.
func recordedOn(t *testing.T) (string, *pgtest.Cluster) {
	t.Helper()
	c := pgtest.SharedCluster(t)
	return c.Role(t, c.Restore(t, recorded("postgres.sql")), "SELECT ON ALL TABLES IN SCHEMA public"), c
}

// What DatabaseSessionService keeps in PostgreSQL is shown as what it keeps in SQLite, where it did the same.
func TestPostgres(t *testing.T) {
	address, c := recordedOn(t)
	s := storetest.OpenStore(t, engine.Servers(Kind(nil, "")), address)
	file := open(t, recorded("database_service.db"))
	if infos := storetest.Sessions(t, s); len(infos) != 3 || infos[0].UpdatedAt.IsZero() || infos[2].ID != tour || infos[2].Snapshots >= 0 {
		t.Errorf("%+v", infos)
	}
	list, same := storetest.Headers(t, s, tour), storetest.Headers(t, file, tour)
	if len(list) != len(same) {
		t.Fatalf("%d snapshots and %d", len(list), len(same))
	}
	for i, h := range list {
		is, was := h, same[i]
		is.ID, is.ParentID, is.CreatedAt, is.Reason = was.ID, was.ParentID, was.CreatedAt, was.Reason
		if words := wordsOf(is.Title); slices.Equal(words, wordsOf(was.Title)) {
			is.Title = was.Title // PostgreSQL keeps the arguments of a call in another order
		}
		if is != was || h.CreatedAt.IsZero() || (h.Reason == nil) != (same[i].Reason == nil) || h.Size != was.Size {
			t.Errorf("#%d is\n%+v and in SQLite\n%+v", i, h, was)
		}
		for _, key := range []string{"state", "app", "user"} {
			a, b := member(rowstest.State(t, s, tour, i), key), member(rowstest.State(t, file, tour, i), key)
			if !sameJSON(t, a, b) {
				t.Errorf("#%d: %s is %s and in SQLite %s", i, key, a, b)
			}
		}
	}
	if headers, before, err := s.Features().Tail(t.Context(), tour, 3); err != nil || len(headers) != 3 || before != len(list)-3 {
		t.Error(headers, before, err)
	}
	if faults := storetest.Faults(t, s, tour); len(faults) != 1 || faults[0].Code != FaultNulled {
		t.Errorf("%+v", faults)
	}
	// An event that comes is read alone.
	at, err := s.Features().Cursor(t.Context(), "tour_app/u1/waiting")
	if err != nil {
		t.Fatal(err)
	}
	c.Exec(t, c.Superuser(t, address), `INSERT INTO events SELECT 'new', app_name, user_id, session_id, invocation_id, timestamp + interval '1 s', jsonb_set(event_data, '{id}', '"new"')
		FROM events WHERE session_id = 'waiting' ORDER BY timestamp DESC LIMIT 1`)
	growth, err := s.Features().Growth(t.Context(), "tour_app/u1/waiting", at)
	if err != nil || growth.Rewritten || len(growth.Headers) != 1 || growth.Headers[0].ID != "new" {
		t.Errorf("%+v, %v", growth, err)
	}
}

// sameJSON is same of members that may be missing in both.
func sameJSON(t *testing.T, a, b string) bool {
	return a == b || a != "" && b != "" && same(t, a, b)
}

// A database holds all that every store holds that is read.
func TestPostgres_read(t *testing.T) {
	address, _ := recordedOn(t)
	storetest.Read(t, Kind(nil, "").Kind, address)
}

// What is written to a database, taken back and done again is at each event what it is in a file.
func TestPostgres_rows(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs without -short")
	}
	c := pgtest.SharedCluster(t)
	address := c.Restore(t, recorded("postgres.sql"))
	s := storetest.OpenStore(t, engine.Servers(Kind(nil, t.TempDir())), address)
	storetest.RowsOn(t, storetest.AsWriter(s), func() string { return c.Rows(t, address) }, "sessions")
}

// An id that the column cannot hold is refused, and not cut to what it can.
func TestPostgres_idThatIsTooLong(t *testing.T) {
	c := pgtest.SharedCluster(t)
	address := c.Restore(t, recorded("postgres.sql"))
	s := storetest.AsWriter(storetest.OpenStore(t, engine.Servers(Kind(nil, t.TempDir())), address))
	was, at := c.Rows(t, address), storetest.Headers(t, s, tour)[2].Ref()
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: at, As: strings.Repeat("long", 50)})
	if err == nil {
		_, err = s.Apply(t.Context(), plan)
	}
	if err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("an id of 200 characters: %v", err)
	}
	if c.Rows(t, address) != was {
		t.Error("rows were written")
	}
}

// wordsOf returns the words of a title in alphabetical order.
func wordsOf(title string) []string {
	return slices.Sorted(slices.Values(strings.FieldsFunc(title, func(r rune) bool { return strings.ContainsRune(" ,{}", r) })))
}
