package messages

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hindcast/model"
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
	l := whole.openLog(p)
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
	return whole.courseBack(ctx, l, e, plan)
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
	c := &course{now: l, folder: &keptFolder{folder: l.folder, journal: s.journal, kept: map[string]journal.Version{}}}
	c.log = &messageLog{folders: folders{place: l.place, running: l.running}, folder: c.folder, memory: l.memory, dir: l.dir, agent: l.agent}
	gone := map[string]bool{}
	for _, change := range messageChanges(e.Changes, s.onDesk(l.path("messages"))) {
		to := change.After
		if plan.Op == model.OpUndo {
			to = change.Before
		}
		gone[change.file.name] = true
		if !to.None() {
			c.folder.kept[change.file.name] = to
			c.log.files = append(c.log.files, change.file)
		}
	}
	for _, f := range l.files {
		if !gone[f.name] {
			c.log.files = append(c.log.files, f)
		}
	}
	slices.SortFunc(c.log.files, messageFile.compare)
	if len(c.log.files) == 0 {
		return nil
	}
	for _, change := range e.Changes {
		if change.Path != s.onDesk(l.path("agent.json")) {
			continue
		}
		to := change.After
		if plan.Op == model.OpUndo {
			to = change.Before
		}
		data, err := s.journal.Read(to)
		if err != nil {
			return fmt.Errorf("read what is kept of %s: %w", change.Path, err)
		}
		c.log.agent = parseAgent(l.path("agent.json"), data, l.running, &c.log.faults)
	}
	c.log.window()
	if err := c.readHead(ctx); err != nil {
		return err
	}
	for c.common < min(len(l.files), len(c.log.files)) && l.files[c.common] == c.log.files[c.common] && !gone[l.files[c.common].name] {
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
