package codex

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/tree"
	"hindcast/store/storetest"
)

func value(t *testing.T, text string) chat.Value {
	t.Helper()
	v, err := chat.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestBareItem: an item without an envelope is a message with input or output text.
func TestBareItem(t *testing.T) {
	for text, want := range map[string]bool{
		`{"type":"message","content":[{"type":"input_text"}]}`:                 true,
		`{"type":"message","content":[{"type":"output_text"}]}`:                true,
		`{"type":"message","content":[{"type":"text"}]}`:                       false,
		`{"type":"message","content":[{"type":"text"},{"type":"input_text"}]}`: false,
		`{"type":"reasoning","content":[{"type":"input_text"}]}`:               false,
		`{"type":"message","content":[]}`:                                      false,
		`{"type":"message"}`:                                                   false,
	} {
		if got := isBareItem(value(t, text)); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}

// TestInjected: what an item says of its parts counts, and else how its first text begins.
func TestInjected(t *testing.T) {
	kinds := func(list string) string {
		return `{"internal_chat_message_metadata_passthrough":{"content_item_kinds":` + list + `},"content":[{"text":"<skill> x"}]}`
	}
	for text, want := range map[string]bool{
		kinds(`["user.text"]`):            false,
		kinds(`["context","user.image"]`): false,
		kinds(`["unknown"]`):              false,
		kinds(`["context"]`):              true,
		kinds(`[]`):                       true,
		strings.Replace(kinds(`"odd"`), "<skill> x", "words", 1): false,
		kinds(`"odd"`): true,
		`{"content":[{"text":"  <turn_aborted> x"}]}`:              true,
		`{"content":[{"text":"see <turn_aborted>"}]}`:              false,
		`{"content":[{"text":"words"},{"text":"<turn_aborted>"}]}`: false,
		`{"content":[]}`: false,
	} {
		if got := isInjected(value(t, text)); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}

// TestStarted: the answer to a call names a thread by its UUID.
func TestStarted(t *testing.T) {
	for text, want := range map[string]string{
		`"{\"agent_id\":\"` + made + `\"}"`: made,
		`"{\"agent_id\":\"worker\"}"`:       "",
		`"ok"`:                              "",
	} {
		if got := startedThread(value(t, text)); got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
}

// TestTold_twoPrompts: an event whose item is missing is shown although the item of the next stands
// behind it.
func TestTold_twoPrompts(t *testing.T) {
	var r madeRollout
	r.header()
	r.event(`{"type":"user_message","message":"one","images":[]}`)
	r.event(`{"type":"user_message","message":"two","images":[]}`)
	r.says("user", "two")
	r.says("assistant", "done")
	s, _ := r.store(t)
	list := storetest.Headers(t, s, made)
	if got := sent(t, s, list[len(list)-1]); !slices.Equal(got, []string{`user "one"`, `user "two"`, `assistant "done"`}) {
		t.Errorf("%q", got)
	}
}

// TestTurn_killed: a turn that another follows says so at its last entry, and in its facts.
func TestTurn_killed(t *testing.T) {
	var r madeRollout
	r.header()
	r.starts("t1")
	r.says("user", "q1")
	r.says("assistant", "so far")
	r.starts("t2")
	r.says("user", "q2")
	r.says("assistant", "done")
	r.ends("t2")
	s, _ := r.store(t)
	for i, h := range storetest.Headers(t, s, made) {
		facts, err := s.Features().Facts(t.Context(), h.Ref())
		if err != nil {
			t.Fatal(err)
		}
		told := slices.ContainsFunc(facts, func(f model.Fact) bool { return f.Label == "turn" && f.Value == killed })
		if told != (i == 1) || h.Marks.Has(model.MarkError) != (i == 1) {
			t.Errorf("#%d: %+v, %v", i, facts, h.Marks)
		}
	}
}

// TestRollBack_toTheFirst: what Codex told the model behind the very first entry goes with the turn
// that it began.
func TestRollBack_toTheFirst(t *testing.T) {
	var r madeRollout
	r.header()
	r.says("user", "first")
	r.says("user", "<environment_context>two</environment_context>")
	r.says("user", "second")
	r.event(`{"type":"thread_rolled_back","num_turns":1}`)
	r.says("user", "third")
	s, _ := r.store(t)
	holdLines(t, "the session", treeOf(t, s, made), `
#0<-1 user input: first
#1<0 context: two | rewind
#2<1 user input: second | rewind
#3<0 user input: third *`)
	holdLines(t, "its turns", turns(t, s, made)[2:], "#2 turn 0 user input: second\n#3 turn 1 user input: third")
}

// TestFork_ofTheEnd: the last entry of a rollout ends its turn, whether anything is recorded behind it
// or not.
func TestFork_ofTheEnd(t *testing.T) {
	for behind, inside := range map[string]bool{"": false, `{"type":"agent_reasoning","text":"x"}`: false} {
		var r madeRollout
		r.header()
		r.says("user", "first")
		r.says("assistant", "reply")
		if behind != "" {
			r.event(behind)
		}
		s, _ := r.store(t)
		list := storetest.Headers(t, s, made)
		plan, err := s.Features().Plan(t.Context(), model.Change{Op: model.OpFork, Ref: list[1].Ref()})
		if err != nil || strings.Contains(strings.Join(plan.Hazards, "\n"), "inside a turn") != inside {
			t.Errorf("%q: %q, %v", behind, plan.Hazards, err)
		}
	}
}

// TestFaults_unread: a record with a text that no message has is a fault.
func TestFaults_unread(t *testing.T) {
	for record, unread := range map[string]bool{
		`{"type":"chat","payload":{"role":"user","text":"more"}}`:                                      true,
		`{"type":"event_msg","payload":{"type":"user_message","parts":[{"text":"more"}]}}`:             true,
		`{"type":"response_item","payload":{"type":"reasoning","summary":[],"text":"more"}}`:           true,
		`{"type":"event_msg","payload":{"type":"agent_message","parts":[{"text":"more"}]}}`:            true,
		`{"type":"event_msg","payload":{"type":"user_message","message":"first"}}`:                     false,
		`{"type":"event_msg","payload":{"type":"agent_reasoning","text":"more"}}`:                      false,
		`{"type":"response_item","payload":{"type":"message","role":"user","content":[{"text":"x"}]}}`: false,
		`{"type":"turn_context","payload":{"user_instructions":"more"}}`:                               false,
	} {
		var r madeRollout
		r.header()
		r.says("user", "first")
		r.WriteString(record + "\n")
		s, _ := r.store(t)
		list := storetest.Faults(t, s, made)
		if slices.ContainsFunc(list, func(f model.Fault) bool {
			return f.Code == store.FaultUnread && strings.HasPrefix(f.Meaning, "1 record has a text")
		}) != unread {
			t.Errorf("%s: %+v", record, list)
		}
	}
}

// TestIndex_isReadOnce: an index is read again where it changed, and what a context broke off is not
// kept. One in the storage needs no mark of its own.
func TestIndex_isReadOnce(t *testing.T) {
	dir := storetest.Copy(t, recorded)
	indexed(t, dir, "state_5.sqlite", [4]string{whole, "/gone/" + wholeFile, "a title"})
	f := newFormat(dir)
	f.elsewhere = ""
	disk, err := tree.OpenDisk(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer disk.Close()
	in := engine.In{Tree: disk}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if f.currentIndex(ended, in); f.threads != nil {
		t.Error("what was broken off is kept")
	}
	first := f.currentIndex(t.Context(), in)
	if first.err != nil || first.rows[whole].threadTitle() != "a title" || f.currentIndex(t.Context(), in) != first {
		t.Errorf("%+v", first)
	}
	for _, of := range []*format{f, newFormat("")} {
		if mark, err := of.Mark(t.Context(), chat.Spot{}); mark != "" || err != nil {
			t.Errorf("%q, %v", mark, err)
		}
	}
	f.elsewhere = filepath.Join(dir, "sqlite")
	indexed(t, f.elsewhere, "state_5.sqlite", [4]string{whole, "/gone/" + wholeFile, "another"})
	was, err := f.Mark(t.Context(), chat.Spot{})
	if err != nil || was == "" {
		t.Errorf("%q, %v", was, err)
	}
	if second := f.currentIndex(t.Context(), in); second == first || second.rows[whole].threadTitle() != "another" {
		t.Errorf("%+v", second)
	}
}

// TestStray: a rollout that is under a name of a person's, plain or packed, is the session of its thread;
// a storage without rollouts has no session.
func TestStray(t *testing.T) {
	var r madeRollout
	r.header()
	r.says("user", "first")
	s, dir := r.store(t)
	want := treeOf(t, s, made)
	stray := filepath.Join(t.TempDir(), "mine.jsonl")
	write(t, stray, r.String())
	holdLines(t, "under another name", treeOf(t, opened(t, stray), made), strings.Join(want, "\n"))
	pack(t, dir)
	files, err := filepath.Glob(filepath.Join(dir, "sessions/*/*/*/*"+packed))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	write(t, stray, read(t, files[0]))
	holdLines(t, "packed under another name", treeOf(t, opened(t, stray), made), strings.Join(want, "\n"))
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	if list := storetest.Sessions(t, opened(t, dir)); len(list) != 0 {
		t.Errorf("%+v", list)
	}
}
