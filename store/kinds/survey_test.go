package kinds_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/store/kinds"
	"hindcast/store/media/files"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
	"hindcast/store/survey"
)

// claims returns the stores below a folder, "kind path", the path from there on.
func claims(t *testing.T, dir string) (stores []string) {
	t.Helper()
	for f, err := range survey.Folder(t.Context(), allKinds, dir) {
		if err != nil {
			t.Fatal(err)
		}
		if f.Kind == "" {
			continue
		}
		rel, err := filepath.Rel(dir, f.Path)
		if err != nil {
			t.Fatal(err)
		}
		if f.Why == "" || f.Behind != "" {
			t.Errorf("%s: %s because of %q, behind %q", rel, f.Kind, f.Why, f.Behind)
		}
		stores = append(stores, f.Kind+" "+filepath.ToSlash(rel))
	}
	slices.Sort(stores)
	return stores
}

// Each store that an SDK wrote is recognised as what it is, by one kind alone.
func TestSurvey_recognisesRealStores(t *testing.T) {
	skip.Sequential(t)
	want := []string{
		"adk adk/database_service.db",
		"adk adk/sqlite_service.db",
		"adk adk/v0_pickle.db",
		"genkit genkit/devproject-go-1.13.1",
		"genkit genkit/go-1.13.1",
		"genkit genkit/js-1.42.0-detachbug",
		"genkit genkit/stepsproject-go-1.13.1",
		"agent-framework agent-framework/agents",
		"agent-framework agent-framework/checkpoints",
		"agent-framework agent-framework/history",
		"agent-framework agent-framework/sessions",
		"crewai crewai/checkpoints.db",
		"crewai crewai/flow",
		"crewai crewai/json",
		"deepagents langgraph/deepagents.db",
		"langgraph langgraph/agent.db",
		"langgraph langgraph/delta.db",
		"langgraph langgraph/dev",
		"langgraph langgraph/encrypted.db",
		"langgraph langgraph/failed.db",
		"langgraph langgraph/functional.db",
		"langgraph langgraph/js.db",
		"langgraph langgraph/old-0.2.5-json.db",
		"langgraph langgraph/pickle.db",
		"langgraph langgraph/subgraph.db",
		"langgraph langgraph/types.db",
		"llamaindex llamaindex/server.db",
		"agno agno/json",
		"agno agno/sessions.db",
		"dbos dbos/system.db",
		"atif trajectory/atif",
		"trajectory trajectory/agents",
		"mastra mastra/store.db",
		"openai-agents openaiagents/advanced.db",
		"openai-agents openaiagents/async.db",
		"openai-agents openaiagents/encrypted.db",
		"openai-agents openaiagents/sqlalchemy.db",
		"openai-agents openaiagents/sqlite_session.db",
		"strands strands/python-file",
		"strands strands/python-multiagent",
		"strands-snapshots strands/python-snapshot",
		"strands-snapshots strands/typescript/legacy",
		"strands-snapshots strands/typescript/unified",
		"adk inputs/adk-compaction.db",
		"adk inputs/hot-journal/s.db",
		"claude-code inputs/cc-at-file",
		"claude-code inputs/cc-branch-after-compaction",
		"claude-code inputs/cc-broken-chain",
		"claude-code inputs/cc-title-ide",
		"claude-code inputs/cc-title-init",
		"claude-code inputs/cc-title-reminder",
		"claude-code inputs/cc-title-sidechain",
		"claude-code inputs/cc-title-slash",
		"claude-code files/claude-code",
		"claude-code files/odd",
		"aider files/aider/.aider.chat.history.md",
		"codex files/codex",
		"copilot-cli files/copilot-cli",
		"opencode files/opencode",
		"codex inputs/codex-renamed",
		"codex inputs/codex-title-ide",
		"codex inputs/codex-title-image",
		"codex inputs/codex-title-late",
		"codex inputs/codex-user-only-event",
		"copilot-cli inputs/copilot-raw-newline",
		"gemini-cli inputs/gemini-unknown-type",
		"iflow inputs/iflow-read-as-claude",
		"qwen inputs/qwen-read-as-claude",
		"jsonl inputs/redact-destroys-keys.jsonl",
		"jsonl inputs/redact-tool-schema.jsonl",
		"langgraph inputs/langgraph-unanswered-call.db",
		"langgraph inputs/langgraph-waiting-fan-out.db",
		"openai-agents inputs/openai-provider-refuses.db",
	}
	for kind, at := range agentStores(t) {
		want = append(want, kind+" "+at)
	}
	slices.Sort(want)
	if got := claims(t, testdata); !slices.Equal(got, want) {
		t.Errorf("recognised\n  %s\nand not\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// readOnly takes away the permission to write to a folder and all that is in it,
// until the end of the test.
func readOnly(t *testing.T, dir string) {
	t.Helper()
	change := func(to func(fs.FileMode) fs.FileMode) {
		t.Helper()
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.Type()&fs.ModeSymlink != 0 {
				return err
			}
			info, err := e.Info()
			if err != nil {
				return err
			}
			return os.Chmod(path, to(info.Mode().Perm()))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	change(func(mode fs.FileMode) fs.FileMode { return mode &^ 0o222 })
	t.Cleanup(func() { change(func(mode fs.FileMode) fs.FileMode { return mode | 0o700 }) })
}

// Whatever is only looked at stays as it is: every byte, time and file of every
// store that there is, damaged ones too.
func TestDoctor_writesNothing(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	remembering := kinds.All(files.NewCache(t.TempDir()), "")
	dir := t.TempDir()
	for _, part := range []string{"strands", "genkit"} {
		if err := os.CopyFS(filepath.Join(dir, part), os.DirFS(filepath.Join(testdata, part))); err != nil {
			t.Fatal(err)
		}
	}
	own := filepath.Join(dir, "own")
	if err := os.Mkdir(own, 0o700); err != nil {
		t.Fatal(err)
	}
	demo := filepath.Join(own, "hindcast-demo.db")
	for _, args := range [][]string{{"demo", own}, {"export", demo, "-o", filepath.Join(own, "demo.jsonl")}} {
		if code, _, err := inProcess(t, args...); code != 0 {
			t.Fatal(err)
		}
	}
	damaged := filepath.Join(dir, "strands", "python-file", "session_basic", "agents", "agent_default", "messages", "message_3.json")
	if err := os.Truncate(damaged, 40); err != nil {
		t.Fatal(err)
	}
	readOnly(t, dir)
	check := storetest.Untouched(t, dir)
	stores := claims(t, dir)
	if len(stores) < 7 {
		t.Fatalf("there are only %q", stores)
	}
	look := func(want []int, args ...string) string {
		t.Helper()
		code, out, err := inProcessWith(t, remembering, "", args...)
		if !slices.Contains(want, code) || out == "" || (err != "") != (code == 1) {
			t.Errorf("hindcast %q: exit %d, %q", args, code, err)
		}
		return out
	}
	look([]int{0}, "doctor", dir)
	look([]int{0}, "doctor", dir, "--json")
	check()
	for _, line := range stores {
		kind, rel, _ := strings.Cut(line, " ")
		path := filepath.Join(dir, filepath.FromSlash(rel))
		text := look([]int{0, 3}, "doctor", path)
		if !strings.HasPrefix(strings.Join(strings.Fields(text), " "), "recognised as "+kind+": ") {
			t.Errorf("%s is examined as\n%s", line, text)
		}
		look([]int{0, 3}, "doctor", path, "--json")
		look([]int{0}, "sessions", path)
		for _, session := range idsOf(t, path) {
			look([]int{0, 3}, "doctor", path, session)
		}
		if check(); t.Failed() {
			t.Fatalf("it was one of the commands on %s", line)
		}
	}
}

// idsOf returns the ids of the sessions of a store.
func idsOf(t *testing.T, path string) (ids []string) {
	t.Helper()
	s, err := allKinds.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for info, err := range s.Sessions(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, info.ID)
	}
	if len(ids) == 0 {
		t.Fatalf("%s has no sessions", path)
	}
	return ids
}

// A folder of very many files is answered from the first of them.
func BenchmarkSurvey_messages(b *testing.B) {
	dir := b.TempDir()
	for i := range 100_000 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("message_%d.json", i)), nil, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	kinds := allKinds
	for b.Loop() {
		found := 0
		for f, err := range survey.Folder(b.Context(), kinds, dir) {
			if err != nil || f.Kind != "" {
				b.Fatalf("%+v, %v", f, err)
			}
			found++
		}
		if found == 0 {
			b.Fatal("nothing is told")
		}
	}
}
