package adk

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine/rows"
	"hindcast/store/storetest"
	"hindcast/store/storetest/rowstest"
	"hindcast/store/storetest/skip"
)

// sdkSent is what ADK says of a session, see testdata/interop/adk/sent.py.
type sdkSent struct {
	// Each has the contents that ADK makes of the events up to one: a list, or its error.
	Each map[string]any `json:"each"`
	// Sent are those that a model was sent by a runner that went on with "probe".
	Sent []any `json:"sent"`
	// Requests are what each model was sent of a team: to write the event Of, behind the event After.
	Requests []struct {
		Of, After string
		Sent      []any
	}
}

// message is a message of a state.
type message struct {
	Content     any      `json:"content"`
	LongRunning []string `json:"long_running_tool_ids"`
	Actions     struct {
		Compaction any `json:"compaction"`
	} `json:"actions"`
}

// shownAt returns the messages at a snapshot.
func shownAt(t *testing.T, s store.Store, session string, index int) []message {
	t.Helper()
	var state struct{ Messages []message }
	if err := json.Unmarshal([]byte(rowstest.State(t, s, session, index)), &state); err != nil {
		t.Fatal(err)
	}
	return state.Messages
}

// parts returns those of a content with a key, as what is below the key.
func parts(content any, key string) (list []map[string]any) {
	for _, p := range content.(map[string]any)["parts"].([]any) {
		if of, is := p.(map[string]any)[key].(map[string]any); is {
			list = append(list, of)
		}
	}
	return list
}

// sentOf returns the contents that are sent of messages: without the calls at their end that have no result
// yet and are not of a tool that runs long, which a model that was asked now would not be sent.
func sentOf(messages []message) (list []any) {
	answered, waits := map[any]bool{}, len(messages)
	for i := range messages {
		for _, r := range parts(messages[i].Content, "function_response") {
			answered[r["id"]] = true
		}
		for _, id := range messages[i].LongRunning {
			answered[id] = true
		}
	}
	for i := len(messages) - 1; i >= 0; i-- {
		if m := &messages[i]; len(parts(m.Content, "function_call")) > 0 {
			waits = i
		} else if m.Actions.Compaction == nil && len(parts(m.Content, "function_response")) == 0 {
			break
		}
	}
	for i := range messages {
		content := messages[i].Content.(map[string]any)
		if i >= waits {
			content["parts"] = slices.DeleteFunc(content["parts"].([]any), func(p any) bool {
				call, is := p.(map[string]any)["function_call"].(map[string]any)
				return is && !answered[call["id"]]
			})
		}
		if len(content["parts"].([]any)) > 0 {
			list = append(list, content)
		}
	}
	return list
}

// withoutIDs takes the ids of calls out of contents: those that ADK drew are not sent to most models.
func withoutIDs(list []any) []any {
	for _, content := range list {
		for _, key := range []string{"function_call", "function_response"} {
			for _, of := range parts(content, key) {
				delete(of, "id")
			}
		}
	}
	return list
}

// compareSent holds what a store shows at each event, and at each head, to what ADK sends.
func compareSent(t *testing.T, path string, want map[string]sdkSent) {
	t.Helper()
	s := open(t, path)
	compared, heads, asked := 0, 0, 0
	same := func(what string, index int, shown, sent []any) {
		t.Helper()
		if a, b := asJSON(t, shown), asJSON(t, sent); len(shown)+len(sent) > 0 && a != b {
			t.Errorf("%s #%d shows\n%s\nand ADK sends\n%s", what, index, a, b)
		}
	}
	for session, sdk := range want {
		name := "app/u/" + session
		headers := storetest.Headers(t, s, name)
		for i, h := range headers {
			if sends, is := sdk.Each[h.ID].([]any); is { // an error of ADK's is none
				same(name, i, sentOf(shownAt(t, s, name, i)), sends)
				compared++
			}
		}
		for _, r := range sdk.Requests {
			for i, h := range headers {
				shown := shownAt(t, s, name, i)
				switch {
				case h.ID == r.Of:
					same("what was asked for in "+name, i, withoutIDs(sentOf(shown[:len(shown)-1])), withoutIDs(r.Sent))
					asked++
				case h.ID == r.After && h.EventName == rows.EventUser:
					same("what was asked behind "+name, i, withoutIDs(sentOf(shown)), withoutIDs(r.Sent))
					asked++
				}
			}
		}
		// Behind a result the model is asked at once; a new input behind it is sent otherwise.
		if last := len(headers) - 1; sdk.Sent != nil && len(parts(shownAt(t, s, name, last)[len(shownAt(t, s, name, last))-1].Content, "function_response")) == 0 {
			same("the run of "+name, last, withoutIDs(sentOf(shownAt(t, s, name, last))), withoutIDs(sdk.Sent[:len(sdk.Sent)-1]))
			heads++
		}
	}
	if compared < 5*len(want) || heads < 6 || asked < 30 {
		t.Errorf("%d snapshots, %d heads and %d requests were compared", compared, heads, asked)
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// What the messages of each snapshot are is what ADK 2.13.0 made of the events up to it, and what a model was
// sent: behind compactions, several and overlapping ones, of a tool that runs long and is answered later, of
// parallel calls, of results that come twice or have no call, of calls without a result.
func TestState_isWhatIsSent(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "sent.json"))
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]sdkSent
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	compareSent(t, filepath.Join("testdata", "sent.db"), want)
}

// The same of 300 sessions of one agent and 300 of several that are drawn at random, against the SDK that is installed.
func TestInteropSent(t *testing.T) {
	sdks := os.Getenv("HINDCAST_SDKS")
	if sdks == "" {
		skip.Missing(t, "HINDCAST_SDKS names no folder with the real SDKs: testdata/interop/install makes one")
	}
	program := filepath.Join("..", "..", "..", "testdata", "interop", "adk", "sent.py")
	path := filepath.Join(t.TempDir(), "adk.db")
	out, err := exec.CommandContext(t.Context(), filepath.Join(sdks, "adk", "venv", "bin", "python"), program, path, "300").Output()
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]sdkSent
	if err := json.Unmarshal(out, &want); err != nil {
		t.Fatal(err)
	}
	compareSent(t, path, want)
}

// A call without a result, an answer to none, and the waiting ones: of the fixture, which a runner with
// compaction wrote.
func TestFaults_conversation(t *testing.T) {
	s := open(t, filepath.Join("testdata", "sent.db"))
	for session, want := range map[string][]string{
		"app/u/killed": {"unanswered-call", "unanswered-call"}, "app/u/late": nil, "app/u/twice": nil, "app/u/plain": nil, "app/u/parallel": nil,
	} {
		if codes := rowstest.Faults(t, s, session); !slices.Equal(codes, want) {
			t.Errorf("%s: %q, want %q", session, codes, want)
		}
	}
	plan, err := open(t, rowstest.Copied(t, filepath.Join("testdata", "sent.db"))).Features().Plan(t.Context(), model.Change{Op: model.OpFork, Ref: rowstest.Head(t, s, "app/u/killed").Ref(), As: "new"})
	if err != nil || len(plan.Hazards) != 2 || !strings.Contains(plan.Hazards[0], "the call of fails") || !strings.Contains(plan.Hazards[0], "leaves the call out") {
		t.Errorf("the plan says %q, %v", plan.Hazards, err)
	}
}
