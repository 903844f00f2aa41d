package rows

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/media/sqlitefile"
	"hindcast/store/storetest"
	"hindcast/store/storetest/rowstest"
)

// faulty is a carrier one of whose calls fails, once.
type faulty struct {
	carrier
	calls *int
	// at is the call that fails, from 1; 0 for none.
	at *int
}

func (f faulty) within(what func(tables) error) func(tables) error {
	return func(t tables) error { return what(faultyTx{t, f}) }
}

func (f faulty) Read(ctx context.Context, what func(tables) error) error {
	return f.carrier.Read(ctx, f.within(what))
}

func (f faulty) Suppose(ctx context.Context, what func(tables) error) error {
	return f.carrier.Suppose(ctx, f.within(what))
}

func (f faulty) Amend(ctx context.Context, what func(tables) error) error {
	return f.carrier.Amend(ctx, f.within(what))
}

func (f faulty) ask() error {
	if *f.calls++; *f.calls == *f.at {
		return errBroken
	}
	return nil
}

// faultyTx is a transaction one of whose calls fails, once.
type faultyTx struct {
	tables
	f faulty
}

type failed struct{ error }

func (f failed) Scan(...any) error { return f.error }

func (t faultyTx) Row(ctx context.Context, query string, args ...any) interface{ Scan(into ...any) error } {
	if err := t.f.ask(); err != nil {
		return failed{err}
	}
	return t.tables.Row(ctx, query, args...)
}

func (t faultyTx) First(ctx context.Context, into []any, query string, args ...any) (bool, error) {
	if err := t.f.ask(); err != nil {
		return false, err
	}
	return t.tables.First(ctx, into, query, args...)
}

func (t faultyTx) Each(ctx context.Context, row func(scan func(into ...any) error) error, query string, args ...any) error {
	if err := t.f.ask(); err != nil {
		return err
	}
	return t.tables.Each(ctx, row, query, args...)
}

func (t faultyTx) listTableSets(ctx context.Context, k Kind) ([]map[string]string, error) {
	if err := t.f.ask(); err != nil {
		return nil, err
	}
	return t.tables.listTableSets(ctx, k)
}

func (t faultyTx) listKeys(ctx context.Context, k Kind, in Place) ([][]string, error) {
	if err := t.f.ask(); err != nil {
		return nil, err
	}
	return t.tables.listKeys(ctx, k, in)
}

func (t faultyTx) readMarks(ctx context.Context, k Kind, at Place, was []mark, newest string) ([]mark, bool, error) {
	if err := t.f.ask(); err != nil {
		return nil, false, err
	}
	return t.tables.readMarks(ctx, k, at, was, newest)
}

func (t faultyTx) upTo(ctx context.Context, k Kind, at Place, newest string, now []mark) ([]mark, error) {
	if err := t.f.ask(); err != nil {
		return nil, err
	}
	return t.tables.upTo(ctx, k, at, newest, now)
}

func (t faultyTx) readExtent(ctx context.Context, k Kind, at Place) ([]mark, error) {
	if err := t.f.ask(); err != nil {
		return nil, err
	}
	return t.tables.readExtent(ctx, k, at)
}

func (t faultyTx) eachRow(ctx context.Context, table, where string, row func(at int64, r Row), args ...any) error {
	if err := t.f.ask(); err != nil {
		return err
	}
	return t.tables.eachRow(ctx, table, where, row, args...)
}

func (t faultyTx) currentRows(ctx context.Context, steps []Step) ([]Row, error) {
	if err := t.f.ask(); err != nil {
		return nil, err
	}
	return t.tables.currentRows(ctx, steps)
}

func (t faultyTx) layViews(ctx context.Context, steps []Step) error {
	if err := t.f.ask(); err != nil {
		return err
	}
	return t.tables.layViews(ctx, steps)
}

func (t faultyTx) carryOut(ctx context.Context, steps []Step) error {
	if err := t.f.ask(); err != nil {
		return err
	}
	return t.tables.carryOut(ctx, steps)
}

func (t faultyTx) checkTables(ctx context.Context, k Kind) ([]model.Fault, error) {
	if err := t.f.ask(); err != nil {
		return nil, err
	}
	return t.tables.checkTables(ctx, k)
}

// TestErrors: whichever call of the database fails in the course of a question or a write, its error is
// told, no row changes, and the next time all is as ever.
func TestErrors(t *testing.T) {
	questions := map[string]func(ctx context.Context, s *Store) (any, error){
		"sessions": func(ctx context.Context, s *Store) (list any, err error) {
			var all []model.SessionInfo
			for info, failed := range s.Sessions(ctx) {
				if failed != nil {
					return nil, failed
				}
				all = append(all, info)
			}
			return all, nil
		},
		"headers": func(ctx context.Context, s *Store) (any, error) {
			var all []model.Header
			for h, failed := range s.Headers(ctx, "plain") {
				if failed != nil {
					return nil, failed
				}
				all = append(all, h)
			}
			return all, nil
		},
		"state": func(ctx context.Context, s *Store) (any, error) {
			return s.State(ctx, model.Ref{Session: "tour", ID: "e5"})
		},
		"facts": func(ctx context.Context, s *Store) (any, error) {
			return s.Facts(ctx, model.Ref{Session: "tour", ID: "e5"})
		},
		"gaps": func(ctx context.Context, s *Store) (any, error) {
			return s.Gaps(ctx, model.Ref{Session: "tour", ID: "e5"})
		},
		"faults": func(ctx context.Context, s *Store) (any, error) { return s.Faults(ctx, "tour") },
		"check":  func(ctx context.Context, s *Store) (any, error) { return s.Faults(ctx, "") },
		"tail": func(ctx context.Context, s *Store) (any, error) {
			list, before, err := s.Tail(ctx, "plain", 2)
			return fmt.Sprint(before, drawing(list)), err
		},
		"cursor": func(ctx context.Context, s *Store) (any, error) {
			at, err := s.Cursor(ctx, "tour")
			return at.Visit, err
		},
		"growth": func(ctx context.Context, s *Store) (any, error) {
			if _, err := s.Cursor(ctx, "tour"); err != nil {
				return nil, err
			}
			g, err := s.Growth(ctx, "tour", store.Cursor{Visit: 2})
			return fmt.Sprint(len(g.Headers) > 0), err
		},
	}
	changes := map[string][]model.Change{
		"restore":          {to(model.OpRestore, "tour", "e2")},
		"fork":             {{Op: model.OpFork, Ref: model.Ref{Session: "tour", ID: "e5"}, As: "again"}},
		"repair":           {{Op: model.OpRepair, Ref: model.Ref{Session: "plain"}}},
		"undo":             {to(model.OpRestore, "tour", "e2"), undo},
		"redo":             {to(model.OpRestore, "tour", "e2"), undo, redo},
		"undo of a fork":   {{Op: model.OpFork, Ref: model.Ref{Session: "tour", ID: "e5"}, As: "again"}, undo},
		"undo of a repair": {{Op: model.OpRepair, Ref: model.Ref{Session: "plain"}}, undo},
	}
	path := demoFile(t)
	for what, ask := range questions {
		for _, k := range []Kind{demoKind, withFormat(doctored{}), withFormat(listing{})} {
			want, err := ask(t.Context(), openDemo(t, k, path))
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			passed := 0
			for n := 1; ; n++ {
				s, calls := openDemo(t, k, path), 0
				s.carrier = faulty{s.carrier, &calls, &n}
				got, err := ask(t.Context(), s)
				if calls < n {
					break
				}
				// A state that cannot be read is a fault of the session.
				if told := what == "faults" && strings.Contains(fmt.Sprint(got), errBroken.Error()); err == nil && !told {
					passed++
				} else if !told && !errors.Is(err, errBroken) {
					t.Errorf("%s, call %d: %v", what, n, err)
				}
				if got, err := ask(t.Context(), s); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("%s, behind a failure of call %d: %v instead of %v, %v", what, n, got, want, err)
				}
			}
			// The conversation of a state that cannot be read is not looked at: that is told of the state.
			if most := map[string]int{"faults": 1}[what]; passed > most {
				t.Errorf("%s: %d failures are told to no one", what, passed)
			}
		}
	}
	for what, all := range changes {
		path, s := demoFile(t), (*Store)(nil)
		s = openDemo(t, demoKind, path)
		for _, c := range all[:len(all)-1] {
			do(t, s, c)
		}
		last, calls, at := all[len(all)-1], 0, 0
		whole := s.carrier
		s.carrier = faulty{whole, &calls, &at}
		before, passed := storetest.Tables(t, path), 0
		for at = 1; ; at++ {
			calls = 0
			_, err := s.Plan(t.Context(), last)
			if calls < at {
				break
			}
			if err == nil {
				passed++
			} else if !errors.Is(err, errBroken) {
				t.Errorf("the plan of %s, call %d: %v", what, at, err)
			}
		}
		if passed > 1 { // the state of the new head, see TestErrors_ofTheState
			t.Errorf("the plan of %s: %d failures are told to no one", what, passed)
		}
		at = 0
		p := plan(t, s, last)
		for at = 1; ; at++ {
			calls = 0
			_, err := s.Apply(t.Context(), p)
			if calls < at {
				if err != nil {
					t.Errorf("%s: %v", what, err)
				}
				break
			}
			if !errors.Is(err, errBroken) {
				t.Errorf("%s, call %d: %v", what, at, err)
			}
			if storetest.Tables(t, path) != before {
				t.Errorf("%s, call %d: rows changed", what, at)
			}
			list, err := s.Journal(t.Context())
			if err != nil || len(list) != min(len(all)-1, 1) {
				t.Errorf("%s, call %d: the journal has %+v, %v", what, at, list, err)
			}
		}
		if at < 3 {
			t.Errorf("%s takes %d calls", what, at)
		}
		if storetest.Tables(t, path) == before {
			t.Errorf("%s: no row changed", what)
		}
	}
}

func withFormat(f Format) Kind {
	k := demoKind
	k.Format = f
	return k
}

// TestErrors_ofTheState: that a state cannot be read is told of the state, and not of what goes on from
// it.
func TestErrors_ofTheState(t *testing.T) {
	s := openDemo(t, withFormat(stateless{}), demoFile(t))
	if calls, err := s.Resume(t.Context(), model.Ref{Session: "tour", ID: "e2"}); err != nil || len(calls) != 1 {
		t.Error(calls, err)
	}
	if p := plan(t, s, to(model.OpRestore, "tour", "e2")); p.Target.ID != "e2" {
		t.Errorf("%+v", p)
	}
	if _, err := s.State(t.Context(), model.Ref{Session: "tour", ID: "e2"}); !errors.Is(err, errBroken) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancelled := openDemo(t, withFormat(stateless{cancel: cancel}), demoFile(t))
	if _, err := cancelled.Plan(ctx, to(model.OpRestore, "tour", "e2")); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	cancelled = openDemo(t, withFormat(stateless{cancel: cancel}), demoFile(t))
	if _, err := cancelled.Resume(ctx, model.Ref{Session: "tour", ID: "e2"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// stateless has no states.
type stateless struct {
	demo
	cancel func()
}

func (s stateless) State(context.Context, Tx, Place, string) ([]byte, error) {
	if s.cancel != nil {
		s.cancel()
	}
	return nil, errBroken
}

// TestSessions_stops where it is told to, and with its context.
func TestSessions_stops(t *testing.T) {
	s := openDemo(t, demoKind, demoFile(t))
	n := 0
	for range s.Sessions(t.Context()) {
		n++
		break
	}
	for range s.Headers(t.Context(), "tour") {
		n++
		break
	}
	if n != 2 {
		t.Error(n)
	}
	for _, list := range []func(context.Context, func()) error{
		func(ctx context.Context, cancel func()) (err error) {
			for _, failed := range s.Sessions(ctx) {
				err = failed
				cancel()
			}
			return err
		},
		func(ctx context.Context, cancel func()) (err error) {
			for _, failed := range s.Headers(ctx, "tour") {
				err = failed
				cancel()
			}
			return err
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		if err := list(ctx, cancel); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
}

// TestDamage: of a file with torn pages the rest is read, and of values that are too large the rows
// beside them.
func TestDamage(t *testing.T) {
	var many []string
	for i := range 120 {
		many = append(many, entryRow("long", "", fmt.Sprintf("x%03d", i), map[bool]string{true: fmt.Sprintf("x%03d", i-1)}[i > 0], 100+i, "user", fmt.Sprintf("%0200d", i)))
	}
	rowstest.Torn(t, demoKind.Kind(nil, "").Kind, demoFile(t, many...), 1)
}

// TestLarge: a value that is larger than the framework writes is passed over with its row, and told; one
// that may be large is read.
func TestLarge(t *testing.T) {
	path := demoFile(t,
		entryRow("large", "", "l4", "l1", 3, "user", "behind"), // the rows are stored in another order
		fmt.Sprintf(`INSERT INTO entries VALUES ('large', '', 'l2', hex(zeroblob(%d)), '{}', 1767225601)`, mostSmall/2),
		fmt.Sprintf(`INSERT INTO entries VALUES ('large', '', 'l1', '', '{"role":"user","content":"' || hex(zeroblob(%d)) || '"}', 1767225600)`, usualCell/2+1),
		"INSERT INTO answers SELECT session, branch, id, at FROM entries WHERE session = 'large'")
	s := openDemo(t, demoKind, path)
	if got := drawn(t, s, "large"); got != "l1< t0 l2<"+storetest.Headers(t, s, "large")[1].ParentID+" t0~ l4<l1 t1*" {
		t.Error(len(got))
	}
	rowstest.Execute(t, path, fmt.Sprintf("UPDATE entries SET parent = hex(zeroblob(%d)) WHERE id = 'l2'", mostSmall/2+1))
	if list := storetest.Faults(t, s, ""); len(list) != 1 || list[0].Code != FaultRow || list[0].File != "entries" || list[0].Meaning != "entries.parent of row 12 is 1 MB: the row is not read" {
		t.Errorf("%+v", list)
	}
	rowstest.Execute(t, path, fmt.Sprintf("UPDATE entries SET parent = hex(zeroblob(%d)) WHERE id = 'l2'", usualCell/2+1))
	s = openDemo(t, demoKind, path)
	if got := drawn(t, s, "large"); got != "l1< t0 l4<l1 t1*" {
		t.Error(len(got))
	}
	if list := storetest.Faults(t, s, "large"); len(list) != 1 || list[0].Code != FaultRow || list[0].Meaning != "entries.parent of row 12 is 4 MB: the row is not read" {
		t.Errorf("%+v", list)
	}
	if _, err := s.Plan(t.Context(), to(model.OpRestore, "large", "l1")); err == nil {
		t.Error("a plan is made of a session that is read in part")
	}
	var many []string
	for i := range 2 * mostLargeTold {
		many = append(many, fmt.Sprintf("INSERT INTO entries VALUES ('many', '', 'm%d', hex(zeroblob(%d)), '{}', 0)", i, mostSmall/2+1))
	}
	s = openDemo(t, demoKind, demoFile(t, many...))
	if list := storetest.Faults(t, s, ""); len(list) != mostLargeTold {
		t.Errorf("%d are told", len(list))
	}
}

// TestLost: a store of which no row can be read is no empty one.
func TestLost(t *testing.T) {
	path := newDatabase(t, t.TempDir()+"/demo.db", slices.Concat(demoTables, []string{
		fmt.Sprintf("INSERT INTO entries VALUES ('large', '', 'l1', hex(zeroblob(%d)), '{}', 0)", usualCell/2+1)})...)
	s := openDemo(t, demoKind, path)
	for _, err := range s.Sessions(t.Context()) {
		if err == nil || !errors.Is(err, sqlitefile.ErrDamaged) {
			t.Error(err)
		}
	}
	if list := storetest.Sessions(t, openDemo(t, demoKind, newDatabase(t, t.TempDir()+"/demo.db", demoTables...))); len(list) != 0 {
		t.Errorf("%+v", list)
	}
}
