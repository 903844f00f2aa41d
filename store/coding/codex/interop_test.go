package codex

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/storetest"
)

// real is the Codex CLI with a home of its own and the scripted model. It has no network.
type real struct {
	*testing.T
	home, log string
	program   string
}

const agents = "../../../testdata/interop/agents"

// startCodex starts the scripted model. The test is skipped where no coding agents are
// installed, and fails where Codex alone is missing.
func startCodex(t *testing.T) *real {
	t.Helper()
	dir := os.Getenv("HINDCAST_AGENTS")
	if dir == "" {
		t.Skip("HINDCAST_AGENTS names no folder: " + agents + "/install makes one")
	}
	r := &real{T: t, home: t.TempDir(), program: filepath.Join(dir, "codex", "node_modules", ".bin", "codex")}
	if _, err := os.Stat(r.program); err != nil {
		t.Fatalf("Codex is not installed: %v", err)
	}
	r.log = filepath.Join(r.home, "requests")
	model := exec.CommandContext(t.Context(), "python3", filepath.Join(agents, "fakellm.py"), r.log)
	hold, err := model.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := model.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := model.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := hold.Close(); err != nil {
			t.Error(err)
		}
		if err := model.Wait(); err != nil {
			t.Logf("the model: %v", err)
		}
	})
	port, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(r.home, ".codex", "config.toml"), fmt.Sprintf(`model = "fake-model"
model_provider = "fake"
approval_policy = "never"
sandbox_mode = "danger-full-access"
[model_providers.fake]
name = "fake"
base_url = "http://127.0.0.1:%s/v1"
wire_api = "responses"
env_key = "FAKE_KEY"
[analytics]
enabled = false
`, strings.TrimSpace(port)))
	write(t, filepath.Join(r.home, "work", "a.txt"), "a\n")
	return r
}

// run runs `codex exec` with some arguments.
func (r *real) run(args ...string) {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, r.program, append([]string{"exec", "--skip-git-repo-check"}, args...)...)
	c.Dir = filepath.Join(r.home, "work")
	c.Env = []string{"HOME=" + r.home, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "SHELL=/bin/bash", "FAKE_KEY=x", "HTTPS_PROXY=http://127.0.0.1:9", "NO_PROXY=127.0.0.1"}
	if out, err := c.CombinedOutput(); err != nil {
		r.Fatalf("codex exec %q: %v\n%s", args, err, out)
	}
}

// sent returns what the model was sent last, in the words of [said].
func (r *real) sent() []string {
	r.Helper()
	lines := strings.Split(strings.TrimSpace(read(r.T, r.log)), "\n")
	var last struct {
		Body struct{ Input []map[string]any }
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil {
		r.Fatal(err)
	}
	return said(last.Body.Input)
}

// said says items in short, without what Codex says itself, which it says anew when it goes
// on: "user: first question", "call c exec_command", "result c".
func said(items []map[string]any) (all []string) {
	for _, item := range items {
		switch kind, _ := item["type"].(string); {
		case kind == "function_call":
			all = append(all, fmt.Sprintf("call %v %v", item["call_id"], item["name"]))
		case kind == "function_call_output":
			all = append(all, fmt.Sprintf("result %v", item["call_id"]))
		case item["role"] == "developer":
		default:
			words := ""
			for _, part := range item["content"].([]any) {
				words += fmt.Sprint(part.(map[string]any)["text"])
			}
			if !slices.ContainsFunc(marks, func(mark string) bool { return strings.HasPrefix(words, mark) }) {
				all = append(all, fmt.Sprintf("%v: %s", item["role"], words))
			}
		}
	}
	return all
}

// shown returns what Hindcast shows at a snapshot, in the same words: of the records in the
// state.
func shown(t *testing.T, dir, session string, at int) []string {
	t.Helper()
	s := opened(t, dir)
	text, err := s.State(t.Context(), storetest.Headers(t, s, session)[at].Ref())
	var is struct {
		Messages []struct{ Raw map[string]any }
	}
	if err == nil {
		err = json.Unmarshal(text, &is)
	}
	if err != nil {
		t.Fatal(err)
	}
	var items []map[string]any
	for _, m := range is.Messages {
		item := m.Raw
		if payload, ok := item["payload"].(map[string]any); ok {
			item = payload
		}
		items = append(items, item)
	}
	return said(items)
}

// Codex goes on from each fork, and sends the model what Hindcast shows: of a session that it
// made now, and of those that older versions made, with a fork, a revert, and a compaction.
func TestInterop_codex(t *testing.T) {
	r := startCodex(t)
	dir := filepath.Join(r.home, ".codex")
	if err := os.CopyFS(dir, os.DirFS(recorded)); err != nil {
		t.Fatal(err)
	}
	was := map[string]bool{}
	for _, info := range storetest.Sessions(t, opened(t, dir)) {
		was[info.ID] = true
	}
	r.run("first question")
	mine := ""
	for _, info := range storetest.Sessions(t, opened(t, dir)) {
		if !was[info.ID] {
			mine = info.ID
		}
	}
	r.run("resume", mine, "run: ls -1\nrun: echo two")
	r.run("resume", mine, "third question")
	r.run("resume", mine, "agent: look around")
	sessions := storetest.Sessions(t, opened(t, dir))
	if !slices.ContainsFunc(sessions, func(info model.SessionInfo) bool { return strings.HasPrefix(info.ID, mine+"/") }) {
		t.Errorf("session %s has no sub-agent: %+v", mine, sessions)
	}
	forks := 0
	for _, session := range []string{mine, whole, forked, envelope, bare} {
		s := opened(t, dir)
		for i, h := range storetest.Headers(t, s, session) {
			plan, err := s.(store.Writer).Plan(t.Context(), model.Change{Op: model.OpFork, Ref: h.Ref()})
			if err != nil || h.EventText() == eventContext {
				continue
			}
			if _, err := s.(store.Writer).Apply(t.Context(), plan); err != nil {
				t.Fatal(err)
			}
			want := append(shown(t, dir, session, i), "user: go on")
			r.run("resume", plan.NewSession, "go on")
			if got := r.sent(); !slices.Equal(got, want) {
				t.Errorf("session %s from #%d: the model was sent\n  %q\nand Hindcast shows\n  %q", session, i, got, want)
			}
			forks++
		}
	}
	t.Logf("%d forks were resumed", forks)
	if forks < 30 {
		t.Errorf("only %d forks were resumed", forks)
	}
}
