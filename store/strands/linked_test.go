//go:build unix

package strands

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hindcast/model"
)

// laid copies sessions of a real store into a folder.
func laid(t *testing.T, dir string, sessions ...string) {
	t.Helper()
	for _, name := range sessions {
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join("..", "..", "testdata", "strands", "python-file", name))); err != nil {
			t.Fatal(err)
		}
	}
}

// A store whose only session lost its session.json is one, so that it can be mended.
func TestRecognise_aSessionThatLostItsFile(t *testing.T) {
	dir := t.TempDir()
	laid(t, dir, "session_basic")
	if err := os.Remove(filepath.Join(dir, "session_basic", "session.json")); err != nil {
		t.Fatal(err)
	}
	if why, ok, err := recognise(t.Context(), dir); !ok || err != nil || !strings.Contains(why, "without a session.json") {
		t.Errorf("recognised %v: %q, %v", ok, why, err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "session_basic", "agents")); err != nil {
		t.Fatal(err)
	}
	if why, ok, _ := recognise(t.Context(), dir); ok {
		t.Errorf("a folder without agents is recognised: %q", why)
	}
}

// A link to a session outside the store is what it is said to be, with the command
// that opens the session.
func TestFaults_aLinkOutOfTheStore(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	laid(t, outside, "session_basic")
	target := filepath.Join(outside, "session_basic")
	for name, to := range map[string]string{"session_basic": target, "session_none": filepath.Join(outside, "none")} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if why, ok, err := recognise(t.Context(), dir); ok || err != nil || !strings.Contains(why, "hindcast strands:"+outside) {
		t.Errorf("recognised %v: %q, %v", ok, why, err)
	}
	laid(t, dir, "session_sliding")
	faults, err := open(t, dir).Faults(t.Context(), "")
	if err != nil || len(faults) != 2 {
		t.Fatalf("%v, %v", faults, err)
	}
	for i, want := range []string{"a link to the session " + target + " outside the store", "a link that leads to no session"} {
		if !strings.HasPrefix(faults[i].Meaning, want) || (faults[i].Severity == model.Note) != (i == 0) {
			t.Errorf("%+v", faults[i])
		}
	}
}
