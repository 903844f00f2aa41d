package messages

import (
	"fmt"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/sdk"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// Whatever a start drops, mends or leaves out, in any version, what two states have in
// common is left out of both, and nothing else.
func TestApart_ofAnyLogLeavesOutWhatIsCommon(t *testing.T) {
	skip.Sequential(t)
	dir := t.TempDir()
	logs, left := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		logs++
		f := written{"session.json": []byte(`{"session_id":"h","session_type":"AGENT"}`)}
		n := rapid.IntRange(1, 9).Draw(rt, "messages")
		for i := range n {
			f[fmt.Sprintf("messages/message_%d.json", i)] = encodedJSON(rt, object{"message": anyMessage(rt, fmt.Sprint(i)), "message_id": i})
			if rapid.IntRange(0, 9).Draw(rt, "damage") == 0 {
				f[fmt.Sprintf("messages/message_%d.json", i)] = []byte(`{"message":`)
			}
		}
		manager := object{"__name__": "SummarizingConversationManager",
			"removed_message_count": rapid.IntRange(-2, n+1).Draw(rt, "removed"),
			"pinned_head_count":     rapid.IntRange(0, n+1).Draw(rt, "pinned")}
		if rapid.Bool().Draw(rt, "summary") {
			manager["summary_message"] = anyMessage(rt, "summary")
		}
		f["agent.json"] = encodedJSON(rt, object{"agent_id": "x", "state": object{"a": 1}, "conversation_manager_state": manager})
		at := filepath.Join(dir, fmt.Sprint(logs))
		f.write(t, filepath.Join(at, "session_h"))
		s := open(t, at)
		if v := rapid.SampledFrom([]string{"", "1.30", "1.40", "1.54"}).Draw(rt, "version"); v != "" {
			if err := s.Assume(store.Release{SDK: sdk.StrandsPython, Version: v}); err != nil {
				rt.Fatal(err)
			}
		}
		list := storetest.Headers(t, s, "h")
		storetest.Apart(rt, s, list)
		if len(list) > 1 {
			two, err := s.Apart(bounded, list[0].Ref(), list[1].Ref())
			if err != nil {
				rt.Fatal(err)
			}
			left += two.Common
		}
	})
	if left == 0 {
		t.Error("nothing is ever left out")
	}
}

// Of a step that appends one message no more is read than that, beside what is known of
// all from the headers.
func TestApart_readsWhatIsNew(t *testing.T) {
	dir := t.TempDir()
	longFiles(t, 300).write(t, filepath.Join(dir, "session_h"))
	rest(t, dir) // what is written just now is not remembered
	s, read := counting(open(t, dir))
	list := storetest.Headers(t, s, "h")
	read.reset()
	two, err := s.Apart(t.Context(), list[298].Ref(), list[299].Ref())
	if err != nil || two.Common != 299 {
		t.Fatal(two.Common, err)
	}
	if got := read.names(); len(got) > 4 {
		t.Errorf("%d files are read: %q", len(got), got)
	}
	if most := 10 << 10; len(two.A)+len(two.B) > most {
		t.Errorf("the states are %d bytes without what is common", len(two.A)+len(two.B))
	}
}

// A branch that a restore left has in common with the log what lies before it parts.
func TestApart_ofABranchLeavesOutWhatIsCommon(t *testing.T) {
	s := openFiles(t, longFiles(t, 300))
	unsync(t, s)
	list := storetest.Headers(t, s, "h")
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: list[280].Ref()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = s.Apply(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	two, err := s.Apart(t.Context(), list[280].Ref(), list[299].Ref())
	if err != nil || two.Common != 281 {
		t.Errorf("%d are in common, %v", two.Common, err)
	}
	storetest.Apart(t, s, storetest.Headers(t, s, "h"))
}

// A restore that is shown with what it changes reads no message again that stays, but the
// last, and once more those that leave.
func TestRestore_readsAMessageOnce(t *testing.T) {
	skip.Sequential(t)
	const n, target = 300, 280
	dir := t.TempDir()
	longFiles(t, n).write(t, filepath.Join(dir, "session_h"))
	rest(t, dir) // what is written just now is not remembered
	s, read := counting(open(t, dir))
	list := storetest.Headers(t, s, "h")
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: list[target].Ref()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.TakeApart(t.Context(), s, plan.Ref(plan.Head), plan.Ref(plan.Target)); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		most := 1
		switch {
		case i == target:
			most = 3
		case i > target:
			most = 2
		}
		if got := read.read[fmt.Sprintf("message_%d.json", i)]; got > most {
			t.Errorf("message %d of %d is read %d times for a restore to %d", i, n, got, target)
		}
	}
}
