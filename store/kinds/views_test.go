package kinds_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/store"
	"hindcast/store/sqlitefile"
	"hindcast/store/storetest"
)

// A table of an agent is a view without end, or a virtual table. Each kind refuses the database,
// or reads it without that table, and none waits for it.
func TestDatabases_viewsAreNoTables(t *testing.T) {
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
