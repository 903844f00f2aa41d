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
	t.parent = make([]Node, n, cap(t.headers))
	t.flags = make([]flags, n, cap(t.headers))
	t.ids = newIDTable()
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

// resolve finds the parent of n: by its visit among all headers, by its id
// among those before n. It gives n its name.
func (t *Timeline) resolve(n Node) {
	h := &t.headers[n]
	if h.Orphaned {
		t.flags[n] |= flagOrphan
	}
	if h.Marks.Has(MarkTraced) {
		t.flags[n] |= flagTraced
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
		parent = t.ids.find(t.headers[:n], h.SessionID, h.ParentID)
		if parent == NoNode {
			state = edgeMissing
			if h.ParentID == h.ID {
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
	n, room := len(t.headers), cap(t.headers)
	t.first, t.last, t.next = make([]Node, n, room), make([]Node, n, room), make([]Node, n, room)
	for i := range n {
		t.first[i], t.last[i], t.next[i] = NoNode, NoNode, NoNode
	}
	for i := range n {
		t.link(Node(i))
	}
	t.drawing.reset(n, room)
}

// link adds n to the children of its parent, or to the roots.
func (t *Timeline) link(n Node) {
	p := t.parent[n]
	if !t.traced(n) {
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
	if t.traced(n) {
		return
	}
	if t.traced(p) {
		t.ends = append(t.ends, n)
	}
	if t.flags[n]&flagOrphan != 0 {
		return
	}
	for t.flags[p]&flagLive == 0 {
		t.flags[p] |= flagLive
		if !t.traced(p) || t.parent[p] == NoNode {
			break
		}
		p = t.parent[p]
	}
}

// visit returns the node of a visit of a session, or NoNode. Most stores number
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

// find returns the node of an id among the headers, or NoNode. Every call gets
// the headers of the one before, and maybe more.
func (d *idTable) find(headers []Header, session, id string) Node {
	if 2*len(headers) >= len(d.slots) {
		d.grow(2 * cap(headers)) // there is room where more will come
	}
	for ; d.taken < len(headers); d.taken++ {
		h := &headers[d.taken]
		at, tag := d.slot(headers, h.SessionID, h.ID)
		if d.slots[at] == 0 || !d.keepFirst {
			d.slots[at] = tag<<32 | uint64(d.taken+1)
		}
	}
	at, _ := d.slot(headers, session, id)
	return Node(uint32(d.slots[at])) - 1
}

// slot returns the place of an id: the slot that holds it, or the empty one in
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

// grow gives the table more than size slots. All keys in it differ, so no id
// need be looked at.
func (d *idTable) grow(size int) {
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
