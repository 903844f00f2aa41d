package genkit

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/media/journal"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

const (
	sessMain = "barista/sess-main"
	second   = "e2351bbc-fa68-4905-a61a-0927ec4a5c95"
)

// TestUndo_refusedAfterTheAgentWentOn: from the row that a restore wrote, or past
// it.
func TestUndo_refusedAfterTheAgentWentOn(t *testing.T) {
	for name, goOn := range map[string]func(t *testing.T, global, row string){
		"a child of the row": func(t *testing.T, global, row string) {
			write(t, filepath.Join(global, "next.json"), goRow("next", row, "sess-main", "2026-11-21T21:00:00Z", ""))
		},
		"the pointer moved on": func(t *testing.T, global, row string) {
			write(t, filepath.Join(global, "next.json"), goRow("next", second, "sess-main", "2026-11-21T21:00:00Z", ""))
			write(t, filepath.Join(global, ".pointers/sess-main.json"), pointerGo("next", "2026-11-21T21:00:00Z"))
		},
		"the row was rewritten": func(t *testing.T, global, row string) {
			write(t, filepath.Join(global, row+".json"), goRow(row, second, "sess-main", "2026-11-21T20:00:00Z", ""))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := copyOfStore(t, "go-1.13.1")
			s := open(t, dir)
			receipt := restore(t, s, sessMain, second)
			goOn(t, filepath.Join(dir, "barista/global"), receipt.Head.ID)
			before := treeOf(t, dir)
			_, err := s.Plan(t.Context(), model.Change{Op: model.OpUndo})
			if !errors.Is(err, model.ErrHeadMoved) || !strings.Contains(err.Error(), "restore the row that is wanted instead") {
				t.Errorf("the error is %v", err)
			}
			sameTree(t, before, treeOf(t, dir))
		})
	}
}

// TestUndo_isRefusedBetweenPlanAndWrite: the plan was good, and is no longer.
func TestUndo_isRefusedBetweenPlanAndWrite(t *testing.T) {
	dir := copyOfStore(t, "go-1.13.1")
	s := open(t, dir)
	receipt := restore(t, s, sessMain, second)
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpUndo})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "barista/global/next.json"), goRow("next", receipt.Head.ID, "sess-main", "2026-11-21T21:00:00Z", ""))
	before := treeOf(t, dir)
	if _, err := s.Apply(t.Context(), plan); !errors.Is(err, model.ErrHeadMoved) {
		t.Errorf("the error is %v", err)
	}
	sameTree(t, before, treeOf(t, dir))
}

// TestUndo_sayWhatComes: the plan of an undo is as whole as any other.
func TestUndo_saysWhatComes(t *testing.T) {
	s := open(t, copyOfStore(t, "go-1.13.1"))
	old := headOf(t, s, sessMain)
	receipt := restore(t, s, sessMain, second)
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpUndo})
	if err != nil {
		t.Fatal(err)
	}
	if plan.Head.ID != receipt.Head.ID || plan.Target.ID != old.ID || plan.Target.Index != old.Index || len(plan.Reactivates) != 2 || len(plan.Orphans) != 1 {
		t.Errorf("the plan is %+v", plan)
	}
	if !strings.Contains(plan.Loads, old.ID[:8]) || len(plan.Resume) == 0 || plan.Files[0].Path == "" {
		t.Errorf("it loads %q, and resumes by %v", plan.Loads, plan.Resume)
	}
	if got := apply(t, s, plan, nil); got.Head.ID != old.ID {
		t.Errorf("the receipt says %+v", got)
	}
	list, err := s.Journal(t.Context())
	if err != nil || len(list) != 1 || !list[0].Undone || list[0].Op != model.OpRestore {
		t.Errorf("the journal is %+v, %v", list, err)
	}
}

// TestUndo_afterReopening, from every folder that leads to the same storage.
func TestUndo_afterReopening(t *testing.T) {
	dir := copyOfStore(t, "stepsproject-go-1.13.1")
	first := treeOf(t, dir)
	for _, restored := range []string{".", ".genkit", ".genkit/snapshots", ".genkit/snapshots/planner", ".genkit/snapshots/planner/global"} {
		for _, undone := range []string{".", ".genkit/snapshots/planner", ".genkit/snapshots/planner/global"} {
			s := open(t, filepath.Join(dir, restored))
			var info model.SessionInfo
			for _, info = range storetest.Sessions(t, s) {
				if info.Snapshots > 1 {
					break
				}
			}
			restore(t, s, info.ID, session1(t, s, info.ID).rows[0].id)
			if _, err := os.Stat(filepath.Join(dir, ".genkit/snapshots", journal.Folder)); err != nil {
				t.Error(err)
			}
			undo(t, open(t, filepath.Join(dir, undone)))
			sameTree(t, first, treeOf(t, dir))
		}
	}
}

// TestStorage_where: one journal for a storage, whichever folder of it is opened.
func TestStorage_where(t *testing.T) {
	dir := t.TempDir()
	for _, file := range []string{"project/.genkit/snapshots/a/global/x.json", "project/.snapshots/global/x.json", "store/a/global/x.json"} {
		write(t, filepath.Join(dir, file), goRow("x", "", "s", am, ""))
	}
	for opened, want := range map[string][]string{
		"project":                            {"project/.genkit/snapshots", "project/.snapshots"},
		"project/.genkit":                    {"project/.genkit/snapshots"},
		"project/.genkit/snapshots":          {"project/.genkit/snapshots"},
		"project/.genkit/snapshots/a":        {"project/.genkit/snapshots"},
		"project/.snapshots":                 {"project/.snapshots"},
		"project/.snapshots/global":          {"project/.snapshots"},
		"store":                              {"store"},
		"store/a":                            {"store/a"},
		"store/a/global":                     {"store/a"},
		"project/.genkit/snapshots/a/global": {"project/.genkit/snapshots"},
	} {
		s := open(t, filepath.Join(dir, opened))
		list := s.listParts()
		if len(list) != len(want) {
			t.Errorf("%s has %d journals", opened, len(list))
			continue
		}
		for i, v := range list {
			if at, err := filepath.Rel(dir, v.files.Storage.Folder()); err != nil || filepath.ToSlash(at) != want[i] {
				t.Errorf("%s: the journal is in %s, not in %s (%v)", opened, at, want[i], err)
			}
			for _, name := range []string{"global/x.json", "a/b.json"} {
				name = path.Join(v.dir, name)
				if back := v.shownName(v.storageName(name)); back != name {
					t.Errorf("%s: %s comes back as %s", opened, name, back)
				}
			}
		}
	}
}

// TestUndo_ofSeveralStorages goes back in the order of the times.
func TestUndo_ofSeveralStorages(t *testing.T) {
	dir := t.TempDir()
	for _, base := range []string{".genkit/snapshots", ".snapshots"} {
		write(t, filepath.Join(dir, base, "global/a.json"), goRow("a", "", "s", am, ""))
		write(t, filepath.Join(dir, base, "global/b.json"), goRow("b", "a", "s", pm, ""))
	}
	first := treeOf(t, dir)
	clock := &storetest.Clock{}
	clock.Advance(evening.Sub(clock.Now()))
	s, err := Options{Now: clock.Now}.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var heads []string
	for _, session := range []string{"s", ".snapshots/s", "s"} {
		restore(t, s, session, "a")
		heads = append(heads, headOf(t, s, session).ID)
		clock.Advance(60e9)
	}
	if list, err := s.Journal(t.Context()); err != nil || len(list) != 3 || list[1].Session != ".snapshots/s" {
		t.Errorf("the journal is %+v, %v", list, err)
	}
	undo(t, s)
	undo(t, s)
	if headOf(t, s, "s").ID != heads[0] || headOf(t, s, ".snapshots/s").ID != "b" {
		t.Error("the wrong write was undone")
	}
	undo(t, s)
	sameTree(t, first, treeOf(t, dir))
	if _, err := s.Plan(t.Context(), model.Change{Op: model.OpUndo}); !errors.As(err, new(*model.NothingToError)) {
		t.Errorf("the error is %v", err)
	}
	for range 3 {
		plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRedo})
		apply(t, s, plan, err)
	}
	if headOf(t, s, "s").ID != heads[2] || headOf(t, s, ".snapshots/s").ID != heads[1] {
		t.Error("what was done again is not as it was")
	}
}

func TestFork_isASessionOfItsOwn(t *testing.T) {
	skip.Sequential(t)
	for _, test := range []struct{ fixture, session, as, id, file string }{
		{"go-1.13.1", sessMain, "what if", "barista/what if", "barista/global"},
		{"go-1.13.1", "tenant/org-42/user-7/sess-t", "tenant/org-42/user-7/new", "tenant/org-42/user-7/new", "tenant/org-42/user-7"},
		{"js-1.42.0-detachbug", "s", "<new>", "<new>", "global"},
		{python, "talk", "new", "new", "."},
	} {
		t.Run(test.fixture+" "+test.as, func(t *testing.T) {
			dir := copyOfStore(t, test.fixture)
			first := treeOf(t, dir)
			s := open(t, dir)
			target := storetest.Headers(t, s, test.session)[0]
			before := storetest.Headers(t, s, test.session)
			plan, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: target.Ref(), As: test.as})
			if err != nil {
				t.Fatal(err)
			}
			if plan.NewSession != test.id || plan.Target.ID != target.ID || len(plan.Orphans) > 0 {
				t.Errorf("the plan is %+v", plan)
			}
			receipt := apply(t, s, plan, nil)
			if receipt.Session != test.id {
				t.Errorf("the receipt says %+v", receipt)
			}
			one := session1(t, s, test.id)
			now, scanned := one.resumedRow()
			if len(one.rows) != 1 || now.row == nil || scanned.row != now.row || now.row.id != receipt.Head.ID || now.row.parentID != "" {
				t.Fatalf("the session is %+v", one)
			}
			if r := now.row; r.ownSession() != one.sid || r.sessionID != r.stateSession || len(r.flaws) > 0 || one.fileOf(r.id) != filepath.ToSlash(filepath.Join(test.file, r.id+".json")) {
				t.Errorf("the row is %+v in %s", r, one.fileOf(r.id))
			}
			want := strings.Replace(state(t, s, target.Ref()), string(one.layout.quoteText(session1(t, s, test.session).sid)), string(one.layout.quoteText(one.sid)), 1)
			if got := state(t, s, model.Ref{Session: test.id, ID: receipt.Head.ID}); got != want {
				t.Errorf("the state is\n%s\ninstead of\n%s", got, want)
			}
			if after := storetest.Headers(t, s, test.session); len(after) != len(before) {
				t.Errorf("the old session has %d rows, and had %d", len(after), len(before))
			}
			if h := headOf(t, s, test.id); h.EventName != "fork" {
				t.Errorf("the row is shown as %q", h.EventText())
			}
			_, err = s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: target.Ref(), As: test.as})
			if !errors.Is(err, store.ErrSessionExists) {
				t.Errorf("again, the error is %v", err)
			}
			undo(t, s)
			sameTree(t, first, treeOf(t, dir))
		})
	}
}

func TestFork_names(t *testing.T) {
	skip.Sequential(t)
	dir := copyOfStore(t, "go-1.13.1")
	s := open(t, dir)
	for _, as := range []string{"", " ", ".", "..", ".hidden", "a/b", `a\b`, "a..b", "a\x00", "a\nb", "../../x", "barista/", "other/x", "a\xff", strings.Repeat("x", 201)} {
		if _, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: model.Ref{Session: sessMain, ID: second}, As: as}); !errors.Is(err, errNoName) {
			t.Errorf("%q: %v", as, err)
		}
	}
}

// TestFork_goesOn: an undo does not take away what the agent made of a fork.
func TestFork_goesOn(t *testing.T) {
	skip.Sequential(t)
	dir := copyOfStore(t, "go-1.13.1")
	s := open(t, dir)
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: model.Ref{Session: sessMain, ID: second}, As: "new"})
	receipt := apply(t, s, plan, err)
	write(t, filepath.Join(dir, "barista/global/next.json"), goRow("next", receipt.Head.ID, "new", "2026-11-21T21:00:00Z", ""))
	if _, err := s.Plan(t.Context(), model.Change{Op: model.OpUndo}); !errors.Is(err, model.ErrHeadMoved) {
		t.Errorf("the error is %v", err)
	}
}

// TestUndo_ofARepair: the rows that come back are counted once, and come back to the path.
func TestUndo_ofARepair(t *testing.T) {
	for _, h := range hazards(t) {
		if h.name != "js-bytes" {
			continue
		}
		s := open(t, h.write(t))
		before := headOf(t, s, "s")
		plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRepair, Ref: model.Ref{Session: "s"}})
		apply(t, s, plan, err)
		plan, err = s.Plan(t.Context(), model.Change{Op: model.OpUndo})
		if err != nil || plan.Target.ID != before.ID || plan.Target.Index != before.Index || len(plan.Reactivates) != 1 || plan.Reactivates[0].ID != "bom" {
			t.Errorf("the head was %s #%d, the plan is %+v, %v", before.ID, before.Index, plan, err)
		}
		if receipt := apply(t, s, plan, err); receipt.Head.Index != before.Index || headOf(t, s, "s").Index != before.Index {
			t.Errorf("the head was #%d, the receipt is %+v", before.Index, receipt)
		}
		return
	}
	t.Error("there is no such store")
}

// TestRedo_refusedWhereTheSessionBeganAnew: Python has no pointer that would tell.
func TestRedo_refusedWhereTheSessionBeganAnew(t *testing.T) {
	dir := copyOfStore(t, python)
	s := open(t, dir)
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: firstOf(t, s, "talk"), As: "new"})
	apply(t, s, plan, err)
	undo(t, s)
	write(t, filepath.Join(dir, "own.json"), jsRow("own", "", "new", "2026-11-21T19:00:00.000000+00:00", "completed"))
	if _, err := s.Plan(t.Context(), model.Change{Op: model.OpRedo}); !errors.Is(err, model.ErrHeadMoved) {
		t.Errorf("the error is %v", err)
	}
}

// TestRedo_refusedWhereANewerRowCame: the row of the restore would not be found.
func TestRedo_refusedWhereANewerRowCame(t *testing.T) {
	dir := copyOfStore(t, python)
	s := open(t, dir)
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: firstOf(t, s, "talk")})
	apply(t, s, plan, err)
	undo(t, s)
	write(t, filepath.Join(dir, "later.json"), jsRow("later", "", "talk", "2026-11-21T23:00:00.000000+00:00", "completed"))
	if _, err := s.Plan(t.Context(), model.Change{Op: model.OpRedo}); !errors.Is(err, model.ErrHeadMoved) {
		t.Errorf("the error is %v", err)
	}
}

// firstOf returns the first row of a session.
func firstOf(t *testing.T, s *Store, session string) model.Ref {
	t.Helper()
	list := storetest.Headers(t, s, session)
	return list[0].Ref()
}

func TestEdit_writesTheChangedState(t *testing.T) {
	for _, test := range []struct{ fixture, session string }{{"go-1.13.1", sessMain}, {"js-1.42.0-detachbug", "s"}, {python, "talk"}} {
		t.Run(test.fixture, func(t *testing.T) {
			dir := copyOfStore(t, test.fixture)
			first := treeOf(t, dir)
			s := open(t, dir)
			list := storetest.Headers(t, s, test.session)
			target := list[len(list)-1]
			// Only the layout of what is edited may change: no number and no escape.
			edited := `{"custom":{"n":9007199254740993,"e":1.50,"t":"\u003c\u00e9\ud800"},"messages":[{"role":"user","content":[{"text":"what if"}]}],"sessionId":"any"}`
			plan, err := s.Plan(t.Context(), model.Change{Op: model.OpEdit, Ref: target.Ref(), As: "edited", State: []byte(edited)})
			receipt := apply(t, s, plan, err)
			id := plan.NewSession
			got := state(t, s, model.Ref{Session: id, ID: receipt.Head.ID})
			for _, want := range []string{`"n": 9007199254740993`, `"e": 1.50`, `"\u003c\u00e9\ud800"`, `"text": "what if"`, "\n    \"sessionId\": \"edited\"\n  }"} {
				if !strings.Contains(got, want) {
					t.Errorf("there is no %s in\n%s", want, got)
				}
			}
			if plan.Op != model.OpEdit || headOf(t, s, id).Title != "what if" {
				t.Errorf("the plan is %+v, the head %+v", plan, headOf(t, s, id))
			}
			undo(t, s)
			sameTree(t, first, treeOf(t, dir))
			// Unchanged it is the fork.
			plan, err = s.Plan(t.Context(), model.Change{Op: model.OpEdit, Ref: target.Ref(), As: "same", State: []byte(state(t, s, target.Ref()))})
			receipt = apply(t, s, plan, err)
			one := session1(t, s, plan.NewSession)
			want := strings.Replace(state(t, s, target.Ref()), string(one.layout.quoteText(session1(t, s, test.session).sid)), `"same"`, 1)
			if got := state(t, s, model.Ref{Session: plan.NewSession, ID: receipt.Head.ID}); got != want {
				t.Errorf("the state is\n%s\ninstead of\n%s", got, want)
			}
		})
	}
}

// The white space of a state that is nested deeply does not fill the disk.
func TestEdit_boundsTheIndent(t *testing.T) {
	const depth = 9_000
	s := open(t, copyOfStore(t, "go-1.13.1"))
	edited := `{"custom":{"deep":` + strings.Repeat("[", depth) + strings.Repeat("]", depth) + `},"messages":[],"sessionId":"any"}`
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpEdit, Ref: firstOf(t, s, sessMain), As: "deep", State: []byte(edited)})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range plan.Files {
		if f.Size > 4<<20 {
			t.Errorf("%s would have %d bytes, for a state of %d", f.Path, f.Size, len(edited))
		}
	}
}

func TestEdit_refusesByThePlace(t *testing.T) {
	s := open(t, copyOfStore(t, "go-1.13.1"))
	for state, at := range map[string]string{
		`[]`:                              "",
		`{"note": 1}`:                     "/note",
		`{"custom": 1, "custom": 2}`:      "/custom",
		`{"sessionId": 5}`:                "/sessionId",
		`{"messages": {}}`:                "/messages",
		`{"messages": [[]]}`:              "/messages/0",
		`{"messages": [{"content": []}]}`: "/messages/0",
		`{"messages": [{"role": "assistant", "content": []}]}`:                         "/messages/0",
		`{"messages": [{"role": "user"}]}`:                                             "/messages/0",
		`{"messages": [{"role": "user", "content": [{"text": "a"}, {"toolUse": 1}]}]}`: "/messages/0/content/1",
		`{"artifacts": [{"name": "a"}]}`:                                               "/artifacts/0",
		`{"artifacts": 1}`:                                                             "/artifacts",
	} {
		_, err := s.Plan(t.Context(), model.Change{Op: model.OpEdit, Ref: model.Ref{Session: sessMain, ID: second}, As: "new", State: []byte(state)})
		if place := (*PlaceError)(nil); !errors.As(err, &place) || place.Pointer != at {
			t.Errorf("%s: %v", state, err)
		}
	}
	for _, text := range []string{"", "{", `{"custom": NaN}`} {
		if _, err := s.Plan(t.Context(), model.Change{Op: model.OpEdit, Ref: model.Ref{Session: sessMain, ID: second}, As: "new", State: []byte(text)}); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

// TestJournal_isNoPartOfTheStore: its folder is not a session, not a fault and no
// reason to be another kind.
func TestJournal_isNoPartOfTheStore(t *testing.T) {
	dir := copyOfStore(t, "js-1.42.0-detachbug")
	s := open(t, dir)
	sessions, faults := len(storetest.Sessions(t, s)), len(storetest.Faults(t, s, ""))
	restore(t, s, "s", "4d5b3992-f5ab-483b-9e56-837d3019c5c2")
	if got := len(storetest.Sessions(t, s)); got != sessions {
		t.Errorf("there are %d sessions, and were %d", got, sessions)
	}
	if got := len(storetest.Faults(t, s, "")); got != faults {
		t.Errorf("there are %d faults, and were %d", got, faults)
	}
	if _, ok, err := Kind(nil).Recognise(t.Context(), dir); !ok || err != nil {
		t.Errorf("it is recognised: %v, %v", ok, err)
	}
	if _, ok, err := Kind(nil).Recognise(t.Context(), filepath.Join(dir, journal.Folder)); ok {
		t.Errorf("the journal is taken for a store, %v", err)
	}
}

// TestOpen_withoutAJournal makes none.
func TestOpen_withoutAJournal(t *testing.T) {
	dir := copyOfStore(t, "go-1.13.1")
	s := open(t, dir)
	storetest.Headers(t, s, sessMain)
	if _, err := s.Plan(t.Context(), model.Change{Op: model.OpUndo}); !errors.As(err, new(*model.NothingToError)) {
		t.Errorf("the error is %v", err)
	}
	if list, err := s.Journal(t.Context()); len(list) > 0 || err != nil {
		t.Errorf("the journal is %v, %v", list, err)
	}
	if _, err := os.Stat(filepath.Join(dir, journal.Folder)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a journal: %v", err)
	}
}

// TestUndo_agentGoesOnFromWhatIsGone: an agent that had started from the row of a
// restore goes on from it although an undo took it away. The row stands between its
// parent and what the agent wrote, and can be read; it cannot be restored, and the
// error names the row that has the same state.
func TestUndo_agentGoesOnFromWhatIsGone(t *testing.T) {
	dir := copyOfStore(t, "go-1.13.1")
	s := open(t, dir)
	receipt := restore(t, s, sessMain, second)
	row := func(id string) model.Header {
		list := storetest.Headers(t, s, sessMain)
		at := slices.IndexFunc(list, func(h model.Header) bool { return h.ID == id })
		if at < 0 {
			t.Fatalf("there is no row %s", id)
		}
		return list[at]
	}
	made := row(receipt.Head.ID)
	want, err := s.State(t.Context(), made.Ref())
	if err != nil {
		t.Fatal(err)
	}
	undo(t, s)
	global := filepath.Join(dir, "barista/global")
	write(t, filepath.Join(global, "next.json"), goRow("next", receipt.Head.ID, "sess-main", "2026-11-21T21:00:00Z", ""))
	write(t, filepath.Join(global, ".pointers/sess-main.json"), pointerGo("next", "2026-11-21T21:00:00Z"))

	between := row(receipt.Head.ID)
	if between.ParentID != second || !between.Orphaned || between.Reason == nil || between.Reason.Kind != model.ReasonUndo {
		t.Errorf("the row is %+v", between)
	}
	if h := row(second); h.Orphaned {
		t.Errorf("what the agent went on from is off the path: %+v", h)
	}
	if state, err := s.State(t.Context(), between.Ref()); err != nil || string(state) != string(want) {
		t.Errorf("its state is %s, %v", state, err)
	}
	facts, err := s.Features().Facts(t.Context(), between.Ref())
	if !slices.ContainsFunc(facts, func(f model.Fact) bool { return f.Label == "taken away" }) {
		t.Errorf("the facts are %v, %v", facts, err)
	}
	if _, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: between.Ref()}); !strings.Contains(err.Error(), "its parent e2351bbc has the same state") {
		t.Errorf("a restore to it: %v", err)
	}
	restore(t, s, sessMain, second)
}

// TestRedo_ofAFork goes on by the call that the fork had named first: one of the SDK that wrote the store.
func TestRedo_ofAFork(t *testing.T) {
	for name, session := range map[string]string{"go-1.13.1": sessMain, "js-1.42.0-detachbug": "s2"} {
		s := open(t, copyOfStore(t, name))
		head := headOf(t, s, session)
		forked, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: head.Ref(), As: "again"})
		apply(t, s, forked, err)
		undo(t, s)
		plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRedo})
		if err != nil || len(plan.Resume) == 0 || plan.Resume[0].Call != forked.Resume[0].Call {
			t.Errorf("%s: it is resumed by %v, %v, and was by %v", name, plan.Resume, err, forked.Resume)
		}
	}
}
