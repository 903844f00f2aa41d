package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"hindcast/agent"
	"hindcast/model"
	"hindcast/store/storetest/fake"
)

func heard(t *testing.T, c client) (said []string) {
	t.Helper()
	for words, err := range c.Receive() {
		if err != nil {
			t.Error(err)
		}
		said = append(said, words)
	}
	return said
}

func TestConnection_oneReceiveForEachTurn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := open(t, define(t, typedOn(fake.New()), always()), session("s"))
		// The agent does not wait for anybody to listen.
		for _, words := range []string{"a", "b"} {
			if err := c.Send(turn(words)); err != nil {
				t.Fatal(err)
			}
		}
		for _, want := range []string{"a", "b"} {
			if said := heard(t, c); !slices.Equal(said, []string{"said " + want}) {
				t.Errorf("in the turn of %q it said %q", want, said)
			}
		}
		// Breaking off loses nothing.
		if err := c.Send(func(_ context.Context, _ testSess, resp testResp) error {
			for _, words := range []string{"1", "2", "3"} {
				resp.Send(words)
			}
			return resp.EndTurn()
		}); err != nil {
			t.Fatal(err)
		}
		for words := range c.Receive() {
			if words != "1" {
				t.Errorf("first it said %q", words)
			}
			break
		}
		if said := heard(t, c); !slices.Equal(said, []string{"2", "3"}) {
			t.Errorf("then it said %q", said)
		}
		// What is said after the last turn comes before the end.
		if err := c.Send(func(_ context.Context, _ testSess, resp testResp) error {
			resp.Send("bye")
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		c.Close()
		if said := heard(t, c); !slices.Equal(said, []string{"bye"}) {
			t.Errorf("in the end it said %q", said)
		}
		c.end()
	})
}

func TestConnection_close(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := open(t, define(t, typedOn(fake.New()), always()), session("s"))
		// An input that is on its way when Close comes still arrives.
		if err := c.Send(func(ctx context.Context, sess testSess, resp testResp) error {
			time.Sleep(time.Minute)
			return turn("a")(ctx, sess, resp)
		}); err != nil {
			t.Fatal(err)
		}
		sent := make(chan error)
		go func() { sent <- c.Send(turn("b")) }()
		time.Sleep(time.Second)
		if err := errors.Join(c.Close(), c.Close()); err != nil {
			t.Error(err)
		}
		if err := c.Send(turn("c")); !errors.Is(err, agent.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
		select {
		case <-c.Done():
			t.Error("it was done before its last turn")
		default:
		}
		if err := <-sent; err != nil {
			t.Errorf("before Close: %v", err)
		}
		if out := c.end(); out.State.Words != "b" {
			t.Errorf("%+v", out)
		}
		<-c.Done()
		if err := c.Send(turn("c")); !errors.Is(err, agent.ErrEnded) {
			t.Errorf("after the end: %v", err)
		}
	})
}

// A client that waits for a busy function is let go when there is no hope.
func TestConnection_sendGivesUp(t *testing.T) {
	busy := func(ctx context.Context, sess testSess, resp testResp) error {
		time.Sleep(time.Hour) // whatever the context says
		return nil
	}
	bubble(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c := openIn(ctx, t, define(t, typedOn(fake.New()), onTurns()), session("s"))
		if err := c.Send(busy); err != nil {
			t.Fatal(err)
		}
		waiting, behind := make(chan error), make(chan error)
		go func() { waiting <- c.Send(turn("a")) }()
		time.Sleep(time.Second)
		go func() { behind <- c.Send(turn("b")) }()
		time.Sleep(time.Second)
		c.Close()
		if err := <-behind; !errors.Is(err, agent.ErrClosed) {
			t.Errorf("the one that nobody had heard of: %v", err)
		}
		cancel()
		if err := <-waiting; !errors.Is(err, agent.ErrClosed) && !errors.Is(err, context.Canceled) {
			t.Errorf("the one that waited for the function: %v", err)
		}
		if out, err := c.Output(); out.Output != "done" || !errors.Is(err, context.Canceled) {
			t.Errorf("%+v, %v", out, err)
		}
	})
}

// A function that returns without its inputs leaves no client waiting.
func TestConnection_functionThatDoesNotRead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, err := agent.Define("deaf", func(context.Context, *agent.Session[chat], <-chan step, *agent.Responder[string]) (agent.Result[string], error) {
			time.Sleep(time.Minute)
			return agent.Result[string]{}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		c := open(t, a)
		if err := c.Send(turn("a")); !errors.Is(err, agent.ErrEnded) {
			t.Errorf("Send gave %v", err)
		}
		c.end()
	})
}

func TestOutput_json(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, err := agent.Define("artist", func(ctx context.Context, sess *agent.Session[chat], _ <-chan step, resp *agent.Responder[string]) (agent.Result[string], error) {
			resp.SendArtifact(agent.Artifact{Name: "sketch", Parts: []any{map[string]string{"text": "x"}}})
			return agent.Result[string]{Output: "done", Artifacts: []agent.Artifact{{Name: "picture"}}}, sess.UpdateState(ctx, chat{"a"})
		}, agent.WithSessionStore(typedOn(fake.New())), agent.WithSnapshotCallback(always()))
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(open(t, a, session("s")).end())
		want := `{"sessionId":"s","output":"done","state":{"words":"a"},"artifacts":[{"name":"sketch","parts":[{"text":"x"}]},{"name":"picture","parts":null}],"snapshotIds":["` + idOf("a") + `"]}`
		if err != nil || string(got) != want {
			t.Errorf("%s\nwant\n%s, %v", got, want, err)
		}
		got, err = json.Marshal(agent.Output[chat, string]{})
		if want := `{"sessionId":"","output":"","state":{"words":""}}`; err != nil || string(got) != want {
			t.Errorf("%s, %v", got, err)
		}
	})
}

// contexts records what a callback is shown.
func contexts(into *[]agent.SnapshotContext[chat], then agent.SnapshotCallback[chat]) agent.SnapshotCallback[chat] {
	return func(ctx context.Context, snap *agent.SnapshotContext[chat]) bool {
		*into = append(*into, *snap)
		return then(ctx, snap)
	}
}

func TestCallback_context(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var shown []agent.SnapshotContext[chat]
		a := define(t, typedOn(fake.New()), contexts(&shown, onTurns()))
		c := open(t, a, session("s"))
		c.do(tools("a", 1))
		c.do(tools("b", 1))
		c.end()
		words := func(s *chat) string {
			if s == nil {
				return "none"
			}
			return s.Words
		}
		for i, want := range []struct {
			event       model.SnapshotEvent
			state, prev string
			index, turn int
		}{
			{model.SnapshotEventToolIterationEnd, "a-tools", "none", 0, 0},
			{model.SnapshotEventTurnEnd, "a", "none", 0, 0},
			{model.SnapshotEventToolIterationEnd, "b-tools", "a", 1, 1},
			{model.SnapshotEventTurnEnd, "b", "a", 1, 1},
			{model.SnapshotEventInvocationEnd, "b", "b", 2, 1},
		} {
			if i >= len(shown) {
				t.Fatalf("the callback was asked %d times", len(shown))
			}
			if s := shown[i]; s.Event != want.event || s.State.Words != want.state || words(s.PrevState) != want.prev || s.Index != want.index || s.TurnIndex != want.turn {
				t.Errorf("at %d it was shown %+v before %q, want %+v", i, s, words(s.PrevState), want)
			}
		}
		if len(shown) != 5 {
			t.Errorf("the callback was asked %d times", len(shown))
		}
	})
}

func TestCallbacks(t *testing.T) {
	turnEnd, toolEnd, end := model.SnapshotEventTurnEnd, model.SnapshotEventToolIterationEnd, model.SnapshotEventInvocationEnd
	events := []model.SnapshotEvent{turnEnd, end}
	on := agent.SnapshotOn[chat](events...)
	events[0] = toolEnd // the caller's own
	for name, c := range map[string]struct {
		callback agent.SnapshotCallback[chat]
		want     string
	}{
		"always":               {agent.SnapshotAlways[chat](), "a0 a1 a2 b3 b4 b5*"},
		"never":                {agent.SnapshotNever[chat](), ""},
		"on two events":        {on, "a0 b1 b2*"},
		"on tools":             {agent.SnapshotOn[chat](toolEnd), "a0 a1 b2*"},
		"on change":            {agent.SnapshotOnChange[chat](toolEnd, turnEnd, end), "a0 b1*"},
		"on change at the end": {agent.SnapshotOnChange[chat](end), "b0*"},
		// A context of somebody else's making.
		"on change, wrapped": {func(ctx context.Context, snap *agent.SnapshotContext[chat]) bool {
			return agent.SnapshotOnChange[chat](toolEnd, turnEnd, end)(ctx, &agent.SnapshotContext[chat]{Event: snap.Event, State: snap.State, PrevState: snap.PrevState})
		}, "a0 b1*"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				db := fake.New()
				conn := open(t, define(t, typedOn(db), c.callback), session("s"))
				twice := func(words string, n int) step {
					return func(ctx context.Context, sess testSess, resp testResp) error {
						sess.UpdateState(ctx, chat{words})
						for range n {
							if err := agent.TriggerSnapshot(ctx, toolEnd); err != nil {
								return err
							}
						}
						return resp.EndTurn()
					}
				}
				conn.do(twice("a", 2))
				conn.do(twice("b", 1))
				conn.end()
				wantLine(t, db, "s", c.want)
			})
		})
	}
}

// A state that was set again is no change, whoever asks.
func TestCallbacks_onChangeLooksAtTheState(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := fake.New()
		a := define(t, typedOn(db), agent.SnapshotOnChange[chat](model.SnapshotEventTurnEnd))
		record(t, a, "s", "a", "a", "b", "b", "a")
		record(t, a, "s", "a", "c")
		wantLine(t, db, "s", "a0 b1 a2 c3*")
	})
}

func TestTriggerSnapshot(t *testing.T) {
	if err := agent.TriggerSnapshot(t.Context(), model.SnapshotEventToolIterationEnd); err != nil {
		t.Errorf("without an agent: %v", err)
	}
	bubble(t, func(t *testing.T) {
		db := fake.New()
		a := define(t, typedOn(db), always())
		c := open(t, a, session("outer"))
		c.do(func(ctx context.Context, sess testSess, resp testResp) error {
			for _, event := range []model.SnapshotEvent{model.SnapshotEventTurnEnd, model.SnapshotEventInvocationEnd} {
				if err := agent.TriggerSnapshot(ctx, event); !errors.Is(err, agent.ErrReservedEvent) {
					t.Errorf("%v: %v", event, err)
				}
			}
			sess.UpdateState(ctx, chat{"o"})
			// An agent as a tool of another has a session of its own.
			inner := openIn(ctx, t, a, session("inner"))
			inner.do(tools("i", 1))
			inner.end()
			type depth struct{}
			if err := agent.TriggerSnapshot(context.WithValue(ctx, depth{}, 1), model.SnapshotEventToolIterationEnd); err != nil {
				return err
			}
			return resp.EndTurn()
		})
		c.end()
		wantLine(t, db, "outer", "o0 o1 o2*")
		wantLine(t, db, "inner", "i-tools0 i1 i2*")
	})
}

// Rule 6 and 7 of the design, over a restore by each end.
func TestRule06_indexGoesOnFromTheTarget(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := fake.New()
		a := define(t, typedOn(db), onTurns())
		ids := record(t, a, "s", "a", "b", "c")
		c := open(t, a, seedSnapshot(ids[1]))
		c.do(func(ctx context.Context, sess testSess, resp testResp) error {
			if last := sess.LastSnapshot(); last.ID != ids[1] || last.Index != 1 || last.Orphaned || sess.TurnIndex() != 2 {
				t.Errorf("it goes on from %+v in turn %d", last, sess.TurnIndex())
			}
			return turn("x")(ctx, sess, resp)
		})
		c.end()
		wantLine(t, db, "s", "a0 b1 c2- x2*")
		list := headers(t, db, "s")
		if x := list[3]; x.ParentID != ids[1] || x.TurnIndex != 2 {
			t.Errorf("%+v", x)
		}
		if reason := list[2].Reason; reason == nil || reason.Kind != model.ReasonRestore || reason.TargetID != ids[1] {
			t.Errorf("c was left for %+v", reason)
		}
	})
}
