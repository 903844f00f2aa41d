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

// Whatever a start drops, mends or leaves out, in any version, what a loom takes in is the states, also where the
// log grew, a message was replaced or another window was written since the loom took it in first.
func TestWeave_ofAnyLogIsItsStates(t *testing.T) {
	skip.Sequential(t)
	dir := t.TempDir()
	logs := 0
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
		cloth := storetest.NewCloth(20)
		for range 3 {
			refs := refsOf(t, s)
			storetest.Woven(rt, s, refs...)
			if err := s.Weave(bounded, refs, cloth.Loom()); err != nil {
				rt.Fatal(err)
			}
			for i, ref := range refs {
				if want, err := s.State(bounded, ref); err != nil || cloth.State(i) != string(want) {
					rt.Fatalf("%+v is woven as %q, want %q, %v", ref, cloth.State(i), want, err)
				}
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
}

func refsOf(t testing.TB, s *Store) (refs []model.Ref) {
	for _, h := range storetest.Headers(t, s, "h") {
		refs = append(refs, h.Ref())
	}
	return refs
}

// What a restore left has the bytes of the log up to where it left, and what its messages
// added: no state is read for it.
func TestWeave_ofABranch(t *testing.T) {
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
		storetest.Woven(t, s, refs...)
		cloth := storetest.NewCloth(len(refs))
		if err := s.Weave(t.Context(), refs, cloth.Loom()); err != nil || cloth.Whole > 0 {
			t.Fatal(cloth.Whole, err)
		}
		for _, rope := range cloth.States {
			if len(rope.Runs) < 2 || len(rope.Runs) > 5 {
				t.Fatal(rope)
			}
		}
		if len(refs) != 60 {
			t.Errorf("%d snapshots", len(refs))
		}
	}
}

// The states of a log read each message once, a second time none, and each is a few runs: also where the messages
// are equal and have no ids, so that their places alone tell them apart.
func TestWeave_readsAMessageOnce(t *testing.T) {
	const n = 300
	for what, f := range map[string]written{"any": longFiles(t, n), "equal": equalFiles(n)} {
		dir := t.TempDir()
		f.write(t, filepath.Join(dir, "session_h"))
		rest(t, dir) // what is written just now is not remembered
		s, read := counting(open(t, dir))
		refs := refsOf(t, s)
		cloth := storetest.NewCloth(n)
		for _, times := range []int{1, 0} {
			read.reset()
			if err := s.Weave(t.Context(), refs, cloth.Loom()); err != nil || cloth.Whole > 0 {
				t.Fatal(cloth.Whole, err)
			}
			for i := range n {
				if got := read.read[fmt.Sprintf("message_%d.json", i)]; got != times {
					t.Errorf("%s: message %d is read %d times, want %d", what, i, got, times)
				}
			}
		}
		for _, rope := range cloth.States {
			if len(rope.Runs) > 4 {
				t.Fatalf("%s: a state is %d runs", what, len(rope.Runs))
			}
		}
		if state, err := s.State(t.Context(), refs[n-1]); err != nil || cloth.State(n-1) != string(state) {
			t.Errorf("%s: the runs are not the state, %v", what, err)
		}
	}
}

// equalFiles returns a log of one message, again and again.
func equalFiles(n int) written {
	f := written{"session.json": []byte(`{"session_id":"h","session_type":"AGENT"}`),
		"agent.json": []byte(`{"agent_id":"default","state":{},"conversation_manager_state":{"__name__":"NullConversationManager","removed_message_count":0}}`)}
	for i := range n {
		f[fmt.Sprintf("messages/message_%d.json", i)] = []byte(`{"message":{"role":"user","content":[{"text":"again"}]},"message_id":0}`)
	}
	return f
}

// Of a log that is rewritten between headers and runs, nothing of before is given out.
func TestWeave_ofMessagesThatAreRewritten(t *testing.T) {
	const n = 40
	dir := t.TempDir()
	f := longFiles(t, n)
	f.write(t, filepath.Join(dir, "session_h"))
	rest(t, dir)
	s := open(t, dir)
	storetest.Headers(t, s, "h")
	f["messages/message_7.json"] = []byte(`{"message":{"role":"user","content":[{"text":"another one"}]},"message_id":7}`)
	mustWrite(t, filepath.Join(messagesOf(dir), "message_7.json"), string(f["messages/message_7.json"]))
	storetest.Woven(t, s, refsOf(t, s)...)
}
