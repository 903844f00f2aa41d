package checkpoints_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/engine/checkpoints"
	"hindcast/store/media/files"
	"hindcast/store/media/journal"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// demo is the smallest format that has all that the engine knows: a file holds one checkpoint or
// several, each names the one before, and a copy with a later time is the newest.
type demo struct{}

var demoKind = checkpoints.Kind{
	Name: "demo", Framework: "Demo", IDs: "the checkpoint's id", Depth: 1,
	Unlisted: "stops at it", Severity: model.Loses, Notes: "demo 1",
	Temporary: func(name string) bool { return strings.HasSuffix(name, ".tmp") },
	Running:   "Demo that runs now does not notice", Signed: "a file with demo_session",
	Places: func(store.Surroundings) []string { return []string{"/demo"} },
	Format: demo{},
}

// written is a file as Demo writes it.
type written struct {
	Session string `json:"demo_session"`
	Items   []item `json:"items"`
}

type item struct {
	ID     string          `json:"id"`
	Parent string          `json:"parent,omitempty"`
	At     int             `json:"at"` // seconds after the first of January; 0 for none
	Says   string          `json:"says,omitempty"`
	Note   string          `json:"note,omitempty"`
	State  json.RawMessage `json:"state,omitempty"`
}

var began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func (demo) Is(name string) bool { return path.Ext(name) == ".json" }

func (demo) Signs(_ string, head []byte) bool { return bytes.Contains(head, []byte("demo_session")) }

func (demo) Decode(_ string, data []byte) (d checkpoints.Decoded) {
	var w written
	if err := json.Unmarshal(data, &w); err != nil {
		d.Flaw = "no JSON"
		return d
	}
	for _, it := range w.Items {
		h := model.Header{ID: it.ID, ParentID: it.Parent, Title: it.Says, Size: int64(len(it.State)), Event: model.SnapshotEventNamed, EventName: "step", TurnIndex: model.TurnUnknown, Marks: model.MarkInterrupted}
		if it.At > 0 {
			h.CreatedAt = began.Add(time.Duration(it.At) * time.Second)
		}
		d.Items = append(d.Items, checkpoints.Item{Session: w.Session, Header: h, Opening: it.Says, Own: []byte(it.Note)})
	}
	return d
}

func (demo) Arrange(items []checkpoints.Item) int {
	checkpoints.ByTime(items)
	return len(items) - 1
}

func (demo) find(data []byte, id string) (w written, it *item, err error) {
	if err = json.Unmarshal(data, &w); err != nil {
		return w, nil, err
	}
	for i := range w.Items {
		if w.Items[i].ID == id {
			return w, &w.Items[i], nil
		}
	}
	return w, nil, errors.New("the file has it no more")
}

func (f demo) State(data []byte, of *checkpoints.Item) ([]byte, error) {
	_, it, err := f.find(data, of.ID)
	if err != nil {
		return nil, err
	}
	return it.State, nil
}

func (demo) Facts(data []byte, of *checkpoints.Item) (facts model.Facts) {
	facts.Add("bytes", fmt.Sprint(len(data)))
	facts.Add("note", string(of.Own))
	return facts
}

func (demo) Faults(items []checkpoints.Item, head int) (list []model.Fault) {
	for i := range items {
		if string(items[i].Own) == "bad" {
			list = append(list, model.Fault{Code: "bad-note", Severity: model.Loses, File: items[i].File, Meaning: fmt.Sprintf("%s of %d, the head is %s", items[i].ID, len(items), items[head].ID)})
		}
	}
	return list
}

func (demo) Resume(dir string, of *checkpoints.Item) []model.Resume {
	return []model.Resume{{Call: "demo go " + filepath.Base(dir) + " " + of.ID, Then: "goes on from it"}}
}

func (demo) Lacks(op model.Op, of *checkpoints.Item) string {
	switch {
	case of.Session == "read-only":
		return "Demo reads it"
	case op == model.OpFork:
		return "Demo forks by itself"
	}
	return ""
}

func (f demo) Restore(p *checkpoints.Putting) (n checkpoints.New, err error) {
	w, it, err := f.find(p.Data, p.Item().ID)
	if err != nil {
		return n, err
	}
	if it.Note == "refused" {
		return n, &model.UnsupportedError{Op: model.OpRestore, Reason: "Demo does not load it"}
	}
	made := *it
	made.ID, made.At = fmt.Sprintf("copy-of-%s-%d", it.ID, len(p.Items)), int(p.Items[p.Head].CreatedAt.Sub(began)/time.Second)+1
	w.Items = []item{made}
	n.Data, err = json.Marshal(w)
	n.Name, n.Writes, n.Hazards, n.Asks = made.ID+".json", "a copy of "+it.ID, []string{"a copy is made"}, []string{"does Demo run?"}
	return n, err
}

func (demo) Loads(items []checkpoints.Item, head int) string {
	return fmt.Sprintf("Demo loads %s, the last of %d", items[head].ID, len(items))
}

// messages returns a state of messages by a person and a model in turns.
func messages(texts ...string) json.RawMessage {
	var list []map[string]string
	for i, text := range texts {
		list = append(list, map[string]string{"role": []string{"user", "assistant"}[i%2], "content": text})
	}
	state, _ := json.Marshal(map[string]any{"messages": list})
	return state
}

// tour is a session in two folders, with a branch that was left; two checkpoints are in one file.
var tour = map[string]written{
	"a.json": {"tour", []item{{ID: "t1", At: 1, Says: "find it", State: messages("find it")}}},
	"b.json": {"tour", []item{
		{ID: "t2", Parent: "t1", At: 2, Note: "kept", State: messages("find it", "here")},
		{ID: "t3", Parent: "t2", At: 3, State: messages("find it", "here", "more")},
	}},
	"deep/c.json": {"tour", []item{{ID: "t4", Parent: "t2", At: 4, State: messages("find it", "here", "less")}}},
	"deep/d.json": {"plain", []item{{ID: "p1", At: 9, Says: "hello", State: messages("hello")}}},
}

// folderOf makes a folder of files: written values, or texts as they are.
func folderOf(t testing.TB, list ...map[string]written) string {
	t.Helper()
	dir := t.TempDir()
	for _, named := range list {
		for name, w := range named {
			text, err := json.Marshal(w)
			if err != nil {
				t.Fatal(err)
			}
			put(t, filepath.Join(dir, filepath.FromSlash(name)), string(text))
		}
	}
	return dir
}

// put writes a file, an hour ago.
func put(t testing.TB, name, text string) {
	t.Helper()
	at := time.Now().Add(-time.Hour)
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600), os.Chtimes(name, at, at)); err != nil {
		t.Fatal(err)
	}
}

// open opens a folder of the kind until the test ends.
func open(t testing.TB, dir string, cache *files.Cache) *engine.Store {
	t.Helper()
	s, err := demoKind.Open(t.Context(), cache, engine.SiteOf(dir))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// kindOf returns the kind as the list of kinds has it.
func kindOf() store.Kind { return demoKind.Kind(nil).Kind }

// drawn returns the snapshots of a session, a line each.
func drawn(t testing.TB, s store.Store, session string) (lines []string) {
	t.Helper()
	for _, h := range storetest.Headers(t, s, session) {
		line := h.ID + "<" + h.ParentID
		if h.Orphaned {
			line += " off"
		}
		if h.Head {
			line += " head"
		}
		lines = append(lines, line)
	}
	return lines
}

func same[T any](t testing.TB, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// The engine holds what every kind holds, on a format of its own.
func TestDemo(t *testing.T) {
	storetest.Read(t, kindOf(), folderOf(t, tour))
	storetest.Restore(t, kindOf(), folderOf(t, tour))
}

func ref(session, id string) model.Ref { return model.Ref{Session: session, ID: id} }

// Files of all levels that are looked into are one session by its name, whatever file a checkpoint is in.
func TestRead_sessions(t *testing.T) {
	dir := folderOf(t, tour)
	s := open(t, dir, nil)
	same(t, "tour", drawn(t, s, "tour"), []string{"t1<", "t2<t1", "t3<t2 off", "t4<t2 head"})
	var got []string
	for _, info := range storetest.Sessions(t, s) {
		got = append(got, fmt.Sprintf("%s %q %d snapshots, %d off, %d bytes, %s, %d faults, %s", info.ID, info.Title, info.Snapshots, info.Orphaned, info.Size, info.UpdatedAt.UTC().Format("15:04:05"), info.Faults, info.Kind))
	}
	size := 0
	for _, name := range []string{"a.json", "b.json", "deep/c.json"} {
		for _, it := range tour[name].Items {
			size += len(it.State)
		}
	}
	same(t, "the sessions, the newest first", got, []string{
		fmt.Sprintf(`plain "hello" 1 snapshots, 0 off, %d bytes, 00:00:09, 0 faults, demo`, len(messages("hello"))),
		fmt.Sprintf(`tour "find it" 4 snapshots, 1 off, %d bytes, 00:00:04, 0 faults, demo`, size),
	})
	same(t, "its name, address and ids", []string{s.Kind(), s.Address(), s.DerivedIDs()}, []string{"demo", dir, "the checkpoint's id"})
	same(t, "places", kindOf().Places(store.Surroundings{}), []string{"/demo"})
}

// A session is titled by its first checkpoint that has a title, and without times is as new as its newest file.
func TestRead_withoutTimes(t *testing.T) {
	dir := folderOf(t, map[string]written{
		"a.json": {"s", []item{{ID: "1"}, {ID: "2", Parent: "1", Says: "first"}, {ID: "3", Parent: "2", Says: "second"}}},
	})
	at := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
	if err := os.Chtimes(filepath.Join(dir, "a.json"), at, at); err != nil {
		t.Fatal(err)
	}
	list := storetest.Sessions(t, open(t, dir, nil))
	if len(list) != 1 || list[0].Title != "first" || !list[0].UpdatedAt.Equal(at) {
		t.Errorf("%+v", list)
	}
}

// What is no checkpoint is passed over: other names, files that are being written, hidden folders, those
// below the depth, links and folders that are named like files.
func TestRead_passesOver(t *testing.T) {
	dir := folderOf(t, tour, map[string]written{
		".hidden/x.json":     {"hidden", []item{{ID: "h", At: 1}}},
		"deep/deeper/y.json": {"deeper", []item{{ID: "d", At: 1}}},
		"e.json.tmp":         {"temporary", []item{{ID: "e", At: 1}}},
		"f.txt":              {"text", []item{{ID: "f", At: 1}}},
		"g.json/h.json":      {"folder", []item{{ID: "g", At: 1}}},
	})
	outside := folderOf(t, map[string]written{"z.json": {"outside", []item{{ID: "z", At: 1}}}})
	if err := errors.Join(os.Symlink(filepath.Join(outside, "z.json"), filepath.Join(dir, "z.json")), os.Symlink(outside, filepath.Join(dir, "linked"))); err != nil {
		skip.Missing(t, "links cannot be made here: %v", err)
	}
	s := open(t, dir, nil)
	var got []string
	for _, info := range storetest.Sessions(t, s) {
		got = append(got, info.ID)
	}
	same(t, "sessions", got, []string{"plain", "tour"})
	same(t, "faults of the store", storetest.Faults(t, s, ""), nil)
}

// A file that cannot be read is a fault of the store, each one, and hides nothing else.
func TestFaults_ofFiles(t *testing.T) {
	dir := folderOf(t, tour)
	put(t, filepath.Join(dir, "bad.json"), "{")
	put(t, filepath.Join(dir, "deep", "worse.json"), "nothing")
	put(t, filepath.Join(dir, "empty.json"), `{"demo_session":"nobody","items":[]}`)
	for range 2 { // read, and remembered
		s := open(t, dir, nil)
		var got []string
		for _, f := range storetest.Faults(t, s, "") {
			got = append(got, fmt.Sprint(f.Code, " ", f.File, ": ", f.Meaning, ", ", f.Verdict, ", ", f.Severity))
		}
		loses := fmt.Sprint(model.Loses)
		same(t, "faults", got, []string{
			"unreadable-checkpoint bad.json: no JSON, stops at it, " + loses,
			"unreadable-checkpoint deep/worse.json: no JSON, stops at it, " + loses,
		})
		same(t, "tour", drawn(t, s, "tour"), []string{"t1<", "t2<t1", "t3<t2 off", "t4<t2 head"})
	}
}

// The faults of a session are those of its tree, of the format and of its messages; several roots are runs.
func TestFaults_ofSessions(t *testing.T) {
	dir := folderOf(t, map[string]written{
		"a.json": {"s", []item{{ID: "1", At: 1, Note: "bad"}, {ID: "2", At: 2}, {ID: "3", Parent: "gone", At: 3, Note: "bad"}}},
	})
	s := open(t, dir, nil)
	codes := map[string]int{}
	var meanings []string
	for _, f := range storetest.Faults(t, s, "s") {
		codes[f.Code]++
		if f.Code == "bad-note" {
			meanings = append(meanings, f.File+": "+f.Meaning)
		}
	}
	same(t, "codes", codes, map[string]int{"bad-note": 2, model.FaultMissingParent: 1})
	same(t, "what the format says", meanings, []string{"a.json: 1 of 3, the head is 3", "a.json: 3 of 3, the head is 3"})
	if list := storetest.Sessions(t, s); len(list) != 1 || list[0].Faults != 3 {
		t.Errorf("%+v", list)
	}
}

// Notes have all that a file says: a store that reads them says the same.
func TestNotes_sayTheSame(t *testing.T) {
	dir := folderOf(t, tour)
	put(t, filepath.Join(dir, "bad.json"), "{")
	cache := files.NewCache(t.TempDir())
	first := open(t, dir, cache)
	want := storetest.Sessions(t, first)
	headers := storetest.Headers(t, first, "tour")
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, dir, cache)
	if got := storetest.Sessions(t, again); !reflect.DeepEqual(got, want) || len(want) != 2 {
		t.Errorf("%+v\nwant\n%+v", got, want)
	}
	if got := storetest.Headers(t, again, "tour"); !reflect.DeepEqual(got, headers) || got[1].EventName != "step" || !got[1].Marks.Has(model.MarkInterrupted) {
		t.Errorf("%+v\nwant\n%+v", got, headers)
	}
	same(t, "faults", len(storetest.Faults(t, again, "")), 1)
	facts, err := again.Facts(t.Context(), ref("tour", "t2"))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "facts", facts, []model.Fact{{Label: "bytes", Value: fmt.Sprint(sizeOf(t, filepath.Join(dir, "b.json")))}, {Label: "note", Value: "kept"}, {Label: "file", Value: "b.json"}})
}

func sizeOf(t testing.TB, name string) int64 {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// A state is the one of its checkpoint, also of the second in a file.
func TestState(t *testing.T) {
	s := open(t, folderOf(t, tour), nil)
	for id, want := range map[string]json.RawMessage{"t1": messages("find it"), "t3": messages("find it", "here", "more"), "t4": messages("find it", "here", "less")} {
		state, err := s.State(t.Context(), ref("tour", id))
		if err != nil || string(state) != string(want) {
			t.Errorf("%s: %s, %v", id, state, err)
		}
	}
	gaps, err := s.Gaps(t.Context(), ref("tour", "t1"))
	if err != nil || !reflect.DeepEqual(gaps, model.Gaps{}) {
		t.Errorf("%+v, %v", gaps, err)
	}
}

// Each question about what is not there says which, on what.
func TestErrors(t *testing.T) {
	s := open(t, folderOf(t, tour), nil)
	visit := ref("tour", "t1")
	visit.Visit = 1
	for name, ask := range map[string]func(model.Ref) error{
		"state":  func(r model.Ref) error { _, err := s.State(t.Context(), r); return err },
		"facts":  func(r model.Ref) error { _, err := s.Facts(t.Context(), r); return err },
		"gaps":   func(r model.Ref) error { _, err := s.Gaps(t.Context(), r); return err },
		"resume": func(r model.Ref) error { _, err := s.Resume(t.Context(), r); return err },
		"plan": func(r model.Ref) error {
			_, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: r})
			return err
		},
	} {
		if err := ask(ref("none", "t1")); !errors.Is(err, model.ErrNoSession) || !strings.Contains(fmt.Sprint(err), "none") {
			t.Errorf("%s of no session: %v", name, err)
		}
		if err := ask(ref("tour", "none")); !errors.Is(err, model.ErrNoSnapshot) || !strings.HasPrefix(fmt.Sprint(err), "demo: ") {
			t.Errorf("%s of no snapshot: %v", name, err)
		}
		if err := ask(visit); !errors.Is(err, model.ErrNoSnapshot) {
			t.Errorf("%s of a second visit: %v", name, err)
		}
	}
	for _, err := range s.Headers(t.Context(), "none") {
		if !errors.Is(err, model.ErrNoSession) {
			t.Errorf("headers: %v", err)
		}
	}
	if _, err := s.Faults(t.Context(), "none"); !errors.Is(err, model.ErrNoSession) {
		t.Errorf("faults: %v", err)
	}
	if _, err := demoKind.Open(t.Context(), nil, engine.SiteOf(filepath.Join(t.TempDir(), "none"))); !errors.Is(err, os.ErrNotExist) || !strings.Contains(fmt.Sprint(err), "demo: open") {
		t.Errorf("open: %v", err)
	}
}

// A checkpoint that its file has no more says so.
func TestState_gone(t *testing.T) {
	dir := folderOf(t, tour)
	s := open(t, dir, nil)
	drawn(t, s, "tour")
	if err := os.Remove(filepath.Join(dir, "a.json")); err != nil {
		t.Fatal(err)
	}
	if state, err := s.State(t.Context(), ref("tour", "t1")); err == nil {
		t.Errorf("it gives %s", state)
	}
}

// A call names the folder, and warns of what the messages are refused for.
func TestResume(t *testing.T) {
	dir := folderOf(t, tour)
	calls, err := open(t, dir, nil).Resume(t.Context(), ref("tour", "t2"))
	if err != nil || len(calls) != 1 || calls[0].Call != "demo go "+filepath.Base(dir)+" t2" {
		t.Errorf("%+v, %v", calls, err)
	}
}

// files returns the files of Demo in a folder.
func filesOf(t testing.TB, dir string) map[string]string {
	list := storetest.FilesOf(t, dir)
	for name := range list {
		if path.Ext(name) != ".json" || strings.HasPrefix(name, journal.Folder) {
			delete(list, name)
		}
	}
	return list
}

// plan makes a plan, and applied carries it out.
func plan(t testing.TB, s storetest.Writer, c model.Change) model.Plan {
	t.Helper()
	p, err := s.Plan(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func applied(t testing.TB, s storetest.Writer, c model.Change) model.Plan {
	t.Helper()
	p := plan(t, s, c)
	if _, err := s.Apply(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	return p
}

// A restore adds one file, and says what it is, what is loaded and which call goes on. The branch that was
// the path is left; an undo takes the file away, a redo brings it again.
func TestRestore(t *testing.T) {
	dir := folderOf(t, tour)
	s := open(t, dir, nil)
	before := filesOf(t, dir)
	p := applied(t, s, model.Change{Op: model.OpRestore, Ref: ref("tour", "t3")})
	same(t, "what it writes", p.Writes, []string{"a copy of t3", "journal: one entry"})
	same(t, "what it asks", p.Asks, []string{"does Demo run?"})
	same(t, "what is loaded", p.Loads, "Demo loads copy-of-t3-4, the last of 5")
	for _, hazard := range []string{"a copy is made", "Demo that runs now does not notice", "what tools did outside of the session since then is not taken back"} {
		if !slices.Contains(p.Hazards, hazard) {
			t.Errorf("%q is not in %q", hazard, p.Hazards)
		}
	}
	if len(p.Resume) != 1 || p.Resume[0].Call != "demo go "+filepath.Base(dir)+" copy-of-t3-4" {
		t.Errorf("it goes on by %+v", p.Resume)
	}
	same(t, "restored", drawn(t, s, "tour"), []string{"t1<", "t2<t1", "t3<t2 off", "t4<t2 off", "copy-of-t3-4<t2 head"})
	after := filesOf(t, dir)
	for name, text := range before {
		if after[name] != text {
			t.Errorf("%s was changed", name)
		}
	}
	if after["copy-of-t3-4.json"] == "" {
		t.Errorf("no copy: %q", after)
	}

	applied(t, s, model.Change{Op: model.OpUndo, Ref: ref("tour", "")})
	same(t, "undone", drawn(t, s, "tour"), []string{"t1<", "t2<t1", "t3<t2 off", "t4<t2 head"})
	same(t, "files", filesOf(t, dir), before)
	applied(t, s, model.Change{Op: model.OpRedo, Ref: ref("tour", "")})
	same(t, "done again", drawn(t, s, "tour"), []string{"t1<", "t2<t1", "t3<t2 off", "t4<t2 off", "copy-of-t3-4<t2 head"})
}

// To put the head back writes nothing, and says so.
func TestRestore_ofTheHead(t *testing.T) {
	dir := folderOf(t, tour)
	s := open(t, dir, nil)
	before := filesOf(t, dir)
	p := applied(t, s, model.Change{Op: model.OpRestore, Ref: ref("tour", "t4")})
	if !p.Idle() || !slices.Contains(p.Hazards, "it is the head already: nothing is written") || len(p.Writes) > 0 {
		t.Errorf("%+v", p)
	}
	same(t, "files", filesOf(t, dir), before)
}

// A copy that was taken away is there still where Demo went on from it: its state is in the journal, and
// nothing goes on from it.
func TestRead_asideInTheJournal(t *testing.T) {
	dir := folderOf(t, tour)
	s := open(t, dir, nil)
	applied(t, s, model.Change{Op: model.OpRestore, Ref: ref("tour", "t3")})
	applied(t, s, model.Change{Op: model.OpUndo, Ref: ref("tour", "")})
	text, err := json.Marshal(written{"tour", []item{{ID: "t6", Parent: "copy-of-t3-4", At: 6, State: messages("find it", "here", "more", "yes")}}})
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "t6.json"), string(text))
	want := []string{"t1<", "t2<t1", "t3<t2 off", "t4<t2 off", "copy-of-t3-4<t2 off", "t6<copy-of-t3-4 head"}
	same(t, "tour", drawn(t, s, "tour"), want)
	gone := ref("tour", "copy-of-t3-4")
	if state, err := s.State(t.Context(), gone); err != nil || string(state) != string(messages("find it", "here", "more")) {
		t.Errorf("it has the state %s, %v", state, err)
	}
	if calls, err := s.Resume(t.Context(), gone); err != nil || calls != nil {
		t.Errorf("it goes on by %+v, %v", calls, err)
	}
	var refused *model.UnsupportedError
	if _, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: gone}); !errors.As(err, &refused) || !strings.Contains(refused.Reason, "was undone") {
		t.Errorf("it is put back: %v", err)
	}
	// What the format counts is what Demo has.
	p := plan(t, s, model.Change{Op: model.OpRestore, Ref: ref("tour", "t1")})
	same(t, "what is loaded", p.Loads, "Demo loads copy-of-t1-6, the last of 6")
}

// What the format refuses is told with its reason, and nothing is written.
func TestPlan_refuses(t *testing.T) {
	dir := folderOf(t, tour, map[string]written{
		"r.json": {"read-only", []item{{ID: "r1", At: 1}, {ID: "r2", Parent: "r1", At: 2}}},
		"n.json": {"noted", []item{{ID: "n1", At: 1, Note: "refused"}, {ID: "n2", Parent: "n1", At: 2}}},
	})
	s := open(t, dir, nil)
	before := filesOf(t, dir)
	for _, c := range []struct {
		model.Change
		want string
	}{
		{model.Change{Op: model.OpRestore, Ref: ref("read-only", "r1")}, "Demo reads it"},
		{model.Change{Op: model.OpRestore, Ref: ref("noted", "n1")}, "Demo does not load it"},
		{model.Change{Op: model.OpFork, Ref: ref("tour", "t1")}, "Demo forks by itself"},
		{model.Change{Op: model.OpRepair, Ref: ref("tour", "")}, ""},
	} {
		var refused *model.UnsupportedError
		if _, err := s.Plan(t.Context(), c.Change); !errors.As(err, &refused) || !strings.Contains(refused.Reason, c.want) {
			t.Errorf("%v: %v", c.Change, err)
		}
	}
	same(t, "files", filesOf(t, dir), before)
}

// An operation is lacked where no session of the folder has it, and each lacks it for the same reason.
func TestLacks(t *testing.T) {
	lacks := func(s *engine.Store) (ops []model.Op) {
		for _, op := range []model.Op{model.OpRestore, model.OpFork, model.OpUndo, model.OpRedo, model.OpRepair, model.OpEdit} {
			if s.Lacks(op) != "" {
				ops = append(ops, op)
			}
		}
		return ops
	}
	readOnly := map[string]written{"r.json": {"read-only", []item{{ID: "r1", At: 1}}}}
	same(t, "of one that is read only", lacks(open(t, folderOf(t, readOnly), nil)), []model.Op{model.OpRestore, model.OpFork, model.OpRepair, model.OpEdit})
	same(t, "of several", lacks(open(t, folderOf(t, readOnly, tour), nil)), []model.Op{model.OpRepair, model.OpEdit})
	same(t, "of several that are alike", lacks(open(t, folderOf(t, tour), nil)), []model.Op{model.OpFork, model.OpRepair, model.OpEdit})
}

// A plan is refused when the store is not as it was.
func TestApply_ofAStalePlan(t *testing.T) {
	dir := folderOf(t, tour)
	s := open(t, dir, nil)
	p := plan(t, s, model.Change{Op: model.OpRestore, Ref: ref("tour", "t1")})
	text, err := json.Marshal(written{"tour", []item{{ID: "t5", Parent: "t4", At: 5}}})
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "new.json"), string(text))
	if _, err := s.Apply(t.Context(), p); !errors.Is(err, model.ErrHeadMoved) {
		t.Errorf("it says %v", err)
	}
}

// A folder is known by one of its first files, in it or in a folder below, by its beginning.
func TestRecognise(t *testing.T) {
	signed := `{"demo_session":"s","items":[]}`
	many := func(n int) map[string]string {
		list := map[string]string{"z.json": signed}
		for i := range n {
			list[fmt.Sprintf("a%d.json", i)] = "{}"
		}
		return list
	}
	for name, test := range map[string]struct {
		files map[string]string
		want  bool
	}{
		"in it":                          {map[string]string{"a.json": signed}, true},
		"below it":                       {map[string]string{"b/a.json": signed}, true},
		"two levels below":               {map[string]string{"c/b/a.json": signed}, false},
		"of another name":                {map[string]string{"a.txt": signed}, false},
		"hidden":                         {map[string]string{".a.json": signed}, false},
		"in a hidden folder":             {map[string]string{".b/a.json": signed}, false},
		"behind a few of others":         {many(7), true},
		"behind more than are looked at": {many(8), false},
		"far into a file":                {map[string]string{"a.json": strings.Repeat(" ", 64<<10) + signed}, false},
		"empty":                          {nil, false},
	} {
		dir := t.TempDir()
		for file, text := range test.files {
			put(t, filepath.Join(dir, filepath.FromSlash(file)), text)
		}
		why, ok, err := demoKind.Kind(nil).Recognise(t.Context(), dir)
		if ok != test.want || err != nil || (why == "a file with demo_session") != ok {
			t.Errorf("%s: %q, %t, %v", name, why, ok, err)
		}
	}
	if _, ok, err := demoKind.Kind(nil).Recognise(t.Context(), filepath.Join(t.TempDir(), "none")); ok || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of no folder: %t, %v", ok, err)
	}
	file := filepath.Join(t.TempDir(), "a.json")
	put(t, file, signed)
	if _, ok, err := demoKind.Kind(nil).Recognise(t.Context(), file); ok || err != nil {
		t.Errorf("of a file: %t, %v", ok, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := demoKind.Kind(nil).Recognise(ctx, filepath.Dir(file)); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that ended: %v", err)
	}
}

// ByTime orders by time, then by id.
func TestByTime(t *testing.T) {
	var list []checkpoints.Item
	for _, at := range []struct {
		id string
		at int
	}{{"b", 2}, {"a", 2}, {"c", 1}, {"0", 3}} {
		list = append(list, checkpoints.Item{Header: model.Header{ID: at.id, CreatedAt: began.Add(time.Duration(at.at))}})
	}
	checkpoints.ByTime(list)
	var got []string
	for i := range list {
		got = append(got, list[i].ID)
	}
	same(t, "order", got, []string{"c", "a", "b", "0"})
}

// Watch tells of a file in a folder below, and not of those that are written first and renamed then.
func TestWatch(t *testing.T) {
	dir := folderOf(t, tour)
	s := open(t, dir, nil)
	changed, err := s.Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "deep", "new.json"), "{}")
	select {
	case <-changed:
	case <-time.After(20 * time.Second):
		t.Error("a new file in a folder below is not told")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for {
		select {
		case _, open := <-changed:
			if !open {
				return
			}
		case <-time.After(20 * time.Second):
			t.Fatal("it watches after it was closed")
		}
	}
}
