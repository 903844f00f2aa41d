package opencode

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/storetest"
)

// opencode imports what a fork wrote and goes on in it: what it sends to the model is what
// Hindcast shows at the head of the fork. The positions are those that opencode itself has no
// way to: deleted by a revert, cut by one that is pending, behind a compaction, a tool's result.
func TestInterop_opencode(t *testing.T) {
	tool := installed(t)
	address, requests := scripted(t)
	home := t.TempDir()
	work := filepath.Join(home, "work")
	data := filepath.Join(home, ".local", "share", "opencode")
	run := func(args ...string) {
		t.Helper()
		call := exec.CommandContext(t.Context(), tool, args...)
		call.Dir = work
		call.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "OPENCODE_DISABLE_AUTOUPDATE=1",
			"OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1", "HTTPS_PROXY=http://127.0.0.1:9", "NO_PROXY=127.0.0.1,localhost"}
		if said, err := call.CombinedOutput(); err != nil {
			t.Fatalf("opencode %s: %v\n%s", strings.Join(args, " "), err, said)
		}
	}
	write(t, filepath.Join(home, ".config", "opencode", "opencode.json"), fmt.Appendf(nil, `{"model": "scripted/scripted", "small_model": "scripted/scripted",
		"autoupdate": false, "share": "disabled", "provider": {"scripted": {"npm": "@ai-sdk/openai-compatible", "name": "scripted",
		"options": {"baseURL": "http://127.0.0.1:%s/v1", "apiKey": "none"}, "models": {"scripted": {"name": "scripted", "tool_call": true,
		"limit": {"context": 100000, "output": 4000}, "cost": {"input": 3, "output": 15}}}}}, "permission": {"bash": "allow", "edit": "allow"}}`, address))
	database, err := os.ReadFile(filepath.Join(recorded, "opencode.db"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(data, "opencode.db"), database)
	write(t, filepath.Join(work, "notes.txt"), []byte("a file\n"))
	s, err := Kind(nil).Open(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	w := s.(store.Writer)
	for _, at := range []struct {
		name, session string
		index         int
	}{
		{"the result of a tool", main, 7},
		{"deleted by a revert", main, 13},
		{"within a message that a pending revert cuts", main, 17},
		{"deleted soon", main, 19},
		{"after a compaction", compacted, 20},
	} {
		t.Run(at.name, func(t *testing.T) {
			from := storetest.Headers(t, s, at.session)[at.index]
			plan, err := w.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: from.Ref()})
			if err != nil {
				t.Fatal(err)
			}
			receipt, err := w.Apply(t.Context(), plan)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(data, exports, receipt.Session+".json")
			if !strings.Contains(plan.Resume[0].Call, receipt.Session+".json") {
				t.Errorf("the call is %q", plan.Resume[0].Call)
			}
			run("import", file)
			run("run", "-s", receipt.Session, "and", "then")
			headers := storetest.Headers(t, s, receipt.Session)
			if len(headers) < 3 || headers[len(headers)-2].Title != "and then" {
				t.Fatalf("the imported session has %d snapshots", len(headers))
			}
			state, err := s.State(t.Context(), headers[len(headers)-2].Ref())
			if err != nil {
				t.Fatal(err)
			}
			want, sent := shown(t, state), requests()
			if !slices.ContainsFunc(sent, func(got []string) bool { return slices.Equal(got, want) }) {
				t.Errorf("opencode sent\n  %s\nand Hindcast shows\n  %s", strings.Join(sent[len(sent)-1], "\n  "), strings.Join(want, "\n  "))
			}
		})
	}
}

// installed returns the program of opencode.
func installed(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("HINDCAST_AGENTS")
	if dir == "" {
		t.Skip("HINDCAST_AGENTS names no folder with coding agents: testdata/interop/agents/install makes one")
	}
	tool, err := filepath.Abs(filepath.Join(dir, "opencode", "node_modules", ".bin", "opencode"))
	if err == nil {
		_, err = os.Stat(tool)
	}
	if err != nil {
		t.Fatalf("opencode is not in HINDCAST_AGENTS: %v", err)
	}
	return tool
}

// scripted starts the scripted model. It returns its port, and what was sent to it so far.
func scripted(t *testing.T) (port string, requests func() [][]string) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "requests.jsonl")
	call := exec.Command("python3", "../../../testdata/interop/agents/fakellm.py", log)
	in, err := call.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := call.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := call.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close() // that ends it
		_ = call.Wait()
	})
	port, err = bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the scripted model says no port: %v", err)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return strings.TrimSpace(port), func() (all [][]string) {
		data, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			all = append(all, sent(t, line))
		}
		return all
	}
}

// sent returns what a request says, without the instructions.
func sent(t *testing.T, line []byte) (list []string) {
	t.Helper()
	var request struct {
		Body struct {
			Messages []struct {
				Role    string
				Content any
				Calls   []struct {
					Function struct{ Name, Arguments string }
				} `json:"tool_calls"`
			}
		}
	}
	if err := json.Unmarshal(line, &request); err != nil {
		t.Fatal(err)
	}
	for _, m := range request.Body.Messages {
		if m.Role == "system" {
			continue
		}
		words, _ := m.Content.(string)
		if parts, is := m.Content.([]any); is {
			for _, p := range parts {
				text, _ := p.(map[string]any)["text"].(string)
				words += text
			}
		}
		for _, c := range m.Calls {
			words += " " + c.Function.Name + sorted(t, []byte(c.Function.Arguments))
		}
		list = append(list, strings.TrimSpace(m.Role+" "+strings.TrimSpace(words)))
	}
	return list
}

// shown returns what the messages of a state say.
func shown(t *testing.T, state []byte) (list []string) {
	t.Helper()
	var is struct {
		Messages []struct {
			Role    string
			Content []struct {
				Text    string
				ToolUse *struct {
					Name  string
					Input json.RawMessage
				}
				ToolResult *struct{ Content []struct{ Text string } }
			}
		}
	}
	if err := json.Unmarshal(state, &is); err != nil {
		t.Fatal(err)
	}
	for _, m := range is.Messages {
		words := ""
		for _, c := range m.Content {
			words += c.Text
			if c.ToolUse != nil {
				words += " " + c.ToolUse.Name + sorted(t, c.ToolUse.Input)
			}
			if c.ToolResult != nil { // each is a message of its own
				list = append(list, strings.TrimSpace("tool "+strings.TrimSpace(c.ToolResult.Content[0].Text)))
			}
		}
		if m.Role != "tool" {
			list = append(list, strings.TrimSpace(m.Role+" "+strings.TrimSpace(words)))
		}
	}
	return list
}

// sorted returns a JSON object with its members in order.
func sorted(t *testing.T, text []byte) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func write(t failing, file string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// failing is a test, or a part of one.
type failing interface {
	Helper()
	Fatal(args ...any)
}
