package old

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/store/journal"
)

// Journal implements store.Writer.
func (s *Store) Journal(ctx context.Context) ([]model.JournalEntry, error) {
	if s.writer.journal == nil {
		return []model.JournalEntry{}, nil
	}
	list, err := s.writer.journal.Journal(ctx)
	if err != nil {
		return list, fmt.Errorf("%s: %w", kind, err)
	}
	return list, nil
}

func (s *Store) planBack(ctx context.Context, op model.Op) (model.Plan, error) {
	plan, e, err := s.writer.PlanBack(ctx, op)
	if err != nil {
		return model.Plan{}, err
	}
	return plan, s.complete(ctx, &plan, e)
}

// complete says of an undo or a redo what becomes of the session.
func (s *Store) complete(ctx context.Context, plan *model.Plan, e *journal.Entry) error {
	latest := slices.IndexFunc(e.Changes, func(c journal.Change) bool { return strings.HasSuffix(c.Path, "/"+latestFile) })
	if latest < 0 {
		plan.Loads = "what an SDK loads stays as it is"
		return nil
	}
	after := e.Changes[latest].Before
	if plan.Op == model.OpRedo {
		after = e.Changes[latest].After
	}
	p, err := s.placeOf(e.Changes[latest].Path)
	if e.NewSession != "" && after.None() {
		plan.Target = model.Point{}
		plan.Loads = fmt.Sprintf("session %q is gone: nothing loads it", plan.Session)
		return nil
	}
	if after.None() {
		plan.Loads = fmt.Sprintf("session %q has no %s: nothing is loaded, and the SDK begins anew", plan.Session, latestFile)
		if err == nil {
			return s.moved(ctx, plan, &p, nil, e)
		}
		return nil
	}
	content, readErr := s.writer.journal.Read(after)
	if readErr != nil {
		return readErr
	}
	if err != nil { // a session that comes back
		p = placeIn(e.Changes[latest].Path)
	}
	d := parsed(content)
	switch {
	case p.scope == scopeMultiAgent:
		plan.Loads = fmt.Sprintf("orchestrator %q of session %q goes on from its record as it then is", p.agent, p.sessionDir.id)
	case d.Err == nil:
		at := p.standing(&d, p.versions(&s.running, d.Dialect, d.Tape))
		plan.Loads, plan.Resume, plan.Asks = at.loads(&p, p.sessionDir.id), at.resume(), append(plan.Asks, at.asks()...)
	default:
		plan.Loads = latestFile + " is then what it was, which no SDK can load: " + d.Problem
	}
	if err != nil {
		return nil
	}
	return s.moved(ctx, plan, &p, content, e)
}

// moved says which rows leave the path and come back to it when what is loaded
// gets a content; nil is none.
func (s *Store) moved(ctx context.Context, plan *model.Plan, p *place, content []byte, e *journal.Entry) error {
	m, err := s.begin(ctx, *p, plan.Op)
	if err != nil {
		return err
	}
	if p.scope == scopeAgent {
		m.leave(m.h.holding(content))
	}
	plan.Orphans, plan.Reactivates = m.plan.Orphans, m.plan.Reactivates
	m.running()
	plan.Hazards, plan.Asks = append(plan.Hazards, m.plan.Hazards...), append(plan.Asks, m.plan.Asks...)
	return nil
}

// holding returns the item with the data of a file, -1 for none.
func (h *history) holding(file []byte) int {
	if file == nil {
		return -1
	}
	c, _ := readCapture(file)
	for i := range h.items {
		if h.items[i].Sum == c.Sum && c.Sum != "" {
			return i
		}
	}
	return -1
}

// placeOf finds the place that a file of the journal is in.
func (s *Store) placeOf(name string) (place, error) {
	list, err := s.places()
	if err != nil {
		return place{}, err
	}
	for _, p := range list {
		if s.writer.name(&p, latestFile) == name {
			return p, nil
		}
	}
	return place{}, model.ErrNoSession
}

// placeIn reads a place that is not there from the name of its latest snapshot.
func placeIn(name string) (p place) {
	parts := strings.Split(name, "/")
	// …/SESSION/scopes/SCOPE/AGENT/snapshots/snapshot_latest.json
	if n := len(parts); n >= 6 {
		p.agent, p.scope, p.sessionDir.id = parts[n-3], parts[n-4], parts[n-6]
	}
	return p
}
