package strands

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"

	"hindcast/model"
)

// errMoved says that the log is not as the index has it.
var errMoved = errors.New("the log changed while it was read")

// State implements store.Store. The bytes are put together anew from the
// files: see the package comment for what is in them.
func (s *Store) State(ctx context.Context, ref model.Ref) ([]byte, error) {
	state, err := s.state(ctx, ref)
	if err != nil {
		return nil, fmt.Errorf("strands: read state %q of session %q: %w", ref.ID, ref.Session, err)
	}
	return state, nil
}

func (s *Store) state(ctx context.Context, ref model.Ref) ([]byte, error) {
	p, err := s.locate(ref.Session)
	if err != nil {
		return nil, err
	}
	l := openLog(s.root, p)
	defer l.close()
	if l.err != nil {
		return nil, l.err
	}
	x := s.indexed(p.id)
	if x != nil {
		if i := x.find(ref.ID); i >= 0 {
			state, err := l.state(ctx, x, i)
			if !errors.Is(err, errMoved) {
				return state, err
			}
		}
	}
	if x, err = s.reindex(ctx, l); err != nil {
		return nil, err
	}
	i := x.find(ref.ID)
	if i < 0 {
		return nil, model.ErrNoSnapshot
	}
	return l.state(ctx, x, i)
}

// reindex reads the whole log for its index, and keeps that.
func (s *Store) reindex(ctx context.Context, l *messageLog) (*index, error) {
	x := newIndex(l)
	err := l.walk(ctx, func(s *step) error {
		x.add(s)
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.keep(x)
	return x, nil
}

// state puts the state of snapshot i together. What was read is compared with
// the index, so that the state is the one that the id stands for.
func (l *messageLog) state(ctx context.Context, x *index, i int) ([]byte, error) {
	if i >= len(l.files) || !slices.EqualFunc(l.files[:i+1], x.names[:i+1], func(f messageFile, name string) bool { return f.name == name }) {
		return nil, errMoved
	}
	positions := l.held(i)
	files := make([]messageFile, len(positions))
	for k, position := range positions {
		files[k] = l.files[position]
	}
	state := []byte(stateOpen)
	w := window{emit: func(json []byte) { state = append(state, json...) }}
	summary := l.through(i)
	err := l.read(ctx, files, func(k int, m *message) error {
		if maphash.Bytes(seed, m.body) != x.prints[positions[k]] {
			return errMoved
		}
		if summary && positions[k] >= l.agent.pinned {
			w.addSummary(&l.agent)
			summary = false
		}
		w.add(m)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if summary {
		w.addSummary(&l.agent)
	}
	state = append(state, stateClose...)
	if i == len(l.files)-1 {
		state = append(state, l.agent.members...)
	}
	return append(state, '}'), nil
}

// held gives the positions of the messages in the state of snapshot i.
func (l *messageLog) held(i int) (positions []int) {
	for k := range i + 1 {
		if !l.through(i) || !l.evicted(k) {
			positions = append(positions, k)
		}
	}
	return positions
}
