package kinds_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/query"
	"hindcast/store"
	"hindcast/store/storetest"
	"hindcast/store/storetest/machine"
	"hindcast/store/storetest/skip"
)

// openData opens a store below testdata, or at an absolute path.
func openData(t *testing.T, path string) store.Store {
	t.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(testdata, filepath.FromSlash(path))
	}
	s, err := allKinds.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// requestAt returns the request at a snapshot, by its name in the timeline.
func requestAt(t *testing.T, s store.Store, session, name string) *query.Sent {
	t.Helper()
	line := model.NewTimeline(storetest.Headers(t, s, session))
	for n := range model.Node(line.Len()) {
		if line.Name(n) == name {
			sent, err := query.RequestAt(t.Context(), s, query.AroundOf(line, n))
			if err != nil {
				t.Fatalf("%s %s: %v", session, name, err)
			}
			return sent
		}
	}
	t.Fatalf("session %s has no %s", session, name)
	return nil
}

// outlineOf returns the blocks of a request, "answer reply to: hi" each.
func outlineOf(sent *query.Sent) (list []string) {
	for i := range sent.Blocks {
		b := &sent.Blocks[i]
		words := []string{b.Kind.String(), b.Name, b.Title}
		list = append(list, strings.Join(slices.DeleteFunc(words, func(word string) bool { return word == "" }), " "))
	}
	return list
}

// A request has the system prompt, the tools and the settings that its agent records, and names the others.
func TestRequests_haveWhatIsRecorded(t *testing.T) {
	skip.Sequential(t)
	const prompt = "You are a coding agent running in the Codex CLI"
	for _, c := range []struct {
		path, session, snapshot string
		members                 string // of the body
		system                  string // how the system prompt of the body begins
		unknown                 string
		model                   string
		window                  int64
	}{
		{"coding/codex", "01a20b78-db17-7131-bcff-a7d643b0ac7b", "#5", "model summary approval_policy sandbox_policy permission_profile collaboration_mode system messages", prompt, "tools, other settings", "scripted", 258400},
		// The instructions of a fork are in its own header, its settings in those of the rollout that it goes on from.
		{"coding/codex", "01a202f8-ac78-7030-8227-130b069fca01", "#1", "model summary approval_policy sandbox_policy permission_profile collaboration_mode system messages", prompt, "tools, other settings", "fake-model", 258400},
		{"coding/codex", "01a202f8-ac78-7030-8227-130b069fca01", "#13", "model summary approval_policy sandbox_policy permission_profile collaboration_mode system messages", prompt, "tools, other settings", "fake-model", 258400},
		// Older versions keep no instructions, and 0.20 no settings.
		{"coding/codex", "01a20304-5337-7113-81f0-ba209759045b", "#7", "model summary approval_policy sandbox_policy messages", "", "system prompt, tools, other settings", "fake-model", 0},
		{"coding/codex", "ad26b39f-bddc-4666-a790-7b8a7c4a1ad7", "#1", "messages", "", "system prompt, tools, settings", "", 0},
		{"coding/openhands", "d3ba9894ad2a43abb6546f04276ce18f", "#4", "tools model messages", "", "other settings, what the tools take", "openai/fake-model", 0},
		{"coding/copilot-cli", "1176a339-4847-4a9a-8002-872c283cafb0", "#1", "system model messages", "[removed 21514 chars]", "tools, other settings", "fake-model", 128000},
		{"coding/copilot-cli", "1176a339-4847-4a9a-8002-872c283cafb0", "#5", "system model messages", "[removed 21514 chars]", "tools, other settings", "fake-model", 128000},
		{"coding/claude-code/projects", "b58a5d13-7517-4bb3-9c99-e62cde19c103", "#5", "model messages", "", "system prompt, tools, other settings", "claude-sonnet-4-5", 0},
		{"coding/pi", "01a20301-0000-7000-8000-000000000001", "#13", "model messages", "", "system prompt, tools, other settings", "fake-model", 0},
		{"coding/qwen", "68129b7d-3f39-4f68-b64a-1484396e32f2", "#6", "model messages", "", "system prompt, tools, other settings", "scripted", 0},
		{"coding/kimi", "session_cc5476d0-0b10-4187-8cc1-26d8d0f4af91", "#3", "system tools model maxTokens thinkingEffort messages", "You are an agent with few tools.", "other settings", "scripted", 0},
		{"coding/gemini-cli", "13a0feae-a6d3-45e8-8c44-ecb24f563abc", "#6", "model messages", "", "system prompt, tools, other settings", "gemini-2.5-flash", 0},
		{"coding/opencode", "ses_dfcf9bf29ffe41lTyUqQgB3hkK", "#5", "model messages", "", "system prompt, tools, other settings", "fake-model", 0},
	} {
		sent := requestAt(t, openData(t, c.path), c.session, c.snapshot)
		var members []string
		for m := range jsontape.Members(sent.Body) {
			members = append(members, jsontape.Unquote(m.Key))
		}
		if got := strings.Join(members, " "); got != c.members {
			t.Errorf("%s %s: the body has %s, want %s", c.session, c.snapshot, got, c.members)
		}
		if system := jsontape.Unquote(jsontape.FindMember(sent.Body, `"system"`)); !strings.HasPrefix(system, c.system) || c.system == "" && system != "" {
			t.Errorf("%s %s: the system prompt begins %.60q, want %q", c.session, c.snapshot, system, c.system)
		}
		if got := strings.Join(sent.Unknown, ", "); got != c.unknown || sent.Model != c.model || sent.Window != c.window || sent.Proven {
			t.Errorf("%s %s: not known %q, of %q, window %d, proven %t; want %q, %q, %d", c.session, c.snapshot, got, sent.Model, sent.Window, sent.Proven, c.unknown, c.model, c.window)
		}
	}
}

// OpenHands's tools are in the event with the system prompt, which is the first message.
func TestRequests_ofOpenHands(t *testing.T) {
	skip.Sequential(t)
	got := outlineOf(requestAt(t, openData(t, "coding/openhands"), "d3ba9894ad2a43abb6546f04276ce18f", "#4"))
	for i, begins := range []string{"tool terminal Execute a shell", "tool finish Signals", "tool think Use", "system <SOUL>", "prompt first question", "answer reply to: first question", "prompt second question"} {
		if i >= len(got) || !strings.HasPrefix(got[i], begins) {
			t.Fatalf("%d is no %q:\n%s", i, begins, strings.Join(got, "\n"))
		}
	}
	if len(got) != 7 {
		t.Errorf("%d blocks:\n%s", len(got), strings.Join(got, "\n"))
	}
}

// Copilot CLI sends the time before the words of the user, and the system prompt once.
func TestRequests_ofCopilot(t *testing.T) {
	skip.Sequential(t)
	got := outlineOf(requestAt(t, openData(t, "coding/copilot-cli"), "1176a339-4847-4a9a-8002-872c283cafb0", "#5"))
	want := []string{
		"system [removed 21514 chars]",
		"prompt <current_datetime>2026-11-22T11:35:09.322+00:00</current_datetime> first question",
		"answer reply to: -11-22T11:35:09.322+00:00</current_datetime> first question",
		"prompt <current_datetime>2026-11-22T11:35:45.731+00:00</current_datetime> run: ls -1",
		"call bash $ ls -1",
		"result bash a.txt",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
}

// Of a request that Claude Code did not keep, the system prompt is that of the nearest snapshot of it before the answer.
func TestRequests_promptOfClaudeCode(t *testing.T) {
	skip.Sequential(t)
	const session = "e3e8e48f-7fa6-465a-9f40-10a54f2d345e"
	text, err := os.ReadFile(filepath.Join(testdata, "coding", "claude-code", "projects", "-home-demo", session+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var kept []byte
	snapshots := 0
	for line := range bytes.SplitAfterSeq(text, []byte("\n")) {
		if bytes.Contains(line, []byte(`"type":"api-request`)) {
			continue
		}
		if bytes.Contains(line, []byte(`"type":"prompt_snapshot"`)) {
			snapshots++
			line = bytes.Replace(line, []byte("[removed list of 15]"), []byte("prompt "+string(rune('0'+snapshots))), 1)
		}
		kept = append(kept, line...)
	}
	dir := filepath.Join(t.TempDir(), "-home-demo")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, session+".jsonl"), kept, 0o600); err != nil {
		t.Fatal(err)
	}
	s := openData(t, filepath.Dir(dir))
	for snapshot, want := range map[string]string{"#1": `["prompt 1"]`, "#5": `["prompt 2"]`, "#16": `["prompt 3"]`} {
		sent := requestAt(t, s, session, snapshot)
		if got := string(jsontape.FindMember(sent.Body, `"system"`)); got != want || strings.Join(sent.Unknown, ", ") != "tools, other settings" {
			t.Errorf("%s: %s, not known %q", snapshot, got, sent.Unknown)
		}
	}
	if snapshots != 4 {
		t.Errorf("%d snapshots of the prompt", snapshots)
	}
}

// Of a message log the messages are those of now: a request says which of the others it may have had. No request behind
// the window has one that was taken out, and the one that is asked for next has nothing that is not sure.
func TestRequests_ofStrandsWindows(t *testing.T) {
	skip.Sequential(t)
	s := openData(t, "strands/python-file")
	for _, c := range []struct {
		session, snapshot string
		messages          int
		first, unknown    string
	}{
		{"sliding", "#9", 9, "prompt question 0", "which of the 10 messages that the conversation manager took out were sent"},
		{"sliding", "#12", 3, "prompt question 5", "which of the 10 messages that the conversation manager took out were sent"},
		{"sliding", "#15", 5, "prompt question 5", "which of the 10 messages that the conversation manager took out were sent"},
		{"summarizing", "#15", 10, "prompt SUMMARY: the user asked q0..q2 and got answers.", "which of the 6 messages that the conversation manager took out, or its summary, were sent"},
		{"basic", "#13", 13, "prompt Hi", ""},
	} {
		sent := requestAt(t, s, c.session, c.snapshot)
		want := strings.TrimPrefix(c.unknown+", what hooks changed", ", ")
		if got := strings.TrimPrefix(strings.Join(sent.Unknown, ", "), "system prompt, tools, settings, "); sent.Messages() != c.messages || outlineOf(sent)[0] != c.first || got != want {
			t.Errorf("%s %s: %d messages from %q, not known %q; want %d, %q, %q", c.session, c.snapshot, sent.Messages(), outlineOf(sent)[0], got, c.messages, c.first, want)
		}
	}
	dir := filepath.Join(t.TempDir(), "session_sliding")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(testdata, "strands", "python-file", "session_sliding"))); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "agents", "agent_default", "messages", "message_15.json")); err != nil {
		t.Fatal(err)
	}
	next := requestAt(t, openData(t, filepath.Dir(dir)), "sliding", "#14")
	if want := []string{"prompt question 5", "answer answer 5", "prompt question 6", "answer answer 6", "prompt question 7"}; !slices.Equal(outlineOf(next), want) || strings.Contains(strings.Join(next.Unknown, " "), "took out") {
		t.Errorf("the next request has %q, and not known is %q", outlineOf(next), next.Unknown)
	}
}

// Snapshots of Strands have the system prompt.
func TestRequests_promptOfStrandsSnapshots(t *testing.T) {
	skip.Sequential(t)
	for path, want := range map[string]string{"strands/python-snapshot every-turn #3": `[{"text": "You are X."}]`, "strands/typescript/unified branching #0": `"You are careful."`} {
		words := strings.Fields(path)
		sent := requestAt(t, openData(t, words[0]), words[1], words[2])
		if got := string(jsontape.FindMember(sent.Body, `"system"`)); got != want || sent.SystemBytes == 0 || slices.Contains(sent.Unknown, "system prompt") {
			t.Errorf("%s: %s, not known %q", path, got, sent.Unknown)
		}
	}
}

// requestStores returns the stores that the table of requests is made of: that of each kind on the machine, and some
// with more.
func requestStores() []string {
	list := []string{"files/claude-code"}
	for _, s := range machine.Stores() {
		if s.Kind != "jsonl" {
			list = append(list, s.From)
		}
	}
	return append(list, "strands/typescript/unified", "genkit/devproject-go-1.13.1", "genkit/stepsproject-go-1.13.1", "langgraph/delta.db", "langgraph/js.db",
		"inputs/adk-compaction.db", "openaiagents/advanced.db", "agent-framework/agents", "agent-framework/history", "crewai/checkpoints.db")
}

// requestRow counts what the requests of a kind have, and what they say that is not known.
type requestRow struct {
	requests, proven int
	has, unknown     map[string]int
	order            []string // of both, as met
}

func (r *requestRow) count(in map[string]int, what string) {
	if in[what]++; !slices.Contains(r.order, what) {
		r.order = append(r.order, what)
	}
}

// list returns what was counted, with a star behind what not all requests have.
func (r *requestRow) list(counted map[string]int) string {
	var words []string
	for _, what := range r.order {
		switch n := counted[what]; {
		case n == r.requests:
			words = append(words, what)
		case n > 0:
			words = append(words, what+" *")
		}
	}
	return strings.Join(words, ", ")
}

// The requests at all snapshots of the recorded stores make the table of requests.
func TestRequests_areAsTheTableSays(t *testing.T) {
	skip.Sequential(t)
	rows, kinds := map[string]*requestRow{}, []string(nil)
	number := regexp.MustCompile(`\d+`)
	for _, path := range requestStores() {
		s := openData(t, path)
		row := rows[s.Kind()]
		if row == nil {
			row = &requestRow{has: map[string]int{}, unknown: map[string]int{}}
			rows[s.Kind()], kinds = row, append(kinds, s.Kind())
		}
		list := storetest.Sessions(t, s)
		slices.SortFunc(list, func(a, b model.SessionInfo) int { return strings.Compare(a.ID, b.ID) }) // times of files differ
		for _, info := range list {
			line := model.NewTimeline(storetest.Headers(t, s, info.ID))
			for n := range model.Node(line.Len()) {
				sent, err := query.RequestAt(t.Context(), s, query.AroundOf(line, n))
				if errors.Is(err, query.ErrNoRequest) {
					continue
				}
				if err != nil {
					t.Fatalf("%s %s %s: %v", path, info.ID, line.Name(n), err)
				}
				if row.requests++; sent.Proven {
					row.proven++
				}
				if !slices.Contains(sent.Unknown, "system prompt") {
					row.count(row.has, "system prompt")
				}
				for m := range jsontape.Members(sent.Body) {
					if key := jsontape.Unquote(m.Key); key != "system" {
						row.count(row.has, key)
					}
				}
				if sent.Window > 0 {
					row.count(row.has, "window")
				}
				for _, what := range sent.Unknown {
					row.count(row.unknown, strings.TrimPrefix(number.ReplaceAllString(what, "N"), "other "))
				}
			}
		}
	}
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	const head = "| kind | request | in it | not known |\n|---|---|---|---|\n"
	table := head
	for _, kind := range kinds {
		row := rows[kind]
		proof := map[bool]string{true: "proven", false: "rebuilt"}[row.proven == row.requests]
		if row.proven > 0 && row.proven < row.requests {
			proof = "proven *"
		}
		if row.requests > 0 {
			table += "| " + strings.Join([]string{kind, proof, row.list(row.has), row.list(row.unknown)}, " | ") + " |\n"
		}
	}
	before, rest, found := bytes.Cut(page, []byte(head))
	_, after, ends := bytes.Cut(rest, []byte("\n\n"))
	if !found || !ends {
		t.Fatal("README.md has no table of requests")
	}
	if want := slices.Concat(before, []byte(table), []byte("\n"), after); *update {
		if err := os.WriteFile("README.md", want, 0o644); err != nil {
			t.Fatal(err)
		}
	} else if !bytes.Equal(page, want) {
		t.Errorf("README.md has another table than\n%s", table)
	}
}

// What a framework mends before it asks is named: the OpenAI Agents SDK leaves out a call without an output.
func TestRequests_nameWhatIsMended(t *testing.T) {
	skip.Sequential(t)
	s := openData(t, "openaiagents/sqlite_session.db")
	const mended = "what the framework mends (leaves the call out when it asks the model, and the reasoning before it)"
	for snapshot, want := range map[string]bool{"#11": false, "#15": true} {
		if sent := requestAt(t, s, "tour", snapshot); slices.Contains(sent.Unknown, mended) != want {
			t.Errorf("%s: not known is %q", snapshot, sent.Unknown)
		}
	}
}
