package journal_test

import (
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
)

// put0 is a content, and kept0 the name under which it is kept.
const (
	put0  = "zero"
	kept0 = ".hindcast/kept/f9194e73f9e9459e3450ea10a179cdf77aafa695beecd3b9344a98d111622243-640"
)

// onDisk makes a store with a write that keeps put0, and returns its folder and journal.
func onDisk(t *testing.T) (dir string, d disk.Disk, j *journal.Journal) {
	t.Helper()
	dir = t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "s"), 0o755))
	for name, text := range map[string]string{"s/a": put0, "s/b": put0, "s/c": "c", "other": put0} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o640))
	}
	opened, err := disk.Open(dir)
	must(t, err)
	t.Cleanup(func() { opened.Close() })
	j = journal.New(opened, journal.Options{})
	put(t, j, "s/a", "one")
	if _, err := os.Lstat(filepath.Join(dir, kept0)); err != nil {
		t.Fatal(err)
	}
	return dir, opened, j
}

// TestKept_somethingElse: under the name of a kept content stands something else. Whatever
// needs the content says which name that is, and writes nothing; what does not need it works.
func TestKept_somethingElse(t *testing.T) {
	for name, stands := range map[string]func(path string) error{
		"other bytes":            func(path string) error { return os.WriteFile(path, []byte("zer0"), 0o640) },
		"nothing in it":          func(path string) error { return os.WriteFile(path, nil, 0o640) },
		"a link to the content":  func(path string) error { return os.Symlink("../../other", path) },
		"a link to other bytes":  func(path string) error { return os.Symlink("../../s/c", path) },
		"a link to a folder":     func(path string) error { return os.Symlink("../../s", path) },
		"a link to nothing":      func(path string) error { return os.Symlink("none", path) },
		"a folder":               func(path string) error { return os.Mkdir(path, 0o700) },
		"a folder with contents": func(path string) error { return os.MkdirAll(filepath.Join(path, "x"), 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			dir, _, j := onDisk(t)
			list, err := j.Entries(t.Context())
			must(t, err)
			v := list[0].Changes()[0].Before
			must(t, os.Remove(filepath.Join(dir, kept0)))
			must(t, stands(filepath.Join(dir, kept0)))
			before := treeOf(t, dir, live)
			needs := map[string]func(d *journal.Draft){
				"set aside":      func(d *journal.Draft) { d.SetAside("s/b") },
				"replace":        func(d *journal.Draft) { d.Put("s/b", []byte("other")) },
				"write":          func(d *journal.Draft) { d.Put("s/new", []byte(put0)) },
				"keep":           func(d *journal.Draft) { d.Put("s/new", []byte("new")); d.Keep("s/b") },
				"put back":       func(d *journal.Draft) { d.PutBack("s/new", v) },
				"copy over it":   func(d *journal.Draft) { d.Copy("s/b", "s/c") },
				"two that leave": func(d *journal.Draft) { d.SetAside("s/c"); d.SetAside("s/b") },
			}
			for does, draft := range needs {
				d := j.Draft()
				draft(d)
				p, err := d.Plan(model.Plan{Op: model.OpRestore, Session: "s"})
				if err == nil {
					_, err = j.Apply(t.Context(), p, nil)
				}
				namesKept(t, does, err)
				if now := treeOf(t, dir, live); !maps.Equal(now, before) {
					t.Fatalf("%s:\n%s", does, difference(now, before, before))
				}
			}
			p, err := j.PlanUndo(t.Context())
			if err == nil {
				_, err = j.Apply(t.Context(), p, nil)
			}
			namesKept(t, "undo", err)
			namesKept(t, "check", j.Check(t.Context()))
			if now := treeOf(t, dir, live); !maps.Equal(now, before) {
				t.Fatalf("undo:\n%s", difference(now, before, before))
			}
			put(t, j, "s/c", "another")
			undoes(t, j)
		})
	}
}

// namesKept checks that an error says that kept0 is damaged.
func namesKept(t *testing.T, does string, err error) {
	t.Helper()
	damaged := (*journal.KeptError)(nil)
	if !errors.As(err, &damaged) || len(damaged.Names) != 1 || damaged.Names[0] != kept0 {
		t.Errorf("%s: %v", does, err)
	}
}

// TestPutBack_noFile: what is no version of a file is not put back, not even where
// something has the name that it would have in kept/.
func TestPutBack_noFile(t *testing.T) {
	for _, v := range []journal.Version{
		{}, {Mode: 0o644}, {Folder: true, Mode: 0o755}, {SHA256: "ab", Mode: 0o600}, {SHA256: strings.Repeat("A", 64), Mode: 0o600},
		{SHA256: strings.Repeat("a", 64), Mode: 0o600, Size: -1}, {SHA256: strings.Repeat("a", 64), Mode: 0o600, Folder: true},
	} {
		m, j := desk(map[string]string{"s/a": "0"})
		put(t, j, "s/a", "1")
		for _, name := range []string{"-000", "-644", "-755", "ab-600", strings.Repeat("A", 64) + "-600", strings.Repeat("a", 64) + "-600"} {
			must(t, m.Create(".hindcast/kept/"+name, []byte("x"), 0o600))
		}
		d := j.Draft()
		d.PutBack("s/b", v)
		says(t, d.Err(), fs.ErrNotExist, "put back s/b", "not kept any more")
	}
}

// TestPlanUndo_removedByHand: of a content that somebody removed from kept/ no write is
// named that purged it.
func TestPlanUndo_removedByHand(t *testing.T) {
	dir, _, j := onDisk(t)
	must(t, os.Remove(filepath.Join(dir, kept0)))
	_, err := j.PlanUndo(t.Context())
	says(t, err, fs.ErrNotExist, "what s/a was is not kept any more: it was removed from .hindcast/kept")
	if strings.Contains(err.Error(), "purged") {
		t.Error(err)
	}
}

// TestPlanUndo_leads: an undo leads to where the write came from, a redo to where it led.
// Only the undo of a write that made a session removes one.
func TestPlanUndo_leads(t *testing.T) {
	forks, others := 0, 0
	for _, c := range chapters(t, story()) {
		p, err := c.plan(t.Context(), journal.New(c.before, journal.Options{}))
		must(t, err)
		if c.name == "undo" && (p.Target.ID != "head" || p.Head.ID != "") || c.name == "redo" && (p.Target.ID != "" || p.Head.ID != "head") {
			t.Errorf("%s leads from %v to %v", c.name, p.Head, p.Target)
		}
		if back := p.Op == model.OpUndo || p.Op == model.OpRedo; back && !slices.Equal(p.Writes, []string{fmt.Sprintf("journal: entry %d", p.Entry)}) {
			t.Errorf("%s: it writes %q", c.name, p.Writes)
		}
		if want := c.name == "undo of the fork"; p.Removes != want {
			t.Errorf("%s: removes %v", c.name, p.Removes)
		} else if want {
			forks++
		} else if p.Op == model.OpUndo || p.Op == model.OpRedo {
			others++
		}
	}
	if forks != 1 || others < 3 {
		t.Error(forks, others)
	}
}

// TestApply_movesOnlyWhatItSaw: between the last look at a file and the change an agent
// puts something else in its place, or writes into it so that hardly anything shows. The
// write says so, and what the agent left is where it left it.
func TestApply_movesOnlyWhatItSaw(t *testing.T) {
	old := time.Now().Add(-time.Hour).Truncate(time.Second)
	ages := func(path string) error { return os.Chtimes(path, old, old) }
	agents := map[string]func(path string) error{
		"a link to the same bytes": func(path string) error { return errors.Join(os.Remove(path), os.Symlink("../other", path)) },
		"a link to nothing":        func(path string) error { return errors.Join(os.Remove(path), os.Symlink("none", path)) },
		"a folder":                 func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o755)) },
		"another file of its age": func(path string) error {
			return errors.Join(os.WriteFile(path+".new", []byte("ZERO"), 0o640), ages(path+".new"), os.Rename(path+".new", path))
		},
		"as many bytes": func(path string) error { return os.WriteFile(path, []byte("ZERO"), 0o640) },
		"more bytes, as old": func(path string) error {
			return errors.Join(os.WriteFile(path, []byte("zero more"), 0o640), ages(path))
		},
		"other permissions": func(path string) error { return os.Chmod(path, 0o600) },
		"no bytes, as old":  func(path string) error { return errors.Join(os.Truncate(path, 0), ages(path)) },
		"bytes of the future": func(path string) error {
			return errors.Join(os.WriteFile(path, []byte("ZERO"), 0o640), os.Chtimes(path, old, old.Add(2*time.Hour)))
		},
	}
	for name, agent := range agents {
		for does, draft := range map[string]func(d *journal.Draft){
			"set aside": func(d *journal.Draft) { d.SetAside("s/b") },
			"replace":   func(d *journal.Draft) { d.Put("s/b", []byte("mine")) },
		} {
			for _, aged := range []bool{true, false} {
				where := fmt.Sprintf("%s, %s, an hour old: %v", name, does, aged)
				dir, d, _ := onDisk(t)
				file := filepath.Join(dir, "s/b")
				if aged {
					must(t, ages(file))
				}
				must(t, os.Remove(filepath.Join(dir, kept0))) // so that the file itself is kept
				left := ""
				j := journal.New(&disktest.Faulty{Disk: d, Hook: func(call disktest.Call) error {
					if left != "" || call.Op != "exchange" && (call.Op != "place" || call.Name != "s/b") {
						return nil
					}
					err := agent(file)
					left = whatIs(t, file)
					return err
				}}, journal.Options{})
				write := j.Draft()
				draft(write)
				_, err := j.Apply(t.Context(), plan(t, write), nil)
				if left == "" {
					t.Fatalf("%s: nothing was moved: %v", where, err)
				}
				if !errors.Is(err, model.ErrHeadMoved) || !strings.Contains(err.Error(), "s/b was changed since") {
					t.Errorf("%s: %v", where, err)
				}
				if now := whatIs(t, file); now != left {
					t.Errorf("%s: the agent left %s, now it is %s", where, left, now)
				}
			}
		}
	}
}

// whatIs says what a name stands for, links not followed.
func whatIs(t *testing.T, path string) string {
	t.Helper()
	info, err := os.Lstat(path)
	must(t, err)
	text, isLink := os.Readlink(path)
	if isLink != nil && info.Mode().IsRegular() {
		data, err := os.ReadFile(path)
		must(t, err)
		text = string(data)
	}
	return fmt.Sprintf("%v %q of %v", info.Mode(), text, info.ModTime())
}

// TestApply_besideARemoval: an agent removes the file that is written, at any moment. Either the
// write was done by then, or it says so, and the file stays away.
func TestApply_besideARemoval(t *testing.T) {
	for _, noExchange := range []bool{false, true} {
		conflicts := 0
		for n, met := 0, true; met; n++ {
			m, j := desk(map[string]string{"s/a": "0", "s/b": "0"})
			m.NoExchange, met = noExchange, false
			moment := ""
			d := j.Draft()
			d.Put("s/a", []byte("1"))
			p := plan(t, d)
			f := &disktest.Faulty{Disk: m, Hook: func(call disktest.Call) error {
				if met = met || call.N == n; call.N == n {
					moment = call.Op
					return m.Remove("s/a")
				}
				return nil
			}}
			_, err := journal.New(f, journal.Options{}).Apply(t.Context(), p, nil)
			_, there := m.Tree(live)["s/a"]
			switch {
			case err != nil && (there || !errors.Is(err, model.ErrHeadMoved) || !strings.Contains(err.Error(), "s/a was removed since")):
				t.Errorf("exchange %v, call %d: there %v: %v", !noExchange, n, there, err)
			case err != nil:
				conflicts++
			case there && met && !(noExchange && moment == "rename"): // which cannot tell
				t.Errorf("exchange %v, call %d: it was removed and is there", !noExchange, n)
			}
		}
		if conflicts < 5 {
			t.Errorf("exchange %v: %d conflicts", !noExchange, conflicts)
		}
	}
}

// TestRecover_conflictIsTheEnd: a write that was broken off and meets another's file is at
// its end: it is not one to be finished.
func TestRecover_conflictIsTheEnd(t *testing.T) {
	m, _ := desk(map[string]string{"s/a": "0", "s/b": "b"})
	killed(func() {
		j := journal.New(&disktest.Faulty{Disk: m, Hook: func(call disktest.Call) error {
			if call.Op == "place" && call.Name == "s/b" {
				panic(errKilled)
			}
			return nil
		}}, journal.Options{})
		d := j.Draft()
		d.Put("s/a", []byte("1"))
		d.SetAside("s/b")
		_, err := j.Apply(t.Context(), plan(t, d), nil)
		t.Error("it was not broken off", err)
	})
	must(t, rewrites(m, "s/b"))
	for n := 0; ; n++ { // a call that fails is told
		failed := ""
		f := &disktest.Faulty{Disk: m.Clone(), Hook: func(call disktest.Call) error {
			if call.N != n {
				return nil
			}
			failed = call.Op + " " + call.Name
			return &fs.PathError{Op: call.Op, Path: call.Name, Err: syscall.EIO}
		}}
		err := journal.New(f, journal.Options{}).Recover(t.Context())
		if failed == "" {
			break
		}
		if !errors.Is(err, syscall.EIO) {
			t.Errorf("%s fails: %v", failed, err)
		}
	}
	j := journal.New(m, journal.Options{})
	err := j.Recover(t.Context())
	says(t, err, model.ErrHeadMoved, "s/b was changed since", "what it set aside can still be restored")
	if unfinished := (*journal.UnfinishedError)(nil); errors.As(err, &unfinished) {
		t.Errorf("it is to be finished: %v", err)
	}
	if open, err := j.OpenEntry(t.Context()); open != nil || err != nil {
		t.Error(open, err)
	}
	must(t, j.Recover(t.Context()))
}

// TestRecover_withoutOut: the folder of what is under way may be lost where it is empty, as in a copy
// that leaves empty folders out.
func TestRecover_withoutOut(t *testing.T) {
	lost := 0
	for n, met := 0, true; met; n++ {
		m, _ := desk(map[string]string{"s/a": "0", "s/b": "b"})
		met = killed(func() {
			j := journal.New(&disktest.Faulty{Disk: m, Hook: func(call disktest.Call) error {
				if call.N == n {
					panic(errKilled)
				}
				return nil
			}}, journal.Options{})
			d := j.Draft()
			d.Put("s/a", []byte("1"))
			d.SetAside("s/b")
			do(t, j, plan(t, d), nil)
		})
		open, err := journal.New(m, journal.Options{}).OpenEntry(t.Context())
		must(t, err)
		if open == nil || m.Remove(".hindcast/out") != nil {
			continue
		}
		lost++
		must(t, journal.New(m, journal.Options{}).Recover(t.Context()))
		if now := m.Tree(live); now["s/a"] != "640 1" || now["s/b"] != "" {
			t.Errorf("killed at call %d: %v", n, now)
		}
	}
	if lost == 0 {
		t.Error("the folder was never empty")
	}
}

// TestMakeFolder_besideNone: a folder that no other one stands beside is its owner's alone.
func TestMakeFolder_besideNone(t *testing.T) {
	_, j := desk(map[string]string{"a": "0", "b": "1"})
	d := j.Draft()
	d.Put("new/deep/x", nil)
	must(t, d.Err())
	folders := 0
	for _, c := range d.Changes() {
		if c.After.Folder {
			if folders++; c.After.Mode != 0o700 {
				t.Errorf("%s gets %o", c.Path, c.After.Mode)
			}
		}
	}
	if folders != 2 {
		t.Errorf("%d folders", folders)
	}
}
