package messages

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine"
)

// Apart is that of store.Features. Two states of one log have their messages in common up to
// the end of the shorter one, or to the gap of the window that one of them is seen through.
// How many elements those are, the last reading of the whole log has counted: a start drops
// messages and puts others in.
func (s *Store) Apart(ctx context.Context, a, b model.Ref) (two store.Apart, err error) {
	whole := true
	if a.Session == b.Session && a.ID != b.ID && cmp.Or(a.CheckNoVisit(), b.CheckNoVisit()) == nil {
		err = s.In(ctx, a.Session, func(in engine.In, at engine.Place) (err error) {
			if p := at.Own.(place); p.orchestrator == "" {
				whole = false
				two, err = agentLog{s, p, in}.apart(ctx, a.ID, b.ID)
			}
			return err
		})
	}
	if err != nil {
		return store.Apart{}, s.Wrap(err, "compare states %q and %q of session %q", a.ID, b.ID, a.Session)
	}
	if whole {
		if two.A, err = s.State(ctx, a); err == nil {
			two.B, err = s.State(ctx, b)
		}
	}
	return two, err
}

// apart returns the states of two snapshots without what they have in common.
func (a agentLog) apart(ctx context.Context, first, second string) (two store.Apart, err error) {
	l := openLog(a.place, a.in)
	defer l.close()
	x, err := l.find(ctx, first)
	if err != nil {
		return two, err
	}
	y, err := l.find(ctx, second)
	if err != nil {
		return two, err
	}
	without, err := l.common(ctx, x, y)
	if err != nil {
		return two, err
	}
	if two.A, err = x.log.state(ctx, x.i, x.message, without, x.log.room(without.behind(x.log.held(x.i)))); err != nil {
		return two, err
	}
	if without != nil {
		two.Key, two.Common = "messages", without.elements
	}
	two.B, err = y.log.state(ctx, y.i, y.message, without, y.log.room(without.behind(y.log.held(y.i))))
	return two, err
}

// beginning is the common beginning of two states.
type beginning struct {
	// messages are the files, elements what they are in the states.
	messages, elements int
}

// behind returns those of the positions of a state that are read without its beginning: the
// last one in it, too, which tells what becomes of the next. A nil beginning has none.
func (b *beginning) behind(positions []int) []int {
	if b == nil {
		return positions
	}
	return positions[b.messages-1:]
}

// seen is what a state is put together from: messages of its log, and the summary, which
// stands before the message behind of them; none if that is negative.
type seen struct {
	positions []int
	behind    int
	summary   []byte
}

// seen returns the parts of the state of snapshot i.
func (l *messageLog) seen(i int) seen {
	s := seen{positions: l.held(i), behind: -1}
	if l.agent.summary != nil && l.through(i) {
		s.behind, _ = slices.BinarySearch(s.positions, l.agent.pinned)
		s.summary = l.agent.summary
	}
	return s
}

// common returns how many of their first messages two states have in common, with the same
// summary among them or none.
func (s seen) common(other seen) (n int) {
	for n < min(len(s.positions), len(other.positions)) && s.positions[n] == other.positions[n] {
		n++
	}
	if s.behind == other.behind && bytes.Equal(s.summary, other.summary) {
		return n
	}
	for _, one := range []seen{s, other} {
		if one.behind >= 0 {
			n = min(n, one.behind)
		}
	}
	return n
}

// common returns the common beginning of the states of two snapshots of a log, or of its branches;
// nil if it is empty, or unknown from the log alone.
func (l *messageLog) common(ctx context.Context, x, y snapshot) (*beginning, error) {
	if x.log.sdk() != l.sdk() || y.log.sdk() != l.sdk() {
		return nil, nil
	}
	first := x.log.seen(x.i)
	n := first.common(y.log.seen(y.i))
	for n > 0 && first.positions[n-1] >= min(x.common, y.common) {
		n-- // another message is at that place on a branch
	}
	if n == 0 {
		return nil, nil
	}
	last := first.positions[n-1]
	if there := l.seen(last); len(there.positions) != n || there.common(first) != n {
		return nil, nil
	}
	elements, err := l.elements(ctx, last)
	if elements == 0 || err != nil {
		return nil, err
	}
	return &beginning{n, elements}, nil
}

// elements returns how many elements the messages of a state up to the one at a position
// are, 0 where that is not known.
func (l *messageLog) elements(ctx context.Context, position int) (int, error) {
	if position == len(l.files)-1 && l.agent.summary != nil && l.agent.pinned > position {
		return 0, nil // the summary follows it
	}
	x := l.wholeIndex()
	if x == nil {
		var err error
		if x, err = l.reindex(ctx); err != nil {
			return 0, err
		}
	}
	return int(x.elements[position]), nil
}

// follow puts the window behind a message that is in it as it is, the last of some.
func (w *window) follow(m *message, elements int) {
	w.n, w.answers = elements, !m.whole || len(m.calls) > 0
	if m.whole {
		w.calls = append(w.calls[:0], m.calls...)
	}
}
