package claudecode

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"hindcast/store/engine/chat"
)

func parsed(t *testing.T, text string) chat.Value {
	t.Helper()
	v, err := chat.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestMessage_roles: a message of the user that has a result is one of the tool, whatever stands beside it.
func TestMessage_roles(t *testing.T) {
	for text, want := range map[string]chat.Role{
		`{"type":"user","message":{"role":"user","content":"words"}}`:                                                                    chat.User,
		`{"type":"user","message":{"role":"user","content":[{"type":"text","text":"words"}]}}`:                                           chat.User,
		`{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"ok"}]}}`:                  chat.Tool,
		`{"type":"user","message":{"role":"user","content":[{"type":"text","text":"x"},{"type":"tool_result","tool_use_id":"c"}]}}`:      chat.Tool,
		`{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c"},{"type":"text","text":"behind"}]}}`: chat.Tool,
		`{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"x"}]}}`:                                     chat.Assistant,
	} {
		if got := messageOf(parsed(t, text)).Role; got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// TestProgress: of the records of progress those of a sub-agent tell of messages, and of these the ones
// of the user and of the model.
func TestProgress(t *testing.T) {
	of := func(kind, speaks string) string {
		return `{"type":"progress","parentToolUseID":"c","data":{"type":"` + kind + `","agentId":"a1","message":{"type":"` + speaks + `","message":{"role":"` + speaks + `","content":[{"type":"text","text":"words"}]}}}}`
	}
	for text, want := range map[string]string{
		of("agent_progress", "user"):      agentPrefix + "a1",
		of("agent_progress", "assistant"): agentPrefix + "a1",
		of("agent_progress", "system"):    "",
		of("hook_progress", "user"):       "",
	} {
		var r record
		r.keepProgress(parsed(t, text))
		if r.within != want || (r.call == "c") != (want != "") {
			t.Errorf("%s: within %q, of %q", text, r.within, r.call)
		}
	}
}

// TestKept: for how long a session is kept the settings beside the folder of projects say, and none beside
// another folder.
func TestKept(t *testing.T) {
	for name, want := range map[string]float64{projects: 90, "copy": keptDays} {
		top := t.TempDir()
		for file, text := range map[string]string{"settings.json": `{"cleanupPeriodDays":90}`, filepath.Join(name, "x"): ""} {
			path := filepath.Join(top, file)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		if got := daysKept(filepath.Join(top, name)); got != want {
			t.Errorf("%s: %v days", name, got)
		}
	}
	if got := daysKept(filepath.Join(t.TempDir(), "none", projects)); got != keptDays {
		t.Errorf("%v days", got)
	}
}

// TestResume: a session is resumed in the folder that the name of its project's folder was made of, where
// one that is known is.
func TestResume(t *testing.T) {
	for _, c := range []struct{ dir, project, want string }{
		{"/home/a", "/home/b", "/home/a"}, {"/home/c", "/home/a", "/home/a"}, {"/home/c", "/home/b", "/home/c"}, {"/home/a", "/home/a", "/home/a"},
	} {
		s := &chat.Session{Spot: chat.Spot{File: "-home-a/x.jsonl"}, Project: c.project}
		got := resume(s, &chat.Entry{Meta: &chat.Meta{Dir: c.dir}}, "x")
		if want := chat.Command(c.want, "claude", "--resume", "x"); got != want {
			t.Errorf("in %s, of %s: %s", c.dir, c.project, got)
		}
	}
}
