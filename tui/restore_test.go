package tui_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/store"
	"hindcast/store/kinds/pi"
	"hindcast/store/sample"
	"hindcast/store/storetest/skip"
	"hindcast/tui/screentest"
)

// toRestore opens the trip with the cursor on #10, the second branch point.
func toRestore(t *testing.T, s store.Store) *screentest.Program {
	t.Helper()
	o := options(s)
	o.Session = sample.Trip
	p := start(t, o, 100, 30)
	p.Press(keymap.Timeline, keymap.PrevBranch, keymap.PrevBranch)
	return p
}

func TestRestore_plan(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	atSizes(t, func(t *testing.T, w, h int) {
		p := trip(t, w, h)
		p.Press(keymap.Timeline, keymap.PrevBranch, keymap.PrevBranch, keymap.Restore)
		p.Golden()
	})
}

func TestRestore_confirmedUndoneAndRedone(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	s := demoStore(t)
	p := toRestore(t, s)
	p.Press(keymap.Timeline, keymap.Restore)
	shows(t, p, "restore trip-planner to #10", "[ No ]", "leaves   3 snapshots, kept as a branch: #11.2 … #13", "state    ")
	p.Press(keymap.Confirm, keymap.Yes)
	if got := head(t, s, sample.Trip); got != "#10" {
		t.Fatalf("head %s", got)
	}
	shows(t, p, "✓ at #10 · y c copies · u undo", "head #10", "▌ ◉   10")
	p.Golden()

	p.Press(keymap.Timeline, keymap.Undo)
	shows(t, p, "undo write 1", "trip-planner back to #13 · 3 come back", "[ Yes ]", "y undo", "tab details")
	p.Press(keymap.Confirm, keymap.Yes)
	if got := head(t, s, sample.Trip); got != "#13" {
		t.Fatalf("head after undo %s", got)
	}
	shows(t, p, "✓ undone: at #13 · y c copies · ^r redo", "head #13", "▌ ◉   13")

	p.Press(keymap.Timeline, keymap.Redo)
	p.Press(keymap.Confirm, keymap.Yes)
	if got := head(t, s, sample.Trip); got != "#10" {
		t.Fatalf("head after redo %s", got)
	}
	shows(t, p, "✓ done again: at #10")
}

func TestRestore_refused(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	for name, answers := range map[string][]keymap.Action{
		"no":                {keymap.No},
		"back":              {keymap.Back},
		"accept is no":      {keymap.Accept},
		"other twice is no": {keymap.Other, keymap.Other, keymap.Accept},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := demoStore(t)
			p := toRestore(t, s)
			p.Press(keymap.Timeline, keymap.Restore)
			p.Press(keymap.Confirm, answers...)
			if got := head(t, s, sample.Trip); got != "#13" {
				t.Errorf("head %s", got)
			}
			shows(t, p, "nothing was changed", "head #13")
			lacks(t, p, "[ No ]")
		})
	}
}

// Keys that were typed before the plan could be read answer nothing, however
// long they keep coming.
func TestRestore_keysTypedAheadAnswerNothing(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	const quiet = 300 * time.Millisecond
	s, clock := demoStore(t), &held{}
	o := options(s)
	o.Session = sample.Trip
	o.After = func(d time.Duration) <-chan time.Time {
		if d == quiet {
			return clock.after(d)
		}
		return fired(d)
	}
	p := start(t, o, 100, 30)
	p.Send(screentest.Key(t, "r"))
	waitFor(t, p, "read the plan…")
	waits := 0
	handled := func() {
		waits++
		p.WaitFor("the key to be handled", func(string) bool { return clock.waiting(quiet) == waits })
	}
	handled()
	for _, typed := range []string{"y", "enter", "tab", "y"} {
		p.Send(screentest.Key(t, typed))
		handled()
	}
	// Every wait but the last was made void by the key after it.
	clock.fireFirst(quiet, waits-1)
	waits = 1
	p.Send(screentest.Key(t, "y"))
	handled()
	shows(t, p, "read the plan…")
	if got := head(t, s, sample.Trip); got != "#13" {
		t.Fatalf("head %s", got)
	}
	clock.fire(quiet)
	waitFor(t, p, "[ No ]")
	p.Send(screentest.Key(t, "esc"))
	waitFor(t, p, "nothing was changed")
}

func TestRestore_storeThatCannotSaysWhy(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	o := options(readOnly{demoStore(t)})
	o.Session = sample.Trip
	p := start(t, o, 100, 30)
	lacks(t, p, "r restore", "f fork") // the help says why
	for a, want := range map[keymap.Action]string{
		keymap.Restore: "restore: a memory store cannot restore",
		keymap.Fork:    "fork: a memory store cannot fork",
		keymap.Undo:    "undo: a memory store cannot undo",
		keymap.Redo:    "redo: a memory store cannot redo",
		keymap.Journal: "journal: a memory store cannot undo",
	} {
		p.Press(keymap.Timeline, a)
		if got := lastLine(p); got != want {
			t.Errorf("%s says %q, want %q", a, got, want)
		}
	}
}

func TestRestore_headMovedMeanwhile(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	s := &scripted{Store: demoStore(t)}
	p := toRestore(t, s)
	p.Press(keymap.Timeline, keymap.Restore)
	// Somebody else restores while the plan is on the screen.
	plan, err := s.Store.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: model.Ref{Session: sample.Trip, ID: idAt(t, s, 5)}})
	if err == nil {
		_, err = s.Store.Apply(t.Context(), plan)
	}
	if err != nil {
		t.Fatal(err)
	}
	p.Press(keymap.Confirm, keymap.Yes)
	shows(t, p, "the session has moved on since: nothing was changed", "restore trip-planner to #10", "head #5 → #10")
	if got := head(t, s, sample.Trip); got != "#5" {
		t.Fatalf("head %s", got)
	}
	p.Golden()
	p.Press(keymap.Confirm, keymap.Yes)
	if got := head(t, s, sample.Trip); got != "#10" {
		t.Errorf("head %s", got)
	}
}

// idAt returns the id of the active snapshot of the trip at an index.
func idAt(t *testing.T, s store.Store, index int) string {
	t.Helper()
	for h, err := range s.Headers(t.Context(), sample.Trip) {
		if err != nil {
			t.Fatal(err)
		}
		if h.Index == index && !h.Orphaned {
			return h.ID
		}
	}
	t.Fatalf("no #%d", index)
	return ""
}

func TestRestore_failureIsShownWhole(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	s := &scripted{Store: demoStore(t)}
	bad := fmt.Errorf("sqlite: restore %s: write: %w", strings.Repeat("long ", 30), errors.New("no space left on device"))
	s.apply = func(context.Context, model.Plan) (model.Receipt, error) { return model.Receipt{}, bad }
	p := toRestore(t, s)
	p.Press(keymap.Timeline, keymap.Restore)
	p.Press(keymap.Confirm, keymap.Yes)
	shows(t, p, "cannot restore", "write: no space")
	p.Press(keymap.Overlay, keymap.Back)
	shows(t, p, "✗ sqlite: restore", "v all of it", "head #13")
}

// Who leaves while a write goes on leaves when it has ended.
func TestRestore_isNotLeftInTheMiddle(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	writing, done := newGate(), newGate()
	s := &scripted{Store: demoStore(t)}
	s.apply = func(ctx context.Context, plan model.Plan) (model.Receipt, error) {
		done.open()
		if err := writing.wait(ctx); err != nil {
			return model.Receipt{}, err
		}
		return s.Store.Apply(ctx, plan)
	}
	p := toRestore(t, s)
	p.Press(keymap.Timeline, keymap.Restore)
	p.Send(screentest.Key(t, "y"))
	if err := done.wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.Send(screentest.Key(t, "ctrl+c"))
	p.WaitFor("the progress line", func(string) bool { return strings.Contains(footer(p), "writing: restore trip-planner to #10") })
	p.Send(screentest.Key(t, "esc")) // a write is not cancelled
	writing.open()
	p.WaitEnd()
	if got := head(t, s, sample.Trip); got != "#10" {
		t.Errorf("head %s", got)
	}
}

func TestFork_asksForAName(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	s := demoStore(t)
	p := toRestore(t, s)
	p.Press(keymap.Timeline, keymap.Fork)
	shows(t, p, "Fork from #10", "trip-planner-fork")
	for range len("trip-planner-fork") {
		p.Key("backspace")
	}
	p.Type(sample.Packing)
	p.Press(keymap.Input, keymap.Accept)
	shows(t, p, store.ErrSessionExists.Error(), "Fork from #10")
	p.Golden()
	p.Type("-q") // letters are text here, whatever they mean elsewhere
	p.Press(keymap.Input, keymap.Accept)
	shows(t, p, "fork trip-planner from #10 as packing-list-q", "trip-planner stays at #13")
	p.Press(keymap.Confirm, keymap.Yes)
	shows(t, p, "✓ forked from #10 as packing-list-q", "u undo", "head #13")
	if got := head(t, s, "packing-list-q"); got != "#10" {
		t.Errorf("the fork's head is %s", got)
	}
	p.Press(keymap.Timeline, keymap.Back)
	shows(t, p, "packing-list-q", "3 sessions")
}

// A store that names forks itself names them at length: the receipt still says which snapshot
// went into the fork and which keys go on, and after the undo none leads to what is gone.
func TestFork_receiptOfALongName(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	const session = "01a20301-0000-7000-8000-000000000001"
	for size, want := range map[[2]int]string{{100, 30}: "✓ forked from #11 as ", {60, 18}: "✓ forked"} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			aged(t, "coding/pi", dir)
			s, err := pi.Kind(nil).Open(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			o := options(s)
			o.Session = session
			p := start(t, o, size[0], size[1])
			p.Press(keymap.Timeline, keymap.UnfoldAll, keymap.MoveUp, keymap.MoveUp, keymap.MoveUp, keymap.MoveUp)
			p.Press(keymap.Timeline, keymap.Fork)
			shows(t, p, "from #11 as ")
			agree(t, p)
			for _, text := range []string{want, "u undo", "q enter open it"} {
				if !strings.Contains(footer(p), text) {
					t.Errorf("the footer lacks %q: %s", text, footer(p))
				}
			}
			if strings.Contains(footer(p), "at #") { // in the fork #11 has another number
				t.Errorf("the footer names a snapshot of another session: %s", footer(p))
			}
			p.Press(keymap.Timeline, keymap.Undo)
			agree(t, p)
			shows(t, p, "✓ undone", "is gone", "^r redo")
			lacks(t, p, "open it")
			p.Press(keymap.Timeline, keymap.Back)
			selects(t, p, "demo session")
		})
	}
}

func TestFork_givenUp(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	s := demoStore(t)
	p := toRestore(t, s)
	p.Press(keymap.Timeline, keymap.Fork)
	p.Press(keymap.Input, keymap.Back)
	lacks(t, p, "Fork from")
	if got := head(t, s, "trip-planner-fork"); got != "none" {
		t.Errorf("there is a fork at %s", got)
	}
}

// An import is an entry of the journal, and undone with all that it brought.
func TestUndo_import(t *testing.T) {
	t.Parallel()
	atSizes(t, func(t *testing.T, w, h int) {
		s := demoStore(t)
		added := model.Header{ID: "added", SessionID: sample.Trip, Index: 14, CreatedAt: now, Head: true}
		made := model.Header{ID: "made", SessionID: "made", CreatedAt: now}
		_, err := s.Import(t.Context(), func(yield func(store.Row, error) bool) {
			_ = yield(store.Row{Header: added, State: []byte("1")}, nil) && yield(store.Row{Header: made, State: []byte("2")}, nil)
		})
		if err != nil {
			t.Fatal(err)
		}
		o := options(s)
		o.Session = sample.Trip
		p := start(t, o, w, h)
		p.Press(keymap.Timeline, keymap.Journal)
		shows(t, p, "import ", "trip-planner and 1")
		p.Press(keymap.Written, keymap.Undo)
		p.Golden()
		p.Press(keymap.Confirm, keymap.Yes)
		if got := head(t, s, sample.Trip); got != "#13" {
			t.Errorf("head %s", got)
		}
		shows(t, p, "✓ undone: at #13")
		lacks(t, p, "^r redo")
		if _, err := s.State(t.Context(), model.Ref{Session: "made", ID: "made"}); !errors.Is(err, model.ErrNoSession) {
			t.Errorf("the session that the import made: %v", err)
		}
	})
}

func TestUndo_nothingToUndo(t *testing.T) {
	t.Parallel()
	p := trip(t, 100, 30)
	p.Press(keymap.Timeline, keymap.Undo)
	if got := lastLine(p); got != "nothing to undo" {
		t.Errorf("last line %q", got)
	}
}

func TestJournal_listsWrites(t *testing.T) {
	t.Parallel()
	atSizes(t, func(t *testing.T, w, h int) {
		s := demoStore(t)
		o := options(s)
		o.Session = sample.Trip
		p := start(t, o, w, h)
		p.Press(keymap.Timeline, keymap.Journal)
		shows(t, p, "nothing") // nothing was written yet
		p.Press(keymap.Overlay, keymap.Back)
		p.Press(keymap.Timeline, keymap.PrevBranch, keymap.PrevBranch, keymap.Restore)
		p.Press(keymap.Confirm, keymap.Yes)
		p.Press(keymap.Timeline, keymap.Journal)
		p.Press(keymap.Overlay, keymap.Undo)
		p.Press(keymap.Confirm, keymap.Yes)
		if got := head(t, s, sample.Trip); got != "#13" {
			t.Errorf("head %s", got)
		}
		p.Press(keymap.Timeline, keymap.Journal)
		p.Golden()
	})
}
