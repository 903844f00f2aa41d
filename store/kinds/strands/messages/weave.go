package messages

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"maps"
	"path"
	"slices"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine"
)

// A state of a log is the beginning of one of two texts: of the messages as today's window shows them, or of
// all messages, since older states are not seen through a window.
//
//	full   m0,m1,m2,m3,m4,…             state of #2:  {"messages":[  m0,m1,m2     ]}
//	live   m0,summary,m3,m4,m5          of the head:  {"messages":[  m0,summary…  ],"state":…}
//
// An element of a text is a message as its file has it, which its id names, or what a start makes of one.

// loom takes in states of a log, element by element.
type loom struct {
	// has reports whether a message was taken in: then it need not be read.
	has func(id [sha256.Size]byte) bool
	// expect makes room for so many bytes; it may be nil. ahead says that it makes room for all of the log.
	expect func(size int64)
	ahead  bool
	// put takes in an element, the first of a text or another, and returns where it is: an empty run if its
	// file changed meanwhile.
	put func(e piece, first bool) store.Run
	// take takes in the state after message i.
	take func(i int, m *message, runs []store.Run) error
	// leave, which may be nil, takes in what leaves the full text behind message i. A walker is there; what it
	// goes on to is in elements until the next message.
	leave func(w *walker, i int, runs []store.Run, elements *[]piece) error
}

// errMoved says that a log is not as it was a moment ago.
var errMoved = errors.New("it changed while it was read; ask again")

// weave hands the states after some messages to a loom. It reads each message once.
func (l *messageLog) weave(ctx context.Context, wanted map[int][]int, to *loom) error {
	full, live := -1, -1
	for i := range wanted {
		if l.through(i) {
			live = max(live, i)
		} else {
			full = max(full, i)
		}
	}
	if to.leave != nil {
		full = len(l.files) - 1
	}
	x, size := l.wholeIndex(), int64(0)
	n := max(full, live) + 1
	files, positions := make([]messageFile, 0, n), make([]int, 0, n)
	missing := map[string]bool{}
	for i := range n {
		f := l.files[i]
		if i > full && l.evicted(i) && wanted[i] == nil {
			continue
		}
		files, positions = append(files, f), append(positions, i)
		if known := x.has(l, i); !known || !to.has(x.ids[i]) {
			missing[f.name] = true
			if known {
				size += int64(x.sizes[i]) + 1
			}
		}
	}
	if to.expect != nil {
		for i := n; to.ahead && x.has(l, i); i++ { // the next states are often asked for next
			if !to.has(x.ids[i]) {
				size += int64(x.sizes[i]) + 1
			}
		}
		to.expect(size)
	}
	w, moved := l.walker(), false
	w.wide = to.leave != nil
	w.full.again, w.live.again = l.sameBody, l.sameBody
	var texts [2][]store.Run
	var left []piece
	leaving := false
	into := func(runs *[]store.Run) func(piece) {
		return func(e piece) {
			if leaving {
				left = append(left, e)
				return
			}
			run := to.put(e, len(*runs) == 0)
			moved = moved || run.Len == 0
			*runs = appendRun(*runs, run)
		}
	}
	if full >= 0 {
		w.full.emit = into(&texts[0])
	}
	if live >= 0 {
		w.live.emit = into(&texts[1])
	}
	leave := func(i int) error {
		if to.leave == nil {
			return nil
		}
		leaving = true
		err := to.leave(w, i, texts[0], &left)
		leaving = false
		return err
	}
	if err := leave(-1); err != nil {
		return err
	}
	in := func(d *decoder, f messageFile, m *message) {
		if missing[f.name] {
			l.whole(d, f, m)
		} else {
			l.known(d, f, m)
		}
	}
	defer l.ahead(files, func(name string) bool { return missing[path.Base(name)] })()
	return l.read(ctx, files, in, func(k int, m *message) error {
		i := positions[k]
		if w.load(i, m); moved {
			return errMoved
		}
		if wanted[i] != nil {
			runs := texts[0]
			if l.through(i) {
				runs = texts[1]
			}
			if err := to.take(i, m, runs); err != nil {
				return err
			}
		}
		return leave(i)
	})
}

// sameBody returns the body of a message that was recalled from its note, nil if its file has another one by now.
func (l *messageLog) sameBody(of *message) []byte {
	var d decoder
	var m message
	if d.take(d.reader(l.tree, l.dir), messageFile{name: of.name}, &m); m.id != of.id {
		return nil
	}
	return m.body
}

// appendRun appends a run in place, which may go on where the last one ends.
func appendRun(runs []store.Run, run store.Run) []store.Run {
	if n := len(runs); n > 0 && runs[n-1].At+runs[n-1].Len == run.At {
		runs[n-1].Len += run.Len
		return runs
	}
	return append(runs, run)
}

// bytes returns the bytes of an element, nil if its file changed meanwhile.
func (e *piece) bytes() []byte {
	switch {
	case e.json != nil:
		return e.json
	case e.msg.body != nil:
		return e.msg.body
	}
	return e.again(e.msg)
}

// later returns the function bytes of an element whose message is lent.
func (e *piece) later() func() []byte {
	if e.json != nil {
		json := slices.Clone(e.json)
		return func() []byte { return json }
	}
	name, id, again := e.msg.name, e.msg.id, e.again
	return func() []byte { return again(&message{name: name, id: id}) }
}

// Kinds of store.Text: a message by its id, and an element behind the id of its message.
const (
	textOfID = 1 + iota
	textBehindID
)

// text returns an element as a text of a loom.
func (e *piece) text(first bool) store.Text {
	t := store.Text{Raw: slices.Clone(e.msg.id[:]), Kind: textOfID, Listed: true}
	if !first {
		t.Before = ","
	}
	if e.json != nil {
		t.Raw, t.Kind = append(t.Raw, e.json...), textBehindID
		t.Make = func(raw []byte) []byte { return raw[sha256.Size:] }
	} else {
		t.Make = func([]byte) []byte { return e.bytes() }
	}
	return t
}

// Weave is that of store.Features.
func (s *Store) Weave(ctx context.Context, refs []model.Ref, to store.Loom) error {
	if len(refs) == 0 {
		return nil
	}
	taken := make([]bool, len(refs))
	take := func(number int, state store.Rope) {
		taken[number] = true
		to.Take(number, state)
	}
	err := s.In(ctx, refs[0].Session, func(in engine.In, at engine.Place) error {
		if p := at.Own.(place); p.orchestrator == "" {
			return agentLog{s, p, in}.weave(ctx, refs, store.Loom{Put: to.Put, Expect: to.Expect, Take: take})
		}
		return nil
	})
	for number := 0; number < len(refs) && err == nil; number++ {
		if !taken[number] {
			var whole store.Rope
			if whole.Gaps, whole.Err = s.Gaps(ctx, refs[number]); whole.Err == nil {
				whole.State, whole.Err = s.State(ctx, refs[number])
			}
			to.Take(number, whole)
			err = ctx.Err()
		}
	}
	return s.Wrap(err, "read the states of session %q", refs[0].Session)
}

// weave hands the states of a log to a loom, without those that it has to read whole: of branches that a window
// took something out of, and of snapshots that are not there.
func (a agentLog) weave(ctx context.Context, refs []model.Ref, to store.Loom) error {
	l := openLog(a.place, a.in)
	defer l.close()
	if l.err != nil {
		return l.err
	}
	aside := map[[sha256.Size]byte][]int{} // once those are taken out that are in the log
	for number, ref := range refs {
		if ref.CheckNoVisit() == nil {
			id := parseID(ref.ID)
			aside[id] = append(aside[id], number)
		}
	}
	x, err := cmp.Or(l.wholeIndex(), &index{}), error(nil)
	wanted := x.takeOut(aside)
	if len(aside) > 0 {
		if x, err = l.reindex(ctx); err != nil {
			return err
		}
		maps.Copy(wanted, x.takeOut(aside))
	}
	gaps, open := a.gapsBeside(&l.agent), to.Put(store.Text{Raw: []byte(stateOpen), Listed: true})
	if last := len(l.files) - 1; wanted[last] != nil {
		to.Put(store.Text{Raw: l.end(last)}) // so that the newest state lies in one piece
	}
	take := func(numbers []int, runs []store.Run, end []byte) {
		for _, number := range numbers {
			to.Take(number, store.Rope{Runs: slices.Concat([]store.Run{open}, runs, []store.Run{to.Put(store.Text{Raw: end})}), Gaps: gaps(refs[number].ID)})
		}
	}
	on := &loom{
		has: func(id [sha256.Size]byte) bool {
			look := store.Text{Raw: id[:], Kind: textOfID, Make: func([]byte) []byte { return nil }}
			first := to.Put(look)
			look.Before = ","
			return first.Len > 0 || to.Put(look).Len > 0
		},
		expect: to.Expect,
		ahead:  true,
		put:    func(e piece, first bool) store.Run { return to.Put(e.text(first)) },
		take: func(i int, m *message, runs []store.Run) error {
			if m.id != x.ids[i] {
				return errMoved
			}
			take(wanted[i], runs, l.end(i))
			return nil
		},
	}
	if len(aside) > 0 && l.start == l.agent.pinned && l.agent.summary == nil {
		if on.leave, err = a.leave(ctx, l, on, func(id string, runs []store.Run, end []byte) { take(aside[parseID(id)], runs, end) }); err != nil {
			return err
		}
	}
	return l.weave(ctx, wanted, on)
}

// leave returns the leave of a loom for a log that no window took something out of: nil where one took something out of
// one of its branches, or there are none. take takes in each state that is aside.
func (a agentLog) leave(ctx context.Context, l *messageLog, on *loom, take func(id string, runs []store.Run, end []byte)) (func(*walker, int, []store.Run, *[]piece) error, error) {
	b := l.asides(ctx)
	then := map[string]agentFile{}
	for id, v := range b.agents {
		data, err := l.readKept(v)
		agent := parseAgent(a.path("agent.json"), data, l.running, new(store.FaultList))
		if err != nil || agent.removed != 0 || agent.summary != nil {
			return nil, ctx.Err()
		}
		then[id] = agent
	}
	if len(b.list) == 0 {
		return nil, ctx.Err()
	}
	known := make([][]store.Run, len(b.list))
	return func(w *walker, i int, runs []store.Run, elements *[]piece) error {
		return b.leave(ctx, w, i, func(r *row) error {
			before := runs
			if parent := b.list[r.aside].parent; parent >= 0 {
				before = known[parent]
			}
			before = slices.Clone(before)
			for _, e := range *elements {
				before = appendRun(before, on.put(e, len(before) == 0))
			}
			*elements = (*elements)[:0]
			known[r.aside] = before
			agent := then[r.header.ID]
			take(r.header.ID, before, agent.end())
			return nil
		})
	}, nil
}
