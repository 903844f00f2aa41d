package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"
)

// The JSON of headers in stores: fields of the seed keep its names and integers, and the other fields have
// names of their own. Portable files hold it, so the names stay as they are. The documents of the command
// line have an encoding of their own.

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
	Alias       string          `json:"alias,omitempty"`
	Attributes  Attributes      `json:"attributes,omitempty"`
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
		ID: h.ID, ParentID: h.ParentID, SessionID: h.SessionID, CreatedAt: writableTime(h.CreatedAt),
		Index: h.Index, TurnIndex: h.TurnIndex, Event: event, Orphaned: h.Orphaned,
		Head: h.Head, Reason: h.Reason, Visit: h.Visit, ParentVisit: h.ParentVisit,
		Position: h.Position, Title: h.Title, Size: h.Size, Marks: h.Marks.Words(),
		Alias: h.Alias, Attributes: h.Attributes,
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
	var r HeaderReader
	if err := eachMember(data, r.Read); err != nil {
		return fmt.Errorf("header: %w", err)
	}
	*h = r.Header()
	return nil
}

// HeaderReader reads a header from the members of its JSON object, for a caller that has
// found these.
type HeaderReader struct {
	h     Header
	marks []string
	seen  uint32
}

// Header returns the header that was read.
func (r *HeaderReader) Header() Header {
	h := r.h
	h.Marks = parseMarks(r.marks)
	return h
}

// Read reads a member; value is JSON. One that is not known is passed over. The error
// says that the value is no such thing, or that the member was there before.
func (r *HeaderReader) Read(key string, value json.RawMessage) error {
	bit, field := r.fieldOf(key)
	if bit < 0 {
		return nil
	}
	if r.seen&(1<<bit) != 0 {
		return fmt.Errorf("%q is there twice", key)
	}
	r.seen |= 1 << bit
	var err error
	if field == nil {
		r.h.Event, r.h.EventName, err = ParseEvent(value)
	} else {
		err = readValue(value, field)
	}
	if err != nil {
		return fmt.Errorf("%q: %w", key, err)
	}
	return nil
}

// Knows reports whether a member of a name is one of a header.
func (r *HeaderReader) Knows(key string) bool {
	bit, _ := r.fieldOf(key)
	return bit >= 0
}

// fieldOf returns a number of a member, or -1, and where its value goes; that of the
// event goes to two fields.
func (r *HeaderReader) fieldOf(key string) (bit int, field any) {
	switch key {
	case "id":
		return 0, &r.h.ID
	case "parentId":
		return 1, &r.h.ParentID
	case "sessionId":
		return 2, &r.h.SessionID
	case "createdAt":
		return 3, &r.h.CreatedAt
	case "index":
		return 4, &r.h.Index
	case "turnIndex":
		return 5, &r.h.TurnIndex
	case "orphaned":
		return 6, &r.h.Orphaned
	case "head":
		return 7, &r.h.Head
	case "reason":
		return 8, &r.h.Reason
	case "visit":
		return 9, &r.h.Visit
	case "parentVisit":
		return 10, &r.h.ParentVisit
	case "position":
		return 11, &r.h.Position
	case "title":
		return 12, &r.h.Title
	case "size":
		return 13, &r.h.Size
	case "marks":
		return 14, &r.marks
	case "event":
		return 15, nil
	case "alias":
		return 16, &r.h.Alias
	case "attributes":
		return 17, &r.h.Attributes
	}
	return -1, nil
}

// readValue reads a JSON value into a field, as encoding/json does: what nearly all of
// them are, a text without escapes or a small number, at a fraction of its time.
func readValue(value []byte, field any) error {
	switch field := field.(type) {
	case *string:
		if text, ok := plainString(value); ok {
			*field = text
			return nil
		}
	case *int:
		if n, err := strconv.Atoi(string(value)); err == nil {
			*field = n
			return nil
		}
	case *int64:
		if n, err := strconv.ParseInt(string(value), 10, 64); err == nil {
			*field = n
			return nil
		}
	case *time.Time:
		return field.UnmarshalJSON(value)
	}
	return json.Unmarshal(value, field)
}

// plainString returns the text of a JSON string that says it as it is.
func plainString(value []byte) (text string, ok bool) {
	if len(value) < 2 || value[0] != '"' || bytes.IndexByte(value, '\\') >= 0 || !utf8.Valid(value) {
		return "", false
	}
	return string(value[1 : len(value)-1]), true
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
	r.At = writableTime(r.At)
	out := reasonJSON{Kind: r.Kind.String(), At: r.At, Target: r.TargetID, Text: r.Text(rfc3339)}
	if r.TargetID != "" || r.TargetIndex != 0 {
		out.TargetIndex = &r.TargetIndex
	}
	return json.Marshal(out)
}

// writableTime returns a time as RFC 3339 can write it, so that one strange time does
// not make a whole document fail: in UTC if its zone is no zone, and as the
// zero time if its year has not four digits.
func writableTime(at time.Time) time.Time {
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
