package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"hindcast/model"
	"hindcast/model/wire"
	"hindcast/store"
	"hindcast/store/engine/recording"
)

// result writes what an action gives. What can go wrong has gone wrong before,
// as far as possible: an error after the first byte cuts the answer off.
type result func(out io.Writer) error

// runRequest carries out a request.
func (h *Handler) runRequest(ctx context.Context, body []byte) (result, error) {
	call, err := wire.ReadCall(body)
	if err != nil {
		return nil, &wire.Error{Code: wire.InvalidArgument, Message: err.Error()}
	}
	agent, name, ok := wire.ParseKey(call.Key)
	s := h.stores[agent]
	var run action
	if ok && s != nil {
		run = h.findAction(s, name)
	}
	if run == nil {
		return nil, &wire.Error{Code: wire.NotFound, Message: fmt.Sprintf("action %q not found", call.Key)}
	}
	in, err := wire.ReadInput(name, call.Input)
	if err != nil {
		return nil, &wire.Error{Code: wire.InvalidArgument, Message: fmt.Sprintf("invalid input to action %q: %v", call.Key, err)}
	}
	give, err := run(ctx, s, in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return give, nil
}

// action is one action on a store. It may rely on what the schema of its input
// requires.
type action func(ctx context.Context, s Store, in wire.Input) (result, error)

// findAction returns the action of that name, or nil if the store does not support it.
func (h *Handler) findAction(s Store, name string) action {
	switch name {
	case wire.GetSnapshot:
		return getSnapshot
	case wire.ListSnapshots:
		return listSnapshots
	case wire.GetSession:
		return getSession
	case wire.ListSessions:
		return listSessions
	}
	features := s.Features()
	if features.Growth == nil {
		return nil
	}
	switch f := (follower{features, h.epoch}); name {
	case wire.GetCursor:
		return f.answerCursor
	case wire.GetGrowth:
		return f.answerGrowth
	}
	return nil
}

// asError returns an error as it is answered.
func asError(err error) *wire.Error {
	var said *wire.Error
	if errors.As(err, &said) {
		return said
	}
	e := &wire.Error{Code: wire.Internal, Message: err.Error()}
	switch {
	case errors.Is(err, model.ErrNoSession):
		e.Code, e.Details.Reason = wire.NotFound, wire.NoSession
	case errors.Is(err, model.ErrNoSnapshot):
		e.Code, e.Details.Reason = wire.NotFound, wire.NoSnapshot
	case errors.Is(err, model.ErrAmbiguous):
		e.Code, e.Details.Reason = wire.InvalidArgument, wire.Ambiguous
	}
	return e
}

func getSnapshot(ctx context.Context, s Store, in wire.Input) (result, error) {
	snapshot, err := findSnapshot(ctx, s, in)
	if err != nil {
		return nil, err
	}
	if err := store.CheckState(snapshot.State); err != nil {
		return nil, fmt.Errorf("snapshot %q of session %q: %w", snapshot.ID, snapshot.SessionID, err)
	}
	sent, err := toWire(snapshot)
	if err != nil {
		return nil, err
	}
	if in.MetadataOnly {
		sent.State = nil
	}
	return wholeResult(sent.Append(nil))
}

// findSnapshot returns the snapshot that is asked for. The errors are model.ErrNoSession,
// model.ErrNoSnapshot and model.ErrAmbiguous.
func findSnapshot(ctx context.Context, s Store, in wire.Input) (*model.Snapshot[json.RawMessage], error) {
	id := *in.SnapshotID
	if in.SessionID == nil {
		snapshot, err := s.GetSnapshot(ctx, id)
		if err == nil && snapshot == nil {
			err = fmt.Errorf("snapshot %q: %w", id, model.ErrNoSnapshot)
		}
		return snapshot, err
	}
	session := *in.SessionID
	snapshot, err := s.GetSnapshotIn(ctx, session, id)
	if err == nil && (snapshot == nil || in.Visit != 0) {
		err = findMissing(ctx, s, model.Ref{Session: session, ID: id, Visit: in.Visit})
	}
	missing := errors.Is(err, model.ErrNoSession) || errors.Is(err, model.ErrNoSnapshot)
	switch {
	case snapshot == nil && missing && isElsewhere(ctx, s, id):
		e := asError(err)
		e.Code, e.Message = wire.InvalidArgument, fmt.Sprintf("%s: snapshot %q does not belong to session %q", wire.GetSnapshot, id, session)
		return nil, e
	case snapshot == nil && err == nil: // saved in between
		err = fmt.Errorf("snapshot %q of session %q: %w", id, session, model.ErrNoSnapshot)
	}
	return snapshot, err
}

// findMissing asks the store which of session, snapshot and visit is not there. It
// returns nil where all are.
func findMissing(ctx context.Context, s Store, ref model.Ref) error {
	if f := s.Features(); f.Peek != nil {
		_, err := f.Peek(ctx, ref)
		return err
	}
	_, err := s.State(ctx, ref)
	return err
}

// isElsewhere reports whether any session holds a snapshot.
func isElsewhere(ctx context.Context, s Store, id string) bool {
	snapshot, err := s.GetSnapshot(ctx, id)
	return snapshot != nil || errors.Is(err, model.ErrAmbiguous)
}

// toWire returns a snapshot as it goes over the wire.
func toWire(s *model.Snapshot[json.RawMessage]) (wire.Snapshot, error) {
	h, err := store.Header(s)
	return wire.Snapshot{Header: h, State: s.State}, err
}

func listSnapshots(ctx context.Context, s Store, in wire.Input) (result, error) {
	headers := []model.Header{}
	for h, err := range s.Headers(ctx, *in.SessionID) {
		if err != nil {
			return nil, err
		}
		headers = append(headers, h)
	}
	if in.MetadataOnly {
		return listResult(headers, func(h model.Header) ([]byte, error) {
			if h.Orphaned && !in.IncludeOrphaned {
				return nil, nil
			}
			return json.Marshal(h)
		}), nil
	}
	// One state at a time is in memory, whatever the session weighs.
	visits := recording.Visits{Session: *in.SessionID, Headers: headers, Head: -1}
	return listResult(visits.Rows(in.IncludeOrphaned), func(h model.Header) ([]byte, error) {
		state, err := s.State(ctx, h.Ref())
		if err != nil {
			return nil, err
		}
		if err := store.CheckState(state); err != nil {
			return nil, err
		}
		h.Visit, h.ParentVisit, h.Head, h.Reason = 0, 0, false, nil // of a visit, and this is a row
		sent := wire.Snapshot{Header: h, State: state}
		return sent.Append(nil)
	}), nil
}

func getSession(ctx context.Context, s Store, in wire.Input) (result, error) {
	data, err := s.Get(ctx, *in.SessionID)
	if err != nil {
		return nil, err
	}
	if data == nil {
		return nil, &wire.Error{Code: wire.NotFound, Message: fmt.Sprintf("%s: session %q has no record", wire.GetSession, *in.SessionID)}
	}
	sent := wire.Record{ID: data.ID, State: data.State, TurnIndex: data.TurnIndex}
	if data.LastSnapshot != nil {
		last, err := toWire(data.LastSnapshot)
		if err != nil {
			return nil, err
		}
		if err := store.CheckState(last.State); err != nil {
			return nil, fmt.Errorf("last snapshot of session %q: %w", data.ID, err)
		}
		sent.LastSnapshot = &last
	}
	if err := store.CheckState(data.State); err != nil {
		return nil, fmt.Errorf("record of session %q: %w", data.ID, err)
	}
	return wholeResult(sent.Append(nil))
}

func listSessions(ctx context.Context, s Store, _ wire.Input) (result, error) {
	sessions := []wire.Session{}
	for info, err := range s.Sessions(ctx) {
		if err != nil {
			return nil, err
		}
		sessions = append(sessions, wire.Session(info))
	}
	return wholeResult(json.Marshal(sessions))
}

// follower answers with the growth of a store. Its epoch shifts the cursors that it sends. So a cursor of an
// earlier process counts as one from before a rewrite, and the session is read again. Sums may wrap.
type follower struct {
	store.Features
	epoch int64
}

func (f follower) sent(at store.Cursor) wire.Cursor {
	at.Rewrites += f.epoch
	return wire.Cursor(at)
}

func (f follower) answerCursor(ctx context.Context, _ Store, in wire.Input) (result, error) {
	at, err := f.Cursor(ctx, *in.SessionID)
	if err != nil {
		return nil, err
	}
	return wholeResult(json.Marshal(f.sent(at)))
}

func (f follower) answerGrowth(ctx context.Context, _ Store, in wire.Input) (result, error) {
	growth, err := f.Growth(ctx, *in.SessionID, store.Cursor{Visit: in.Visit, Rewrites: in.Rewrites - f.epoch})
	if err != nil {
		return nil, err
	}
	return wholeResult(json.Marshal(wire.Growth{Headers: growth.Headers, Rewritten: growth.Rewritten, Cursor: f.sent(growth.Cursor)}))
}

// wholeResult returns a result that is in memory.
func wholeResult(text []byte, err error) (result, error) { return bytesOf(text), err }

func bytesOf(text []byte) result {
	return func(out io.Writer) error {
		_, err := out.Write(text)
		return err
	}
}

// sequence returns results one after the other.
func sequence(parts ...result) result {
	return func(out io.Writer) error {
		for _, part := range parts {
			if err := part(out); err != nil {
				return err
			}
		}
		return nil
	}
}

// listResult returns a result of many: each is made when its turn comes; one without
// text is left out.
func listResult[T any](all []T, text func(T) ([]byte, error)) result {
	return func(out io.Writer) error {
		sep := "["
		for _, element := range all {
			data, err := text(element)
			if err != nil {
				return err
			}
			if data == nil {
				continue
			}
			if _, err := io.WriteString(out, sep); err != nil {
				return err
			}
			if _, err := out.Write(data); err != nil {
				return err
			}
			sep = ","
		}
		if sep == "[" {
			sep = "[]"
		} else {
			sep = "]"
		}
		_, err := io.WriteString(out, sep)
		return err
	}
}
