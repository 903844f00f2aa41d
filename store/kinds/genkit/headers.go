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

// position returns the index of a row, those that the journal alone has counted.
func (s *session) position(r *row) int {
	at, _ := slices.BinarySearchFunc(s.log.Rows, r, func(h model.Header, r *row) int {
		return cmp.Or(h.CreatedAt.Compare(r.created.at), strings.Compare(h.ID, r.id))
	})
	return at
}

// point returns the visit of a row.
func (s *session) point(r *row) model.Point { return model.Point{ID: r.id, Index: s.position(r)} }

// header returns the header of a row by itself.
func (r *row) header(now time.Time) model.Header {
	h := model.Header{ID: r.id, ParentID: r.parentID, CreatedAt: r.created.at, Title: r.headline(), Size: r.size, Marks: r.marks()}
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

func (r *row) marks() (marks model.Marks) {
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
