package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"hindcast/model"
)

// Session is an entry of listSessions: a model.SessionInfo, to which it converts, with the names of
// `hindcast sessions --json`.
type Session model.SessionInfo

// session is the JSON of a Session. Faults are there only where they were counted.
type session struct {
	ID        string    `json:"id"`
	Kind      string    `json:"kind"`
	Snapshots int       `json:"snapshots"`
	Orphaned  int       `json:"orphaned"`
	Head      string    `json:"head"`
	HeadIndex int       `json:"headIndex"`
	HeadVisit int64     `json:"headVisit,omitempty"`
	UpdatedAt time.Time `json:"updatedAt,omitzero"`
	Title     string    `json:"title,omitempty"`
	Size      int64     `json:"size,omitempty"`
	Faults    *int      `json:"faults,omitempty"`
}

// MarshalJSON writes the session, its faults only where they were counted.
func (s Session) MarshalJSON() ([]byte, error) {
	out := session{s.ID, s.Kind, s.Snapshots, s.Orphaned, s.Head.ID, s.Head.Index, s.Head.Visit, s.UpdatedAt, s.Title, s.Size, nil}
	if s.Faults != model.FaultsNotCounted {
		out.Faults = &s.Faults
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (s *Session) UnmarshalJSON(data []byte) error {
	var in session
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*s = Session{ID: in.ID, Kind: in.Kind, Snapshots: in.Snapshots, Orphaned: in.Orphaned, Head: model.Point{ID: in.Head, Index: in.HeadIndex, Visit: in.HeadVisit},
		UpdatedAt: in.UpdatedAt, Faults: model.FaultsNotCounted, Title: in.Title, Size: in.Size}
	if in.Faults != nil {
		s.Faults = *in.Faults
	}
	return nil
}

// Cursor is how far a session has been read: a store.Cursor, to which it
// converts.
type Cursor struct {
	Visit    int64 `json:"visit"`
	Rewrites int64 `json:"rewrites"`
}

// Growth is the change of a session since a cursor, as store.Growth tells it.
type Growth struct {
	Headers   []model.Header `json:"headers,omitempty"`
	Rewritten bool           `json:"rewritten,omitempty"`
	Cursor    Cursor         `json:"cursor"`
}

// ReadGrowth reads what getGrowth returns; null is no growth. list reads the
// headers, as ReadList does.
func ReadGrowth(dec *json.Decoder, list func(*json.Decoder, func(*json.Decoder) error) error) (Growth, error) {
	var g Growth
	err := readFields(dec, map[string]any{
		"headers": func(dec *json.Decoder) error {
			return list(dec, func(dec *json.Decoder) error {
				var h model.Header
				err := dec.Decode(&h)
				g.Headers = append(g.Headers, h)
				return err
			})
		},
		"rewritten": &g.Rewritten, "cursor": &g.Cursor,
	}, passOver)
	if errors.Is(err, errNull) {
		err = nil
	}
	return g, err
}

// Record is the result of getSession: the record of a session.
type Record struct {
	ID           string
	State        json.RawMessage
	LastSnapshot *Snapshot
	TurnIndex    int
}

// Append appends the JSON of the record, its states byte for byte.
func (r *Record) Append(dst []byte) ([]byte, error) {
	id, err := json.Marshal(r.ID)
	if err != nil {
		return nil, err
	}
	dst = append(append(dst, `{"id":`...), id...)
	dst = appendState(dst, r.State)
	if r.LastSnapshot != nil {
		if dst, err = r.LastSnapshot.Append(append(dst, `,"lastSnapshot":`...)); err != nil {
			return nil, err
		}
	}
	return fmt.Appendf(dst, `,"turnIndex":%d}`, r.TurnIndex), nil
}

// UnmarshalJSON reads the record, the bytes of its states as they are.
func (r *Record) UnmarshalJSON(data []byte) error {
	var read Record
	err := withState(json.NewDecoder(bytes.NewReader(data)), map[string]any{
		"id": &read.ID, "lastSnapshot": &read.LastSnapshot, "turnIndex": &read.TurnIndex,
	}, &read.State)
	if err != nil {
		return err
	}
	*r = read
	return nil
}
