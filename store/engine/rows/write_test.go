package rows

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine/planning"
	"hindcast/store/media/journal"
	"hindcast/store/media/pg"
	"hindcast/store/storetest"
	"hindcast/store/storetest/rowstest"
)

func plan(t testing.TB, s store.Store, c model.Change) model.Plan {
	t.Helper()
	p, err := s.Features().Plan(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func apply(t testing.TB, s store.Store, p model.Plan) model.Receipt {
	t.Helper()
	r, err := s.Features().Apply(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func do(t testing.TB, s store.Store, c model.Change) model.Receipt {
	t.Helper()
	return apply(t, s, plan(t, s, c))
}

func to(op model.Op, session, id string) model.Change {
	return model.Change{Op: op, Ref: model.Ref{Session: session, ID: id}}
}

var undo, redo = model.Change{Op: model.OpUndo}, model.Change{Op: model.OpRedo}

// idsOf returns the ids of points.
func idsOf(points []model.Point) string {
	var list []string
	for _, p := range points {
		list = append(list, p.ID)
	}
	return strings.Join(list, " ")
}

// TestRows: the demo holds all that a store holds that writes into the tables of another program.
func TestRows(t *testing.T) {
	storetest.Rows(t, demoKind.Kind(nil, "").Kind, demoFile(t), "heads")
}

func TestRows_served(t *testing.T) {
	address, c := served(t)
	s := storetest.OpenStore(t, onServer(t.TempDir()), address)
	storetest.RowsOn(t, storetest.AsWriter(s), func() string { return c.Rows(t, address) }, "heads")
}

// TestPlan says what a write will do.
func TestPlan(t *testing.T) {
	both(t, func(t *testing.T, s store.Store, _ func(...string)) {
		p := plan(t, s, to(model.OpRestore, "tour", "e2"))
		if p.Op != model.OpRestore || p.Session != "tour" || p.Target.ID != "e2" || p.Head.ID != "e4" || p.NewHead || idsOf(p.Orphans) != "e3 e4" || len(p.Reactivates) != 0 {
			t.Errorf("%+v", p)
		}
		if len(p.Writes) != 2 || p.Writes[0] != "rows of heads: 1 replaced" || !strings.HasPrefix(p.Writes[1], "journal: one entry, in demo") ||
			!strings.HasSuffix(p.Writes[1], "demo.db-hindcast beside the file") && !strings.HasSuffix(p.Writes[1], " in your folder for data") {
			t.Errorf("%q", p.Writes)
		}
		if p.Loads != "the entries of tour" || len(p.Resume) != 1 || p.Resume[0].Call != "demo resume tour" || !slices.Equal(p.Hazards, []string{"a hazard of e2", "a hazard of e2"}) || !slices.Equal(p.Asks, []string{"really e2?", "really e2?"}) {
			t.Errorf("%+v", p)
		}
		if back := plan(t, s, to(model.OpRestore, "tour", "e6")); idsOf(back.Reactivates) != "e5 e6" || idsOf(back.Orphans) != "e3 e4" {
			t.Errorf("%+v", back)
		}
		if p := plan(t, s, to(model.OpRestore, "tour", "e4")); !p.Idle() || len(p.Writes) != 0 || len(p.Orphans) != 0 {
			t.Errorf("to where it is: %+v", p)
		}
		fork := plan(t, s, model.Change{Op: model.OpFork, Ref: model.Ref{Session: "tour", ID: "e5"}, As: "again"})
		if fork.NewSession != "again" || fork.Session != "tour" || fork.Head.ID != "e4" || len(fork.Orphans) != 0 || fork.Writes[0] != "rows of entries: 3 added" || fork.Writes[1] != "rows of answers: 3 added" {
			t.Errorf("%+v", fork)
		}
		repair := plan(t, s, model.Change{Op: model.OpRepair, Ref: model.Ref{Session: "tour"}})
		if !repair.NewHead || repair.Target.ID != "e4" || idsOf(repair.Orphans) != "e4" {
			t.Errorf("%+v", repair)
		}
	})
}

// TestPlan_refused: what cannot be planned says why.
func TestPlan_refused(t *testing.T) {
	both(t, func(t *testing.T, s store.Store, change func(...string)) {
		fork := func(as string) model.Change {
			return model.Change{Op: model.OpFork, Ref: model.Ref{Session: "tour", ID: "e2"}, As: as}
		}
		for _, c := range []struct {
			change model.Change
			is     error
		}{
			{to(model.OpRestore, "none", "e1"), model.ErrNoSession},
			{to(model.OpRestore, "tour", "none"), model.ErrNoSnapshot},
			{model.Change{Op: model.OpRestore, Ref: model.Ref{Session: "tour", ID: "e1", Visit: 2}}, model.ErrNoSnapshot},
			{fork("plain"), store.ErrSessionExists},
			{fork("tour"), store.ErrSessionExists},
			{fork("tour/side"), store.ErrSessionExists},
			{undo, &model.NothingToError{}},
			{redo, &model.NothingToError{}},
		} {
			_, err := s.Features().Plan(t.Context(), c.change)
			if nothing, is := c.is.(*model.NothingToError); is && errors.As(err, &nothing) && nothing.Op == c.change.Op {
				continue
			}
			if !errors.Is(err, c.is) || !strings.Contains(err.Error(), "demo") {
				t.Errorf("%+v: %v", c.change, err)
			}
		}
		var refused *model.UnsupportedError
		_, err := s.Features().Plan(t.Context(), to(model.OpEdit, "tour", "e1"))
		if !errors.As(err, &refused) || refused.Op != model.OpEdit || refused.Reason != "entries are not edited: fork instead" {
			t.Error(err)
		}
		for op, want := range map[model.Op]string{
			model.OpRestore: "", model.OpFork: "", model.OpRepair: "", model.OpUndo: "", model.OpRedo: "",
			model.OpEdit: "entries are not edited: fork instead", model.OpPurge: store.Cannot("demo", model.OpPurge),
		} {
			if got := s.Features().Lacks(op); got != want {
				t.Errorf("%s: %q", op, got)
			}
		}
		if _, err := s.Features().Apply(t.Context(), model.Plan{Op: model.OpRestore, Session: "tour"}); !errors.Is(err, journal.ErrNoCarry) {
			t.Error(err)
		}
	})
	// What is no Mover writes nothing, and what has no journal neither.
	k := demoKind
	k.Format = plainFormat{demo{}}
	s := openDemo(t, k, demoFile(t))
	for _, op := range []model.Op{model.OpRestore, model.OpUndo} {
		if got := s.Lacks(op); got != "Demo writes by itself" {
			t.Errorf("%s: %q", op, got)
		}
	}
	address, _ := served(t)
	bare := storetest.AsWriter(storetest.OpenStore(t, onServer(""), address))
	if got := bare.Lacks(model.OpRestore); got != errNoFolder {
		t.Error(got)
	}
	if list, err := bare.Journal(t.Context()); err != nil || len(list) != 0 {
		t.Error(list, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := bare.Journal(ended); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	path := demoFile(t)
	unread := openDemo(t, demoKind, path)
	if err := os.Mkdir(path+Beside, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := unread.Journal(t.Context()); err == nil || !strings.Contains(err.Error(), "demo: read the journal: ") {
		t.Error(err)
	}
	if _, err := unread.Plan(t.Context(), undo); err == nil || errors.As(err, new(*model.NothingToError)) {
		t.Error(err)
	}
}

// TestApply restores, forks and repairs, takes each back and does it again; the journal tells of each.
func TestApply(t *testing.T) {
	both(t, func(t *testing.T, s store.Store, change func(...string)) {
		w := storetest.AsWriter(s)
		before := drawn(t, s, "tour")
		moved := "e1< t0 e2<e1 t0* e3<e2 t1~ e4<e3 t1~ e5<e2 t1~ e6<e5 t1~"
		r := do(t, s, to(model.OpRestore, "tour", "e2"))
		if r.Entry != 1 || r.Session != "tour" || r.Head.ID != "e2" || r.Orphaned != 2 || r.Reactivated != 0 || r.Op != model.OpRestore {
			t.Errorf("%+v", r)
		}
		if got := drawn(t, s, "tour"); got != moved {
			t.Error(got)
		}
		var why *model.Reason
		for _, h := range storetest.Headers(t, s, "tour") {
			if h.ID == "e4" {
				why = h.Reason
			}
		}
		if why == nil || why.Kind != model.ReasonRestore || why.TargetID != "e2" || why.TargetIndex != 1 || why.At.IsZero() {
			t.Errorf("%+v", why)
		}
		p := plan(t, s, undo)
		if p.Entry != 1 || p.Removes || p.Target.ID != "e4" || idsOf(p.Reactivates) != "e3 e4" {
			t.Errorf("%+v", p)
		}
		if r := apply(t, s, p); r.Entry != 1 || r.Op != model.OpUndo || r.Reactivated != 2 {
			t.Errorf("%+v", r)
		}
		if got := drawn(t, s, "tour"); got != before {
			t.Error(got)
		}
		if p := plan(t, s, redo); p.Target.ID != "e2" || p.Target.Index != 1 || p.Entry != 1 {
			t.Errorf("%+v", p)
		}
		do(t, s, redo)
		if got := drawn(t, s, "tour"); got != moved {
			t.Error(got)
		}
		r = do(t, s, model.Change{Op: model.OpFork, Ref: model.Ref{Session: "tour", ID: "e5"}, As: "again"})
		if r.Session != "again" || r.Entry <= 1 || r.Head.ID != "e5" {
			t.Errorf("%+v", r)
		}
		if got := drawn(t, s, "again"); got != "e1< t0 e2<e1 t0 e5<e2 t1*" {
			t.Error(got)
		}
		if p := plan(t, s, undo); !p.Removes || p.Session != "again" {
			t.Errorf("%+v", p)
		}
		do(t, s, undo)
		if _, err := s.State(t.Context(), model.Ref{Session: "again", ID: "e5"}); !errors.Is(err, model.ErrNoSession) {
			t.Error(err)
		}
		if p := plan(t, s, redo); p.Target.ID != "e5" {
			t.Errorf("%+v", p)
		}
		do(t, s, redo)
		do(t, s, undo)
		r = do(t, s, model.Change{Op: model.OpRepair, Ref: model.Ref{Session: "plain"}})
		if got := drawn(t, s, "plain"); got != "p1< t0 p2<p1 t0 p3<p2 t1~ p3r<p2 t0*?" || r.Head.ID != "p3r" {
			t.Errorf("%s %+v", got, r)
		}
		for _, h := range storetest.Headers(t, s, "plain") {
			if h.ID == "p3" && (h.Reason == nil || h.Reason.Kind != model.ReasonRepair) {
				t.Errorf("%+v", h.Reason)
			}
		}
		if _, err := w.Plan(t.Context(), redo); err == nil {
			t.Error("what was undone before another write is done again")
		}
		list, err := w.Journal(t.Context())
		var told []string
		for _, e := range list {
			told = append(told, fmt.Sprint(e.Op, " ", e.Session, " ", e.From, ">", e.To, " ", e.Undone))
			if e.At.IsZero() || e.At.Location() != time.UTC || e.At.Nanosecond()%1e6 != 0 {
				t.Error(e.At)
			}
		}
		if want := []string{"repair plain p3>p3 false", "fork again e2>e5 true", "restore tour e4>e2 false"}; err != nil || !slices.Equal(told, want) {
			t.Errorf("%q, %v", told, err)
		}
		do(t, s, undo)
		do(t, s, undo)
		if got := drawn(t, s, "tour"); got != before {
			t.Error(got)
		}
		if r := apply(t, s, plan(t, s, to(model.OpRestore, "tour", "e4"))); r.Entry != 0 {
			t.Errorf("what changes nothing is an entry: %+v", r)
		}
	})
}

// TestApply_conflicts: a plan is not carried out where a row is not as it saw it; nothing changes then.
func TestApply_conflicts(t *testing.T) {
	both(t, func(t *testing.T, s store.Store, change func(...string)) {
		fork := model.Change{Op: model.OpFork, Ref: model.Ref{Session: "tour", ID: "e2"}, As: "again"}
		for _, c := range []struct {
			change model.Change
			does   []string
			says   string
			back   []string
		}{
			{to(model.OpRestore, "tour", "e2"), []string{"UPDATE heads SET id = 'e6'"}, "was changed since", []string{"UPDATE heads SET id = 'e4'"}},
			{to(model.OpRestore, "tour", "e2"), []string{"DELETE FROM heads"}, "went since", []string{"INSERT INTO heads VALUES ('tour', '', 'e4')"}},
			{to(model.OpRestore, "plain", "p2"), []string{"INSERT INTO heads VALUES ('plain', '', 'p1')"}, "came since", []string{"DELETE FROM heads WHERE session = 'plain'"}},
			{to(model.OpRestore, "tour", "e2"), []string{entryRow("tour", "", "e7", "e4", 7, "user", "on")}, "session tour got other rows since", []string{"DELETE FROM entries WHERE id = 'e7'"}},
			{to(model.OpRestore, "tour", "e2"), []string{"DELETE FROM entries WHERE id = 'e6'"}, "session tour got other rows since", []string{demoRows[5]}},
			{to(model.OpRestore, "tour", "e2"), []string{"DELETE FROM answers WHERE id = 'e6'"}, "session tour got other rows since", []string{"INSERT INTO answers VALUES ('tour', '', 'e6', 0)"}},
			{fork, []string{"INSERT INTO answers VALUES ('again', '', 'e1', 0)"}, "came since", []string{"DELETE FROM answers WHERE session = 'again'"}},
			{fork, []string{entryRow("again", "", "x", "", 7, "user", "on")}, "session again got other rows since", []string{"DELETE FROM entries WHERE session = 'again'"}},
		} {
			p := plan(t, s, c.change)
			change(c.does...)
			sessions := storetest.Sessions(t, s)
			_, err := s.Features().Apply(t.Context(), p)
			if !errors.Is(err, model.ErrHeadMoved) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "another program writes to the session: stop the agent, then plan again") {
				t.Errorf("%v %q: %v", c.change, c.does, err)
			}
			if now := storetest.Sessions(t, s); !reflect.DeepEqual(now, sessions) {
				t.Errorf("%v %q: it is %+v, was %+v", c.change, c.does, now, sessions)
			}
			change(c.back...)
		}
		p := plan(t, s, to(model.OpRestore, "tour", "e2"))
		apply(t, s, p)
		if _, err := s.Features().Apply(t.Context(), p); !errors.Is(err, model.ErrHeadMoved) {
			t.Error(err)
		}
		first, second := plan(t, s, undo), plan(t, s, undo)
		apply(t, s, first)
		if _, err := s.Features().Apply(t.Context(), second); !errors.Is(err, model.ErrHeadMoved) || !strings.Contains(err.Error(), "something else was written since: plan again") {
			t.Error(err)
		}
	})
}

// TestApply_wentOn: an undo is refused where the agent went on from what would go.
func TestApply_wentOn(t *testing.T) {
	for _, c := range []struct {
		change     model.Change
		statements []string
		says       string
	}{
		{model.Change{Op: model.OpRepair, Ref: model.Ref{Session: "plain"}}, []string{entryRow("plain", "", "p9", "HEAD", 30, "user", "on"), "UPDATE heads SET id = 'p9' WHERE session = 'plain'"}, "restore the row that is wanted instead"},
		{model.Change{Op: model.OpRepair, Ref: model.Ref{Session: "plain"}}, []string{entryRow("plain", "", "p9", "HEAD", 30, "user", "on")}, "has the child"},
		{model.Change{Op: model.OpFork, Ref: model.Ref{Session: "tour", ID: "e2"}, As: "again"}, []string{entryRow("again", "", "x", "e2", 30, "user", "on")}, `session "again" got the row x since write 1 made it`},
		{to(model.OpRestore, "tour", "e2"), []string{"UPDATE heads SET id = 'e5' WHERE session = 'tour'"}, "the agent went on from it: restore the row that is wanted instead: the row of heads with id \"e5\""},
	} {
		err := rowstest.WentOn(t, demoKind.Kind(nil, "").Kind, demoFile(t), c.change, c.statements...)
		if err == nil || !strings.Contains(err.Error(), c.says) && !strings.Contains(err.Error(), "the agent went on from it") {
			t.Errorf("%v: %v", c.change, err)
		}
	}
	// What hangs on a row of another table is asked of the format, in the plan and behind the write.
	k := demoKind
	k.Format = hanging{}
	path := demoFile(t)
	s := openDemo(t, k, path)
	do(t, s, model.Change{Op: model.OpFork, Ref: model.Ref{Session: "tour", ID: "e2"}, As: "again"})
	early := plan(t, s, undo)
	rowstest.Execute(t, path, "INSERT INTO heads VALUES ('hangs', '', '')")
	for what, refused := range map[string]func() error{
		"plan":  func() error { _, err := s.Plan(t.Context(), undo); return err },
		"apply": func() error { _, err := s.Apply(t.Context(), early); return err },
	} {
		if err := refused(); !errors.Is(err, model.ErrHeadMoved) || !strings.Contains(err.Error(), "a note on 4 rows since: restore the row that is wanted instead") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if got := drawn(t, s, "again"); got != "e1< t0 e2<e1 t0*" {
		t.Error(got)
	}
}

// hanging has something hang on each row that goes, where a row of heads says so.
type hanging struct{ demo }

func (hanging) Hangs(ctx context.Context, t Tx, went []Step) (string, error) {
	found, err := t.First(ctx, []any{new(string)}, "SELECT id FROM heads WHERE session = 'hangs'")
	if !found {
		return "", err
	}
	return fmt.Sprintf("a note on %d rows", len(went)), err
}

// TestApply_trigger: a write that changes more than the plan says is taken back, and so is one after
// which the format reads something else.
func TestApply_trigger(t *testing.T) {
	for what, makes := range map[string][]string{
		"7 rows would change instead of 1": {"CREATE TRIGGER more AFTER UPDATE ON heads BEGIN UPDATE answers SET at = at + 1 WHERE session = 'tour' AND id <> 'e6'; END"},
	} {
		path := demoFile(t, makes...)
		s := openDemo(t, demoKind, path)
		p := plan(t, s, to(model.OpRestore, "tour", "e2"))
		before := storetest.Tables(t, path)
		if _, err := s.Apply(t.Context(), p); err == nil || !strings.Contains(err.Error(), what) || !strings.Contains(err.Error(), "trigger") {
			t.Errorf("%v", err)
		}
		if storetest.Tables(t, path) != before {
			t.Error("rows changed")
		}
		if list, err := s.Journal(t.Context()); err != nil || len(list) != 0 {
			t.Error(list, err)
		}
	}
	address, c := served(t)
	c.Exec(t, address, "CREATE FUNCTION more() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN UPDATE answers SET at = at + 1 WHERE session = ''tour'' AND id <> ''e6''; RETURN NEW; END'",
		"CREATE TRIGGER more AFTER UPDATE ON heads FOR EACH ROW EXECUTE FUNCTION more()",
		"CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
		"CREATE TRIGGER nothing BEFORE INSERT ON answers FOR EACH ROW EXECUTE FUNCTION nothing()")
	s := storetest.OpenStore(t, onServer(t.TempDir()), address)
	before := c.Rows(t, address)
	for change, says := range map[*model.Change]string{
		{Op: model.OpRestore, Ref: model.Ref{Session: "tour", ID: "e2"}}:           "7 rows would change instead of 1: the database has a trigger",
		{Op: model.OpFork, Ref: model.Ref{Session: "tour", ID: "e2"}, As: "again"}: "2 rows would change instead of 4: the database has a trigger",
	} {
		if _, err := s.Features().Apply(t.Context(), plan(t, s, *change)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: %v", change.Op, err)
		}
	}
	c.Exec(t, address, "CREATE FUNCTION never() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''it is not allowed''; END'",
		"CREATE TRIGGER never BEFORE INSERT ON entries FOR EACH ROW EXECUTE FUNCTION never()")
	if _, err := s.Features().Apply(t.Context(), plan(t, s, model.Change{Op: model.OpFork, Ref: model.Ref{Session: "tour", ID: "e2"}, As: "again"})); err == nil || !strings.Contains(err.Error(), "it is not allowed") {
		t.Error(err)
	}
	if c.Rows(t, address) != before {
		t.Error("rows changed")
	}
}

// verified reads another head than the plan led to once the rows have changed.
type verified struct {
	demo
	found func() (id string)
}

func (v verified) Log(ctx context.Context, t Tx, of Place, from string) (Log, error) {
	log, err := v.demo.Log(ctx, t, of, from)
	id := v.found()
	for i := range log.Rows {
		if id != "" {
			log.Rows[i].Head = log.Rows[i].ID == id
		}
	}
	if id == "gone" {
		log.Rows = log.Rows[:2]
	}
	return log, err
}

// TestApply_verifies: where the format reads another head or other rows than the plan led to, the write
// is taken back.
func TestApply_verifies(t *testing.T) {
	for id, says := range map[string]string{"e6": `the row that is resumed is "e6" instead of "e2"`, "gone": "went since"} {
		path, now := demoFile(t), ""
		k := demoKind
		k.Format = verified{found: func() string { return now }}
		s := openDemo(t, k, path)
		p := plan(t, s, to(model.OpRestore, "tour", "e2"))
		before := storetest.Tables(t, path)
		now = id
		if _, err := s.Apply(t.Context(), p); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", id, err)
		}
		if now = ""; storetest.Tables(t, path) != before {
			t.Error("rows changed")
		}
		apply(t, s, plan(t, s, to(model.OpRestore, "tour", "e2")))
	}
}

// TestApply_cannotWrite: what keeps a write from being done is said in words, and nothing is changed.
func TestApply_cannotWrite(t *testing.T) {
	path := demoFile(t)
	s := openDemo(t, demoKind, path)
	p := plan(t, s, to(model.OpRestore, "tour", "e2"))
	for what, c := range map[string]struct {
		err  error
		says string
	}{
		"full":       {fmt.Errorf("write: %w", syscall.ENOSPC), "nothing was changed: free some space and try again"},
		"permission": {&fs.PathError{Op: "open", Path: "demo.db", Err: fs.ErrPermission}, "nothing was changed"},
	} {
		broken := newStore(&medium{kind: s.kind, address: s.address, now: s.now, carrier: refusing{s.carrier, c.err}})
		broken.book.path = s.book.path
		_, err := broken.Apply(t.Context(), p)
		if !errors.Is(err, errors.Unwrap(c.err)) && !errors.Is(err, c.err) && !model.Unwritable(err) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), `demo: restore session "tour"`) {
			t.Errorf("%s: %v", what, err)
		}
	}
	// While another program writes it is tried again later.
	address, _ := served(t)
	d := storetest.OpenStore(t, onServer(t.TempDir()), address).(*Store)
	if !d.carrier.Busy(fmt.Errorf("x: %w", pg.ErrBusy)) || d.carrier.Busy(errBroken) {
		t.Error("it is not known that a server is busy")
	}
	if err := d.carrier.ExplainDenial(errBroken); !errors.Is(err, errBroken) || !strings.Contains(err.Error(), "nothing was changed") {
		t.Error(err)
	}
}

// refusing is a carrier that refuses to write.
type refusing struct {
	carrier
	err error
}

func (r refusing) Amend(context.Context, func(tables) error) error { return r.err }

// TestBusy: while an agent may be at work a plan asks, of a session that is named below it too, but not
// of what Hindcast itself wrote.
func TestBusy(t *testing.T) {
	both(t, func(t *testing.T, s store.Store, change func(...string)) {
		file := s.(*Store)
		asks := func(session, id string) string {
			return strings.Join(plan(t, s, to(model.OpRestore, session, id)).Asks, "; ")
		}
		at := func(seconds int) { file.now = func() time.Time { return time.Unix(int64(start+seconds), 0) } }
		at(22) // 2 s after the entry of "tour/side"
		if got := asks("tour", "e2"); got != "the session was written 2s ago: an agent may still be running; really e2?; really e2?" {
			t.Error(got)
		}
		if got := asks("plain", "p2"); got != "the session was written 10s ago: an agent may still be running; really p2?; really p2?" {
			t.Error(got)
		}
		at(20 + int(planning.LiveWithin/time.Second) + 1)
		if got := asks("tour", "e2"); got != "really e2?; really e2?" {
			t.Error(got)
		}
		if p := plan(t, s, model.Change{Op: model.OpFork, Ref: model.Ref{Session: "tour", ID: "e2"}, As: "x"}); len(p.Asks) != 2 {
			t.Errorf("%q", p.Asks)
		}
		at(13)
		do(t, s, model.Change{Op: model.OpRepair, Ref: model.Ref{Session: "plain"}})
		if p := plan(t, s, undo); len(p.Asks) != 0 {
			t.Errorf("of what Hindcast wrote: %q", p.Asks)
		}
		change(entryRow("plain", "", "p4", "p3", 13, "user", "on"))
		if got := asks("plain", "p2"); !strings.HasPrefix(got, "the session was written 0s ago") {
			t.Error(got)
		}
	})
}

// TestSettle: an intent whose end is not told is settled by the rows.
func TestSettle(t *testing.T) {
	for _, c := range []struct {
		what  string
		first []model.Change
		last  model.Change
		after bool // the rows are those after the write
		want  string
	}{
		{"a write that was committed", nil, to(model.OpRestore, "tour", "e2"), true, "restore tour false"},
		{"a write that was not", nil, to(model.OpRestore, "tour", "e2"), false, ""},
		{"an undo that was committed", []model.Change{to(model.OpRestore, "tour", "e2")}, undo, true, "restore tour true"},
		{"an undo that was not", []model.Change{to(model.OpRestore, "tour", "e2")}, undo, false, "restore tour false"},
		{"a redo that was committed", []model.Change{to(model.OpRestore, "tour", "e2"), undo}, redo, true, "restore tour false"},
		{"a redo that was not", []model.Change{to(model.OpRestore, "tour", "e2"), undo}, redo, false, "restore tour true"},
	} {
		path := demoFile(t)
		s := openDemo(t, demoKind, path)
		for _, first := range c.first {
			do(t, s, first)
		}
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		do(t, s, c.last)
		told, err := os.ReadFile(path + Beside)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(strings.TrimSuffix(string(told), "\n"), "\n")
		if err := os.WriteFile(path+Beside, []byte(strings.Join(lines[:len(lines)-1], "")), 0o600); err != nil {
			t.Fatal(err)
		}
		if !c.after {
			if err := os.WriteFile(path, before, 0o600); err != nil {
				t.Fatal(err)
			}
			for _, end := range []string{"-wal", "-shm"} {
				_ = os.Remove(path + end)
			}
		}
		s = openDemo(t, demoKind, path)
		list, err := s.Journal(t.Context())
		var got []string
		for _, e := range list {
			got = append(got, fmt.Sprint(e.Op, " ", e.Session, " ", e.Undone))
		}
		if strings.Join(got, ", ") != c.want || err != nil {
			t.Errorf("%s: %q, %v", c.what, got, err)
		}
		if h, err := s.book.readHistory(); err != nil || h.open != nil {
			t.Errorf("%s: %+v, %v", c.what, h.open, err)
		}
	}
}

// TestHappened: of rows that may have changed again since, the first that is as before or as after a write
// tells whether it was carried out.
func TestHappened(t *testing.T) {
	s := openDemo(t, demoKind, demoFile(t))
	row := func(session, id string) Row { return Row{"session": session, "branch": "", "id": id} }
	came, missing := Step{Table: "heads", After: row("tour", "e4")}, Step{Table: "heads", After: row("none", "x")}
	other := Step{Table: "heads", Before: row("tour", "e1"), After: row("tour", "e2")}
	for what, c := range map[string]struct {
		steps []Step
		want  bool
	}{
		"all are":                       {[]Step{came}, true},
		"none is":                       {[]Step{missing}, false},
		"the second was taken back":     {[]Step{came, missing}, true},
		"the first was taken back":      {[]Step{missing, came}, false},
		"the first is another, none is": {[]Step{other, missing}, false},
		"the first is another, all are": {[]Step{other, came}, true},
		"all are others":                {[]Step{other}, true},
	} {
		err := s.carrier.Read(t.Context(), func(tx tables) error {
			got, err := areApplied(t.Context(), tx, c.steps)
			if got != c.want {
				t.Errorf("%s: %t", what, got)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}
