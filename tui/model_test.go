package tui_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/term"
	"github.com/creack/pty"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/store"
	"hindcast/store/sample"
	"hindcast/store/storetest/skip"
	"hindcast/tui"
	"hindcast/tui/screentest"
)

func TestModel_runesOfOneReadAreAllKeys(t *testing.T) {
	t.Parallel()
	p := trip(t, 100, 30)
	p.Type("kkJ{{{{j")
	shows(t, p, "▌ │ ▿  6")
	p.Type("g/opera")
	shows(t, p, "› opera", "find it in the timeline")
}

func TestModel_pastedTextIsNoKeys(t *testing.T) {
	t.Parallel()
	s := demoStore(t)
	o := options(s)
	o.Session = sample.Trip
	p := start(t, o, 100, 30)
	paste := tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("grqq"), Paste: true}
	p.Send(paste)
	p.Idle()
	shows(t, p, "▌ ◉   13")
	lacks(t, p, "[ No ]")
	p.Press(keymap.Timeline, keymap.Search)
	p.Send(paste)
	p.Idle()
	shows(t, p, "› grqq")
}

func TestModel_travelsWhereverTheKeysAre(t *testing.T) {
	t.Parallel()
	p := trip(t, 100, 30)
	p.Press(keymap.Timeline, keymap.ShowInfo, keymap.Open)
	p.Press(keymap.Info, keymap.StepBack)
	shows(t, p, "▌ ○   12", "2a85fa29f") // the tab has followed
	p.Press(keymap.Info, keymap.PrevBranch, keymap.PrevBranch, keymap.PrevBranch, keymap.PrevBranch, keymap.Child)
	shows(t, p, "▌ │ ▿  6", "off the path")
	p.Press(keymap.Info, keymap.Parent, keymap.GoHead)
	shows(t, p, "▌ ◉   13")
	p.Press(keymap.Info, keymap.Back) // leaves the tab, not the session
	shows(t, p, "memory › trip-planner", "r restore")
}

func TestModel_tabs(t *testing.T) {
	t.Parallel()
	p := trip(t, 100, 30)
	names := []string{"[Diff]", "[State]", "[Messages]", "[Context]", "[Files]", "[Resume]", "[Info]"}
	for _, name := range names {
		shows(t, p, name)
		p.Press(keymap.Timeline, keymap.NextTab)
	}
	shows(t, p, names[0])
	p.Press(keymap.Timeline, keymap.PrevTab)
	shows(t, p, names[len(names)-1])
	for i, a := range []keymap.Action{keymap.ShowDiff, keymap.ShowState, keymap.ShowMessages, keymap.ShowContext, keymap.ShowFiles, keymap.ShowResume, keymap.ShowInfo} {
		p.Press(keymap.Timeline, a)
		shows(t, p, names[i])
	}
}

func TestModel_disabledKeysSayWhy(t *testing.T) {
	t.Parallel()
	p := trip(t, 100, 30)
	for a, want := range map[keymap.Action]string{
		keymap.ClearMark:  "clear mark: no snapshot is marked",
		keymap.SearchNext: "next match: nothing was searched for yet",
		keymap.Details:    "whole message: there is no message",
	} {
		p.Key("ctrl+l")
		p.Press(keymap.Timeline, a)
		if got := lastLine(p); got != want {
			t.Errorf("%s says %q, want %q", a, got, want)
		}
		p.Press(keymap.Timeline, keymap.GoHead)
	}
}

func TestModel_searchesTheTimeline(t *testing.T) {
	t.Parallel()
	p := trip(t, 100, 30)
	p.Press(keymap.Timeline, keymap.Search)
	p.Type("BOOK_")
	p.Press(keymap.Input, keymap.Accept)
	shows(t, p, `"BOOK_": match 1 of 4`, "▌ ▾    3")
	p.Press(keymap.Timeline, keymap.SearchNext, keymap.SearchNext)
	shows(t, p, `match 3 of 4`, "▌ │ ▿  6")
	p.Press(keymap.Timeline, keymap.SearchPrev, keymap.SearchPrev, keymap.SearchPrev)
	shows(t, p, `match 4 of 4`)
	p.Press(keymap.Timeline, keymap.Search)
	p.Type("zebra")
	p.Press(keymap.Input, keymap.Accept)
	shows(t, p, `"zebra" was not found`)
	p.Press(keymap.Timeline, keymap.Search)
	p.Type("xx")
	p.Press(keymap.Input, keymap.Back)
	p.Press(keymap.Timeline, keymap.SearchNext)
	shows(t, p, `"zebra" was not found`) // what was given up was not searched for
}

// gate lets what waits for it through once it is opened.
type gate struct {
	once sync.Once
	c    chan struct{}
}

func newGate() *gate { return &gate{c: make(chan struct{})} }

func (g *gate) open() { g.once.Do(func() { close(g.c) }) }

// wait waits for the gate or the end of ctx, and returns the latter's error.
func (g *gate) wait(ctx context.Context) error {
	select {
	case <-g.c:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// tailFirst returns a store that tells the six newest snapshots at once, and all of
// them once the gate is open.
func tailFirst(t *testing.T, rest *gate) *scripted {
	s := &scripted{Store: demoStore(t)}
	s.tail = func(ctx context.Context, session string, _ int) ([]model.Header, int, error) {
		return s.Store.Tail(ctx, session, 6)
	}
	s.headers = func(ctx context.Context, session string) iter.Seq2[model.Header, error] {
		if err := rest.wait(ctx); err != nil {
			return failing[model.Header](err)
		}
		return s.Store.Headers(ctx, session)
	}
	return s
}

func TestModel_showsTheTailBeforeTheRest(t *testing.T) {
	t.Parallel()
	rest := newGate()
	s := tailFirst(t, rest)
	o := options(s)
	o.Session = sample.Trip
	p := startBusy(t, o, 100, 30)
	waitFor(t, p, "the last 6 snapshots")
	shows(t, p, "▌ ◉   13", "earlier snapshots are being read")
	p.Send(screentest.Key(t, "k"))
	waitFor(t, p, "▌ ○   12")
	rest.open()
	p.Idle()
	shows(t, p, "18 snapshots · 4 off the path", "▌ ○   12", "○    0")
}

func TestModel_progressIsShownAndCancelled(t *testing.T) {
	t.Parallel()
	never := newGate()
	var cancelled atomic.Bool
	s := &scripted{Store: demoStore(t)}
	s.tail = func(ctx context.Context, session string, _ int) ([]model.Header, int, error) {
		headers, _, err := s.Store.Tail(ctx, session, 6)
		return headers, store.Uncounted, err
	}
	s.headers = func(ctx context.Context, session string) iter.Seq2[model.Header, error] {
		return func(yield func(model.Header, error) bool) {
			for h, err := range s.Store.Headers(context.WithoutCancel(ctx), session) {
				if !yield(h, err) {
					return
				}
			}
			err := never.wait(ctx)
			cancelled.Store(true)
			yield(model.Header{}, err)
		}
	}
	clock := &held{}
	o := options(s)
	o.Session = sample.Trip
	o.After = func(d time.Duration) <-chan time.Time {
		if d == 200*time.Millisecond || d == 100*time.Millisecond {
			return clock.after(d)
		}
		return fired(d)
	}
	p := startBusy(t, o, 100, 30)
	waitFor(t, p, "the last 6 snapshots")
	lacks(t, p, "reading trip-planner")
	// Those who wait are the tail that was read, what the tab shows, and the rest.
	p.WaitFor("progress", func(screen string) bool {
		if clock.waiting(200*time.Millisecond) > 0 {
			clock.fire(200 * time.Millisecond)
		}
		return strings.Contains(screen, " reading trip-planner 18 · esc")
	})
	frame := footer(p)
	p.WaitFor("the spinner to wait", func(string) bool { return clock.waiting(100*time.Millisecond) > 0 })
	clock.fire(100 * time.Millisecond)
	p.WaitFor("the spinner to turn", func(string) bool { return footer(p) != frame })
	p.Send(screentest.Key(t, "esc"))
	waitFor(t, p, "cancelled: reading trip-planner")
	p.WaitFor("the store to be told", func(string) bool { return cancelled.Load() })
	shows(t, p, "memory › trip-planner", "the last 6 snapshots")
}

// Moving on cancels what is being read for the row before, and its fact, should
// it still come, is dropped.
func TestModel_movingCancelsTheLoadThatRuns(t *testing.T) {
	t.Parallel()
	first := newGate()
	var cancelled atomic.Bool
	s := &scripted{Store: demoStore(t)}
	headID := idAt(t, s, 13)
	s.state = func(ctx context.Context, ref model.Ref) ([]byte, error) {
		if ref.ID == headID {
			err := first.wait(ctx)
			cancelled.Store(err != nil)
			if err != nil {
				return nil, err
			}
		}
		return s.Store.State(ctx, ref)
	}
	o := options(s)
	o.Session = sample.Trip
	p := startBusy(t, o, 100, 30)
	waitFor(t, p, "▌ ◉   13")
	p.Send(screentest.Key(t, "7"))
	waitFor(t, p, "[Info]")
	p.Send(screentest.Key(t, "["))
	waitFor(t, p, "2a85fa29f")
	p.WaitFor("the first load to be cancelled", func(string) bool { return cancelled.Load() })
	first.open()
	p.Idle()
	shows(t, p, "▌ ○   12", "2a85fa29f")
	lacks(t, p, "cannot be shown")
}

func TestModel_debouncesWhileTheCursorMoves(t *testing.T) {
	t.Parallel()
	const settle = 40 * time.Millisecond
	clock := &held{}
	var mu sync.Mutex
	read := map[string]bool{}
	s := &scripted{Store: demoStore(t)}
	s.state = func(ctx context.Context, ref model.Ref) ([]byte, error) {
		mu.Lock()
		defer mu.Unlock()
		read[ref.ID] = true
		return s.Store.State(ctx, ref)
	}
	o := options(s)
	o.Session = sample.Trip
	o.After = func(d time.Duration) <-chan time.Time {
		if d == settle {
			return clock.after(d)
		}
		return fired(d)
	}
	p := startBusy(t, o, 100, 30)
	waitFor(t, p, "▌ ◉   13")
	p.Send(screentest.Key(t, "7")) // what the tab shows of a row at rest is read at once
	waitFor(t, p, "add177ad")
	p.Send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("[[[[[")})
	waitFor(t, p, "▌ ○    8")
	p.WaitFor("the clock to be asked", func(string) bool { return clock.waiting(settle) >= 5 })
	clock.fire(settle)
	waitFor(t, p, idAt(t, s, 8)[:16])
	p.Idle()
	mu.Lock()
	defer mu.Unlock()
	for _, index := range []int{11, 10} {
		// #10 is a visit of the same id as #8.
		if id := idAt(t, s, index); id != idAt(t, s, 8) && read[id] {
			t.Errorf("#%d was read though the cursor only passed it", index)
		}
	}
}

func TestModel_followsTheCursorOnItsSnapshotThroughAReload(t *testing.T) {
	t.Parallel()
	s := demoStore(t)
	o := options(s)
	o.Session = sample.Trip
	p := start(t, o, 100, 30)
	p.Press(keymap.Timeline, keymap.PrevBranch, keymap.PrevBranch, keymap.Child, keymap.Mark)
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: model.Ref{Session: sample.Trip, ID: idAt(t, s, 5)}})
	if err == nil {
		_, err = s.Apply(t.Context(), plan)
	}
	if err != nil {
		t.Fatal(err)
	}
	p.Press(keymap.Timeline, keymap.Reload)
	shows(t, p, "head #5", "▌=")
}

func TestModel_mouse(t *testing.T) {
	t.Parallel()
	p := trip(t, 100, 30)
	for _, step := range []struct {
		what string
		msg  tea.MouseMsg
		want string
	}{
		{"a row", click(10, 4), "▌ ○    2"},
		{"a row that only draws", click(10, 8), "▌ ○    5"},
		{"below the rows", click(10, 26), "▌ ○    5"},
		{"a tab", click(92, 1), "[Info]"},
		{"between the tabs", click(62, 1), "[Info]"},
		{"inside the tab", click(70, 9), "next tab"},
		{"wheel in the timeline", wheel(10, 9, tea.MouseButtonWheelDown), "▌ ○    5"},
		{"wheel in the tab", wheel(70, 9, tea.MouseButtonWheelDown), "▌ ○    5"},
		{"header", click(10, 0), "▌ ○    5"},
		{"footer", click(10, 29), "▌ ○    5"},
	} {
		p.Send(step.msg)
		p.Idle()
		if !strings.Contains(p.Screen(), step.want) {
			t.Errorf("%s: the screen lacks %q:\n%s", step.what, step.want, p.Screen())
		}
	}
	p.Resize(60, 18)
	p.Press(keymap.Info, keymap.Help)
	p.Send(wheel(30, 9, tea.MouseButtonWheelDown))
	p.Send(click(30, 9)) // a dialog is answered by keys
	p.Idle()
	shows(t, p, "4-")
}

func TestModel_mouseInTheSessions(t *testing.T) {
	t.Parallel()
	p := start(t, options(demoStore(t)), 100, 30)
	p.Send(click(10, 5)) // below the names of the columns and of the day
	p.Idle()
	selects(t, p, "packing-list")
	p.Send(wheel(10, 5, tea.MouseButtonWheelUp))
	p.Send(click(10, 20)) // no session there
	p.Idle()
	selects(t, p, "packing-list")
	p.Send(click(10, 5))
	p.Idle()
	shows(t, p, "memory › packing-list")
}

func TestModel_resizeStorm(t *testing.T) {
	t.Parallel()
	p := trip(t, 100, 30)
	p.Press(keymap.Timeline, keymap.PrevBranch, keymap.PrevBranch, keymap.Restore)
	for _, size := range [][2]int{{1, 1}, {0, 0}, {59, 18}, {60, 17}, {60, 18}, {300, 2}, {2, 300}, {200, 50}, {1, 50}, {99, 30}, {100, 30}} {
		if size[0] == 0 {
			p.Send(tea.WindowSizeMsg{})
			continue
		}
		p.Resize(size[0], size[1])
	}
	shows(t, p, "[ No ]", "restore trip-planner to #10")
	p.Press(keymap.Confirm, keymap.No)
	p.Resize(40, 10)
	shows(t, p, "Hindcast needs 60×18")
	p.Resize(30, 10)
	shows(t, p, "Hindcast needs 60×18 cells,", "here are 30×10")
	p.Send(click(5, 5))
	p.Press(keymap.Timeline, keymap.MoveUp)
	p.Resize(60, 18)
	shows(t, p, "Timeline", "Info")
}

// clipboard returns the texts that were sent to the clipboard.
func clipboard(t *testing.T, written string) []string {
	t.Helper()
	var texts []string
	for {
		_, rest, found := strings.Cut(written, "\x1b]52;c;")
		if !found {
			return texts
		}
		encoded, after, closed := strings.Cut(rest, "\x07")
		text, err := base64.StdEncoding.DecodeString(encoded)
		if !closed || err != nil {
			t.Fatalf("not a clipboard sequence: %q", rest)
		}
		texts, written = append(texts, string(text)), after
	}
}

// syncBuffer is a terminal that several may write to.
type syncBuffer struct {
	mu      sync.Mutex
	written sync.Cond
	b       strings.Builder
}

func newSyncBuffer() *syncBuffer {
	b := &syncBuffer{}
	b.written.L = &b.mu
	return b
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.written.Broadcast()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// waitFor waits until a text was written.
func (b *syncBuffer) waitFor(t *testing.T, text string) {
	t.Helper()
	late := false
	timer := time.AfterFunc(patience, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		late = true
		b.written.Broadcast()
	})
	defer timer.Stop()
	b.mu.Lock()
	defer b.mu.Unlock()
	for !strings.Contains(b.b.String(), text) {
		if late {
			written := b.b.String()
			t.Fatalf("waited %v in vain for %q; the last that was written is %q", patience, text, written[max(0, len(written)-8000):])
		}
		b.written.Wait()
	}
}

func TestModel_copiesOnlyOnItsKey(t *testing.T) {
	t.Parallel()
	terminal := newSyncBuffer()
	s := demoStore(t)
	o := options(s)
	o.Session, o.Output = sample.Packing, terminal
	p := start(t, o, 100, 30)
	p.Press(keymap.Timeline, keymap.ShowInfo, keymap.Yank)
	p.Golden()
	p.Press(keymap.Menu, keymap.YankValue) // nothing is selected, so nothing is copied
	shows(t, p, "Copy")
	p.Press(keymap.Menu, keymap.YankID)
	shows(t, p, "✓ the id was sent to the terminal's clipboard")
	p.Press(keymap.Timeline, keymap.Yank)
	p.Press(keymap.Menu, keymap.Bottom, keymap.MoveUp, keymap.Accept)
	shows(t, p, "✓ the resume payload was sent")
	p.Press(keymap.Timeline, keymap.Top, keymap.StepForward, keymap.Yank)
	p.Press(keymap.Menu, keymap.YankResume)
	shows(t, p, "✗ copy the resume payload: there is none at this snapshot")
	p.Press(keymap.Timeline, keymap.Yank)
	p.Press(keymap.Menu, keymap.Back)
	texts := clipboard(t, terminal.String())
	if len(texts) != 2 || !strings.HasPrefix(texts[0], "40224820") || !strings.Contains(texts[1], "after_model") {
		t.Errorf("copied %q", texts)
	}
}

// The calls that the Resume tab shows can be copied at any snapshot, and without
// the tab they are worked out.
func TestModel_copiesTheCallOfAnySnapshot(t *testing.T) {
	t.Parallel()
	terminal := newSyncBuffer()
	o := options(demoStore(t))
	o.Session, o.Output = sample.Packing, terminal
	p := start(t, o, 100, 30)
	p.Press(keymap.Timeline, keymap.Top, keymap.Yank)
	shows(t, p, "copy resume call  what goes on from here, after a restore")
	p.Press(keymap.Menu, keymap.YankCall)
	shows(t, p, "✓ the resume call was sent")
	p.Press(keymap.Timeline, keymap.ShowResume, keymap.StepForward)
	shows(t, p, "Go on from here, after a restore")
	p.Press(keymap.Timeline, keymap.Yank)
	shows(t, p, "copy resume call  StreamBidi(ctx, agent.WithSessionID[State](")
	p.Press(keymap.Menu, keymap.YankCall)
	const call = `StreamBidi(ctx, agent.WithSessionID[State]("packing-list"))`
	if got := clipboard(t, terminal.String()); !slices.Equal(got, []string{call, call}) {
		t.Errorf("copied %q", got)
	}
}

func TestModel_copyRefused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		id, term, want string
	}{
		"too long":    {strings.Repeat("x", 80_000), "xterm", "✗ copy the id: it is too long for a terminal's clipboard: 80.0 kB"},
		"no terminal": {"a", "dumb", `✗ copy the id: this terminal has no clipboard (TERM is "dumb")`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			terminal := newSyncBuffer()
			s := &scripted{Store: demoStore(t)}
			s.tail = func(context.Context, string, int) ([]model.Header, int, error) {
				return []model.Header{{ID: tc.id, SessionID: sample.Trip}}, 0, nil
			}
			s.state = func(context.Context, model.Ref) ([]byte, error) { return []byte("{}"), nil }
			o := options(s)
			o.Session, o.Output = sample.Trip, terminal
			o.Getenv = func(name string) string { return map[string]string{"TERM": tc.term}[name] }
			p := start(t, o, 100, 30)
			p.Press(keymap.Timeline, keymap.Yank)
			p.Press(keymap.Menu, keymap.YankID)
			shows(t, p, "Select the id by hand", strings.Repeat(tc.id, 60)[:min(60, len(tc.id))])
			p.Press(keymap.Overlay, keymap.Back)
			if footer(p); !strings.Contains(footer(p), tc.want[:30]) {
				t.Errorf("the footer is %q, want %q", footer(p), tc.want)
			}
			if terminal.String() != "" {
				t.Errorf("%d bytes were sent", len(terminal.String()))
			}
		})
	}
}

func TestModel_quits(t *testing.T) {
	t.Parallel()
	p := start(t, options(demoStore(t)), 60, 18)
	p.Press(keymap.Picker, keymap.Open)
	p.Press(keymap.Timeline, keymap.Back)
	p.Send(screentest.Key(t, "q"))
	p.WaitEnd()
	p = trip(t, 60, 18)
	p.Press(keymap.Timeline, keymap.Search)
	p.Send(screentest.Key(t, "ctrl+c")) // from a text field too
	p.WaitEnd()
}

// makeCommand runs the whole program on a terminal of 100×30 cells that answers no
// question, and returns what it wrote and its error.
func makeCommand(t *testing.T, o tui.Options, typing func(keyboard io.Writer, screen *syncBuffer)) (string, error) {
	t.Helper()
	outside, inside, err := pty.Open()
	if err == nil {
		err = pty.Setsize(inside, &pty.Winsize{Cols: 100, Rows: 30})
	}
	if err != nil {
		t.Fatal(err)
	}
	before, err := term.GetState(inside.Fd())
	if err != nil {
		t.Fatal(err)
	}
	screen := newSyncBuffer()
	read := make(chan struct{})
	go func() {
		io.Copy(screen, outside)
		close(read)
	}()
	ended := make(chan error, 1)
	o.Input, o.Output = inside, inside
	go func() { ended <- tui.Run(t.Context(), o) }()
	typing(outside, screen)
	select {
	case err = <-ended:
	case <-time.After(patience):
		t.Fatalf("the program does not end; it wrote %q", screen)
	}
	after, stateErr := term.GetState(inside.Fd())
	if stateErr != nil || !reflect.DeepEqual(before, after) {
		t.Errorf("the terminal is not in the state that it was in: %v", stateErr)
	}
	inside.Close()
	<-read // all that was written
	outside.Close()
	return screen.String(), err
}

// restored holds that the terminal was given back: no alternate screen, no
// mouse, a cursor.
func restored(t *testing.T, written string) {
	t.Helper()
	for _, mode := range []string{"\x1b[?1049l", "\x1b[?1002l", "\x1b[?1006l", "\x1b[?25h", "\x1b[?2004l"} {
		if !strings.Contains(written, mode) {
			t.Errorf("the terminal was not given back: no %q", mode)
		}
	}
	wraps(t, written)
}

// wraps holds that autowrap is off from before the full screen is up until after the
// last frame, however often that happens, and on before it is left.
func wraps(t *testing.T, written string) {
	t.Helper()
	up, off := false, false
	for _, seq := range regexp.MustCompile(`\x1b\[\?(7|1049)[hl]|\x1b\[H`).FindAllString(written, -1) {
		switch seq {
		case "\x1b[?7l":
			off = true
		case "\x1b[?7h":
			off = false
		case "\x1b[?1049h", "\x1b[?1049l":
			up = seq == "\x1b[?1049h"
			if up != off {
				t.Errorf("autowrap is off: %t, at %q", off, seq)
			}
		default: // a frame begins
			if up && !off {
				t.Error("a frame is drawn with autowrap on")
			}
		}
	}
	if up || off || !strings.Contains(written, "\x1b[?7l") {
		t.Errorf("in the end the full screen is up: %t, and autowrap is off: %t", up, off)
	}
}

func TestRun_restoresTheTerminal(t *testing.T) {
	t.Parallel()
	written, err := makeCommand(t, options(demoStore(t)), func(keyboard io.Writer, screen *syncBuffer) {
		screen.waitFor(t, "packing-list")
		io.WriteString(keyboard, "jkq")
	})
	if err != nil {
		t.Fatal(err)
	}
	restored(t, written)
}

func TestRun_panicsRestoreTheTerminal(t *testing.T) {
	t.Parallel()
	const evil = "boom \x1b]52;c;aGk=\x07"
	pressEdit := func(keyboard io.Writer, screen *syncBuffer) {
		screen.waitFor(t, "head #13")
		io.WriteString(keyboard, "e")
		screen.waitFor(t, "edit whole state")
		io.WriteString(keyboard, "s")
	}
	for name, plant := range map[string]func(*scripted, *tui.Options) (typing func(io.Writer, *syncBuffer)){
		"in a command": func(s *scripted, _ *tui.Options) func(io.Writer, *syncBuffer) {
			s.sessions = func(context.Context) iter.Seq2[model.SessionInfo, error] { panic(evil) }
			return nil
		},
		"in an update": func(s *scripted, o *tui.Options) func(io.Writer, *syncBuffer) {
			o.Session, o.Getenv = sample.Trip, func(string) string { panic(evil) }
			return pressEdit
		},
		"in a view": func(_ *scripted, o *tui.Options) func(io.Writer, *syncBuffer) {
			o.Now = func() time.Time { panic(evil) }
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &scripted{Store: demoStore(t)}
			o := options(s)
			typing := plant(s, &o)
			if typing == nil {
				typing = func(io.Writer, *syncBuffer) {}
			}
			written, err := makeCommand(t, o, typing)
			var panicked *tui.PanicError
			if !errors.As(err, &panicked) || fmt.Sprint(panicked.Value) != evil || !strings.Contains(panicked.Stack, "model_test.go") {
				t.Errorf("error %v", err)
			}
			restored(t, written)
			if strings.Contains(written, "boom") {
				t.Error("what the panic said was written to the terminal")
			}
		})
	}
}

func TestRun_endsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	terminal := newSyncBuffer()
	r, _ := io.Pipe()
	o := options(demoStore(t))
	o.Input, o.Output = r, terminal
	ended := make(chan error, 1)
	go func() { ended <- tui.Run(ctx, o) }()
	cancel(os.ErrProcessDone)
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	case <-time.After(patience):
		t.Fatal("the program goes on though its context is done")
	}
	wraps(t, terminal.String())
}

func TestRun_endsWithItsTerminal(t *testing.T) {
	t.Parallel()
	outside, inside, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	// inside stays open: Bubble Tea asks it for its size in a goroutine of its
	// own, for which Run does not wait.
	o := options(demoStore(t))
	o.Input, o.Output = inside, inside
	ended := make(chan error, 1)
	go func() { ended <- tui.Run(t.Context(), o) }()
	// A read that still waits would keep the terminal open.
	for shown, buf := "", make([]byte, 1024); !strings.Contains(shown, "\x1b[?1049h"); {
		n, err := outside.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		shown += string(buf[:n])
	}
	outside.Close()
	select {
	case <-ended:
	case <-time.After(patience):
		t.Fatal("the program goes on without a terminal")
	}
}

func TestNew_needsAStore(t *testing.T) {
	t.Parallel()
	if _, err := tui.New(t.Context(), tui.Options{}); err == nil {
		t.Error("there is a model without a store")
	}
}

// In tmux a copied text is in tmux's own buffer, whatever its options say of the
// clipboard.
func TestModel_copiesToTmux(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("tmux"); err != nil {
		skip.Missing(t, "there is no tmux")
	}
	socket := filepath.Join(t.TempDir(), "s")
	tmux := func(args ...string) string {
		command := exec.Command("tmux", append([]string{"-S", socket, "-f", "/dev/null"}, args...)...)
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("tmux %s: %v: %s", args, err, out)
		}
		return string(out)
	}
	tmux("new-session", "-d", "cat")
	t.Cleanup(func() { tmux("kill-server") })
	tmux("set", "-s", "set-clipboard", "off")
	terminal := newSyncBuffer()
	o := options(demoStore(t))
	o.Session, o.Output = sample.Packing, terminal
	o.Getenv = environment(map[string]string{"TERM": "tmux-256color", "TMUX": socket + ",1,0"})
	p := start(t, o, 100, 30)
	p.Press(keymap.Timeline, keymap.Yank)
	p.Press(keymap.Menu, keymap.YankID)
	shows(t, p, "✓ the id is in tmux's newest buffer   v shows it")
	if got := tmux("show-buffer"); !strings.HasPrefix(got, "40224820") {
		t.Errorf("the buffer of tmux is %q", got)
	}
	if terminal.String() != "" {
		t.Errorf("the terminal was sent %q too", terminal.String())
	}
	p.Press(keymap.Timeline, keymap.Details)
	shows(t, p, "─ the id ─", "40224820")
}

// Where tmux cannot be reached, the terminal's clipboard is sent the text.
func TestModel_copiesWithoutTmux(t *testing.T) {
	t.Parallel()
	terminal := newSyncBuffer()
	o := options(demoStore(t))
	o.Session, o.Output = sample.Packing, terminal
	o.Getenv = environment(map[string]string{"TERM": "tmux-256color", "TMUX": filepath.Join(t.TempDir(), "gone") + ",1,0"})
	p := start(t, o, 100, 30)
	p.Press(keymap.Timeline, keymap.Yank)
	p.Press(keymap.Menu, keymap.YankID)
	shows(t, p, "✓ the id was sent to the terminal's clipboard   v shows it")
	if got := clipboard(t, terminal.String()); len(got) != 1 || !strings.HasPrefix(got[0], "40224820") {
		t.Errorf("copied %q", got)
	}
}
