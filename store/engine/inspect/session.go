package inspect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"hindcast/model"
	"hindcast/store"
)

// SessionFaults returns the faults of one session of a store whose ids are hashes: its lineage, each state
// that is unreadable or does not match its id, and the messages at its head. It reads all states, one at a
// time.
func SessionFaults(ctx context.Context, s store.Store, session string) ([]model.Fault, error) {
	var headers []model.Header
	for h, err := range s.Headers(ctx, session) {
		if err != nil {
			return nil, err
		}
		headers = append(headers, h)
	}
	faults := model.NewTimeline(headers).Faults()
	seen := map[string]bool{}
	for i := range headers {
		h := &headers[i]
		if seen[h.ID] {
			continue
		}
		seen[h.ID] = true
		fault, err := stateFault(ctx, s, h)
		if err != nil {
			return faults, err
		}
		if fault != nil {
			faults = append(faults, *fault)
		}
	}
	said, err := ConversationFaults(ctx, s, session)
	return append(faults, said...), err
}

// stateFault judges one state; the error is that of a context or a store that ended.
func stateFault(ctx context.Context, s store.Store, h *model.Header) (*model.Fault, error) {
	state, err := s.State(ctx, h.Ref())
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if errors.Is(err, fs.ErrClosed) {
		return nil, err
	}
	fault := &model.Fault{File: h.SessionID + "/" + h.ID, Path: "/state"}
	if err != nil {
		fault.Code, fault.Severity, fault.Meaning, fault.Verdict = store.FaultState, model.Stops, err.Error(), "a program that loads it fails"
		return fault, nil
	}
	v := model.Verify(h.ID, state)
	if v.OK() || errors.Is(v.Err, model.ErrNotHash) {
		return nil, nil
	}
	fault.Code = store.FaultHashMismatch
	fault.Meaning = fmt.Sprintf("#%d: %s", h.Index, v.Text())
	fault.Verdict = "a program that resumes from it notices nothing"
	return fault, nil
}
