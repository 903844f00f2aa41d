package tui

import (
	"context"
	"hindcast/model/printable"
	"sync/atomic"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/store"
	"hindcast/store/home"
	"hindcast/tui/answers"
	"hindcast/tui/dialog"
	"hindcast/tui/field"
	"hindcast/tui/parting"
	"hindcast/tui/picker"
	"hindcast/tui/sheet"
	"hindcast/tui/theme"
	"hindcast/tui/timeline"
)

// place is the part of the program that the screen shows.
type place uint8

const (
	atList place = iota
	inSession
	nowhere // the store cannot be read
)

// focus is which box of a session has the keys.
type focus uint8

const (
	onTimeline focus = iota
	onTab
)

// opposite is the other side of a comparison with the snapshot under the cursor.
type opposite uint8

const (
	theParent opposite = iota
	theMark
	theHead
)

// Model is the root model. Make it with [New]; [Run] shows it.
type Model struct {
	ctx    context.Context
	o      Options
	keys   *keymap.Map
	styles *theme.Styles
	states *states
	past   *past                    // of the session that is open
	source *source                  // what the tabs show things of
	lacks  map[keymap.Action]string // what the store cannot do, and why
	// features are the features of the open store, empty while there is no store.
	features store.Features
	// continued is the store of the tool in which a session was continued last, until the next write; or nil.
	continued *target
	// namesForks says that the store names forks itself, and forks that a fork is its one
	// way back: the key of a restore plans that.
	namesForks, forks bool
	tasks             [taskKinds]task
	news              news
	waiting           atomic.Int32 // commands that wait for the store to change
	crash             *PanicError
	noStore           error  // why there is nothing to show
	leave             func() // ends the program from outside of an update
	// hand gives the terminal back while run runs, and takes it again.
	hand     func(run func() error) error
	pictures *album // that a viewer or the terminal shows
	// send writes to the terminal what is no part of a frame.
	send    func(text string)
	leaving bool // once the write that goes on has ended
	// unwritten is why the last write that was asked for failed; nil if it did not.
	unwritten error

	place   place
	trouble *sheet.Sheet // why the screen is nowhere
	home    *home.Home
	list    *picker.Pane
	sums    sums
	preview preview
	// compared are the marked sessions beside each other; nil while the list shows.
	compared *comparison
	alone    bool // the home is one store, which is open
	only     bool // the store has one session, so that there is no list to go back to

	session  string
	info     sessionFacts
	timeline *timeline.Pane
	content  *timeline.Content
	tabs     []*tab // the named ones, and the answers
	current  int    // of tabs
	answers  *answers.Pane
	asked    asked
	parting  *parting.Pane
	from     spot // where the person was before a guide
	watches  watches
	blame    blame
	labels   labelWatch
	usage    usage
	files    fileChanges
	focus    focus
	against  opposite
	shares   shares // of the screen, between the timeline and the tabs
	held     grip   // what the mouse moves
	pace     pace   // at which a session is played
	scrubs   bool   // the scrubber shows also while nothing is played
	wanted   wanted

	layout   layout
	tour     *Tour // that shows; nil for none
	dialog   dialogPane
	onward   resumeCall // how to go on after the last write
	landing  model.Ref  // where the cursor goes once it is read
	toHead   bool       // the cursor goes to the head once the session is read again
	written  bool       // since the session was read
	made     string     // the session that was started last, until the list shows it
	input    *input
	search   *search // nil for none
	aim      aim
	query    string   // that n and N look for
	expr     string   // the last one that was asked for
	searched searched // where the matches are that there are
	message  message
	spin     int

	usable []hint // of the footer, so that a frame makes none anew

	dirty bool // View has something new to draw
	frame string
	buf   []byte
	cuts  []cut // by line
}

// sessionFacts holds the known facts about the open session.
type sessionFacts struct {
	reading int  // how often a session was read
	checked bool // its faults were looked for, or are
	faults  []model.Fault
	known   bool // faults are all that there are
	listed  int  // how many there are, as far as is known before
}

// countFaults returns how many faults the session has, as far as is known.
func (f *sessionFacts) countFaults() int {
	if f.known {
		return len(f.faults)
	}
	return f.listed
}

// wanted is the content that the visible tab should show.
type wanted struct {
	tab int
	subjectKey
}

// message is the text of the last line.
type message struct {
	text  string
	brief []string // say less and less where text has no room
	style theme.Style
	// whole is the text for the dialog with the details, about what it is; "" if text
	// says all, and if it is the message itself.
	whole, about string
	link         string // the path that the text leads to, or ""
}

// dialogPane is the interface of a dialog to the root model. A dialog carries the actions of its answers.
type dialogPane interface {
	drawn
	Size() (w, h int)
	Scope() keymap.Scope
	// Do carries out an action. It returns the next step, nil for nothing, and whether the dialog closes
	// first.
	Do(keymap.Action) (then func() tea.Cmd, closes bool)
	// Items are the choices, nil for a dialog without any. HoldsItems reports whether row y is of their list.
	Items() []dialog.Item
	HoldsItems(y int) bool
	// Type takes a key that is not bound to an action.
	Type(tea.KeyMsg)
	// Arm lets keys answer a dialog that awaitQuiet was called for.
	Arm()
	// Moved says where the head of a session is now.
	NoteHead(session string, head model.Ref)
}

// input is the text that is typed in the last line, and what becomes of it.
type input struct {
	*field.Field
	label string
	// meanings tell what can be typed.
	meanings []sheet.Paragraph
	// typed is called when the text has changed, done when it is accepted, and
	// gone when it is given up. They may be nil.
	typed, done, gone func(text string) tea.Cmd
}

// New makes the root model. It returns an error if the options are wrong.
func New(ctx context.Context, o Options) (*Model, error) {
	o, err := o.fillDefaults()
	if err != nil {
		return nil, err
	}
	m := &Model{
		ctx: ctx, o: o, keys: o.Keys, styles: o.Theme,
		home:     o.Home,
		list:     picker.New(o.Theme),
		preview:  preview{pane: sheet.NewTab[*previewContent](o.Theme, "Preview")},
		timeline: timeline.New(o.Theme, o.Zone),
		tour:     o.Tour,
		dirty:    true,
		leave:    func() {},
		pictures: &album{},
		hand:     func(run func() error) error { return run() },
		send:     func(string) {},
	}
	m.timeline.SetCosts(m.costOf)
	if o.Home == nil {
		m.home = home.FromStore(o.Store)
	}
	switch only := m.home.OnlyStore(); {
	case only != nil:
		m.beAlone(only)
	case o.Store != nil:
		m.adoptStore(o.Store)
	default:
		m.lackAll()
	}
	if o.Note != "" {
		m.say(o.Note)
	}
	return m, nil
}

// Init implements tea.Model.
func (m *Model) Init() tea.Cmd {
	if m.o.Store == nil {
		return m.listSessions()
	}
	return m.enterStore()
}

// enterStore reads what the screen shows of its store first.
func (m *Model) enterStore() tea.Cmd {
	if m.o.Session != "" {
		return tea.Batch(m.watchPlace(), m.readWatches(), m.openSession(m.o.Session))
	}
	return tea.Batch(m.watchPlace(), m.readWatches(), m.listSessions())
}

// say puts a message into the last line.
func (m *Model) say(text string) {
	m.message = message{text: text, style: m.styles.Text}
	m.dirty = true
}

// confirm says that something was done.
func (m *Model) confirm(text string) {
	m.message = message{text: m.styles.Glyphs.Good + " " + text, style: m.styles.Good}
	m.dirty = true
}

// fail shows an error in one line; a key opens its whole text.
func (m *Model) fail(err error) {
	text := printable.Addresses(err.Error())
	m.message = message{text: m.styles.Glyphs.Bad + " " + text, style: m.styles.Error, whole: text}
	m.dirty = true
}

// keyScope returns the scope in which keys have their meaning now.
func (m *Model) keyScope() keymap.Scope {
	switch {
	case m.dialog != nil:
		return m.dialog.Scope()
	case m.input != nil, m.isSearching() && m.search.typing:
		return keymap.Input
	case m.isSearching():
		return keymap.Picker
	case m.isComparing():
		return keymap.Runs
	case m.place != inSession:
		return keymap.Picker
	case m.focus == onTab:
		return m.tabs[m.current].scope
	}
	return keymap.Timeline
}

// keyContext returns the facts by which keymap disables actions that make no sense now.
func (m *Model) keyContext() keymap.Context {
	c := keymap.Context{Lacks: m.lacks}
	c.Snapshot = m.place == inSession && m.timeline.SelectedNode() != model.NoNode || m.listedHead().Session != ""
	c.Mark = m.timeline.MarkedNode() != model.NoNode
	c.Branches = m.timeline.HasStops()
	c.Turns = m.timeline.CountTurns() > 0
	c.Errors = m.timeline.CountFailed() > 0
	c.Head = c.Snapshot && m.timeline.Following()
	c.Search = m.query != "" || m.searched == inAnswers
	c.Answers = m.asked.ask != nil
	c.Labels = len(m.timeline.Labels().Nodes()) > 0
	c.Message = m.message.text != ""
	c.Marked = m.list.CountMarked()
	c.Tour = m.tour != nil
	return c
}

// resize takes the size of the screen, or its new layout after the focus moved.
func (m *Model) resize(w, h int) {
	m.layout = arrangeScreen(w, h, m.focus, m.shares)
	l := &m.layout
	if m.scrubs || m.tasks[playing].running {
		l.takeScrubberRow()
	}
	if m.tour != nil {
		l.stripRows(tourRows)
	}
	if m.trouble != nil {
		m.trouble.Resize(l.list.insideBorder().w, l.list.insideBorder().h)
	}
	l.rows = l.list
	if !m.isSearching() && !m.isComparing() {
		l.splitList()
	}
	in := l.rows.insideBorder()
	if m.isSearching() {
		in.h -= searchRows
		m.search.results.Resize(in.w, in.h)
	}
	if m.compared != nil {
		m.compared.pane.Resize(in.w, in.h)
	}
	m.list.Resize(in.w, in.h)
	m.preview.pane.Resize(l.preview.insideBorder().w, l.preview.insideBorder().h)
	m.timeline.Resize(l.timeline.insideBorder().w, l.timeline.insideBorder().h)
	for _, t := range m.tabs {
		m.resizeTab(t)
	}
	m.fitDialog()
	m.dirty = true
}

// focusOn gives the keys to a box.
func (m *Model) focusOn(at focus) {
	m.focus = at
	if at == onTimeline {
		m.timeline.Focus()
	} else {
		m.timeline.Blur()
	}
	for _, t := range m.tabs {
		if f, ok := t.pane.(focuser); ok {
			if at == onTab {
				f.Focus()
			} else {
				f.Blur()
			}
		}
	}
	m.resize(m.layout.w, m.layout.h)
}

// settle is how long the cursor stands still before what it is on is read.
const settle = 40 * time.Millisecond
