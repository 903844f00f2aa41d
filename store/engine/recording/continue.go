package recording

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"time"

	"hindcast/model"
	"hindcast/model/handover"
	"hindcast/model/jsontape"
	"hindcast/store"
)

// PlanContinue plans to make the session as, "" for a new id, of a conversation of another tool. Its states have the
// messages in the form of [handover.Message.ToConverse], and stand where the agent had answered and where its tools had
// run. now is the time of messages without one. The plan carries a [*Takeover]. The target store checks whether the name
// is free. The error is a model.UnsupportedError for a conversation without messages.
func PlanContinue(from *handover.Source, kind, as string, now time.Time) (model.Plan, error) {
	talk, err := handover.NewSession(from, kind)
	if err != nil {
		return model.Plan{}, err
	}
	talk.DateMessages(now)
	if as == "" {
		as = rand.Text()
	}
	states := startStates(talk, as)
	head := &states.headers[len(states.headers)-1]
	plan := model.Plan{Op: model.OpContinue, Session: from.Session, NewSession: as, Target: from.Snapshot, Carries: talk.ListCarried()}
	resumeFrom(&plan, as, head)
	plan.Loads += ": its messages are below \"messages\", in the form of Bedrock's Converse, as Strands has them"
	plan.Hazards = []string{"a program goes on with it if its state reads messages of that form, and begins the rest of its state empty"}
	plan.Writes = []string{fmt.Sprintf("session %q, made from %s %q: %s", as, from.Kind, from.Session, model.Count(len(states.headers), "snapshot")), "journal: one entry"}
	plan.Carry = &Takeover{rows: func(context.Context, model.Plan) iter.Seq2[store.Row, error] { return states.rows }}
	return plan, nil
}

// startedStates are the snapshots of a conversation. A state begins as the one before it, and is made when its row is asked for.
type startedStates struct {
	headers []model.Header
	ends    []int  // of the states in text
	text    []byte // the last state, but for its end
}

// startedEnd ends a state.
const startedEnd = "]}"

// startStates returns the snapshots of a conversation.
func startStates(talk *handover.Talk, session string) (s startedStates) {
	h := model.Header{SessionID: session}
	s.text = []byte(`{"messages":[`)
	for i := range talk.Messages {
		m := &talk.Messages[i]
		if i > 0 {
			s.text = append(s.text, ',')
		}
		s.text = append(s.text, jsontape.EncodePlain(m.ToConverse())...)
		calls := m.Assistant && m.Parts[len(m.Parts)-1].Kind == handover.Call
		results := m.Parts[0].Kind == handover.Result
		if last := i == len(talk.Messages)-1; !last && (calls || !m.Assistant && !results) {
			continue // the tools run, or the agent answers
		}
		if h.ID != "" {
			h.Index++
		}
		if at := m.At; at.After(h.CreatedAt) {
			h.CreatedAt = at
		} else {
			h.CreatedAt = h.CreatedAt.Add(1) // no two snapshots have one time
		}
		state := append(s.text, startedEnd...) // the next message takes the place of the end
		h.ParentID, h.ID, h.Event = h.ID, model.SnapshotID(state), model.SnapshotEventToolIterationEnd
		if m.Assistant {
			h.Event = model.SnapshotEventTurnEnd
		}
		s.headers, s.ends = append(s.headers, h), append(s.ends, len(s.text))
		if m.Assistant {
			h.TurnIndex++
		}
	}
	s.headers[len(s.headers)-1].Head = true
	return s
}

// rows yields the snapshots, and behind them the record of the session.
func (s *startedStates) rows(yield func(store.Row, error) bool) {
	var row store.Row
	for i, h := range s.headers {
		row = store.Row{Header: h, State: slices.Concat(s.text[:s.ends[i]], []byte(startedEnd))}
		if !yield(row, nil) {
			return
		}
	}
	yield(store.Row{Record: &model.Data[json.RawMessage]{ID: row.Header.SessionID, State: row.State, TurnIndex: row.Header.TurnIndex}}, nil)
}
