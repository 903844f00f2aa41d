package journal

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// few is how many files are looked at one after the other: then it is not worth
// the trouble, and what fails is always the same one.
const few = 64

// parallel calls do for 0 to n-1, several at once if they are many. Each caller has
// a buffer of its own, which do may use and leave larger.
func parallel(n int, do func(i int, buf *[]byte)) {
	workers := 1
	if n > few {
		workers = min(runtime.GOMAXPROCS(0), 8)
	}
	var next atomic.Int64
	work := func() {
		var buf []byte
		for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
			do(int(i), &buf)
			if cap(buf) > 1<<20 {
				buf = nil
			}
		}
	}
	if workers == 1 {
		work()
		return
	}
	var wg sync.WaitGroup
	for range workers {
		wg.Go(work)
	}
	wg.Wait()
}
