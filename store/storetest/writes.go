package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/store"
)

// Hindcast's own writes: restore, fork, undo, redo and their journal.
var writes = []check{
	{"TestApply_planWritesNothing", planWritesNothing},
	{"TestApply_planSaysWhatWillBe", planSays},
	{"TestApply_restoreToTheHead", restoreHead},
	{"TestApply_restoreOfASessionWithoutARecord", restoreWithoutRecord},
	{"TestApply_mismatchedSnapshotIsAHazard", mismatch},
	{"TestApply_undoAndRedoAreExact", undoRedo},
	{"TestApply_undoRunsBackThroughSessions", undoSessions},
	{"TestApply_undoTellsEqualRestoresApart", undoEqual},
	{"TestApply_undoIsRefusedAfterAWrite", undoRefused},
	{"TestApply_newWriteEndsRedo", newWriteEndsRedo},
	{"TestApply_undoAfterReopening", undoReopened},
	{"TestApply_forkCopiesThePath", fork},
	{"TestApply_forkOntoASessionIsRefused", forkExisting},
	{"TestApply_forkGoesOnByItself", forkGoesOn},
	{"TestApply_undoOfAFork", undoFork},
	{"TestApply_redoOfAForkThatWasRestored", redoRestoredFork},
	{"TestApply_journal", journalSays},
	{"TestApply_refusesWhatIsNoPlan", noPlan},
}

// branched makes a session with a lost branch: a0 b1 c2- d3- x2 y3*.
func branched(b *bench) (a *agent, ids []string) {
	a = b.agent("s")
	ids = a.turns(`"a"`, `"b"`, `"c"`, `"d"`)
	a.restoreTo(ids[1])
	a.resume()
	ids = append(ids, a.turns(`"x"`, `"y"`)...)
	b.want("s", "a0 b1 c2- d3- x2 y3*")
	return a, ids
}

func planWritesNothing(b *bench) {
	_, ids := branched(b)
	b.restore(model.Ref{Session: "s", ID: ids[4]})
	before := b.dump()
	entries, err := b.Journal(b.Context())
	b.ok(err)
	b.clock.Advance(time.Hour)
	for _, id := range ids {
		_, err := b.Plan(b.Context(), model.Change{Op: model.OpRestore, Ref: model.Ref{Session: "s", ID: id}})
		b.ok(err)
		_, err = b.Plan(b.Context(), model.Change{Op: model.OpFork, Ref: model.Ref{Session: "s", ID: id}, As: "new"})
		b.ok(err)
	}
	_, err = b.Plan(b.Context(), model.Change{Op: model.OpUndo})
	b.ok(err)
	b.same(b.dump(), before)
	after, err := b.Journal(b.Context())
	b.ok(err)
	if !reflect.DeepEqual(after, entries) {
		b.Errorf("the journal is %+v, was %+v", after, entries)
	}
}

func planSays(b *bench) {
	_, ids := branched(b)
	plan, err := b.Plan(b.Context(), model.Change{Op: model.OpRestore, Ref: model.Ref{Session: "s", ID: ids[3]}})
	b.ok(err)
	if plan.Op != model.OpRestore || plan.Session != "s" {
		b.Errorf("the plan is %+v", plan)
	}
	if plan.Target != (model.Point{ID: ids[3], Index: 3, Visit: 4}) || plan.Head != (model.Point{ID: ids[5], Index: 3, Visit: 6}) {
		b.Errorf("the plan leads from %+v to %+v", plan.Head, plan.Target)
	}
	if want := []model.Point{{ID: ids[4], Index: 2, Visit: 5}, {ID: ids[5], Index: 3, Visit: 6}}; !slices.Equal(plan.Orphans, want) {
		b.Errorf("orphans %+v, want %+v", plan.Orphans, want)
	}
	if want := []model.Point{{ID: ids[2], Index: 2, Visit: 3}, {ID: ids[3], Index: 3, Visit: 4}}; !slices.Equal(plan.Reactivates, want) {
		b.Errorf("reactivates %+v, want %+v", plan.Reactivates, want)
	}
	for _, word := range []string{"the state of #3", `WithSessionID[State]("s")`, "as #4", `WithSnapshotID[State]("` + ids[3] + `")`} {
		if !strings.Contains(onward(&plan), word) {
			b.Errorf("%q does not say %s", onward(&plan), word)
		}
	}
	writes := strings.Join(plan.Writes, "\n")
	for _, word := range []string{"2 orphaned, 2 active again", `record of session "s"`, "journal"} {
		if !strings.Contains(writes, word) {
			b.Errorf("%q does not say %s", writes, word)
		}
	}
	if len(plan.Hazards) != 0 {
		b.Errorf("hazards %q", plan.Hazards)
	}
	// An id that another session holds too.
	b.agent("t").turns(`"a"`)
	plan, err = b.Plan(b.Context(), model.Change{Op: model.OpRestore, Ref: model.Ref{Session: "s", ID: ids[0]}})
	b.ok(err)
	if len(plan.Hazards) != 1 || !strings.Contains(plan.Hazards[0], `session "t"`) {
		b.Errorf("hazards %q", plan.Hazards)
	}
}

func restoreHead(b *bench) {
	a := b.agent("s")
	a.turns(`"a"`, `"b"`, `"a"`)
	b.ok(b.Save(b.Context(), "s", &model.Data[json.RawMessage]{State: json.RawMessage(`"working"`), LastSnapshot: a.last}))
	// The latest visit of a is the head; the first is somewhere else.
	plan, receipt := b.restore(model.Ref{Session: "s", ID: id(`"a"`)})
	if receipt.Orphaned+receipt.Reactivated != 0 || receipt.Head.Index != 2 || len(plan.Hazards) != 2 {
		b.Errorf("receipt %+v, hazards %q", receipt, plan.Hazards)
	}
	b.want("s", "a0 b1 a2*")
	if data := a.resume(); string(data.State) != `"a"` {
		b.Errorf("the working state is %s", data.State)
	}
	b.restore(model.Ref{Session: "s", ID: id(`"a"`), Visit: 1})
	b.want("s", "a0* b1- a2-")
}

func restoreWithoutRecord(b *bench) {
	a := b.agent("s")
	for _, state := range []string{`"a"`, `"b"`} {
		s := a.snapshot(state, 0)
		b.ok(b.SaveSnapshot(b.Context(), s))
		a.last = s
	}
	before := b.dump()
	b.restore(model.Ref{Session: "s", ID: id(`"a"`)})
	if data := a.resume(); string(data.State) != `"a"` || data.LastSnapshot.ID != id(`"a"`) {
		b.Errorf("the record is %+v", data)
	}
	b.undo()
	b.same(b.dump(), before)
}

func mismatch(b *bench) {
	_, err := b.Import(b.Context(), seq(
		store.Row{Header: model.Header{ID: id(`"a"`), SessionID: "s", Visit: 1}, State: []byte(`"changed"`)},
		store.Row{Header: model.Header{ID: "5f2c1d7e-a uuid", SessionID: "s", Visit: 2, Index: 1, ParentVisit: 1, ParentID: id(`"a"`)}, State: []byte(`"b"`)},
	))
	b.ok(err)
	hazard := func(id string) bool {
		plan, err := b.Plan(b.Context(), model.Change{Op: model.OpRestore, Ref: model.Ref{Session: "s", ID: id}})
		b.ok(err)
		return slices.ContainsFunc(plan.Hazards, func(h string) bool { return strings.Contains(h, "hash") })
	}
	if !hazard(id(`"a"`)) {
		b.Error("no word about a state that is not what its id says")
	}
	if hazard("5f2c1d7e-a uuid") {
		b.Error("an id that is no hash is said to be a wrong one")
	}
	faults, err := b.Faults(b.Context(), "s")
	b.ok(err)
	if n := len(slices.DeleteFunc(faults, func(f model.Fault) bool { return f.Code != store.FaultHashMismatch })); n != 1 {
		b.Errorf("%d faults", n)
	}
}

func undoRedo(b *bench) {
	a, ids := branched(b)
	b.ok(b.Save(b.Context(), "s", &model.Data[json.RawMessage]{State: json.RawMessage(`"working"`), LastSnapshot: a.last, TurnIndex: 5}))
	dumps := []string{b.dump()}
	for _, id := range []string{ids[3], ids[0], ids[5], ids[5]} {
		b.clock.Advance(time.Minute)
		b.restore(model.Ref{Session: "s", ID: id})
		dumps = append(dumps, b.dump())
	}
	for range 3 {
		for i := len(dumps) - 2; i >= 0; i-- {
			b.clock.Advance(time.Minute)
			if r := b.undo(); r.Op != model.OpUndo || r.Entry != int64(i+1) || r.Session != "s" {
				b.Errorf("receipt %+v", r)
			}
			b.same(b.dump(), dumps[i])
		}
		for i := 1; i < len(dumps); i++ {
			b.clock.Advance(time.Minute)
			if r := b.redo(); r.Op != model.OpRedo || r.Entry != int64(i) {
				b.Errorf("receipt %+v", r)
			}
			b.same(b.dump(), dumps[i])
		}
	}
	var nothing *model.NothingToError
	if _, err := b.Plan(b.Context(), model.Change{Op: model.OpRedo}); !errors.As(err, &nothing) {
		b.Errorf("redo of nothing: %v", err)
	}
}

func undoSessions(b *bench) {
	b.agent("s").turns(`"a"`, `"b"`)
	b.agent("t").turns(`"p"`, `"q"`)
	before := b.dump()
	b.restore(model.Ref{Session: "s", ID: id(`"a"`)})
	b.restore(model.Ref{Session: "t", ID: id(`"p"`)})
	plan, err := b.Plan(b.Context(), model.Change{Op: model.OpUndo})
	b.ok(err)
	if plan.Session != "t" || plan.Op != model.OpUndo || plan.Target.ID != id(`"q"`) || plan.Head.ID != id(`"p"`) || len(plan.Reactivates) != 1 {
		b.Errorf("the plan is %+v", plan)
	}
	b.apply(plan)
	b.want("s", "a0* b1-")
	b.want("t", "p0 q1*")
	b.undo()
	b.same(b.dump(), before)
}

func undoEqual(b *bench) {
	// Two restores at the same instant to the same snapshot.
	a := b.agent("s")
	a.turns(`"a"`, `"b"`)
	b.restore(model.Ref{Session: "s", ID: id(`"a"`)})
	s := a.resume()
	next := a.snapshot(`"x"`, 0)
	next.ParentID, next.Index = s.LastSnapshot.ID, 1
	b.ok(b.SaveSnapshot(b.Context(), next))
	before := b.dump()
	b.restore(model.Ref{Session: "s", ID: id(`"a"`)})
	b.want("s", "a0* b1- x1-")
	b.undo()
	b.want("s", "a0 b1- x1*")
	b.same(b.dump(), before)
}

func undoRefused(b *bench) {
	a, ids := branched(b)
	b.restore(model.Ref{Session: "s", ID: ids[0]})
	plan, err := b.Plan(b.Context(), model.Change{Op: model.OpUndo})
	b.ok(err)
	a.resume()
	a.turns(`"new"`)
	before := b.dump()
	if _, err := b.Apply(b.Context(), plan); !errors.Is(err, model.ErrHeadMoved) {
		b.Errorf("undo of what has been gone on from: %v", err)
	}
	if _, err := b.Plan(b.Context(), model.Change{Op: model.OpUndo}); !errors.Is(err, model.ErrHeadMoved) || !strings.Contains(err.Error(), `"s"`) {
		b.Errorf("plan of such an undo: %v", err)
	}
	// A record alone counts: it would be lost.
	b.restore(model.Ref{Session: "s", ID: ids[0]})
	b.undo()
	b.same(b.dump(), before)
	b.ok(b.Save(b.Context(), "s", &model.Data[json.RawMessage]{State: json.RawMessage(`"edited"`)}))
	if _, err := b.Plan(b.Context(), model.Change{Op: model.OpRedo}); !errors.Is(err, model.ErrHeadMoved) {
		b.Errorf("plan of a redo after a write: %v", err)
	}
}

func newWriteEndsRedo(b *bench) {
	_, ids := branched(b)
	b.restore(model.Ref{Session: "s", ID: ids[0]})
	b.restore(model.Ref{Session: "s", ID: ids[3]})
	b.undo()
	b.undo()
	b.restore(model.Ref{Session: "s", ID: ids[1]})
	var nothing *model.NothingToError
	if _, err := b.Plan(b.Context(), model.Change{Op: model.OpRedo}); !errors.As(err, &nothing) {
		b.Errorf("redo after a new restore: %v", err)
	}
	b.undo()
	b.want("s", "a0 b1 c2- d3- x2 y3*")
	if r := b.redo(); r.Entry != 3 {
		b.Errorf("redone entry %d", r.Entry)
	}
}

func undoReopened(b *bench) {
	if b.reopen == nil {
		b.Skip("a store in memory does not outlive its process")
	}
	_, ids := branched(b)
	dumps := []string{b.dump()}
	b.restore(model.Ref{Session: "s", ID: ids[3]})
	dumps = append(dumps, b.dump())
	b.fork(model.Ref{Session: "s", ID: ids[2]}, "f")
	dumps = append(dumps, b.dump())
	for i := 1; i >= 0; i-- {
		b.Store = b.reopen(b.T)
		b.same(b.dump(), dumps[i+1])
		b.undo()
		b.same(b.dump(), dumps[i])
	}
	for i := 1; i < len(dumps); i++ {
		b.Store = b.reopen(b.T)
		b.redo()
		b.same(b.dump(), dumps[i])
	}
}

// onward returns what a plan says about how the agent goes on.
func onward(plan *model.Plan) string {
	lines := []string{plan.Loads}
	for _, r := range plan.Resume {
		lines = append(lines, r.Call+"  "+r.Then)
	}
	return strings.Join(lines, "\n")
}

func fork(b *bench) {
	_, ids := branched(b)
	before := b.picture("s")
	plan, err := b.Plan(b.Context(), model.Change{Op: model.OpFork, Ref: model.Ref{Session: "s", ID: ids[3]}, As: "f"})
	b.ok(err)
	if plan.Op != model.OpFork || plan.Session != "s" || plan.NewSession != "f" || plan.Target.ID != ids[3] || !strings.Contains(onward(&plan), `"f"`) {
		b.Errorf("the plan is %+v", plan)
	}
	receipt := b.apply(plan)
	if receipt.Session != "f" || receipt.Head.ID != ids[3] || receipt.Head.Index != 3 {
		b.Errorf("receipt %+v", receipt)
	}
	b.want("s", before)
	b.want("f", "a0 b1 c2 d3*")
	source := b.headers("s")
	for i, h := range b.headers("f") {
		if h.Visit != int64(i+1) || h.ParentVisit != int64(i) || h.SessionID != "f" || h.ParentID != source[i].ParentID ||
			!h.CreatedAt.Equal(source[i].CreatedAt) || h.TurnIndex != source[i].TurnIndex || h.Reason != nil {
			b.Errorf("visit %d is %+v, of %+v", i+1, h, source[i])
		}
	}
	data, err := b.Get(b.Context(), "f")
	b.ok(err)
	if data == nil || string(data.State) != `"d"` || data.LastSnapshot.ID != ids[3] || data.TurnIndex != 3 {
		b.Errorf("the record is %+v", data)
	}
}

func forkExisting(b *bench) {
	_, ids := branched(b)
	b.agent("t").turns(`"p"`)
	for _, as := range []string{"s", "t"} {
		if _, err := b.Plan(b.Context(), model.Change{Op: model.OpFork, Ref: model.Ref{Session: "s", ID: ids[0]}, As: as}); !errors.Is(err, store.ErrSessionExists) {
			b.Errorf("a fork onto %q: %v", as, err)
		}
	}
	if _, err := b.Plan(b.Context(), model.Change{Op: model.OpFork, Ref: model.Ref{Session: "s", ID: ids[0]}, As: ""}); err == nil {
		b.Error("a fork without a name is planned")
	}
	// The name is taken between plan and application.
	plan, err := b.Plan(b.Context(), model.Change{Op: model.OpFork, Ref: model.Ref{Session: "s", ID: ids[0]}, As: "u"})
	b.ok(err)
	b.agent("u").turns(`"q"`)
	before := b.dump()
	if _, err := b.Apply(b.Context(), plan); !errors.Is(err, store.ErrSessionExists) {
		b.Errorf("a fork onto a name that was taken meanwhile: %v", err)
	}
	b.same(b.dump(), before)
}

func forkGoesOn(b *bench) {
	_, ids := branched(b)
	b.fork(model.Ref{Session: "s", ID: ids[1]}, "f")
	a := b.agent("f")
	a.resume()
	a.turns(`"m"`, `"n"`)
	b.want("f", "a0 b1 m2 n3*")
	b.want("s", "a0 b1 c2- d3- x2 y3*")
	b.restore(model.Ref{Session: "f", ID: ids[0]})
	b.want("f", "a0* b1- m2- n3-")
	b.want("s", "a0 b1 c2- d3- x2 y3*")
}

func undoFork(b *bench) {
	_, ids := branched(b)
	dumps := []string{b.dump()}
	b.fork(model.Ref{Session: "s", ID: ids[3]}, "f")
	dumps = append(dumps, b.dump())
	b.clock.Advance(time.Minute)
	b.fork(model.Ref{Session: "f", ID: ids[2]}, "g")
	dumps = append(dumps, b.dump())
	for range 2 {
		b.undo()
		b.same(b.dump(), dumps[1])
		plan, err := b.Plan(b.Context(), model.Change{Op: model.OpUndo})
		b.ok(err)
		if plan.Session != "f" || !strings.Contains(strings.Join(plan.Writes, "\n"), "removed") {
			b.Errorf("the plan is %+v", plan)
		}
		b.apply(plan)
		b.same(b.dump(), dumps[0])
		b.clock.Advance(time.Minute)
		b.redo()
		b.same(b.dump(), dumps[1])
		b.redo()
		b.same(b.dump(), dumps[2])
	}
	b.undo()
	// A fork that has been gone on with is not taken back.
	a := b.agent("f")
	a.resume()
	a.turns(`"m"`)
	if _, err := b.Plan(b.Context(), model.Change{Op: model.OpUndo}); !errors.Is(err, model.ErrHeadMoved) {
		b.Errorf("undo of a fork that went on: %v", err)
	}
}

func journalSays(b *bench) {
	_, ids := branched(b)
	first := b.clock.Now()
	b.restore(model.Ref{Session: "s", ID: ids[0]})
	b.clock.Advance(time.Minute)
	b.fork(model.Ref{Session: "s", ID: ids[3]}, "f")
	b.undo()
	entries, err := b.Journal(b.Context())
	b.ok(err)
	want := []model.JournalEntry{
		{ID: 2, At: first.Add(time.Minute), Op: model.OpFork, Session: "f", To: ids[3], ToIndex: 3, Undone: true},
		{ID: 1, At: first, Op: model.OpRestore, Session: "s", From: ids[5], FromIndex: 3, To: ids[0]},
	}
	if fmt.Sprint(entries) != fmt.Sprint(want) {
		b.Errorf("the journal is\n%+v, want\n%+v", entries, want)
	}
}

func noPlan(b *bench) {
	_, ids := branched(b)
	before := b.dump()
	for name, plan := range map[string]model.Plan{
		"nothing":             {},
		"an unknown op":       {Op: "erase", Session: "s"},
		"an unknown session":  {Op: model.OpRestore, Session: "none", Target: model.Point{ID: "x"}},
		"an undo of nothing":  {Op: model.OpUndo, Session: "s", Entry: 7},
		"a head made up":      {Op: model.OpRestore, Session: "s", Target: model.Point{ID: ids[0], Visit: 1}},
		"a fork without name": {Op: model.OpFork, Session: "s", Target: model.Point{ID: ids[0], Visit: 1}},
	} {
		if _, err := b.Apply(b.Context(), plan); err == nil {
			b.Errorf("%s is applied", name)
		}
	}
	// A plan that was edited is not what the store would do.
	plan, err := b.Plan(b.Context(), model.Change{Op: model.OpRestore, Ref: model.Ref{Session: "s", ID: ids[0]}})
	b.ok(err)
	plan.Orphans = plan.Orphans[1:]
	if _, err := b.Apply(b.Context(), plan); !errors.Is(err, model.ErrHeadMoved) {
		b.Errorf("an edited plan: %v", err)
	}
	b.same(b.dump(), before)
}

// redoRestoredFork: what was done in a session that was taken back, and is there
// again, is done again too.
func redoRestoredFork(b *bench) {
	_, ids := branched(b)
	b.fork(model.Ref{Session: "s", ID: ids[3]}, "f")
	b.restore(model.Ref{Session: "f", ID: ids[1]})
	b.clock.Advance(time.Minute)
	b.restore(model.Ref{Session: "f", ID: ids[2]})
	b.want("f", "a0 b1 c2* d3-")
	want := b.dump()
	for range 3 {
		b.undo()
	}
	for range 3 {
		b.redo()
	}
	b.same(b.dump(), want)
}
