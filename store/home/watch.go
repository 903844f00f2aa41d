package home

import (
	"context"
	"iter"
	"sync"
	"time"
)

// Batches yields what Sessions does, in parts: the sessions that were read since the part before. Parts become
// rarer as a list grows long, so that a reader can afford to arrange all of it after each.
func (h *Home) Batches(ctx context.Context) iter.Seq2[[]Session, error] {
	return h.readBatches(ctx, (*Store).readSessions)
}

// Relist yields the sessions of all stores in parts, as Batches does. Of stores that Watch has told no change of
// since they were read, it yields what was read then.
func (h *Home) Relist(ctx context.Context) iter.Seq2[[]Session, error] {
	return h.readBatches(ctx, (*Store).recallSessions)
}

// The first part comes after firstPause, each later one after twice the time of the one before, and no later than
// after longestPause.
const firstPause, longestPause = 10 * time.Millisecond, 320 * time.Millisecond

func (h *Home) readBatches(ctx context.Context, list lister) iter.Seq2[[]Session, error] {
	return func(yield func([]Session, error) bool) {
		ctx, stop := context.WithCancel(ctx)
		results := h.readStores(ctx, list)
		defer func() {
			stop()
			for range results { // the readers end
			}
		}()
		for pause, more := firstPause, true; more; pause = min(2*pause, longestPause) {
			var part []Session
			var err error
			part, more, err = collectPart(results, time.After(pause))
			if len(part) > 0 && !yield(part, nil) || err != nil && !yield(nil, err) {
				return
			}
		}
	}
}

// collectPart returns the sessions that come until it is due, or else the next one, and whether there may be more. It
// ends with an error.
func collectPart(results <-chan result, due <-chan time.Time) (part []Session, more bool, err error) {
	for {
		select {
		case r, open := <-results:
			if r.panicked != nil {
				panic(r.panicked)
			}
			if !open || r.err != nil {
				return part, open, r.err
			}
			if part = append(part, r.Session); due == nil {
				return part, true, nil
			}
		case <-due:
			if len(part) > 0 {
				return part, true, nil
			}
			due = nil
		}
	}
}

// Watch sends a value soon after a store that is open may have changed. Stores that cannot be watched are not.
// The channel is closed when ctx ends.
func (h *Home) Watch(ctx context.Context) (<-chan struct{}, error) {
	out := make(chan struct{}, 1)
	var watching sync.WaitGroup
	for _, s := range h.Stores() {
		opened := s.Opened()
		if opened == nil || opened.Features().Watch == nil {
			continue
		}
		watching.Go(func() {
			changes, err := opened.Features().Watch(ctx)
			if err != nil {
				return
			}
			for range changes {
				s.markChanged()
				select {
				case out <- struct{}{}:
				default:
				}
			}
		})
	}
	go func() {
		watching.Wait()
		<-ctx.Done()
		close(out)
	}()
	return out, nil
}
