package langgraph

import (
	"os"
	"testing"

	"hindcast/store"
	"hindcast/store/databases"
	"hindcast/store/pg/pgtest"
	"hindcast/store/storetest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// served returns the URL of a database with what PostgresSaver wrote.
func served(t testing.TB) string {
	t.Helper()
	c := pgtest.Shared(t)
	address := c.Database(t)
	script, err := os.ReadFile(recorded("postgres.sql"))
	if err != nil {
		t.Fatal(err)
	}
	c.Load(t, address, string(script))
	c.Exec(t, address, numberedBy)
	return address
}

// connect opens a database until the test ends.
func connect(t testing.TB, address string) store.Store {
	t.Helper()
	s, err := databases.Kind(Served(t.TempDir())).Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestPostgres(t *testing.T) {
	s := connect(t, served(t))
	for _, info := range storetest.Sessions(t, s) {
		t.Logf("%+v", info)
		for _, h := range storetest.Headers(t, s, info.ID) {
			state, err := s.State(t.Context(), h.Ref())
			t.Logf("%d %s %s %v %q %s %v", h.Index, h.ID, h.EventName, h.Orphaned, h.Title, state, err)
		}
	}
}

// At every checkpoint of a recorded database: what is written, taken back and done again.
func TestPostgres_rows(t *testing.T) {
	address := served(t)
	storetest.RowsOn(t, connect(t, address).(store.Writer), func() string { return pgtest.Shared(t).Rows(t, address) })
}
