package store

import (
	"context"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Panic is a panic of a goroutine, which goes on in the goroutine that waits for it: there the screen gives the terminal
// back.
type Panic struct {
	Value any
	// Stack is where it happened.
	Stack string
}

// Group is a group of goroutines that are waited for. The zero Group is empty. It must not be copied.
type Group struct {
	running sync.WaitGroup
	first   atomic.Pointer[Panic]
}

// Go calls work in a new goroutine.
func (g *Group) Go(work func()) {
	g.running.Go(func() {
		defer CatchPanic(func(p Panic) { g.first.CompareAndSwap(nil, &p) })
		work()
	})
}

// Wait waits for the goroutines. It panics with a [Panic] where one of them did.
func (g *Group) Wait() {
	g.running.Wait()
	if p := g.first.Load(); p != nil {
		panic(*p)
	}
}

// RunParallel calls do for each of n, from 0, as many at once as there are workers. It panics as [Group.Wait] does. The
// error is that of a context that has ended: then some were not called.
func RunParallel(ctx context.Context, workers, n int, do func(i int)) error {
	var next atomic.Int64
	var all Group
	for range min(n, workers) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	all.Wait()
	return ctx.Err()
}

// CatchPanic ends a panic and passes it on. It must be deferred itself.
func CatchPanic(take func(Panic)) {
	if value := recover(); value != nil {
		take(NewPanic(value))
	}
}

// NewPanic returns the panic whose value was just recovered. One that went on from another goroutine keeps its stack.
func NewPanic(value any) Panic {
	if p, is := value.(Panic); is {
		return p
	}
	return Panic{value, string(debug.Stack())}
}
