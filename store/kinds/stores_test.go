package kinds_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hindcast/diff"
	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/model/printable"
	"hindcast/store"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// realStore is a folder or a file below testdata that a real SDK wrote. It is opened as a
// person would open it: by its path alone, with the kinds of the program.
type realStore struct {
	path, kind string
	// truth says what is in it, from the files alone: see real*_test.go.
	truth func(t *testing.T, dir string) truth
	// order gives the files in the order in which the SDK wrote them.
	order func(t *testing.T, dir string) []string
}

// truth is what has to be found in a store, whatever a kind makes of it.
type truth struct {
	// snapshots is how many each session has.
	snapshots map[string]int
	// heads says of a session where its framework would resume: the id of the
	// head, or its index as "#4". A session that is not there is not checked.
	heads map[string]string
	// silent are the sessions in whose head there are no messages.
	silent map[string]bool
}

// known is what was done to some sessions on purpose when they were written: the
// faults that the doctor has to find, and how many snapshots are off the path.
// Every other session of these stores has neither.
var known = map[string]struct {
	faults  []string
	orphans int
}{
	"strands/python-file broken_missing_toolresult":      {faults: []string{"message-gap", "missing-tool-result"}},
	"strands/python-file broken_starts_with_toolresult":  {faults: []string{"leading-tool-result", "message-gap"}},
	"strands/python-snapshot every-turn":                 {orphans: 2},
	"strands/python-snapshot interrupt":                  {faults: []string{"pending-interrupt"}},
	"strands/typescript/unified branching":               {orphans: 2},
	"strands/typescript/unified interrupt":               {faults: []string{"pending-interrupt"}},
	"genkit/devproject-go-1.13.1 barista/sess-main":      {orphans: 7},
	"genkit/devproject-go-1.13.1 barista/sess-orphan":    {faults: []string{"expired"}},
	"genkit/devproject-go-1.13.1 pruned/sess-pruned":     {faults: []string{"missing-parent"}},
	"genkit/go-1.13.1/barista sess-main":                 {orphans: 2},
	"genkit/go-1.13.1/barista sess-orphan":               {faults: []string{"expired"}},
	"genkit/go-1.13.1/pruned sess-pruned":                {faults: []string{"missing-parent"}},
	"genkit/js-1.42.0-detachbug s":                       {faults: []string{"self-parent", "several-roots"}, orphans: 1},
	"genkit/js-1.42.0-detachbug s2":                      {faults: []string{"no-leaf", "pointer-missing", "self-parent"}},
	"agent-framework/checkpoints bestellung":             {orphans: 3},
	"crewai/json tour-7f6f1428":                          {orphans: 2},
	"crewai/flow flow-e0a0e688":                          {faults: []string{"raced-lineage"}},
	"crewai/checkpoints.db tour-77f0b5ae":                {orphans: 2},
	"adk/database_service.db tour_app/u1/tour":           {faults: []string{"nulled-key"}, orphans: 18},
	"adk/sqlite_service.db tour_app/u1/tour":             {faults: []string{"nulled-key"}, orphans: 18},
	"langgraph/agent.db tour":                            {orphans: 36},
	"langgraph/dev 1f1eab00-0000-4000-8000-000000000001": {orphans: 4},
	"langgraph/delta.db delta":                           {orphans: 8},
	"langgraph/encrypted.db secret":                      {faults: []string{"opaque-state"}},
	"langgraph/js.db js-tour":                            {orphans: 12},
	"langgraph/old-0.2.5-json.db old":                    {orphans: 4},
	"openaiagents/advanced.db tour":                      {orphans: 6},
	"openaiagents/encrypted.db tour":                     {faults: []string{"opaque-state"}},
	"openaiagents/sqlite_session.db tour":                {faults: []string{"deleted-items", "unanswered-call"}},
}

// What was broken on purpose is found, and nothing else is said to be.
func TestStores_whatIsBrokenIsFound(t *testing.T) {
	skip.Sequential(t)
	var checked atomic.Int32
	t.Run("in", func(t *testing.T) {
		eachReal(t, func(t *testing.T, r realStore, dir string) {
			var mine bool
			for name := range known {
				mine = mine || strings.HasPrefix(name, r.path+" ")
			}
			if !mine {
				return
			}
			o := openReal(t, r, dir)
			for _, info := range o.sessions {
				want, is := known[r.path+" "+info.ID]
				if is {
					checked.Add(1)
				}
				codes := map[string]bool{}
				for _, f := range faultsOf(t, o.store, info.ID) {
					codes[f.Code] = true
					if f.Meaning == "" || f.Verdict == "" || f.File == "" {
						t.Errorf("%s: the fault does not say what it is, where, or what the framework does: %+v", info.ID, f)
					}
				}
				if have := slices.Sorted(maps.Keys(codes)); !slices.Equal(have, want.faults) {
					t.Errorf("%s has the faults %q, want %q", info.ID, have, want.faults)
				}
				if n := model.NewTimeline(o.headers[info.ID]).Orphans(); n != want.orphans {
					t.Errorf("%s has %d snapshots off the path, want %d", info.ID, n, want.orphans)
				}
			}
		})
	})
	if n := checked.Load(); int(n) != len(known) {
		t.Errorf("%d of %d known sessions were met", n, len(known))
	}
}

// opened is one store, read whole.
type opened struct {
	realStore
	dir   string
	store store.Store
	// why is what it was recognised by, of every kind that did.
	why      []string
	sessions []model.SessionInfo // by id
	headers  map[string][]model.Header
}

func openReal(t *testing.T, r realStore, dir string) *opened {
	t.Helper()
	o := &opened{realStore: r, dir: dir, headers: map[string][]model.Header{}}
	for _, k := range allKinds {
		if k.Recognise == nil {
			continue
		}
		if why, ok, err := k.Recognise(t.Context(), dir); err != nil {
			t.Fatal(err)
		} else if ok {
			o.why = append(o.why, k.Name+": "+why)
		}
	}
	var err error
	if o.store, err = allKinds.Open(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := o.store.Close(); err != nil {
			t.Error(err)
		}
	})
	o.sessions = sessionsOf(t, o.store)
	for _, info := range o.sessions {
		o.headers[info.ID] = storetest.Headers(t, o.store, info.ID)
	}
	return o
}

func sessionsOf(t *testing.T, s store.Store) []model.SessionInfo {
	t.Helper()
	list := storetest.Sessions(t, s)
	slices.SortFunc(list, func(a, b model.SessionInfo) int { return strings.Compare(a.ID, b.ID) })
	return list
}

func stateOf(t *testing.T, s store.Store, h *model.Header) []byte {
	t.Helper()
	state, err := s.State(t.Context(), h.Ref())
	if err != nil {
		t.Fatalf("session %q, #%d: %v", h.SessionID, h.Index, err)
	}
	return state
}

// eachReal runs a test on every real store.
func eachReal(t *testing.T, run func(t *testing.T, r realStore, dir string)) {
	for _, r := range realStores {
		t.Run(r.path, func(t *testing.T) {
			t.Parallel()
			run(t, r, filepath.Join(testdata, filepath.FromSlash(r.path)))
		})
	}
}

// Every folder that an SDK wrote is in the table, or is known to be no store.
func TestStores_allAreInTheTable(t *testing.T) {
	skip.Sequential(t)
	folders := map[string]bool{}
	for _, r := range realStores {
		sdk, _, _ := strings.Cut(r.path, "/")
		folders[sdk] = true
	}
	for sdk := range folders {
		entries, err := os.ReadDir(filepath.Join(testdata, sdk))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if name := path.Join(sdk, e.Name()); (e.IsDir() || path.Ext(name) == ".db") && !slices.Contains(noStores, name) &&
				!slices.ContainsFunc(realStores, func(r realStore) bool { return r.path == name || strings.HasPrefix(r.path, name+"/") }) {
				t.Errorf("testdata/%s is not in the table of real stores", name)
			}
		}
	}
}

// What every real store looks like is in testdata/stores.txt; -update writes it.
func TestStores_lookAsTheyDid(t *testing.T) {
	skip.Sequential(t)
	var all strings.Builder
	for _, r := range realStores {
		o := openReal(t, r, filepath.Join(testdata, filepath.FromSlash(r.path)))
		o.draw(t, &all)
	}
	const golden = "testdata/stores.txt" // of this package
	if *update {
		if err := os.WriteFile(golden, []byte(all.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	holdLines(t, golden, strings.Split(all.String(), "\n"), strings.Split(string(want), "\n"))
}

// holdLines compares lines with those of a golden file and shows the first that
// is another, with the headings that it is under.
func holdLines(t *testing.T, golden string, have, want []string) {
	t.Helper()
	line := func(list []string, i int) string {
		if i < len(list) {
			return list[i]
		}
		return "(the end)"
	}
	var heading, below string
	for i := range max(len(have), len(want)) {
		now := line(have, i)
		if now != line(want, i) {
			t.Fatalf("%s\n%s\nline %d of %s is\n%s, and is now\n%s", heading, below, i+1, golden, line(want, i), now)
		}
		if strings.HasPrefix(now, "=== ") {
			heading, below = now, ""
		} else if strings.HasPrefix(now, "--- ") {
			below = now
		}
	}
}

// draw writes what a person sees of a store, but for times and ids.
func (o *opened) draw(t *testing.T, out *strings.Builder) {
	t.Helper()
	fmt.Fprintf(out, "=== %s\n", o.path)
	for _, why := range o.why {
		fmt.Fprintln(out, why)
	}
	o.faults(t, out, "")
	for _, info := range o.sessions {
		line := model.NewTimeline(o.headers[info.ID])
		n := snapshotsIn(line)
		fmt.Fprintf(out, "\n--- %s: %d snapshots, %d off the path", printable.String(info.ID), n, line.Orphans())
		if info.Title != "" {
			fmt.Fprintf(out, ", begins with %q", info.Title)
		}
		if steps := line.Len() - n; steps > 0 {
			fmt.Fprintf(out, ", %d steps", steps)
		}
		if head := line.Head(); head != model.NoNode {
			h := line.Header(head)
			fmt.Fprintf(out, ", head #%d, %d messages", h.Index, decoded(t, stateOf(t, o.store, &h)).Len())
		}
		fmt.Fprintln(out)
		out.WriteString(picture(line))
		o.faults(t, out, info.ID)
	}
	fmt.Fprintln(out)
}

// snapshotsIn counts the snapshots of a timeline: a step that was put together
// from a trace is none.
func snapshotsIn(line *model.Timeline) int {
	n := 0
	for node := range model.Node(line.Len()) {
		if !line.Header(node).Marks.Has(model.MarkTraced) {
			n++
		}
	}
	return n
}

// picture draws a timeline as `hindcast log` does, but for times and ids.
func picture(line *model.Timeline) string {
	var out strings.Builder
	var gutter []byte
	for row := range line.Rows() {
		gutter = line.AppendGutter(gutter[:0], row, line.Lanes(), model.GlyphsUnicode)
		text := string(gutter)
		if r := line.Row(row); r.Kind == model.RowNode {
			h := line.Header(r.Node)
			text += fmt.Sprintf(" #%d  turn %d  %s", h.Index, h.TurnIndex, h.EventText())
			if names := h.Marks.Words(); len(names) > 0 {
				text += "  [" + strings.Join(names, " ") + "]"
			}
			if !line.OnPath(r.Node) {
				reason := line.Reason(r.Node)
				text += "  (" + reason.Text(func(time.Time) string { return "some time" }) + ")"
			}
			text += "  " + printable.String(h.Title)
		}
		out.WriteString(strings.TrimRight(text, " ") + "\n")
	}
	return out.String()
}

// faults writes how many faults of each code there are.
func (o *opened) faults(t *testing.T, out *strings.Builder, session string) {
	t.Helper()
	counts := map[string]int{}
	for _, f := range faultsOf(t, o.store, session) {
		counts[f.Code]++
	}
	for _, code := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(out, "! %s %d\n", code, counts[code])
	}
}

func faultsOf(t *testing.T, s store.Store, session string) []model.Fault {
	t.Helper()
	list, err := s.Faults(t.Context(), session)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func decoded(t *testing.T, state []byte) *conversation.Conversation {
	t.Helper()
	tape, _, err := jsontape.ParseTolerant(state)
	if err != nil {
		t.Fatal(err)
	}
	return conversation.Decode(tape)
}

// What matters most is counted in the folders, and does not come out of a golden
// file.
func TestStores_holdWhatIsInTheFolders(t *testing.T) {
	skip.Sequential(t)
	eachReal(t, func(t *testing.T, r realStore, dir string) {
		o := openReal(t, r, dir)
		want := r.truth(t, dir)
		if o.store.Kind() != r.kind || len(o.why) != 1 || !strings.HasPrefix(o.why[0], r.kind+": ") {
			t.Errorf("it was opened as %s, and recognised as %q; want %s alone", o.store.Kind(), o.why, r.kind)
		}
		have := map[string]int{}
		for _, info := range o.sessions {
			line := model.NewTimeline(o.headers[info.ID])
			have[info.ID] = snapshotsIn(line)
			head := line.Head()
			if head == model.NoNode {
				t.Errorf("session %s has no head", info.ID)
				continue
			}
			h := line.Header(head)
			if where, known := want.heads[info.ID]; known && where != h.ID && where != fmt.Sprintf("#%d", h.Index) {
				t.Errorf("the head of %s is #%d, %s; its framework resumes from %s", info.ID, h.Index, h.ID, where)
			}
			if info.Size <= 0 && r.kind != "deepagents" { // whose list reads indexes alone
				t.Errorf("of %s the size is not known", info.ID)
			}
			if n := decoded(t, stateOf(t, o.store, &h)).Len(); n == 0 != want.silent[info.ID] {
				t.Errorf("the head of %s has %d messages", info.ID, n)
			}
		}
		if !maps.Equal(have, want.snapshots) {
			t.Errorf("the store has the snapshots\n%v; the folder has\n%v", have, want.snapshots)
		}
	})
}

// Every state can be compared with that of its parent.
func TestStores_everyStateCanBeCompared(t *testing.T) {
	skip.Sequential(t)
	eachReal(t, func(t *testing.T, r realStore, dir string) {
		o := openReal(t, r, dir)
		for id, headers := range o.headers {
			line := model.NewTimeline(headers)
			for n := range model.Node(line.Len()) {
				h := line.Header(n)
				parent := line.Parent(n)
				if parent == model.NoNode {
					continue
				}
				before, state := stateOf(t, o.store, new(line.Header(parent))), stateOf(t, o.store, &h)
				changes, err := diff.Compare(t.Context(), diff.Bytes(before), diff.Bytes(state))
				if err != nil {
					t.Errorf("%s #%d: %v", id, h.Index, err)
				} else if changes.Equal() && !wroteNothing(t, o.store, &h) && h.ID != line.Header(parent).ID && h.Title != line.Header(parent).Title {
					t.Errorf("%s #%d has another title than its parent, and the same state", id, h.Index)
				}
			}
		}
	})
}

// wroteNothing reports whether a snapshot of LangGraph has no title, or one that only
// names what ran: a step may write nothing, or what was there. A copy of its parent and one of its parent's
// child may have one source and one step: channel_versions alone tell them apart, and a list reads no state.
func wroteNothing(t *testing.T, s store.Store, h *model.Header) bool {
	if kind := s.Kind(); kind != "langgraph" && kind != "deepagents" {
		return false
	}
	facts, err := s.Features().Facts(t.Context(), h.Ref())
	if err != nil {
		t.Error(err)
	}
	return h.Title == "" || h.EventName == "fork" || h.Title == "_hooks_pre_tool_outcomes {}" || slices.ContainsFunc(facts, func(f model.Fact) bool { return f.Label == "ran" && f.Value == h.Title })
}

// portable returns the lines that log --json would, with what only this kind
// knows left out.
func portable(t *testing.T, h model.Header) string {
	t.Helper()
	line, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	return string(line)
}

// The portable file holds the same timeline, byte for byte.
func TestStores_areTheSameThroughAPortableFile(t *testing.T) {
	skip.Sequential(t)
	eachReal(t, func(t *testing.T, r realStore, dir string) {
		o := openReal(t, r, dir)
		file := filepath.Join(t.TempDir(), "all.jsonl")
		hindcastRuns(t, "", "export", dir, "-o", file)
		copied, err := allKinds.Open(t.Context(), file)
		if err != nil {
			t.Fatal(err)
		}
		defer copied.Close()
		if copied.Kind() != "jsonl" {
			t.Fatalf("the file is opened as %s", copied.Kind())
		}
		o.holds(t, copied, func(*model.Header) {})
	})
}

// A native store takes all of it in. It numbers visits, and knows sizes.
func TestStores_areTheSameInANativeStore(t *testing.T) {
	skip.Sequential(t)
	eachReal(t, func(t *testing.T, r realStore, dir string) {
		o := openReal(t, r, dir)
		native := filepath.Join(t.TempDir(), "native.db")
		lines := hindcastRuns(t, "", "export", dir)
		hindcastRuns(t, lines, "import", "-", native)
		copied, err := allKinds.Open(t.Context(), native)
		if err != nil {
			t.Fatal(err)
		}
		defer copied.Close()
		o.holds(t, copied, func(h *model.Header) { h.Visit, h.ParentVisit, h.Size = 0, 0, 0 })
		if again := hindcastRuns(t, lines, "import", "-", native, "--json"); !strings.Contains(again, `"new":0`) {
			t.Errorf("importing it again brings something new: %s", again)
		}
	})
}

// holds compares a copy of the store with it. forget drops what the copy cannot
// know or has to tell otherwise.
func (o *opened) holds(t *testing.T, copied store.Store, forget func(*model.Header)) {
	t.Helper()
	var have, want []string
	for _, info := range sessionsOf(t, copied) {
		have = append(have, info.ID)
	}
	for _, info := range o.sessions {
		want = append(want, info.ID)
	}
	if !slices.Equal(have, want) {
		t.Fatalf("the copy has the sessions\n%q, want\n%q", have, want)
	}
	for _, id := range want {
		before, after := o.headers[id], storetest.Headers(t, copied, id)
		if len(before) != len(after) {
			t.Errorf("%s has %d snapshots, and its copy %d", id, len(before), len(after))
			continue
		}
		if one, other := picture(model.NewTimeline(slices.Clone(before))), picture(model.NewTimeline(slices.Clone(after))); one != other {
			t.Errorf("%s is drawn as\n%s, and its copy as\n%s", id, one, other)
		}
		for i := range before {
			x, y := before[i], after[i]
			state, copy := stateOf(t, o.store, &x), stateOf(t, copied, &y)
			if !bytes.Equal(state, copy) {
				t.Errorf("%s #%d: the copy of the state is\n%.300q, want\n%.300q", id, x.Index, copy, state)
			}
			if x.Size == 0 {
				y.Size = 0 // the store did not know it yet
			}
			forget(&x)
			forget(&y)
			if one, other := portable(t, x), portable(t, y); one != other {
				t.Errorf("%s #%d: the copy says\n%s, want\n%s", id, x.Index, other, one)
			}
		}
	}
}

// What the program reads stays as it was, every file and folder of it.
func TestStores_areNotTouched(t *testing.T) {
	skip.Sequential(t)
	eachReal(t, func(t *testing.T, r realStore, dir string) {
		mine := storetest.Copy(t, dir)
		mode(t, mine, 0o222, false)
		check := storetest.Untouched(t, mine)
		for _, command := range []string{"sessions", "log", "export"} {
			hindcastRuns(t, "", command, mine)
		}
		if code, out, errs := inProcess(t, "doctor", mine); code != 0 && code != 3 {
			t.Errorf("hindcast doctor: exit %d: %s%s", code, out, errs)
		}
		check()
	})
}

// mode takes permissions from everything in a folder until the test is over.
func mode(t *testing.T, dir string, bits fs.FileMode, give bool) {
	t.Helper()
	if !give {
		t.Cleanup(func() { mode(t, dir, bits, true) })
	}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if give {
			return os.Chmod(path, info.Mode().Perm()|bits&0o200)
		}
		return os.Chmod(path, info.Mode().Perm()&^bits)
	})
	if err != nil {
		t.Error(err)
	}
}

// A store that grows under an opened one is followed: in the end it is seen as
// whoever opens it then sees it.
func TestStores_areFollowedWhileTheyGrow(t *testing.T) {
	skip.Sequential(t)
	eachReal(t, func(t *testing.T, r realStore, dir string) {
		mine := filepath.Join(t.TempDir(), filepath.Base(dir))
		files := r.order(t, dir)
		if missing := without(everyFile(t, dir), files); len(missing) > 0 {
			t.Fatalf("nobody says when these are written: %q", missing)
		}
		f := &follower{}
		for _, name := range files {
			write(t, filepath.Join(dir, name), filepath.Join(mine, name))
			if f.store == nil {
				f.open(t, mine)
				continue
			}
			select {
			case _, open := <-f.changes:
				if !open {
					t.Fatal("nobody follows any more")
				}
				f.read(t) // whatever there is just now
			default:
			}
		}
		if f.store == nil {
			t.Fatal("it was never recognised")
		}
		after := openReal(t, r, mine)
		f.until(t, func() string { return strings.Join(f.differences(t, after), "\n") })
		for id, headers := range f.headers {
			for i := range headers {
				if !bytes.Equal(stateOf(t, f.store, &headers[i]), stateOf(t, after.store, &headers[i])) {
					t.Errorf("%s #%d has another state than for somebody who opens the store now", id, headers[i].Index)
				}
			}
		}
	})
}

// without returns what is in list but not in others.
func without(list, others []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(others, s) })
}

// write puts a file in place as the SDKs do: whole, by renaming it.
func write(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o700)
	}
	if err == nil {
		err = os.WriteFile(to+".tmp", data, 0o600)
	}
	if err == nil {
		err = os.Rename(to+".tmp", to)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// follower reads a store as the screen does: what grew where the store can tell,
// else anew.
type follower struct {
	store   store.Store
	changes <-chan struct{}
	headers map[string][]model.Header
	cursors map[string]store.Cursor
}

// open opens the store if it is one already.
func (f *follower) open(t *testing.T, dir string) {
	t.Helper()
	s, err := allKinds.Open(t.Context(), dir)
	if errors.Is(err, store.ErrUnrecognised) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	watch := s.Features().Watch
	if watch == nil {
		t.Fatalf("a %s store is not followed", s.Kind())
	}
	f.store, f.headers, f.cursors = s, map[string][]model.Header{}, map[string]store.Cursor{}
	if f.changes, err = watch(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.read(t)
}

// read brings the headers up to date.
func (f *follower) read(t *testing.T) {
	t.Helper()
	can := f.store.Features()
	listed := sessionsOf(t, f.store)
	for id := range f.headers {
		if !slices.ContainsFunc(listed, func(info model.SessionInfo) bool { return info.ID == id }) {
			delete(f.headers, id)
			delete(f.cursors, id)
		}
	}
	for _, info := range listed {
		if cursor, known := f.cursors[info.ID]; known {
			growth, err := can.Growth(t.Context(), info.ID, cursor)
			if err != nil {
				t.Fatal(err)
			}
			if !growth.Rewritten {
				f.cursors[info.ID] = growth.Cursor
				f.grow(info.ID, growth.Headers)
				continue
			}
		}
		if can.Cursor != nil {
			cursor, err := can.Cursor(t.Context(), info.ID)
			if err != nil {
				t.Fatal(err)
			}
			f.cursors[info.ID] = cursor
		}
		f.headers[info.ID] = storetest.Headers(t, f.store, info.ID)
	}
}

// grow takes in what is new in a session, but for what it has already.
func (f *follower) grow(session string, headers []model.Header) {
	have := f.headers[session]
	for _, h := range headers {
		if h.Head {
			for i := range have {
				have[i].Head = false
			}
		}
		at := slices.IndexFunc(have, func(old model.Header) bool { return old.ID == h.ID && old.Visit == h.Visit })
		if at < 0 {
			have = append(have, h)
		} else {
			have[at] = h
		}
	}
	f.headers[session] = have
}

// differences tells what is seen otherwise than by somebody who opened the store
// now.
func (f *follower) differences(t *testing.T, now *opened) []string {
	t.Helper()
	var list []string
	for _, info := range now.sessions {
		want, have := now.headers[info.ID], f.headers[info.ID]
		if len(want) != len(have) {
			list = append(list, fmt.Sprintf("%s has %d headers, want %d", info.ID, len(have), len(want)))
			continue
		}
		for i := range want {
			if one, other := portable(t, want[i]), portable(t, have[i]); one != other {
				list = append(list, fmt.Sprintf("%s: header %d is\n%s, want\n%s", info.ID, i, other, one))
			}
		}
	}
	if have := sessionsOf(t, f.store); !reflect.DeepEqual(have, now.sessions) {
		list = append(list, fmt.Sprintf("the sessions are\n%+v, want\n%+v", have, now.sessions))
	}
	return list
}

// until follows until nothing is wrong any more. It reads only when it is told
// to, as the screen does.
func (f *follower) until(t *testing.T, wrong func() string) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for wrong() != "" {
		select {
		case _, open := <-f.changes:
			if !open {
				t.Fatalf("nobody follows any more, and\n%s", wrong())
			}
			f.read(t)
		case <-deadline:
			t.Fatalf("it is never seen as it is:\n%s", wrong())
		}
	}
}
