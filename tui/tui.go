// Package tui is the interactive face of Hindcast: the screen on which a person
// walks through a session, sees what each step changed, and puts it back.
//
// The root [Model] is the only Bubble Tea model. It owns the panes, which are
// plain structs in packages of their own that never meet, and does four things:
// it turns keys and the mouse into actions, calls the panes, starts commands for
// whatever takes time, and puts what the panes draw side by side.
//
//	keys ─▶ keymap ─▶ action ─▶ pane            everything that is quick
//	                     └────▶ command ─▶ fact ─▶ pane    everything else
//
// Update does no I/O and nothing that grows with the session. Commands never
// touch the model: they bring a fact back, with the generation of the task that
// asked for it, and a fact that comes too late is dropped.
//
// A store that can be watched is followed: what others write to it shows within a
// second, and nothing that the person has set up moves for it.
//
// The package knows stores through the port alone.
package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync/atomic"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"

	"hindcast/keymap"
	"hindcast/query"
	"hindcast/store"
	"hindcast/tui/theme"
)

// Options are what the screen is built from. Only Store is needed, or Stores and
// Open, or Find and Open.
type Options struct {
	// Store is shown; it is not closed.
	Store store.Store
	// Stores are offered where Store is nil, in this order; the one that is
	// chosen is opened with Open, shown as if it had been named, and not closed.
	Stores []store.Found
	Open   func(ctx context.Context, chosen store.Found) (store.Store, error)
	// Find returns the store or the stores where neither is known: Run draws its first frame
	// before Find returns. Of the options it returns, those that say what to open count. It calls
	// tell with the stores known by then each time it finds one. Run returns its error.
	Find func(ctx context.Context, tell func([]store.Found)) (Options, error)
	// Session is opened at once; "" lists the sessions, unless there is one only.
	Session string
	// Note is said in the last line at first; "" for nothing.
	Note string
	// Labels are the labels of snapshots; nil where there is no place for any.
	Labels Labels
	// Tour says that the store is the built-in demo; nil for any other.
	Tour *Tour
	// Keys is what keys mean; nil for the default.
	Keys *keymap.Map
	// Theme is how everything looks; nil to go by ThemeNames.
	Theme *theme.Styles
	// ThemeNames is what the person asked for, in the words of look.Read; "" to go by the environment.
	ThemeNames string
	// Now gives the time; nil for time.Now.
	Now func() time.Time
	// After is where waiting comes from; nil for time.After.
	After func(time.Duration) <-chan time.Time
	// Share writes a session to a new file, its secrets hidden: a page for a browser, or
	// where the path ends in .jsonl a file to import. only names the snapshots that go, as
	// A..B or B for all that led to it; "" for all. It returns at how many places a secret was
	// hidden, and the list of them. It is called from commands. Nil where nothing is shared.
	Share func(ctx context.Context, s store.Store, session, only, path string) (places int, hidden string, err error)
	// Prices are what models cost, in Currency; nil where no price is known.
	Prices   query.Prices
	Currency string
	// Watches keeps what is watched in a store; nil to keep it nowhere.
	Watches Watches
	// Zone is in which times are shown; nil for the local one.
	Zone *time.Location
	// Getenv gives the environment; nil for os.Getenv.
	Getenv func(string) string
	// Temp is where the files for the editor are made, in folders that no other user
	// can enter; "" for the system's folder for such files.
	Temp string
	// Input and Output are the terminal; nil for the process's own. Output takes
	// writes from several goroutines at once, as files do.
	Input  io.Reader
	Output io.Writer
}

// Watches keeps the expressions that a person watches in a store. It is called from commands.
type Watches interface {
	Watches(ctx context.Context, s store.Store) ([]string, error)
	SetWatches(ctx context.Context, s store.Store, expressions []string) error
}

// Tour is what a person is told who looks at the built-in demo.
type Tour struct {
	// Session is where the tour begins, At the snapshot there that the cursor is on at
	// first.
	Session, At string
	// Text says in a line what there is to see.
	Text string
}

// fill returns o with nothing left nil, but for Input.
func (o Options) fill() (Options, error) {
	if o.Store == nil && (len(o.Stores) == 0 && o.Find == nil || o.Open == nil) {
		return o, errors.New("tui: there is no store to show")
	}
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Keys == nil {
		o.Keys = keymap.Default()
	}
	if o.Theme == nil {
		choice, err := theme.Choose(o.ThemeNames, o.Getenv)
		if err != nil {
			return o, err
		}
		o.Theme = theme.New(choice)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.After == nil {
		o.After = time.After
	}
	if o.Prices == nil {
		o.Prices = noPrices{}
	}
	if o.Zone == nil {
		o.Zone = time.Local
	}
	if o.Output == nil {
		o.Output = os.Stdout
	}
	return o, nil
}

// framesPerSecond is the most that Bubble Tea allows: what a key does is on the
// wire at the next tick.
const framesPerSecond = 120

// Run shows the screen until the person leaves it or ctx ends, and returns the
// terminal back in either case, also after a panic. The error then is ctx's, or
// a [PanicError]; its text may hold data of the store and is not escaped.
func Run(ctx context.Context, o Options) error {
	ctx, end := context.WithCancel(ctx) // whatever still waits then ends too
	defer end()
	m, err := New(ctx, o)
	if err != nil {
		return err
	}
	screen, wrap := unwrapping(m.o.Output)
	defer wrap()
	options := []tea.ProgramOption{
		tea.WithContext(ctx),
		tea.WithAltScreen(),
		tea.WithMouseCellMotion(),
		tea.WithFPS(framesPerSecond),
		tea.WithOutput(screen),
		tea.WithoutSignalHandler(), // ctx ends on signals
		tea.WithoutCatchPanics(),   // it would print what the panic says, unescaped
	}
	if in := m.keyboard(); in != nil {
		options = append(options, tea.WithInput(in))
	}
	program := tea.NewProgram(m, options...)
	m.leave = program.Quit
	_, err = program.Run()
	switch {
	case m.crash != nil:
		return m.crash
	case m.noStore != nil:
		return m.noStore
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("tui: run the screen: %w", err)
	}
	return nil
}

// unwrapped is a terminal on which nothing wraps while the full screen is up: a
// terminal that counts more cells in a row than there are would go on in the next one
// and scroll the frame away. Bubble Tea enters and leaves the full screen by itself,
// also to suspend, for an editor, and in the end, so autowrap goes with that.
type unwrapped struct {
	io.Writer
	off atomic.Bool
}

// What Bubble Tea writes to begin and to end with the full screen.
var (
	enterFull = ansi.SetMode(ansi.ModeAltScreenSaveCursor)
	leaveFull = ansi.ResetMode(ansi.ModeAltScreenSaveCursor)
)

// Write implements io.Writer. Bubble Tea writes each of the two sequences by itself.
func (u *unwrapped) Write(p []byte) (int, error) {
	switch string(p) {
	case enterFull:
		u.off.Store(true)
		if _, err := io.WriteString(u.Writer, ansi.ResetModeAutoWrap); err != nil {
			return 0, err
		}
	case leaveFull:
		if err := u.wrap(); err != nil {
			return 0, err
		}
	}
	return u.Writer.Write(p)
}

// wrap switches autowrap on, if it is off.
func (u *unwrapped) wrap() error {
	if !u.off.Swap(false) {
		return nil
	}
	_, err := io.WriteString(u.Writer, ansi.SetModeAutoWrap)
	return err
}

// unwrappedFile is unwrapped for a file, whose size Bubble Tea asks for.
type unwrappedFile struct {
	*os.File
	*unwrapped
}

// Write implements io.Writer.
func (u unwrappedFile) Write(p []byte) (int, error) { return u.unwrapped.Write(p) }

// WriteString implements io.StringWriter, as files do.
func (u unwrappedFile) WriteString(s string) (int, error) { return u.unwrapped.Write([]byte(s)) }

// unwrapping returns what Bubble Tea writes to instead of a terminal, and what
// switches autowrap on in the end, whatever happened to Bubble Tea.
func unwrapping(terminal io.Writer) (screen io.Writer, wrap func()) {
	u := &unwrapped{Writer: terminal}
	wrap = func() { u.wrap() } // the terminal may be gone
	if f, ok := terminal.(*os.File); ok {
		return unwrappedFile{f, u}, wrap
	}
	return u, wrap
}

// keyboard returns the terminal's input, or nil to leave it to Bubble Tea, which
// opens the terminal where the standard input is something else.
func (m *Model) keyboard() io.Reader {
	in := m.o.Input
	if in == nil && term.IsTerminal(os.Stdin.Fd()) {
		in = os.Stdin
	}
	if f, ok := in.(*os.File); ok {
		return &keyboard{f, func() { m.leave() }}
	}
	return in
}

// keyboard is a terminal's input that tells when the terminal is gone. Bubble
// Tea would go on without it for ever, unseen.
type keyboard struct {
	*os.File
	gone func()
}

// Read implements io.Reader.
func (k *keyboard) Read(p []byte) (int, error) {
	n, err := k.File.Read(p)
	if err != nil {
		go k.gone()
	}
	return n, err
}

// PanicError is a panic inside the screen. The terminal was given back.
type PanicError struct {
	Value any
	// Stack is where it happened.
	Stack string
}

func (e *PanicError) Error() string { return fmt.Sprintf("tui: panic: %v\n%s", e.Value, e.Stack) }

func newPanicError(value any) *PanicError { return &PanicError{value, string(debug.Stack())} }
