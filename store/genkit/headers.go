package genkit

import (
	"slices"
	"time"

	"hindcast/model"
	"hindcast/model/conversation"
)

// headers returns the headers of a session in order, each with its turn and with
// why it is off the path.
func (s *session) headers(now time.Time) []model.Header {
	rows := s.all()
	list := make([]model.Header, len(rows))
	head := s.head()
	leads := make(map[string]bool, len(rows))
	for _, r := range rows {
		leads[r.parentID] = leads[r.parentID] || r.parentID != r.id
	}
	for i, r := range rows {
		h := &list[i]
		*h = r.header(now)
		h.SessionID, h.Index, h.Head = s.id, i, r == head
		m, a := s.mark(r), s.asideRow(r.id)
		switch {
		case a != nil:
			h.Orphaned, h.Reason = true, a.reason()
		case m != nil || h.EventName == "" || leads[r.id]:
		case h.EventName == statusPending:
			h.Reason = pendingLeaf
		default:
			h.Reason = failedLeaf
		}
		if m != nil && h.EventName == "" {
			h.Event, h.EventName = model.SnapshotEventNamed, string(m.op)
		}
	}
	for i, turn := range countTurns(model.Settle(list, model.HeadFacts{Moves: s.moves(), Pointed: s.pointed() != nil})) {
		list[i].TurnIndex = turn
	}
	return list
}

// What a row that no SDK goes on from tells of itself.
var (
	failedLeaf  = &model.Reason{Kind: model.ReasonFailedLeaf}
	pendingLeaf = &model.Reason{Kind: model.ReasonSecondLeaf}
)

// position returns the index of a row.
func (s *session) position(r *row) int {
	at, _ := slices.BinarySearchFunc(s.all(), r, compareRows)
	return at
}

// point returns the visit of a row.
func (s *session) point(r *row) model.Point { return model.Point{ID: r.id, Index: s.position(r)} }

// header returns what a row tells by itself.
func (r *row) header(now time.Time) model.Header {
	h := model.Header{ID: r.id, ParentID: r.parentID, CreatedAt: r.created.at, Title: r.headline(), Size: r.size, Marks: r.marks()}
	if status := r.statusAt(now); status != statusCompleted {
		h.Event, h.EventName = model.SnapshotEventNamed, status
	}
	return h
}

// headline says what the turn was about: what the user asked, and why it failed.
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

// countTurns returns the number of turns that were completed before each node, on
// the way to it. Parents may come later than their children.
func countTurns(t *model.Timeline) []int {
	turns := make([]int, t.Len())
	known := make([]bool, t.Len())
	var way []model.Node
	for i := range turns {
		at := model.Node(i)
		for at != model.NoNode && !known[at] {
			way = append(way, at)
			at = t.Parent(at)
		}
		for ; len(way) > 0; way = way[:len(way)-1] {
			n := way[len(way)-1]
			if p := t.Parent(n); p != model.NoNode {
				turns[n] = turns[p]
				if t.Header(p).Event.EndsTurn() && t.Header(p).EventName == "" {
					turns[n]++
				}
			}
			known[n] = true
		}
	}
	return turns
}
