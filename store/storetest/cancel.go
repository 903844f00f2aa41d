package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store"
)

// What every method of a store does when its context ends.
var cancels = []check{
	{"TestContext_endsEverything", cancelled},
	{"TestContext_endsMidwayAndLeavesNothingHalfDone", cancelledMidway},
}

// calls are all methods that write, or are asked for by the seed, on a session "s" of two
// snapshots and a plan to restore the first. The others are in questions.
func calls(b *bench, plan model.Plan) map[string]func(ctx context.Context) error {
	a := b.agent("s")
	a.resume()
	next := a.snapshot(`"next"`, 0)
	ref := plan.Ref(plan.Target)
	_, at, err := b.Load(b.Context(), "s")
	b.ok(err)
	return map[string]func(ctx context.Context) error{
		"Get": func(ctx context.Context) error { _, err := b.Get(ctx, "s"); return err },
		"Save": func(ctx context.Context) error {
			return b.Save(ctx, "s", &model.Data[json.RawMessage]{State: json.RawMessage("1"), LastSnapshot: next})
		},
		"Load": func(ctx context.Context) error { _, _, err := b.Load(ctx, "s"); return err },
		"Commit": func(ctx context.Context) error {
			_, err := b.Commit(ctx, &model.Data[json.RawMessage]{ID: "s", State: next.State, LastSnapshot: next}, at)
			return err
		},
		"GetSnapshot":   func(ctx context.Context) error { _, err := b.GetSnapshot(ctx, ref.ID); return err },
		"GetSnapshotIn": func(ctx context.Context) error { _, err := b.GetSnapshotIn(ctx, "s", ref.ID); return err },
		"SaveSnapshot":  func(ctx context.Context) error { return b.SaveSnapshot(ctx, next) },
		"ListSnapshots": func(ctx context.Context) error { _, err := b.ListSnapshots(ctx, "s", true); return err },
		"Invalidate":    func(ctx context.Context) error { return b.InvalidateSnapshotsAfter(ctx, "s", 0) },
		"Apply":         func(ctx context.Context) error { _, err := b.Apply(ctx, plan); return err },
		"Import": func(ctx context.Context) error {
			_, err := b.Import(ctx, seq(
				store.Row{Header: model.Header{ID: "x", SessionID: "y"}, State: []byte("1")},
				store.Row{Header: model.Header{ID: "x", SessionID: "s"}, State: []byte("1")}))
			return err
		},
	}
}

// started makes what calls is about.
func started(b *bench) model.Plan {
	ids := b.agent("s").turns(`"a"`, `"b"`)
	b.restore(model.Ref{Session: "s", ID: ids[0]})
	b.undo()
	plan, err := b.Plan(b.Context(), model.Change{Op: model.OpRestore, Ref: model.Ref{Session: "s", ID: ids[0]}})
	b.ok(err)
	return plan
}

func cancelled(b *bench) {
	plan := started(b)
	before := b.dump()
	ctx, cancel := contextWithCancel(b.T)
	cancel()
	for name, call := range calls(b, plan) {
		if err := call(ctx); !errors.Is(err, context.Canceled) {
			b.Errorf("%s: %v", name, err)
		}
	}
	b.same(b.dump(), before)
}

func contextWithCancel(t *testing.T) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return ctx, cancel
}

// cancelledMidway ends the context of each call at every point at which the
// call asks for it, until one call gets to its end.
func cancelledMidway(b *bench) {
	if testing.Short() {
		b.Skip("every call is made some hundred times")
	}
	for name := range calls(b, started(b)) {
		b.Store = b.open(b.T, b.clock.Now).Store
		call := calls(b, started(b))[name]
		before := b.dump()
		for point := 1; ; point++ {
			began := time.Now()
			err := call(newFuse(b.Context(), point))
			if took := time.Since(began); took > patience/4 {
				b.Errorf("%s took %v with a context that ends at point %d", name, took, point)
			}
			if errors.Is(err, context.Canceled) {
				b.same(b.dump(), before)
				continue
			}
			if nothing := (*model.NothingToError)(nil); err != nil && !errors.As(err, &nothing) {
				b.Errorf("%s, with a context that ends at point %d: %v", name, point, err)
			}
			break
		}
	}
}

// fuse is a context that ends when it has been asked for the nth time.
type fuse struct {
	context.Context
	mu   sync.Mutex
	left int
	done chan struct{}
}

func newFuse(ctx context.Context, n int) *fuse {
	return &fuse{Context: ctx, left: n, done: make(chan struct{})}
}

func (f *fuse) burn() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left > 0 {
		if f.left--; f.left == 0 {
			close(f.done)
		}
	}
	return f.left == 0
}

// Done implements context.Context.
func (f *fuse) Done() <-chan struct{} {
	f.burn()
	return f.done
}

// Err implements context.Context.
func (f *fuse) Err() error {
	if f.burn() {
		return context.Canceled
	}
	return nil
}
