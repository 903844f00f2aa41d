package snapshots

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// did is what a call did in a version of the SDK for TypeScript, see
// testdata/interop/strands_calls.mjs.
type did struct {
	Sent, Ran          []string
	Held, Saved, Error string
}

// asked is what a version did at each place.
type asked struct {
	SDK     string
	Layouts []string
	Writes  string
	Places  map[string]map[string]did
}

func askedVersions(t *testing.T, file string, versions int) (list []asked) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(testdata, file))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var a asked
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			t.Fatal(err)
		}
		list = append(list, a)
	}
	if len(list) != versions {
		t.Fatalf("%d versions were asked", len(list))
	}
	return list
}

func typeScripts(t *testing.T) []asked { return askedVersions(t, "calls-typescript.jsonl", 8) }

// The messages and interrupts of strands_calls.mjs.
const (
	userMessage   = `{"role":"user","content":[{"text":"hi"}]}`
	callMessage   = `{"role":"assistant","content":[{"toolUse":{"toolUseId":"a1","name":"alpha","input":{"x":"1"}}},{"toolUse":{"toolUseId":"a2","name":"alpha","input":{"x":"2"}}}]}`
	firstResult   = `{"toolResult":{"toolUseId":"a1","status":"success","content":[{"text":"r"}]}}`
	resultMessage = `{"role":"user","content":[` + firstResult + `,{"toolResult":{"toolUseId":"a2","status":"success","content":[{"text":"r"}]}}]}`
	answerMessage = `{"role":"assistant","content":[{"text":"done"}]}`
	waitingID     = "hook:beforeToolCall:a1:approve"
)

func pendingCalls(completed string) string {
	return `"pendingToolExecution":{"assistantMessageData":` + callMessage + `,"completedToolResults":{` + completed + `}}`
}

var placesOfTypeScript = map[string]struct{ messages, interrupts string }{
	"user":      {userMessage, ""},
	"call":      {userMessage + "," + callMessage, ""},
	"result":    {userMessage + "," + callMessage + "," + resultMessage, ""},
	"answer":    {userMessage + "," + callMessage + "," + resultMessage + "," + answerMessage, ""},
	"audio":     {`{"role":"user","content":[{"audio":{"format":"mp3","source":{"bytes":"AAAA"}}}]}`, ""},
	"held":      {userMessage, `{"interrupts":{},"activated":false,` + pendingCalls("") + `}`},
	"half held": {userMessage, `{"interrupts":{},"activated":false,` + pendingCalls(`"a1":`+firstResult) + `}`},
	"interrupt": {userMessage, `{"interrupts":{"` + waitingID + `":{"id":"` + waitingID + `","name":"approve","source":"hook","reason":"really?"}},"activated":true,` + pendingCalls("") + `}`},
}

// standingAt lays out a session whose latest snapshot stands at a place, in legacy
// storage or below a folder "session".
func standingAt(t *testing.T, place, below string) *Store {
	t.Helper()
	dir := t.TempDir()
	at := placesOfTypeScript[place]
	data := `{"messages":[` + at.messages + `],"state":{},"systemPrompt":null,"modelState":{}`
	if at.interrupts != "" {
		data += `,"interrupts":` + at.interrupts
	}
	mustWrite(t, filepath.Join(dir, below, "s", "scopes", "agent", "agent", "snapshots", latestFile),
		`{"scope":"agent","schemaVersion":"1.0","createdAt":"2026-03-01T10:00:00.000Z","data":`+data+`},"appData":{}}`)
	return open(t, dir)
}

func planAt(t *testing.T, s *Store, version string) model.Plan {
	t.Helper()
	if version != "" {
		if err := s.Assume(store.Release{SDK: "strands-typescript", Version: version}); err != nil {
			t.Fatal(err)
		}
	}
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: model.Ref{Session: "s", ID: latestID}, As: "fork"})
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// What the plan says of each call is what it does, in each version of the SDK for
// TypeScript that was asked; and no call of a plan does what another says.
func TestResume_agreesWithEveryTypeScript(t *testing.T) {
	for _, a := range typeScripts(t) {
		for place := range placesOfTypeScript {
			t.Run(a.SDK+"/"+place, func(t *testing.T) {
				s, did := standingAt(t, place, ""), a.Places[place]
				if refused := did["invoke(undefined)"].Error; strings.HasPrefix(refused, "Error: Unknown ContentBlockData") {
					if err := s.Assume(store.Release{SDK: "strands-typescript", Version: a.SDK}); err != nil {
						t.Fatal(err)
					}
					if _, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: model.Ref{Session: "s", ID: latestID}, As: "fork"}); err == nil || !strings.Contains(err.Error(), refused) {
						t.Errorf("the SDK refuses it, and the plan is %v", err)
					}
					return
				}
				plan := planAt(t, s, a.SDK)
				if place == "call" && a.SDK != "1.0.0" {
					did = a.Places["held"] // it is converted
				}
				if len(plan.Resume) == 0 {
					t.Fatalf("no call is offered: %+v", plan)
				}
				checkCalls(t, plan.Resume, did)
				held := len(strings.Fields(did["invoke(undefined)"].Held))
				if want := "loads snapshot_latest.json of " + model.Count(held, "message"); !strings.Contains(plan.Loads, want+",") {
					t.Errorf("the SDK holds %d messages, and the plan says %q", held, plan.Loads)
				}
				lost := placesOfTypeScript[place].interrupts != "" && !strings.Contains(a.Writes, "interrupts")
				if told := strings.Contains(strings.Join(plan.Asks, " "), "before 1.1 has no interrupts"); told != lost {
					t.Errorf("what waits is lost: %t, and the plan asks %q", lost, plan.Asks)
				}
			})
		}
	}
}

// checkCalls compares what a plan says of its calls with what they did.
func checkCalls(t *testing.T, calls []model.Resume, all map[string]did) {
	t.Helper()
	for _, r := range calls {
		call := r.Call
		if before, _, ok := strings.Cut(call, "([{"); ok {
			call = before + "([{ interruptResponse }])"
		}
		d, ok := all[call]
		if !ok {
			t.Fatalf("the SDK was not asked for %s", r.Call)
		}
		if exception, _, failed := strings.Cut(d.Error, ":"); failed {
			if !strings.Contains(strings.TrimSuffix(r.Then, "; any other input is a TypeError"), exception) {
				t.Errorf("%s is offered, and is a %s; the plan says %q", r.Call, d.Error, r.Then)
			}
			continue
		}
		says := func(what string, said, does bool) {
			t.Helper()
			if said != does {
				t.Errorf("%s: %s: %t, and the plan says %q", r.Call, what, does, r.Then)
			}
		}
		runs := strings.Contains(r.Then, "the tools run") || strings.Contains(r.Then, "the pending tools run") || strings.Contains(r.Then, "the tools of the last message run")
		says("the tools run", runs, len(d.Ran) > 0)
		says("the calls are sent bare", strings.Contains(r.Then, "without results"), strings.HasSuffix(strings.TrimSuffix(d.Sent[0], " u.t"), "a.UU"))
		says("errors are written", strings.Contains(r.Then, "Tool was interrupted."), strings.Contains(d.Saved, "E"))
		says("two messages of the user are sent", strings.Contains(r.Then, "messages of the user in a row"), strings.Contains(d.Sent[0], "u.t u.t") || strings.Contains(d.Sent[0], "u.RR u.t"))
		says("an answer of its own is sent", strings.Contains(r.Then, "prefill"), strings.HasSuffix(d.Sent[0], "a.t"))
	}
}

// A version in question that knows no interrupts would drop the calls that another is
// made to run: where it is not known, nothing is converted, and the plan says from
// which version that would be right.
func TestResume_convertsForNoVersionThatDropsIt(t *testing.T) {
	for name, c := range map[string]struct {
		below, version string
		converts       bool
	}{
		"not known": {"", "", false}, "1.0": {"", "1.0", false}, "1.1": {"", "1.1", true}, "newest": {"", "1.19.0", true},
		"unified storage came with 1.10": {"session", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			s := standingAt(t, "call", c.below)
			plan := planAt(t, s, c.version)
			if converts := strings.Contains(strings.Join(plan.Hazards, " "), "it is converted"); converts != c.converts {
				t.Errorf("it is converted: %t, %q", converts, plan.Hazards)
			}
			if told := strings.Contains(strings.Join(plan.Asks, " "), "--sdk strands-typescript@1.1"); told != (c.version == "" && !c.converts) {
				t.Errorf("the plan asks %q", plan.Asks)
			}
			if runs := strings.Contains(fmt.Sprint(plan.Resume), "the tools run"); runs != c.converts {
				t.Errorf("the calls are %+v", plan.Resume)
			}
		})
	}
}

// Where the SDK has no unified storage it does not find what lies in one.
func TestResume_saysThatAnOldTypeScriptFindsNothing(t *testing.T) {
	plan := planAt(t, standingAt(t, "answer", "session"), "1.9.0")
	if !strings.Contains(plan.Loads, "finds nothing, and begins anew") || len(plan.Resume) != 1 || !strings.Contains(strings.Join(plan.Asks, " "), "before 1.10 has no unified storage") {
		t.Errorf("%+v", plan)
	}
}

// What the plan says of each call is what it does, in each version of the SDK for
// Python that was asked.
func TestResume_agreesWithEveryPython(t *testing.T) {
	const (
		calls   = `{"role":"assistant","content":[{"toolUse":{"toolUseId":"a1","name":"alpha","input":{"x":"1"}}},{"toolUse":{"toolUseId":"a2","name":"alpha","input":{"x":"2"}}}]}`
		done    = `{"toolUseId":"a1","status":"success","content":[{"text":"r"}]}`
		id      = "v1:before_tool_call:a1:approve"
		waiting = `"` + id + `":{"id":"` + id + `","name":"approve","reason":"really?","response":null}`
		calm    = `{"interrupts":{},"context":{},"activated":false}`
	)
	older := func(interrupts, completed string) string {
		return `{"interrupts":{` + interrupts + `},"context":{"tool_use_message":` + calls + `,"tool_results":[` + completed + `]},"activated":true}`
	}
	newer := func(interrupts, completed string) string {
		return `{"interrupts":{` + interrupts + `},"context":{},"activated":true,"pending_tool_execution":{"assistant_message":` + calls + `,"completed_tool_results":[` + completed + `]}}`
	}
	places := map[string]struct{ messages, interrupts string }{
		"user":             {userMessage, calm},
		"call":             {userMessage + "," + calls, calm},
		"result":           {userMessage + "," + calls + "," + resultMessage, calm},
		"answer":           {userMessage + "," + calls + "," + resultMessage + "," + answerMessage, calm},
		"half held":        {userMessage + "," + calls, older("", done)},
		"half held, newer": {userMessage + "," + calls, newer("", done)},
		"interrupt":        {userMessage + "," + calls, older(waiting, "")},
		"interrupt, newer": {userMessage + "," + calls, newer(waiting, "")},
	}
	for _, a := range askedVersions(t, "calls-snapshots.jsonl", 5) {
		for place, did := range a.Places {
			t.Run(a.SDK+"/"+place, func(t *testing.T) {
				dir := t.TempDir()
				mustWrite(t, filepath.Join(snapshotsOf(dir, "py-s"), latestFile),
					`{"scope":"agent","schema_version":"1.0","created_at":"2026-03-01T10:00:00.000000Z","data":{"messages":[`+places[place].messages+
						`],"state":{},"conversation_manager_state":{"__name__":"SlidingWindowConversationManager","removed_message_count":0},"interrupt_state":`+places[place].interrupts+
						`,"system_prompt":null,"model_state":{}},"app_data":{}}`)
				s := open(t, dir)
				if err := s.Assume(store.Release{SDK: "strands-python", Version: a.SDK}); err != nil {
					t.Fatal(err)
				}
				plan, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: model.Ref{Session: "py-s", ID: latestID}, As: "fork"})
				if err != nil || len(plan.Resume) == 0 {
					t.Fatal(plan, err)
				}
				checkCalls(t, plan.Resume, did)
				again := len(did[plan.Resume[0].Call].Ran) == 2 && strings.HasPrefix(place, "half held")
				if told := strings.Contains(plan.Resume[0].Then, "also those that have a result"); again && !told {
					t.Errorf("what has a result runs again: %t, and the plan says %q", again, plan.Resume[0].Then)
				}
			})
		}
	}
}

// An orchestrator that waits goes on without an answer in the oldest SDKs for
// TypeScript, which take none.
func TestResume_ofAnOrchestratorThatWaits(t *testing.T) {
	for version, answers := range map[string]bool{"": true, "1.1.0": false, "1.3.0": true} {
		dir := t.TempDir()
		record, err := os.ReadFile(filepath.Join(testdata, "typescript-multiagent-life", "graph_asks", "04.json"))
		if err != nil {
			t.Fatal(err)
		}
		mustWrite(t, filepath.Join(dir, "s", "scopes", "multiAgent", "g1", "snapshots", latestFile), string(record))
		s := open(t, dir)
		if version != "" {
			if err := s.Assume(store.Release{SDK: "strands-typescript", Version: version}); err != nil {
				t.Fatal(err)
			}
		}
		list := storetest.Headers(t, s, "s")
		plan, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: list[len(list)-1].Ref(), As: "fork"})
		if err != nil {
			t.Fatal(err)
		}
		if offered := strings.Contains(plan.Resume[0].Call, "interruptResponse"); offered != answers || (len(plan.Asks) > 0) == answers {
			t.Errorf("%q: an answer is offered: %t, %+v", version, offered, plan)
		}
	}
}

// What an older SDK does with what is wrong is what is said when it is said to run, and
// what the newest does is said with what was before.
func TestFaults_sayWhatOlderSDKsDo(t *testing.T) {
	skip.Sequential(t)
	newest := answersOf(t, "python-1.62.0")
	maps.Copy(newest, answersOf(t, "typescript-1.19.0"))
	for _, c := range []struct{ sdk, version string }{
		{"strands-python", "1.51.0"}, {"strands-python", "1.55.0"}, {"strands-typescript", "1.0.0"}, {"strands-typescript", "1.7.0"},
	} {
		language := strings.TrimPrefix(c.sdk, "strands-")
		dir := t.TempDir()
		answers := answersOf(t, language+"-"+c.version)
		for name := range answers {
			at := snapshotsOf(dir, name)
			if language == "typescript" { // it had no other
				at = filepath.Join(dir, name, "scopes", "agent", "agent", "snapshots")
			}
			hazards(t)[name].write(t, at)
		}
		s := open(t, dir)
		for _, name := range slices.Sorted(maps.Keys(answers)) {
			if a := answers[name]; a.Refuses != newest[name].Refuses && (a.Refuses == "") != (newest[name].Refuses == "") && newest[name].Legacy == nil {
				told := slices.ContainsFunc(storetest.Faults(t, s, name), func(f model.Fault) bool { return strings.Contains(f.Verdict, "(before ") })
				if always := name == "ts-interrupt-empty"; told == always {
					t.Errorf("%s: in %s it is %q, before it %q, and the faults\n%s", name, c.version, a.Refuses, newest[name].Refuses, pictureFaults(storetest.Faults(t, s, name)))
				}
			}
		}
		if err := s.Assume(store.Release{SDK: c.sdk, Version: c.version}); err != nil {
			t.Fatal(err)
		}
		for name, a := range answers {
			if knowsMore[name] == "" {
				judge(t, name+" of "+c.version, storetest.Faults(t, s, name), a)
			}
		}
	}
}

// The members that a version saves, and the storages that it has, are the signs by
// which a file tells what versions can have written it.
func TestVersions_areToldByTheFile(t *testing.T) {
	for _, a := range typeScripts(t) {
		interrupts := strings.Contains(a.Writes, "interrupts")
		below := ""
		if slices.Contains(a.Layouts, "unified") {
			below = "session"
		}
		place := "user"
		if interrupts {
			place = "held"
		}
		s := standingAt(t, place, below)
		p, err := s.locate("s")
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(s.Address(), filepath.FromSlash(p.pathOf(latestFile))))
		if err != nil {
			t.Fatal(err)
		}
		d := parseFile(data)
		in := p.sdkVersions(&s.running, d.Dialect, d.Tape)
		if (below != "") != in.AllFollow(storesUnified) || interrupts != in.AllFollow(keepsInterrupts) {
			t.Errorf("%s saves %q in %q; in question are %+v", a.SDK, a.Writes, a.Layouts, in)
		}
	}
}
