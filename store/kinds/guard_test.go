package kinds

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store/storetest/skip"
)

// Records whose text no message shows are counted, with the first place, and those of a session in
// whose messages all is are not.
func TestGuard(t *testing.T) {
	skip.Sequential(t)
	claude := claudeLines(`user "first"`, done)
	for _, c := range []struct {
		name, file string
		lines      []string
		count      string // how the fault begins, "" for none
		place      string
	}{
		{"Claude Code", claudeFile, claude, "", ""},
		{"Claude Code with records of Qwen Code", claudeFile, append(slices.Clone(claude),
			`{"uuid":"u8","parentUuid":"00000002-0000-4000-8000-000000000002","sessionId":"33333333-aaaa-4bbb-8ccc-000000000002","type":"user","message":{"role":"user","parts":[{"text":"forty"}]}}`,
			`{"uuid":"u9","parentUuid":"u8","sessionId":"33333333-aaaa-4bbb-8ccc-000000000002","type":"tool_result","message":{"role":"user","parts":[{"functionResponse":{"response":{"output":"a b"}}}]}}`,
		), "2 records have texts", "line 3"},
		{"Claude Code with a record without an id", claudeFile, append(slices.Clone(claude), `{"sessionId":"33333333-aaaa-4bbb-8ccc-000000000002","type":"user","message":{"role":"user","content":"lost"}}`), "", ""},
		{"Claude Code with a type that is not known", claudeFile, append(slices.Clone(claude), `{"type":"note","text":"hello there","sessionId":"33333333-aaaa-4bbb-8ccc-000000000002"}`), "1 record has a text", "line 3"},
		{"Claude Code with bookkeeping", claudeFile, append(slices.Clone(claude), `{"type":"permission-mode","permissionMode":"plan","sessionId":"33333333-aaaa-4bbb-8ccc-000000000002"}`, `{"type":"queue-operation","operation":"enqueue","content":"later"}`), "", ""},
		{"pi", piFile, append(piLines(`user "hello"`, `assistant [{"type":"text","text":"Hi."}]`), `{"type":"user/message","id":"00000009","parentId":"00000002","data":{"content":[{"type":"text","text":"how many"}]}}`), "1 record has a text", "line 4"},
		{"pi with the state of an extension", piFile, append(piLines(`user "hello"`), `{"type":"custom","id":"00000009","parentId":"00000001","data":{"text":"mine"}}`), "", ""},
		{"Codex", codexFile, append(codexLines(`user [{"type":"input_text","text":"list"}]`),
			`{"timestamp":"2026-11-27T10:00:03.000Z","type":"event_msg","payload":{"type":"user_message","message":"list"}}`,
			`{"timestamp":"2026-11-27T10:00:03.000Z","type":"chat","payload":{"role":"user","text":"more"}}`), "1 record has a text", "line 4"},
		{"Gemini CLI", geminiFile, []string{
			`{"sessionId":"77777777-1111-4222-8333-444444444444","projectHash":"x","startTime":"2026-11-27T10:00:00.000Z"}`,
			`{"id":"1","timestamp":"2026-11-27T10:00:01.000Z","type":"user","content":"hello"}`,
			`{"id":"2","timestamp":"2026-11-27T10:00:02.000Z","type":"gemini","parts":[{"text":"Hi."}]}`,
		}, "1 record has a text", "line 3"},
		{"Copilot CLI", copilotFile, []string{
			`{"type":"session.start","data":{"sessionId":"88888888-1111-4222-8333-444444444444","context":{"cwd":"/home/demo"}},"id":"e1","timestamp":"2026-11-27T10:00:00.000Z","parentId":null}`,
			`{"type":"user.message","data":{"content":"add a test"},"id":"e2","timestamp":"2026-11-27T10:00:01.000Z","parentId":"e1"}`,
			`{"type":"prompt","data":{"text":"another"},"id":"e3","timestamp":"2026-11-27T10:00:02.000Z","parentId":"e2"}`,
		}, "1 record has a text", "line 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), filepath.FromSlash(c.file))
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(strings.Join(c.lines, "\n")+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			switch faults := unreadIn(t, filepath.Dir(file)); {
			case len(faults) == 0 && c.count != "":
				t.Error("there is no fault")
			case len(faults) > 0 && (c.count == "" || len(faults) > 1 || !strings.HasPrefix(faults[0].Meaning, c.count) || faults[0].Path != c.place || faults[0].Severity <= model.Note):
				t.Errorf("the faults are %v, want %q at %s", faults, c.count, c.place)
			}
		})
	}
}
