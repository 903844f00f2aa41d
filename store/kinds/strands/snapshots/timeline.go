package snapshots

import (
	"hindcast/model"
	"hindcast/store/engine"
	"hindcast/store/kinds/strands/lineage"
)

// buildLog returns the rows of a place.
func (h *history) buildLog(at engine.Place) *engine.Log {
	head := h.headPosition()
	log := &engine.Log{Place: at, Head: -1, Pointed: true, Empty: h.gone == nil, Own: h, Aside: map[string]*engine.Aside{}, Written: h.writtenAt()}
	for i := range h.items {
		if i == h.at && h.same >= 0 {
			continue
		}
		it, header := &h.items[i], h.newHeader(i)
		header.Orphaned = head < 0 // an SDK starts from nothing
		switch {
		case it.aside != nil && it.aside.How == engine.BroughtBack:
			header.Reason = overwritten
		case it.Problem != "":
			header.Reason = failedLeaf
		case head < 0:
			header.Reason = pointer
		}
		if i == head {
			log.Head = len(log.Rows)
		}
		if it.aside != nil {
			log.Aside[it.id] = it.aside
		}
		log.Rows, log.Files, log.Contents = append(log.Rows, header), append(log.Files, h.storageName(it.name)), append(log.Contents, it.Sum)
	}
	return log
}

// writtenAt returns when snapshot_latest.json was written, which an agent at work does with
// each save.
func (h *history) writtenAt() []engine.Written {
	at, err := h.in.Stamp(h.storageName(latestFile))
	if err != nil {
		return nil
	}
	return []engine.Written{{Name: h.storageName(latestFile), At: at.Modified}}
}

func (h *history) newHeader(i int) model.Header {
	it := &h.items[i]
	header := model.Header{
		ID: it.id, SessionID: h.id, CreatedAt: it.createdAt(), Index: h.indexOf(i), TurnIndex: it.turns,
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
