package genkit

import (
	"slices"
	"time"

	"hindcast/model"
	"hindcast/model/conversation"
)

// headers gives the headers of a session in order, each with its place in the
// tree worked out.
func (s *session) headers(now time.Time) []model.Header {
	rows := s.all()
	list := make([]model.Header, len(rows))
	head := s.head()
	for i, r := range rows {
		h := &list[i]
		*h = r.header(now)
		h.SessionID, h.Index, h.Head = s.id, i, r == head
		if m := s.mark(r); m != nil && h.EventName == "" {
			h.Event, h.EventName = model.SnapshotEventNamed, string(m.op)
		}
	}
	s.arrange(list, now)
	return list
}

// position gives the index of a row.
func (s *session) position(r *row) int {
	at, _ := slices.BinarySearchFunc(s.all(), r, compareRows)
	return at
}

// point returns the visit of a row.
func (s *session) point(r *row) model.Point { return model.Point{ID: r.id, Index: s.position(r)} }

// header gives what a row tells by itself.
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

// arrange works out the turns, what is off the active path, and why.
func (s *session) arrange(list []model.Header, now time.Time) {
	t := model.NewTimeline(slices.Clone(list))
	turns := countTurns(t)
	reasons := s.reasons(t, now)
	for i := range list {
		n := model.Node(i)
		list[i].TurnIndex = turns[i]
		if t.OnPath(n) && s.asideRow(list[i].ID) == nil {
			continue
		}
		list[i].Orphaned = true
		list[i].Reason = reasons(n)
	}
}

// countTurns gives the number of turns that were completed before each node, on
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

// reasons gives what says why a node is off the path.
func (s *session) reasons(t *model.Timeline, now time.Time) func(model.Node) *model.Reason {
	var (
		pointer = &model.Reason{Kind: model.ReasonPointer}
		failed  = &model.Reason{Kind: model.ReasonFailedLeaf}
		second  = &model.Reason{Kind: model.ReasonSecondLeaf}
		pruned  = &model.Reason{Kind: model.ReasonParentPruned}
		circle  = &model.Reason{Kind: model.ReasonCycle}
	)
	passed, left := s.passedByPointer(t), s.leftBy()
	return func(n model.Node) *model.Reason {
		if reason := left[t.Header(n).ID]; reason != nil {
			return reason
		}
		switch t.Reason(n).Kind {
		case model.ReasonParentPruned:
			return pruned
		case model.ReasonCycle:
			return circle
		}
		switch h := t.Header(n); {
		case passed[n]:
			return pointer
		case leads(t, n) || h.EventName == "" || h.EventName == statusPending || s.mark(s.byID[h.ID]) != nil:
			return second
		}
		return failed
	}
}

// leads reports whether something follows a node.
func leads(t *model.Timeline, n model.Node) bool {
	for range t.Children(n) {
		return true
	}
	return false
}

// passedByPointer gives the nodes that would be on the path if there were no
// pointer.
func (s *session) passedByPointer(t *model.Timeline) map[model.Node]bool {
	now, scanned := s.resumed()
	if scanned.row == nil || now.row == scanned.row || s.byID[scanned.row.id] == nil {
		return nil
	}
	passed := map[model.Node]bool{}
	for i := range t.Len() {
		if t.Header(model.Node(i)).ID == scanned.row.id {
			for n := model.Node(i); n != model.NoNode && !t.OnPath(n); n = t.Parent(n) {
				passed[n] = true
			}
		}
	}
	return passed
}
