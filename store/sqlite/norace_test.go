//go:build !race

package sqlite_test

import "testing"

// alone marks a test in which one goroutine computes for long: it runs beside others.
func alone(t *testing.T) {
	t.Helper()
	t.Parallel()
}
