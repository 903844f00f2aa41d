package opencode

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store/engine/chat"
	"hindcast/store/storetest"
	"hindcast/store/storetest/chattest"
)

// opencode imports what a fork wrote and goes on in it: what it sends to the model is what
// Hindcast shows at the head of the fork. The positions are those that opencode itself has no
// way to: deleted by a revert, cut by one that is pending, behind a compaction, a tool that was
// interrupted. Before them are an answer that failed and one that the user stopped.
func TestInterop_opencode(t *testing.T) {
	p := start(t)
	data := filepath.Join(p.home, ".local", "share", "opencode")
	failed := func(message, name string) string {
		return `UPDATE message SET data = json_set(data, '$.error', json('{"name":"` + name + `","data":{"message":"no","isRetryable":false}}')) WHERE id = '` + message + `'`
	}
	database, err := os.ReadFile(filepath.Join(edited(t, recorded,
		failed("msg_20b7ae23600158HYukOtI6S4z2", "APIError"), failed("msg_20b7af49b001hfXkS6we4XLLaY", errorStopped),
		`UPDATE part SET data = json_set(json_remove(data, '$.state.output', '$.state.title', '$.state.time.end'), '$.state.status', 'running') WHERE id = 'prt_20b7b573c001oriNFic2l8TI2h'`), "opencode.db"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(data, "opencode.db"), database)
	write(t, filepath.Join(p.work, "notes.txt"), []byte("a file\n"))
	s, err := Kind(nil).Open(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	w := storetest.AsWriter(s)
	for _, at := range []struct {
		name, session string
		index         int
	}{
		{"a tool that was interrupted", main, 7},
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
			p.run(t, "import", file)
			p.run(t, "run", "-s", receipt.Session, "and", "then")
			headers := storetest.Headers(t, s, receipt.Session)
			if len(headers) < 3 || headers[len(headers)-2].Title != "and then" {
				t.Fatalf("the imported session has %d snapshots", len(headers))
			}
			state, err := s.State(t.Context(), headers[len(headers)-2].Ref())
			if err != nil {
				t.Fatal(err)
			}
			want, sent := shown(t, state), p.sent(t)
			if !slices.ContainsFunc(sent, func(got []string) bool { return slices.Equal(got, want) }) {
				t.Errorf("opencode sent\n  %s\nand Hindcast shows\n  %s", strings.Join(sent[len(sent)-1], "\n  "), strings.Join(want, "\n  "))
			}
		})
	}
}

// Where variables have opencode keep its database, Hindcast finds it.
func TestInterop_opencodeElsewhere(t *testing.T) {
	p := start(t)
	export, err := filepath.Abs("testdata/export.json")
	if err != nil {
		t.Fatal(err)
	}
	p.env = []string{"XDG_DATA_HOME=" + filepath.Join(p.home, "elsewhere"), "OPENCODE_DB=my.db"}
	p.run(t, "import", export)
	if _, err := os.Stat(filepath.Join(p.home, "elsewhere", "opencode", "my.db")); err != nil {
		t.Errorf("opencode keeps it elsewhere: %v", err)
	}
	chattest.Found(t, Kind(nil).Kind, p.home, p.env...)
}

// program is opencode with a home of its own and a scripted model.
type program struct {
	tool, home, work string
	env              []string
	llm              *chattest.Model
}

func start(t *testing.T) *program {
	t.Helper()
	home := t.TempDir()
	p := &program{chattest.Program(t, "opencode", "node_modules", ".bin", "opencode"), home, filepath.Join(home, "work"), nil, chattest.Start(t)}
	write(t, filepath.Join(home, ".config", "opencode", "opencode.json"), fmt.Appendf(nil, `{"model": "scripted/scripted", "small_model": "scripted/scripted",
		"autoupdate": false, "share": "disabled", "provider": {"scripted": {"npm": "@ai-sdk/openai-compatible", "name": "scripted",
		"options": {"baseURL": "%s/v1", "apiKey": "none"}, "models": {"scripted": {"name": "scripted", "tool_call": true,
		"limit": {"context": 100000, "output": 4000}, "cost": {"input": 3, "output": 15}}}}}, "permission": {"bash": "allow", "edit": "allow"}}`, p.llm.URL))
	if err := os.MkdirAll(p.work, 0o700); err != nil {
		t.Fatal(err)
	}
	return p
}

// run runs opencode in its folder of work.
func (p *program) run(t *testing.T, args ...string) {
	t.Helper()
	env := []string{"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1", "NO_PROXY=127.0.0.1,localhost"}
	chattest.Run(t, p.work, p.home, chat.Command("", append([]string{p.tool}, args...)...), append(env, p.env...)...)
}

// sent returns what the model was sent until now.
func (p *program) sent(t *testing.T) (all [][]string) {
	t.Helper()
	for _, r := range p.llm.Requests(t) {
		all = append(all, sent(t, r.Body))
	}
	return all
}

// sent returns what a request says, without the instructions.
func sent(t *testing.T, body []byte) (list []string) {
	t.Helper()
	var request struct {
		Messages []struct {
			Role    string
			Content any
			Calls   []struct {
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
	}
	if err := json.Unmarshal(body, &request); err != nil {
		t.Fatal(err)
	}
	for _, m := range request.Messages {
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
