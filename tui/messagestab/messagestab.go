// Package messagestab is the tab with the conversation in a state, for reading:
// who said what, which tools were called and what they answered, the newest
// message at the bottom.
//
// A conversation is cut into units, a unit into pieces, and a piece into rows.
// Only the units around the window are laid out, and of a long text only the
// pages around it are wrapped, so that a message of 10 MB scrolls as a short
// one does.
package messagestab

import (
	"fmt"
	"slices"

	"hindcast/keymap"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/tui/kitty"
	"hindcast/tui/theme"
	"hindcast/tui/walk"
)

// row names a row: its unit, the piece of the unit, and the place in the piece.
// In a text that is a page and a line of it, in a value the number of a node
// below the first.
type row struct{ unit, piece, page, line int32 }

// Pane draws a conversation and keeps its cursor and folds. Make it with New.
// It is not safe for concurrent use.
type Pane struct {
	theme.Highlight
	styles *theme.Styles
	w      int
	c      *Content
	window walk.Window[row]

	folds walk.Folds[int32]
	units map[int32]*unit // laid out, around the window
	// raw says that texts and values show as they are spelled; laidOut counts the pages that were laid out.
	raw     bool
	laidOut int

	matches Matches

	drawn   map[jsontape.Node]kitty.Picture // of this conversation; the zero Picture is asked for
	undrawn []Undrawn
}

// New makes an empty tab.
func New(styles *theme.Styles) *Pane {
	p := &Pane{styles: styles}
	p.dropLayout()
	p.forgetPictures()
	return p
}

// dropLayout drops what is laid out.
func (p *Pane) dropLayout() { p.units = make(map[int32]*unit) }

// Title names the tab.
func (p *Pane) Title() string { return "Messages" }

// Set shows a conversation, from its last message; nil shows nothing. What tools
// have just answered is open, with the cursor on the first of their calls.
func (p *Pane) Set(c *Content) {
	same := c != nil && p.c != nil && c.conv.Tape() == p.c.conv.Tape()
	if p.c, p.matches = c, (Matches{}); !same {
		p.forgetPictures()
	}
	p.dropLayout()
	switch {
	case c == nil:
		p.window.Clear()
	case same:
		p.refresh()
	default:
		p.folds.ForgetTurned()
		p.window.Bottom(p)
		answered := c.newestUnits()
		for _, unit := range answered {
			if !p.isOpen(unit) {
				p.turnUnit(unit)
			}
		}
		if len(answered) > 0 {
			p.window.Place(p, row{unit: slices.Min(answered)}, 0)
		}
	}
}

// Resize gives the tab its size in cells.
func (p *Pane) Resize(w, h int) {
	if w = max(w, 0); w != p.w {
		p.w = w
		p.dropLayout()
		p.forgetPictures()
		p.toFirstLine()
	}
	p.window.Resize(p, h)
}

// toFirstLine moves the cursor to a row that there is at any width: its lines
// are other ones at another.
func (p *Pane) toFirstLine() {
	if at, y, ok := p.window.Cursor(); ok {
		at.line = 0
		p.window.Place(p, at, y)
	}
}

// Do carries out an action and reports whether it is one of the tab's.
func (p *Pane) Do(a keymap.Action) bool {
	if p.c == nil {
		return false
	}
	if p.window.Do(p, a) {
		return true
	}
	switch a {
	case keymap.NextMessage:
		p.jumpMessages(1)
	case keymap.PrevMessage:
		p.jumpMessages(-1)
	case keymap.ShowRaw:
		p.toggleRaw()
	case keymap.Open:
		p.toggleUnit()
	case keymap.Fold:
		p.foldUnit()
	case keymap.Unfold:
		p.unfoldUnit()
	case keymap.FoldAll:
		p.setUnfolded(false)
	case keymap.UnfoldAll:
		p.setUnfolded(true)
	default:
		return false
	}
	return true
}

// jumpMessages goes to the heading of the message n messages on. Backwards it first
// goes to the heading of the message that the cursor is in.
func (p *Pane) jumpMessages(n int) {
	at, _, ok := p.window.Cursor()
	if !ok {
		return
	}
	i := p.c.messageNumber(int(at.unit))
	if heading := (row{unit: p.c.starts[i]}); n < 0 && at != heading {
		n++
	}
	i = max(0, min(i+n, len(p.c.shown)-1))
	p.window.Place(p, row{unit: p.c.starts[i]}, p.window.Height()/4)
}

// ShowMessage moves the cursor to message m, or to the call whose result it is.
func (p *Pane) ShowMessage(m int) {
	if p.c == nil || m < 0 || m >= p.c.conv.Len() || len(p.c.shown) == 0 {
		return
	}
	if p.c.isResultsOnly(m) {
		m = p.c.conv.MessageOf(int(p.c.conv.Blocks(m)[0].Pair))
	}
	i, _ := slices.BinarySearch(p.c.shown, int32(m))
	p.window.Place(p, row{unit: p.c.starts[min(i, len(p.c.shown)-1)]}, p.window.Height()/4)
}

// Click moves the cursor to row y; on the sign of a fold it folds.
func (p *Pane) Click(x, y int) {
	if p.window.Click(y) && (x == indent || x == indent+1) {
		p.toggleUnit()
	}
}

// Wheel scrolls by n rows; the cursor stays in sight.
func (p *Pane) Wheel(n int) { p.window.Scroll(p, n) }

// Thumb returns the rows that the thumb of a scrollbar covers. It goes by units,
// for the rows are not counted.
func (p *Pane) Thumb() (from, to int) {
	return p.window.Thumb(p, func(first, last row) (int, int, int) {
		return int(first.unit), int(last.unit), p.c.countUnits()
	})
}

// SelectedNode returns the block under the cursor as a value of the state's tape, or
// the message where the cursor is on its heading; -1 when nothing shows.
func (p *Pane) SelectedNode() jsontape.Node {
	at, _, ok := p.window.Cursor()
	if !ok {
		return jsontape.None
	}
	if block, ok := p.c.blockOf(int(at.unit)); ok {
		return p.c.conv.Block(block).Node
	}
	m, _ := p.c.messageAt(int(at.unit))
	return p.c.conv.Message(m).Node
}

// Picture returns the first picture of the block under the cursor, or of the result that shows with it, and its
// format; "" without a picture.
func (p *Pane) Picture() (format string, picture []byte) {
	at, _, ok := p.window.Cursor()
	if !ok {
		return "", nil
	}
	number, ok := p.c.blockOf(int(at.unit))
	if !ok {
		return "", nil
	}
	b := p.c.conv.Block(number)
	if b.Kind == conversation.ToolCall && b.Pair >= 0 {
		b = p.c.conv.Block(int(b.Pair))
	}
	if b.Kind != conversation.ToolResult {
		return p.c.conv.Picture(b)
	}
	for part := range p.c.conv.Parts(b) {
		if format, picture = p.c.conv.Picture(&part); format != "" {
			break
		}
	}
	return format, picture
}

// Path returns the JSON Pointer of the block or message under the cursor. It is untrusted.
func (p *Pane) Path() string {
	if n := p.SelectedNode(); n != jsontape.None {
		return p.c.conv.Tape().Pointer(n)
	}
	return ""
}

// Value returns the text of the block under the cursor, or the JSON of another block or a message. It is
// untrusted; nil when nothing shows.
func (p *Pane) Value() []byte {
	n := p.SelectedNode()
	if n == jsontape.None {
		return nil
	}
	t := p.c.conv.Tape()
	at, _, _ := p.window.Cursor()
	if block, ok := p.c.blockOf(int(at.unit)); ok {
		if b := p.c.conv.Block(block); isProse(b) && b.Body >= 0 && t.Kind(b.Body) == jsontape.String {
			return []byte(t.Text(b.Body))
		}
	}
	return t.Raw(n)
}

// Status says where the cursor is and where the conversation stands.
func (p *Pane) Status() string {
	at, _, ok := p.window.Cursor()
	if !ok {
		return ""
	}
	m, _ := p.c.messageAt(int(at.unit))
	dot := p.styles.Glyphs.Dot
	return fmt.Sprintf("message %d of %d %s %s", m+1, p.c.conv.Len(), dot, p.c.conv.Position())
}
