package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"hindcast/agent"
	"hindcast/model"
	"hindcast/store"
	"hindcast/store/native/typed"
	"hindcast/store/storetest/fake"
)

// faulty is a memory store whose commits go wrong on demand.
type faulty struct {
	*fake.Store
	// before runs ahead of every commit, which fails if it gives an error.
	before func(ctx context.Context, data *model.Data[json.RawMessage]) error
}

func (f *faulty) Commit(ctx context.Context, data *model.Data[json.RawMessage], at typed.Revision) (typed.Revision, error) {
	if f.before != nil {
		if err := f.before(ctx, data); err != nil {
			return 0, err
		}
	}
	return f.Store.Commit(ctx, data, at)
}

var errDisk = errors.New("the disk is full")

// wantEvents checks that an error joins exactly these events.
func wantEvents(t *testing.T, err error, reason error, want ...string) {
	t.Helper()
	if !errors.Is(err, reason) {
		t.Errorf("the error is %v, want %v", err, reason)
	}
	var got []string
	for _, e := range events(err) {
		got = append(got, strings.ReplaceAll(e.Event.String(), " ", "")+"#"+string(rune('0'+e.Index)))
		if e.Agent != "echo" || e.Session != "s" || !strings.Contains(e.Error(), e.Event.String()) {
			t.Errorf("%v names %q and %q", e, e.Agent, e.Session)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("events %v, want %v, in %v", got, want, err)
	}
}

// events returns all EventErrors in an error.
func events(err error) []*agent.EventError {
	switch e := err.(type) {
	case *agent.EventError:
		return []*agent.EventError{e}
	case interface{ Unwrap() []error }:
		var list []*agent.EventError
		for _, err := range e.Unwrap() {
			list = append(list, events(err)...)
		}
		return list
	case interface{ Unwrap() error }:
		return events(e.Unwrap())
	}
	return nil
}

func TestFailure_callbackPanics(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := fake.New()
		c := open(t, define(t, typedOn(db), func(_ context.Context, snap *agent.SnapshotContext[chat]) bool {
			if snap.State.Words == "b" {
				panic(errDisk)
			}
			return true
		}), session("s"))
		c.turns("a")
		var seen error
		err := c.do(func(ctx context.Context, sess testSess, resp testResp) error {
			sess.UpdateState(ctx, chat{"b"})
			seen = resp.EndTurn()
			return nil
		})
		wantEvents(t, seen, errDisk, "turnend#1")
		wantEvents(t, err, errDisk, "turnend#1")
		if p, ok := errors.AsType[*agent.PanicError](err); !ok || !strings.Contains(string(p.Stack), "failure_test.go") {
			t.Errorf("no stack in %v", err)
		}
		c.turns("c")
		out, err := c.finish()
		wantEvents(t, err, errDisk, "turnend#1")
		if out.State.Words != "c" || out.Output != "done" {
			t.Errorf("%+v", out)
		}
		wantIDs(t, out.SnapshotIDs, "a", "c", "c")
		wantLine(t, db, "s", "a0 c1 c2*")
		if turns := turnsOf(t, db, "s"); !slices.Equal(turns, []int{0, 2, 2}) {
			t.Errorf("turns %v", turns)
		}
	})
}

// A callback that takes its time holds up the turn, but nobody who reads or
// changes the state; what it was shown is what is captured.
func TestFailure_callbackReturnsLate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := fake.New()
		c := open(t, define(t, typedOn(db), func(_ context.Context, snap *agent.SnapshotContext[chat]) bool {
			time.Sleep(time.Hour)
			return snap.Event == model.SnapshotEventTurnEnd
		}), session("s"))
		begun := time.Now()
		c.do(func(ctx context.Context, sess testSess, resp testResp) error {
			sess.UpdateState(ctx, chat{"a"})
			changed := make(chan error)
			go func() {
				time.Sleep(time.Minute) // the callback is asked by now
				err := sess.ChangeState(ctx, func(s *chat) error { s.Words += "+"; return nil })
				if time.Since(begun) >= time.Hour || sess.State().Words != "a+" {
					t.Errorf("the change waited until %v, the state is %+v", time.Since(begun), sess.State())
				}
				changed <- err
			}()
			return errors.Join(resp.EndTurn(), <-changed)
		})
		out := c.end()
		wantIDs(t, out.SnapshotIDs, "a")
		if out.State.Words != "a+" {
			t.Errorf("%+v", out)
		}
		if data, err := db.Get(t.Context(), "s"); err != nil || string(data.State) != `{"words":"a+"}` {
			t.Errorf("the record is %+v, %v", data, err)
		}
	})
}

func TestFailure_callbackOutlivesTheContext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := fake.New()
		a := define(t, typedOn(db), func(ctx context.Context, _ *agent.SnapshotContext[chat]) bool {
			<-ctx.Done()
			return true
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		c := openIn(ctx, t, a, session("s"))
		wantEvents(t, c.do(turn("a")), context.DeadlineExceeded, "turnend#0")
		out, err := c.finish()
		wantEvents(t, err, context.DeadlineExceeded, "turnend#0", "invocationend#0")
		if out.State.Words != "a" || out.Output != "done" || out.SnapshotIDs != nil {
			t.Errorf("%+v", out)
		}
		wantLine(t, db, "s", "")
	})
}

// What a callback does is no event of its own, and it may use the session.
func TestFailure_callbackThatTriggers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := fake.New()
		var sess testSess
		c := open(t, define(t, typedOn(db), func(ctx context.Context, snap *agent.SnapshotContext[chat]) bool {
			if err := agent.TriggerSnapshot(ctx, model.SnapshotEventToolIterationEnd); err != nil {
				t.Error(err)
			}
			if err := sess.UpdateState(ctx, chat{snap.State.Words + "+"}); err != nil {
				t.Error(err)
			}
			return snap.Event == model.SnapshotEventTurnEnd
		}), session("s"))
		c.do(func(ctx context.Context, s testSess, resp testResp) error {
			sess = s
			if err := agent.TriggerSnapshot(ctx, model.SnapshotEventToolIterationEnd); err != nil {
				t.Error(err)
			}
			return turn("a")(ctx, s, resp)
		})
		if out := c.end(); out.State.Words != "a++" {
			t.Errorf("%+v", out)
		}
		wantLine(t, db, "s", "a0*")
	})
}

func TestFailure_storeErrsOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := &faulty{Store: fake.New()}
		c := open(t, define(t, typedOn(db), onTurns()), session("s"))
		c.turns("a")
		db.before = func(context.Context, *model.Data[json.RawMessage]) error { return errDisk }
		var update, end error
		err := c.do(func(ctx context.Context, sess testSess, resp testResp) error {
			update = sess.UpdateState(ctx, chat{"b"})
			end = resp.EndTurn()
			if sess.State().Words != "b" || sess.LastSnapshot().Index != 0 || sess.TurnIndex() != 2 {
				t.Errorf("%+v after %+v in turn %d", sess.State(), sess.LastSnapshot(), sess.TurnIndex())
			}
			return nil
		})
		if !errors.Is(update, errDisk) || !strings.Contains(update.Error(), `"s"`) {
			t.Errorf("UpdateState: %v", update)
		}
		wantEvents(t, end, errDisk, "turnend#1")
		wantEvents(t, err, errDisk, "turnend#1")
		wantLine(t, db, "s", "a0*")
		db.before = nil
		c.turns("c")
		out, err := c.finish()
		wantEvents(t, err, errDisk, "turnend#1")
		wantIDs(t, out.SnapshotIDs, "a", "c")
		wantLine(t, db, "s", "a0 c1*")
		wantWhole(t, db.Store, "s", 0)
	})
}

// What could not be saved in its turn is saved at the end, if the store is back.
func TestFailure_stateIsSavedInTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := &faulty{Store: fake.New()}
		a := define(t, typedOn(db), agent.SnapshotNever[chat]())
		c := open(t, a, session("s"))
		db.before = func(context.Context, *model.Data[json.RawMessage]) error { return errDisk }
		wantEvents(t, c.do(turn("a")), errDisk, "turnend#0")
		db.before = nil
		_, err := c.finish()
		wantEvents(t, err, errDisk, "turnend#0")
		if out := open(t, a, session("s")).end(); out.State.Words != "a" {
			t.Errorf("%+v", out)
		}
	})
}

func TestFailure_storeIsGone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := &faulty{Store: fake.New()}
		c := open(t, define(t, typedOn(db), onTurns()), session("s"))
		db.before = func(context.Context, *model.Data[json.RawMessage]) error { return errDisk }
		const turns = 100
		for range turns {
			wantEvents(t, c.do(turn("a")), errDisk, "turnend#0")
		}
		out, err := c.finish()
		if out.State.Words != "a" || out.Output != "done" || out.SnapshotIDs != nil {
			t.Errorf("%+v", out)
		}
		// The last is the end of the invocation, which could not save either.
		if n := len(events(err)); !errors.Is(err, errDisk) || n != 32 || !strings.Contains(err.Error(), "69 more") {
			t.Errorf("%d errors: %v", n, err)
		}
	})
}

func TestFailure_storeIsSlow(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := &faulty{Store: fake.New()}
		db.before = func(context.Context, *model.Data[json.RawMessage]) error {
			time.Sleep(time.Minute)
			return nil
		}
		c := open(t, define(t, typedOn(db), onTurns()), session("s"))
		var sess testSess
		known := make(chan struct{})
		go func() {
			<-known
			begun := time.Now()
			sess.State()
			sess.LastSnapshot()
			if waited := time.Since(begun); waited > 0 {
				t.Errorf("reading the session waited %v", waited)
			}
		}()
		c.do(func(ctx context.Context, s testSess, resp testResp) error {
			sess = s
			close(known)
			return turn("a")(ctx, s, resp)
		})
		c.end()
		wantLine(t, db, "s", "a0*")
	})
}

func TestFailure_storeBlocks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := &faulty{Store: fake.New()}
		db.before = func(ctx context.Context, _ *model.Data[json.RawMessage]) error {
			<-ctx.Done()
			return ctx.Err()
		}
		a := define(t, typedOn(db), onTurns())
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		c := openIn(ctx, t, a, session("s"))
		wantEvents(t, c.do(func(ctx context.Context, sess testSess, resp testResp) error {
			// Those who wait for the one that is blocked are free with it.
			others := make(chan error)
			for range 2 {
				go func() { others <- sess.ChangeState(ctx, func(s *chat) error { s.Words += "x"; return nil }) }()
			}
			for range 2 {
				if err := <-others; !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
			}
			resp.EndTurn()
			return nil
		}), context.DeadlineExceeded, "turnend#0")
		out, err := c.finish()
		if out.State.Words != "xx" || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%+v, %v", out, err)
		}
		wantNothing(t, db)
	})
}

func wantNothing(t *testing.T, db store.Store) {
	t.Helper()
	for info := range db.Sessions(t.Context()) {
		t.Errorf("the store has %+v", info)
	}
}

// A store with the seed's calls alone may keep a snapshot and not the record:
// the snapshot counts.
func TestFailure_plainStoreFailsHalfway(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := fake.New()
		s := &halfway{Store: typedOn(db)}
		a := define(t, s, onTurns())
		c := open(t, a, session("s"))
		c.turns("a")
		s.fail = true
		wantEvents(t, c.do(turn("b")), errDisk, "turnend#1")
		s.fail = false
		c.turns("c")
		out, err := c.finish()
		wantEvents(t, err, errDisk, "turnend#1")
		wantIDs(t, out.SnapshotIDs, "a", "b", "c")
		wantLine(t, db, "s", "a0 b1 c2*")
		wantWhole(t, db, "s", 0)
	})
}

// halfway is a plain store that cannot save records for a while.
type halfway struct {
	model.Store[chat]
	fail bool
}

func (h *halfway) Save(ctx context.Context, id string, data *model.Data[chat]) error {
	if h.fail {
		return errDisk
	}
	return h.Store.Save(ctx, id, data)
}

func TestFailure_contextBefore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		bare, err := agent.Define("bare", follow)
		if err != nil {
			t.Fatal(err)
		}
		db := fake.New()
		ids := record(t, define(t, typedOn(db), onTurns()), "s", "a", "b")
		for _, a := range []*testAgent{bare, define(t, typedOn(db), always())} {
			if conn, err := a.StreamBidi(ctx, session("s")); conn != nil || !errors.Is(err, context.Canceled) {
				t.Errorf("%v, %v", conn, err)
			}
		}
		if conn, err := define(t, typedOn(db), always()).StreamBidi(ctx, seedSnapshot(ids[0])); conn != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("%v, %v", conn, err)
		}
		wantLine(t, db, "s", "a0 b1*")
	})
}

func TestFailure_contextDuringATurn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := fake.New()
		ctx, cancel := context.WithCancel(t.Context())
		c := openIn(ctx, t, define(t, typedOn(db), always()), session("s"))
		c.turns("a")
		err := c.do(func(ctx context.Context, sess testSess, resp testResp) error {
			if err := sess.UpdateState(ctx, chat{"half of b"}); err != nil {
				t.Error(err)
			}
			cancel()
			turn("b")(ctx, sess, resp)
			if sess.TurnIndex() != 2 {
				t.Errorf("after its end the turn is %d", sess.TurnIndex())
			}
			return nil
		})
		wantEvents(t, err, context.Canceled, "turnend#1")
		// The function was waiting for an input; it had to be let go.
		out, err := c.Output()
		wantEvents(t, err, context.Canceled, "turnend#1", "invocationend#1")
		if out.State.Words != "b" || out.Output != "done" || !strings.Contains(err.Error(), "inputs") {
			t.Errorf("%+v, %v", out, err)
		}
		wantIDs(t, out.SnapshotIDs, "a")
		wantLine(t, db, "s", "a0*")
		if data, err := db.Get(t.Context(), "s"); err != nil || string(data.State) != `{"words":"half of b"}` {
			t.Errorf("the record is %+v, %v", data, err)
		}
		if err := c.Send(turn("c")); !errors.Is(err, agent.ErrEnded) {
			t.Error(err)
		}
	})
}

func TestFailure_contextAfterATurn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := fake.New()
		ctx, cancel := context.WithCancel(t.Context())
		c := openIn(ctx, t, define(t, typedOn(db), onTurns()), session("s"))
		c.turns("a")
		cancel()
		<-c.Done()
		out, err := c.Output()
		if !errors.Is(err, context.Canceled) || out.State.Words != "a" || out.Output != "done" || len(out.SnapshotIDs) != 1 {
			t.Errorf("%+v, %v", out, err)
		}
		wantLine(t, db, "s", "a0*")
	})
}

// A store that is waited for can be given up, and what it did is whole.
func TestFailure_contextDuringACommit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := &faulty{Store: fake.New()}
		ctx, cancel := context.WithCancel(t.Context())
		c := openIn(ctx, t, define(t, typedOn(db), onTurns()), session("s"))
		c.turns("a")
		db.before = func(_ context.Context, data *model.Data[json.RawMessage]) error {
			if data.LastSnapshot.Index == 1 {
				cancel()
			}
			return nil
		}
		wantEvents(t, c.do(turn("b")), context.Canceled, "turnend#1")
		if out, err := c.Output(); out.State.Words != "b" || !errors.Is(err, context.Canceled) {
			t.Errorf("%+v, %v", out, err)
		}
		wantLine(t, db, "s", "a0*")
	})
}

func TestFailure_functionEnds(t *testing.T) {
	failed := errors.New("no more tokens")
	for name, c := range map[string]struct {
		last step
		want func(error) bool
		line string
	}{
		// It returned: the state at that moment is captured.
		"by an error": {
			func(context.Context, testSess, testResp) error { return failed },
			func(err error) bool { return errors.Is(err, failed) }, "a0 b1*",
		},
		"by a panic": {
			func(context.Context, testSess, testResp) error { panic(failed) },
			func(err error) bool {
				p, ok := errors.AsType[*agent.PanicError](err)
				return ok && p.Value == failed && errors.Is(err, failed)
			}, "a0*",
		},
		"by a panic with nil": {
			func(context.Context, testSess, testResp) error { panic(nil) },
			func(err error) bool { _, ok := errors.AsType[*runtime.PanicNilError](err); return ok }, "a0*",
		},
		"by Goexit": {
			func(context.Context, testSess, testResp) error { runtime.Goexit(); return nil },
			func(err error) bool { return err != nil && strings.Contains(err.Error(), "Goexit") }, "a0*",
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				db := &faulty{Store: fake.New()}
				a := define(t, typedOn(db), always())
				conn := open(t, a, session("s"))
				conn.turns("a")
				err := conn.do(func(ctx context.Context, sess testSess, resp testResp) error {
					db.before = func(context.Context, *model.Data[json.RawMessage]) error { return errDisk }
					if err := sess.UpdateState(ctx, chat{"b"}); !errors.Is(err, errDisk) {
						t.Error(err)
					}
					db.before = nil
					resp.SendArtifact(agent.Artifact{Name: "draft", Parts: []any{"text"}})
					return c.last(ctx, sess, resp)
				})
				if !c.want(err) || !strings.Contains(err.Error(), `agent "echo"`) {
					t.Errorf("the stream ends with %v", err)
				}
				out, err := conn.Output() // without Close
				if !c.want(err) || out.State.Words != "b" || len(out.Artifacts) != 1 || out.Output != "" {
					t.Errorf("%+v, %v", out, err)
				}
				for range 2 {
					for _, again := range conn.Receive() {
						if !c.want(again) {
							t.Errorf("the stream goes on with %v", again)
						}
					}
				}
				wantLine(t, db, "s", c.line)
				if data, err := db.Get(t.Context(), "s"); err != nil || string(data.State) != `{"words":"b"}` {
					t.Errorf("the record is %+v, %v", data, err)
				}
			})
		})
	}
}

// What goes wrong in the very end does not keep the client waiting.
func TestFailure_endOfTheInvocation(t *testing.T) {
	atEnd := func(do func()) agent.SnapshotCallback[chat] {
		return func(_ context.Context, snap *agent.SnapshotContext[chat]) bool {
			if snap.Event == model.SnapshotEventInvocationEnd {
				do()
			}
			return true
		}
	}
	for name, c := range map[string]struct {
		callback agent.SnapshotCallback[chat]
		store    func()
		want     string
	}{
		"callback panics":              {atEnd(func() { panic("callback") }), nil, "panic: callback"},
		"callback ends the goroutine":  {atEnd(runtime.Goexit), nil, "Goexit"},
		"store panics":                 {onTurns(), func() { panic("store") }, ""},
		"store panics over a snapshot": {always(), func() { panic("store") }, "panic: store"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				db := &faulty{Store: fake.New()}
				conn := open(t, define(t, typedOn(db), c.callback), session("s"))
				conn.turns("a")
				db.before = func(context.Context, *model.Data[json.RawMessage]) error {
					if c.store != nil {
						c.store()
					}
					return nil
				}
				out, err := conn.finish()
				if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
					t.Errorf("the error is %v, want %q", err, c.want)
				}
				if out.State.Words != "a" || out.Output != "done" || len(out.SnapshotIDs) != 1 {
					t.Errorf("%+v", out)
				}
				wantLine(t, db, "s", "a0*")
			})
		})
	}
}

// odd is a state that JSON cannot always write.
type odd struct {
	F    float64
	Next *odd `json:",omitempty"`
}

func TestFailure_stateThatJSONCannotWrite(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := fake.New()
		circle := &odd{}
		circle.Next = circle
		states := []odd{{F: math.NaN()}, *circle, {F: 1}}
		a, err := agent.Define("echo", func(ctx context.Context, sess *agent.Session[odd], _ <-chan string, resp *agent.Responder[string]) (agent.Result[string], error) {
			for i, state := range states {
				err := errors.Join(sess.UpdateState(ctx, state), resp.EndTurn())
				if value, ok := errors.AsType[*json.UnsupportedValueError](err); ok != (i < 2) {
					t.Errorf("state %d: %v, %v", i, err, value)
				}
				if got := sess.State(); got.F != state.F && !math.IsNaN(state.F) || (got.Next == nil) != (state.Next == nil) {
					t.Errorf("state %d became another", i)
				}
			}
			return agent.Result[string]{}, nil
		}, agent.WithSessionStore(typed.Of[odd](db)), agent.WithSnapshotCallback(agent.SnapshotOnChange[odd](model.SnapshotEventTurnEnd)))
		if err != nil {
			t.Fatal(err)
		}
		out, err := invoke(t, a)
		if n := len(events(err)); n != 2 || len(out.SnapshotIDs) != 1 || out.State.F != 1 {
			t.Errorf("%d events, %+v, %v", n, out, err)
		}
		if _, err := a.StreamBidi(t.Context(), agent.WithInit(odd{F: math.Inf(1)})); err == nil {
			t.Error("a session began with it")
		}
	})
}

// Hindcast puts a session back while an agent runs on it.
func TestFailure_restoreUnderARunningAgent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := fake.New()
		a := define(t, typedOn(db), onTurns())
		c := open(t, a, session("s"))
		c.turns("a", "b", "c")
		plan, err := db.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: model.Ref{Session: "s", ID: idOf("a")}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Apply(t.Context(), plan); err != nil {
			t.Fatal(err)
		}
		wantConflict(t, c.do(func(ctx context.Context, sess testSess, resp testResp) error {
			err := sess.UpdateState(ctx, chat{"d"})
			if conflict, ok := errors.AsType[*model.ConflictError](err); !ok || conflict.Head.ID != idOf("a") {
				t.Errorf("UpdateState: %v", err)
			}
			resp.EndTurn()
			return nil
		}), "a", 0, "c", 2)
		out, err := c.finish()
		wantConflict(t, err, "a", 0, "c", 2)
		if out.State.Words != "d" {
			t.Errorf("%+v", out)
		}
		wantLine(t, db, "s", "a0* b1- c2-")
		c = open(t, a, session("s"))
		c.do(func(ctx context.Context, sess testSess, resp testResp) error {
			if sess.State().Words != "a" || sess.TurnIndex() != 1 {
				t.Errorf("it goes on with %+v in turn %d", sess.State(), sess.TurnIndex())
			}
			return turn("e")(ctx, sess, resp)
		})
		c.end()
		wantLine(t, db, "s", "a0 b1- c2- e1*")
	})
}

func TestFailure_twoNewSessionsOfOneName(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := fake.New()
		a := define(t, typedOn(db), onTurns())
		one, two := open(t, a, session("s")), open(t, a, session("s"))
		one.turns("a")
		err := two.do(turn("b"))
		if conflict, ok := errors.AsType[*model.ConflictError](err); !ok || conflict.Head.ID != idOf("a") || conflict.Expected.ID != "" {
			t.Error(err)
		}
		if _, err := two.finish(); !errors.Is(err, model.ErrHeadMoved) {
			t.Error(err)
		}
		one.end()
		wantLine(t, db, "s", "a0*")
	})
}
