package kinds_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/kinds"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// homes are where the agents keep sessions, and what leads one to another home.
var homes = []struct {
	kind string
	// within is where the storage is in that of testdata.
	within string
	// own is the home of the agent in that of the user, and below where the storage is in it.
	own, below string
	// variable names another home, "" where none does; leads is how the call of a copy begins behind the
	// change of the folder, HOME for the home of the copy.
	variable, leads string
	// lost is what a call says where the storage is in no such folder, "" where every folder is one.
	lost string
}{
	{"codex", "", ".codex", "", "CODEX_HOME", "CODEX_HOME='HOME' codex resume ", ""},
	{"claude-code", "projects", ".claude", "projects", "CLAUDE_CONFIG_DIR", "CLAUDE_CONFIG_DIR='HOME' claude --resume ", "where Claude Code keeps sessions"},
	{"copilot-cli", "", ".copilot", "session-state", "COPILOT_HOME", "COPILOT_HOME='HOME' copilot --resume=", "where Copilot CLI keeps sessions"},
	{"gemini-cli", "", "", ".gemini/tmp", "GEMINI_CLI_HOME", "GEMINI_CLI_HOME='HOME' gemini --resume ", "where Gemini CLI keeps sessions"},
	{"qwen", "projects", ".qwen", "projects", "QWEN_RUNTIME_DIR", "QWEN_RUNTIME_DIR='HOME' qwen -r ", "where Qwen Code keeps sessions"},
	{"kimi", "sessions", ".kimi-code", "sessions", "KIMI_CODE_HOME", "KIMI_CODE_HOME='HOME' kimi -r ", "where Kimi Code keeps sessions"},
	{"openhands", "", ".openhands/conversations", "", "OPENHANDS_CONVERSATIONS_DIR", "OPENHANDS_CONVERSATIONS_DIR='HOME' openhands --resume ", ""},
	{"opencode", "", ".local/share/opencode", "", "", "OPENCODE_DB='HOME/opencode.db' opencode -s ", ""},
	{"pi", "", ".pi/agent/sessions", "", "PI_CODING_AGENT_SESSION_DIR", "pi --session 'HOME/", ""},
	{"crush", "", ".crush", "", "", "crush --data-dir 'HOME' -s ", ""},
	{"aider", "", "", "", "", "aider --restore-chat-history --chat-history-file 'HOME/.aider.chat.history.md'", ""},
}

// A call that resumes a session leads the agent to its storage exactly where the agent does not look
// there: of a copy it names the copy, and of what is in the agent's place, or in one that the
// environment names, it names nothing.
func TestResume_leadsToTheStorage(t *testing.T) {
	skip.Sequential(t)
	for _, c := range homes {
		t.Run(c.kind, func(t *testing.T) {
			user, copied, lost := t.TempDir(), filepath.Join(t.TempDir(), "a home"), filepath.Join(t.TempDir(), "elsewhere")
			fixture, err := filepath.Abs(filepath.Join(testdata, "coding", c.kind, c.within))
			if err != nil {
				t.Fatal(err)
			}
			t.Setenv("HOME", user)
			t.Chdir(user)
			for _, variable := range []string{c.variable, "PI_CODING_AGENT_DIR", "XDG_DATA_HOME", "OPENCODE_DB", "OPENHANDS_PERSISTENCE_DIR"} {
				if variable != "" {
					t.Setenv(variable, "")
				}
			}
			for _, dir := range []string{filepath.Join(user, c.own, c.below), filepath.Join(copied, c.below), lost} {
				if err := os.CopyFS(dir, os.DirFS(fixture)); err != nil {
					t.Fatal(err)
				}
			}
			for _, call := range resumes(t, c.kind, filepath.Join(user, c.own, c.below)) {
				if strings.Contains(call.Call, user) || strings.Contains(call.Call, "=/") {
					t.Errorf("in its place it is resumed by %s", call.Call)
				}
			}
			leads := strings.ReplaceAll(c.leads, "HOME'", copied+"'")
			leads = strings.ReplaceAll(leads, "HOME/", copied+"/")
			calls := resumes(t, c.kind, filepath.Join(copied, c.below))
			for _, call := range calls {
				command := call.Call
				if strings.HasPrefix(command, "cd ") {
					_, command, _ = strings.Cut(command, " && ")
				}
				if !strings.HasPrefix(command, leads) || c.lost != "" && strings.Contains(call.Then, c.lost) {
					t.Errorf("in a copy it is resumed by %s, which %s; want %s", call.Call, call.Then, leads)
				}
			}
			if c.variable != "" {
				t.Setenv(c.variable, copied)
				for _, call := range resumes(t, c.kind, filepath.Join(copied, c.below)) {
					if strings.Contains(call.Call, copied) {
						t.Errorf("where the environment names it, it is resumed by %s", call.Call)
					}
				}
			}
			for _, call := range resumes(t, c.kind, lost) {
				if c.lost != "" && (strings.Contains(call.Call, lost) || !strings.HasSuffix(call.Then, c.lost)) {
					t.Errorf("in a folder that no variable leads to it is resumed by %s, which %s", call.Call, call.Then)
				}
			}
		})
	}
}

// resumes returns the first call that goes on from the head of each session of a store which has one,
// and is for a shell.
func resumes(t *testing.T, kind, dir string) (list []model.Resume) {
	t.Helper()
	if chats := filepath.Join(dir, ".aider.chat.history.md"); kind == "aider" {
		dir = chats
	}
	all := kinds.All(nil, t.TempDir())
	s, err := all[slices.IndexFunc(all, func(k store.Kind) bool { return k.Name == kind })].Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, info := range storetest.Sessions(t, s) {
		for _, h := range storetest.Headers(t, s, info.ID) {
			if !h.Head {
				continue
			}
			calls, err := s.Features().Resume(t.Context(), h.Ref())
			if err != nil {
				t.Fatal(err)
			}
			if i := slices.IndexFunc(calls, func(r model.Resume) bool {
				return !strings.HasPrefix(r.Call, "Conversation(") && !strings.Contains(r.Call, " import ")
			}); i >= 0 {
				list = append(list, calls[i])
			}
		}
	}
	if len(list) == 0 {
		t.Fatalf("no session of %s is resumed", dir)
	}
	return list
}
