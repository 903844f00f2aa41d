package model

import "hash/maphash"

// edge tells how the parent that a header names was resolved.
type edge uint8

const (
	edgeWhole   edge = iota // it was found, or none is named
	edgeMissing             // no header has it
	edgeForeign             // only a header of another session has it
	edgeSelf                // the header names itself
	edgeCycle               // it was cut, to open a circle
)

// visitKey names a visit by its number.
type visitKey struct {
	session string
	visit   int64
}

// resolveAll finds the parent of every header.
//
// A header that names a visit follows that visit. One that names an id follows
// the latest earlier visit of it, so that A, B, A, C is one line; where none
// is earlier, the first later one, because some stores do not list parents
// first. What then still runs in a circle is cut open.
func (t *Timeline) resolveAll() {
	n := t.Len()
	t.parent = make([]Node, n, t.capacity())
	t.flags = make([]flags, n, t.capacity())
	t.ids = newIDTable()
	for i := range t.Len() {
		t.resolveParent(Node(i))
	}
	if t.broken > 0 {
		t.resolveLater()
	}
	t.broken = 0
	for i := range t.Len() {
		t.settleEdge(Node(i))
	}
	if t.tangled {
		t.cutCircles()
	}
}

// resolveParent finds the parent of n: by its visit among all headers, by its id
// among those before n. It gives n its name.
func (t *Timeline) resolveParent(n Node) {
	session := t.headers.session(int(n))
	parentVisit, orphaned, traced := t.headers.treeFacts(int(n))
	if orphaned {
		t.flags[n] |= flagOrphan
	}
	if traced {
		t.flags[n] |= flagTraced
	}
	parent, state := NoNode, edgeWhole
	if parentVisit != 0 {
		parent = t.findVisit(session, parentVisit, n)
		switch parent {
		case NoNode:
			state = edgeMissing
		case n:
			parent, state = NoNode, edgeSelf
		}
	} else if id := t.headers.parentID(int(n)); id != "" {
		prev := n - 1
		if prev >= 0 && t.headers.id(int(prev)) == id && t.headers.session(int(prev)) == session {
			parent = prev
		} else {
			parent = t.ids.findNode(t, int(n), session, id)
		}
		if parent == NoNode {
			state = edgeMissing
			if id == t.headers.id(int(n)) {
				state = edgeSelf
			}
		}
	}
	t.parent[n] = parent
	t.flags[n] |= flags(state) << edgeShift
	if state == edgeMissing {
		t.broken++
	}
	t.giveName(n)
}

// resolveLater looks for the parents that were not found among the headers
// that come after their children, and in other sessions.
func (t *Timeline) resolveLater() {
	firsts, anywhere := newIDTable(), newIDTable()
	firsts.keepFirst, anywhere.anySession = true, true
	for i := range t.Len() {
		if t.flags[i].edge() != edgeMissing {
			continue
		}
		h := t.Header(Node(i))
		if h.ParentVisit != 0 {
			continue
		}
		t.flags[i] &^= flags(edgeMissing) << edgeShift
		t.parent[i] = firsts.findNode(t, t.Len(), h.SessionID, h.ParentID)
		if t.parent[i] != NoNode {
			continue
		}
		state := edgeMissing
		if anywhere.findNode(t, t.Len(), "", h.ParentID) != NoNode {
			state = edgeForeign
		}
		t.flags[i] |= flags(state) << edgeShift
	}
}

// settleEdge counts what the edge of n means for the whole tree.
func (t *Timeline) settleEdge(n Node) {
	if t.parent[n] > n {
		t.tangled = true
	}
	if state := t.flags[n].edge(); state == edgeMissing || state == edgeForeign {
		t.broken++
	}
}

// cutCircles opens each circle of parents at its first node by index, time and
// id, which becomes a root. Each walk up stops where one has been before, so
// that every node is passed once.
func (t *Timeline) cutCircles() {
	walks := make([]int32, len(t.parent))
	for i := range t.parent {
		walk, at := int32(i)+1, Node(i)
		for at != NoNode && walks[at] == 0 {
			walks[at] = walk
			at = t.parent[at]
		}
		if at == NoNode || walks[at] != walk {
			continue
		}
		lowest := at
		for n := t.parent[at]; n != at; n = t.parent[n] {
			if t.compareNodes(n, lowest) < 0 {
				lowest = n
			}
		}
		t.parent[lowest] = NoNode
		t.flags[lowest] |= flags(edgeCycle) << edgeShift
	}
}

// linkAll makes the lists of children.
func (t *Timeline) linkAll() {
	n, room := t.Len(), t.capacity()
	t.first, t.last, t.next = make([]Node, n, room), make([]Node, n, room), make([]Node, n, room)
	for i := range n {
		t.first[i], t.last[i], t.next[i] = NoNode, NoNode, NoNode
	}
	for i := range n {
		t.linkChild(Node(i))
	}
	t.drawing.resetNodes(n, room)
}

// linkChild adds n to the children of its parent, or to the roots.
func (t *Timeline) linkChild(n Node) {
	p := t.parent[n]
	if !t.IsStep(n) {
		t.stored++
	}
	if p == NoNode {
		t.roots = append(t.roots, n)
		return
	}
	if t.first[p] == NoNode {
		t.first[p] = n
	} else {
		t.next[t.last[p]] = n
	}
	t.last[p] = n
	if t.IsStep(n) {
		return
	}
	if t.isEnd(n) {
		t.ends = append(t.ends, n)
	}
	if t.flags[n]&flagOrphan != 0 {
		return
	}
	for t.flags[p]&flagLive == 0 {
		t.flags[p] |= flagLive
		if !t.IsStep(p) || t.parent[p] == NoNode {
			break
		}
		p = t.parent[p]
	}
}

// findVisit returns the node of a visit of a session, or NoNode. Most stores number
// them one by one, and most visits follow the one before them.
func (t *Timeline) findVisit(session string, number int64, near Node) Node {
	fits := func(n int64) bool {
		if n < 0 || n >= int64(t.Len()) {
			return false
		}
		return t.headers.visit(int(n)) == number && t.headers.session(int(n)) == session
	}
	if before := int64(near) - 1; fits(before) {
		return Node(before)
	}
	if guess := number - t.headers.visit(0); fits(guess) {
		return Node(guess)
	}
	if t.visits == nil {
		t.visits = make(map[visitKey]Node, t.Len())
	}
	for ; int(t.visitsTo) < t.Len(); t.visitsTo++ {
		i := int(t.visitsTo)
		if key := (visitKey{t.headers.session(i), t.headers.visit(i)}); key.visit != 0 {
			if _, taken := t.visits[key]; !taken {
				t.visits[key] = t.visitsTo
			}
		}
	}
	if n, ok := t.visits[visitKey{session, number}]; ok {
		return n
	}
	return NoNode
}

// mendsEdge reports whether n, the newest node, is a parent for which an edge has
// been waiting.
func (t *Timeline) mendsEdge(n Node) bool {
	if t.broken == 0 {
		return false
	}
	if t.awaited == nil {
		t.awaited = make(map[uint64]bool)
		for i := range n {
			t.awaitParent(i)
		}
	}
	t.awaitParent(n)
	h := t.Header(n)
	return t.awaited[maphash.String(t.ids.seed, h.ID)] ||
		h.Visit != 0 && t.awaited[maphash.Comparable(t.ids.seed, visitKey{h.SessionID, h.Visit})]
}

// awaitParent notes what the edge of n waits for, if it is broken.
func (t *Timeline) awaitParent(n Node) {
	h := t.Header(n)
	switch state := t.flags[n].edge(); {
	case state != edgeMissing && state != edgeForeign:
	case h.ParentVisit != 0:
		t.awaited[maphash.Comparable(t.ids.seed, visitKey{h.SessionID, h.ParentVisit})] = true
	default:
		t.awaited[maphash.String(t.ids.seed, h.ParentID)] = true
	}
}

// idTable finds the node of an id in a session: an open hash table of
// positions, so that a million ids cost 16 MB and no garbage. It takes headers
// in when it is asked for one, so that a session whose edges all lead to the
// header before, or to a visit, never fills it.
//
// Each slot holds 32 bits of the hash above the node's number plus one; 0 is an
// empty slot. The seed is random, so that no one can prepare ids that collide.
type idTable struct {
	slots      []uint64
	taken      int // headers that are in
	seed       maphash.Seed
	anySession bool // the session is no part of the key
	keepFirst  bool // of several nodes of an id the first counts, not the latest

	// The hash of the session asked for last; nearly always the only one.
	session     string
	sessionHash uint64
}

func newIDTable() idTable { return idTable{seed: maphash.MakeSeed()} }

// findNode returns the node of an id among the first n headers, or NoNode. n never falls.
func (d *idTable) findNode(t *Timeline, n int, session, id string) Node {
	headers := &t.headers
	if 2*n >= len(d.slots) {
		d.growTable(2 * t.capacity()) // there is room where more will come
	}
	for ; d.taken < n; d.taken++ {
		at, tag := d.findSlot(headers, headers.session(d.taken), headers.id(d.taken))
		if d.slots[at] == 0 || !d.keepFirst {
			d.slots[at] = tag<<32 | uint64(d.taken+1)
		}
	}
	at, _ := d.findSlot(headers, session, id)
	return Node(uint32(d.slots[at])) - 1
}

// findSlot returns the place of an id: the slot that holds it, or the empty one in
// which it belongs, and its 32 bits of hash.
func (d *idTable) findSlot(headers *Headers, session, id string) (at, tag uint64) {
	hash := maphash.String(d.seed, id)
	if !d.anySession {
		if session != d.session {
			d.session, d.sessionHash = session, maphash.String(d.seed, session)
		}
		hash ^= d.sessionHash
	}
	tag = hash >> 32
	mask := uint64(len(d.slots) - 1)
	for at = tag & mask; d.slots[at] != 0; at = (at + 1) & mask {
		if d.slots[at]>>32 != tag {
			continue
		}
		i := int(uint32(d.slots[at])) - 1
		if headers.id(i) == id && (d.anySession || headers.session(i) == session) {
			break
		}
	}
	return at, tag
}

// growTable gives the table more than size slots. All keys in it differ, so no id
// need be looked at.
func (d *idTable) growTable(size int) {
	slots := max(16, len(d.slots))
	for slots <= size {
		slots *= 2
	}
	old := d.slots
	d.slots = make([]uint64, slots)
	mask := uint64(slots - 1)
	for _, slot := range old {
		if slot == 0 {
			continue
		}
		at := slot >> 32 & mask
		for d.slots[at] != 0 {
			at = (at + 1) & mask
		}
		d.slots[at] = slot
	}
}
