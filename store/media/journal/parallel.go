package journal

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// few is how many files are looked at one after the other: then it is not worth
// the trouble, and what fails is always the same one.
const few = 64

// runParallel calls do for 0 to n-1, several at once if they are many, until one fails:
// the error is that of the first that does. Each caller has a buffer of its own,
// which do may use and leave larger.
func runParallel(n int, do func(i int, buf *[]byte) error) error {
	workers := 1
	if n > few {
		workers = min(runtime.GOMAXPROCS(0), 8)
	}
	return atOnce(workers, n, do)
}

// runParallel calls as the function does, as many at once as the disk is worth.
func (j *Journal) runParallel(n int, do func(i int, buf *[]byte) error) error {
	if j.turner != nil {
		return atOnce(j.turner.Width(), n, do)
	}
	return runParallel(n, do)
}

// atOnce calls do as runParallel does.
func atOnce(workers, n int, do func(i int, buf *[]byte) error) error {
	var next atomic.Int64
	var failed atomic.Bool
	var mu sync.Mutex
	var first error
	at := n
	work := func() {
		var buf []byte
		for !failed.Load() {
			i := int(next.Add(1) - 1)
			if i >= n {
				return
			}
			if err := do(i, &buf); err != nil {
				mu.Lock()
				if i < at {
					at, first = i, err
				}
				mu.Unlock()
				failed.Store(true)
			}
			if cap(buf) > 1<<20 {
				buf = nil
			}
		}
	}
	var wg sync.WaitGroup
	for range min(workers, n) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
	return first
}
