// Package recordtest helps to test programs that record, each step in a process of its own. The program is the test's own: TestMain runs
// it when the binary has arguments of its kind.
package recordtest

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store/native/sqlite"
)

// Rerun runs the binary of the tests with arguments, and returns its output without the white space around it. The test ends
// unless the program exits with a code.
func Rerun(t testing.TB, exit int, args ...string) string {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil && !errors.As(err, new(*exec.ExitError)) || cmd.ProcessState.ExitCode() != exit {
		t.Fatalf("%q: %v, not exit code %d\n%s", args, err, exit, stderr.Bytes())
	}
	return strings.TrimSpace(string(out))
}

// OpenStore opens the store in a file until the end of the test.
func OpenStore(t testing.TB, file string) *sqlite.Store {
	t.Helper()
	db, err := sqlite.OpenOrCreate(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// ListVisits returns the visits of a session, in the order in which they were recorded.
func ListVisits(t testing.TB, db *sqlite.Store, session string) (visits []model.Header) {
	t.Helper()
	for h, err := range db.Headers(t.Context(), session) {
		if err != nil {
			t.Fatal(err)
		}
		visits = append(visits, h)
	}
	return visits
}

// Restore puts a session back to a visit, as a person does on the screen.
func Restore(t testing.TB, db *sqlite.Store, to *model.Header) {
	t.Helper()
	plan, err := db.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: to.Ref()})
	if err == nil {
		_, err = db.Apply(t.Context(), plan)
	}
	if err != nil {
		t.Fatal(err)
	}
}
