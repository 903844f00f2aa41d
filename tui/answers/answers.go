// Package answers is the pane that lists where in time a question has its answers: the
// snapshots at which a value changed, an expression became true, or a text first stood.
//
// Answers come in while the question is still asked, in any number: a frame looks at the
// rows in sight alone.
package answers

import (
	"strconv"
	"time"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/tui/cell"
	"hindcast/tui/sheet"
	"hindcast/tui/theme"
)

// Answer is one row: a snapshot, and what is to be said of it.
type Answer struct {
	// Node is the snapshot in the timeline that shows.
	Node model.Node
	// Kind has a sign and a colour.
	Kind Kind
	// Text is the text of the answer, in one line. It is untrusted.
	Text string
	// Show is the action that shows the tab where more of it stands; [keymap.None] for the tab that showed before.
	Show keymap.Action
	// Number is the value itself where Numeric says that it is one: what a sparkline draws.
	Number  float64
	Numeric bool
}

// Kind is the kind of fact that an answer states about its snapshot.
type Kind uint8

// The kinds.
const (
	Plain   Kind = iota
	Added        // what was asked for appears
	Removed      // it is gone
	Changed      // it becomes another
	Unknown      // nothing is known of it there
	Failed       // the question cannot be answered there
)

// Pane draws answers and keeps a cursor. Make it with New. It is not safe for concurrent use.
type Pane struct {
	theme.Highlight
	styles *theme.Styles
	zone   *time.Location
	w, h   int

	title  string
	noun   string // one answer in words
	rows   []Answer
	t      *model.Timeline
	asking bool
	window cell.Window
	names  int // cells that the names take
	spark  bool
}

// New returns an empty pane. Times are shown in zone.
func New(styles *theme.Styles, zone *time.Location) *Pane {
	return &Pane{styles: styles, zone: zone, t: model.NewTimeline(nil)}
}

// Begin shows another question, which has no answers yet. title is the question, noun what
// one answer is called.
func (p *Pane) Begin(title, noun string, t *model.Timeline) {
	p.title, p.noun, p.t = title, noun, t
	p.rows, p.asking, p.names, p.spark = nil, true, 0, false
	p.window = cell.Window{}
	p.Resize(p.w, p.h)
}

// Add appends answers whose nodes belong to a timeline of the session. It drops answers whose snapshots the
// shown timeline lacks. The cursor stays where it is.
func (p *Pane) Add(rows []Answer, of *model.Timeline) {
	p.rows = append(p.rows, p.translateNodes(rows, of)...)
	for i := range rows {
		p.names = min(max(p.names, cell.Width(p.t.Name(rows[i].Node))), mostName)
		p.spark = p.spark || rows[i].Numeric
	}
	p.Resize(p.w, p.h)
}

// Replace shows other answers to the same question, as Add does. The cursor stays in its
// place.
func (p *Pane) Replace(rows []Answer, of *model.Timeline) {
	p.rows, p.names, p.spark = nil, 0, false
	p.Add(rows, of)
}

// translateNodes returns answers with the nodes of the timeline that shows.
func (p *Pane) translateNodes(rows []Answer, of *model.Timeline) []Answer {
	if of == p.t {
		return rows
	}
	kept := make([]Answer, 0, len(rows))
	var at map[model.Ref]model.Node
	for _, a := range rows {
		ref := of.Header(a.Node).Ref()
		if same := int(a.Node) < p.t.Len() && p.t.Header(a.Node).Ref() == ref; !same {
			if at == nil {
				at = nodesOf(p.t)
			}
			node, there := at[ref]
			if !there {
				continue
			}
			a.Node = node
		}
		kept = append(kept, a)
	}
	return kept
}

func nodesOf(t *model.Timeline) map[model.Ref]model.Node {
	at := make(map[model.Ref]model.Node, t.Len())
	for n := range model.Node(t.Len()) {
		at[t.Header(n).Ref()] = n
	}
	return at
}

// End says that all answers are there.
func (p *Pane) End() { p.asking = false }

// Follow has the pane draw with another timeline of the same session. Answers whose
// snapshots are not in it go.
func (p *Pane) Follow(t *model.Timeline) {
	of := p.t
	p.t = t
	p.rows = p.translateNodes(p.rows, of)
	p.window.SetLen(len(p.rows))
}

// SelectedAnswer returns the answer under the cursor; false when the list is empty.
func (p *Pane) SelectedAnswer() (Answer, bool) {
	if p.window.Cursor >= len(p.rows) {
		return Answer{}, false
	}
	return p.rows[p.window.Cursor], true
}

// Node returns the snapshot of the answer under the cursor, or NoNode.
func (p *Pane) Node() model.Node {
	if a, ok := p.SelectedAnswer(); ok {
		return a.Node
	}
	return model.NoNode
}

// Select moves the cursor to answer i, or to the nearest.
func (p *Pane) Select(i int) { p.window.MoveTo(i) }

// Cursor returns the number of the answer under the cursor, from 0.
func (p *Pane) Cursor() int { return p.window.Cursor }

// Rows returns the answers. The caller may not write to them.
func (p *Pane) Rows() []Answer { return p.rows }

// Asking reports whether more answers may come.
func (p *Pane) Asking() bool { return p.asking }

// Title is the question.
func (p *Pane) Title() string { return p.title }

// Status says how many answers there are.
func (p *Pane) Status() string {
	text := model.Count(len(p.rows), p.noun)
	switch {
	case p.asking:
		return text + " so far"
	case len(p.rows) > 1:
		return strconv.Itoa(p.window.Cursor+1) + " of " + text
	}
	return text
}

// sparkRows are the rows that the sparkline takes, with the rule above it.
const sparkRows = 2

// Resize gives the pane its size in cells.
func (p *Pane) Resize(w, h int) {
	p.w, p.h = max(w, 0), max(h, 0)
	rows := p.h
	if p.drawsSpark() {
		rows -= sparkRows
	}
	p.window.Resize(rows)
	p.window.SetLen(len(p.rows))
}

// drawsSpark reports whether there is a sparkline and room for it.
func (p *Pane) drawsSpark() bool { return p.spark && len(p.rows) > 1 && p.h >= 3*sparkRows }

// Do carries out an action and reports whether it is one of the pane's.
func (p *Pane) Do(a keymap.Action) bool { return p.window.Do(a) }

// Click moves the cursor to row y.
func (p *Pane) Click(_, y int) {
	if i := p.window.Top + y; y < p.window.Height && i < len(p.rows) {
		p.window.MoveTo(i)
	}
}

// Wheel scrolls by n rows; the cursor stays in sight.
func (p *Pane) Wheel(n int) { p.window.Scroll(n) }

// Thumb returns the rows that the thumb of a scrollbar covers.
func (p *Pane) Thumb() (from, to int) { return p.window.Thumb() }

// mostName is the most cells that the name of a snapshot takes.
const mostName = 24

// AppendRow appends row y: exactly as many cells as the pane is wide.
func (p *Pane) AppendRow(dst []byte, y int) []byte {
	r := cell.Begin(dst, &p.styles.Glyphs, p.w)
	i := p.window.Top + y
	switch below := y - p.window.Height; {
	case below == 0 && p.drawsSpark():
		r.Fill(p.styles.Text, 1)
		r.Repeat(p.styles.Border, p.styles.Glyphs.Horizontal, p.w-2)
	case below == 1 && p.drawsSpark():
		p.drawSpark(&r)
	case below >= 0:
	case i < len(p.rows):
		return p.drawRow(&r, i)
	case y == 0 && !p.asking:
		r.Put(p.styles.Muted, "  none")
	}
	return r.End(p.styles.Text)
}

// drawRow draws an answer: the snapshot, its turn and time, and what there is to say.
func (p *Pane) drawRow(r *cell.Row, i int) []byte {
	a, g := &p.rows[i], &p.styles.Glyphs
	tokens, sign := p.RowStyle(p.styles, i == p.window.Cursor)
	if i == p.window.Cursor {
		r.Put(tokens.Focus, sign)
	} else {
		r.Fill(tokens.Text, 1)
	}
	name, side := tokens.Text, tokens.Time
	shape, st := g.Active, tokens.Active
	switch {
	case a.Node == p.t.Head():
		shape, st = g.Head, tokens.Head
	case !p.t.OnPath(a.Node):
		shape, st = g.Orphaned, tokens.Orphaned
		name, side = st, st
	case p.t.IsStep(a.Node):
		shape = g.Dot
	}
	r.Put(st, shape)
	r.Fill(tokens.Text, 1)
	r.Column(name, p.t.Name(a.Node), min(p.names, max(p.w/3, 4)))
	r.Fill(tokens.Text, 1)
	if p.w >= roomy {
		h := p.t.Header(a.Node)
		turn := g.Ellipsis
		if h.TurnIndex != model.TurnUnknown {
			turn = strconv.Itoa(h.TurnIndex)
		}
		r.Column(side, "turn "+turn, turnWidth)
		r.Fill(tokens.Text, 1)
		if p.w >= timed && !h.CreatedAt.IsZero() {
			r.Put(side, h.CreatedAt.In(p.zone).Format(time.TimeOnly))
			r.Fill(tokens.Text, 1)
		}
	}
	sign, pick := p.signOf(a.Kind)
	r.Put(pick(tokens), sign)
	r.Put(pick(tokens), a.Text)
	return r.End(tokens.Text)
}

// SignedText returns the text of answer i, with its sign.
func (p *Pane) SignedText(i int) string {
	sign, _ := p.signOf(p.rows[i].Kind)
	return sign + p.rows[i].Text
}

// The widths from which a row has the turn and the time, and the cells of the turn.
const (
	roomy     = 48
	timed     = 64
	turnWidth = len("turn 123")
)

// signOf returns the sign of a kind, set off from what follows, and what picks its colour.
func (p *Pane) signOf(k Kind) (string, sheet.Pick) {
	g := &p.styles.Glyphs
	switch k {
	case Added:
		return g.Added + " ", func(t *theme.Tokens) theme.Style { return t.Added }
	case Removed:
		return g.Removed + " ", func(t *theme.Tokens) theme.Style { return t.Removed }
	case Changed:
		return g.Changed + " ", func(t *theme.Tokens) theme.Style { return t.Changed }
	case Unknown:
		return g.Interrupted + " ", sheet.Muted
	case Failed:
		return g.Error + " ", sheet.Error
	}
	return "", sheet.Text
}
