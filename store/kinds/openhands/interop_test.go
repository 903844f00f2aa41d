package openhands

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store/engine/chat"
	"hindcast/store/storetest"
	"hindcast/store/storetest/chattest"
)

// The real SDK goes on from where Hindcast put a conversation, and from a fork, and sends the
// model what Hindcast shows there.
func TestInterop_openhands(t *testing.T) {
	r := newRealTool(t)
	const id = "11111111222233334444555555555555"
	told := r.run(id, "say: first question", "say: run: echo one\nrun: echo two", "back: 1", "say: branched question")
	s := open(t, r.dir)
	list := storetest.Headers(t, s, id)
	if head := list[len(list)-1]; !head.Head || head.ID != told.Head {
		t.Errorf("the head is %s, and of the SDK %s", head.ID, told.Head)
	}
	titles := func() (all []string) {
		for _, h := range storetest.Headers(t, s, id)[1:] {
			all = append(all, h.Title)
		}
		return all
	}
	want := []string{
		"first question", "reply to: first question", "run: echo one run: echo two", "$ echo one, $ echo two", "$ echo one  one", "$ echo two  two",
		"done: echo one; echo two", "branched question", "reply to: branched question",
	}
	if got := titles(); len(got) != len(want) {
		t.Fatalf("the conversation is %q", got)
	}
	left := list[7]
	if !left.Orphaned || left.Title != want[6] {
		t.Fatalf("#7 is %+v", left)
	}

	// The pointer: the branch that was left is gone on with.
	wanted := shown(t, s.State, left)
	apply(t, s, model.Change{Op: model.OpRestore, Ref: left.Ref()})
	told = r.run(id, "say: after the restore")
	if told.Opened != left.ID {
		t.Errorf("the SDK opened the conversation at %s, want %s", told.Opened, left.ID)
	}
	sent(t, r.model, append(slices.Clone(wanted), "user: after the restore"))
	list = storetest.Headers(t, s, id)
	if head := list[len(list)-1]; !head.Head || head.ID != told.Head || list[len(list)-2].ParentID != left.ID {
		t.Errorf("the SDK went on with %+v", list[len(list)-2:])
	}

	// A fork from a result of a tool, and from the first answer.
	for _, at := range []int{6, 2} {
		h := list[at]
		wanted := shown(t, s.State, h)
		plan := apply(t, s, model.Change{Op: model.OpFork, Ref: h.Ref()})
		told := r.run(plan.NewSession, "say: in the fork")
		if told.Opened != h.ID || told.Events[len(told.Events)-1] != told.Head {
			t.Errorf("the SDK opened the fork at %s, want %s", told.Opened, h.ID)
		}
		sent(t, r.model, append(slices.Clone(wanted), "user: in the fork"))
		if n := len(storetest.Headers(t, s, plan.NewSession)); n != at+3 {
			t.Errorf("a fork from #%d has %d snapshots", at, n)
		}
	}
}

// The CLI resumes each fork of a conversation that it wrote, without branches, and sends what
// Hindcast shows.
func TestInterop_openhandsCLI(t *testing.T) {
	program := chattest.Program(t, "openhands-cli", "venv", "bin", "openhands")
	tool, home, work := chattest.Start(t), t.TempDir(), t.TempDir()
	elsewhere := "OPENHANDS_PERSISTENCE_DIR=" + filepath.Join(home, "elsewhere")
	ask := func(words ...string) {
		t.Helper()
		chattest.Run(t, work, home, chat.Command("", append([]string{program, "--headless", "--override-with-envs"}, words...)...),
			"LLM_API_KEY=none", "LLM_MODEL=openai/scripted", "LLM_BASE_URL="+tool.URL+"/v1", "LITELLM_LOCAL_MODEL_COST_MAP=True", "DO_NOT_TRACK=1", elsewhere)
	}
	ask("-t", "first question")
	chattest.Found(t, Kind(nil).Kind, home, elsewhere)
	s := open(t, filepath.Join(home, "elsewhere", "conversations"))
	id := storetest.Sessions(t, s)[0].ID
	ask("--resume", id, "-t", "run: echo one\nrun: echo two")
	list := storetest.Headers(t, s, id)
	if len(list) != 8 {
		t.Fatalf("the conversation is\n%s", storetest.Draw(t, s, id))
	}
	for _, at := range []int{1, 2, 6} {
		wanted := shown(t, s.State, list[at])
		plan := apply(t, s, model.Change{Op: model.OpFork, Ref: list[at].Ref()})
		ask("--resume", plan.NewSession, "-t", "in the fork")
		sent(t, tool, append(wanted, "user: in the fork"))
	}
}

func apply(t *testing.T, s interface {
	Plan(ctx context.Context, c model.Change) (model.Plan, error)
	Apply(ctx context.Context, p model.Plan) (model.Receipt, error)
}, c model.Change) model.Plan {
	t.Helper()
	plan, err := s.Plan(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	return plan
}

// shown are the messages of a snapshot in the words of sent.
func shown(t *testing.T, stateOf func(context.Context, model.Ref) ([]byte, error), h model.Header) (list []string) {
	t.Helper()
	text, err := stateOf(t.Context(), h.Ref())
	if err != nil {
		t.Fatal(err)
	}
	var state struct {
		Messages []struct {
			Role    string
			Content []struct {
				Text       string
				ToolUse    *struct{ ToolUseID, Name string }
				ToolResult *struct {
					ToolUseID string
					Content   []struct{ Text string }
				}
			}
		}
	}
	if err := json.Unmarshal(text, &state); err != nil {
		t.Fatal(err)
	}
	for _, m := range state.Messages {
		words := m.Role + ": "
		for _, b := range m.Content {
			words += b.Text
			if b.ToolUse != nil {
				words += fmt.Sprintf("[%s %s]", b.ToolUse.Name, b.ToolUse.ToolUseID)
			}
			if b.ToolResult != nil {
				words += b.ToolResult.ToolUseID + " "
				for _, part := range b.ToolResult.Content {
					words += part.Text
				}
			}
		}
		list = append(list, words)
	}
	return list
}

// realTool is the SDK with a scripted model.
type realTool struct {
	*testing.T
	model             *chattest.Model
	python, dir, work string
}

// agentsDir is where testdata/interop/agents is from here.
const agentsDir = "../../../testdata/interop/agents"

func newRealTool(t *testing.T) *realTool {
	t.Helper()
	python := chattest.Program(t, "openhands", "venv", "bin", "python")
	return &realTool{T: t, python: python, dir: t.TempDir(), work: t.TempDir(), model: chattest.Start(t)}
}

// told is what a run of the SDK tells.
type told struct {
	Opened, Head string
	Events       []string
}

// run goes on with a conversation.
func (r *realTool) run(id string, steps ...string) (is told) {
	r.Helper()
	script, err := filepath.Abs(filepath.Join(agentsDir, "run_openhands.py"))
	if err != nil {
		r.Fatal(err)
	}
	port := r.model.URL[strings.LastIndexByte(r.model.URL, ':')+1:]
	words := append([]string{r.python, script, port, r.dir, r.work, id}, steps...)
	out := chattest.Run(r, r.work, r.work, chat.Command("", words...))
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &is); err != nil {
		r.Fatalf("%v in %s", err, out)
	}
	return is
}

// sent compares the messages of the last request with those that are wanted.
func sent(t *testing.T, tool *chattest.Model, want []string) {
	t.Helper()
	requests := tool.Requests(t)
	var body struct {
		Messages []struct {
			Role       string
			Content    json.RawMessage
			ToolCallID string `json:"tool_call_id"`
			ToolCalls  []struct {
				ID       string
				Function struct{ Name string }
			} `json:"tool_calls"`
		}
	}
	if err := json.Unmarshal(requests[len(requests)-1].Body, &body); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range body.Messages {
		words := m.Role + ": "
		if m.ToolCallID != "" {
			words += m.ToolCallID + " "
		}
		var parts []struct{ Text string }
		if m.Content != nil && json.Unmarshal(m.Content, &parts) != nil {
			t.Fatalf("the content is %s", m.Content)
		}
		for _, part := range parts {
			words += part.Text
		}
		for _, c := range m.ToolCalls {
			words += fmt.Sprintf("[%s %s]", c.Function.Name, c.ID)
		}
		// The terminal tool says more of a command when it sends a result, out of what the
		// event keeps beside it.
		words, _, _ = strings.Cut(words, "\n[The command completed")
		got = append(got, words)
	}
	if len(got) != len(want) {
		t.Errorf("the model was sent %d messages, want %d", len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Errorf("the model was sent as message %d\n\t%q\nwant\n\t%q", i, got[i], want[i])
		}
	}
}
