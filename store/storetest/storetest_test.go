package storetest_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hindcast/model"
	"hindcast/store/memory"
	"hindcast/store/sqlite"
	"hindcast/store/storetest"
)

// TestMain lets the random lives be fewer than rapid's hundred, for the sake of
// -race; go test -rapid.checks=1000 plays more of them.
func TestMain(m *testing.M) {
	checks := flag.Lookup("rapid.checks")
	if err := checks.Value.Set("40"); err != nil {
		panic(err)
	}
	m.Run()
}

func TestGrow_isASessionWithoutFaults(t *testing.T) {
	s := memory.New()
	n, err := s.Import(t.Context(), storetest.Grow("s", 2000, 200))
	if err != nil || n != 2000 {
		t.Fatal(n, err)
	}
	faults, err := s.Faults(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		// The turns of a made-up session are not worth making up.
		if f.Code != model.FaultTurnRepeated {
			t.Errorf("fault %+v", f)
		}
	}
	headers, _, err := s.Tail(t.Context(), "s", 2000)
	if err != nil {
		t.Fatal(err)
	}
	tree := model.NewTimeline(headers)
	left := map[model.Reason]bool{}
	for i := range headers {
		h := &headers[i]
		if h.Size < 190 || h.Size > 220 {
			t.Fatalf("a state of %d bytes", h.Size)
		}
		if h.Orphaned == tree.OnPath(model.Node(i)) {
			t.Fatalf("visit %d is orphaned %v, on the path %v", h.Visit, h.Orphaned, tree.OnPath(model.Node(i)))
		}
		if h.Orphaned {
			left[*h.Reason] = true
		}
	}
	if len(left) < 20 || len(left) > 60 {
		t.Errorf("%d restores in 2,000 snapshots", len(left))
	}
}

// TestKinds_agree plays the same random life of a store on memory and on
// sqlite, and compares everything that they hold after each step. Undo is held
// against the dumps that were taken before.
func TestKinds_agree(t *testing.T) {
	dir := t.TempDir()
	run := 0
	rapid.Check(t, func(r *rapid.T) {
		run++
		clock := &storetest.Clock{}
		disk, err := sqlite.Create(t.Context(), filepath.Join(dir, fmt.Sprintf("%d.db", run)), sqlite.WithClock(clock.Now))
		if err != nil {
			r.Fatal(err)
		}
		defer disk.Close()
		l := &life{T: r, test: t, clock: clock, kinds: []storetest.Store{memory.New(memory.WithClock(clock.Now)), disk}}
		r.Repeat(map[string]func(*rapid.T){
			"save":       l.save,
			"record":     l.record,
			"invalidate": l.invalidate,
			"restore":    l.restore,
			"fork":       l.fork,
			"undo":       func(r *rapid.T) { l.back(r, model.OpUndo) },
			"redo":       func(r *rapid.T) { l.back(r, model.OpRedo) },
			"":           l.compare,
		})
		faults, err := disk.Faults(t.Context(), "")
		if err != nil || len(faults) != 0 {
			r.Fatalf("the store has faults %+v, %v", faults, err)
		}
	})
}

// life is what happens to the stores.
type life struct {
	*rapid.T
	test  *testing.T
	clock *storetest.Clock
	kinds []storetest.Store
	// dumps are the contents before each of Hindcast's writes that can be
	// undone, and the content now.
	dumps []string
	// undone are the contents that a redo brings back.
	undone []string
	now    string
}

// each does the same to all kinds; they have to agree on whether it works.
func (l *life) each(r *rapid.T, do func(s storetest.Store) error) bool {
	errs := make([]error, len(l.kinds))
	for i, s := range l.kinds {
		errs[i] = do(s)
	}
	if (errs[0] == nil) != (errs[1] == nil) {
		r.Fatalf("%s: %v, %s: %v", l.kinds[0].Kind(), errs[0], l.kinds[1].Kind(), errs[1])
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
	l.each(r, func(k storetest.Store) error { return k.SaveSnapshot(l.test.Context(), s) })
	l.wrote()
}

func (l *life) record(r *rapid.T) {
	session := l.session(r)
	data := &model.Data[json.RawMessage]{State: fmt.Append(nil, rapid.IntRange(0, 6).Draw(r, "working")), TurnIndex: rapid.IntRange(0, 3).Draw(r, "turn")}
	if rapid.Bool().Draw(r, "last") {
		data.LastSnapshot = l.snapshot(r, session)
	}
	l.each(r, func(k storetest.Store) error { return k.Save(l.test.Context(), session, data) })
	l.wrote()
}

func (l *life) invalidate(r *rapid.T) {
	session, after := l.session(r), rapid.IntRange(-1, 4).Draw(r, "after")
	l.each(r, func(k storetest.Store) error { return k.InvalidateSnapshotsAfter(l.test.Context(), session, after) })
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
	l.write(r, func(k storetest.Store) (model.Plan, error) { return k.PlanRestore(l.test.Context(), ref) })
}

func (l *life) fork(r *rapid.T) {
	ref, as := l.ref(r), rapid.SampledFrom([]string{"f", "g", "s"}).Draw(r, "as")
	l.write(r, func(k storetest.Store) (model.Plan, error) { return k.PlanFork(l.test.Context(), ref, as) })
}

func (l *life) write(r *rapid.T, plan func(k storetest.Store) (model.Plan, error)) {
	before := l.now
	if l.apply(r, plan) {
		l.dumps, l.undone = append(l.dumps, before), nil
	}
}

func (l *life) back(r *rapid.T, op model.Op) {
	before := l.now
	if !l.apply(r, func(k storetest.Store) (model.Plan, error) {
		if op == model.OpUndo {
			return k.PlanUndo(l.test.Context())
		}
		return k.PlanRedo(l.test.Context())
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
		if got := storetest.Dump(l.test, l.kinds[0]); got != want {
			r.Fatalf("after %s the store holds\n%s\nwant\n%s", op, got, want)
		}
		*from = (*from)[:n-1]
	}
	*to = append(*to, before)
}

// apply plans and applies, and compares the plans and the receipts.
func (l *life) apply(r *rapid.T, plan func(k storetest.Store) (model.Plan, error)) bool {
	var said []string
	return l.each(r, func(k storetest.Store) error {
		p, err := plan(k)
		if err != nil {
			return err
		}
		receipt, err := k.Apply(l.test.Context(), p)
		if err != nil {
			return err
		}
		said = append(said, fmt.Sprintf("%+v %+v", p, receipt))
		if len(said) == 2 && said[0] != said[1] {
			r.Fatalf("the kinds plan and do\n%s\n%s", said[0], said[1])
		}
		return nil
	})
}

func (l *life) compare(r *rapid.T) {
	l.clock.Advance(time.Second)
	one, two := storetest.Dump(l.test, l.kinds[0]), storetest.Dump(l.test, l.kinds[1])
	if one != two {
		r.Fatalf("%s holds\n%s\n%s holds\n%s", l.kinds[0].Kind(), one, l.kinds[1].Kind(), two)
	}
	l.now = one
}
