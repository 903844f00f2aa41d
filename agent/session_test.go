package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"hindcast/agent"
	"hindcast/model"
	"hindcast/store/native/typed"
	"hindcast/store/storetest/fake"
)

// A reloaded session goes on with its tracking, whatever store it is in.
func TestSession_reloadedGoesOn(t *testing.T) {
	for name, wrap := range map[string]func(model.Store[chat]) model.Store[chat]{
		"commits": func(s model.Store[chat]) model.Store[chat] { return s },
		"plain":   func(s model.Store[chat]) model.Store[chat] { return plain{s} },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				db := fake.New()
				a := define(t, wrap(typedOn(db)), agent.SnapshotOn[chat](model.SnapshotEventToolIterationEnd, model.SnapshotEventTurnEnd))
				c := open(t, a, session("s"))
				c.turns("a")
				c.do(tools("b", 1))
				c.end()
				c = open(t, a, session("s"))
				c.do(func(ctx context.Context, sess testSess, resp testResp) error {
					last := sess.LastSnapshot()
					if last == nil || last.ID != idOf("b") || last.Index != 2 || last.TurnIndex != 1 || last.State.Words != "b" || last.SessionID != "s" || last.ParentID != idOf("b-tools") {
						t.Errorf("the last snapshot is %+v", last)
					}
					if sess.State().Words != "b" || sess.TurnIndex() != 2 {
						t.Errorf("it is at %+v in turn %d", sess.State(), sess.TurnIndex())
					}
					return turn("c")(ctx, sess, resp)
				})
				c.end()
				wantLine(t, db, "s", "a0 b-tools1 b2 c3*")
			})
		})
	}
}

// counted is a state that knows how often it was marshalled.
type counted struct{ times *int }

func (c counted) MarshalJSON() ([]byte, error) {
	if c.times != nil {
		*c.times++
	}
	return []byte(`{"n":1}`), nil
}

func TestSession_marshalsAStateOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		times := 0
		a, err := agent.Define("once", func(ctx context.Context, sess *agent.Session[counted], _ <-chan string, resp *agent.Responder[string]) (agent.Result[string], error) {
			return agent.Result[string]{}, errors.Join(sess.UpdateState(ctx, counted{&times}), agent.TriggerSnapshot(ctx, model.SnapshotEventToolIterationEnd), resp.EndTurn())
		}, agent.WithSessionStore(typed.Of[counted](fake.New())), agent.WithSnapshotCallback(agent.SnapshotAlways[counted]()))
		if err != nil {
			t.Fatal(err)
		}
		if out, err := invoke(t, a); err != nil || len(out.SnapshotIDs) != 3 || times != 1 {
			t.Errorf("%d snapshots, marshalled %d times, %v", len(out.SnapshotIDs), times, err)
		}
	})
}

// What another program wrote is captured as it stands, and its id is that of
// the compact JSON (rule 1).
func TestSession_recordWithBlanks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := fake.New()
		if err := db.Save(t.Context(), "s", &model.Data[json.RawMessage]{State: json.RawMessage(`{ "words" : "a", "more": 1e2 }`)}); err != nil {
			t.Fatal(err)
		}
		c := open(t, define(t, typedOn(db), onTurns()), session("s"))
		c.do(func(_ context.Context, _ testSess, resp testResp) error { return resp.EndTurn() })
		out := c.end()
		const kept = `{"words":"a","more":1e2}`
		if text, err := db.State(t.Context(), model.Ref{Session: "s", ID: model.SnapshotID([]byte(kept))}); err != nil || string(text) != kept || out.State.Words != "a" {
			t.Errorf("%s, %v, %+v", text, err, out)
		}
	})
}

func TestSession_turnsThatAreNotCapturedCount(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := fake.New()
		a := define(t, typedOn(db), agent.SnapshotNever[chat]())
		for i, words := range []string{"a", "b", "c"} {
			c := open(t, a, session("s"))
			c.turns(words)
			c.do(func(_ context.Context, sess testSess, resp testResp) error {
				if want := 2*i + 1; sess.TurnIndex() != want {
					t.Errorf("turn %d, want %d", sess.TurnIndex(), want)
				}
				return resp.EndTurn()
			})
			if out := c.end(); out.SnapshotIDs != nil {
				t.Errorf("it captured %v", out.SnapshotIDs)
			}
		}
		data, err := db.Get(t.Context(), "s")
		if err != nil || data.TurnIndex != 6 || string(data.State) != `{"words":"c"}` {
			t.Errorf("the record is %+v, %v", data, err)
		}
	})
}

func TestSession_statesAreTheCallersOwn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := fake.New()
		spoil := func(s *talk) {
			if len(s.Messages) > 0 {
				s.Messages[0].Content[0].Text = "spoilt"
			}
			if s.Facts != nil {
				s.Facts["list"].([]any)[0] = "spoilt"
			}
		}
		a, err := agent.Define("own", func(ctx context.Context, sess *agent.Session[talk], _ <-chan string, resp *agent.Responder[string]) (agent.Result[string], error) {
			state := talk{Messages: []message{{Content: []part{{Text: "fine"}}}}, Facts: map[string]any{"list": []any{"fine"}}}
			err := sess.UpdateState(ctx, state)
			spoil(&state)
			err = errors.Join(err, resp.EndTurn())
			state = sess.State()
			spoil(&state)
			state = sess.LastSnapshot().State
			spoil(&state)
			var kept *talk
			err = errors.Join(err, sess.ChangeState(ctx, func(s *talk) error {
				s.Messages = append(s.Messages, message{Role: "user"})
				kept = s
				return nil
			}))
			spoil(kept)
			return agent.Result[string]{}, errors.Join(err, resp.EndTurn())
		}, agent.WithSessionStore(typed.Of[talk](db)), agent.WithSnapshotCallback(func(_ context.Context, snap *agent.SnapshotContext[talk]) bool {
			for _, s := range []*talk{&snap.State, snap.PrevState} {
				if s != nil {
					if s.Messages[0].Content[0].Text != "fine" || s.Facts["list"].([]any)[0] != "fine" {
						t.Errorf("the callback sees %+v at %v", s, snap.Event)
					}
					spoil(s)
				}
			}
			return true
		}))
		if err != nil {
			t.Fatal(err)
		}
		conn, err := a.StreamBidi(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		out, err := conn.Output()
		if err != nil {
			t.Fatal(err)
		}
		spoil(&out.State)
		if out, _ = conn.Output(); out.State.Messages[0].Content[0].Text != "fine" {
			t.Errorf("the output is %+v", out.State)
		}
		for _, h := range headers(t, db, out.SessionID) {
			text, err := db.State(t.Context(), h.Ref())
			if v := model.Verify(h.ID, text); err != nil || !v.OK() || string(text[:40]) != `{"messages":[{"role":"","content":[{"tex` {
				t.Errorf("#%d is %s, %v", h.Index, text, err)
			}
		}
	})
}

// Tools that run in parallel lose nothing of each other's.
func TestSession_changesAreAtomic(t *testing.T) {
	bubble(t, func(t *testing.T) {
		type count struct{ N int }
		db := fake.New()
		const workers, each = 8, 25
		a, err := agent.Define("count", func(ctx context.Context, sess *agent.Session[count], _ <-chan string, resp *agent.Responder[string]) (agent.Result[string], error) {
			var tools sync.WaitGroup
			errs := make([]error, workers)
			for w := range workers {
				tools.Go(func() {
					for range each {
						errs[w] = errors.Join(errs[w], sess.ChangeState(ctx, func(c *count) error { c.N++; return nil }))
						errs[w] = errors.Join(errs[w], agent.TriggerSnapshot(ctx, model.SnapshotEventToolIterationEnd))
						sess.State()
						sess.LastSnapshot()
					}
				})
			}
			tools.Wait()
			return agent.Result[string]{}, errors.Join(errors.Join(errs...), resp.EndTurn())
		}, agent.WithSessionStore(typed.Of[count](db)), agent.WithSnapshotCallback(agent.SnapshotAlways[count]()))
		if err != nil {
			t.Fatal(err)
		}
		out, err := invoke(t, a)
		if err != nil || out.State.N != workers*each || len(out.SnapshotIDs) != workers*each+2 {
			t.Errorf("%d, %d snapshots, %v", out.State.N, len(out.SnapshotIDs), err)
		}
		wantOneAfterAnother(t, db, "s", workers*each+2)
		if data, err := db.Get(t.Context(), out.SessionID); err != nil || string(data.State) != fmt.Sprintf(`{"N":%d}`, workers*each) {
			t.Errorf("the record is %s, %v", data.State, err)
		}
	})
}

func TestSession_changeThatFails(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := open(t, define(t, typedOn(fake.New()), always()), session("s"))
		c.turns("a")
		no := errors.New("no")
		c.do(func(ctx context.Context, sess testSess, resp testResp) error {
			err := sess.ChangeState(ctx, func(s *chat) error {
				s.Words = "half"
				return no
			})
			if !errors.Is(err, no) || sess.State().Words != "a" {
				t.Errorf("%v, and the state is %+v", err, sess.State())
			}
			func() {
				defer func() { recover() }()
				sess.ChangeState(ctx, func(s *chat) error { panic("in the middle") })
			}()
			// Nothing is held any more.
			return errors.Join(sess.UpdateState(ctx, chat{"b"}), resp.EndTurn())
		})
		if out := c.end(); out.State.Words != "b" {
			t.Errorf("%+v", out)
		}
	})
}

func TestSession_nothingGoesInAfterTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := fake.New()
		var late context.Context
		var sess testSess
		var resp testResp
		c := open(t, define(t, typedOn(db), always()), session("s"))
		c.do(func(ctx context.Context, s testSess, r testResp) error {
			late, sess, resp = context.WithoutCancel(ctx), s, r
			return turn("a")(ctx, s, r)
		})
		c.end()
		for name, err := range map[string]error{
			"UpdateState":     sess.UpdateState(late, chat{"late"}),
			"ChangeState":     sess.ChangeState(late, func(s *chat) error { s.Words = "late"; return nil }),
			"TriggerSnapshot": agent.TriggerSnapshot(late, model.SnapshotEventToolIterationEnd),
			"EndTurn":         resp.EndTurn(),
			"Send":            c.Send(turn("late")),
		} {
			if !errors.Is(err, agent.ErrEnded) {
				t.Errorf("%s: %v", name, err)
			}
		}
		resp.Send("late")
		for range c.Receive() {
			t.Error("something is said after the end")
		}
		if sess.State().Words != "a" || sess.TurnIndex() != 1 {
			t.Errorf("%+v, turn %d", sess.State(), sess.TurnIndex())
		}
		wantLine(t, db, "s", "a0 a1*")
	})
}

func TestSnapshot_timeAndClock(t *testing.T) {
	db := fake.New()
	noon := time.Date(2026, 3, 14, 12, 0, 0, 0, time.FixedZone("", 3600))
	at := noon
	a, err := agent.Define("clock", follow, agent.WithSessionStore(typedOn(db)), agent.WithSnapshotCallback(always()),
		agent.WithClock[chat](func() time.Time { return at }))
	if err != nil {
		t.Fatal(err)
	}
	c := open(t, a, session("s"))
	c.turns("a", "b") // at the same time
	at = noon.Add(-time.Hour)
	c.turns("c") // the clock was put back, which is not hidden
	at = noon.Add(time.Minute)
	c.end()
	var got []time.Duration
	for _, h := range headers(t, db, "s") {
		got = append(got, h.CreatedAt.Sub(noon))
		if h.CreatedAt.Location() != time.UTC {
			t.Errorf("#%d is in %v", h.Index, h.CreatedAt.Location())
		}
	}
	if want := fmt.Sprint([]time.Duration{0, 1, -time.Hour, time.Minute}); fmt.Sprint(got) != want {
		t.Errorf("times %v, want %v", got, want)
	}
}
