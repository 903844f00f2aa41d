package engine

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

var errOpened = errors.New("opened")

// ofTable is a kind that is told by one table, and opens nothing.
func ofTable(table string) Kind {
	name := strings.TrimPrefix(table, "hindcast.")
	return Kind{
		Kind: store.Kind{Name: name}, Served: true,
		Sign: func(_ context.Context, at Site) (string, bool, error) {
			return "it has no table " + table, at.Tables[table]["id"], nil
		},
		OpenAt: func(_ context.Context, at Site) (store.Store, error) {
			if at.Server == nil {
				return nil, errors.New("a file")
			}
			return nil, errors.Join(errors.New(name), errOpened, at.Server.Close())
		},
	}.Derive()
}

// A database is opened by what its tables tell. Of several stores one has to be named, but for Hindcast's own.
func TestServers(t *testing.T) {
	c := pgtest.SharedCluster(t)
	address := c.Database(t)
	graphs, sessions, own := ofTable("graphs"), ofTable("sessions"), ofTable("hindcast.postgres")
	all := store.Kinds{graphs.Kind, Servers(graphs, sessions, own, Kind{Kind: store.Kind{Name: "files"}})}
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
