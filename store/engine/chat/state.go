package chat

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/engine"
)

// How states are made.
//
// A message stands in the states of all that follow it:
//
//	{"messages":[  ,m0  ,m1  ,m2  ],"meta":{…}}
//	               ^ without its comma
//
// For questions about many states the text of each entry's messages is made once, and given to a loom: a state is
// runs of these. A state by itself is put together of texts. A store holds some megabytes of these.

// texts caches the text that each entry adds to states, by the entry's key. The zero value is ready.
type texts struct {
	mu    sync.Mutex
	known map[string]*joined
	// held is how many bytes these have, and most how many they may have; 0 stands for mostHeld.
	held, most int
}

// mostHeld bounds the bytes of texts that are held.
const mostHeld = 32 << 20

// entryKey tells the content of an entry from any other.
func (s *Session) entryKey(i int) string {
	e := &s.Entries[i]
	var at strings.Builder
	fmt.Fprintf(&at, "%s\x00%s\x00%s\x00%d\x00%s", s.Spot.Name(), e.File, e.ID, e.At.UnixNano(), e.Version)
	for _, r := range e.Records {
		fmt.Fprintf(&at, "\x00%d+%d", r.At, r.Len)
	}
	return at.String()
}

// holdText keeps a text, in place of all others if it is one too many.
func (t *texts) holdText(key string, text *joined) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.held += len(text.data); t.known == nil || t.held > cmp.Or(t.most, mostHeld) {
		t.known, t.held = map[string]*joined{}, len(text.data)
	}
	t.known[key] = text
}

func (t *texts) findText(key string) *joined {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.known[key]
}

// madeAtOnce is how many texts are made before they are used.
const madeAtOnce = 64

// useAll calls use with the text that each of some entries adds to a state, in their order. It makes several
// texts at once: text may reuse the buffer of a text already used, or gets nil. use returns false to end it.
func useAll(ctx context.Context, entries []int, text func(i int, used *joined) (*joined, error), use func(i int, text *joined, err error) bool) error {
	made := make([]*joined, min(len(entries), madeAtOnce))
	for part := range slices.Chunk(entries, madeAtOnce) {
		failed := make([]error, len(part))
		if err := Parallel(ctx, len(part), func(k int) { made[k], failed[k] = text(part[k], made[k]) }); err != nil {
			return err
		}
		for k, i := range part {
			if !use(i, made[k], failed[k]) {
				return nil
			}
		}
	}
	return nil
}

// messageSize is about how many bytes a message has besides its records.
const messageSize = 256

// estimateSize returns about how many bytes an entry adds to a state: what is said stands in the message, and in the record.
func (e *Entry) estimateSize() (bytes int64) {
	for _, r := range e.Records {
		bytes += 2*r.Len + messageSize
	}
	return bytes
}

// makeText makes the text that an entry adds to a state. It reuses the buffer of a used text, if that is not
// nil.
func (s *Store) makeText(in engine.In, of *Session, i int, used *joined) (*joined, error) {
	list, err := s.format.Messages(in, of, &of.Entries[i])
	if err != nil {
		return nil, err
	}
	text := &joined{messages: len(list)}
	if used != nil {
		text.data = used.data[:0]
	}
	text.data = slices.Grow(text.data, int(of.Entries[i].estimateSize()))
	for k := range list {
		text.addText(",")
		list[k].writeJSON(text)
	}
	return text, nil
}

// heldMessages is messages, which may be held from before.
func (s *Store) heldMessages(in engine.In, of *Session, i int) (*joined, error) {
	key := of.entryKey(i)
	if text := s.texts.findText(key); text != nil {
		return text, nil
	}
	text, err := s.makeText(in, of, i, nil)
	if err == nil {
		s.texts.holdText(key, text)
	}
	return text, err
}

// stateBegin and ending stand around the messages of a state.
const stateBegin = `{"messages":[`

func (e *Entry) stateEnd() string { return `],"meta":` + e.Meta.encodeJSON() + "}" }

// stateWith returns the state at an entry with the messages of some entries.
func (s *Store) stateWith(ctx context.Context, in engine.In, of *Session, i int, entries []int) (state []byte, err error) {
	ending := of.Entries[i].stateEnd()
	size := int64(len(stateBegin) + len(ending))
	for _, k := range entries {
		size += of.Entries[k].estimateSize()
	}
	state = append(make([]byte, 0, size), stateBegin...)
	text := func(i int, _ *joined) (*joined, error) { return s.heldMessages(in, of, i) }
	if in.There { // a plan may become another one
		text = func(i int, used *joined) (*joined, error) { return s.makeText(in, of, i, used) }
	}
	wrong := useAll(ctx, entries, text, func(_ int, text *joined, failed error) bool {
		if err = failed; err != nil {
			return false
		}
		from := 0
		if len(state) == len(stateBegin) && len(text.data) > 0 { // the first has no comma
			from = 1
		}
		state = append(state, text.data[from:]...)
		return true
	})
	if err = cmp.Or(wrong, err); err != nil {
		return nil, err
	}
	return append(state, ending...), nil
}

// readState returns the state of a row.
func (s *Store) readState(ctx context.Context, in engine.In, row *engine.Row) ([]byte, error) {
	log, i, err := row.In()
	if err != nil {
		return nil, err
	}
	one := log.Own.(*Session)
	return s.stateWith(ctx, in, one, i, one.Reads(i))
}

// TakeApart implements [store.Features].Apart. It leaves out the messages of the entries with which both states begin.
func (s *Store) TakeApart(ctx context.Context, a, b model.Ref) (two store.Apart, err error) {
	if a.Session != b.Session {
		two.A, two.B, err = store.States(ctx, s, a, b)
		return two, err
	}
	one, i, err := s.findEntry(ctx, a)
	k := 0
	if err == nil {
		one, k, err = s.findEntry(ctx, b)
	}
	if err == nil {
		two, err = s.leaveCommon(ctx, one, i, k)
	}
	return two, s.Wrap(err, "compare states %q and %q of session %q", a.ID, b.ID, a.Session)
}

func (s *Store) leaveCommon(ctx context.Context, of *Session, i, k int) (two store.Apart, err error) {
	in, x, y := s.storage.In(), of.Reads(i), of.Reads(k)
	n := 0
	for n < len(x) && n < len(y) && x[n] == y[n] {
		n++
	}
	two.Key = "messages"
	wrong := useAll(ctx, x[:n], func(i int, used *joined) (*joined, error) { return s.makeText(in, of, i, used) }, func(_ int, text *joined, failed error) bool {
		if err = failed; err == nil {
			two.Common += text.messages
		}
		return err == nil
	})
	if err = cmp.Or(wrong, err); err == nil {
		two.A, err = s.stateWith(ctx, in, of, i, x[n:])
	}
	if err == nil {
		two.B, err = s.stateWith(ctx, in, of, k, y[n:])
	}
	return two, err
}

// encodeJSON returns the known settings of a session.
func (m *Meta) encodeJSON() string {
	if m == nil {
		return "{}"
	}
	text := []byte{'{'}
	for _, member := range [][2]string{{"model", m.Model}, {"cwd", m.Dir}, {"gitBranch", m.Branch}, {"gitCommit", m.Commit}, {"version", m.Version}, {"mode", m.Mode}} {
		if member[1] == "" {
			continue
		}
		if len(text) > 1 {
			text = append(text, ',')
		}
		text = append(jsontape.AppendQuoted(text, member[0]), ':')
		text = jsontape.AppendQuoted(text, member[1])
	}
	return string(append(text, '}'))
}

// Weave is that of store.Features.
func (s *Store) Weave(ctx context.Context, refs []model.Ref, to store.Loom) error {
	if len(refs) == 0 {
		return nil
	}
	one, err := s.findSession(ctx, refs[0].Session)
	if err == nil {
		err = s.weaveStates(ctx, one, refs, to, s.makeText)
	}
	return s.Wrap(err, "read the states of session %q", refs[0].Session)
}

// weaveStates hands states of a session to a loom. text returns the text that an entry adds.
func (s *Store) weaveStates(ctx context.Context, one *Session, refs []model.Ref, to store.Loom, text func(in engine.In, of *Session, i int, used *joined) (*joined, error)) error {
	in := s.storage.In()
	defer in.Hold(path.Dir(one.Spot.File))()
	w := &woven{of: one, to: to, runs: make([]store.Run, len(one.Entries)), done: make([]bool, len(one.Entries)), failed: map[int]error{}, last: -1}
	w.text = func(i int, used *joined) (*joined, error) { return text(in, one, i, used) }
	var entries []int
	for _, ref := range refs {
		if i := one.At(ref.ID); i >= 0 {
			entries = append(entries, i)
		}
	}
	if err := w.putEntries(ctx, entries); err != nil {
		return err
	}
	begin := to.Put(store.Text{Raw: []byte(stateBegin)})
	for number, ref := range refs {
		i := one.At(ref.ID)
		if i < 0 || ref.CheckNoVisit() != nil {
			to.Take(number, store.Rope{Err: s.Wrap(model.ErrNoSnapshot, "read state %q of session %q", ref.ID, ref.Session)})
			continue
		}
		err := w.goOn(ctx, i)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		rope := store.Rope{Err: s.Wrap(err, "read state %q of session %q", ref.ID, ref.Session)}
		if err == nil {
			rope.Runs = w.stateRuns(begin, to.Put(store.Text{Raw: []byte(one.Entries[i].stateEnd())}))
		}
		to.Take(number, rope)
	}
	return nil
}

// woven are the states of a session on a loom.
type woven struct {
	of   *Session
	to   store.Loom
	text func(i int, used *joined) (*joined, error)
	// runs has the run of each entry that is done, and failed the error of each entry whose text could not be made.
	runs   []store.Run
	done   []bool
	failed map[int]error
	// last is the entry of the state before, or -1, and path the runs of its messages.
	last int
	path []store.Run
}

// putEntries hands the texts of entries to the loom, and makes several at once. It makes no text that the loom has.
func (w *woven) putEntries(ctx context.Context, entries []int) error {
	var missing []int
	var size int64
	for _, i := range entries {
		if w.done[i] {
			continue
		}
		w.done[i] = true
		if w.runs[i] = w.putText(i, nil); w.runs[i].Len == 0 {
			missing, size = append(missing, i), size+w.of.Entries[i].estimateSize()
		}
	}
	if w.to.Expect != nil {
		w.to.Expect(size)
	}
	return useAll(ctx, missing, w.text, func(i int, text *joined, err error) bool {
		if err != nil {
			w.failed[i] = err
		} else {
			w.runs[i] = w.putText(i, text.data)
		}
		return ctx.Err() == nil
	})
}

// putText has the loom take in a text under the key of its entry; nil only looks whether the loom has it.
func (w *woven) putText(i int, text []byte) store.Run {
	return w.to.Put(store.Text{Raw: []byte(w.of.entryKey(i)), Make: func([]byte) []byte { return text }, Listed: true})
}

// goOn sets the path to that of an entry: where the entry follows the last one, that is one run more.
func (w *woven) goOn(ctx context.Context, i int) error {
	entries := []int{i}
	if s := w.of; w.last < 0 || s.tangled || s.parents[i] != w.last || s.Entries[i].Context != nil {
		entries, w.path = s.Reads(i), nil
	}
	w.last = -1 // until all is there
	if err := w.putEntries(ctx, entries); err != nil {
		return err
	}
	for _, k := range entries {
		run, n := w.runs[k], len(w.path)-1
		switch {
		case w.failed[k] != nil:
			return w.failed[k]
		case n >= 0 && w.path[n].At+w.path[n].Len == run.At:
			w.path[n].Len += run.Len
		case run.Len > 0:
			w.path = append(w.path, run)
		}
	}
	w.last = i
	return nil
}

// stateRuns returns the runs of the state at the end of the path.
func (w *woven) stateRuns(begin, end store.Run) []store.Run {
	runs := append(append(append(make([]store.Run, 0, len(w.path)+2), begin), w.path...), end)
	if len(w.path) > 0 { // the first has no comma
		runs[1].At, runs[1].Len = runs[1].At+1, runs[1].Len-1
	}
	return runs
}
