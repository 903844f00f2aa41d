package adk

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/storetest"
	"hindcast/store/storetest/rowstest"
)

// At every event of recorded stores of both services: what is written, taken back and done again.
func TestRows(t *testing.T) {
	if testing.Short() {
		t.Skip("it writes at one event after another")
	}
	for _, name := range []string{"sqlite_service.db", "database_service.db"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Rows(t, Kind(nil, "").Kind, recorded(name), "sessions")
		})
	}
}

// A restore leaves alone what the session began with, takes away keys that came since, and says
// what is not put back.
func TestMove_state(t *testing.T) {
	for name, layout := range map[string]string{"sqlite_service.db": "real", "database_service.db": "text"} {
		path := rowstest.Copied(t, recorded(name))
		rowstest.Execute(t, path, `UPDATE sessions SET state = json_set(state, '$.budget', json('{"eur":12}'), '$.räum', 1.0) WHERE id = 'tour'`)
		s := storetest.AsWriter(open(t, path))
		plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: rowstest.At(t, s, tour, 1).Ref()})
		if err != nil {
			t.Fatal(err)
		}
		said := strings.Join(plan.Hazards, "\n")
		for _, want := range []string{
			"what the session began with stays: budget, räum; runner.rewind_async would set it to null",
			"what other sessions share is not put back: app:motto, user:name",
			"a program that has the session loaded gets a StaleSessionError at its next event",
		} {
			if !strings.Contains(said, want) {
				t.Errorf("%q is not in\n%s", want, said)
			}
		}
		if _, err := s.Apply(t.Context(), plan); err != nil {
			t.Fatal(err)
		}
		if got := member(rowstest.State(t, s, tour, 1), "state"); !same(t, got, `{"budget":{"eur":12},"räum":1.0,"last_answer":"Gern! hello größe 👋"}`) {
			t.Errorf("the state is %s", got)
		}
		if got := rowstest.Query(t, path, `SELECT state FROM sessions WHERE id = 'tour'`); !same(t, got[0], `{"budget":{"eur":12},"räum":1.0,"last_answer":"Gern! hello größe 👋"}`) {
			t.Errorf("the row has %s", got[0])
		}
		got := rowstest.Query(t, path, `SELECT typeof(timestamp) || ' ' || (timestamp = (SELECT update_time FROM sessions WHERE id = 'tour')) || ' ' || (timestamp > (SELECT max(timestamp) FROM events o WHERE o.session_id = 'tour' AND o.id <> e.id))
			|| ' ' || (event_data ->> '$.id' = id) FROM events e WHERE session_id = 'tour' ORDER BY timestamp DESC LIMIT 1`)
		if want := layout + " 1 1 1"; got[0] != want {
			t.Errorf("%s: the event is %q, want %q", name, got, want)
		}
	}
}

// An event that no invocation begins behind cannot be restored: neither within an invocation nor
// where the next event answers a question of an earlier one.
func TestMove_refused(t *testing.T) {
	path := long(t, 3)
	rowstest.Execute(t, path, invocation(3, "i1", ""), invocation(4, "i4", ""))
	s := storetest.AsWriter(open(t, path))
	for index, want := range []bool{true, true, false, true, true} {
		_, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: rowstest.At(t, s, "a/u/long", index).Ref()})
		if refused := errors.As(err, new(*model.UnsupportedError)); refused == want || err != nil && !refused {
			t.Errorf("#%d: %v", index, err)
		}
	}
	for as, want := range map[string]error{"": nil, " x": nil, "tour": store.ErrSessionExists} {
		of := rowstest.At(t, s, "tour_app/u1/bytes", 1)
		_, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: of.Ref(), As: as})
		if want == nil && !errors.As(err, new(*model.UnsupportedError)) || want != nil && !errors.Is(err, want) {
			t.Errorf("fork as %q: %v", as, err)
		}
	}
	rowstest.Execute(t, path, "INSERT INTO sessions SELECT app_name, user_id, 'empty', state, create_time, update_time FROM sessions WHERE id = 'long'", "DELETE FROM sessions WHERE id = 'tour'")
	_, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: rowstest.At(t, s, "a/u/long", 1).Ref(), As: "empty"})
	if !errors.Is(err, store.ErrSessionExists) {
		t.Errorf("as a session without events: %v", err)
	}
	_, err = s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: rowstest.At(t, s, tour, 1).Ref()})
	if !errors.As(err, new(*model.UnsupportedError)) {
		t.Errorf("of a session without a row: %v", err)
	}
}

// However restores, forks, undos, redos and events of the agent follow each other: an undo takes
// away what its write did, or refuses because the agent went on; nothing that the agent wrote goes.
func TestMove_anySequence(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		path, forks, clock := long(t, 5), 0, 100
		s := storetest.AsWriter(open(t, path))
		agents := func() (all []string) {
			return rowstest.Query(t, path, `SELECT session_id || id || event_data FROM events WHERE event_data NOT LIKE '%"rewind_before_invocation_id"%' ORDER BY rowid`)
		}
		for range rapid.IntRange(2, 6).Draw(r, "steps") {
			sessions := rowstest.Query(t, path, "SELECT DISTINCT session_id FROM events WHERE app_name = 'a' ORDER BY 1")
			session := rapid.SampledFrom(sessions).Draw(r, "session")
			change := model.Change{Op: rapid.SampledFrom([]model.Op{model.OpRestore, model.OpRestore, model.OpFork, model.OpUndo, model.OpUndo, model.OpRedo, ""}).Draw(r, "op")}
			if change.Op == "" {
				clock++
				now := rowstest.Query(t, path, fmt.Sprintf("SELECT 1 + max(timestamp) FROM events WHERE session_id = '%s'", session))[0]
				rowstest.Execute(t, path,
					fmt.Sprintf(`INSERT INTO events VALUES ('n%[1]d', 'a', 'u', '%[2]s', 'v%[1]d', %[3]s, '{"id":"n%[1]d","invocation_id":"v%[1]d","author":"user","content":{"parts":[{"text":"x"}]},"actions":{"state_delta":{"n":%[1]d}}}')`, clock, session, now),
					fmt.Sprintf(`UPDATE sessions SET state = json_set(state, '$.n', %d), update_time = %s WHERE id = '%s'`, clock, now, session))
				continue
			}
			if change.Op == model.OpRestore || change.Op == model.OpFork {
				change.Ref = rapid.SampledFrom(storetest.Headers(t, s, "a/u/"+session)).Draw(r, "event").Ref()
				if change.Op == model.OpFork {
					forks++
					change.As = fmt.Sprintf("fork %d", forks)
				}
			}
			before, of := storetest.Tables(t, path), agents()
			plan, err := s.Plan(t.Context(), change)
			if err == nil {
				_, err = s.Apply(t.Context(), plan)
			}
			if err != nil {
				nothing := errors.As(err, new(*model.NothingToError)) || errors.As(err, new(*model.UnsupportedError))
				if since := errors.Is(err, model.ErrHeadMoved) && (change.Op == model.OpUndo || change.Op == model.OpRedo); !nothing && !since {
					t.Fatalf("%s: %v", change, err)
				}
				if storetest.Tables(t, path) != before {
					t.Fatalf("%s: %v, and rows changed", change, err)
				}
				continue
			}
			if now := agents(); change.Op != model.OpUndo && !slices.Equal(now[:len(of)], of) {
				t.Fatalf("%s: events of the agent went", change)
			}
			if plan.Idle() || change.Op == model.OpUndo || change.Op == model.OpRedo {
				continue
			}
			if change.Op == model.OpRestore && rowstest.Head(t, s, plan.Session).ID != plan.Target.ID {
				t.Fatalf("%s: the head is another", change)
			}
			if rapid.Bool().Draw(r, "back") {
				undo, err := s.Plan(t.Context(), model.Change{Op: model.OpUndo})
				if err == nil {
					_, err = s.Apply(t.Context(), undo)
				}
				if err != nil || storetest.Tables(t, path) != before {
					t.Fatalf("an undo of %s leaves something: %v", change, err)
				}
			}
		}
	})
}

// An undo refuses where the agent went on: behind a restore, and in a fork.
func TestUndo_agentWentOn(t *testing.T) {
	for op, in := range map[model.Op]string{model.OpRestore: "long", model.OpFork: "new"} {
		path := long(t, 4)
		ref := rowstest.At(t, open(t, path), "a/u/long", 1).Ref()
		later := strings.Replace(strings.Replace(invocation(9, "i9", ""), "'long'", "'"+in+"'", 1), "9.5, ", "5000000000.5, ", 1)
		_ = rowstest.WentOn(t, Kind(nil, "").Kind, path, model.Change{Op: op, Ref: ref, As: "new"}, later)
	}
}
