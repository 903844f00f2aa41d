//go:build !unix

package storetest

import "testing"

// Pipe skips the test: the system has no named pipes.
func Pipe(t testing.TB, path string) {
	t.Helper()
	t.Skipf("the system has no pipe at %s", path)
}
