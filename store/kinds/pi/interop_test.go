package pi

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store/storetest"
	"hindcast/store/storetest/chattest"
)

// pi resumes each fork, and sends the model what Hindcast shows at the snapshot that it was
// forked from: on the path, on a branch that was left, behind a summary, behind a compaction.
func TestInterop_pi(t *testing.T) {
	program := chattest.Program(t, "pi", "node_modules", ".bin", "pi")
	llm := chattest.Start(t)
	home, work := t.TempDir(), t.TempDir()
	run := func(session, words string) string {
		t.Helper()
		call := fmt.Sprintf("%s --provider fake --model fake-model %s -p '%s'", program, session, words)
		return chattest.Run(t, work, home, call, "PI_OFFLINE=1")
	}
	put := func(text string, path ...string) {
		t.Helper()
		name := filepath.Join(append([]string{home, ".pi", "agent"}, path...)...)
		err := os.MkdirAll(filepath.Dir(name), 0o700)
		if err == nil {
			err = os.WriteFile(name, []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	put(models(llm.URL), "models.json")

	// A session of pi's own, and that of the fixture with its branches, in the same project.
	run("", "first question")
	run("-c", "run: echo one")
	made, err := filepath.Glob(filepath.Join(home, ".pi", "agent", "sessions", "*", "*.jsonl"))
	if err != nil || len(made) != 1 {
		t.Fatal(made, err)
	}
	own := newFormat().Spot(made[0]).ID
	text, err := os.ReadFile(filepath.Join(fixtures, "--home-demo--", "2026-11-22T11-26-00-000Z_"+branched+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	put(strings.Replace(string(text), `"/home/demo"`, `"`+work+`"`, 1), "sessions", filepath.Base(filepath.Dir(made[0])), "2026-11-22T11-26-00-000Z_"+branched+".jsonl")

	t.Setenv("HOME", home)
	s := open(t, filepath.Join(home, ".pi", "agent", "sessions"))
	for _, c := range []struct {
		name, session string
		at            int
	}{
		{"the first answer of pi's own", own, 2}, // behind the system prompt, which 1.6 writes first
		{"the result of a tool", own, 5},
		{"the end of pi's own", own, 6},
		{"where a branch begins", branched, 1},
		{"the end of a branch that was left", branched, 5},
		{"behind the summary of a branch", branched, 10},
		{"behind a compaction", branched, 11},
		{"the head", branched, 13},
	} {
		t.Run(c.name, func(t *testing.T) {
			target := storetest.Headers(t, s, c.session)[c.at]
			plan, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: target.Ref()})
			if err == nil {
				_, err = s.Apply(t.Context(), plan)
			}
			if err != nil {
				t.Fatal(err)
			}
			if plan.Resume[0].Call != "pi --session "+plan.NewSession {
				t.Fatalf("it is resumed by %q", plan.Resume[0].Call)
			}
			before := len(storetest.Headers(t, s, plan.NewSession))
			if said := run("--session "+plan.NewSession, "and then"); !strings.Contains(said, "reply to: and then") {
				t.Errorf("pi says %q", said)
			}
			requests := llm.Requests(t)
			sent := sentBlocks(t, requests[len(requests)-1].Body)
			shown := append(shownBlocks(storetest.Messages(t, s, target.Ref())), "user: and then")
			if len(sent) != len(shown) {
				t.Fatalf("pi sent\n  %s\nand Hindcast shows\n  %s", strings.Join(sent, "\n  "), strings.Join(shown, "\n  "))
			}
			for i := range sent {
				role, words, _ := strings.Cut(shown[i], ": ") // pi says of a summary what it is
				if !strings.HasPrefix(sent[i], role+": ") || !strings.Contains(sent[i], words) {
					t.Errorf("pi sent %q, and Hindcast shows %q", sent[i], shown[i])
				}
			}
			list := storetest.Headers(t, s, plan.NewSession)
			// To a session without a system prompt 1.6 adds one.
			added := slices.DeleteFunc(slices.Clone(list[before:]), func(h model.Header) bool { return h.EventName == "system" })
			systems := 0
			for _, h := range list {
				if h.EventName == "system" {
					systems++
				}
			}
			if head := list[len(list)-1]; len(added) != 2 || systems != 1 || added[0].Title != "and then" || !head.Head || head.Title != "reply to: and then" {
				t.Errorf("pi went on with %+v", list[before:])
			}
			if first := list[slices.IndexFunc(list, func(h model.Header) bool { return h.EventName == "system" })]; !strings.HasPrefix(first.Title, "You are a coding assistant") {
				t.Errorf("the system prompt is called %q", first.Title)
			}
		})
	}
}

// sentBlocks says what a request of Anthropic's Messages API has, a line for each block.
func sentBlocks(t *testing.T, body []byte) (list []string) {
	t.Helper()
	var request struct {
		Messages []struct {
			Role    string
			Content []map[string]any
		}
	}
	if err := json.Unmarshal(body, &request); err != nil {
		t.Fatal(err)
	}
	for _, m := range request.Messages {
		for _, b := range m.Content {
			switch b["type"] {
			case "text":
				list = append(list, fmt.Sprintf("%s: %s", m.Role, b["text"]))
			case "tool_use":
				list = append(list, fmt.Sprintf("calls: %s %s %v", b["id"], b["name"], b["input"]))
			case "tool_result":
				list = append(list, fmt.Sprintf("result: %s %v", b["tool_use_id"], b["content"]))
			}
		}
	}
	return list
}

// shownBlocks says the same of messages of a state.
func shownBlocks(messages []map[string]any) (list []string) {
	for _, m := range messages {
		if m["role"] == "system" {
			continue // it is no message of a request
		}
		for _, b := range m["content"].([]any) {
			block := b.(map[string]any)
			if words, ok := block["text"]; ok {
				list = append(list, fmt.Sprintf("%s: %s", m["role"], words))
			}
			if call, ok := block["toolUse"].(map[string]any); ok {
				list = append(list, fmt.Sprintf("calls: %s %s %v", call["toolUseId"], call["name"], call["input"]))
			}
			if result, ok := block["toolResult"].(map[string]any); ok {
				list = append(list, fmt.Sprintf("result: %s %v", result["toolUseId"], result["content"].([]any)[0].(map[string]any)["text"]))
			}
		}
	}
	return list
}

// pi passes a damaged line over with the entry that is whole in it, and takes the one that names
// it for the first.
func TestInterop_piDamage(t *testing.T) {
	program := chattest.Program(t, "pi", "node_modules", ".bin", "pi")
	llm := chattest.Start(t)
	home, work := t.TempDir(), t.TempDir()
	dir := filepath.Join(home, ".pi", "agent")
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "models.json"), []byte(models(llm.URL)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	run := func(words string) {
		t.Helper()
		chattest.Run(t, work, home, fmt.Sprintf("%s --provider fake --model fake-model -c -p '%s'", program, words), "PI_OFFLINE=1")
	}
	run("first question")
	run("second question")
	s := open(t, filepath.Join(dir, "sessions"))
	session := storetest.Sessions(t, s)[0].ID
	files, err := filepath.Glob(filepath.Join(dir, "sessions", "*", "*.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	text, err := os.ReadFile(files[0])
	if err == nil {
		list := storetest.Headers(t, s, session)
		asked := list[slices.IndexFunc(list, func(h model.Header) bool { return h.Title == "second question" })]
		at := strings.LastIndex(string(text[:strings.Index(string(text), `"id":"`+asked.ID+`"`)]), "{")
		err = os.WriteFile(files[0], []byte(string(text[:at])+`{"torn`+string(text[at:])), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	list := storetest.Headers(t, s, session)
	shown := append(shownBlocks(storetest.Messages(t, s, list[len(list)-1].Ref())), "user: and then")
	run("and then")
	requests := llm.Requests(t)
	if sent := sentBlocks(t, requests[len(requests)-1].Body); !slices.Equal(sent, shown) || sent[0] != "assistant: reply to: second question" {
		t.Errorf("pi sent\n  %s\nand Hindcast shows\n  %s", strings.Join(sent, "\n  "), strings.Join(shown, "\n  "))
	}
}

// Where variables have pi keep its sessions, Hindcast finds them.
func TestInterop_piElsewhere(t *testing.T) {
	program := chattest.Program(t, "pi", "node_modules", ".bin", "pi")
	llm := chattest.Start(t)
	home, work, settings := t.TempDir(), t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(settings, "models.json"), []byte(models(llm.URL)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, env := range [][]string{{"PI_CODING_AGENT_DIR=" + settings}, {"PI_CODING_AGENT_DIR=" + settings, "PI_CODING_AGENT_SESSION_DIR=" + t.TempDir()}} {
		chattest.Run(t, work, home, program+" --provider fake --model fake-model -p 'first question'", append(env, "PI_OFFLINE=1")...)
		chattest.Found(t, Kind(nil).Kind, home, env...)
	}
}

// models are the settings with which pi asks a model at a URL.
func models(url string) string {
	return `{"providers": {"fake": {"baseUrl": "` + url + `", "apiKey": "none", "api": "anthropic-messages", "models": [{"id": "fake-model", "name": "Fake",
		"reasoning": false, "input": ["text"], "cost": {"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75}, "contextWindow": 100000, "maxTokens": 4000}]}}}`
}
