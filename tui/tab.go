package tui

import (
	"context"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/query"
	"hindcast/tui/cell"
	"hindcast/tui/filestab"
	"hindcast/tui/infotab"
	"hindcast/tui/sheet"
	"hindcast/tui/theme"
)

// pane is the interface of everything that draws itself into a box, as the root needs it.
type pane interface {
	drawn
	// Do carries out an action and reports whether it is one of the pane's.
	Do(keymap.Action) bool
}

// drawn is anything that draws itself into a number of cells.
type drawn interface {
	// Resize says how many cells there are.
	Resize(w, h int)
	// AppendRow appends row y, of exactly as many cells as there are.
	AppendRow(dst []byte, y int) []byte
	// Wheel scrolls by n rows.
	Wheel(n int)
}

// tabPane is a pane in the box of the tabs.
type tabPane interface {
	pane
	Title() string
	Status() string
	Click(x, y int)
}

// focuser is a pane that looks different while it has the keys.
type focuser interface {
	Focus()
	Blur()
}

// scroller is a pane that knows where the thumb of its scrollbar is.
type scroller interface{ Thumb() (from, to int) }

// subject is the subject of a tab: a snapshot, and another to compare it with.
type subject struct {
	subjectKey
	header model.Header
	// name is that of the snapshot in the session: "#7".
	name string
	// base is the header that base names; it is the zero header where there is
	// nothing to compare with.
	base model.Header
	// baseName is that of base.
	baseName string
	faults   []model.Fault
	labels   []model.Label
	// around is the snapshot and its neighbours, and aroundBase the mark or the head that the person compares with; the
	// zero value if that is the parent, and where another tab shows.
	around, aroundBase query.Around
	usage              *infotab.Usage  // nil where another tab shows
	files              *filestab.Shown // nil where another tab shows
}

// subjectKey tells subjects apart. reading counts how often the session was
// read: a snapshot stays what it is, but its place in the session may not. Growth
// alone changes nothing but which one is the head. to is the end of a folded turn, for the Files tab.
type subjectKey struct {
	ref, with model.Ref
	to        model.Ref
	reading   int
	head      bool
}

// about names the snapshot that is shown and the one that it is
// compared with.
type about struct {
	ref, with model.Ref
	name      string
}

// tab is one of the tabs, with the type of its content hidden. set and find take contents of prepare and
// preview.
type tab struct {
	scope keymap.Scope
	pane  tabPane
	// prepare works out what to show; it runs in a command.
	prepare func(context.Context, subject) (any, error)
	// preview, where it is not nil, gives what can be shown at once while prepare
	// still works, or nil where that is no quicker; it runs in a command.
	preview func(context.Context, subject) (any, error)
	set     func(content any)
	// find, show and step search the tab; they are nil where there is nothing to
	// search. find runs in a command, show takes what it gave and goes to the
	// first match, and step goes on by n matches and gives the number of the
	// match from 1 and how many there are.
	find func(ctx context.Context, content any, text string) (any, error)
	show func(matches any)
	step func(n int) (at, of int)

	// showMessage moves the cursor to a message; nil in a tab without messages.
	showMessage func(m int)

	// note, where it is not nil, returns the line below a content, with at most as many names as most; "" for
	// no line.
	note func(content any, most int) string

	shows   subjectKey // of the content, the zero key for none
	content any
	about   about        // of what shows, a part of it included
	trouble *sheet.Sheet // why there is no content, else nil
	below   *sheet.Sheet // the note below the content, nil for none
	belowH  int          // the rows that it takes
}

// newTab makes a tab of a pane and the function that prepares its content.
func newTab[C any](scope keymap.Scope, p interface {
	tabPane
	Set(C)
}, prepare func(context.Context, subject) (C, error)) *tab {
	return &tab{
		scope:   scope,
		pane:    p,
		prepare: func(ctx context.Context, s subject) (any, error) { return prepare(ctx, s) },
		set: func(content any) {
			c, _ := content.(C) // nil shows nothing
			p.Set(c)
		},
	}
}

// makeSearchable lets a tab be searched.
func makeSearchable[C, M any](t *tab, p interface {
	SetMatches(M) bool
	Match(n int) (at, of int)
}, find func(context.Context, C, string) (M, error)) *tab {
	t.find = func(ctx context.Context, content any, text string) (any, error) { return find(ctx, content.(C), text) }
	t.show = func(matches any) { p.SetMatches(matches.(M)) }
	t.step = p.Match
	return t
}

// addNote lets a tab say something below its content.
func addNote[C any](t *tab, note func(C, int) string) *tab {
	t.note = func(content any, most int) string { return note(content.(C), most) }
	return t
}

// resizeTab sizes a tab: its own pane gets the rows that the note below leaves.
func (m *Model) resizeTab(t *tab) {
	in := m.layout.tab.insideBorder()
	t.below, t.belowH = nil, 0
	if t.note != nil && t.content != nil && t.note(t.content, 1) != "" {
		t.below, t.belowH = fitNames(m.styles, in.w, min(in.h/8, mostBelow), func(most int) string { return t.note(t.content, most) })
	}
	t.pane.Resize(in.w, in.h-t.belowH)
	if t.trouble != nil {
		t.trouble.Resize(in.w, in.h)
	}
}

// mostBelow is the most rows that a note takes.
const mostBelow = 3

// fitNames returns the text with the most names in it that fits into some rows, and
// how many it takes. At least it is the text with one name, cut to a row.
func fitNames(styles *theme.Styles, w, rows int, text func(most int) string) (s *sheet.Sheet, h int) {
	rows = max(rows, 1)
	lay := func(text string) *sheet.Sheet {
		s := sheet.NewPage(styles)
		s.Set([]sheet.Paragraph{{Text: text, Wide: rows == 1, Pick: func(t *theme.Tokens) theme.Style { return t.Muted }}})
		s.Resize(w, rows)
		return s
	}
	last := text(1)
	s = lay(last)
	for most := 2; text(most) != last; most++ {
		last = text(most)
		next := lay(last)
		if next.Len() > rows || rows == 1 && cell.Width(last) > w-2 {
			break
		}
		s = next
	}
	return s, min(s.Len(), rows)
}

// paneInView returns the pane that draws the tab: its own, or that of its trouble.
func (t *tab) paneInView() pane {
	if t.trouble != nil {
		return t.trouble
	}
	return t.pane
}
