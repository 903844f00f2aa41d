package trajectory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
	"hindcast/store/storetest"
	"hindcast/store/storetest/formattest"
)

const fixtures = "../../../testdata/trajectory"

func TestRead(t *testing.T) {
	kinds := Kinds(nil)
	storetest.Read(t, kinds[0].Kind, filepath.Join(fixtures, "atif"))
	storetest.Read(t, kinds[1].Kind, filepath.Join(fixtures, "agents"))
}

// readText returns the session of a document, in a file of that name.
func readText(t *testing.T, f *format, file, text string) (*chat.Session, engine.In) {
	t.Helper()
	below, err := tree.OpenDisk(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	in := engine.In{Tree: tree.Overlay(below, tree.Steps{{Name: file, Data: []byte(text)}}, nil), Memo: tree.NewMemo(&files.Memory{})}
	s, err := f.Read(t.Context(), in, f.Spot(file))
	if err != nil {
		t.Fatal(err)
	}
	return s, in
}

var all = &format{"all", isAgents, []*layout{&atif, &sweAgent, &miniAgent, &miniList}}

func TestRead_rules(t *testing.T) {
	const agent = `"agent":{"name":"a","version":"1"},`
	for name, c := range map[string]struct{ text, want string }{
		"results that name no call are of the calls in their order": {
			`{"schema_version":"ATIF-v1.7",` + agent + `"steps":[{"step_id":1,"source":"agent","message":"","tool_calls":[{"tool_call_id":"x","function_name":"f","arguments":{}},{"tool_call_id":"y","function_name":"g","arguments":{}}],
				"observation":{"results":[{"content":"one"},{"content":"two"},{"content":"three"}]}}]}`,
			`assistant: call f x, call g y | tool: result x "one", result y "two", text "three"`,
		},
		"a result that failed": {
			`{"schema_version":"ATIF-v1.5",` + agent + `"steps":[{"step_id":1,"source":"agent","message":"m","tool_calls":[{"tool_call_id":"x","function_name":"f","arguments":{}}],"observation":{"results":[{"source_call_id":"x","content":null,"extra":{"is_error":true}}]}}]}`,
			`assistant: text "m", call f x | tool: failed x ""`,
		},
		"parts that are no text, and a system's observation": {
			`{` + agent + `"steps":[{"step_id":1,"source":"system","message":[{"type":"text","text":"see"},{"type":"image","source":{"media_type":"image/png","path":"a.png"}}],"observation":{"results":[{"content":"ready"}]}}]}`,
			`system: text "see", json | tool: text "ready"`,
		},
		"answers of the responses API": {
			`{"info":{"mini_version":"2"},"messages":[{"object":"response","output":[{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}]},{"type":"message","content":[{"type":"output_text","text":"I look"}]},{"type":"function_call","call_id":"c","name":"bash","arguments":"{\"command\":\"ls\"}"}]},
				{"type":"function_call_output","call_id":"c","output":"<returncode>3</returncode>","extra":{"returncode":3}},{"role":"exit","content":"","extra":{}}]}`,
			`assistant: thought "hm", text "I look", call bash c | tool: failed c "\u003creturncode\u003e3\u003c/returncode\u003e" | tool:`,
		},
		"mini-swe-agent before it wrote its version": {
			`{"info":{"exit_status":"Submitted","submission":"","model_stats":{"instance_cost":0.1,"api_calls":1}},"messages":[{"role":"user","content":"go"}]}`,
			`user: text "go"`,
		},
		"mini-swe-agent before 1.0": {
			`[{"role":"system","content":"be"},{"role":"user","content":"go"},{"role":"assistant","content":"ls"}]`,
			`system: text "be" | user: text "go" | assistant: text "ls"`,
		},
		"SWE-agent's demonstration": {
			`{"history":[{"role":"system","content":"be","agent":"main","message_type":"system_prompt"},{"role":"user","content":"go","agent":"main"}]}`,
			`system: text "be" | user: text "go"`,
		},
		"arguments that are no JSON": {
			`{"info":{"mini_version":"2"},"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"c","function":{"name":"bash","arguments":"{\"comm"}}]}]}`,
			`assistant: call bash c`,
		},
	} {
		s, in := readText(t, all, "run.traj.json", c.text)
		var got []string
		for i := range s.Entries {
			list, err := all.Messages(in, s, &s.Entries[i])
			if err != nil || len(list) != 1 {
				t.Fatal(len(list), err)
			}
			got = append(got, describe(&list[0]))
		}
		if said := strings.Join(got, " | "); said != c.want || len(s.Faults) > 0 {
			t.Errorf("%s: %s, with %v", name, said, s.Faults)
		}
	}
}

// describe returns the role and the blocks of a message.
func describe(m *chat.Message) string {
	var list []string
	var is struct {
		Content []struct {
			Text      *string
			JSON      any
			Reasoning *struct{ Text string }
			ToolUse   *struct{ ToolUseID, Name string }
			Result    *struct {
				ToolUseID, Status string
				Content           []struct{ Text string }
			} `json:"toolResult"`
		}
	}
	if err := json.Unmarshal(m.AppendJSON(nil), &is); err != nil {
		return err.Error()
	}
	for _, b := range is.Content {
		switch {
		case b.Text != nil:
			list = append(list, "text "+quote(*b.Text))
		case b.Reasoning != nil:
			list = append(list, "thought "+quote(b.Reasoning.Text))
		case b.ToolUse != nil:
			list = append(list, "call "+b.ToolUse.Name+" "+b.ToolUse.ToolUseID)
		case b.Result != nil:
			list = append(list, map[string]string{"error": "failed ", "success": "result "}[b.Result.Status]+b.Result.ToolUseID+" "+quote(b.Result.Content[0].Text))
		default:
			list = append(list, "json")
		}
	}
	return strings.TrimSpace(m.Role.String() + ": " + strings.Join(list, ", "))
}

func quote(text string) string { return string(jsontape.AppendQuoted(nil, text)) }

// The runs of sub-agents are sessions, also in a run of another's; the sums of the whole are told at the head,
// and the other members of the document stand in the record of the first message.
func TestRead_crew(t *testing.T) {
	s, err := Kinds(nil)[0].Open(t.Context(), filepath.Join(fixtures, "atif"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	state, err := s.State(t.Context(), model.Ref{Session: "crew__1/third", ID: "1"})
	if err != nil || !strings.Contains(string(state), `{"notes":"a note on third"}`) {
		t.Errorf("%s: %v", state, err)
	}
	started, err := s.Features().SubAgents(t.Context(), "crew__1")
	if err != nil || len(started) != 2 {
		t.Errorf("%v: %v", started, err)
	}
	facts, err := s.Features().Facts(t.Context(), model.Ref{Session: "add__1", ID: "6"})
	if err != nil || !slices.ContainsFunc(facts, func(f model.Fact) bool { return f.Label == "dollars, of the session" }) {
		t.Errorf("%v: %v", facts, err)
	}
}

// A run is opened by its file, whatever that is called, and by Harbor's folders; a folder around a job is no store.
func TestOpen_places(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(fixtures, "atif", "crew__1", "agent", "trajectory.json"))
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	for _, name := range []string{"my run.json", "job/one/agent/trajectory.json", "job/two/trajectory.json", "deep/er/one/agent/trajectory.json"} {
		file := filepath.Join(home, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	kind := Kinds(nil)[0]
	for at, want := range map[string]string{
		"my run.json": "my run", "job": "one two", "job/one/agent": "one", "job/one/agent/trajectory.json": "one", "job/two": "two", "deep/er/one": "one", ".": "my run",
	} {
		s, err := kind.Open(t.Context(), filepath.Join(home, at))
		if err != nil {
			t.Errorf("%s: %v", at, err)
			continue
		}
		var ids []string
		for info, err := range s.Sessions(context.Background()) {
			if err != nil {
				t.Error(err)
			}
			if !strings.Contains(info.ID, "/") {
				ids = append(ids, info.ID)
			}
		}
		if got := strings.Join(ids, " "); got != want && got != "two one" {
			t.Errorf("%s has %q", at, got)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := os.Remove(filepath.Join(home, "my run.json")); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{".", "deep"} {
		if why, ok, err := kind.Recognise(t.Context(), filepath.Join(home, at)); ok || err != nil {
			t.Errorf("%s is taken for a store: %s, %v", at, why, err)
		}
	}
}

// What is no document is a fault of the file; of one that is torn the whole steps are read.
func TestRead_damaged(t *testing.T) {
	const first = `{"schema_version":"ATIF-v1.7","steps":[{"step_id":1,"source":"user","message":"go"}`
	for text, want := range map[string]int{"": 0, `[]`: 0, `{"schema_version":"ATIF-v1.7","steps":[{"step_id":1,"source":"user","mess`: 0, `{"steps":7}`: 0, first: 1, first + `,{"step_id":2,"sour`: 1} {
		s, in := readText(t, all, "run.json", text)
		if len(s.Entries) != want || len(s.Faults) != 1 || s.Faults[0].Code != FaultDocument {
			t.Errorf("%s: %d entries, %v", text, len(s.Entries), s.Faults)
		}
		if list, err := all.ReadCarried(t.Context(), in, s); err != nil || len(list) != want {
			t.Errorf("%s: %v, %v", text, list, err)
		}
	}
}

// A run that was emptied or overwritten is in the list by its name, and its fault is told.
func TestSpots_lost(t *testing.T) {
	kinds := Kinds(nil)
	for name, kind := range map[string]store.Kind{"job/%s/agent/trajectory.json": kinds[0].Kind, "job/%s/%[1]s.traj": kinds[1].Kind, "job/%s/%[1]s.traj.json": kinds[1].Kind} {
		whole := []byte(`{"schema_version":"ATIF-v1.7","steps":[{"step_id":1,"source":"user","message":"go"}]}`)
		if kind.Name != "atif" {
			whole = []byte(`{"info":{"mini_version":"2"},"messages":[{"role":"user","content":"go"}]}`)
		}
		home := t.TempDir()
		for run, data := range map[string][]byte{"whole": whole, "emptied": nil, "zeros": make([]byte, 100), "other": []byte(`{"another":"program's"}`)} {
			file := filepath.Join(home, filepath.FromSlash(fmt.Sprintf(name, run)))
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, data, 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		s, err := kind.Open(t.Context(), filepath.Join(home, "job"))
		if err != nil {
			t.Fatal(name, err)
		}
		var got []string
		for info, err := range s.Sessions(t.Context()) {
			if err != nil {
				t.Error(err)
			}
			got = append(got, info.ID)
			if faults := storetest.Faults(t, s, info.ID); len(faults) != map[string]int{"whole": 0}[info.ID]+map[bool]int{true: 1}[info.ID != "whole"] {
				t.Errorf("%s of %s: %v", name, info.ID, faults)
			}
		}
		if slices.Sort(got); !slices.Equal(got, []string{"emptied", "whole", "zeros"}) {
			t.Errorf("%s has %v", name, got)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// What Harbor keeps beside a run is in the list, and a sub-agent's run is tied to the step that names its file.
func TestSpots_beside(t *testing.T) {
	const (
		begin   = `{"schema_version":"ATIF-v1.6","session_id":"s","agent":{"name":"terminus-2","version":"2"},"steps":[{"step_id":1,"source":"user","message":"go"}`
		handoff = `,{"step_id":2,"source":"system","message":"Performed context summarization","observation":{"results":[{"subagent_trajectory_ref":[{"session_id":"s-1","trajectory_path":"trajectory.summarization-1-summary.json"}]}]}}`
	)
	home := t.TempDir()
	for name, text := range map[string]string{
		"trajectory.json": begin + handoff + `],"continued_trajectory_ref":"trajectory.cont-1.json"}`, "trajectory.cont-1.json": begin + `]}`, "trajectory.summarization-1-summary.json": begin + `]}`,
	} {
		file := filepath.Join(home, "one", "agent", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Kinds(nil)[0].Open(t.Context(), home)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var got []string
	for info, err := range s.Sessions(t.Context()) {
		if err != nil {
			t.Error(err)
		}
		got = append(got, info.ID)
	}
	if slices.Sort(got); !slices.Equal(got, []string{"one", "one.cont-1", "one/summarization-1-summary"}) {
		t.Errorf("%v", got)
	}
	started, err := s.Features().SubAgents(t.Context(), "one")
	if err != nil || len(started) != 1 || started[0].ID != "2" || started[0].Session != "one/summarization-1-summary" {
		t.Errorf("%v: %v", started, err)
	}
}

func FuzzRead(f *testing.F) {
	for _, pattern := range []string{"atif/*/agent/*", "agents/*/*"} {
		if n := formattest.AddFiles(f, filepath.Join(fixtures, pattern)); n == 0 {
			f.Fatalf("%d files", n)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, in := readText(t, all, "run.json", string(text))
		formattest.CheckMessages(t, all, in, s)
		if _, err := all.ReadCarried(t.Context(), in, s); err != nil {
			t.Error(err)
		}
	})
}
