package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/native/typed"
)

// home is where sessions are kept: the store, and what it can do besides.
type home[S any] struct {
	store model.Store[S]
	// raw commits the bytes of states. Without it nothing guards a session against a
	// second writer.
	raw typed.Committer
	// plan and apply are nil where a restore is several writes.
	plan  func(context.Context, model.Change) (model.Plan, error)
	apply func(context.Context, model.Plan) (model.Receipt, error)
}

func newHome[S any](s model.Store[S]) *home[S] {
	h := &home[S]{store: s}
	beneath := any(s)
	if l, ok := beneath.(typed.Layered); ok {
		beneath = l.Raw()
	}
	h.raw, _ = beneath.(typed.Committer)
	if s, ok := beneath.(store.Store); ok && store.Reason(s, model.OpRestore) == "" {
		h.plan, h.apply = s.Features().Plan, s.Features().Apply
	}
	return h
}

// loadRecord returns where a session stands and its revision; a record without a state
// is that of a session that does not exist yet.
func (h *home[S]) loadRecord(ctx context.Context, id string) (record[S], typed.Revision, error) {
	var r record[S]
	var at typed.Revision
	var err error
	if h.raw != nil {
		var data *model.Data[json.RawMessage]
		if data, at, err = h.raw.Load(ctx, id); err == nil && data != nil {
			r, err = readRecord[S](data)
		}
	} else {
		var data *model.Data[S]
		if data, err = h.store.Get(ctx, id); err == nil && data != nil {
			r = takeRecord(data)
		}
	}
	if err == nil && r.state == nil && (at != 0 || h.raw == nil) {
		r, err = h.loadLast(ctx, id)
	}
	if err == nil && r.state != nil {
		err = r.state.err
	}
	return r, at, err
}

// loadLast returns where a session without a record stands: at the last of its
// active snapshots. It was imported, or its first record could not be written.
func (h *home[S]) loadLast(ctx context.Context, id string) (record[S], error) {
	list, err := h.store.ListSnapshots(ctx, id, false)
	if err != nil || len(list) == 0 {
		return record[S]{}, err
	}
	last := takeCapture(list[len(list)-1])
	return record[S]{state: last.state, last: last, turn: last.TurnIndex}.resumeTurn(), nil
}

// resumeTurn returns the record in the turn that comes next. A record that was put
// back to a snapshot says the turn of that, which may be over.
func (r record[S]) resumeTurn() record[S] {
	if last := r.last; last != nil && last.Event.EndsTurn() && r.turn <= last.TurnIndex {
		r.turn = last.TurnIndex + 1
	}
	return r
}

func readRecord[S any](data *model.Data[json.RawMessage]) (r record[S], err error) {
	r.turn = data.TurnIndex
	if r.state, err = readValue[S](data.State); err != nil {
		return record[S]{}, err
	}
	if last := data.LastSnapshot; last != nil {
		r.last = &capture[S]{activeHeader(last), r.state}
		if string(last.State) != string(data.State) {
			if r.last.state, err = readValue[S](last.State); err != nil {
				return record[S]{}, fmt.Errorf("last snapshot %.80q: %w", last.ID, err)
			}
		}
	}
	return r.resumeTurn(), nil
}

func takeRecord[S any](data *model.Data[S]) record[S] {
	r := record[S]{state: newValue(data.State), turn: data.TurnIndex}
	if data.LastSnapshot != nil {
		r.last = takeCapture(data.LastSnapshot)
	}
	return r.resumeTurn()
}

func takeCapture[S any](s *model.Snapshot[S]) *capture[S] {
	return &capture[S]{activeHeader(s), newValue(s.State)}
}

// commitRecord writes where a session stands, if it still is at that revision, and
// returns the new one. kept says that the last snapshot is in the store, which it
// may be even if the rest failed.
func (h *home[S]) commitRecord(ctx context.Context, id string, r record[S], at typed.Revision) (now typed.Revision, kept bool, err error) {
	if h.raw != nil {
		now, err = h.raw.Commit(ctx, storeData(id, r, func(v *value[S]) json.RawMessage { return v.text }), at)
		return now, err == nil, err
	}
	d := storeData(id, r, (*value[S]).copyState)
	if d.LastSnapshot != nil {
		if err := h.store.SaveSnapshot(ctx, d.LastSnapshot); err != nil {
			return at, false, err
		}
	}
	return at, true, h.store.Save(ctx, id, d)
}

// storeData returns a record as stores take it, its states as they want them.
func storeData[S, T any](id string, r record[S], state func(*value[S]) T) *model.Data[T] {
	d := &model.Data[T]{ID: id, State: state(r.state), TurnIndex: r.turn}
	if r.last != nil {
		d.LastSnapshot = seedSnapshot(r.last.Header, state(r.last.state))
	}
	return d
}

// seedSnapshot returns the seed's snapshot for a header and a state.
func seedSnapshot[T any](h model.Header, state T) *model.Snapshot[T] {
	return &model.Snapshot[T]{
		ID: h.ID, ParentID: h.ParentID, SessionID: h.SessionID, CreatedAt: h.CreatedAt, State: state,
		Index: h.Index, TurnIndex: h.TurnIndex, Event: h.Event,
	}
}

// activeHeader returns the header of a snapshot on the active path.
func activeHeader[T any](s *model.Snapshot[T]) model.Header {
	return model.Header{
		ID: s.ID, ParentID: s.ParentID, SessionID: s.SessionID, CreatedAt: s.CreatedAt,
		Index: s.Index, TurnIndex: s.TurnIndex, Event: s.Event,
	}
}

// restoreSession puts the session of a snapshot back to it and returns the session's id.
// session is the id that it has to have, nil for any.
func (h *home[S]) restoreSession(ctx context.Context, id string, session *string) (string, error) {
	target, err := h.findSnapshot(ctx, id, session)
	if err != nil {
		return "", err
	}
	if h.plan == nil {
		return target.SessionID, h.restoreByHand(ctx, target)
	}
	plan, err := h.plan(ctx, model.Change{Op: model.OpRestore, Ref: model.Ref{Session: target.SessionID, ID: target.ID}})
	if err != nil {
		return "", err
	}
	_, err = h.apply(ctx, plan)
	return target.SessionID, err
}

// findSnapshot returns the snapshot of that id, in the session if one is named.
func (h *home[S]) findSnapshot(ctx context.Context, id string, session *string) (*model.Snapshot[S], error) {
	if scoped, ok := h.store.(typed.Scoped[S]); ok && session != nil {
		if s, err := scoped.GetSnapshotIn(ctx, *session, id); s != nil || err != nil {
			return s, err
		}
	}
	s, err := h.store.GetSnapshot(ctx, id)
	switch ambiguous := (*model.AmbiguousError)(nil); {
	case session != nil && errors.As(err, &ambiguous):
		return h.findAmong(ctx, ambiguous, *session)
	case err != nil:
		return nil, err
	case s == nil:
		return nil, model.ErrNoSnapshot
	case session != nil && s.SessionID != *session:
		return nil, fmt.Errorf("%w: it is of %.80q, not of %.80q", ErrSessionMismatch, s.SessionID, *session)
	}
	return s, nil
}

// findAmong returns the snapshot of a session whose id several sessions hold.
func (h *home[S]) findAmong(ctx context.Context, ambiguous *model.AmbiguousError, session string) (*model.Snapshot[S], error) {
	list, err := h.store.ListSnapshots(ctx, session, true)
	if err != nil {
		return nil, err
	}
	for _, s := range list {
		if s.ID == ambiguous.ID {
			return s, nil
		}
	}
	return nil, fmt.Errorf("%w: %.80q has none, but %w", ErrSessionMismatch, session, ambiguous)
}

// restoreByHand is the restore of a store that knows only the seed's calls: by
// rule 5 of the design, everything after the branch point is orphaned, the way
// from there to the target is saved again, which makes it active (rule 4), and
// the record goes back to the target. It is several writes: when one fails,
// those before it stay.
func (h *home[S]) restoreByHand(ctx context.Context, target *model.Snapshot[S]) error {
	list, err := h.store.ListSnapshots(ctx, target.SessionID, true)
	if err != nil {
		return err
	}
	branch, way := branchPoint(list, target)
	if err := h.store.InvalidateSnapshotsAfter(ctx, target.SessionID, branch); err != nil {
		return err
	}
	for _, s := range way {
		again := *s
		again.Orphaned = false
		if err := h.store.SaveSnapshot(ctx, &again); err != nil {
			return err
		}
	}
	head := *target
	head.Orphaned = false
	return h.store.Save(ctx, target.SessionID, &model.Data[S]{ID: target.SessionID, State: target.State, LastSnapshot: &head, TurnIndex: target.TurnIndex})
}

// branchPoint returns the index of the nearest active snapshot on the way up from
// target, or -1, and the orphaned ones below it down to target.
func branchPoint[S any](list []*model.Snapshot[S], target *model.Snapshot[S]) (index int, way []*model.Snapshot[S]) {
	byID := make(map[string]*model.Snapshot[S], len(list))
	for _, s := range list {
		byID[s.ID] = s
	}
	at := cmp.Or(byID[target.ID], target)
	for at != nil && at.Orphaned {
		way = append([]*model.Snapshot[S]{at}, way...)
		delete(byID, at.ID) // a lineage may run in a circle
		at = byID[at.ParentID]
	}
	if at == nil {
		return -1, way
	}
	return at.Index, way
}
