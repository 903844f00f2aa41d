// Package quiet keeps Bubble Tea v1 from asking the terminal for its
// background colour while packages initialise. On a terminal that does not
// answer, that question delays the first paint by five seconds, and it is even
// written for --help.
//
// Lip Gloss asks nothing when the environment has CI set, so this package sets
// it for as long as packages initialise. Go initialises packages that are
// ready in the order of their import paths, and this one is ready as soon as
// "os" is: before "os/signal", on which Bubble Tea waits. A test runs the
// program on a terminal that never answers and holds this.
//
// The package may import nothing but "os".
package quiet

import "os"

const variable = "CI"

var added = func() bool {
	if os.Getenv(variable) != "" {
		return false
	}
	return os.Setenv(variable, "hindcast") == nil
}()

// Restore puts the environment back as it was. main calls it first, before it
// starts anything that reads the environment.
func Restore() {
	if added {
		os.Unsetenv(variable)
	}
}
