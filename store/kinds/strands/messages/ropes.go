package messages

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"iter"
	"path"
	"slices"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/sdk"
)

// A state of a log is the beginning of one text: what the window has made of the messages
// up to the snapshot's. There are two such texts, since the newest states are seen through
// today's window, and older ones are not.
//
//	full   m0,m1,m2,m3,m4,…             state of #2:  {"messages":[  m0,m1,m2     ]}
//	live   m0,summary,m3,m4,m5          of the head:  {"messages":[  m0,summary…  ],"state":…}
//
// Where the messages end in them is in the index that the reading of headers made. So the ropes of
// all states cost a listing, and a message is read when its bytes are asked for.
// A state that is aside is the beginning of a text up to where it left, and what its own
// messages added to that, which is held in memory. Where a window took something out of it, and
// of what orchestrators record, there are no runs: it is read as a state.

// reel is one of the texts of a log: how long it is behind each message.
type reel struct {
	reelKey
	place place
	// base is the number of its first byte.
	base int64
	ids  [][sha256.Size]byte
	ends []int64
}

// reelKey tells apart what else a text depends on than its messages.
type reelKey struct {
	session string
	sdk     sdk.Span
	// live says that it is seen through a window, which is the rest.
	live                  bool
	pinned, start, behind int
	summary               string
}

// literal is the text around the messages.
type literal struct {
	base int64
	text string
}

// numbering assigns numbers to the bytes of the store. A number is never used again.
type numbering struct {
	next     int64
	reels    []*reel   // the last used first
	literals []literal // the last used first
	// added is what messages that are aside added to the texts, from the number addedAt on,
	// and additions are where in it.
	addedAt   int64
	added     []byte
	additions map[addition]store.Run
}

// addition tells apart what a message that is aside added: to which bytes, and its content.
type addition struct {
	behind  store.Run
	content string
}

const (
	// reelRoom is how many numbers a text has.
	reelRoom = int64(1) << 42
	// mostReels and mostLiterals bound what is numbered at a time: a log has two texts.
	mostReels, mostLiterals = 8, 1024
	// mostAdded bounds the bytes of messages aside in memory.
	mostAdded = 64 << 20
)

// errMoved says that a log is not as it was a moment ago.
var errMoved = errors.New("it changed while it was read; ask again")

// Ropes is that of store.Features.
func (s *Store) Ropes(ctx context.Context, refs []model.Ref) iter.Seq2[store.Rope, error] {
	return func(yield func(store.Rope, error) bool) {
		if len(refs) == 0 {
			return
		}
		var rope func(model.Ref) store.Rope
		err := s.In(ctx, refs[0].Session, func(in engine.In, at engine.Place) (err error) {
			if p := at.Own.(place); p.orchestrator == "" {
				rope, err = agentLog{s, p, in}.ropes(ctx, refs)
			}
			return err
		})
		if err != nil {
			yield(store.Rope{}, s.Wrap(err, "read the states of session %q", refs[0].Session))
			return
		}
		for _, ref := range refs {
			var one store.Rope
			if rope != nil && ref.CheckNoVisit() == nil {
				one = rope(ref)
			}
			if len(one.Runs) == 0 {
				one.Gaps, one.Err = s.Gaps(ctx, ref)
			}
			if !yield(one, nil) {
				return
			}
		}
	}
}

// ropes returns what gives the ropes of snapshots. Where the messages end is in the index of the
// log; the log is read for one that has all of the snapshots that are in it.
func (a agentLog) ropes(ctx context.Context, refs []model.Ref) (func(model.Ref) store.Rope, error) {
	l := openLog(a.place, a.in)
	defer l.close()
	if l.err != nil {
		return nil, l.err
	}
	x := l.wholeIndex()
	at := x.positions()
	if x == nil || slices.ContainsFunc(refs, func(ref model.Ref) bool { _, there := at[parseID(ref.ID)]; return !there }) {
		var err error
		if x, err = l.reindex(ctx); err != nil {
			return nil, err
		}
		at = x.positions()
	}
	key := l.reelKey()
	live := &reel{reelKey: key, ids: x.ids, ends: x.live}
	full := &reel{reelKey: reelKey{session: key.session, sdk: key.sdk}, ids: x.ids[:l.start], ends: x.full[:l.start]}
	last := len(l.files) - 1
	s := a.Store
	open, closed := s.literal(stateOpen), s.literal(stateClose+"}")
	head := s.literal(stateClose + string(l.agent.members) + "}")
	live = s.reel(a.place, live)
	if len(full.ids) > 0 {
		full = s.reel(a.place, full)
	}
	gaps := a.gapsBeside(&l.agent)
	var aside map[string][]store.Run
	var err error
	if !key.live {
		aside, err = a.asideRuns(ctx, l, live)
	}
	for _, text := range []string{stateOpen, stateClose + "}", stateClose + string(l.agent.members) + "}"} {
		s.literal(text) // so that they are not the first to go
	}
	return func(ref model.Ref) (rope store.Rope) {
		i, there := at[parseID(ref.ID)]
		if !there {
			if of := aside[ref.ID]; of != nil {
				rope.Runs, rope.Gaps = append(append(rope.Runs, open), of...), gaps(ref.ID)
			}
			return rope
		}
		text, behind := full, closed
		if l.through(i) {
			text = live
		}
		if i == last {
			behind = head
		}
		rope.Runs = append(rope.Runs, open)
		if n := text.ends[i]; n > 0 {
			rope.Runs = append(rope.Runs, store.Run{At: text.base, Len: n})
		}
		rope.Runs = append(rope.Runs, behind)
		rope.Gaps = gaps(ref.ID)
		return rope
	}, err
}

// asideRuns returns the runs of the states that are aside, behind what opens a state, by their
// ids; none where a window took something out of one, or another version would mend them.
// Nothing was taken out of the log, whose text is given.
func (a agentLog) asideRuns(ctx context.Context, l *messageLog, text *reel) (map[string][]store.Run, error) {
	b := l.asides(ctx)
	then := map[string]agentFile{}
	for id, v := range b.agents {
		data, err := l.readKept(v)
		if err != nil {
			return nil, ctx.Err()
		}
		then[id] = parseAgent(a.path("agent.json"), data, l.running, new(store.FaultList))
	}
	for _, agent := range then {
		if agent.removed != 0 || agent.summary != nil {
			return nil, ctx.Err()
		}
	}
	if len(b.list) == 0 {
		return nil, ctx.Err()
	}
	runs := make([][]store.Run, len(b.list))
	ends := make(map[string]store.Run, len(b.list)) // of the files that they leave at
	for i, f := range l.files {
		ends[f.name] = store.Run{At: text.base, Len: text.ends[i]}
	}
	all := make(map[string][]store.Run, len(b.list))
	w := l.walker()
	var wrote [][]byte // by the message at hand; nil for its body
	w.full.emit = func(json []byte) { wrote = append(wrote, bytes.Clone(json)) }
	err := b.rows(ctx, w, 0, func(r *row) error {
		if k := r.aside; k >= 0 {
			one := &b.list[k]
			var before []store.Run
			if one.parent >= 0 {
				before = runs[one.parent]
			} else if end := ends[one.after]; end.Len > 0 {
				before = []store.Run{end}
			}
			if one.parent < 0 || before != nil {
				for i, json := range wrote {
					if json == nil {
						wrote[i] = b.body(k)
					}
				}
				runs[k] = a.add(before, r.header.ParentID+r.header.ID+one.version.SHA256, bytes.Join(wrote, nil))
			}
			if runs[k] != nil {
				agent := then[r.header.ID]
				all[r.header.ID] = append(slices.Clip(runs[k]), a.literal(stateClose+string(agent.members)+"}"))
			}
		}
		wrote = wrote[:0]
		return nil
	})
	return all, err
}

// add returns the runs of a text to which a message added something; nil for too much.
func (s *Store) add(before []store.Run, content string, text []byte) []store.Run {
	s.sharing.Lock()
	defer s.sharing.Unlock()
	n := &s.shared
	if n.additions == nil {
		n.additions, n.addedAt = map[addition]store.Run{}, n.next
		n.next += reelRoom
	}
	key := addition{content: content}
	if last := len(before) - 1; last >= 0 {
		key.behind = before[last]
	}
	run, known := n.additions[key]
	if !known {
		if len(n.added)+len(text) > mostAdded {
			return nil
		}
		run = store.Run{At: n.addedAt + int64(len(n.added)), Len: int64(len(text))}
		n.added, n.additions[key] = append(n.added, text...), run
	}
	runs := slices.Clone(before)
	switch last := len(runs) - 1; {
	case run.Len == 0:
	case last >= 0 && runs[last].At+runs[last].Len == run.At:
		runs[last].Len += run.Len
	default:
		runs = append(runs, run)
	}
	if runs == nil {
		runs = []store.Run{}
	}
	return runs
}

// reelKey returns the key of a log's text: with the settings of today's window if it removes
// messages.
func (l *messageLog) reelKey() reelKey {
	key := reelKey{session: l.id, sdk: l.sdk()}
	if l.start > l.agent.pinned || l.agent.summary != nil {
		key.live, key.pinned, key.start, key.summary = true, l.agent.pinned, l.start, string(l.agent.summary)
	}
	if last := len(l.files) - 1; l.agent.summary != nil && l.agent.pinned > last {
		key.behind = len(l.files) // the summary follows the last message
	}
	return key
}

// literal returns the run of a text that stands around messages.
func (s *Store) literal(text string) store.Run {
	s.sharing.Lock()
	defer s.sharing.Unlock()
	n := &s.shared
	i := slices.IndexFunc(n.literals, func(have literal) bool { return have.text == text })
	one := literal{n.next, text}
	if i >= 0 {
		one = n.literals[i]
		n.literals = slices.Delete(n.literals, i, i+1)
	} else {
		n.next += reelRoom
	}
	n.literals = slices.Insert(n.literals, 0, one)
	n.literals = n.literals[:min(len(n.literals), mostLiterals)]
	return store.Run{At: one.base, Len: int64(len(text))}
}

// reel returns a text of a log as it is numbered: as the one that is known, if one of the
// two goes on with what the other has.
func (s *Store) reel(p place, r *reel) *reel {
	s.sharing.Lock()
	defer s.sharing.Unlock()
	n := &s.shared
	r.place = p
	i := slices.IndexFunc(n.reels, func(have *reel) bool { return have.reelKey == r.reelKey && have.begins(r) })
	if i >= 0 {
		r.base = n.reels[i].base
		if len(n.reels[i].ids) > len(r.ids) { // its bytes may still be asked for
			return &reel{r.reelKey, p, r.base, r.ids, r.ends}
		}
		n.reels = slices.Delete(n.reels, i, i+1)
	} else {
		r.base, n.next = n.next, n.next+reelRoom
	}
	n.reels = slices.Insert(n.reels, 0, r)
	n.reels = n.reels[:min(len(n.reels), mostReels)]
	return r
}

// begins reports whether two texts are the same as far as both reach.
func (r *reel) begins(other *reel) bool {
	n := min(len(r.ids), len(other.ids))
	return slices.Equal(r.ids[:n], other.ids[:n]) && slices.Equal(r.ends[:n], other.ends[:n])
}

// Fill is that of store.Features. Of each text the messages in which runs are are read, once.
func (s *Store) Fill(ctx context.Context, runs []store.Run, dst []byte) error {
	wanted := map[int64][]filling{} // by the base
	for _, run := range runs {
		base := run.At / reelRoom * reelRoom
		wanted[base] = append(wanted[base], filling{run.At - base, dst[:run.Len:run.Len]})
		dst = dst[run.Len:]
	}
	for base, all := range wanted {
		if err := s.fill(ctx, base, all); err != nil {
			return s.Wrap(err, "read what states are made of")
		}
	}
	return nil
}

// filling is where a part of a text goes.
type filling struct {
	from int64
	to   []byte
}

func (s *Store) fill(ctx context.Context, base int64, all []filling) error {
	s.sharing.Lock()
	var text []byte
	var r *reel
	if s.shared.additions != nil && base == s.shared.addedAt {
		text = s.shared.added
	}
	for _, one := range s.shared.literals {
		if one.base == base {
			text = []byte(one.text)
		}
	}
	for _, one := range s.shared.reels {
		if one.base == base {
			r = one
		}
	}
	s.sharing.Unlock()
	for _, f := range all {
		end := f.from + int64(len(f.to))
		switch {
		case text != nil && end <= int64(len(text)):
			copy(f.to, text[f.from:])
		case r == nil || len(r.ends) == 0 || end > r.ends[len(r.ends)-1]:
			return errMoved
		}
	}
	if r == nil {
		return nil
	}
	return s.Read(ctx, func(in engine.In) error {
		return agentLog{s, r.place, in.Of(r.place.at())}.fillFrom(ctx, r, all)
	})
}

// fillFrom reads parts of a text from the log.
func (a agentLog) fillFrom(ctx context.Context, r *reel, all []filling) error {
	l := openLog(r.place, a.in)
	defer l.close()
	key := l.reelKey()
	slices.SortFunc(all, func(x, y filling) int { return cmp.Compare(x.from, y.from) })
	n := 0 // messages up to the last one that is wanted
	for _, f := range all {
		for n < len(r.ends) && (n == 0 || r.ends[n-1] < f.from+int64(len(f.to))) {
			n++
		}
	}
	if l.err != nil || r.live && key != r.reelKey || key.sdk != r.sdk || len(l.files) < n {
		return cmp.Or(l.err, errMoved)
	}
	read := map[string]bool{} // the files whose messages are wanted
	i := 0
	for _, f := range all {
		end := f.from + int64(len(f.to))
		for ; i < n && r.ends[i] <= f.from; i++ {
		}
		for k := i; k < n && (k == 0 || r.ends[k-1] < end); k++ {
			read[l.files[k].name] = true
		}
	}
	w := l.walker()
	text := &w.live
	if w.wide = !r.live && key.live; w.wide {
		text = &w.full
	}
	left := all
	text.emit = func(json []byte) {
		from := text.size - int64(len(json))
		for len(left) > 0 && left[0].from+int64(len(left[0].to)) <= from {
			left = left[1:]
		}
		for _, f := range left {
			if f.from >= text.size {
				break
			}
			if f.from >= from {
				copy(f.to, json[f.from-from:])
			} else {
				copy(f.to[from-f.from:], json)
			}
		}
	}
	in := func(d *decoder, f messageFile, m *message) {
		if read[f.name] {
			l.whole(d, f, m)
		} else {
			l.known(d, f, m)
		}
	}
	defer l.ahead(l.files[:n], func(name string) bool { return read[path.Base(name)] })()
	return l.read(ctx, l.files[:n], in, func(i int, m *message) error {
		w.load(i, m)
		if m.id != r.ids[i] || text.size != r.ends[i] {
			return errMoved
		}
		return nil
	})
}
