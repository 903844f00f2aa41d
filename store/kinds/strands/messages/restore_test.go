package messages

import (
	"context"
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
	"hindcast/model/jsontape"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// apply carries a plan out.
func apply(t testing.TB, s *Store, plan model.Plan, err error) model.Receipt {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	receipt, err := s.Apply(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	return receipt
}

// restore puts a session back to a snapshot.
func restore(t testing.TB, s *Store, session, id string) model.Plan {
	t.Helper()
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: model.Ref{Session: session, ID: id}})
	apply(t, s, plan, err)
	return plan
}

func undo(t testing.TB, s *Store) model.Plan {
	t.Helper()
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpUndo})
	apply(t, s, plan, err)
	return plan
}

func redo(t testing.TB, s *Store) model.Plan {
	t.Helper()
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRedo})
	apply(t, s, plan, err)
	return plan
}

// refusedFor returns the reason of a plan that was refused.
func refusedFor(t testing.TB, err error) string {
	t.Helper()
	refused := (*model.UnsupportedError)(nil)
	if !errors.As(err, &refused) {
		t.Fatalf("not refused: %v", err)
	}
	return refused.Reason
}

// checkStart asks the rule of the SDK what it makes of an agent that was put back to
// a plan's target, and whether the next message would be a new file behind it.
func checkStart(t testing.TB, dir string, plan model.Plan) {
	t.Helper()
	got, err := startSDK(dir)
	if err != nil {
		t.Fatalf("#%d: the SDK does not start: %v", plan.Target.Index, err)
	}
	if len(got.loaded) == 0 || len(got.all) != plan.Target.Index+1 {
		t.Fatalf("#%d: the SDK loads %q of %q", plan.Target.Index, got.loaded, got.all)
	}
	next := fmt.Sprintf("message_%d.json", got.next)
	if !strings.HasSuffix(plan.Loads, "becomes "+next) {
		t.Errorf("#%d: the next message is %s, and the plan says %q", plan.Target.Index, next, plan.Loads)
	}
	if slices.Contains(got.all, next) {
		t.Errorf("#%d: the next message would be written over %s", plan.Target.Index, next)
	}
	last, _ := fileOf(got.all[len(got.all)-1])
	if f, _ := fileOf(next); f.compare(last) <= 0 {
		t.Errorf("#%d: %s comes before %s", plan.Target.Index, next, last.name)
	}
}

// everySession gives the sessions of a store that are logs, each with its folder.
func everyLog(t testing.TB, s *Store) map[string]string {
	t.Helper()
	all := map[string]string{}
	for info, err := range s.Sessions(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		p, err := s.locate(s.storage.In(), info.ID)
		if err != nil {
			t.Fatal(err)
		}
		if p.agent != "" {
			all[info.ID] = filepath.Join(s.dir, filepath.FromSlash(p.path()))
		}
	}
	return all
}

func TestRestore_toEveryMessageOfEveryFixture(t *testing.T) {
	skip.Sequential(t)
	s, dir := copyStore(t)
	first := contents(t, dir)
	for session, agent := range everyLog(t, s) {
		t.Run(session, func(t *testing.T) {
			list := storetest.Headers(t, s, session)
			states := map[string]string{}
			for _, h := range list {
				states[h.ID] = string(state(t, s, h))
			}
			head := list[len(list)-1]
			for i, h := range list {
				plan := restore(t, s, session, h.ID)
				checkStart(t, agent, plan)
				if plan.Target.ID != h.ID || plan.Target.Index != i || plan.Head.ID != head.ID || len(plan.Orphans) != len(list)-1-i || len(plan.Reactivates) != 0 {
					t.Errorf("#%d: %+v", i, plan)
				}
				now := storetest.Headers(t, s, session)
				if len(now) != len(list) {
					t.Fatalf("#%d: %d snapshots of %d", i, len(now), len(list))
				}
				for k, n := range now {
					if n.ID != list[k].ID || n.ParentID != list[k].ParentID || n.Index != k || n.Orphaned != (k > i) || n.Head != (k == i) || n.TurnIndex != list[k].TurnIndex || n.Title != list[k].Title {
						t.Fatalf("#%d: %+v was %+v", i, n, list[k])
					}
					if k > i && (n.Reason == nil || n.Reason.Kind != model.ReasonRestore || n.Reason.TargetID != h.ID || n.Reason.TargetIndex != i) {
						t.Fatalf("#%d: the reason is %+v", i, n.Reason)
					}
				}
				// The head's state, with what agent.json says, comes back with it.
				if i < len(list)-1 {
					if got := string(state(t, s, now[len(now)-1])); got != states[head.ID] {
						t.Errorf("#%d: the state that was left is\n%s\nand was\n%s", i, got, states[head.ID])
					}
				}
				undo(t, s)
				if now := contents(t, dir); !maps.Equal(now, first) {
					t.Fatalf("#%d: after the undo the store is not as it was", i)
				}
			}
		})
	}
}

func TestRestore_toEveryBranchAndBack(t *testing.T) {
	skip.Sequential(t)
	s, _ := copyStore(t)
	for session, agent := range everyLog(t, s) {
		list := storetest.Headers(t, s, session)
		for i := 0; i < len(list); i += 5 {
			restore(t, s, session, list[i].ID)
			for k := 0; k < len(list); k += 3 {
				plan := restore(t, s, session, list[k].ID)
				checkStart(t, agent, plan)
				if len(plan.Orphans) != max(0, i-k) || len(plan.Reactivates) != max(0, k-i) {
					t.Errorf("%s: #%d to #%d: %d leave, %d come back", session, i, k, len(plan.Orphans), len(plan.Reactivates))
				}
				restore(t, s, session, list[i].ID)
			}
		}
	}
}

// Whatever is wrong with a session: either it is put back to where the SDK starts and
// loses nothing, or the reason is given and nothing is touched.
func TestRestore_ofEveryHazard(t *testing.T) {
	skip.Sequential(t)
	for name, files := range hazards(t) {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			files.write(t, filepath.Join(dir, "session_h"))
			rest(t, dir)
			s := openUnsynced(t, dir)
			before := contents(t, dir)
			for i, h := range storetest.Headers(t, s, "h") {
				plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: model.Ref{Session: "h", ID: h.ID}})
				if err == nil {
					apply(t, s, plan, nil)
					checkStart(t, agentDir(dir, "h", "default"), plan)
					undo(t, s)
				}
				if !maps.Equal(contents(t, dir), before) {
					t.Fatalf("#%d: after the undo, or the refusal, the store is not as it was: %v", i, err)
				}
			}
		})
	}
}

// turns writes a log of n messages in turns of four: question, call, result, answer.
func turns(a *runningAgent, n int) {
	for i := range n {
		id := fmt.Sprintf("call-%d-%d", a.next-int64(i%4), i/4)
		switch i % 4 {
		case 0:
			a.append("user", said(fmt.Sprint("question ", a.next)))
		case 1:
			a.append("assistant", said("let me look"), asked(id))
		case 2:
			a.append("user", answered(fmt.Sprintf("call-%d-%d", a.next-int64(i%4), i/4)))
		case 3:
			a.append("assistant", said(fmt.Sprint("answer ", a.next)))
		}
	}
}

// freshLog makes a store with one session "h" of n messages that lie still.
func freshLog(t testing.TB, n int) (*Store, string) {
	t.Helper()
	dir := t.TempDir()
	hazards(t)["healthy"].with(map[string]string{"messages/message_0.json": "(absent)\n"}).write(t, filepath.Join(dir, "session_h"))
	others, err := filepath.Glob(filepath.Join(agentDir(dir, "h", "default"), "messages", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range others {
		mustRemove(t, name)
	}
	turns(startAgent(t, agentDir(dir, "h", "default"), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)), n)
	rest(t, dir)
	return openUnsynced(t, dir), agentDir(dir, "h", "default")
}

func TestHazard1_removedCountIsLoweredFirst(t *testing.T) {
	skip.Sequential(t)
	s, _ := copyStore(t)
	list := storetest.Headers(t, s, "sliding")
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: list[9].Ref()})
	if err != nil {
		t.Fatal(err)
	}
	if first := plan.Files[0]; !strings.HasSuffix(first.Path, "agent.json") {
		t.Errorf("%s changes first", first.Path)
	}
	for i := 1; i < len(plan.Files); i++ {
		if want := fmt.Sprintf("message_%d.json", 16-i); !strings.HasSuffix(plan.Files[i].Path, want) || plan.Files[i].Does != model.FileSetAside {
			t.Errorf("file %d is %+v", i, plan.Files[i])
		}
	}
	apply(t, s, plan, nil)
	got, err := startSDK(agentDir(s.dir, "sliding", "default"))
	if err != nil || len(got.loaded) != 10 || got.next != 10 {
		t.Errorf("%+v, %v", got, err)
	}
	if !slices.ContainsFunc(plan.Hazards, func(h string) bool { return strings.Contains(h, "holds the whole log again, 10 messages") }) {
		t.Errorf("%q", plan.Hazards)
	}
	// Where a message is left behind it, the count stays, and is written last.
	undo(t, s)
	plan = restore(t, s, "sliding", list[10].ID)
	if last := plan.Files[len(plan.Files)-1]; !strings.HasSuffix(last.Path, "agent.json") {
		t.Errorf("%s changes last", last.Path)
	}
	got, err = startSDK(agentDir(s.dir, "sliding", "default"))
	if err != nil || len(got.loaded) != 1 || got.next != 11 {
		t.Errorf("%+v, %v", got, err)
	}
}

// At every step of a restore the log can be loaded, and nothing would be written over.
func TestHazard1_atEveryStepOfARestore(t *testing.T) {
	skip.Sequential(t)
	s, dir := copyStore(t)
	for _, session := range []string{"sliding", "summarizing", "basic"} {
		folder, agent := filepath.Join(dir, "session_"+session), agentDir(dir, session, "default")
		list := storetest.Headers(t, s, session)
		for i, h := range list {
			step := filepath.Join(t.TempDir(), "step")
			if err := os.CopyFS(step, os.DirFS(folder)); err != nil {
				t.Fatal(err)
			}
			plan := restore(t, s, session, h.ID)
			for n, f := range plan.Files {
				name := strings.TrimPrefix(f.Path, "session_"+session)
				data, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(name)))
				target := filepath.Join(step, filepath.FromSlash(name))
				if errors.Is(err, os.ErrNotExist) {
					err = os.Remove(target)
				} else if err == nil {
					err = os.WriteFile(target, data, 0o644)
				}
				if err != nil {
					t.Fatal(err)
				}
				got, err := startSDK(filepath.Join(step, "agents", "agent_default"))
				next := fmt.Sprintf("message_%d.json", got.next)
				if err != nil || len(got.loaded) == 0 || slices.Contains(got.all, next) {
					t.Fatalf("%s to #%d, after step %d: loads %q, writes %s, %v", session, i, n, got.loaded, next, err)
				}
			}
			checkStart(t, agent, plan)
			undo(t, s)
		}
	}
}

// copyStore opens a copy of the fixtures.
func copyStore(t testing.TB) (*Store, string) {
	t.Helper()
	dir := copyOf(t, fixtures)
	return openUnsynced(t, dir), dir
}

func TestHazard2_pendingInterrupt(t *testing.T) {
	skip.Sequential(t)
	s, dir := copyStore(t)
	list := storetest.Headers(t, s, "interrupt_pending")
	plan := restore(t, s, "interrupt_pending", list[0].ID)
	if !slices.ContainsFunc(plan.Hazards, func(h string) bool { return strings.Contains(h, "approve-delete") && strings.Contains(h, "given up") }) {
		t.Errorf("%q", plan.Hazards)
	}
	file := filepath.Join(agentDir(dir, "interrupt_pending", "default"), "agent.json")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got := tape(t, data)
	n := got.Lookup("_internal_state", "interrupt_state")
	if canonical(got, n) != `{"activated":false,"context":{},"interrupts":{},}` {
		t.Errorf("%s", got.Raw(n))
	}
	// Back to where it waits, it waits again, and only an answer is taken.
	plan = restore(t, s, "interrupt_pending", list[1].ID)
	if len(plan.Resume) != 1 || !strings.Contains(plan.Resume[0].Call, `"interruptId": "v1:before_tool_call:`) {
		t.Errorf("%+v", plan.Resume)
	}
	if h := storetest.Headers(t, s, "interrupt_pending"); !h[1].Marks.Has(model.MarkInterrupted) {
		t.Error("it does not wait")
	}
	for _, ask := range plan.Asks {
		if strings.Contains(ask, "run again") {
			t.Errorf("%q: the tools did not run yet", ask)
		}
	}
}

// Newer SDKs keep the tool calls that wait in another place.
func TestHazard2_pendingToolExecution(t *testing.T) {
	skip.Sequential(t)
	s, dir := copyStore(t)
	file := filepath.Join(agentDir(dir, "interrupt_pending", "default"), "agent.json")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	old := tape(t, data)
	state := old.Lookup("_internal_state", "interrupt_state")
	message := old.Raw(old.Lookup("_internal_state", "interrupt_state", "context", "tool_use_message"))
	p := jsontape.NewPatch(old)
	p.Put(state, "pending_tool_execution", []byte(`{"assistant_message":`+string(message)+`,"completed_tool_results":[]}`))
	p.Set(old.Find(state, "context"), []byte("{}"))
	if err := os.WriteFile(file, p.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	list := storetest.Headers(t, s, "interrupt_pending")
	restore(t, s, "interrupt_pending", list[0].ID)
	if data, err = os.ReadFile(file); err != nil {
		t.Fatal(err)
	}
	got := tape(t, data)
	if n := got.Lookup("_internal_state", "interrupt_state"); canonical(got, n) != `{"activated":false,"context":{},"interrupts":{},"pending_tool_execution":null,}` {
		t.Errorf("%s", got.Raw(n))
	}
	plan := restore(t, s, "interrupt_pending", list[1].ID)
	if len(plan.Resume) != 1 || !strings.Contains(plan.Resume[0].Call, "interruptResponse") {
		t.Errorf("%+v", plan.Resume)
	}
}

func TestHazard3_strayNames(t *testing.T) {
	skip.Sequential(t)
	for name, refused := range map[string]bool{"message_x.json": true, "message_3.bak.json": true, "message_007.json": false, "message_3.json.bak": false, ".message_9.json": false, "notes.txt": false, ".strands_x.tmp": false} {
		t.Run(name, func(t *testing.T) {
			s, agent := freshLog(t, 12)
			data, err := os.ReadFile(filepath.Join(agent, "messages", "message_7.json"))
			if err == nil {
				err = os.WriteFile(filepath.Join(agent, "messages", name), data, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			list := storetest.Headers(t, s, "h")
			for _, h := range list {
				plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: h.Ref()})
				if refused {
					if reason := refusedFor(t, err); !strings.Contains(reason, name) || !strings.Contains(reason, "repair") {
						t.Errorf("%s", reason)
					}
					continue
				}
				apply(t, s, plan, err)
				checkStart(t, agent, plan)
				undo(t, s)
			}
		})
	}
}

func TestHazard4_aLiveWriterIsAskedAbout(t *testing.T) {
	skip.Sequential(t)
	s, agent := freshLog(t, 8)
	list := storetest.Headers(t, s, "h")
	if plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: list[3].Ref()}); err != nil || len(plan.Asks) != 0 {
		t.Fatalf("%q, %v", plan.Asks, err)
	}
	startAgent(t, agent, time.Now()).append("user", said("hello"))
	written := time.Now()
	for _, c := range []struct {
		after time.Duration
		asks  int
	}{{0, 1}, {59 * time.Second, 1}, {61 * time.Second, 0}} {
		s.storage.Now = func() time.Time { return written.Add(c.after) }
		plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: list[3].Ref()})
		if err != nil || len(plan.Asks) != c.asks {
			t.Errorf("after %s: %q, %v", c.after, plan.Asks, err)
		}
		if c.asks > 0 && (!strings.Contains(plan.Asks[0], "an agent may still be running") || !strings.Contains(strings.Join(plan.Hazards, "\n"), "stop it first")) {
			t.Errorf("%q, %q", plan.Asks, plan.Hazards)
		}
	}
	// What Hindcast itself wrote is no sign of an agent.
	restore(t, s, "h", list[3].ID)
	s.storage.Now = time.Now
	if plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: list[1].Ref()}); err != nil || len(plan.Asks) != 1 || !strings.Contains(plan.Asks[0], "run again") {
		t.Errorf("%q, %v", plan.Asks, err)
	}
}

func TestHazard4_aWriterBetweenPlanAndWrite(t *testing.T) {
	skip.Sequential(t)
	for name, write := range map[string]func(a *runningAgent){
		"a message":    func(a *runningAgent) { a.append("user", said("hello")) },
		"agent.json":   func(a *runningAgent) { a.sync(object{"x": 1}) },
		"a redaction":  func(a *runningAgent) { a.redact("message_7.json", "gone") },
		"a deletion":   func(a *runningAgent) { mustRemove(t, filepath.Join(a.dir, "messages", "message_2.json")) },
		"another file": func(a *runningAgent) { a.replace("messages/message_99.json", []byte("{}")) },
	} {
		t.Run(name, func(t *testing.T) {
			s, agent := freshLog(t, 8)
			list := storetest.Headers(t, s, "h")
			plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: list[3].Ref()})
			if err != nil {
				t.Fatal(err)
			}
			write(startAgent(t, agent, time.Now()))
			before := contents(t, s.dir)
			if _, err := s.Apply(t.Context(), plan); !errors.Is(err, model.ErrHeadMoved) {
				t.Errorf("%v", err)
			}
			if !maps.Equal(contents(t, s.dir), before) {
				t.Error("something was written")
			}
		})
	}
}

func mustRemove(t testing.TB, name string) {
	t.Helper()
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
}

func TestHazard5_agentFileIsMissingOrLacksSomething(t *testing.T) {
	skip.Sequential(t)
	for name, content := range map[string]string{
		"missing": "(absent)\n", "no state": `{"agent_id":"default","conversation_manager_state":{"__name__":"NullConversationManager","removed_message_count":0}}`,
		"no count": `{"agent_id":"default","state":{},"conversation_manager_state":{"__name__":"NullConversationManager"}}`, "no JSON": "{",
	} {
		t.Run(name, func(t *testing.T) {
			s := openFiles(t, hazards(t)["healthy"].with(map[string]string{"agent.json": content}))
			for _, h := range storetest.Headers(t, s, "h") {
				if _, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: h.Ref()}); err == nil {
					t.Errorf("#%d is not refused", h.Index)
				}
			}
		})
	}
}

func TestHazard6_anotherConversationManager(t *testing.T) {
	skip.Sequential(t)
	s, agent := freshLog(t, 12)
	a := startAgent(t, agent, time.Now())
	data, err := os.ReadFile(filepath.Join(agent, "agent.json"))
	if err != nil {
		t.Fatal(err)
	}
	old := tape(t, data)
	p := jsontape.NewPatch(old)
	p.Set(old.Find(0, "conversation_manager_state"), []byte(`{"__name__":"Own","removed_message_count":6,"seen":{"n":12345678901234567890123}}`))
	a.replace("agent.json", p.Bytes())
	rest(t, s.dir)
	list := storetest.Headers(t, s, "h")
	plan := restore(t, s, "h", list[3].ID)
	checkStart(t, agent, plan)
	if !slices.ContainsFunc(plan.Hazards, func(h string) bool { return strings.Contains(h, "only the program knows") }) {
		t.Errorf("%q", plan.Hazards)
	}
	if data, err = os.ReadFile(filepath.Join(agent, "agent.json")); err != nil || !strings.Contains(string(data), `{"__name__":"Own","removed_message_count":0,"seen":{"n":12345678901234567890123}}`) {
		t.Errorf("%s, %v", data, err)
	}
}

func TestHazard7_messageIDIsNotTheNumber(t *testing.T) {
	skip.Sequential(t)
	for _, c := range []struct {
		id      string
		refused string
	}{{"99", ""}, {"5", ""}, {"2", "message_3.json"}, {"-1", "message_0.json"}, {`"5"`, "no integer"}, {"null", "no integer"}} {
		t.Run(c.id, func(t *testing.T) {
			s, agent := freshLog(t, 12)
			name := filepath.Join(agent, "messages", "message_5.json")
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			old := tape(t, data)
			p := jsontape.NewPatch(old)
			p.Set(old.Find(0, "message_id"), []byte(c.id))
			if err := os.WriteFile(name, p.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: storetest.Headers(t, s, "h")[5].Ref()})
			if c.refused != "" {
				if reason := refusedFor(t, err); !strings.Contains(reason, c.refused) {
					t.Errorf("%s", reason)
				}
				return
			}
			apply(t, s, plan, err)
			checkStart(t, agent, plan)
		})
	}
}

func TestHazard8_gapsAndDuplicates(t *testing.T) {
	skip.Sequential(t)
	s, agent := freshLog(t, 16)
	for _, n := range []int{4, 5, 6, 7, 13} {
		mustRemove(t, filepath.Join(agent, "messages", fmt.Sprintf("message_%d.json", n)))
	}
	data, err := os.ReadFile(filepath.Join(agent, "messages", "message_10.json"))
	if err == nil {
		err = os.WriteFile(filepath.Join(agent, "messages", "message_0010.json"), data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	before := contents(t, s.dir)
	list := storetest.Headers(t, s, "h")
	for _, h := range list {
		plan := restore(t, s, "h", h.ID)
		checkStart(t, agent, plan)
		if now := storetest.Headers(t, s, "h"); len(now) != len(list) {
			t.Errorf("%d snapshots", len(now))
		}
		for _, n := range storetest.Headers(t, s, "h")[len(list)-1:] {
			restore(t, s, "h", n.ID)
			undo(t, s)
		}
		undo(t, s)
	}
	if !maps.Equal(contents(t, s.dir), before) {
		t.Error("after the undo the store is not as it was")
	}
}

func TestHazard9_whatPythonDoesNotRead(t *testing.T) {
	skip.Sequential(t)
	for _, broken := range []string{"\ufeff{}", `{"message": {"ro`, "[]"} {
		s, agent := freshLog(t, 12)
		if err := os.WriteFile(filepath.Join(agent, "messages", "message_6.json"), []byte(broken), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, h := range storetest.Headers(t, s, "h") {
			plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: h.Ref()})
			if h.Index >= 6 {
				if reason := refusedFor(t, err); !strings.Contains(reason, "message_6.json") {
					t.Errorf("#%d: %s", h.Index, reason)
				}
				continue
			}
			apply(t, s, plan, err) // what is broken is set aside
			checkStart(t, agent, plan)
			undo(t, s)
		}
	}
}

func TestHazard10_pinnedHead(t *testing.T) {
	skip.Sequential(t)
	s, agent := freshLog(t, 16)
	data, err := os.ReadFile(filepath.Join(agent, "agent.json"))
	if err != nil {
		t.Fatal(err)
	}
	old := tape(t, data)
	p := jsontape.NewPatch(old)
	p.Set(old.Find(0, "conversation_manager_state"), []byte(`{"__name__":"SlidingWindowConversationManager","removed_message_count":6,"pinned_head_count":4,"model_call_count":0}`))
	if err := os.WriteFile(filepath.Join(agent, "agent.json"), p.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	rest(t, s.dir)
	for _, h := range storetest.Headers(t, s, "h") {
		plan := restore(t, s, "h", h.ID)
		checkStart(t, agent, plan)
		data, err := os.ReadFile(filepath.Join(agent, "agent.json"))
		if err != nil {
			t.Fatal(err)
		}
		kept := strings.Contains(string(data), `"removed_message_count":6,"pinned_head_count":4`)
		reset := strings.Contains(string(data), `"removed_message_count":0,"pinned_head_count":0`)
		if kept != (h.Index >= 10) || reset != (h.Index < 10) {
			t.Errorf("#%d: %s", h.Index, data)
		}
		undo(t, s)
	}
}

// What the model saw is not on the disk: a manager cuts long tool results in memory
// alone when they are too much.
func TestHazard10_whatWasCutInMemoryIsWholeAgain(t *testing.T) {
	skip.Sequential(t)
	for _, c := range []struct {
		bytes   int
		manager string
		told    bool
	}{{200_000, "SlidingWindowConversationManager", true}, {200_000, "NullConversationManager", false}, {2_000, "SlidingWindowConversationManager", false}} {
		s, agent := freshLog(t, 4)
		a := startAgent(t, agent, time.Now().Add(-time.Hour))
		a.append("user", said(strings.Repeat("x", c.bytes)))
		data, err := os.ReadFile(filepath.Join(agent, "agent.json"))
		if err != nil {
			t.Fatal(err)
		}
		old := tape(t, data)
		p := jsontape.NewPatch(old)
		p.Put(old.Find(0, "conversation_manager_state"), "__name__", jsontape.AppendQuoted(nil, c.manager))
		a.replace("agent.json", p.Bytes())
		list := storetest.Headers(t, s, "h")
		for i, h := range list[2:] {
			plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: h.Ref()})
			if err != nil {
				t.Fatal(err)
			}
			told := slices.ContainsFunc(plan.Hazards, func(h string) bool { return strings.Contains(h, "is whole again") })
			if long := i == len(list)-3; told != (c.told && long) {
				t.Errorf("%d bytes, %s: to #%d: %q", c.bytes, c.manager, i+2, plan.Hazards)
			}
		}
	}
}

func TestHazard11_statefulModel(t *testing.T) {
	skip.Sequential(t)
	for state, reset := range map[string]bool{`{"response_id":"resp_7","n":1}`: true, `{"n":1}`: false, `{}`: false} {
		s, agent := freshLog(t, 8)
		data, err := os.ReadFile(filepath.Join(agent, "agent.json"))
		if err != nil {
			t.Fatal(err)
		}
		old := tape(t, data)
		p := jsontape.NewPatch(old)
		p.Put(old.Find(0, "_internal_state"), "model_state", []byte(state))
		if err := os.WriteFile(filepath.Join(agent, "agent.json"), p.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		list := storetest.Headers(t, s, "h")
		plan := restore(t, s, "h", list[3].ID)
		warned := slices.ContainsFunc(plan.Hazards, func(h string) bool { return strings.Contains(h, "model_state") })
		if data, err = os.ReadFile(filepath.Join(agent, "agent.json")); err != nil {
			t.Fatal(err)
		}
		got := tape(t, data)
		if text := string(got.Raw(got.Lookup("_internal_state", "model_state"))); (text == "{}") != (reset || state == "{}") || warned != (state != "{}") {
			t.Errorf("%s became %s, %q", state, text, plan.Hazards)
		}
		// The branch that was left points to where it was.
		restore(t, s, "h", list[7].ID)
		if data, err = os.ReadFile(filepath.Join(agent, "agent.json")); err != nil || string(data) != string(p.Bytes()) {
			t.Errorf("%s, %v", data, err)
		}
	}
}

func TestHazard12_toolsThatRunAgain(t *testing.T) {
	skip.Sequential(t)
	s, _ := freshLog(t, 8)
	for _, h := range storetest.Headers(t, s, "h") {
		plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: h.Ref()})
		if err != nil {
			t.Fatal(err)
		}
		again := slices.ContainsFunc(plan.Asks, func(a string) bool { return strings.Contains(a, "run again: look") })
		if again != (h.Position == model.PositionAfterModel) {
			t.Errorf("#%d: %q", h.Index, plan.Asks)
		}
	}
}

func TestHazard14_theCountIsOfPositions(t *testing.T) {
	skip.Sequential(t)
	s, agent := freshLog(t, 16)
	for _, n := range []int{0, 1, 2, 3} {
		mustRemove(t, filepath.Join(agent, "messages", fmt.Sprintf("message_%d.json", n)))
	}
	data, err := os.ReadFile(filepath.Join(agent, "agent.json"))
	if err != nil {
		t.Fatal(err)
	}
	old := tape(t, data)
	p := jsontape.NewPatch(old)
	p.Set(old.Find(0, "conversation_manager_state"), []byte(`{"__name__":"SlidingWindowConversationManager","removed_message_count":6,"model_call_count":0}`))
	if err := os.WriteFile(filepath.Join(agent, "agent.json"), p.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	// message_9.json is the sixth that is there, and so none would be left behind it.
	for _, h := range storetest.Headers(t, s, "h") {
		plan := restore(t, s, "h", h.ID)
		checkStart(t, agent, plan)
		got, err := startSDK(agent)
		if want := 1 + h.Index - 6; err != nil || h.Index >= 6 && len(got.loaded) != want || h.Index < 6 && len(got.loaded) != h.Index+1 {
			t.Errorf("#%d loads %q, %v", h.Index, got.loaded, err)
		}
		undo(t, s)
	}
}

func TestRestore_agentFileKeepsItsBytes(t *testing.T) {
	skip.Sequential(t)
	s, agent := freshLog(t, 8)
	name := filepath.Join(agent, "agent.json")
	odd := `{ "agent_id" : "default", "zz": [1e400, 12345678901234567890, NaN, "\ud800"],
	"state": {"a":-0.0,"b":"é\u00e9"}, "conversation_manager_state":{"__name__":"SlidingWindowConversationManager","removed_message_count": 5 ,"x":null},
"_internal_state":{"interrupt_state":{"interrupts":{},"context":{},"activated":false},"later":1}, "created_at":"2026-01-01T00:00:00+00:00", "updated_at":"2026-01-01T00:00:00+00:00" }`
	if err := os.WriteFile(name, []byte(odd), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, 0o640); err != nil {
		t.Fatal(err)
	}
	s.storage.Now = func() time.Time { return time.Date(2026, 5, 6, 7, 8, 9, 123456789, time.UTC) }
	restore(t, s, "h", storetest.Headers(t, s, "h")[3].ID)
	want := strings.Replace(odd, `"removed_message_count": 5 `, `"removed_message_count": 0 `, 1)
	want = strings.Replace(want, `"updated_at":"2026-01-01T00:00:00+00:00"`, `"updated_at":"2026-05-06T07:08:09.123456+00:00"`, 1)
	got, err := os.ReadFile(name)
	if err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// What a plan does not name keeps its bytes, its times and its inode.
func TestRestore_touchesNothingElse(t *testing.T) {
	skip.Sequential(t)
	dir := t.TempDir()
	hazards(t)["healthy"].with(map[string]string{"messages/message_0.json": "(absent)\n"}).write(t, filepath.Join(dir, "session_h"))
	const n = 10_000
	for i := range n {
		if err := os.WriteFile(filepath.Join(messagesOf(dir), fmt.Sprintf("message_%d.json", i)), longMessage(i), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	rest(t, dir)
	before := contents(t, dir)
	infos := map[string]os.FileInfo{}
	for name := range before {
		info, err := os.Lstat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		infos[name] = info
	}
	s := open(t, dir)
	list := storetest.Headers(t, s, "h")
	plan := restore(t, s, "h", list[n-100].ID)
	if len(plan.Files) != 100 {
		t.Errorf("%d files change", len(plan.Files))
	}
	named := map[string]bool{}
	for _, f := range plan.Files {
		named[filepath.FromSlash(f.Path)] = true
	}
	for name, info := range infos {
		now, err := os.Lstat(filepath.Join(dir, name))
		if named[name] {
			continue
		}
		if err != nil || !os.SameFile(info, now) || !info.IsDir() && !info.ModTime().Equal(now.ModTime()) {
			t.Fatalf("%s: %v, %v", name, now, err)
		}
	}
	undo(t, s)
	if !maps.Equal(contents(t, dir), before) {
		t.Error("after the undo the store is not as it was")
	}
	for name, info := range infos {
		now, err := os.Lstat(filepath.Join(dir, name))
		if err != nil || !named[name] && !os.SameFile(info, now) || named[name] && !now.ModTime().Equal(info.ModTime()) {
			t.Fatalf("%s is another file, or has another time: %v", name, err)
		}
	}
}

func TestRestore_unknownSnapshots(t *testing.T) {
	skip.Sequential(t)
	s, _ := freshLog(t, 4)
	if _, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: model.Ref{Session: "h", ID: strings.Repeat("0", 64)}}); !errors.Is(err, model.ErrNoSnapshot) {
		t.Errorf("%v", err)
	}
	if _, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: model.Ref{Session: "nobody", ID: "x"}}); !errors.Is(err, model.ErrNoSession) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Plan(ctx, model.Change{Op: model.OpRestore, Ref: storetest.Headers(t, s, "h")[1].Ref()}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestRestore_answerInTheMiddleOfATurn(t *testing.T) {
	skip.Sequential(t)
	s, agent := freshLog(t, 4)
	a := startAgent(t, agent, time.Now())
	a.append("user", said("go on"))
	a.append("assistant", said("first"))
	a.append("assistant", said("second"))
	list := storetest.Headers(t, s, "h")
	for i, prefill := range map[int]bool{3: false, 5: true, 6: false} {
		plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: list[i].Ref()})
		if err != nil || slices.ContainsFunc(plan.Asks, func(a string) bool { return strings.Contains(a, "prefill") }) != prefill {
			t.Errorf("#%d: %q, %v", i, plan.Asks, err)
		}
	}
}

func TestUndo_isRefusedAfterTheAgentWroteOn(t *testing.T) {
	s, agent := freshLog(t, 8)
	list := storetest.Headers(t, s, "h")
	restore(t, s, "h", list[3].ID)
	startAgent(t, agent, time.Now()).append("user", said("another question"))
	before := contents(t, s.dir)
	_, err := s.Plan(t.Context(), model.Change{Op: model.OpUndo})
	if !errors.Is(err, model.ErrHeadMoved) || !strings.Contains(err.Error(), "restore the") || !strings.Contains(err.Error(), "branch") {
		t.Errorf("%v", err)
	}
	// That is what it takes, and then nothing of the agent's is lost either.
	restore(t, s, "h", list[7].ID)
	now := storetest.Headers(t, s, "h")
	if len(now) != 9 || !now[len(now)-1].Head && !now[7].Head {
		t.Errorf("%+v", now)
	}
	undo(t, s)
	if !maps.Equal(contents(t, s.dir), before) {
		t.Error("after the undo the store is not as it was")
	}
}

func TestUndo_saysWhereItLeads(t *testing.T) {
	s, _ := freshLog(t, 8)
	list := storetest.Headers(t, s, "h")
	restore(t, s, "h", list[2].ID)
	plan := undo(t, s)
	if plan.Target.ID != list[7].ID || plan.Target.Index != 7 || plan.Head.ID != list[2].ID || len(plan.Reactivates) != 5 || len(plan.Orphans) != 0 ||
		!strings.Contains(plan.Loads, "#0 to #7, 8 messages; the next message becomes message_8.json") || plan.Resume[0].Call != `agent("…")` {
		t.Errorf("%+v", plan)
	}
	plan = redo(t, s)
	if plan.Target.ID != list[2].ID || len(plan.Orphans) != 5 || !strings.Contains(plan.Loads, "message_3.json") || plan.Resume[0].Call != "agent(None)" {
		t.Errorf("%+v", plan)
	}
	if _, err := s.Plan(t.Context(), model.Change{Op: model.OpRedo}); !errors.As(err, new(*model.NothingToError)) {
		t.Errorf("%v", err)
	}
	entries, err := s.Journal(t.Context())
	if err != nil || len(entries) != 1 || entries[0].Op != model.OpRestore || entries[0].To != list[2].ID || entries[0].ToIndex != 2 {
		t.Errorf("%+v, %v", entries, err)
	}
}

var _ storetest.Writer = (*Store)(nil)
