// Package timeline is the pane that draws a session as a tree of snapshots:
// one row for each visit, its lanes on the left, and a line at the bottom that
// explains the row under the cursor.
//
// The pane draws the rows in sight and nothing else; what needs all headers is worked
// out once by [Prepare].
package timeline

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/tui/cell"
	"hindcast/tui/theme"
)

// Content is a session's timeline with the facts about all rows that drawing needs. It is read-only but for
// [Pane.Append], during which nothing else may read it.
type Content struct {
	// Timeline is the tree.
	Timeline *model.Timeline
	// More says that older snapshots are not loaded yet.
	More bool

	// Turns are the turns.
	Turns *model.Turns

	indexWidth, suffixWidth, eventWidth int
	titleWidth                          int  // cells that the longest title needs, of no more than least
	signs                               int  // cells that marks take on a row, 0 where no row has one
	timed                               bool // a snapshot has a time

	inferred int  // headers with an inferred parent
	marked   bool // a header has a sign of another mark
	// stops are the branch points, the ends of all lines and the visits before compactions, failed the visits
	// with an error; both in the order of their rows.
	stops, failed []model.Node
}

// The width of the column for events: events holds Hindcast's own words. The column grows up to widest for
// words of other frameworks where titles leave room.
const (
	events = 6
	widest = 13
)

// Prepare works out what drawing a timeline takes; the timeline should have room for some
// more headers, see [Spare]. The time is linear in their number, so it belongs in a command.
func Prepare(t *model.Timeline) *Content {
	c := &Content{Timeline: t, Turns: model.FindTurns(t), indexWidth: 1}
	c.measureColumns(0)
	for i := range t.Rows() {
		c.noteStop(t.Row(i).Node)
	}
	return c
}

// noteStop takes down a node that keys lead to. The nodes come in the order of their
// rows; NoNode is passed over.
func (c *Content) noteStop(n model.Node) {
	if n == model.NoNode {
		return
	}
	if c.isStop(n) {
		c.stops = append(c.stops, n)
	}
	if c.Timeline.Header(n).Marks.Has(model.MarkError) {
		c.failed = append(c.failed, n)
	}
}

// isStop reports whether n is a branch point, the end of a line, or the last visit before a compaction.
func (c *Content) isStop(n model.Node) bool {
	next := c.Timeline.Next(n)
	return next == model.NoNode || c.Timeline.BranchPoint(n) || c.Timeline.Header(next).EventName == compaction
}

// HasStops reports whether there is more than one place that the keys for branches lead to.
func (p *Pane) HasStops() bool { return len(p.c.stops) > 1 }

// compaction is the event of a visit that replaces the messages before it by a summary.
const compaction = "compaction"

// measureColumns makes the columns wide enough for the headers from one node on.
func (c *Content) measureColumns(from model.Node) {
	t := c.Timeline
	last := "" // most rows have one of a few events
	var buf [48]byte
	for n := from; int(n) < t.Len(); n++ {
		h := t.Header(n)
		index, suffix := nameOf(t, n, buf[:0])
		c.indexWidth, c.suffixWidth = max(c.indexWidth, len(index)), max(c.suffixWidth, len(suffix))
		if h.Marks.Has(model.MarkInferred) {
			c.inferred++
		}
		c.marked = c.marked || h.Marks&^(model.MarkInferred|model.MarkTraced) != 0
		c.timed = c.timed || !h.CreatedAt.IsZero()
		if c.titleWidth < least {
			c.titleWidth = max(c.titleWidth, min(least, cell.Width(h.Title[:min(len(h.Title), 4*least)])))
		}
		if event := h.EventWord(); event != last {
			last = event
			c.eventWidth = max(c.eventWidth, min(widest, cell.Width(event[:min(len(event), 4*widest)])))
		}
	}
	c.signs = 0
	if c.marked || c.inferred > 0 && c.usualMarks() == 0 {
		c.signs = 1
	}
}

// usualMarks returns the marks that most rows have: they are said once and drawn on no
// row. An inferred parent is the only one that a reader can do without.
func (c *Content) usualMarks() model.Marks {
	if 2*c.inferred > c.Timeline.Len() {
		return model.MarkInferred
	}
	return 0
}

// Pane draws a timeline and keeps its cursor. Use [New]. A Pane is not safe for
// concurrent use.
type Pane struct {
	theme.Highlight
	styles *theme.Styles
	zone   *time.Location
	w, h   int
	rows   cell.Window // of visible rows; its cursor is the row of the node below
	c      *Content
	t      *model.Timeline
	folds  *model.Folds
	// unsized is whether turns wait for the pane's size to be folded by it.
	unsized bool

	cursor  model.Node
	marked  model.Node
	matches Matches
	labels  Labels
	extra   []Column
	cost    func(first model.Node) string // of a turn; may be nil
	columns columns
	whole   bool     // the cursor's row shows all of its title
	scratch [64]byte // for what a row is made of
	scrub   []tick   // of the cells of the scrubber
	nouns   model.Nouns
	faulty  map[string]struct{} // ids of snapshots that the store has a fault of
	// flags are the texts of the flags of snapshots, and flagged these snapshots in the order of their rows.
	flags   map[model.Node][]string
	flagged []model.Node
}

// New returns an empty pane. Times are shown in zone.
func New(styles *theme.Styles, zone *time.Location) *Pane {
	p := &Pane{styles: styles, zone: zone, nouns: model.NounsOf("")}
	p.Set(Prepare(model.NewTimeline(nil)))
	return p
}

// Resize gives the pane its size in cells.
func (p *Pane) Resize(w, h int) {
	p.w, p.h = w, h
	p.columns = p.fitColumns()
	p.rows.Resize(max(h-footerRows(h)-p.headerRows(), 0))
	if p.unsized && p.rows.Height > 0 {
		p.foldEarlier()
		p.rows.SetLen(p.folds.Rows())
		p.revealCursor()
	}
}

// footerRows returns the rows at the bottom that explain the cursor's.
func footerRows(h int) int {
	if h < 4 {
		return 0
	}
	return 1
}

// Set shows another content. Where it has the snapshots under the cursor and
// under the mark, these stay, the cursor on its line of the screen; else the
// cursor goes to the head.
func (p *Pane) Set(c *Content) {
	cursor, marked, line := model.NoNode, model.NoNode, p.rows.Cursor-p.rows.Top
	if p.t != nil {
		cursor, marked = p.findNode(c.Timeline, p.cursor), p.findNode(c.Timeline, p.marked)
	}
	if p.t != nil && p.t != c.Timeline {
		p.labels = p.labels.labelsIn(p.t, c.Timeline)
		p.flags, p.flagged = nil, nil // which are of the other timeline
	}
	folds, fresh := p.translateFolds(c)
	p.c, p.t, p.folds, p.marked, p.matches, p.scrub = c, c.Timeline, folds, marked, Matches{}, nil
	p.columns = p.fitColumns()
	p.cursor = cursor
	if cursor == model.NoNode {
		p.cursor = p.startNode()
	}
	if fresh {
		p.foldEarlier()
	}
	p.rows.SetLen(p.folds.Rows())
	p.revealCursor()
	if cursor != model.NoNode {
		p.rows.Scroll(p.rows.Cursor - line - p.rows.Top)
	}
}

// translateFolds returns the folds of this timeline for another one: the same where that
// has the same snapshots and maybe more before or after them, else fresh ones.
func (p *Pane) translateFolds(c *Content) (folds *model.Folds, fresh bool) {
	in := c.Timeline
	switch {
	case p.t == nil || p.t.Len() == 0 || in.Len() < p.t.Len():
	case in.Snapshots() < in.Len():
		// Steps come in before their snapshot, when their trace has been written.
		p.folds.RebaseBy(in, c.Turns, p.nodeFinder(in))
		return p.folds, false
	case in.Header(0).Ref() == p.t.Header(0).Ref():
		p.folds.Rebase(in, c.Turns)
		return p.folds, false
	}
	return model.NewFolds(in, c.Turns), true
}

// nodeFinder returns a function that finds nodes of this timeline in another one by their ids.
func (p *Pane) nodeFinder(in *model.Timeline) func(model.Node) model.Node {
	type key struct{ session, id string }
	at := make(map[key]model.Node, in.Len())
	for n := range model.Node(in.Len()) {
		at[key{in.Header(n).SessionID, in.Header(n).ID}] = n
	}
	return func(n model.Node) model.Node {
		if to, ok := at[key{p.t.Header(n).SessionID, p.t.Header(n).ID}]; ok {
			return to
		}
		return model.NoNode
	}
}

// startNode is where the cursor is at first: at the head, else at the last visit.
func (p *Pane) startNode() model.Node {
	if head := p.t.Head(); head != model.NoNode {
		return head
	}
	return model.Node(p.t.Len() - 1)
}

// findNode returns the node of another timeline that is the same visit as n of this
// one. The same place from the front or from the back is tried first: a
// timeline grows at its end, and at its front when the older part comes in.
func (p *Pane) findNode(in *model.Timeline, n model.Node) model.Node {
	if n == model.NoNode {
		return n
	}
	ref := p.t.Header(n).Ref()
	for _, guess := range []model.Node{n, n + model.Node(in.Len()-p.t.Len())} {
		if guess >= 0 && int(guess) < in.Len() && in.Header(guess).Ref() == ref {
			return guess
		}
	}
	found := model.NoNode // of that id; steps that came in have given it another visit
	for n := range model.Node(in.Len()) {
		switch h := in.Header(n); {
		case h.Ref() == ref:
			return n
		case h.ID == ref.ID && h.SessionID == ref.Session && in.Snapshots() < in.Len():
			found = n
		}
	}
	return found
}

// Timeline returns the timeline that shows.
func (p *Pane) Timeline() *model.Timeline { return p.t }

// SelectedNode returns the node under the cursor, or NoNode in an empty timeline.
func (p *Pane) SelectedNode() model.Node { return p.cursor }

// MarkedNode returns the node that is marked, or NoNode.
func (p *Pane) MarkedNode() model.Node { return p.marked }

// Mark sets the node aside to compare with; NoNode clears the mark.
func (p *Pane) Mark(n model.Node) { p.marked = n }

// Select moves the cursor to a node and shows it, whatever folds hide it.
// NoNode leaves the cursor where it is.
func (p *Pane) Select(n model.Node) {
	if n == model.NoNode {
		return
	}
	p.cursor = n
	if p.isHidden(n) {
		p.folds.RevealRow(p.t.RowOf(n))
	}
	if p.isHidden(n) { // by the snapshot that it is a step of
		p.folds.ShowSteps(n)
	}
	p.rows.SetLen(p.folds.Rows())
	p.revealCursor()
}

// isHidden reports whether a fold hides n.
func (p *Pane) isHidden(n model.Node) bool {
	row := p.t.RowOf(n)
	return p.folds.Row(p.folds.Visible(row)) != row
}

// revealCursor scrolls to the cursor. Where a fold hides it, the cursor goes to the
// fold.
func (p *Pane) revealCursor() {
	if p.cursor == model.NoNode {
		return
	}
	i := p.folds.Visible(p.t.RowOf(p.cursor))
	p.rows.MoveTo(i)
	p.cursor = p.nodeAt(i, -1)
}

// nodeAt returns the node of visible row i, or of the nearest row that has one,
// looking in the direction of step first.
func (p *Pane) nodeAt(i, step int) model.Node {
	i = max(0, min(i, p.rows.Len-1))
	for _, d := range [...]int{step, -step} {
		for k := i; k >= 0 && k < p.rows.Len; k += d {
			if n := p.t.Row(p.folds.Row(k)).Node; n != model.NoNode {
				return n
			}
		}
	}
	return model.NoNode
}

// moveTo moves the cursor to visible row i, or on from there in the direction
// of step to the next row that has a node.
func (p *Pane) moveTo(i, step int) {
	if n := p.nodeAt(i, step); n != model.NoNode {
		p.cursor = n
		p.rows.MoveTo(p.folds.Visible(p.t.RowOf(n)))
	}
}

// Do carries out an action and reports whether it is one of the pane's.
func (p *Pane) Do(a keymap.Action) bool {
	if p.cursor == model.NoNode {
		return false
	}
	if n, ok := cell.Steps(a, p.rows.Height); ok {
		p.moveTo(p.rows.Cursor+n, cmp.Compare(n, 0))
		return true
	}
	switch a {
	case keymap.Top:
		p.moveTo(0, 1)
	case keymap.Bottom:
		p.moveTo(p.rows.Len-1, -1)
	case keymap.StepBack, keymap.Parent:
		p.Select(p.nodeBefore(p.cursor))
	case keymap.StepForward:
		p.Select(p.shownNode(p.t.Next(p.cursor)))
	case keymap.Child:
		p.Select(p.shownNode(p.firstChild()))
	case keymap.PrevBranch:
		p.Select(p.nearestOf(p.c.stops, -1))
	case keymap.NextBranch:
		p.Select(p.nearestOf(p.c.stops, 1))
	case keymap.GoHead:
		p.Select(p.t.Head())
	case keymap.PrevPrompt:
		p.Select(p.promptFrom(-1))
	case keymap.NextPrompt:
		p.Select(p.promptFrom(1))
	case keymap.Fold:
		p.foldAtCursor()
	case keymap.Unfold:
		if !p.folds.Unfold(p.cursor) {
			p.folds.ShowSteps(p.cursor)
		}
		p.refold()
	case keymap.FoldAll:
		p.folds.FoldAll()
		p.showLabelled()
		p.refold()
	case keymap.UnfoldAll:
		p.folds.UnfoldAll()
		p.refold()
	default:
		return false
	}
	return true
}

// nodeBefore returns the node before n, but for those whose rows n hides.
func (p *Pane) nodeBefore(n model.Node) model.Node {
	at := p.t.Parent(n)
	for range p.folds.RowsBefore(n) {
		at = p.t.Parent(at)
	}
	return at
}

// shownNode returns n, or if it is a step or a call that is hidden the snapshot whose row stands for it.
func (p *Pane) shownNode(n model.Node) model.Node {
	if n != model.NoNode && p.isHidden(n) {
		return p.folds.RowOwner(n)
	}
	return n
}

// nearestOf returns the nearest node above the cursor in a list ordered by row. For a positive step it
// returns the nearest one below. It returns NoNode at the end of the list.
func (p *Pane) nearestOf(list []model.Node, step int) model.Node {
	i, on := p.placeIn(list)
	switch {
	case step < 0:
		i--
	case on:
		i++
	}
	if i < 0 || i == len(list) {
		return model.NoNode
	}
	return list[i]
}

// placeIn returns where the cursor is or would be in a list in row order, and whether
// it is there.
func (p *Pane) placeIn(list []model.Node) (int, bool) {
	return slices.BinarySearchFunc(list, p.t.RowOf(p.cursor), func(n model.Node, row int) int { return p.t.RowOf(n) - row })
}

// CountFailed returns how many snapshots have an error.
func (p *Pane) CountFailed() int { return len(p.c.failed) }

// NextFailed moves the cursor to the next snapshot with an error, after the last one to the first. It returns
// the number of that error from 1, or 0 when no snapshot has an error.
func (p *Pane) NextFailed() int {
	if len(p.c.failed) == 0 {
		return 0
	}
	i, on := p.placeIn(p.c.failed)
	if on {
		i++
	}
	i %= len(p.c.failed)
	p.Select(p.c.failed[i])
	return i + 1
}

// IsAtEnd reports whether no step leads forward from the cursor.
func (p *Pane) IsAtEnd() bool { return p.cursor == model.NoNode || p.t.Next(p.cursor) == model.NoNode }

// Fault marks the snapshots with some ids as damaged: the store has a fault of
// them. It takes the place of the ids before.
func (p *Pane) Fault(ids map[string]struct{}) {
	p.faulty = ids
	p.columns = p.fitColumns()
}

// SetFlags shows a flag at some snapshots, each with a text, in place of the flags before.
func (p *Pane) SetFlags(flags map[model.Node][]string) {
	p.flags = flags
	p.flagged = slices.SortedFunc(maps.Keys(flags), func(a, b model.Node) int { return p.t.RowOf(a) - p.t.RowOf(b) })
}

// flagsAt returns the texts of the flags in the row of a snapshot: its own, and those of the snapshots that it hides.
func (p *Pane) flagsAt(n model.Node) (texts []string) {
	if len(p.flagged) == 0 {
		return nil
	}
	from, to := p.t.RowOf(n)-p.folds.RowsBefore(n), p.t.RowOf(p.LastOf(n))
	at, _ := slices.BinarySearchFunc(p.flagged, from, func(n model.Node, row int) int { return p.t.RowOf(n) - row })
	for ; at < len(p.flagged) && p.t.RowOf(p.flagged[at]) <= to; at++ {
		texts = append(texts, p.flags[p.flagged[at]]...)
	}
	return texts
}

// firstChild returns the child that is drawn first: at a branch point that leads
// into the branch, where a step forward would stay on the line.
func (p *Pane) firstChild() model.Node {
	next := p.t.Next(p.cursor)
	for c := range p.t.Children(p.cursor) {
		if c != next {
			return c
		}
	}
	return next
}

// foldAtCursor hides the steps of the cursor's turn; where they are hidden, it folds the branches that leave the path
// there, or else the turn that the cursor is in. Without a turn it folds at the cursor, or, where nothing hangs on
// it, at the place where the branch that it is on leaves.
func (p *Pane) foldAtCursor() {
	turn, in := p.turnAt(p.cursor)
	switch {
	case p.folds.HideSteps(p.cursor):
	case in && p.cursor != turn.First && p.t.OnPath(p.cursor) && p.folds.Fold(p.cursor):
	case in && turn.HidesRows():
		p.folds.Fold(turn.First)
	case p.folds.Fold(p.cursor) || p.folds.HasFold(p.cursor) || p.t.OnPath(p.cursor):
	default:
		for at := p.t.Parent(p.cursor); at != model.NoNode; at = p.t.Parent(at) {
			if p.t.BranchPoint(at) {
				p.folds.Fold(at)
				p.cursor = at
				break
			}
		}
	}
	p.refold()
}

func (p *Pane) refold() {
	p.rows.SetLen(p.folds.Rows())
	p.revealCursor()
}

// Click selects the snapshot in row y of the pane. On the sign of a turn it folds the turn too, or opens it.
func (p *Pane) Click(x, y int) {
	y -= p.headerRows()
	i := p.rows.Top + y
	if y < 0 || y >= p.rows.Height || i >= p.rows.Len {
		return
	}
	p.moveTo(i, -1)
	if row := p.t.Row(p.folds.Row(i)); row.Node != model.NoNode && x == p.signAt(row) && p.shapeOf(row.Node) != model.Plain {
		if !p.folds.Unfold(row.Node) {
			p.folds.Fold(row.Node)
		}
		p.refold()
	}
}

// Wheel scrolls by n rows; the cursor stays in sight.
func (p *Pane) Wheel(n int) {
	if p.cursor == model.NoNode {
		return
	}
	p.rows.Scroll(n)
	step := 1
	if n < 0 {
		step = -1
	}
	if node := p.nodeAt(p.rows.Cursor, step); node != model.NoNode {
		p.cursor = node
		p.rows.Cursor = p.folds.Visible(p.t.RowOf(node))
	}
}

// Thumb returns the rows that the thumb of a scrollbar covers.
func (p *Pane) Thumb() (from, to int) {
	if from, to = p.rows.Thumb(); to > 0 {
		from, to = from+p.headerRows(), to+p.headerRows()
	}
	return from, to
}

// Position says where the cursor is among the rows that show, and what the marks
// of most rows are.
func (p *Pane) Position() string {
	if p.cursor == model.NoNode {
		return ""
	}
	text := strconv.Itoa(p.rows.Cursor+1) + " of " + strconv.Itoa(p.rows.Len)
	if usual := p.c.usualMarks(); usual != 0 {
		text = "parents " + usual.Word() + " " + p.styles.Glyphs.Dot + " " + text
	}
	return text
}

// Title names the pane.
func (p *Pane) Title() string { return "Timeline" }

// SetNouns sets the words of the framework. They are Hindcast's own before.
func (p *Pane) SetNouns(nouns model.Nouns) { p.nouns = nouns }

// Size says how much there is.
func (p *Pane) Size() string {
	text := model.Count(p.t.Snapshots(), p.nouns.Snapshot)
	if p.c.More {
		text = "the last " + text
	}
	return text
}

// Status says how much there is, and what of it is off the path.
func (p *Pane) Status() string {
	text := p.Size()
	if n := p.t.Orphans(); n > 0 {
		text += " " + p.styles.Glyphs.Dot + " " + strconv.Itoa(n) + " off the path"
	}
	return text
}
