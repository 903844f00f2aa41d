package recording

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"iter"
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
	rows := startRows(talk, as)
	head := rows[len(rows)-2].Header
	plan := model.Plan{Op: model.OpContinue, Session: from.Session, NewSession: as, Target: from.Snapshot, Carries: talk.ListCarried()}
	resumeFrom(&plan, as, &head)
	plan.Loads += ": its messages are below \"messages\", in the form of Bedrock's Converse, as Strands has them"
	plan.Hazards = []string{"a program goes on with it if its state reads messages of that form, and begins the rest of its state empty"}
	plan.Writes = []string{fmt.Sprintf("session %q, made from %s %q: %s", as, from.Kind, from.Session, model.Count(len(rows)-1, "snapshot")), "journal: one entry"}
	plan.Carry = &Takeover{rows: func(context.Context, model.Plan) iter.Seq2[store.Row, error] {
		return func(yield func(store.Row, error) bool) {
			for _, row := range rows {
				if !yield(row, nil) {
					return
				}
			}
		}
	}}
	return plan, nil
}

// startRows returns the snapshots of a conversation, and behind them the record of the session.
func startRows(talk *handover.Talk, session string) (rows []store.Row) {
	h := model.Header{SessionID: session}
	messages := make([]any, 0, len(talk.Messages))
	for i := range talk.Messages {
		m := &talk.Messages[i]
		messages = append(messages, m.ToConverse())
		calls := m.Assistant && m.Parts[len(m.Parts)-1].Kind == handover.Call
		results := m.Parts[0].Kind == handover.Result
		if last := i == len(talk.Messages)-1; !last && (calls || !m.Assistant && !results) {
			continue // the tools run, or the agent answers
		}
		state := jsontape.EncodePlain(map[string]any{"messages": messages})
		if h.ID != "" {
			h.Index++
		}
		if at := m.At; at.After(h.CreatedAt) {
			h.CreatedAt = at
		} else {
			h.CreatedAt = h.CreatedAt.Add(1) // no two snapshots have one time
		}
		h.ParentID, h.ID, h.Event = h.ID, model.SnapshotID(state), model.SnapshotEventToolIterationEnd
		if m.Assistant {
			h.Event = model.SnapshotEventTurnEnd
		}
		rows = append(rows, store.Row{Header: h, State: state})
		if m.Assistant {
			h.TurnIndex++
		}
	}
	last := &rows[len(rows)-1]
	last.Header.Head = true
	return append(rows, store.Row{Record: &model.Data[json.RawMessage]{ID: session, State: last.State, TurnIndex: last.Header.TurnIndex}})
}
