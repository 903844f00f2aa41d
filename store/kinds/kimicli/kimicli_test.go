package kimicli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/tree"
	"hindcast/store/storetest"
	"hindcast/store/storetest/formattest"
)

// fixture is recorded by testdata/interop/kimi-cli/record.py.
const fixture = "../../../testdata/coding/kimi-cli"

func TestRead(t *testing.T) { storetest.Read(t, Kind(nil).Kind, fixture) }

func TestFork(t *testing.T) { storetest.Fork(t, Kind(nil).Kind, fixture) }

// The sessions of the fixture as they were said: what a clear left, and what a compaction keeps.
func TestRead_fixture(t *testing.T) {
	s := storetest.OpenStore(t, Kind(nil).Kind, fixture)
	mark := map[bool]string{true: "◌ "}
	for id, want := range map[string][]string{
		"0b6c7f9e-5d0a-4b69-9f0c-0f2ed0f7b901": {
			"first question", "reply to: first question", "what next", "reply to: what next", "<system>Previous context has been compacted. Here is the compaction output:</system>",
			"another question", "reply to: another question",
		},
		"0b6c7f9e-5d0a-4b69-9f0c-0f2ed0f7b903": {"◌ one way", "◌ reply to: one way", "another way", "reply to: another way"},
	} {
		var got []string
		headers := storetest.Headers(t, s, id)
		for _, h := range headers {
			got = append(got, mark[h.Orphaned]+h.Title)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q", id, got)
		}
		if head := headers[len(headers)-1]; !head.Head || len(storetest.Messages(t, s, head.Ref())) != map[bool]int{true: 5, false: 2}[strings.HasSuffix(id, "1")] {
			t.Errorf("%s: the head is %+v with %v", id, head, storetest.Messages(t, s, head.Ref()))
		}
	}
	const tools = "0b6c7f9e-5d0a-4b69-9f0c-0f2ed0f7b902"
	for _, info := range storetest.Sessions(t, s) {
		if info.Project != "/home/demo/shop" || info.Title == "" || strings.Contains(info.ID, "/") != (info.Parent != "") {
			t.Errorf("%+v", info)
		}
		if info.Parent != "" && info.Parent != tools {
			t.Errorf("%s was started by %s", info.ID, info.Parent)
		}
	}
}

// readTexts returns the session of files by their names.
func readTexts(t testing.TB, dir string, texts map[string]string) (*chat.Session, engine.In) {
	t.Helper()
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	disk, err := tree.OpenDisk(dir)
	if err != nil {
		t.Fatal(err)
	}
	f, in := agent.Format(dir).(*format), engine.In{Tree: disk}
	s, err := f.Read(t.Context(), in, f.Spot(contextFile))
	if err != nil {
		t.Fatal(err)
	}
	return s, in
}

const (
	begun   = `{"role":"_system_prompt","content":"The current working directory is ` + "`/home/demo`" + `."}` + "\n" + `{"role":"_checkpoint","id":0}` + "\n"
	one     = `{"role":"user","content":"one"}` + "\n"
	two     = `{"role":"assistant","content":"two"}` + "\n"
	three   = `{"role":"user","content":"three"}` + "\n"
	four    = `{"role":"assistant","content":"four"}` + "\n"
	summary = `{"role":"user","content":[{"type":"text","text":"<system>Previous context has been compacted. Here it is:</system>"},{"type":"text","text":"all"}]}` + "\n"
)

// Lists that begin alike share what they begin with: what a revert left is a branch, also behind a compaction, which
// keeps the last messages.
func TestRead_lists(t *testing.T) {
	for name, c := range map[string]struct {
		lists []string
		tree  string
		reads []int
	}{
		"a revert":                   {[]string{begun + one + two + three + four, begun + one + two + four}, "-1 0 1 2 1", []int{0, 1, 4}},
		"a compaction":               {[]string{begun + one + two + three + four, begun + summary + three + four + one}, "-1 0 1 2 3 4", []int{4, 2, 3, 5}},
		"a summary of no words":      {[]string{begun + one + two, begun + `{"role":"user","content":"<system>Previous context has been compacted. Here it is:</system>"}` + "\n" + three}, "-1 0 1 2", []int{2, 3}},
		"a compaction of all":        {[]string{begun + one + two, begun + summary + three}, "-1 0 1 2", []int{2, 3}},
		"a revert to a compaction":   {[]string{begun + one + two, begun + summary + two + three, begun + summary + two + four}, "-1 0 1 2 2", []int{2, 1, 4}},
		"a clear, and nothing since": {[]string{begun + one + two, ""}, "-1 0", nil},
		"a list that came again":     {[]string{begun + one + two, begun + three, begun + one + two}, "-1 0 -1", []int{0, 1}},
	} {
		texts := map[string]string{contextFile: c.lists[len(c.lists)-1]}
		for i, list := range c.lists[:len(c.lists)-1] {
			texts["context_"+strconv.Itoa(i+1)+".jsonl"] = list
		}
		s, _ := readTexts(t, t.TempDir(), texts)
		var parents []string
		for i := range s.Entries {
			parents = append(parents, strconv.Itoa(s.Before(i)))
		}
		if got := strings.Join(parents, " "); got != c.tree {
			t.Errorf("%s: the parents are %s", name, got)
		}
		var reads []int
		if s.Head >= 0 {
			reads = s.Reads(s.Head)
		}
		if !slices.Equal(reads, c.reads) {
			t.Errorf("%s: the head reads %v", name, reads)
		}
	}
}

// A sub-agent and a file that lies anywhere are not forked.
func TestFork_refuses(t *testing.T) {
	s := storetest.AsWriter(storetest.OpenStore(t, Kind(nil).Kind, storetest.Copy(t, fixture)))
	for _, info := range storetest.Sessions(t, s) {
		headers := storetest.Headers(t, s, info.ID)
		_, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: headers[len(headers)-1].Ref()})
		if (err != nil) != (info.Parent != "") {
			t.Errorf("%s: %v", info.ID, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	names, err := filepath.Glob(filepath.Join(fixture, "*", "*", "context.jsonl"))
	if err != nil || len(names) != 3 {
		f.Fatal(names, err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text), begun+one+two)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text, before string) {
		s, in := readTexts(t, dir, map[string]string{contextFile: text, "context_1.jsonl": before})
		form := agent.Format(dir).(*format)
		formattest.CheckMessages(t, form, in, s)
	})
}

// Before 0.59 a session was a file in the folder of its project, without a line for the system prompt. A wire.jsonl, which has
// what was on the screen, is no session of Kimi Code.
func TestRead_flat(t *testing.T) {
	home := t.TempDir()
	const folder, id = "73d3cf4d1cf337adf57d6732b8be2205", "0f6c7b7e-0000-4000-8000-000000000001"
	const checkpoint = `{"role":"_checkpoint","id":0}` + "\n"
	for name, text := range map[string]string{id: checkpoint + one + four, id + "_1": checkpoint + one + two + three} {
		file := filepath.Join(home, "sessions", folder, name+".jsonl")
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for _, at := range []string{"sessions", "sessions/" + folder} {
		s := storetest.OpenStore(t, Kind(nil).Kind, filepath.Join(home, at))
		if list := storetest.Sessions(t, s); len(list) != 1 || list[0].ID != id || list[0].Title != "one" {
			t.Fatalf("%s has %+v", at, list)
		}
		var said []string
		for _, h := range storetest.Headers(t, s, id) {
			said = append(said, fmt.Sprint(h.Title, " ", h.Orphaned))
		}
		if got := strings.Join(said, ", "); got != "one false, two true, three true, four false" {
			t.Errorf("%s: %s", at, got)
		}
	}
}

// A session whose messages are gone is read as kimi-cli showed it, and a fault says that more is gone.
func TestRead_wire(t *testing.T) {
	dir := storetest.Copy(t, fixture)
	const tools = "0b6c7f9e-5d0a-4b69-9f0c-0f2ed0f7b902"
	lost, err := filepath.Glob(filepath.Join(dir, "*", "*", "context*.jsonl"))
	if err != nil || len(lost) == 0 {
		t.Fatal(lost, err)
	}
	for _, path := range lost {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	s := storetest.OpenStore(t, Kind(nil).Kind, dir)
	var got []string
	for _, h := range storetest.Headers(t, s, "0b6c7f9e-5d0a-4b69-9f0c-0f2ed0f7b901") {
		got = append(got, h.Title)
	}
	want := []string{"first question", "reply to: first question", "what next", "reply to: what next", "/compact", "The context has been compacted.", "another question", "reply to: another question"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	calls, failed := 0, 0
	for _, h := range storetest.Headers(t, s, tools) {
		calls += strings.Count(h.Title, "$ echo one; false")
		if h.Marks&model.MarkError != 0 {
			failed++
		}
	}
	if calls == 0 || failed == 0 {
		t.Errorf("%d titles with the call, %d failures", calls, failed)
	}
	if faults := storetest.Faults(t, s, tools); len(faults) != 1 || faults[0].Code != chat.FaultShown {
		t.Errorf("%v", faults)
	}
}
