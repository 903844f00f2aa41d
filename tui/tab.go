package tui

import (
	"context"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/tui/sheet"
)

// pane is what the root needs of everything that draws itself into a box.
type pane interface {
	// Resize says how many cells there are.
	Resize(w, h int)
	// Do carries out an action and reports whether it is one of the pane's.
	Do(keymap.Action) bool
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

// subject is what a tab shows: a snapshot, and one to compare it with.
type subject struct {
	subjectKey
	header model.Header
	// base is the header that base names; it is the zero header where there is
	// nothing to compare with.
	base   model.Header
	faults []model.Fault
}

// subjectKey tells subjects apart. reading counts how often the session was
// read: a snapshot stays what it is, but its place in the session may not. Growth
// alone changes nothing but which one is the head.
type subjectKey struct {
	ref, with model.Ref
	reading   int
	head      bool
}

// tab is one of the tabs, with the types of its content hidden: what prepare and
// preview give is what set and find take.
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

	shows   subjectKey // of the content, the zero key for none
	content any
	trouble *sheet.Sheet // why there is no content, else nil
}

// newTab makes a tab of a pane and of what prepares its content.
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

// searchable lets a tab be searched.
func searchable[C, M any](t *tab, p interface {
	SetMatches(M) bool
	Match(n int) (at, of int)
}, find func(context.Context, C, string) (M, error)) *tab {
	t.find = func(ctx context.Context, content any, text string) (any, error) { return find(ctx, content.(C), text) }
	t.show = func(matches any) { p.SetMatches(matches.(M)) }
	t.step = p.Match
	return t
}

// shown gives the pane that draws the tab: its own, or that of its trouble.
func (t *tab) shown() pane {
	if t.trouble != nil {
		return t.trouble
	}
	return t.pane
}
