package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"hindcast/model"
	"hindcast/model/wire"
	"hindcast/store"
	"hindcast/store/engine/inspect"
	"hindcast/store/engine/recording"
)

// Sessions implements store.Store: those of all agents, the last changed first.
// The error is ErrNoList where an agent cannot list its sessions.
func (s *Store) Sessions(ctx context.Context) iter.Seq2[model.SessionInfo, error] {
	return func(yield func(model.SessionInfo, error) bool) {
		infos, err := s.listSessions(ctx)
		for _, info := range infos {
			if !yield(info, nil) {
				return
			}
		}
		if err != nil {
			yield(model.SessionInfo{}, fmt.Errorf("reflection: list sessions: %w", err))
		}
	}
}

// listSessions returns the sessions of all agents; with an error, those of the agents
// before the one that failed.
func (s *Store) listSessions(ctx context.Context) (infos []model.SessionInfo, err error) {
	var mute []string
	list := s.listReader()
	for _, name := range s.agentNames() {
		a := s.agents[name]
		if !a.hasAction(wire.ListSessions) {
			mute = append(mute, name)
			continue
		}
		failed := s.runAction(ctx, a, wire.ListSessions, wire.Input{}, func(dec *json.Decoder) error {
			return list(dec, func(dec *json.Decoder) error {
				var sent wire.Session
				if err := dec.Decode(&sent); err != nil {
					return err
				}
				info := model.SessionInfo(sent)
				info.ID, info.Kind = s.sessionID(a, info.ID), kind
				infos = append(infos, info)
				return nil
			})
		})
		if failed != nil {
			err = fmt.Errorf("agent %.80q: %w", name, failed)
			break
		}
	}
	if len(mute) > 0 {
		err = errors.Join(err, fmt.Errorf("agents %s: %w", nameAgents(mute), ErrNoList))
	}
	slices.SortStableFunc(infos, store.NewestFirst)
	return infos, err
}

// Headers implements store.Store. All headers are there before the first is
// given, so that the process does not wait for their reader. A process
// that does not know how to leave out states sends them, and they are dropped.
func (s *Store) Headers(ctx context.Context, session string) iter.Seq2[model.Header, error] {
	return func(yield func(model.Header, error) bool) {
		headers, err := s.readHeaders(ctx, session)
		if err != nil {
			yield(model.Header{}, fmt.Errorf("reflection: list snapshots of session %.80q: %w", session, err))
			return
		}
		for _, h := range headers {
			if err := ctx.Err(); err != nil {
				yield(model.Header{}, fmt.Errorf("reflection: list snapshots of session %.80q: %w", session, err))
				return
			}
			if !yield(h, nil) {
				return
			}
		}
	}
}

func (s *Store) readHeaders(ctx context.Context, session string) ([]model.Header, error) {
	a, inside, err := s.locateAgent(session)
	if err != nil {
		return nil, err
	}
	visits := a.acceptsInput(wire.ListSnapshots, "metadataOnly")
	in := wire.Input{SessionID: &inside, IncludeOrphaned: true, MetadataOnly: visits}
	var headers []model.Header
	err = s.runAction(ctx, a, wire.ListSnapshots, in, func(dec *json.Decoder) error {
		return s.listReader()(dec, func(dec *json.Decoder) error {
			h, err := readHeader(dec, visits)
			headers = append(headers, h)
			return err
		})
	})
	if err = noSession(err); err == nil {
		err = adoptHeaders(headers, session)
	}
	if err != nil || visits {
		return headers, err
	}
	if len(headers) == 0 {
		// To the seed, a session that is not there is one without snapshots.
		if record, err := s.readRecord(ctx, a, inside); err != nil || record == nil {
			return nil, errors.Join(err, model.ErrNoSession)
		}
	}
	settleHead(headers)
	return headers, nil
}

// readHeader reads one snapshot of a list, for its header alone. Where there is
// a state, it tells the size.
func readHeader(dec *json.Decoder, bare bool) (h model.Header, err error) {
	if bare {
		err = dec.Decode(&h)
		return h, err
	}
	var sent wire.Snapshot
	err = dec.Decode(&sent)
	if sent.State != nil {
		sent.Header.Size = int64(len(sent.State))
	}
	return sent.Header, err
}

// adoptHeaders makes headers those of a session as it is named here: how the process
// names its sessions is its own business. Those that left the path together
// share one reason again. One without an id is an error.
func adoptHeaders(headers []model.Header, session string) error {
	reasons := map[model.Reason]*model.Reason{}
	for i := range headers {
		h := &headers[i]
		if h.ID == "" {
			return fmt.Errorf("snapshot %d has no id", i+1)
		}
		h.SessionID = session
		if h.Reason == nil {
			continue
		}
		same := *h.Reason
		same.At = same.At.UTC() // times are compared with their zone
		if reasons[same] == nil {
			reasons[same] = h.Reason
		}
		h.Reason = reasons[same]
	}
	return nil
}

// settleHead finds the head of a session whose headers do not name one, as
// those of the seed itself do not: its last active snapshot.
func settleHead(headers []model.Header) {
	if slices.ContainsFunc(headers, func(h model.Header) bool { return h.Head }) {
		return
	}
	visits := recording.Visits{Headers: headers, Head: -1}
	if i := visits.LastActive(); i >= 0 {
		headers[i].Head = true
	}
}

// notFound reports whether the process answers that there is no such thing.
func notFound(err error) bool {
	e := (*wire.Error)(nil)
	return errors.As(err, &e) && e.Code == wire.NotFound
}

// noSession makes an answer of that kind model.ErrNoSession, which only a
// server of Hindcast's says.
func noSession(err error) error {
	if notFound(err) && !errors.Is(err, model.ErrNoSession) {
		return fmt.Errorf("%w: %w", model.ErrNoSession, err)
	}
	return err
}

// State implements store.Store: the bytes as the process sent them.
func (s *Store) State(ctx context.Context, ref model.Ref) ([]byte, error) {
	state, err := s.readState(ctx, ref)
	if err != nil {
		return nil, fmt.Errorf("reflection: read state %.80q of session %.80q: %w", ref.ID, ref.Session, err)
	}
	return state, nil
}

func (s *Store) readState(ctx context.Context, ref model.Ref) ([]byte, error) {
	a, inside, err := s.locateAgent(ref.Session)
	if err != nil {
		return nil, err
	}
	in := wire.Input{SnapshotID: &ref.ID, SessionID: &inside}
	if a.acceptsInput(wire.GetSnapshot, "visit") {
		in.Visit = ref.Visit
	}
	var id string
	var state json.RawMessage
	err = s.runAction(ctx, a, wire.GetSnapshot, in, func(dec *json.Decoder) (err error) {
		id, state, err = wire.ReadState(dec)
		return err
	})
	switch {
	case errors.Is(err, model.ErrNoSession):
		return nil, err
	case notFound(err):
		return nil, fmt.Errorf("%w: %w", model.ErrNoSnapshot, err)
	case err != nil:
		return nil, err
	case id == "":
		return nil, model.ErrNoSnapshot
	case id != ref.ID:
		return nil, fmt.Errorf("the process answers with snapshot %.80q", id)
	case state == nil:
		return nil, errors.New("the process answers without a state")
	}
	return state, nil
}

// Get implements [store.Features].Record.
func (s *Store) Get(ctx context.Context, sessionID string) (*model.Data[json.RawMessage], error) {
	data, err := s.readData(ctx, sessionID)
	if err != nil {
		return nil, fmt.Errorf("reflection: get session %.80q: %w", sessionID, err)
	}
	return data, nil
}

func (s *Store) readData(ctx context.Context, sessionID string) (*model.Data[json.RawMessage], error) {
	a, inside, err := s.locateAgent(sessionID)
	if errors.Is(err, model.ErrNoSession) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	record, err := s.readRecord(ctx, a, inside)
	if err != nil || record == nil {
		return nil, err
	}
	data := &model.Data[json.RawMessage]{ID: sessionID, State: record.State, TurnIndex: record.TurnIndex}
	if last := record.LastSnapshot; last != nil {
		last.Header.SessionID = sessionID
		data.LastSnapshot = store.Snapshot(last.Header, last.State)
	}
	return data, nil
}

// readRecord returns the record of a session, or nil if the session, or the whole agent, has no record.
func (s *Store) readRecord(ctx context.Context, a *agent, session string) (*wire.Record, error) {
	if !a.hasAction(wire.GetSession) {
		return nil, nil
	}
	var record *wire.Record
	err := s.runAction(ctx, a, wire.GetSession, wire.Input{SessionID: &session}, func(dec *json.Decoder) error { return dec.Decode(&record) })
	if notFound(err) {
		return nil, nil
	}
	if err == nil && record != nil && record.State == nil {
		return nil, errors.New("the process answers without a state")
	}
	return record, err
}

// Faults implements store.Store. A process has no faults of its own; of a
// session it is asked for every state.
func (s *Store) Faults(ctx context.Context, session string) ([]model.Fault, error) {
	if session == "" {
		return nil, ctx.Err()
	}
	return inspect.SessionFaults(ctx, s, session)
}
