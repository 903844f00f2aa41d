package remote

import (
	"context"
	"fmt"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/media/runtimes"
)

// errNoPlan: a plan is not one that this store made.
var errNoPlan = fmt.Errorf("the plan was not made by this store")

// turn is the payload of a plan.
type turn struct {
	at *runtimes.Runtime
	runtimes.Turn
}

// lacksRun says why no agent can be run, "" if one can.
func (s *Store) lacksRun() string {
	if !s.base.loopback {
		return "only a process on this machine is asked to run an agent"
	}
	for _, a := range s.agents {
		if a.runs {
			return ""
		}
	}
	return "the process shows the sessions of its agents, and has no action that runs one"
}

// Plan implements [store.Features].Plan for runs only. It asks the process for the data that a plan shows; nothing runs
// before Apply. The error is a *model.UnsupportedError if the process is on another machine or has no action
// that runs the agent.
func (s *Store) Plan(ctx context.Context, c model.Change) (model.Plan, error) {
	plan, err := s.planRun(ctx, c)
	if err != nil {
		return model.Plan{}, store.NotPlanned("reflection", c, err)
	}
	return plan, nil
}

func (s *Store) planRun(ctx context.Context, c model.Change) (model.Plan, error) {
	if why := s.Lacks(c.Op); why != "" {
		return model.Plan{}, &model.UnsupportedError{Op: c.Op, Reason: why}
	}
	ref, input := c.Ref, c.Input
	a, _, err := s.locateAgent(ref.Session)
	if err != nil {
		return model.Plan{}, err
	}
	if !a.runs {
		return model.Plan{}, &model.UnsupportedError{Op: model.OpRun, Reason: fmt.Sprintf("the process has no action that runs agent %.40q", a.name)}
	}
	headers, err := s.readHeaders(ctx, ref.Session)
	if err != nil {
		return model.Plan{}, err
	}
	plan := model.Plan{Op: model.OpRun, Session: ref.Session,
		Asks:    []string{"models and tools run: that may cost money, and what tools do cannot be undone"},
		Hazards: []string{fmt.Sprintf("the process at %s runs agent %q; Hindcast writes nothing, and keeps no journal of it", s.address, a.name)},
	}
	found := false
	for i := range headers {
		h := &headers[i]
		if h.ID == ref.ID && (ref.Visit == 0 || ref.Visit == h.Visit) {
			plan.Target, found = h.Point(), true
		}
		if h.Head {
			plan.Head = h.Point()
		}
	}
	if !found {
		return model.Plan{}, model.ErrNoSnapshot
	}
	at, err := runtimes.New(s.address)
	if err != nil {
		return model.Plan{}, err
	}
	plan.Writes = []string{fmt.Sprintf("by the agent: what it records of a turn that goes on from #%d", plan.Target.Index)}
	plan.Loads = fmt.Sprintf("agent %q loads #%d, and is sent %.200q", a.name, plan.Target.Index, input)
	plan.Carry = &turn{at, runtimes.Turn{Agent: a.name, Snapshot: ref.ID, Text: input}}
	return plan, nil
}

// Journal implements [store.Features].Journal: the process keeps none.
func (s *Store) Journal(ctx context.Context) ([]model.JournalEntry, error) { return nil, ctx.Err() }

// Apply implements [store.Features].Apply for the plans of Plan. It waits for the end of
// the turn; the context can bring that about earlier.
func (s *Store) Apply(ctx context.Context, plan model.Plan) (model.Receipt, error) {
	t, ok := plan.Carry.(*turn)
	if !ok || plan.Op != model.OpRun {
		return model.Receipt{}, fmt.Errorf("reflection: apply a plan: %w", errNoPlan)
	}
	if s.life.Over() {
		return model.Receipt{}, errClosed
	}
	out, err := t.at.Take(ctx, t.Turn)
	receipt := model.Receipt{Op: plan.Op, Session: plan.Session, Head: model.Point{ID: out.Snapshot}}
	if err != nil {
		return receipt, fmt.Errorf("reflection: run session %.80q from #%d: %w", plan.Session, plan.Target.Index, err)
	}
	if headers, err := s.readHeaders(ctx, plan.Session); err == nil {
		for i := range headers {
			if headers[i].ID == out.Snapshot {
				receipt.Head.Index = headers[i].Index
			}
		}
	}
	return receipt, nil
}
