package store

import (
	"context"

	"hindcast/model"
)

// Deriver is a Store that derives its snapshots from what a framework wrote: an id is not
// the hash of the state, more is known than the header tells, and of some states
// less than all. What each kind does not know:
//
//	kind               sessions         keys at the top of the state
//	strands            message logs     state, conversation_manager_state, interrupt_state, model_state: agent.json has them once
//	strands            orchestrators    all of a Python record but type, id, current_task, node_results and the order of the nodes
//	strands-snapshots  orchestrators    the same; of a TypeScript record all but startTime, results and _pendingInput
//	genkit             steps of a turn  custom, artifacts, and what else a session's state has: traces do not tell of them
//	langgraph          all              channels that keep changes only
//	adk                all              app, user; with schema 0 state too
//	mastra             threads          thread
//	llamaindex         all              state, events
//
// Of langgraph no state has the keys; the last three have them as of now. In the first three the newest snapshot has the keys as of now. A branch that a
// restore left has them as of then at its tip, where the record of then was kept.
// The other kinds record whole states.
type Deriver interface {
	// DerivedIDs says in a few words what the ids are, such as "the SHA-256
	// of the message and its place".
	DerivedIDs() string
	// Facts returns the facts of a snapshot beyond its header, the most useful first. It returns the errors of
	// State.
	Facts(ctx context.Context, ref model.Ref) ([]model.Fact, error)
	// Gaps returns the keys that the store does not know at a snapshot; nil if it knows the whole state. State
	// returns the same bytes in either case. It returns the errors of State.
	Gaps(ctx context.Context, ref model.Ref) (model.Gaps, error)
}

// Gaps returns the gaps of some snapshots of a store of any kind together: what a
// comparison of their states leaves out.
func Gaps(ctx context.Context, s Store, refs ...model.Ref) (gaps model.Gaps, err error) {
	f := FeaturesOf(s)
	if f.Gaps == nil {
		return model.Gaps{}, nil
	}
	for _, ref := range refs {
		of, err := f.Gaps(ctx, ref)
		if err != nil {
			return model.Gaps{}, err
		}
		gaps = gaps.With(of)
	}
	return gaps, nil
}
