// Package statetab is the tab with a state as a foldable JSON tree.
//
// The tree is the tape of the state: a fold jumps over a subtree, whatever its size, and only the rows on the
// screen are ever looked at. A large state shows first its beginning, which [Preview] reads. [Prepare] then
// reads all of it and compares it with the state before, and the cursor stays.
//
// Values of the application are drawn before the messages and values of the framework. Paths and searches
// follow the order of the text.
package statetab

import (
	"bytes"
	"slices"
	"strconv"

	"hindcast/keymap"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/tui/theme"
	"hindcast/tui/walk"
)

// row is a value of the tree or, below it, a line from 1: of an opened string, or of the values removed from
// a container.
type row struct {
	node jsontape.Node
	line int32
}

// Pane draws a state and keeps its cursor and folds. Make it with New. It is
// not safe for concurrent use.
type Pane struct {
	theme.Highlight
	styles *theme.Styles
	w      int
	c      *Content
	window walk.Window[row]

	// A container is folded when it lies at depth level or deeper, unless it
	// is in turned. Both cost the same at any size.
	level  int
	turned walk.Turned[jsontape.Node]
	opened map[jsontape.Node][]string // strings that show their lines

	matches Matches

	// margin is the width of the texts of origin beside the values, 0 for no margin.
	margin int
	origin func(path string) (text string, known bool)
	// origins are the texts of the values that were drawn: a path and its text are made once.
	origins map[jsontape.Node]string
}

// mostOrigins bounds the texts that are remembered.
const mostOrigins = 1 << 12

// firstLevel is how deep a state is unfolded at first.
const firstLevel = 2

// all is a level that no container reaches.
const all = jsontape.MaxDepth + 1

// New makes an empty tab.
func New(styles *theme.Styles) *Pane {
	p := &Pane{styles: styles, level: firstLevel}
	p.forget()
	return p
}

func (p *Pane) forget() {
	p.turned = walk.Turned[jsontape.Node]{}
	p.opened = make(map[jsontape.Node][]string)
}

// Title names the tab.
func (p *Pane) Title() string { return "State" }

// Set shows a content; nil shows nothing. When it is the whole of a state
// whose beginning shows, cursor and folds stay, for a value has the same
// number in both. In another state the cursor goes to the value at the same
// path, or as far down that path as there is one, and folds are kept likewise.
func (p *Pane) Set(c *Content) {
	old := p.c
	p.c, p.matches = c, Matches{}
	clear(p.origins)
	switch {
	case c == nil:
		p.window.Clear()
		p.forget()
	case old == nil:
		p.window.Top(p)
	case sameText(old, c):
		p.refresh()
	default:
		p.followFrom(old)
	}
}

// sameText reports whether what a shows is in b under the same numbers: b is of
// the same bytes or, where a is only a beginning, starts with them.
func sameText(a, b *Content) bool {
	x, y := a.tape.Data(), b.tape.Data()
	if !a.whole {
		return bytes.HasPrefix(y, x)
	}
	return a.size == b.size && (len(x) == 0 || len(y) == 0 || &x[0] == &y[0])
}

// Following paths into another state is bounded, for it happens on a key.
const (
	longestPath  = 16
	mostFolds    = 16
	mostChildren = 1000
)

// followFrom takes cursor and folds from the state that showed before.
func (p *Pane) followFrom(old *Content) {
	turned := p.turned
	at, y, ok := p.window.Cursor()
	p.forget()
	for n := range turned {
		if len(p.turned) == mostFolds {
			break
		}
		if same, whole := p.sameNode(old.tape, n); whole {
			p.turned[same] = struct{}{}
		}
	}
	p.window.Top(p)
	if !ok {
		return
	}
	n, _ := p.sameNode(old.tape, at.node)
	p.window.Place(p, row{node: p.visibleValue(n)}, y)
}

// sameNode returns the value at the path of m in another tape, or the last one on
// the way there, and whether it got there.
func (p *Pane) sameNode(other *jsontape.Tape, m jsontape.Node) (n jsontape.Node, whole bool) {
	var path []jsontape.Node
	for at := m; at > 0; at = other.Parent(at) {
		if len(path) == longestPath {
			return 0, false
		}
		path = append(path, at)
	}
	for _, step := range slices.Backward(path) {
		next := childLike(p.c.tape, n, other, step)
		if next == jsontape.None {
			return n, false
		}
		n = next
	}
	return n, true
}

// childLike returns the child of n that is called as m of another tape is, if it is
// among the first ones.
func childLike(t *jsontape.Tape, n jsontape.Node, other *jsontape.Tape, m jsontape.Node) jsontape.Node {
	index, key := other.Index(m), other.RawKey(m)
	c := t.First(n)
	for range mostChildren {
		if c == jsontape.None || t.Index(c) == index && bytes.Equal(t.RawKey(c), key) {
			return c
		}
		c = t.Next(c)
	}
	return jsontape.None
}

// SetMargin shows before each value its origin, in a margin of so many cells. origin returns the untrusted
// text for a JSON Pointer. known is false while the text is computed; a known text stays. 0 cells remove the
// margin, and a tab too narrow for the margin shows none.
func (p *Pane) SetMargin(cells int, origin func(path string) (text string, known bool)) {
	if (cells > 0) != (p.margin > 0) {
		clear(p.opened) // their lines get another width
	}
	p.margin, p.origin, p.origins = cells, origin, map[jsontape.Node]string{}
	p.refresh()
}

// marginCells returns the cells that the margin takes, with the one that sets it off.
func (p *Pane) marginCells() int {
	if p.margin == 0 || p.w < 3*p.margin {
		return 0
	}
	return p.margin + 1
}

// Resize gives the tab its size in cells.
func (p *Pane) Resize(w, h int) {
	if w = max(w, 0); w != p.w {
		p.w = w
		clear(p.opened)
	}
	p.window.Resize(p, h)
	p.refresh()
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
	case keymap.Open:
		p.toggle()
	case keymap.Fold:
		p.fold()
	case keymap.Unfold:
		p.unfold()
	case keymap.FoldAll:
		p.setLevel(1)
	case keymap.UnfoldAll:
		p.setLevel(p.deeperLevel())
	default:
		return false
	}
	return true
}

// Click moves the cursor to row y; on the sign of a fold it folds.
func (p *Pane) Click(x, y int) {
	if !p.window.Click(y) {
		return
	}
	at, _, _ := p.window.Cursor()
	if sign := p.indentOf(at.node) + p.marginCells(); x >= sign && x < sign+2 {
		p.toggle()
	}
}

// Wheel scrolls by n rows; the cursor stays in sight.
func (p *Pane) Wheel(n int) { p.window.Scroll(p, n) }

// Thumb returns the rows that the thumb of a scrollbar covers. It goes by bytes,
// for the rows are not counted.
func (p *Pane) Thumb() (from, to int) {
	if rows := p.window.Rows(); len(rows) == 0 || p.c.size == 0 || len(rows) < p.window.Height() {
		return 0, 0
	}
	return p.window.Thumb(p, func(first, last row) (int, int, int) {
		start, _ := p.c.tape.Span(first.node)
		_, end := p.c.tape.Span(last.node)
		return p.c.offsetOf(first.node, start), p.c.offsetOf(last.node, end), p.c.size
	})
}

// cursorValue returns the value that the cursor is on or below; -1 when nothing shows.
func (p *Pane) cursorValue() jsontape.Node {
	if at, _, ok := p.window.Cursor(); ok {
		return at.node
	}
	return jsontape.None
}

// valueUnder returns the value under the cursor and its tape; for a removed value, the tape of the base. The value
// is -1 when nothing shows.
func (p *Pane) valueUnder() (*jsontape.Tape, jsontape.Node) {
	at, _, ok := p.window.Cursor()
	switch {
	case !ok:
		return nil, jsontape.None
	case at.line > 0 && p.opened[at.node] == nil:
		return p.c.base, p.c.removed[at.node][at.line-1]
	}
	return p.c.tape, at.node
}

// SelectedNode returns the value under the cursor, for [Content.Tape]; -1 when
// nothing shows, or what was removed.
func (p *Pane) SelectedNode() jsontape.Node {
	if t, n := p.valueUnder(); p.c != nil && t == p.c.tape {
		return n
	}
	return jsontape.None
}

// Path returns the JSON Pointer of the value under the cursor, in the base for a removed value. It is
// untrusted.
func (p *Pane) Path() string {
	if t, n := p.valueUnder(); n != jsontape.None {
		return t.Pointer(n)
	}
	return ""
}

// Value returns the value under the cursor: a string as it reads, anything else
// as it is spelled. It is untrusted; nil when nothing shows.
func (p *Pane) Value() []byte {
	t, n := p.valueUnder()
	switch {
	case n == jsontape.None:
		return nil
	case t.Kind(n) == jsontape.String:
		return []byte(t.Text(n))
	}
	return t.Raw(n)
}

// Status says where the cursor is and how much there is. It is untrusted and
// short.
func (p *Pane) Status() string {
	if p.c == nil {
		return ""
	}
	dot := " " + p.styles.Glyphs.Dot + " "
	text := p.pathEnd() + dot + string(conversation.AppendSize(nil, int64(p.c.size)))
	if !p.c.whole {
		text += dot + "loading"
	}
	switch {
	case p.c.warned == 1:
		text += dot + "1 warning"
	case p.c.warned == jsontape.MaxWarnings:
		text += dot + strconv.Itoa(p.c.warned) + " warnings or more"
	case p.c.warned > 1:
		text += dot + strconv.Itoa(p.c.warned) + " warnings"
	}
	if p.c.err != nil {
		text += dot + p.c.err.Error()
	}
	return text
}

// longestPlace bounds the path in the status, in bytes.
const longestPlace = 120

// pathEnd returns the end of the cursor's path.
func (p *Pane) pathEnd() string {
	t, n := p.valueUnder()
	if n == jsontape.None || n == 0 {
		return "/"
	}
	var text string
	for ; n > 0; n = t.Parent(n) {
		if len(text) > longestPlace {
			return p.styles.Glyphs.Ellipsis + text
		}
		step := strconv.Itoa(t.Index(n))
		if raw := t.RawKey(n); raw != nil {
			step = string(raw[1:max(1, min(len(raw)-1, longestPlace))])
		}
		text = "/" + step + text
	}
	return text
}
