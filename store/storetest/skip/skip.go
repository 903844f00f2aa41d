// Package skip leaves tests out, and says why.
package skip

import (
	"os"
	"testing"
)

// All is the variable of the environment that makes Missing fail. CI sets it, after it has
// installed all that the tests run.
const All = "HINDCAST_ALL"

// Missing skips a test of something that this machine lacks, such as a program or a kind of
// file. The test fails where All is set.
func Missing(tb testing.TB, format string, args ...any) {
	tb.Helper()
	if os.Getenv(All) != "" {
		tb.Fatalf(format+"; "+All+" asks for every test", args...)
	}
	tb.Skipf(format, args...)
}

// Sequential marks a test whose steps follow one another in one goroutine. The race detector
// finds nothing there and makes it ten times as slow, so the test is skipped beside it.
func Sequential(tb testing.TB) {
	tb.Helper()
	skipRace(tb, "its steps follow one another")
}

// Process marks a test that runs Hindcast as a process of its own, which is built without the race
// detector, whatever the test was built with. The test is skipped beside the detector.
func Process(tb testing.TB) {
	tb.Helper()
	skipRace(tb, "another process does the work")
}

// Counting marks a test that counts memory. The race detector drops what pools hold, so the test is skipped beside it.
func Counting(tb testing.TB) {
	tb.Helper()
	skipRace(tb, "it counts memory")
}

func skipRace(tb testing.TB, why string) {
	tb.Helper()
	if raceEnabled {
		tb.Skip(why + ": it runs without the race detector")
	}
}
