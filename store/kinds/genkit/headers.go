package genkit

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/model/conversation"
)

// What a row that no SDK goes on from tells of itself.
var (
	failedLeaf  = &model.Reason{Kind: model.ReasonFailedLeaf}
	pendingLeaf = &model.Reason{Kind: model.ReasonSecondLeaf}
)

// positionOf returns the index of a row, those that the journal alone has counted.
func (s *session) positionOf(r *row) int {
	at, _ := slices.BinarySearchFunc(s.log.Rows, r, func(h model.Header, r *row) int {
		return cmp.Or(h.CreatedAt.Compare(r.created.at), strings.Compare(h.ID, r.id))
	})
	return at
}

// pointOf returns the visit of a row.
func (s *session) pointOf(r *row) model.Point { return model.Point{ID: r.id, Index: s.positionOf(r)} }

// newHeader returns the header of a row by itself.
func (r *row) newHeader(now time.Time) model.Header {
	h := model.Header{ID: r.id, ParentID: r.parentID, CreatedAt: r.created.at, Title: r.headline(), Size: r.size, Marks: r.rowMarks()}
	if status := r.statusAt(now); status != statusCompleted {
		h.Event, h.EventName = model.SnapshotEventNamed, status
	}
	return h
}

// headline describes the turn: the user's prompt, and why the turn failed.
func (r *row) headline() string {
	if r.errored && r.errMessage != "" {
		return conversation.FailedTurn(r.title, conversation.OneLine(r.errMessage))
	}
	return r.title
}

func (r *row) rowMarks() (marks model.Marks) {
	if r.errored || r.status == statusFailed || r.finishReason == finishFailed || r.toolFailed {
		marks |= model.MarkError
	}
	if r.finishReason == finishInterrupted || r.toolWaits && r.status != statusFailed && r.status != statusAborted {
		marks |= model.MarkInterrupted
	}
	if r.goRefuses() {
		marks |= model.MarkDamaged
	}
	return marks
}
