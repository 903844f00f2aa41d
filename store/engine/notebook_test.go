package engine

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store/media/disk"
	"hindcast/store/media/journal"
	"hindcast/store/media/tree"
)

// notebook is the smallest format that has all that the engine knows. A session is a folder with
// a file for each row, "PARENT TEXT", and may have a file that names its head.
type notebook struct {
	// moves, if it is set, changes what Move returns.
	moves func(*Move)
	// reads, if it is set, is called before a session is read.
	reads func(In)
	// settled says that logs have all that follows from their rows already.
	settled bool
	// lenient says that files that cannot be read are passed over.
	lenient bool
}

// page is what a file of a row holds.
type page struct{ parent, text string }

var pages = tree.Codec[page]{
	Decode: func(f tree.File) (page, bool) {
		parent, text, _ := strings.Cut(string(f.Data), " ")
		return page{parent, text}, strings.HasSuffix(text, ".")
	},
	Note: func(p page) []byte { return []byte(p.parent + " " + p.text) },
	Recall: func(f tree.File) (page, error) {
		parent, text, ok := strings.Cut(string(f.Data), " ")
		if !ok {
			return page{}, errors.New("no note")
		}
		return page{parent, text}, nil
	},
}

func (f *notebook) Read(ctx context.Context, in In, at Place, _ string) (*Log, error) {
	if f.reads != nil {
		f.reads(in)
	}
	log := &Log{Place: at, Head: -1}
	dir := at.Session + "/rows"
	names, err := in.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return log, nil
	}
	if err != nil {
		return nil, err
	}
	names = slices.Sorted(slices.Values(names))
	notes, err := tree.Notes(ctx, in.Tree, in.Memo, dir, names, pages)
	if err != nil {
		return nil, err
	}
	own := map[string]page{}
	for _, n := range notes {
		if n.Err != nil && f.lenient {
			continue
		}
		if n.Err != nil {
			return nil, n.Err
		}
		event := model.SnapshotEventToolIterationEnd
		if strings.HasPrefix(n.Is.text, "end") {
			event = model.SnapshotEventTurnEnd
		}
		log.Rows = append(log.Rows, model.Header{ID: n.Name, ParentID: strings.TrimPrefix(n.Is.parent, "-"), Title: n.Is.text, SessionID: at.Session, TurnIndex: model.TurnUnknown, Event: event})
		file := tree.Join(dir, n.Name)
		log.Files, own[n.Name] = append(log.Files, file), n.Is
		stamp, err := in.Stamp(file)
		if err != nil {
			return nil, err
		}
		log.Written = append(log.Written, Written{file, stamp.Modified})
	}
	log.Own, log.Settled = own, f.settled
	head, _, err := in.Read(at.Session+"/head", nil)
	switch {
	case err == nil:
		log.Head, log.Pointed = log.At(string(head)), true
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	if !log.Pointed || log.Head < 0 {
		log.Head = len(log.Rows) - 1
	}
	return log, nil
}

// Move is that of the Format. A restore takes away the rows behind its target, and brings those back that
// lead to it. A repair gives the head another text.
func (f *notebook) Move(ctx context.Context, in In, before *Log, c model.Change) (*Move, error) {
	session := before.Place.Session
	if c.Op == model.OpPurge {
		return &Move{Forget: func(name string, data []byte) bool {
			return c.Scope == model.PurgeRedacted || bytes.Contains(data, []byte("secret"))
		}}, nil
	}
	i := before.At(c.Ref.ID)
	if len(before.Rows) == 0 {
		return nil, model.ErrNoSession
	}
	if i < 0 {
		return nil, model.ErrNoSnapshot
	}
	m := &Move{Target: before.Rows[i].Point(), Writes: []string{"rows"}, Hazards: []string{"a hazard"}, Asks: []string{"really?"}, Was: "was " + before.HeadPoint().ID, Closed: []string{session + "/rows", session + "/none"}}
	uses := func(name string) error {
		data, _, err := in.Read(name, nil)
		if err == nil {
			m.Uses = map[string]string{name: fmt.Sprintf("%x", sha256.Sum256(data))}
		} else if errors.Is(err, fs.ErrNotExist) {
			m.Uses, err = map[string]string{name: ""}, nil
		}
		return err
	}
	m.Keeps = []string{session + "/rows/" + before.Rows[0].ID}
	way := map[string]bool{}
	for at := i; at >= 0; at = before.At(before.Rows[at].ParentID) {
		way[before.Rows[at].ID] = true
	}
	switch c.Op {
	case model.OpRepair:
		m.Steps = tree.Steps{{Name: before.Files[i], Data: []byte(before.Rows[i].ParentID + " mended.")}}
		if err := uses(before.Files[i]); err != nil {
			return nil, err
		}
	case model.OpFork:
		m.New = &Place{Session: c.As, Folders: []string{c.As + "/rows"}}
		m.Closed = []string{c.As + "/rows"}
		for k := range before.Rows {
			if way[before.Rows[k].ID] {
				m.Steps = append(m.Steps, tree.Step{Name: c.As + "/rows/" + before.Rows[k].ID, From: before.Files[k]})
			}
		}
		m.Steps = append(m.Steps, tree.Step{Name: c.As + "/head", Data: []byte(c.Ref.ID)})
	default:
		for k := range slices.Backward(before.Rows) {
			switch aside := before.Aside[before.Rows[k].ID]; {
			case way[before.Rows[k].ID] && aside != nil:
				m.Steps = append(m.Steps, tree.Step{Name: aside.Name, Version: aside.Version})
			case !way[before.Rows[k].ID] && aside == nil && k > i:
				m.Steps = append(m.Steps, tree.Step{Name: before.Files[k], Aside: true})
			}
		}
		if head := before.HeadPoint().ID; head != c.Ref.ID {
			if err := uses(session + "/head"); err != nil {
				return nil, err
			}
			m.Steps = append(m.Steps, tree.Step{Name: session + "/head", Data: []byte(c.Ref.ID)})
		}
	}
	if f.moves != nil {
		f.moves(m)
	}
	return m, nil
}

// Next is that of the Format.
func (*notebook) Next(_ context.Context, _ In, before, after *Log, m *Move) (Next, error) {
	if len(after.Rows) > 0 && strings.HasPrefix(after.Rows[max(after.Head, 0)].Title, "broken") {
		return Next{}, &model.UnsupportedError{Op: model.OpRestore, Reason: "it is broken"}
	}
	next := Next{Loads: "the pages of " + after.Place.Session, Calls: []model.Resume{{Call: "notebook " + after.Place.Session}}}
	if m != nil {
		next.Hazards = append(next.Hazards, fmt.Sprint("leaves: ", before.Leaves(after)))
	}
	return next, nil
}

// book is an open storage of notebooks.
type book struct {
	*testing.T
	*Storage
	store  *Store
	kind   string // "" for a notebook
	files  *Files
	dir    string
	format *notebook
	// state returns the state of a row; nil for no states, of whose messages nothing is said.
	state func(id string) ([]byte, error)
	// called returns the session's name in the port, named the other way round; nil for the same name.
	called, named func(string) string
	// clock is what the storage tells the time by.
	clock time.Time
}

var noonOf = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// at returns where the session of a name is.
func (b *book) at(session string) Place {
	at := Place{Session: session, Folders: []string{session + "/rows"}}
	if b.called != nil {
		at.ID = b.called(session)
	}
	return at
}

// open opens a folder with options.
func (b *book) open(o StorageOptions) {
	b.Helper()
	o.Place = b.at
	o.Now, o.Notes = func() time.Time { return b.clock }, "notebook"
	s, err := OpenStorage(b.dir, o)
	if err != nil {
		b.Fatal(err)
	}
	b.Storage, b.files = s, &Files{Storage: s}
	b.store = OnFiles(Format{
		Name: cmp.Or(b.kind, "notebook"), Framework: "Notebook", Warns: b.state == nil,
		Place: func(_ context.Context, _ In, id string) (Place, error) {
			if id == "forbidden" {
				return Place{}, &model.UnsupportedError{Op: model.OpRestore, Reason: "it is forbidden"}
			}
			if b.named != nil {
				id = b.named(id)
			}
			return b.at(id), nil
		},
		Read:  b.format.Read,
		State: func(_ context.Context, _ In, row *Row) ([]byte, error) { return b.state(row.ID) },
		Lacks: func(op model.Op) string { return map[model.Op]string{model.OpEdit: "pages are not edited"}[op] },
		Move: func(ctx context.Context, in In, before *Log, c model.Change) (*Move, error) {
			m, err := b.format.Move(ctx, in, before, c)
			if err == nil && m.New != nil {
				m.New.ID = b.at(m.New.Session).ID
			}
			return m, err
		},
		Next: b.format.Next,
	}, b.files, b.dir)
	b.Cleanup(func() { b.store.Close() })
}

// Log returns the log of the session at a place.
func (b *book) Log(ctx context.Context, at Place) (log *Log, err error) {
	failed := b.files.Read(ctx, func(in In) error {
		log, err = b.format.Read(ctx, in, at, "")
		if err == nil {
			log, err = in.Writes.Complete(ctx, in, log, b.format.Read)
		}
		return err
	})
	return log, failed
}

// newBook makes a storage of two sessions. "s" was at b when it went on with c, and d has the branch
// that was left; "t" has a head that is named.
func newBook(t *testing.T) *book {
	t.Helper()
	b := &book{T: t, dir: t.TempDir(), format: &notebook{}, clock: noonOf}
	b.write(map[string]string{
		"s/rows/a": "- one.", "s/rows/b": "a end two.", "s/rows/c": "b three.", "s/rows/d": "c end four.", "s/rows/e": "d five.",
		"t/rows/a": "- uno.", "t/rows/b": "a due.", "t/head": "b",
	})
	b.open(StorageOptions{})
	return b
}

// write writes files, long ago; one of "" is removed.
func (b *book) write(all map[string]string) {
	b.Helper()
	old := noonOf.Add(-time.Hour)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		file := filepath.Join(b.dir, filepath.FromSlash(name))
		if all[name] == "" {
			if err := os.Remove(file); err != nil {
				b.Fatal(err)
			}
			continue
		}
		put(b.T, b.dir, name, all[name])
		if err := os.Chtimes(file, old, old); err != nil {
			b.Fatal(err)
		}
	}
}

// tree returns all files but the journal's own.
func (b *book) tree() map[string]string {
	b.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(b.dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() && e.Name() == journal.Folder {
			return fs.SkipDir
		}
		if err != nil {
			return err
		}
		if e.IsDir() {
			return nil
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(b.dir, path)
		all[filepath.ToSlash(name)] = string(data)
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return all
}

// drawn draws the log of a session: an id with its parent and turn, "*" for the head, "~" with the
// reason for what is off the path and "^" for what the journal alone has.
func (b *book) drawn(session string) string {
	b.Helper()
	log, err := b.Log(b.Context(), b.place(session))
	if err != nil {
		b.Fatal(err)
	}
	var words []string
	for i, h := range log.Rows {
		text := fmt.Sprintf("%s<%s t%d", h.ID, h.ParentID, h.TurnIndex)
		if h.Head {
			text += "*"
		}
		if h.Orphaned {
			text += "~" + fmt.Sprint(int(h.Reason.Kind))
		}
		if log.Aside[h.ID] != nil {
			text += "^"
		}
		if h.Index != i {
			b.Errorf("%s is #%d", h.ID, h.Index)
		}
		words = append(words, text)
	}
	return strings.Join(words, " ")
}

func (b *book) planned(c model.Change) model.Plan {
	b.Helper()
	p, err := b.store.Plan(b.Context(), c)
	if err != nil {
		b.Fatalf("%+v: %v", c, err)
	}
	return p
}

func (b *book) do(c model.Change) model.Receipt {
	b.Helper()
	r, err := b.store.Apply(b.Context(), b.planned(c))
	if err != nil {
		b.Fatalf("%+v: %v", c, err)
	}
	return r
}

func to(op model.Op, session, id string) model.Change {
	return model.Change{Op: op, Ref: model.Ref{Session: session, ID: id}}
}

func forkAs(session, id, as string) model.Change {
	return model.Change{Op: model.OpFork, Ref: model.Ref{Session: session, ID: id}, As: as}
}

var undo, redo = model.Change{Op: model.OpUndo}, model.Change{Op: model.OpRedo}

func idsOf(points []model.Point) string {
	var list []string
	for _, p := range points {
		list = append(list, p.ID)
	}
	return strings.Join(list, " ")
}

const restored, undone = int(model.ReasonRestore), int(model.ReasonUndo)

const allRows = "a< t0 b<a t0 c<b t1 d<c t1 e<d t2*"

// TestStorage_log: a log has its rows, their turns and its head, and what a write took away in its place
// among them, with why.
func TestStorage_log(t *testing.T) {
	b := newBook(t)
	if got := b.drawn("s"); got != allRows {
		t.Error(got)
	}
	if got := b.drawn("t"); got != "a< t0 b<a t0*" {
		t.Error(got)
	}
	if got := b.drawn("none"); got != "" {
		t.Error(got)
	}
	left := fmt.Sprintf("a< t0 b<a t0* c<b t1~%d^ d<c t1~%d^ e<d t2~%d^", restored, restored, restored)
	b.do(to(model.OpRestore, "s", "b"))
	if got := b.drawn("s"); got != left {
		t.Error(got)
	}
	log, err := b.Log(t.Context(), b.place("s"))
	if err != nil || log.There() != 2 || log.Rows[3].Reason.TargetID != "b" || log.Rows[3].Reason.TargetIndex != 1 || !log.Rows[3].Reason.At.Equal(noonOf) || len(log.Whole.(map[string]page)) != 5 {
		t.Errorf("%+v, %v", log, err)
	}
	b.do(undo)
	if got := b.drawn("s"); got != allRows {
		t.Error(got)
	}
	b.do(redo)
	if got := b.drawn("s"); got != left {
		t.Error(got)
	}
	// The agent goes on beside what was left, and a restore brings that back.
	b.write(map[string]string{"s/rows/x": "b six.", "s/head": "x"})
	if got, want := b.drawn("s"), fmt.Sprintf("a< t0 b<a t0 c<b t1~%d^ d<c t1~%d^ e<d t2~%d^ x<b t1*", restored, restored, restored); got != want {
		t.Error(got)
	}
	p := b.planned(to(model.OpRestore, "s", "d"))
	if idsOf(p.Reactivates) != "c d" || idsOf(p.Orphans) != "x" {
		t.Errorf("%+v", p)
	}
	if _, err := b.store.Apply(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if got, want := b.drawn("s"), fmt.Sprintf("a< t0 b<a t0 c<b t1 d<c t1* e<d t2~%d^ x<b t1~%d^", restored, restored); got != want {
		t.Error(got)
	}
}

// TestStorage_plan says all of a write: what changes, who leaves, what the framework does then.
func TestStorage_plan(t *testing.T) {
	b := newBook(t)
	before := b.tree()
	p := b.planned(to(model.OpRestore, "s", "b"))
	var names []string
	for _, f := range p.Files {
		names = append(names, string(f.Does)+" "+f.Path)
	}
	if p.Op != model.OpRestore || p.Session != "s" || p.Head.ID != "e" || p.Target.ID != "b" || p.NewHead || idsOf(p.Orphans) != "c d e" || p.Loads != "the pages of s" || p.Resume[0].Call != "notebook s" ||
		!slices.Equal(p.Hazards, []string{"a hazard", "leaves: true"}) || !slices.Equal(p.Asks, []string{"really?"}) || p.Writes[0] != "rows" {
		t.Errorf("%+v", p)
	}
	if want := []string{"set aside s/rows/e", "set aside s/rows/d", "set aside s/rows/c", "write s/head"}; !slices.Equal(names, want) {
		t.Errorf("%q", names)
	}
	if f := b.planned(forkAs("s", "b", "f")); f.NewSession != "f" || f.Session != "s" || len(f.Orphans) != 0 || f.Target.ID != "b" || len(f.Files) < 3 {
		t.Errorf("%+v", f)
	}
	if stay := b.planned(to(model.OpRestore, "t", "b")); !stay.Idle() || !slices.Contains(stay.Hazards, "leaves: false") {
		t.Errorf("%+v", stay)
	}
	if now := b.tree(); !maps.Equal(now, before) || b.HasWrites() {
		t.Errorf("a plan writes: %q", now)
	}
}

// TestPort_apply: a write says what it did, an undo gives each file its bytes back, a redo does the same
// again, and the journal tells of it.
func TestPort_apply(t *testing.T) {
	b := newBook(t)
	before, early := b.tree(), b.planned(to(model.OpRestore, "s", "b"))
	r := b.do(to(model.OpRestore, "s", "b"))
	if r.Entry != 1 || r.Session != "s" || r.Head.ID != "b" || r.Orphaned != 3 || r.Op != model.OpRestore {
		t.Errorf("%+v", r)
	}
	after := b.tree()
	if len(after) != len(before)-2 || after["s/head"] != "b" || after["s/rows/c"] != "" {
		t.Errorf("%q", after)
	}
	p := b.planned(undo)
	if p.Session != "s" || p.Entry != 1 || p.Target.ID != "e" || p.Head.ID != "b" || idsOf(p.Reactivates) != "c d e" || p.Removes || p.Loads != "the pages of s" || len(p.Resume) != 1 {
		t.Errorf("%+v", p)
	}
	if r, err := b.store.Apply(t.Context(), p); err != nil || r.Entry != 1 || r.Reactivated != 3 || r.Head.ID != "e" {
		t.Errorf("%+v, %v", r, err)
	}
	if now := b.tree(); !maps.Equal(now, before) {
		t.Errorf("%q", now)
	}
	b.do(redo)
	if now := b.tree(); !maps.Equal(now, after) {
		t.Errorf("%q", now)
	}
	f := b.do(forkAs("s", "b", "f"))
	if f.Session != "f" || f.Head.ID != "b" || b.drawn("f") != "a< t0 b<a t0*" {
		t.Errorf("%+v %s", f, b.drawn("f"))
	}
	if p := b.planned(undo); !p.Removes || p.Session != "f" {
		t.Errorf("%+v", p)
	}
	b.do(undo)
	if now := b.tree(); !maps.Equal(now, after) {
		t.Errorf("%q", now)
	}
	list, err := b.store.Journal(t.Context())
	if err != nil || len(list) != 2 || list[0].Session != "f" || !list[0].Undone || list[1].Session != "s" || list[1].Undone || list[1].From != "e" || list[1].To != "b" {
		t.Errorf("%+v, %v", list, err)
	}
	entries, err := b.Entries(t.Context())
	if err != nil || entries[0].Head != "b" || entries[0].Was != "was e" || len(entries[0].Stays()) != 1 || len(entries[0].Came) == 0 {
		t.Errorf("%+v, %v", entries[0], err)
	}
	// What was done by another plan is not done once more.
	if _, err := b.store.Apply(t.Context(), early); !errors.Is(err, model.ErrHeadMoved) || !strings.HasPrefix(err.Error(), `notebook: restore session "s": `) {
		t.Error(err)
	}
	if _, err := b.store.Apply(t.Context(), model.Plan{Op: model.OpRestore, Session: "s"}); !errors.Is(err, journal.ErrNoCarry) {
		t.Error(err)
	}
}

// TestPort_refuses says why a change is not planned.
func TestPort_refuses(t *testing.T) {
	b := newBook(t)
	for _, c := range []struct {
		change model.Change
		is     error
		says   string
	}{
		{to(model.OpRestore, "none", "a"), model.ErrNoSession, "notebook"},
		{to(model.OpRestore, "s", "none"), model.ErrNoSnapshot, "notebook"},
		{model.Change{Op: model.OpRestore, Ref: model.Ref{Session: "s", ID: "a", Visit: 2}}, model.ErrNoSnapshot, ""},
		{to(model.OpEdit, "s", "a"), errUnsupported, "pages are not edited"},
		{to(model.OpConvert, "s", "a"), errUnsupported, ""},
		{to(model.OpRestore, "forbidden", "a"), errUnsupported, "it is forbidden"},
		{to(model.OpRestore, "\xff", "a"), errUnsupported, "not UTF-8"},
		{undo, errNothing, ""}, {redo, errNothing, ""},
	} {
		if c.change.Ref.Session == "\xff" {
			b.write(map[string]string{"\xff/rows/a": "- one."})
		}
		_, err := b.store.Plan(t.Context(), c.change)
		is := errors.Is(err, c.is)
		switch c.is {
		case errUnsupported:
			is = errors.As(err, new(*model.UnsupportedError))
		case errNothing:
			is = errors.As(err, new(*model.NothingToError))
		}
		if !is || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v", c.change, err)
		}
	}
	b.do(to(model.OpRestore, "s", "b"))
	if _, err := b.store.Plan(t.Context(), redo); !errors.As(err, new(*model.NothingToError)) {
		t.Error(err)
	}
	b.write(map[string]string{"t/rows/c": "b broken.", "t/head": "c", "t/rows/d": "c end."})
	if _, err := b.store.Plan(t.Context(), to(model.OpRestore, "t", "c")); err != nil && !strings.Contains(err.Error(), "it is broken") || err == nil {
		t.Error(err)
	}
	if list, err := newBook(t).store.Journal(t.Context()); list != nil || err != nil {
		t.Error(list, err)
	}
}

var errUnsupported, errNothing = errors.New("unsupported"), errors.New("nothing")

// TestPort_conflicts: where the files are not as the plan saw them, nothing is written and it is said
// which file it is.
func TestPort_conflicts(t *testing.T) {
	for _, c := range []struct {
		change model.Change
		does   map[string]string
		says   string
	}{
		{to(model.OpRestore, "s", "b"), map[string]string{"s/rows/f": "e six."}, "s/rows/f came"},
		{to(model.OpRestore, "s", "b"), map[string]string{"s/rows/e": ""}, "s/rows/e went"},
		{to(model.OpRestore, "s", "b"), map[string]string{"s/rows/e": "c five."}, "s/rows/e was changed"},
		{to(model.OpRestore, "s", "b"), map[string]string{"s/rows/e": "d other."}, "s/rows/e was changed"},
		{to(model.OpRestore, "t", "a"), map[string]string{"t/head": "a"}, "t/head was changed"},
		{to(model.OpRepair, "t", "b"), map[string]string{"t/rows/b": "a tre."}, "t/rows/b was changed"},
		{forkAs("s", "b", "f"), map[string]string{"f/rows/z": "- taken."}, "f/rows/z came"},
	} {
		b := newBook(t)
		p := b.planned(c.change)
		b.write(c.does)
		before := b.tree()
		_, err := b.store.Apply(t.Context(), p)
		if !errors.Is(err, model.ErrHeadMoved) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v %q: %v", c.change.Op, c.does, err)
		}
		if now := b.tree(); !maps.Equal(now, before) {
			t.Errorf("%v %q: it is %q", c.change.Op, c.does, now)
		}
	}
	// What the move read is what is there when it is drafted.
	b := newBook(t)
	b.format.moves = func(m *Move) { m.Uses = map[string]string{"t/head": "other"} }
	if _, err := b.store.Plan(t.Context(), to(model.OpRestore, "t", "a")); !errors.Is(err, model.ErrHeadMoved) || !strings.Contains(err.Error(), "t/head was changed") {
		t.Error(err)
	}
	// A file beside the steps that a move used is looked at too.
	b.format.moves = func(m *Move) { m.Uses["s/rows/a"] = fmt.Sprintf("%x", sha256.Sum256([]byte("- one."))) }
	p := b.planned(to(model.OpRestore, "t", "a"))
	b.write(map[string]string{"s/rows/a": "- uno."})
	if _, err := b.store.Apply(t.Context(), p); !errors.Is(err, model.ErrHeadMoved) || !strings.Contains(err.Error(), "s/rows/a was changed") {
		t.Error(err)
	}
}

// TestPort_changesMeanwhile: what changes while a plan is made is told as that.
func TestPort_changesMeanwhile(t *testing.T) {
	b := newBook(t)
	reads := 0
	b.format.reads = func(in In) {
		if reads++; reads == 2 {
			b.write(map[string]string{"s/rows/b": "a end changed."})
		}
	}
	b.format.moves = func(m *Move) {
		if _, _, err := b.In().Read("s/rows/b", nil); err != nil {
			t.Error(err)
		}
	}
	_, err := b.store.Plan(t.Context(), to(model.OpRestore, "s", "c"))
	if err != nil && !errors.Is(err, model.ErrHeadMoved) {
		t.Error(err)
	}
	// An error that comes of it is not told as if it were so.
	b = newBook(t)
	b.format.moves = func(*Move) { b.write(map[string]string{"s/rows/z": "e more."}) }
	b.format.reads = func(in In) {
		if _, err := in.Stamp("s/rows/z"); err == nil && in.There {
			in.Memo = nil
		}
	}
	b.write(map[string]string{"s/rows/d": "c broken."})
	if _, err := b.store.Plan(t.Context(), to(model.OpRestore, "s", "d")); !errors.Is(err, model.ErrHeadMoved) {
		t.Error(err)
	}
	b.format.moves = nil
	var refused *model.UnsupportedError
	if _, err := b.store.Plan(t.Context(), to(model.OpRestore, "s", "d")); !errors.As(err, &refused) {
		t.Error(err)
	}
}

// TestPort_wentOn: an undo is refused where the agent went on from what would go.
func TestPort_wentOn(t *testing.T) {
	for _, c := range []struct {
		change model.Change
		does   map[string]string
		says   string
	}{
		{to(model.OpRestore, "s", "b"), map[string]string{"s/head": "x", "s/rows/x": "b on."}, "the agent went on from it"},
		{forkAs("s", "b", "f"), map[string]string{"f/rows/x": "b on."}, "f/rows/x appeared since"},
		{to(model.OpRestore, "s", "b"), map[string]string{"s/rows/f": "b on."}, ""},
	} {
		b := newBook(t)
		b.do(c.change)
		early := b.planned(undo)
		b.write(c.does)
		before := b.tree()
		_, err := b.store.Plan(t.Context(), undo)
		if c.says != "" && (!errors.Is(err, model.ErrHeadMoved) || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%q: %v", c.does, err)
		}
		if _, err := b.store.Apply(t.Context(), early); !errors.Is(err, model.ErrHeadMoved) {
			t.Errorf("%q: %v", c.does, err)
		}
		if now := b.tree(); !maps.Equal(now, before) {
			t.Errorf("%q: it is %q", c.does, now)
		}
	}
}

// TestPort_purge: what is forgotten is what a purge chooses of the session, and no other session needs.
func TestPort_purge(t *testing.T) {
	b := newBook(t)
	b.write(map[string]string{"s/rows/c": "b secret.", "s/rows/e": "d shared secret.", "t/rows/c": "b more.", "t/head": "c", "t/rows/x": "c other secret."})
	b.do(to(model.OpRestore, "s", "b")) // sets aside c, d and e
	b.do(to(model.OpRestore, "t", "b")) // sets aside c and x
	kept := func() string {
		t.Helper()
		var list []string
		entries, err := b.Entries(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			for _, c := range e.Changes() {
				if data, err := b.ReadKept(c.Before); err == nil && c.Does == model.FileSetAside {
					list = append(list, c.Path+" "+string(data))
				}
			}
		}
		slices.Sort(list)
		return strings.Join(list, "; ")
	}
	all := "s/rows/c b secret.; s/rows/d c end four.; s/rows/e d shared secret.; t/rows/c b more.; t/rows/x c other secret."
	if got := kept(); got != all {
		t.Fatal(got)
	}
	p := b.planned(model.Change{Op: model.OpPurge, Ref: model.Ref{Session: "s"}})
	if p.Head.ID != "b" || len(p.Files) != 2 {
		t.Errorf("%+v", p)
	}
	if _, err := b.store.Apply(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if got := kept(); got != "s/rows/d c end four.; t/rows/c b more.; t/rows/x c other secret." {
		t.Error(got)
	}
	if got, want := b.drawn("s"), "a< t0 b<a t0*"; got != want && !strings.HasPrefix(got, want) {
		t.Error(got)
	}
	// A content that another session had stays, unless it is to be gone because it was redacted.
	b = newBook(t)
	b.write(map[string]string{"s/rows/c": "b secret.", "t/rows/c": "b secret.", "t/head": "c"})
	b.do(to(model.OpRestore, "s", "b"))
	b.do(to(model.OpRestore, "t", "b"))
	purge := func(session string, what model.PurgeScope) int {
		t.Helper()
		p, err := b.store.Plan(t.Context(), model.Change{Op: model.OpPurge, Ref: model.Ref{Session: session}, Scope: what})
		if err != nil && !errors.As(err, new(*model.NothingToError)) {
			t.Error(err)
		}
		return len(p.Files)
	}
	if n, all := purge("s", ""), purge("s", model.PurgeRedacted); n != 0 || all == 0 {
		t.Errorf("%d, %d", n, all)
	}
	// What a file has now stays, and of a session without entries there is nothing.
	b = newBook(t)
	b.write(map[string]string{"s/rows/e": "d secret."})
	b.do(to(model.OpRestore, "s", "b"))
	b.do(undo)
	if n := purge("s", ""); n != 0 {
		t.Error(n)
	}
	if n := purge("t", model.PurgeRedacted); n != 0 {
		t.Error(n)
	}
	b = newBook(t)
	if n := purge("s", ""); n != 0 {
		t.Error(n)
	}
}

// TestPort_busy: while an agent may be at work a plan asks, but not of what Hindcast wrote itself, nor
// for a session that is made.
func TestPort_busy(t *testing.T) {
	b := newBook(t)
	asks := func(c model.Change) string { return strings.Join(b.planned(c).Asks, "; ") }
	at := noonOf.Add(-10 * time.Second)
	if err := os.Chtimes(filepath.Join(b.dir, "s/rows/c"), at, at); err != nil {
		t.Fatal(err)
	}
	if got := asks(to(model.OpRestore, "s", "b")); got != "the session was written 10s ago: an agent may still be running; really?" {
		t.Error(got)
	}
	if got := asks(forkAs("s", "b", "f")); got != "really?" {
		t.Error(got)
	}
	if got := asks(to(model.OpRestore, "t", "a")); got != "really?" {
		t.Error(got)
	}
	b.do(to(model.OpRestore, "s", "c"))
	if got := asks(undo); got != "the session was written 10s ago: an agent may still be running" {
		t.Error(got)
	}
	b.clock = b.clock.Add(time.Hour)
	if got := asks(undo); got != "" {
		t.Error(got)
	}
}

// TestTold_facts says of the file of a row what Hindcast did to it.
func TestTold_facts(t *testing.T) {
	b := newBook(t)
	b.do(to(model.OpRestore, "s", "c"))
	b.do(forkAs("s", "b", "f"))
	w := b.Writes(t.Context())
	facts := func(session, file string) string {
		var list []string
		for _, f := range w.ForSession(session).Facts(file) {
			list = append(list, f.Label+": "+f.Value)
		}
		return strings.Join(list, "; ")
	}
	for _, c := range []struct{ session, file, want string }{
		{"s", "s/rows/a", ""},
		{"s", "s/rows/d", "set aside: by a restore of Hindcast's at 2026-03-01T12:00:00Z, entry 1 of its journal"},
		{"s", "s/head", "written by: Hindcast, by a restore to #2 c at 2026-03-01T12:00:00Z, entry 1 of its journal"},
		{"f", "f/rows/a", "written by: Hindcast, by a fork from #1 b at 2026-03-01T12:00:00Z, entry 2 of its journal"},
		{"none", "f/rows/a", ""},
	} {
		if got := facts(c.session, c.file); got != c.want {
			t.Errorf("%s: %q", c.file, got)
		}
	}
	b.do(undo)
	w = b.Writes(t.Context())
	if got := facts("f", "f/rows/a"); got != "taken away: by an undo of Hindcast's, with entry 2 of its journal" {
		t.Error(got)
	}
	if got := slices.Sorted(slices.Values(w.Sessions())); !slices.Equal(got, []string{"f", "s"}) {
		t.Errorf("%q", got)
	}
	s := w.ForSession("s")
	if s.Last() == nil || s.Last().To != "c" || len(s.Entries()) != 1 || s.MakerOf("s/head") == nil || s.MakerOf("s/rows/d") != nil {
		t.Errorf("%+v", s.Last())
	}
	var none *Told
	if none.Last() != nil || none.Entries() != nil || none.MakerOf("x") != nil || none.ListAside() != nil || w.ForSession("f").Last() != nil {
		t.Error("nothing tells something")
	}
	if got := (&Mark{Op: model.OpRepair, Entry: 3, At: noonOf}).String(); got != "Hindcast, by a repair at 2026-03-01T12:00:00Z, entry 3 of its journal" {
		t.Error(got)
	}
	if got := (&Aside{Mark: &Mark{}, How: BroughtBack}).Reason().Kind; got != model.ReasonOverwritten {
		t.Error(got)
	}
	if got := (&Aside{Mark: &Mark{}, How: Undone}).Reason().Kind; got != model.ReasonUndo {
		t.Error(got)
	}
	if got := (&Aside{Mark: &Mark{}, How: SetAside}).Reason().Kind; got != model.ReasonRestore {
		t.Error(got)
	}
}

// TestTold_undoneParent: a row that an undo took away is shown where others go on from it, with all above
// it that went too.
func TestTold_undoneParent(t *testing.T) {
	b := newBook(t)
	b.write(map[string]string{"f/rows/0": "- zero."})
	b.do(forkAs("s", "d", "g"))
	b.do(undo)
	b.write(map[string]string{"g/rows/x": "d on.", "g/head": "x"})
	if got, want := b.drawn("g"), "a< t0~U^ b<a t0~U^ c<b t1~U^ d<c t1~U^ x<d t2*"; got != strings.ReplaceAll(want, "U", fmt.Sprint(undone)) {
		t.Error(got)
	}
	b.write(map[string]string{"g/rows/x": "b on."})
	if got, want := b.drawn("g"), "a< t0~U^ b<a t0~U^ x<b t1*"; got != strings.ReplaceAll(want, "U", fmt.Sprint(undone)) {
		t.Error(got)
	}
	b.write(map[string]string{"g/rows/x": "- on."})
	if got := b.drawn("g"); got != "x< t0*" {
		t.Error(got)
	}
}

// TestStorage_plan_locksNothing: a plan asks for no lock, which another program's write may need.
func TestStorage_plan_locksNothing(t *testing.T) {
	b := newBook(t)
	b.do(to(model.OpRestore, "s", "b"))
	locks := 0
	if err := b.WriteThrough(func(on disk.Disk) disk.Disk { return countedLocks{on, &locks} }); err != nil {
		t.Fatal(err)
	}
	p := b.planned(to(model.OpRestore, "s", "a"))
	if b.planned(undo); locks != 0 {
		t.Errorf("plans took %d locks", locks)
	}
	if _, err := b.store.Apply(t.Context(), p); err != nil || locks == 0 {
		t.Errorf("%d locks, %v", locks, err)
	}
}

// countedLocks counts the locks that are asked for.
type countedLocks struct {
	disk.Disk
	locks *int
}

func (c countedLocks) Lock(name string) (func() error, error) {
	*c.locks++
	return c.Disk.Lock(name)
}

// TestStorage_fork_isToldOfItsOwnSession: who reads the session that a fork makes is told what the journal
// tells of that one, and not of the one that it comes of.
func TestStorage_fork_isToldOfItsOwnSession(t *testing.T) {
	b := newBook(t)
	b.do(forkAs("s", "b", "f"))
	b.do(undo)
	p := b.planned(forkAs("s", "d", "f"))
	reads := 0
	b.format.reads = func(in In) {
		reads++
		if list := in.Writes.ForSession("f").Entries(); len(list) != 1 || list[0].Session != "f" {
			t.Errorf("read %d is told of %+v", reads, list)
		}
	}
	if _, err := b.store.Apply(t.Context(), p); err != nil || reads == 0 {
		t.Errorf("%d, %v", reads, err)
	}
}

// TestStorage_closed: no name may come into a folder that a move closes, be it a row or not.
func TestStorage_closed(t *testing.T) {
	b := newBook(t)
	b.write(map[string]string{"notes/one": "1"})
	b.format.moves = func(m *Move) { m.Closed = append(m.Closed, "notes", "none", "t/head") }
	p := b.planned(to(model.OpRestore, "s", "b"))
	b.write(map[string]string{"notes/two": "2"})
	if _, err := b.store.Apply(t.Context(), p); !errors.Is(err, model.ErrHeadMoved) || !strings.Contains(err.Error(), "notes got or lost a file") {
		t.Error(err)
	}
	b.do(to(model.OpRestore, "s", "b"))
}

// TestStorage_close lets go of the disk that the journal is on.
func TestStorage_close(t *testing.T) {
	b := newBook(t)
	j, err := b.Storage.Journal()
	if err != nil {
		t.Fatal(err)
	}
	if v, err := j.Version("s/rows/a"); v.Size != int64(len("- one.")) || err != nil {
		t.Errorf("%+v, %v", v, err)
	}
	if err := b.Storage.Close(); err != nil {
		t.Fatal(err)
	}
	if v, err := j.Version("s/rows/a"); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("%+v, %v", v, err)
	}
}

// TestStorage_settled: what a format says to follow from its rows stays as it says.
func TestStorage_settled(t *testing.T) {
	b := newBook(t)
	b.format.settled = true
	log, err := b.Log(t.Context(), b.place("s"))
	if err != nil || len(log.Rows) != 5 || log.Rows[0].TurnIndex != model.TurnUnknown {
		t.Errorf("%+v, %v", log, err)
	}
}
