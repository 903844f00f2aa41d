package postgres_test

import (
	"errors"
	"io/fs"
	neturl "net/url"
	"strings"
	"sync"
	"testing"

	"hindcast/store"
	"hindcast/store/kinds"
	"hindcast/store/media/pg"
	"hindcast/store/media/pg/pgtest"
	"hindcast/store/native/postgres"
	"hindcast/store/storetest"
)

func TestOpen_saysWhatIsWrong(t *testing.T) {
	cluster := pgtest.SharedCluster(t)
	empty, there, newer, older := cluster.Database(t), cluster.Database(t), cluster.Database(t), cluster.Database(t)
	for _, url := range []string{there, newer, older} {
		if err := postgres.Migrate(t.Context(), url); err != nil {
			t.Fatal(err)
		}
	}
	cluster.Exec(t, newer, "INSERT INTO hindcast.migrations (version) VALUES (1000000)")
	cluster.Exec(t, older, "DELETE FROM hindcast.migrations")
	with := func(change func(*neturl.URL)) string {
		u, err := neturl.Parse(there)
		if err != nil {
			t.Fatal(err)
		}
		change(u)
		return u.String()
	}
	for name, c := range map[string]struct {
		url  string
		want error
	}{
		"no store":     {empty, postgres.ErrNone},
		"newer":        {newer, postgres.ErrVersion},
		"older":        {older, postgres.ErrVersion},
		"no database":  {with(func(u *neturl.URL) { u.Path = "/nowhere" }), pg.ErrNoDatabase},
		"the password": {with(func(u *neturl.URL) { u.User = neturl.UserPassword("postgres", "another") }), fs.ErrPermission},
		// The server of the tests has no TLS.
		"without TLS": {with(func(u *neturl.URL) { u.RawQuery = "sslmode=require" }), pg.ErrUnreachable},
		"no URL":      {"somewhere", pg.ErrAddress},
	} {
		s, err := postgres.Open(t.Context(), c.url)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			s.Close()
		} else if strings.Contains(err.Error(), pgtest.Password) {
			t.Errorf("%s: the password is shown: %v", name, err)
		}
	}
	if _, err := postgres.Create(t.Context(), there); !errors.Is(err, fs.ErrExist) {
		t.Errorf("made again: %v", err)
	}
	if s := open(t, there); strings.Contains(s.Address(), pgtest.Password) {
		t.Errorf("the address is %s", s.Address())
	}
}

// TestSign_isFoundByItsTables: a URL leads to the store of a database that holds one, beside what else it
// holds.
func TestSign_isFoundByItsTables(t *testing.T) {
	url := pgtest.SharedCluster(t).Database(t)
	k := kinds.All(nil, "")
	if _, err := k.Open(t.Context(), url); !errors.Is(err, store.ErrUnrecognised) {
		t.Errorf("an empty database: %v", err)
	}
	if _, err := (&recorder{Store: open(t, url), session: "s"}).turn(t.Context()); err != nil {
		t.Fatal(err)
	}
	s, err := k.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	if s.Kind() != "postgres" || len(storetest.Headers(t, s, "s")) != 1 {
		t.Error(s.Kind(), storetest.Headers(t, s, "s"))
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestOpenOrCreate_atOnce: programs that start at the same time make one store.
func TestOpenOrCreate_atOnce(t *testing.T) {
	url := pgtest.SharedCluster(t).Database(t)
	var starting sync.WaitGroup
	for range 6 {
		starting.Go(func() {
			s, err := postgres.OpenOrCreate(t.Context(), url)
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	starting.Wait()
	if all := storetest.Sessions(t, open(t, url)); len(all) != 0 {
		t.Error(all)
	}
}
