package agent_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"hindcast/agent"
	"hindcast/model"
	"hindcast/store/native/sqlite"
	"hindcast/store/native/typed"
)

// ChatState is the state of the examples.
type ChatState struct {
	Messages []string `json:"messages"`
}

// chatting answers every input; it stands for a function that asks a model.
func chatting(ctx context.Context, sess *agent.Session[ChatState], in <-chan string, resp *agent.Responder[string]) (agent.Result[string], error) {
	state := sess.State()
	for words := range in {
		answer := "about " + words
		state.Messages = append(state.Messages, words, answer)
		resp.Send(answer)
		if err := sess.UpdateState(ctx, state); err != nil {
			return agent.Result[string]{}, err
		}
		resp.EndTurn() // model.SnapshotEventTurnEnd comes here
	}
	return agent.Result[string]{Output: "done"}, nil // and model.SnapshotEventInvocationEnd here
}

// converse has a conversation with an agent, from the beginning or as options say,
// and returns what came of it.
func converse(a *agent.Agent[ChatState, string, string], options []agent.BidiOption[ChatState], words ...string) agent.Output[ChatState, string] {
	conn, err := a.StreamBidi(context.Background(), options...)
	if err != nil {
		panic(err)
	}
	for _, w := range words {
		if err := conn.Send(w); err != nil {
			panic(err)
		}
		for answer, err := range conn.Receive() {
			if err != nil {
				panic(err)
			}
			fmt.Println(answer)
		}
	}
	conn.Close()
	out, err := conn.Output()
	if err != nil {
		panic(err)
	}
	return out
}

// fresh returns a new store in a file, and a function that takes it away. A program that
// keeps its sessions calls sqlite.OpenOrCreate(ctx, path).
func fresh() (sessions model.Store[ChatState], done func()) {
	dir, err := os.MkdirTemp("", "hindcast-example-")
	if err != nil {
		panic(err)
	}
	db, err := sqlite.Create(context.Background(), filepath.Join(dir, "chat.db"))
	if err != nil {
		panic(err)
	}
	return typed.Of[ChatState](db), func() {
		db.Close()
		os.RemoveAll(dir)
	}
}

// timeline prints the snapshots of a session, the orphaned ones in brackets.
func timeline(s model.Store[ChatState], session string) {
	list, err := s.ListSnapshots(context.Background(), session, true)
	if err != nil {
		panic(err)
	}
	for _, snap := range list {
		text := fmt.Sprintf("#%d turn %d %s: %s", snap.Index, snap.TurnIndex, snap.Event, strings.Join(snap.State.Messages, ", "))
		if snap.Orphaned {
			text = "(" + text + ")"
		}
		fmt.Println(text)
	}
}

func ExampleDefine() {
	sessions, done := fresh()
	defer done()
	chat, err := agent.Define("chatAgent", chatting,
		agent.WithSessionStore(sessions),
		agent.WithSnapshotCallback(agent.SnapshotOn[ChatState](
			model.SnapshotEventTurnEnd,
			model.SnapshotEventInvocationEnd,
		)),
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	conn, err := chat.StreamBidi(context.Background(), agent.WithSessionID[ChatState]("mine"))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, words := range []string{"maps", "slices"} {
		if err := conn.Send(words); err != nil {
			fmt.Println(err)
			return
		}
		for answer, err := range conn.Receive() {
			fmt.Println(answer, err)
		}
	}
	conn.Close()
	out, err := conn.Output()
	fmt.Println(out.Output, out.SessionID, len(out.SnapshotIDs), err)
	// Output:
	// about maps <nil>
	// about slices <nil>
	// done mine 3 <nil>
}

func ExampleWithSnapshotID() {
	sessions, done := fresh()
	defer done()
	chat, err := agent.Define("chatAgent", chatting,
		agent.WithSessionStore(sessions),
		agent.WithSnapshotCallback(agent.SnapshotOn[ChatState](model.SnapshotEventTurnEnd)))
	if err != nil {
		fmt.Println(err)
		return
	}
	before := converse(chat, nil, "maps", "slices")

	after := converse(chat, []agent.BidiOption[ChatState]{agent.WithSnapshotID[ChatState](before.SnapshotIDs[0])}, "channels")

	fmt.Println(after.SessionID == before.SessionID)
	timeline(sessions, after.SessionID)
	// Output:
	// about maps
	// about slices
	// about channels
	// true
	// #0 turn 0 turn end: maps, about maps
	// (#1 turn 1 turn end: maps, about maps, slices, about slices)
	// #1 turn 1 turn end: maps, about maps, channels, about channels
}

// A callback of one's own: every second turn, and always in the end.
func ExampleWithSnapshotCallback() {
	sessions, done := fresh()
	defer done()
	chat, err := agent.Define("chatAgent", chatting,
		agent.WithSessionStore(sessions),
		agent.WithSnapshotCallback(func(_ context.Context, snap *agent.SnapshotContext[ChatState]) bool {
			switch snap.Event {
			case model.SnapshotEventTurnEnd:
				return len(snap.State.Messages)%4 == 0
			case model.SnapshotEventInvocationEnd:
				return true
			default:
				return false
			}
		}))
	if err != nil {
		fmt.Println(err)
		return
	}
	out := converse(chat, nil, "maps", "slices", "channels")
	timeline(sessions, out.SessionID)
	// Output:
	// about maps
	// about slices
	// about channels
	// #0 turn 1 turn end: maps, about maps, slices, about slices
	// #1 turn 2 invocation end: maps, about maps, slices, about slices, channels, about channels
}

// A callback that compares with the last snapshot.
func ExampleSnapshotContext() {
	sessions, done := fresh()
	defer done()
	chat, err := agent.Define("chatAgent", chatting,
		agent.WithSessionStore(sessions),
		agent.WithSnapshotCallback(func(_ context.Context, snap *agent.SnapshotContext[ChatState]) bool {
			return snap.PrevState == nil || len(snap.State.Messages) > len(snap.PrevState.Messages)
		}))
	if err != nil {
		fmt.Println(err)
		return
	}
	out := converse(chat, nil, "maps")
	timeline(sessions, out.SessionID)
	// Output:
	// about maps
	// #0 turn 0 turn end: maps, about maps
}

// Tools run below the agent and know nothing of its session's type.
func ExampleTriggerSnapshot() {
	runTools := func(ctx context.Context, calls ...func() error) error {
		for _, call := range calls {
			if err := call(); err != nil {
				return err
			}
		}
		return agent.TriggerSnapshot(ctx, model.SnapshotEventToolIterationEnd)
	}
	sessions, done := fresh()
	defer done()
	chat, err := agent.Define("chatAgent",
		func(ctx context.Context, sess *agent.Session[ChatState], in <-chan string, resp *agent.Responder[string]) (agent.Result[string], error) {
			for words := range in {
				note := func() error {
					return sess.ChangeState(ctx, func(s *ChatState) error {
						s.Messages = append(s.Messages, words)
						return nil
					})
				}
				if err := runTools(ctx, note, note); err != nil {
					return agent.Result[string]{}, err
				}
				resp.EndTurn()
			}
			return agent.Result[string]{}, nil
		},
		agent.WithSessionStore(sessions),
		agent.WithSnapshotCallback(agent.SnapshotOnChange[ChatState](model.SnapshotEventToolIterationEnd, model.SnapshotEventTurnEnd)))
	if err != nil {
		fmt.Println(err)
		return
	}
	out := converse(chat, nil, "maps", "slices")
	timeline(sessions, out.SessionID)
	// Output:
	// #0 turn 0 tool iteration: maps, maps
	// #1 turn 1 tool iteration: maps, maps, slices, slices
}
