package kinds_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/store"
	"hindcast/store/media/pg"
	"hindcast/store/media/pg/pgtest"
	"hindcast/store/media/sqlitefile"
	"hindcast/store/native/postgres"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// A table of an agent is a view without end, or a virtual table. Each kind refuses the database,
// or reads it without that table, and none waits for it.
func TestDatabases_viewsAreNoTables(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	for _, name := range databases {
		for _, table := range tablesOf(t, filepath.Join(testdata, name)) {
			for what, define := range map[string]string{
				"a view": `CREATE VIEW %s AS WITH RECURSIVE q(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM q) SELECT %s FROM q`,
				// The columns of a virtual table are those that it is given.
				"a virtual table": `CREATE VIRTUAL TABLE %s USING fts5(%s)`,
			} {
				t.Run(fmt.Sprintf("%s %s %s", name, table, what), func(t *testing.T) {
					t.Parallel()
					path := storetest.Copy(t, filepath.Join(testdata, name))
					file := sqlitefile.NewOwn(path, "", nil)
					err := file.Write(t.Context(), func(tx *sqlitefile.Tx) error {
						has, err := tx.Columns(t.Context(), table)
						if err != nil {
							return err
						}
						var columns []string
						for column := range has {
							columns = append(columns, map[string]string{"a view": "n AS "}[what]+`"`+column+`"`)
						}
						slices.Sort(columns)
						for _, statement := range []string{`DROP TABLE "` + table + `"`, fmt.Sprintf(define, `"`+table+`"`, strings.Join(columns, ", "))} {
							if _, err := tx.Exec(t.Context(), statement); err != nil {
								return fmt.Errorf("%s: %w", statement, err)
							}
						}
						return nil
					})
					if err = errors.Join(err, file.Close()); err != nil {
						t.Fatal(err)
					}
					s, err := allKinds.Open(t.Context(), path)
					if err != nil {
						said := !strings.HasPrefix(name, "coding/") && !strings.HasPrefix(name, "openaiagents/")
						if !errors.Is(err, store.ErrUnrecognised) || said && !strings.Contains(err.Error(), table+" is "+what) {
							t.Errorf("%v", err)
						}
						return
					}
					defer s.Close()
					for _, info := range storetest.Sessions(t, s) {
						for _, h := range storetest.Headers(t, s, info.ID) {
							if _, err := s.State(t.Context(), h.Ref()); err != nil {
								t.Errorf("%s #%d: %v", info.ID, h.Index, err)
							}
						}
						storetest.Faults(t, s, info.ID)
					}
				})
			}
		}
	}
}

// tablesOf returns the names of the tables of a database.
func tablesOf(t *testing.T, path string) (names []string) {
	t.Helper()
	file := sqlitefile.New(path, nil)
	err := file.Read(t.Context(), func(tx *sqlitefile.Tx) (err error) {
		names, err = tx.Tables(t.Context())
		return err
	})
	if err = errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, "sqlite_") })
}

// served are the dumps of databases by their kinds.
var served = map[string]string{
	"langgraph":     filepath.Join("langgraph", "postgres.sql"),
	"adk":           filepath.Join("adk", "postgres.sql"),
	"openai-agents": filepath.Join("openaiagents", "postgres.sql"),
}

// A table on a server is a view without end, a materialised one, or a table of another server: none is read, none waits.
// A partitioned table is one.
func TestServers_viewsAreNoTables(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	c := pgtest.SharedCluster(t)
	endless := "WITH RECURSIVE q(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM q)"
	for kind, file := range served {
		address := c.Restore(t, filepath.Join(testdata, file))
		for table, columns := range tablesOn(t, address) {
			var selected, typed []string
			for _, column := range columns {
				selected, typed = append(selected, `n::text AS "`+column+`"`), append(typed, `"`+column+`" text`)
			}
			for what, define := range map[string][]string{
				"a view":              {fmt.Sprintf("CREATE VIEW %s AS %s SELECT %s FROM q", table, endless, strings.Join(selected, ", "))},
				"a materialised view": {fmt.Sprintf("CREATE MATERIALIZED VIEW %s AS %s SELECT %s FROM q LIMIT 5", table, endless, strings.Join(selected, ", "))},
				"a foreign table": {"CREATE FOREIGN DATA WRAPPER nothing", "CREATE SERVER nowhere FOREIGN DATA WRAPPER nothing",
					fmt.Sprintf("CREATE FOREIGN TABLE %s (%s) SERVER nowhere", table, strings.Join(typed, ", "))},
			} {
				t.Run(kind+" "+table+" "+what, func(t *testing.T) {
					copied := c.Copy(t, address)
					c.Exec(t, copied, append([]string{"DROP TABLE " + table + " CASCADE"}, define...)...)
					for _, at := range []string{copied, kind + ":" + copied} {
						s, err := allKinds.Open(t.Context(), at)
						if errors.Is(err, store.ErrUnrecognised) {
							continue
						}
						if err != nil {
							t.Fatal(err)
						}
						defer s.Close()
						for _, info := range storetest.Sessions(t, s) {
							for _, h := range storetest.Headers(t, s, info.ID) {
								if _, err := s.State(t.Context(), h.Ref()); err != nil {
									t.Errorf("%s #%d: %v", info.ID, h.Index, err)
								}
							}
							storetest.Faults(t, s, info.ID)
						}
					}
				})
			}
		}
	}
	own := c.Database(t)
	c.Exec(t, own, "CREATE SCHEMA hindcast", "CREATE VIEW hindcast.migrations AS "+endless+" SELECT n AS version FROM q")
	if _, err := postgres.Open(t.Context(), own); !errors.Is(err, postgres.ErrNone) {
		t.Errorf("hindcast.migrations is a view: %v", err)
	}
}

// tablesOn returns the tables of a database with their columns.
func tablesOn(t *testing.T, address string) map[string][]string {
	t.Helper()
	server, err := pg.New(address)
	if err != nil {
		t.Fatal(err)
	}
	tables := map[string][]string{}
	err = server.Read(t.Context(), func(tx *pg.Tx) error {
		return tx.Each(t.Context(), func(scan func(...any) error) error {
			var table, column string
			err := scan(&table, &column)
			tables[table] = append(tables[table], column)
			return err
		}, `SELECT c.relname::text, a.attname::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
			WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace ORDER BY c.relname, a.attnum`)
	})
	if err = errors.Join(err, server.Close()); err != nil || len(tables) == 0 {
		t.Fatal(tables, err)
	}
	return tables
}

// A role that may log in and read no table is told what the server refused, and what reading needs.
func TestServers_roleWithoutRights(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	c := pgtest.SharedCluster(t)
	for kind, file := range served {
		address := c.Role(t, c.Restore(t, filepath.Join(testdata, file)))
		code, out, errs := inProcess(t, "sessions", address)
		want := "(SQLSTATE 42501): reading needs SELECT on the tables, to plan a write needs TEMPORARY on the database, and to write needs INSERT, UPDATE and DELETE"
		if code != 1 || out != "" || !strings.HasPrefix(errs, "hindcast: "+kind+": list sessions: ") || !strings.Contains(errs, "the PostgreSQL server does not allow it: permission denied for table ") ||
			!strings.Contains(strings.Join(strings.Fields(errs), " "), want) || strings.Contains(errs, pgtest.Password) {
			t.Errorf("%s: exit %d: %s%s", kind, code, out, errs)
		}
	}
}
