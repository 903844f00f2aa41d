//go:build !windows

package files_test

import (
	"syscall"
	"testing"
)

// pipe makes a named pipe, to which nobody writes.
func pipe(t *testing.T, path string) {
	t.Helper()
	must(t, syscall.Mkfifo(path, 0o644))
}
