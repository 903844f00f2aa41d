package messages

import (
	"context"
	"crypto/sha256"
	"slices"

	"hindcast/model"
	"hindcast/store"
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
	return at.state(ctx)
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
	x := newIndex(len(l.files))
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

// indexes returns the indexes of the log, as it is or was: of the whole log, and of its end.
func (l *messageLog) indexes() (list []*index) {
	for _, key := range []string{"log ", "tail "} {
		if x, known := l.memo.FindKept(key + l.id).(*index); known {
			list = append(list, x)
		}
	}
	return list
}

// wholeIndex returns the index of the log as it was read last, or nil.
func (l *messageLog) wholeIndex() *index {
	x, _ := l.memo.FindKept("log " + l.id).(*index)
	return x
}

// keep keeps an index that begins with a message. An index does not change.
func (l *messageLog) keep(x *index, from int) {
	key := "log "
	if from > 0 {
		key = "tail "
	}
	l.memo.Keep(key+l.id, x)
}

// state returns the state of a snapshot.
func (at *snapshot) state(ctx context.Context) ([]byte, error) {
	state, end := []byte(stateOpen), at.log.end(at.i)
	moved := false
	err := at.log.weave(ctx, map[int][]int{at.i: {0}}, &loom{
		has:    func([sha256.Size]byte) bool { return false },
		expect: func(size int64) { state = slices.Grow(state, int(size)+len(end)) },
		put: func(e piece, first bool) store.Run {
			from := len(state)
			if !first {
				state = append(state, ',')
			}
			text := e.bytes()
			moved = moved || text == nil
			state = append(state, text...)
			return store.Run{At: int64(from), Len: int64(len(state) - from)}
		},
		take: at.check,
	})
	if err == nil && moved {
		err = errMoved
	}
	return append(state, end...), err
}

// check reports whether a message is that of the snapshot.
func (at *snapshot) check(_ int, m *message, _ []store.Run) error {
	if m.id != at.message {
		return model.ErrNoSnapshot // it was there a moment ago
	}
	return nil
}

// end returns what stands behind the messages in the state after message i.
func (l *messageLog) end(i int) []byte {
	if i < len(l.files)-1 {
		return []byte(stateClose + "}")
	}
	return l.agent.end()
}

// end returns what stands behind the messages in the state of the newest message.
func (a *agentFile) end() []byte { return slices.Concat([]byte(stateClose), a.members, []byte("}")) }
