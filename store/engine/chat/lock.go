package chat

import (
	"context"

	"hindcast/model"
	"hindcast/store/media/files"
)

// An agent that keeps a pointer of its own may write to the session at the same moment. It
// locks a file for that, and Hindcast takes the same lock for as long as it writes.

// FaultLocked: a program holds the lock of a session.
const FaultLocked = "locked"

// lockOf returns the file that the agent locks to write to a session, or "" if it locks no file.
func (s *Store) lockOf(at Spot) string {
	restorer, ok := s.format.(Restorer)
	if !ok {
		return ""
	}
	name := restorer.Lock(at)
	if look, err := s.storage.In().Stamp(name); err != nil || look.Kind == files.Nothing {
		return "" // the agent makes it to lock it
	}
	return name
}

// lockSession takes the agent's lock for a write to an existing session. A fork needs no lock: the agent does not
// know its files yet.
func (s *Store) lockSession(ctx context.Context, plan model.Plan) (unlock func() error, err error) {
	unlock = func() error { return nil }
	at, err := s.findSpot(ctx, plan.Session)
	if name := s.lockOf(at); err == nil && plan.NewSession == "" && name != "" {
		return s.storage.Lock(name)
	}
	return unlock, nil
}

// lockFaults tells that a program holds the lock of a session.
func (s *Store) lockFaults(one *Session) []model.Fault {
	name := s.lockOf(one.Spot)
	if name == "" || !s.storage.IsHeld(name) {
		return nil
	}
	return []model.Fault{{
		Code: FaultLocked, Severity: model.Odd, File: name, Meaning: "a program has the lock of the session: it writes to it, or hangs",
		Verdict: s.agent.Framework + " waits for the lock, and Hindcast restores nothing meanwhile",
	}}
}
