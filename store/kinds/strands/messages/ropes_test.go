package messages

import (
	"bytes"
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

// Whatever a start drops, mends or leaves out, in any version, the runs of a state are its
// bytes; and when the log grew or another window was written, the bytes at a place are those
// of before, or none.
func TestRopes_ofAnyLogAreItsStates(t *testing.T) {
	skip.Sequential(t)
	dir := t.TempDir()
	logs, kept := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		logs++
		f := written{"session.json": []byte(`{"session_id":"h","session_type":"AGENT"}`)}
		message := func(i int) {
			name := fmt.Sprintf("messages/message_%d.json", i)
			f[name] = encodedJSON(rt, object{"message": anyMessage(rt, fmt.Sprint(i)), "message_id": i})
			if rapid.IntRange(0, 9).Draw(rt, "damage") == 0 {
				f[name] = []byte(`{"message":`)
			}
		}
		n := rapid.IntRange(1, 9).Draw(rt, "messages")
		for i := range n {
			message(i)
		}
		agent := func() {
			manager := object{"__name__": "SummarizingConversationManager",
				"removed_message_count": rapid.IntRange(-2, n+1).Draw(rt, "removed"),
				"pinned_head_count":     rapid.IntRange(0, n+1).Draw(rt, "pinned")}
			if rapid.Bool().Draw(rt, "summary") {
				manager["summary_message"] = anyMessage(rt, "summary")
			}
			f["agent.json"] = encodedJSON(rt, object{"agent_id": "x", "state": object{"a": n}, "conversation_manager_state": manager})
		}
		agent()
		at := filepath.Join(dir, fmt.Sprint(logs))
		f.write(t, filepath.Join(at, "session_h"))
		s := open(t, at)
		if v := rapid.SampledFrom([]string{"", "1.30", "1.40", "1.54"}).Draw(rt, "version"); v != "" {
			if err := s.Assume(store.Release{SDK: sdk.StrandsPython, Version: v}); err != nil {
				rt.Fatal(err)
			}
		}
		type seen struct {
			runs []store.Run
			text string
		}
		var before []seen
		for range 3 {
			refs := refsOf(t, s)
			storetest.Ropes(rt, s, refs...)
			for _, old := range before {
				text := make([]byte, len(old.text))
				if err := s.Fill(bounded, old.runs, text); err == nil {
					kept++
					if string(text) != old.text {
						rt.Fatalf("the runs %v were %q and are %q", old.runs, old.text, text)
					}
				}
			}
			for rope, err := range s.Ropes(bounded, refs) {
				if err != nil {
					rt.Fatal(err)
				}
				one := seen{runs: append([]store.Run(nil), rope.Runs...)}
				size := int64(0)
				for _, run := range rope.Runs {
					size += run.Len
				}
				text := make([]byte, size)
				if err := s.Fill(bounded, one.runs, text); err != nil {
					rt.Fatal(err)
				}
				one.text = string(text)
				before = append(before, one)
			}
			switch rapid.IntRange(0, 2).Draw(rt, "then") {
			case 0:
				message(n)
				n++
			case 1:
				message(rapid.IntRange(0, n-1).Draw(rt, "again"))
			case 2:
				agent()
			}
			f.write(t, filepath.Join(at, "session_h"))
		}
	})
	if kept == 0 {
		t.Error("nothing stays")
	}
}

func refsOf(t testing.TB, s *Store) (refs []model.Ref) {
	for _, h := range storetest.Headers(t, s, "h") {
		refs = append(refs, h.Ref())
	}
	return refs
}

// What a restore left has the bytes of the log up to where it left, and what its messages
// added: no state is read for it.
func TestRopes_ofABranch(t *testing.T) {
	s := openFiles(t, longFiles(t, 60))
	unsync(t, s)
	for _, target := range []int{40, 20, 50} {
		list := storetest.Headers(t, s, "h")
		plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: list[target].Ref()})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = s.Apply(t.Context(), plan); err != nil {
			t.Fatal(err)
		}
		refs := refsOf(t, s)
		storetest.Ropes(t, s, refs...)
		for rope, err := range s.Ropes(t.Context(), refs) {
			if err != nil || len(rope.Runs) < 2 || len(rope.Runs) > 5 {
				t.Fatal(rope, err)
			}
		}
		if target == 40 && len(refs) != 60 {
			t.Errorf("%d snapshots", len(refs))
		}
	}
}

// The ropes of all states take no look at a message behind headers. For their bytes each
// message is read once, without one: a state costs nothing besides.
func TestRopes_readAMessageOnce(t *testing.T) {
	const n = 300
	dir := t.TempDir()
	longFiles(t, n).write(t, filepath.Join(dir, "session_h"))
	rest(t, dir) // what is written just now is not remembered
	s, read := counting(open(t, dir))
	refs := refsOf(t, s)
	read.reset()
	var last []store.Run
	for rope, err := range s.Ropes(t.Context(), refs) {
		if err != nil || rope.Err != nil || len(rope.Runs) != 3 {
			t.Fatal(rope, err)
		}
		last = append(last[:0], rope.Runs...)
	}
	for i := range n {
		name := fmt.Sprintf("message_%d.json", i)
		if got, looks := read.read[name], read.stated[name]; got > 0 || looks > 0 {
			t.Errorf("message %d is read %d times and looked at %d times to know where states are", i, got, looks)
		}
	}
	text := make([]byte, last[0].Len+last[1].Len+last[2].Len)
	if err := s.Fill(t.Context(), last, text); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		name := fmt.Sprintf("message_%d.json", i)
		if got, looks := read.read[name], read.stated[name]; got != 1 || looks != 0 {
			t.Errorf("message %d is read %d times and looked at %d times for its bytes", i, got, looks)
		}
	}
	if state, err := s.State(t.Context(), refs[n-1]); err != nil || !bytes.Equal(state, text) {
		t.Errorf("the runs are not the state, %v", err)
	}
	read.reset()
	at := last[1].At + last[1].Len - 10
	if err := s.Fill(t.Context(), []store.Run{{At: at, Len: 10}}, text[:10]); err != nil {
		t.Fatal(err)
	}
	if got := read.names(); len(got) > 4 {
		t.Errorf("%d files are read for the end of the last message: %q", len(got), got)
	}
}

// Of a log that is rewritten between headers and runs, nothing of before is given out.
func TestRopes_ofMessagesThatAreRewritten(t *testing.T) {
	const n = 40
	dir := t.TempDir()
	f := longFiles(t, n)
	f.write(t, filepath.Join(dir, "session_h"))
	rest(t, dir)
	s := open(t, dir)
	storetest.Headers(t, s, "h")
	f["messages/message_7.json"] = []byte(`{"message":{"role":"user","content":[{"text":"another one"}]},"message_id":7}`)
	mustWrite(t, filepath.Join(messagesOf(dir), "message_7.json"), string(f["messages/message_7.json"]))
	storetest.Ropes(t, s, refsOf(t, s)...)
}
