//go:build !linux

package storetest

import (
	"os"
	"testing"
)

// Unprivileged reports whether permissions hold for this process. They do not hold for
// root, and the test is skipped.
func Unprivileged(t *testing.T) bool {
	t.Helper()
	if os.Getuid() == 0 {
		t.Skip("root may do everything")
	}
	return true
}
