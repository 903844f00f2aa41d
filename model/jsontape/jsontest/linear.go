package jsontest

import (
	"testing"
	"time"
)

// Linear fails the test if work takes time that grows faster than its size: with a size of
// large, it may take five times as long as it takes sixteen times with a sixteenth of that.
// prepare returns the work on a size, which may be done again.
func Linear(t *testing.T, large int, prepare func(n int) (work func())) {
	t.Helper()
	const factor = 16
	took := func(runs, n int) time.Duration {
		work, start := prepare(n), time.Now()
		for range runs {
			work()
		}
		return time.Since(start)
	}
	// A machine that does other things as well may be slow for a while; what is not
	// linear is too slow every time.
	for try := 1; ; try++ {
		a, b := took(factor, large/factor), took(1, large) // about as long, so that both are slowed down
		if b <= 5*a {
			return
		}
		if try == 5 {
			t.Errorf("%v for %d times a size of %d, %v for one of %d", a, factor, large/factor, b, large)
			return
		}
	}
}
