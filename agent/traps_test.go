package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/agent"
	"hindcast/model"
	"hindcast/store"
	"hindcast/store/native/sqlite"
	"hindcast/store/native/typed"
	"hindcast/store/storetest/fake"
)

// The traps of the seed, as somebody who follows it to the letter falls into
// them.

func TestTrap01_comingBackToAState(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := fake.New()
		c := open(t, define(t, typedOn(db), onTurns()), session("s"))
		c.turns("a", "b", "a", "c")
		out := c.end()
		// One id for each capture: the second a is there, as a visit.
		wantIDs(t, out.SnapshotIDs, "a", "b", "a", "c")
		wantLine(t, db, "s", "a0 b1 a2 c3*")
		wantWhole(t, db, "s", 0)
		wantOneAfterAnother(t, db, "s", 4) // b is not abandoned
		data, err := db.Get(t.Context(), "s")
		if err != nil || data.LastSnapshot.Index != 3 || data.LastSnapshot.ParentID != idOf("a") {
			t.Errorf("the record goes on from %+v, %v", data.LastSnapshot, err)
		}
		row, err := db.GetSnapshotIn(t.Context(), "s", idOf("a"))
		if err != nil || row.Index != 0 || row.ParentID != "" {
			t.Errorf("the row of a is not as it was first saved: %+v, %v", row, err)
		}
	})
}

func TestTrap02_sameStateInTwoSessions(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := fake.New()
		a := define(t, typedOn(db), onTurns())
		record(t, a, "one", "a", "b")
		record(t, a, "two", "a", "c")
		_, err := a.StreamBidi(t.Context(), seedSnapshot(idOf("a")))
		if ambiguous, ok := errors.AsType[*model.AmbiguousError](err); !ok || !slices.Equal(ambiguous.Candidates, []string{"one", "two"}) {
			t.Fatalf("an id that two sessions hold: %v", err)
		}
		c := open(t, a, seedSnapshot(idOf("a")), session("two"))
		c.turns("d")
		if out := c.end(); out.SessionID != "two" {
			t.Errorf("it went on in %q", out.SessionID)
		}
		wantLine(t, db, "one", "a0 b1*")
		wantLine(t, db, "two", "a0 c1- d1*")
	})
}

func TestTrap03_savingAnOrphanedState(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := fake.New()
		a := define(t, typedOn(db), onTurns())
		ids := record(t, a, "s", "a", "b", "c")
		c := open(t, a, seedSnapshot(ids[0]))
		c.turns("b")
		wantIDs(t, c.end().SnapshotIDs, "b")
		wantLine(t, db, "s", "a0 b1- c2- b1*")
		list, err := db.ListSnapshots(t.Context(), "s", false)
		if err != nil || len(list) != 2 || list[1].ID != idOf("b") || list[1].Orphaned {
			t.Errorf("the live timeline has no row for b: %+v, %v", list, err)
		}
	})
}

func TestTrap04_restoringToAnOrphanedSnapshot(t *testing.T) {
	for name, wrap := range map[string]func(model.Store[chat]) model.Store[chat]{
		"in one transaction": func(s model.Store[chat]) model.Store[chat] { return s },
		"by the seed's calls": func(s model.Store[chat]) model.Store[chat] {
			return plain{s}
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				db := fake.New()
				a := define(t, wrap(typedOn(db)), onTurns())
				ids := record(t, a, "s", "a", "b", "c", "d")
				c := open(t, a, seedSnapshot(ids[0]))
				c.turns("x", "y")
				c.end()
				c = open(t, a, seedSnapshot(ids[2]))
				c.turns("z")
				c.end()
				// Active by ancestry: a, b and c, and what comes after c.
				list, err := db.ListSnapshots(t.Context(), "s", false)
				if err != nil {
					t.Fatal(err)
				}
				var active []string
				for _, s := range list {
					active = append(active, s.ID)
				}
				wantIDs(t, active, "a", "b", "c", "z")
				if last := list[len(list)-1]; last.Index != 3 || last.ParentID != idOf("c") || last.TurnIndex != 3 {
					t.Errorf("it went on with %+v", last)
				}
			})
		})
	}
}

// saving is a plain store that tells what record was saved last.
type saving struct {
	model.Store[chat]
	last *model.Data[chat]
}

func (s *saving) Save(ctx context.Context, id string, data *model.Data[chat]) error {
	s.last = data
	return s.Store.Save(ctx, id, data)
}

func TestTrap04_orphanedLineageThatRunsInACircle(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := fake.New()
		s := &saving{Store: typedOn(db)}
		for i, words := range []string{"a", "b"} {
			snap := &model.Snapshot[chat]{ID: idOf(words), SessionID: "s", ParentID: idOf([]string{"b", "a"}[i]), State: chat{words}, Index: i, Orphaned: true}
			if err := s.SaveSnapshot(t.Context(), snap); err != nil {
				t.Fatal(err)
			}
		}
		c := open(t, define(t, s, onTurns()), seedSnapshot(idOf("b")))
		if last := s.last.LastSnapshot; last.ID != idOf("b") || last.Orphaned {
			t.Errorf("the record goes back to %+v", last)
		}
		c.turns("c")
		c.end()
		list, err := s.ListSnapshots(t.Context(), "s", false)
		if err != nil || len(list) != 3 {
			t.Errorf("%d snapshots are active, %v", len(list), err)
		}
	})
}

func TestTrap05_indexIsUsedAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := fake.New()
		a := define(t, typedOn(db), onTurns())
		ids := record(t, a, "s", "a", "b", "c")
		c := open(t, a, seedSnapshot(ids[0]))
		c.turns("x", "y")
		c.end()
		wantLine(t, db, "s", "a0 b1- c2- x1 y2*")
		list, err := db.ListSnapshots(t.Context(), "s", true)
		if err != nil {
			t.Fatal(err)
		}
		for i := range list[1:] {
			before, after := headerOf(list[i]), headerOf(list[i+1])
			if model.CompareHeaders(&before, &after) >= 0 {
				t.Errorf("#%d and #%d have no order", before.Index, after.Index)
			}
		}
		// What is orphaned by index is what came after, not what shares its number.
		c = open(t, a, seedSnapshot(idOf("x")))
		c.turns("z")
		c.end()
		wantLine(t, db, "s", "a0 b1- c2- x1 y2- z2*")
	})
}

func headerOf(s *model.Snapshot[json.RawMessage]) model.Header {
	return model.Header{ID: s.ID, CreatedAt: s.CreatedAt, Index: s.Index}
}

func TestTrap06_restoreIsOneWrite(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := fake.New()
		a := define(t, typedOn(db), onTurns())
		ids := record(t, a, "s", "a", "b", "c")
		c := open(t, a, seedSnapshot(ids[0]))
		failed := errors.New("the model is down")
		if err := c.do(func(context.Context, testSess, testResp) error { return failed }); !errors.Is(err, failed) {
			t.Errorf("the stream ended with %v", err)
		}
		if _, err := c.finish(); !errors.Is(err, failed) {
			t.Error(err)
		}
		// The first turn has failed; the restore is whole, and can be taken back.
		wantLine(t, db, "s", "a0* b1- c2-")
		plan, err := db.Plan(t.Context(), model.Change{Op: model.OpUndo})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Apply(t.Context(), plan); err != nil {
			t.Fatal(err)
		}
		wantLine(t, db, "s", "a0 b1 c2*")
	})
}

// anything is a state whose JSON depends on who writes it.
type anything struct {
	HTML  string         `json:"html"`
	Any   map[string]any `json:"any"`
	Nil   []string       `json:"nil"`
	Empty []string       `json:"empty"`
	Gone  []string       `json:"gone,omitempty"`
	Raw   json.RawMessage
}

func TestTrap07_serialisation(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := fake.New()
		want := anything{
			HTML: "<a&b> \u2028", Empty: []string{}, Raw: json.RawMessage(`{"z": 1.0, "a": 1e400}`),
			Any: map[string]any{"z": int64(9007199254740993), "a": 5.0, "n": json.Number("1.10"), "u": uint64(math.MaxUint64)},
		}
		var prev *anything
		a, err := agent.Define("any", func(ctx context.Context, sess *agent.Session[anything], _ <-chan string, resp *agent.Responder[string]) (agent.Result[string], error) {
			for range 2 {
				if err := errors.Join(sess.UpdateState(ctx, want), resp.EndTurn()); err != nil {
					return agent.Result[string]{}, err
				}
			}
			return agent.Result[string]{}, nil
		}, agent.WithSessionStore(typed.Of[anything](db)), agent.WithSnapshotCallback(func(_ context.Context, snap *agent.SnapshotContext[anything]) bool {
			prev = snap.PrevState
			return snap.Event == model.SnapshotEventTurnEnd
		}))
		if err != nil {
			t.Fatal(err)
		}
		out, err := invoke(t, a)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range headers(t, db, out.SessionID) {
			text, err := db.State(t.Context(), h.Ref())
			if v := model.Verify(h.ID, text); err != nil || v.Matched != model.SerialisationStored {
				t.Errorf("the id is not that of the bytes: %s, %v", v.Text(), err)
			}
			for _, exact := range []string{`\u003ca\u0026b\u003e`, "9007199254740993", "18446744073709551615", "1.10", `"nil":null`, `"empty":[]`, `"z":1.0,"a":1e400`} {
				if !strings.Contains(string(text), exact) {
					t.Errorf("no %s in %s", exact, text)
				}
			}
		}
		// Nothing was sent through any on its way.
		for name, got := range map[string]*anything{"PrevState": prev, "Output": &out.State} {
			if got.Any["z"] != int64(9007199254740993) || got.Nil != nil || got.Empty == nil || string(got.Raw) != string(want.Raw) {
				t.Errorf("%s is %+v", name, got)
			}
		}
	})
}

func TestTrap08_idIsBareHexOfTheStateAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	db, err := sqlite.Create(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	c := open(t, define(t, typedOn(db), always()), session("s"))
	c.turns("a")
	out := c.end()
	// Other index, event and parent: the same id.
	wantIDs(t, out.SnapshotIDs, "a", "a")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if db, err = sqlite.Open(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	text, err := db.State(t.Context(), model.Ref{Session: "s", ID: out.SnapshotIDs[0]})
	if err != nil || string(text) != `{"words":"a"}` {
		t.Fatalf("%s, %v", text, err)
	}
	const want = "1fe74ecbab351a30870bc1d1e09301b67351d8baeb095151a52901859d810a71"
	if id := out.SnapshotIDs[0]; id != want {
		t.Errorf("the id is %s", id)
	}
}

func TestTrap09_eventsAreNumbers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := fake.New()
		c := open(t, define(t, typedOn(db), always()), session("s"))
		c.do(func(ctx context.Context, sess testSess, resp testResp) error {
			sess.UpdateState(ctx, chat{"a"})
			err := agent.TriggerSnapshot(ctx, model.SnapshotEventToolIterationEnd)
			err = errors.Join(err, agent.TriggerSnapshot(ctx, 7)) // of a newer design
			return errors.Join(err, resp.EndTurn())
		})
		c.end()
		var events []string
		for _, h := range headers(t, db, "s") {
			text, err := json.Marshal(h.Event)
			if err != nil {
				t.Fatal(err)
			}
			events = append(events, string(text))
		}
		if want := []string{"1", "7", "0", "2"}; !slices.Equal(events, want) {
			t.Errorf("events %v, want %v", events, want)
		}
	})
}

func TestTrap10_noEvents(t *testing.T) {
	for name, callback := range map[string]agent.SnapshotCallback[chat]{
		"SnapshotOn": agent.SnapshotOn[chat](), "SnapshotOnChange": agent.SnapshotOnChange[chat](), "nil": nil,
	} {
		a, err := agent.Define("echo", follow, agent.WithSessionStore(typedOn(fake.New())), agent.WithSnapshotCallback(callback))
		if !errors.Is(err, agent.ErrNoEvents) || a != nil {
			t.Errorf("%s without events: %v, %v", name, a, err)
		}
	}
}

func TestTrap11_invocationEndIsSeen(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := fake.New()
		c := open(t, define(t, typedOn(db), always()), session("s"))
		c.turns("a")
		wantIDs(t, c.end().SnapshotIDs, "a", "a")
		wantLine(t, db, "s", "a0 a1*")
		wantWhole(t, db, "s", 0)
		list := headers(t, db, "s")
		if list[0].Event != model.SnapshotEventTurnEnd || list[1].Event != model.SnapshotEventInvocationEnd {
			t.Errorf("events %v and %v", list[0].Event, list[1].Event)
		}
	})
}

// tools is a step that ends n tool iterations and then the turn.
func tools(words string, n int) step {
	return func(ctx context.Context, sess testSess, resp testResp) error {
		for range n {
			sess.UpdateState(ctx, chat{words + "-tools"})
			if err := agent.TriggerSnapshot(ctx, model.SnapshotEventToolIterationEnd); err != nil {
				return err
			}
		}
		return turn(words)(ctx, sess, resp)
	}
}

// turnsOf returns the turn of each visit.
func turnsOf(t *testing.T, db store.Store, session string) (turns []int) {
	for _, h := range headers(t, db, session) {
		turns = append(turns, h.TurnIndex)
	}
	return turns
}

func TestTrap12_turnsAreCountedWhenTheyEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := fake.New()
		a := define(t, typedOn(db), always())
		c := open(t, a, session("s"))
		c.do(tools("a", 1))
		c.do(tools("b", 2))
		c.end()
		// A tool iteration is in its turn; the end of the invocation repeats the last.
		if got, want := turnsOf(t, db, "s"), []int{0, 0, 1, 1, 1, 1}; !slices.Equal(got, want) {
			t.Errorf("turns %v, want %v", got, want)
		}
		for _, back := range []struct {
			to   string
			turn int
		}{{"a", 1}, {"b-tools", 1}, {"b", 2}} {
			c := open(t, a, seedSnapshot(idOf(back.to)))
			c.do(func(ctx context.Context, sess testSess, resp testResp) error {
				if got := sess.TurnIndex(); got != back.turn {
					t.Errorf("after a restore to %q the turn is %d, want %d", back.to, got, back.turn)
				}
				return turn("after "+back.to)(ctx, sess, resp)
			})
			c.end()
			list := headers(t, db, "s")
			if h := list[len(list)-2]; h.TurnIndex != back.turn || h.Event != model.SnapshotEventTurnEnd {
				t.Errorf("after a restore to %q, the %s is of turn %d", back.to, h.Event, h.TurnIndex)
			}
		}
	})
}

func TestTrap12_functionThatReturnsInItsTurn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := fake.New()
		a := define(t, typedOn(db), always())
		say := func(words string) step {
			return func(ctx context.Context, sess testSess, _ testResp) error { return sess.UpdateState(ctx, chat{words}) }
		}
		for _, words := range []string{"a", "b"} {
			c := open(t, a, session("s"))
			if err := c.Send(say(words)); err != nil {
				t.Fatal(err)
			}
			c.end()
		}
		// A turn that nobody took a step in is not one.
		open(t, a, session("s")).end()
		c := open(t, a, session("s"))
		c.turns("c")
		if err := c.Send(say("d")); err != nil {
			t.Fatal(err)
		}
		c.end()
		wantLine(t, db, "s", "a0 b1 b2 c3 d4*")
		if got, want := turnsOf(t, db, "s"), []int{0, 1, 1, 2, 3}; !slices.Equal(got, want) {
			t.Errorf("turns %v, want %v", got, want)
		}
	})
}

// Work after the last turn is in a turn of its own if tools had a part in it.
func TestTrap12_toolsAfterTheLastTurn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := fake.New()
		c := open(t, define(t, typedOn(db), always()), session("s"))
		c.do(func(ctx context.Context, sess testSess, resp testResp) error {
			turn("a")(ctx, sess, resp)
			return agent.TriggerSnapshot(ctx, model.SnapshotEventToolIterationEnd)
		})
		c.end()
		if got, want := turnsOf(t, db, "s"), []int{0, 1, 1}; !slices.Equal(got, want) {
			t.Errorf("turns %v, want %v", got, want)
		}
	})
}

func TestTrap13_crashInATurn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := fake.New()
		a := define(t, typedOn(db), always())
		c := open(t, a, session("s"))
		c.turns("a")
		c.do(func(ctx context.Context, sess testSess, _ testResp) error {
			sess.UpdateState(ctx, chat{"half of b"})
			panic("out of tokens")
		})
		out, err := c.finish()
		if p, ok := errors.AsType[*agent.PanicError](err); !ok || p.Value != "out of tokens" || !strings.Contains(string(p.Stack), "traps_test.go") {
			t.Errorf("the connection ended with %v", err)
		}
		if out.State.Words != "half of b" || len(out.SnapshotIDs) != 1 {
			t.Errorf("the output is %+v", out)
		}
		// No snapshot of what was not finished; the work is there.
		wantLine(t, db, "s", "a0*")
		c = open(t, a, session("s"))
		c.do(func(ctx context.Context, sess testSess, resp testResp) error {
			if sess.State().Words != "half of b" || sess.LastSnapshot().Index != 0 || sess.LastSnapshot().State.Words != "a" || sess.TurnIndex() != 1 {
				t.Errorf("it goes on with %+v after %+v in turn %d", sess.State(), sess.LastSnapshot(), sess.TurnIndex())
			}
			return resp.EndTurn()
		})
		c.end()
		wantLine(t, db, "s", "a0 half of b1 half of b2*")
	})
}

func TestTrap14_twoWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	first, err := sqlite.Create(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	second, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	record(t, define(t, typedOn(first), onTurns()), "s", "a")
	one, two := open(t, define(t, typedOn(first), onTurns()), session("s")), open(t, define(t, typedOn(second), onTurns()), session("s"))
	one.turns("b")
	err = two.do(turn("c"))
	wantConflict(t, err, "b", 1, "a", 0)
	// The one that came second has lost nothing of its own, and overwritten nothing.
	out, err := two.finish()
	wantConflict(t, err, "b", 1, "a", 0)
	if out.State.Words != "c" || len(out.SnapshotIDs) != 0 {
		t.Errorf("the output is %+v", out)
	}
	one.turns("d")
	one.end()
	wantLine(t, first, "s", "a0 b1 d2*")
}

func wantConflict(t *testing.T, err error, head string, index int, expected string, expectedIndex int) {
	t.Helper()
	want := model.ConflictError{Session: "s", Head: model.Point{ID: idOf(head), Index: index}, Expected: model.Point{ID: idOf(expected), Index: expectedIndex}}
	if conflict, ok := errors.AsType[*model.ConflictError](err); !ok || *conflict != want || !errors.Is(err, model.ErrHeadMoved) {
		t.Errorf("the error is %v, want %v", err, &want)
	}
	if event, ok := errors.AsType[*agent.EventError](err); !ok || event.Session != "s" || event.Agent != "echo" {
		t.Errorf("the error names no event: %v", err)
	}
}

func TestTrap15_listsAndLookupsStayInTheirSession(t *testing.T) {
	bubble(t, func(t *testing.T) {
		db := fake.New()
		s := typedOn(db)
		a := define(t, s, onTurns())
		record(t, a, "one", "a")
		record(t, a, "two", "a", "b")
		for id, want := range map[string][]string{"one": {"a"}, "two": {"a", "b"}} {
			list, err := s.ListSnapshots(t.Context(), id, true)
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, snap := range list {
				ids = append(ids, snap.ID)
				if snap.SessionID != id {
					t.Errorf("the list of %q has a snapshot of %q", id, snap.SessionID)
				}
			}
			wantIDs(t, ids, want...)
		}
		// A store that looks an id up by itself gives the wrong session's.
		for _, s := range []model.Store[chat]{s, plain{s}} {
			a := define(t, s, onTurns())
			c := open(t, a, seedSnapshot(idOf("a")), session("two"))
			if out := c.end(); out.SessionID != "two" {
				t.Errorf("it went on in %q", out.SessionID)
			}
			for _, id := range []string{"a", "b"} {
				if _, err := a.StreamBidi(t.Context(), seedSnapshot(idOf(id)), session("three")); !errors.Is(err, agent.ErrSessionMismatch) {
					t.Errorf("a snapshot of other sessions: %v", err)
				}
			}
		}
	})
}

func TestTrap16_orphanedStaysOrphaned(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	db, err := sqlite.Create(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	a := define(t, typedOn(db), onTurns())
	ids := record(t, a, "s", "a", "b")
	c := open(t, a, seedSnapshot(ids[0]))
	c.turns("c")
	c.end()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if db, err = sqlite.Open(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	record(t, define(t, typedOn(db), onTurns()), "s", "d")
	wantLine(t, db, "s", "a0 b1- c1 d2*")
	list, err := typedOn(db).ListSnapshots(t.Context(), "s", true)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if said := strings.Contains(string(text), `"orphaned":true`); said != (s.ID == ids[1]) {
			t.Errorf("%s", text)
		}
	}
}
