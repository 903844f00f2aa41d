package model

import "hash/maphash"

// edge is what came of the parent that a header names.
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
	n := len(t.headers)
	t.parent = make([]Node, n)
	t.flags = make([]flags, n)
	t.ids = newIDTable(n)
	for i := range t.headers {
		t.resolve(Node(i))
	}
	if t.broken > 0 {
		t.resolveLater()
	}
	t.broken = 0
	for i := range t.headers {
		t.settleEdge(Node(i))
	}
	if t.tangled {
		t.cutCircles()
	}
}

// resolve finds the parent of n among the headers up to n (a visit, anywhere)
// and lets n be found by those after it.
func (t *Timeline) resolve(n Node) {
	h := &t.headers[n]
	if h.Orphaned {
		t.flags[n] |= flagOrphan
	}
	parent, state := NoNode, edgeWhole
	switch {
	case h.ParentVisit != 0:
		parent = t.visit(h.SessionID, h.ParentVisit, n)
		switch parent {
		case NoNode:
			state = edgeMissing
		case n:
			parent, state = NoNode, edgeSelf
		}
	case h.ParentID != "":
		if prev := n - 1; prev >= 0 && t.headers[prev].ID == h.ParentID && t.headers[prev].SessionID == h.SessionID {
			parent = prev
			break
		}
		parent = t.ids.find(t.headers, h.SessionID, h.ParentID)
		if parent == NoNode {
			state = edgeMissing
			if h.ParentID == h.ID {
				state = edgeSelf
			}
		}
	}
	t.ids.put(t.headers, n)
	t.parent[n] = parent
	t.flags[n] |= flags(state) << edgeShift
	if state == edgeMissing {
		t.broken++
	}
}

// resolveLater looks for the parents that were not found among the headers
// that come after their children, and in other sessions.
func (t *Timeline) resolveLater() {
	firsts, anywhere := newIDTable(len(t.headers)), newIDTable(len(t.headers))
	anywhere.anySession = true
	for i := range t.headers {
		h := &t.headers[i]
		if firsts.find(t.headers, h.SessionID, h.ID) == NoNode {
			firsts.put(t.headers, Node(i))
		}
		anywhere.put(t.headers, Node(i))
	}
	for i := range t.headers {
		h := &t.headers[i]
		if t.flags[i].edge() != edgeMissing || h.ParentVisit != 0 {
			continue
		}
		t.flags[i] &^= flags(edgeMissing) << edgeShift
		t.parent[i] = firsts.find(t.headers, h.SessionID, h.ParentID)
		if t.parent[i] != NoNode {
			continue
		}
		state := edgeMissing
		if anywhere.find(t.headers, "", h.ParentID) != NoNode {
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
			if t.compare(n, lowest) < 0 {
				lowest = n
			}
		}
		t.parent[lowest] = NoNode
		t.flags[lowest] |= flags(edgeCycle) << edgeShift
	}
}

// linkAll makes the lists of children.
func (t *Timeline) linkAll() {
	n := len(t.headers)
	t.first, t.last, t.next = make([]Node, n), make([]Node, n), make([]Node, n)
	for i := range n {
		t.first[i], t.last[i], t.next[i] = NoNode, NoNode, NoNode
	}
	for i := range n {
		t.link(Node(i))
	}
	t.drawing.reset(n)
}

// link adds n to the children of its parent, or to the roots.
func (t *Timeline) link(n Node) {
	p := t.parent[n]
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
	if t.flags[n]&flagOrphan == 0 {
		t.flags[p] |= flagLive
	}
}

// visit gives the node of a visit of a session, or NoNode. Most stores number
// them one by one, and most visits follow the one before them.
func (t *Timeline) visit(session string, number int64, near Node) Node {
	fits := func(n int64) bool {
		if n < 0 || n >= int64(len(t.headers)) {
			return false
		}
		return t.headers[n].Visit == number && t.headers[n].SessionID == session
	}
	if before := int64(near) - 1; fits(before) {
		return Node(before)
	}
	if guess := number - t.headers[0].Visit; fits(guess) {
		return Node(guess)
	}
	if t.visits == nil {
		t.visits = make(map[visitKey]Node, len(t.headers))
	}
	for ; int(t.visitsTo) < len(t.headers); t.visitsTo++ {
		h := &t.headers[t.visitsTo]
		if key := (visitKey{h.SessionID, h.Visit}); h.Visit != 0 {
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

// mends reports whether n, the newest node, is a parent for which an edge has
// been waiting.
func (t *Timeline) mends(n Node) bool {
	if t.broken == 0 {
		return false
	}
	if t.awaited == nil {
		t.awaited = make(map[uint64]bool)
		for i := range n {
			t.await(i)
		}
	}
	t.await(n)
	h := &t.headers[n]
	return t.awaited[maphash.String(t.ids.seed, h.ID)] ||
		h.Visit != 0 && t.awaited[maphash.Comparable(t.ids.seed, visitKey{h.SessionID, h.Visit})]
}

// await notes what the edge of n waits for, if it is broken.
func (t *Timeline) await(n Node) {
	h := &t.headers[n]
	switch state := t.flags[n].edge(); {
	case state != edgeMissing && state != edgeForeign:
	case h.ParentVisit != 0:
		t.awaited[maphash.Comparable(t.ids.seed, visitKey{h.SessionID, h.ParentVisit})] = true
	default:
		t.awaited[maphash.String(t.ids.seed, h.ParentID)] = true
	}
}

// idTable finds the latest node of an id in a session: an open hash table of
// positions, so that a million ids cost 16 MB and no garbage. Each slot holds
// 32 bits of the hash above the node's number plus one; 0 is an empty slot.
// The seed is random, so that no one can prepare ids that collide.
type idTable struct {
	slots      []uint64
	used       int
	seed       maphash.Seed
	anySession bool // the session is no part of the key

	// The hash of the session asked for last; nearly always the only one.
	session     string
	sessionHash uint64
}

func newIDTable(n int) idTable {
	size := 16
	for size < 2*n {
		size *= 2
	}
	return idTable{slots: make([]uint64, size), seed: maphash.MakeSeed()}
}

// slot gives the place of an id: the slot that holds it, or the empty one in
// which it belongs, and its 32 bits of hash.
func (d *idTable) slot(headers []Header, session, id string) (at, tag uint64) {
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
		h := &headers[uint32(d.slots[at])-1]
		if h.ID == id && (d.anySession || h.SessionID == session) {
			break
		}
	}
	return at, tag
}

// find gives the node of an id, or NoNode.
func (d *idTable) find(headers []Header, session, id string) Node {
	at, _ := d.slot(headers, session, id)
	return Node(uint32(d.slots[at])) - 1
}

// put makes n the node of its id.
func (d *idTable) put(headers []Header, n Node) {
	if 2*d.used >= len(d.slots) {
		d.grow()
	}
	at, tag := d.slot(headers, headers[n].SessionID, headers[n].ID)
	if d.slots[at] == 0 {
		d.used++
	}
	d.slots[at] = tag<<32 | uint64(n+1)
}

// grow doubles the table. All keys differ, so no id need be looked at.
func (d *idTable) grow() {
	old := d.slots
	d.slots = make([]uint64, 2*len(old))
	mask := uint64(len(d.slots) - 1)
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
