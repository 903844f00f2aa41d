package old

import (
	"hindcast/model"
	"hindcast/store/lineage"
)

// headers returns the rows of a place.
func (h *history) headers() []model.Header {
	head := h.head()
	headers := make([]model.Header, 0, len(h.items))
	for i := range h.items {
		if i == h.latest && h.same >= 0 {
			continue
		}
		header := h.header(i)
		header.Head = i == head
		header.Orphaned = head < 0 // an SDK starts from nothing
		switch it := &h.items[i]; {
		case it.back:
			header.Reason = overwritten
		case it.Problem != "":
			header.Reason = failedLeaf
		case head < 0:
			header.Reason = pointer
		}
		headers = append(headers, header)
	}
	model.Settle(headers, model.HeadFacts{Moves: h.moves(), Pointed: true})
	return headers
}

// What a place alone knows of a row that is off the path.
var (
	overwritten = &model.Reason{Kind: model.ReasonOverwritten}
	failedLeaf  = &model.Reason{Kind: model.ReasonFailedLeaf}
	pointer     = &model.Reason{Kind: model.ReasonPointer}
)

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
