// Package quiet keeps Bubble Tea v1 from asking the terminal for its
// background colour while packages initialise. On a terminal that does not
// answer, that question delays the first paint by five seconds, and it is even
// written for --help. And it keeps the text field of Bubbles from looking for the
// programs of a clipboard in each folder of PATH, which takes long where one is a
// share: the clipboard is left to the terminal.
//
// Lip Gloss asks nothing when the environment has CI set, so this package sets
// it, and hides PATH, for as long as packages initialise. Go initialises packages that are
// ready in the order of their import paths, and this one is ready as soon as
// "os" is: before "os/signal", on which Bubble Tea waits. A test runs the
// program on a terminal that never answers and holds this.
//
// The package may import nothing but "os".
package quiet

import "os"

const (
	asked  = "CI"
	folder = "PATH"
)

// began is the environment as it was.
var began = func() (before struct {
	asked  bool
	folder string
}) {
	before.folder = os.Getenv(folder)
	before.asked = os.Getenv(asked) == "" && os.Setenv(asked, "hindcast") == nil
	if before.folder != "" {
		os.Setenv(folder, "")
	}
	return before
}()

// Restore puts the environment back as it was. main calls it first, before it
// starts anything that reads the environment.
func Restore() {
	if began.asked {
		os.Unsetenv(asked)
	}
	if began.folder != "" {
		os.Setenv(folder, began.folder)
	}
}
