package tui_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/store"
	"hindcast/store/native/sqlite"
	"hindcast/store/sample"
	"hindcast/store/storetest"
	"hindcast/store/storetest/fake"
	"hindcast/tui/screentest"
)

// writer is somebody else who writes a session.
type writer struct {
	store interface {
		store.Store
		SaveSnapshot(context.Context, *model.Snapshot[json.RawMessage]) error
	}
	session string
	head    model.Header
}

// newWriter goes on from the head of a session.
func newWriter(t testing.TB, s interface {
	store.Store
	SaveSnapshot(context.Context, *model.Snapshot[json.RawMessage]) error
}, session string) *writer {
	t.Helper()
	w := &writer{s, session, model.Header{Index: -1}}
	for h, err := range s.Headers(t.Context(), session) {
		if errors.Is(err, model.ErrNoSession) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Head {
			w.head = h
		}
	}
	return w
}

// write adds n snapshots below the head.
func (w *writer) write(t testing.TB, n int) {
	t.Helper()
	for range n {
		index := w.head.Index + 1
		state := fmt.Appendf(nil, `{"session":%q,"note":"snapshot %d"}`, w.session, index)
		h := model.Header{ID: model.SnapshotID(state), ParentID: w.head.ID, Index: index, TurnIndex: index / 2}
		err := w.store.SaveSnapshot(t.Context(), &model.Snapshot[json.RawMessage]{
			ID: h.ID, ParentID: h.ParentID, SessionID: w.session, CreatedAt: now, State: state,
			Index: index, TurnIndex: h.TurnIndex, Event: model.SnapshotEventTurnEnd,
		})
		if err != nil {
			t.Fatal(err)
		}
		w.head = h
	}
}

// restore puts a session back behind the screen's back.
func restore(t testing.TB, s storetest.Writer, ref model.Ref) {
	t.Helper()
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: ref})
	if err == nil {
		_, err = s.Apply(t.Context(), plan)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestNews_theCursorGoesAlongWithTheHead(t *testing.T) {
	t.Parallel()
	atSizes(t, func(t *testing.T, w, h int) {
		s := demoStore(t)
		p := opened(t, s, w, h)
		shows(t, p, "head #13  following")
		newWriter(t, s, sample.Trip).write(t, 2)
		waitFor(t, p, "head #15  following")
		p.Idle()
		shows(t, p, "▌ ◉   15", "snapshot 14", "snapshot 15")
		p.Golden()
	})
}

func TestNews_theCursorStaysElsewhere(t *testing.T) {
	t.Parallel()
	atSizes(t, func(t *testing.T, w, h int) {
		s := demoStore(t)
		p := opened(t, s, w, h)
		p.Press(keymap.Timeline, keymap.MoveUp, keymap.Mark)
		lacks(t, p, "following", "new")
		newWriter(t, s, sample.Trip).write(t, 3)
		waitFor(t, p, "head #16  3 new")
		p.Idle()
		shows(t, p, "▌=○   12", "You leave at 10:40")
		p.Golden()
		p.Press(keymap.Timeline, keymap.GoHead)
		shows(t, p, "head #16  following", "▌ ◉   16")
		p.Press(keymap.Timeline, keymap.MoveUp)
		lacks(t, p, "following", "new")
		p.Press(keymap.Timeline, keymap.Bottom) // the last row is the head
		shows(t, p, "following")
	})
}

// What a person has set up stays: folds, the place on the screen, matches, the
// tab and the place in it.
func TestNews_everythingElseStays(t *testing.T) {
	t.Parallel()
	s := demoStore(t)
	p := opened(t, s, 100, 24)
	p.Press(keymap.Timeline, keymap.FoldAll, keymap.Search)
	p.Type("book_")
	p.Press(keymap.Input, keymap.Accept)
	p.Press(keymap.Timeline, keymap.ShowState, keymap.Open)
	p.Press(keymap.Tab, keymap.MoveDown, keymap.MoveDown, keymap.Fold)
	before := p.Screen()
	w := newWriter(t, s, sample.Trip)
	w.write(t, 1)
	waitFor(t, p, "head #14  1 new")
	p.Idle()
	lines, was := strings.Split(p.Screen(), "\n"), strings.Split(before, "\n")
	for y := range lines {
		same := lines[y] == was[y]
		switch {
		case y == 0:
		case strings.Contains(lines[y], "14   end"), strings.Contains(lines[y], "of 1"):
			// the new row, and how many there are
		case strings.Contains(was[y], "◉"): // the fold hid the head
			same = strings.Contains(was[y], "▸   11.2 tool") && strings.Contains(lines[y], "▸   11.2 tool") && !strings.Contains(lines[y], "◉")
			fallthrough
		default:
			if !same {
				t.Errorf("line %d was\n%s\nand is\n%s", y, was[y], lines[y])
			}
		}
	}
	// A restore elsewhere reads everything again, and moves nothing either.
	restore(t, s, model.Ref{Session: sample.Trip, ID: idAt(t, s, 13)})
	waitFor(t, p, "head #13  1 new")
	p.Idle()
	shows(t, p, "#13", "▸", "[State]")
	p.Press(keymap.State, keymap.Back)
	p.Press(keymap.Timeline, keymap.SearchNext)
	shows(t, p, `"book_": match 2 of 4`)
}

// New snapshots that match are matches.
func TestNews_matchesGrow(t *testing.T) {
	t.Parallel()
	s := demoStore(t)
	p := opened(t, s, 100, 30)
	p.Press(keymap.Timeline, keymap.Search)
	p.Type("turn end")
	p.Press(keymap.Input, keymap.Accept)
	shows(t, p, "of 9")
	w := newWriter(t, s, sample.Trip)
	w.write(t, 2)
	waitFor(t, p, "head #15")
	p.Press(keymap.Timeline, keymap.SearchNext)
	shows(t, p, "of 11")
}

func TestNews_restoredElsewhere(t *testing.T) {
	t.Parallel()
	s := demoStore(t)
	p := opened(t, s, 100, 30)
	restore(t, s, model.Ref{Session: sample.Trip, ID: idAt(t, s, 5)})
	waitFor(t, p, "head moved to #5: restored elsewhere")
	p.Idle()
	shows(t, p, "head #5  following", "▌ ◉      5", "12 off the path")
	newWriter(t, s, sample.Trip).write(t, 1)
	waitFor(t, p, "head #6.3  following")
	p.Idle()
	p.Golden()
}

// What this program writes itself is no news.
func TestNews_ownWritesAreNotElsewhere(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]storetest.Writer{"memory": demoStore(t), "sqlite": demoFile(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options(s.(store.Store))
			o.Session = sample.Trip
			p := start(t, o, 100, 30)
			p.Press(keymap.Timeline, keymap.PrevBranch, keymap.PrevBranch, keymap.Restore)
			p.Press(keymap.Confirm, keymap.Yes)
			shows(t, p, "✓ at #10")
			// A turn after the write has come and gone once news is shown.
			p.Press(keymap.Timeline, keymap.Undo)
			p.Press(keymap.Confirm, keymap.Yes)
			shows(t, p, "undone: at #13")
			p.Press(keymap.Timeline, keymap.Redo)
			p.Press(keymap.Confirm, keymap.Yes)
			shows(t, p, "done again: at #10")
			newWriter(t, s.(interface {
				store.Store
				SaveSnapshot(context.Context, *model.Snapshot[json.RawMessage]) error
			}), sample.Trip).write(t, 1)
			waitFor(t, p, "head #11")
			p.Idle()
			shows(t, p, "done again: at #10")
		})
	}
}

// demoFile returns a file with the sessions of the demo.
func demoFile(t testing.TB) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Create(t.Context(), filepath.Join(t.TempDir(), "demo.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if _, err := s.Import(t.Context(), sample.Rows()); err != nil {
		t.Fatal(err)
	}
	return s
}

// A file that another handle writes, as another process does.
func TestNews_ofAFileThatAnotherWrites(t *testing.T) {
	t.Parallel()
	other := demoFile(t)
	shown, err := sqlite.Open(t.Context(), other.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer shown.Close()
	p := opened(t, shown, 100, 30)
	w := newWriter(t, other, sample.Trip)
	w.write(t, 1)
	waitFor(t, p, "head #14  following")
	w.write(t, 5)
	waitFor(t, p, "head #19  following")
	restore(t, other, model.Ref{Session: sample.Trip, ID: idAt(t, other, 5)})
	waitFor(t, p, "head moved to #5: restored elsewhere")

	// The file goes: what shows stays, and the last line tells.
	if err := os.Remove(shown.Address()); err != nil {
		t.Fatal(err)
	}
	waitFor(t, p, "✗ ")
	shows(t, p, "head #5  following", "24 snapshots")
	p.Idle()
}

func TestNews_listOfSessions(t *testing.T) {
	t.Parallel()
	s := demoStore(t)
	p := start(t, options(s), 100, 30)
	p.Press(keymap.Picker, keymap.MoveDown)
	selects(t, p, "packing-list")
	newWriter(t, s, sample.Trip).write(t, 2)
	waitFor(t, p, "  20  ")
	newWriter(t, s, "another").write(t, 1)
	waitFor(t, p, "another")
	p.Idle()
	selects(t, p, "packing-list")
	shows(t, p, "3 sessions")
	if screen := p.Screen(); strings.Index(screen, "another") > strings.Index(screen, "packing-list") {
		t.Errorf("the newest is not first:\n%s", screen)
	}
	p.Press(keymap.Picker, keymap.Search)
	p.Type("p")
	newWriter(t, s, "pastime").write(t, 1)
	waitFor(t, p, "pastime")
	p.Idle()
	shows(t, p, "› p")
	selects(t, p, "pastime") // the first of the titles
	p.Press(keymap.Input, keymap.Accept)
	w := newWriter(t, s, "pastime")
	w.write(t, 1)
	waitFor(t, p, "head #1  following") // what is opened is watched
}

func TestNews_firstSnapshotOfAll(t *testing.T) {
	t.Parallel()
	s := fake.New()
	p := start(t, options(s), 100, 30)
	shows(t, p, "This store has no sessions yet.")
	if err := s.Save(t.Context(), "fresh", &model.Data[json.RawMessage]{ID: "fresh", State: json.RawMessage(`{}`)}); err != nil {
		t.Fatal(err)
	}
	waitFor(t, p, "fresh")
	selects(t, p, "fresh")
	p.Press(keymap.Picker, keymap.Open)
	shows(t, p, "no snapshots yet")
	newWriter(t, s, "fresh").write(t, 1)
	waitFor(t, p, "head #0  following")
	p.Idle()
	shows(t, p, "▌ ◉ 0", "1 snapshot ", "#0")
}

func TestNews_theQuestionOfAPlanSaysThatTheSessionMovedOn(t *testing.T) {
	t.Parallel()
	atSizes(t, func(t *testing.T, w, h int) {
		s := demoStore(t)
		p := opened(t, s, w, h)
		p.Press(keymap.Timeline, keymap.PrevBranch, keymap.PrevBranch, keymap.Restore)
		newWriter(t, s, sample.Trip).write(t, 1)
		waitFor(t, p, "the session has moved on since")
		p.Idle()
		p.Golden()
		p.Press(keymap.Confirm, keymap.Yes)
		shows(t, p, "[ No ]", "#14", "nothing was changed")
		p.Press(keymap.Confirm, keymap.Yes)
		if got := head(t, s, sample.Trip); got != "#10" {
			t.Errorf("head %s", got)
		}
	})
}

// told is a store whose changes a test tells of.
type told struct {
	*fake.Store
	watches atomic.Int64
	changes chan (<-chan struct{}) // what Watch gives
	fail    error
	reads   atomic.Int64
}

func (s *told) Features() store.Features {
	f := s.Store.Features()
	f.Watch, f.Growth = s.Watch, s.Growth
	return f
}

func (s *told) Watch(ctx context.Context) (<-chan struct{}, error) {
	s.watches.Add(1)
	if s.fail != nil {
		return nil, s.fail
	}
	select {
	case c := <-s.changes:
		return c, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *told) Growth(ctx context.Context, session string, since store.Cursor) (store.Growth, error) {
	s.reads.Add(1)
	return s.Store.Growth(ctx, session, since)
}

func TestNews_aWatchThatBreaksIsTold(t *testing.T) {
	t.Parallel()
	s := &told{Store: demoStore(t), changes: make(chan (<-chan struct{}), 2)}
	first, second := make(chan struct{}, 1), make(chan struct{}, 1)
	s.changes <- first
	s.changes <- second
	o := options(s)
	o.Session = sample.Trip
	p := startBusy(t, o, 100, 30)
	waitFor(t, p, "following")
	p.Idle()
	close(first)
	waitFor(t, p, "✗ the store cannot be watched any longer; f5 reads it again")
	p.Idle() // nothing goes on
	lacks(t, p, "following")
	reads := s.reads.Load()
	w := newWriter(t, s.Store, sample.Trip)
	w.write(t, 1)
	p.Press(keymap.Timeline, keymap.MoveUp)
	if got := s.reads.Load(); got != reads || s.watches.Load() != 1 {
		t.Errorf("%d reads and %d watches though nobody watches", got-reads, s.watches.Load())
	}
	p.Press(keymap.Timeline, keymap.Reload, keymap.GoHead)
	shows(t, p, "head #14  following")
	w.write(t, 1)
	second <- struct{}{}
	waitFor(t, p, "head #15  following")
}

func TestNews_aStoreThatCannotBeWatchedSaysWhy(t *testing.T) {
	t.Parallel()
	s := &told{Store: demoStore(t), fail: errors.New("too many open files")}
	p := opened(t, s, 100, 30)
	shows(t, p, "✗ too many open files", "head #13")
	lacks(t, p, "following")
	if n := s.watches.Load(); n != 1 {
		t.Errorf("watched %d times", n)
	}
}

// growthless is a store that cannot tell what is new in a session.
type growthless struct{ *scripted }

func (s growthless) Features() store.Features {
	f := s.scripted.Features()
	f.Cursor, f.Growth = nil, nil
	return f
}

// Without Growth the session is read again.
func TestNews_ofAStoreThatCannotTellWhatIsNew(t *testing.T) {
	t.Parallel()
	s := demoStore(t)
	o := options(growthless{&scripted{Store: s}})
	o.Session = sample.Trip
	p := start(t, o, 100, 30)
	w := newWriter(t, s, sample.Trip)
	w.write(t, 1)
	waitFor(t, p, "head #14  following")
	p.Press(keymap.Timeline, keymap.PrevBranch, keymap.PrevBranch)
	w.write(t, 2)
	waitFor(t, p, "head #16  2 new")
	restore(t, s, model.Ref{Session: sample.Trip, ID: idAt(t, s, 5)})
	waitFor(t, p, "head moved to #5: restored elsewhere")
	p.Idle()
	shows(t, p, "▌   ◌   10")
}

// A store with one session opens at that. Once there is another, the way back
// leads to the list of them.
func TestNews_aSecondSession(t *testing.T) {
	t.Parallel()
	s := fake.New()
	newWriter(t, s, "first").write(t, 2)
	p := start(t, options(s), 100, 30)
	p.Idle()
	shows(t, p, "› first", "q quit")
	newWriter(t, s, "second").write(t, 1)
	waitFor(t, p, "q back")
	p.Press(keymap.Timeline, keymap.Back)
	shows(t, p, "2 sessions", "second")
}

// What changes in another session is no work for the one that shows.
func TestNews_ofAnotherSession(t *testing.T) {
	t.Parallel()
	s := &scripted{Store: demoStore(t)}
	var headers, states atomic.Int64
	s.headers = func(ctx context.Context, session string) iter.Seq2[model.Header, error] {
		headers.Add(1)
		return s.Store.Headers(ctx, session)
	}
	s.state = func(ctx context.Context, ref model.Ref) ([]byte, error) {
		states.Add(1)
		return s.Store.State(ctx, ref)
	}
	p := opened(t, growthless{s}, 100, 30)
	p.Press(keymap.Timeline, keymap.ShowState, keymap.Open, keymap.MoveDown, keymap.Fold)
	before, readBefore, statesBefore := p.Screen(), headers.Load(), states.Load()
	newWriter(t, s.Store, sample.Packing).write(t, 1)
	p.WaitFor("the session to be read", func(string) bool { return headers.Load() > readBefore })
	p.Idle()
	p.Press(keymap.State, keymap.MoveDown, keymap.MoveUp)
	if p.Screen() != before || states.Load() != statesBefore {
		t.Errorf("%d states were read; the screen was\n%s\nand is\n%s", states.Load()-statesBefore, before, p.Screen())
	}
}

// A session that goes is told of once, and what shows stays; when it comes back,
// all of it is read.
func TestNews_aSessionThatVanishes(t *testing.T) {
	t.Parallel()
	s := &told{Store: demoStore(t), changes: make(chan (<-chan struct{}), 1)}
	changes := make(chan struct{}, 1)
	s.changes <- changes
	gone := &vanishing{told: s}
	p := opened(t, gone, 100, 30)
	gone.gone.Store(true)
	changes <- struct{}{}
	waitFor(t, p, "✗ the session is no longer in the store")
	shows(t, p, "head #13", "▌ ◉   13")
	p.Press(keymap.Timeline, keymap.MoveUp)
	lacks(t, p, "✗ the session")
	changes <- struct{}{}
	p.Press(keymap.Timeline, keymap.MoveUp)
	lacks(t, p, "✗ the session") // said once
	gone.gone.Store(false)
	newWriter(t, s.Store, sample.Trip).write(t, 1)
	changes <- struct{}{}
	waitFor(t, p, "head #14  1 new")
}

// vanishing is a store whose sessions can be gone.
type vanishing struct {
	*told
	gone atomic.Bool
}

func (s *vanishing) Features() store.Features {
	f := s.told.Features()
	f.Cursor, f.Growth = s.Cursor, s.Growth
	return f
}

func (s *vanishing) Growth(ctx context.Context, session string, since store.Cursor) (store.Growth, error) {
	if s.gone.Load() {
		return store.Growth{}, fmt.Errorf("memory: session %q: %w", session, model.ErrNoSession)
	}
	return s.told.Growth(ctx, session, since)
}

func (s *vanishing) Cursor(ctx context.Context, session string) (store.Cursor, error) {
	if s.gone.Load() {
		return store.Cursor{}, model.ErrNoSession
	}
	return s.told.Cursor(ctx, session)
}

// The rests of turns, on a clock that the test moves.
func TestNews_restsGetLongerWhileThereIsNews(t *testing.T) {
	t.Parallel()
	const first, longest, calm = 220 * time.Millisecond, 850 * time.Millisecond, 350 * time.Millisecond
	clock := &held{}
	s := demoStore(t)
	o := options(s)
	o.Session = sample.Trip
	o.After = func(d time.Duration) <-chan time.Time {
		if d == first || d == 2*first || d == longest || d == calm {
			return clock.after(d)
		}
		return fired(d)
	}
	p := startBusy(t, o, 100, 30)
	waits := func(d time.Duration) {
		t.Helper()
		p.WaitFor(fmt.Sprintf("a wait of %v", d), func(string) bool { return clock.waiting(d) == 1 })
	}
	// The first turn looks for what came before the watch.
	waits(first)
	clock.fire(first)
	waits(calm)
	clock.fire(calm)
	waitFor(t, p, "following")
	p.Idle()
	w := newWriter(t, s, sample.Trip)
	index := 13
	next := func() {
		w.write(t, 1)
		index++
	}
	next()
	waitFor(t, p, fmt.Sprintf("head #%d", index)) // at once
	for _, rest := range []time.Duration{first, 2 * first, longest, longest} {
		waits(rest)
		shown := fmt.Sprintf("head #%d", index)
		next()
		next()
		shows(t, p, shown) // not before the rest is over
		clock.fire(rest)
		waitFor(t, p, fmt.Sprintf("head #%d", index))
	}
	waits(longest)
	clock.fire(longest)
	waits(calm)
	next()
	waitFor(t, p, fmt.Sprintf("head #%d", index)) // still one of them
	clock.fire(calm)
	waits(longest)
	clock.fire(longest)
	waits(calm)
	clock.fire(calm)
	p.Idle() // calm: nothing waits but for the store
	shows(t, p, fmt.Sprintf("#%d → #%d", index-1, index))
	next()
	waitFor(t, p, fmt.Sprintf("head #%d", index))
	waits(first)
}

// What comes while the older part of a session is still read is news all the
// same, and the older part is none.
func TestNews_whileTheRestIsRead(t *testing.T) {
	t.Parallel()
	rest := newGate()
	s := tailFirst(t, rest)
	o := options(s)
	o.Session = sample.Trip
	p := startBusy(t, o, 100, 30)
	waitFor(t, p, "the last 6 snapshots")
	p.Send(screentest.Key(t, "k"))
	waitFor(t, p, "▌ ○   12")
	w := newWriter(t, s.Store, sample.Trip)
	w.write(t, 2)
	rest.open()
	waitFor(t, p, "20 snapshots")
	w.write(t, 2)
	waitFor(t, p, "22 snapshots")
	p.Idle()
	shows(t, p, "▌ ○   12", "head #17", " new")
	p.Press(keymap.Timeline, keymap.GoHead)
	shows(t, p, "following")
}

// While a search reads the timeline nothing is appended to it.
func TestNews_waitsForASearch(t *testing.T) {
	t.Parallel()
	s := demoStore(t)
	p := opened(t, s, 100, 30)
	w := newWriter(t, s, sample.Trip)
	for i := range 20 {
		p.Send(screentest.Key(t, "/"))
		p.Send(screentest.Key(t, "e"))
		p.Send(screentest.Key(t, "enter"))
		w.write(t, 1)
		waitFor(t, p, fmt.Sprintf("head #%d", 14+i))
	}
	p.Idle()
	p.Press(keymap.Timeline, keymap.SearchNext)
	shows(t, p, "of 38")
}

// A burst on the real clock, drawn on a terminal: nothing is dropped, and there
// are few frames. How few they are in a burst that takes long is told by
// TestNews_restsGetLongerWhileThereIsNews: after four of them one in 850 ms.
func TestRun_burst(t *testing.T) {
	t.Parallel()
	const n = 10_000
	s := demoStore(t)
	o := options(s)
	o.Session, o.After = sample.Trip, time.After
	var frames int
	written, err := makeCommand(t, o, func(keyboard io.Writer, screen *syncBuffer) {
		screen.waitFor(t, "following")
		before := strings.Count(screen.String(), frame)
		began := time.Now()
		newWriter(t, s, sample.Trip).write(t, n)
		took := time.Since(began)
		screen.waitFor(t, fmt.Sprintf("#%d", 13+n))
		// The header counts snapshots, or faults where those are found meanwhile.
		screen.waitFor(t, fmt.Sprintf("%d of %d", 20+n, 20+n))
		frames = strings.Count(screen.String(), frame) - before
		t.Logf("%d commits in %v, shown after %v: %d frames", n, took, time.Since(began), frames)
		io.WriteString(keyboard, "q")
		io.WriteString(keyboard, "q")
	})
	if err != nil {
		t.Fatal(err)
	}
	if frames == 0 || frames >= 50 {
		t.Errorf("%d frames", frames)
	}
	restored(t, written)
}

// frame is how Bubble Tea begins each frame on the alternate screen.
const frame = "\x1b[H"
