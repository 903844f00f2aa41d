package store

import (
	"context"
	"sync"
)

// Lifetime is how long a store is open: what runs for the store ends with it. The zero
// value is that of an open store, and is safe for concurrent use.
type Lifetime struct {
	mu     sync.Mutex
	closed chan struct{}
	over   bool
}

func (l *Lifetime) endChannel() chan struct{} {
	if l.closed == nil {
		l.closed = make(chan struct{})
	}
	return l.closed
}

// End ends it, and reports whether it did: of a store that is closed twice the second time
// does nothing.
func (l *Lifetime) End() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return false
	}
	l.over = true
	close(l.endChannel())
	return true
}

// Over reports whether it ended.
func (l *Lifetime) Over() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.over
}

// Within returns a context that ends with another one, or with the lifetime.
func (l *Lifetime) Within(ctx context.Context) context.Context {
	l.mu.Lock()
	ended := l.endChannel()
	l.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	select {
	case <-ended:
		cancel()
		return ctx
	default:
	}
	go func() {
		defer cancel()
		select {
		case <-ended:
		case <-ctx.Done():
		}
	}()
	return ctx
}
