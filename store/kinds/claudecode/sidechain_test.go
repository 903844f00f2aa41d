package claudecode

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/storetest"
)

// task is an answer that calls a sub-agent.
func task(id, parent, answer, call, prompt string) rec {
	return rec{kind: "assistant", id: id, parent: parent, says: map[string]any{"id": answer, "role": "assistant", "content": []any{
		map[string]any{"type": "tool_use", "id": call, "name": "Task", "input": map[string]any{"prompt": prompt}}}}}
}

// aside has a record be one of a sidechain.
func aside(r rec) rec {
	more := map[string]any{"isSidechain": true}
	for key, value := range r.more {
		more[key] = value
	}
	r.more = more
	return r
}

// tells is a record of progress with a message of a sub-agent.
func tells(id, parent, agent, call string, message rec) rec {
	return rec{kind: "progress", id: id, parent: parent, more: map[string]any{"toolUseID": "agent_msg_" + id, "parentToolUseID": call, "data": map[string]any{
		"type": "agent_progress", "agentId": agent, "prompt": "task", "message": map[string]any{"type": message.kind, "uuid": id + "-inner", "message": func() any {
			if message.kind == "user" {
				return map[string]any{"role": "user", "content": message.says}
			}
			return message.says
		}()}}}}
}

// A sub-agent whose conversation is in the file of its session is a session of its own, and hangs on
// the call that started it: by its prompt, else by the time.
func TestSidechain_isASessionOfTheCall(t *testing.T) {
	for name, tc := range map[string]struct {
		recs  []rec
		tree  []string // of the session
		child map[string][]string
	}{
		"by the prompt": {[]rec{user("a", "", "A"), task("b", "a", "m1", "t1", "look around"), aside(user("s", "", "look around")), aside(part("u", "s", "m9", "seen", "")), result("c", "b", "t1"), part("d", "c", "m2", "D", "")},
			[]string{"a ◂  A", "b ◂ a → task \"look around\" → agent-s", "c ◂ b → task \"look around\"  out t1", "d ◂ c D *"},
			map[string][]string{"agent-s": {"s ◂  look around", "u ◂ s seen *"}}},
		"two at once": {[]rec{user("a", "", "A"), task("b", "a", "m1", "t1", "one"), task("e", "b", "m1", "t2", "two"), aside(user("v", "", "two")), aside(user("s", "", "one")), aside(part("w", "v", "m8", "did two", "")), aside(part("u", "s", "m9", "did one", "")), result("c", "b", "t1"), result("f", "e", "t2")},
			[]string{"a ◂  A", "b ◂ a → task \"one\" · → task \"two\" → agent-v", "c ◂ b → task \"one\"  out t1", "f ◂ c → task \"two\"  out t2 *"},
			map[string][]string{"agent-s": {"s ◂  one", "u ◂ s did one *"}, "agent-v": {"v ◂  two", "w ◂ v did two *"}}},
		"by the time": {[]rec{user("a", "", "A"), task("b", "a", "m1", "t1", "look around"), aside(user("s", "", "look around, please")), aside(part("u", "s", "m9", "seen", "")), result("c", "b", "t1")},
			[]string{"a ◂  A", "b ◂ a → task \"look around\" → agent-s", "c ◂ b → task \"look around\"  out t1 *"},
			map[string][]string{"agent-s": {"s ◂  look around, please", "u ◂ s seen *"}}},
		"with calls of its own, the last line": {[]rec{user("a", "", "A"), task("b", "a", "m1", "t1", "look"), aside(user("s", "", "look")), aside(part("u", "s", "m9", "", "t7")), aside(result("v", "u", "t7"))},
			[]string{"a ◂  A", "b ◂ a → task \"look\" → agent-s *"},
			map[string][]string{"agent-s": {"s ◂  look", "u ◂ s T", "v ◂ u T  out t7 *"}}},
		"of no call": {[]rec{aside(user("s", "", "Warmup")), aside(part("u", "s", "m9", "hi", "")), user("a", "", "A"), task("b", "a", "m1", "t1", "look"), result("c", "b", "t1")},
			[]string{"s ◂  Warmup – sidechain", "u ◂ s hi – sidechain", "a ◂  A", "b ◂ a → task \"look\"", "c ◂ b → task \"look\"  out t1 *"}, nil},
		"in records of progress": {[]rec{user("a", "", "A"), task("b", "a", "m1", "t1", "look"), tells("p", "b", "a1b2", "t1", user("", "", "look")), tells("q", "p", "a1b2", "t1", part("", "", "m9", "", "t7")), tells("r", "q", "a1b2", "t1", result("", "", "t7")), tells("x", "r", "a1b2", "t1", part("", "", "m10", "seen", "")), result("c", "b", "t1"), part("d", "c", "m2", "D", "")},
			[]string{"a ◂  A", "b ◂ a → task \"look\" → agent-a1b2", "c ◂ b → task \"look\"  out t1", "d ◂ c D *"},
			map[string][]string{"agent-a1b2": {"p ◂  look", "q ◂ p T", "r ◂ q T  out t7", "x ◂ r seen *"}}},
	} {
		dir, file := written(t, list(tc.recs...)...)
		s := open(t, dir)
		same(t, "the tree "+name, treeOf(t, s, session), tc.tree)
		for agent, want := range tc.child {
			id := session + "/" + agent
			same(t, "the sub-agent "+name, treeOf(t, s, id), want)
			rows := storetest.Headers(t, s, id)
			if len(rows) == 0 {
				continue
			}
			if _, err := s.Features().Plan(t.Context(), model.Change{Op: model.OpFork, Ref: rows[0].Ref()}); err == nil {
				t.Errorf("%s: it is forked", name)
			}
			if faults := storetest.Faults(t, s, id); len(faults) > 0 {
				t.Errorf("%s: the sub-agent has faults: %+v", name, faults)
			}
			started := false
			for _, h := range storetest.Headers(t, s, session) {
				facts, err := s.Features().Facts(t.Context(), h.Ref())
				started = started || err == nil && slices.ContainsFunc(facts, model.Fact{Label: "sub-agent", Value: id}.Same)
			}
			if !started {
				t.Errorf("%s: no row says that it started %s", name, id)
			}
		}
		var children []string
		for _, info := range storetest.Sessions(t, s) {
			if agent, is := strings.CutPrefix(info.ID, session+"/"); is && info.Title != "" && info.Snapshots == len(tc.child[agent]) {
				children = append(children, agent)
			}
		}
		slices.Sort(children)
		same(t, "the listed sub-agents "+name, children, slices.Sorted(maps.Keys(tc.child)))
		var none *model.UnsupportedError
		for _, wrong := range []string{session + "/agent-nobody", session + "/other", session + "/agent-../x"} {
			for _, err := range s.Headers(t.Context(), wrong) {
				if !errors.Is(err, model.ErrNoSession) && !errors.As(err, &none) {
					t.Errorf("%s: %s: %v", name, wrong, err)
				}
			}
		}
		// Where the sub-agent has a file, that one is its session.
		if strings.HasPrefix(name, "in records") {
			own := filepath.Join(filepath.Dir(file), session, subagents, "agent-a1b2"+suffix)
			if err := os.MkdirAll(filepath.Dir(own), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(own, []byte(aside(user("z", "", "in a file")).String()+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			same(t, "the sub-agent with a file", treeOf(t, open(t, dir), session+"/agent-a1b2"), []string{"z ◂  in a file *"})
		}
	}
}

// The list has the sub-agents in a large file that begin near its ends. It has those in the middle once the
// session was read, also by whoever goes through the list.
func TestSidechain_isListed(t *testing.T) {
	fill := strings.Repeat("x ", 50_000)
	recs := []rec{user("a", "", "A"), task("b", "a", "m1", "t1", "first"), aside(user("s", "", "first")), result("c", "b", "t1")}
	last := "c"
	for _, n := range []string{"2", "3"} {
		filled := part("f"+n, last, "n"+n, fill, "")
		recs = append(recs, filled, task("g"+n, "f"+n, "k"+n, "t"+n, "prompt "+n), aside(user("s"+n, "", "prompt "+n)), result("h"+n, "g"+n, "t"+n))
		last = "h" + n
	}
	dir, file := written(t, list(recs...)...)
	long := time.Now().Add(-time.Hour)
	if err := os.Chtimes(file, long, long); err != nil {
		t.Fatal(err)
	}
	listed := func(s store.Store, each func(model.SessionInfo)) (list []string) {
		t.Helper()
		for info, err := range s.Sessions(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, strings.TrimPrefix(info.ID, session)+": "+info.Title)
			each(info)
		}
		return list
	}
	s := open(t, dir)
	same(t, "the list", listed(s, func(model.SessionInfo) {}), []string{": A", "/agent-s: first", "/agent-s3: prompt 3"})
	all := []string{": A", "/agent-s: first", "/agent-s2: prompt 2", "/agent-s3: prompt 3"}
	same(t, "the list of a reader", listed(s, func(info model.SessionInfo) {
		if info.ID == session {
			storetest.Headers(t, s, session)
		}
	}), all)
	same(t, "the list afterwards", listed(s, func(model.SessionInfo) {}), all)
}
