package genkit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store/media/files"
	"hindcast/store/media/journal"
	"hindcast/store/media/tree"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// copyOfStore copies a store of testdata to a folder that can be written.
func copyOfStore(t testing.TB, name string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	from := filepath.Join(testdata, name)
	if name == python {
		from = filepath.Join("testdata", name)
	}
	err := filepath.WalkDir(from, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		below, err := filepath.Rel(from, file)
		if err != nil {
			return err
		}
		write(t, filepath.Join(dir, below), string(data))
		return os.Chmod(filepath.Join(dir, below), 0o600) // as Go writes rows
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// tree returns the content and the mode of every file below a folder, but for
// Hindcast's own.
func treeOf(t testing.TB, dir string) map[string]string {
	t.Helper()
	held := map[string]string{}
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == journal.Folder:
			return filepath.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(file)
		held[file] = fmt.Sprintf("%v %s", info.Mode(), data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return held
}

func sameTree(t testing.TB, want, got map[string]string) {
	t.Helper()
	for file := range want {
		if want[file] != got[file] {
			t.Errorf("%s is\n%s\nand was\n%s", file, got[file], want[file])
		}
	}
	for file := range got {
		if _, ok := want[file]; !ok {
			t.Errorf("%s is new", file)
		}
	}
}

func apply(t testing.TB, s *Store, plan model.Plan, err error) model.Receipt {
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

func restore(t testing.TB, s *Store, session, id string) model.Receipt {
	t.Helper()
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: model.Ref{Session: session, ID: id}})
	return apply(t, s, plan, err)
}

func undo(t testing.TB, s *Store) {
	t.Helper()
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpUndo})
	apply(t, s, plan, err)
}

func session1(t testing.TB, s *Store, id string) *session {
	t.Helper()
	log, err := s.partOf(id).Log(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return sessionOf(log)
}

func headOf(t testing.TB, s *Store, session string) model.Header {
	t.Helper()
	for _, h := range storetest.Headers(t, s, session) {
		if h.Head {
			return h
		}
	}
	t.Fatalf("%s has no head", session)
	return model.Header{}
}

// python is a store that the SDK for Python wrote (PyPI genkit 0.12.0).
const python = "py-0.12.0"

// sdkStores are the stores that the SDKs themselves wrote.
var sdkStores = []string{"go-1.13.1", "js-1.42.0-detachbug", "stepsproject-go-1.13.1", python}

// TestRestore_everyRow restores every session of every fixture to each of its rows,
// undoes that and does it again. What the SDK resumes then has the row's very
// state, by the pointer and by a search; no file that was there changes but the
// pointer; and undo gives back the first bytes.
func TestRestore_everyRow(t *testing.T) {
	skip.Sequential(t)
	restored := 0
	for _, fixture := range sdkStores {
		t.Run(fixture, func(t *testing.T) {
			dir := copyOfStore(t, fixture)
			s := open(t, dir)
			first := treeOf(t, dir)
			for _, info := range storetest.Sessions(t, s) {
				for _, h := range storetest.Headers(t, s, info.ID) {
					plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: h.Ref()})
					if refused := (*model.UnsupportedError)(nil); errors.As(err, &refused) {
						if !strings.Contains(refused.Reason, "take ") && !strings.Contains(refused.Reason, "no row above") {
							t.Errorf("%s %s: no way out in %q", info.ID, h.ID, refused.Reason)
						}
						continue
					}
					receipt := apply(t, s, plan, err)
					restored++
					checkRestored(t, s, h, receipt)
					if receipt.Entry == 0 {
						continue
					}
					for file, now := range treeOf(t, dir) {
						if was, there := first[file]; there && was != now && filepath.Base(filepath.Dir(file)) != pointersFolder {
							t.Errorf("%s was changed by a restore to %s", file, h.ID)
						}
					}
					undo(t, s)
				}
			}
		})
	}
	if restored < 45 {
		t.Errorf("only %d rows were restored", restored)
	}
}

// checkRestored looks at a session that was restored to a row.
func checkRestored(t *testing.T, s *Store, target model.Header, receipt model.Receipt) {
	t.Helper()
	one := session1(t, s, target.SessionID)
	now, scanned := one.resumedRow()
	if now.row == nil || scanned.row != now.row {
		t.Fatalf("%s: the pointer leads to %v and a search to %v", target.ID, now.row, scanned.row)
	}
	head := headOf(t, s, target.SessionID)
	if head.ID != receipt.Head.ID || head.Index != receipt.Head.Index || head.ID != now.row.id {
		t.Errorf("the head is %s #%d, the receipt says %s #%d", head.ID, head.Index, receipt.Head, receipt.Head.Index)
	}
	if got, want := state(t, s, head.Ref()), state(t, s, target.Ref()); got != want {
		t.Errorf("the state of %s is\n%s\ninstead of\n%s", head.ID, got, want)
	}
	if head.ID != target.ID && head.EventName != "restore" {
		t.Errorf("the row of the restore is shown as %q", head.EventText())
	}
	if why := one.resumeByID(now.row, evening); !why.isWhole() {
		t.Errorf("the head %s cannot be resumed: %s", head.ID, why)
	}
	for _, f := range now.row.flaws {
		t.Errorf("the new row has the flaw %+v", f)
	}
}

// TestRestore_whatIsWritten holds the table that restore.go begins with.
func TestRestore_whatIsWritten(t *testing.T) {
	skip.Sequential(t)
	const a, b = "2026-11-20T10:00:00Z", "2026-11-20T10:00:01Z"
	pointer := func(id, at string) string {
		return fmt.Sprintf(`{"currentSnapshotId": %q, "currentCreatedAt": %q, "updatedAt": %q}`, id, at, at)
	}
	tests := map[string]struct {
		files  map[string]string
		to     string
		writes []string // files, new rows as "row"
	}{
		"the head, by pointer and by search": {
			map[string]string{"global/a.json": goRow("a", "", "s", a, ""), "global/.pointers/s.json": pointer("a", a)}, "a", nil},
		"the head by a search, no pointer": {
			map[string]string{"global/a.json": goRow("a", "", "s", a, "")}, "a", nil},
		"found by a search, the pointer is elsewhere": {
			map[string]string{"global/a.json": goRow("a", "", "s", a, ""), "global/b.json": goRow("b", "a", "s", b, ""), "global/.pointers/s.json": pointer("a", a)},
			"b", []string{"replace global/.pointers/s.json"}},
		"the pointer alone leads to it": {
			map[string]string{"global/a.json": goRow("a", "", "s", a, ""), "global/b.json": goRow("b", "a", "s", b, ""), "global/.pointers/s.json": pointer("a", a)},
			"a", []string{"write global/row", "replace global/.pointers/s.json"}},
		"another row": {
			map[string]string{"global/a.json": goRow("a", "", "s", a, ""), "global/b.json": goRow("b", "a", "s", b, ""), "global/.pointers/s.json": pointer("b", b)},
			"a", []string{"write global/row", "replace global/.pointers/s.json"}},
		"another row, no pointer yet": {
			map[string]string{"global/a.json": goRow("a", "", "s", a, ""), "global/b.json": goRow("b", "a", "s", b, "")},
			"a", []string{"make global/.pointers", "write global/.pointers/s.json", "write global/row"}},
		"Python": {
			map[string]string{"a.json": jsRow("a", "", "s", "2026-11-20T10:00:00+00:00", "completed"), "b.json": jsRow("b", "a", "s", "2026-11-20T10:00:01+00:00", "completed")},
			"a", []string{"write row"}},
		"JavaScript, past a failed leaf": {
			map[string]string{"global/a.json": jsRow("a", "", "s", "2026-11-20T10:00:00.000Z", "completed"), "global/b.json": jsRow("b", "a", "s", "2026-11-20T10:00:01.000Z", "failed")},
			"a", nil},
	}
	id := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\.json`)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, content := range test.files {
				write(t, filepath.Join(dir, filepath.FromSlash(file)), content)
			}
			s := open(t, dir)
			plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: model.Ref{Session: "s", ID: test.to}})
			if err != nil {
				t.Fatal(err)
			}
			var writes []string
			for _, f := range plan.Files {
				writes = append(writes, string(f.Does)+" "+id.ReplaceAllString(f.Path, "row"))
			}
			slices.Sort(writes)
			slices.Sort(test.writes)
			if !slices.Equal(writes, test.writes) {
				t.Errorf("it writes %q instead of %q", writes, test.writes)
			}
			checkRestored(t, s, model.Header{SessionID: "s", ID: test.to}, apply(t, s, plan, nil))
		})
	}
}

// TestRestore_rowAsTheSDKWritesIt: the members, their order, the indentation, the
// escapes, the time and the mode.
func TestRestore_rowAsTheSDKWritesIt(t *testing.T) {
	skip.Sequential(t)
	zoned := strings.NewReplacer("T01:17:55.158726836Z", "T06:47:55.158726836+05:30")
	tests := map[string]struct {
		fixture, session, to string
		change               func(string) string
		want                 string // ID, PARENT, STATE stand for these
	}{
		"Go": {"go-1.13.1", "barista/sess-main", "bf718c99-a616-41c7-9735-9ab21d2aef56", nil,
			"{\n  \"createdAt\": \"2026-11-21T20:00:00Z\",\n  \"finishReason\": \"stop\",\n  \"parentId\": \"PARENT\",\n  \"sessionId\": \"sess-main\",\n  \"snapshotId\": \"ID\",\n  \"state\": STATE,\n  \"status\": \"completed\",\n  \"updatedAt\": \"2026-11-21T20:00:00Z\"\n}"},
		"Go in its own zone": {"go-1.13.1", "toggler/sess-aba", "0f091423-ca29-43e9-927f-3855e3df2270",
			func(row string) string { return strings.ReplaceAll(zoned.Replace(row), "Z\"", "+05:30\"") },
			"{\n  \"createdAt\": \"2026-11-22T01:30:00+05:30\",\n  \"finishReason\": \"stop\",\n  \"parentId\": \"PARENT\",\n  \"sessionId\": \"sess-aba\",\n  \"snapshotId\": \"ID\",\n  \"state\": STATE,\n  \"status\": \"completed\",\n  \"updatedAt\": \"2026-11-22T01:30:00+05:30\"\n}"},
		"JavaScript": {"js-1.42.0-detachbug", "s", "4d5b3992-f5ab-483b-9e56-837d3019c5c2", nil,
			"{\n  \"snapshotId\": \"ID\",\n  \"sessionId\": \"s\",\n  \"createdAt\": \"2026-11-21T20:00:00.000Z\",\n  \"updatedAt\": \"2026-11-21T20:00:00.000Z\",\n  \"state\": STATE,\n  \"parentId\": \"PARENT\",\n  \"status\": \"completed\",\n  \"finishReason\": \"stop\"\n}"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := copyOfStore(t, test.fixture)
			if test.change != nil {
				rows, _ := filepath.Glob(filepath.Join(dir, "toggler/global/*.json"))
				for _, file := range rows {
					data, err := os.ReadFile(file)
					if err != nil {
						t.Fatal(err)
					}
					write(t, file, test.change(string(data)))
				}
			}
			s := open(t, dir)
			ref := model.Ref{Session: test.session, ID: test.to}
			receipt := restore(t, s, test.session, test.to)
			one := session1(t, s, test.session)
			file := filepath.Join(dir, filepath.FromSlash(one.fileOf(receipt.Head.ID)))
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want := strings.NewReplacer("ID", receipt.Head.ID, "PARENT", test.to, "STATE", state(t, s, ref)).Replace(test.want)
			if name == "JavaScript" {
				want = strings.NewReplacer("snapshot"+receipt.Head.ID, "snapshotId", "session"+receipt.Head.ID, "sessionId").Replace(want)
			}
			want = fixKeys(want, receipt.Head.ID)
			if string(data) != want {
				t.Errorf("the row is\n%s\ninstead of\n%s", data, want)
			}
			if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("its mode is %v, %v", info.Mode(), err)
			}
			if one.layout == layoutGo { // what Go itself would write of it
				var any json.RawMessage
				if err := json.Unmarshal(data, &any); err != nil {
					t.Fatal(err)
				}
				same, err := json.MarshalIndent(any, "", "  ")
				if err != nil || string(same) != string(data) {
					t.Errorf("Go would write\n%s", same)
				}
			}
		})
	}
}

// fixKeys undoes what the replacing of ID did to the keys.
func fixKeys(text, id string) string {
	return strings.NewReplacer("snapshot"+id, "snapshotId", "session"+id, "sessionId", "parent"+id, "parentId").Replace(text)
}

// TestRestore_clockAhead: a row that is dated in the future is no obstacle, and
// said to be there.
func TestRestore_clockAhead(t *testing.T) {
	skip.Sequential(t)
	for name, test := range map[string]struct{ files map[string]string }{
		"Go": {map[string]string{
			"global/a.json": goRow("a", "", "s", "2026-11-20T10:00:00Z", ""),
			"global/b.json": goRow("b", "a", "s", "2031-01-01T03:00:00.5+05:00", ""),
		}},
		"JavaScript": {map[string]string{
			"global/a.json": jsRow("a", "", "s", "2026-11-20T10:00:00.000Z", "completed"),
			"global/b.json": jsRow("b", "a", "s", "2031-01-01T00:00:00.999Z", "completed"),
		}},
		"a zone whose text is greater": {map[string]string{
			"global/a.json": jsRow("a", "", "s", "2026-11-20T10:00:00.000Z", "completed"),
			"global/b.json": jsRow("b", "a", "s", "2026-11-22T03:00:00.5+14:00", "completed"),
		}},
		"Python": {map[string]string{
			"a.json": jsRow("a", "", "s", "2026-11-20T10:00:00+00:00", "completed"),
			"b.json": jsRow("b", "a", "s", "2031-01-01T00:00:00.5+00:00", "completed"),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, content := range test.files {
				write(t, filepath.Join(dir, filepath.FromSlash(file)), content)
			}
			s := open(t, dir)
			plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: model.Ref{Session: "s", ID: "a"}})
			if err != nil || !strings.Contains(strings.Join(plan.Hazards, "\n"), "ahead of the clock") {
				t.Errorf("%v, %q", err, plan.Hazards)
			}
			checkRestored(t, s, model.Header{SessionID: "s", ID: "a"}, apply(t, s, plan, err))
		})
	}
}

// TestRestore_timeThatNoneFollows: JavaScript compares texts; where none is
// greater the pointer has to do, and Python has none.
func TestRestore_timeThatNoneFollows(t *testing.T) {
	skip.Sequential(t)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "global/a.json"), jsRow("a", "", "s", "2026-11-20T10:00:00.000Z", "completed"))
	write(t, filepath.Join(dir, "global/b.json"), jsRow("b", "a", "s", "tomorrow", "completed"))
	s := open(t, dir)
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: model.Ref{Session: "s", ID: "a"}})
	if err != nil || !strings.Contains(strings.Join(plan.Hazards, "\n"), "the pointer alone") {
		t.Fatalf("%v, %q", err, plan.Hazards)
	}
	if got := apply(t, s, plan, nil); headOf(t, s, "s").ID != got.Head.ID {
		t.Error("the new row is not the head")
	}
	dir = t.TempDir()
	write(t, filepath.Join(dir, "a.json"), jsRow("a", "", "s", "2026-11-20T10:00:00+00:00", "completed"))
	write(t, filepath.Join(dir, "b.json"), jsRow("b", "a", "s", "tomorrow", "completed"))
	_, err = open(t, dir).Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: model.Ref{Session: "s", ID: "a"}})
	if refused := (*model.UnsupportedError)(nil); !errors.As(err, &refused) {
		t.Errorf("Python: %v", err)
	}
	dir = t.TempDir()
	write(t, filepath.Join(dir, "global/a.json"), jsRow("a", "", "s", "2026-11-20T10:00:00.000Z", "completed"))
	write(t, filepath.Join(dir, "global/b.json"), jsRow("b", "a", "s", "9999-12-31T23:59:59.999Z", "completed"))
	_, err = open(t, dir).Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: model.Ref{Session: "s", ID: "a"}})
	if refused := (*model.UnsupportedError)(nil); !errors.As(err, &refused) {
		t.Errorf("the year 10000: %v", err)
	}
}

// TestRestore_refuses: each row that no session can go on from, with the way out.
func TestRestore_refuses(t *testing.T) {
	skip.Sequential(t)
	found := map[string]string{}
	for _, h := range hazards(t) {
		s := open(t, h.write(t))
		for _, info := range storetest.Sessions(t, s) {
			for _, row := range storetest.Headers(t, s, info.ID) {
				_, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: row.Ref()})
				if refused := (*model.UnsupportedError)(nil); errors.As(err, &refused) {
					found[h.name+" "+info.ID+" "+row.ID] = refused.Reason
				} else if err != nil {
					t.Errorf("%s: %s: %v", h.name, row.ID, err)
				}
			}
		}
	}
	var text strings.Builder
	for _, key := range slices.Sorted(mapKeys(found)) {
		fmt.Fprintf(&text, "%s\n    %s\n", key, found[key])
	}
	golden(t, "refused.golden", text.String())
}

func mapKeys(m map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func TestRestore_asks(t *testing.T) {
	skip.Sequential(t)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "global/a.json"), jsRow("a", "", "s", "2026-11-20T10:00:00.000Z", "completed"))
	write(t, filepath.Join(dir, "global/b.json"), jsRow("b", "a", "s", "2026-11-21T19:59:55.000Z", "failed"))
	write(t, filepath.Join(dir, "global/c.json"), strings.Replace(jsRow("c", "a", "s", "2026-11-21T19:59:00.000Z", "pending"), `"status"`, `"heartbeatAt": "2026-11-21T19:59:40.000Z", "status"`, 1))
	s := open(t, dir)
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: model.Ref{Session: "s", ID: "b"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"its turn is failed", "detached work is running", "was written 5s ago"} {
		if !strings.Contains(strings.Join(plan.Asks, "\n"), want) {
			t.Errorf("it does not ask about %q: %q", want, plan.Asks)
		}
	}
	// What Hindcast wrote itself is no sign of an agent.
	write(t, filepath.Join(dir, "global/d.json"), jsRow("d", "a", "s", "2026-11-21T19:00:00.000Z", "completed"))
	for _, name := range []string{"b", "c"} {
		if err := os.Remove(filepath.Join(dir, "global", name+".json")); err != nil {
			t.Fatal(err)
		}
	}
	restore(t, s, "s", "a")
	if plan, err = s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: model.Ref{Session: "s", ID: "d"}}); err != nil || len(plan.Asks) > 0 {
		t.Errorf("it asks %q after a write of its own, %v", plan.Asks, err)
	}
	later, err := Options{Now: func() time.Time { return evening.Add(time.Hour) }}.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer later.Close()
	if plan, err = later.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: model.Ref{Session: "s", ID: "a"}}); err != nil || len(plan.Asks) > 0 {
		t.Errorf("it asks %q an hour later, %v", plan.Asks, err)
	}
}

// TestRestore_plan looks at a plan as a whole, and at what the timeline shows after
// it.
func TestRestore_plan(t *testing.T) {
	skip.Sequential(t)
	s := open(t, copyOfStore(t, "go-1.13.1"))
	const session, to = "barista/sess-main", "e2351bbc-fa68-4905-a61a-0927ec4a5c95"
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: model.Ref{Session: session, ID: to}})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, item := range plan.Orphans {
		ids = append(ids, fmt.Sprintf("#%d %.8s", item.Index, item.ID))
	}
	if got := strings.Join(ids, " "); got != "#2 a5c16800 #5 917c3fba" || len(plan.Reactivates) != 0 {
		t.Errorf("it orphans %s and brings back %v", got, plan.Reactivates)
	}
	if plan.Head.Index != 5 || plan.Target.Index != 1 {
		t.Errorf("the plan is %+v", plan)
	}
	var calls []string
	for _, r := range plan.Resume {
		calls = append(calls, r.Call)
	}
	want := []string{
		`agent.RunText(ctx, "...", aix.WithSessionID[State]("sess-main"))`,
		`agent.RunText(ctx, "...", aix.WithSnapshotID[State]("` + to + `"))`,
	}
	if !slices.Equal(calls, want) {
		t.Errorf("it resumes by %q", calls)
	}
	receipt := apply(t, s, plan, nil)
	for _, h := range storetest.Headers(t, s, session) {
		switch r := h.Reason; {
		case h.ID == receipt.Head.ID:
			if h.Orphaned || h.ParentID != to || h.TurnIndex != 2 || h.EventName != "restore" {
				t.Errorf("the new row is shown as %+v", h)
			}
		case h.Index == 2 || h.Index == 5:
			if r == nil || r.Kind != model.ReasonRestore || r.TargetIndex != 1 || !r.At.Equal(evening) {
				t.Errorf("#%d is off the path because of %+v", h.Index, r)
			}
		}
	}
	facts, err := s.Features().Facts(t.Context(), model.Ref{Session: session, ID: receipt.Head.ID})
	if err != nil || !slices.ContainsFunc(facts, func(f model.Fact) bool {
		return f.Label == "written by" && strings.Contains(f.Value, "Hindcast, by a restore to #1 e2351bbc at 2026-11-21T20:00:00Z, entry 1")
	}) {
		t.Errorf("the facts are %v, %v", facts, err)
	}
	// It comes back as it was left.
	back, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: model.Ref{Session: session, ID: plan.Head.ID}})
	if err != nil {
		t.Fatal(err)
	}
	if len(back.Reactivates) != 2 || len(back.Orphans) != 1 || back.Orphans[0].ID != receipt.Head.ID {
		t.Errorf("the way back brings back %v and orphans %v", back.Reactivates, back.Orphans)
	}
}

// TestRestore_ofAStep: a step of a trace is no row.
func TestRestore_ofAStep(t *testing.T) {
	skip.Sequential(t)
	s := open(t, filepath.Join(testdata, "stepsproject-go-1.13.1"))
	for _, info := range storetest.Sessions(t, s) {
		for _, h := range storetest.Headers(t, s, info.ID) {
			if !isStep(h.ID) {
				continue
			}
			_, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: h.Ref()})
			if refused := (*model.UnsupportedError)(nil); !errors.As(err, &refused) || !strings.Contains(refused.Reason, "take the row before") {
				t.Errorf("%s: %v", h.ID, err)
			}
			return
		}
	}
	t.Error("there is no step")
}

// TestRestore_openToolCalls: where tools wait for a person, the call that resumes
// is another.
func TestRestore_openToolCalls(t *testing.T) {
	skip.Sequential(t)
	s := open(t, copyOfStore(t, "go-1.13.1"))
	one := ""
	for _, info := range storetest.Sessions(t, s) {
		if strings.HasPrefix(info.ID, "barista/7ae9ddbd") {
			one = info.ID
		}
	}
	first := storetest.Headers(t, s, one)[0]
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: first.Ref()})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(plan.Resume[0].Call, "aix.ToolResume{") || !strings.Contains(strings.Join(plan.Hazards, "\n"), "wait for an answer") {
		t.Errorf("%+v", plan)
	}
}

// TestRestore_circle: JavaScript's store would follow a lineage that runs in a
// circle for ever, so the new row is not made a part of it.
func TestRestore_circle(t *testing.T) {
	skip.Sequential(t)
	s := open(t, copyOfStore(t, "js-1.42.0-detachbug"))
	const self = "66d0bd42-f12e-4fb6-b699-eca6161920c3"
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: model.Ref{Session: "s2", ID: self}})
	receipt := apply(t, s, plan, err)
	if r := session1(t, s, "s2").byID[receipt.Head.ID]; r.parentID != "" {
		t.Errorf("its parent is %q", r.parentID)
	}
}

// TestRestore_somebodyElseWrites: a row that comes or goes between plan and write.
func TestRestore_somebodyElseWrites(t *testing.T) {
	skip.Sequential(t)
	for name, change := range map[string]func(t *testing.T, global string){
		"a row comes": func(t *testing.T, global string) {
			write(t, filepath.Join(global, "new.json"), goRow("new", "", "sess-main", "2026-11-21T19:00:00Z", ""))
		},
		"a row goes": func(t *testing.T, global string) {
			if err := os.Remove(filepath.Join(global, "daccf721-88bb-4f18-8690-c98a1a1fe292.json")); err != nil {
				t.Fatal(err)
			}
		},
		"the pointer moves": func(t *testing.T, global string) {
			write(t, filepath.Join(global, ".pointers/sess-main.json"), `{"currentSnapshotId": "x"}`)
		},
		"the target is rewritten": func(t *testing.T, global string) {
			write(t, filepath.Join(global, "e2351bbc-fa68-4905-a61a-0927ec4a5c95.json"), goRow("e2351bbc-fa68-4905-a61a-0927ec4a5c95", "", "sess-main", "2026-11-21T01:17:55.2Z", ""))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := copyOfStore(t, "go-1.13.1")
			s := open(t, dir)
			plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: model.Ref{Session: "barista/sess-main", ID: "e2351bbc-fa68-4905-a61a-0927ec4a5c95"}})
			if err != nil {
				t.Fatal(err)
			}
			change(t, filepath.Join(dir, "barista/global"))
			before := treeOf(t, dir)
			_, err = s.Apply(t.Context(), plan)
			if conflict := (*journal.ConflictError)(nil); !errors.As(err, &conflict) || !errors.Is(err, model.ErrHeadMoved) {
				t.Errorf("the error is %v", err)
			}
			sameTree(t, before, treeOf(t, dir))
		})
	}
	t.Run("another session is none of its business", func(t *testing.T) {
		dir := copyOfStore(t, "go-1.13.1")
		s := open(t, dir)
		plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: model.Ref{Session: "barista/sess-main", ID: "e2351bbc-fa68-4905-a61a-0927ec4a5c95"}})
		write(t, filepath.Join(dir, "barista/global/new.json"), goRow("new", "", "other", "2026-11-21T19:00:00Z", ""))
		apply(t, s, plan, err)
	})
}

// changing is a tree one of whose files is rewritten after so many reads of it, or as soon
// as it was looked at.
type changing struct {
	tree.Tree
	name   string
	after  int
	change func()
}

func (c *changing) Stamp(name string) (tree.Stamp, error) {
	at, err := c.Tree.Stamp(name)
	if name == c.name && c.after == 0 {
		c.after--
		c.change()
	}
	return at, err
}

func (c *changing) Read(name string, buf []byte) ([]byte, tree.Stamp, error) {
	data, at, err := c.Tree.Read(name, buf)
	if name == c.name && c.after > 0 {
		if c.after--; c.after == 0 {
			c.after--
			c.change()
		}
	}
	return data, at, err
}

// TestRestore_rewrittenWhilePlanned: the state that was read is no longer that of
// the row.
func TestRestore_rewrittenWhilePlanned(t *testing.T) {
	skip.Sequential(t)
	for after := range 3 { // a look, the read that decodes it, and the one that takes its state
		dir := copyOfStore(t, "go-1.13.1")
		s := open(t, dir)
		st := s.listParts()[0].files.Storage
		changed := false
		st.ReadThrough(func(on tree.Tree) tree.Tree {
			return &changing{on, "barista/global/" + second + rowSuffix, after, func() {
				changed = true
				write(t, filepath.Join(dir, "barista/global", second+".json"), goRow(second, "", "sess-main", "2026-11-21T01:17:55.2Z", ""))
			}}
		})
		st.Memo.Notes = &files.Memory{} // or it would not be read to be decoded
		_, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: model.Ref{Session: sessMain, ID: second}})
		if !changed || !errors.As(err, new(*journal.ConflictError)) {
			t.Errorf("after %d reads: changed %v, %v", after, changed, err)
		}
	}
}

// TestRestore_toTheHead: there is nothing to write, and nothing to undo.
func TestRestore_toTheHead(t *testing.T) {
	skip.Sequential(t)
	for _, fixture := range sdkStores {
		dir := copyOfStore(t, fixture)
		s := open(t, dir)
		before := treeOf(t, dir)
		idle := 0
		for _, info := range storetest.Sessions(t, s) {
			head := headOf(t, s, info.ID)
			plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: head.Ref()})
			if err != nil || len(plan.Files) > 0 {
				continue // it is not sound as it is
			}
			idle++
			if receipt := apply(t, s, plan, nil); receipt.Entry != 0 || receipt.Head.ID != head.ID || receipt.Head.Index != head.Index || len(plan.Writes)+len(plan.Orphans) > 0 {
				t.Errorf("%s %s: %+v, %+v", fixture, info.ID, plan, receipt)
			}
		}
		if idle == 0 {
			t.Error("no session of ", fixture)
		}
		sameTree(t, before, treeOf(t, dir))
		if _, err := os.Lstat(filepath.Join(dir, journal.Folder)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: there is a journal (%v)", fixture, err)
		}
	}
}

func TestApply_refusesWhatIsNoPlanOfItsOwn(t *testing.T) {
	s := open(t, t.TempDir())
	if _, err := s.Apply(t.Context(), model.Plan{Op: model.OpRestore}); !errors.Is(err, journal.ErrNoCarry) {
		t.Errorf("the error is %v", err)
	}
}
