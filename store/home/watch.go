package home

import (
	"context"
	"iter"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"hindcast/store/media/watch"
	"hindcast/store/survey"
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
				panic(*r.panicked)
			}
			if !open || r.err != nil {
				return part, open, r.err
			}
			if part = append(part, *r.session); due == nil {
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

// Watch sends a value soon after a store that is open may have changed, and after one may have appeared: [Home.Relist]
// then lists it. Stores that cannot be watched are not. The channel is closed when ctx ends.
func (h *Home) Watch(ctx context.Context) (<-chan struct{}, error) {
	out := make(chan struct{}, 1)
	tell := func() {
		select {
		case out <- struct{}{}:
		default: // the value that is there stands for this one too
		}
	}
	var watching sync.WaitGroup
	watched := map[*Store]bool{}
	watchStores := func(news func()) {
		for _, s := range h.Stores() {
			opened := s.Opened()
			if opened == nil || watched[s] || opened.Features().Watch == nil {
				continue
			}
			watched[s] = true
			watching.Go(func() {
				changes, err := opened.Features().Watch(ctx)
				if err != nil {
					return
				}
				news()
				for range changes {
					s.markChanged()
					tell()
				}
			})
		}
	}
	watchStores(func() {}) // its reader has read them just now, and reads them again
	look, near, mayLead := h.foldersNear()
	beside, stop := context.WithCancel(ctx)
	appeared := watch.Entries(beside, near, mayLead)
	go func() {
		defer close(out)
		defer watching.Wait()
		defer h.noteRenewal() // another Watch may have begun
		defer func() { stop() }()
		for {
			select {
			case <-ctx.Done():
				return
			case _, open := <-appeared:
				if !open {
					appeared = nil
					continue
				}
				h.lookAgain()
				tell()
			case <-h.renewed:
				watchStores(tell)
				ended, around, mayLead := h.foldersNear()
				if ended == look || slices.Equal(around, near) {
					continue // near stays those that are watched
				}
				look, near = ended, around
				stopped := stop
				beside, stop = context.WithCancel(ctx)
				appeared = watch.Entries(beside, near, mayLead)
				stopped()
				h.lookAgain() // a store may have appeared in a folder that was not watched yet
				tell()
			}
		}
	}()
	return out, nil
}

// mostWatched bounds the folders in which new stores are noticed.
const mostWatched = 1024

// foldersNear returns the number of the last look for stores, the folders in which one may appear, and a function that
// reports whether a path that appears there may lead to one.
func (h *Home) foldersNear() (look int, near []string, mayLead func(path string) bool) {
	h.mu.Lock()
	look, near = h.looked, slices.Clone(h.passed)
	h.mu.Unlock()
	if h.kinds == nil {
		return look, nil, nil
	}
	around, isOnWay := h.kinds.FoldersAround(h.places.Around)
	near = append(near, around...)
	added := h.places.Added.File
	if added != "" {
		near = append(near, filepath.Dir(added))
	}
	near = slices.DeleteFunc(near, h.isInStore)
	slices.Sort(near)
	near = slices.Compact(near)
	return look, near[:min(len(near), mostWatched)], func(path string) bool {
		return path == added || !h.isInStore(path) && (isOnWay(path) || h.isBelow(path) && survey.MayBeStore(h.kinds, path))
	}
}

// isInStore reports whether a path is that of a store that was found, or below it.
func (h *Home) isInStore(path string) bool {
	whole := survey.ResolvePath(path)
	return slices.ContainsFunc(h.Stores(), func(s *Store) bool { return isWithin(whole, s.path) })
}

// isBelow reports whether a path is in one of the folders that the last look passed.
func (h *Home) isBelow(path string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Contains(h.passed, filepath.Dir(path))
}
