package rows

import (
	"context"
	"maps"
	"slices"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/engine"
)

// Weaver is a format that composes its states from shared pieces.
type Weaver interface {
	// Weave hands the states of snapshots to a loom. The medium reads the states that it leaves out one by one, and all
	// that are left after an error.
	Weave(ctx context.Context, t Tx, of Place, ids []string, to store.Loom) error
}

func (m *medium) weaveStates(ctx context.Context, s *engine.Store, refs []model.Ref, to store.Loom) error {
	ids := make([]string, len(refs))
	for i, ref := range refs {
		ids[i] = ref.ID
	}
	w := &taking{to: to, m: m, s: s, refs: refs, taken: make([]bool, len(refs))}
	for i, ref := range refs {
		if ref.Visit != 0 {
			w.takeState(i, store.Rope{Err: model.ErrNoSnapshot})
		}
	}
	weaver, weaves := m.kind.Format.(Weaver)
	err := s.In(ctx, refs[0].Session, func(in engine.In, place engine.Place) error {
		t, at := in.Tx.(*moment).tables, place.Own.(Place)
		if weaves {
			if err := weaver.Weave(ctx, t, at, ids, store.Loom{Put: to.Put, Take: w.takeState}); err != nil {
				return err
			}
		}
		return w.takeRest(ctx, t, at)
	})
	if err != nil && ctx.Err() == nil && slices.Contains(w.taken, false) { // it may be that of one row
		err = s.In(ctx, refs[0].Session, func(in engine.In, at engine.Place) error {
			return w.takeRest(ctx, in.Tx.(*moment).tables, at.Own.(Place))
		})
	}
	return s.Wrap(err, "read the states of session %q", refs[0].Session)
}

// taking is a loom that knows which states were taken.
type taking struct {
	to    store.Loom
	m     *medium
	s     *engine.Store
	refs  []model.Ref
	taken []bool
}

// takeState implements Take of store.Loom. It returns the errors of Store.State.
func (w *taking) takeState(number int, state store.Rope) {
	if w.taken[number] {
		return
	}
	w.taken[number] = true
	ref := w.refs[number]
	state.Err = w.s.Wrap(state.Err, "read state %q of session %q", ref.ID, ref.Session)
	w.to.Take(number, state)
}

// takeRest takes the states that were not taken, whole.
func (w *taking) takeRest(ctx context.Context, t tables, at Place) error {
	for i, ref := range w.refs {
		if w.taken[i] {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		var r store.Rope
		about, err := w.m.kind.Format.About(ctx, t, at, ref.ID)
		if r.Gaps, r.Err = about.Gaps, err; err == nil {
			r.State, r.Err = w.m.kind.Format.State(ctx, t, at, ref.ID)
		}
		w.takeState(i, r)
	}
	return nil
}

// Lists describes states that are a list each. The lists share their items:
//
//	{"messages":[a,b],"thread":…}
//	Begin       items End
type Lists struct {
	Begin string
	// End returns the end of the state of an item.
	End  func(i int) string
	Gaps model.Gaps
	// Len is the number of items, and ID returns the ID of the snapshot of an item. Before returns the item before
	// an item, or -1; an item that comes again ends a list. Item returns an item, nil if no list shows it.
	Len    int
	ID     func(i int) string
	Before func(i int) int
	Item   func(i int) []byte
}

// State returns the state of the first snapshot with an ID. The error is model.ErrNoSnapshot where none has it.
func (l *Lists) State(id string) ([]byte, error) {
	for i := range l.Len {
		if l.ID(i) != id {
			continue
		}
		path, _ := l.pathTo(i, nil)
		state, begun := []byte(l.Begin), false
		for _, k := range slices.Backward(path) {
			item := l.Item(k)
			if begun && item != nil {
				state = append(state, ',')
			}
			state, begun = append(state, item...), begun || item != nil
		}
		return append(state, l.End(i)...), nil
	}
	return nil, model.ErrNoSnapshot
}

// Weave hands the states of snapshots to a loom.
func (l *Lists) Weave(ids []string, to store.Loom) {
	at := make(map[string]int, l.Len)
	for i := range l.Len {
		if _, is := at[l.ID(i)]; !is {
			at[l.ID(i)] = i
		}
	}
	begin := to.Put(store.Text{Raw: []byte(l.Begin)})
	var last string // the end that was put last
	var end store.Run
	known := map[int][]store.Run{}
	for number, id := range ids {
		i, ok := at[id]
		if !ok {
			to.Take(number, store.Rope{Err: model.ErrNoSnapshot})
			continue
		}
		if text := l.End(i); text != last {
			last, end = text, to.Put(store.Text{Raw: []byte(text)})
		}
		runs := append([]store.Run{begin}, l.listRuns(i, known, to)...)
		to.Take(number, store.Rope{Runs: append(runs, end), Gaps: l.Gaps})
	}
}

// pathTo returns the items of the list that ends with item i, the last one first, and the item at which it stopped: one of
// known, one that came before, or -1.
func (l *Lists) pathTo(i int, known map[int][]store.Run) (path []int, stop int) {
	met := map[int]bool{}
	for ; i >= 0 && !met[i]; i = l.Before(i) {
		if _, is := known[i]; is {
			break
		}
		met[i], path = true, append(path, i)
	}
	return path, i
}

// listRuns returns the runs of the list that ends with an item.
func (l *Lists) listRuns(i int, known map[int][]store.Run, to store.Loom) []store.Run {
	path, stop := l.pathTo(i, known)
	runs, shared := known[stop]
	for _, k := range slices.Backward(path) {
		if item := l.Item(k); item != nil {
			one := store.Text{Raw: item, Listed: true}
			if len(runs) > 0 {
				one.Before = ","
			}
			runs = Extend(runs, to.Put(one))
		}
		if stop < 0 || shared { // else the list depends on where it ends
			known[k] = runs
		}
	}
	return runs
}

// AppendObject appends an object with the members that have a value, in the order of their keys.
func AppendObject(dst []byte, members map[string][]byte) []byte {
	dst = append(dst, '{')
	begin := len(dst)
	for _, key := range slices.Sorted(maps.Keys(members)) {
		if members[key] == nil {
			continue
		}
		if len(dst) > begin {
			dst = append(dst, ',')
		}
		dst = append(append(jsontape.AppendQuoted(dst, key), ':'), members[key]...)
	}
	return append(dst, '}')
}

// Extend returns runs with another behind them, which may go on where the last one ends. The runs that it is given
// stay as they are.
func Extend(runs []store.Run, more ...store.Run) []store.Run {
	runs = slices.Clone(runs)
	for _, run := range more {
		runs = AppendRun(runs, run)
	}
	return runs
}

// AppendRun is Extend by one run, in place: the runs that it is given belong to the caller alone.
func AppendRun(runs []store.Run, run store.Run) []store.Run {
	if n := len(runs); n > 0 && runs[n-1].At+runs[n-1].Len == run.At {
		runs[n-1].Len += run.Len
		return runs
	}
	return append(runs, run)
}
