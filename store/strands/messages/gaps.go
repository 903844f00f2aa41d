package messages

import (
	"context"
	"fmt"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/journal"
)

// Gaps implements store.Deriver: the keys that agent.json has, or the record of an
// orchestrator. It does not look for the message of a snapshot.
func (s *Store) Gaps(ctx context.Context, ref model.Ref) (model.Gaps, error) {
	gaps, err := s.gaps(ctx, ref)
	if err != nil {
		return model.Gaps{}, fmt.Errorf("strands: read what is kept once for %q of session %q: %w", ref.ID, ref.Session, err)
	}
	return gaps, nil
}

func (s *Store) gaps(ctx context.Context, ref model.Ref) (model.Gaps, error) {
	p, err := s.locate(ref.Session)
	if err != nil {
		return model.Gaps{}, err
	}
	if p.orchestrator != "" {
		rs, err := s.records(ctx, p)
		if err != nil {
			return model.Gaps{}, err
		}
		return rs.Gaps(ref.ID)
	}
	now := readAgent(p.tree, p.path("agent.json"), nil, new(store.FaultList))
	gaps := now.gaps()
	if len(gaps.Keys) == len(agentMembers) {
		return gaps, nil
	}
	// The tip of a branch that was left has the agent.json of then.
	entries := s.told(ctx, p)
	var agents map[string]journal.Version
	s.histories.with(entries, p.path("messages"), func(p *history) { agents = p.agents(entries) })
	if v, ok := agents[ref.ID]; ok {
		if data, err := s.kept(v); err == nil {
			then := parseAgent(p.path("agent.json"), data, nil, new(store.FaultList))
			gaps = gaps.With(then.gaps())
		}
	}
	return gaps, ctx.Err()
}

// gaps returns the keys of a state that are in agent.json alone.
func (a *agentFile) gaps() model.Gaps {
	if len(a.keys) == 0 {
		return model.Gaps{}
	}
	return model.Gaps{Keys: a.keys, Why: model.GapKeptOnce}
}
