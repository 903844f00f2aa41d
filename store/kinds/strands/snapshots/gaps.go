package snapshots

import (
	"context"
	"fmt"

	"hindcast/model"
	"hindcast/store/kinds/strands/runs"
)

// Gaps implements store.Deriver: what the record of an orchestrator has once. A
// snapshot of an agent is whole.
func (s *Store) Gaps(ctx context.Context, ref model.Ref) (model.Gaps, error) {
	gaps, err := s.gaps(ctx, ref)
	if err != nil {
		return model.Gaps{}, fmt.Errorf("%s: read what is kept once for %q of session %q: %w", kind, ref.ID, ref.Session, err)
	}
	return gaps, nil
}

func (s *Store) gaps(ctx context.Context, ref model.Ref) (model.Gaps, error) {
	p, err := s.locate(ref.Session)
	if err != nil || p.scope == scopeAgent {
		return model.Gaps{}, err
	}
	log, err := s.log(ctx, ref.Session)
	if err != nil {
		return model.Gaps{}, err
	}
	return log.Own.(*runs.Records).Gaps(ref.ID)
}
