package storetest

import (
	"flag"
	"math"
	"os"

	"pgregory.net/rapid"
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
