//go:build !linux

package storetest

import (
	"os"
	"testing"

	"hindcast/store/storetest/skip"
)

// Unprivileged reports whether permissions hold for this process. They do not hold for
// root, and the test is skipped.
func Unprivileged(t *testing.T) bool {
	t.Helper()
	if os.Getuid() == 0 {
		skip.Missing(t, "permissions do not hold for root")
	}
	return true
}
