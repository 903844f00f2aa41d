package messages

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/sdk"
	"hindcast/store/storetest"
)

// done is what a call did in a version of the SDK, see strands_calls.py.
type done struct {
	Sent, Ran []string
	Wrote     string
	Error     string
}

// tails are the messages of the logs that the SDKs were called on.
var tails = map[string][]string{
	"user":   {`{"role":"user","content":[{"text":"hi"}]}`},
	"call":   {`{"role":"assistant","content":[{"toolUse":{"toolUseId":"a1","name":"alpha","input":{"x":"1"}}}]}`},
	"result": {`{"role":"user","content":[{"toolResult":{"toolUseId":"a1","status":"success","content":[{"text":"r"}]}}]}`},
	"answer": {`{"role":"assistant","content":[{"text":"done"}]}`},
}

// logWithTail lays out the log of the oldest SDKs that ends with a tail.
func logWithTail(t *testing.T, tail string) *Store {
	t.Helper()
	dir := t.TempDir()
	agent := filepath.Join(dir, "session_s", "agents", "agent_default")
	put := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const times = `"created_at":"2026-03-01T10:00:00.000000+00:00","updated_at":"2026-03-01T10:00:00.000000+00:00"`
	put(filepath.Join(dir, "session_s", "session.json"), `{"session_id":"s","session_type":"AGENT",`+times+`}`)
	put(filepath.Join(agent, "agent.json"), `{"agent_id":"default","state":{},"conversation_manager_state":{"__name__":"SlidingWindowConversationManager","removed_message_count":0},`+times+`}`)
	for n, name := range []string{"user", "call", "result", "answer"} {
		put(filepath.Join(agent, "messages", fmt.Sprintf("message_%d.json", n)), fmt.Sprintf(`{"message":%s,"message_id":%d,"redact_message":null,%s}`, tails[name][0], n, times))
		if name == tail {
			break
		}
	}
	return open(t, dir)
}

// What the plan says of a call is what it does in each version that was asked. Of those
// before the rules it says that these are not known.
func TestResume_agreesWithEveryVersion(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(testdata, "calls.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	versions := 0
	for line := range strings.Lines(string(data)) {
		var asked struct {
			SDK   string
			Tails map[string]map[string]done
		}
		if err := json.Unmarshal([]byte(line), &asked); err != nil {
			t.Fatal(err)
		}
		versions++
		for tail, calls := range asked.Tails {
			t.Run(asked.SDK+"/"+tail, func(t *testing.T) {
				s := logWithTail(t, tail)
				if err := s.Assume(store.Release{SDK: sdk.StrandsPython, Version: asked.SDK}); err != nil {
					t.Fatal(err)
				}
				sure := resumeAtHead(t, s)
				if v, _ := sdk.Parse(asked.SDK); v.Compare(known.FirstVersion()) < 0 {
					if want := (model.Resume{Call: `agent("…")`, Then: "the SDK is " + older}); !slices.Equal(sure, []model.Resume{want}) {
						t.Errorf("the plan says %+v", sure)
					}
					return
				}
				for call, did := range calls {
					then := thenOf(sure, call)
					says := func(what, words string, does bool) {
						t.Helper()
						if does != strings.Contains(then, words) {
							t.Errorf("%s %s: %t; the plan says %q", call, what, does, then)
						}
					}
					if then == "" {
						t.Errorf("%s is not offered, and does %+v", call, did)
						continue
					}
					says("runs the tool", "runs alpha", len(did.Ran) > 0)
					says("writes an error", `writes the error "Tool was interrupted."`, strings.Contains(did.Wrote, "E"))
					bare := len(did.Sent) > 0 && tail == "call" && !strings.Contains(did.Sent[0], "R") && !strings.Contains(did.Sent[0], "E")
					says("sends the bare calls", "without results", bare)
				}
			})
		}
	}
	if versions != 10 {
		t.Errorf("%d versions were asked", versions)
	}
}

// resumeAtHead returns the ways to go on from the head. Where agent([]) does what
// agent(None) does, it has a way of its own.
func resumeAtHead(t *testing.T, s *Store) []model.Resume {
	t.Helper()
	list := storetest.Headers(t, s, "s")
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: list[len(list)-1].Ref()})
	if err != nil {
		t.Fatal(err)
	}
	return plan.Resume
}

func thenOf(ways []model.Resume, call string) string {
	for _, way := range ways {
		if way.Call == call {
			return way.Then
		}
	}
	alike := slices.IndexFunc(ways, func(way model.Resume) bool { return strings.Contains(way.Then, "so does "+call) })
	if alike < 0 {
		return ""
	}
	return ways[alike].Then
}

// Where versions in question load other numbers of messages, the plan says all of them,
// and each is what the SDK of that version holds.
func TestLoads_saysWhatOlderVersionsDo(t *testing.T) {
	for _, tc := range []struct{ hazard, want string }{
		{"orphan-result", "; a start makes 5 messages of them (before 1.55: 6);"},
		{"gap-orphan", "; a start makes 4 messages of them (before 1.55: 5);"},
		{"empty-after-call", "; a start makes 6 messages of them (before 1.47: 7);"},
		{"missing-result", "; a start makes 6 messages of them;"},
		{"healthy", "#0 to #5, 6 messages;"},
	} {
		s := openFiles(t, hazards(t)[tc.hazard])
		list := storetest.Headers(t, s, "h")
		plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: list[len(list)-1].Ref()})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(plan.Loads, tc.want) {
			t.Errorf("%s: the plan says %q, not %q", tc.hazard, plan.Loads, tc.want)
		}
		for _, version := range []string{"1.40.0", "1.54.0", newestSDK} {
			held := len(answersOf(t, version).Hazards[tc.hazard].Messages)
			if err := s.Assume(store.Release{SDK: sdk.StrandsPython, Version: version}); err != nil {
				t.Fatal(err)
			}
			plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: list[len(list)-1].Ref()})
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(plan.Loads, fmt.Sprintf("%d messages", held)) || strings.Contains(plan.Loads, "before 1.") {
				t.Errorf("%s: SDK %s holds %d messages, the plan says %q", tc.hazard, version, held, plan.Loads)
			}
		}
	}
}

// A message that is read a second time for its content may be another by then.
func TestWithContent_ofWhatIsNoMessage(t *testing.T) {
	for _, body := range []string{`{}`, `{"role":"user"}`, `[]`, `"text"`, `null`, ``, `{"content"`} {
		if got := withContent([]byte(body), keepOthers); string(got) != body {
			t.Errorf("%s became %s", body, got)
		}
	}
}
