package adk

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/engine/rows"
)

// A user's input begins a turn. A later event leaves the messages of earlier turns as they are, unless it answers a
// call of an earlier turn, names a branch or is a compaction. So a state joins the messages of the turns before with
// those of its own turn:
//
//	#6   user call result said | user call        before  turn
//	#7   user call result said | user call result before  turn
//
// A turn that depends on an earlier turn is merged with all turns before it, and their messages are worked out again.

// Weave implements rows.Weaver.
func (format) Weave(ctx context.Context, t rows.Tx, at rows.Place, ids []string, to store.Loom) error {
	s, err := loadWhole(ctx, t, at)
	if err != nil {
		return err
	}
	b, err := besideOf(ctx, t, at)
	if err != nil {
		return err
	}
	return s.weaveStates(ctx, &b, ids, to)
}

// weaveStates hands the states of events to a loom.
func (s *session) weaveStates(ctx context.Context, b *beside, ids []string, to store.Loom) error {
	s.ensureDetails()
	numbers := make(map[string]int, len(s.events))
	for i := range s.events {
		if _, known := numbers[s.events[i].id]; !known {
			numbers[s.events[i].id] = i
		}
	}
	order := make([]int, len(ids)) // by the places of the events
	for number := range ids {
		order[number] = number
	}
	place := func(number int) int {
		if i, known := numbers[ids[number]]; known {
			return i
		}
		return -1
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(place(a), place(b)) })
	w := &weaving{session: s, to: to, beside: b}
	w.beginEvents()
	for _, number := range order {
		if err := ctx.Err(); err != nil {
			return err
		}
		i := place(number)
		if i < 0 {
			to.Take(number, store.Rope{Err: model.ErrNoSnapshot})
			continue
		}
		w.goTo(i)
		to.Take(number, store.Rope{Runs: w.stateRuns(), Gaps: b.stateGaps(s)})
	}
	return nil
}

// weaving has the turns and the state as they are behind the event at; -1 stands for no event.
type weaving struct {
	*session
	to     store.Loom
	beside *beside
	at     int
	asking recipient
	// turns are the turns before the last one, and turn has the events of the last one.
	turns [][]int
	turn  []int
	// called has the ids of the calls of the turns before, told the messages of these turns by agent.
	called map[string]bool
	told   map[string]*told
	// members are the members of the state, and places has the index of each.
	members []stateMember
	places  map[string]int
}

// told has the messages that an agent is sent of the first turns, and the events that it is not sent.
type told struct {
	turns        int
	sent, unsent []store.Run
}

// stateMember is a member of the state, with its run behind another; a zero run is not known yet.
type stateMember struct {
	jsontape.Member
	run store.Run
}

// beginEvents goes before the first event.
func (w *weaving) beginEvents() {
	w.at, w.asking, w.turns, w.turn, w.members = -1, recipient{}, nil, nil, nil
	w.called, w.told, w.places = map[string]bool{}, map[string]*told{}, map[string]int{}
	for _, m := range w.initialMembers(w.beside.state) {
		w.members = append(w.members, stateMember{Member: m})
	}
}

// goTo goes to an event, on from where it is if that leads there.
func (w *weaving) goTo(i int) {
	var path []int
	for k := i; k != w.at; k = w.bases[k] {
		if k < 0 {
			w.beginEvents()
			break
		}
		path = append(path, k)
	}
	for _, k := range slices.Backward(path) {
		w.addEvent(k)
	}
	w.at = i
}

// addEvent goes on by one event.
func (w *weaving) addEvent(k int) {
	e := &w.events[k]
	if len(w.turn) > 0 && e.opensTurn() {
		alone, hangs := w.standsAlone()
		if hangs {
			w.turn = slices.Concat(append(w.turns, w.turn)...)
			w.turns, w.told = nil, map[string]*told{}
		}
		if alone || hangs {
			maps.Copy(w.called, w.callIDs(w.turn))
			w.turns, w.turn = append(w.turns, w.turn), nil
		}
	}
	w.turn = append(w.turn, k)
	w.asking.addEvent(e)
	for m := range jsontape.Members(e.delta) {
		key := jsontape.Unquote(m.Key)
		if e.rewinds != "" && string(m.Value) == "null" {
			m.Value = nil
		}
		switch place, known := w.places[key]; {
		case m.Key == nil || isShared(key):
		case known:
			w.members[place].Value, w.members[place].run = m.Value, store.Run{}
		default:
			w.places[key], w.members = len(w.members), append(w.members, stateMember{Member: m})
		}
	}
}

// opensTurn reports whether an event is a user's input that is sent whatever is around it.
func (e *event) opensTurn() bool {
	return e.rewinds == "" && e.Author == "user" && e.Branch == "" && e.Actions.Compaction == nil && e.says && e.isVisible() &&
		!slices.ContainsFunc(e.Content.Parts, func(p part) bool { return p.Call != nil || p.Response != nil })
}

// standsAlone reports whether what is sent of the turn does not depend on those before, and else whether it only
// hangs on these by its calls.
func (w *weaving) standsAlone() (alone, hangs bool) {
	own := map[string]bool{}
	for _, k := range w.turn {
		e := &w.events[k]
		if e.Branch != "" || e.Actions.Compaction != nil {
			return false, false
		}
		for _, p := range e.Content.Parts {
			if p.Call != nil {
				hangs = hangs || p.Call.id == "" || w.called[p.Call.id]
				own[p.Call.id] = true
			}
			hangs = hangs || p.Response != nil && (p.Response.id == "" || !own[p.Response.id])
		}
		hangs = hangs || slices.ContainsFunc(e.LongRunning, func(id string) bool { return !own[id] })
	}
	return !hangs, hangs
}

// addSent adds what an agent is sent of events, and what is not.
func (w *weaving) addSent(t *told, path []int, asked agent, last bool) {
	shown := map[int]bool{}
	list := w.sentOf(path, asked, last)
	for i := range list {
		e := &list[i]
		shown[e.event] = true
		text := w.events[e.event].data
		if e.parts != nil || e.summary || e.quoted {
			text = w.appendSent(nil, e)
		}
		t.sent = rows.AppendRun(t.sent, w.itemRun(text, len(t.sent) == 0))
	}
	for k := range w.unsentEvents(path, asked) {
		if !shown[k] {
			t.unsent = rows.AppendRun(t.unsent, w.itemRun(w.events[k].data, len(t.unsent) == 0))
		}
	}
}

// itemRun returns the run of an item of a list.
func (w *weaving) itemRun(text []byte, first bool) store.Run {
	one := store.Text{Raw: text, Listed: true}
	if !first {
		one.Before = ","
	}
	return w.to.Put(one)
}

// stateRuns returns the runs that make up the state.
func (w *weaving) stateRuns() (runs []store.Run) {
	asked := w.asking.now
	var all told
	if alone, _ := w.standsAlone(); alone && asked.branch == "" {
		before := w.told[asked.name]
		if before == nil {
			before = &told{}
			w.told[asked.name] = before
		}
		for ; before.turns < len(w.turns); before.turns++ {
			w.addSent(before, w.turns[before.turns], asked, false)
		}
		all.sent, all.unsent = slices.Clone(before.sent), slices.Clone(before.unsent)
		w.addSent(&all, w.turn, asked, true)
	} else {
		w.addSent(&all, slices.Concat(append(slices.Clip(w.turns), w.turn)...), asked, true)
	}
	put := func(t store.Text) { runs = rows.AppendRun(runs, w.to.Put(t)) }
	put(store.Text{Raw: []byte(`{"messages":[`)})
	runs = rows.Extend(runs, all.sent...)
	if put(store.Text{Raw: []byte("]")}); all.unsent != nil {
		put(store.Text{Raw: []byte(`,"events":[`)})
		runs = rows.Extend(runs, all.unsent...)
		put(store.Text{Raw: []byte("]")})
	}
	if w.opaque == "" {
		put(store.Text{Raw: []byte(`,"state":{`)})
		runs = rows.Extend(runs, w.stateMembers()...)
		put(store.Text{Raw: []byte("}")})
	}
	names, values := w.beside.sharedMembers(w.session)
	for i, name := range names {
		put(store.Text{Before: `,"` + name + `":`, Raw: values[i]})
	}
	put(store.Text{Raw: []byte("}")})
	return runs
}

// stateMembers returns the members of the state.
func (w *weaving) stateMembers() (runs []store.Run) {
	for i := range w.members {
		m := &w.members[i]
		switch {
		case m.Value == nil: // it was deleted
		case runs == nil:
			runs = append(runs, w.to.Put(store.Text{Before: string(m.Key) + ":", Raw: m.Value}))
		default:
			if m.run.Len == 0 {
				m.run = w.to.Put(store.Text{Before: "," + string(m.Key) + ":", Raw: m.Value})
			}
			runs = append(runs, m.run)
		}
	}
	return runs
}
