package messages

import (
	"bytes"
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
	"hindcast/store"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

func fork(t testing.TB, s *Store, ref model.Ref, as string) model.Plan {
	t.Helper()
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: ref, As: as})
	apply(t, s, plan, err)
	return plan
}

func sameBytes(t testing.TB, a, b string) bool {
	t.Helper()
	first, err := os.ReadFile(a)
	if err != nil {
		t.Fatal(err)
	}
	second, err := os.ReadFile(b)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Equal(first, second)
}

func TestFork_ofEveryMessageOfEveryFixture(t *testing.T) {
	skip.Sequential(t)
	s, dir := copyStore(t)
	before := contents(t, dir)
	for session, agent := range everyLog(t, s) {
		list := storetest.Headers(t, s, session)
		for i := 0; i < len(list); i += 3 {
			plan := fork(t, s, list[i].Ref(), "a fork")
			rel, err := filepath.Rel(dir, agent)
			if err != nil {
				t.Fatal(err)
			}
			_, below, _ := strings.Cut(filepath.ToSlash(rel), "/")
			forked := filepath.Join(dir, "session_a fork", filepath.FromSlash(below))
			checkStart(t, forked, plan)
			now := storetest.Headers(t, s, plan.NewSession)
			if len(now) != i+1 || now[i].ID != list[i].ID || !now[i].Head || plan.Target.ID != list[i].ID {
				t.Errorf("%s #%d: %d snapshots", session, i, len(now))
			}
			for _, f := range plan.Files {
				if f.Does == model.FileCopied && strings.Contains(f.Path, "/messages/") &&
					!sameBytes(t, filepath.Join(dir, f.Path), filepath.Join(dir, "session_"+strings.SplitN(session, "/", 2)[0], strings.SplitN(f.Path, "/", 2)[1])) {
					t.Errorf("%s is no copy", f.Path)
				}
			}
			data, err := os.ReadFile(filepath.Join(dir, "session_a fork", "session.json"))
			if err != nil || !strings.Contains(string(data), `"session_id": "a fork"`) || !strings.Contains(string(data), `"session_type": "AGENT"`) {
				t.Errorf("%s, %v", data, err)
			}
			if _, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: list[i].Ref(), As: "a fork"}); !errors.Is(err, store.ErrSessionExists) {
				t.Errorf("%v", err)
			}
			undo(t, s)
			if !maps.Equal(contents(t, dir), before) {
				t.Fatalf("%s #%d: after the undo the store is not as it was", session, i)
			}
		}
	}
}

// What happens to a fork leaves the session alone, redaction included.
func TestFork_isApart(t *testing.T) {
	skip.Sequential(t)
	s, agent := freshLog(t, 8)
	list := storetest.Headers(t, s, "h")
	before := contents(t, filepath.Join(s.dir, "session_h"))
	fork(t, s, list[5].Ref(), "f")
	a := startAgent(t, agentDir(s.dir, "f", "default"), time.Now())
	a.append("assistant", said("in the fork"))
	a.sync(object{"k": "v"})
	a.redact("message_4.json", "[gone]")
	if !maps.Equal(contents(t, filepath.Join(s.dir, "session_h")), before) {
		t.Error("the session changed with its fork")
	}
	turns(startAgent(t, agent, time.Now()), 1)
	if got, err := startSDK(agentDir(s.dir, "f", "default")); err != nil || got.next != 7 {
		t.Errorf("%+v, %v", got, err)
	}
	// What the fork wrote is not taken away by an undo.
	if _, err := s.Plan(t.Context(), model.Change{Op: model.OpUndo}); !errors.Is(err, model.ErrHeadMoved) {
		t.Errorf("%v", err)
	}
}

func TestFork_ofABranchThatIsAside(t *testing.T) {
	skip.Sequential(t)
	s, _ := freshLog(t, 8)
	list := storetest.Headers(t, s, "h")
	restore(t, s, "h", list[2].ID)
	plan := fork(t, s, list[6].Ref(), "f")
	checkStart(t, agentDir(s.dir, "f", "default"), plan)
	now := storetest.Headers(t, s, "f")
	for i, h := range now {
		if h.ID != list[i].ID || h.Orphaned {
			t.Errorf("%+v", h)
		}
	}
	if len(now) != 7 {
		t.Errorf("%d snapshots", len(now))
	}
}

func TestFork_takesTheWholeSession(t *testing.T) {
	skip.Sequential(t)
	s, dir := copyStore(t)
	list := storetest.Headers(t, s, "twoagents/planner")
	plan := fork(t, s, list[1].Ref(), "f")
	if plan.NewSession != "f/planner" || !slices.ContainsFunc(plan.Hazards, func(h string) bool { return strings.Contains(h, `agent "worker"`) }) {
		t.Errorf("%q, %q", plan.NewSession, plan.Hazards)
	}
	if got := len(storetest.Headers(t, s, "f/worker")); got != 4 {
		t.Errorf("%d snapshots of the other agent", got)
	}
	checkStart(t, agentDir(dir, "f", "planner"), plan)
}

func TestFork_names(t *testing.T) {
	skip.Sequential(t)
	s, _ := freshLog(t, 2)
	ref := storetest.Headers(t, s, "h")[1].Ref()
	for _, name := range []string{"", ".", "..", "a/b", "/", "a\x00b", "a\nb", "\x1b[31m", "\xff", strings.Repeat("x", 248)} {
		_, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: ref, As: name})
		if reason := refusedFor(t, err); reason == "" {
			t.Errorf("%q", name)
		}
	}
	for _, name := range []string{"h2", "Größe 1", " x ", "a:b", "...", strings.Repeat("x", 247)} {
		if _, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: ref, As: name}); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: ref, As: "h"}); !errors.Is(err, store.ErrSessionExists) {
		t.Errorf("%v", err)
	}
}

func TestFork_fromTheFolderOfOneSession(t *testing.T) {
	skip.Sequential(t)
	s, _ := freshLog(t, 8)
	one := open(t, filepath.Join(s.dir, "session_h"))
	list := storetest.Headers(t, one, "h")
	plan := fork(t, one, list[3].Ref(), "f")
	checkStart(t, agentDir(s.dir, "f", "default"), plan)
	plan = restore(t, one, "h", list[1].ID)
	checkStart(t, agentDir(s.dir, "h", "default"), plan)
	if now := storetest.Headers(t, one, "h"); len(now) != 8 || !now[7].Orphaned {
		t.Errorf("%+v", now)
	}
	undo(t, one)
	plan = undo(t, one)
	if _, err := os.Lstat(filepath.Join(s.dir, "session_f")); !errors.Is(err, os.ErrNotExist) || !strings.Contains(plan.Loads, "gone") {
		t.Errorf("%v, %q", err, plan.Loads)
	}
	redo(t, one)
	checkStart(t, agentDir(s.dir, "f", "default"), model.Plan{Target: model.Point{Index: 3}, Loads: "becomes message_4.json"})
}

// edited returns a state with another value at a place.
func edited(t testing.TB, state []byte, pointer, value string) []byte {
	t.Helper()
	old := tape(t, state)
	n := old.LookupPointer(pointer)
	if n < 0 {
		t.Fatalf("there is no %s in %s", pointer, state)
	}
	start, end := old.Span(n)
	return slices.Concat(state[:start], []byte(value), state[end:])
}

func TestEdit_putsWhatChangedWhereItCameFrom(t *testing.T) {
	s, dir := copyStore(t)
	list := storetest.Headers(t, s, "basic")
	h := list[8] // three tool results
	was := state(t, s, h)
	changed := edited(t, was, "/messages/8/content/1/toolResult/content/0/text", `"forty\u00e9"`)
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpEdit, Ref: h.Ref(), As: "what if", State: changed})
	apply(t, s, plan, err)
	agent := agentDir(dir, "what if", "default")
	checkStart(t, agent, plan)
	now := storetest.Headers(t, s, "what if")
	if now[8].ID != plan.Target.ID || plan.Target.ID == h.ID || now[7].ID != list[7].ID {
		t.Errorf("%+v", plan)
	}
	if got := state(t, s, now[8]); canonical(tape(t, got), tape(t, got).Find(0, "messages")) != canonical(tape(t, changed), tape(t, changed).Find(0, "messages")) {
		t.Errorf("%s", got)
	}
	// Not a byte beside it is another, and the other files are copies.
	old, err := os.ReadFile(filepath.Join(agentDir(dir, "basic", "default"), "messages", "message_8.json"))
	if err != nil {
		t.Fatal(err)
	}
	new, err := os.ReadFile(filepath.Join(agent, "messages", "message_8.json"))
	if want := edited(t, old, "/message/content/1/toolResult/content/0/text", `"forty\u00e9"`); err != nil || string(new) != string(want) {
		t.Errorf("%s, %v", new, err)
	}
	for i := range 8 {
		name := filepath.Join("messages", fmt.Sprintf("message_%d.json", i))
		if !sameBytes(t, filepath.Join(agent, name), filepath.Join(agentDir(dir, "basic", "default"), name)) {
			t.Errorf("%s is no copy", name)
		}
	}
}

func TestEdit_ofTheAgent(t *testing.T) {
	s, dir := copyStore(t)
	list := storetest.Headers(t, s, "basic")
	head := list[13]
	was := state(t, s, head)
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpEdit, Ref: head.Ref(), As: "f", State: edited(t, was, "/state", `{"cart":[1e400,12345678901234567890]}`)})
	apply(t, s, plan, err)
	checkStart(t, agentDir(dir, "f", "default"), plan)
	data, err := os.ReadFile(filepath.Join(agentDir(dir, "f", "default"), "agent.json"))
	if err != nil || !bytes.Contains(jsontape.AppendCompact(nil, data), []byte(`"state":{"cart":[1e400,12345678901234567890]}`)) {
		t.Errorf("%s, %v", data, err)
	}
	// Where a state has no member of agent.json, one can be put in.
	early := state(t, s, list[3])
	plan, err = s.Plan(t.Context(), model.Change{Op: model.OpEdit, Ref: list[3].Ref(), As: "g", State: append(early[:len(early)-1:len(early)-1], `,"state":{"k":1}}`...)})
	apply(t, s, plan, err)
	if data, err = os.ReadFile(filepath.Join(agentDir(dir, "g", "default"), "agent.json")); err != nil || !bytes.Contains(jsontape.AppendCompact(nil, data), []byte(`"state":{"k":1}`)) {
		t.Errorf("%s, %v", data, err)
	}
}

func TestEdit_ofARedactedMessage(t *testing.T) {
	s, dir := copyStore(t)
	list := storetest.Headers(t, s, "redact")
	i := slices.IndexFunc(list, func(h model.Header) bool { return h.Marks.Has(model.MarkRedacted) })
	h := list[len(list)-1]
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpEdit, Ref: h.Ref(), As: "f", State: edited(t, state(t, s, h), fmt.Sprintf("/messages/%d/content/0/text", i), `"mine"`)})
	apply(t, s, plan, err)
	data, err := os.ReadFile(filepath.Join(agentDir(dir, "f", "default"), "messages", fmt.Sprintf("message_%d.json", i)))
	if err != nil || strings.Count(string(data), `"mine"`) != 2 {
		t.Errorf("%s, %v", data, err)
	}
}

func TestEdit_ofTheSummary(t *testing.T) {
	s, dir := copyStore(t)
	h := storetest.Headers(t, s, "summarizing")[15]
	was := state(t, s, h)
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpEdit, Ref: h.Ref(), As: "f", State: edited(t, was, "/messages/0/content/0/text", `"short"`)})
	apply(t, s, plan, err)
	data, err := os.ReadFile(filepath.Join(agentDir(dir, "f", "default"), "agent.json"))
	got := tape(t, data)
	if err != nil || string(got.Raw(got.Lookup("conversation_manager_state", "summary_message", "content", "0", "text"))) != `"short"` {
		t.Errorf("%s, %v", data, err)
	}
	both := edited(t, edited(t, was, "/messages/0/content/0/text", `"short"`), "/conversation_manager_state/summary_message/content/0/text", `"long"`)
	if _, err := s.Plan(t.Context(), model.Change{Op: model.OpEdit, Ref: h.Ref(), As: "g", State: both}); !strings.Contains(refusedFor(t, err), "/messages/0: ") {
		t.Errorf("%v", err)
	}
}

func TestEdit_refusesByThePlace(t *testing.T) {
	s, _ := copyStore(t)
	head := storetest.Headers(t, s, "basic")[13]
	was := state(t, s, head)
	for place, changed := range map[string][]byte{
		"/messages: ":                  edited(t, was, "/messages", "[]"),
		"the state: nothing":           was,
		"/more: ":                      append(was[:len(was)-1:len(was)-1], `,"more":1}`...),
		"/messages/3: ":                edited(t, was, "/messages/3", "7"),
		"/messages/3/content/0: ":      edited(t, was, "/messages/3/content/0", "7"),
		"/conversation_manager_state/": edited(t, was, "/conversation_manager_state/removed_message_count", `"x"`),
		"the SDK would load no":        edited(t, was, "/conversation_manager_state/removed_message_count", `14`),
		"/interrupt_state: ":           edited(t, was, "/interrupt_state", `{}`),
	} {
		_, err := s.Plan(t.Context(), model.Change{Op: model.OpEdit, Ref: head.Ref(), As: "f", State: changed})
		if reason := refusedFor(t, err); !strings.HasPrefix(reason, place) {
			t.Errorf("%s: %s", place, reason)
		}
	}
	if _, err := s.Plan(t.Context(), model.Change{Op: model.OpEdit, Ref: head.Ref(), As: "f", State: []byte("{")}); err == nil {
		t.Error("what is no JSON is taken")
	}
	broken := storetest.Headers(t, s, "broken_missing_toolresult")
	h := broken[len(broken)-1]
	was = state(t, s, h)
	_, err := s.Plan(t.Context(), model.Change{Op: model.OpEdit, Ref: h.Ref(), As: "f", State: edited(t, was, "/messages/4/content/0/toolResult/status", `"success"`)})
	if reason := refusedFor(t, err); !strings.HasPrefix(reason, "/messages/4: the SDK makes or mends") {
		t.Errorf("%s", reason)
	}
}

func TestEdit_toolIDsThatNoLongerBelongTogether(t *testing.T) {
	s, dir := copyStore(t)
	head := storetest.Headers(t, s, "basic")[13]
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpEdit, Ref: head.Ref(), As: "f", State: edited(t, state(t, s, head), "/messages/4/content/0/toolResult/toolUseId", `"other"`)})
	if err != nil || len(plan.Asks) == 0 || !strings.Contains(plan.Asks[0], "no longer belong together") {
		t.Fatalf("%q, %v", plan.Asks, err)
	}
	apply(t, s, plan, nil)
	checkStart(t, agentDir(dir, "f", "default"), plan)
}
