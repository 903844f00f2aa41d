package kinds_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/media/sqlitefile"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// databases are stores of every kind that reads the SQLite of another program, below testdata.
var databases = []string{
	"langgraph/agent.db", "langgraph/js.db", "adk/database_service.db", "adk/sqlite_service.db", "openaiagents/sqlite_session.db",
	"openaiagents/advanced.db", "crewai/checkpoints.db", "mastra/store.db", "llamaindex/server.db", "agno/sessions.db", "dbos/system.db", "coding/opencode/opencode.db", "coding/crush/crush.db",
	"coding/cursor/globalStorage/state.vscdb",
}

// A program was killed amid a transaction, when pages of it were in the file already. Each
// kind shows what there was before, and leaves no trace, wherever the journal lies.
func TestRows_openBehindAWriteThatWasBrokenOff(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	for _, name := range databases {
		for _, mode := range []struct {
			journal string
			left    []string
		}{
			{"DELETE", []string{"-journal"}}, {"TRUNCATE", []string{"-journal"}}, {"PERSIST", []string{"-journal"}},
			{"WAL", []string{"-wal", "-shm"}}, {"WAL", []string{"-wal"}},
		} {
			t.Run(fmt.Sprintf("%s %s %d", name, mode.journal, len(mode.left)), func(t *testing.T) {
				t.Parallel()
				path := storetest.Copy(t, filepath.Join(testdata, name))
				left := abandoned(t, path, mode.journal, mode.left...)
				whole := openBroken(t, path)
				untouched := storetest.Untouched(t, filepath.Dir(left))
				s := openBroken(t, left)
				storetest.Same(t, s, whole)
				for _, f := range storetest.Faults(t, s, "") {
					t.Errorf("a fault: %+v", f)
				}
				untouched()
			})
		}
	}
}

// What a write is, and its undo, is the same behind a write that was broken off.
func TestRows_writeBehindAWriteThatWasBrokenOff(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	for _, c := range []struct {
		name, session string
		op            model.Op
	}{
		{"langgraph/agent.db", "tour", model.OpRestore}, {"adk/database_service.db", "tour_app/u1/tour", model.OpFork}, {"adk/sqlite_service.db", "tour_app/u1/tour", model.OpRestore},
		{"openaiagents/sqlite_session.db", "", model.OpFork}, {"crewai/checkpoints.db", "", model.OpRestore},
	} {
		for _, mode := range []string{"DELETE", "WAL"} {
			t.Run(c.name+" "+mode, func(t *testing.T) {
				t.Parallel()
				path := storetest.Copy(t, filepath.Join(testdata, c.name))
				beside := map[string][]string{"DELETE": {"-journal"}, "WAL": {"-wal", "-shm"}}[mode]
				left := abandoned(t, path, mode, beside...)
				tables := storetest.Tables(t, path)
				s := openBroken(t, left)
				session := c.session
				if session == "" {
					session = storetest.Sessions(t, s)[0].ID
				}
				headers := storetest.Headers(t, s, session)
				carry := func(change model.Change) {
					t.Helper()
					plan, err := s.Features().Plan(t.Context(), change)
					if err == nil {
						_, err = s.Features().Apply(t.Context(), plan)
					}
					if err != nil {
						t.Fatalf("%s: %v", change.Op, err)
					}
				}
				carry(model.Change{Op: c.op, Ref: headers[len(headers)/2].Ref(), As: map[model.Op]string{model.OpFork: "behind"}[c.op]})
				if len(storetest.Headers(t, s, session)) == 0 || storetest.Faults(t, s, "") != nil {
					t.Error("the store does not read as it should behind the write")
				}
				carry(model.Change{Op: model.OpUndo})
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				if storetest.Tables(t, left) != tables {
					t.Error("after the undo, the tables are not those of before")
				}
			})
		}
	}
}

// What Hindcast itself left in another program's database it takes back when the store is
// opened, and the journal says so.
func TestRows_settleAWriteOfHindcastThatWasBrokenOff(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	path := storetest.Copy(t, filepath.Join(testdata, "langgraph/agent.db"))
	own := abandoned(t, path, "DELETE", "-journal")
	tables := storetest.Tables(t, path)
	s := openBroken(t, path)
	headers := storetest.Headers(t, s, "tour")
	plan, err := s.Features().Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: headers[len(headers)/2].Ref()})
	if err == nil {
		_, err = s.Features().Apply(t.Context(), plan)
	}
	if err != nil {
		t.Fatal(err)
	}
	journal, err := os.ReadFile(path + sqlitefile.Beside)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(journal, []byte("\n"))
	intent := bytes.Join(lines[:len(lines)-2], nil) // the last line says that it is done
	if err := os.WriteFile(own+sqlitefile.Beside, intent, 0o600); err != nil {
		t.Fatal(err)
	}

	s = openBroken(t, own)
	if kind := s.Kind(); kind != "langgraph" {
		t.Errorf("it opens as %s", kind)
	}
	if list, err := s.Features().Journal(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("the journal lists %v, %v", list, err)
	}
	if storetest.Tables(t, own) != tables {
		t.Error("what was broken off is still in the tables")
	}
}

func openBroken(t *testing.T, path string) store.Store {
	t.Helper()
	s, err := allKinds.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// abandoned returns a copy of a database, with some of the files beside it, that a program left
// which was killed amid a transaction. The database itself is left as it was before that.
func abandoned(t *testing.T, path, journal string, beside ...string) string {
	t.Helper()
	left := filepath.Join(t.TempDir(), filepath.Base(path))
	file := sqlitefile.NewOwn(path, "&_pragma=journal_mode("+journal+")&_pragma=cache_size(1)", nil)
	killed := errors.New("killed")
	err := file.Write(t.Context(), func(tx *sqlitefile.Tx) error {
		tables, err := tx.Tables(t.Context())
		for _, table := range tables {
			if err == nil && !strings.HasPrefix(table, "sqlite_") {
				_, err = tx.Exec(t.Context(), `DELETE FROM "`+table+`"`)
			}
		}
		if err == nil {
			_, err = tx.Exec(t.Context(), "CREATE TABLE half AS SELECT randomblob(1000000)")
		}
		if err != nil {
			return err
		}
		before, err := os.Stat(path)
		if err != nil {
			return err
		}
		for _, part := range slices.Concat([]string{""}, beside) {
			data, err := os.ReadFile(path + part)
			if err == nil {
				err = os.WriteFile(left+part, data, 0o600)
			}
			// A log that was just written would be waited for.
			long := before.ModTime().Add(-time.Minute)
			if err = errors.Join(err, os.Chtimes(left+part, long, long)); err != nil {
				return err
			}
		}
		return killed
	})
	if closed := file.Close(); !errors.Is(err, killed) || closed != nil {
		t.Fatal(err, closed)
	}
	return left
}
