package store

import (
	"context"
	"sync"
)

// Notifier tells its listeners that something happened: a kind that knows of its
// own changes makes its [Features].Watch of it. The zero value is ready, and safe for
// concurrent use.
type Notifier struct {
	mu        sync.Mutex
	listeners map[chan struct{}]struct{}
	closed    bool
}

// Listen returns a channel with room for one value, so that several notices before the
// next receive are one. It is closed when ctx ends, and by Close.
func (n *Notifier) Listen(ctx context.Context) <-chan struct{} {
	c := make(chan struct{}, 1)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed || ctx.Err() != nil {
		close(c)
		return c
	}
	if n.listeners == nil {
		n.listeners = map[chan struct{}]struct{}{}
	}
	n.listeners[c] = struct{}{}
	context.AfterFunc(ctx, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.dismissLocked(c)
	})
	return c
}

// Notify sends a value to every listener, except a listener that has not taken its last value. It never waits.
func (n *Notifier) Notify() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for c := range n.listeners {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// Close closes the channels of all present and future listeners.
func (n *Notifier) Close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	for c := range n.listeners {
		n.dismissLocked(c)
	}
}

// dismissLocked closes the channel of a listener once.
func (n *Notifier) dismissLocked(c chan struct{}) {
	if _, there := n.listeners[c]; there {
		delete(n.listeners, c)
		close(c)
	}
}
