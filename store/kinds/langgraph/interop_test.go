package langgraph

import (
	"path/filepath"
	"slices"
	"testing"

	"hindcast/model"
	"hindcast/store/storetest"
	"hindcast/store/storetest/chattest"
)

// Deep Agents Code resumes a thread that Hindcast put back to an earlier turn, and a fork from the turn that this left: the model is
// sent the messages of that turn, then the prompt.
func TestInterop_deepAgents(t *testing.T) {
	a := chattest.StartAgent(t, deepAgents.name)
	ask := func(call, prompt string, before ...string) {
		t.Helper()
		var got, want []string
		for _, s := range a.Ask(t, call, prompt) {
			got = append(got, s.Is+" "+s.Text)
		}
		for _, words := range before {
			want = append(want, "user "+words, "assistant reply to: "+words)
		}
		if want = append(want, "user "+prompt); !slices.Equal(got, want) {
			t.Errorf("%s: the model is sent\n%q\nwant\n%q", call, got, want)
		}
	}
	ask("dcode -r new", "one question")
	kind := DeepAgents(nil, "").Kind
	chattest.Found(t, kind, a.Home)
	s := storetest.AsWriter(storetest.OpenStore(t, kind, filepath.Join(a.Home, ".deepagents", ".state", "sessions.db")))
	thread := storetest.Sessions(t, s)[0].ID
	ask("dcode -r "+thread, "two questions", "one question")
	var ends []model.Header
	for _, h := range storetest.Headers(t, s, thread) {
		if h.Event == model.SnapshotEventTurnEnd {
			ends = append(ends, h)
		}
	}
	if len(ends) != 2 {
		t.Fatalf("%d turns end: %+v", len(ends), ends)
	}
	put := func(change model.Change) string {
		t.Helper()
		plan, err := s.Plan(t.Context(), change)
		if err == nil {
			_, err = s.Apply(t.Context(), plan)
		}
		if err != nil || len(plan.Resume) != 1 {
			t.Fatalf("%+v, %v", plan.Resume, err)
		}
		return plan.Resume[0].Call
	}
	call := put(model.Change{Op: model.OpRestore, Ref: ends[0].Ref()})
	if call != "dcode -r "+thread {
		t.Errorf("it goes on by %q", call)
	}
	ask(call, "three questions", "one question")
	ask(put(model.Change{Op: model.OpFork, Ref: ends[1].Ref(), As: "01a22d04-0000-7000-8000-000000000001"}), "in the fork", "one question", "two questions")
}
