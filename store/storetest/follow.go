package storetest

import (
	"testing"
	"time"
)

// Next waits until a watch tells of a change. That it tells nothing, or tells no
// more, fails the test.
func Next(t testing.TB, changes <-chan struct{}) {
	t.Helper()
	select {
	case _, more := <-changes:
		if !more {
			t.Fatal("it ended")
		}
	case <-time.After(20 * time.Second):
		t.Fatal("nothing is told")
	}
}
