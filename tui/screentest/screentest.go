// Package screentest drives a program on an emulated terminal: a test names keys by their actions, and
// assertions are on the screen that a person would see, never on the bytes that drew it.
//
// A test waits for the program to be idle, not for time to pass or a phrase to come by: a wrapper of the
// model counts every command in flight, except commands that wait for the world outside. The screen is
// compared with the model's last View, so nothing drawn is missed.
//
// A pane on its own needs no program: it is drawn and checked as it is, down to the bytes of its colours. The
// package is for tests only.
package screentest

import (
	"bytes"
	"flag"
	"fmt"
	"image/color"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/exp/teatest"
	"github.com/charmbracelet/x/vt"

	"hindcast/keymap"
	"hindcast/tui/screentest/picture"
)

// patience is how long a condition may take to come true before the test
// fails. It bounds broken tests only; good ones never wait for it.
const patience = 20 * time.Second

// Program is a running program with its terminal.
type Program struct {
	tb    testing.TB
	keys  *keymap.Map
	model *teatest.TestModel
	watch *watcher

	screen *emulator
	raw    []byte
	fed    int // bytes of raw that the emulator has
	w, h   int
	ended  bool

	// What painted found: the view that it looked at last and the screen that
	// this makes, how many bytes had been written then, and whether the screen
	// was that.
	view, target string
	compared     int
	whole        bool
}

// Start runs a model on a terminal of w×h cells. Press looks its keys up in keys. The program ends with the
// test.
func Start(tb testing.TB, model tea.Model, keys *keymap.Map, w, h int) *Program {
	tb.Helper()
	watch := &watcher{count: &count{}, inner: model}
	watch.outside, _ = model.(waiter)
	p := &Program{tb: tb, keys: keys, watch: watch, screen: newEmulator(w, h), w: w, h: h}
	p.model = teatest.NewTestModel(tb, watch, teatest.WithInitialTermSize(w, h))
	tb.Cleanup(func() {
		if !p.ended {
			p.model.Quit()
			p.WaitEnd()
		}
		p.screen.close()
	})
	return p
}

// Press presses the first key of each action in a scope, and waits until the
// program is idle after each.
func (p *Program) Press(scope keymap.Scope, actions ...keymap.Action) {
	p.tb.Helper()
	for _, a := range actions {
		keys := p.keys.Keys(scope, a)
		if len(keys) == 0 {
			p.tb.Fatalf("no key leads to %s in scope %s", a, scope)
		}
		p.Key(keys[0])
	}
}

// Key presses a key by Bubble Tea's name for it, and waits until the program is
// idle.
func (p *Program) Key(name string) {
	p.tb.Helper()
	p.Send(Key(p.tb, name))
	p.Idle()
}

// Type types text as one read of the terminal delivers it: all runes in one
// message.
func (p *Program) Type(text string) {
	p.tb.Helper()
	p.Send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(text)})
	p.Idle()
}

// Send gives the program a message and does not wait.
func (p *Program) Send(msg tea.Msg) { p.model.Send(msg) }

// Resize gives the terminal another size, and waits until the program is idle.
func (p *Program) Resize(w, h int) {
	p.tb.Helper()
	p.drain()
	p.w, p.h = w, h
	p.screen.Resize(w, h)
	p.target = ""
	p.Send(tea.WindowSizeMsg{Width: w, Height: h})
	p.Idle()
}

// Idle waits until all that was sent is handled, no command is in flight, and
// the terminal shows the model's last View.
func (p *Program) Idle() {
	p.tb.Helper()
	p.watch.add(1)
	p.model.Send(counted{barrier{}})
	p.until("the program to be idle", func() bool { return p.watch.busy() == 0 && p.isPainted() })
}

// WaitFor waits until the screen is as wanted, whatever is still in flight. A
// frame that has arrived in part is not looked at.
func (p *Program) WaitFor(what string, wanted func(screen string) bool) {
	p.tb.Helper()
	p.until(what, func() bool { return p.isPainted() && wanted(p.Screen()) })
}

// isPainted reports whether the terminal shows the model's last View whole. Emulating a view costs most here,
// so each view is emulated once. The screen is compared only after a change.
func (p *Program) isPainted() bool {
	p.drain()
	if latest := p.watch.lastView(); latest != p.view || p.target == "" {
		p.view, p.target, p.compared = latest, textOfView(latest, p.w, p.h), -1
	}
	if p.compared != len(p.raw) {
		p.compared, p.whole = len(p.raw), p.Screen() == p.target
	}
	return p.whole
}

func (p *Program) until(what string, reached func() bool) {
	p.tb.Helper()
	const pause = time.Millisecond
	for deadline := time.Now().Add(patience); !reached(); time.Sleep(pause) {
		if time.Now().After(deadline) {
			p.tb.Fatalf("waited %v in vain for %s; %d commands are in flight; the screen is\n%s\nthe view is\n%s",
				patience, what, p.watch.busy(), p.Screen(), textOfView(p.watch.lastView(), p.w, p.h))
		}
	}
}

// Screen returns the terminal's text, line by line, without the spaces at the
// ends of lines.
func (p *Program) Screen() string { return p.screen.text() }

// At returns the text of a cell: "" in the right half of a wide character.
func (p *Program) At(x, y int) string {
	if c := p.screen.CellAt(x, y); c != nil {
		return c.Content
	}
	return ""
}

// Picture returns the screen with its colours, cell by cell.
func (p *Program) Picture() picture.Screen {
	hex := func(c color.Color) string {
		if c == nil {
			return ""
		}
		r, g, b, _ := c.RGBA()
		return fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8)
	}
	const bold, faint, reverse = 1 << 0, 1 << 1, 1 << 5 // as the emulator's cells have them
	screen := make(picture.Screen, p.h)
	for y := range screen {
		screen[y] = make([]picture.Cell, p.w)
		for x := range screen[y] {
			c := p.screen.CellAt(x, y)
			if c == nil {
				continue
			}
			st := c.Style
			screen[y][x] = picture.Cell{Text: c.Content, Look: picture.Look{
				Text: hex(st.Fg), Ground: hex(st.Bg), Underline: st.Underline != 0,
				Bold: st.Attrs&bold != 0, Dim: st.Attrs&faint != 0, Rev: st.Attrs&reverse != 0,
			}}
		}
	}
	return screen
}

// Counting returns the screen as a terminal shows it that counts cells rune by
// rune. Like [hindcast/tui.Run] it begins with autowrap off.
func (p *Program) Counting() *Counting {
	p.tb.Helper()
	c := NewCounting(p.w, p.h)
	if _, err := c.Write(append([]byte("\x1b[?7l"), p.Raw()...)); err != nil {
		p.tb.Fatal(err)
	}
	return c
}

// Raw returns every byte that was written to the terminal so far.
func (p *Program) Raw() []byte {
	p.drain()
	return slices.Clone(p.raw)
}

// Golden compares the screen with the golden file of the test, which is named
// after it in testdata/golden of the module; -update writes it.
func (p *Program) Golden() {
	p.tb.Helper()
	golden(p.tb, filepath.Join("golden", filepath.FromSlash(p.tb.Name())+".golden"), p.Screen())
}

// GoldenPicture compares a picture with testdata/pictures/NAME.svg of the module;
// -update writes it.
func GoldenPicture(tb testing.TB, name, title string, frames ...picture.Frame) {
	tb.Helper()
	var b strings.Builder
	if err := picture.SVG(&b, title, frames...); err != nil {
		tb.Fatal(err)
	}
	golden(tb, filepath.Join("pictures", name+".svg"), b.String())
}

// golden compares what a test got with a file below testdata of the module.
func golden(tb testing.TB, name, got string) {
	tb.Helper()
	path := filepath.Join(moduleRoot(tb), "testdata", name)
	if f := flag.Lookup("update"); f != nil && f.Value.String() == "true" {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			tb.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	if got != string(want) {
		tb.Errorf("it is\n%s\nand not as in %s\n%s", got, path, want)
	}
}

// moduleRoot returns the directory with the module's go.mod; tests run in that of
// their package.
func moduleRoot(tb testing.TB) string {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			tb.Fatal("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
}

// WaitEnd waits until the program has ended.
func (p *Program) WaitEnd() {
	p.tb.Helper()
	p.model.WaitFinished(p.tb, teatest.WithFinalTimeout(patience))
	p.ended = true
	p.drain()
}

// drain hands the terminal what the program has written.
func (p *Program) drain() {
	data, err := io.ReadAll(p.model.Output())
	if err != nil {
		p.tb.Fatalf("read the program's output: %v", err)
	}
	p.raw = append(p.raw, data...)
	p.feed()
}

// feed hands the emulator what it does not have yet, up to the last control character: what
// was written may end amid a character of several runes, which it would take for two.
func (p *Program) feed() {
	whole := bytes.LastIndexFunc(p.raw, func(r rune) bool { return r < ' ' })
	if whole >= 0 && p.raw[whole] != '\x1b' {
		whole++
	}
	if whole > p.fed {
		p.screen.Write(p.raw[p.fed:whole])
		p.fed = whole
	}
}

// textOfView returns the screen that a view makes on an empty terminal.
func textOfView(view string, w, h int) string {
	e := newEmulator(w, h)
	defer e.close()
	if lines := strings.Split(view, "\n"); len(lines) > h {
		view = strings.Join(lines[len(lines)-h:], "\n") // as Bubble Tea cuts it
	}
	e.Write([]byte(view))
	return e.text()
}

// emulator is a terminal that answers nothing.
type emulator struct{ *vt.Emulator }

func newEmulator(w, h int) *emulator {
	e := &emulator{vt.NewEmulator(w, h)}
	// Answers go into a pipe that blocks unless it is read.
	go io.Copy(io.Discard, e.Emulator)
	// A terminal's line discipline turns a newline into a return and a newline;
	// behind a pipe nothing does, so the emulator is told to (LNM).
	e.Write([]byte("\x1b[20h"))
	return e
}

// close ends the reading of answers. Emulator.Close would race with it.
func (e *emulator) close() {
	if pipe, ok := e.InputPipe().(io.Closer); ok {
		pipe.Close()
	}
}

func (e *emulator) text() string {
	lines := strings.Split(e.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

// Key returns the message of a key by Bubble Tea's name for it: "j", "ctrl+d",
// "enter", " ".
func Key(tb testing.TB, name string) tea.KeyMsg {
	tb.Helper()
	rest, alt := strings.CutPrefix(name, "alt+")
	if runes := []rune(rest); len(runes) == 1 && rest != " " {
		return tea.KeyMsg{Type: tea.KeyRunes, Runes: runes, Alt: alt}
	}
	for t := tea.KeyType(-128); t < 128; t++ {
		k := tea.KeyMsg{Type: t, Alt: alt}
		if t == tea.KeySpace {
			k.Runes = []rune{' '}
		}
		if t != tea.KeyRunes && k.String() == name {
			return k
		}
	}
	tb.Fatalf("no terminal sends a key %q", name)
	return tea.KeyMsg{}
}

// watcher wraps the model under test to count what is in flight and to keep its
// last view.
type watcher struct {
	*count
	inner   tea.Model
	outside waiter // the model, or nil if none of its commands wait

	mu   sync.Mutex
	view string
}

// count is the number of commands that run and of their messages that are not
// handled yet.
type count struct {
	mu sync.Mutex
	n  int
}

func (c *count) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n += n
}

// waiter is a model with commands that wait for events outside of the program. Waiting returns their present
// number.
type waiter interface{ Waiting() int }

// busy returns the number of commands in flight, without those that wait for the
// world outside: they may do so for ever.
func (w *watcher) busy() int {
	w.count.mu.Lock()
	defer w.count.mu.Unlock()
	if w.outside != nil {
		return w.n - w.outside.Waiting()
	}
	return w.n
}

// counted is a message that ends something that was counted.
type counted struct{ msg tea.Msg }

// barrier tells that all messages that were sent before it are handled.
type barrier struct{}

func (w *watcher) lastView() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.view
}

func (w *watcher) Init() tea.Cmd { return w.wrap(w.inner.Init()) }

func (w *watcher) View() string {
	view := w.inner.View()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.view = view
	return view
}

func (w *watcher) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if c, ok := msg.(counted); ok {
		// The commands that this message leads to are counted before it stops
		// counting, so that the number never passes through 0 in between. View
		// runs after Update, so the count goes down there at the earliest.
		defer func() { w.View(); w.add(-1) }()
		if _, ok := c.msg.(barrier); ok {
			return w, nil
		}
		msg = c.msg
	}
	inner, cmd := w.inner.Update(msg)
	w.inner = inner
	return w, w.wrap(cmd)
}

// wrap counts a command from when it is issued until its message is handled.
func (w *watcher) wrap(cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	w.add(1)
	return func() tea.Msg {
		msg := cmd()
		if msg == nil {
			w.add(-1)
			return nil
		}
		t := reflect.TypeOf(msg)
		if t.Kind() == reflect.Slice && t.Elem() == reflect.TypeFor[tea.Cmd]() {
			// A batch, or a sequence, whose type is not exported: its commands
			// count by themselves.
			many := reflect.MakeSlice(t, 0, reflect.ValueOf(msg).Len())
			for _, v := range reflect.ValueOf(msg).Seq2() {
				many = reflect.Append(many, reflect.ValueOf(w.wrap(v.Interface().(tea.Cmd))))
			}
			w.add(-1)
			return many.Interface()
		}
		if t.PkgPath() == reflect.TypeFor[tea.KeyMsg]().PkgPath() {
			w.add(-1) // Bubble Tea's own message, which it must see as it is
			return msg
		}
		return counted{msg}
	}
}
