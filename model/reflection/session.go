package reflection

import (
	"encoding/json"
	"fmt"
	"time"
)

// Session is what listSessions tells of a session: a model.SessionInfo, to
// which it converts, with the names of `hindcast sessions --json`.
type Session struct {
	ID        string    `json:"id"`
	Kind      string    `json:"kind"`
	Snapshots int       `json:"snapshots"`
	Orphaned  int       `json:"orphaned"`
	Head      string    `json:"head"`
	HeadIndex int       `json:"headIndex"`
	UpdatedAt time.Time `json:"updatedAt,omitzero"`
	Faults    int       `json:"faults,omitempty"`
}

// Record is what getSession gives: the record of a session.
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
	dst = append(append(dst, `,"state":`...), r.State...)
	if r.LastSnapshot != nil {
		if dst, err = r.LastSnapshot.Append(append(dst, `,"lastSnapshot":`...)); err != nil {
			return nil, err
		}
	}
	return fmt.Appendf(dst, `,"turnIndex":%d}`, r.TurnIndex), nil
}

// UnmarshalJSON reads the record, its states as their bytes are.
func (r *Record) UnmarshalJSON(data []byte) error {
	var read Record
	err := whole(data, map[string]any{
		"id": &read.ID, "state": &read.State, "lastSnapshot": &read.LastSnapshot, "turnIndex": &read.TurnIndex,
	}, passOver)
	if err != nil {
		return err
	}
	*r = read
	return nil
}
