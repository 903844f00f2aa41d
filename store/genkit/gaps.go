package genkit

import (
	"context"

	"hindcast/model"
)

// untraced are the keys of a session's state of which a trace tells nothing in the
// middle of a turn.
var untraced = []string{"custom", "artifacts"}

// Gaps implements store.Partial: a row is whole, a step of a turn is put together
// from a trace.
func (s *Store) Gaps(_ context.Context, ref model.Ref) (model.Gaps, error) {
	if isStep(ref.ID) {
		return model.Gaps{Keys: untraced, Why: model.GapUntraced}, nil
	}
	return model.Gaps{}, nil
}
