package query

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/handover"
	"hindcast/model/jsontape"
	"hindcast/store"
)

// Arrival is when a message came: the ids of the snapshots that its parts came with, and the time of the first. Both
// are zero where none is known.
type Arrival struct {
	At  time.Time
	IDs []string

	first model.Node
}

// Arrivals returns for each message of a conversation when it came. t is the timeline of the questions, and c the
// conversation in the state of visit n. It returns the errors of Blame.
func (q *Session) Arrivals(ctx context.Context, t *model.Timeline, n model.Node, c *conversation.Conversation) ([]Arrival, error) {
	list := make([]Arrival, c.Len())
	if c.List() < 0 {
		return list, nil
	}
	path, err := ParsePath(c.Tape().Pointer(c.List()))
	if err != nil {
		return nil, err
	}
	for b, err := range q.Blame(ctx, n, path) {
		if err != nil {
			return nil, err
		}
		m := c.Find(c.Tape().LookupPointer(b.Path))
		if b.Holds || b.Visit == model.NoNode || b.OrBefore || m < 0 {
			continue
		}
		came, of := &list[m], t.Header(b.Visit)
		if len(came.IDs) == 0 || b.Visit < came.first {
			came.first, came.At = b.Visit, of.CreatedAt
		}
		if !slices.Contains(came.IDs, of.ID) {
			came.IDs = append(came.IDs, of.ID)
		}
	}
	return list, nil
}

// Handover returns the conversation in the state of visit n of a timeline, for another agent. project is the folder that
// it goes on in, "" for that of the session, or else the current one. It returns the errors of State and of Blame.
func Handover(ctx context.Context, s store.Store, t *model.Timeline, n model.Node, info *model.SessionInfo, project string) (*handover.Source, error) {
	h := t.Header(n)
	state, err := s.State(ctx, h.Ref())
	if err != nil {
		return nil, err
	}
	tape, err := jsontape.Parse(state)
	if err != nil {
		return nil, fmt.Errorf("read the state of %s: %w", t.Name(n), err)
	}
	c := conversation.Decode(tape)
	came, err := Open(s, t).Arrivals(ctx, t, n, c)
	if err != nil {
		return nil, err
	}
	from := &handover.Source{
		Conversation: c, Kind: s.Kind(), Session: h.SessionID, Snapshot: h.Point(),
		At: func(m int) time.Time { return came[m].At },
	}
	from.Snapshot.Name = t.Name(n)
	if from.Project = project; project == "" {
		if from.Project, err = projectOf(ctx, s, &h, info); err != nil {
			return nil, err
		}
	}
	if from.Project, err = filepath.Abs(from.Project); err != nil {
		return nil, err
	}
	started, err := StartedBefore(ctx, s, t, n)
	for _, of := range started {
		from.Agents = append(from.Agents, of.Session)
	}
	return from, err
}

// projectOf returns the folder that a session is about at a snapshot, "" where the store does not say.
func projectOf(ctx context.Context, s store.Store, h *model.Header, info *model.SessionInfo) (string, error) {
	dir := ""
	if f := s.Features(); f.Facts != nil {
		facts, err := f.Facts(ctx, h.Ref())
		if err != nil {
			return "", err
		}
		for _, fact := range facts {
			if fact.Label == "folder" {
				dir = fact.Value
			}
		}
	}
	if dir = cmp.Or(dir, info.Project); !filepath.IsAbs(dir) {
		dir = ""
	}
	return dir, nil
}

// StartedBefore returns the sessions of the sub-agents that were started on the way to a visit, each once, with the snapshots
// that started them. It returns the errors of store.Features.SubAgents.
func StartedBefore(ctx context.Context, s store.Store, t *model.Timeline, n model.Node) (list []store.Started, err error) {
	f := s.Features()
	if f.SubAgents == nil {
		return nil, nil
	}
	onPath := map[string]bool{}
	for up := n; up != model.NoNode; up = t.Parent(up) {
		onPath[t.Header(up).ID] = true
	}
	started, err := f.SubAgents(ctx, t.Header(n).SessionID)
	for _, of := range started {
		if onPath[of.ID] && !slices.ContainsFunc(list, func(is store.Started) bool { return is.Session == of.Session }) {
			list = append(list, of)
		}
	}
	return list, err
}
