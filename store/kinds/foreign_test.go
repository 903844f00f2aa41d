package kinds

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hindcast/store"
	"hindcast/store/storetest/skip"
	"hindcast/store/survey"
)

// A file that has the envelope of one agent and the bodies of another.
var foreign = []struct {
	name, kind string
	// file is where it lies below the opened folder.
	file  string
	lines []string
	// says is what the refusal has; "" for a file that opens.
	says string
}{
	{"Qwen Code", "qwen", "-home-demo/44444444-1111-4222-8333-444444444444.jsonl", []string{
		`{"uuid":"u1","parentUuid":null,"sessionId":"44444444-1111-4222-8333-444444444444","type":"user","message":{"role":"user","parts":[{"text":"first question"}]}}`,
		`{"uuid":"u2","parentUuid":"u1","sessionId":"44444444-1111-4222-8333-444444444444","type":"assistant","message":{"role":"model","parts":[{"text":"two files"}]}}`,
	}, ""},
	{"Qwen Code begins with its own records", "qwen", "-home-demo/44444444-1111-4222-8333-444444444444.jsonl", []string{
		`{"uuid":"u0","parentUuid":null,"sessionId":"44444444-1111-4222-8333-444444444444","type":"system","subtype":"ui_telemetry","systemPayload":{}}`,
		`{"uuid":"u1","parentUuid":"u0","sessionId":"44444444-1111-4222-8333-444444444444","type":"tool_result","message":{"role":"user","parts":[{"functionResponse":{"name":"ls","response":{"output":"a b"}}}]}}`,
	}, ""},
	{"iFlow", "iflow", "-home-demo/session-55555555-1111-4222-8333-444444444444.jsonl", []string{
		`{"uuid":"u1","parentUuid":null,"sessionId":"session-55555555-1111-4222-8333-444444444444","type":"user","message":{"role":"user","content":"set the variable"}}`,
	}, ""},
	{"Droid's stream", "claude-code", "-home-demo/77777777-1111-4222-8333-444444444444.jsonl", []string{
		`{"type":"system","subtype":"init","cwd":"/home/demo","sessionId":"77777777-1111-4222-8333-444444444444"}`,
		`{"type":"message","role":"user","id":"m1","text":"hello","sessionId":"77777777-1111-4222-8333-444444444444"}`,
		`{"type":"completion","finalText":"Hi.","sessionId":"77777777-1111-4222-8333-444444444444"}`,
	}, "no record has message.content"},
	{"DeepSeek's agent", "pi", "session-66666666/session.jsonl", []string{
		`{"type":"session","id":"66666666-1111-4222-8333-444444444444","timestamp":"2026-11-27T10:00:00.000Z","cwd":"/home/demo/app"}`,
		`{"type":"user/message","id":"e1","data":{"content":[{"type":"text","text":"how many connections"}]}}`,
	}, "no record has a message of pi's: perhaps DeepSeek's agent's"},
	{"messages without a content under pi's header", "pi", "--home--/a_b.jsonl", []string{
		`{"type":"session","id":"b","cwd":"/home/demo"}`,
		`{"type":"message","id":"e1","message":{"role":"user","parts":[{"text":"hello"}]}}`,
	}, "no record has a message of pi's: perhaps Qwen Code's"},
	{"records of another log under a header of Codex", "codex", "sessions/2026/11/27/rollout-2026-11-27T10-00-00-01a20000-0000-7000-8000-000000000010.jsonl", []string{
		`{"timestamp":"2026-11-27T10:00:00.000Z","type":"session_meta","payload":{"id":"01a20000-0000-7000-8000-000000000010","cwd":"/home/demo"}}`,
		`{"timestamp":"2026-11-27T10:00:01.000Z","type":"chat","payload":{"role":"user","text":"hello"}}`,
	}, "no record has a response_item"},
	{"messages with parts under Gemini's header", "gemini-cli", "tmp/app/chats/session-2026-11-27T10-00-77777777.jsonl", []string{
		`{"sessionId":"77777777-1111-4222-8333-444444444444","projectHash":"x"}`,
		`{"id":"1","type":"user","parts":[{"text":"hello"}]}`,
	}, "no record has a message with a content"},
	{"a document of Gemini's shape with parts", "gemini-cli", "tmp/app/chats/session-2026-11-27T10-00-77777777.json", []string{
		`{"sessionId":"77777777-1111-4222-8333-444444444444","projectHash":"x","messages":[{"id":"1","type":"user","parts":[{"text":"hello"}]}]}`,
	}, "no record has a message with a content"},
	{"events of another program behind Copilot's start", "copilot-cli", "88888888-1111-4222-8333-444444444444/events.jsonl", []string{
		`{"type":"session.start","data":{"sessionId":"88888888-1111-4222-8333-444444444444"},"id":"e1","timestamp":"2026-11-27T10:00:00.000Z"}`,
		`{"type":"prompt","text":"hello","id":"e2"}`,
	}, "no record has an event with data of Copilot CLI's"},

	{"Claude Code behind Qwen Code", "claude-code", "-home-demo/44444444-1111-4222-8333-444444444444.jsonl", []string{
		`{"uuid":"u1","parentUuid":null,"sessionId":"44444444-1111-4222-8333-444444444444","type":"user","message":{"role":"user","parts":[{"text":"first question"}]}}`,
		`{"uuid":"u2","parentUuid":"u1","sessionId":"44444444-1111-4222-8333-444444444444","type":"user","message":{"role":"user","content":"second"}}`,
	}, ""},
	{"Claude Code without a message", "claude-code", "-home-demo/44444444-1111-4222-8333-444444444444.jsonl", []string{
		`{"type":"summary","summary":"Fix the build","leafUuid":"u9"}`,
	}, ""},
	{"pi without a message", "pi", "--home--/a_b.jsonl", []string{`{"type":"session","id":"b","cwd":"/home/demo"}`, `{"type":"model_change","id":"e1","modelId":"m"}`}, ""},
	{"pi with one of an extension", "pi", "--home--/a_b.jsonl", []string{
		`{"type":"session","id":"b","cwd":"/home/demo"}`, `{"type":"new_kind","id":"e1","text":"x"}`, `{"type":"message","id":"e2","message":{"role":"user","content":"hello"}}`,
	}, ""},
	{"Codex without a message", "codex", "sessions/2026/11/27/rollout-2026-11-27T10-00-00-01a20000-0000-7000-8000-000000000010.jsonl", []string{
		`{"timestamp":"2026-11-27T10:00:00.000Z","type":"session_meta","payload":{"id":"01a20000-0000-7000-8000-000000000010","cwd":"/home/demo","base_instructions":{"text":"You are Codex"}}}`,
	}, ""},
	{"Gemini without a message", "gemini-cli", "tmp/app/chats/session-2026-11-27T10-00-77777777.jsonl", []string{`{"sessionId":"77777777-1111-4222-8333-444444444444","projectHash":"x"}`}, ""},
}

// A file whose bodies no format reads is refused with the reason by its path, by its folder and by
// the name of the kind. One with a body that is read, or with none as yet, opens.
func TestKinds_foreignBodies(t *testing.T) {
	skip.Sequential(t)
	kinds := All(nil, "")
	for _, c := range foreign {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, filepath.FromSlash(c.file))
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(strings.Join(c.lines, "\n")+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, address := range []string{file, filepath.Dir(file), c.kind + ":" + file, c.kind + ":" + filepath.Dir(file)} {
				s, err := kinds.Open(t.Context(), address)
				if err == nil {
					s.Close()
				}
				switch {
				case c.says == "" && err != nil:
					t.Errorf("%s: %v", address, err)
				case c.says == "" && s.Kind() != c.kind:
					t.Errorf("%s opens as %s", address, s.Kind())
				case c.says != "" && (!errors.Is(err, store.ErrUnrecognised) || !strings.Contains(err.Error(), c.says)):
					t.Errorf("%s: %v, want a refusal that says %q", address, err, c.says)
				}
			}
			told := false
			for f, err := range survey.Folder(t.Context(), kinds, dir) {
				if err != nil {
					t.Fatal(err)
				}
				if c.says != "" && f.Kind != "" {
					t.Errorf("a survey takes %s for %s", f.Path, f.Kind)
				}
				told = told || strings.Contains(f.Why, c.says) && c.says != "" || f.Kind == c.kind
			}
			if !told {
				t.Errorf("a survey does not tell %q", c.says)
			}
		})
	}
}
