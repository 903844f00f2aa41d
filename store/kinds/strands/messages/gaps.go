package messages

import (
	"context"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine"
)

// Gaps is that of store.Features: the keys that agent.json has, or the record of an
// orchestrator. It does not look for the message of a snapshot.
func (s *Store) Gaps(ctx context.Context, ref model.Ref) (gaps model.Gaps, err error) {
	agent := false
	err = s.In(ctx, ref.Session, func(in engine.In, at engine.Place) error {
		p := at.Own.(place)
		if agent = p.orchestrator == ""; agent {
			gaps = agentLog{s, p, in}.gaps(ref.ID)
		}
		return ctx.Err()
	})
	if err == nil && !agent {
		return s.Store.Gaps(ctx, ref)
	}
	return gaps, s.Wrap(err, "read what is kept once for %q of session %q", ref.ID, ref.Session)
}

func (a agentLog) gaps(id string) model.Gaps {
	now := readAgent(a.in, a.path("agent.json"), nil, new(store.FaultList))
	return a.gapsBeside(&now)(id)
}

// gapsBeside returns a function that returns the gaps of a snapshot, for a log with an
// agent.json.
func (a agentLog) gapsBeside(now *agentFile) func(id string) model.Gaps {
	gaps := now.gaps()
	if len(gaps.Keys) == len(agentMembers) {
		return func(string) model.Gaps { return gaps }
	}
	// The tip of a branch that was left has the agent.json of then.
	l := &messageLog{folders: folders{place: a.place}, memo: a.in.Memo, told: a.in.Writes.ForSession(a.name())}
	agents := l.history().agents(l.told.Entries())
	return func(id string) model.Gaps {
		if v, ok := agents[id]; ok {
			if data, err := l.readKept(v); err == nil {
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
