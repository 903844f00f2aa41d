package chat

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"path"
	"slices"
	"sort"
	"strings"
	"sync"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/engine/folder"
)

// How states are made.
//
// A message stands in the states of all that follow it. So the text of each entry's messages
// is made once and gets numbers, and a state is a list of these, see store.Rope:
//
//	{"messages":[  ,m0  ,m1  ,m2  ],"meta":{…}}
//	               ^ without its comma
//
// Texts are let go of where there is much else, and made again from the records when their
// bytes are asked for: a file is only appended to, so that they are the same.

// texts are the texts that have numbers. The zero value is ready.
type texts struct {
	mu   sync.Mutex
	list []text // by At
	at   map[string]int
	next int64
	// held is how many bytes are held, and most how many may be; 0 for mostHeld.
	held, most int64
}

// text is what one entry adds to a state, or what stands around the messages.
type text struct {
	store.Run
	data *joined // nil where it was let go of
	// messages is how many it has.
	messages int
	// session, id and key tell how it is made again; key is "" of what stands around.
	session, id, key string
}

// mostHeld bounds the bytes of texts that are held.
const mostHeld = 256 << 20

// errChanged says that a file is not what it was when a text was first made.
var errChanged = errors.New("the file no longer has the record: it was replaced")

// key tells the content of an entry from any other.
func (s *Session) key(i int) string {
	e := &s.Entries[i]
	var at strings.Builder
	fmt.Fprintf(&at, "%s\x00%s\x00%s\x00%d\x00%s", s.Spot.Name(), e.File, e.ID, e.At.UnixNano(), e.Version)
	for _, r := range e.Records {
		fmt.Fprintf(&at, "\x00%d+%d", r.At, r.Len)
	}
	return at.String()
}

// number has the texts of entries made that have no numbers yet, several at once.
func (s *Store) number(ctx context.Context, in folder.In, of *Session, entries []int) error {
	t := &s.texts
	t.mu.Lock()
	if of.runs == nil {
		of.runs = make([]store.Run, len(of.Entries))
	}
	var missing []int
	for _, i := range entries {
		if of.runs[i] != (store.Run{}) {
			continue
		}
		if at, known := t.at[of.key(i)]; known {
			of.runs[i] = t.list[at].Run
		} else {
			missing = append(missing, i)
		}
	}
	t.mu.Unlock()
	var failed error
	for part := range slices.Chunk(missing, madeAtOnce) {
		made, wrong := make([]*joined, len(part)), make([]error, len(part))
		if err := Parallel(ctx, len(part), func(k int) { made[k], wrong[k] = s.messages(in, of, part[k]) }); err != nil {
			return err
		}
		for k, i := range part { // in their order: what follows each other is one run
			if wrong[k] != nil {
				failed = errors.Join(failed, wrong[k])
				continue
			}
			key := of.key(i)
			run := t.add(key, text{data: made[k], messages: made[k].messages, session: of.Spot.ID, id: of.Entries[i].ID, key: key})
			t.mu.Lock()
			of.runs[i] = run
			t.mu.Unlock()
		}
	}
	return failed
}

// madeAtOnce is how many texts are made before they get their numbers.
const madeAtOnce = 64

// messages makes what an entry adds.
func (s *Store) messages(in folder.In, of *Session, i int) (*joined, error) {
	list, err := s.format.Messages(in, of, &of.Entries[i])
	if err != nil {
		return nil, err
	}
	data := new(joined)
	for k := range list {
		data.text(",")
		list[k].writeJSON(data)
	}
	data.messages = len(list)
	return data, nil
}

// add numbers a text, unless it has numbers, and returns them.
func (t *texts) add(key string, one text) store.Run {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at, known := t.at[key]; known {
		return t.list[at].Run
	}
	if t.at == nil {
		t.at = map[string]int{}
	}
	one.Run = store.Run{At: t.next, Len: int64(one.data.size)}
	t.next += one.Len
	t.at[key] = len(t.list)
	t.list = append(t.list, one)
	t.holdLocked(one.Len)
	return one.Run
}

// holdLocked lets go of the oldest texts where there are too many.
func (t *texts) holdLocked(more int64) {
	most := cmp.Or(t.most, mostHeld)
	if t.held += more; t.held <= most {
		return
	}
	for i := range t.list {
		if one := &t.list[i]; one.key != "" && one.data != nil && t.held > most/2 {
			t.held -= one.Len
			one.data = nil
		}
	}
}

// literal returns the numbers of what stands around messages.
func (t *texts) literal(words string) store.Run {
	data := new(joined)
	data.text(words)
	return t.add("\x00"+words, text{data: data})
}

// roped are the runs of the messages of a state, and its last entry; -1 for none.
type roped struct {
	entry int
	runs  []store.Run
}

// adds returns the entries whose messages are the state at one, as far as they are not those of
// the entry before: where this one follows it, that is one more.
func (r *roped) adds(of *Session, i int) (entries []int, goesOn bool) {
	if r.entry < 0 || of.tangled || of.parents[i] != r.entry || of.Entries[i].Context != nil {
		return of.Reads(i), false
	}
	return []int{i}, true
}

// next returns the runs of the state at an entry. of are those of what each entry adds, begin
// and end those around.
func (r *roped) next(s *Session, i int, of []store.Run, begin, end store.Run) (runs []store.Run) {
	entries, goesOn := r.adds(s, i)
	if !goesOn {
		r.runs = nil
	}
	for _, k := range entries {
		run, last := of[k], len(r.runs)-1
		switch {
		case last >= 0 && r.runs[last].At+r.runs[last].Len == run.At:
			r.runs[last].Len += run.Len
		case run.Len > 0:
			r.runs = append(r.runs, run)
		}
	}
	r.entry = i
	runs = append(append(append(make([]store.Run, 0, len(r.runs)+2), begin), r.runs...), end)
	if len(r.runs) > 0 { // the first has no comma
		runs[1].At, runs[1].Len = runs[1].At+1, runs[1].Len-1
	}
	return runs
}

// rope returns the state at an entry. before is that of the entry that was asked for before.
func (s *Store) rope(ctx context.Context, in folder.In, of *Session, i int, before *roped) (runs []store.Run, err error) {
	entries, _ := before.adds(of, i)
	if err := s.number(ctx, in, of, entries); err != nil {
		return nil, err
	}
	begin, end := s.texts.literal(`{"messages":[`), s.texts.literal(`],"meta":`+of.Entries[i].Meta.json()+"}")
	s.texts.mu.Lock()
	defer s.texts.mu.Unlock()
	return before.next(of, i, of.runs, begin, end), nil
}

// Apart is what store.TakeApart returns: the messages of the entries that both states begin with
// are left out.
func (s *Store) Apart(ctx context.Context, a, b model.Ref) (two store.Apart, err error) {
	if a.Session != b.Session {
		two.A, two.B, err = store.States(ctx, s, a, b)
		return two, err
	}
	one, i, err := s.entry(ctx, a)
	k := 0
	if err == nil {
		one, k, err = s.entry(ctx, b)
	}
	if err == nil {
		two, err = s.apart(ctx, one, i, k)
	}
	return two, s.Wrap(err, "compare states %q and %q of session %q", a.ID, b.ID, a.Session)
}

func (s *Store) apart(ctx context.Context, of *Session, i, k int) (two store.Apart, err error) {
	x, y := of.Reads(i), of.Reads(k)
	if err := s.number(ctx, s.storage.In(), of, slices.Concat(x, y)); err != nil {
		return two, err
	}
	two.Key = "messages"
	s.texts.mu.Lock()
	for len(x) > 0 && len(y) > 0 && x[0] == y[0] {
		two.Common += s.texts.list[s.texts.at[of.key(x[0])]].messages
		x, y = x[1:], y[1:]
	}
	s.texts.mu.Unlock()
	if two.A, err = s.filled(ctx, s.around(of, i, x)); err == nil {
		two.B, err = s.filled(ctx, s.around(of, k, y))
	}
	return two, err
}

// around returns the state at an entry with the messages of some entries, which have numbers.
func (s *Store) around(of *Session, i int, entries []int) []store.Run {
	runs := []store.Run{s.texts.literal(`{"messages":[`)}
	for _, k := range entries {
		if run := of.runs[k]; run.Len > 0 {
			runs = append(runs, run)
		}
	}
	if len(runs) > 1 { // the first has no comma
		runs[1].At, runs[1].Len = runs[1].At+1, runs[1].Len-1
	}
	return append(runs, s.texts.literal(`],"meta":`+of.Entries[i].Meta.json()+"}"))
}

// json returns what a session ran with, without what is not known.
func (m *Meta) json() string {
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

// Fill is that of store.Features.
func (s *Store) Fill(ctx context.Context, runs []store.Run, dst []byte) error {
	in := s.storage.In()
	for _, run := range runs {
		for run.Len > 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			data, from, err := s.bytesAt(ctx, in, run.At)
			if err != nil {
				return s.Wrap(err, "read the bytes of states")
			}
			n := data.copyAt(dst[:min(run.Len, int64(len(dst)))], int(run.At-from))
			dst = dst[n:]
			run.At, run.Len = run.At+int64(n), run.Len-int64(n)
		}
	}
	return nil
}

// bytesAt returns the text that a number is in, and the number of its first byte.
func (s *Store) bytesAt(ctx context.Context, in folder.In, at int64) (*joined, int64, error) {
	t := &s.texts
	t.mu.Lock()
	i := sort.Search(len(t.list), func(i int) bool { return t.list[i].At+t.list[i].Len > at })
	if i == len(t.list) {
		t.mu.Unlock()
		return nil, 0, errChanged
	}
	one := t.list[i]
	t.mu.Unlock()
	if one.data != nil {
		return one.data, one.At, nil
	}
	data, err := s.remake(ctx, in, &one)
	if err != nil {
		return nil, 0, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.list[i].data == nil {
		t.list[i].data = data
		t.holdLocked(one.Len)
	}
	return data, one.At, nil
}

// remake makes a text that was let go of.
func (s *Store) remake(ctx context.Context, in folder.In, one *text) (*joined, error) {
	of, err := s.session(ctx, one.session)
	if err != nil {
		return nil, err
	}
	i := of.At(one.id)
	if i < 0 || of.key(i) != one.key {
		return nil, errChanged
	}
	data, err := s.messages(in, of, i)
	if err == nil && int64(data.size) != one.Len {
		err = errChanged
	}
	return data, err
}

// Ropes is that of store.Features.
func (s *Store) Ropes(ctx context.Context, refs []model.Ref) iter.Seq2[store.Rope, error] {
	return func(yield func(store.Rope, error) bool) {
		if len(refs) == 0 {
			return
		}
		one, err := s.session(ctx, refs[0].Session)
		if err != nil {
			yield(store.Rope{}, s.Wrap(err, "read the states of session %q", refs[0].Session))
			return
		}
		in, before := s.storage.In(), roped{entry: -1}
		defer in.Hold(path.Dir(one.Spot.File))()
		var entries []int
		for _, ref := range refs {
			if i := one.At(ref.ID); i >= 0 {
				entries = append(entries, i)
			}
		}
		_ = s.number(ctx, in, one, entries) // a state that has one that fails says so
		for _, ref := range refs {
			if err := ctx.Err(); err != nil {
				yield(store.Rope{}, err)
				return
			}
			var rope store.Rope
			if i := one.At(ref.ID); i < 0 || ref.CheckNoVisit() != nil {
				rope.Err = model.ErrNoSnapshot
			} else {
				rope.Runs, rope.Err = s.rope(ctx, in, one, i, &before)
			}
			if !yield(rope, nil) {
				return
			}
		}
	}
}

// state returns the state of a row.
func (s *Store) state(ctx context.Context, in folder.In, row *engine.Row) ([]byte, error) {
	log, i, err := row.In()
	if err != nil {
		return nil, err
	}
	one := log.Own.(*Session)
	if in.There { // the files of a planned session are in the plan alone, so that no text is made again later
		return s.planned(ctx, in, one, i)
	}
	runs, err := s.rope(ctx, in, one, i, &roped{entry: -1})
	if err != nil {
		return nil, err
	}
	return s.filled(ctx, runs)
}

// planned returns the state at an entry of a planned session. It keeps no text.
func (s *Store) planned(ctx context.Context, in folder.In, of *Session, i int) ([]byte, error) {
	state, before := []byte(`{"messages":[`), 1 // the first message has no comma
	for _, k := range of.Reads(i) {
		made, err := s.messages(in, of, k)
		if err = cmp.Or(ctx.Err(), err); err != nil {
			return nil, err
		}
		if made.size > 0 {
			text := bytes.Join(made.pieces, nil)
			state, before = append(state, text[before:]...), 0
		}
	}
	return append(state, `],"meta":`+of.Entries[i].Meta.json()+"}"...), nil
}

// filled returns the bytes of runs.
func (s *Store) filled(ctx context.Context, runs []store.Run) ([]byte, error) {
	size := int64(0)
	for _, run := range runs {
		size += run.Len
	}
	state := make([]byte, size)
	return state, s.Fill(ctx, runs, state)
}
