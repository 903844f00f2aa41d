package recording

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"hindcast/model"
	"hindcast/store"
)

// A Takeover is a session on its way into a store that keeps rows unchanged. It is the payload of the plan of a conversion,
// which reads the session only when it is applied, and of a continued conversation. Make a Takeover with
// [PlanTakeover] or [PlanContinue].
type Takeover struct {
	rows func(ctx context.Context, plan model.Plan) iter.Seq2[store.Row, error]
}

// source is the session of a conversion, and its new name.
type source struct {
	from        store.Store
	session, as string
}

// PlanTakeover plans to make the session as in a store of rows from a session of another store: its visits and
// steps, orphaned ones with their reasons, and its record. The plan carries a [*Takeover]. The target store
// checks whether the new name is free. Errors come from the other store.
func PlanTakeover(ctx context.Context, from store.Store, session, as string) (model.Plan, error) {
	if as == "" {
		return model.Plan{}, errors.New("the new session needs a name")
	}
	var headers []model.Header
	for h, err := range from.Headers(ctx, session) {
		if err != nil {
			return model.Plan{}, err
		}
		headers = append(headers, h)
	}
	tree := model.NewTimeline(headers)
	plan := model.Plan{
		Op: model.OpConvert, Session: session, NewSession: as,
		Carry: &Takeover{source{from, session, as}.rows},
	}
	if n := tree.Head(); n != model.NoNode {
		h := tree.Header(n)
		plan.Target = h.Point()
		plan.Head = plan.Target
		if isRecorded(ctx, from, &h) {
			resumeFrom(&plan, as, &h)
		} else {
			plan.Loads = fmt.Sprintf("no agent: a copy of %s session is for looking, comparing and editing, "+
				"and the original is gone on with in its own tool", store.Article(from.Kind()))
		}
	}
	words := fmt.Sprintf("session %q, made from %s:%s: %s, %d of them off the path", as, from.Kind(), from.Address(), model.Count(tree.Snapshots(), "snapshot"), tree.Orphans())
	if steps := tree.Len() - tree.Snapshots(); steps > 0 {
		words += ", and " + model.Count(steps, "step")
	}
	plan.Writes = append(plan.Writes, words, "journal: one entry")
	return plan, nil
}

// isRecorded reports whether a program of package agent may have written a snapshot, and so goes on from a copy
// of it: its id is the hash of its state.
func isRecorded(ctx context.Context, s store.Store, h *model.Header) bool {
	if !store.HoldsRecordings(s.Kind()) {
		return false
	}
	state, err := s.State(ctx, h.Ref())
	return err == nil && model.SnapshotID(state) == h.ID
}

// Rows returns the rows as they will stand under the new name. The error is
// model.ErrHeadMoved where the session is no longer as it was planned.
func (t *Takeover) Rows(ctx context.Context, plan model.Plan) iter.Seq2[store.Row, error] {
	return t.rows(ctx, plan)
}

func (t source) rows(ctx context.Context, plan model.Plan) iter.Seq2[store.Row, error] {
	return func(yield func(store.Row, error) bool) {
		now, err := PlanTakeover(ctx, t.from, t.session, t.as)
		if err == nil && (!SamePlan(now, plan) || !slices.Equal(now.Writes, plan.Writes)) {
			err = model.ErrHeadMoved
		}
		if err != nil {
			yield(store.Row{}, err)
			return
		}
		for row, err := range store.Rows(ctx, t.from, t.session) {
			if row.Record != nil {
				row.Record.ID = t.as
			} else {
				row.Header.SessionID = t.as
			}
			if !yield(row, err) {
				return
			}
		}
	}
}
