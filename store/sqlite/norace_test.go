//go:build !race

package sqlite_test

import "testing"

// alone is for the race detector.
func alone(*testing.T) {}
