package messages

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"hindcast/model"
	"hindcast/store/folder"
	"hindcast/store/journal"
)

// planBack plans an undo or a redo. The errors are a model.NothingToError, and
// model.ErrHeadMoved where the agent wrote on: what it wrote would be lost.
func (s *Store) planBack(ctx context.Context, op model.Op) (model.Plan, error) {
	plan, e, err := s.on.PlanBack(ctx, op)
	if err != nil {
		return model.Plan{}, err
	}
	return plan, s.complete(ctx, e, &plan)
}

// complete says in a plan of the journal's what it means for the session.
func (s *Store) complete(ctx context.Context, e *journal.Entry, plan *model.Plan) error {
	if e.NewSession != "" && plan.Op == model.OpUndo {
		plan.Target = model.Point{}
	}
	whole, done, err := s.whole(ctx, e.Session)
	if err != nil {
		return err
	}
	defer done()
	p, err := whole.locate(e.Session)
	switch {
	case errors.Is(err, model.ErrNoSession) && e.NewSession != "" && plan.Op == model.OpRedo:
		plan.Loads = fmt.Sprintf("session %q is there again, as it was made", e.NewSession)
		plan.Head = model.Point{}
		return nil
	case err != nil:
		return fmt.Errorf("session %q: %w", e.Session, err)
	case e.Op == model.OpRepair:
		return whole.repairBack(ctx, p, plan)
	case p.orchestrator != "":
		return whole.completeRun(p, e, plan)
	}
	view := folder.NewView(p.tree)
	l := whole.openLog(p, view)
	defer l.close()
	if l.err != nil {
		return l.err
	}
	if err := l.stillAt(ctx, plan); err != nil {
		return err
	}
	if ask := whole.lively(l); ask != "" {
		plan.Asks = append(plan.Asks, ask)
	}
	if e.NewSession != "" && plan.Op == model.OpUndo {
		plan.Loads = fmt.Sprintf("session %q is gone: FileSessionManager(%s) begins a new one", e.NewSession, pyText(strings.SplitN(e.NewSession, "/", 2)[0]))
		return nil
	}
	err = whole.courseBack(ctx, l, e, plan)
	if changed := view.Changed(); changed != nil {
		return &journal.ConflictError{Path: s.onDesk(changed.Name), Found: "was changed"}
	}
	return err
}

// stillAt makes sure that no program wrote on since.
func (l *messageLog) stillAt(ctx context.Context, plan *model.Plan) error {
	head, err := l.head(ctx)
	if err != nil || head.ID == plan.Head.ID && head.Index == plan.Head.Index {
		return err
	}
	way := "to go back to what was left, restore the branch that was set aside"
	if plan.Op == model.OpRedo {
		way = "restore the snapshot instead"
	}
	return fmt.Errorf("session %q went on since, and is at #%d now: that would be lost; %s: %w", l.id, head.Index, way, model.ErrHeadMoved)
}

// courseBack works out where an entry that is taken back, or done again, leads.
func (s *Store) courseBack(ctx context.Context, l *messageLog, e *journal.Entry, plan *model.Plan) error {
	c := &course{op: plan.Op, now: l}
	steps := s.inStore(folder.Back(e, plan.Op))
	for _, step := range steps {
		if step.Name != l.path("agent.json") || step.Version.None() {
			continue
		}
		if _, err := s.kept(step.Version); err != nil { // else it would be read as one without its content
			return fmt.Errorf("read what is kept of %s: %w", s.onDesk(step.Name), err)
		}
	}
	c.log = s.readLog(l.place, folder.Overlay(l.tree, steps, s.kept))
	if len(c.log.files) == 0 {
		return nil
	}
	if err := c.readHead(ctx, c.log, len(c.log.files)-1); err != nil {
		return err
	}
	gone := map[string]bool{}
	for _, step := range steps {
		gone[step.Name] = true
	}
	for c.common < min(len(l.files), len(c.log.files)) && l.files[c.common] == c.log.files[c.common] && !gone[l.dir+l.files[c.common].name] {
		c.common++
	}
	var err error
	if plan.Orphans, err = l.items(ctx, c.common); err != nil {
		return err
	}
	if plan.Reactivates, err = c.items(ctx, c.common); err != nil {
		return err
	}
	plan.Target = model.Point{ID: c.headID, Index: len(c.log.files) - 1}
	c.resume(plan)
	return nil
}
