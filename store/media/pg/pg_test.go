package pg

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"hindcast/store/media/pg/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// server returns a new database, and its URL.
func server(t testing.TB, c *pgtest.Cluster) (*Server, string) {
	t.Helper()
	address := c.Database(t)
	return connect(t, address), address
}

func connect(t testing.TB, address string) *Server {
	t.Helper()
	s, err := New(address)
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

// count returns what a query counts.
func count(t testing.TB, s *Server, query string, args ...any) (n int) {
	t.Helper()
	err := s.Read(t.Context(), func(tx *Tx) error { return tx.Row(t.Context(), query, args...).Scan(&n) })
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestNumbered(t *testing.T) {
	for query, want := range map[string]string{
		"a = ? AND b = ?":                       "a = $1 AND b = $2",
		"a = ? AND b = ?1 AND c = ?3 AND d = ?": "a = $1 AND b = $1 AND c = $3 AND d = $4",
		"a = '?' AND b = ? AND c = 'it''s ?'":   "a = '?' AND b = $1 AND c = 'it''s ?'",
		`a = E'\'?' AND b = ?`:                  `a = E'\'?' AND b = $1`,
		`"?" = ? AND "a""?" = ?`:                `"?" = $1 AND "a""?" = $2`,
		"a = $$?$$ AND b = $x$ $$ ? $x$ AND ?":  "a = $$?$$ AND b = $x$ $$ ? $x$ AND $1",
		"-- ?\n? /* ? /* ? */ ? */ ?":           "-- ?\n$1 /* ? /* ? */ ? */ $2",
		"a = '?":                                "a = '?",
		"a = $1 AND b = $2":                     "a = $1 AND b = $2",
	} {
		if got := numberPlaceholders(query); got != want {
			t.Errorf("%s is %s, want %s", query, got, want)
		}
	}
}

// No password is shown, nor what may be a part of one.
func TestShown(t *testing.T) {
	for address, want := range map[string]string{
		"postgres://u:secret@host:5433/db":                        "postgres://u@host:5433/db",
		"postgresql://u@host/db?sslmode=require":                  "postgresql://u@host/db?sslmode=require",
		"postgres://host/db?user=u&password=secret":               "postgres://host/db?user=u",
		"postgres://host/db?sslpassword=secret":                   "postgres://host/db",
		"postgres:///db?host=/run/postgresql":                     "postgres:///db?host=/run/postgresql",
		"postgres://u:sec#ret@host/db":                            "",
		"postgres://u:1/secret@host/db":                           "",
		"postgres://u:1?secret@host/db":                           "",
		"postgres://u:se:cret@host:x/db":                          "",
		"host=localhost password=secret":                          "",
		"postgres://u:%73ecret@host/db?application_name=hindcast": "postgres://u@host/db?application_name=hindcast",
	} {
		got, err := HidePassword(address)
		if got != want || (err == nil) != (want != "") || err != nil && (!errors.Is(err, ErrAddress) || strings.Contains(err.Error(), "cret")) {
			t.Errorf("%s is shown as %s, %v", address, got, err)
		}
		if _, err := New(address + "?sslmode=secret"); err == nil || strings.Contains(err.Error(), "cret@") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// Values come back as they were written; a transaction that reads sees one state, and cannot write.
func TestRead(t *testing.T) {
	s, _ := server(t, pgtest.SharedCluster(t))
	ctx := t.Context()
	err := s.Write(ctx, func(tx *Tx) error {
		if err := tx.Define(ctx, "CREATE TABLE things (id text PRIMARY KEY, n bigint, raw bytea, j jsonb)"); err != nil {
			return err
		}
		changed, err := tx.Exec(ctx, "INSERT INTO things VALUES (?, ?, ?, ?), (?1 || '?', NULL, NULL, NULL)", "größe", int64(1<<40), []byte{0, 1, 255}, `{"a": [1.50]}`)
		if changed != 2 {
			t.Errorf("%d rows", changed)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Read(ctx, func(tx *Tx) error {
		var id, j string
		var n int64
		var raw []byte
		if err := tx.Row(ctx, "SELECT id, n, raw, j FROM things WHERE id = ?", "größe").Scan(&id, &n, &raw, &j); err != nil {
			return err
		}
		if id != "größe" || n != 1<<40 || !slices.Equal(raw, []byte{0, 1, 255}) || j != `{"a": [1.50]}` {
			t.Error(id, n, raw, j)
		}
		if found, err := tx.First(ctx, []any{&id}, "SELECT id FROM things WHERE id = ?", "none"); found || err != nil {
			t.Error(found, err)
		}
		if err := tx.Row(ctx, "SELECT id FROM things WHERE id = ?", "none").Scan(&id); !errors.Is(err, pgx.ErrNoRows) {
			t.Error(err)
		}
		columns, err := tx.Columns(ctx, "things")
		if err != nil || len(columns) != 4 || !columns["raw"] {
			t.Error(columns, err)
		}
		if columns, err = tx.Columns(ctx, "Things?"); err != nil || len(columns) > 0 {
			t.Error(columns, err)
		}
		// Another program writes.
		if err := s.Write(ctx, func(other *Tx) error { _, err := other.Exec(ctx, "DELETE FROM things"); return err }); err != nil {
			return err
		}
		var all int
		if err := tx.Row(ctx, "SELECT count(*) FROM things").Scan(&all); all != 2 || err != nil {
			t.Error(all, err)
		}
		_, err = tx.Exec(ctx, "DELETE FROM things")
		return err
	})
	if !errors.Is(err, ErrReadOnly) {
		t.Error(err)
	}
	if n := count(t, s, "SELECT count(*) FROM things"); n != 0 {
		t.Error(n)
	}
}

// Several statements go out at once. One that fails ends it, and the transaction with it.
func TestAsk(t *testing.T) {
	s, _ := server(t, pgtest.SharedCluster(t))
	ctx := t.Context()
	var got []int
	add := func(scan func(...any) error) error {
		var n int
		err := scan(&n)
		got = append(got, n)
		return err
	}
	err := s.Read(ctx, func(tx *Tx) error {
		return tx.Ask(ctx, Query{"SELECT n FROM generate_series(?::int, 3) n", []any{1}, add}, Query{SQL: "SELECT 1"}, Query{"SELECT 7", nil, add})
	})
	if err != nil || !slices.Equal(got, []int{1, 2, 3, 7}) {
		t.Error(got, err)
	}
	err = s.Read(ctx, func(tx *Tx) error {
		return tx.Ask(ctx, Query{"SELECT 1", nil, add}, Query{SQL: "SELECT x"}, Query{"SELECT 2", nil, add})
	})
	if Code(err) != "42703" || !strings.Contains(err.Error(), "SQLSTATE 42703") {
		t.Error(err)
	}
	stop := errors.New("stop")
	if err := s.Read(ctx, func(tx *Tx) error {
		return tx.Each(ctx, func(func(...any) error) error { return stop }, "SELECT 1 FROM generate_series(1, 100000)")
	}); !errors.Is(err, stop) {
		t.Error(err)
	}
	if n := count(t, s, "SELECT 5"); n != 5 {
		t.Error(n)
	}
}

// What is supposed is seen by its own transaction alone, and is gone after it.
func TestSuppose(t *testing.T) {
	c := pgtest.SharedCluster(t)
	s, address := server(t, c)
	c.Exec(t, address, "CREATE TABLE things (id text)", "INSERT INTO things VALUES ('a')")
	ctx := t.Context()
	reader := connect(t, c.Role(t, address, "SELECT ON things", "TEMPORARY ON DATABASE "+database(t, address)))
	for range 2 {
		err := reader.Suppose(ctx, func(tx *Tx) error {
			if err := tx.Define(ctx, "CREATE TEMP VIEW things AS SELECT id FROM public.things UNION ALL SELECT 'b'"); err != nil {
				return err
			}
			var n int
			err := tx.Row(ctx, "SELECT count(*) FROM things").Scan(&n)
			if n != 2 || count(t, s, "SELECT count(*) FROM things") != 1 {
				t.Errorf("%d rows", n)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	err := connect(t, c.Role(t, address)).Suppose(ctx, func(tx *Tx) error { return tx.Define(ctx, "CREATE TEMP VIEW v AS SELECT 1") })
	if !errors.Is(err, ErrDenied) || !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "TEMPORARY on the database") {
		t.Error(err)
	}
}

func database(t testing.TB, address string) string {
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(u.Path, "/")
}

// Writers that cross each other are tried again: nothing is lost. What fails writes nothing.
func TestWrite(t *testing.T) {
	s, _ := server(t, pgtest.SharedCluster(t))
	ctx := t.Context()
	if err := s.Write(ctx, func(tx *Tx) error {
		return errors.Join(tx.Define(ctx, "CREATE TABLE counter (n int)"), tx.Define(ctx, "INSERT INTO counter VALUES (0)"))
	}); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() {
			for range 4 {
				if err := s.Write(ctx, func(tx *Tx) error {
					var n int
					if err := tx.Row(ctx, "SELECT n FROM counter").Scan(&n); err != nil {
						return err
					}
					_, err := tx.Exec(ctx, "UPDATE counter SET n = ?", n+1)
					return err
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if n := count(t, s, "SELECT n FROM counter"); n != 12 {
		t.Errorf("%d of 12 writes", n)
	}
	stop := errors.New("stop")
	if err := s.Write(ctx, func(tx *Tx) error { _, err := tx.Exec(ctx, "DELETE FROM counter"); return errors.Join(err, stop) }); !errors.Is(err, stop) {
		t.Error(err)
	}
	if err := s.Write(ctx, func(tx *Tx) error {
		_, err := tx.Exec(ctx, "DELETE FROM counter")
		_, ignored := tx.Exec(ctx, "DELETE FROM nothing")
		return errors.Join(err, errors.Unwrap(ignored))
	}); !errors.Is(err, errRolledBack) {
		t.Error(err)
	}
	if n := count(t, s, "SELECT count(*) FROM counter"); n != 1 {
		t.Error(n)
	}
	if err := s.Write(ctx, func(*Tx) error { return nil }); err != nil {
		t.Error(err)
	}
}

// What the server has against it is told, with what to do, and without the password.
func TestErrors(t *testing.T) {
	c := pgtest.SharedCluster(t)
	s, address := server(t, c)
	c.Exec(t, address, "CREATE TABLE things (id text)")
	for name, test := range map[string]struct {
		address string
		want    error
		says    string
	}{
		"no server":    {"postgres://u:" + pgtest.Password + "@127.0.0.1:1/db", ErrUnreachable, "look at the host"},
		"no folder":    {"postgres:///db?host=/nothing/here&user=u&password=" + pgtest.Password, ErrUnreachable, "look at the host"},
		"the password": {strings.Replace(address, pgtest.Password, "wrong", 1), ErrDenied, "PGPASSWORD"},
		"the database": {address + "x", ErrNoDatabase, "behind the last slash"},
		"the table":    {c.Role(t, address), ErrDenied, "reading needs SELECT"},
		"TLS":          {address + "?sslmode=require", ErrUnreachable, "TLS"},
	} {
		t.Run(name, func(t *testing.T) {
			s := connect(t, test.address)
			err := s.Read(t.Context(), func(tx *Tx) error { return tx.Row(t.Context(), "SELECT count(*) FROM things").Scan(new(int)) })
			if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.says) || strings.ContainsAny(err.Error(), "\n") {
				t.Errorf("%v", err)
			}
			for _, text := range []string{fmt.Sprint(err), s.String()} {
				if strings.Contains(text, pgtest.Password) || strings.Contains(text, "wrong") {
					t.Error(text)
				}
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	err := s.Read(ctx, func(tx *Tx) error {
		cancel()
		return tx.Row(ctx, "SELECT pg_sleep(60)").Scan(new(string))
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if n := count(t, s, "SELECT 1"); n != 1 {
		t.Error(n)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Read(t.Context(), func(*Tx) error { return nil }); !errors.Is(err, fs.ErrClosed) {
		t.Error(err)
	}
}

// A server that was started again is used again. A write whose COMMIT got no answer is an error of its own.
func TestRestart(t *testing.T) {
	c := pgtest.New(t)
	s, address := server(t, c)
	c.Exec(t, address, "CREATE TABLE things (id text)")
	if n := count(t, s, "SELECT count(*) FROM things"); n != 0 {
		t.Error(n)
	}
	changes, err := s.Watch(t.Context(), nil, Watching{Channel: "it's new", Every: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	polled, err := s.Watch(t.Context(), nil, Watching{Query: "SELECT count(*) FROM things", Every: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	<-changes
	<-polled
	for _, how := range []pgtest.Mode{pgtest.Fast, pgtest.Kill} {
		if err := c.Restart(how); err != nil {
			t.Fatal(err)
		}
		<-changes // it listens again
		if n := count(t, s, "SELECT count(*) FROM things"); n != 0 {
			t.Error(n)
		}
	}
	c.Exec(t, address, `NOTIFY "it's new"`)
	<-changes
	c.Exec(t, address, "INSERT INTO things VALUES ('a')")
	<-polled
	err = s.Write(t.Context(), func(tx *Tx) error {
		_, err := tx.Exec(t.Context(), "DELETE FROM things")
		return errors.Join(err, c.Restart(pgtest.Fast))
	})
	if !errors.Is(err, ErrOutcome) {
		t.Error(err)
	}
	if n := count(t, s, "SELECT count(*) FROM things"); n != 1 {
		t.Error(n)
	}
	if err := c.Stop(pgtest.Fast); err != nil {
		t.Fatal(err)
	}
	if err := s.Read(t.Context(), func(tx *Tx) error { return tx.Row(t.Context(), "SELECT 1").Scan(new(int)) }); !errors.Is(err, ErrUnreachable) {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for range changes { // it is closed
	}
}
