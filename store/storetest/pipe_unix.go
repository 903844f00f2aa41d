//go:build unix

package storetest

import (
	"syscall"
	"testing"
)

// Pipe makes a named pipe.
func Pipe(t testing.TB, path string) {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
}
