package watch

import "sync"

// Any returns a value for each that one of the sources returns, or one for several
// in a row. It is closed when all of them are, and nothing is left running then.
func Any(sources ...<-chan struct{}) <-chan struct{} {
	out := make(chan struct{}, 1)
	var running sync.WaitGroup
	for _, source := range sources {
		running.Go(func() {
			for range source {
				select {
				case out <- struct{}{}:
				default: // the last value has not been taken, and stands for this one too
				}
			}
		})
	}
	go func() {
		running.Wait()
		close(out)
	}()
	return out
}
