package model

import "slices"

// Why a snapshot is off the path is decided here and in [Timeline.Reason] alone. A kind states facts. Its
// headers name the parent and the head. Orphaned is set where no framework sees a row, whatever leads to
// it. Reason is the reason that only the kind knows, if the row is off the path. HeadFacts describe the
// moves of the head.

// HeadFacts are the facts that a kind knows about the head of a session.
type HeadFacts struct {
	// Moves are the writes that put the head elsewhere, the oldest first.
	Moves []Move
	// Pointed says that the framework names its head itself, and so may pass over
	// newer rows.
	Pointed bool
	// Newest says that the last row is the head, and that each was when it was
	// recorded: a row that does not follow the one before it put the head elsewhere. One
	// of the moves to it says why, if there is one.
	Newest bool
}

// Move is one write that put the head of a session elsewhere. From and To are the
// ids of the heads before and after it, or "".
type Move struct {
	From, To string
	Why      *Reason
}

// Settle fills in Orphaned and Reason of the headers of one session, which come in the order in which they
// were recorded, and returns their timeline as it is without that. A row is off the path if it does not
// lead to the head, or if it says so itself. The last of the moves that left a row tells why, else the
// row's own Reason, else the tree.
func Settle(headers []Header, facts HeadFacts) *Timeline {
	if n := len(headers); facts.Newest && n > 0 {
		headers[n-1].Head = true
		facts.Moves = toldBy(facts.Moves, movesOf(headers))
	}
	t := NewTimeline(headers)
	t.pointed = t.pointed && facts.Pointed
	left := t.leftBy(facts.Moves)
	shared := map[Reason]*Reason{}
	for i := range headers {
		h, n := &headers[i], Node(i)
		if t.OnPath(n) && !h.Orphaned {
			h.Reason = nil
			continue
		}
		h.Orphaned = true
		switch {
		case left != nil && left[n] != nil:
			h.Reason = left[n]
		case h.Reason == nil:
			r := t.Reason(n)
			r.TargetName = ""
			if shared[r] == nil {
				shared[r] = &r
			}
			h.Reason = shared[r]
		}
	}
	return t
}

// movesOf returns the moves of a head that is always the newest row.
func movesOf(headers []Header) (moves []Move) {
	index := make(map[string]int, len(headers))
	for i := range headers {
		h := &headers[i]
		if i > 0 && headers[i-1].ID != h.ParentID {
			why := Reason{Kind: ReasonWentOn, At: h.CreatedAt}
			if kind, named := moved[h.EventName]; named {
				why.Kind = kind
			}
			if at, ok := index[h.ParentID]; ok {
				why.TargetID, why.TargetIndex = h.ParentID, at
			}
			moves = append(moves, Move{From: headers[i-1].ID, To: h.ID, Why: &why})
		}
		index[h.ID] = h.Index
	}
	return moves
}

// toldBy returns moves with the reasons of the told moves to the same rows.
func toldBy(told, moves []Move) []Move {
	for _, m := range told {
		if i := slices.IndexFunc(moves, func(of Move) bool { return of.To == m.To }); i >= 0 {
			moves[i].Why = m.Why
		}
	}
	return moves
}

// leftBy returns for each node the reason of the last move that left it: that is on
// the path to From and not on that to To, and did not come back since. It is nil
// without moves.
func (t *Timeline) leftBy(moves []Move) []*Reason {
	if len(moves) == 0 || t.Len() == 0 {
		return nil
	}
	left, to := make([]*Reason, t.Len()), make([]int, t.Len())
	for i, m := range moves {
		for n := t.latestOf(m.To); n != NoNode; n = t.parent[n] {
			left[n], to[n] = nil, i+1
		}
		for n := t.latestOf(m.From); n != NoNode && to[n] != i+1; n = t.parent[n] {
			left[n] = m.Why
		}
	}
	return left
}

// latestOf returns the latest node of an id, or NoNode.
func (t *Timeline) latestOf(id string) Node {
	if id == "" {
		return NoNode
	}
	return t.ids.findNode(t, t.Len(), t.headers.session(0), id)
}

// Count puts into the info what the headers of a session tell: how many snapshots it
// has, how many of them are off the path, and the head. Steps are no snapshots.
func (i *SessionInfo) Count(headers []Header) {
	for k := range headers {
		h := &headers[k]
		if h.Marks.Has(MarkTraced) {
			continue
		}
		i.Snapshots++
		if h.Orphaned {
			i.Orphaned++
		}
		if h.Head {
			i.Head = h.Point()
		}
	}
}
