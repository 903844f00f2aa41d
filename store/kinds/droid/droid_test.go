package droid

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/tree"
	"hindcast/store/storetest"
	"hindcast/store/storetest/formattest"
)

// fixture is recorded by testdata/interop/droid/record.py.
const fixture = "../../../testdata/coding/droid"

func TestRead(t *testing.T) { storetest.Read(t, Kind(nil).Kind, fixture) }

func TestFork(t *testing.T) { storetest.Fork(t, Kind(nil).Kind, fixture) }

// The session and its fork as they were said.
func TestRead_fixture(t *testing.T) {
	s := storetest.OpenStore(t, Kind(nil).Kind, fixture)
	const context = "The tools listed below are available in this environment, but their schemas may be omitted from the current tool list to…"
	first := []string{
		context, `go call: Execute {"command":"echo one; false","riskLevel":{"value":"low","reason":"it looks"}} call: Read {"file_path":"…`, "$ echo one; false · ◱ a.txt · ✎ a.txt",
		"$ echo one; false  Error: Command failed (exit code: 1) · ◱ a.txt  one · ✎ a.txt  +1 −1", "done: Execute, Read, Edit",
	}
	want := map[int][]string{5: first, 8: append(slices.Clone(first), context, "another question", "reply to: another question")}
	for _, info := range storetest.Sessions(t, s) {
		var got []string
		for _, h := range storetest.Headers(t, s, info.ID) {
			got = append(got, h.Title)
		}
		if !slices.Equal(got, want[len(got)]) || info.Project != "/home/demo/shop" {
			t.Errorf("%s of %s: %q", info.ID, info.Project, got)
		}
	}
}

// readText returns the session of a file.
func readText(t testing.TB, disk tree.Tree, dir, text string) (*chat.Session, engine.In) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "s.jsonl"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f, in := agent.Format(dir).(*format), engine.In{Tree: disk}
	s, err := f.Read(t.Context(), in, f.Spot("s.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return s, in
}

const header = `{"type":"session_start","id":"s","title":"t","owner":"unknown","version":2,"cwd":"/home/demo"}` + "\n"

// A compaction is read in place of the messages up to its anchor, and what the person alone sees is not sent.
func TestRead_compaction(t *testing.T) {
	dir := t.TempDir()
	disk, err := tree.OpenDisk(dir)
	if err != nil {
		t.Fatal(err)
	}
	s, _ := readText(t, disk, dir, header+`{"type":"message","id":"a","message":{"role":"user","content":"one"}}
{"type":"message","id":"b","message":{"role":"assistant","content":[{"type":"text","text":"two"}]}}
{"type":"message","id":"c","message":{"role":"user","content":"three"}}
{"type":"compaction_state","id":"k","summaryText":"all of it","summaryKind":"llm_summary","anchorMessage":{"id":"b","index":1},"removedCount":2}
{"type":"message","id":"d","message":{"role":"assistant","content":"four"}}
{"type":"message","id":"e","message":{"role":"user","content":"seen","visibility":"user_only"}}
{"type":"message","id":"f","message":{"role":"user","content":"five"}}
`)
	if got := s.Reads(s.Head); !slices.Equal(got, []int{3, 2, 4, 6}) {
		t.Errorf("the head reads %v", got)
	}
}

// The list of things to do is told where no call has it, and a record of a type that is not known by its type.
func TestFaults_passedOver(t *testing.T) {
	dir := t.TempDir()
	disk, err := tree.OpenDisk(dir)
	if err != nil {
		t.Fatal(err)
	}
	said := `{"type":"message","id":"a","message":{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"TodoWrite","input":{"todos":"1. [pending] paint"}}]}}` + "\n"
	for _, c := range []struct {
		line    string
		carried []string
		unknown int
	}{
		{`{"type":"todo_state","id":"b","todos":"2. [pending] sweep","messageIndex":1}`, []string{"2. [pending] sweep"}, 0},
		{`{"type":"todo_state","id":"b","todos":{"todos":"2. [pending] sweep"},"messageIndex":1}`, []string{"2. [pending] sweep"}, 0},
		{`{"type":"todo_state","id":"b","todos":[{"content":"sweep","status":"pending"}],"messageIndex":1}`, []string{"sweep"}, 0},
		{`{"type":"agent_turn_outcome","reason":"completed"}`, nil, 0},
		{`{"type":"news","note":"sweep"}`, nil, 1},
	} {
		s, in := readText(t, disk, dir, header+said+c.line+"\n")
		list, err := agent.Format(dir).(*format).ReadCarried(t.Context(), in, s)
		if err != nil || len(s.Faults) != c.unknown {
			t.Errorf("%s: %v, %v", c.line, s.Faults, err)
		}
		if got := list[len(list)-1].Texts; len(list)-1 != min(len(c.carried), 1) || len(c.carried) > 0 && !slices.Equal(got, c.carried) {
			t.Errorf("%s: %+v", c.line, list)
		}
	}
}

func FuzzRead(f *testing.F) {
	if n := formattest.AddFiles(f, filepath.Join(fixture, "*", "*.jsonl")); n != 2 {
		f.Fatalf("%d files", n)
	}
	dir := f.TempDir()
	disk, err := tree.OpenDisk(dir)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, in := readText(t, disk, dir, header+string(text))
		form := agent.Format(dir).(*format)
		formattest.CheckMessages(t, form, in, s)
	})
}
