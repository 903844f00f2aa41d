package journal_test

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
	"syscall"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store/media/disk"
	"hindcast/store/media/disk/disktest"
	"hindcast/store/media/journal"
	"hindcast/store/storetest"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// desk is a journal on a disk in memory.
func desk(files map[string]string) (*disktest.Memory, *journal.Journal) {
	m := disktest.NewMemory(files, 0o640)
	return m, journal.New(m, journal.Options{Ignore: func(name string) bool { return strings.HasSuffix(name, ".tmp") }})
}

// plan completes a draft.
func plan(t testing.TB, d *journal.Draft) model.Plan {
	t.Helper()
	p, err := d.Plan(model.Plan{Op: model.OpRestore, Session: "s"})
	must(t, err)
	return p
}

// do carries out a plan that must succeed.
func do(t testing.TB, j *journal.Journal, p model.Plan, err error) {
	t.Helper()
	must(t, err)
	_, err = j.Apply(t.Context(), p, nil)
	must(t, err)
}

// put writes one file through the journal.
func put(t testing.TB, j *journal.Journal, name, text string) {
	t.Helper()
	d := j.Draft()
	d.Put(name, []byte(text))
	do(t, j, plan(t, d), nil)
}

func undoes(t testing.TB, j *journal.Journal) {
	t.Helper()
	p, err := j.PlanUndo(t.Context())
	do(t, j, p, err)
}

func redoes(t testing.TB, j *journal.Journal) {
	t.Helper()
	p, err := j.PlanRedo(t.Context())
	do(t, j, p, err)
}

// says checks that an error is one, and has the words that say what to do.
func says(t *testing.T, err, is error, words ...string) {
	t.Helper()
	if !errors.Is(err, is) {
		t.Errorf("%v instead of %v", err, is)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
}

// eachDisk runs a test with what opens a folder on this system, and with what does on others,
// which cannot exchange two files.
func eachDisk(t *testing.T, test func(t *testing.T, open func(dir string) disk.Disk)) {
	t.Run("OS", func(t *testing.T) {
		test(t, func(dir string) disk.Disk {
			d, err := disk.Open(dir)
			must(t, err)
			t.Cleanup(func() { d.Close() })
			return d
		})
	})
	t.Run("Rooted", func(t *testing.T) {
		test(t, func(dir string) disk.Disk {
			d, err := disk.OpenRooted(dir)
			must(t, err)
			t.Cleanup(func() { d.Close() })
			return d
		})
	})
}

// TestJournal_onDisk goes there and back on a real disk: what comes back has the time
// that it had, and shares its bytes with nothing that is kept.
func TestJournal_onDisk(t *testing.T) {
	eachDisk(t, func(t *testing.T, open func(dir string) disk.Disk) {
		dir := t.TempDir()
		for name, text := range map[string]string{"s/a": "one", "s/m/1": "first", "s/m/2": "second"} {
			must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
			must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o640))
		}
		old := time.Now().Add(-time.Hour).Truncate(time.Second)
		must(t, os.Chtimes(filepath.Join(dir, "s/m/2"), old, old))
		inodes := func() (list []fs.FileInfo) {
			for _, name := range []string{"s/a", "s/m/1", "s/m/2"} {
				info, err := os.Lstat(filepath.Join(dir, name))
				must(t, err)
				list = append(list, info)
			}
			return list
		}
		first, before := inodes(), treeOf(t, dir, live)
		j := journal.New(open(dir), journal.Options{})
		draft := j.Draft()
		draft.Put("s/a", []byte("two"))
		draft.SetAside("s/m/2")
		draft.Copy("t/m/1", "s/m/1")
		p := plan(t, draft)
		do(t, j, p, nil)
		after := treeOf(t, dir, live)
		if want := map[string]string{"s/": "755", "s/m/": "755", "t/": "755", "t/m/": "755", "s/a": "640 two", "s/m/1": "640 first", "t/m/1": "640 first"}; !maps.Equal(after, want) {
			t.Error(difference(after, want, want))
		}
		if _, err := j.Apply(t.Context(), p, nil); !errors.Is(err, model.ErrHeadMoved) {
			t.Error(err)
		}
		undoes(t, j)
		if now := treeOf(t, dir, live); !maps.Equal(now, before) {
			t.Error(difference(now, before, after))
		}
		for i, info := range inodes() {
			if !info.ModTime().Equal(first[i].ModTime()) {
				t.Errorf("%s has another time", info.Name())
			}
		}
		unshared(t, dir)
		redoes(t, j)
		if now := treeOf(t, dir, live); !maps.Equal(now, after) {
			t.Error(difference(now, after, before))
		}
		unshared(t, dir)
	})
}

// unshared checks that no file in a folder has a second name.
func unshared(t *testing.T, dir string) {
	t.Helper()
	var all []fs.FileInfo
	must(t, filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		must(t, err)
		if slices.ContainsFunc(all, func(other fs.FileInfo) bool { return os.SameFile(info, other) }) {
			t.Errorf("%s shares its bytes with another file", name)
		}
		all = append(all, info)
		return nil
	}))
}

func TestJournal_order(t *testing.T) {
	_, j := desk(map[string]string{"s/a": "0"})
	nothing := &model.NothingToError{}
	if _, err := j.PlanUndo(t.Context()); !errors.As(err, &nothing) {
		t.Error(err)
	}
	put(t, j, "s/a", "1")
	put(t, j, "s/a", "2")
	undoes(t, j)
	undoes(t, j)
	if p, err := j.PlanRedo(t.Context()); err != nil || p.Entry != 1 {
		t.Errorf("redo of %d, %v", p.Entry, err)
	}
	redoes(t, j) // 1
	put(t, j, "s/a", "3")
	if _, err := j.PlanRedo(t.Context()); !errors.As(err, &nothing) {
		t.Errorf("redo after another write: %v", err)
	}
	undoes(t, j) // 3
	p, err := j.PlanRedo(t.Context())
	must(t, err)
	list, err := j.Entries(t.Context())
	must(t, err)
	if p.Entry != list[2].ID || list[1].Undone != true || len(list) != 3 {
		t.Errorf("redo of %d, entries %+v", p.Entry, list)
	}
	undoes(t, j)
	if _, err := j.PlanUndo(t.Context()); !errors.As(err, &nothing) {
		t.Error(err)
	}
	if newest, err := j.Journal(t.Context()); err != nil || newest[0].ID != list[2].ID || len(newest[0].Files) != 1 || newest[0].Files[0].Does != model.FileReplaced {
		t.Errorf("%+v, %v", newest, err)
	}
}

// TestApply_staleUndo: a plan of an undo is refused when another write came first.
func TestApply_staleUndo(t *testing.T) {
	_, j := desk(map[string]string{"s/a": "0", "s/b": "0"})
	put(t, j, "s/a", "1")
	p, err := j.PlanUndo(t.Context())
	must(t, err)
	put(t, j, "s/b", "1")
	_, err = j.Apply(t.Context(), p, nil)
	says(t, err, model.ErrHeadMoved, "look again", "nothing was changed")
}

func TestPlanUndo_conflicts(t *testing.T) {
	for name, write := range map[string]func(m *disktest.Memory) error{
		"the file was replaced":      func(m *disktest.Memory) error { return replaces(m, "s/a") },
		"the file was removed":       func(m *disktest.Memory) error { return m.Remove("s/a") },
		"a message took its place":   func(m *disktest.Memory) error { return replaces(m, "s/m/1") },
		"there is another message":   func(m *disktest.Memory) error { return replaces(m, "s/m/9") },
		"the new folder got a file":  func(m *disktest.Memory) error { return replaces(m, "s/new/other") },
		"what was expected is other": func(m *disktest.Memory) error { return replaces(m, "s/b") },
	} {
		t.Run(name, func(t *testing.T) {
			m, j := desk(map[string]string{"s/a": "0", "s/b": "0", "s/m/1": "1", "s/m/0": "0"})
			d := j.Draft()
			d.Expect("s/m")
			d.Expect("s/b")
			d.Put("s/a", []byte("1"))
			d.SetAside("s/m/1")
			d.Put("s/new/file", []byte("1"))
			do(t, j, plan(t, d), nil)
			must(t, write(m))
			all := m.Tree(whole)
			_, err := j.PlanUndo(t.Context())
			says(t, err, model.ErrHeadMoved, "restore the set-aside branch instead")
			if !maps.Equal(all, m.Tree(whole)) {
				t.Error("planning wrote")
			}
		})
	}
}

// TestUndo_ignored: a file of a writer that the kind ignores is no conflict, and stays.
func TestUndo_ignored(t *testing.T) {
	m, j := desk(map[string]string{"s/a": "0"})
	put(t, j, "t/m/file", "1")
	must(t, m.Write("t/m/1.tmp", []byte("half"), 0o600))
	undoes(t, j)
	if tree := m.Tree(live); tree["t/m/1.tmp"] == "" || tree["t/m/file"] != "" {
		t.Error(tree)
	}
}

// TestUndo_forkGoneOn: that the origin of a fork went on does not hinder its undo.
func TestUndo_forkGoneOn(t *testing.T) {
	m, j := desk(map[string]string{"s/a": "0", "s/m/0": "0"})
	d := j.Draft()
	d.Expect("s/m")
	d.Expect("s/a")
	d.Copy("t/m/0", "s/m/0")
	p, err := d.Plan(model.Plan{Op: model.OpFork, Session: "s", NewSession: "t"})
	do(t, j, p, err)
	must(t, replaces(m, "s/m/1"))
	must(t, replaces(m, "s/a"))
	undoes(t, j)
	if m.Tree(live)["t/"] != "" {
		t.Error("the fork is there")
	}
}

func TestApply_refused(t *testing.T) {
	_, j := desk(map[string]string{"s/a": "0", "s/m/0": "0"})
	if _, err := j.Apply(t.Context(), model.Plan{}, nil); !errors.Is(err, journal.ErrNoCarry) {
		t.Error(err)
	}
	for name, draft := range map[string]func(d *journal.Draft){
		"twice":                 func(d *journal.Draft) { d.Put("s/a", nil); d.SetAside("s/a") },
		"a folder, then a file": func(d *journal.Draft) { d.MakeFolder("s/n"); d.Put("s/n", nil) },
		"a file in it, then it": func(d *journal.Draft) { d.Put("s/n/o/p", nil); d.Put("s/n/o", nil) },
		"a copy in it, then it": func(d *journal.Draft) { d.Copy("s/n/o", "s/a"); d.Copy("s/n", "s/a") },
		"outside":               func(d *journal.Draft) { d.Put("../a", nil) },
		"absolute":              func(d *journal.Draft) { d.Put("/a", nil) },
		"the journal":           func(d *journal.Draft) { d.Put(".hindcast/journal", nil) },
		"the journal too":       func(d *journal.Draft) { d.SetAside(".Hindcast/kept/x") },
		"a folder":              func(d *journal.Draft) { d.Put("s/m", nil) },
		"a folder set aside":    func(d *journal.Draft) { d.SetAside("s/m") },
		"into a file":           func(d *journal.Draft) { d.Put("s/a/b", nil) },
		"nothing to set":        func(d *journal.Draft) { d.SetAside("s/none") },
		"nothing to copy":       func(d *journal.Draft) { d.Copy("t/x", "s/none") },
		"nothing to put back":   func(d *journal.Draft) { d.PutBack("t/x", journal.Version{SHA256: strings.Repeat("a", 64)}) },
		"a restore that forgets": func(d *journal.Draft) {
			d.Forget("x", journal.Version{SHA256: strings.Repeat("a", 64)})
		},
		"a purge that writes": func(d *journal.Draft) {
			d.Forget("x", journal.Version{SHA256: strings.Repeat("a", 64)})
			d.Put("s/a", nil)
		},
	} {
		d := j.Draft()
		draft(d)
		if _, err := d.Plan(model.Plan{Op: model.OpRestore}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	d := j.Draft()
	d.Put("s/a", []byte("1"))
	if _, err := j.Apply(done, plan(t, d), nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A file that is to be set aside or kept was met a moment ago. That it is gone is a
// conflict, whether or not it is back when somebody looks again.
func TestDraft_whatWentIsAConflict(t *testing.T) {
	for name, draft := range map[string]func(d *journal.Draft){
		"set aside": func(d *journal.Draft) { d.SetAside("s/none") },
		"kept":      func(d *journal.Draft) { d.Put("s/a", nil); d.Keep("s/none") },
	} {
		t.Run(name, func(t *testing.T) {
			_, j := desk(map[string]string{"s/a": "0", "s/m/0": "0"})
			d := j.Draft()
			draft(d)
			_, err := d.Plan(model.Plan{Op: model.OpRestore})
			says(t, err, model.ErrHeadMoved, "s/none was removed since")
		})
	}
}

// TestDraft_links refuses symbolic links: the file itself and a folder on the way.
func TestDraft_links(t *testing.T) {
	eachDisk(t, func(t *testing.T, open func(dir string) disk.Disk) {
		dir := t.TempDir()
		must(t, os.MkdirAll(filepath.Join(dir, "real"), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, "real", "file"), []byte("x"), 0o600))
		must(t, os.Symlink("real", filepath.Join(dir, "folder")))
		must(t, os.Symlink("file", filepath.Join(dir, "real", "link")))
		d := open(dir)
		for _, name := range []string{"folder/file", "folder/new", "real/link"} {
			draft := journal.New(d, journal.Options{}).Draft()
			draft.Put(name, []byte("y"))
			if err := draft.Err(); !errors.Is(err, disk.ErrSymlink) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// TestDraft_modes: a new file is as those beside it, a folder as closed as they are.
func TestDraft_modes(t *testing.T) {
	eachDisk(t, func(t *testing.T, open func(dir string) disk.Disk) {
		dir := t.TempDir()
		for name, mode := range map[string]fs.FileMode{"s": 0o750, "u": 0o705} {
			must(t, os.Mkdir(filepath.Join(dir, name), 0o700))
			must(t, os.Chmod(filepath.Join(dir, name), mode))
		}
		for i, mode := range []fs.FileMode{0o600, 0o644} {
			name := filepath.Join(dir, "s", fmt.Sprint(i))
			must(t, os.WriteFile(name, nil, mode))
			must(t, os.Chtimes(name, time.Time{}, time.Unix(int64(i+1)*1000, 0)))
		}
		j := journal.New(open(dir), journal.Options{})
		put(t, j, "s/new", "x")
		put(t, j, "t/new", "x")
		tree := treeOf(t, dir, live)
		if tree["s/new"] != "644 x" || tree["t/"] != "700" || tree["t/new"] != "600 x" {
			t.Error(tree)
		}
	})
}

func TestApply_verified(t *testing.T) {
	m, j := desk(map[string]string{"s/a": "0", "s/m/1": "1"})
	before := m.Tree(live)
	wrong := errors.New("the framework would load something else")
	d := j.Draft()
	d.Put("s/a", []byte("1"))
	d.SetAside("s/m/1")
	d.Put("t/x", []byte("2"))
	_, err := j.Apply(t.Context(), plan(t, d), func(context.Context) error {
		if m.Tree(live)["s/a"] != "640 1" {
			t.Error("it is not written yet")
		}
		return wrong
	})
	says(t, err, wrong, "everything was taken back")
	if !maps.Equal(m.Tree(live), before) {
		t.Error(difference(m.Tree(live), before, before))
	}
	// An agent may have read it nevertheless: the entry names what there was.
	if list, err := j.Entries(t.Context()); err != nil || len(list) != 1 || !list[0].TakenBack || !list[0].Undone || len(list[0].Changes()) != 4 {
		t.Error(list, err)
	}
	if list, err := j.Journal(t.Context()); err != nil || len(list) != 0 {
		t.Error(list, err)
	}
	for _, back := range []func(context.Context) (model.Plan, error){j.PlanUndo, j.PlanRedo} {
		if _, err := back(t.Context()); !errors.As(err, new(*model.NothingToError)) {
			t.Error(err)
		}
	}
}

// TestApply_disturbed: somebody writes after the files were compared and before the kind
// has read its store. That is the conflict, whatever the kind says of the store.
func TestApply_disturbed(t *testing.T) {
	for name, write := range map[string]func(m *disktest.Memory) error{
		"into what was written": func(m *disktest.Memory) error { return m.Write("s/a", []byte("theirs"), 0o640) },
		"beside it":             func(m *disktest.Memory) error { return m.Create("s/m/3", []byte("theirs"), 0o640) },
	} {
		m, j := desk(map[string]string{"s/a": "0", "s/m/1": "1"})
		d := j.Draft()
		d.Put("s/a", []byte("1"))
		d.SetAside("s/m/1")
		d.Expect("s/m")
		_, err := j.Apply(t.Context(), plan(t, d), func(context.Context) error {
			must(t, write(m))
			return errors.New("it would load something else")
		})
		if conflict := (*journal.ConflictError)(nil); !errors.As(err, &conflict) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}

// What stays is kept as the plan saw it, few files and many, and whatever becomes of it
// after the write: an undo does not put it back.
func TestDraft_Keep(t *testing.T) {
	for _, n := range []int{3, 300} {
		names := map[string]string{"s/a": "0"}
		for i := range n {
			names[fmt.Sprint("s/m/", i)] = fmt.Sprint("message ", i/2) // two have one content
		}
		m, j := desk(names)
		keeping := func() model.Plan {
			d := j.Draft()
			d.Put("s/a", []byte("1"))
			for i := range n {
				d.Keep(fmt.Sprint("s/m/", i))
			}
			return plan(t, d)
		}
		stale := keeping()
		must(t, m.Write("s/m/1", []byte("theirs"), 0o640))
		conflict := (*journal.ConflictError)(nil)
		if _, err := j.Apply(t.Context(), stale, nil); !errors.As(err, &conflict) || conflict.Path != "s/m/1" {
			t.Errorf("of %d: a file was changed since: %v", n, err)
		}
		must(t, m.Remove("s/m/1"))
		if _, err := j.Apply(t.Context(), stale, nil); !errors.As(err, &conflict) || conflict.Path != "s/m/1" {
			t.Errorf("of %d: a file was removed since: %v", n, err)
		}
		must(t, m.Create("s/m/1", []byte("message 0"), 0o640))
		_, err := j.Apply(t.Context(), keeping(), nil)
		must(t, err)
		before := m.Tree(live)
		for i := range n {
			must(t, m.Write(fmt.Sprint("s/m/", i), []byte("theirs"), 0o640))
		}
		j = journal.New(m, journal.Options{})
		list, err := j.Entries(t.Context())
		if err != nil || len(list) != 1 || len(list[0].Stays()) != n {
			t.Fatalf("of %d: %+v, %v", n, list, err)
		}
		for i, stays := range list[0].Stays() {
			data, err := j.Read(stays.Before)
			if want := fmt.Sprint("message ", i/2); stays.Path != fmt.Sprint("s/m/", i) || string(data) != want || err != nil {
				t.Errorf("of %d: %s is kept as %q, %v", n, stays.Path, data, err)
			}
		}
		back, err := j.PlanUndo(t.Context())
		must(t, err)
		_, err = j.Apply(t.Context(), back, nil)
		must(t, err)
		before["s/a"] = "640 0"
		for i := range n {
			before[fmt.Sprint("s/m/", i)] = "640 theirs"
		}
		if now := m.Tree(live); !maps.Equal(now, before) {
			t.Errorf("of %d: after the undo there is %v", n, now)
		}
	}
}

// TestApply_cancelled: a context that ends before the first file changes stops the
// write, and one that ends later does not.
func TestApply_cancelled(t *testing.T) {
	for n, done := 0, false; !done; n++ {
		m, j := desk(map[string]string{"s/a": "0", "s/b": "0"})
		d := j.Draft()
		d.Put("s/a", []byte("1"))
		d.SetAside("s/b")
		p := plan(t, d)
		ctx, cancel := context.WithCancel(t.Context())
		before, changed := m.Tree(live), false
		f := &disktest.Faulty{Disk: m}
		done = true
		f.Hook = func(c disktest.Call) error {
			if c.N == n {
				changed, done = !maps.Equal(m.Tree(live), before), false
				cancel()
			}
			return nil
		}
		_, err := journal.New(f, journal.Options{}).Apply(ctx, p, func(ctx context.Context) error { return ctx.Err() })
		switch now := m.Tree(live); {
		case err == nil && (now["s/a"] != "640 1" || now["s/b"] != ""):
			t.Errorf("cancelled at %d: %v", n, now)
		case err != nil && (changed || !errors.Is(err, context.Canceled) || !maps.Equal(now, before)):
			t.Errorf("cancelled at %d, changed %v: %v, %v", n, changed, err, now)
		}
		cancel()
	}
}

// TestApply_oneError: where thousands of files cannot be read, one error says so.
func TestApply_oneError(t *testing.T) {
	files := map[string]string{}
	for i := range 500 {
		files[fmt.Sprintf("s/%03d", i)] = "0"
	}
	m, j := desk(files)
	d := j.Draft()
	for i := range 500 {
		d.SetAside(fmt.Sprintf("s/%03d", i))
	}
	p := plan(t, d)
	f := &disktest.Faulty{Disk: m, Hook: func(c disktest.Call) error {
		if c.Op == "load" && strings.HasPrefix(c.Name, "s/") {
			return &fs.PathError{Op: c.Op, Path: c.Name, Err: syscall.EIO}
		}
		return nil
	}}
	_, err := journal.New(f, journal.Options{}).Apply(t.Context(), p, nil)
	if says(t, err, syscall.EIO, "s/000", "nothing was changed"); strings.Contains(err.Error(), "\n") {
		t.Errorf("%d bytes of words", len(err.Error()))
	}
}

// TestApply_words: every error of a disk says what to do.
func TestApply_words(t *testing.T) {
	for err, words := range map[error]string{
		syscall.ENOSPC: "free some space", syscall.EROFS: "read-only", syscall.EACCES: "owner", syscall.EMFILE: "ulimit -n", syscall.EIO: "copy of the store",
		disk.ErrLocked: "try again", fs.ErrClosed: "open it again", disk.ErrSymlink: "in place of the link", errors.ErrUnsupported: "copy the store",
	} {
		m, j := desk(map[string]string{"s/a": "0"})
		d := j.Draft()
		d.Put("s/a", []byte("1"))
		p := plan(t, d)
		f := &disktest.Faulty{Disk: m, Hook: func(c disktest.Call) error {
			if c.Op == "lock" {
				return &fs.PathError{Op: c.Op, Path: c.Name, Err: err}
			}
			return nil
		}}
		_, got := journal.New(f, journal.Options{}).Apply(t.Context(), p, nil)
		says(t, got, err, words, "nothing was changed")
	}
}

// TestApply_secondHindcast: while one writes, another is refused and reads.
func TestApply_secondHindcast(t *testing.T) {
	eachDisk(t, func(t *testing.T, open func(dir string) disk.Disk) {
		dir := t.TempDir()
		must(t, os.Mkdir(filepath.Join(dir, "s"), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, "s", "a"), []byte("0"), 0o640))
		var journals []*journal.Journal
		for range 2 {
			journals = append(journals, journal.New(open(dir), journal.Options{}))
		}
		d := journals[0].Draft()
		d.Put("s/a", []byte("1"))
		p := plan(t, d)
		_, err := journals[0].Apply(t.Context(), p, func(ctx context.Context) error {
			other := journals[1]
			if err := other.Recover(ctx); !errors.Is(err, disk.ErrLocked) {
				t.Error(err)
			}
			open, err := other.OpenEntry(ctx)
			must(t, err)
			if open == nil || len(open.Changes()) != 1 {
				t.Error(open)
			}
			d := other.Draft()
			d.Put("s/a", []byte("2"))
			_, err = other.Apply(ctx, plan(t, d), nil)
			says(t, err, disk.ErrLocked, "try again when it is done")
			return nil
		})
		must(t, err)
		if list, err := journals[1].Entries(t.Context()); err != nil || len(list) != 1 {
			t.Error(list, err)
		}
	})
}

// TestRecover_readOnly: what was broken off on a store that cannot be written is told,
// with what it was, and nothing else fails.
func TestRecover_readOnly(t *testing.T) {
	m, j := desk(map[string]string{"s/a": "0", "s/m/1": "1"})
	put(t, j, "s/b", "1")
	d := j.Draft()
	d.Put("s/a", []byte("1"))
	d.SetAside("s/m/1")
	p := plan(t, d)
	killed(func() {
		f := &disktest.Faulty{Disk: m, Hook: func(c disktest.Call) error {
			if c.Op == "place" && c.Name == "s/m/1" {
				panic(errKilled)
			}
			return nil
		}}
		journal.New(f, journal.Options{}).Apply(t.Context(), p, nil)
	})
	clear := m.Clone() // without the lock of the one that was killed
	all := clear.Tree(whole)
	f := &disktest.Faulty{Disk: clear, Hook: func(c disktest.Call) error {
		if c.Writes() {
			return &fs.PathError{Op: c.Op, Path: c.Name, Err: syscall.EROFS}
		}
		return nil
	}}
	j = journal.New(f, journal.Options{})
	says(t, j.Recover(t.Context()), syscall.EROFS, "write 2, a restore of s, was broken off and cannot be finished", "read-only")
	list, err := j.Entries(t.Context())
	must(t, err)
	open, err := j.OpenEntry(t.Context())
	must(t, err)
	if len(list) != 1 || open == nil || open.ID != 2 || len(open.Changes()) != 2 {
		t.Error(list, open)
	}
	if !maps.Equal(all, clear.Tree(whole)) {
		t.Error("something was written")
	}
	j = journal.New(clear, journal.Options{})
	must(t, j.Recover(t.Context()))
	if tree := clear.Tree(live); tree["s/a"] != "640 1" || tree["s/m/1"] != "" {
		t.Error(tree)
	}
}

// TestRecover_nothing: opening a store without a journal leaves it alone.
func TestRecover_nothing(t *testing.T) {
	m, j := desk(map[string]string{"s/a": "0"})
	must(t, j.Recover(t.Context()))
	if list, err := j.Entries(t.Context()); err != nil || len(list) != 0 || m.Tree(whole)[".hindcast/"] != "" {
		t.Error(list, err, m.Tree(whole))
	}
}

// lines returns the journal's file, and sets it.
func lines(t *testing.T, m *disktest.Memory) []string {
	t.Helper()
	data, err := m.Read(".hindcast/journal")
	must(t, err)
	return strings.SplitAfter(string(data), "\n")
}

func setLines(t *testing.T, m *disktest.Memory, list []string) *journal.Journal {
	t.Helper()
	must(t, m.Write(".hindcast/journal", []byte(strings.Join(list, "")), 0o600))
	return journal.New(m, journal.Options{})
}

func TestEntries_torn(t *testing.T) {
	m, j := desk(map[string]string{"s/a": "0"})
	put(t, j, "s/a", "1")
	whole := lines(t, m)
	put(t, j, "s/a", "2")
	for _, cut := range []int{1, 9, 30, 200} {
		// The intent of the second write is torn: it never was.
		torn := append(slices.Clone(whole), "\n", lines(t, m)[len(whole)][:cut])
		n := m.Clone()
		must(t, n.Write("s/a", []byte("1"), 0o640))
		j := setLines(t, n, torn)
		list, err := j.Entries(t.Context())
		if err != nil || len(list) != 1 {
			t.Fatalf("torn at %d: %v, %v", cut, list, err)
		}
		must(t, j.Recover(t.Context()))
		put(t, j, "s/a", "3")
		list, err = journal.New(n, journal.Options{}).Entries(t.Context())
		if err != nil || len(list) != 2 {
			t.Fatalf("written after a record that was torn at %d: %v, %v", cut, list, err)
		}
		undoes(t, j)
	}
}

func TestEntries_damaged(t *testing.T) {
	m, j := desk(map[string]string{"s/a": "0"})
	for i := range 3 {
		put(t, j, "s/a", fmt.Sprint(i+1))
	}
	all := lines(t, m)
	damaged := 0
	for i, line := range all[:len(all)-2] {
		if strings.TrimSpace(line) == "" {
			continue
		}
		list := slices.Clone(all)
		list[i] = line[:12] + "?" + line[13:]
		j := setLines(t, m, list)
		entries, err := j.Entries(t.Context())
		wrong := (*journal.DamagedError)(nil)
		if !errors.As(err, &wrong) || !slices.Equal(wrong.Lines, []int{i + 1}) || !strings.Contains(err.Error(), fmt.Sprintf("line %d ", i+1)) {
			t.Errorf("line %d: %v", i+1, err)
		}
		finished := 0
		for _, e := range entries {
			if e.Broken == "" {
				finished++
			}
		}
		if finished != 2 {
			t.Errorf("line %d: %+v", i+1, entries)
		}
		damaged++
	}
	if damaged != 5 {
		t.Error(damaged)
	}
	j = setLines(t, m, append([]string{strings.Repeat("x", 1000) + "\n"}, all...))
	put(t, j, "s/a", "4") // a journal that is damaged can be written to
	if list, err := j.Entries(t.Context()); err == nil || len(list) != 4 {
		t.Error(list, err)
	}
}

// setAside sets so many files aside in one write.
func setAside(t *testing.T, j *journal.Journal, n int) {
	t.Helper()
	d := j.Draft()
	d.Put("s/a", fmt.Append(nil, n))
	for i := range n {
		d.SetAside(fmt.Sprint("s/m/", i))
	}
	do(t, j, plan(t, d), nil)
}

// A part of an entry that is damaged damages each entry that has it, and no other. What is
// written after that has parts of its own.
func TestEntries_damagedPart(t *testing.T) {
	names := map[string]string{"s/a": "0"}
	for i := range 300 {
		names[fmt.Sprint("s/m/", i)] = fmt.Sprint("message ", i)
	}
	m, j := desk(names)
	setAside(t, j, 200)
	undoes(t, j)
	put(t, j, "s/a", "1")
	setAside(t, j, 300) // the same but for its end
	undoes(t, j)
	all := lines(t, m)
	parts, shared := 0, 0
	for i, line := range all {
		if !strings.Contains(line, `{"part":`) {
			continue
		}
		parts++
		list := slices.Clone(all)
		list[i] = line[:40] + "?" + line[41:]
		n := m.Clone()
		j := setLines(t, n, list)
		entries, err := j.Entries(t.Context())
		wrong := (*journal.DamagedError)(nil)
		if !errors.As(err, &wrong) || !slices.Contains(wrong.Lines, i+1) || len(wrong.Lines) != 4-len(entries) {
			t.Fatalf("part in line %d: %d entries, %v", i+1, len(entries), err)
		}
		if len(entries) == 1 {
			shared++
		}
		before := n.Tree(live)
		setAside(t, j, 300)
		if entries, _ = journal.New(n, journal.Options{}).Entries(t.Context()); len(entries[len(entries)-1].Changes()) != 301 {
			t.Errorf("part in line %d: the write after it has %d changes", i+1, len(entries[len(entries)-1].Changes()))
		}
		if undoes(t, j); !maps.Equal(n.Tree(live), before) {
			t.Error(difference(n.Tree(live), before, before))
		}
	}
	if parts < 3 || shared == 0 || shared == parts {
		t.Errorf("%d parts, of which %d are of both writes", parts, shared)
	}
}

// A record of parts that is torn at any byte never was, and parts of it that are whole are
// not relied on. A hole in it, as a power failure may leave, is the same.
func TestEntries_tornParts(t *testing.T) {
	names := map[string]string{"s/a": "0"}
	for i := range 80 {
		names[fmt.Sprint("s/m/", i)] = fmt.Sprint("message ", i)
	}
	m, j := desk(names)
	put(t, j, "s/a", "1")
	before, start := m.Clone(), len(strings.Join(lines(t, m), ""))
	setAside(t, j, 80)
	written := strings.Join(lines(t, m), "")
	intent := start + strings.Index(written[start:], "\n\n") // the record of the first part ends there
	for ; strings.HasPrefix(written[intent+11:], `{"part"`); intent += strings.Index(written[intent+2:], "\n\n") + 2 {
	}
	end := intent + strings.Index(written[intent+2:], "\n") + 2
	for at := start; at < end; at += storetest.Sized(41, 1) {
		hole := written[:at] + strings.Repeat("\x00", min(50, end-at)) + written[min(at+50, end):end]
		for how, text := range map[string]string{"torn": written[:at], "a hole": hole} {
			n := before.Clone()
			j := setLines(t, n, []string{text})
			list, err := j.Entries(t.Context())
			if open, failed := j.OpenEntry(t.Context()); err != nil || failed != nil || open != nil || len(list) != 1 {
				t.Fatalf("%s at byte %d: %d entries, %v, open is %v, %v", how, at-start, len(list), err, open, failed)
			}
			setAside(t, j, 80)
			list, err = journal.New(n, journal.Options{}).Entries(t.Context())
			if err != nil || len(list) != 2 || len(list[1].Changes()) != 81 {
				t.Fatalf("%s at byte %d, and then written: %d entries, %v", how, at-start, len(list), err)
			}
			if text := strings.Join(lines(t, n), ""); strings.Count(text[len(hole)-end+at:], `{"part":`) < 1 {
				t.Fatalf("%s at byte %d: the write relies on what may not be durable", how, at-start)
			}
		}
	}
}

// TestRecover_hostile: what a journal says is not done if no journal says so.
func TestRecover_hostile(t *testing.T) {
	sum := strings.Repeat("a", 64)
	for _, path := range []string{"../x", "/x", ".", ".hindcast/journal", ".hindcast/kept/x", "a/../../x", ".HINDCAST/out"} {
		for _, version := range []string{sum, "../../s/a"} {
			m, j := desk(map[string]string{"s/a": "0"})
			put(t, j, "s/a", "1")
			before := m.Tree(live)
			hostile := fmt.Sprintf(`{"format":2,"id":9,"op":"restore","session":"s","changes":[{"path":%q,"does":"put back","after":{"sha256":%q,"size":1,"mode":384}}]}`, path, version)
			j = setLines(t, m, append(lines(t, m), string(sealRecord([]byte(hostile+"\n")))))
			if err := j.Recover(t.Context()); err != nil {
				t.Errorf("%s: %v", path, err)
			}
			if open, err := j.OpenEntry(t.Context()); open != nil || err != nil {
				t.Errorf("%s: %v, %v", path, open, err)
			}
			if !maps.Equal(m.Tree(live), before) {
				t.Error("it was done")
			}
		}
	}
}

// TestRecover_hostilePurge: a purge that no journal wrote deletes nothing.
func TestRecover_hostilePurge(t *testing.T) {
	sum := strings.Repeat("a", 64)
	for _, hostile := range []string{
		`{"format":2,"id":9,"op":"purge","session":"s","changes":[{"path":"x","does":"forget","after":{"sha256":"` + sum + `","mode":384}}]}`,
		`{"format":2,"id":9,"op":"purge","session":"s","changes":[{"path":"x","does":"write","after":{"sha256":"` + sum + `","mode":384}}]}`,
		`{"format":2,"id":9,"op":"purge","session":"s","changes":[{"path":"x","does":"forget","before":{"folder":true}}]}`,
		`{"format":2,"id":9,"op":"purge","session":"s","changes":[{"path":"x","does":"forget","before":{"sha256":"` + sum[:32] + `","mode":384}}]}`,
		`{"format":2,"id":9,"op":"purge","session":"s","of":2}`,
		`{"format":2,"id":9,"op":"restore","session":"s","changes":[{"path":"x","does":"forget","before":{"sha256":"` + sum + `"}}]}`,
		`{"format":2,"id":9,"op":"purge","session":"s","sums":"BAABeAF4AA=="}`,
		`{"format":2,"id":9,"op":"purge","session":"s","sums":"AAAAAAAAAAAAAAAAAAAAAA=="}`,
		`{"format":2,"id":9,"op":"purge","session":"s","part":"BAABeAF4AA=="}`,
		`{"sums":"AAAAAAAAAAAAAAAAAAAAAA=="}`,
		`{"part":"BAABeAF4AA=="}`,
	} {
		m, j := desk(map[string]string{"s/a": "0"})
		put(t, j, "s/a", "1")
		put(t, j, "s/b", "2") // a new one: before it nothing was there
		had := contents(m)
		j = setLines(t, m, append(lines(t, m), string(sealRecord([]byte(hostile+"\n")))))
		if err := j.Recover(t.Context()); err != nil {
			t.Errorf("%s: %v", hostile, err)
		}
		have := contents(m)
		for content := range had {
			if !have[content] && len(content) == 1 {
				t.Errorf("%s: %q is lost", hostile, content)
			}
		}
	}
}

// TestApply_numbers: whatever numbers a journal has, a write is one that can be read
// again, or is refused before anything changes.
func TestApply_numbers(t *testing.T) {
	for _, hostile := range []string{
		`{"done":9223372036854775807}`, `{"back":9223372036854775806}`, `{"taking":-9223372036854775808}`, `{"off":9007199254740991}`, `{"done":9007199254740980}`,
		`{"format":2,"id":9007199254740991,"op":"restore","session":"s","changes":[{"path":"s/x","does":"write","after":{"folder":true}}]}`,
	} {
		m, j := desk(map[string]string{"s/a": "0"})
		put(t, j, "s/a", "1")
		j = setLines(t, m, append(lines(t, m), string(sealRecord([]byte(hostile+"\n")))))
		must(t, j.Recover(t.Context()))
		before := m.Tree(live)
		d := j.Draft()
		d.Put("s/a", []byte("2"))
		if _, err := j.Apply(t.Context(), plan(t, d), nil); err != nil {
			if says(t, err, fs.ErrInvalid, "nothing was changed"); !maps.Equal(m.Tree(live), before) {
				t.Errorf("%s: %s", hostile, difference(m.Tree(live), before, before))
			}
			continue
		}
		if undoes(t, j); !maps.Equal(m.Tree(live), before) {
			t.Errorf("%s: %s", hostile, difference(m.Tree(live), before, before))
		}
	}
}

// TestEntries_twice: of two entries with one number, the second is none.
func TestEntries_twice(t *testing.T) {
	m, j := desk(map[string]string{"s/a": "0"})
	put(t, j, "s/a", "1")
	put(t, j, "s/a", "2")
	list := lines(t, m)
	j = setLines(t, m, append(list, list...))
	if entries, err := j.Entries(t.Context()); err != nil || len(entries) != 2 {
		t.Error(entries, err)
	}
	undoes(t, j)
	undoes(t, j)
	if m.Tree(live)["s/a"] != "640 0" {
		t.Error(m.Tree(live))
	}
}

func TestPurge(t *testing.T) {
	m, j := desk(map[string]string{"s/a": "secret", "s/b": "other"})
	put(t, j, "s/a", "redacted")
	put(t, j, "s/b", "more")
	list, err := j.Entries(t.Context())
	must(t, err)
	d := j.Draft()
	d.Forget("s/a", list[0].Changes()[0].Before)
	p, err := d.Plan(model.Plan{Op: model.OpPurge, Session: "s"})
	must(t, err)
	if len(p.Asks) != 2 || !strings.Contains(p.Asks[1], "write 1, a restore of s, can then not be taken back") || p.Files[0].Does != model.FileForgotten {
		t.Errorf("%+v", p)
	}
	do(t, j, p, nil)
	if contents(m)["secret"] || !contents(m)["other"] {
		t.Error("not what was to be forgotten")
	}
	undoes(t, j) // of s/b: the purge is passed over
	_, err = j.PlanUndo(t.Context())
	says(t, err, fs.ErrNotExist, "what s/a was is not kept any more: write 3 purged it")
	if _, err := j.Read(list[0].Changes()[0].Before); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	d = j.Draft()
	d.PutBack("s/a", list[0].Changes()[0].Before)
	says(t, d.Err(), fs.ErrNotExist, "write 3 purged it")
	nothing := &model.NothingToError{}
	if _, err := j.Draft().Plan(model.Plan{Op: model.OpPurge}); !errors.As(err, &nothing) {
		t.Error(err)
	}
}

// TestPurge_ofWhatIsUndone: what a write brought that is undone can be forgotten; then it cannot be
// done again, which the plan says.
func TestPurge_ofWhatIsUndone(t *testing.T) {
	_, j := desk(map[string]string{"s/a": "0"})
	put(t, j, "s/a", "1")
	undoes(t, j)
	list, err := j.Entries(t.Context())
	must(t, err)
	d := j.Draft()
	d.Forget("s/a", list[0].Changes()[0].After)
	p, err := d.Plan(model.Plan{Op: model.OpPurge, Session: "s"})
	must(t, err)
	if len(p.Asks) != 2 || !strings.Contains(p.Asks[1], "write 1, a restore of s that is undone, can then not be done again") {
		t.Errorf("%q", p.Asks)
	}
	do(t, j, p, nil)
	_, err = j.PlanRedo(t.Context())
	says(t, err, fs.ErrNotExist, "purged it")
}

// TestKept_apart: an agent that writes in place, into everything that a write made, its
// undo and its redo, changes nothing that is kept, nor what was copied.
func TestKept_apart(t *testing.T) {
	for _, steps := range []int{1, 2, 3} {
		m, j := desk(map[string]string{"s/a": "0", "s/b": "b", "s/c": "c"})
		d := j.Draft()
		d.Put("s/a", []byte("1"))
		d.Put("s/new", []byte("new"))
		d.SetAside("s/b")
		d.Copy("t/c", "s/c")
		do(t, j, plan(t, d), nil)
		if steps > 1 {
			undoes(t, j)
		}
		if steps > 2 {
			redoes(t, j)
		}
		was := m.Tree(whole)
		for name := range m.Tree(live) {
			if name == "s/c" || strings.HasSuffix(name, "/") {
				continue // no write made it
			}
			must(t, m.Write(name, []byte(theirs), 0o640))
			was[name] = was[name][:4] + theirs
			if now := m.Tree(whole); !maps.Equal(now, was) {
				t.Fatalf("%d steps, %s written: %s", steps, name, difference(now, was, was))
			}
		}
		if err := j.Check(t.Context()); err != nil {
			t.Errorf("%d steps: %v", steps, err)
		}
	}
}

// swaps has two names stand for each other's files.
func swaps(t *testing.T, m *disktest.Memory, a, b string) {
	t.Helper()
	must(t, m.Rename(a, "spare"))
	must(t, m.Rename(b, a))
	must(t, m.Rename("spare", b))
}

// TestKept_swapped: where two kept files hold each other's content, nothing that needs
// one of them is written, the error names it, and all else works.
func TestKept_swapped(t *testing.T) {
	m, j := desk(map[string]string{"s/a": "0", "s/b": "1", "s/c": "c"})
	d := j.Draft()
	d.SetAside("s/a")
	d.SetAside("s/b")
	do(t, j, plan(t, d), nil)
	list, err := j.Entries(t.Context())
	must(t, err)
	kept := func(i int) string { return ".hindcast/kept/" + list[0].Changes()[i].Before.SHA256 + "-640" }
	swaps(t, m, kept(0), kept(1))
	before := m.Tree(whole)

	damaged := (*journal.KeptError)(nil)
	if err := j.Check(t.Context()); !errors.As(err, &damaged) || len(damaged.Names) != 2 || !slices.Contains(damaged.Names, kept(0)) {
		t.Errorf("the check says %v", err)
	}
	p, err := j.PlanUndo(t.Context())
	if err == nil {
		_, err = j.Apply(t.Context(), p, nil)
	}
	if !errors.As(err, &damaged) || !strings.Contains(err.Error(), kept(0)) && !strings.Contains(err.Error(), kept(1)) {
		t.Errorf("the undo says %v", err)
	}
	d = j.Draft()
	d.PutBack("s/a", list[0].Changes()[0].Before)
	if p, err = d.Plan(model.Plan{Op: model.OpRestore, Session: "s"}); err == nil {
		_, err = j.Apply(t.Context(), p, nil)
	}
	if !errors.As(err, &damaged) {
		t.Errorf("a restore that needs it says %v", err)
	}
	// What is set aside would go under a name that has another content.
	must(t, m.Create("s/d", []byte("1"), 0o640))
	d = j.Draft()
	d.SetAside("s/d")
	_, err = j.Apply(t.Context(), plan(t, d), nil)
	if !errors.As(err, &damaged) {
		t.Errorf("setting aside says %v", err)
	}
	must(t, m.Remove("s/d"))
	if now := m.Tree(whole); !maps.Equal(now, before) {
		t.Error(difference(now, before, before))
	}
	put(t, j, "s/c", "another")
	undoes(t, j)
	if _, err := j.Entries(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestRecover_keptDamaged breaks every write off everywhere, and has two kept files
// swapped or one damaged before it is recovered. The recovery ends, a second one has
// nothing to do, and what can be written is written.
func TestRecover_keptDamaged(t *testing.T) {
	ended := map[string]int{}
	for _, c := range chapters(t, story()) {
		for n := 0; ; n++ {
			m, writes := c.before.Clone(), false
			over := !killed(func() {
				c.faulty(m, func(call disktest.Call) error {
					if call.N == n {
						writes = call.Writes()
						panic(errKilled)
					}
					return nil
				})
			})
			if over {
				break
			}
			names, err := m.Names(".hindcast/kept")
			if !writes || err != nil || len(names) < 2 || testing.Short() && n%7 != 0 {
				continue
			}
			for i := range names {
				damaged := m.Clone()
				swaps(t, damaged, ".hindcast/kept/"+names[i], ".hindcast/kept/"+names[(i+1)%len(names)])
				had := contents(damaged)
				j := journal.New(damaged, journal.Options{})
				where := fmt.Sprintf("%s, killed at %d, %d swapped", c.name, n, i)
				err := j.Recover(t.Context())
				switch open, failed := j.OpenEntry(t.Context()); {
				case failed != nil:
					t.Fatalf("%s: %v", where, failed)
				case open != nil:
					t.Fatalf("%s: still unfinished: %v", where, err)
				case err != nil:
					ended["with an error"]++
				default:
					ended["well"]++
				}
				have := contents(damaged)
				for content := range had {
					if !have[content] && !c.gone[content] {
						t.Fatalf("%s: %.40q is lost", where, content)
					}
				}
				if err := j.Recover(t.Context()); err != nil {
					t.Fatalf("%s: a second recovery: %v", where, err)
				}
				put(t, j, "u/new", "new")
				undoes(t, j)
			}
		}
	}
	t.Log(ended)
	if len(ended) < 2 {
		t.Error("not every way was taken")
	}
}
