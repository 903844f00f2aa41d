package codex

import (
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
	"hindcast/store/engine"
	"hindcast/store/media/tree"
	"hindcast/store/storetest"
	"hindcast/store/storetest/chattest"
)

// real is the Codex CLI with a home of its own and the scripted model. It has no network.
type real struct {
	*testing.T
	*chattest.Model
	home, program string
	env           []string // besides what is always set
}

func startCodex(t *testing.T) *real {
	t.Helper()
	r := &real{T: t, home: t.TempDir(), program: chattest.Program(t, "codex", "node_modules", ".bin", "codex")}
	r.Model = chattest.Start(t)
	write(t, filepath.Join(r.home, ".codex", "config.toml"), fmt.Sprintf(`model = "fake-model"
model_provider = "fake"
approval_policy = "never"
sandbox_mode = "danger-full-access"
[model_providers.fake]
name = "fake"
base_url = "%s/v1"
wire_api = "responses"
env_key = "FAKE_KEY"
[analytics]
enabled = false
`, r.URL))
	write(t, filepath.Join(r.home, "work", "a.txt"), "a\n")
	return r
}

// run runs `codex exec` with some arguments. The error has what it prints.
func (r *real) run(args ...string) error {
	ctx, cancel := context.WithTimeout(r.Context(), time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, r.program, append([]string{"exec", "--skip-git-repo-check"}, args...)...)
	c.Dir = filepath.Join(r.home, "work")
	c.Env = append([]string{"HOME=" + r.home, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "SHELL=/bin/bash", "FAKE_KEY=x", "HTTPS_PROXY=http://127.0.0.1:9", "NO_PROXY=127.0.0.1"}, r.env...)
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("codex exec %q: %w\n%s", args, err, out)
	}
	return nil
}

// must runs `codex exec`, which succeeds.
func (r *real) must(args ...string) {
	r.Helper()
	if err := r.run(args...); err != nil {
		r.Fatal(err)
	}
}

// sent returns what the model was sent last, in the words of [said].
func (r *real) sent() []string {
	r.Helper()
	all := r.Requests(r)
	var last struct{ Input []map[string]any }
	if err := json.Unmarshal(all[len(all)-1].Body, &last); err != nil {
		r.Fatal(err)
	}
	return said(last.Input)
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
		Messages []struct{ Raw json.RawMessage }
	}
	if err == nil {
		err = json.Unmarshal(text, &is)
	}
	if err != nil {
		t.Fatal(err)
	}
	var items []map[string]any
	for _, m := range is.Messages {
		var list []map[string]any // the item, and the events about it
		if raw := m.Raw; raw[0] != '[' {
			m.Raw = slices.Concat([]byte{'['}, raw, []byte{']'})
		}
		if err := json.Unmarshal(m.Raw, &list); err != nil {
			t.Fatal(err)
		}
		for _, item := range list {
			if item["type"] == "event_msg" && len(list) > 1 {
				continue
			}
			if payload, ok := item["payload"].(map[string]any); ok {
				item = payload
			}
			items = append(items, item)
		}
	}
	return said(items)
}

// Codex goes on from each fork, and sends the model what Hindcast shows: of a session that it
// made now, and of those that older versions made, with a fork, reverts, rollbacks, and
// compactions, plain and packed.
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
	r.must("first question")
	mine := ""
	for _, info := range storetest.Sessions(t, opened(t, dir)) {
		if !was[info.ID] {
			mine = info.ID
		}
	}
	r.must("resume", mine, "run: ls -1\nrun: echo two")
	r.must("resume", mine, "third question")
	r.must("resume", mine, "agent: look around")
	sessions := storetest.Sessions(t, opened(t, dir))
	if !slices.ContainsFunc(sessions, func(info model.SessionInfo) bool { return strings.HasPrefix(info.ID, mine+"/") }) {
		t.Errorf("session %s has no sub-agent: %+v", mine, sessions)
	}
	forks := 0
	for _, session := range []string{mine, whole, forked, envelope, bare, old, resumed} {
		s := opened(t, dir)
		for i, h := range storetest.Headers(t, s, session) {
			if (session == old || session == resumed) && !slices.Contains([]int{8, 11, 19, 22, 31}, i) {
				continue // it is long
			}
			plan, err := s.Features().Plan(t.Context(), model.Change{Op: model.OpFork, Ref: h.Ref()})
			if err != nil || h.EventText() == eventContext {
				continue
			}
			if _, err := s.Features().Apply(t.Context(), plan); err != nil {
				t.Fatal(err)
			}
			want := append(shown(t, dir, session, i), "user: go on")
			r.must("resume", plan.NewSession, "go on")
			if got := r.sent(); !slices.Equal(got, want) {
				t.Errorf("session %s from #%d: the model was sent\n  %q\nand Hindcast shows\n  %q", session, i, got, want)
			}
			forks++
		}
	}
	t.Logf("%d forks were resumed", forks)
	if forks < 45 {
		t.Errorf("only %d forks were resumed", forks)
	}
}

// Once the rollout is gone that a fork of Codex's own has its history in, Codex refuses the
// fork, in the words of the fault. It goes on from the one that Hindcast made before.
func TestInterop_codexRescue(t *testing.T) {
	r := startCodex(t)
	dir := filepath.Join(r.home, ".codex")
	if err := os.CopyFS(dir, os.DirFS(recorded)); err != nil {
		t.Fatal(err)
	}
	rescued := fork(t, opened(t, dir), storetest.Headers(t, opened(t, dir), forked)[9])
	want := append(shown(t, dir, forked, 9), "user: go on")
	for _, name := range []string{wholeFile, segmentFile} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	faults := storetest.Faults(t, opened(t, dir), forked)
	if err := r.run("resume", forked, "go on"); err == nil || len(faults) != 1 || !strings.Contains(err.Error(), "missing source rollout") {
		t.Errorf("Codex says: %v\nand the faults are %+v", err, faults)
	}
	r.must("resume", rescued, "go on")
	if got := r.sent(); !slices.Equal(got, want) {
		t.Errorf("the model was sent\n  %q\nand Hindcast shows\n  %q", got, want)
	}
}

// Where variables have Codex keep its sessions and their index, Hindcast finds them.
func TestInterop_codexElsewhere(t *testing.T) {
	r := startCodex(t)
	dir := filepath.Join(t.TempDir(), "elsewhere")
	if err := os.Rename(filepath.Join(r.home, ".codex"), dir); err != nil {
		t.Fatal(err)
	}
	elsewhere, index := "CODEX_HOME="+dir, t.TempDir()
	r.env = []string{elsewhere, "CODEX_SQLITE_HOME=" + index}
	r.must("first question")
	chattest.Found(t, Kind(nil).Kind, r.home, elsewhere)
	t.Setenv("CODEX_HOME", dir)
	t.Setenv("CODEX_SQLITE_HOME", index)
	disk, err := tree.OpenDisk(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer disk.Close()
	if got := newFormat(dir).currentIndex(t.Context(), engine.In{Tree: disk}); got.dir != index || len(got.rows) != 1 || got.err != nil {
		t.Errorf("the index is %+v", got)
	}
}
