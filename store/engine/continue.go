package engine

import (
	"context"

	"hindcast/model"
	"hindcast/model/handover"
)

// Start describes a new session that begins with the conversation of another tool.
type Start struct {
	*handover.Talk
	// From is the snapshot that the conversation is from.
	From *handover.Source
	In   In
	// As is the id that was asked for, "" for a new one.
	As string
}

// PlanContinue is that of [store.Features], of a format with a Continue.
func (s *Store) PlanContinue(ctx context.Context, from *handover.Source, as string) (model.Plan, error) {
	start := &Start{From: from, As: as}
	talk, err := handover.NewSession(from, s.format.Name)
	if err != nil {
		return model.Plan{}, s.Wrap(err, "continue session %q", from.Session)
	}
	start.Talk = talk
	plan, err := s.PlanNew(ctx, model.OpContinue, func(in In) (*Move, error) {
		start.In = in
		start.DateMessages(in.Now)
		m, err := s.format.Continue(ctx, start)
		if err == nil {
			m.Target, m.Carries = from.Snapshot, start.ListCarried()
		}
		return m, err
	})
	if err != nil {
		return model.Plan{}, s.Wrap(err, "continue session %q", from.Session)
	}
	plan.Session = from.Session
	return plan, nil
}
