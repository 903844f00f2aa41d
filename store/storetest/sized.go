package storetest

import (
	"flag"
	"math"
	"os"
	"testing"

	"pgregory.net/rapid"

	"hindcast/store/storetest/skip"
)

// Sized returns how often a test does what shows no more when it is done more often: the
// usual number, or where HINDCAST_FULL is set the one of the figures.
func Sized(usual, full int) int {
	if os.Getenv("HINDCAST_FULL") != "" {
		return full
	}
	return usual
}

// Few returns a property that is checked so many times, where HINDCAST_FULL is not set and
// nobody says how many with -rapid.checks. Once it failed it is checked each time, because
// rapid then looks for a smaller case.
func Few(checks int, property func(*rapid.T)) func(*rapid.T) {
	flag.Visit(func(f *flag.Flag) {
		if f.Name == "rapid.checks" {
			checks = math.MaxInt
		}
	})
	checks = Sized(checks, math.MaxInt)
	return func(t *rapid.T) {
		if checks--; checks < 0 {
			return
		}
		passed := false
		defer func() {
			if !passed {
				checks = math.MaxInt
			}
		}()
		property(t)
		passed = true
	}
}

// Overwritten checks, so many times as Few, a property that returns how often an agent wrote
// over a snapshot that Hindcast had. With HINDCAST_FULL it fails the test where that never
// happened: a run of rapid may well be without, twenty of them are not.
func Overwritten(t *testing.T, checks int, property func(*rapid.T) int) {
	t.Helper()
	skip.Sequential(t)
	had := 0
	for runs := Sized(1, 20); runs > 0 && had == 0 && !t.Failed(); runs-- {
		rapid.Check(t, Few(checks, func(rt *rapid.T) { had += property(rt) }))
	}
	if had == 0 && Sized(0, 1) > 0 {
		t.Error("no agent wrote over a snapshot that Hindcast had")
	}
}
