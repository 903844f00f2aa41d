//go:build !unix

package storetest

import (
	"testing"

	"hindcast/store/storetest/skip"
)

// Pipe skips the test: the system has no named pipes.
func Pipe(t testing.TB, path string) {
	t.Helper()
	skip.Missing(t, "the system has no pipe at %s", path)
}
