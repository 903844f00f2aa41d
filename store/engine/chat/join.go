package chat

import (
	"fmt"
	"slices"

	"hindcast/model"
	"hindcast/store/engine"
)

// A conversation falls into pieces where a record names a parent that was never written. The
// agent goes on from one piece and reads no other. A join is a new session of all of them, in
// the order in which they were recorded.
//
//	a ◂── b    c ◂── d    e ◂── f        pieces: the parents of c and e are not there
//	a ◂── b ◂── c ◂── d ◂── e ◂── f      joined

// Joiner is a [Forker] whose records name the one before them, so that they can be linked anew.
type Joiner interface {
	Forker
	// Join returns the files of a new session of entries. The last is that of the cut. Each follows
	// the one before it, and is as it was but for that. The error is a model.UnsupportedError where
	// the agent could not go on from there.
	Join(c Cut, entries []*Entry) (*Fork, error)
}

// isBroken reports whether the entry is off the path because the chain to the head is broken.
func (e *Entry) isBroken() bool {
	return e.Reason != nil && e.Reason.Kind == model.ReasonChainBroken
}

// chainPieces returns the entries of the path and those of each piece of a broken chain, the way to its
// last one, in the order in which they were recorded. n counts the pieces, 1 for a whole chain.
func (s *Session) chainPieces() (entries []*Entry, n int) {
	root, last := make([]int, len(s.Entries)), map[int]int{}
	for i := range s.Entries {
		if root[i] = i; !s.Entries[i].isBroken() {
			continue
		}
		if p := s.parents[i]; p >= 0 && p < i && s.Entries[p].isBroken() {
			root[i] = root[p]
		}
		last[root[i]] = i
	}
	on := make([]bool, len(s.Entries))
	for _, i := range s.pathTo(s.Head) {
		on[i] = true
	}
	for _, leaf := range last {
		for _, i := range s.pathTo(leaf) {
			on[i] = on[i] || s.Entries[i].isBroken()
		}
	}
	for i := range s.Entries {
		if on[i] {
			entries = append(entries, &s.Entries[i])
		}
	}
	return entries, len(last) + 1
}

// needsJoin reports whether the chain to the head is broken, so that a join has more than it.
func (s *Session) needsJoin() bool {
	return s.Head >= 0 && slices.ContainsFunc(s.Entries, func(e Entry) bool { return e.isBroken() })
}

// planJoin plans a session of all pieces of a broken chain.
func (s *Store) planJoin(in engine.In, before *engine.Log, c model.Change) (*engine.Move, error) {
	joiner, ok := s.format.(Joiner)
	if !ok {
		return nil, &model.UnsupportedError{Op: c.Op, Reason: "sessions of " + s.agent.Framework + " are not joined: fork from a snapshot"}
	}
	one := before.Own.(*Session)
	if one.Head < 0 || !one.needsJoin() {
		return nil, &model.UnsupportedError{Op: c.Op, Reason: "there is nothing to join: its chain is in one piece; fork from a snapshot"}
	}
	entries, n := one.chainPieces()
	to := entries[len(entries)-1]
	at := one.At(to.ID)
	if c.Ref.ID != "" && c.Ref.ID != to.ID {
		return nil, &model.UnsupportedError{Op: c.Op, Reason: fmt.Sprintf("a join has every piece, and ends at #%d: name no snapshot", at)}
	}
	if err := one.refusesOpen(c.Op, at); err != nil {
		return nil, err
	}
	return s.planSession(in, before, at, c, func(cut Cut) (*Fork, error) {
		made, err := joiner.Join(cut, entries)
		if err != nil {
			return nil, err
		}
		made.Writes = append(made.Writes, fmt.Sprintf("%s in %d pieces become one chain, in the order of the file", model.Count(len(entries), "message"), n))
		if i := slices.IndexFunc(entries, func(e *Entry) bool { return e.Context != nil }); i > 0 {
			made.Hazards = append(made.Hazards, "there is a compaction among the pieces: the model reads its summary, and what follows it")
		}
		return made, nil
	})
}

// planSession plans a new session that ends with an entry: fork makes its files.
func (s *Store) planSession(in engine.In, before *engine.Log, at int, c model.Change, fork func(Cut) (*Fork, error)) (*engine.Move, error) {
	one := before.Own.(*Session)
	to := &one.Entries[at]
	id, err := s.newID(c.Op, c.As)
	if err != nil {
		return nil, err
	}
	made, err := fork(Cut{in, one, to, id, s.folder, c.Op, c.Gone})
	if err != nil {
		return nil, err
	}
	m, err := s.moveOf(in, made, before.Rows[at].Point())
	if err != nil {
		return nil, err
	}
	if before.Busy != "" {
		m.Hazards = append(m.Hazards, before.Busy+"; its files are not touched, and the fork holds what they had")
	}
	m.Hazards = append(m.Hazards, to.workTree())
	return m, nil
}
