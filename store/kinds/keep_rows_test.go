package kinds_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/keep"
	"hindcast/store/kinds"
	"hindcast/store/media/sqlitefile"
	"hindcast/store/storetest"
	"hindcast/store/storetest/rowstest"
	"hindcast/store/storetest/skip"
)

// recordedRows are databases that frameworks wrote and that no test of [addresses] has.
var recordedRows = map[string]string{
	"adk/testdata/sent.db": "adk", "langgraph/testdata/unanswered.db": "langgraph", "openaiagents/testdata/refused.db": "openai-agents",
	"opencode/testdata/recorded": "opencode",
}

// eachTables calls a function with a copy of each real store whose sessions are rows of SQLite databases.
func eachTables(t *testing.T, what func(t *testing.T, a *keep.Archive, found store.Found)) {
	t.Helper()
	all, isDatabase := addresses(t), databaseKinds(t)
	for path, kind := range recordedRows {
		all[kind] = append(all[kind], path)
	}
	for _, k := range allKinds {
		for _, address := range all[k.Name] {
			info, err := os.Stat(address)
			if err != nil || k.Name == "sqlite" || !isDatabase[k.Name] && filepath.Ext(address) != ".db" || info.IsDir() && len(databasesIn(t, address)) == 0 {
				continue
			}
			t.Run(k.Name+" "+filepath.Base(address), func(t *testing.T) {
				at := filepath.Join(t.TempDir(), filepath.Base(address))
				if info.IsDir() {
					err = os.CopyFS(at, os.DirFS(address))
				} else {
					at = rowstest.Copied(t, address)
				}
				if err != nil {
					t.Fatal(err)
				}
				a := kinds.Archive(filepath.Join(t.TempDir(), "kept.db"), nil, "")
				t.Cleanup(func() {
					if err := a.Close(); err != nil {
						t.Error(err)
					}
				})
				what(t, a, store.Found{Identity: store.Identity{Kind: k, At: at}})
			})
		}
	}
}

// databasesIn returns the SQLite databases at a path, or below it.
func databasesIn(t *testing.T, at string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(at, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.HasPrefix(string(data), "SQLite format 3\x00") {
			list = append(list, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// rowsOf returns all rows of a database, each with its table, its row id, and the storage class and the bytes of each value.
func rowsOf(t *testing.T, path string) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, table := range rowstest.Query(t, path, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'") {
		var values []string
		for _, column := range rowstest.Query(t, path, "SELECT name FROM pragma_table_info('"+table+"')") {
			values = append(values, fmt.Sprintf(`typeof(%[1]q) || ':' || hex(%[1]q)`, column))
		}
		for _, row := range rowstest.Query(t, path, "SELECT rowid || ' ' || "+strings.Join(values, " || ' ' || ")+` FROM "`+table+`"`) {
			all[table+" "+row] = true
		}
	}
	return all
}

// TestKeep_rows keeps the sessions of each real database, and deletes it: what is kept is read by its kind as it was, and verifies.
func TestKeep_rows(t *testing.T) {
	skip.Sequential(t)
	kept := map[string]int{}
	eachTables(t, func(t *testing.T, a *keep.Archive, found store.Found) {
		was, err := found.Kind.Open(t.Context(), found.At)
		if err != nil {
			t.Fatal(err)
		}
		defer was.Close()
		sessions := storetest.Sessions(t, was)
		done, err := a.Keep(t.Context(), found)
		if err != nil {
			t.Fatal(err)
		}
		if done.Files == 0 || done.Changed == 0 {
			t.Errorf("kept %+v of %d sessions", done, len(sessions))
		}
		if again, err := a.Keep(t.Context(), found); err != nil || again.Added != 0 || again.Files != done.Files {
			t.Errorf("again: %+v, %v", again, err)
		}
		v, err := a.Verify(t.Context())
		if err != nil || len(v.Damaged) > 0 || v.Gone > 0 {
			t.Errorf("verified %+v: %v", v, err)
		}
		if list, err := a.ListGone(t.Context()); err != nil || len(list) > 0 {
			t.Fatalf("gone are %v, %v", list, err)
		}
		aside := filepath.Join(t.TempDir(), filepath.Base(found.At))
		if err := os.Rename(found.At, aside); err != nil {
			t.Fatal(err)
		}
		gone := goneStore(t, a, found)
		if was, err = found.Kind.Open(t.Context(), aside); err != nil {
			t.Fatal(err)
		}
		defer was.Close()
		sameSessions(t, gone, was)
		for _, info := range storetest.Sessions(t, gone) {
			if info.GoneSince.IsZero() {
				t.Errorf("%s is not gone", info.ID)
			}
		}
		kept[found.Name] += len(sessions)
	})
	if len(kept) < 11 {
		t.Errorf("kept are %v", kept)
	}
	t.Log(kept)
}

// TestKeep_rowsBack deletes the rows of each session of each real database, one session after the other, and gives it back: the database
// is as it was, row for row, with an undo in between that takes them out again.
func TestKeep_rowsBack(t *testing.T) {
	skip.Sequential(t)
	back, refused := map[string]int{}, map[string]string{}
	eachTables(t, func(t *testing.T, a *keep.Archive, found store.Found) {
		if _, err := a.Keep(t.Context(), found); err != nil {
			t.Fatal(err)
		}
		was := map[string]map[string]bool{}
		for _, path := range databasesIn(t, found.At) {
			was[path] = rowsOf(t, path)
		}
		for _, path := range slices.Sorted(maps.Keys(was)) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			all, tried := listRows(t, found.Name, path), 0
			for _, one := range all {
				if tried == storetest.Sized(2, len(all)) {
					break
				}
				tried++
				if slices.ContainsFunc(all, func(above engine.SessionRows) bool { return strings.HasPrefix(one.ID, above.ID+"/") }) {
					continue // it goes with that
				}
				if deleteRows(t, path, one) == 0 {
					t.Errorf("%s has no rows", one.ID)
				}
				for _, below := range all {
					if strings.HasPrefix(below.ID, one.ID+"/") {
						deleteRows(t, path, below)
					}
				}
				without := rowsOf(t, path)
				gone := goneStore(t, a, found)
				list := storetest.Sessions(t, gone)
				if len(list) == 0 && found.Name != "cursor" { // a transcript may tell of it as well
					t.Errorf("%s is not gone", one.ID)
				}
				for _, info := range list {
					if info.ID != one.ID && strings.HasPrefix(info.ID, one.ID+"/") {
						continue
					}
					change := model.Change{Op: model.OpGiveBack, Ref: model.Ref{Session: info.ID}}
					plan, err := gone.Features().Plan(t.Context(), change)
					if unsupported := (*model.UnsupportedError)(nil); errors.As(err, &unsupported) {
						refused[found.Name] = unsupported.Reason
						continue
					}
					if err == nil {
						_, err = gone.Features().Apply(t.Context(), plan)
					}
					if err != nil {
						t.Fatalf("%s: %v", info.ID, err)
					}
					sameRows(t, info.ID, rowsOf(t, path), was[path])
					if left := storetest.Sessions(t, gone); len(left) > 0 {
						t.Errorf("%s is gone still", left[0].ID)
					}
					undo, err := gone.Features().Plan(t.Context(), model.Change{Op: model.OpUndo})
					if err == nil {
						_, err = gone.Features().Apply(t.Context(), undo)
					}
					if err != nil {
						t.Fatalf("undo of %s: %v", info.ID, err)
					}
					sameRows(t, "without "+info.ID, rowsOf(t, path), without)
					if plan, err = gone.Features().Plan(t.Context(), change); err == nil {
						_, err = gone.Features().Apply(t.Context(), plan)
					}
					if err != nil {
						t.Fatalf("%s again: %v", info.ID, err)
					}
					sameRows(t, info.ID, rowsOf(t, path), was[path])
					back[found.Name]++
				}
				if err := errors.Join(os.Remove(path), os.WriteFile(path, data, 0o600)); err != nil { // for the next session
					t.Fatal(err)
				}
			}
		}
	})
	for _, kind := range []string{"langgraph", "deepagents", "adk", "openai-agents", "crewai", "agno"} {
		if back[kind] == 0 {
			t.Errorf("%s: nothing was given back", kind)
		}
	}
	t.Log(back, refused)
}

// listRows returns the rows of the sessions of a database.
func listRows(t *testing.T, kind, path string) (list []engine.SessionRows) {
	t.Helper()
	for _, k := range kinds.Described(nil, "") {
		if k.Name != kind {
			continue
		}
		file := sqlitefile.New(path, nil)
		err := file.Read(t.Context(), func(tx *sqlitefile.Tx) (err error) {
			list, err = k.Tables.List(t.Context(), tx)
			return err
		})
		if err = errors.Join(err, file.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return list
}

// deleteRows deletes the rows of a session that no other session shares, and returns how many there were.
func deleteRows(t *testing.T, path string, one engine.SessionRows) (n int64) {
	t.Helper()
	onDatabase(t, path, "", func(tx *sqlitefile.Tx) error {
		for _, set := range slices.Backward(one.Sets) {
			if has, err := tx.Columns(t.Context(), set.Table); err != nil || set.Shared || len(has) == 0 {
				if err != nil {
					return err
				}
				continue
			}
			done, err := tx.Exec(t.Context(), `DELETE FROM "`+set.Table+`" WHERE `+set.Where, one.Key[:min(len(one.Key), strings.Count(set.Where, "?"))]...)
			if err != nil {
				return err
			}
			m, err := done.RowsAffected()
			if n += m; err != nil {
				return err
			}
		}
		return nil
	})
	return n
}

// onDatabase changes a database in one transaction, as a program would that has it open.
func onDatabase(t *testing.T, path, pragmas string, what func(tx *sqlitefile.Tx) error) {
	t.Helper()
	file := sqlitefile.NewOwn(path, "&_pragma=busy_timeout(10000)"+pragmas, nil)
	err := file.Write(t.Context(), what)
	if err = errors.Join(err, file.Close()); err != nil {
		t.Error(err)
	}
}

// sameRows compares the rows of a database.
func sameRows(t *testing.T, what string, now, was map[string]bool) {
	t.Helper()
	for row := range was {
		if !now[row] {
			t.Errorf("%s: %.200s is not there", what, row)
		}
	}
	for row := range now {
		if !was[row] {
			t.Errorf("%s: %.200s was not there", what, row)
		}
	}
}

// keptThreads is a database of LangGraph that a test changes.
func keptThreads(t *testing.T) (a *keep.Archive, found store.Found) {
	t.Helper()
	k, _ := allKinds.FindKind("langgraph")
	found = store.Found{Identity: store.Identity{Kind: k, At: rowstest.Copied(t, filepath.Join(testdata, "langgraph", "agent.db"))}}
	a = kinds.Archive(filepath.Join(t.TempDir(), "kept.db"), nil, "")
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a, found
}

// TestKeep_rowsInTheWay lays another row in the way of a session that is gone: it becomes a new session with the same states, which an undo
// takes away again. The other row stays.
func TestKeep_rowsInTheWay(t *testing.T) {
	skip.Sequential(t)
	a, found := keptThreads(t)
	if _, err := a.Keep(t.Context(), found); err != nil {
		t.Fatal(err)
	}
	thread := rowstest.Query(t, found.At, "SELECT thread_id FROM writes GROUP BY thread_id ORDER BY count(*) DESC LIMIT 1")[0]
	all := listRows(t, found.Name, found.At)
	one := all[slices.IndexFunc(all, func(r engine.SessionRows) bool { return r.ID == thread })]
	rowstest.Execute(t, found.At, "DELETE FROM checkpoints WHERE thread_id = '"+thread+"'",
		"UPDATE writes SET value = x'c0' WHERE rowid = (SELECT max(rowid) FROM writes WHERE thread_id = '"+thread+"')")
	was := rowsOf(t, found.At)
	gone := goneStore(t, a, found)
	change := model.Change{Op: model.OpGiveBack, Ref: model.Ref{Session: one.ID}}
	for range 2 { // what was planned and not carried out is planned again
		plan, err := gone.Features().Plan(t.Context(), change)
		if err != nil {
			t.Fatal(err)
		}
		if plan.NewSession == "" || plan.NewSession == one.ID || len(plan.Hazards) == 0 || !strings.Contains(plan.Hazards[0], "becomes a new session") {
			t.Errorf("the plan is %+v", plan)
		}
	}
	plan, err := gone.Features().Plan(t.Context(), change)
	if err == nil {
		_, err = gone.Features().Apply(t.Context(), plan)
	}
	if err != nil {
		t.Fatal(err)
	}
	live, _, err := liveOf(t, gone)
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	got, want := storetest.Headers(t, live, plan.NewSession), storetest.Headers(t, gone, one.ID)
	last := func(list []model.Header) *model.Header {
		return &list[slices.IndexFunc(list, func(h model.Header) bool { return h.Head })]
	}
	if x, y := stateOf(t, live, last(got)), stateOf(t, gone, last(want)); string(x) != string(y) {
		t.Errorf("the new session is at\n%s\nand not\n%s", x, y)
	}
	undo, err := live.Features().Plan(t.Context(), model.Change{Op: model.OpUndo})
	if err == nil {
		_, err = live.Features().Apply(t.Context(), undo)
	}
	if err != nil {
		t.Fatal(err)
	}
	sameRows(t, "undone", rowsOf(t, found.At), was)
}

// TestKeep_rowsWhileWritten keeps a database while its tool writes to it: each session that is kept is whole, with as many rows in one table as
// in the other.
func TestKeep_rowsWhileWritten(t *testing.T) {
	_, found := keptThreads(t)
	for _, mode := range []string{"wal", "delete"} {
		stop, ended, wrote := make(chan struct{}), make(chan struct{}), make(chan struct{}, 1)
		go func() {
			defer close(ended)
			for n := 0; ; n++ {
				onDatabase(t, found.At, "&_pragma=journal_mode("+mode+")", func(tx *sqlitefile.Tx) error {
					for i := range 20 {
						id := fmt.Sprintf("%s-%06d-%02d", mode, n, i)
						_, err := tx.Exec(t.Context(), "INSERT INTO checkpoints (thread_id, checkpoint_ns, checkpoint_id, type, checkpoint, metadata) VALUES ('even', '', ?, 'msgpack', x'80', x'80')", id)
						if err == nil {
							_, err = tx.Exec(t.Context(), "INSERT INTO writes (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value) VALUES ('even', '', ?, 't', '', 0, 'c', 'msgpack', x'80')", id)
						}
						if err != nil {
							return err
						}
					}
					return nil
				})
				select {
				case wrote <- struct{}{}:
				default:
				}
				select {
				case <-stop:
					return
				case <-time.After(50 * time.Millisecond): // a tool that writes twenty times a second: without end, nobody could read it
				}
			}
		}()
		var archives []*keep.Archive
		for i := range 3 {
			<-wrote
			a := kinds.Archive(filepath.Join(t.TempDir(), fmt.Sprint(i, ".db")), nil, "")
			defer a.Close()
			archives = append(archives, a)
			if _, err := a.Keep(t.Context(), found); err != nil {
				t.Errorf("%s: %v", mode, err)
			}
		}
		close(stop)
		<-ended
		for _, a := range archives {
			rowstest.Execute(t, found.At, "DELETE FROM checkpoints WHERE thread_id = 'even'", "DELETE FROM writes WHERE thread_id = 'even'")
			giveAllBack(t, goneStore(t, a, found))
			counts := rowstest.Query(t, found.At, "SELECT (SELECT count(*) FROM checkpoints WHERE thread_id = 'even') || ' ' || (SELECT count(*) FROM writes WHERE thread_id = 'even')")
			var x, y int
			if _, err := fmt.Sscan(counts[0], &x, &y); err != nil || x == 0 || x != y || x%20 != 0 {
				t.Errorf("%s: kept are %s rows: %v", mode, counts[0], err)
			}
		}
	}
}

// secretKey is a key of a known shape.
const secretKey = "sk-ant-api03-Zk3vQ9wB7xN2mL5tR8yC1dF4gH6jK0pS"

// TestKeep_redact keeps a transcript and a database without a secret that is in them. No byte of it is in the archive, all is read as before, and
// giving back says that it is not as it was. A plain run keeps it as it is.
func TestKeep_redact(t *testing.T) {
	skip.Sequential(t)
	x := keepTranscript(t)
	line := `{"type":"user","uuid":"6f1a9a1e-0000-4000-8000-000000000001","sessionId":"7ffd5cb9-ffe6-4e2c-bd4c-340dc7362789","timestamp":"2026-01-01T00:00:00Z","message":{"role":"user","content":"the key is ` + secretKey + `\nuse it"}}` + "\n"
	data, err := os.ReadFile(x.file)
	if err != nil {
		t.Fatal(err)
	}
	large := strings.Repeat(`{"type":"system","n":"`+strings.Repeat("lorem ", 5000)+`"}`+"\n", 150) // so that it is looked through in pieces
	x.write(t, []byte(string(data)+line+large+line))
	a := kinds.Archive(filepath.Join(t.TempDir(), "redacted.db"), nil, "")
	defer a.Close()
	keepRedacted := func() {
		t.Helper()
		if _, err := a.KeepRedacted(t.Context(), x.Found); err != nil {
			t.Fatal(err)
		}
	}
	kept := func() string {
		t.Helper()
		source := a.Source(t.Context(), filepath.ToSlash(filepath.Dir(x.file)))
		defer source.Close()
		got, _, err := source.Tree().Read(filepath.Base(x.file), nil)
		if err != nil {
			t.Fatal(err)
		}
		return string(got)
	}
	want := strings.ReplaceAll(string(data)+line+large+line, secretKey, strings.Repeat("x", len(secretKey)))
	keepRedacted()
	if got := kept(); got != want {
		t.Errorf("kept are %d bytes with the secret %d times, and %d of x", len(got), strings.Count(got, secretKey), strings.Count(got, "xxxxxxxxxx"))
	}
	keepRedacted()
	if err := os.Remove(x.file); err != nil {
		t.Fatal(err)
	}
	plan, err := goneStore(t, a, x.Found).Features().Plan(t.Context(), model.Change{Op: model.OpGiveBack, Ref: model.Ref{Session: "7ffd5cb9-ffe6-4e2c-bd4c-340dc7362789"}})
	if err != nil || len(plan.Hazards) == 0 || !strings.Contains(plan.Hazards[0], "without its secrets") {
		t.Errorf("the plan is %+v, %v", plan, err)
	}

	x.write(t, []byte(string(data)+line)) // plain: it is read again, and kept as it is
	hourAgo := time.Now().Add(-time.Hour)
	if err := os.Chtimes(x.file, hourAgo, hourAgo); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Keep(t.Context(), x.Found); err != nil || kept() != string(data)+line {
		t.Errorf("plain: %v", err)
	}
	keepRedacted() // it stays as it is while it does not change
	if kept() != string(data)+line {
		t.Error("a file that was kept plain is redacted although it did not change")
	}
	x.write(t, []byte(string(data)+line+line))
	keepRedacted()
	if strings.Contains(kept(), secretKey) {
		t.Error("a file that was kept plain and changed is not redacted")
	}
	if v, err := a.Verify(t.Context()); err != nil || len(v.Damaged) > 0 {
		t.Errorf("verified %+v, %v", v, err)
	}

	rows, found := keptThreads(t)
	rowstest.Execute(t, found.At, "UPDATE checkpoints SET metadata = CAST('{\"key\":\""+secretKey+"\"}' AS BLOB)", "UPDATE writes SET channel = '"+secretKey+"' || rowid")
	if _, err := rows.KeepRedacted(t.Context(), found); err != nil {
		t.Fatal(err)
	}
	if err := rows.Close(); err != nil {
		t.Fatal(err)
	}
	archive, err := os.ReadFile(rows.Path())
	if err != nil || strings.Contains(string(archive), "sk-ant") {
		t.Errorf("the secret is in the archive: %v", err)
	}
	rows = kinds.Archive(rows.Path(), nil, "")
	defer rows.Close()
	session := listRows(t, found.Name, found.At)[0].ID
	rowstest.Execute(t, found.At, "DELETE FROM checkpoints", "DELETE FROM writes")
	gone := goneStore(t, rows, found)
	plan, err = gone.Features().Plan(t.Context(), model.Change{Op: model.OpGiveBack, Ref: model.Ref{Session: session}})
	if err != nil || len(plan.Hazards) == 0 || !strings.Contains(plan.Hazards[0], "without its secrets") {
		t.Errorf("the plan is %+v, %v", plan, err)
	}
	if err == nil {
		_, err = gone.Features().Apply(t.Context(), plan)
	}
	if found := rowstest.Query(t, found.At, "SELECT metadata FROM checkpoints"); err != nil || len(found) == 0 || found[0] != `{"key":"`+strings.Repeat("x", len(secretKey))+`"}` {
		t.Errorf("given back are %q, %v", found, err)
	}
}

// TestKeep_rowsForget removes the rows of a session from the archive: the other sessions stay, and it is not kept again.
func TestKeep_rowsForget(t *testing.T) {
	skip.Sequential(t)
	a, found := keptThreads(t)
	if _, err := a.Keep(t.Context(), found); err != nil {
		t.Fatal(err)
	}
	all := listRows(t, found.Name, found.At)
	s, err := a.OpenKept(t.Context(), found)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := s.Features().Plan(t.Context(), model.Change{Op: model.OpForget, Ref: model.Ref{Session: all[0].ID}})
	if err == nil {
		_, err = s.Features().Apply(t.Context(), plan)
	}
	if err = errors.Join(err, s.Close()); err != nil || len(plan.Files) != 1 || plan.CanBeUndone() {
		t.Fatalf("%+v, %v", plan, err)
	}
	if _, err := a.Keep(t.Context(), found); err != nil {
		t.Fatal(err)
	}
	if v, err := a.Verify(t.Context()); err != nil || len(v.Damaged) > 0 || v.Files != len(all) { // the database itself is one
		t.Errorf("verified %+v of %d sessions, %v", v, len(all), err)
	}
	rowstest.Execute(t, found.At, "DELETE FROM checkpoints", "DELETE FROM writes")
	for _, info := range storetest.Sessions(t, goneStore(t, a, found)) {
		if info.ID == all[0].ID {
			t.Error("it is kept still")
		}
	}
}
