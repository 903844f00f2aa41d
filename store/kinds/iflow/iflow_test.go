package iflow

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/store/engine"
	"hindcast/store/media/tree"
	"hindcast/store/storetest"
	"hindcast/store/storetest/formattest"
)

// fixture is written by hand in the form of iflow.go's sources.
const fixture = "../../../testdata/coding/iflow"

func TestRead(t *testing.T) { storetest.Read(t, Kind(nil).Kind, fixture) }

// The records are a chain in the order of their lines, whatever parents they name, and a result is the output within it.
func TestRead_fixture(t *testing.T) {
	s := storetest.OpenStore(t, Kind(nil).Kind, fixture)
	sessions := storetest.Sessions(t, s)
	if len(sessions) != 1 || sessions[0].Title != "set the variable in a.sh" || sessions[0].Project != "/home/demo/app" {
		t.Fatalf("%+v", sessions)
	}
	var got []string
	headers := storetest.Headers(t, s, sessions[0].ID)
	for _, h := range headers {
		got = append(got, h.Title)
		if h.Orphaned {
			t.Errorf("%s is off the path", h.Title)
		}
	}
	state, err := s.State(t.Context(), headers[len(headers)-1].Ref())
	if err != nil {
		t.Fatal(err)
	}
	for _, words := range []string{"A=1\\n", "changed 1 place", "sh: A: not found", "remember: answer briefly", "it is 3 now", "read a.sh"} {
		if !strings.Contains(string(state), words) {
			t.Errorf("%q is not in %s", words, state)
		}
	}
	if faults := storetest.Faults(t, s, sessions[0].ID); len(faults) > 0 {
		t.Errorf("%+v", faults)
	}
	if want := []string{"set the variable in a.sh", "I look first", "◱ a.sh", "◱ a.sh  A=1", "✎ a.sh · $ sh a.sh", "✎ a.sh  +1 −1", "$ sh a.sh  sh: A: not found", "remember: answer briefly", "done", "and now to 3", "it is 3 now"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// A record of another type is told, and its texts are told as unread.
func TestRead_unknownRecord(t *testing.T) {
	dir := t.TempDir()
	text := `{"uuid":"u1","parentUuid":null,"sessionId":"session-a","type":"user","message":{"role":"user","content":"hello"}}` + "\n" +
		`{"uuid":"u2","parentUuid":"u1","sessionId":"session-a","type":"later","content":"words of a later version"}` + "\n"
	if err := os.WriteFile(filepath.Join(dir, "session-a.jsonl"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := storetest.OpenStore(t, Kind(nil).Kind, dir)
	var meanings []string
	for _, f := range storetest.Faults(t, s, "session-a") {
		meanings = append(meanings, f.Meaning)
	}
	if all := strings.Join(meanings, "; "); !strings.Contains(all, `"later" (1)`) || !strings.Contains(all, "of a later version") {
		t.Error(all)
	}
}

// FuzzRead reads a file of any bytes: it neither panics nor makes a message that is no state.
func FuzzRead(f *testing.F) {
	if n := formattest.AddFiles(f, filepath.Join(fixture, "*", "*.jsonl")); n == 0 {
		f.Fatalf("%d files", n)
	}
	dir := f.TempDir()
	disk, err := tree.OpenDisk(dir)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(filepath.Join(dir, "session-a.jsonl"), text, 0o600); err != nil {
			t.Fatal(err)
		}
		form, in := agent.Format(dir).(*format), engine.In{Tree: disk}
		s, err := form.Read(t.Context(), in, form.Spot("session-a.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		formattest.CheckMessages(t, form, in, s)
	})
}
