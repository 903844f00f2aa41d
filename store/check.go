package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
)

var (
	// ErrIDMismatch: a snapshot's id is not the hash of its state.
	ErrIDMismatch = errors.New("the snapshot's id is not the SHA-256 of its state")
	// ErrNotJSON: a state is not one JSON value.
	ErrNotJSON = errors.New("the state is not one JSON value")
	// ErrNoState: a row of an import has no state, and none came before it.
	ErrNoState = errors.New("the snapshot has no state")
	// ErrNoRecord: a session was to be saved without its record.
	ErrNoRecord = errors.New("there is no record")
	// ErrTime: a time that RFC 3339 cannot write.
	ErrTime = errors.New("the time is outside the years 0 to 9999")
)

// CheckState refuses bytes that are not one JSON value: every state in a store
// of Hindcast's own can be exported.
func CheckState(state []byte) error {
	if !jsontape.Valid(state) {
		return ErrNotJSON
	}
	return nil
}

// CheckID refuses a snapshot whose id is not the hash of its state (rule 1), as written or without the spaces.
// [CheckState] must accept the state; sum is its SHA-256. have is the session's state under the id, or nil: a
// row imported with an id of its own may be saved again with the same state. Rows of other stores come through
// [Features].Import, which accepts any id. The error is ErrIDMismatch.
func CheckID(id string, state []byte, sum [sha256.Size]byte, have []byte) error {
	want := hex.EncodeToString(sum[:])
	if id == want || have != nil && bytes.Equal(state, have) {
		return nil
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, state); err != nil {
		return ErrNotJSON
	}
	if id == model.SnapshotID(compact.Bytes()) {
		return nil
	}
	return fmt.Errorf("%w: it should be %s", ErrIDMismatch, want)
}

// IsMismatch reports whether an id is a hash, but of no serialisation of the
// state: the state was changed after it was saved, or the id was.
func IsMismatch(id string, state []byte) bool {
	v := model.Verify(id, state)
	return !v.OK() && !errors.Is(v.Err, model.ErrNotHash)
}

// CheckData refuses the record of a session that cannot be kept. The errors
// are ErrNotJSON and those of a record of another session. A state that is that
// of the record's last snapshot is not looked at: its keeper does so.
func CheckData(sessionID string, data *model.Data[json.RawMessage]) error {
	switch {
	case data == nil:
		return ErrNoRecord
	case data.ID != "" && data.ID != sessionID:
		return fmt.Errorf("the record is of session %q", data.ID)
	case data.LastSnapshot != nil && data.LastSnapshot.SessionID != sessionID:
		return fmt.Errorf("its last snapshot is of session %q", data.LastSnapshot.SessionID)
	}
	if SharesState(data) {
		return nil
	}
	return CheckState(data.State)
}

// SharesState reports whether the state of a record is, byte for byte, that of
// its last snapshot: it then need not be checked, nor kept, a second time.
func SharesState(data *model.Data[json.RawMessage]) bool {
	return data.LastSnapshot != nil && bytes.Equal(data.State, data.LastSnapshot.State)
}

// FindConflict returns the error for a commit of data that came too late. head is the present head of the session,
// or nil. visits are the session's visits with the id of data's last snapshot. If that snapshot is one of
// them, its writer had been there; else the writer went on from the snapshot's parent.
func FindConflict(data *model.Data[json.RawMessage], head *model.Header, visits []model.Header) error {
	e := &model.ConflictError{Session: data.ID}
	if head != nil {
		e.Head = model.Point{ID: head.ID, Index: head.Index}
	}
	last := data.LastSnapshot
	if last == nil {
		return e
	}
	mine, err := Header(last)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(visits, func(h model.Header) bool { return SameVisit(&h, &mine) }) {
		e.Expected = model.Point{ID: last.ID, Index: last.Index}
	} else if last.ParentID != "" {
		// An index goes on from that of the parent (rule 6).
		e.Expected = model.Point{ID: last.ParentID, Index: last.Index - 1}
	}
	return e
}

// Time returns t as a store keeps it: without a monotonic reading, and in UTC
// where its zone has an offset that RFC 3339 cannot write. The error is
// ErrTime.
func Time(t time.Time) (time.Time, error) {
	if t.IsZero() {
		return time.Time{}, nil
	}
	t = t.Round(0)
	_, offset := t.Zone()
	if offset%60 != 0 || offset <= -24*3600 || offset >= 24*3600 {
		t = t.UTC()
	}
	if y := t.Year(); y < 0 || y > 9999 {
		return time.Time{}, fmt.Errorf("year %d: %w", y, ErrTime)
	}
	return t, nil
}

// Header returns the header of a snapshot as a store records it, its visit not
// yet numbered. The title, and whether a tool failed, are told by the state; one
// that is no JSON tells neither. The error is ErrTime.
func Header(s *model.Snapshot[json.RawMessage]) (model.Header, error) {
	at, err := Time(s.CreatedAt)
	if err != nil {
		return model.Header{}, fmt.Errorf("createdAt: %w", err)
	}
	h := model.Header{
		ID: s.ID, ParentID: s.ParentID, SessionID: s.SessionID, CreatedAt: at,
		Index: s.Index, TurnIndex: s.TurnIndex, Event: s.Event, Orphaned: s.Orphaned, Size: int64(len(s.State)),
	}
	var failed bool
	if h.Title, failed = conversation.Title(s.State, addedSpan(s.Event)); failed {
		h.Marks |= model.MarkError
	}
	return h, nil
}

// addedSpan says how much of a conversation a snapshot adds that was taken at an event.
func addedSpan(event model.SnapshotEvent) conversation.Span {
	if event == model.SnapshotEventTurnEnd {
		return conversation.LastStep
	}
	return conversation.LastMessage
}

// Snapshot returns the seed's snapshot for a header and its state.
func Snapshot(h model.Header, state []byte) *model.Snapshot[json.RawMessage] {
	return &model.Snapshot[json.RawMessage]{
		ID: h.ID, ParentID: h.ParentID, SessionID: h.SessionID, CreatedAt: h.CreatedAt, State: state,
		Index: h.Index, TurnIndex: h.TurnIndex, Event: h.Event, Orphaned: h.Orphaned,
	}
}

// SameVisit reports whether two headers tell of the same event: what makes
// saving a snapshot again, or importing it again, add nothing.
func SameVisit(a, b *model.Header) bool {
	return a.ID == b.ID && a.ParentID == b.ParentID && a.Index == b.Index && a.TurnIndex == b.TurnIndex &&
		a.Event == b.Event && a.EventName == b.EventName && a.CreatedAt.Equal(b.CreatedAt)
}
