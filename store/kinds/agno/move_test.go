package agno

import (
	"errors"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/storetest"
	"hindcast/store/storetest/rowstest"
)

// At every message of the recorded store: what is written, taken back and done again.
func TestRows(t *testing.T) { storetest.Rows(t, Kind(nil).Kind, recorded) }

// forkOf forks a snapshot in a copy of the recorded store, which some statements changed.
func forkOf(t *testing.T, session string, index int, statements ...string) (s storetest.Writer, path string, err error) {
	t.Helper()
	path = rowstest.Copied(t, recorded)
	rowstest.Execute(t, path, statements...)
	s = storetest.AsWriter(storetest.OpenStore(t, Kind(nil).Kind, path))
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: rowstest.At(t, s, session, index).Ref(), As: "new"})
	if err == nil {
		_, err = s.Apply(t.Context(), plan)
	}
	return s, path, err
}

// A fork has the runs on the path alone, under ids of its own, each message once; a run that was regenerated counts again.
func TestMove_copiesThePath(t *testing.T) {
	for index, c := range map[int]struct {
		messages string
		statuses string
	}{
		1:  {"one|said one ☂", "COMPLETED"},
		7:  {`one|said one ☂|call remember {"what":"egg"}||ok|said ok ☂|three|said three ☂`, "COMPLETED COMPLETED COMPLETED"},
		8:  {`one|said one ☂|call remember {"what":"egg"}||ok|said ok ☂|three|said three ☂`, "COMPLETED COMPLETED COMPLETED"},
		11: {`one|said one ☂|call remember {"what":"egg"}||ok|said ok ☂|three|said three ☂|said said three ☂ ☂|after|said after ☂`, "COMPLETED COMPLETED COMPLETED COMPLETED"},
	} {
		s, path, err := forkOf(t, "tree", index)
		if err != nil {
			t.Fatal(err)
		}
		const of = " FROM agno_runs r JOIN json_each(run_data, '$.messages') m WHERE session_id = 'new' AND NOT ifnull(m.value ->> 'from_history', 0) ORDER BY run_index, m.key"
		if got := strings.Join(rowstest.Query(t, path, "SELECT ifnull(m.value ->> 'content', '')"+of), "|"); got != c.messages {
			t.Errorf("#%d: %s, want %s", index, got, c.messages)
		}
		if got := strings.Join(rowstest.Query(t, path, "SELECT status FROM agno_runs WHERE session_id = 'new' AND status = run_data ->> 'status' AND run_data ->> 'run_id' = run_id AND run_data ->> 'session_id' = 'new' ORDER BY run_index"), " "); got != c.statuses {
			t.Errorf("#%d: %s, want %s", index, got, c.statuses)
		}
		head := rowstest.Head(t, s, "new")
		if got, want := rowstest.State(t, s, "new", head.Index), strings.Count(c.messages, "|")+1; head.Index != want-1 || !strings.Contains(got, `"forked_from_session_id":"tree"`) {
			t.Errorf("#%d: %d messages of %d: %s", index, head.Index+1, want, got)
		}
		if faults := rowstest.Faults(t, s, "new"); faults != nil {
			t.Error(faults)
		}
	}
}

// The state of a session is that of then, and the runs of a team's members come along.
func TestMove_copiesWhatBelongsToIt(t *testing.T) {
	_, path, err := forkOf(t, "tree", 1)
	if err != nil {
		t.Fatal(err)
	}
	if got := rowstest.Query(t, path, "SELECT session_data -> 'session_state' FROM agno_sessions WHERE session_id = 'new'"); len(got) != 1 || got[0] != `{"basket": []}` && got[0] != `{"basket":[]}` {
		t.Errorf("%q", got)
	}
	if _, path, err = forkOf(t, "team", 4); err != nil {
		t.Fatal(err)
	}
	if got := rowstest.Query(t, path, "SELECT m.agent_id FROM agno_runs m JOIN agno_runs r ON r.run_id = m.parent_run_id AND m.run_data ->> 'parent_run_id' = r.run_id WHERE m.session_id = 'new' AND r.session_id = 'new'"); len(got) != 1 || got[0] != "sky" {
		t.Errorf("%q", got)
	}
	s, _, err := forkOf(t, "waits", 1)
	if err != nil {
		t.Fatal(err)
	}
	if got := rowstest.About(t, s, rowstest.Head(t, s, "new")); !strings.Contains(got, `session_id="new", requirements=[…])  answers pay`) {
		t.Error(got)
	}
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: rowstest.At(t, s, "waits", 1).Ref(), As: "again"})
	if err != nil || !strings.Contains(strings.Join(plan.Hazards, "\n"), "Agno sends no run that did not end well: paused") {
		t.Errorf("%q, %v", plan.Hazards, err)
	}
}

// What Agno would not go on from is refused, and why is said.
func TestMove_refuses(t *testing.T) {
	member := "team/62052534-8f55-487c-b227-9c68b92afe82"
	for why, c := range map[string]struct {
		session    string
		index      int
		statements []string
	}{
		"behind a whole run":       {"tree", 3, nil},
		"the run of a member":      {member, 1, nil},
		"no row in agno_sessions":  {"tree", 1, []string{"DELETE FROM agno_sessions WHERE session_id = 'tree'"}},
		"session_data cannot":      {"tree", 1, []string{"UPDATE agno_sessions SET session_data = '[' WHERE session_id = 'tree'"}},
		"the run is no JSON":       {"tree", 6, []string{"UPDATE agno_runs SET run_data = '{' WHERE session_id = 'tree' AND run_index = 2"}},
		"a run of a workflow":      {"tree", 1, []string{`UPDATE agno_runs SET run_data = json_set(run_data, '$.workflow_id', 'w') WHERE session_id = 'tree'`}},
		"a run before it cannot":   {"tree", 4, []string{"UPDATE agno_runs SET run_data = '{' WHERE session_id = 'tree' AND run_index = 0"}},
		"it exists already: new!!": {"tree", 1, []string{"INSERT INTO agno_sessions (session_id, session_type, created_at) VALUES ('new', 'agent', 1)"}},
	} {
		s, _, err := forkOf(t, c.session, c.index, c.statements...)
		if errors.Is(err, store.ErrSessionExists) {
			continue
		}
		if refused := new(model.UnsupportedError); !errors.As(err, &refused) || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", why, err)
		}
		if _, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: rowstest.At(t, s, c.session, 0).Ref()}); !errors.As(err, new(*model.UnsupportedError)) {
			t.Errorf("a restore: %v", err)
		}
	}
}

// An undo refuses once Agno went on from the fork.
func TestUndo_refusesWhatWentOn(t *testing.T) {
	s, path, err := forkOf(t, "tree", 1)
	if err != nil {
		t.Fatal(err)
	}
	rowstest.Execute(t, path, `INSERT INTO agno_runs (run_id, session_id, run_type, status, run_index, run_data, created_at) VALUES ('r9', 'new', 'agent', 'COMPLETED', 9, '{}', 1)`)
	if _, err := s.Plan(t.Context(), model.Change{Op: model.OpUndo}); !errors.Is(err, model.ErrHeadMoved) {
		t.Error(err)
	}
}
