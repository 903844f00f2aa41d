package kinds_test

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store/storetest"
	"hindcast/store/storetest/rowstest"
	"hindcast/store/storetest/skip"
)

// Where a call in the conversation has no result, because the result has another id, each kind that can put a
// session back or make one of it says in more plans what comes of that than of the store as it was recorded.
func TestPlan_saysWhatIsRefused(t *testing.T) {
	skip.Sequential(t)
	for _, c := range []struct {
		kind, path string
		// result fits a result up to its id, which to replaces, "" for another id; in a database, update changes it.
		result, to, update string
		says               string
		// never says that no target of the kind is refused for that.
		never bool
	}{
		{kind: "claude-code", path: "coding/claude-code", result: `("tool_use_id":")([^"]+)`, says: "Claude Code: sends an error as the result of the call"},
		{kind: "codex", path: "coding/codex", result: `("type":"(?:function|custom_tool)_call_output"(?:,"id":"[^"]*")?,"call_id":")([^"]+)`, says: `Codex: sends "aborted" as the output of the call`},
		{kind: "pi", path: "coding/pi", result: `("role":"toolResult","toolCallId":")([^"]+)`, says: `pi: sends "No result provided" as the result of the call`},
		{kind: "copilot-cli", path: "coding/copilot-cli", result: `("type":"tool\.execution_complete","data":\{"toolCallId":")([^"]+)`, says: `Copilot CLI: sends "The execution of this tool, or a previous tool was interrupted." as the result of the call`},
		{kind: "gemini-cli", path: "coding/gemini-cli", result: `("functionResponse":\{"id":")([^"]+)`, says: "Gemini CLI: sends a call without arguments before the result"},
		{kind: "qwen", path: "coding/qwen", result: `("functionResponse":\{"id":")([^"]+)`, says: "Qwen Code: sends an error as the result of the call"},
		{kind: "kimi", path: "coding/kimi", result: `("event":\{"type":"tool\.result","parentUuid":"[^"]+","toolCallId":")([^"]+)`, says: "Kimi Code: sends an error as the result of the call"},
		{kind: "openhands", path: "coding/openhands", result: `"llm_message":\{.*"text":"reply to: first question".*"kind":"MessageEvent"`,
			to:   `"thought":[],"action":{"command":"ls","kind":"TerminalAction"},"tool_name":"terminal","tool_call_id":"c1","tool_call":{"id":"c1","name":"terminal","arguments":"{}"},"llm_response_id":"r","kind":"ActionEvent"`,
			says: "OpenHands: leaves the call out when it asks the model"},
		// One part of opencode's has a call with its result, and opencode makes that of one that has not ended.
		{kind: "opencode", path: "coding/opencode/opencode.db", never: true,
			update: `UPDATE part SET data = '{"type":"tool","tool":"bash","callID":"c1","state":{"status":"running","input":{},"time":{"start":1}}}' WHERE data ->> '$.text' = 'reply to: "first question"'`,
			says:   "has no result"},
		{kind: "strands", path: "strands/python-file", result: `(?s)("toolResult": ?\{[^}]*?"toolUseId": ?")([^"]+)`, says: "Tool was interrupted."},
		{kind: "strands-snapshots", path: "strands/python-snapshot", result: `("toolResult": ?\{[^}]*?"toolUseId": ?")([^"]+)`, says: "has no result"},
		{kind: "genkit", path: "genkit/stepsproject-go-1.13.1", result: `(?s)("toolResponse": ?\{[^}]*?"ref": ?")([^"]+)`, says: "Genkit: sends the call without its result: OpenAI Chat, Anthropic and Gemini answer 400"},
		{kind: "adk", path: "adk/sqlite_service.db", update: `UPDATE events SET event_data = replace(event_data, '"function_response":{"id":"', '"function_response":{"id":"none-')`, says: "ADK: leaves the call out when it asks the model"},
		{kind: "openai-agents", path: "openaiagents/sqlite_session.db", update: `UPDATE agent_messages SET message_data = json_set(message_data, '$.call_id', 'none') WHERE message_data ->> '$.type' = 'function_call_output'`, says: "OpenAI Agents SDK: leaves the call out when it asks the model"},
		// The id "c1" of a result is in a pickle in base64: behind it stands None as the name of the tool.
		{kind: "agent-framework", path: "agent-framework/agents", result: `jAJjMZSMBG5hbWWUTo`, to: `jAJjOZSMBG5hbWWUTo`,
			says: "Agent Framework: sends the call without its result: OpenAI Chat, OpenAI Responses, Anthropic, Gemini and Bedrock answer 400"},
		// A crew sends again what was said in a task that has no output yet, see Crew._restore_runtime of 1.15.30.
		{kind: "crewai", path: "crewai/checkpoints.db",
			update: `UPDATE checkpoints SET data = jsonb(replace(replace(json(data), '"output":{', '"output":null,"was":{'), '{"role":"user"', '{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"weather","arguments":"{}"}}]},{"role":"user"'))`,
			says:   "crewAI: sends the call without its result: OpenAI Chat, OpenAI Responses, Anthropic, Gemini and Bedrock answer 400"},
		{kind: "crewai", path: "crewai/json", result: `\{"role": ?"user"`, to: `{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"weather","arguments":"{}"}}]},$0`, says: "has no result", never: true},
	} {
		t.Run(c.kind+"/"+filepath.Base(c.path), func(t *testing.T) {
			from := filepath.Join(testdata, filepath.FromSlash(c.path))
			before := planned(t, c.kind, from, c.says)
			to := filepath.Join(t.TempDir(), filepath.Base(from))
			if c.update != "" {
				to = rowstest.Copied(t, from)
				rowstest.Execute(t, to, c.update)
			} else if err := os.CopyFS(to, os.DirFS(from)); err != nil {
				t.Fatal(err)
			}
			fits := regexp.MustCompile(c.result)
			err := filepath.WalkDir(to, func(path string, e fs.DirEntry, err error) error {
				if err != nil || e.IsDir() || c.update != "" {
					return err
				}
				data, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				return os.WriteFile(path, fits.ReplaceAll(data, []byte(cmp.Or(c.to, "${1}none-${2}"))), 0o600)
			})
			if err != nil {
				t.Fatal(err)
			}
			if after := planned(t, c.kind, to, c.says); c.never && after > 0 || !c.never && after <= before {
				t.Errorf("%d plans say %q, and %d did as it was recorded", after, c.says, before)
			}
		})
	}
}

// planned returns how many of the plans of restoring and forking each snapshot of a store warn in some words.
func planned(t *testing.T, kind, path, words string) (warned int) {
	t.Helper()
	s, err := allKinds.Open(t.Context(), kind+":"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	plans := 0
	for _, info := range storetest.Sessions(t, s) {
		for _, h := range storetest.Headers(t, s, info.ID) {
			for _, c := range []model.Change{{Op: model.OpRestore, Ref: h.Ref()}, {Op: model.OpFork, Ref: h.Ref()}, {Op: model.OpFork, Ref: h.Ref(), As: "made"}} {
				plan, err := s.Features().Plan(t.Context(), c)
				if err != nil {
					continue // another one can
				}
				if plans++; strings.Contains(strings.Join(plan.Hazards, "\n"), words) {
					warned++
				}
			}
		}
	}
	if plans == 0 {
		t.Errorf("%s: nothing can be planned", path)
	}
	return warned
}
