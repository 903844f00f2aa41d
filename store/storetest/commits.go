package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/native/typed"
	"hindcast/store/storetest/skip"
)

// What a program that records a session is promised: it moves on from where it
// last saw the session, or not at all.
var commits = []check{
	{"TestCommit_movesOnInOneStep", commitMovesOn},
	{"TestCommit_ofASessionThatIsNot", commitFirst},
	{"TestCommit_secondOfTwoWritersIsRefused", commitTwoWriters},
	{"TestCommit_afterARestoreIsRefused", commitAfterRestore},
	{"TestCommit_afterARestoreAndItsUndoIsRefused", commitAfterUndo},
	{"TestCommit_sessionCreatedMeanwhile", commitCreatedMeanwhile},
	{"TestCommit_anyChangeMeanwhile", commitAnyChange},
	{"TestCommit_comingBackIsAVisit", commitVisits},
	{"TestCommit_orphanedIDIsActiveAgain", commitOrphaned},
	{"TestCommit_ofTheRecordAlone", commitRecord},
	{"TestCommit_refusesWhatCannotBeKept", commitRefusals},
	{"TestCommit_oddIDsAndLargeStatesAreData", commitOdd},
	{"TestCommit_callerMayChangeItsInput", commitAliasing},
	{"TestCommit_reopenedStoreGivesTheSameRecord", commitReopened},
	{"TestRevision_isNeverGivenTwice", revisions},
	{"TestWriters_eightOnOneSession", eightOnOne},
	{"TestWriters_eightOnEightSessions", eightOnEight},
	{"TestWriters_eightThatOpenedTheStoreThemselves", eightOpened},
}

// recorder plays a program that commits a session.
type recorder struct {
	*agent
	at typed.Revision
}

func (b *bench) recorder(session string) *recorder { return &recorder{agent: b.agent(session)} }

// next makes the record that ends a turn with that state, which is not
// committed yet.
func (r *recorder) next(state string) *model.Data[json.RawMessage] {
	s := r.snapshot(state, model.SnapshotEventTurnEnd)
	return &model.Data[json.RawMessage]{ID: r.session, State: s.State, LastSnapshot: s, TurnIndex: r.turn + 1}
}

// commit commits a record and goes on from it.
func (r *recorder) commit(data *model.Data[json.RawMessage]) error {
	now, err := r.Commit(r.Context(), data, r.at)
	if err == nil {
		r.at, r.last, r.turn = now, data.LastSnapshot, data.TurnIndex
	}
	return err
}

// record commits the end of a turn for each state.
func (r *recorder) record(states ...string) {
	r.Helper()
	for _, state := range states {
		r.clock.Advance(time.Second)
		r.ok(r.commit(r.next(state)))
	}
}

// load goes on from where the session is.
func (r *recorder) load() *model.Data[json.RawMessage] {
	r.Helper()
	data, at, err := r.Load(r.Context(), r.session)
	r.ok(err)
	r.at, r.last, r.turn = at, nil, 0
	if data != nil {
		r.last, r.turn = data.LastSnapshot, data.TurnIndex
	}
	return data
}

// refused commits the next state, which has to end in that conflict, and
// checks that nothing was written.
func (r *recorder) refused(data *model.Data[json.RawMessage], want model.ConflictError) {
	r.Helper()
	before := r.dump()
	err := r.commit(data)
	conflict := (*model.ConflictError)(nil)
	if !errors.As(err, &conflict) || !errors.Is(err, model.ErrHeadMoved) {
		r.Fatalf("a commit that comes too late gives %v", err)
	}
	if *conflict != want {
		r.Errorf("the conflict is %+v, want %+v", *conflict, want)
	}
	r.same(r.dump(), before)
}

func commitMovesOn(b *bench) {
	r := b.recorder("s")
	r.record(`"a"`, `"b"`)
	b.want("s", "a0 b1*")
	other := b.recorder("s")
	data := other.load()
	if string(data.State) != `"b"` || data.TurnIndex != 2 || data.LastSnapshot.ID != id(`"b"`) || data.LastSnapshot.Index != 1 || other.at != r.at {
		b.Errorf("the record is %+v at %d, want that at %d", data, other.at, r.at)
	}
	other.record(`"c"`)
	b.want("s", "a0 b1 c2*")
	got, err := b.Get(b.Context(), "s")
	b.ok(err)
	if string(got.State) != `"c"` || got.TurnIndex != 3 || got.LastSnapshot.ParentID != id(`"b"`) {
		b.Errorf("the record is %+v", got)
	}
	if entries, err := b.Journal(b.Context()); err != nil || len(entries) != 0 {
		b.Errorf("what an agent does is not Hindcast's to undo: %v, %v", entries, err)
	}
}

func commitFirst(b *bench) {
	r := b.recorder("s")
	if data := r.load(); data != nil || r.at != 0 {
		b.Errorf("a session that is not there: %+v at %d", data, r.at)
	}
	first := r.next(`"a"`)
	r.at = 5
	r.refused(first, model.ConflictError{Session: "s"})
	r.at = 0
	b.ok(r.commit(first))
	if r.at == 0 {
		b.Error("a session is at revision 0")
	}
	// A session of snapshots alone is at a revision, without a record.
	b.ok(b.SaveSnapshot(b.Context(), b.agent("bare").snapshot(`"a"`, 0)))
	if data, at, err := b.Load(b.Context(), "bare"); data != nil || at == 0 || err != nil {
		b.Errorf("a session without a record: %+v at %d, %v", data, at, err)
	}
}

func commitTwoWriters(b *bench) {
	r := b.recorder("s")
	r.record(`"a"`)
	one, two := b.recorder("s"), b.recorder("s")
	one.load()
	two.load()
	one.record(`"b"`)
	two.refused(two.next(`"c"`), model.ConflictError{Session: "s", Head: model.Point{ID: id(`"b"`), Index: 1}, Expected: model.Point{ID: id(`"a"`)}})
	one.record(`"d"`)
	two.refused(two.next(`"c"`), model.ConflictError{Session: "s", Head: model.Point{ID: id(`"d"`), Index: 2}, Expected: model.Point{ID: id(`"a"`)}})
	b.want("s", "a0 b1 d2*")
	// The other writer had the same thought.
	two.refused(two.next(`"b"`), model.ConflictError{Session: "s", Head: model.Point{ID: id(`"d"`), Index: 2}, Expected: model.Point{ID: id(`"a"`)}})
	two.load()
	two.record(`"c"`)
	b.want("s", "a0 b1 d2 c3*")
}

func commitAfterRestore(b *bench) {
	r := b.recorder("s")
	r.record(`"a"`, `"b"`)
	b.restore(model.Ref{Session: "s", ID: id(`"a"`)})
	conflict := model.ConflictError{Session: "s", Head: model.Point{ID: id(`"a"`)}, Expected: model.Point{ID: id(`"b"`), Index: 1}}
	r.refused(r.next(`"c"`), conflict)
	// The record alone would undo the restore.
	r.refused(&model.Data[json.RawMessage]{ID: "s", State: json.RawMessage(`"working"`), LastSnapshot: r.last}, conflict)
	r.load()
	r.record(`"x"`)
	b.want("s", "a0 b1- x1*")
}

func commitAfterUndo(b *bench) {
	r := b.recorder("s")
	r.record(`"a"`, `"b"`)
	before := b.dump()
	b.restore(model.Ref{Session: "s", ID: id(`"a"`)})
	b.undo()
	b.same(b.dump(), before)
	same := model.ConflictError{Session: "s", Head: model.Point{ID: id(`"b"`), Index: 1}, Expected: model.Point{ID: id(`"b"`), Index: 1}}
	r.refused(r.next(`"c"`), same)
	r.load()
	b.redo()
	r.refused(r.next(`"c"`), model.ConflictError{Session: "s", Head: model.Point{ID: id(`"a"`)}, Expected: model.Point{ID: id(`"b"`), Index: 1}})
	b.undo()
	r.refused(r.next(`"c"`), same)
}

func commitCreatedMeanwhile(b *bench) {
	one, two := b.recorder("s"), b.recorder("s")
	one.load()
	two.load()
	one.record(`"a"`)
	two.refused(two.next(`"b"`), model.ConflictError{Session: "s", Head: model.Point{ID: id(`"a"`)}})
	// By a fork, and gone again.
	r := b.recorder("f")
	b.fork(model.Ref{Session: "s", ID: id(`"a"`)}, "f")
	r.refused(r.next(`"b"`), model.ConflictError{Session: "f", Head: model.Point{ID: id(`"a"`)}})
	r.load()
	b.undo()
	r.refused(r.next(`"b"`), model.ConflictError{Session: "f", Expected: model.Point{ID: id(`"a"`)}})
}

// changes are all ways in which a session changes, each of which can be done
// to the session that the ones before it left.
func changes(b *bench) []func() {
	a := b.agent("s")
	return []func(){
		func() { a.turns(`"a"`, `"b"`, `"c"`) },
		func() { b.ok(b.SaveSnapshot(b.Context(), a.snapshot(`"d"`, 0))) },
		func() { b.ok(b.SaveSnapshot(b.Context(), a.snapshot(`"a"`, 0))) },
		func() { b.ok(b.Save(b.Context(), "s", &model.Data[json.RawMessage]{State: json.RawMessage(`1`)})) },
		func() { b.ok(b.Save(b.Context(), "s", &model.Data[json.RawMessage]{State: json.RawMessage(`1`)})) },
		func() { b.ok(b.InvalidateSnapshotsAfter(b.Context(), "s", 1)) },
		func() {
			_, err := b.Import(b.Context(), seq(store.Row{Header: model.Header{ID: "uuid", SessionID: "s", CreatedAt: b.clock.Now()}, State: []byte("2")}))
			b.ok(err)
		},
		func() { b.restore(model.Ref{Session: "s", ID: id(`"b"`)}) },
		func() { b.undo() },
		func() { b.redo() },
		func() { b.restore(model.Ref{Session: "s", ID: id(`"b"`)}) },
		func() { b.restore(model.Ref{Session: "s", ID: id(`"c"`)}) },
		func() { b.undo() },
		func() { b.undo() },
		func() { b.redo() },
	}
}

func commitAnyChange(b *bench) {
	r := b.recorder("s")
	for i, change := range changes(b) {
		r.load()
		before := r.at
		change()
		dump := b.dump()
		if err := r.commit(r.next(`"late"`)); !errors.Is(err, model.ErrHeadMoved) {
			b.Fatalf("a commit after change %d, at revision %d: %v", i, before, err)
		}
		b.same(b.dump(), dump)
	}
	// What does not change the session does not stop its writer.
	r.load()
	b.ok(b.InvalidateSnapshotsAfter(b.Context(), "s", 99))
	b.ok(b.SaveSnapshot(b.Context(), r.last))
	b.agent("t").turns(`"a"`)
	_, err := b.Plan(b.Context(), model.Change{Op: model.OpUndo})
	b.ok(err)
	b.fork(model.Ref{Session: "s", ID: id(`"a"`)}, "f")
	r.record(`"in time"`)
}

func revisions(b *bench) {
	given := map[typed.Revision]int{}
	note := func(session string, step int) {
		_, at, err := b.Load(b.Context(), session)
		b.ok(err)
		if then, twice := given[at]; twice {
			b.Errorf("session %q is at revision %d after change %d, as after %d", session, at, step, then)
		}
		given[at] = step
	}
	for i, change := range changes(b) {
		change()
		note("s", i)
	}
	// A session that goes, comes back, and goes for another of its name.
	clear(given)
	b.fork(model.Ref{Session: "s", ID: id(`"a"`)}, "f")
	note("f", 0)
	b.restore(model.Ref{Session: "f", ID: id(`"a"`)})
	note("f", 1)
	b.undo()
	note("f", 2)
	for i := range 3 {
		b.undo()
		if _, at, err := b.Load(b.Context(), "f"); at != 0 || err != nil {
			b.Errorf("a session that is gone is at revision %d, %v", at, err)
		}
		b.redo()
		note("f", 3+i)
	}
	b.undo()
	r := b.recorder("f")
	r.record(`"of its own"`)
	note("f", 6)
}

func commitVisits(b *bench) {
	r := b.recorder("s")
	r.record(`"a"`, `"b"`, `"a"`, `"a"`)
	b.want("s", "a0 b1 a2 a3*")
	row, err := b.GetSnapshotIn(b.Context(), "s", id(`"a"`))
	b.ok(err)
	if row.Index != 0 || row.ParentID != "" {
		b.Errorf("the row of a is not as it was first written: %+v", row)
	}
	for i, h := range b.headers("s") {
		if h.Visit != int64(i+1) || h.ParentVisit != int64(i) {
			b.Errorf("visit %d follows %d", h.Visit, h.ParentVisit)
		}
	}
	// The state with spaces has the id of the one without.
	data := r.next(`"b"`)
	data.State = json.RawMessage(` "b"`)
	data.LastSnapshot.State = data.State
	b.ok(r.commit(data))
	got, err := b.Get(b.Context(), "s")
	b.ok(err)
	if string(got.State) != ` "b"` || string(got.LastSnapshot.State) != `"b"` {
		b.Errorf("the record is %s, its last snapshot %s", got.State, got.LastSnapshot.State)
	}
}

func commitOrphaned(b *bench) {
	r := b.recorder("s")
	r.record(`"a"`, `"b"`)
	b.restore(model.Ref{Session: "s", ID: id(`"a"`)})
	r.load()
	r.record(`"b"`)
	b.want("s", "a0 b1- b1*")
	row, err := b.GetSnapshotIn(b.Context(), "s", id(`"b"`))
	b.ok(err)
	if row.Orphaned {
		b.Error("the row of b still counts as orphaned")
	}
}

func commitRecord(b *bench) {
	r := b.recorder("s")
	working := func(state string) *model.Data[json.RawMessage] {
		return &model.Data[json.RawMessage]{ID: "s", State: json.RawMessage(state), LastSnapshot: r.last, TurnIndex: r.turn}
	}
	b.ok(r.commit(working(`1`)))
	b.want("s", "")
	r.record(`"a"`)
	for _, state := range []string{`2`, `2`, `"a"`} {
		before := r.at
		b.ok(r.commit(working(state)))
		if r.at == before {
			b.Errorf("a record of %s leaves the revision at %d", state, r.at)
		}
		if data := r.load(); string(data.State) != state {
			b.Errorf("the record is %s", data.State)
		}
	}
	b.want("s", "a0*")
	// Without a last snapshot the head stays.
	r.last = nil
	b.ok(r.commit(working(`3`)))
	b.want("s", "a0*")
}

func commitRefusals(b *bench) {
	other := b.recorder("other")
	other.record(`"a"`)
	r := b.recorder("s")
	r.record(`"a"`)
	fresh := b.recorder("fresh")
	before := b.dump()
	if _, err := b.Commit(b.Context(), nil, 0); !errors.Is(err, store.ErrNoRecord) {
		b.Errorf("a commit of nothing: %v", err)
	}
	for _, r := range []*recorder{r, fresh} {
		for name, c := range map[string]struct {
			spoil func(data *model.Data[json.RawMessage])
			want  error
		}{
			"another's snapshot":     {func(d *model.Data[json.RawMessage]) { d.LastSnapshot = other.last }, nil},
			"no state":               {func(d *model.Data[json.RawMessage]) { d.State = nil }, store.ErrNotJSON},
			"a state cut short":      {func(d *model.Data[json.RawMessage]) { d.State = json.RawMessage(`{`) }, store.ErrNotJSON},
			"a snapshot cut short":   {func(d *model.Data[json.RawMessage]) { d.LastSnapshot.State = json.RawMessage(`{`) }, store.ErrNotJSON},
			"both cut short":         {func(d *model.Data[json.RawMessage]) { d.State = json.RawMessage(`{`); d.LastSnapshot.State = d.State }, store.ErrNotJSON},
			"both empty":             {func(d *model.Data[json.RawMessage]) { d.State, d.LastSnapshot.State = nil, nil }, store.ErrNotJSON},
			"the id of another":      {func(d *model.Data[json.RawMessage]) { d.LastSnapshot.ID = id(`"x"`) }, store.ErrIDMismatch},
			"a snapshot of one more": {func(d *model.Data[json.RawMessage]) { d.LastSnapshot.State = json.RawMessage(`"x"`) }, store.ErrIDMismatch},
			"a time too late": {func(d *model.Data[json.RawMessage]) {
				d.LastSnapshot.CreatedAt = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
			}, store.ErrTime},
		} {
			data := r.next(`"b"`)
			c.spoil(data)
			at := r.at
			if err := r.commit(data); err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), fmt.Sprintf("%q", r.session)) {
				b.Errorf("%s in session %q: %v, want %v", name, r.session, err, c.want)
			}
			if r.at != at {
				b.Errorf("%s moves session %q to revision %d", name, r.session, r.at)
			}
		}
	}
	// A visit that is there already vouches for its own state, not for one that
	// a caller says it has.
	broken := *r.last
	broken.State = json.RawMessage(`{`)
	if err := r.commit(&model.Data[json.RawMessage]{ID: "s", State: broken.State, LastSnapshot: &broken}); !errors.Is(err, store.ErrNotJSON) {
		b.Errorf("a broken state under a visit that is there: %v", err)
	}
	b.same(b.dump(), before)
	// And one that is well keeps its own too.
	broken.State = json.RawMessage(`"not a"`)
	b.ok(r.commit(&model.Data[json.RawMessage]{ID: "s", State: broken.State, LastSnapshot: &broken}))
	if data := r.load(); string(data.State) != `"not a"` || string(data.LastSnapshot.State) != `"a"` {
		b.Errorf("the record is %s, its last snapshot %s", data.State, data.LastSnapshot.State)
	}
}

func commitOdd(b *bench) {
	skip.Sequential(b.T)
	large := `["` + strings.Repeat(`a message like any other","`, 150_000) + `"]`
	odd := []string{"", "..", "a/b", "a\x00b", "a\x00c", "'; DROP TABLE sessions; --", "\x1b]52;c;AAAA\a", "\u202e", "\xff\xfe", strings.Repeat("x", 10_000)}
	for i, session := range odd {
		r := b.recorder(session)
		r.record(fmt.Sprintf(`{"z":%d,"z":1e999,"a":"\ud800"}`, i), large)
		r.load()
		r.record("\"\xff\"")
	}
	for i, session := range odd {
		data := b.recorder(session).load()
		if data.ID != session || string(data.State) != "\"\xff\"" || data.LastSnapshot.SessionID != session || data.LastSnapshot.Index != 2 {
			b.Errorf("session %.20q came back as %.80v", session, data)
		}
		for j, want := range []string{fmt.Sprintf(`{"z":%d,"z":1e999,"a":"\ud800"}`, i), large} {
			state, err := b.State(b.Context(), b.headers(session)[j].Ref())
			b.ok(err)
			if string(state) != want {
				b.Errorf("a state of %d bytes came back as %d others", len(want), len(state))
			}
		}
	}
}

func commitAliasing(b *bench) {
	r := b.recorder("s")
	for _, data := range []*model.Data[json.RawMessage]{r.next(`"aaaa"`), r.next(`"aaaa"`)} {
		data.State = json.RawMessage(`"bbbb"`)
		if r.at != 0 {
			data.State = data.LastSnapshot.State
		}
		b.ok(r.commit(data))
		before := b.dump()
		copy(data.State, `"zzzz"`)
		copy(data.LastSnapshot.State, `"zzzz"`)
		b.same(b.dump(), before)
		loaded := r.load()
		copy(loaded.State, `"yyyy"`)
		copy(loaded.LastSnapshot.State, `"yyyy"`)
		b.same(b.dump(), before)
	}
}

func commitReopened(b *bench) {
	if b.reopen == nil {
		b.Skip("a store in memory does not outlive its process")
	}
	r := b.recorder("s")
	r.record(`"a"`, `"b"`)
	b.restore(model.Ref{Session: "s", ID: id(`"a"`)})
	b.undo()
	r.load()
	b.ok(r.commit(&model.Data[json.RawMessage]{ID: "s", State: json.RawMessage(`"working"`), LastSnapshot: r.last, TurnIndex: 9}))
	want, at := r.load(), r.at
	b.Store = b.reopen(b.T)
	got := r.load()
	if got.ID != want.ID || string(got.State) != string(want.State) || got.TurnIndex != want.TurnIndex || r.at != at {
		b.Errorf("the record is %+v at %d, want %+v at %d", got, r.at, want, at)
	}
	if g, w := *got.LastSnapshot, *want.LastSnapshot; g.ID != w.ID || g.ParentID != w.ParentID || g.Index != w.Index || g.TurnIndex != w.TurnIndex || !g.CreatedAt.Equal(w.CreatedAt) || string(g.State) != string(w.State) {
		b.Errorf("the last snapshot is %+v, want %+v", g, w)
	}
	// A writer from before goes on.
	r.record(`"c"`)
	b.want("s", "a0 b1 c2*")
}

const (
	manyWriters = 8
	eachWrites  = 12
)

// race lets eight writers each commit a number of snapshots to the session
// that session names, trying again after a conflict, and checks that all of
// them are there once, as one chain.
func (b *bench) race(stores func(writer int) Store, session func(writer int) string) {
	b.Helper()
	var wait sync.WaitGroup
	for w := range manyWriters {
		s := stores(w)
		wait.Go(func() {
			for n := range eachWrites {
				if err := commitUntilTaken(b, s, session(w), fmt.Sprintf(`[%d,%d]`, w, n)); err != nil {
					b.Errorf("writer %d: %v", w, err)
					return
				}
			}
		})
	}
	wait.Wait()
	states := map[string]bool{}
	for _, name := range slices.Compact(sortedSessions(session)) {
		headers := b.headers(name)
		for i, h := range headers {
			if h.Visit != int64(i+1) || h.Index != i || h.ParentVisit != int64(i) || i > 0 && h.ParentID != headers[i-1].ID || h.Orphaned || h.Head != (i == len(headers)-1) {
				b.Errorf("session %q: visit %d is %+v", name, i+1, h)
			}
			state, err := b.State(b.Context(), h.Ref())
			b.ok(err)
			if states[string(state)] {
				b.Errorf("%s is there twice", state)
			}
			states[string(state)] = true
		}
		data := b.recorder(name).load()
		if last := headers[len(headers)-1]; data.TurnIndex != len(headers) || data.LastSnapshot.ID != last.ID || model.SnapshotID(data.State) != last.ID {
			b.Errorf("session %q: the record is %+v, the last visit %+v", name, data, last)
		}
	}
	if len(states) != manyWriters*eachWrites {
		b.Errorf("%d snapshots are there", len(states))
	}
}

func sortedSessions(session func(writer int) string) (names []string) {
	for w := range manyWriters {
		names = append(names, session(w))
	}
	slices.Sort(names)
	return names
}

// commitUntilTaken goes on from wherever the session is.
func commitUntilTaken(b *bench, s Store, session, state string) error {
	for {
		r := (&bench{T: b.T, Store: s, clock: b.clock}).recorder(session)
		data, at, err := s.Load(b.Context(), session)
		if err != nil {
			return err
		}
		if r.at = at; data != nil {
			r.last, r.turn = data.LastSnapshot, data.TurnIndex
		}
		err = r.commit(r.next(state))
		if conflict := (*model.ConflictError)(nil); !errors.As(err, &conflict) {
			return err
		} else if conflict.Session != session || conflict.Head.ID == "" {
			return fmt.Errorf("an odd conflict %+v", conflict)
		}
	}
}

func eightOnOne(b *bench) {
	b.race(func(int) Store { return b.Store }, func(int) string { return "s" })
}

func eightOnEight(b *bench) {
	b.race(func(int) Store { return b.Store }, func(w int) string { return fmt.Sprint("session ", w) })
}

func eightOpened(b *bench) {
	if b.again == nil {
		b.Skip("a store in memory cannot be opened twice")
	}
	b.race(func(int) Store { return b.again(b.T) }, func(w int) string { return fmt.Sprint("session ", w%2) })
}
