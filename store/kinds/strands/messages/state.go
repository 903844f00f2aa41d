package messages

import (
	"context"
	"crypto/sha256"
	"slices"

	"hindcast/model"
	"hindcast/store/engine"
	"hindcast/store/kinds/strands/runs"
)

// state composes the bytes of a state from the files each time; the package
// comment describes it.
func (s *Store) state(ctx context.Context, in engine.In, row *engine.Row) ([]byte, error) {
	p := row.Place.Own.(place)
	if p.orchestrator == "" {
		return agentLog{s, p, in}.state(ctx, row.ID)
	}
	rs, err := recordsOf(row)
	if err != nil {
		return nil, err
	}
	return rs.State(row.ID)
}

// recordsOf returns the versions of the record that a row may be in.
func recordsOf(row *engine.Row) (*runs.Records, error) {
	log, _, err := row.In()
	if log == nil {
		return nil, err
	}
	return log.Own.(*runs.Records), nil
}

func (a agentLog) state(ctx context.Context, id string) ([]byte, error) {
	l := openLog(a.place, a.in)
	defer l.close()
	at, err := l.find(ctx, id)
	if err != nil {
		return nil, err
	}
	return at.log.state(ctx, at.i, at.message, nil, at.log.room(at.log.held(at.i)))
}

// positionOf returns the position of a snapshot in a log, from an index if one has
// it, else by reading the log.
func (l *messageLog) positionOf(ctx context.Context, id [sha256.Size]byte) (int, error) {
	if l.err != nil {
		return 0, l.err
	}
	for _, x := range l.indexes() {
		if name, ok := x.find(id); ok {
			if i := l.position(name); i >= 0 && l.identity(ctx, i) == id {
				return i, nil
			}
		}
	}
	x, err := l.reindex(ctx)
	if err != nil {
		return 0, err
	}
	name, ok := x.find(id)
	if !ok {
		return 0, model.ErrNoSnapshot
	}
	return l.position(name), nil
}

// reindex reads the whole log for its index, and keeps that.
func (l *messageLog) reindex(ctx context.Context) (*index, error) {
	x := newIndex(l, len(l.files))
	err := l.walk(ctx, func(s *step) error {
		x.add(s)
		return nil
	})
	if err != nil {
		return nil, err
	}
	l.keep(x, 0)
	return x, nil
}

// position returns the position of the file of a name, or -1.
func (l *messageLog) position(name string) int {
	f, ok := fileOf(name)
	if !ok {
		return -1
	}
	i, _ := slices.BinarySearchFunc(l.files, f, messageFile.compare)
	if i == len(l.files) || l.files[i].name != name {
		return -1
	}
	return i
}

// identity returns the id of the snapshot after message i as its file is now; one
// that no snapshot has if the context has ended.
func (l *messageLog) identity(ctx context.Context, i int) (id [sha256.Size]byte) {
	if err := l.read(ctx, l.files[i:i+1], l.known, func(_ int, m *message) error { id = m.id; return nil }); err != nil {
		return [sha256.Size]byte{}
	}
	return id
}

// room returns how many bytes the messages at some positions are likely to take, as an index
// has it, so that a state of 200 MB is not copied as it grows; 0 if none has.
func (l *messageLog) room(positions []int) (most int) {
	for _, x := range l.indexes() {
		most = max(most, x.room(l.files, positions))
	}
	return most
}

// indexes returns the indexes of the log, as it is or was: of the whole log, and of its end.
func (l *messageLog) indexes() (list []*index) {
	for _, key := range []string{"log ", "tail "} {
		if x, known := l.memo.FindKept(key + l.id).(*index); known {
			list = append(list, x)
		}
	}
	return list
}

// wholeIndex returns the index of the whole log as it is now, by the names of its files, or nil.
func (l *messageLog) wholeIndex() *index {
	for _, x := range l.indexes() {
		if x.isOf(l) {
			return x
		}
	}
	return nil
}

// keep keeps an index that begins with a message. An index does not change.
func (l *messageLog) keep(x *index, from int) {
	key := "log "
	if from > 0 {
		key = "tail "
	}
	l.memo.Keep(key+l.id, x)
}

// state puts the state of snapshot i together, whose id is known, without a beginning. room
// is about how many bytes its messages take.
func (l *messageLog) state(ctx context.Context, i int, id [sha256.Size]byte, without *beginning, room int) ([]byte, error) {
	positions := without.behind(l.held(i))
	files := make([]messageFile, len(positions))
	for k, position := range positions {
		files[k] = l.files[position]
	}
	state := make([]byte, 0, len(stateOpen)+room+len(l.agent.summary)+len(stateClose)+len(l.agent.members)+len(",}"))
	state = append(state, stateOpen...)
	w := window{sdk: l.sdk(), emit: func(json []byte) {
		if len(state) > len(stateOpen) || json[0] != ',' {
			state = append(state, json...)
		}
	}}
	summary := l.through(i) && (without == nil || positions[0] < l.agent.pinned)
	defer l.ahead(files, needed)()
	err := l.read(ctx, files, l.whole, func(k int, m *message) error {
		if positions[k] == i && m.id != id {
			return model.ErrNoSnapshot // it was there a moment ago
		}
		if summary && positions[k] >= l.agent.pinned {
			w.addSummary(&l.agent)
			summary = false
		}
		if k == 0 && without != nil {
			w.follow(m, without.elements)
			return nil
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

// held returns the positions of the messages in the state of snapshot i.
func (l *messageLog) held(i int) (positions []int) {
	for k := range i + 1 {
		if !l.through(i) || !l.evicted(k) {
			positions = append(positions, k)
		}
	}
	return positions
}
