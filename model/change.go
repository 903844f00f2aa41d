package model

import "fmt"

// Change is one write that a person or a program asks of a store, before it is planned.
// Which fields count depends on the operation.
type Change struct {
	Op Op
	// Ref is the snapshot that the session is put to or that it goes on from. Of a repair
	// and a purge its session counts alone, of an undo and a redo nothing.
	Ref Ref
	// As is the session that a fork or an edit makes; "" for a name of the store's own,
	// see store.NamesForks.
	As string
	// Join has a fork take all pieces of a session whose chain is broken, in the order in which they
	// were recorded. The snapshot of Ref is then "".
	Join bool
	// Drop has the ids of the first and the last snapshot that a fork leaves out of the way to Ref, or is empty.
	Drop [2]string
	// Gone says of a fork that the files of the session are gone, and that nothing else leads there.
	Gone bool
	// State is the state that an edit writes into the new session. The bytes stay the caller's.
	State []byte
	// Input is the text that a run sends to the agent.
	Input string
	// Scope says how much a purge forgets.
	Scope PurgeScope
}

// PurgeScope says how much a purge forgets.
type PurgeScope string

// The scopes of a purge.
const (
	PurgeRedacted PurgeScope = "redacted"
	PurgeAll      PurgeScope = "all"
)

// String says in a few words what is asked, for errors. Names out of the data are quoted.
func (c Change) String() string {
	text := string(c.Op)
	if c.Ref.Session != "" {
		text += fmt.Sprintf(" of session %.80q", c.Ref.Session)
	}
	if c.Ref.ID != "" {
		text += fmt.Sprintf(" at %.80q", c.Ref.ID)
	}
	if c.Op.MakesSession() {
		text += fmt.Sprintf(" as %.80q", c.As)
	}
	return text
}
