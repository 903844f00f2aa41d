// Package difftab is the tab with the changes between two states: a tree by path, a line for each message,
// and long texts opened to the words that differ.
//
// [Prepare] does all work on whole states. The tab then walks the entries of the diff as they are, and looks
// at the rows on the screen and nothing else.
package difftab

import (
	"strconv"

	"hindcast/diff"
	"hindcast/keymap"
	"hindcast/model"
	"hindcast/tui/theme"
	"hindcast/tui/walk"
)

// row names a row: an entry of the diff and, below an opened one, a line of its detail, from 1.
type row struct{ entry, line int32 }

// Pane draws a diff and keeps its cursor and folds. Make it with New. It is not
// safe for concurrent use.
type Pane struct {
	theme.Highlight
	styles *theme.Styles
	w, h   int
	c      *Content
	window walk.Window[row]

	// An entry is folded, if it has entries inside, or opened, if it is a value,
	// according to folds and unless it is in turned.
	folds   folds
	turned  walk.Turned[int32]
	details map[int32]*detail // of opened entries, laid out

	context int  // unchanged lines around a changed one
	split   bool // texts are side by side, where there is room for that
	asked   bool // the last action asked for that
	matches Matches
}

// folds is the folding of the rows that the person left as they were.
type folds uint8

const (
	// groups: all changes show, and no values are opened.
	groups folds = iota
	// top: only what is at the top of the tree shows.
	top
	// everything: all changes show, and all values are opened.
	everything
)

const (
	firstContext = 3
	maxContext   = 10
)

// New makes an empty tab.
func New(styles *theme.Styles) *Pane {
	p := &Pane{styles: styles, context: firstContext}
	p.forget()
	return p
}

func (p *Pane) forget() {
	p.turned = walk.Turned[int32]{}
	p.details = make(map[int32]*detail)
}

// Title names the tab.
func (p *Pane) Title() string { return "Diff" }

// Set shows a diff; nil shows that there is nothing to compare.
func (p *Pane) Set(c *Content) {
	p.c, p.matches = c, Matches{}
	p.forget()
	p.window.Top(p)
}

// headRows returns the rows above the changes.
func (p *Pane) headRows() int {
	switch {
	case p.h < 2:
		return 0
	case p.h < 8:
		return 1
	}
	return 2
}

// Resize gives the tab its size in cells.
func (p *Pane) Resize(w, h int) {
	if w = max(w, 0); w != p.w {
		p.w = w
		clear(p.details)
	}
	p.h = max(h, 0)
	p.refresh()
	p.window.Resize(p, p.h-p.headRows())
}

// Do carries out an action and reports whether it is one of the tab's.
func (p *Pane) Do(a keymap.Action) bool {
	if p.c == nil {
		return false
	}
	p.asked = a == keymap.SideBySide
	if p.window.Do(p, a) {
		return true
	}
	switch a {
	case keymap.NextChange:
		p.stepChange(1)
	case keymap.PrevChange:
		p.stepChange(-1)
	case keymap.MoreContext:
		p.setContext(min(p.context+1, maxContext))
	case keymap.LessContext:
		p.setContext(max(p.context-1, 0))
	case keymap.SideBySide:
		p.split = !p.split
		p.setContext(p.context)
	case keymap.Open:
		p.toggle()
	case keymap.Fold:
		p.fold()
	case keymap.Unfold:
		p.unfold()
	case keymap.FoldAll:
		p.setFolds(top)
	case keymap.UnfoldAll:
		p.unfoldAll()
	default:
		return false
	}
	return true
}

// stepChange goes to the next change, or to the one before, going round at the ends.
func (p *Pane) stepChange(n int32) {
	at, _, ok := p.window.Cursor()
	if !ok {
		return
	}
	entries := p.c.result.Entries
	for i := at.entry + n; i != at.entry; i += n {
		switch {
		case i < 0:
			i = int32(len(entries)) - 1
		case int(i) == len(entries):
			i = 0
		}
		if entries[i].Op != diff.Within {
			p.Select(i)
			return
		}
	}
}

// Click moves the cursor to row y; on the sign of a fold it folds.
func (p *Pane) Click(x, y int) {
	if !p.window.Click(y - p.headRows()) {
		return
	}
	at, _, _ := p.window.Cursor()
	if sign := p.signAt(at.entry); at.line == 0 && (x == sign || x == sign+1) {
		p.toggle()
	}
}

// Wheel scrolls by n rows; the cursor stays in sight.
func (p *Pane) Wheel(n int) { p.window.Scroll(p, n) }

// Thumb returns the rows that the thumb of a scrollbar covers. It goes by
// changes, for the rows are not counted.
func (p *Pane) Thumb() (from, to int) {
	from, to = p.window.Thumb(p, func(first, last row) (int, int, int) {
		return int(first.entry), int(last.entry), len(p.c.result.Entries)
	})
	if to == 0 {
		return 0, 0
	}
	return from + p.headRows(), to + p.headRows()
}

// cursorEntry returns the entry under the cursor, or nil.
func (p *Pane) cursorEntry() *diff.Entry {
	if at, _, ok := p.window.Cursor(); ok {
		return &p.c.result.Entries[at.entry]
	}
	return nil
}

// Path returns the JSON Pointer of the value under the cursor, in the old state if it was removed. It is
// untrusted.
func (p *Pane) Path() string {
	if e := p.cursorEntry(); e != nil {
		return p.c.result.Path(e)
	}
	return ""
}

// Value returns the value under the cursor, the new one unless it was removed: a
// string as it reads, anything else as it is spelled. It is untrusted; nil when
// nothing shows.
func (p *Pane) Value() []byte {
	e := p.cursorEntry()
	if e == nil {
		return nil
	}
	s, n := p.c.valueOf(e)
	if isString(s.tape, n) {
		return []byte(s.tape.Text(n))
	}
	return s.tape.Raw(n)
}

// Status says how many changes there are, and which one the cursor is on.
func (p *Pane) Status() string {
	at, _, ok := p.window.Cursor()
	if !ok {
		return ""
	}
	text := model.Count(len(p.c.changes), "change")
	if number := p.c.changeNumber(at.entry); number > 0 {
		text = "change " + strconv.Itoa(number) + " of " + strconv.Itoa(len(p.c.changes))
	}
	if p.asked && p.split && p.w < splitFrom {
		text += " " + p.styles.Glyphs.Dot + " side by side needs " + model.Count(splitFrom-p.w, "more column")
	}
	return text
}
