package messages

import (
	"fmt"
	"path/filepath"
	"testing"

	"hindcast/model"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"

	"pgregory.net/rapid"
)

// sameTails compares every tail of a session with its headers, field by field. A
// store of its own gives each, so that nothing is known from before.
func sameTails(t interface {
	Errorf(string, ...any)
	Fatal(...any)
	Helper()
}, fresh func() *Store, session string, whole []model.Header) {
	t.Helper()
	for n := range len(whole) + 3 {
		s := fresh()
		tail, before, err := s.Tail(bounded, session, n)
		if err != nil {
			t.Fatal(err)
		}
		first := max(0, len(whole)-n)
		if len(tail) != len(whole)-first || before != first {
			t.Fatal(fmt.Sprintf("%s: the last %d of %d are %d, and %d before them", session, n, len(whole), len(tail), before))
		}
		for k, got := range tail {
			want := whole[first+k]
			if before > 0 {
				want.TurnIndex = model.TurnUnknown
			}
			if before > 0 && got.Size == 0 {
				want.Size = 0
			}
			if got != want {
				t.Errorf("%s: of the last %d, header %d is\n%+v, want\n%+v", session, n, k, got, want)
			}
		}
	}
}

func TestTail_ofAnyLogIsTheEndOfItsHeaders(t *testing.T) {
	skip.Sequential(t)
	dir := t.TempDir()
	logs := 0
	rapid.Check(t, func(rt *rapid.T) {
		logs++
		var messages []object
		for i := range rapid.IntRange(1, 9).Draw(rt, "messages") {
			messages = append(messages, anyMessage(rt, fmt.Sprint(i)))
		}
		manager := object{"__name__": "SummarizingConversationManager",
			"removed_message_count": rapid.IntRange(0, len(messages)+1).Draw(rt, "removed"),
			"pinned_head_count":     rapid.IntRange(0, 4).Draw(rt, "pinned")}
		if rapid.Bool().Draw(rt, "summary") {
			manager["summary_message"] = anyMessage(rt, "summary")
		}
		f := written{
			"session.json": []byte(`{"session_id":"h","session_type":"AGENT"}`),
			"agent.json":   encodedJSON(rt, object{"agent_id": "x", "state": object{}, "conversation_manager_state": manager}),
		}
		for i, m := range messages {
			f[fmt.Sprintf("messages/message_%d.json", i)] = encodedJSON(rt, object{"message": m, "message_id": i})
			if rapid.IntRange(0, 9).Draw(rt, "damage") == 0 {
				f[fmt.Sprintf("messages/message_%d.json", i)] = []byte(`{"message":`)
			}
		}
		store := filepath.Join(dir, fmt.Sprint(logs))
		f.write(t, filepath.Join(store, "session_h"))
		s := open(t, store)
		sameTails(rt, func() *Store { return open(t, store) }, "h", storetest.Headers(t, s, "h"))
	})
}

// What is seen through a window that the tail has whole has its size, too.
func TestTail_knowsTheSizesOfASlidingWindow(t *testing.T) {
	s := open(t, fixtures)
	tail, before, err := s.Tail(t.Context(), "sliding", 7)
	if err != nil || before == 0 || len(tail) != 7 {
		t.Fatal(len(tail), before, err)
	}
	for _, h := range tail {
		if known := h.Index >= 10; known != (h.Size > 0) {
			t.Errorf("message %d: %d bytes", h.Index, h.Size)
		}
		if got := state(t, s, h); h.Size != 0 && int64(len(got)) != h.Size {
			t.Errorf("message %d: %d bytes, and the state has %d", h.Index, h.Size, len(got))
		}
	}
}

// The first screen takes the names and the last files, whatever is in the others.
func TestTail_readsTheLastFilesAlone(t *testing.T) {
	f := longFiles(t, 300)
	s, read := counting(openFiles(t, f))
	if tail, _, err := s.Tail(t.Context(), "h", 20); err != nil || len(tail) != 20 {
		t.Fatal(len(tail), err)
	}
	if got := read.names(); len(got) != 22 || got[0] != "message_278.json" {
		t.Errorf("for 20 messages %d files are read: %q", len(got), got)
	}
	// Their states are found without the rest.
	tail, _, err := s.Tail(t.Context(), "h", 2)
	if err != nil {
		t.Fatal(err)
	}
	read.reset()
	state(t, s, tail[1])
	if got := read.looked(); len(got) != 300+1 || read.read["message_299.json"] != 2 { // once to know that it is the one
		t.Errorf("for the newest state %d files are read", len(got))
	}
}

// A list of headers is not kept as a log: who stops early has read no more than is read ahead.
func TestHeaders_areStreamed(t *testing.T) {
	const all = 3000
	s, read := counting(openFiles(t, longFiles(t, all)))
	for h, err := range s.Headers(t.Context(), "h") {
		if err != nil {
			t.Fatal(err)
		}
		if h.Index == 19 {
			break
		}
	}
	if n := len(read.names()); n < 20 || n > all/3 {
		t.Errorf("for 20 headers of %d, %d files are read", all, n)
	}
}
