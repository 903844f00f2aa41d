package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"hindcast/agent"
	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine/inspect"
	"hindcast/store/native/typed"
	"hindcast/store/storetest/fake"
)

// chat is the state in most tests; Words is how they tell one from another.
type chat struct {
	Words string `json:"words"`
}

// step is an input of the agent of these tests, which does what it is sent.
type step func(ctx context.Context, sess *agent.Session[chat], resp *agent.Responder[string]) error

type (
	testAgent = agent.Agent[chat, step, string]
	testConn  = agent.Connection[chat, step, string]
	testSess  = *agent.Session[chat]
	testResp  = *agent.Responder[string]
)

func follow(ctx context.Context, sess *agent.Session[chat], in <-chan step, resp *agent.Responder[string]) (agent.Result[string], error) {
	for do := range in {
		if err := do(ctx, sess, resp); err != nil {
			return agent.Result[string]{}, err
		}
	}
	return agent.Result[string]{Output: "done"}, nil
}

// turn is a turn after which the state has these words. Like many agents, it
// does not look at the errors.
func turn(words string) step {
	return func(ctx context.Context, sess *agent.Session[chat], resp *agent.Responder[string]) error {
		sess.UpdateState(ctx, chat{words})
		resp.Send("said " + words)
		resp.EndTurn()
		return nil
	}
}

// bubble runs a test in which every goroutine has to end, and time passes only
// when all of them wait.
func bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}

func define(t *testing.T, s model.Store[chat], callback agent.SnapshotCallback[chat]) *testAgent {
	t.Helper()
	a, err := agent.Define("echo", follow, agent.WithSessionStore(s), agent.WithSnapshotCallback(callback))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func always() agent.SnapshotCallback[chat] { return agent.SnapshotAlways[chat]() }

func onTurns() agent.SnapshotCallback[chat] {
	return agent.SnapshotOn[chat](model.SnapshotEventTurnEnd)
}

func session(id string) agent.BidiOption[chat]      { return agent.WithSessionID[chat](id) }
func seedSnapshot(id string) agent.BidiOption[chat] { return agent.WithSnapshotID[chat](id) }

// client is one connection and what came of it.
type client struct {
	*testing.T
	*testConn
}

func open(t *testing.T, a *testAgent, options ...agent.BidiOption[chat]) client {
	t.Helper()
	return openIn(t.Context(), t, a, options...)
}

func openIn(ctx context.Context, t *testing.T, a *testAgent, options ...agent.BidiOption[chat]) client {
	t.Helper()
	conn, err := a.StreamBidi(ctx, options...)
	if err != nil {
		t.Fatal(err)
	}
	return client{t, conn}
}

// invoke runs an agent that takes no inputs on a new session.
func invoke[S, In any](t *testing.T, a *agent.Agent[S, In, string]) (agent.Output[S, string], error) {
	t.Helper()
	conn, err := a.StreamBidi(t.Context(), agent.WithSessionID[S]("s"))
	if err != nil {
		t.Fatal(err)
	}
	return conn.Output()
}

// wantOneAfterAnother checks that a session is one line of n visits.
func wantOneAfterAnother(t *testing.T, db store.Store, session string, n int) {
	t.Helper()
	list := headers(t, db, session)
	if len(list) != n {
		t.Errorf("session %q has %d visits, want %d", session, len(list), n)
	}
	for i, h := range list {
		if h.Index != i || h.ParentVisit != int64(i) {
			t.Errorf("visit %d is #%d and follows %d", h.Visit, h.Index, h.ParentVisit)
		}
	}
}

// do has a step done, waits for it, and returns the errors that the stream gave
// up to the end of the turn.
func (c client) do(s step) error {
	c.Helper()
	done := make(chan struct{})
	err := c.Send(func(ctx context.Context, sess *agent.Session[chat], resp *agent.Responder[string]) error {
		defer close(done)
		return s(ctx, sess, resp)
	})
	if err != nil {
		c.Fatal(err)
	}
	defer func() { <-done }()
	var errs []error
	for _, err := range c.Receive() {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// turns has turns done that all have to be recorded.
func (c client) turns(words ...string) {
	c.Helper()
	for _, w := range words {
		if err := c.do(turn(w)); err != nil {
			c.Fatalf("turn %q: %v", w, err)
		}
	}
}

// end closes the connection and returns its output, which has to be without error.
func (c client) end() agent.Output[chat, string] {
	c.Helper()
	out, err := c.finish()
	if err != nil {
		c.Fatal(err)
	}
	return out
}

func (c client) finish() (agent.Output[chat, string], error) {
	c.Close()
	return c.Output()
}

// record has one invocation record turns, and returns the ids of the snapshots.
func record(t *testing.T, a *testAgent, id string, words ...string) []string {
	t.Helper()
	c := open(t, a, session(id))
	c.turns(words...)
	return c.end().SnapshotIDs
}

func idOf(words string) string {
	text, err := json.Marshal(chat{words})
	if err != nil {
		panic(err)
	}
	return model.SnapshotID(text)
}

func headers(t *testing.T, db store.Store, session string) []model.Header {
	t.Helper()
	var list []model.Header
	for h, err := range db.Headers(t.Context(), session) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, h)
	}
	return list
}

// line tells a session's visits in the order in which they were recorded: words
// and index, "-" for an orphaned one and "*" for the head.
func line(t *testing.T, db store.Store, session string) string {
	t.Helper()
	var fields []string
	for _, h := range headers(t, db, session) {
		text, err := db.State(t.Context(), h.Ref())
		if err != nil {
			t.Fatal(err)
		}
		var state chat
		if err := json.Unmarshal(text, &state); err != nil {
			t.Fatal(err)
		}
		field := fmt.Sprint(state.Words, h.Index)
		if h.Orphaned {
			field += "-"
		}
		if h.Head {
			field += "*"
		}
		fields = append(fields, field)
	}
	return strings.Join(fields, " ")
}

func wantLine(t *testing.T, db store.Store, session, want string) {
	t.Helper()
	if got := line(t, db, session); got != want {
		t.Errorf("session %q is\n %s\nwant\n %s", session, got, want)
	}
}

// wantWhole checks that a session has no fault and nothing abandoned beyond n.
func wantWhole(t *testing.T, db *fake.Store, session string, orphans int) {
	t.Helper()
	faults, err := inspect.SessionFaults(t.Context(), db, session)
	if err != nil || len(faults) != 0 {
		t.Errorf("session %q has faults %v, %v", session, faults, err)
	}
	if got := model.NewTimeline(headers(t, db, session)).Orphans(); got != orphans {
		t.Errorf("session %q has %d orphans, want %d", session, got, orphans)
	}
}

func wantIDs(t *testing.T, got []string, words ...string) {
	t.Helper()
	want := make([]string, len(words))
	for i, w := range words {
		want[i] = idOf(w)
	}
	if !slices.Equal(got, want) {
		t.Errorf("snapshot ids\n %v\nwant those of %v", got, words)
	}
}

// plain is a store that can do what the seed asks for and nothing more.
type plain struct{ model.Store[chat] }

func typedOn(db typed.Scoped[json.RawMessage]) model.Store[chat] { return typed.Of[chat](db) }
