package strandssnapshots

import (
	"hindcast/model"
	"hindcast/store/lineage"
)

// headers gives the rows of a place.
func (h *history) headers() []model.Header {
	head := h.head()
	reasons := h.reasons()
	headers := make([]model.Header, 0, len(h.items))
	for i := range h.items {
		if i == h.latest && h.same >= 0 {
			continue
		}
		header := h.header(i)
		header.Head = i == head
		if reasons[i] != onPath {
			header.Orphaned, header.Reason = true, reasons[i]
		}
		headers = append(headers, header)
	}
	return headers
}

func (h *history) header(i int) model.Header {
	it := &h.items[i]
	header := model.Header{
		ID: it.id, SessionID: h.id, CreatedAt: it.created(), Index: h.index(i), TurnIndex: it.turns,
		Event: model.SnapshotEventNamed, Position: it.Position, Title: it.Title, Size: it.Size,
	}
	if it.Parent >= 0 {
		header.ParentID = h.items[it.Parent].id
		header.Marks |= model.MarkInferred
	}
	switch it.Event {
	case eventTurn:
		header.TurnIndex = max(0, header.TurnIndex-1) // the turn that ended is the one that it is in
		header.Event = model.SnapshotEventTurnEnd
		if it.How == lineage.Beginning && it.Shared == it.messages {
			header.Event, header.EventName = model.SnapshotEventNamed, eventAgain
		}
	case eventTools:
		header.Event = model.SnapshotEventToolIterationEnd
	default:
		header.EventName = it.Event
	}
	if it.failed {
		header.Marks |= model.MarkError
	}
	if it.Interrupted {
		header.Marks |= model.MarkInterrupted
	}
	if it.Problem != "" {
		header.Marks |= model.MarkDamaged
	}
	return header
}

// onPath stands for no reason: the row is on the path to the head.
var onPath = new(model.Reason)

// reasons gives why each item is off the path to the head: onPath where it is
// not, nil where the tree tells.
func (h *history) reasons() []*model.Reason {
	head := h.head()
	reasons := make([]*model.Reason, len(h.items))
	// next is the item that follows on the path.
	next := make([]int, len(h.items))
	for i, child := head, -1; i >= 0; i, child = h.items[i].Parent, i {
		reasons[i], next[i] = onPath, child
	}
	pointer := &model.Reason{Kind: model.ReasonPointer}
	broken := &model.Reason{Kind: model.ReasonFailedLeaf}
	rewinds := make(map[int]*model.Reason)
	for i := range h.items {
		p := h.items[i].Parent
		switch {
		case reasons[i] == onPath:
		case h.items[i].Problem != "":
			reasons[i] = broken
		case head < 0 || p >= 0 && reasons[p] == onPath && next[p] < i:
			// The framework starts from what was there before.
			reasons[i] = pointer
		case p >= 0 && reasons[p] == onPath:
			// What is on the path was saved later, and goes on from before.
			if rewinds[p] == nil {
				rewinds[p] = &model.Reason{Kind: model.ReasonRewind, TargetID: h.items[p].id, TargetIndex: h.index(p)}
			}
			reasons[i] = rewinds[p]
		case p >= 0:
			reasons[i] = reasons[p]
		}
	}
	for i, why := range h.left() {
		if why != nil && reasons[i] != onPath {
			reasons[i] = why
		}
	}
	return reasons
}
