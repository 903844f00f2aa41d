package messages

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// atNine is when the tests repair.
var atNine = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

// written lays a session of hazards.txtar out in a store, an hour old.
func (f written) store(t *testing.T) (s *Store, dir string) {
	t.Helper()
	dir = t.TempDir()
	f.write(t, filepath.Join(dir, "session_h"))
	for name := range treeOf(t, dir) {
		if err := os.Chtimes(name, atNine.Add(-time.Hour), atNine.Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	s = open(t, dir)
	s.storage.Now = func() time.Time { return atNine }
	return s, dir
}

func fatalOnes(faults []model.Fault) (list []model.Fault) {
	for _, f := range faults {
		if f.Severity >= fatal {
			list = append(list, f)
		}
	}
	return list
}

// withoutRepair are the hazards that stay, with the reason.
var withoutRepair = map[string]string{
	"symlink":       "put the file itself in its place",
	"symlink-agent": "put the file itself in its place",
}

// Every session of the hazards on which the SDK does not start, or which it would
// damage, is mended, so that no fault is fatal any more; undo brings back what was
// there to the byte.
func TestRepair_ofEveryHazard(t *testing.T) {
	skip.Sequential(t)
	repaired := make(map[string]map[string]string)
	var words strings.Builder
	all := hazards(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			s, dir := all[name].store(t)
			before := treeOf(t, dir)
			broken := fatalOnes(storetest.Faults(t, s, "h"))
			plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRepair, Ref: model.Ref{Session: "h"}})
			var nothing *model.NothingToError
			var unsupported *model.UnsupportedError
			switch {
			case withoutRepair[name] != "":
				if !errors.As(err, &unsupported) || !strings.Contains(err.Error(), withoutRepair[name]) {
					t.Errorf("the error is %v", err)
				}
				fmt.Fprintf(&words, "%s\n  %v\n", name, err)
				return
			case errors.As(err, &nothing):
				if len(broken) > 0 {
					t.Errorf("there is nothing to repair, and %v", broken)
				}
				return
			case err != nil:
				t.Fatal(err)
			}
			fmt.Fprintf(&words, "%s: %s", name, all[name]["why"])
			for _, f := range broken {
				fmt.Fprintf(&words, "  ! %s: %s\n", f.Code, f.Verdict)
			}
			for _, lines := range []struct {
				label string
				list  []string
			}{{"writes", plan.Writes}, {"asks", plan.Asks}, {"warning", plan.Hazards}} {
				for _, line := range lines.list {
					fmt.Fprintf(&words, "  %s: %.300s\n", lines.label, line)
				}
			}
			for _, f := range plan.Files {
				fmt.Fprintf(&words, "  %s %s\n", f.Does, f.Path)
			}
			applied(t, s, plan)
			if left := fatalOnes(storetest.Faults(t, s, "h")); len(left) > 0 {
				t.Errorf("what is left: %v", left)
			}
			if _, err := s.Plan(t.Context(), model.Change{Op: model.OpRepair, Ref: model.Ref{Session: "h"}}); !errors.As(err, &nothing) {
				t.Errorf("once more: %v", err)
			}
			repaired[name] = make(map[string]string)
			for file, data := range treeOf(t, dir) {
				short := strings.TrimPrefix(filepath.ToSlash(strings.TrimPrefix(file, filepath.Join(dir, "session_h"))), "/")
				repaired[name][strings.TrimPrefix(short, "agents/agent_default/")] = data
			}
			undo, err := s.Plan(t.Context(), model.Change{Op: model.OpUndo})
			if err != nil {
				t.Fatal(err)
			}
			applied(t, s, undo)
			sameTree(t, dir, before)
			redo, err := s.Plan(t.Context(), model.Change{Op: model.OpRedo})
			if err != nil {
				t.Fatal(err)
			}
			applied(t, s, redo)
			if left := fatalOnes(storetest.Faults(t, s, "h")); len(left) > 0 {
				t.Errorf("what is left after undo and redo: %v", left)
			}
		})
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(repaired); err != nil {
		t.Fatal(err)
	}
	golden(t, "repairs.txt", words.String())
	storetest.Golden(t, filepath.Join(testdata, "repaired.json"), b.String(), update)
}

// repairedAnswer is what the SDK made of a session after its repair.
type repairedAnswer struct {
	answer
	SHA256   string
	Refused  string `json:"turn refused"`
	Waiting  bool
	Answered bool
	Heard    int
	Stored   []string
	Changed  []string
}

// The real SDK starts on every session that was repaired, loads what its state says,
// writes over nothing, and comes to the end of a turn.
func TestRepair_theSDKStartsOnIt(t *testing.T) {
	skip.Sequential(t)
	var sessions map[string]map[string]string
	if err := json.Unmarshal(readFile(t, filepath.Join(testdata, "repaired.json")), &sessions); err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{newestSDK, oldestSDK} {
		var found map[string]repairedAnswer
		if err := json.Unmarshal(readFile(t, filepath.Join(testdata, "repaired-"+version+".json")), &found); err != nil {
			t.Fatal(err)
		}
		if len(found) != len(sessions) {
			t.Fatalf("%d sessions, and SDK %s was asked about %d", len(sessions), version, len(found))
		}
		for name, files := range sessions {
			t.Run(version+"/"+name, func(t *testing.T) {
				sdk := found[name]
				var asked strings.Builder
				for _, file := range slices.Sorted(maps.Keys(files)) {
					fmt.Fprintf(&asked, "%s\x00%s\x00", file, files[file])
				}
				if sum := sha256.Sum256([]byte(asked.String())); hex.EncodeToString(sum[:]) != sdk.SHA256 {
					t.Fatal("the SDK was asked about another session; ask it again, see testdata/interop/strands_repairs.py")
				}
				// What an old SDK wants of an interrupt no repair can know.
				if version == oldestSDK && strings.HasPrefix(name, "interrupt-") && sdk.Refused == "KeyError: 'tool_use_message'" {
					return
				}
				if sdk.Refuses != "" || sdk.Refused != "" || sdk.Overwrites || !sdk.Answered || len(sdk.Changed) > 0 {
					t.Fatalf("the SDK: %+v", sdk)
				}
				// An answer to an interrupt is no message; tools that waited may run. Where the
				// log ends with a call, an error comes first in the place of its result.
				most := 2
				if strings.Contains(files["messages/message_5.json"], `"toolUse"`) {
					most = 3
				}
				if n := len(sdk.Stored); n == 0 || n > most || n == 1 && !sdk.Waiting || sdk.Stored[0] != sdk.Next {
					t.Errorf("a turn writes %q, and the next message goes to %s", sdk.Stored, sdk.Next)
				}
				if version == oldestSDK {
					return // it does other things in memory, see sdk_test.go
				}
				f := written{}
				for file, data := range files {
					f[file] = []byte(data)
				}
				s, _ := f.store(t)
				list := storetest.Headers(t, s, "h")
				if got, loaded := canonicalMessages(t, state(t, s, list[len(list)-1])), plainMessages(t, sdk.Messages); !slices.Equal(got, loaded) {
					t.Errorf("the state has\n %s\nthe SDK loads\n %s", strings.Join(got, "\n "), strings.Join(loaded, "\n "))
				}
			})
		}
	}
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// broken lays a session out that is the healthy one but for some files.
func broken(t *testing.T, files map[string]string) (s *Store, dir string) {
	t.Helper()
	return hazards(t)["healthy"].with(files).store(t)
}

// mended repairs the session and checks that nothing fatal is left, and that undo
// brings back every byte. It gives the plan and the files after the repair by their
// short names.
func mended(t *testing.T, s *Store, dir, session string) (model.Plan, map[string]string) {
	t.Helper()
	before := treeOf(t, dir)
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRepair, Ref: model.Ref{Session: session}})
	if err != nil {
		t.Fatal(err)
	}
	applied(t, s, plan)
	if left := fatalOnes(storetest.Faults(t, s, session)); len(left) > 0 {
		t.Errorf("what is left: %v", left)
	}
	files := make(map[string]string)
	for file, data := range treeOf(t, dir) {
		files[filepath.Base(file)] = data
	}
	undo, err := s.Plan(t.Context(), model.Change{Op: model.OpUndo})
	if err != nil {
		t.Fatal(err)
	}
	if len(undo.Hazards) == 0 || !strings.Contains(undo.Loads, "as broken as it was") {
		t.Errorf("the undo says %q", undo.Loads)
	}
	applied(t, s, undo)
	sameTree(t, dir, before)
	return plan, files
}

func wants(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in %s", part, text)
		}
	}
}

// A message that was cut off is set aside, wherever that was, and nothing else changes.
func TestRepair_ofAMessageCutAnywhere(t *testing.T) {
	skip.Sequential(t)
	const whole = `{"message":{"role":"user","content":[{"toolResult":{"toolUseId":"a1","status":"success","content":[{"text":"r-a1"}]}}]},"message_id":2}`
	for cut := 0; cut < len(whole); cut += 19 {
		s, dir := broken(t, map[string]string{"messages/message_3.json": whole[:cut]})
		plan, files := mended(t, s, dir, "h")
		if _, there := files["message_3.json"]; there || len(plan.Files) != 1 || len(plan.Asks) == 0 {
			t.Errorf("cut at %d: %s, %v, %q", cut, files["message_3.json"], plan.Files, plan.Asks)
		}
	}
}

// Of an agent.json that was cut off nothing is known: it is made anew, and the plan asks.
func TestRepair_ofAnAgentCutOff(t *testing.T) {
	skip.Sequential(t)
	whole := string(hazards(t)["healthy"]["agent.json"])
	s, dir := broken(t, map[string]string{"agent.json": whole[:strings.Index(whole, `"_internal_state"`)+20]})
	plan, files := mended(t, s, dir, "h")
	wants(t, files["agent.json"], `"state": {}`, `"removed_message_count": 0`)
	wants(t, strings.Join(plan.Asks, "\n"), "any interrupt that waits", "state begins empty")
}

// All that is wrong is mended in one plan, each in its words.
func TestRepair_ofManyFaultsAtOnce(t *testing.T) {
	skip.Sequential(t)
	s, dir := broken(t, map[string]string{
		"session.json":                `{"session_id":"h"}`,
		"agent.json":                  "\xef\xbb\xbf" + `{"agent_id":"default","state":{"n":1},"conversation_manager_state":{"__name__":"SlidingWindowConversationManager","removed_message_count":60}}`,
		"messages/message_0.json":     `{"message":{"role":"user","content":[{"text":"hi, this is cut o`,
		"messages/message_3.bak.json": "{}",
		"messages/message_5.json":     `{"message":{"role":"assistant","content":[{"text":"bye"}]},"message_id":2}`,
	})
	plan, files := mended(t, s, dir, "h")
	wants(t, files["message_5.json"], `"message_id":5`)
	wants(t, files["agent.json"], `"state": {"n":1}`, `"removed_message_count": 0`)
	wants(t, files["session.json"], `"session_type": "AGENT"`)
	wants(t, strings.Join(plan.Writes, "\n"), "made anew: the file begins with a byte order mark", "message_0.json: set aside", "message_3.bak.json: set aside", "message_id becomes 5")
	if plan.Target.Index != 4 || len(plan.Files) != 5 {
		t.Errorf("the plan is %+v", plan)
	}
}

// A message that goes does not move the window of those that stay.
func TestRepair_ofAFolderThatIsMissing(t *testing.T) {
	skip.Sequential(t)
	s, dir := broken(t, nil)
	if err := os.RemoveAll(filepath.Join(dir, "session_h", "agents", "agent_default", "messages")); err != nil {
		t.Fatal(err)
	}
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRepair, Ref: model.Ref{Session: "h"}})
	if err != nil {
		t.Fatal(err)
	}
	applied(t, s, plan)
	if faults := storetest.Faults(t, s, "h"); len(faults) > 0 {
		t.Errorf("faults: %v", faults)
	}
	undo, err := s.Plan(t.Context(), model.Change{Op: model.OpUndo})
	if err != nil {
		t.Fatal(err)
	}
	applied(t, s, undo)
	if _, err := os.Lstat(filepath.Join(dir, "session_h", "agents", "agent_default", "messages")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is there: %v", err)
	}
}

// Of a session of several agents only the one that is named is mended.
func TestRepair_ofOneAgentOfSeveral(t *testing.T) {
	skip.Sequential(t)
	s, dir := broken(t, map[string]string{"messages/message_3.json": "{"})
	agents := filepath.Join(dir, "session_h", "agents")
	if err := os.CopyFS(filepath.Join(agents, "agent_other"), os.DirFS(filepath.Join(agents, "agent_default"))); err != nil {
		t.Fatal(err)
	}
	plan, _ := mended(t, s, dir, "h/other")
	for _, f := range plan.Files {
		if !strings.Contains(f.Path, "/agent_other/") {
			t.Errorf("it touches %s", f.Path)
		}
	}
}

func TestRepair_refuses(t *testing.T) {
	skip.Sequential(t)
	s, dir := broken(t, map[string]string{"messages/message_3.json": "{"})
	name := filepath.Join(dir, "session_h", "agents", "agent_default", "messages", "message_4.json")
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(name, 0o755); err != nil {
		t.Fatal(err)
	}
	var unsupported *model.UnsupportedError
	if _, err := s.Plan(t.Context(), model.Change{Op: model.OpRepair, Ref: model.Ref{Session: "h"}}); !errors.As(err, &unsupported) || !strings.Contains(err.Error(), "message_4.json: it cannot be read") {
		t.Errorf("a folder in the place of a message: %v", err)
	}
	if _, err := s.Plan(t.Context(), model.Change{Op: model.OpRepair, Ref: model.Ref{Session: "nobody"}}); !errors.Is(err, model.ErrNoSession) {
		t.Errorf("no session: %v", err)
	}
	healthy, _ := broken(t, nil)
	var nothing *model.NothingToError
	if _, err := healthy.Plan(t.Context(), model.Change{Op: model.OpRepair, Ref: model.Ref{Session: "h"}}); !errors.As(err, &nothing) {
		t.Errorf("a healthy session: %v", err)
	}
}

// The record of an orchestrator is mended where that costs nothing, and set aside
// where its results cannot be read.
func TestRepair_ofAnOrchestrator(t *testing.T) {
	skip.Sequential(t)
	file := filepath.Join("session_graph_interrupted", "multi_agents", "multi_agent_g1", "multi_agent.json")
	for _, c := range []struct {
		name, old, new string
		gone           bool
		says           string
	}{
		{"an interrupt with an unknown key", `"name": "approve-report"`, `"name": "approve-report", "source": "hook"`, false, "the interrupt state becomes an empty one"},
		{"a byte order mark", "", "\xef\xbb\xbf", true, "byte order mark"},
		{"cut off", `"current_task"`, "", true, "set aside"},
		{"a result of an unknown type", `"agent_result"`, `"novel"`, true, "set aside"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := oldStore(t, orchestrators)
			text := read(t, filepath.Join(dir, file))
			changed := strings.Replace(text, c.old, c.new, 1)
			if c.name == "cut off" {
				changed, _, _ = strings.Cut(text, c.old)
			}
			write(t, filepath.Join(dir, file), changed)
			s := open(t, dir)
			s.storage.Now = func() time.Time { return atNine }
			if broken := fatalOnes(storetest.Faults(t, s, "graph_interrupted")); len(broken) == 0 {
				t.Fatal("nothing is wrong")
			}
			before := treeOf(t, dir)
			plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRepair, Ref: model.Ref{Session: "graph_interrupted"}})
			if err != nil {
				t.Fatal(err)
			}
			wants(t, strings.Join(plan.Writes, "\n"), c.says)
			applied(t, s, plan)
			if left := fatalOnes(storetest.Faults(t, s, "graph_interrupted")); len(left) > 0 {
				t.Errorf("what is left: %v", left)
			}
			if _, err := os.Lstat(filepath.Join(dir, file)); errors.Is(err, os.ErrNotExist) != c.gone {
				t.Errorf("the record: %v", err)
			}
			undo, err := s.Plan(t.Context(), model.Change{Op: model.OpUndo})
			if err != nil {
				t.Fatal(err)
			}
			applied(t, s, undo)
			sameTree(t, dir, before)
		})
	}
}

// AgentState of the SDK takes what is JSON, and the bytes that it decoded are none:
// strands-agents 1.52.0 and 1.62.0 raise the ValueError, 1.40.0 loads the object.
func TestRepair_bytesInTheAgentsState(t *testing.T) {
	skip.Sequential(t)
	for _, c := range []struct{ state, at, after string }{
		{`{"picture": {"__bytes_encoded__": true, "data": "aGVsbG8="}, "n": 1}`, "/state/picture", `{}`},
		{`{"list": [{"in": {"data": "aGk=", "__bytes_encoded__": true, "more": 1}}]}`, "/state/list/0/in", `{}`},
		{`{"picture": {"__bytes_encoded__": false, "data": "aGk="}}`, "", ""},
		{`{"picture": {"__bytes_encoded__": true}}`, "", ""},
	} {
		healthy := hazards(t)["healthy"]
		agent := string(healthy["agent.json"])
		before := tape(t, healthy["agent.json"])
		start, end := before.Span(before.Find(0, "state"))
		s, dir := healthy.with(map[string]string{"agent.json": agent[:start] + c.state + agent[end:]}).store(t)
		list := fatalOnes(storetest.Faults(t, s, "h"))
		if c.at == "" {
			if len(list) != 0 {
				t.Errorf("%s: %v", c.state, list)
			}
			continue
		}
		if len(list) != 1 || list[0].Code != FaultBytes || list[0].Path != c.at || !strings.Contains(list[0].Verdict, "ValueError: Value is not JSON serializable") {
			t.Errorf("%s: %v", c.state, list)
		}
		_, files := mended(t, s, dir, "h")
		if want := agent[:start] + c.after + agent[end:]; files["agent.json"] != want {
			t.Errorf("agent.json is\n%s\nand not\n%s", files["agent.json"], want)
		}
	}
}

// A true result that stands messages later than its call goes behind it, and nothing
// that the repair made is a fault.
func TestRepair_putsAResultBehindItsCall(t *testing.T) {
	skip.Sequential(t)
	message := func(n int, role, content string) (name, text string) {
		return fmt.Sprintf("messages/message_%d.json", n), fmt.Sprintf(`{"message":{"role":%q,"content":[%s]},"message_id":%d}`, role, content, n)
	}
	const far, half = `{"toolResult":{"toolUseId":"a1","status":"success","content":[{"text":"r-a1"}]}}`, `{"toolResult":{"toolUseId":"b1","status":"success","content":[{"text":"r-b1"}]}}`
	for name, c := range map[string]struct {
		calls, behind, later string
		gone                 bool
	}{
		"alone":        {`{"toolUse":{"toolUseId":"a1","name":"alpha","input":{}}}`, `{"text":"q2"}`, far, true},
		"with a text":  {`{"toolUse":{"toolUseId":"a1","name":"alpha","input":{}}}`, `{"text":"q2"}`, far + `,{"text":"and go on"}`, false},
		"one of two":   {`{"toolUse":{"toolUseId":"a1","name":"alpha","input":{}}},{"toolUse":{"toolUseId":"b1","name":"alpha","input":{}}}`, half, far, true},
		"both of them": {`{"toolUse":{"toolUseId":"a1","name":"alpha","input":{}}},{"toolUse":{"toolUseId":"b1","name":"alpha","input":{}}}`, `{"text":"q2"}`, half + "," + far, true},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{}
			for n := range 12 {
				role, content := "assistant", fmt.Sprintf(`{"text":"d%d"}`, n)
				switch {
				case n == 1:
					content = c.calls
				case n == 2:
					role, content = "user", c.behind
				case n == 10:
					role, content = "user", c.later
				case n%2 == 0:
					role, content = "user", fmt.Sprintf(`{"text":"q%d"}`, n)
				}
				file, text := message(n, role, content)
				files[file] = text
			}
			s, dir := broken(t, files)
			plan, after := mended(t, s, dir, "h")
			if !strings.Contains(after["message_2.json"], far) {
				t.Errorf("message 2 is %s\n%q", after["message_2.json"], plan.Writes)
			}
			if text, there := after["message_10.json"]; there == c.gone || strings.Contains(text, "toolResult") {
				t.Errorf("message 10 is %s", text)
			}
			redo, err := s.Plan(t.Context(), model.Change{Op: model.OpRedo})
			if err != nil {
				t.Fatal(err)
			}
			applied(t, s, redo)
			for _, f := range storetest.Faults(t, s, "h") {
				if pairing[f.Code] {
					t.Errorf("after the repair: %+v", f)
				}
			}
		})
	}
}

// Where the assistant's message follows the call, there is no message for the result, and
// no number between: it moves there whole, and the messages between go on by one file.
func TestRepair_movesAResultBehindItsCall(t *testing.T) {
	skip.Sequential(t)
	const (
		calls  = `{"toolUse":{"toolUseId":"a1","name":"alpha","input":{}}}`
		result = `{"toolResult":{"toolUseId":"a1","status":"success","content":[{"text":"r-a1"}]}}`
	)
	text := func(s string) string { return `{"text":"` + s + `"}` }
	type said struct{ role, content string }
	for name, c := range map[string]struct{ log, want []said }{
		"late": {
			[]said{{"user", text("q0")}, {"assistant", calls}, {"assistant", text("d2")}, {"user", text("q3")}, {"assistant", text("d4")}, {"user", result}, {"assistant", text("d6")}},
			[]said{{"user", text("q0")}, {"assistant", calls}, {"user", result}, {"assistant", text("d2")}, {"user", text("q3")}, {"assistant", text("d4")}, {"assistant", text("d6")}},
		},
		"early": {
			[]said{{"user", text("q0")}, {"assistant", text("d1")}, {"user", result}, {"assistant", text("d3")}, {"user", text("q4")}, {"assistant", calls}, {"assistant", text("d6")}},
			[]said{{"user", text("q0")}, {"assistant", text("d1")}, {"assistant", text("d3")}, {"user", text("q4")}, {"assistant", calls}, {"user", result}, {"assistant", text("d6")}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			file := func(n int, m said) string {
				return fmt.Sprintf(`{"message":{"role":%q,"content":[%s]},"message_id":%d}`, m.role, m.content, n)
			}
			files := map[string]string{}
			for n, m := range c.log {
				files[fmt.Sprintf("messages/message_%d.json", n)] = file(n, m)
			}
			s, dir := broken(t, files)
			_, after := mended(t, s, dir, "h")
			for n, m := range c.want {
				if got := after[fmt.Sprintf("message_%d.json", n)]; got != file(n, m) {
					t.Errorf("message %d is %s, want %s", n, got, file(n, m))
				}
			}
			redo, err := s.Plan(t.Context(), model.Change{Op: model.OpRedo})
			if err != nil {
				t.Fatal(err)
			}
			applied(t, s, redo)
			for _, f := range storetest.Faults(t, s, "h") {
				if pairing[f.Code] {
					t.Errorf("after the repair: %+v", f)
				}
			}
		})
	}
}

// The results of two calls that were exchanged go back, and neither message goes.
func TestRepair_ofResultsThatWereExchanged(t *testing.T) {
	skip.Sequential(t)
	result := func(id string) string {
		return `{"toolResult":{"toolUseId":"` + id + `","status":"success","content":[{"text":"r-` + id + `"}]}}`
	}
	text := func(n int, role, content string) string {
		return fmt.Sprintf(`{"message":{"role":%q,"content":[%s]},"message_id":%d}`, role, content, n)
	}
	s, dir := broken(t, map[string]string{
		"messages/message_2.json": text(2, "user", result("b1")),
		"messages/message_4.json": text(4, "assistant", `{"toolUse":{"toolUseId":"b1","name":"alpha","input":{}}}`),
		"messages/message_5.json": text(5, "user", result("a1")),
	})
	_, after := mended(t, s, dir, "h")
	if after["message_2.json"] != text(2, "user", result("a1")) || after["message_5.json"] != text(5, "user", result("b1")) {
		t.Errorf("%s\n%s", after["message_2.json"], after["message_5.json"])
	}
}
