package model

import (
	"encoding/json"
	"fmt"
	"time"
)

// The JSON of headers in stores: the seed's names and integers for what the seed
// has, and more for the rest. Portable files hold it, so the names stay as they
// are. The documents of the command line have an encoding of their own.

// headerJSON has the members of a header in the order in which they are written.
type headerJSON struct {
	ID          string          `json:"id"`
	ParentID    string          `json:"parentId,omitempty"`
	SessionID   string          `json:"sessionId"`
	CreatedAt   time.Time       `json:"createdAt,omitzero"`
	Index       int             `json:"index"`
	TurnIndex   int             `json:"turnIndex"`
	Event       json.RawMessage `json:"event"`
	Orphaned    bool            `json:"orphaned,omitempty"`
	Head        bool            `json:"head,omitempty"`
	Reason      *Reason         `json:"reason,omitempty"`
	Visit       int64           `json:"visit,omitempty"`
	ParentVisit int64           `json:"parentVisit,omitempty"`
	Position    string          `json:"position,omitempty"`
	Title       string          `json:"title,omitempty"`
	Size        int64           `json:"size,omitempty"`
	Marks       []string        `json:"marks,omitempty"`
}

// MarshalJSON writes the header with the seed's names, the event as the seed's
// integer or, if it only has a name, by that. Everything that the seed does
// not have is left out when empty, as is a time that is not known or whose year
// RFC 3339 cannot write.
func (h Header) MarshalJSON() ([]byte, error) {
	event, err := h.eventJSON()
	if err != nil {
		return nil, err
	}
	return json.Marshal(headerJSON{
		ID: h.ID, ParentID: h.ParentID, SessionID: h.SessionID, CreatedAt: writable(h.CreatedAt),
		Index: h.Index, TurnIndex: h.TurnIndex, Event: event, Orphaned: h.Orphaned,
		Head: h.Head, Reason: h.Reason, Visit: h.Visit, ParentVisit: h.ParentVisit,
		Position: h.Position, Title: h.Title, Size: h.Size, Marks: h.Marks.Words(),
	})
}

// eventJSON returns the event as its integer, or as its name if it has only that.
func (h *Header) eventJSON() (json.RawMessage, error) {
	if h.EventName != "" {
		return json.Marshal(h.EventName)
	}
	return json.Marshal(int(h.Event))
}

// UnmarshalJSON reads what MarshalJSON writes, and the seed's own snapshots:
// their state, and every other member that it does not know, is passed over.
// The case of names counts, and a name that is there twice is an error.
func (h *Header) UnmarshalJSON(data []byte) error {
	var read Header
	var marks []string
	fields := map[string]any{
		"id": &read.ID, "parentId": &read.ParentID, "sessionId": &read.SessionID,
		"createdAt": &read.CreatedAt, "index": &read.Index, "turnIndex": &read.TurnIndex,
		"orphaned": &read.Orphaned, "head": &read.Head, "reason": &read.Reason,
		"visit": &read.Visit, "parentVisit": &read.ParentVisit, "position": &read.Position,
		"title": &read.Title, "size": &read.Size, "marks": &marks, "event": nil,
	}
	seen := make(map[string]bool, len(fields))
	err := eachMember(data, func(key string, value json.RawMessage) error {
		field, known := fields[key]
		if !known {
			return nil
		}
		if seen[key] {
			return fmt.Errorf("%q is there twice", key)
		}
		seen[key] = true
		var err error
		if key == "event" {
			read.Event, read.EventName, err = ParseEvent(value)
		} else {
			err = json.Unmarshal(value, field)
		}
		if err != nil {
			return fmt.Errorf("%q: %w", key, err)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("header: %w", err)
	}
	read.Marks = parseMarks(marks)
	*h = read
	return nil
}

// reasonJSON has the members of a reason in the order in which they are written.
type reasonJSON struct {
	Kind        string    `json:"kind"`
	At          time.Time `json:"at,omitzero"`
	Target      string    `json:"target,omitempty"`
	TargetIndex *int      `json:"targetIndex,omitempty"`
	Text        string    `json:"text"`
}

// MarshalJSON writes the reason, with its words in "text".
func (r Reason) MarshalJSON() ([]byte, error) {
	r.At = writable(r.At)
	out := reasonJSON{Kind: r.Kind.String(), At: r.At, Target: r.TargetID, Text: r.Text(rfc3339)}
	if r.TargetID != "" || r.TargetIndex != 0 {
		out.TargetIndex = &r.TargetIndex
	}
	return json.Marshal(out)
}

// writable returns a time as RFC 3339 can write it, so that one strange time does
// not make a whole document fail: in UTC if its zone is no zone, and as the
// zero time if its year has not four digits.
func writable(at time.Time) time.Time {
	for _, form := range []time.Time{at, at.UTC()} {
		if _, err := form.MarshalText(); err == nil {
			return form
		}
	}
	return time.Time{}
}

func rfc3339(at time.Time) string { return at.Format(time.RFC3339) }

// UnmarshalJSON reads what MarshalJSON writes. A kind that it does not know is
// ReasonUnknown; the words are not read.
func (r *Reason) UnmarshalJSON(data []byte) error {
	var in reasonJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*r = Reason{Kind: ParseReasonKind(in.Kind), At: in.At, TargetID: in.Target}
	if in.TargetIndex != nil {
		r.TargetIndex = *in.TargetIndex
	}
	return nil
}
