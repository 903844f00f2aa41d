// Package fake is a store that lives in the process, for tests: what the sqlite store
// must do, without a file.
package fake

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/store"
	"hindcast/store/engine/inspect"
	"hindcast/store/engine/recording"
	"hindcast/store/native/typed"
)

const kind = "memory"

// Store keeps sessions in memory. It has every capability of the port and is a
// model.Store of raw JSON states. It is safe for concurrent use. Use New.
type Store struct {
	now func() time.Time

	mu       sync.RWMutex
	sessions map[string]*session
	// states holds the state of each snapshot once, by its hash.
	states  map[[sha256.Size]byte][]byte
	journal []*entry
	// writes counts the changes of all sessions, so that none of them ever has
	// the revision of another time, even if it went and came back.
	writes int64

	notifier store.Notifier
}

var (
	_ typed.Scoped[json.RawMessage] = (*Store)(nil)
	_ typed.Committer               = (*Store)(nil)
)

// An Option changes how New makes a store.
type Option func(*Store)

// WithClock sets where the store takes the time from, instead of time.Now.
func WithClock(now func() time.Time) Option { return func(s *Store) { s.now = now } }

// New returns an empty store.
func New(options ...Option) *Store {
	s := &Store{now: time.Now, sessions: map[string]*session{}, states: map[[sha256.Size]byte][]byte{}}
	for _, o := range options {
		o(s)
	}
	return s
}

// session is one session: its visits by ascending number, and its record.
type session struct {
	visits recording.Visits
	// rows holds the positions of the visits of each id; the first is the row
	// of rule 3, which stays as it was written.
	rows map[string][]int
	// states holds the state of each id.
	states map[string][]byte
	// writes is the number of the last change, a typed.Revision; rewrites that
	// of the last which was more than growth. An undo is a change like others.
	writes, rewrites int64
	stand
}

// stand is what changes on a session besides its visits: what an undo puts
// back. The head is in visits.
type stand struct {
	record  *record
	updated time.Time
	// revision counts the changes of the session for the journal. An undo puts
	// it back, so that equal revisions stand for equal content.
	revision int64
}

// record is the working state of a session. It is replaced, never changed.
type record struct {
	state []byte
	turn  int
}

// Kind returns "memory".
func (s *Store) Kind() string { return kind }

// Address returns "", as a memory store has none.
func (s *Store) Address() string { return "" }

// Features implements store.Store.
func (s *Store) Features() store.Features {
	return store.Features{
		Tail: s.Tail, Record: s.Get, Watch: s.Watch, Cursor: s.Cursor, Growth: s.Growth,
		Lacks: s.Lacks, Plan: s.Plan, Apply: s.Apply, Journal: s.Journal, Import: s.Import,
	}
}

// Close does nothing: the store goes with the last reference to it.
func (s *Store) Close() error { return nil }

// Sessions implements store.Store.
func (s *Store) Sessions(ctx context.Context) iter.Seq2[model.SessionInfo, error] {
	return func(yield func(model.SessionInfo, error) bool) {
		for _, info := range s.infos() {
			if err := ctx.Err(); err != nil {
				yield(model.SessionInfo{}, fmt.Errorf("memory: list sessions: %w", err))
				return
			}
			if !yield(info, nil) {
				return
			}
		}
	}
}

func (s *Store) infos() []model.SessionInfo {
	s.mu.RLock()
	defer s.mu.RUnlock()
	infos := make([]model.SessionInfo, 0, len(s.sessions))
	for id, ss := range s.sessions {
		info := model.SessionInfo{ID: id, Kind: kind, UpdatedAt: ss.updated, Faults: model.FaultsNotCounted}
		headers := ss.from(0)
		info.Count(headers)
		if i := slices.IndexFunc(headers, func(h model.Header) bool { return !h.Marks.Has(model.MarkTraced) }); i >= 0 {
			info.Title = conversation.Opening(ss.states[headers[i].ID])
		}
		for _, state := range ss.states {
			info.Size += int64(len(state))
		}
		infos = append(infos, info)
	}
	slices.SortFunc(infos, store.NewestFirst)
	return infos
}

// Headers implements store.Store.
func (s *Store) Headers(ctx context.Context, sessionID string) iter.Seq2[model.Header, error] {
	return func(yield func(model.Header, error) bool) {
		headers, _, err := s.tail(sessionID, -1)
		if err != nil {
			yield(model.Header{}, err)
			return
		}
		for _, h := range headers {
			if err := ctx.Err(); err != nil {
				yield(model.Header{}, fmt.Errorf("memory: list snapshots of session %q: %w", sessionID, err))
				return
			}
			if !yield(h, nil) {
				return
			}
		}
	}
}

// Tail implements [store.Features].Tail.
func (s *Store) Tail(ctx context.Context, sessionID string, n int) ([]model.Header, int, error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, fmt.Errorf("memory: list snapshots of session %q: %w", sessionID, err)
	}
	return s.tail(sessionID, max(n, 0))
}

// tail returns the last n headers, all of them for -1, and how many there are before them.
func (s *Store) tail(sessionID string, n int) ([]model.Header, int, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	ss := s.sessions[sessionID]
	if ss == nil {
		return nil, 0, fmt.Errorf("memory: list snapshots of session %q: %w", sessionID, model.ErrNoSession)
	}
	all := ss.visits.Headers
	first := 0
	if n >= 0 && n < len(all) {
		first = len(all) - n
	}
	return ss.from(first), first, nil
}

// from returns the headers from a position on.
func (ss *session) from(first int) []model.Header {
	headers := slices.Clone(ss.visits.Headers[first:])
	if head := ss.visits.Head; head >= first {
		headers[head-first].Head = true
	}
	return headers
}

// State implements store.Store.
func (s *Store) State(ctx context.Context, ref model.Ref) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("memory: read state %q of session %q: %w", ref.ID, ref.Session, err)
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	ss := s.sessions[ref.Session]
	if ss == nil {
		return nil, fmt.Errorf("memory: read state %q of session %q: %w", ref.ID, ref.Session, model.ErrNoSession)
	}
	state, ok := ss.states[ref.ID]
	if !ok {
		return nil, fmt.Errorf("memory: read state %q of session %q: %w", ref.ID, ref.Session, model.ErrNoSnapshot)
	}
	if ref.Visit != 0 {
		if _, err := ss.visits.Find(ref); err != nil {
			return nil, fmt.Errorf("memory: read state of session %q: %w", ref.Session, err)
		}
	}
	return state, nil
}

// Get implements model.Store.
func (s *Store) Get(ctx context.Context, sessionID string) (*model.Data[json.RawMessage], error) {
	data, _, err := s.load(ctx, sessionID)
	if err != nil {
		return nil, fmt.Errorf("memory: get session %q: %w", sessionID, err)
	}
	return data, nil
}

func (s *Store) load(ctx context.Context, sessionID string) (*model.Data[json.RawMessage], typed.Revision, error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	ss := s.sessions[sessionID]
	if ss == nil {
		return nil, 0, nil
	}
	at := typed.Revision(ss.writes)
	if ss.record == nil {
		return nil, at, nil
	}
	data := &model.Data[json.RawMessage]{ID: sessionID, State: bytes.Clone(ss.record.state), TurnIndex: ss.record.turn}
	if i := ss.visits.Head; i >= 0 {
		h := ss.visits.Headers[i]
		data.LastSnapshot = store.Snapshot(h, bytes.Clone(ss.states[h.ID]))
	}
	return data, at, nil
}

// Save implements model.Store. The last snapshot becomes the session's head;
// one that the session does not hold yet is kept, as SaveSnapshot does.
func (s *Store) Save(ctx context.Context, sessionID string, data *model.Data[json.RawMessage]) error {
	if err := s.save(ctx, sessionID, data); err != nil {
		return fmt.Errorf("memory: save session %q: %w", sessionID, err)
	}
	return nil
}

func (s *Store) save(ctx context.Context, sessionID string, data *model.Data[json.RawMessage]) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := store.CheckData(sessionID, data); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.put(s.at(sessionID), data)
}

// put writes a checked record into a session, which enters the store with it.
// Nothing is changed where that fails.
func (s *Store) put(ss *session, data *model.Data[json.RawMessage]) error {
	head, before := ss.visits.Head, len(ss.visits.Headers)
	var state []byte
	if data.LastSnapshot != nil {
		last := *data.LastSnapshot
		last.Orphaned = false // it is where the session stands
		i, err := s.visit(ss, &last)
		if err != nil {
			return err
		}
		head, state = i, ss.states[last.ID]
	}
	if state == nil || !bytes.Equal(data.State, state) {
		if store.SharesState(data) {
			// Nobody has looked at it: the visit was there, with other bytes.
			if err := store.CheckState(data.State); err != nil {
				return err
			}
		}
		state = bytes.Clone(data.State)
	}
	ss.record = &record{state: state, turn: data.TurnIndex}
	s.touch(ss)
	if head != ss.visits.Head && head < before {
		s.rewrote(ss)
	}
	ss.visits.Head = head
	return nil
}

// GetSnapshot implements model.Store.
func (s *Store) GetSnapshot(ctx context.Context, snapshotID string) (*model.Snapshot[json.RawMessage], error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("memory: get snapshot %q: %w", snapshotID, err)
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	switch holders := s.holders(snapshotID, nil); len(holders) {
	case 0:
		return nil, nil
	case 1:
		return s.sessions[holders[0]].row(snapshotID), nil
	default:
		return nil, fmt.Errorf("memory: get snapshot: %w", &model.AmbiguousError{ID: snapshotID, Candidates: holders})
	}
}

// GetSnapshotIn implements typed.Scoped.
func (s *Store) GetSnapshotIn(ctx context.Context, sessionID, snapshotID string) (*model.Snapshot[json.RawMessage], error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("memory: get snapshot %q of session %q: %w", snapshotID, sessionID, err)
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	ss := s.sessions[sessionID]
	if ss == nil {
		return nil, nil
	}
	return ss.row(snapshotID), nil
}

// holders returns the ids of the sessions other than but that hold a snapshot.
func (s *Store) holders(snapshotID string, but *session) []string {
	var ids []string
	for id, ss := range s.sessions {
		if ss != but && ss.rows[snapshotID] != nil {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// SaveSnapshot implements model.Store. The snapshot becomes the session's head
// unless it is marked as orphaned. The errors are store.ErrIDMismatch,
// store.ErrNotJSON and store.ErrTime.
func (s *Store) SaveSnapshot(ctx context.Context, snapshot *model.Snapshot[json.RawMessage]) error {
	if snapshot == nil {
		return errors.New("memory: save snapshot: the snapshot is nil")
	}
	if err := s.saveSnapshot(ctx, snapshot); err != nil {
		return fmt.Errorf("memory: save snapshot %q of session %q: %w", snapshot.ID, snapshot.SessionID, err)
	}
	return nil
}

func (s *Store) saveSnapshot(ctx context.Context, snapshot *model.Snapshot[json.RawMessage]) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ss := s.at(snapshot.SessionID)
	before := len(ss.visits.Headers)
	i, err := s.visit(ss, snapshot)
	if err != nil || i < before {
		return err
	}
	if !snapshot.Orphaned {
		ss.visits.Head = i
	}
	s.touch(ss)
	return nil
}

// ListSnapshots implements model.Store. An unknown session has none.
func (s *Store) ListSnapshots(ctx context.Context, sessionID string, includeOrphaned bool) ([]*model.Snapshot[json.RawMessage], error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("memory: list snapshots of session %q: %w", sessionID, err)
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	ss := s.sessions[sessionID]
	if ss == nil {
		return nil, nil
	}
	rows := ss.visits.Rows(includeOrphaned)
	list := make([]*model.Snapshot[json.RawMessage], len(rows))
	for i, h := range rows {
		list[i] = store.Snapshot(h, bytes.Clone(ss.states[h.ID]))
	}
	return list, nil
}

// InvalidateSnapshotsAfter implements model.Store. The visits that it orphans
// say that they were left by a restore, and a head among them gives way to the
// last visit that is still active.
func (s *Store) InvalidateSnapshotsAfter(ctx context.Context, sessionID string, afterIndex int) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("memory: invalidate snapshots of session %q after #%d: %w", sessionID, afterIndex, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ss := s.sessions[sessionID]
	if ss == nil {
		return nil
	}
	positions, target := ss.visits.After(afterIndex)
	if len(positions) == 0 {
		return nil
	}
	ss.orphan(positions, &model.Reason{Kind: model.ReasonRestore, At: s.clock(), TargetID: target, TargetIndex: afterIndex})
	if ss.visits.Head >= 0 && ss.visits.Headers[ss.visits.Head].Orphaned {
		ss.visits.Head = ss.visits.LastActive()
	}
	s.touch(ss)
	s.rewrote(ss)
	return nil
}

// clock returns the time as it is kept.
func (s *Store) clock() time.Time { return s.now().UTC().Round(0) }

// touch notes a change of a session of the present moment.
func (s *Store) touch(ss *session) {
	ss.updated = s.clock()
	ss.revision++
	s.wrote(ss)
}

// wrote gives a session that was changed its next revision. A session that is
// new is in the store from then on.
func (s *Store) wrote(ss *session) {
	s.writes++
	ss.writes = s.writes
	if s.sessions[ss.visits.Session] != ss {
		s.sessions[ss.visits.Session] = ss
		s.rewrote(ss) // there may have been another of this name
	}
	s.notifier.Notify()
}

// rewrote notes that the last change of a session was more than growth.
func (s *Store) rewrote(ss *session) { ss.rewrites = ss.writes }

// at returns a session, or a new one, which is not in the store yet.
func (s *Store) at(sessionID string) *session {
	if ss := s.sessions[sessionID]; ss != nil {
		return ss
	}
	return newSession(sessionID)
}

func newSession(id string) *session {
	return &session{
		visits: recording.Visits{Session: id, Head: -1},
		rows:   map[string][]int{}, states: map[string][]byte{},
	}
}

// visit records a visit of the snapshot and returns its position; a visit that
// tells of the same event, and stands as the snapshot does, is there already.
func (s *Store) visit(ss *session, snapshot *model.Snapshot[json.RawMessage]) (int, error) {
	h, err := store.Header(snapshot)
	if err != nil {
		return 0, err
	}
	for _, i := range ss.rows[h.ID] {
		if have := &ss.visits.Headers[i]; store.SameVisit(have, &h) && have.Orphaned == h.Orphaned {
			return i, nil
		}
	}
	if err := store.CheckState(snapshot.State); err != nil {
		return 0, err
	}
	if err := store.CheckID(h.ID, snapshot.State, sha256.Sum256(snapshot.State), ss.states[h.ID]); err != nil {
		return 0, err
	}
	h.ParentVisit = ss.visits.ParentOf(h.ParentID, ss.rows[h.ParentID])
	return s.add(ss, h, snapshot.State), nil
}

// add appends a visit under the next number, or under its own if it has one.
func (s *Store) add(ss *session, h model.Header, state []byte) int {
	if h.Visit == 0 {
		h.Visit = ss.visits.Next()
	}
	i := len(ss.visits.Headers)
	if _, ok := ss.states[h.ID]; !ok {
		ss.states[h.ID] = s.intern(state)
	}
	h.Size, h.Head = int64(len(ss.states[h.ID])), false
	ss.visits.Headers = append(ss.visits.Headers, h)
	ss.rows[h.ID] = append(ss.rows[h.ID], i)
	return i
}

// intern returns the store's own copy of a state.
func (s *Store) intern(state []byte) []byte {
	sum := sha256.Sum256(state)
	if have, ok := s.states[sum]; ok {
		return have
	}
	own := bytes.Clone(state)
	s.states[sum] = own
	return own
}

// row returns the snapshot of an id as it was first written, or nil.
func (ss *session) row(id string) *model.Snapshot[json.RawMessage] {
	positions := ss.rows[id]
	if positions == nil {
		return nil
	}
	return store.Snapshot(ss.rowHeader(positions), bytes.Clone(ss.states[id]))
}

// rowHeader returns the first of some visits of an id, active if any of them is
// (rule 4).
func (ss *session) rowHeader(positions []int) model.Header {
	h := ss.visits.Headers[positions[0]]
	for _, i := range positions {
		h.Orphaned = h.Orphaned && ss.visits.Headers[i].Orphaned
	}
	return h
}

func (ss *session) orphan(positions []int, reason *model.Reason) {
	for _, i := range positions {
		ss.visits.Headers[i].Orphaned, ss.visits.Headers[i].Reason = true, reason
	}
}

// Faults implements store.Store. The store has no faults of its own.
func (s *Store) Faults(ctx context.Context, session string) ([]model.Fault, error) {
	if session == "" {
		return nil, ctx.Err()
	}
	return inspect.SessionFaults(ctx, s, session)
}
