package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"hindcast/agent"
	"hindcast/model"
	"hindcast/store/storetest/fake"
)

func TestDefine_refuses(t *testing.T) {
	kept := agent.WithSessionStore(typedOn(fake.New()))
	for name, c := range map[string]struct {
		options []agent.Option[chat]
		want    error
	}{
		"a callback without a store":  {[]agent.Option[chat]{agent.WithSnapshotCallback(always())}, agent.ErrNoStore},
		"a nil callback":              {[]agent.Option[chat]{kept, agent.WithSnapshotCallback[chat](nil)}, agent.ErrNoEvents},
		"a nil callback and no store": {[]agent.Option[chat]{agent.WithSnapshotCallback[chat](nil)}, agent.ErrNoEvents},
		"a nil store for a callback":  {[]agent.Option[chat]{agent.WithSessionStore[chat](nil), agent.WithSnapshotCallback(always())}, agent.ErrNoStore},
	} {
		if a, err := agent.Define("echo", follow, c.options...); a != nil || !errors.Is(err, c.want) || !strings.Contains(err.Error(), `"echo"`) {
			t.Errorf("%s: %v, %v", name, a, err)
		}
	}
	if a, err := agent.Define("", follow); a != nil || err == nil {
		t.Errorf("no name: %v, %v", a, err)
	}
	if a, err := agent.Define[chat, step, string]("echo", nil); a != nil || err == nil {
		t.Errorf("no function: %v, %v", a, err)
	}
}

// The seed's table of options (section 7.1), and what is missing from it.
func TestStreamBidi_validation(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := fake.New()
		kept := define(t, typedOn(db), onTurns())
		a, b := record(t, kept, "s", "a", "b")[0], record(t, kept, "other", "c")[0]
		bare, err := agent.Define("bare", follow)
		if err != nil {
			t.Fatal(err)
		}
		started := agent.WithInit(chat{"init"})
		for name, c := range map[string]struct {
			agent   *testAgent
			options []agent.BidiOption[chat]
			want    error
		}{
			"WithSnapshotID and WithInit":                 {kept, []agent.BidiOption[chat]{seedSnapshot(a), started}, agent.ErrInitWithSnapshot},
			"WithSnapshotID and WithInit, no store":       {bare, []agent.BidiOption[chat]{seedSnapshot(a), started}, agent.ErrInitWithSnapshot},
			"WithSnapshotID and WithSessionID mismatched": {kept, []agent.BidiOption[chat]{seedSnapshot(b), session("s")}, agent.ErrSessionMismatch},
			"WithSnapshotID, no store":                    {bare, []agent.BidiOption[chat]{seedSnapshot(a)}, agent.ErrNoStore},
			"WithSnapshotID of nothing":                   {kept, []agent.BidiOption[chat]{seedSnapshot(idOf("none"))}, model.ErrNoSnapshot},
			"WithSnapshotID of nothing in a session":      {kept, []agent.BidiOption[chat]{seedSnapshot(idOf("none")), session("s")}, model.ErrNoSnapshot},
			"WithSnapshotID empty":                        {kept, []agent.BidiOption[chat]{seedSnapshot("")}, agent.ErrEmptyID},
			"WithSessionID empty":                         {kept, []agent.BidiOption[chat]{session("")}, agent.ErrEmptyID},
		} {
			conn, err := c.agent.StreamBidi(t.Context(), c.options...)
			if conn != nil || !errors.Is(err, c.want) {
				t.Errorf("%s: %v, %v", name, conn, err)
			}
			for _, other := range []error{agent.ErrInitWithSnapshot, agent.ErrSessionMismatch, agent.ErrNoStore, agent.ErrEmptyID, model.ErrNoSnapshot} {
				if other != c.want && errors.Is(err, other) {
					t.Errorf("%s is %v too", name, other)
				}
			}
		}
		wantLine(t, db, "s", "a0 b1*")
		wantLine(t, db, "other", "c0*")
		// Matching is redundant, and allowed.
		if out := open(t, kept, seedSnapshot(a), session("s")).end(); out.SessionID != "s" || out.State.Words != "a" {
			t.Errorf("%+v", out)
		}
		wantLine(t, db, "s", "a0* b1-")
	})
}

func TestStreamBidi_newAndKnownSessions(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := fake.New()
		a := define(t, typedOn(db), onTurns())
		// A connection on which nothing happens leaves nothing behind.
		open(t, a, session("idle")).end()
		if data, err := db.Get(t.Context(), "idle"); data != nil || err != nil {
			t.Errorf("%+v, %v", data, err)
		}
		// One with a state of its own does.
		out := open(t, a, session("new"), agent.WithInit(chat{"init"})).end()
		if out.State.Words != "init" || out.SessionID != "new" {
			t.Errorf("%+v", out)
		}
		// The session is there now, and keeps its own state.
		if out := open(t, a, session("new"), agent.WithInit(chat{"again"})).end(); out.State.Words != "init" {
			t.Errorf("%+v", out)
		}
		one, two := open(t, a), open(t, a)
		if one.SessionID() == two.SessionID() || len(one.SessionID()) < 20 {
			t.Errorf("random ids %q and %q", one.SessionID(), two.SessionID())
		}
		if out := one.end(); out.SessionID != one.SessionID() {
			t.Errorf("%q is %q in the output", one.SessionID(), out.SessionID)
		}
		two.end()
	})
}

func TestStreamBidi_withoutStore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, err := agent.Define("bare", follow)
		if err != nil {
			t.Fatal(err)
		}
		c := open(t, a, session("s"), agent.WithInit(chat{"init"}))
		c.do(func(_ context.Context, sess testSess, resp testResp) error {
			if sess.ID() != "s" || sess.State().Words != "init" || sess.LastSnapshot() != nil {
				t.Errorf("%q, %+v, %+v", sess.ID(), sess.State(), sess.LastSnapshot())
			}
			return resp.EndTurn()
		})
		c.turns("a")
		if out := c.end(); out.State.Words != "a" || out.SnapshotIDs != nil || out.Output != "done" {
			t.Errorf("%+v", out)
		}
	})
}

// A session that has snapshots but no record, as after an import, goes on from
// the last active one.
func TestStreamBidi_sessionWithoutRecord(t *testing.T) {
	for name, wrap := range map[string]func(model.Store[chat]) model.Store[chat]{
		"commits": func(s model.Store[chat]) model.Store[chat] { return s },
		"plain":   func(s model.Store[chat]) model.Store[chat] { return plain{s} },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				db := fake.New()
				s := wrap(typedOn(db))
				for i, words := range []string{"a", "b"} {
					snap := &model.Snapshot[chat]{ID: idOf(words), SessionID: "s", State: chat{words}, Index: i, TurnIndex: i}
					if i > 0 {
						snap.ParentID = idOf("a")
					}
					if err := s.SaveSnapshot(t.Context(), snap); err != nil {
						t.Fatal(err)
					}
				}
				c := open(t, define(t, s, onTurns()), session("s"))
				c.turns("c")
				c.end()
				wantLine(t, db, "s", "a0 b1 c2*")
				if turns := turnsOf(t, db, "s"); turns[2] != 2 {
					t.Errorf("turns %v", turns)
				}
			})
		})
	}
}

func TestStreamBidi_stateOfAnotherShape(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := fake.New()
		a := define(t, typedOn(db), onTurns())
		odd := json.RawMessage(`{"words":7}`)
		last := &model.Snapshot[json.RawMessage]{ID: model.SnapshotID(odd), SessionID: "snapshot", State: odd}
		for id, data := range map[string]*model.Data[json.RawMessage]{
			"record":   {State: odd},
			"snapshot": {State: json.RawMessage(`{"words":"a"}`), LastSnapshot: last},
		} {
			if err := db.Save(t.Context(), id, data); err != nil {
				t.Fatal(err)
			}
			conn, err := a.StreamBidi(t.Context(), session(id))
			if shape, ok := errors.AsType[*json.UnmarshalTypeError](err); conn != nil || !ok || !strings.Contains(err.Error(), id) {
				t.Errorf("%s: %v, %v", id, err, shape)
			}
		}
		wantLine(t, db, "record", "")
	})
}

// A restore by the seed's calls stops where a call fails.
func TestStreamBidi_restoreThatFails(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &halfway{Store: typedOn(fake.New())}
		a := define(t, s, onTurns())
		ids := record(t, a, "s", "a", "b")
		s.fail = true
		if conn, err := a.StreamBidi(t.Context(), seedSnapshot(ids[0])); conn != nil || !errors.Is(err, errDisk) || !strings.Contains(err.Error(), ids[0]) {
			t.Errorf("%v, %v", conn, err)
		}
	})
}
