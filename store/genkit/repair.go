package genkit

import (
	"context"
	"fmt"

	"hindcast/model"
)

// PlanRepair implements store.Repairer.
func (s *Store) PlanRepair(ctx context.Context, session string) (model.Plan, error) {
	return model.Plan{}, fmt.Errorf("genkit: plan a repair of session %q: %w", session, &model.NothingToError{Op: model.OpRepair})
}
