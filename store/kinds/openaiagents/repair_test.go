package openaiagents

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store/storetest"
	"hindcast/store/storetest/rowstest"
	"hindcast/store/storetest/skip"
)

// insert adds items to a session of a copy of the store.
func insert(t *testing.T, path, session string, items ...string) {
	t.Helper()
	statements := []string{fmt.Sprintf("INSERT INTO agent_sessions (session_id) VALUES ('%s')", session)}
	for _, item := range items {
		statements = append(statements, fmt.Sprintf("INSERT INTO agent_messages (session_id, message_data) VALUES ('%s', '%s')", session, item))
	}
	rowstest.Execute(t, path, statements...)
}

const (
	user     = `{"role":"user","content":"q"}`
	answer   = `{"id":"m","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"t","annotations":[]}]}`
	thought  = `{"id":"rs","type":"reasoning","summary":[]}`
	callA    = `{"type":"function_call","call_id":"a","name":"weather","arguments":"{}","id":"fa"}`
	callB    = `{"type":"function_call","call_id":"b","name":"weather","arguments":"{}","id":"fb"}`
	shell    = `{"type":"local_shell_call","call_id":"s","id":"ls","action":{"type":"exec","command":["ls"],"env":{}},"status":"completed"}`
	outA     = `{"type":"function_call_output","call_id":"a","output":"1"}`
	outZ     = `{"type":"function_call_output","call_id":"z","output":"1"}`
	addedOut = "There is no output"
)

// repairs plans and applies a repair of a session, and returns the new one.
func repairs(t *testing.T, s storetest.Writer, session string) (string, model.Plan) {
	t.Helper()
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRepair, Ref: model.Ref{Session: session}})
	if err != nil {
		t.Fatalf("%s: %v", session, err)
	}
	if _, err := s.Apply(t.Context(), plan); err != nil {
		t.Fatalf("%s: %v", session, err)
	}
	return plan.NewSession, plan
}

// What the API refuses, or the SDK leaves out, is none in the session that a repair makes; the session itself
// stays, and an undo gives back every row.
func TestRepair(t *testing.T) {
	path := rowstest.Copied(t, "testdata/refused.db")
	insert(t, path, "all", user, thought, thought, user, thought, callA, callB, outA, user, answer, outZ, outA, user, thought, shell, user, answer)
	insert(t, path, "waits", user, outZ, user, thought, callA)
	insert(t, path, "clean", user, thought, callA, outA, answer)
	insert(t, path, "reason-repaired", user)
	s := storetest.AsWriter(open(t, path))
	dump := func() []string {
		return slices.Concat(rowstest.Query(t, path, "SELECT session_id || created_at FROM agent_sessions ORDER BY 1"), rowstest.Query(t, path, "SELECT id || session_id || message_data || created_at FROM agent_messages ORDER BY id"))
	}
	for _, c := range []struct {
		session, made string
		// types are those of the items of the new session; says is in the plan.
		types []string
		says  []string
	}{
		{"reason", "reason-repaired-2", []string{"user", "user", "message", "user", "message"}, []string{"the reasoning #1 goes"}},
		{"orphanout", "orphanout-repaired", []string{"user", "user", "message", "user", "message"}, []string{"the output #1 goes"}},
		{"dup", "dup-repaired", []string{"user", "function_call", "function_call_output", "user", "message", "user", "message"}, []string{"the output #3 goes"}},
		{"cancel", "cancel-repaired", []string{"user", "message", "user", "reasoning", "function_call", "function_call_output", "function_call", addedOut, "user", "message", "user", "message"},
			[]string{"the call #6 of weather gets an output"}},
		{"all", "all-repaired", []string{"user", "user", "reasoning", "function_call", "function_call", addedOut, "function_call_output", "user", "message", "user", "user", "message"},
			[]string{"the reasoning #1 goes", "the reasoning #2 goes", "the call #6 of weather gets an output", "the output #10 goes", "the output #11 goes", "the call #14 of local_shell_call goes", "the reasoning #13 goes"}},
		{"waits", "waits-repaired", []string{"user", "user", "reasoning", "function_call"}, []string{"the output #1 goes", "the SDK leaves out calls"}},
	} {
		before := dump()
		made, plan := repairs(t, s, c.session)
		if made != c.made || plan.Headline() != "repair "+c.session+" as "+c.made {
			t.Errorf("%s: made %q: %s", c.session, made, plan.Headline())
		}
		if faults := storetest.Faults(t, s, made); len(faults) > 0 {
			t.Errorf("%s: %+v", made, faults)
		}
		var state struct{ Messages []map[string]any }
		head := rowstest.Head(t, s, made)
		if err := json.Unmarshal([]byte(rowstest.State(t, s, made, head.Index)), &state); err != nil {
			t.Fatal(err)
		}
		var types []string
		for _, m := range state.Messages {
			text, _ := m["type"].(string)
			switch output, _ := m["output"].(string); {
			case strings.HasPrefix(output, addedOut):
				text = addedOut
			case m["role"] == "user":
				text = "user"
			}
			types = append(types, text)
		}
		if !slices.Equal(types, c.types) {
			t.Errorf("%s has %q, want %q", made, types, c.types)
		}
		for _, says := range c.says {
			if !slices.ContainsFunc(plan.Hazards, func(line string) bool { return strings.Contains(line, says) }) {
				t.Errorf("%s: the plan says %q and not %q", c.session, plan.Hazards, says)
			}
		}
		if len(plan.Hazards) != len(c.says) {
			t.Errorf("%s: the plan says %q", c.session, plan.Hazards)
		}
		back, err := s.Plan(t.Context(), model.Change{Op: model.OpUndo})
		if err == nil {
			_, err = s.Apply(t.Context(), back)
		}
		if err != nil || !slices.Equal(dump(), before) {
			t.Errorf("%s: the undo left other rows, %v", c.session, err)
		}
		again, err := s.Plan(t.Context(), model.Change{Op: model.OpRedo})
		if err == nil {
			_, err = s.Apply(t.Context(), again)
		}
		if err != nil || len(storetest.Faults(t, s, made)) > 0 {
			t.Errorf("%s: the redo: %v", c.session, err)
		}
	}
	if _, err := s.Plan(t.Context(), model.Change{Op: model.OpRepair, Ref: model.Ref{Session: "clean"}}); !errors.As(err, new(*model.NothingToError)) {
		t.Errorf("nothing is wrong with the session, and a repair is %v", err)
	}
}

// The items of a branch are those that the new session has on "main".
func TestRepair_ofBranches(t *testing.T) {
	path := rowstest.Copied(t, recorded("advanced.db"))
	rowstest.Execute(t, path, "DELETE FROM message_structure WHERE message_id IN (6, 7)", "DELETE FROM agent_messages WHERE id IN (6, 7)")
	s := storetest.AsWriter(open(t, path))
	made, _ := repairs(t, s, "tour")
	for _, f := range storetest.Faults(t, s, made) {
		if f.Code != FaultDeleted {
			t.Errorf("%+v", f)
		}
	}
	state := rowstest.State(t, s, made, rowstest.Head(t, s, made).Index)
	if n := strings.Count(state, addedOut); n != 2 {
		t.Errorf("%d outputs were added: %s", n, state)
	}
}

// A fork that ends between what belongs together names the ends beside it that do not.
func TestPlan_namesBetterEnds(t *testing.T) {
	s := storetest.AsWriter(open(t, rowstest.Copied(t, "testdata/refused.db")))
	for index, want := range map[int]string{2: "", 3: "does not: #2, #5", 4: "does not: #2, #5", 5: "", 10: ""} {
		plan, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: rowstest.At(t, s, "cancel", index).Ref(), As: "new"})
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Join(plan.Hazards, "\n")
		if want == "" && strings.Contains(text, "belongs together") || !strings.Contains(text, want) {
			t.Errorf("#%d says %q, want %q", index, text, want)
		}
		if index == 4 && !strings.Contains(text, "and the reasoning before them") {
			t.Errorf("#%d does not say that the reasoning goes: %q", index, text)
		}
	}
}

// The SDK sends the items of a repaired session as they are, and the next input.
func TestInteropRepaired(t *testing.T) {
	sdks := os.Getenv("HINDCAST_SDKS")
	if sdks == "" {
		skip.Missing(t, "HINDCAST_SDKS names no folder with the real SDKs: testdata/interop/install makes one")
	}
	path := rowstest.Copied(t, "testdata/refused.db")
	s := storetest.AsWriter(open(t, path))
	shown := map[string]any{}
	args := []string{filepath.Join("..", "..", "..", "testdata", "interop", "openai-agents", "repaired.py"), path}
	for _, session := range []string{"reason", "orphanout", "dup", "cancel"} {
		made, _ := repairs(t, s, session)
		var state struct{ Messages any }
		if err := json.Unmarshal([]byte(rowstest.State(t, s, made, rowstest.Head(t, s, made).Index)), &state); err != nil {
			t.Fatal(err)
		}
		shown[made], args = state.Messages, append(args, made)
	}
	out, err := exec.CommandContext(t.Context(), filepath.Join(sdks, "openai-agents", "venv", "bin", "python"), args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	var sent map[string][]any
	if err := json.Unmarshal(out, &sent); err != nil {
		t.Fatal(err)
	}
	for made, want := range shown {
		items := sent[made]
		got, _ := json.Marshal(items[:len(items)-1])
		all, _ := json.Marshal(want)
		if string(got) != string(all) {
			t.Errorf("%s sends\n%s\nand shows\n%s", made, got, all)
		}
	}
	if len(sent) != 4 {
		t.Errorf("%d sessions were sent", len(sent))
	}
}
