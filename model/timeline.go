package model

import (
	"cmp"
	"iter"
)

// Node is the position of a header in the order in which a [Timeline] got it.
// It stays the same while headers are appended.
type Node int32

// NoNode stands where there is no node.
const NoNode Node = -1

// Timeline is all visits of a session as a tree, with the path that leads to
// its head and a place on the screen for each of them.
//
// The active path is the line from a root to the head. The head is the header
// that says so (the last one, if several do), else the last visit by
// [CompareHeaders] that is not orphaned and has no child that is not.
//
// Headers with [MarkTraced] are steps: they stand on the line to the snapshot
// that their turn ended in, and are abandoned with it. They are no snapshots, so
// none of them is the head unless it says so, and what is said about snapshots,
// their number and their parents, looks through them.
//
// Everything is decided when headers come in, in time and memory that are
// linear in their number, whatever is wrong with their lineage; what is wrong
// is told by [Timeline.Faults]. Reading is then cheap, and safe for concurrent
// use as long as nothing is appended. The methods that take a Node or a row
// panic when it is out of range.
type Timeline struct {
	headers Headers
	room    int // headers for which the slices are made at once
	ids     idTable
	awaited map[uint64]bool // keys that broken edges wait for; nil until wanted

	// The visits up to visitsTo by number; nil until one must be searched for.
	visits   map[visitKey]Node
	visitsTo Node

	// The tree. Children are linked in recorded order.
	parent, first, last, next []Node
	roots                     []Node
	flags                     []flags
	tangled                   bool // a parent was recorded after its child
	broken                    int  // edges that a later header could mend

	// The path.
	head    Node
	pointed bool // a header said that it is the head
	onPath  int  // snapshots on the path

	// stored counts the snapshots, which are all visits but the steps; ends are the snapshots whose rows may stand
	// for that of their parent, in recorded order, see isEnd.
	stored int
	ends   []Node

	labels map[Node][]Label

	names
	drawing
}

// flags packs into one byte for each node: four facts, and the state of the edge to its parent.
type flags uint8

const (
	flagPath   flags = 1 << iota // on the active path
	flagOrphan                   // its header says that it is orphaned
	flagLive                     // a snapshot that is not orphaned follows, maybe after steps
	flagTraced                   // a step and no snapshot
	edgeShift  = 4
)

func (f flags) edge() edge { return edge(f >> edgeShift) }

// NewTimeline builds the timeline of one session. The headers come in the
// order in which they were recorded; it keeps copies of them. It has room for as many
// more as the slice has capacity left, see [Headers.Timeline].
func NewTimeline(headers []Header) *Timeline {
	var all Headers
	for i := range headers {
		all.Add(&headers[i])
	}
	return all.Timeline(cap(headers) - len(headers))
}

// Timeline builds the timeline of one session of its headers, which it takes over: none
// are left. While fewer than so many were appended, one that extends the path is taken in
// without copying anything.
func (g *Headers) Timeline(spare int) *Timeline {
	g.closePage()
	t := &Timeline{headers: *g, room: g.n + spare, head: NoNode}
	*g = Headers{}
	t.buildAll()
	return t
}

// buildAll works everything out from the headers alone.
func (t *Timeline) buildAll() {
	t.resolveAll()
	t.linkAll()
	t.moveHead(t.findHead())
	t.layOut(NoNode)
}

// Append adds headers that were recorded after those that the timeline has.
// It keeps a copy of each. A child of the head that becomes the head takes
// constant time; anything else redraws, once for each call, what is below the
// place where it leaves the active path. A parent that comes after its child
// makes everything anew, once for each call.
//
// Only what the new headers say is taken in: after a restore, which changes
// the flags of earlier headers, a new timeline must be made.
func (t *Timeline) Append(headers ...Header) {
	mend, redraw, from := false, false, NoNode
	for i := range headers {
		n := t.addHeader(&headers[i])
		mend = mend || t.mendsEdge(n)
		if t.extendHead(n) {
			continue
		}
		at := t.graftNode(n)
		if !redraw || at == NoNode || from != NoNode && t.row[at] < t.row[from] {
			from = at
		}
		redraw = true
	}
	switch {
	case mend:
		*t = Timeline{headers: t.headers, room: t.room, head: NoNode, labels: t.labels, drawing: drawing{changes: t.changes}}
		t.buildAll()
	case redraw:
		t.layOut(from)
	}
	t.headers.closePage()
}

// addHeader takes in one header, with its edge, but gives it no place yet.
func (t *Timeline) addHeader(h *Header) Node {
	n := Node(t.Len())
	t.headers.Add(h)
	t.parent = append(t.parent, NoNode)
	t.first = append(t.first, NoNode)
	t.last = append(t.last, NoNode)
	t.next = append(t.next, NoNode)
	t.flags = append(t.flags, 0)
	t.drawing.addNode()
	t.resolveParent(n)
	t.settleEdge(n)
	t.linkChild(n)
	return n
}

// extendHead draws n at once when it is the head's new child and the new head,
// and reports whether it was.
func (t *Timeline) extendHead(n Node) bool {
	p := t.parent[n]
	if p == NoNode || p != t.head || !t.takesHead(n) {
		return false
	}
	t.noteHead(n)
	t.keep[p] = n
	t.flags[n] |= flagPath
	t.countOnPath(n, +1)
	t.head = n
	t.drawNewHead(n)
	return true
}

// graftNode takes n into the tree anywhere else and returns the node on the active
// path below which the drawing changes; NoNode if all of it does.
func (t *Timeline) graftNode(n Node) Node {
	if t.takesHead(n) {
		t.noteHead(n)
		return t.moveHead(n)
	}
	at := t.parent[n]
	if at != NoNode && !t.pointed && t.flags[n]&flagOrphan == 0 && !t.IsStep(n) && t.snapshotOf(at) == t.head {
		// n comes before its parent in order, and that is no leaf any more.
		return t.moveHead(t.findHead())
	}
	for at != NoNode && t.flags[at]&flagPath == 0 {
		at = t.parent[at]
	}
	return at
}

// takesHead reports whether the newest node becomes the head.
func (t *Timeline) takesHead(n Node) bool {
	h := t.Header(n)
	switch {
	case h.Head:
		return true
	case t.pointed || h.Orphaned || t.IsStep(n):
		return false
	}
	return t.head == NoNode || t.compareNodes(n, t.head) > 0
}

// noteHead takes the mark of the head from the header that had it, if n bears
// it now.
func (t *Timeline) noteHead(n Node) {
	if !t.headers.isHead(int(n)) {
		return
	}
	if t.pointed {
		t.headers.setHead(int(t.head), false)
	}
	t.pointed = true
}

// findHead chooses the head among all headers.
func (t *Timeline) findHead() Node {
	head := NoNode
	for i := range t.Len() {
		if t.headers.isHead(i) {
			head, t.pointed = Node(i), true
		}
	}
	if t.pointed {
		return head
	}
	for i, f := range t.flags {
		if f&(flagOrphan|flagLive) == 0 && !t.IsStep(Node(i)) && (head == NoNode || t.compareNodes(Node(i), head) > 0) {
			head = Node(i)
		}
	}
	return head
}

// moveHead makes n the head and returns the node where the new path leaves the
// old one; NoNode where they have nothing in common.
func (t *Timeline) moveHead(n Node) Node {
	child, at := NoNode, n
	for at != NoNode && t.flags[at]&flagPath == 0 {
		t.flags[at] |= flagPath
		t.countOnPath(at, +1)
		t.keep[at] = child
		child, at = at, t.parent[at]
	}
	if at != NoNode {
		t.keep[at] = child
	}
	for old := t.head; old != at; old = t.parent[old] {
		t.flags[old] &^= flagPath
		t.countOnPath(old, -1)
	}
	t.head = n
	return at
}

// countOnPath notes that n came to the path, or left it.
func (t *Timeline) countOnPath(n Node, by int) {
	if !t.IsStep(n) {
		t.onPath += by
	}
}

// IsStep reports whether n is a step and no snapshot.
func (t *Timeline) IsStep(n Node) bool { return t.flags[n]&flagTraced != 0 }

// snapshotOf returns n, or if it is a step the snapshot before it, or NoNode.
func (t *Timeline) snapshotOf(n Node) Node {
	for n != NoNode && t.IsStep(n) {
		n = t.parent[n]
	}
	return n
}

// CompareHeaders returns the order of the snapshots of a session: by Index, then
// CreatedAt, then ID. It is negative when a comes before b.
func CompareHeaders(a, b *Header) int {
	return cmp.Or(cmp.Compare(a.Index, b.Index), a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
}

// compareNodes is CompareHeaders, with the recorded order as the last word.
func (t *Timeline) compareNodes(a, b Node) int {
	ha, hb := t.Header(a), t.Header(b)
	return cmp.Or(CompareHeaders(&ha, &hb), cmp.Compare(a, b))
}

// Len returns the number of visits.
func (t *Timeline) Len() int { return t.headers.n }

// capacity is for how many headers slices are made.
func (t *Timeline) capacity() int { return max(t.room, t.Len()) }

// Room returns how many headers may be appended before something is copied.
func (t *Timeline) Room() int { return t.capacity() - t.Len() }

// Snapshots counts the visits of snapshots: all but the steps.
func (t *Timeline) Snapshots() int { return t.stored }

// Header returns the header of a node.
func (t *Timeline) Header(n Node) Header { return t.headers.At(int(n)) }

// FullHeader returns a copy of the header of a node completed from the timeline: Head on the head alone, and
// the Reason where it is off the path.
func (t *Timeline) FullHeader(n Node) Header {
	h := t.Header(n)
	h.Head, h.Reason = n == t.head, nil
	if !t.OnPath(n) {
		reason := t.Reason(n)
		h.Reason = &reason
	}
	return h
}

// Parent returns the node before n in its lineage, or NoNode for a root.
func (t *Timeline) Parent(n Node) Node { return t.parent[n] }

// Base returns the node with which n is compared by default: its parent, but for a snapshot the snapshot
// before it, whatever steps there are in between. It is NoNode if there is no such node.
func (t *Timeline) Base(n Node) Node {
	if t.IsStep(n) {
		return t.parent[n]
	}
	return t.snapshotOf(t.parent[n])
}

// EndOf returns n, or if it is a step the snapshot that its turn ended in: the first in the direction of
// Next. It is NoNode if there is no such snapshot.
func (t *Timeline) EndOf(n Node) Node {
	for n != NoNode && t.IsStep(n) {
		n = t.keep[n]
	}
	return n
}

// Children returns the nodes that follow n, in recorded order.
func (t *Timeline) Children(n Node) iter.Seq[Node] {
	return func(yield func(Node) bool) {
		for c := t.first[n]; c != NoNode; c = t.next[c] {
			if !yield(c) {
				return
			}
		}
	}
}

// Head returns the node from which the framework would resume, or NoNode if there is no such node.
func (t *Timeline) Head() Node { return t.head }

// OnPath reports whether n is on the active path.
func (t *Timeline) OnPath(n Node) bool { return t.flags[n]&flagPath != 0 }

// Orphans counts the visits of snapshots that are off the active path.
func (t *Timeline) Orphans() int { return t.stored - t.onPath }

// Next returns the step after n: its child on the active path, or off the path
// the child with the most behind it. It is NoNode at the head and at a leaf.
func (t *Timeline) Next(n Node) Node { return t.keep[n] }

// Prev returns the step before n, or NoNode at a root.
func (t *Timeline) Prev(n Node) Node { return t.parent[n] }

// BranchPoint reports whether a branch leaves at n: it has a child besides
// Next.
func (t *Timeline) BranchPoint(n Node) bool {
	return t.first[n] != NoNode && (t.keep[n] == NoNode || t.first[n] != t.last[n])
}

// NextBranchPoint returns the first branch point after n in the direction of
// Next, or NoNode.
func (t *Timeline) NextBranchPoint(n Node) Node { return t.nextBranch[n] }

// Reason says why n is off the active path: what its header says, else what
// the tree tells. The Kind is then never ReasonUnknown. On the path it is the
// zero Reason.
//
// An orphaned visit was left by a restore to the place from which the session
// went on: the parent at which its lineage was first passed over.
//
// Where parents were worked out ([MarkInferred]) no branch was ever recorded: what
// was captured before the next snapshot on the line was cut off by a rewind.
//
// A step was left for the reason for which its snapshot was.
func (t *Timeline) Reason(n Node) Reason {
	if t.OnPath(n) {
		return Reason{}
	}
	h, left := t.Header(n), t.left[n]
	if h.Reason != nil && h.Reason.Kind != ReasonUnknown {
		r := *h.Reason
		if left >= 0 && r.TargetID == t.headers.id(int(left)) {
			r.TargetName = t.Name(left)
		}
		return r
	}
	if end := t.EndOf(n); end != n && end != NoNode {
		return t.Reason(end)
	}
	if left < 0 {
		switch t.flags[^left].edge() {
		case edgeMissing, edgeForeign:
			return Reason{Kind: ReasonParentPruned}
		case edgeSelf, edgeCycle:
			return Reason{Kind: ReasonCycle}
		}
	}
	switch {
	case h.Orphaned && left < 0:
		return Reason{Kind: ReasonRestore}
	case h.Orphaned:
		to := t.Header(left)
		return Reason{Kind: ReasonRestore, TargetID: to.ID, TargetIndex: to.Index, TargetName: t.Name(left)}
	case t.first[n] == NoNode && h.Marks.Has(MarkError):
		return Reason{Kind: ReasonFailedLeaf}
	case t.pointed && (t.row[n] > t.row[t.head] || t.compareNodes(n, t.head) > 0):
		return Reason{Kind: ReasonPointer}
	case left >= 0 && n < t.keep[left] && h.Marks.Has(MarkInferred):
		// Branches are not recorded: the session went back, and wrote on.
		to := t.Header(left)
		return Reason{Kind: ReasonRewind, TargetID: to.ID, TargetIndex: to.Index, TargetName: t.Name(left)}
	}
	return Reason{Kind: ReasonSecondLeaf}
}
