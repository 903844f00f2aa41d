package messages

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"slices"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/sdk"
)

// A state of a log is the beginning of one text: what the window has made of the messages
// up to the snapshot's. There are two such texts, since the newest states are seen through
// today's window, and older ones are not.
//
//	full   m0,m1,m2,m3,m4,…             state of #2:  {"messages":[  m0,m1,m2     ]}
//	live   m0,summary,m3,m4,m5          of the head:  {"messages":[  m0,summary…  ],"state":…}
//
// Where the messages end in them is known from the notes of the files. So the ropes of all
// states cost one look at each file, and a message is read when its bytes are asked for.
// What is aside, and what orchestrators record, has no runs: it is read as states.

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

// literal is what stands around the messages.
type literal struct {
	base int64
	text string
}

// numbering tells what numbers bytes of the store have. A number is never used again.
type numbering struct {
	next     int64
	reels    []*reel   // the last used first
	literals []literal // the last used first
}

const (
	// reelRoom is how many numbers a text has.
	reelRoom = int64(1) << 42
	// mostReels and mostLiterals bound what is numbered at a time: a log has two texts.
	mostReels, mostLiterals = 8, 32
)

// errMoved says that a log is not as it was a moment ago.
var errMoved = errors.New("it changed while it was read; ask again")

// Ropes implements query.Roper.
func (s *Store) Ropes(ctx context.Context, refs []model.Ref) iter.Seq2[store.Rope, error] {
	return func(yield func(store.Rope, error) bool) {
		if len(refs) == 0 {
			return
		}
		at, err := s.session(ctx, refs[0].Session)
		var rope func(model.Ref) store.Rope
		if log, ok := at.(agentLog); ok && err == nil {
			rope, err = log.ropes(ctx)
		}
		if err != nil {
			yield(store.Rope{}, fmt.Errorf("strands: read the states of session %q: %w", refs[0].Session, err))
			return
		}
		for _, ref := range refs {
			var one store.Rope
			if rope != nil && ref.Once() == nil {
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

// ropes looks at each message once and returns what gives the rope of a snapshot.
func (a agentLog) ropes(ctx context.Context) (func(model.Ref) store.Rope, error) {
	l := a.openLog(a.place)
	defer l.close()
	if l.err != nil {
		return nil, l.err
	}
	key := l.reelKey()
	live, full := &reel{reelKey: key}, &reel{reelKey: reelKey{session: key.session, sdk: key.sdk}}
	at := make(map[[sha256.Size]byte]int, len(l.files))
	w := l.walker()
	err := l.read(ctx, l.files, l.known, func(i int, m *message) error {
		w.load(i, m)
		at[m.id] = i
		for _, r := range []*reel{live, full} {
			r.ids = append(r.ids, m.id)
		}
		live.ends, full.ends = append(live.ends, w.live.size), append(full.ends, w.full.size)
		return nil
	})
	if err != nil {
		return nil, err
	}
	full.ids, full.ends = full.ids[:l.start], full.ends[:l.start]
	last := len(l.files) - 1
	s := a.Store
	open, closed := s.literal(stateOpen), s.literal(stateClose+"}")
	head := s.literal(stateClose + string(l.agent.members) + "}")
	live = s.reel(a.place, live)
	if len(full.ids) > 0 {
		full = s.reel(a.place, full)
	}
	gaps := a.gapsBeside(ctx, &l.agent)
	return func(ref model.Ref) (rope store.Rope) {
		i, there := at[parseID(ref.ID)]
		if !there {
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
	}, nil
}

// reelKey returns what today's window depends on: nothing where it takes nothing out.
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
	s.mu.Lock()
	defer s.mu.Unlock()
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
	s.mu.Lock()
	defer s.mu.Unlock()
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

// Fill implements query.Roper. Of each text the messages in which runs are are read, once.
func (s *Store) Fill(ctx context.Context, runs []store.Run, dst []byte) error {
	wanted := map[int64][]filling{} // by the base
	for _, run := range runs {
		base := run.At / reelRoom * reelRoom
		wanted[base] = append(wanted[base], filling{run.At - base, dst[:run.Len:run.Len]})
		dst = dst[run.Len:]
	}
	for base, all := range wanted {
		err := s.fill(ctx, base, all)
		if err != nil {
			return fmt.Errorf("strands: read what states are made of: %w", err)
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
	s.mu.Lock()
	var text string
	var r *reel
	for _, one := range s.shared.literals {
		if one.base == base {
			text = one.text
		}
	}
	for _, one := range s.shared.reels {
		if one.base == base {
			r = one
		}
	}
	s.mu.Unlock()
	for _, f := range all {
		end := f.from + int64(len(f.to))
		switch {
		case text != "" && end <= int64(len(text)):
			copy(f.to, text[f.from:])
		case r == nil || len(r.ends) == 0 || end > r.ends[len(r.ends)-1]:
			return errMoved
		}
	}
	if r == nil {
		return nil
	}
	return agentLog{s, r.place}.fillFrom(ctx, r, all)
}

// fillFrom reads parts of a text from the log.
func (a agentLog) fillFrom(ctx context.Context, r *reel, all []filling) error {
	l := a.openLog(r.place)
	defer l.close()
	key := l.reelKey()
	if l.err != nil || r.live && key != r.reelKey || key.sdk != r.sdk || len(l.files) < len(r.ids) {
		return cmp.Or(l.err, errMoved)
	}
	slices.SortFunc(all, func(x, y filling) int { return cmp.Compare(x.from, y.from) })
	read := map[string]bool{} // the files whose messages are wanted
	i := 0
	for _, f := range all {
		end := f.from + int64(len(f.to))
		for ; i < len(r.ends) && r.ends[i] <= f.from; i++ {
		}
		for k := i; k < len(r.ends) && (k == 0 || r.ends[k-1] < end); k++ {
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
	return l.read(ctx, l.files[:len(r.ids)], in, func(i int, m *message) error {
		w.load(i, m)
		if m.id != r.ids[i] || text.size != r.ends[i] {
			return errMoved
		}
		return nil
	})
}
