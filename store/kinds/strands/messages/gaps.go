package messages

import (
	"context"
	"fmt"

	"hindcast/model"
	"hindcast/store"
)

// Gaps implements store.Deriver: the keys that agent.json has, or the record of an
// orchestrator. It does not look for the message of a snapshot.
func (s *Store) Gaps(ctx context.Context, ref model.Ref) (model.Gaps, error) {
	at, err := s.session(ctx, ref.Session)
	var gaps model.Gaps
	if err == nil {
		gaps, err = at.gaps(ctx, ref.ID)
	}
	if err != nil {
		return model.Gaps{}, fmt.Errorf("strands: read what is kept once for %q of session %q: %w", ref.ID, ref.Session, err)
	}
	return gaps, nil
}

func (a agentLog) gaps(ctx context.Context, id string) (model.Gaps, error) {
	now := readAgent(a.place.tree, a.path("agent.json"), nil, new(store.FaultList))
	return a.gapsBeside(&now)(id), ctx.Err()
}

// gapsBeside returns a function that returns the gaps of a snapshot, for a log with an
// agent.json.
func (a agentLog) gapsBeside(now *agentFile) func(id string) model.Gaps {
	gaps := now.gaps()
	if len(gaps.Keys) == len(agentMembers) {
		return func(string) model.Gaps { return gaps }
	}
	// The tip of a branch that was left has the agent.json of then.
	l := &messageLog{folders: folders{place: a.place}, memo: a.in.Memo, told: a.in.Writes.Told(a.name())}
	agents := l.history().agents(l.told.Entries())
	return func(id string) model.Gaps {
		if v, ok := agents[id]; ok {
			if data, err := l.kept(v); err == nil {
				then := parseAgent(a.path("agent.json"), data, nil, new(store.FaultList))
				return gaps.With(then.gaps())
			}
		}
		return gaps
	}
}

// gaps returns the keys of a state that are in agent.json alone.
func (a *agentFile) gaps() model.Gaps {
	if len(a.keys) == 0 {
		return model.Gaps{}
	}
	return model.Gaps{Keys: a.keys, Why: model.GapKeptOnce}
}
