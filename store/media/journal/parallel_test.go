package journal

import (
	"fmt"
	"slices"
	"sync"
	"testing"
)

// What fails ends the calls; the error is that of the first one of those that failed.
func TestAtOnce(t *testing.T) {
	for _, workers := range []int{1, 3} {
		for _, n := range []int{0, 1, 2, 200} {
			for fails := range n + 1 { // from there on each call fails
				var mu sync.Mutex
				var called []int
				err := atOnce(workers, n, func(i int, buf *[]byte) error {
					mu.Lock()
					defer mu.Unlock()
					called = append(called, i)
					if i >= fails {
						return fmt.Errorf("%d", i)
					}
					*buf = append((*buf)[:0], byte(i))
					return nil
				})
				slices.Sort(called)
				if len(slices.Compact(slices.Clone(called))) != len(called) {
					t.Fatalf("%d of %d: a call was made twice", fails, n)
				}
				switch {
				case fails == n && (err != nil || len(called) != n):
					t.Errorf("%d workers, %d calls: %d were made: %v", workers, n, len(called), err)
				case fails < n && (err == nil || err.Error() != fmt.Sprint(fails)):
					t.Errorf("%d workers, call %d of %d fails: %v", workers, fails, n, err)
				case fails < n && workers == 1 && len(called) != fails+1:
					t.Errorf("call %d of %d fails: %d were made", fails, n, len(called))
				}
			}
		}
	}
}
