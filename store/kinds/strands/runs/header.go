package runs

import (
	"fmt"
	"strings"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
)

// The names of the events, which the seed has no integers for.
const (
	EventStart       = "run start"
	EventNode        = "node"
	EventFailed      = "node failed"
	EventCancelled   = "node cancelled"
	EventInterrupted = "node interrupted"
)

// Headers returns the headers of all snapshots, a new slice. The last is the head:
// whatever the next start does, it starts from the whole record.
func (r *Run) Headers() []model.Header {
	headers := make([]model.Header, len(r.steps))
	for i := range r.steps {
		s, h := &r.steps[i], &headers[i]
		h.ID, h.SessionID, h.Index, h.Size = s.id, r.place.Session, i, s.size
		h.Event, h.EventName = model.SnapshotEventNamed, s.rowEvent()
		h.CreatedAt, h.Title, h.Marks = s.created, r.titleLine(s), s.rowMarks()
		h.Position = r.checkpointPosition(s)
		if i > 0 {
			h.ParentID = headers[i-1].ID
			if !r.isFollowing() {
				h.Marks |= model.MarkInferred
			}
		}
	}
	head := &headers[len(headers)-1]
	head.Head = true
	head.Title += r.nextWords()
	if head.CreatedAt.IsZero() {
		head.CreatedAt = r.place.Updated
	}
	return headers
}

func (s *step) rowEvent() string {
	switch {
	case s.start:
		return EventStart
	case s.outcome == outcomeFailed:
		return EventFailed
	case s.outcome == outcomeCancelled:
		return EventCancelled
	case s.outcome == outcomeInterrupted:
		return EventInterrupted
	}
	return EventNode
}

func (s *step) rowMarks() (m model.Marks) {
	if s.outcome == outcomeFailed {
		m |= model.MarkError
	}
	if s.waits {
		m |= model.MarkInterrupted
	}
	if s.damaged {
		m |= model.MarkDamaged
	}
	return m
}

// isFollowing reports whether the record itself says that snapshot i comes after the
// one before: in a Swarm, where one node runs at a time.
func (r *Run) isFollowing() bool { return r.summary.Kind == Swarm }

// titleLine returns one line, the node first: "researcher: Paris has 2 million people",
// "writer failed: the model is overloaded". That a node completed is not said.
func (r *Run) titleLine(s *step) string {
	switch {
	case s.start:
		if r.summary.Task == "" {
			return "nothing ran yet"
		}
		return shortenText("nothing ran yet: "+r.summary.Task, conversation.MaxTitle)
	case s.damaged && s.node == "":
		return "cannot be read"
	}
	line := shortenText(s.node, maxName)
	switch {
	case s.replaced:
		return line + ": the result was replaced by a later run"
	case s.damaged:
		return line + ": the result cannot be read"
	}
	if how := s.outcome.String(); how != "" && s.outcome != outcomeCompleted {
		line += " " + how
	}
	if s.said != "" {
		line += ": " + s.said
	} else if s.result < 0 && s.outcome != outcomeInterrupted {
		line += ": no result is stored"
	}
	return shortenText(line, conversation.MaxTitle)
}

// nextWords names the next nodes, for the end of the head's title.
func (r *Run) nextWords() string {
	if r.workOut {
		return "; next: for the graph to work out"
	}
	if len(r.summary.Next) == 0 {
		return ""
	}
	return "; next: " + conversation.List(r.summary.Next, func(name string) string { return shortenText(name, maxName) })
}

// checkpointPosition returns where an agent stopped that was told to stop at checkpoints.
func (r *Run) checkpointPosition(s *step) string {
	c, _, err := r.readCheckpoint(s.result)
	if c < 0 || err != nil {
		return ""
	}
	cp, _, _ := model.CheckpointFromDict(r.tape.Raw(c))
	return cp.Boundary()
}

// readCheckpoint returns the checkpoint in a NodeResult of Python, and the SDK's reading of
// it. The node is None if the member is missing, null or empty.
func (r *Run) readCheckpoint(result jsontape.Node) (jsontape.Node, model.Checkpoint, error) {
	n := r.tape.Find(r.tape.Find(result, "result"), "checkpoint")
	if k := r.tape.Kind(n); k == jsontape.Invalid || k == jsontape.Null || k == jsontape.Object && r.tape.Count(n) == 0 {
		return jsontape.None, model.Checkpoint{}, nil
	}
	c, _, err := model.CheckpointFromDict(r.tape.Raw(n))
	return n, c, err
}

// showCheckpoint puts a checkpoint in a few words.
func showCheckpoint(c model.Checkpoint, err error) string {
	if err != nil {
		return "refused: " + err.Error()
	}
	return fmt.Sprintf("%s, cycle %d", shortenText(strings.TrimSpace(c.Position), maxName), c.CycleIndex)
}
