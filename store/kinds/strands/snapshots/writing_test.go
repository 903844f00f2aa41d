package snapshots

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/media/journal"
	"hindcast/store/storetest"
)

// noon is when the tests write; the fixtures are from long before.
var noon = time.Date(2027, 3, 4, 12, 0, 0, 0, time.UTC)

// copied returns a copy of a store of the fixtures.
func copied(t testing.TB, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	if err := os.CopyFS(dir, os.DirFS(fixture(name))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// openAt opens a store at noon.
func openAt(t testing.TB, dir string) *Store {
	t.Helper()
	s := open(t, dir)
	s.files.Storage.Now = func() time.Time { return noon }
	return s
}

// held is what a name stands for.
type held struct {
	mode fs.FileMode
	text string
}

// failer is what of a test, or of a check of a property, stops it.
type failer interface {
	Helper()
	Fatal(args ...any)
}

// tree reads everything below a folder but what is Hindcast's own.
func treeOf(t failer, dir string) map[string]held {
	t.Helper()
	all := make(map[string]held)
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Name() == journal.Folder {
			return filepath.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		h := held{mode: info.Mode()}
		if !d.IsDir() {
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			h.text = string(data)
		}
		rel, err := filepath.Rel(dir, name)
		all[rel] = h
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// sameTree compares two trees.
func sameTree(t testing.TB, when string, want, got map[string]held) {
	t.Helper()
	for name, w := range want {
		if g, ok := got[name]; !ok || g != w {
			t.Errorf("%s: %s is not as it was (there %v, mode %v and %v, %d and %d bytes)", when, name, ok, w.mode, g.mode, len(w.text), len(g.text))
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s: %s is new", when, name)
		}
	}
}

// do plans and carries out.
func do(t testing.TB, s *Store, plan model.Plan, err error) model.Receipt {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	receipt, err := s.Apply(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	return receipt
}

func undo(t testing.TB, s *Store) model.Plan {
	t.Helper()
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpUndo})
	do(t, s, plan, err)
	return plan
}

// head returns the head of a session; its id is "" where there is none.
func head(t testing.TB, s *Store, session string) (h model.Header) {
	t.Helper()
	for _, row := range storetest.Headers(t, s, session) {
		if row.Head {
			h = row
		}
	}
	return h
}

func latestOf(t testing.TB, dir, session, agent string) string {
	t.Helper()
	for _, at := range []string{filepath.Join(dir, namespace, session), filepath.Join(dir, session)} {
		data, err := os.ReadFile(filepath.Join(at, scopesDir, scopeAgent, agent, snapshots, latestFile))
		if err == nil {
			return string(data)
		}
	}
	t.Fatal("there is no latest of ", session)
	return ""
}

// ofAgents returns the sessions of agents in a store.
func ofAgents(t testing.TB, s *Store) (ids []string) {
	t.Helper()
	for _, info := range sessions(t, s) {
		p, err := s.locate(info.ID)
		if err != nil {
			t.Fatal(err)
		}
		if p.scope == scopeAgent {
			ids = append(ids, info.ID)
		}
	}
	return ids
}

// Every snapshot of every fixture is put back: the SDK then loads its bytes, what
// was loaded before is still there, and an undo gives back the first bytes.
func TestPlanRestore_everySnapshot(t *testing.T) {
	for _, name := range written {
		dir := copied(t, name)
		s := openAt(t, dir)
		before := treeOf(t, dir)
		for _, session := range ofAgents(t, s) {
			p, _ := s.locate(session)
			rows := storetest.Headers(t, s, session)
			was := head(t, s, session)
			lost := latestOf(t, dir, session, p.agent)
			for _, row := range rows {
				at := fmt.Sprintf("%s %s #%d", name, session, row.Index)
				want, err := s.fileOf(t, &p, row.ID)
				if err != nil {
					t.Fatal(err)
				}
				plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: row.Ref()})
				receipt := do(t, s, plan, err)
				if got := latestOf(t, dir, session, p.agent); got != string(want) {
					t.Errorf("%s: the latest is not the snapshot", at)
				}
				if now := head(t, s, session); now.ID != row.ID || receipt.Head.ID != row.ID {
					t.Errorf("%s: the head is %s", at, now.ID)
				}
				found := false
				for file, h := range treeOf(t, dir) {
					found = found || strings.Contains(string(filepath.Separator)+file, string(filepath.Separator)+session+string(filepath.Separator)) && h.text == lost
				}
				if !found {
					t.Errorf("%s: what was loaded before is nowhere", at)
				}
				checkLeft(t, at, s, session, rows, was, row)
				if row.ID == was.ID {
					if receipt.Entry != 0 {
						t.Errorf("%s: a restore to the head is in the journal", at)
					}
					continue
				}
				back := undo(t, s)
				if back.Target.ID != was.ID || len(back.Resume) == 0 || !strings.Contains(back.Loads, latestFile) ||
					len(back.Orphans) != len(plan.Reactivates) || len(back.Reactivates) != len(plan.Orphans) {
					t.Errorf("%s: the undo says %+v", at, back)
				}
				sameTree(t, at+", undone", before, treeOf(t, dir))
			}
		}
	}
}

// checkLeft checks how a timeline looks after a restore: no id is gone but that of
// the latest, which became an immutable snapshot, and what left the path says why.
func checkLeft(t *testing.T, at string, s *Store, session string, before []model.Header, was, target model.Header) {
	t.Helper()
	now := map[string]model.Header{}
	for _, h := range storetest.Headers(t, s, session) {
		now[h.ID] = h
	}
	if len(now) != len(before) {
		t.Errorf("%s: %d rows became %d", at, len(before), len(now))
	}
	for _, old := range before {
		h, ok := now[old.ID]
		if !ok {
			if old.ID != latestID {
				t.Errorf("%s: row %s is gone", at, old.ID)
			}
			continue
		}
		if h.ParentID != old.ParentID || h.Title != old.Title || h.Index != old.Index {
			t.Errorf("%s: row %+v became %+v", at, old, h)
		}
		if !old.Orphaned && h.Orphaned && (h.Reason == nil || h.Reason.Kind != model.ReasonRestore || h.Reason.TargetID != target.ID || !h.Reason.At.Equal(noon)) {
			t.Errorf("%s: row #%d was left for the reason %+v", at, h.Index, h.Reason)
		}
	}
	if was.ID != target.ID {
		timeline := model.NewTimeline(storetest.Headers(t, s, session))
		if h := timeline.Head(); h < 0 || timeline.Header(h).ID != target.ID {
			t.Errorf("%s: the head of the timeline is %d", at, h)
		}
	}
}

// The first thing that a restore writes is what was loaded before, under an id
// that sorts behind all others whatever the clock says.
func TestPlanRestore_savesTheLatestFirst(t *testing.T) {
	dir := copied(t, "python-snapshot")
	latest := filepath.Join(dir, namespace, "manual", scopesDir, scopeAgent, "default", snapshots, latestFile)
	if err := os.Chmod(latest, 0o640); err != nil {
		t.Fatal(err)
	}
	lost := latestOf(t, dir, "manual", "default")
	s := openAt(t, dir)
	s.files.Storage.Now = func() time.Time { return time.Unix(1, 0) } // long before the fixtures
	rows := storetest.Headers(t, s, "manual")
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: rows[0].Ref()})
	do(t, s, plan, err)
	if len(plan.Files) != 2 || plan.Files[0].Does != model.FileWritten || plan.Files[1].Does != model.FileReplaced {
		t.Fatalf("%+v", plan.Files)
	}
	saved, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(plan.Files[0].Path)))
	if err != nil || string(saved) != lost {
		t.Errorf("%v, %s", err, saved)
	}
	after := storetest.Headers(t, s, "manual")
	if id := after[1].ID; !uuid7().MatchString(id) || id <= after[0].ID || !after[1].Orphaned || after[1].ParentID != after[0].ID {
		t.Errorf("%+v", after[1])
	}
	if info, err := os.Stat(latest); err != nil || info.Mode().Perm() != 0o640 {
		t.Error(info.Mode(), err)
	}
	// What was left can be restored itself.
	plan, err = s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: after[1].Ref()})
	do(t, s, plan, err)
	if got := latestOf(t, dir, "manual", "default"); got != lost {
		t.Error("the latest is not what it was at first")
	}
}

// Whoever writes between the plan and the yes is not overwritten.
// An agent that saves while a plan is made is a conflict at once.
func TestPlanRestore_savedWhilePlanned(t *testing.T) {
	talk := func(words ...string) string { return pythonFile(pythonTalk(words...), `"state": {}`, managerState) }
	dir, s := sessionOf(t, "default", talk("q", "-a", "q3", "-c"), talk("q", "-a"), talk("q", "-a", "q2", "-b"))
	rows := storetest.Headers(t, s, "s")
	random := s.random
	s.random = func(b []byte) { // to mint the id under which the latest is saved
		mustWrite(t, filepath.Join(dir, namespace, "s", scopesDir, scopeAgent, "default", snapshots, latestFile), talk("q", "-a", "q3", "-d"))
		random(b)
	}
	_, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: rows[0].Ref()})
	if !errors.As(err, new(*journal.ConflictError)) {
		t.Errorf("the error is %v", err)
	}
}

// Of several snapshots with the very same bytes one is shown as the head, and the
// plan and the receipt name that one.
func TestPlanRestore_twins(t *testing.T) {
	talk := func(words ...string) string { return pythonFile(pythonTalk(words...), `"state": {}`, managerState) }
	a, b := talk("q", "-a"), talk("q", "-a", "q2", "-b")
	_, s := sessionOf(t, "default", a, a, b, a, a)
	for i, h := range storetest.Headers(t, s, "s") {
		before := head(t, s, "s").ID
		plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: h.Ref()})
		receipt := do(t, s, plan, err)
		now := head(t, s, "s")
		if now.ID != receipt.Head.ID || now.Index != receipt.Head.Index || now.ID != plan.Target.ID {
			t.Errorf("#%d: the head is %s, the receipt says %s and the plan %s", i, now.ID, receipt.Head.ID, plan.Target.ID)
		}
		if receipt.Entry == 0 && (before != now.ID || len(plan.Orphans) > 0) {
			t.Errorf("#%d: nothing is written, and %d rows leave the path", i, len(plan.Orphans))
		}
	}
}

func TestApply_somebodyWroteMeanwhile(t *testing.T) {
	for what, write := range map[string]func(kept string) error{
		"the latest": func(kept string) error {
			return os.WriteFile(filepath.Join(kept, latestFile), []byte(told("q", "-a")), 0o600)
		},
		"another snapshot": func(kept string) error {
			return os.WriteFile(filepath.Join(kept, historyDir, "snapshot_01a9f0a8-d2e2-76d5-8f2e-4036af2a54d0.json"), []byte(told("q", "-a")), 0o600)
		},
	} {
		dir := copied(t, "python-snapshot")
		kept := filepath.Join(dir, namespace, "every-turn", scopesDir, scopeAgent, "default", snapshots)
		s := openAt(t, dir)
		plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: storetest.Headers(t, s, "every-turn")[1].Ref()})
		if err != nil {
			t.Fatal(err)
		}
		if err := write(kept); err != nil {
			t.Fatal(err)
		}
		before := treeOf(t, dir)
		if _, err := s.Apply(t.Context(), plan); !errors.Is(err, model.ErrHeadMoved) {
			t.Errorf("%s: %v", what, err)
		}
		sameTree(t, what, before, treeOf(t, dir))
	}
}

// An undo does not take back what an agent wrote since.
func TestPlanUndo_anAgentWentOn(t *testing.T) {
	dir := copied(t, "python-snapshot")
	s := openAt(t, dir)
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: storetest.Headers(t, s, "every-turn")[1].Ref()})
	do(t, s, plan, err)
	kept := filepath.Join(dir, namespace, "every-turn", scopesDir, scopeAgent, "default", snapshots)
	mustWrite(t, filepath.Join(kept, latestFile), told("q", "-a"))
	before := treeOf(t, dir)
	plan, err = s.Plan(t.Context(), model.Change{Op: model.OpUndo})
	if err == nil {
		_, err = s.Apply(t.Context(), plan)
	}
	if !errors.Is(err, model.ErrHeadMoved) {
		t.Error(err)
	}
	sameTree(t, "undo", before, treeOf(t, dir))
}

func TestPlanRestore_aRunningAgent(t *testing.T) {
	dir := copied(t, "python-snapshot")
	s := openAt(t, dir)
	at := filepath.Join(dir, namespace, "every-turn", scopesDir, scopeAgent, "default", snapshots, latestFile)
	rows := storetest.Headers(t, s, "every-turn")
	asks := func(age time.Duration) []string {
		t.Helper()
		if err := os.Chtimes(at, noon, noon.Add(-age)); err != nil {
			t.Fatal(err)
		}
		plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: rows[1].Ref()})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(plan.Hazards, func(h string) bool { return strings.Contains(h, "stop it first") }) {
			t.Error(plan.Hazards)
		}
		return plan.Asks
	}
	if list := asks(10 * time.Second); len(list) != 1 || !strings.Contains(list[0], "10s ago") {
		t.Error(list)
	}
	if list := asks(2 * time.Minute); len(list) != 0 {
		t.Error(list)
	}
	// What Hindcast itself wrote a moment ago is no sign of an agent.
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: rows[1].Ref()})
	do(t, s, plan, err)
	if err := os.Chtimes(at, noon, noon); err != nil {
		t.Fatal(err)
	}
	if plan, err = s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: rows[0].Ref()}); err != nil || len(plan.Asks) != 0 {
		t.Error(plan.Asks, err)
	}
}

// TestPlanUndo_whatCameBackIsOverwritten: an undo brings a snapshot_latest.json back, and
// an agent writes over it. The snapshot can be restored still: where the agent went on
// from it, it stands before what the agent saved, else beside it.
func TestPlanUndo_whatCameBackIsOverwritten(t *testing.T) {
	first, back := pythonFile(pythonTalk("q", "-a")), pythonFile(pythonTalk("q", "-a", "r", "-b"))
	for _, v := range []struct {
		name, over string
		on         bool
	}{
		{"by an agent that went on from it", pythonTalk("q", "-a", "r", "-b", "s", "-c"), true},
		{"by an agent that held an older view", pythonTalk("q", "-a", "t", "-d"), false},
	} {
		t.Run(v.name, func(t *testing.T) {
			dir, s := sessionOf(t, "default", back, first)
			session := sessions(t, s)[0].ID
			target := storetest.Headers(t, s, session)[0]
			was := head(t, s, session)
			want := state(t, s, was)
			plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: target.Ref()})
			do(t, s, plan, err)
			undo(t, s)
			if list := storetest.Headers(t, s, session); len(list) != 2 {
				t.Fatalf("after the undo there are %v", list)
			}
			mustWrite(t, filepath.Join(dir, namespace, "s", scopesDir, scopeAgent, "default", snapshots, latestFile), pythonFile(v.over))
			list := storetest.Headers(t, s, session)
			at := slices.IndexFunc(list, func(h model.Header) bool { return strings.HasPrefix(h.ID, "kept-") })
			if len(list) != 3 || at != 1 || list[at].Orphaned == v.on || !list[2].Head || (list[2].ParentID == list[at].ID) != v.on {
				t.Fatalf("the rows are %s", picture(list))
			}
			if why := list[at].Reason; !v.on && (why == nil || why.Kind != model.ReasonOverwritten) {
				t.Errorf("the reason is %+v", why)
			}
			plan, err = s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: list[at].Ref()})
			do(t, s, plan, err)
			if got := state(t, s, head(t, s, session)); string(got) != string(want) {
				t.Errorf("the state is %s, and was %s", got, want)
			}
		})
	}
}

// A snapshot_latest.json that a restore brought back, and that an agent writes over, can be
// restored still: also where the head before that restore was a file of the history.
func TestPlanRestore_whatCameBackIsOverwritten(t *testing.T) {
	dir, s := sessionOf(t, "default", pythonFile(pythonTalk("q", "-a", "r", "-b")), pythonFile(pythonTalk("q", "-a")))
	session := sessions(t, s)[0].ID
	kept := filepath.Join(dir, namespace, "s", scopesDir, scopeAgent, "default", snapshots)
	want := state(t, s, head(t, s, session))
	at := func() int {
		return slices.IndexFunc(storetest.Headers(t, s, session), func(h model.Header) bool { return string(state(t, s, h)) == string(want) })
	}
	restore := func(i int) {
		t.Helper()
		plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: storetest.Headers(t, s, session)[i].Ref()})
		do(t, s, plan, err)
	}
	restore(0)
	undo(t, s)
	saved := pythonFile(pythonTalk("q", "-a", "t", "-d"))
	mustWrite(t, filepath.Join(kept, historyDir, "snapshot_01950000-00ff-7000-8000-000000000001.json"), saved)
	mustWrite(t, filepath.Join(kept, latestFile), saved)
	restore(at())
	if got := state(t, s, head(t, s, session)); string(got) != string(want) {
		t.Fatalf("the state is %s, and was %s", got, want)
	}
	mustWrite(t, filepath.Join(kept, latestFile), pythonFile(pythonTalk("q", "-a", "u", "-e")))
	if at() < 0 {
		t.Errorf("it is gone from %+v", storetest.Headers(t, s, session))
	}
}

// The journal is one and the same whichever of the folders was opened.
func TestJournal_besideTheSessions(t *testing.T) {
	for _, c := range []struct{ fixture, open, session string }{
		{"python-snapshot", ".", "every-turn"},
		{"python-snapshot", "session", "every-turn"},
		{"python-snapshot", "session/every-turn", "every-turn"},
		{"typescript/legacy", ".", "basic"},
		{"typescript/legacy", "basic", "basic"},
	} {
		dir := copied(t, c.fixture)
		before := treeOf(t, dir)
		s := openAt(t, filepath.Join(dir, filepath.FromSlash(c.open)))
		if _, err := os.Lstat(filepath.Join(dir, journal.Folder)); !errors.Is(err, fs.ErrNotExist) {
			t.Error("reading made a journal")
		}
		rows := storetest.Headers(t, s, c.session)
		plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: rows[1].Ref()})
		do(t, s, plan, err)
		plan, err = s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: rows[0].Ref(), As: "other"})
		do(t, s, plan, err)
		if _, err := os.Lstat(filepath.Join(dir, journal.Folder, "journal")); err != nil {
			t.Error(c, err)
		}
		again := openAt(t, dir)
		if list := sessions(t, again); !slices.ContainsFunc(list, func(i model.SessionInfo) bool { return i.ID == "other" && i.Snapshots == 1 }) ||
			slices.ContainsFunc(list, func(i model.SessionInfo) bool { return strings.HasPrefix(i.ID, journal.Folder) }) {
			t.Errorf("%v: %+v", c, list)
		}
		if faults := storetest.Faults(t, again, ""); len(faults) != 0 {
			t.Errorf("%v: %+v", c, faults)
		}
		undo(t, again)
		undo(t, again)
		sameTree(t, fmt.Sprint(c), before, treeOf(t, dir))
	}
}

func TestLacks(t *testing.T) {
	s := openAt(t, copied(t, "python-snapshot"))
	for _, op := range []model.Op{model.OpRestore, model.OpFork, model.OpUndo, model.OpRedo, model.OpEdit, model.OpRepair, model.OpPurge} {
		if why := store.Reason(s, op); why != "" {
			t.Errorf("%s: %s", op, why)
		}
	}
	if why := store.Reason(s, model.OpRun); why == "" {
		t.Error("it can run")
	}
}

// A broken latest cannot be listed by any SDK: the journal keeps it, and it shows.
func TestPlanRestore_aBrokenLatest(t *testing.T) {
	dir := copied(t, "python-snapshot")
	kept := filepath.Join(dir, namespace, "every-turn", scopesDir, scopeAgent, "default", snapshots)
	broken := latestOf(t, dir, "every-turn", "default")[:100]
	mustWrite(t, filepath.Join(kept, latestFile), broken)
	s := openAt(t, dir)
	before := treeOf(t, dir)
	rows := storetest.Headers(t, s, "every-turn")
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: rows[1].Ref()})
	do(t, s, plan, err)
	if len(plan.Files) != 1 {
		t.Errorf("%+v", plan.Files)
	}
	var row model.Header
	for _, h := range storetest.Headers(t, s, "every-turn") {
		if strings.HasPrefix(h.ID, "kept-") {
			row = h
		}
	}
	if !row.Orphaned || !row.Marks.Has(model.MarkDamaged) || row.Reason == nil || row.Reason.TargetID != rows[1].ID {
		t.Errorf("%+v", row)
	}
	p, _ := s.locate("every-turn")
	if data, err := s.fileOf(t, &p, row.ID); err != nil || string(data) != broken {
		t.Error(string(data), err)
	}
	if _, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: row.Ref()}); !errors.As(err, new(*RefusedError)) {
		t.Error(err)
	}
	facts, err := s.Facts(t.Context(), row.Ref())
	if err != nil || !slices.ContainsFunc(facts, func(f model.Fact) bool { return f.Label == "set aside" }) {
		t.Error(facts, err)
	}
	undo(t, s)
	sameTree(t, "undo", before, treeOf(t, dir))
	if n := len(storetest.Headers(t, s, "every-turn")); n != len(rows) {
		t.Errorf("%d rows, before %d", n, len(rows))
	}
}

func mustRead(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
