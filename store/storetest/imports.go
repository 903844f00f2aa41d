package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/store"
)

// What import and export promise.
var imports = []check{
	{"TestImport_titlesComeBack", oddTitles},
	{"TestImport_rowsComeBackAsTheyAre", importRows},
	{"TestImport_twiceAddsNothing", importTwice},
	{"TestImport_intoASessionThatWentOn", importMerge},
	{"TestImport_errorTakesEverythingBack", importError},
	{"TestImport_refusesWhatIsNoRow", importRefusals},
	{"TestImport_headOfRowsThatNameNone", importHead},
	{"TestImport_fromTheStoreItself", importSelf},
	{"TestImport_isUndoneAsAWhole", importUndone},
	{"TestImport_isNoEntryWhereNothingWas", importBeginning},
	{"TestImport_isNotUndoneOnceGoneOnFrom", importGoneOn},
	{"TestImport_foreignRowsCanBeGoneOnFrom", importForeign},
	{"TestImport_stepsAreNoSnapshots", importSteps},
	{"TestExport_namedSessionsOnly", exportNamed},
}

// seq returns rows one by one.
func seq(rows ...store.Row) iter.Seq2[store.Row, error] {
	return func(yield func(store.Row, error) bool) {
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
	}
}

// rich returns rows with everything in them that a row can say.
func rich(b *bench) []store.Row {
	at := b.clock.Now().In(time.FixedZone("", -3600))
	why := &model.Reason{Kind: model.ReasonRestore, At: at.Add(time.Hour), TargetID: id("1")}
	state := json.RawMessage(`{"working": true}`)
	return []store.Row{
		{Header: model.Header{ID: id("1"), SessionID: "s", CreatedAt: at, Visit: 1, Size: 1}, State: []byte("1")},
		{Header: model.Header{ID: id("2"), ParentID: id("1"), SessionID: "s", CreatedAt: at, Visit: 2, ParentVisit: 1, Index: 1, TurnIndex: 1, Event: 2, Orphaned: true, Reason: why, Size: 1}, State: []byte("2")},
		{Header: model.Header{ID: id("1"), ParentID: id("2"), SessionID: "s", CreatedAt: at, Visit: 5, ParentVisit: 2, Index: 2, TurnIndex: 1, Orphaned: true, Reason: why, Size: 1}},
		{Header: model.Header{ID: "foreign", ParentID: id("1"), SessionID: "s", Visit: 6, ParentVisit: 1, Index: 1, Event: model.SnapshotEventNamed, EventName: "detach",
			Position: "after_tools", Title: "a title\x1b[31m", Marks: model.MarkEvicted | model.MarkError, Head: true, Size: 3}, State: []byte("[3]")},
		{Header: model.Header{ID: "lost", ParentID: "gone", SessionID: "s", Visit: 9, ParentVisit: 4, Index: -1, Event: 77, Orphaned: true, Size: 1}, State: []byte("4")},
		{Record: &model.Data[json.RawMessage]{ID: "s", State: state, TurnIndex: 3}},
		{Record: &model.Data[json.RawMessage]{ID: "without snapshots", State: state}},
	}
}

// words returns rows in words, to compare them.
func words(rows iter.Seq2[store.Row, error]) string {
	var out strings.Builder
	for row, err := range rows {
		reason := row.Header.Reason
		row.Header.Reason = nil
		at := row.Header.CreatedAt.Format(time.RFC3339Nano)
		row.Header.CreatedAt = time.Time{}
		fmt.Fprintf(&out, "%+v %s %s", row.Header, at, row.State)
		if reason != nil {
			fmt.Fprintf(&out, " left %v %s %q %d", reason.Kind, reason.At.Format(time.RFC3339Nano), reason.TargetID, reason.TargetIndex)
		}
		if row.Record != nil {
			fmt.Fprintf(&out, " record %q %d %s", row.Record.ID, row.Record.TurnIndex, row.Record.State)
		}
		fmt.Fprintf(&out, " %v\n", err)
	}
	return out.String()
}

func importRows(b *bench) {
	rows := rich(b)
	n, err := b.Import(b.Context(), seq(rows...))
	b.ok(err)
	if n != 5 {
		b.Errorf("%d new visits", n)
	}
	b.same(words(store.Rows(b.Context(), b.Store)), words(seq(rows...)))
	headers := b.headers("s")
	if headers[1].Reason != headers[2].Reason {
		b.Error("visits that left together do not share a reason")
	}
	faults, err := b.Faults(b.Context(), "")
	b.ok(err)
	if len(faults) != 0 {
		b.Errorf("faults %+v", faults)
	}
}

func importTwice(b *bench) {
	rows := rich(b)
	_, err := b.Import(b.Context(), seq(rows...))
	b.ok(err)
	// And one whose visits do not differ in anything but their number.
	twins := []store.Row{
		{Header: model.Header{ID: "a", SessionID: "twins"}, State: []byte("1")},
		{Header: model.Header{ID: "b", SessionID: "twins"}, State: []byte("2")},
		{Header: model.Header{ID: "a", SessionID: "twins"}},
	}
	n, err := b.Import(b.Context(), seq(twins...))
	b.ok(err)
	if n != 3 {
		b.Errorf("%d new visits", n)
	}
	before := b.dump()
	b.clock.Advance(time.Hour)
	for range 2 {
		n, err = b.Import(b.Context(), seq(append(rows, twins...)...))
		b.ok(err)
		if n != 0 {
			b.Errorf("%d new visits the second time", n)
		}
		b.same(b.dump(), before)
	}
}

func importMerge(b *bench) {
	a := b.agent("s")
	a.turns(`"a"`, `"b"`)
	var exported []store.Row
	for row, err := range store.Rows(b.Context(), b.Store) {
		b.ok(err)
		exported = append(exported, row)
	}
	a.turns(`"c"`)
	// The same session went on elsewhere: its visit 3 is another one, and its
	// visit 4 follows that.
	other := exported[1].Header
	for i := range exported {
		exported[i].Header.Head = false
	}
	other.Head = false
	d, e := other, other
	d.ID, d.ParentID, d.Index, d.Visit, d.ParentVisit = id(`"d"`), other.ID, 2, 3, 2
	e.ID, e.ParentID, e.Index, e.Visit, e.ParentVisit, e.Head = id(`"e"`), d.ID, 3, 4, 3, true
	rows := slices.Insert(exported, 2, store.Row{Header: d, State: []byte(`"d"`)}, store.Row{Header: e, State: []byte(`"e"`)})
	n, err := b.Import(b.Context(), seq(rows...))
	b.ok(err)
	if n != 2 {
		b.Errorf("%d new visits", n)
	}
	b.want("s", "a0 b1 c2 d2 e3*")
	headers := b.headers("s")
	if headers[3].Visit != 4 || headers[3].ParentVisit != 2 || headers[4].Visit != 5 || headers[4].ParentVisit != 4 {
		b.Errorf("visit %d follows %d, visit %d follows %d", headers[3].Visit, headers[3].ParentVisit, headers[4].Visit, headers[4].ParentVisit)
	}
	before := b.dump()
	n, err = b.Import(b.Context(), seq(rows...))
	b.ok(err)
	if n != 0 {
		b.Errorf("%d new visits the second time", n)
	}
	b.same(b.dump(), before)
}

func importError(b *bench) {
	b.agent("s").turns(`"a"`)
	before := b.dump()
	broken := errors.New("line 3 is broken")
	n, err := b.Import(b.Context(), func(yield func(store.Row, error) bool) {
		for _, row := range rich(b)[:2] {
			if !yield(row, nil) {
				return
			}
		}
		yield(store.Row{}, broken)
	})
	if n != 0 || !errors.Is(err, broken) {
		b.Errorf("%d rows, %v", n, err)
	}
	b.same(b.dump(), before)
}

func importRefusals(b *bench) {
	before := b.dump()
	good := store.Row{Header: model.Header{ID: "x", SessionID: "s"}, State: []byte("1")}
	for name, c := range map[string]struct {
		row  store.Row
		want error
	}{
		"no id":          {store.Row{Header: model.Header{SessionID: "s"}, State: []byte("1")}, nil},
		"no state":       {store.Row{Header: model.Header{ID: "y", SessionID: "s"}}, store.ErrNoState},
		"no JSON":        {store.Row{Header: model.Header{ID: "y", SessionID: "s"}, State: []byte("{")}, store.ErrNotJSON},
		"no time":        {store.Row{Header: model.Header{ID: "y", SessionID: "s", CreatedAt: time.Date(12345, 1, 1, 0, 0, 0, 0, time.UTC)}, State: []byte("1")}, store.ErrTime},
		"no record":      {store.Row{Record: &model.Data[json.RawMessage]{ID: "s"}}, store.ErrNotJSON},
		"state of other": {store.Row{Header: model.Header{ID: "x", SessionID: "t"}}, store.ErrNoState},
	} {
		_, err := b.Import(b.Context(), seq(good, c.row))
		if err == nil || c.want != nil && !errors.Is(err, c.want) {
			b.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	b.same(b.dump(), before)
}

func importHead(b *bench) {
	row := func(id string, index int, orphaned bool) store.Row {
		return store.Row{Header: model.Header{ID: id, SessionID: "s", Index: index, Orphaned: orphaned}, State: []byte(`"` + id + `"`)}
	}
	_, err := b.Import(b.Context(), seq(row("c", 2, false), row("a", 0, false), row("d", 3, true), row("b", 1, false)))
	b.ok(err)
	b.want("s", "c2* a0 d3- b1")
	_, err = b.Import(b.Context(), seq(store.Row{Header: model.Header{ID: "x", SessionID: "t", Orphaned: true}, State: []byte("1")}))
	b.ok(err)
	b.want("t", "10-")
	plan, err := b.Plan(b.Context(), model.Change{Op: model.OpRestore, Ref: model.Ref{Session: "t", ID: "x"}})
	b.ok(err)
	if plan.Head != (model.Point{}) {
		b.Errorf("a session without a head is at %+v", plan.Head)
	}
	before := b.dump()
	b.apply(plan)
	b.want("t", "10*")
	b.undo()
	b.same(b.dump(), before)
}

func importSelf(b *bench) {
	branched(b)
	before := b.dump()
	n, err := b.Import(b.Context(), store.Rows(b.Context(), b.Store))
	b.ok(err)
	if n != 0 {
		b.Errorf("%d new visits", n)
	}
	b.same(b.dump(), before)
}

// more returns rows that go on with session s behind b, make session t, and one that has
// a record alone.
func more(b *bench) []store.Row {
	at := b.clock.Now()
	reason := &model.Reason{Kind: model.ReasonRestore, At: at, TargetID: id(`"b"`), TargetIndex: 1}
	return []store.Row{
		{Header: model.Header{ID: id(`"c"`), ParentID: id(`"b"`), SessionID: "s", CreatedAt: at, Index: 2, Visit: 3, ParentVisit: 2, Orphaned: true, Reason: reason}, State: []byte(`"c"`)},
		{Header: model.Header{ID: id(`"d"`), ParentID: id(`"b"`), SessionID: "s", CreatedAt: at, Index: 2, Visit: 4, ParentVisit: 2, Head: true}, State: []byte(`"d"`)},
		{Record: &model.Data[json.RawMessage]{ID: "s", State: json.RawMessage(`"imported"`), TurnIndex: 7}},
		{Header: model.Header{ID: "x", SessionID: "t", CreatedAt: at}, State: []byte(`["t"]`)},
		{Record: &model.Data[json.RawMessage]{ID: "record", State: json.RawMessage(`"alone"`)}},
	}
}

func importUndone(b *bench) {
	b.agent("s").turns(`"a"`, `"b"`)
	b.clock.Advance(time.Hour)
	before, rows := b.dump(), more(b)
	for range 2 { // numbers that an undo has freed are given again
		_, err := b.Import(b.Context(), seq(rows...))
		b.ok(err)
		after := b.dump()
		_, err = b.Import(b.Context(), seq(rows...))
		b.ok(err)
		b.same(b.dump(), after)
		entries, err := b.Journal(b.Context())
		b.ok(err)
		e := entries[0]
		if e.Op != model.OpImport || e.Session != "s" || !slices.Equal(e.Others, []string{"t", "record"}) || e.From != id(`"b"`) || e.To != id(`"d"`) || e.Undone {
			b.Errorf("the entry is %+v", e)
		}
		b.clock.Advance(time.Minute)
		b.restore(model.Ref{Session: "t", ID: "x"})
		b.undo()
		b.same(b.dump(), after)
		plan, err := b.Plan(b.Context(), model.Change{Op: model.OpUndo})
		b.ok(err)
		if plan.Session != "s" || !slices.Equal(plan.Others, e.Others) || plan.Target.ID != id(`"b"`) || plan.Head.ID != id(`"d"`) || plan.Removes || plan.Entry != e.ID {
			b.Errorf("the plan is %+v", plan)
		}
		b.apply(plan)
		b.same(b.dump(), before)
		if _, err := b.Plan(b.Context(), model.Change{Op: model.OpRedo}); !errors.As(err, new(*model.NothingToError)) {
			b.Errorf("redo: %v", err)
		}
		faults, err := b.Faults(b.Context(), "")
		if b.ok(err); len(faults) != 0 {
			b.Errorf("faults %+v", faults)
		}
		entries, err = b.Journal(b.Context())
		if b.ok(err); !entries[len(entries)-1].Undone {
			b.Errorf("the journal is %+v", entries)
		}
	}
}

func importBeginning(b *bench) {
	_, err := b.Import(b.Context(), seq(rich(b)...))
	b.ok(err)
	if _, err := b.Plan(b.Context(), model.Change{Op: model.OpUndo}); !errors.As(err, new(*model.NothingToError)) {
		b.Errorf("undo of what the store begins with: %v", err)
	}
}

func importGoneOn(b *bench) {
	b.agent("s").turns(`"a"`, `"b"`)
	_, err := b.Import(b.Context(), seq(more(b)...))
	b.ok(err)
	plan, err := b.Plan(b.Context(), model.Change{Op: model.OpUndo})
	b.ok(err)
	b.ok(b.Save(b.Context(), "record", &model.Data[json.RawMessage]{State: json.RawMessage(`"gone on"`)}))
	before := b.dump()
	if _, err := b.Apply(b.Context(), plan); !errors.Is(err, model.ErrHeadMoved) {
		b.Errorf("the undo: %v", err)
	}
	if _, err := b.Plan(b.Context(), model.Change{Op: model.OpUndo}); !errors.Is(err, model.ErrHeadMoved) || !strings.Contains(err.Error(), `"record"`) {
		b.Errorf("its plan: %v", err)
	}
	b.same(b.dump(), before)
}

func importForeign(b *bench) {
	_, err := b.Import(b.Context(), seq(
		store.Row{Header: model.Header{ID: "uuid-1", SessionID: "s"}, State: []byte(`"p"`)},
		store.Row{Header: model.Header{ID: "uuid-2", ParentID: "uuid-1", SessionID: "s", Index: 1}, State: []byte(`"q"`)},
		store.Row{Record: &model.Data[json.RawMessage]{ID: "s", State: json.RawMessage(`"q"`)}},
	))
	b.ok(err)
	a := b.agent("s")
	data := a.resume()
	// The agent saves what it loaded, and then its own.
	b.ok(b.Save(b.Context(), "s", data))
	b.ok(b.SaveSnapshot(b.Context(), data.LastSnapshot))
	b.want("s", "p0 q1*")
	a.turns(`"r"`)
	b.want("s", "p0 q1 r2*")
	if h := b.headers("s")[2]; h.ParentID != "uuid-2" || h.ParentVisit != 2 {
		b.Errorf("the new snapshot follows %q, visit %d", h.ParentID, h.ParentVisit)
	}
}

// importSteps: what a trace tells of turns comes along, and no count of a session
// has it, whatever becomes of the session.
func importSteps(b *bench) {
	at := b.clock.Now()
	row := func(visit, parent int64, name, parentName string, index int, marks model.Marks) store.Row {
		return store.Row{State: []byte(`"` + name + `"`), Header: model.Header{ID: name, ParentID: parentName, SessionID: "s", CreatedAt: at.Add(time.Duration(visit) * time.Second),
			Visit: visit, ParentVisit: parent, Index: index, TurnIndex: index, Title: name, Marks: marks}}
	}
	const far = 1 << 47 // visits of steps may be any
	early, late := row(4, 3, "step2", "b", 2, model.MarkTraced), row(5, far+9, "step3", "step2", 2, model.MarkTraced)
	early.Header.Visit, late.Header.Visit = far+9, far+2
	late.Header.CreatedAt = at.Add(time.Hour) // by the clock of whoever traced it
	n, err := b.Import(b.Context(), seq(
		row(1, 0, "a", "", 0, 0),
		row(2, 1, "step1", "a", 1, model.MarkTraced|model.MarkError), row(3, 2, "b", "a", 1, model.MarkError),
		early, late, row(6, far+2, "c", "b", 2, 0)))
	b.ok(err)
	if n != 3 {
		b.Errorf("%d visits were new, want those of 3 snapshots", n)
	}
	counted := func(when string, snapshots, orphaned map[string]int) {
		b.Helper()
		for info, err := range b.Sessions(b.Context()) {
			b.ok(err)
			if when == "imported" && info.Head.ID != "c" {
				b.Errorf("the head is %s", info.Head)
			}
			if info.Snapshots != snapshots[info.ID] || info.Orphaned != orphaned[info.ID] {
				b.Errorf("%s %s has %d snapshots, %d off the path; want %d and %d", when, info.ID, info.Snapshots, info.Orphaned, snapshots[info.ID], orphaned[info.ID])
			}
			t := model.NewTimeline(b.headers(info.ID))
			if info.Snapshots != t.Snapshots() || info.Orphaned != t.Orphans() {
				b.Errorf("%s the timeline of %s has %d snapshots, %d off the path", when, info.ID, t.Snapshots(), t.Orphans())
			}
		}
		faults, err := b.Faults(b.Context(), "")
		b.ok(err)
		if len(faults) > 0 {
			b.Errorf("%s there are faults: %+v", when, faults)
		}
	}
	type counts = map[string]int
	counted("imported", counts{"s": 3}, counts{})
	b.restore(model.Ref{Session: "s", ID: "a"})
	counted("restored", counts{"s": 3}, counts{"s": 2})
	b.restore(model.Ref{Session: "s", ID: "b"})
	counted("recovered", counts{"s": 3}, counts{"s": 1})
	b.undo()
	counted("undone", counts{"s": 3}, counts{"s": 2})
	b.redo()
	counted("done again", counts{"s": 3}, counts{"s": 1})
	b.fork(model.Ref{Session: "s", ID: "c"}, "f")
	counted("forked", counts{"s": 3, "f": 3}, counts{"s": 1})
	if n, err = b.Import(b.Context(), seq(row(7, 6, "step4", "c", 3, model.MarkTraced))); err != nil || n != 0 {
		b.Errorf("of a step alone %d visits were new: %v", n, err)
	}
	for i, h := range b.headers("s") {
		if h.Visit != int64(i+1) || h.ParentVisit != int64(i) {
			b.Errorf("%s is visit %d and follows %d", h.ID, h.Visit, h.ParentVisit)
		}
	}
	counted("with one step more", counts{"s": 3, "f": 3}, counts{"s": 1})
}

func exportNamed(b *bench) {
	for _, session := range []string{"c", "a", "b"} {
		b.agent(session).turns(`"` + session + `"`)
	}
	named := func(sessions ...string) (order []string) {
		for row, err := range store.Rows(b.Context(), b.Store, sessions...) {
			b.ok(err)
			if row.Record == nil {
				order = append(order, row.Header.SessionID)
			}
		}
		return order
	}
	if got := named(); !slices.Equal(got, []string{"a", "b", "c"}) {
		b.Errorf("all sessions: %q", got)
	}
	if got := named("c", "a"); !slices.Equal(got, []string{"c", "a"}) {
		b.Errorf("two sessions: %q", got)
	}
	for _, err := range store.Rows(b.Context(), b.Store, "a", "none") {
		if err != nil && !errors.Is(err, model.ErrNoSession) {
			b.Errorf("an unknown session: %v", err)
		}
	}
}

func oddTitles(b *bench) {
	titles := []string{"plain", `say "hi"`, `C:\dir`, `x","marks":64,"y":"`, `"}`, "<b>&", "日本 → é", "\x1b[31m", "\u2028", "a\tb"}
	rows := func(yield func(store.Row, error) bool) {
		for i, title := range titles {
			h := model.Header{ID: fmt.Sprint(i), SessionID: "s", Index: i, Title: title}
			if !yield(store.Row{Header: h, State: []byte(fmt.Sprint(i))}, nil) {
				return
			}
		}
	}
	_, err := b.Import(b.Context(), rows)
	b.ok(err)
	for i, h := range b.headers("s") {
		if h.Title != titles[i] || h.Marks != 0 {
			b.Errorf("title %q came back as %q, with marks %d", titles[i], h.Title, h.Marks)
		}
	}
}
