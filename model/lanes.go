package model

import "math"

// Where each node is drawn.
//
// Time flows down. Each branch is drawn in one piece, below the node where it
// leaves and above the rest of the line that it left. So a branch that is
// drawn always has its own lines to the left of it, all of them running on,
// and a row needs to know no more than its lane:
//
//	○        lane 0
//	├─╮      a row that only draws: a branch leaves lane 0
//	│ ◌      lane 1
//	│ ├─╮
//	│ │ ◌    lane 2
//	│ ◌      lane 1
//	○        lane 0
//
// Among the children of a node, one keeps the lane and is drawn last: on the
// active path the next node of the path, elsewhere the child with the largest
// subtree. Each of the others starts a branch, one lane to the right, in
// recorded order. Under the head every child starts a branch.
//
// A tree of n nodes never needs more than floor(log2(n))+1 lanes. Let L(m) be
// the lanes that a subtree of m nodes off the active path needs. A child that
// starts a branch in it is not the largest, so it has at most (m-1)/2 nodes:
// L(m) <= max(L(m'), 1+L((m-1)/2)) for a smaller m', and with L(1) = 1 by
// induction L(m) <= floor(log2(m+1)). The active path takes one lane, lane 0,
// and at least one node; so a branch on it has at most n-1 nodes, and all
// together need at most 1 + floor(log2((n-1)+1)) lanes. Trees with a root of
// their own stand one below the other and share their lanes.
//
// The rows of a subtree are as many as its nodes plus its branches, so a
// bottom-up pass that adds up rows gives every node its place in a top-down
// pass: no recursion, no stack, and when parents are recorded before their
// children both passes run through memory in order.

// RowKind is the kind of a row in the drawing.
type RowKind uint8

const (
	// RowNode is a visit.
	RowNode RowKind = iota
	// RowBranch draws where a branch leaves; the branch starts in the row below.
	RowBranch
	// RowGap stands between two trees: the row below is another first visit.
	RowGap
	// RowBreak is an edge that leads nowhere: the visit in the row below names
	// a parent, but it cannot be followed. See [Timeline.Faults].
	RowBreak
)

// Row is one row of the drawing.
type Row struct {
	Kind RowKind
	// Node is the visit of a RowNode and NoNode on all other rows.
	Node Node
	// At is the node that the row belongs to: the visit itself, the node that
	// the branch leaves, or the visit below a RowGap or RowBreak.
	At Node
	// Lane is the column in which At is drawn, from 0.
	Lane int
}

// rowCode is a row's kind in the upper two bits and its At in the rest.
type rowCode uint32

const rowNodeBits = 30

func makeRow(kind RowKind, at Node) rowCode { return rowCode(kind)<<rowNodeBits | rowCode(at) }
func (r rowCode) kind() RowKind             { return RowKind(r >> rowNodeBits) }
func (r rowCode) at() Node                  { return Node(r & (1<<rowNodeBits - 1)) }

// drawing is the place of every node, and what follows from the places.
type drawing struct {
	rows []rowCode
	row  []int32 // of each node; unplaced until it has one
	lane []int8
	keep []Node  // the child that keeps the lane
	size []int32 // nodes in the subtree; not kept up on the active path
	span []int32 // rows of the subtree; not kept up on the active path
	// left is the node from which a node's lineage was first passed over, or
	// ^root where it has no such node; without meaning on the active path.
	left []Node
	// nextBranch is the branch point that steps forward lead to next.
	nextBranch []Node
	lanes      int
	// end is the row of the last branch that leaves the head. From there on
	// lane 0 has ended.
	end int32
	// changes counts the times when rows have moved.
	changes int
}

const (
	unplaced = math.MaxInt32
	noEnd    = math.MaxInt32
)

// resetNodes makes n nodes, all unplaced, with room for as many as room in all.
func (d *drawing) resetNodes(n, room int) {
	d.row, d.lane = make([]int32, n, room), make([]int8, n, room)
	d.keep, d.left = make([]Node, n, room), make([]Node, n, room)
	d.size, d.span = make([]int32, n, room), make([]int32, n, room)
	d.nextBranch = make([]Node, n, room)
	d.end = noEnd
	for i := range n {
		d.keep[i] = NoNode
	}
}

// addNode makes room for one more node, which is unplaced.
func (d *drawing) addNode() {
	d.row = append(d.row, unplaced)
	d.lane = append(d.lane, 0)
	d.keep = append(d.keep, NoNode)
	d.left = append(d.left, NoNode)
	d.size = append(d.size, 0)
	d.span = append(d.span, 0)
	d.nextBranch = append(d.nextBranch, NoNode)
}

// drawNewHead draws n below everything else: the head, in lane 0, after the
// head that was.
func (t *Timeline) drawNewHead(n Node) {
	t.row[n] = int32(len(t.rows))
	t.rows = append(t.rows, makeRow(RowNode, n))
	t.end = noEnd
}

// layOut draws everything below from, a node on the active path, or all of it
// for NoNode.
func (t *Timeline) layOut(from Node) {
	t.changes++
	var order []Node // parents before children; nil where Nodes are so already
	if t.tangled {
		order, from = t.topologicalOrder(), NoNode
	}
	t.end = noEnd
	l := layout{Timeline: t, from: from, fromRow: -1, order: order}
	if from != NoNode {
		l.fromRow = t.row[from]
	}
	l.weighNodes()
	l.placeNodes()
	t.lanes = 0
	for _, lane := range t.lane {
		t.lanes = max(t.lanes, int(lane)+1)
	}
}

// topologicalOrder returns all nodes, each parent before its children.
func (t *Timeline) topologicalOrder() []Node {
	order := make([]Node, 0, t.Len())
	order = append(order, t.roots...)
	for i := 0; i < len(order); i++ {
		for c := t.first[order[i]]; c != NoNode; c = t.next[c] {
			order = append(order, c)
		}
	}
	return order
}

// layout is one run of layOut.
type layout struct {
	*Timeline
	from    Node
	fromRow int32
	order   []Node
	below   int // rows below from, without those above roots
}

// nodeAt returns the node at a position of the order.
func (l *layout) nodeAt(i int) Node {
	if l.order == nil {
		return Node(i)
	}
	return l.order[i]
}

// isMoved reports whether n is among the nodes that get a new place: a node that
// was placed below from, or is not placed at all.
func (l *layout) isMoved(n Node) bool { return l.from == NoNode || l.row[n] > l.fromRow }

// weighNodes adds up sizes and rows from the leaves to the roots, and so finds the
// children that keep their lanes.
func (l *layout) weighNodes() {
	t := l.Timeline
	for n := l.from + 1; int(n) < t.Len(); n++ {
		if !l.isMoved(n) {
			continue
		}
		t.size[n], t.span[n] = 1, 1
		if t.flags[n]&flagPath == 0 {
			t.keep[n] = NoNode
		}
	}
	for i := t.Len() - 1; i > int(l.from); i-- {
		n := l.nodeAt(i)
		if !l.isMoved(n) {
			continue
		}
		l.below++
		keep := t.keep[n]
		if keep != NoNode {
			t.span[n]-- // it is reached without a row for the branch
			l.below--
		}
		t.aimLane(n)
		p := t.parent[n]
		if p == NoNode {
			continue
		}
		l.below++
		if t.flags[p]&flagPath != 0 {
			continue
		}
		t.size[p] += t.size[n]
		t.span[p] += t.span[n] + 1
		// Of equals the one recorded last keeps the lane.
		if k := t.keep[p]; k == NoNode || t.size[n] > t.size[k] || t.size[n] == t.size[k] && n > k {
			t.keep[p] = n
		}
	}
	if l.from == NoNode {
		return
	}
	if t.keep[l.from] != NoNode {
		l.below--
	}
	// What comes next has changed for the line that leads here, back to and
	// with the branch point before.
	for n := l.from; n != NoNode; n = t.parent[n] {
		t.aimLane(n)
		if n != l.from && t.BranchPoint(n) {
			break
		}
	}
}

// aimLane finds the branch point after n from that of the child that keeps its lane.
func (t *Timeline) aimLane(n Node) {
	k := t.keep[n]
	switch {
	case k == NoNode:
		t.nextBranch[n] = NoNode
	case t.BranchPoint(k):
		t.nextBranch[n] = k
	default:
		t.nextBranch[n] = t.nextBranch[k]
	}
}

// placeNodes gives every node its row and lane, from the roots to the leaves.
func (l *layout) placeNodes() {
	t := l.Timeline
	if l.from == NoNode {
		l.placeRoots()
	} else {
		t.drawing.resizeRows(int(l.fromRow) + 1 + l.below)
		l.placeChildren(l.from)
	}
	for i := int(l.from) + 1; i < t.Len(); i++ {
		if n := l.nodeAt(i); l.isMoved(n) {
			l.placeChildren(n)
		}
	}
}

// placeRoots gives the roots their places: first those off the active path,
// in recorded order, then the root of the path. Every tree but the topmost has
// a row above its root, and one with a broken edge has it in any case.
func (l *layout) placeRoots() {
	t := l.Timeline
	order := make([]Node, 0, len(t.roots))
	active := NoNode
	for _, r := range t.roots {
		if t.flags[r]&flagPath != 0 {
			active = r
			continue
		}
		order = append(order, r)
	}
	if active != NoNode {
		order = append(order, active)
	}
	if len(order) == 0 {
		return
	}
	rows := l.below + len(order)
	if t.flags[order[0]].edge() == edgeWhole {
		rows--
	}
	t.drawing.resizeRows(rows)
	at := int32(0)
	for i, r := range order {
		switch {
		case t.flags[r].edge() != edgeWhole:
			t.rows[at] = makeRow(RowBreak, r)
			at++
		case i > 0:
			t.rows[at] = makeRow(RowGap, r)
			at++
		}
		t.left[r] = ^r
		t.putNode(r, at, 0)
		at += t.span[r]
	}
}

// placeChildren gives the children of n their places below it.
func (l *layout) placeChildren(n Node) {
	t := l.Timeline
	if t.first[n] == NoNode {
		return
	}
	at, keep := t.row[n]+1, t.keep[n]
	for c := t.first[n]; c != NoNode; c = t.next[c] {
		t.left[c] = n
		if c == t.last[n] && t.flags[n]&flagPath == 0 {
			t.left[c] = t.left[n]
		}
		if c == keep {
			continue
		}
		if n == t.head {
			t.end = at
		}
		t.rows[at] = makeRow(RowBranch, n)
		t.putNode(c, at+1, t.lane[n]+1)
		at += 1 + t.span[c]
	}
	if keep != NoNode {
		t.putNode(keep, at, t.lane[n])
	}
}

// putNode gives n its place.
func (d *drawing) putNode(n Node, row int32, lane int8) {
	d.row[n], d.lane[n] = row, lane
	d.rows[row] = makeRow(RowNode, n)
}

// resizeRows makes the drawing n rows long, with room for a row of each node that
// there is room for.
func (d *drawing) resizeRows(n int) {
	if n > cap(d.rows) {
		rows := make([]rowCode, n, n+cap(d.row)-len(d.row))
		copy(rows, d.rows)
		d.rows = rows
	}
	d.rows = d.rows[:n]
}

// Rows returns the number of rows of the drawing: one for each visit, and those
// that only draw.
func (t *Timeline) Rows() int { return len(t.rows) }

// Row returns row i, from 0 at the top.
func (t *Timeline) Row(i int) Row {
	code := t.rows[i]
	row := Row{Kind: code.kind(), Node: NoNode, At: code.at(), Lane: int(t.lane[code.at()])}
	if row.Kind == RowNode {
		row.Node = row.At
	}
	return row
}

// RowOf returns the row of a node.
func (t *Timeline) RowOf(n Node) int { return int(t.row[n]) }

// Lanes returns the number of lanes that the drawing needs: never more than
// floor(log2(Len()))+1.
func (t *Timeline) Lanes() int { return t.lanes }

// GlyphSet chooses the characters of the drawing. The shapes carry the
// meaning, so that no colour is needed.
type GlyphSet uint8

const (
	// GlyphsUnicode draws ○ on the active path, ◌ off it and ◉ at the head, and
	// · for a step, which stands in the lane of its snapshot. The first visit of a
	// turn is ▾, or ▸ where the turn is folded, and off the path ▿ or ▹.
	GlyphsUnicode GlyphSet = iota
	// GlyphsASCII draws o, %, @, -, v and > for the same.
	GlyphsASCII
)

// glyphs are the pieces of the drawing. Pieces of a lane are two columns wide,
// the others one.
type glyphs struct {
	active, orphan, head string
	step                 string
	// opened and closed are the first visit of a turn, on the active path and off it.
	opened, closed     [2]string
	line, blank        string // a lane that runs on, and one that has ended
	branch, lastBranch string // in the lane that a branch leaves
	turn               string // in the lane in which it starts
	broken             string
	hidden             string // stands for the lanes there is no room for
}

var glyphSets = [...]glyphs{
	GlyphsUnicode: {"○", "◌", "◉", "·", [2]string{"▾", "▿"}, [2]string{"▸", "▹"}, "│ ", "  ", "├─", "╰─", "╮", "╳", "… "},
	GlyphsASCII:   {"o", "%", "@", "-", [2]string{"v", "v"}, [2]string{">", ">"}, "| ", "  ", "+-", "`-", `\`, "x", "~ "},
}

// Shape is how the visit of a row is drawn.
type Shape uint8

const (
	// Plain draws a visit by its place.
	Plain Shape = iota
	// Opened draws the first visit of a turn, and Closed the first visit of a folded turn. The head stays as it is.
	Opened
	Closed
)

// AppendGutter appends the drawing of one row to dst: 2*lanes columns, padded
// with spaces. Where the row is too deep for that, a mark stands for the outer
// lanes, and the innermost are drawn.
func (t *Timeline) AppendGutter(dst []byte, row, lanes int, set GlyphSet) []byte {
	return t.AppendShape(dst, row, lanes, set, Plain)
}

// AppendShape is AppendGutter with a shape for the visit of the row.
func (t *Timeline) AppendShape(dst []byte, row, lanes int, set GlyphSet, shape Shape) []byte {
	if lanes <= 0 {
		return dst
	}
	g := &glyphSets[set]
	code := t.rows[row]
	kind, at := code.kind(), code.at()
	depth := int(t.lane[at])
	used := depth + 1 // lanes that this row draws in
	if kind == RowBranch {
		used++
	}
	lane := 0
	if used > lanes {
		lane = used - lanes + 1
		if lanes > 1 {
			dst = append(dst, g.hidden...)
		} else {
			lane = used - 1
		}
	}
	for ; lane < depth; lane++ {
		if lane == 0 && row >= int(t.end) {
			dst = append(dst, g.blank...)
		} else {
			dst = append(dst, g.line...)
		}
	}
	last := ""
	switch kind {
	case RowNode:
		off := 0
		if !t.OnPath(at) {
			off = 1
		}
		switch {
		case at == t.head:
			last = g.head
		case shape == Opened:
			last = g.opened[off]
		case shape == Closed:
			last = g.closed[off]
		case t.IsStep(at):
			last = g.step
		case t.OnPath(at):
			last = g.active
		default:
			last = g.orphan
		}
	case RowBranch:
		if lane == depth {
			if row == int(t.end) {
				dst = append(dst, g.lastBranch...)
			} else {
				dst = append(dst, g.branch...)
			}
		}
		last = g.turn
	case RowBreak:
		last = g.broken
	case RowGap:
		last = " "
	}
	dst = append(dst, last...)
	dst = append(dst, ' ')
	for ; used < lanes; used++ {
		dst = append(dst, g.blank...)
	}
	return dst
}
