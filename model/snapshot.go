package model

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// Snapshot is an immutable capture of a session's state. The Genkit Go snapshot design, section 1.1,
// defines its fields and their JSON names.
type Snapshot[S any] struct {
	// ID is the lowercase hexadecimal SHA-256 of the state's compact JSON,
	// exactly as the writer serialised it.
	ID string `json:"id"`
	// ParentID is the id of the snapshot before this one in its session;
	// empty for the first.
	ParentID string `json:"parentId,omitempty"`
	// SessionID is the session that the snapshot belongs to. Only the pair
	// (SessionID, ID) identifies a row.
	SessionID string `json:"sessionId"`
	// CreatedAt is when the snapshot was taken.
	CreatedAt time.Time `json:"createdAt"`
	// State is the whole state of the session at that time.
	State S `json:"state"`
	// Index orders the snapshots of a session. After a restore it goes on
	// from the target's index, so that two branches may share an index.
	Index int `json:"index"`
	// TurnIndex counts completed turns; a snapshot inside a turn carries the
	// number of the turn that it is in.
	TurnIndex int `json:"turnIndex"`
	// Event is why the snapshot was taken.
	Event SnapshotEvent `json:"event"`
	// Orphaned says that the snapshot is no longer on the active path.
	Orphaned bool `json:"orphaned,omitempty"`
}

// SnapshotEvent is the reason for which a snapshot was taken. On disk it is
// the integer of the design document, section 1.2; reading takes the integer
// or the name ("turnEnd", "toolIterationEnd", "invocationEnd"). Integers
// without a name survive a round trip as they are. A name without an integer
// survives in [Header.EventName], where Event is [SnapshotEventNamed].
type SnapshotEvent int

const (
	// SnapshotEventTurnEnd is the end of a turn: control goes back to the user.
	SnapshotEventTurnEnd SnapshotEvent = iota
	// SnapshotEventToolIterationEnd is the moment when all tool calls of one
	// model answer are done, before their results go back to the model.
	SnapshotEventToolIterationEnd
	// SnapshotEventInvocationEnd is the return of the agent function.
	SnapshotEventInvocationEnd
)

// SnapshotEventNamed stands for an event that has a name but no integer in
// the design: what a newer writer, or another framework, called it is in
// [Header.EventName].
const SnapshotEventNamed SnapshotEvent = -1

var eventNames = [...]string{"turnEnd", "toolIterationEnd", "invocationEnd"}

// Name returns the event's JSON name, or "" for an event without a name.
func (e SnapshotEvent) Name() string {
	if e >= 0 && int(e) < len(eventNames) {
		return eventNames[e]
	}
	return ""
}

// String returns the event in words for people: "turn end", or "event 7" for
// an integer without a name.
func (e SnapshotEvent) String() string {
	switch e {
	case SnapshotEventTurnEnd:
		return "turn end"
	case SnapshotEventToolIterationEnd:
		return "tool iteration"
	case SnapshotEventInvocationEnd:
		return "invocation end"
	}
	return "event " + strconv.Itoa(int(e))
}

// EndsTurn reports whether the turn that a snapshot of this event carries is
// over, so that an agent that goes on from there is in the next one.
func (e SnapshotEvent) EndsTurn() bool {
	return e == SnapshotEventTurnEnd || e == SnapshotEventInvocationEnd
}

// UnmarshalJSON reads the integer or the name of an event. A name that the
// design does not know becomes SnapshotEventNamed; use [ParseEvent] to keep it.
func (e *SnapshotEvent) UnmarshalJSON(data []byte) error {
	event, _, err := ParseEvent(data)
	if err != nil {
		return err
	}
	*e = event
	return nil
}

// ParseEvent reads an event from its JSON: an integer, or a name. name is empty unless the event has a name
// and no integer. null and an empty value are the zero event, as they are for encoding/json.
func ParseEvent(data []byte) (event SnapshotEvent, name string, err error) {
	if len(data) == 0 || string(data) == "null" {
		return SnapshotEventTurnEnd, "", nil
	}
	if data[0] != '"' {
		n, err := strconv.Atoi(string(data))
		if err != nil {
			return 0, "", fmt.Errorf("event %.40q is neither an integer nor a name", data)
		}
		return SnapshotEvent(n), "", nil
	}
	if err := json.Unmarshal(data, &name); err != nil {
		return 0, "", fmt.Errorf("event %.40q: %w", data, err)
	}
	for i, known := range eventNames {
		if name == known {
			return SnapshotEvent(i), "", nil
		}
	}
	return SnapshotEventNamed, name, nil
}
