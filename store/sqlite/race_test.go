//go:build race

package sqlite_test

import "testing"

// alone skips a test in which one goroutine computes for long. The race detector
// has nothing to find there, and makes it ten times as slow; it runs without.
func alone(t *testing.T) {
	t.Helper()
	t.Skip("one goroutine, for long: it runs without the race detector")
}
