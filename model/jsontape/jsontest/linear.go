package jsontest

import (
	"testing"
	"time"
)

// Linear fails the test if work takes time that grows faster than its size: with a size of
// large, it may take five times as long as a linear one would, by what it takes with a
// sixteenth of that. prepare returns the work on a size; it is not counted.
func Linear(t *testing.T, large int, prepare func(n int) (work func())) {
	t.Helper()
	const factor = 16
	best := func(runs, n int) time.Duration {
		work, best := prepare(n), time.Hour
		for range runs {
			start := time.Now()
			work()
			best = min(best, time.Since(start))
		}
		return best
	}
	// A machine that does other things as well may be slow for a while; what is not
	// linear is too slow every time.
	for try := 1; ; try++ {
		a, b := best(3, large/factor), best(1, large)
		if b <= 5*factor*a {
			return
		}
		if try == 5 {
			t.Errorf("%v for a size of %d, %v for one of %d", a, large/factor, b, large)
			return
		}
	}
}
