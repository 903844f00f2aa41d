package agent_test

import (
	"context"
	"testing"

	"hindcast/agent"
	"hindcast/store"
	"hindcast/store/memory"
)

type chatState struct {
	Messages []string `json:"messages"`
}

func TestSmoke(t *testing.T) {
	db := memory.New()
	a, err := agent.Define("chat", func(ctx context.Context, sess *agent.Session[chatState], in <-chan string, resp *agent.Responder[string]) (agent.Result[string], error) {
		state := sess.State()
		for words := range in {
			state.Messages = append(state.Messages, words)
			sess.UpdateState(ctx, state)
			resp.Send("echo " + words)
			resp.EndTurn()
		}
		return agent.Result[string]{Output: "done"}, nil
	}, agent.WithSessionStore(store.Of[chatState](db)), agent.WithSnapshotCallback(agent.SnapshotAlways[chatState]()))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := a.StreamBidi(t.Context(), agent.WithSessionID[chatState]("s"))
	if err != nil {
		t.Fatal(err)
	}
	for _, words := range []string{"a", "b"} {
		if err := conn.Send(words); err != nil {
			t.Fatal(err)
		}
		for out, err := range conn.Receive() {
			t.Log(out, err)
		}
	}
	conn.Close()
	out, err := conn.Output()
	t.Logf("%+v %v", out, err)
	for h, err := range db.Headers(t.Context(), "s") {
		t.Logf("%+v %v", h, err)
	}
}
