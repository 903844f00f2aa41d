package chat

import (
	"fmt"
	"slices"

	"hindcast/model"
	"hindcast/store/engine"
)

// A session without some turns is a new session of the other entries, linked as those of a join are.
//
//	a ◂── b ◂── c ◂── d ◂── e ◂── f      c and d are a turn
//	a ◂── b ◂── e ◂── f                  dropped

// beginsTurn reports whether an entry is the words of a person, with which a turn begins.
func (e *Entry) beginsTurn() bool {
	return e.Said.Role == User && !e.Said.Aside && len(e.Said.Results) == 0 && e.Event == ""
}

// planDrop plans a session that has the way to an entry without some turns of it.
func (s *Store) planDrop(in engine.In, before *engine.Log, at int, c model.Change) (*engine.Move, error) {
	refuse := func(format string, args ...any) (*engine.Move, error) {
		return nil, &model.UnsupportedError{Op: c.Op, Reason: fmt.Sprintf(format, args...)}
	}
	joiner, ok := s.format.(Joiner)
	if !ok {
		return refuse("no turns are taken out of sessions of %s: fork from a snapshot", s.agent.Framework)
	}
	one := before.Own.(*Session)
	to := &one.Entries[at]
	path := one.Path(to)
	place := func(id string) int { return slices.IndexFunc(path, func(e *Entry) bool { return e.ID == id }) }
	from, end := place(c.Drop[0]), place(c.Drop[1])+1
	if from < 0 || end == 0 || end <= from {
		return refuse("the snapshots to leave out are not in that order on the way to #%d", at)
	}
	number := func(k int) int { return one.At(path[k].ID) }
	first, behind := from, end
	for first > 0 && !path[first].beginsTurn() {
		first--
	}
	for behind < len(path) && !path[behind].beginsTurn() {
		behind++
	}
	if first != from || behind != end {
		return refuse("#%d to #%d are no whole turns: #%d to #%d are", number(from), number(end-1), number(first), number(behind-1))
	}
	kept := slices.Concat(path[:from], path[end:])
	if len(kept) == 0 {
		return refuse("nothing would be left")
	}
	if i := slices.IndexFunc(path[from:], func(e *Entry) bool { return e.Context != nil }); i >= 0 {
		return refuse("#%d is a compaction, and stands for what is before it: leave turns out that are behind it", number(from+i))
	}
	last := kept[len(kept)-1]
	if err := one.refusesOpen(c.Op, one.At(last.ID)); err != nil {
		return nil, err
	}
	m, err := s.planSession(in, before, one.At(last.ID), c, func(cut Cut) (*Fork, error) { return joiner.Join(cut, kept) })
	if err != nil {
		return nil, err
	}
	turns := 0
	for _, e := range path[from:end] {
		if e.beginsTurn() {
			turns++
		}
	}
	m.Carries = []string{fmt.Sprintf("left out: #%d to #%d, %s of %s", number(from), number(end-1), model.Count(end-from, "snapshot"), model.Count(turns, "turn"))}
	return m, nil
}
