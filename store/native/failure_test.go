package native_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/native"
	"hindcast/store/native/sqlite"
	"hindcast/store/storetest"
)

// tables are those of a store in which rows change.
var tables = []string{"states", "blocks", "parts", "sessions", "reasons", "visits", "journal", "journal_visits"}

// fused has a change of a row fail once in a store, see burn.
func fused(t *testing.T, s *sqlite.Store) {
	t.Helper()
	statements := []string{"CREATE TABLE fuse (rest INTEGER)", "INSERT INTO fuse VALUES (-1)"}
	for _, table := range tables {
		for _, does := range []string{"INSERT", "UPDATE", "DELETE"} {
			statements = append(statements, fmt.Sprintf(`CREATE TRIGGER fuse_%[1]s_%[2]s BEFORE %[2]s ON %[1]s BEGIN
				UPDATE fuse SET rest = rest - 1 WHERE rest >= 0;
				SELECT RAISE(FAIL, 'the fuse is burnt') WHERE (SELECT rest FROM fuse) = 0; END`, table, does))
		}
	}
	must(t, s.Change(t.Context(), func(tx *native.Transaction) error {
		for _, statement := range statements {
			if err := tx.Exec(t.Context(), statement); err != nil {
				return fmt.Errorf("%s: %w", statement, err)
			}
		}
		return nil
	}))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// burn has the n-th change of a row fail, counted from one; none where n is negative.
func burn(t *testing.T, s *sqlite.Store, n int) {
	t.Helper()
	must(t, s.Change(t.Context(), func(tx *native.Transaction) error {
		return tx.Exec(t.Context(), "UPDATE fuse SET rest = ?", n)
	}))
}

// rest returns how many changes of rows are left until one fails; 0 where one failed.
func rest(t *testing.T, s *sqlite.Store) (n int) {
	t.Helper()
	must(t, s.Change(t.Context(), func(tx *native.Transaction) error {
		return tx.Row(t.Context(), "SELECT rest FROM fuse").Scan(&n)
	}))
	return n
}

// The states of the session that writes change.
const a, b, c = `{"messages":[{"role":"user","content":"a"}]}`, `{"messages":[{"role":"user","content":"a"},{"role":"user","content":"b"}]}`, `{"c":1}`

// write is one of the writes that follow one another.
type write struct {
	name string
	do   func() error
}

// writesOf returns the writes of a store that has the states a, b and c.
func writesOf(t *testing.T, s *sqlite.Store) []write {
	ref := func(session, state string) model.Ref {
		return model.Ref{Session: session, ID: model.SnapshotID([]byte(state))}
	}
	plans := func(change model.Change) func() error {
		return func() error {
			plan, err := s.Plan(t.Context(), change)
			if err == nil {
				_, err = s.Apply(t.Context(), plan)
			}
			return err
		}
	}
	imports := func(rows ...model.Snapshot[json.RawMessage]) func() error {
		return func() error {
			_, err := s.Import(t.Context(), func(yield func(store.Row, error) bool) {
				for i := range rows {
					h := model.Header{ID: rows[i].ID, SessionID: rows[i].SessionID, Index: rows[i].Index}
					if !yield(store.Row{Header: h, State: rows[i].State}, nil) {
						return
					}
				}
			})
			return err
		}
	}
	row := func(session, state string, index int) model.Snapshot[json.RawMessage] {
		return model.Snapshot[json.RawMessage]{ID: model.SnapshotID([]byte(state)), SessionID: session, Index: index, State: json.RawMessage(state)}
	}
	return []write{
		{"save", func() error { r := row("s", `{"d":1}`, 3); return s.SaveSnapshot(t.Context(), &r) }},
		{"restore", plans(model.Change{Op: model.OpRestore, Ref: ref("s", a)})},
		{"undo", plans(model.Change{Op: model.OpUndo})},
		{"redo", plans(model.Change{Op: model.OpRedo})},
		{"restore of what left the path", plans(model.Change{Op: model.OpRestore, Ref: ref("s", c)})},
		{"undo of that", plans(model.Change{Op: model.OpUndo})},
		{"fork", plans(model.Change{Op: model.OpFork, Ref: ref("s", b), As: "t"})},
		{"undo of the fork", plans(model.Change{Op: model.OpUndo})},
		{"redo of the fork", plans(model.Change{Op: model.OpRedo})},
		{"import", imports(row("s", `{"e":1}`, 4), row("u", a, 0), row("u", `{"f":1}`, 1))},
		{"undo of the import", plans(model.Change{Op: model.OpUndo})},
		{"import once more", imports(row("u", a, 0))},
	}
}

// TestChange_fails lets each change of a row of each write fail, once. The write says so,
// and leaves no trace; where none failed it is done.
func TestChange_fails(t *testing.T) {
	s, failures := newStore(t, a, b, c), 0
	fused(t, s)
	for _, op := range writesOf(t, s) {
		for n := 1; ; n++ {
			before, entries := storetest.Dump(t, s), entriesOf(t, s)
			burn(t, s, n)
			err := op.do()
			if left := rest(t, s); err == nil {
				if left <= 0 {
					t.Errorf("%s: change %d failed, and nobody was told", op.name, n)
				}
				if n == 1 {
					t.Errorf("%s changes nothing", op.name)
				}
				burn(t, s, -1)
				break
			}
			failures++
			if !strings.Contains(err.Error(), "the fuse is burnt") {
				t.Fatalf("%s, change %d: %v", op.name, n, err)
			}
			burn(t, s, -1)
			if after := storetest.Dump(t, s); after != before || !slices.Equal(entriesOf(t, s), entries) {
				t.Fatalf("%s, change %d: %v: the store holds\n%s\nwant\n%s", op.name, n, err, after, before)
			}
		}
	}
	if failures < 60 {
		t.Errorf("%d changes failed", failures)
	}
	if faults, err := s.Faults(t.Context(), ""); err != nil || len(faults) > 0 {
		t.Error(errors.Join(err), faults)
	}
}

// entriesOf returns what the journal says.
func entriesOf(t *testing.T, s *sqlite.Store) (list []string) {
	t.Helper()
	journal, err := s.Journal(t.Context())
	must(t, err)
	for _, e := range journal {
		list = append(list, fmt.Sprintf("%d %s %s %v", e.ID, e.Op, e.Session, e.Undone))
	}
	return list
}

// TestCall_fails lets each call of the database fail, once, in the course of each write and of each
// question. It is told, nothing is left of a write, and the answers are the same the next time.
func TestCall_fails(t *testing.T) {
	s := newStore(t, a, b, c)
	for _, op := range writesOf(t, s) {
		for n := 1; ; n++ {
			before, entries := storetest.Dump(t, s), entriesOf(t, s)
			var err error
			if calls := s.FailAt(n, func() { err = op.do() }); calls < n {
				must(t, err)
				break
			}
			if !errors.Is(err, native.ErrCall) {
				t.Errorf("%s, call %d: %v", op.name, n, err)
			}
			if after := storetest.Dump(t, s); after != before || !slices.Equal(entriesOf(t, s), entries) {
				t.Fatalf("%s, call %d: %v: the store holds\n%s\nwant\n%s", op.name, n, err, after, before)
			}
		}
	}
	ref := model.Ref{Session: "s", ID: model.SnapshotID([]byte(b))}
	for name, ask := range map[string]func() (any, error){
		"sessions": func() (list any, err error) {
			var all []model.SessionInfo
			for info, failed := range s.Sessions(t.Context()) {
				all, err = append(all, info), errors.Join(err, failed)
			}
			return all, err
		},
		"headers": func() (any, error) {
			var all []model.Header
			var err error
			for h, failed := range s.Headers(t.Context(), "s") {
				all, err = append(all, h), errors.Join(err, failed)
			}
			return all, err
		},
		"state":   func() (any, error) { return s.State(t.Context(), ref) },
		"faults":  func() (any, error) { return s.Faults(t.Context(), "s") },
		"check":   func() (any, error) { return s.Faults(t.Context(), "") },
		"journal": func() (any, error) { return s.Journal(t.Context()) },
		"cursor":  func() (any, error) { return s.Cursor(t.Context(), "s") },
		"growth":  func() (any, error) { return s.Growth(t.Context(), "s", store.Cursor{}) },
		"tail": func() (any, error) {
			list, before, err := s.Tail(t.Context(), "s", 2)
			return []any{list, before}, err
		},
	} {
		want, err := ask()
		must(t, err)
		for n := 1; ; n++ {
			var got any
			var err error
			if calls := s.FailAt(n, func() { got, err = ask() }); calls < n {
				break
			}
			// A state that cannot be read is a fault of the session; what it says is not looked at then.
			told := name == "faults" && err == nil && (strings.Contains(fmt.Sprint(got), native.ErrCall.Error()) || reflect.DeepEqual(got, want))
			if !told && !errors.Is(err, native.ErrCall) {
				t.Errorf("%s, call %d: %v, %v", name, n, got, err)
			}
			if got, err := ask(); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s, behind call %d: %v instead of %v, %v", name, n, got, want, err)
			}
		}
	}
}
