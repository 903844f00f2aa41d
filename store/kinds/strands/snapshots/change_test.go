package snapshots

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/storetest"
)

// pythonFile is a snapshot of Strands for Python with the given members of the
// data, which are "name": value.
func pythonFile(members ...string) string {
	return `{"scope": "agent", "schema_version": "1.0", "created_at": "2026-03-01T10:00:00Z", "data": {` + strings.Join(members, ", ") + `}, "app_data": {}}`
}

const managerState = `"conversation_manager_state": {"__name__": "SlidingWindowConversationManager", "removed_message_count": 0}`

// pythonTalk is the messages of told for Python.
func pythonTalk(words ...string) string {
	file := told(words...)
	data := jsontape.FindMember([]byte(file), `"data"`)
	return `"messages": ` + string(jsontape.FindMember(data, `"messages"`))
}

// sessionOf makes a store with one session of one agent: the files of the
// immutable snapshots in order, and the latest, "" for none.
func sessionOf(t testing.TB, agent string, latest string, history ...string) (dir string, s *Store) {
	t.Helper()
	dir = t.TempDir()
	kept := filepath.Join(dir, namespace, "s", scopesDir, scopeAgent, agent, snapshots)
	for i, text := range history {
		mustWrite(t, filepath.Join(kept, historyDir, fmt.Sprintf("snapshot_01950000-%04x-7000-8000-000000000001.json", i)), text)
	}
	if latest != "" {
		mustWrite(t, filepath.Join(kept, latestFile), latest)
	}
	return dir, openAt(t, dir)
}

// Where a snapshot stands decides by which call a program goes on, and what is
// asked before. The calls are those that the real SDKs were seen to take.
func TestPlanRestore_positions(t *testing.T) {
	held := `"interrupt_state": {"interrupts": {"i1": {"id": "i1", "name": "ok?", "reason": null, "response": null}}, "context": {}, "activated": true, "pending_tool_execution": {"assistant_message": {"role": "assistant", "content": [{"toolUse": {"name": "add", "toolUseId": "1", "input": {}}}]}, "completed_tool_results": []}}`
	asked := strings.Replace(held, `"response": null`, `"response": "yes"`, 1)
	waits := `"interrupts":{"interrupts":{"i1":{"id":"i1","name":"ok?"}},"activated":true,"pendingToolExecution":{"assistantMessageData":{"role":"assistant","content":[{"toolUse":{"name":"add","toolUseId":"1","input":{}}}]},"completedToolResults":{}}}`
	stays := strings.Replace(waits, `"activated":true`, `"activated":false`, 1)
	ts := func(more string, words ...string) string {
		return strings.Replace(told(words...), `"data":{`, `"data":{`+more, 1)
	}
	for name, c := range map[string]struct {
		file  string
		calls []string
		asks  bool
	}{
		"python, nothing":     {pythonFile(`"messages": []`), []string{`agent("…")`}, false},
		"python, a question":  {pythonFile(pythonTalk("q")), []string{`agent(None)`, `agent("…")`}, false},
		"python, a turn end":  {pythonFile(pythonTalk("q", "-a")), []string{`agent("…")`, `agent(None)`}, false},
		"python, after model": {pythonFile(pythonTalk("q", "+1")), []string{`agent(None)`, `agent("…")`}, true},
		"python, after tools": {pythonFile(pythonTalk("q", "+1", "=1")), []string{`agent(None)`, `agent("…")`}, false},
		"python, interrupted": {pythonFile(pythonTalk("q", "+1"), held), []string{`agent([{"interruptResponse": {"interruptId": "i1", "response": …}}])`}, false},
		"python, answered":    {pythonFile(pythonTalk("q", "+1"), asked), []string{`agent([])`}, true},

		"typescript, nothing":     {ts(""), []string{`invoke("…")`}, false},
		"typescript, a question":  {ts("", "q"), []string{`invoke(undefined)`, `invoke("…")`}, false},
		"typescript, a turn end":  {ts("", "q", "-a"), []string{`invoke("…")`, `invoke(undefined)`}, false},
		"typescript, after model": {ts("", "q", "+1"), []string{`invoke(undefined)`, `invoke("…")`}, true},
		"typescript, after tools": {ts("", "q", "+1", "=1"), []string{`invoke(undefined)`, `invoke("…")`}, false},
		"typescript, interrupted": {ts(waits+",", "q"), []string{`invoke([{ interruptResponse: { interruptId: "i1", response: … } }])`}, false},
		"typescript, pending":     {ts(stays+",", "q"), []string{`invoke(undefined)`, `invoke("…")`}, true},
	} {
		agent := "default"
		if strings.HasPrefix(name, "typescript") {
			agent = "agent"
		}
		_, s := sessionOf(t, agent, told("another"), c.file)
		if agent == "default" {
			_, s = sessionOf(t, agent, pythonFile(pythonTalk("another")), c.file)
		}
		plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: storetest.Headers(t, s, "s")[0].Ref()})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var calls []string
		for _, r := range plan.Resume {
			calls = append(calls, r.Call)
			if r.Then == "" {
				t.Errorf("%s: %s does nothing", name, r.Call)
			}
		}
		if !slices.Equal(calls, c.calls) {
			t.Errorf("%s: %q, not %q", name, calls, c.calls)
		}
		if asks := slices.ContainsFunc(plan.Asks, func(a string) bool { return strings.Contains(a, `"add"`) }); asks != c.asks {
			t.Errorf("%s: asks %q", name, plan.Asks)
		}
		do(t, s, plan, nil)
		if h := head(t, s, "s"); h.ID != plan.Target.ID && !strings.Contains(strings.Join(plan.Hazards, ""), "converted") {
			t.Errorf("%s: the head is %s, not %s", name, h.ID, plan.Target.ID)
		}
	}
}

// TypeScript cannot go on from tool calls without results. The message goes to
// where that SDK has it while tools run, and nothing else changes.
func TestPlanRestore_afterModelOfTypeScript(t *testing.T) {
	for name, before := range map[string]string{
		"none":  ``,
		"null":  `"interrupts":null,`,
		"empty": `"interrupts":{"interrupts":{},"activated":false},`,
		"more":  `"interrupts":{"interrupts":{},"activated":false,"kept":12345678901234567890},`,
	} {
		file := strings.Replace(told("q", "+1"), `"data":{`, `"data":{`+before+`"other":"\ud800",`, 1)
		dir, s := sessionOf(t, "agent", told("q", "-x"), file)
		target := storetest.Headers(t, s, "s")[0]
		plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: target.Ref()})
		do(t, s, plan, err)
		if !slices.ContainsFunc(plan.Hazards, func(h string) bool { return strings.HasPrefix(h, "it is converted") }) {
			t.Errorf("%s: %q", name, plan.Hazards)
		}
		got := latestOf(t, dir, "s", "agent")
		var snapshot struct {
			Data struct {
				Messages   []json.RawMessage
				Other      json.RawMessage
				Interrupts struct {
					Interrupts           map[string]any
					Activated            bool
					Kept                 json.RawMessage
					PendingToolExecution struct {
						AssistantMessageData json.RawMessage
						CompletedToolResults map[string]any
					}
				}
			}
		}
		if err := json.Unmarshal([]byte(got), &snapshot); err != nil {
			t.Fatalf("%s: %v: %s", name, err, got)
		}
		d := snapshot.Data
		if p := d.Interrupts.PendingToolExecution; len(d.Messages) != 1 || d.Interrupts.Activated || d.Interrupts.Interrupts == nil ||
			!strings.Contains(string(p.AssistantMessageData), `"toolUseId":"1"`) || p.CompletedToolResults == nil || len(p.CompletedToolResults) != 0 ||
			string(d.Other) != `"\ud800"` || name == "more" && string(d.Interrupts.Kept) != "12345678901234567890" {
			t.Errorf("%s: %s", name, got)
		}
		// It stands where the target stood.
		now := head(t, s, "s")
		if now.ID != latestID || now.ParentID != target.ID || now.Position != model.PositionAfterModel || now.TurnIndex != target.TurnIndex {
			t.Errorf("%s: %+v", name, now)
		}
		// And is not converted again.
		plan, err = s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: now.Ref()})
		if err != nil || len(plan.Files) != 0 {
			t.Errorf("%s: %+v, %v", name, plan.Files, err)
		}
	}
}

func TestPlanRestore_hazards(t *testing.T) {
	const stays = `"system_prompt": [{"text": "old"}]`
	now := pythonFile(pythonTalk("q", "-a"), managerState, `"system_prompt": [{"text": "new"}]`)
	withIDs := func(text string) string {
		return pythonFile(`"messages": [{"role": "user", "content": [{"text": "` + text + `"}], "tracking_id": "t1"}]`)
	}
	for name, c := range map[string]struct{ latest, target, want string }{
		"prompt":      {now, pythonFile(pythonTalk("q"), stays), "its system prompt differs from the head's"},
		"same prompt": {pythonFile(pythonTalk("q", "-a"), stays), pythonFile(pythonTalk("q"), stays), "the SDK takes the stored system prompt"},
		"app data":    {now, strings.Replace(pythonFile(pythonTalk("q")), `"app_data": {}`, `"app_data": {"label": 1}`, 1), `"app data"`},
		"unknown":     {now, pythonFile(pythonTalk("q"), `"later": 1`), `"later"`},
		"redacted":    {withIDs("[redacted]"), withIDs("secret"), "one message says something else in the head"},
		"stateful":    {now, pythonFile(pythonTalk("q"), `"model_state": {"response_id": "r1"}`), "it holds a state of the model"},
		"manager":     {now, pythonFile(pythonTalk("q"), strings.Replace(managerState, "SlidingWindow", "Null", 1)), `"NullConversationManager"`},
		"stash":       {now, pythonFile(pythonTalk("q"), `"stash": {"location": "external", "storage_type": "x"}`), "outside of the snapshots"},
		"effects":     {now, pythonFile(pythonTalk("q")), "outside of the session"},
	} {
		_, s := sessionOf(t, "default", c.latest, c.target)
		plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: storetest.Headers(t, s, "s")[0].Ref()})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !slices.ContainsFunc(plan.Hazards, func(h string) bool { return strings.Contains(h, c.want) }) {
			t.Errorf("%s: %q", name, plan.Hazards)
		}
	}
	// And none where there is nothing to say.
	plain := pythonFile(pythonTalk("q", "-a"), managerState)
	_, s := sessionOf(t, "default", plain, plain, pythonFile(pythonTalk("q", "-a", "q2", "-b"), managerState))
	rows := storetest.Headers(t, s, "s")
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: rows[1].Ref()})
	if err != nil || len(plan.Hazards) != 1 || len(plan.Asks) != 0 {
		t.Error(plan.Hazards, plan.Asks, err)
	}
	// A snapshot of the other SDK is asked about.
	_, s = sessionOf(t, "default", plain, told("q", "-a"))
	plan, err = s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: storetest.Headers(t, s, "s")[0].Ref()})
	if err != nil || len(plan.Asks) != 1 || !strings.Contains(plan.Asks[0], "only Strands for TypeScript loads it") {
		t.Error(plan.Asks, err)
	}
}

// What an SDK would not start from is not put there.
func TestPlanRestore_refuses(t *testing.T) {
	for name, file := range map[string]string{
		"truncated":   pythonFile(pythonTalk("q"))[:80],
		"schema":      strings.Replace(pythonFile(pythonTalk("q")), "1.0", "2.0", 1),
		"scope":       strings.Replace(pythonFile(pythonTalk("q")), `"agent"`, `"multiAgent"`, 1),
		"neither SDK": `{"data": {"messages": []}}`,
	} {
		dir, s := sessionOf(t, "default", pythonFile(pythonTalk("q", "-a")), file)
		before := treeOf(t, dir)
		_, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: storetest.Headers(t, s, "s")[0].Ref()})
		if refused := (*RefusedError)(nil); !errors.As(err, &refused) || len(refused.Faults) == 0 {
			t.Errorf("%s: %v", name, err)
		}
		sameTree(t, name, before, treeOf(t, dir))
	}
	_, s := sessionOf(t, "default", pythonFile(pythonTalk("q")))
	if _, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: model.Ref{Session: "s", ID: "none"}}); !errors.Is(err, model.ErrNoSnapshot) {
		t.Error(err)
	}
	if _, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: model.Ref{Session: "../s", ID: "latest"}}); !errors.Is(err, model.ErrNoSession) {
		t.Error(err)
	}
}

func TestPlanFork_copiesTheFiles(t *testing.T) {
	for _, c := range []struct{ fixture, session, agent, below string }{
		{"python-snapshot", "every-turn", "default", "session"},
		{"typescript/unified", "branching", "agent", "session"},
		{"typescript/legacy", "basic", "agent", "."},
	} {
		dir := copied(t, c.fixture)
		s := openAt(t, dir)
		before := treeOf(t, dir)
		rows := storetest.Headers(t, s, c.session)
		plan, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: rows[2].Ref(), As: "what-if"})
		receipt := do(t, s, plan, err)
		if receipt.Session != "what-if" {
			t.Errorf("%+v", receipt)
		}
		at := func(session string, elem ...string) string {
			return filepath.Join(append([]string{dir, c.below, session, scopesDir, scopeAgent, c.agent, snapshots}, elem...)...)
		}
		file := "snapshot_" + rows[2].ID + ".json"
		for _, name := range []string{filepath.Join(historyDir, file), latestFile} {
			mine, err := os.ReadFile(at("what-if", name))
			if err != nil {
				t.Fatal(err)
			}
			its, err := os.ReadFile(at(c.session, historyDir, file))
			if err != nil || !bytes.Equal(mine, its) {
				t.Errorf("%s: %s is no copy (%v)", c.fixture, name, err)
			}
		}
		forked := storetest.Headers(t, s, "what-if")
		if n := len(forked); n != 3 || !forked[n-1].Head || forked[n-1].ID != rows[2].ID || forked[n-1].ParentID != rows[2].ParentID {
			t.Errorf("%s: %+v", c.fixture, forked)
		}
		for name, h := range treeOf(t, dir) {
			if old, ok := before[name]; ok && old != h {
				t.Errorf("%s: %s was touched", c.fixture, name)
			}
		}
		if _, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: rows[2].Ref(), As: "what-if"}); !errors.Is(err, store.ErrSessionExists) {
			t.Error(err)
		}
		back := undo(t, s)
		if back.Target.ID != "" || !strings.Contains(back.Loads, "gone") {
			t.Errorf("%+v", back)
		}
		sameTree(t, c.fixture, before, treeOf(t, dir))
		redo, err := s.Plan(t.Context(), model.Change{Op: model.OpRedo})
		do(t, s, redo, err)
		if h := head(t, s, "what-if"); h.ID != rows[2].ID || !strings.Contains(redo.Loads, `"what-if"`) {
			t.Errorf("%s: %+v, %s", c.fixture, h, redo.Loads)
		}
	}
}

func TestPlanFork_names(t *testing.T) {
	ts := openAt(t, copied(t, "typescript/unified"))
	py := openAt(t, copied(t, "python-snapshot"))
	for name, want := range map[string]struct{ ts, py bool }{
		"ok-1_a": {true, true}, "Upper": {false, true}, "with space": {false, true}, "ü": {false, true}, "a:b": {false, true},
		"": {}, " ": {}, ".": {}, "..": {}, "a/b": {}, "a\x00b": {}, "\xff": {}, ".hindcast": {}, "session": {}, "context": {}, latestFile: {},
	} {
		_, err := ts.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: storetest.Headers(t, ts, "branching")[0].Ref(), As: name})
		if (err == nil) != want.ts {
			t.Errorf("TypeScript, %q: %v", name, err)
		}
		_, err = py.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: storetest.Headers(t, py, "every-turn")[0].Ref(), As: name})
		if (err == nil) != want.py {
			t.Errorf("Python, %q: %v", name, err)
		}
	}
}

// The stash of the context manager is found by the name of the session.
func TestPlanFork_takesTheStashAlong(t *testing.T) {
	dir, s := sessionOf(t, "default", pythonFile(pythonTalk("q", "-a"), `"stash": {"location": "external", "storage_type": "LocalFileStorage"}`))
	at := func(session string) string {
		return filepath.Join(dir, stashDir, session, scopesDir, scopeAgent, "default", "t_0.json")
	}
	mustWrite(t, at("s"), `"stashed"`)
	mustWrite(t, filepath.Join(dir, stashDir, "s", scopesDir, scopeAgent, "other", "t_0.json"), `"not its own"`)
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: model.Ref{Session: "s", ID: latestID}, As: "f"})
	do(t, s, plan, err)
	if got := mustRead(t, at("f")); string(got) != `"stashed"` {
		t.Errorf("%s", got)
	}
	if _, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: model.Ref{Session: "s", ID: latestID}, As: "g"}); err != nil {
		t.Error(err)
	}
	// What another session of that name has left there would be found.
	mustWrite(t, filepath.Join(dir, stashDir, "g", scopesDir, scopeAgent, "default", "t_0.json"), `"another's"`)
	if _, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: model.Ref{Session: "s", ID: latestID}, As: "g"}); !errors.Is(err, store.ErrSessionExists) {
		t.Errorf("into a stash that is there: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(dir, stashDir, "f", scopesDir, scopeAgent, "other")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if !slices.ContainsFunc(plan.Hazards, func(h string) bool { return strings.Contains(h, "stays as it is now") }) {
		t.Error(plan.Hazards)
	}
}

func TestPlanEdit(t *testing.T) {
	file := pythonFile(pythonTalk("q", "+1", "=1", "-a"), `"state": {"big": 123456789012345678901234567890, "nan": NaN, "lone": "\ud800"}`, managerState, `"later": {"a":  1}`)
	file = strings.Replace(file, `"scope"`, `"unknown": [1.50, -0],  "scope"`, 1)
	dir, s := sessionOf(t, "default", file)
	ref := model.Ref{Session: "s", ID: latestID}
	was := string(state(t, s, model.Header{SessionID: "s", ID: latestID}))
	edited := strings.Replace(was, `"text":"-a"`, `"text":"-b"`, 1)
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpEdit, Ref: ref, As: "e", State: []byte(edited)})
	do(t, s, plan, err)
	if got, want := latestOf(t, dir, "e", "default"), strings.Replace(file, `"text":"-a"`, `"text":"-b"`, 1); got != want {
		t.Errorf("%s\nnot\n%s", got, want)
	}
	if got := latestOf(t, dir, "s", "default"); got != file {
		t.Error("the original was changed")
	}
	if plan.NewSession != "e" || plan.Op != model.OpEdit || plan.Session != "s" {
		t.Errorf("%+v", plan)
	}
	for text, place := range map[string]string{
		`[]`:                "/",
		`{"messages": {}}`:  "/messages",
		`{"state": {}}`:     "/messages",
		`{"messages": [1]}`: "/messages/0",
		`{"messages": [{"role": "bot", "content": []}]}`:                                                          "/messages/0/role",
		`{"messages": [{"role": "user", "content": [{"hologram": 1}]}]}`:                                          "/messages/0/content/0",
		`{"messages": [{"role": "user", "content": "text"}]}`:                                                     "/messages/0/content",
		`{"messages": [], "conversation_manager_state": {}}`:                                                      "/conversation_manager_state",
		`{"messages": [], "interrupt_state": {"activated": true}}`:                                                "/interrupt_state",
		`{"messages": [], "interrupt_state": {"interrupts": {"a": {"x": 1}}, "context": {}, "activated": false}}`: "/interrupt_state/interrupts/a/x",
	} {
		_, err := s.Plan(t.Context(), model.Change{Op: model.OpEdit, Ref: ref, As: "f", State: []byte(text)})
		if wrong := (*PlaceError)(nil); !errors.As(err, &wrong) || wrong.Place != place || wrong.Why == "" {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{``, `{`, `{"messages": []} x`} {
		if _, err := s.Plan(t.Context(), model.Change{Op: model.OpEdit, Ref: ref, As: "f", State: []byte(text)}); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
	if _, err := s.Plan(t.Context(), model.Change{Op: model.OpEdit, Ref: ref, As: "e", State: []byte(edited)}); !errors.Is(err, store.ErrSessionExists) {
		t.Error(err)
	}
}

// Messages can be cut anywhere; an interrupt that waited behind the cut is taken
// back, and one that was edited so that it does not fit is refused.
func TestPlanEdit_cuts(t *testing.T) {
	for _, c := range []struct{ fixture, session, key string }{
		{"python-snapshot", "interrupt", "interrupt_state"},
		{"typescript/unified", "interrupt", "interrupts"},
	} {
		s := openAt(t, copied(t, c.fixture))
		h := head(t, s, c.session)
		was := state(t, s, h)
		cut := func(keep int, edit func(interrupts string) string) []byte {
			tape, err := jsontape.Parse(was)
			if err != nil {
				t.Fatal(err)
			}
			list, waits := tape.Find(0, "messages"), tape.Find(0, c.key)
			var kept []string
			for n := tape.First(list); n >= 0 && len(kept) < keep; n = tape.Next(n) {
				kept = append(kept, string(tape.Raw(n)))
			}
			p := jsontape.NewPatch(tape)
			p.Set(list, []byte("["+strings.Join(kept, ",")+"]"))
			p.Set(waits, []byte(edit(string(tape.Raw(waits)))))
			return p.Bytes()
		}
		asIs := func(text string) string { return text }
		plan, err := s.Plan(t.Context(), model.Change{Op: model.OpEdit, Ref: h.Ref(), As: "cut", State: cut(0, asIs)})
		do(t, s, plan, err)
		if now := head(t, s, "cut"); now.Marks.Has(model.MarkInterrupted) || !strings.Contains(strings.Join(plan.Hazards, ""), "the interrupt is taken back") {
			t.Errorf("%s: %+v, %q", c.fixture, now, plan.Hazards)
		}
		// Nothing cut: it still waits.
		same := []byte(strings.Replace(string(was), `"state"`, `"more": 1, "state"`, 1))
		if plan, err = s.Plan(t.Context(), model.Change{Op: model.OpEdit, Ref: h.Ref(), As: "same", State: same}); err != nil || !strings.Contains(plan.Resume[0].Call, "interruptRes") {
			t.Errorf("%s: %v, %+v", c.fixture, err, plan.Resume)
		}
		// Both edited, and they do not fit.
		_, err = s.Plan(t.Context(), model.Change{Op: model.OpEdit, Ref: h.Ref(), As: "bad", State: cut(0, func(text string) string { return strings.Replace(text, "{", `{"x": 1, `, 1) })})
		if wrong := (*PlaceError)(nil); !errors.As(err, &wrong) || wrong.Place != "/"+c.key {
			t.Errorf("%s: %v", c.fixture, err)
		}
	}
}

// A tool result that TypeScript is given in the state of the interrupts stays, so
// that what-if edits of one of several results work there.
func TestPlanEdit_toolResultOfTypeScript(t *testing.T) {
	_, s := sessionOf(t, "agent", told("q", "+1", "=1", "-a"))
	edited := `{"messages":[{"role":"user","content":[{"text":"q"}]}],"interrupts":{"interrupts":{},"activated":false,"pendingToolExecution":{"assistantMessageData":{"role":"assistant","content":[{"toolUse":{"name":"add","toolUseId":"1","input":{}}}]},"completedToolResults":{"1":{"toolResult":{"toolUseId":"1","status":"success","content":[{"text":"43"}]}}}}}}`
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpEdit, Ref: model.Ref{Session: "s", ID: latestID}, As: "e", State: []byte(edited)})
	do(t, s, plan, err)
	if plan.Resume[0].Call != "invoke(undefined)" {
		t.Errorf("%+v", plan.Resume)
	}
	if h := head(t, s, "e"); h.Position != model.PositionAfterModel {
		t.Errorf("%+v", h)
	}
}
