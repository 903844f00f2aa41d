package databases

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"hindcast/store"
	"hindcast/store/media/pg"
	"hindcast/store/media/pg/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// table is a format that is told by one table, and opens nothing.
type table string

var errOpened = errors.New("opened")

func (t table) Name() string { return strings.TrimPrefix(string(t), "hindcast.") }

func (t table) Sign(has map[string]map[string]bool) (string, bool) {
	return "it has no table " + string(t), has[string(t)]["id"]
}

func (t table) Open(_ context.Context, on *pg.Server) (store.Store, error) {
	return nil, errors.Join(errors.New(t.Name()), errOpened, on.Close())
}

// A database is opened by what its tables tell. Of several stores one has to be named, but for Hindcast's own.
func TestKind(t *testing.T) {
	c := pgtest.SharedCluster(t)
	address := c.Database(t)
	graphs, sessions, own := table("graphs"), table("sessions"), table("hindcast.postgres")
	all := store.Kinds{Also(store.Kind{Name: "graphs", Open: func(context.Context, string) (store.Store, error) { return nil, errors.New("a file") }}, graphs), Kind(graphs, sessions, own)}
	opens := func(at string, want error, says string) {
		t.Helper()
		_, err := all.Open(t.Context(), at)
		if !errors.Is(err, want) || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), pgtest.Password) {
			t.Errorf("%v", err)
		}
	}
	opens(address, store.ErrUnrecognised, "it has no table graphs")
	opens("graphs:"+address, store.ErrUnrecognised, "it has no table graphs")
	c.Exec(t, address, "CREATE TABLE graphs (id text)")
	opens(address, errOpened, "graphs")
	opens("postgresql"+strings.TrimPrefix(address, "postgres"), errOpened, "graphs")
	c.Exec(t, address, "CREATE TABLE sessions (id text)")
	opens(address, ErrSeveral, "open one of graphs:postgres://postgres@127.0.0.1:")
	opens("graphs:"+address, errOpened, "graphs")
	c.Exec(t, address, "CREATE SCHEMA hindcast", "CREATE TABLE hindcast.postgres (id text)", "CREATE SCHEMA other", "CREATE TABLE other.postgres (x text)")
	opens(address, errOpened, "postgres")
	opens("postgres://127.0.0.1:1/nothing", pg.ErrUnreachable, "open postgres://127.0.0.1:1/nothing")
	if _, err := all[0].Open(t.Context(), "graphs.db"); err == nil || err.Error() != "a file" {
		t.Error(err)
	}
}
