package messages

import (
	"cmp"
	"context"
	"fmt"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/files"
	"hindcast/store/folder"
	"hindcast/store/journal"
)

// ready returns why nothing can be written, nil if it can.
func (s *Store) ready() error {
	if s.err != nil {
		return s.err
	}
	_, err := s.storage.Journal()
	return err
}

// broken returns what is wrong with the journal, nil for nothing.
func (s *Store) broken() error { return cmp.Or(s.ready(), s.storage.Broken()) }

// kept reads a content that the journal keeps.
func (s *Store) kept(v journal.Version) ([]byte, error) {
	data, err := s.storage.Kept(v)
	return data, files.Cause(err)
}

// Lacks implements store.Writer.
func (s *Store) Lacks(op model.Op) string {
	switch op {
	case model.OpRestore, model.OpFork, model.OpEdit, model.OpRepair, model.OpPurge, model.OpUndo, model.OpRedo:
		if err := s.ready(); err != nil {
			return err.Error()
		}
		return ""
	}
	return store.Cannot(kind, op)
}

// Plan implements store.Writer.
func (s *Store) Plan(ctx context.Context, c model.Change) (model.Plan, error) {
	plan, err := s.plan(ctx, c)
	if err != nil {
		return model.Plan{}, fmt.Errorf("strands: plan %s: %w", c, err)
	}
	return plan, nil
}

func (s *Store) plan(ctx context.Context, c model.Change) (model.Plan, error) {
	if err := c.Ref.Once(); err != nil {
		return model.Plan{}, err
	}
	if why := s.Lacks(c.Op); why != "" {
		return model.Plan{}, &model.UnsupportedError{Op: c.Op, Reason: why}
	}
	if c.Op == model.OpUndo || c.Op == model.OpRedo {
		return s.planBack(ctx, c.Op)
	}
	p, err := s.locate(c.Ref.Session)
	if err == nil {
		err = p.refusal(c.Op)
	}
	if err != nil {
		return model.Plan{}, err
	}
	plan, err := s.storage.Plan(ctx, s.in(p), c)
	plan.Session = p.id
	if plan.NewSession != "" {
		plan.NewSession = p.forked(c.As)
	}
	return plan, err
}

// planBack plans an undo or a redo.
func (s *Store) planBack(ctx context.Context, op model.Op) (model.Plan, error) {
	back, err := s.storage.Reversal(ctx, op)
	if err != nil {
		return model.Plan{}, err
	}
	if back == nil {
		return model.Plan{}, &model.NothingToError{Op: op}
	}
	plan, err := back.Plan(ctx)
	plan.Session = s.idOf(plan.Session)
	return plan, err
}

// idOf returns what the port calls the place of a name in the storage.
func (s *Store) idOf(name string) string { return s.placeNamed(name).Own.(place).id }

// Apply implements store.Writer. What was written is read again by the SDK's own
// rule; where that is not as planned, it is all taken back. The error is a
// journal.ConflictError where another program wrote since the plan was made.
func (s *Store) Apply(ctx context.Context, plan model.Plan) (model.Receipt, error) {
	err := s.ready()
	var receipt model.Receipt
	if err == nil {
		receipt, err = folder.Apply(ctx, plan)
	}
	if err != nil {
		return model.Receipt{}, fmt.Errorf("strands: %s session %q: %w", plan.Op, cmp.Or(plan.NewSession, plan.Session), err)
	}
	return receipt, nil
}

// Journal implements store.Writer.
func (s *Store) Journal(ctx context.Context) ([]model.JournalEntry, error) {
	if s.ready() != nil || !s.storage.Begun() {
		return nil, nil
	}
	j, err := s.storage.Journal()
	if err != nil {
		return nil, fmt.Errorf("strands: %w", err)
	}
	list, err := j.Journal(ctx)
	if err != nil {
		err = fmt.Errorf("strands: read the journal of %q: %w", s.dir, err)
	}
	names := map[string]string{}
	for i := range list {
		e := &list[i]
		if _, known := names[e.Session]; !known {
			names[e.Session] = s.idOf(e.Session)
		}
		e.Session = names[e.Session]
	}
	return list, err
}
