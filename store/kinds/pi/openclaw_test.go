package pi

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hindcast/store"
	"hindcast/store/storetest"
)

// Sessions of OpenClaw and of oh-my-pi are found, with what OpenClaw set aside, and the key of a session is in its call.
func TestPlaces_ofOtherPrograms(t *testing.T) {
	home := t.TempDir()
	text := func(id, words string) string {
		return fmt.Sprintf(`{"type":"session","id":%q,"version":3,"timestamp":"2026-02-24T09:00:00Z","cwd":"/w"}
{"type":"message","id":"m1","parentId":null,"timestamp":"2026-02-24T09:00:02Z","message":{"role":"user","content":[{"type":"text","text":%q}]}}
`, id, words)
	}
	claw := filepath.Join(home, ".openclaw", "agents", "main", "sessions")
	for file, content := range map[string]string{
		filepath.Join(claw, "one.jsonl"):                                             text("one", "now"),
		filepath.Join(claw, "one.jsonl.reset.2026-02-24T08-00-00.000Z"):              text("one", "before"),
		filepath.Join(claw, "two.jsonl.deleted.2026-02-24T08-00-00.000Z"):            text("two", "deleted"),
		filepath.Join(claw, "one.checkpoint.5b0c1f0e.jsonl"):                         text("one", "at a checkpoint"),
		filepath.Join(claw, "one.jsonl.bak"):                                         text("one", "a copy"),
		filepath.Join(claw, "sessions.json"):                                         `{"agent:main:main":{"sessionId":"one","updatedAt":1}}`,
		filepath.Join(home, ".omp", "agent", "sessions", "abs-w", "t_three.jsonl"):   text("three", "in oh-my-pi"),
		filepath.Join(home, ".openclaw", "agents", "main", "sessions", "other.json"): "{}",
	} {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, f := range (store.Kinds{Kind(nil).Kind}).Look(t.Context(), store.Surroundings{Home: home}) {
		s, err := f.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, info := range storetest.Sessions(t, s) {
			calls, err := s.Features().Resume(t.Context(), storetest.Headers(t, s, info.ID)[0].Ref())
			if err != nil || len(calls) != 1 {
				t.Fatalf("%s: %v, %v", info.ID, calls, err)
			}
			call := calls[0].Call
			if rel := filepath.Base(call[len("pi --session "):]); call[:2] == "pi" {
				call = "pi " + rel
			}
			got = append(got, info.ID+" "+info.Title+": "+call)
		}
		s.Close()
	}
	slices.Sort(got)
	want := []string{
		"one now: openclaw chat --session agent:main:main",
		"one.bak a copy: pi one.jsonl.bak",
		"one.checkpoint.5b0c1f0e at a checkpoint: pi one.checkpoint.5b0c1f0e.jsonl",
		"one.reset.2026-02-24T08-00-00.000Z before: pi one.jsonl.reset.2026-02-24T08-00-00.000Z",
		"three in oh-my-pi: pi t_three.jsonl",
		"two.deleted.2026-02-24T08-00-00.000Z deleted: pi two.jsonl.deleted.2026-02-24T08-00-00.000Z",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
