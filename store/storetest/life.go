package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/native/typed"
)

// Lives plays random lives of a store, each on all of the kinds that open
// opens, and compares everything that they hold after each step. Undo is held
// against the dumps that were taken before, and what each kind says to a
// program that follows it, or commits to it, against reading anew. How many
// lives is up to rapid's flags, see Few.
func Lives(t *testing.T, open ...Open) {
	rapid.Check(t, Few(40, func(r *rapid.T) {
		l := &life{test: t, clock: &Clock{}}
		for _, o := range open {
			s := o(t, l.clock.Now).Store
			l.kinds, l.watches = append(l.kinds, s), append(l.watches, newFollowing(s))
			defer s.Close()
		}
		r.Repeat(map[string]func(*rapid.T){
			"save":       l.save,
			"record":     l.record,
			"commit":     l.commit,
			"import":     l.importRows,
			"invalidate": l.invalidate,
			"restore":    l.restore,
			"fork":       l.fork,
			"undo":       func(r *rapid.T) { l.back(r, model.OpUndo) },
			"redo":       func(r *rapid.T) { l.back(r, model.OpRedo) },
			"":           l.compare,
		})
		for _, s := range l.kinds {
			faults, err := s.Faults(t.Context(), "")
			if err != nil || len(faults) != 0 {
				r.Fatalf("the %s store has faults %+v, %v", s.Kind(), faults, err)
			}
		}
	}))
}

// life is what happens to the stores.
type life struct {
	test    *testing.T
	clock   *Clock
	kinds   []Store
	watches []*following
	// dumps are the contents before each of Hindcast's writes that can be
	// undone, and the content now.
	dumps []string
	// undone are the contents that a redo brings back.
	undone []string
	now    string
}

// each does the same to all kinds; they have to agree on whether it works.
func (l *life) each(r *rapid.T, do func(s Store) error) bool {
	errs := make([]error, len(l.kinds))
	for i, s := range l.kinds {
		errs[i] = do(s)
	}
	for i, err := range errs {
		if (errs[0] == nil) != (err == nil) {
			r.Fatalf("%s: %v, %s: %v", l.kinds[0].Kind(), errs[0], l.kinds[i].Kind(), err)
		}
	}
	return errs[0] == nil
}

func (l *life) session(r *rapid.T) string {
	return rapid.SampledFrom([]string{"s", "t"}).Draw(r, "session")
}

// snapshot is the next snapshot of a session, mostly.
func (l *life) snapshot(r *rapid.T, session string) *model.Snapshot[json.RawMessage] {
	state := fmt.Append(nil, rapid.IntRange(0, 6).Draw(r, "state"))
	s := &model.Snapshot[json.RawMessage]{
		ID: model.SnapshotID(state), SessionID: session, State: state, CreatedAt: l.clock.Now(),
		TurnIndex: rapid.IntRange(0, 3).Draw(r, "turn"), Event: model.SnapshotEvent(rapid.IntRange(0, 3).Draw(r, "event")),
		Orphaned: rapid.IntRange(0, 9).Draw(r, "orphaned") == 0,
	}
	headers, _, err := l.kinds[0].Tail(l.test.Context(), session, 100)
	if err != nil {
		return s
	}
	for _, h := range headers {
		if h.Head {
			s.ParentID, s.Index = h.ID, h.Index+1
		}
	}
	return s
}

func (l *life) save(r *rapid.T) {
	s := l.snapshot(r, l.session(r))
	l.each(r, func(k Store) error { return k.SaveSnapshot(l.test.Context(), s) })
	l.wrote()
}

func (l *life) record(r *rapid.T) {
	data := l.data(r)
	l.each(r, func(k Store) error { return k.Save(l.test.Context(), data.ID, data) })
	l.wrote()
}

// data is a record, its last snapshot the next one or any that is there.
func (l *life) data(r *rapid.T) *model.Data[json.RawMessage] {
	session := l.session(r)
	data := &model.Data[json.RawMessage]{ID: session, State: fmt.Append(nil, rapid.IntRange(0, 6).Draw(r, "working")), TurnIndex: rapid.IntRange(0, 3).Draw(r, "turn")}
	switch rapid.IntRange(0, 3).Draw(r, "last") {
	case 0:
	case 1:
		if list, err := l.kinds[0].ListSnapshots(l.test.Context(), session, true); err == nil && len(list) > 0 {
			data.LastSnapshot = rapid.SampledFrom(list).Draw(r, "old")
		}
	default:
		data.LastSnapshot = l.snapshot(r, session)
	}
	if data.LastSnapshot != nil && rapid.Bool().Draw(r, "shared") {
		data.State = data.LastSnapshot.State
	}
	return data
}

// commit saves a record from where each store is, or from where it was.
func (l *life) commit(r *rapid.T) {
	data, late := l.data(r), rapid.IntRange(0, 3).Draw(r, "late") == 0
	var said []string
	l.each(r, func(k Store) error {
		_, at, err := k.Load(l.test.Context(), data.ID)
		if err != nil {
			return err
		}
		if late {
			at--
		}
		now, err := k.Commit(l.test.Context(), data, at)
		if err == nil && now == at {
			r.Fatalf("%s: a commit at revision %d leads there", k.Kind(), at)
		}
		conflict := (*model.ConflictError)(nil)
		if late != errors.As(err, &conflict) {
			r.Fatalf("%s: a commit that is late (%v) gives %v", k.Kind(), late, err)
		}
		if said = append(said, fmt.Sprintf("%+v", conflict)); said[0] != said[len(said)-1] {
			r.Fatalf("the kinds say\n%s\n%s", said[0], said[len(said)-1])
		}
		return err
	})
	l.wrote()
}

// importRows takes in a few visits from elsewhere, older ones as well, and
// perhaps a record.
func (l *life) importRows(r *rapid.T) {
	session := l.session(r)
	var last int64
	if headers, _, err := l.kinds[0].Tail(l.test.Context(), session, 1); err == nil && len(headers) > 0 {
		last = headers[0].Visit
	}
	var rows []store.Row
	for range rapid.IntRange(0, 3).Draw(r, "rows") {
		state := fmt.Append(nil, rapid.IntRange(0, 9).Draw(r, "state"))
		h := model.Header{
			ID: model.SnapshotID(state), SessionID: session, Index: rapid.IntRange(0, 5).Draw(r, "index"),
			CreatedAt: l.clock.Now().Add(time.Duration(rapid.IntRange(-100, 100).Draw(r, "seconds")) * time.Second),
			Visit:     int64(rapid.IntRange(0, 9).Draw(r, "visit")), ParentVisit: rapid.Int64Range(0, last).Draw(r, "parent"),
			Orphaned: rapid.Bool().Draw(r, "orphaned"), Head: rapid.IntRange(0, 3).Draw(r, "head") == 0,
		}
		if h.Orphaned && rapid.Bool().Draw(r, "reason") {
			h.Reason = &model.Reason{Kind: model.ReasonRestore, At: l.clock.Now(), TargetID: h.ID}
		}
		rows = append(rows, store.Row{Header: h, State: state})
	}
	if rapid.Bool().Draw(r, "record") {
		rows = append(rows, store.Row{Record: &model.Data[json.RawMessage]{ID: session, State: json.RawMessage(`"imported"`)}})
	}
	before, entries := l.now, l.entries(r)
	l.each(r, func(k Store) error { _, err := k.Import(l.test.Context(), seq(rows...)); return err })
	if l.entries(r) > entries {
		l.dumps, l.undone = append(l.dumps, before), nil
	} else if Dump(l.test, l.kinds[0]) != before {
		l.wrote() // an empty store begins with it
	}
}

// entries counts those of the journal, in which the kinds have to agree.
func (l *life) entries(r *rapid.T) int {
	var said []string
	n := 0
	l.each(r, func(k Store) error {
		entries, err := k.Journal(l.test.Context())
		if said, n = append(said, fmt.Sprintf("%+v", entries)), len(entries); said[0] != said[len(said)-1] {
			r.Fatalf("the journals are\n%s\n%s", said[0], said[len(said)-1])
		}
		return err
	})
	return n
}

func (l *life) invalidate(r *rapid.T) {
	session, after := l.session(r), rapid.IntRange(-1, 4).Draw(r, "after")
	l.each(r, func(k Store) error { return k.InvalidateSnapshotsAfter(l.test.Context(), session, after) })
	l.wrote()
}

// wrote notes a write that is not Hindcast's: nothing before it can be undone.
func (l *life) wrote() { l.dumps, l.undone = nil, nil }

// ref draws a snapshot of a session, perhaps one that is not there.
func (l *life) ref(r *rapid.T) model.Ref {
	session := rapid.SampledFrom([]string{"s", "t", "f"}).Draw(r, "session")
	headers, _, err := l.kinds[0].Tail(l.test.Context(), session, 100)
	if err != nil || len(headers) == 0 {
		return model.Ref{Session: session, ID: "none"}
	}
	return headers[rapid.IntRange(0, len(headers)-1).Draw(r, "snapshot")].Ref()
}

func (l *life) restore(r *rapid.T) {
	ref := l.ref(r)
	l.write(r, func(k Store) (model.Plan, error) {
		return k.Plan(l.test.Context(), model.Change{Op: model.OpRestore, Ref: ref})
	})
}

func (l *life) fork(r *rapid.T) {
	ref, as := l.ref(r), rapid.SampledFrom([]string{"f", "g", "s"}).Draw(r, "as")
	l.write(r, func(k Store) (model.Plan, error) {
		return k.Plan(l.test.Context(), model.Change{Op: model.OpFork, Ref: ref, As: as})
	})
}

func (l *life) write(r *rapid.T, plan func(k Store) (model.Plan, error)) {
	before := l.now
	if l.apply(r, plan) {
		l.dumps, l.undone = append(l.dumps, before), nil
	}
}

func (l *life) back(r *rapid.T, op model.Op) {
	before := l.now
	if !l.apply(r, func(k Store) (model.Plan, error) {
		if op == model.OpUndo {
			return k.Plan(l.test.Context(), model.Change{Op: model.OpUndo})
		}
		return k.Plan(l.test.Context(), model.Change{Op: model.OpRedo})
	}) {
		return
	}
	from, to := &l.dumps, &l.undone
	if op == model.OpRedo {
		from, to = to, from
	}
	// What was written long ago, before an agent's own writes to another
	// session, has no dump to compare with.
	if n := len(*from); n > 0 {
		want := (*from)[n-1]
		if got := Dump(l.test, l.kinds[0]); got != want {
			r.Fatalf("after %s the store holds\n%s\nwant\n%s", op, got, want)
		}
		*from = (*from)[:n-1]
	}
	if _, err := l.kinds[0].Plan(l.test.Context(), model.Change{Op: model.OpRedo}); op == model.OpUndo && errors.As(err, new(*model.NothingToError)) {
		l.undone = nil // an import, which is not done again
		return
	}
	*to = append(*to, before)
}

// apply plans and applies, and compares the plans and the receipts.
func (l *life) apply(r *rapid.T, plan func(k Store) (model.Plan, error)) bool {
	var said []string
	return l.each(r, func(k Store) error {
		p, err := plan(k)
		if err != nil {
			return err
		}
		receipt, err := k.Apply(l.test.Context(), p)
		if err != nil {
			return err
		}
		p.Carry = nil // each kind's own
		if said = append(said, fmt.Sprintf("%+v %+v", p, receipt)); said[0] != said[len(said)-1] {
			r.Fatalf("the kinds plan and do\n%s\n%s", said[0], said[len(said)-1])
		}
		return nil
	})
}

func (l *life) compare(r *rapid.T) {
	l.clock.Advance(time.Second)
	for i, s := range l.kinds {
		dump := Dump(l.test, s)
		if i > 0 && dump != l.now {
			r.Fatalf("%s holds\n%s\n%s holds\n%s", l.kinds[0].Kind(), l.now, s.Kind(), dump)
		}
		l.now = dump
	}
	lazy := rapid.IntRange(0, 3).Draw(r, "lazy") != 0
	for _, f := range l.watches {
		for _, session := range []string{"s", "t", "f", "g"} {
			f.revision(r, l.test, session)
			f.catchUp(r, l.test, session, "every step")
			if !lazy {
				f.catchUp(r, l.test, session, "now and then")
			}
		}
	}
}

// following is what programs know that follow a store, or commit to it.
type following struct {
	Store
	// read is what each has read of a session, by its pace.
	read map[[2]string]*reading
	// contents holds the sessions as they were at each revision, last the
	// revision that each had last.
	contents map[string]map[typed.Revision]string
	last     map[string]typed.Revision
}

// reading is a session as far as somebody has read it.
type reading struct {
	headers []model.Header
	cursor  store.Cursor
}

func newFollowing(s Store) *following {
	return &following{s, map[[2]string]*reading{}, map[string]map[typed.Revision]string{}, map[string]typed.Revision{}}
}

// catchUp reads what is new in a session and compares all of it with reading
// anew. A session that is gone is not forgotten.
func (f *following) catchUp(r *rapid.T, t *testing.T, session, pace string) {
	key := [2]string{session, pace}
	have := f.read[key]
	if have == nil {
		have = &reading{}
		f.read[key] = have
	}
	var anew []model.Header
	for h, err := range f.Headers(t.Context(), session) {
		if errors.Is(err, model.ErrNoSession) {
			if _, err := f.Growth(t.Context(), session, have.cursor); !errors.Is(err, model.ErrNoSession) {
				r.Fatalf("%s: growth of a session that is not there: %v", f.Kind(), err)
			}
			return
		}
		if err != nil {
			r.Fatal(err)
		}
		anew = append(anew, h)
	}
	if err := have.grow(t, f.Store, session); err != nil {
		r.Fatal(err)
	}
	if got, want := headerLines(have.headers), headerLines(anew); got != want {
		r.Fatalf("%s: who follows %q %s has\n%s\nwant\n%s", f.Kind(), session, pace, got, want)
	}
}

// grow brings a reading up to date. Visits that it has already, because they
// came between its cursor and its reading, are replaced.
func (have *reading) grow(t *testing.T, s Store, session string) error {
	growth, err := s.Growth(t.Context(), session, have.cursor)
	if err != nil {
		return err
	}
	if growth.Rewritten {
		if growth.Headers != nil {
			return fmt.Errorf("%s: a rewritten session gives %d headers", s.Kind(), len(growth.Headers))
		}
		have.headers = nil
		if have.cursor, err = s.Cursor(t.Context(), session); err != nil {
			return err
		}
		for h, err := range s.Headers(t.Context(), session) {
			if err != nil {
				return err
			}
			have.headers = append(have.headers, h)
		}
		return nil
	}
	have.cursor = growth.Cursor
	for _, h := range growth.Headers {
		if h.Head {
			for i := range have.headers {
				have.headers[i].Head = false
			}
		}
		if i := slices.IndexFunc(have.headers, func(old model.Header) bool { return old.Visit == h.Visit }); i >= 0 {
			have.headers[i] = h
		} else {
			have.headers = append(have.headers, h)
		}
	}
	return nil
}

// headerLines returns headers in words.
func headerLines(headers []model.Header) string {
	var out strings.Builder
	for _, h := range headers {
		reason := h.Reason
		h.Reason = nil
		fmt.Fprintf(&out, "%+v %+v\n", h, reason)
	}
	return out.String()
}

// revision holds a session against what it was at the same revision, to which
// it may not come back.
func (f *following) revision(r *rapid.T, t *testing.T, session string) {
	_, at, err := f.Load(t.Context(), session)
	if err != nil {
		r.Fatal(err)
	}
	there := false
	var content strings.Builder
	for row, err := range store.Rows(t.Context(), f.Store, session) {
		if errors.Is(err, model.ErrNoSession) {
			break
		}
		there = true
		content.WriteString(words(func(yield func(store.Row, error) bool) { yield(row, err) }))
	}
	contents := f.contents[session]
	if contents == nil {
		contents = map[typed.Revision]string{}
		f.contents[session] = contents
	}
	then, seen := contents[at]
	switch {
	case at == 0:
		if there {
			r.Fatalf("%s: session %q is there at revision 0", f.Kind(), session)
		}
	case seen && (then != content.String() || f.last[session] != at):
		r.Fatalf("%s: session %q was at revision %d before, %d since, and holds\n%s\nthen\n%s", f.Kind(), session, at, f.last[session], content.String(), then)
	}
	contents[at], f.last[session] = content.String(), at
}
