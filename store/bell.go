package store

import (
	"context"
	"sync"
)

// Bell tells its listeners that something happened: a kind that knows of its
// own changes makes its [Watcher] of it. The zero value is ready, and safe for
// concurrent use.
type Bell struct {
	mu        sync.Mutex
	listeners map[chan struct{}]struct{}
	closed    bool
}

// Listen returns a channel with room for one value, so that several rings before the
// next receive are one. It is closed when ctx ends, and by Close.
func (b *Bell) Listen(ctx context.Context) <-chan struct{} {
	c := make(chan struct{}, 1)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || ctx.Err() != nil {
		close(c)
		return c
	}
	if b.listeners == nil {
		b.listeners = map[chan struct{}]struct{}{}
	}
	b.listeners[c] = struct{}{}
	context.AfterFunc(ctx, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.dismissLocked(c)
	})
	return c
}

// Ring gives every listener a value, but for one that has not taken its last.
// It never waits.
func (b *Bell) Ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for c := range b.listeners {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// Close closes the channels of all listeners, and of those to come.
func (b *Bell) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for c := range b.listeners {
		b.dismissLocked(c)
	}
}

// dismissLocked closes the channel of a listener once.
func (b *Bell) dismissLocked(c chan struct{}) {
	if _, there := b.listeners[c]; there {
		delete(b.listeners, c)
		close(c)
	}
}
