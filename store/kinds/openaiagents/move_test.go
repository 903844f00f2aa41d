package openaiagents

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/storetest"
	"hindcast/store/storetest/rowstest"
)

// At every item of recorded stores: what is written, taken back and done again.
func TestRows(t *testing.T) {
	for _, name := range []string{"sqlite_session.db", "async.db", "sqlalchemy.db", "advanced.db"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Rows(t, Kind(nil, "").Kind, recorded(name))
		})
	}
}

func apply(t testing.TB, s storetest.Writer, change model.Change) model.Plan {
	t.Helper()
	plan, err := s.Plan(t.Context(), change)
	if err == nil {
		_, err = s.Apply(t.Context(), plan)
	}
	if err != nil {
		t.Fatalf("%s: %v", change, err)
	}
	return plan
}

// At every item of every branch: a branch has the items up to it, behind all that the session
// has, and an undo takes it away.
func TestMove_branch(t *testing.T) {
	path := rowstest.Copied(t, recorded("advanced.db"))
	s := storetest.AsWriter(open(t, path))
	before := storetest.Tables(t, path)
	headers := storetest.Headers(t, s, "tour")
	for i, h := range headers {
		name := fmt.Sprintf("again %d", h.Index)
		plan := apply(t, s, model.Change{Op: model.OpFork, Ref: h.Ref(), As: "tour/" + name})
		if plan.NewSession != "" || plan.Branch != name || plan.Headline() != fmt.Sprintf("fork tour from #%d as the branch %s", h.Index, name) {
			t.Errorf("%+v", plan)
		}
		if len(plan.Resume) != 1 || plan.Resume[0].Call != `session = AdvancedSQLiteSession(session_id="tour", db_path=path); await session.switch_to_branch("`+name+`"); await Runner.run(agent, "…", session=session)` {
			t.Errorf("#%d: it goes on by %+v", h.Index, plan.Resume)
		}
		of := strings.Join(rowstest.Query(t, path, "SELECT message_id FROM message_structure WHERE branch_id = '"+name+"' ORDER BY sequence_number"), " ")
		want := ""
		line := model.NewTimeline(headers)
		for n := model.Node(i); n != model.NoNode; n = line.Parent(n) {
			want = strings.TrimSuffix(line.Header(n).ID+" "+want, " ")
		}
		if of != want {
			t.Errorf("#%d: the branch has the items %s, want %s", h.Index, of, want)
		}
		if now := storetest.Headers(t, s, "tour"); !slices.EqualFunc(now, headers, func(a, b model.Header) bool { return a.ID == b.ID && a.Orphaned == b.Orphaned && a.Head == b.Head }) {
			t.Errorf("#%d: the session is drawn otherwise", h.Index)
		}
		apply(t, s, model.Change{Op: model.OpUndo})
		if storetest.Tables(t, path) != before {
			t.Errorf("#%d: an undo leaves something", h.Index)
		}
		apply(t, s, model.Change{Op: model.OpRedo})
		apply(t, s, model.Change{Op: model.OpUndo})
	}
	for _, used := range []string{"main", "nested", "doomed", ""} {
		_, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: headers[3].Ref(), As: "tour/" + used})
		if !errors.As(err, new(*model.UnsupportedError)) {
			t.Errorf("as the branch %q: %v", used, err)
		}
	}
}

// What cannot be read by another session is refused, what the SDK leaves out is told, and so is
// that nothing goes back in place.
func TestMove_told(t *testing.T) {
	encrypted := storetest.AsWriter(open(t, rowstest.Copied(t, recorded("encrypted.db"))))
	_, err := encrypted.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: rowstest.At(t, encrypted, "tour", 1).Ref(), As: "new"})
	if !errors.As(err, new(*model.UnsupportedError)) || !strings.Contains(err.Error(), "a key that is made of the session's id") {
		t.Error(err)
	}
	s := storetest.AsWriter(open(t, rowstest.Copied(t, recorded("sqlite_session.db"))))
	if why := s.Lacks(model.OpRestore); !strings.Contains(why, "goes back by deleting its items") {
		t.Error(why)
	}
	for index, want := range map[int]string{3: "weather", 4: "weather, weather", 5: "weather", 6: "", 7: ""} {
		plan, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: rowstest.At(t, s, "tour", index).Ref(), As: "new"})
		if err != nil {
			t.Fatal(err)
		}
		hazards := plan.Hazards
		if want != "" { // the call is parted from its output
			if !strings.Contains(hazards[0], "a fork of one of these does not: #2, #6") {
				t.Errorf("#%d: %q", index, hazards)
			}
			hazards = hazards[1:]
		}
		said, open := strings.CutPrefix(strings.Join(hazards, "\n"), "the SDK leaves out calls that have no output here before it asks the model: ")
		if said != want || open != (want != "") {
			t.Errorf("#%d: %q", index, plan.Hazards)
		}
	}
	for as, want := range map[string]error{"": nil, "other": store.ErrSessionExists} {
		_, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: rowstest.At(t, s, "tour", 3).Ref(), As: as})
		if want == nil && !errors.As(err, new(*model.UnsupportedError)) || want != nil && !errors.Is(err, want) {
			t.Errorf("as %q: %v", as, err)
		}
	}
}

// The counter of a table stays where it is after an undo, as after a deletion of the SDK's own: a
// number is never given to another item. The gap is told.
func TestUndo_numbersStay(t *testing.T) {
	path := rowstest.Copied(t, recorded("async.db"))
	s := storetest.AsWriter(open(t, path))
	apply(t, s, model.Change{Op: model.OpFork, Ref: rowstest.At(t, s, "tour", 1).Ref(), As: "new"})
	apply(t, s, model.Change{Op: model.OpUndo})
	rowstest.Execute(t, path, add("tour", hello))
	if got := rowstest.Query(t, path, "SELECT max(id) FROM agent_messages"); got[0] != "5" {
		t.Errorf("the next item has the number %s", got)
	}
	if codes := rowstest.Faults(t, open(t, path), "tour"); !slices.Equal(codes, []string{FaultDeleted}) {
		t.Error(codes)
	}
}

// An undo refuses where the agent went on: in a session that was forked, in a branch.
func TestUndo_agentWentOn(t *testing.T) {
	for as, statements := range map[string][]string{
		"new":        {add("new", hello)},
		"tour/retry": {"INSERT INTO message_structure (session_id, message_id, branch_id, message_type, sequence_number) VALUES ('tour', 1, 'retry', 'user', 99)"},
		"tour/again": {"INSERT INTO turn_usage (session_id, branch_id, user_turn_number) VALUES ('tour', 'again', 2)"},
	} {
		path := rowstest.Copied(t, recorded("advanced.db"))
		ref := rowstest.At(t, open(t, path), "tour", 4).Ref()
		_ = rowstest.WentOn(t, Kind(nil, "").Kind, path, model.Change{Op: model.OpFork, Ref: ref, As: as}, statements...)
	}
}

// Tables may have other names, and several sets of them can be in a file: a fork is in the set of
// its session, and an undo finds it there.
func TestMove_otherTables(t *testing.T) {
	path := rowstest.Copied(t, recorded("sqlite_session.db"))
	rowstest.Execute(t, path,
		`CREATE TABLE "my sessions" (session_id TEXT PRIMARY KEY, created_at TIMESTAMP, updated_at TIMESTAMP)`,
		`CREATE TABLE "my messages" (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT, message_data TEXT, created_at TIMESTAMP, FOREIGN KEY (session_id) REFERENCES "my sessions" (session_id))`,
		`INSERT INTO "my sessions" VALUES ('mine', '2026-01-01 00:00:00', '2026-01-01 00:00:00')`,
		`INSERT INTO "my messages" (session_id, message_data) VALUES ('mine', '`+hello+`'), ('mine', '`+hello+`')`)
	before := storetest.Tables(t, path)
	s := storetest.AsWriter(open(t, path))
	apply(t, s, model.Change{Op: model.OpFork, Ref: rowstest.At(t, s, "mine", 1).Ref(), As: "other mine"})
	if got := rowstest.Query(t, path, `SELECT session_id || id FROM "my messages"`); !slices.Equal(got, []string{"mine1", "mine2", "other mine3", "other mine4"}) {
		t.Error(got)
	}
	for _, op := range []model.Op{model.OpUndo, model.OpRedo, model.OpUndo} {
		s = storetest.AsWriter(open(t, path))
		apply(t, s, model.Change{Op: op})
	}
	if storetest.Tables(t, path) != before {
		t.Error("an undo leaves something")
	}
}
