package messages

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"unicode/utf8"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/disk"
	"hindcast/store/folder"
	"hindcast/store/journal"
)

// Planning beside a writer.
//
// A plan is made of many looks, and a program may write between two of them: an agent
// that still runs, or another Hindcast. What is found then can be anything: a file
// that is listed and not there, a message from which nothing follows. Such a finding
// is not told as if the session were so. Where something moved while the plan was
// made, that is told.

// moment is what tells of a session that a program wrote to it, which puts
// another agent.json or record there, or changes the names of the messages, and
// Hindcast writes its journal before.
type moment struct {
	stamps [3]fs.FileInfo // nil for what is not there
	names  string
}

// moment looks at a session just now.
func (s *Store) moment(session string) (m moment) {
	look := func(k int, name string) {
		if info, err := s.disk.Lstat(name); err == nil {
			m.stamps[k] = info
		}
	}
	look(0, journal.Folder+"/journal")
	p, err := s.locate(session)
	if err != nil {
		return m
	}
	look(1, s.onDesk(p.path("agent.json")))
	look(2, s.onDesk(p.recordPath()))
	if p.agent != "" {
		names, _ := s.tree.List(p.path("messages")) // that there are none is as good a sign
		m.names = strings.Join(slices.Sorted(slices.Values(names)), "/")
	}
	return m
}

// sameStamps reports whether the same files were there at two moments.
func (s *Store) sameStamps(m, n *moment) bool {
	for i, a := range m.stamps {
		b := n.stamps[i]
		if (a == nil) != (b == nil) || a != nil && (a.Size() != b.Size() || !a.ModTime().Equal(b.ModTime()) || !s.disk.SameFile(a, b)) {
			return false
		}
	}
	return true
}

// steady makes a plan for a session. Where a program writes meanwhile the error is a
// journal.ConflictError, or disk.ErrLocked. New messages alone do not spoil a plan that
// could be made: whether they do is for its guards to say.
func (s *Store) steady(ctx context.Context, op model.Op, session string, plan func(*folder.View) (model.Plan, error)) (model.Plan, error) {
	if !utf8.ValidString(session) {
		return model.Plan{}, &model.UnsupportedError{Op: op, Reason: "the name of the session or of its agent is no UTF-8, and what is written is put down by name: rename its folder"}
	}
	if p, err := s.locate(session); err == nil && p.link != nil {
		return model.Plan{}, p.refusal(op)
	}
	if open, err := s.journal.Unfinished(ctx); err == nil && open != nil {
		if err := s.journal.Recover(ctx); errors.Is(err, disk.ErrLocked) {
			return model.Plan{}, err
		}
	}
	before := s.moment(session)
	view := folder.NewView(s.tree)
	p, err := plan(view)
	if ctx.Err() != nil || errors.Is(err, model.ErrHeadMoved) || errors.Is(err, model.ErrNoSession) || errors.Is(err, store.ErrSessionExists) {
		return p, err
	}
	if changed := view.Changed(); changed != nil {
		return model.Plan{}, &journal.ConflictError{Path: s.onDesk(changed.Name), Found: "was changed"}
	}
	if after := s.moment(session); s.sameStamps(&before, &after) && (err == nil || before.names == after.names) {
		return p, err
	}
	return model.Plan{}, &journal.ConflictError{Path: "session " + session, Found: "changed while the plan was made"}
}
