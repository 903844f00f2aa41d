package storetest

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/store"
)

// The rules of the design, section 3, as far as a store keeps them.
var rules = []check{
	{"TestRule01_idIsTheHashOfTheStoredBytes", rule01},
	{"TestRule02_identityIsSessionAndID", rule02},
	{"TestRule03_comingBackIsAVisit", rule03},
	{"TestRule04_savingAnOrphanedIDIsActiveAgain", rule04},
	{"TestRule05_restoreToAnActiveSnapshot", rule05Active},
	{"TestRule05_restoreToAnOrphanedSnapshot", rule05Orphaned},
	{"TestRule05_restoreAcrossTwoBranchPoints", rule05Nested},
	{"TestRule05_restoreToAnotherRoot", rule05Root},
	{"TestRule05_reasonsOfTheOrphaned", rule05Reasons},
	{"TestRule06_indexGoesOnFromTheTarget", rule06},
	{"TestRule07_turnsAreKeptAndRestored", rule07},
	{"TestRule08_eventsSurvive", rule08},
	{"TestRule09_restoreIsCompareAndSetWithTheRecord", rule09},
	{"TestRule10_damagedLineageIsListedAndNamed", rule10},
}

func rule01(b *bench) {
	// The writer's own bytes: no key order, escape or number is touched.
	const odd = `{"z":1.0,"a":"\u003c<\/","n":9007199254740993,"e":1e400,"z":2}`
	a := b.agent("s")
	a.turns(odd)
	state, err := b.State(b.Context(), model.Ref{Session: "s", ID: id(odd)})
	b.ok(err)
	if string(state) != odd {
		b.Errorf("the state came back as %s", state)
	}
	before := b.dump()
	s := a.snapshot(`"other"`, 0)
	s.ID = strings.Repeat("0", 64)
	if err := b.SaveSnapshot(b.Context(), s); !errors.Is(err, store.ErrIDMismatch) {
		b.Errorf("an id that is not the hash of its state: %v", err)
	}
	s.SessionID = "new"
	if err := b.SaveSnapshot(b.Context(), s); !errors.Is(err, store.ErrIDMismatch) {
		b.Errorf("an id that is not the hash of its state, in a new session: %v", err)
	}
	b.same(b.dump(), before)
	// The id is that of the compact JSON, whatever blanks the writer left.
	s = a.snapshot(`{ "a": 1 }`, 0)
	s.ID = id(`{"a":1}`)
	b.ok(b.SaveSnapshot(b.Context(), s))
	state, err = b.State(b.Context(), model.Ref{Session: "s", ID: s.ID})
	b.ok(err)
	if string(state) != `{ "a": 1 }` {
		b.Errorf("the state came back as %s", state)
	}
}

func rule02(b *bench) {
	b.agent("one").turns(`"a"`, `"b"`)
	b.agent("two").turns(`"a"`, `"c"`)
	b.want("one", "a0 b1*")
	b.want("two", "a0 c1*")
	_, err := b.GetSnapshot(b.Context(), id(`"a"`))
	var ambiguous *model.AmbiguousError
	if !errors.As(err, &ambiguous) || !errors.Is(err, model.ErrAmbiguous) || !slices.Equal(ambiguous.Candidates, []string{"one", "two"}) {
		b.Errorf("an id in two sessions: %v", err)
	}
	for _, session := range []string{"one", "two"} {
		s, err := b.GetSnapshotIn(b.Context(), session, id(`"a"`))
		b.ok(err)
		if s == nil || s.SessionID != session {
			b.Errorf("in session %q: %+v", session, s)
		}
	}
	s, err := b.GetSnapshot(b.Context(), id(`"c"`))
	b.ok(err)
	if s == nil || s.SessionID != "two" {
		b.Errorf("an id in one session: %+v", s)
	}
	if s, err := b.GetSnapshotIn(b.Context(), "one", id(`"c"`)); s != nil || err != nil {
		b.Errorf("an id of another session: %+v, %v", s, err)
	}
	// What happens to one does not touch the other.
	b.ok(b.InvalidateSnapshotsAfter(b.Context(), "one", -1))
	b.want("one", "a0- b1-")
	b.want("two", "a0 c1*")
}

func rule03(b *bench) {
	a := b.agent("s")
	a.turns(`"a"`, `"b"`, `"a"`, `"c"`)
	b.want("s", "a0 b1 a2 c3*")
	row, err := b.GetSnapshotIn(b.Context(), "s", id(`"a"`))
	b.ok(err)
	if row.Index != 0 || row.ParentID != "" || row.TurnIndex != 0 {
		b.Errorf("the row of a is not as it was first written: %+v", row)
	}
	list, err := b.ListSnapshots(b.Context(), "s", true)
	b.ok(err)
	b.wantIDs(list, `"a"`, `"b"`, `"c"`)
	// Drawn by visits, nothing is abandoned: one line of four.
	headers := b.headers("s")
	tree := model.NewTimeline(headers)
	if tree.Orphans() != 0 || len(tree.Faults()) != 0 {
		b.Errorf("%d visits are off the path, faults %v", tree.Orphans(), tree.Faults())
	}
	for i, h := range headers {
		if h.Visit != int64(i+1) || h.ParentVisit != int64(i) {
			b.Errorf("visit %d follows %d", h.Visit, h.ParentVisit)
		}
	}
}

func rule04(b *bench) {
	a := b.agent("s")
	ids := a.turns(`"a"`, `"b"`, `"c"`)
	b.restore(model.Ref{Session: "s", ID: ids[0]})
	b.want("s", "a0* b1- c2-")
	a.resume()
	a.turns(`"b"`)
	b.want("s", "a0 b1- c2- b1*")
	row, err := b.GetSnapshotIn(b.Context(), "s", ids[1])
	b.ok(err)
	if row.Orphaned {
		b.Error("the row of b still counts as orphaned")
	}
	list, err := b.ListSnapshots(b.Context(), "s", false)
	b.ok(err)
	b.wantIDs(list, `"a"`, `"b"`)
	if headers := b.headers("s"); headers[3].ParentVisit != 1 {
		b.Errorf("the new visit follows visit %d", headers[3].ParentVisit)
	}
}

func rule05Active(b *bench) {
	ids := b.agent("s").turns(`"a"`, `"b"`, `"c"`, `"d"`)
	plan, receipt := b.restore(model.Ref{Session: "s", ID: ids[1]})
	b.want("s", "a0 b1* c2- d3-")
	if len(plan.Orphans) != 2 || plan.Orphans[0].ID != ids[2] || plan.Orphans[1].ID != ids[3] || len(plan.Reactivates) != 0 {
		b.Errorf("the plan moves %+v and %+v", plan.Orphans, plan.Reactivates)
	}
	if receipt.Head.ID != ids[1] || receipt.Head.Index != 1 || receipt.Orphaned != 2 || receipt.Reactivated != 0 {
		b.Errorf("receipt %+v", receipt)
	}
}

func rule05Orphaned(b *bench) {
	a := b.agent("s")
	ids := a.turns(`"a"`, `"b"`, `"c"`, `"d"`)
	b.restore(model.Ref{Session: "s", ID: ids[1]})
	a.resume()
	a.turns(`"x"`, `"y"`)
	b.want("s", "a0 b1 c2- d3- x2 y3*")
	plan, receipt := b.restore(model.Ref{Session: "s", ID: ids[2]})
	b.want("s", "a0 b1 c2* d3- x2- y3-")
	if len(plan.Orphans) != 2 || len(plan.Reactivates) != 1 || plan.Reactivates[0].ID != ids[2] {
		b.Errorf("the plan moves %+v and %+v", plan.Orphans, plan.Reactivates)
	}
	if receipt.Orphaned != 2 || receipt.Reactivated != 1 {
		b.Errorf("receipt %+v", receipt)
	}
	// To the tip of the lost branch: c is active already.
	b.restore(model.Ref{Session: "s", ID: ids[3]})
	b.want("s", "a0 b1 c2 d3* x2- y3-")
}

func rule05Nested(b *bench) {
	a := b.agent("s")
	ids := a.turns(`"a"`, `"b"`, `"c"`, `"d"`)
	b.restore(model.Ref{Session: "s", ID: ids[2]})
	a.resume()
	a.turns(`"e"`)
	b.restore(model.Ref{Session: "s", ID: ids[0]})
	a.resume()
	a.turns(`"f"`)
	b.want("s", "a0 b1- c2- d3- e3- f1*")
	// d hangs on c, which hangs on the branch point a.
	b.restore(model.Ref{Session: "s", ID: ids[3]})
	b.want("s", "a0 b1 c2 d3* e3- f1-")
}

func rule05Root(b *bench) {
	a := b.agent("s")
	ids := a.turns(`"a"`, `"b"`)
	b.ok(b.InvalidateSnapshotsAfter(b.Context(), "s", -1))
	b.want("s", "a0- b1-")
	a.last, a.turn = nil, 0
	a.turns(`"x"`, `"y"`)
	b.want("s", "a0- b1- x0 y1*")
	b.restore(model.Ref{Session: "s", ID: ids[1]})
	b.want("s", "a0 b1* x0- y1-")
}

func rule05Reasons(b *bench) {
	a := b.agent("s")
	ids := a.turns(`"a"`, `"b"`, `"c"`)
	at := b.clock.Now()
	b.restore(model.Ref{Session: "s", ID: ids[0]})
	a.resume()
	a.turns(`"x"`, `"y"`)
	later := b.clock.Now()
	a.restoreTo(id(`"x"`))
	b.want("s", "a0 b1- c2- x1* y2-")
	headers := b.headers("s")
	first := model.Reason{Kind: model.ReasonRestore, At: at, TargetID: ids[0], TargetIndex: 0}
	second := model.Reason{Kind: model.ReasonRestore, At: later, TargetID: id(`"x"`), TargetIndex: 1}
	for i, want := range []*model.Reason{nil, &first, &first, nil, &second} {
		switch got := headers[i].Reason; {
		case (got == nil) != (want == nil):
			b.Errorf("visit %d: reason %+v, want %+v", i+1, got, want)
		case got != nil && (got.Kind != want.Kind || !got.At.Equal(want.At) || got.TargetID != want.TargetID || got.TargetIndex != want.TargetIndex):
			b.Errorf("visit %d: reason %+v, want %+v", i+1, *got, *want)
		}
	}
	if headers[1].Reason != headers[2].Reason {
		b.Error("visits that left together do not share a reason")
	}
}

func rule06(b *bench) {
	a := b.agent("s")
	a.turns(`"a"`, `"b"`, `"c"`)
	b.restore(model.Ref{Session: "s", ID: id(`"a"`)})
	if data := a.resume(); data.LastSnapshot.Index != 0 {
		b.Errorf("the session goes on from #%d", data.LastSnapshot.Index)
	}
	a.turns(`"x"`, `"y"`)
	b.want("s", "a0 b1- c2- x1 y2*")
	// Two branches share indexes 1 and 2; the earlier one was there before.
	list, err := b.ListSnapshots(b.Context(), "s", true)
	b.ok(err)
	b.wantIDs(list, `"a"`, `"b"`, `"x"`, `"c"`, `"y"`)
	// Equal in index and time, the id decides.
	var same []string
	for _, state := range []string{`"p"`, `"q"`, `"r"`} {
		s := a.snapshot(state, 0)
		s.SessionID, s.Index, s.ParentID = "t", 7, ""
		b.ok(b.SaveSnapshot(b.Context(), s))
		same = append(same, s.ID)
	}
	slices.Sort(same)
	list, err = b.ListSnapshots(b.Context(), "t", true)
	b.ok(err)
	for i := range list {
		if list[i].ID != same[i] {
			b.Fatalf("order of equal indexes and times: %q, want %q", ids(list), same)
		}
	}
}

func rule07(b *bench) {
	a := b.agent("s")
	a.step(`"a"`, model.SnapshotEventToolIterationEnd)
	a.step(`"b"`, model.SnapshotEventTurnEnd)
	tool := a.step(`"c"`, model.SnapshotEventToolIterationEnd)
	a.step(`"d"`, model.SnapshotEventTurnEnd)
	a.turn = 1 // the end of the invocation repeats the last turn
	a.step(`"e"`, model.SnapshotEventInvocationEnd)
	var turns []int
	for _, h := range b.headers("s") {
		turns = append(turns, h.TurnIndex)
	}
	if !slices.Equal(turns, []int{0, 0, 1, 1, 1}) {
		b.Errorf("turns %v", turns)
	}
	b.restore(model.Ref{Session: "s", ID: tool.ID})
	if data := a.resume(); data.TurnIndex != tool.TurnIndex || data.LastSnapshot.TurnIndex != tool.TurnIndex {
		b.Errorf("the session goes on at turn %d from one of turn %d, want %d", data.TurnIndex, data.LastSnapshot.TurnIndex, tool.TurnIndex)
	}
}

func rule08(b *bench) {
	a := b.agent("s")
	events := []model.SnapshotEvent{0, 1, 2, 42, -1}
	for i, event := range events {
		a.step(string(rune('0'+i)), event)
	}
	list, err := b.ListSnapshots(b.Context(), "s", true)
	b.ok(err)
	for i, h := range b.headers("s") {
		if h.Event != events[i] || list[i].Event != events[i] {
			b.Errorf("event %d came back as %d and %d", events[i], h.Event, list[i].Event)
		}
	}
	named := model.Header{ID: id("9"), SessionID: "named", Event: model.SnapshotEventNamed, EventName: "detach"}
	_, err = b.Import(b.Context(), seq(store.Row{Header: named, State: []byte("9")}))
	b.ok(err)
	if h := b.headers("named")[0]; h.Event != model.SnapshotEventNamed || h.EventName != "detach" {
		b.Errorf("the event came back as %d %q", h.Event, h.EventName)
	}
}

func rule09(b *bench) {
	a := b.agent("s")
	ids := a.turns(`"a"`, `"b"`, `"c"`)
	// The working state runs ahead of the snapshots.
	b.ok(b.Save(b.Context(), "s", &model.Data[json.RawMessage]{State: json.RawMessage(`"working"`), LastSnapshot: a.last, TurnIndex: 9}))
	plan, err := b.Plan(b.Context(), model.Change{Op: model.OpRestore, Ref: model.Ref{Session: "s", ID: ids[1]}})
	b.ok(err)
	if !slices.ContainsFunc(plan.Hazards, func(h string) bool { return strings.Contains(h, "working state") }) {
		b.Errorf("no word about the working state in %q", plan.Hazards)
	}
	b.apply(plan)
	data := a.resume()
	if string(data.State) != `"b"` || data.LastSnapshot.ID != ids[1] || data.TurnIndex != 1 || string(data.LastSnapshot.State) != `"b"` {
		b.Errorf("the record is %s after %s at turn %d", data.State, data.LastSnapshot.State, data.TurnIndex)
	}
	// Somebody goes on between the plan and its application.
	plan, err = b.Plan(b.Context(), model.Change{Op: model.OpRestore, Ref: model.Ref{Session: "s", ID: ids[0]}})
	b.ok(err)
	a.turns(`"x"`)
	before := b.dump()
	if _, err := b.Apply(b.Context(), plan); !errors.Is(err, model.ErrHeadMoved) {
		b.Errorf("a plan for a head that has moved: %v", err)
	}
	b.same(b.dump(), before)
	// The head is where it was, but what the plan says no longer holds.
	plan, err = b.Plan(b.Context(), model.Change{Op: model.OpRestore, Ref: model.Ref{Session: "s", ID: ids[0]}})
	b.ok(err)
	stray := a.snapshot(`"stray"`, 0)
	stray.Orphaned = true
	b.ok(b.SaveSnapshot(b.Context(), stray))
	b.apply(plan)
	if _, err := b.Apply(b.Context(), plan); !errors.Is(err, model.ErrHeadMoved) {
		b.Errorf("the same plan twice: %v", err)
	}
}

func rule10(b *bench) {
	at := b.clock.Now()
	header := func(state, parent string, visit, parentVisit int64, index int) store.Row {
		return store.Row{
			Header: model.Header{ID: id(state), ParentID: parent, SessionID: "s", CreatedAt: at, Visit: visit, ParentVisit: parentVisit, Index: index},
			State:  []byte(state),
		}
	}
	b.agent("t").turns(`"elsewhere"`)
	rows := []store.Row{
		header(`"root"`, "", 1, 0, 0),
		header(`"missing parent"`, strings.Repeat("1", 64), 2, 0, 1),
		header(`"self"`, id(`"self"`), 3, 3, 1),
		header(`"cycle a"`, id(`"cycle b"`), 4, 5, 2),
		header(`"cycle b"`, id(`"cycle a"`), 5, 4, 3),
		header(`"foreign"`, id(`"elsewhere"`), 6, 0, 4),
		header(`"second root"`, "", 7, 0, 0),
		header(`"child"`, id(`"cycle b"`), 8, 5, 4),
	}
	_, err := b.Import(b.Context(), seq(rows...))
	b.ok(err)
	headers := b.headers("s")
	for i, h := range headers {
		want := rows[i].Header
		if h.ID != want.ID || h.ParentID != want.ParentID || h.ParentVisit != want.ParentVisit || h.Index != want.Index {
			b.Errorf("visit %d is %+v, want %+v", i+1, h, want)
		}
		if state, err := b.State(b.Context(), h.Ref()); err != nil || string(state) != string(rows[i].State) {
			b.Errorf("state %d is %s, %v", i+1, state, err)
		}
	}
	faults, err := b.Faults(b.Context(), "s")
	b.ok(err)
	for _, code := range []string{model.FaultMissingParent, model.FaultSelfParent, model.FaultParentCycle, model.FaultSeveralRoots, model.FaultEqualTime} {
		if !slices.ContainsFunc(faults, func(f model.Fault) bool { return f.Code == code }) {
			b.Errorf("no fault %s in %+v", code, faults)
		}
	}
	// Each can be restored, forked and taken back.
	before := b.dump()
	for _, h := range headers {
		plan, _ := b.restore(h.Ref())
		if whole := h.ParentID == "" && h.ParentVisit == 0; whole == slices.ContainsFunc(plan.Hazards, func(s string) bool { return strings.Contains(s, "lineage") }) {
			b.Errorf("visit %d: hazards %q", h.Visit, plan.Hazards)
		}
		b.fork(h.Ref(), "fork")
		b.undo()
		b.undo()
		b.same(b.dump(), before)
	}
}
