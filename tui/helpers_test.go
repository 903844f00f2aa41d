package tui_test

import (
	"context"
	"fmt"
	"io"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/muesli/termenv"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/store"
	"hindcast/store/sample"
	"hindcast/store/storetest/fake"
	"hindcast/tui"
	"hindcast/tui/screentest"
	"hindcast/tui/theme"
)

// now is when the tests take place: a day after the demo's story.
var now = time.Date(2026, time.May, 5, 9, 0, 0, 0, time.UTC)

// patience is how long a test waits for a program before it fails.
const patience = 20 * time.Second

// fired is a clock that never lets anybody wait.
func fired(time.Duration) <-chan time.Time {
	c := make(chan time.Time, 1)
	c <- now
	return c
}

// held is a clock on which time only passes when the test says so.
type held struct {
	mu    sync.Mutex
	waits []wait
}

type wait struct {
	d time.Duration
	c chan time.Time
}

func (h *held) after(d time.Duration) <-chan time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waits = append(h.waits, wait{d, make(chan time.Time, 1)})
	return h.waits[len(h.waits)-1].c
}

// fire ends all waits of a length that there are.
func (h *held) fire(d time.Duration) { h.fireFirst(d, h.waiting(d)) }

// fireFirst ends the first n waits of a length.
func (h *held) fireFirst(d time.Duration, n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	rest := h.waits[:0]
	for _, w := range h.waits {
		if w.d != d || n == 0 {
			rest = append(rest, w)
			continue
		}
		w.c <- now
		n--
	}
	h.waits = rest
}

// waiting returns how many waits of a length there are.
func (h *held) waiting(d time.Duration) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, w := range h.waits {
		if w.d == d {
			n++
		}
	}
	return n
}

// demoStore returns a store with the two sessions of the demo.
func demoStore(t testing.TB) *fake.Store {
	t.Helper()
	s := fake.New(fake.WithClock(func() time.Time { return now }))
	if _, err := s.Import(t.Context(), sample.Rows()); err != nil {
		t.Fatal(err)
	}
	return s
}

// options returns the options that tests begin with.
func options(s store.Store) tui.Options {
	return tui.Options{
		Store: s,
		Keys:  keymap.Default(),
		Theme: styles(theme.Dark, termenv.TrueColor),
		Now:   func() time.Time { return now },
		After: fired,
		Zone:  time.UTC,
		Getenv: func(name string) string {
			return map[string]string{"TERM": "xterm-256color"}[name]
		},
		Output: io.Discard,
	}
}

func styles(p theme.Palette, profile termenv.Profile) *theme.Styles {
	return theme.New(theme.Choice{Palette: p, Profile: profile, Glyphs: theme.Unicode})
}

// start runs the screen on a terminal of w×h cells.
func start(t *testing.T, o tui.Options, w, h int) *screentest.Program {
	t.Helper()
	p := startBusy(t, o, w, h)
	p.Idle()
	return p
}

// startBusy is start for a store or a clock that keeps the screen waiting.
func startBusy(t *testing.T, o tui.Options, w, h int) *screentest.Program {
	t.Helper()
	m, err := tui.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return screentest.Start(t, m, o.Keys, w, h)
}

// trip opens the demo's session with branches.
func trip(t *testing.T, w, h int) *screentest.Program {
	t.Helper()
	return opened(t, demoStore(t), w, h)
}

// opened opens it in a store that has it.
func opened(t *testing.T, s store.Store, w, h int) *screentest.Program {
	t.Helper()
	o := options(s)
	o.Session = sample.Trip
	return start(t, o, w, h)
}

// shows holds that the screen has all of some texts.
func shows(t *testing.T, p *screentest.Program, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(p.Screen(), text) {
			t.Errorf("the screen lacks %q:\n%s", text, p.Screen())
		}
	}
}

// lacks holds that the screen has none of some texts.
func lacks(t *testing.T, p *screentest.Program, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(p.Screen(), text) {
			t.Errorf("the screen has %q:\n%s", text, p.Screen())
		}
	}
}

// selects holds that the row under the cursor has a text.
func selects(t *testing.T, p *screentest.Program, text string) {
	t.Helper()
	for line := range strings.Lines(p.Screen()) {
		if strings.Contains(line, "▌") {
			if !strings.Contains(line, text) {
				t.Errorf("the cursor is on %q, not on %q", line, text)
			}
			return
		}
	}
	t.Errorf("no row has the cursor:\n%s", p.Screen())
}

// waitFor waits until the screen has a text.
func waitFor(t *testing.T, p *screentest.Program, text string) {
	t.Helper()
	p.WaitFor(fmt.Sprintf("%q", text), func(screen string) bool { return strings.Contains(screen, text) })
}

// footer returns the last line.
func footer(p *screentest.Program) string {
	lines := strings.Split(strings.TrimRight(p.Screen(), "\n"), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// lastLine returns what the last line says at its right end: a message, where there
// is one.
func lastLine(p *screentest.Program) string {
	parts := strings.Split(footer(p), "   ")
	return strings.TrimSpace(parts[len(parts)-1])
}

// head returns the head of a session.
func head(t *testing.T, s store.Store, session string) string {
	t.Helper()
	for info, err := range s.Sessions(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if info.ID == session {
			return fmt.Sprintf("#%d", info.Head.Index)
		}
	}
	return "none"
}

func click(x, y int) tea.MouseMsg {
	return tea.MouseMsg{X: x, Y: y, Button: tea.MouseButtonLeft, Action: tea.MouseActionPress}
}

func wheel(x, y int, button tea.MouseButton) tea.MouseMsg {
	return tea.MouseMsg{X: x, Y: y, Button: button, Action: tea.MouseActionPress}
}

// readOnly is a store without any capability.
type readOnly struct{ store.Store }

func (readOnly) Features() store.Features { return store.Features{} }

// scripted is a store whose answers a test writes; what it does not write is
// the inner store's.
type scripted struct {
	*fake.Store
	sessions func(context.Context) iter.Seq2[model.SessionInfo, error]
	headers  func(context.Context, string) iter.Seq2[model.Header, error]
	tail     func(context.Context, string, int) ([]model.Header, int, error)
	state    func(context.Context, model.Ref) ([]byte, error)
	apply    func(context.Context, model.Plan) (model.Receipt, error)
	address  string
}

func (s *scripted) Address() string { return s.address }

func (s *scripted) Features() store.Features {
	f := s.Store.Features()
	f.Tail, f.Apply = s.Tail, s.Apply
	return f
}

func (s *scripted) Sessions(ctx context.Context) iter.Seq2[model.SessionInfo, error] {
	if s.sessions != nil {
		return s.sessions(ctx)
	}
	return s.Store.Sessions(ctx)
}

func (s *scripted) Headers(ctx context.Context, session string) iter.Seq2[model.Header, error] {
	if s.headers != nil {
		return s.headers(ctx, session)
	}
	return s.Store.Headers(ctx, session)
}

func (s *scripted) Tail(ctx context.Context, session string, n int) ([]model.Header, int, error) {
	if s.tail != nil {
		return s.tail(ctx, session, n)
	}
	return s.Store.Tail(ctx, session, n)
}

func (s *scripted) State(ctx context.Context, ref model.Ref) ([]byte, error) {
	if s.state != nil {
		return s.state(ctx, ref)
	}
	return s.Store.State(ctx, ref)
}

func (s *scripted) Apply(ctx context.Context, plan model.Plan) (model.Receipt, error) {
	if s.apply != nil {
		return s.apply(ctx, plan)
	}
	return s.Store.Apply(ctx, plan)
}

// failing returns a sequence that ends with an error.
func failing[T any](err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		yield(zero, err)
	}
}
