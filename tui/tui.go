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
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/term"

	"hindcast/keymap"
	"hindcast/query"
	"hindcast/query/ledger"
	"hindcast/store"
	"hindcast/store/home"
	"hindcast/tui/painter"
	"hindcast/tui/theme"
)

// Options configure the screen. Only Store is needed, or Home.
type Options struct {
	// Store is shown; it is not closed.
	Store store.Store
	// Home is the stores whose sessions are listed where Store is nil; it is not closed.
	Home *home.Home
	// Without returns the options that say what to show where the home has no store. Run returns its error,
	// and draws nothing if it fails within Wait. Nil gives an error.
	Without func(ctx context.Context) (Options, error)
	Wait    time.Duration
	// Session is opened at once; "" lists the sessions, unless there is one only.
	Session string
	// Note is said in the last line at first; "" for nothing.
	Note string
	// Labels are the labels of snapshots; nil where there is no place for any.
	Labels Labels
	// Tour says that the store is the built-in demo; nil for any other.
	Tour *Tour
	// Keys maps keys to actions; nil for the default.
	Keys *keymap.Map
	// Theme is how everything looks; nil to go by ThemeNames.
	Theme *theme.Styles
	// ThemeNames is the theme that the person asked for, in the words of look.Read; "" to go by the
	// environment.
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
	// Window returns the context window of a model in tokens, 0 if it is unknown. It may be nil.
	Window func(model string) float64
	// Prices are the prices of models, in Currency; nil when no price is known. ListDate is the month of the list prices.
	Prices             query.Prices
	Currency, ListDate string
	// Ledger adds up sessions for their rows in the list; nil to show no sums.
	Ledger *ledger.Ledger
	// Continuers are the kinds whose tools go on with a conversation of another one, and Around where their usual places are.
	Continuers []store.Kind
	Around     store.Surroundings
	// Watches keeps what is watched in a store; nil to keep it nowhere.
	Watches Watches
	// Zone is in which times are shown; nil for the local one.
	Zone *time.Location
	// Getenv gives the environment; nil for os.Getenv.
	Getenv func(string) string
	// Plain tells the screen line by line and takes lines, for a person who cannot see it. Theme is not used then.
	Plain bool
	// Temp is where the files for the editor are made, in folders that no other user
	// can enter; "" for the system's folder for such files.
	Temp string
	// Input and Output are the terminal; nil for the process's own. Output takes
	// writes from several goroutines at once, as files do.
	Input  io.Reader
	Output io.Writer

	// asksBackground says that the terminal may be asked whether it is light.
	asksBackground bool
}

// Watches keeps the expressions that a person watches in a store. It is called from commands.
type Watches interface {
	Watches(ctx context.Context, s store.Store) ([]string, error)
	SetWatches(ctx context.Context, s store.Store, expressions []string) error
}

// Tour is the text shown to a person who looks at the built-in demo.
type Tour struct {
	// Session is where the tour begins, At the snapshot there that the cursor is on at
	// first.
	Session, At string
	// Text says in a line what there is to see.
	Text string
}

// fillDefaults returns o with nothing left nil, but for Input.
func (o Options) fillDefaults() (Options, error) {
	if o.Store == nil && o.Home == nil {
		return o, errors.New("tui: there is no store to show")
	}
	if o.Without == nil {
		o.Without = func(context.Context) (Options, error) { return Options{}, errors.New("no store is found") }
	}
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Keys == nil {
		o.Keys = keymap.Default()
	}
	if o.Plain {
		o.Theme = plainTheme()
	}
	if o.Theme == nil {
		choice, err := theme.Choose(o.ThemeNames, o.Getenv)
		if err != nil {
			return o, err
		}
		o.Theme, o.asksBackground = theme.New(choice), choice.Asks
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.After == nil {
		o.After = time.After
	}
	if o.Window == nil {
		o.Window = func(string) float64 { return 0 }
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
	if o.Plain {
		return m.runPlain(ctx)
	}
	in, shut, err := m.openKeyboard()
	if err != nil {
		return fmt.Errorf("tui: read keys: %w", err)
	}
	defer shut()
	keys, _ := in.(*keyboard)
	paint := painter.New(in, m.o.Output)
	var program *tea.Program
	program = tea.NewProgram(&painted{m, paint},
		tea.WithContext(ctx),
		tea.WithInput(in),
		tea.WithOutput(m.o.Output),
		tea.WithoutRenderer(),      // the painter is
		tea.WithMouseCellMotion(),  // Windows reads the mouse with the keys
		tea.WithoutSignalHandler(), // ctx ends on signals
		tea.WithoutCatchPanics(),   // it would print what the panic says, unescaped
		tea.WithFilter(func(_ tea.Model, msg tea.Msg) tea.Msg {
			return keys.holdQuit(beforeSuspend(paint, msg), program.Quit)
		}),
	)
	m.leave, m.hand, m.send = program.Quit, paint.Lend, paint.Send
	if keys != nil && term.IsTerminal(keys.Fd()) && m.o.asksBackground {
		paint.Ask(m.askBackground(keys, program.Send))
	}
	if m.o.Wait == 0 {
		if err := paint.Take(); err != nil {
			return fmt.Errorf("tui: take the terminal: %w", err)
		}
	}
	defer paint.Give() // the terminal may be gone
	unfollow := paint.Follow(func(w, h int) { program.Send(tea.WindowSizeMsg{Width: w, Height: h}) })
	_, err = program.Run()
	paint.Send(m.pictures.removeAll())
	unfollow()
	switch {
	case m.crash != nil:
		return m.crash
	case m.noStore != nil:
		return m.noStore
	case m.leaving && m.unwritten != nil:
		return fmt.Errorf("tui: the write that the screen was left at: %w", m.unwritten)
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("tui: run the screen: %w", err)
	}
	return nil
}

// painted is the model on the terminal of a painter: what Bubble Tea would tell its renderer, it
// tells the painter.
type painted struct {
	*Model
	painter *painter.Painter
}

// Init implements tea.Model. The first frame is as large as the terminal, and painted before any
// command runs, unless it waits.
func (p *painted) Init() tea.Cmd {
	begin := p.Model.Init()
	if w, h, known := p.painter.Size(); known {
		p.painter.Resize(w, h)
	}
	_, resized := p.Model.Update(p.size())
	if p.o.Wait == 0 {
		return tea.Batch(begin, resized)
	}
	waited := p.o.After(p.o.Wait)
	return tea.Batch(begin, resized, func() tea.Msg {
		select {
		case <-waited:
		case <-p.ctx.Done():
		}
		return waitedMsg{}
	})
}

// waitedMsg: the search for stores had its head start.
type waitedMsg struct{}

// size returns the message with the size of the terminal, nil when that is unknown.
func (p *painted) size() tea.Msg {
	if w, h, known := p.painter.Size(); known {
		return tea.WindowSizeMsg{Width: w, Height: h}
	}
	return nil
}

// Update implements tea.Model. The terminal is taken where it was lent, and after the wait; not to
// show that there is nothing to show.
func (p *painted) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if size, is := msg.(tea.WindowSizeMsg); is {
		p.painter.Resize(size.Width, size.Height)
	}
	if msg == tea.ClearScreen() {
		p.painter.Clear()
	}
	_, cmd := p.Model.Update(msg)
	if p.noStore == nil && p.crash == nil {
		if err := p.painter.Take(); err != nil {
			p.fail(err)
		}
	}
	if _, suspended := msg.(tea.SuspendMsg); suspended {
		return p, p.size
	}
	return p, cmd
}

// View implements tea.Model.
func (p *painted) View() string {
	p.painter.Paint(p.Model.View())
	return ""
}

// beforeSuspend hands the terminal back before Bubble Tea suspends the program. It returns the message.
func beforeSuspend(p *painter.Painter, msg tea.Msg) tea.Msg {
	if _, suspends := msg.(tea.SuspendMsg); suspends {
		_ = p.Give() // the shell sets the terminal up
	}
	return msg
}

// openKeyboard returns the terminal's input, and what shuts it if it was opened for this: where the
// standard input is something else, keys come from the terminal all the same.
func (m *Model) openKeyboard() (in io.Reader, shut func(), err error) {
	in, shut = m.o.Input, func() {}
	if in == nil && term.IsTerminal(os.Stdin.Fd()) {
		in = os.Stdin
	}
	if in == nil {
		f, err := painter.OpenKeyboard()
		if err != nil {
			return nil, nil, err
		}
		in, shut = f, func() { f.Close() } // it was only read
	}
	if f, ok := in.(*os.File); ok {
		in = &keyboard{File: f, gone: func() { m.leave() }}
	}
	return in, shut, nil
}

// PanicError is a panic inside the screen. The terminal was given back.
type PanicError struct {
	Value any
	// Stack is where it happened.
	Stack string
}

func (e *PanicError) Error() string { return fmt.Sprintf("tui: panic: %v\n%s", e.Value, e.Stack) }

func newPanicError(value any) *PanicError {
	p := store.NewPanic(value)
	return &PanicError{p.Value, p.Stack}
}
