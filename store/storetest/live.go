package storetest

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store"
)

// What a program that follows a session is promised.
var live = []check{
	{"TestGrowth_isWhatIsNew", growthNew},
	{"TestGrowth_saysWhereTheHeadIs", growthHead},
	{"TestGrowth_changesOfEarlierVisitsAreARewrite", growthRewritten},
	{"TestGrowth_sessionOfTheSameNameIsARewrite", growthSameName},
	{"TestGrowth_unknownSession", growthUnknown},
	{"TestGrowth_isWhatReadingAnewGives", growthLives},
	{"TestGrowth_followedWhileEightWrite", growthWhileWriting},
	{"TestWatch_tellsOfEveryChange", watchChanges},
	{"TestWatch_tellsOfChangesByAnotherProgram", watchOther},
	{"TestWatch_severalChangesMayBeOne", watchCoalesces},
	{"TestWatch_everyWatcherIsTold", watchTwo},
	{"TestWatch_endsWithItsContext", watchEnds},
	{"TestWatch_endsWithTheStore", watchClosed},
}

// patience is how long a test waits for what has to come.
const patience = 20 * time.Second

// growth returns what is new in a session since a cursor, which it moves on.
func (b *bench) growth(session string, since *store.Cursor) store.Growth {
	b.Helper()
	g, err := b.Growth(b.Context(), session, *since)
	b.ok(err)
	now, err := b.Cursor(b.Context(), session)
	b.ok(err)
	if g.Cursor != now {
		b.Errorf("growth goes on at %+v, the session reaches to %+v", g.Cursor, now)
	}
	*since = g.Cursor
	return g
}

// wantGrowth checks that nothing but the last n headers of a session is new.
func (b *bench) wantGrowth(session string, since *store.Cursor, n int) {
	b.Helper()
	g := b.growth(session, since)
	all := b.headers(session)
	want := headerLines(all[len(all)-n:])
	if g.Rewritten || headerLines(g.Headers) != want {
		b.Errorf("rewritten %v, new are\n%s\nwant\n%s", g.Rewritten, headerLines(g.Headers), want)
	}
}

func (b *bench) wantRewritten(session string, since *store.Cursor) {
	b.Helper()
	if g := b.growth(session, since); !g.Rewritten || g.Headers != nil {
		b.Errorf("rewritten %v, new are\n%s", g.Rewritten, headerLines(g.Headers))
	}
}

func growthNew(b *bench) {
	r := b.recorder("s")
	r.record(`"a"`)
	at, err := b.Cursor(b.Context(), "s")
	b.ok(err)
	b.wantGrowth("s", &at, 0)
	r.record(`"b"`, `"c"`)
	b.wantGrowth("s", &at, 2)
	b.wantGrowth("s", &at, 0)
	// A visit of a row that is there, the record, and what changes nothing.
	r.record(`"a"`)
	b.wantGrowth("s", &at, 1)
	b.ok(r.commit(&model.Data[json.RawMessage]{ID: "s", State: json.RawMessage(`1`), LastSnapshot: r.last}))
	b.ok(b.SaveSnapshot(b.Context(), r.last))
	b.ok(b.InvalidateSnapshotsAfter(b.Context(), "s", 3))
	b.wantGrowth("s", &at, 0)
	// Another session is nothing to this one.
	b.agent("t").turns(`"a"`, `"b"`)
	b.restore(model.Ref{Session: "t", ID: id(`"a"`)})
	b.fork(model.Ref{Session: "s", ID: id(`"b"`)}, "f")
	b.wantGrowth("s", &at, 0)
	// What an import brings comes after all that was there, however old it is.
	_, err = b.Import(b.Context(), seq(
		store.Row{Header: model.Header{ID: "old", SessionID: "s", Index: 0, Visit: 1, CreatedAt: b.clock.Now().Add(-time.Hour), Orphaned: true}, State: []byte("1")},
		store.Row{Header: model.Header{ID: "older", SessionID: "s", Index: 1, Visit: 2, ParentVisit: 1, ParentID: "old"}, State: []byte("2")},
	))
	b.ok(err)
	b.wantGrowth("s", &at, 2)
	// From the beginning, and from a cursor of long ago.
	first := store.Cursor{Rewrites: at.Rewrites}
	b.wantGrowth("s", &first, len(b.headers("s")))
	if first != at {
		b.Errorf("two ways lead to %+v and %+v", first, at)
	}
}

func growthHead(b *bench) {
	a := b.agent("s")
	a.turns(`"a"`)
	at, err := b.Cursor(b.Context(), "s")
	b.ok(err)
	heads := func() (heads []int) {
		for _, h := range b.growth("s", &at).Headers {
			if h.Head {
				heads = append(heads, h.Index)
			}
		}
		return heads
	}
	a.turns(`"b"`, `"c"`)
	if got := heads(); !slices.Equal(got, []int{2}) {
		b.Errorf("heads are #%v", got)
	}
	lost := a.snapshot(`"d"`, 0)
	lost.Orphaned = true
	b.ok(b.SaveSnapshot(b.Context(), lost))
	if got := heads(); len(got) != 0 {
		b.Errorf("heads are #%v", got)
	}
}

func growthRewritten(b *bench) {
	a := b.agent("s")
	a.turns(`"a"`, `"b"`, `"c"`, `"d"`)
	at, err := b.Cursor(b.Context(), "s")
	b.ok(err)
	b.ok(b.InvalidateSnapshotsAfter(b.Context(), "s", 2))
	b.wantRewritten("s", &at)
	b.wantGrowth("s", &at, 0)
	b.restore(model.Ref{Session: "s", ID: id(`"b"`)})
	b.wantRewritten("s", &at)
	b.undo()
	b.wantRewritten("s", &at)
	b.redo()
	b.wantRewritten("s", &at)
	// Away and back between two looks.
	b.undo()
	b.redo()
	b.wantRewritten("s", &at)
	b.restore(model.Ref{Session: "s", ID: id(`"d"`)})
	b.wantRewritten("s", &at)
	// The head goes back by the record, and nothing else changes.
	list, err := b.ListSnapshots(b.Context(), "s", true)
	b.ok(err)
	r := b.recorder("s")
	r.load()
	b.ok(r.commit(&model.Data[json.RawMessage]{ID: "s", State: json.RawMessage(`1`), LastSnapshot: list[0]}))
	b.wantRewritten("s", &at)
	b.ok(b.Save(b.Context(), "s", &model.Data[json.RawMessage]{State: json.RawMessage(`1`), LastSnapshot: list[1]}))
	b.wantRewritten("s", &at)
	// New visits do not hide what happened to the earlier ones.
	a.turns(`"e"`)
	b.restore(model.Ref{Session: "s", ID: id(`"a"`)})
	a.resume()
	a.turns(`"f"`)
	b.wantRewritten("s", &at)
	a.turns(`"g"`)
	b.wantGrowth("s", &at, 1)
	// Two readers: the one that knew more has to read again.
	ahead, behind := at, at
	a.turns(`"h"`, `"i"`)
	b.growth("s", &ahead)
	b.ok(b.InvalidateSnapshotsAfter(b.Context(), "s", a.last.Index-1))
	b.wantRewritten("s", &ahead)
	b.wantRewritten("s", &behind)
}

func growthSameName(b *bench) {
	b.agent("s").turns(`"a"`, `"b"`)
	b.fork(model.Ref{Session: "s", ID: id(`"b"`)}, "f")
	at, err := b.Cursor(b.Context(), "f")
	b.ok(err)
	b.undo()
	b.agent("f").turns(`"x"`, `"y"`, `"z"`)
	b.wantRewritten("f", &at)
	b.agent("f").turns(`"w"`)
	b.wantGrowth("f", &at, 1)
}

func growthUnknown(b *bench) {
	_, cursorErr := b.Cursor(b.Context(), "none")
	_, growthErr := b.Growth(b.Context(), "none", store.Cursor{})
	for _, err := range []error{cursorErr, growthErr} {
		if !errors.Is(err, model.ErrNoSession) {
			b.Errorf("an unknown session: %v", err)
		}
	}
	b.agent("s").turns(`"a"`)
	for _, odd := range []store.Cursor{{Visit: 99}, {Rewrites: -1}, {Visit: 1 << 62, Rewrites: 1 << 62}} {
		b.wantRewritten("s", &odd)
	}
	at, err := b.Cursor(b.Context(), "s")
	b.ok(err)
	at.Visit = -5
	b.wantGrowth("s", &at, 1)
}

// growthLives plays fewer lives than rapid would, as each may wait for a disk;
// go test -rapid.checks=1000 plays more, and -short two.
func growthLives(b *bench) {
	lives := "10"
	if testing.Short() {
		lives = "2"
	}
	asked := false
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == "rapid.checks" })
	if checks := flag.Lookup("rapid.checks"); !asked {
		usual := checks.Value.String()
		b.ok(checks.Value.Set(lives))
		defer func() { b.ok(checks.Value.Set(usual)) }()
	}
	Lives(b.T, b.open)
}

// watching is a reader that looks at a session only when it is told to.
type watching struct {
	store   Store
	changes <-chan struct{}
	reading reading
}

func (b *bench) watch(s Store) *watching {
	b.Helper()
	changes, err := s.Watch(b.Context())
	b.ok(err)
	return &watching{store: s, changes: changes}
}

// wait waits to be told of a change, as often as it takes until the reader
// sees the session as b's store has it.
func (w *watching) wait(b *bench, session string) {
	b.Helper()
	_, want, err := b.Load(b.Context(), session)
	b.ok(err)
	headers := headerLines(b.headers(session))
	deadline := time.After(patience)
	for {
		select {
		case _, going := <-w.changes:
			if !going {
				b.Fatal("the watch has ended")
			}
		case <-deadline:
			b.Fatal("nobody tells of the change")
		}
		_, at, err := w.store.Load(b.Context(), session)
		b.ok(err)
		b.ok(w.reading.grow(b.T, w.store, session))
		if at == want && headerLines(w.reading.headers) == headers {
			return
		}
	}
}

func watchChanges(b *bench) {
	w := b.watch(b.Store)
	for _, change := range changes(b) {
		change()
		w.wait(b, "s")
	}
	r := b.recorder("s")
	r.load()
	r.record(`"committed"`)
	w.wait(b, "s")
	// A session that comes and goes.
	b.fork(model.Ref{Session: "s", ID: id(`"a"`)}, "f")
	w.wait(b, "f")
	b.undo()
	for deadline := time.After(patience); ; {
		select {
		case <-w.changes:
		case <-deadline:
			b.Fatal("nobody tells that a session is gone")
		}
		if _, at, err := b.Load(b.Context(), "f"); err == nil && at == 0 {
			return
		}
	}
}

func watchOther(b *bench) {
	if b.again == nil {
		b.Skip("a store in memory is its program's alone")
	}
	reader := b.again(b.T)
	w := b.watch(reader)
	for _, change := range changes(b) {
		change()
		w.wait(b, "s")
	}
	writer := &bench{T: b.T, Store: b.again(b.T), clock: b.clock}
	writer.agent("t").turns(`"a"`)
	w.reading = reading{}
	w.wait(writer, "t")
	b.ok(writer.Close())
	b.Store = b.reopen(b.T)
	b.agent("t").turns(`"b"`)
	w.wait(b, "t")
}

func watchCoalesces(b *bench) {
	w := b.watch(b.Store)
	r := b.recorder("s")
	for i := range 50 {
		r.record(fmt.Sprint(i))
	}
	told := 0
	for pending := true; pending; {
		select {
		case <-w.changes:
			told++
		default:
			pending = false
		}
	}
	// One that nobody took, and one that was on its way.
	if told < 1 || told > 3 {
		b.Errorf("50 changes that nobody heard of are told %d times", told)
	}
}

func watchTwo(b *bench) {
	ctx, cancel := contextWithCancel(b.T)
	short, err := b.Watch(ctx)
	b.ok(err)
	one, two := b.watch(b.Store), b.watch(b.Store)
	r := b.recorder("s")
	r.record(`"a"`)
	one.wait(b, "s")
	two.wait(b, "s")
	cancel()
	drained(b, short)
	r.record(`"b"`)
	one.wait(b, "s")
	two.wait(b, "s")
}

// drained takes what is left of a watch that has to end.
func drained(t testing.TB, changes <-chan struct{}) {
	t.Helper()
	for deadline := time.After(patience); ; {
		select {
		case _, going := <-changes:
			if !going {
				return
			}
		case <-deadline:
			t.Fatal("the watch goes on")
		}
	}
}

func watchEnds(b *bench) {
	b.agent("s").turns(`"a"`)
	before := runtime.NumGoroutine()
	for range 5 {
		ctx, cancel := contextWithCancel(b.T)
		var all []<-chan struct{}
		for range 10 {
			changes, err := b.Watch(ctx)
			b.ok(err)
			all = append(all, changes)
		}
		b.agent("s").turns(`"b"`)
		cancel()
		for _, changes := range all {
			drained(b, changes)
		}
	}
	for deadline := time.Now().Add(patience); runtime.NumGoroutine() > before+5; runtime.Gosched() {
		if time.Now().After(deadline) {
			b.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
	// The store does not mind.
	b.agent("s").turns(`"c"`)
}

func watchClosed(b *bench) {
	if b.reopen == nil {
		b.Skip("a store in memory has nothing to close")
	}
	w := b.watch(b.Store)
	b.ok(b.Close())
	drained(b, w.changes)
	if _, err := b.Watch(b.Context()); !errors.Is(err, fs.ErrClosed) {
		b.Errorf("a watch of a closed store: %v", err)
	}
}

func growthWhileWriting(b *bench) {
	w := b.watch(b.Store)
	done := make(chan struct{})
	var wait sync.WaitGroup
	for i := range manyWriters {
		wait.Go(func() {
			for n := range eachWrites {
				if err := commitUntilTaken(b, b.Store, "s", fmt.Sprintf(`[%d,%d]`, i, n)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	go func() {
		wait.Wait()
		close(done)
	}()
	for writing, looks := true, 0; writing; looks++ {
		select {
		case <-w.changes:
		case <-done:
			writing = false
		}
		err := w.reading.grow(b.T, b.Store, "s")
		if err != nil && !errors.Is(err, model.ErrNoSession) {
			b.Fatal(err)
		}
		for i, h := range w.reading.headers {
			if h.Visit != int64(i+1) || h.Head != (i == len(w.reading.headers)-1) {
				b.Fatalf("after %d looks visit %d is %+v", looks, i+1, h)
			}
		}
	}
	if got, want := headerLines(w.reading.headers), headerLines(b.headers("s")); got != want {
		b.Errorf("who follows has\n%s\nwant\n%s", got, want)
	}
}
