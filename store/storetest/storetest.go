// Package storetest is the suite that every kind of store which records
// sessions passes: the seed's contracts, the rules of the design, restore,
// fork, undo and import. It also makes big sessions for benchmarks.
package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/native/typed"
	"hindcast/store/storetest/skip"
)

// Store is what a kind must be for the suite.
type Store interface {
	Writer
	Tail(ctx context.Context, session string, n int) ([]model.Header, int, error)
	Import(ctx context.Context, rows iter.Seq2[store.Row, error]) (int, error)
	Watch(ctx context.Context) (<-chan struct{}, error)
	Cursor(ctx context.Context, session string) (store.Cursor, error)
	Growth(ctx context.Context, session string, since store.Cursor) (store.Growth, error)
	typed.Scoped[json.RawMessage]
	typed.Committer
}

// Writer is a store with the features that write as methods.
type Writer interface {
	store.Store
	Lacks(op model.Op) string
	Plan(ctx context.Context, change model.Change) (model.Plan, error)
	Apply(ctx context.Context, plan model.Plan) (model.Receipt, error)
	Journal(ctx context.Context) ([]model.JournalEntry, error)
}

// AsWriter returns a store as a Writer. The store must have the features.
func AsWriter(s store.Store) Writer { return writer{s} }

type writer struct{ store.Store }

func (w writer) Lacks(op model.Op) string { return store.Reason(w.Store, op) }

func (w writer) Plan(ctx context.Context, c model.Change) (model.Plan, error) {
	return w.Features().Plan(ctx, c)
}

func (w writer) Apply(ctx context.Context, p model.Plan) (model.Receipt, error) {
	return w.Features().Apply(ctx, p)
}

func (w writer) Journal(ctx context.Context) ([]model.JournalEntry, error) {
	return w.Features().Journal(ctx)
}

// Opened is a store that has just been made, without a session in it.
type Opened struct {
	Store Store
	// Reopen closes the store and opens it again. Nil for a kind that does not
	// outlive its process.
	Reopen func(t *testing.T) Store
	// Again opens the store another time, as another program would. Nil for a
	// kind that only its own process can see.
	Again func(t *testing.T) Store
}

// Open makes an empty store that takes the time from now. It closes what it
// opened when the test ends; to close it before does no harm.
type Open func(t *testing.T, now func() time.Time) Opened

// Record is the suite of what every kind holds that records sessions.
func Record(t *testing.T, name string, open Open) {
	for _, group := range []struct {
		checks []check
		races  bool // some of them start goroutines
	}{{rules, false}, {contracts, true}, {writes, false}, {edits, false}, {imports, false}, {commits, true}, {live, true}, {cancels, false}} {
		for _, c := range group.checks {
			t.Run(name+"/"+c.name, func(t *testing.T) {
				if !group.races {
					skip.Sequential(t)
				}
				clock := &Clock{}
				o := open(t, clock.Now)
				c.run(&bench{T: t, Store: o.Store, reopen: o.Reopen, again: o.Again, open: open, clock: clock})
			})
		}
	}
}

// check is one test of the suite.
type check struct {
	name string
	run  func(b *bench)
}

// Clock is a time that moves only when it is told to. Its zero value stands at
// noon of an ordinary day.
type Clock struct {
	mu     sync.Mutex
	passed time.Duration
}

// Now returns the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC).Add(c.passed)
}

// Advance moves the time on.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.passed += d
}

// bench is a test with the store that it is about.
type bench struct {
	*testing.T
	Store
	reopen func(t *testing.T) Store
	again  func(t *testing.T) Store
	open   Open
	clock  *Clock
}

// ok fails the test for an error.
func (b *bench) ok(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// agent plays a program of the seed: it saves snapshots of a session as
// sections 6, 7 and 11 of the Genkit Go design tell.
type agent struct {
	*bench
	session string
	last    *model.Snapshot[json.RawMessage]
	turn    int
}

func (b *bench) agent(session string) *agent { return &agent{bench: b, session: session} }

// snapshot makes the next snapshot, which is not saved yet.
func (a *agent) snapshot(state string, event model.SnapshotEvent) *model.Snapshot[json.RawMessage] {
	s := &model.Snapshot[json.RawMessage]{
		ID: model.SnapshotID([]byte(state)), SessionID: a.session, CreatedAt: a.clock.Now(),
		State: json.RawMessage(state), TurnIndex: a.turn, Event: event,
	}
	if a.last != nil {
		s.ParentID, s.Index = a.last.ID, a.last.Index+1
	}
	return s
}

// step saves one snapshot and then the session, and returns the snapshot.
func (a *agent) step(state string, event model.SnapshotEvent) *model.Snapshot[json.RawMessage] {
	a.Helper()
	a.clock.Advance(time.Second)
	s := a.snapshot(state, event)
	a.ok(a.SaveSnapshot(a.Context(), s))
	a.last = s
	if event == model.SnapshotEventTurnEnd {
		a.turn++
	}
	a.ok(a.Save(a.Context(), a.session, &model.Data[json.RawMessage]{ID: a.session, State: s.State, LastSnapshot: s, TurnIndex: a.turn}))
	return s
}

// turns saves a snapshot at the end of a turn for each state.
func (a *agent) turns(states ...string) (ids []string) {
	a.Helper()
	for _, state := range states {
		ids = append(ids, a.step(state, model.SnapshotEventTurnEnd).ID)
	}
	return ids
}

// resume loads the session as the seed does, and goes on from there.
func (a *agent) resume() *model.Data[json.RawMessage] {
	a.Helper()
	data, err := a.Get(a.Context(), a.session)
	a.ok(err)
	if data == nil {
		a.Fatalf("session %q has no record", a.session)
	}
	a.last, a.turn = data.LastSnapshot, data.TurnIndex
	return data
}

// restoreTo does what section 7 of the design does for WithSnapshotID.
func (a *agent) restoreTo(id string) {
	a.Helper()
	s, err := a.GetSnapshotIn(a.Context(), a.session, id)
	a.ok(err)
	a.ok(a.InvalidateSnapshotsAfter(a.Context(), a.session, s.Index))
	a.last, a.turn = s, s.TurnIndex
	a.ok(a.Save(a.Context(), a.session, &model.Data[json.RawMessage]{ID: a.session, State: s.State, LastSnapshot: s, TurnIndex: a.turn}))
}

// restore plans and applies a restore by Hindcast.
func (b *bench) restore(ref model.Ref) (model.Plan, model.Receipt) {
	b.Helper()
	plan, err := b.Plan(b.Context(), model.Change{Op: model.OpRestore, Ref: ref})
	b.ok(err)
	return plan, b.apply(plan)
}

func (b *bench) apply(plan model.Plan) model.Receipt {
	b.Helper()
	receipt, err := b.Apply(b.Context(), plan)
	b.ok(err)
	return receipt
}

func (b *bench) fork(ref model.Ref, as string) model.Receipt {
	b.Helper()
	plan, err := b.Plan(b.Context(), model.Change{Op: model.OpFork, Ref: ref, As: as})
	b.ok(err)
	return b.apply(plan)
}

func (b *bench) undo() model.Receipt {
	b.Helper()
	plan, err := b.Plan(b.Context(), model.Change{Op: model.OpUndo})
	b.ok(err)
	return b.apply(plan)
}

func (b *bench) redo() model.Receipt {
	b.Helper()
	plan, err := b.Plan(b.Context(), model.Change{Op: model.OpRedo})
	b.ok(err)
	return b.apply(plan)
}

// headers returns all headers of a session.
func (b *bench) headers(session string) (all []model.Header) {
	b.Helper()
	for h, err := range b.Headers(b.Context(), session) {
		b.ok(err)
		all = append(all, h)
	}
	return all
}

// picture draws the visits of a session, one word each, in recorded order:
// the state's name, index, and "*" for the head, "-" for an orphaned visit.
func (b *bench) picture(session string) string {
	b.Helper()
	var words []string
	for _, h := range b.headers(session) {
		state, err := b.State(b.Context(), h.Ref())
		b.ok(err)
		word := fmt.Sprintf("%s%d", strings.Trim(string(state), `"`), h.Index)
		if h.Orphaned {
			word += "-"
		}
		if h.Head {
			word += "*"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// want compares a session with its picture.
func (b *bench) want(session, picture string) {
	b.Helper()
	if got := b.picture(session); got != picture {
		b.Errorf("session %q is\n\t%s\nwant\n\t%s", session, got, picture)
	}
}

// Dump returns everything that a store holds, but for its journal, in words.
func Dump(t *testing.T, s Store) string {
	t.Helper()
	var out strings.Builder
	var infos []model.SessionInfo
	for info, err := range s.Sessions(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		infos = append(infos, info)
	}
	for _, info := range infos {
		// Bytes that an undo leaves behind are no content.
		info.Kind, info.Size = "", 0
		fmt.Fprintf(&out, "session %+v\n", info)
		states := map[string][]byte{}
		for h, err := range s.Headers(t.Context(), info.ID) {
			if err != nil {
				t.Fatal(err)
			}
			if states[h.ID] == nil {
				if states[h.ID], err = s.State(t.Context(), h.Ref()); err != nil {
					t.Fatal(err)
				}
			}
			reason := h.Reason
			h.Reason = nil
			fmt.Fprintf(&out, "  %+v %+v %s\n", h, reason, states[h.ID])
		}
		data, err := s.Get(t.Context(), info.ID)
		if err != nil {
			t.Fatal(err)
		}
		if data == nil {
			continue
		}
		fmt.Fprintf(&out, "  record turn %d %s\n", data.TurnIndex, data.State)
		if last := data.LastSnapshot; last != nil {
			fmt.Fprintf(&out, "    last #%d %s %s\n", last.Index, last.ID, last.State)
		}
	}
	return out.String()
}

func (b *bench) dump() string { return Dump(b.T, b.Store) }

// same compares two dumps.
func (b *bench) same(got, want string) {
	b.Helper()
	if got == want {
		return
	}
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		if i >= len(g) || i >= len(w) || g[i] != w[i] {
			b.Fatalf("the store differs in line %d of\n%s\nwant\n%s", i+1, got, want)
		}
	}
}

// ids returns the ids of snapshots, in order.
func ids(list []*model.Snapshot[json.RawMessage]) (ids []string) {
	for _, s := range list {
		ids = append(ids, s.ID)
	}
	return ids
}

// id returns the id of a state.
func id(state string) string { return model.SnapshotID([]byte(state)) }

func (b *bench) wantIDs(got []*model.Snapshot[json.RawMessage], states ...string) {
	b.Helper()
	var want []string
	for _, state := range states {
		want = append(want, id(state))
	}
	if !slices.Equal(ids(got), want) {
		b.Errorf("got snapshots %q, want those of %q: %q", ids(got), states, want)
	}
}
