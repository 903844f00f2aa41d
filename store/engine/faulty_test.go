package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/media/disk"
	"hindcast/store/media/journal"
	"hindcast/store/media/tree"
)

var errBroken = errors.New("the call broke")

// faulty is a tree one of whose calls fails, once.
type faulty struct {
	tree.Tree
	calls, at *int
}

func (f faulty) ask() error {
	if *f.calls++; *f.calls == *f.at {
		return errBroken
	}
	return nil
}

func (f faulty) List(dir string) ([]string, error) {
	if err := f.ask(); err != nil {
		return nil, err
	}
	return f.Tree.List(dir)
}

func (f faulty) Read(name string, buf []byte) ([]byte, tree.Stamp, error) {
	if err := f.ask(); err != nil {
		return buf[:0], tree.Stamp{}, err
	}
	return f.Tree.Read(name, buf)
}

func (f faulty) Stamp(name string) (tree.Stamp, error) {
	if err := f.ask(); err != nil {
		return tree.Stamp{}, err
	}
	return f.Tree.Stamp(name)
}

func (f faulty) OpenFile(name string) (tree.Opened, error) {
	if err := f.ask(); err != nil {
		return nil, err
	}
	return f.Tree.OpenFile(name)
}

// TestErrors: whichever look at a file fails in the course of a write, that is told, each file is as it
// was, and the same change is planned the next time.
func TestErrors(t *testing.T) {
	for what, changes := range map[string][]model.Change{
		"restore":          {to(model.OpRestore, "s", "b")},
		"fork":             {forkAs("s", "d", "f")},
		"repair":           {to(model.OpRepair, "t", "b")},
		"undo":             {to(model.OpRestore, "s", "b"), undo},
		"redo":             {to(model.OpRestore, "s", "b"), undo, redo},
		"undo of a fork":   {forkAs("s", "d", "f"), undo},
		"undo of a repair": {to(model.OpRepair, "t", "b"), undo},
		"back again":       {to(model.OpRestore, "s", "b"), to(model.OpRestore, "s", "d")},
	} {
		last, calls, at := changes[len(changes)-1], 0, 0
		prepare := func() *book {
			b := newBook(t)
			for _, c := range changes[:len(changes)-1] {
				b.do(c)
			}
			b.ReadThrough(func(on tree.Tree) tree.Tree { return faulty{on, &calls, &at} })
			return b
		}
		b := prepare()
		before := b.tree()
		passed := 0
		for at = 1; ; at++ {
			calls = 0
			_, err := b.store.Plan(t.Context(), last)
			if calls < at {
				break
			}
			if err == nil {
				passed++
			} else if !errors.Is(err, errBroken) && !errors.Is(err, model.ErrHeadMoved) {
				t.Errorf("the plan of %s, call %d: %v", what, at, err)
			}
		}
		if at < 6 {
			t.Errorf("the plan of %s takes %d calls", what, at)
		}
		if passed > 2 { // a folder that is closed, of two, and cannot be looked at is one that is not there
			t.Errorf("the plan of %s: %d failures are told to no one", what, passed)
		}
		at = 0
		b.do(last)
		after, done := b.tree(), 0
		for n := 1; ; n++ {
			at = 0
			b := prepare()
			p := b.planned(last)
			calls, at = 0, n
			_, err := b.store.Apply(t.Context(), p)
			if calls < at {
				break
			}
			want := before
			if err == nil { // the call only looked whether a file is as it was: the file is read then
				done++
				want = after
			} else if !errors.Is(err, errBroken) {
				t.Errorf("%s, call %d: %v", what, n, err)
			}
			if now := b.tree(); !maps.Equal(now, want) {
				t.Errorf("%s, call %d: %v; it is %q", what, n, err, now)
			}
		}
		if done > at/2 {
			t.Errorf("%s is done in spite of %d of %d failures", what, done, at)
		}
	}
	// A log that cannot be read is not told, whichever call fails.
	b := newBook(t)
	b.do(to(model.OpRestore, "s", "b"))
	want, calls, at := b.drawn("s"), 0, 0
	b.ReadThrough(func(on tree.Tree) tree.Tree { return faulty{on, &calls, &at} })
	for at = 1; ; at++ {
		calls = 0
		_, err := b.Log(t.Context(), b.place("s"))
		if calls < at {
			break
		}
		if !errors.Is(err, errBroken) {
			t.Errorf("call %d: %v", at, err)
		}
	}
	if at < 5 {
		t.Errorf("a log takes %d calls", at)
	}
	at = 0
	if got := b.drawn("s"); got != want {
		t.Error(got)
	}
}

// TestErrors_ofWhatIsKept: a plan that would bring back what was damaged or lost is none.
func TestErrors_ofWhatIsKept(t *testing.T) {
	b := newBook(t)
	b.do(to(model.OpRestore, "s", "b"))
	names, err := os.ReadDir(filepath.Join(b.dir, journal.Folder, "kept"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range names {
		if err := os.WriteFile(filepath.Join(b.dir, journal.Folder, "kept", e.Name()), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.store.Plan(t.Context(), undo); !errors.As(err, new(*journal.KeptError)) {
		t.Error(err)
	}
	if err := b.Check(t.Context()); !errors.As(err, new(*journal.KeptError)) {
		t.Error(err)
	}
	if got := b.drawn("s"); got != "a< t0 b<a t0*" {
		t.Error(got)
	}
	for _, e := range names {
		if err := os.Remove(filepath.Join(b.dir, journal.Folder, "kept", e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.store.Plan(t.Context(), undo); err == nil || errors.As(err, new(*journal.KeptError)) {
		t.Error(err)
	}
}

// TestErrors_ofTheJournal: what a damaged journal tells is told with its error.
func TestErrors_ofTheJournal(t *testing.T) {
	b := newBook(t)
	b.do(to(model.OpRestore, "s", "b"))
	file := filepath.Join(b.dir, filepath.FromSlash(JournalFile))
	data, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, append(data, "no record\n\n"...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	b.open(StorageOptions{})
	if err := os.WriteFile(file, append([]byte("no record\n\n"), data...), 0o600); err != nil {
		t.Fatal(err)
	}
	b.open(StorageOptions{})
	list, err := b.store.Journal(t.Context())
	if len(list) != 1 || list[0].Session != "s" || !errors.As(err, new(*journal.DamagedError)) || !strings.Contains(err.Error(), "notebook: read the journal of ") {
		t.Errorf("%+v, %v", list, err)
	}
	if !strings.Contains(b.drawn("s"), "^") {
		t.Error(b.drawn("s"))
	}
	if _, err := b.store.Plan(t.Context(), undo); !errors.As(err, new(*journal.DamagedError)) {
		t.Errorf("an undo is planned: %v", err)
	}
}

// source is a folder that is opened as though it lay where no disk is.
type source struct {
	dir   string
	tree  *remote
	disk  disk.Disk
	above bool
	ends  *int
}

// remote is a tree on another machine.
type remote struct {
	*tree.Disk
	ahead []string
	fresh int
}

func (r *remote) Remote() tree.Remote { return r }
func (r *remote) Fresh()              { r.fresh++ }
func (r *remote) Ahead(names []string) (stop func()) {
	r.ahead = append(r.ahead, names...)
	return func() { r.ahead = append(r.ahead, "stop") }
}

func newSource(t *testing.T, dir string) *source {
	t.Helper()
	on, err := disk.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { on.Close() })
	return &source{dir: dir, tree: &remote{Disk: openTree(t, dir)}, disk: on, ends: new(int)}
}

func (s *source) Name() string                                   { return "bucket://" + filepath.ToSlash(s.dir) }
func (s *source) Tree() tree.Remote                              { return s.tree }
func (s *source) Disk() disk.Disk                                { return s.disk }
func (s *source) Watch(context.Context) (<-chan struct{}, error) { return nil, errBroken }
func (s *source) Requests() store.Requests                       { return store.Requests{Get: 7} }
func (s *source) Server() (bucket, prefix, endpoint string)      { return "b", "", "" }
func (s *source) Folder() string                                 { return "" }
func (s *source) Copying() string                                { return "copy b ." }
func (s *source) Close() error                                   { *s.ends++; return nil }
func (s *source) At(way string) (tree.Source, bool) {
	if !s.above || way != ".." {
		return nil, false
	}
	up := *s
	up.dir, up.above = filepath.Dir(s.dir), filepath.Base(filepath.Dir(s.dir)) == "in"
	return &up, true
}

// TestStorage_elsewhere: a storage that is no folder of this machine is read and written as one that is,
// is looked at anew for each plan, and says how it is copied for a framework that does not read it there.
func TestStorage_elsewhere(t *testing.T) {
	b := newBook(t)
	on := newSource(t, b.dir)
	b.open(StorageOptions{On: on, Framework: "Notebook"})
	if got := b.drawn("s"); got != allRows {
		t.Error(got)
	}
	if !slices.Contains(on.tree.ahead, "s/rows/a") || !slices.Contains(on.tree.ahead, "stop") {
		t.Errorf("%q", on.tree.ahead)
	}
	if b.On() != tree.Source(on) || b.Folder() != on.Name() || b.CountOpenedFolders() != 0 || b.HasWrites() || b.IsHeld("x") {
		t.Error(b.On(), b.Folder(), b.CountOpenedFolders(), b.HasWrites())
	}
	if n, ok := b.store.features.Requests(); !ok || n.Get != 7 {
		t.Error(n, ok)
	}
	if dir, file, name := b.store.features.LabelFile(t.Context(), "s"); dir+file+name != "" {
		t.Error(dir, file, name)
	}
	if unlock, err := b.Lock("x"); err != nil || unlock() != nil {
		t.Error(err)
	}
	p := b.planned(to(model.OpRestore, "s", "b"))
	if len(p.Resume) != 2 || p.Resume[0].Call != "copy b ." || !strings.Contains(p.Resume[0].Then, "Notebook reads none in a bucket") || p.Resume[1].Call != "notebook s" {
		t.Errorf("%+v", p.Resume)
	}
	if on.tree.fresh == 0 {
		t.Error("it was not looked at anew")
	}
	was := on.tree.fresh
	if _, err := b.store.Apply(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if on.tree.fresh < was+2 || !b.HasWrites() {
		t.Error(on.tree.fresh, was)
	}
	if p := b.planned(undo); len(p.Resume) != 2 {
		t.Errorf("%+v", p.Resume)
	}
	b.do(undo)
	if err := b.Storage.Close(); err != nil || *on.ends != 1 {
		t.Error(err, *on.ends)
	}
	b.open(StorageOptions{On: newSource(t, b.dir)})
	if p := b.planned(to(model.OpRestore, "s", "b")); len(p.Resume) != 1 {
		t.Errorf("%+v", p.Resume)
	}
}

// TestOpen_up: where the storage lies above what was opened, the way back down is known; where there is
// none above, the folder is read and not written.
func TestOpen_up(t *testing.T) {
	b := newBook(t)
	top := b.dir
	b.dir = filepath.Join(top, "s", "rows")
	b.open(StorageOptions{Up: 2})
	if b.Way != "s/rows" || b.Folder() != top || b.Ready() != nil || b.Lacks() != "" {
		t.Error(b.Way, b.Folder(), b.Ready())
	}
	if got := b.drawn("s"); got != allRows {
		t.Error(got)
	}
	dir, file, name := b.store.features.LabelFile(t.Context(), "s")
	if dir != top || file != ".hindcast/labels" || name != "s" {
		t.Error(dir, file, name)
	}
	if _, _, name := b.store.features.LabelFile(t.Context(), "forbidden"); name != "forbidden" {
		t.Error(name)
	}
	if b.On() != nil {
		t.Error("it is elsewhere")
	}
	if n, ok := b.store.features.Requests(); ok || n.Get != 0 {
		t.Error(n, ok)
	}
	if b.CountOpenedFolders() == 0 {
		t.Error("no folder was opened")
	}
	// What was opened is a link, or a folder on the way is one.
	if err := os.Symlink("s", filepath.Join(top, "l")); err != nil {
		t.Fatal(err)
	}
	for way, refused := range map[string]string{"l": "nothing is written through a link", "l/rows": "nothing is written through a link"} {
		b.dir = filepath.Join(top, filepath.FromSlash(way))
		b.open(StorageOptions{Up: strings.Count(way, "/") + 1})
		if err := b.Ready(); !errors.Is(err, ErrLink) || !strings.Contains(err.Error(), refused) || b.Lacks() != "" || b.Way != "." {
			t.Errorf("%s: %v, %s", way, err, b.Way)
		}
		if _, err := b.store.Plan(t.Context(), undo); !errors.As(err, new(*model.UnsupportedError)) {
			t.Error(err)
		}
		if dir, _, _ := b.store.features.LabelFile(t.Context(), "s"); dir != "" {
			t.Error(dir)
		}
		if list, err := b.store.Journal(t.Context()); list != nil || err != nil {
			t.Error(list, err)
		}
		if _, err := b.store.Apply(t.Context(), model.Plan{}); !errors.Is(err, journal.ErrNoCarry) {
			t.Error(err)
		}
	}
	if _, err := OpenStorage(filepath.Join(top, "none"), StorageOptions{}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := OpenStorage(filepath.Join(top, "none", "deep"), StorageOptions{Up: 1}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	// In a bucket.
	on := newSource(t, top)
	b.dir = top
	b.open(StorageOptions{On: on, Up: 1})
	if b.Ready() != errTop || b.Lacks() != errTop.Error() || b.Way != "." {
		t.Error(b.Ready(), b.Way)
	}
	on.above, on.dir = true, "/in/two/one"
	b.open(StorageOptions{On: on, Up: 1})
	if b.Ready() != nil || b.Way != "one" || b.Folder() != "bucket:///in/two" {
		t.Error(b.Ready(), b.Way, b.Folder())
	}
}

// TestAhead: only what has no note is read ahead.
func TestAhead(t *testing.T) {
	b := newBook(t)
	on := newSource(t, b.dir)
	b.open(StorageOptions{On: on})
	in := b.In()
	in.Tree = tree.Overlay(in.Tree, tree.Steps{{Name: "s/rows/f", From: "s/rows/a"}, {Name: "s/rows/g", Aside: true}}, nil)
	if stop := tree.Ahead(in.Tree, slices.Values([]string{"s/rows/a", "s/rows/b", "s/rows/c"}), func(name string) bool { return name != "s/rows/b" }); fmt.Sprint(on.tree.ahead) != "[s/rows/a s/rows/c]" {
		t.Errorf("%q", on.tree.ahead)
	} else {
		stop()
	}
	on.tree.ahead = nil
	if _, err := tree.Notes(t.Context(), in.Tree, in.Memo, "s/rows", []string{"a", "b"}, pages); err != nil {
		t.Fatal(err)
	}
	on.tree.ahead = nil
	if _, err := tree.Notes(t.Context(), in.Tree, in.Memo, "s/rows", []string{"a", "b", "c", "f", "g", "none"}, pages); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(on.tree.ahead) != "[s/rows/c stop]" {
		t.Errorf("%q", on.tree.ahead)
	}
	stop := tree.Ahead(openTree(t, b.dir), slices.Values([]string{"s/a"}), func(string) bool { t.Error("it is asked"); return true })
	stop()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tree.Notes(ctx, in.Tree, in.Memo, "s/rows", []string{"a"}, pages); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
