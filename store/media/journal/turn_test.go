package journal_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"strings"
	"syscall"
	"testing"

	"hindcast/model"
	"hindcast/store/media/disk"
	"hindcast/store/media/disk/disktest"
	"hindcast/store/media/journal"
)

// shelf is a disk each of whose names changes at once, as those of a bucket do.
type shelf struct {
	disk.Disk
	m *disktest.Memory
	// turning is called before Turn changes a name, and turned behind it. Nil is none.
	turning func(name string)
	turned  func(name string) error
}

// unchanged reports whether a name has what a look at it saw.
func (s *shelf) unchanged(name string, was fs.FileInfo) error {
	now, err := s.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && was == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return disk.ErrChanged
	case err == nil && (was == nil || !s.m.SameFile(was, now) || !was.ModTime().Equal(now.ModTime())):
		return disk.ErrChanged
	}
	return err
}

// Keep implements disk.Turner.
func (s *shelf) Keep(name string, was fs.FileInfo, as string) error {
	if err := s.unchanged(name, was); err != nil {
		return err
	}
	if err := s.m.Remove(as); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return s.m.Copy(name, as, was.Mode())
}

// Turn implements disk.Turner.
func (s *shelf) Turn(name string, was fs.FileInfo, from string) error {
	if s.turning != nil {
		s.turning(name)
	}
	if err := s.unchanged(name, was); err != nil {
		return err
	}
	if from != "" {
		data, info, err := s.m.Load(from, nil)
		if err == nil {
			err = s.m.Create(name+".turned", data, info.Mode())
		}
		if err == nil {
			err = s.m.Rename(name+".turned", name)
		}
		if err != nil {
			return err
		}
	} else if err := s.m.Remove(name); err != nil {
		return err
	}
	if s.turned != nil {
		return s.turned(name)
	}
	return nil
}

// Width implements disk.Turner.
func (s *shelf) Width() int { return 1 }

func newShelf(m *disktest.Memory) *shelf { return &shelf{Disk: m, m: m} }

// What is written where each name changes at once is what is written elsewhere, and can be
// taken back and done again as well.
func TestTurn_isAsElsewhere(t *testing.T) {
	m := story()
	for _, c := range chapters(t, story()) {
		if err := c.apply(t.Context(), newShelf(m), nil); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if now := m.Tree(live); !maps.Equal(now, c.is.live) {
			t.Fatalf("%s:\n%s", c.name, difference(now, c.was.live, c.is.live))
		}
	}
}

// shelved are the chapters of a life on a shelf.
func shelved(t *testing.T) (list []chapter) {
	t.Helper()
	at := story()
	for _, s := range life {
		next := at.Clone()
		if err := s.apply(t.Context(), newShelf(next), nil); err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		list = append(list, newChapter(s, at, next.Clone()))
		at = next
	}
	return list
}

// TestTurn_besideAnAgent: the agent writes to, and removes, each file of a write just
// before the file changes. The write says which file that is and what became of it; what
// the agent wrote stays, and all else is as it was.
func TestTurn_besideAnAgent(t *testing.T) {
	conflicts := map[string]int{}
	for _, c := range shelved(t) {
		var names []string
		all := newShelf(c.before.Clone())
		all.turning = func(name string) { names = append(names, name) }
		must(t, c.apply(t.Context(), all, nil))
		for _, name := range names {
			for _, does := range []string{"replaces", "rewrites", "removes"} {
				where := fmt.Sprintf("%s, an agent %s %s", c.name, does, name)
				m, wrote := c.before.Clone(), false
				want := maps.Clone(c.was.live)
				s := newShelf(m)
				s.turning = func(at string) {
					if at != name || wrote {
						return
					}
					wrote = true
					switch does {
					case "replaces":
						must(t, replaces(m, name))
					case "rewrites":
						must(t, rewrites(m, name))
					default:
						if m.Remove(name) != nil {
							wrote = false // it is not there yet
						}
					}
					if delete(want, name); does != "removes" {
						want[name] = m.Tree(live)[name]
						for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
							want[dir+"/"] = "755" // it is no longer empty
						}
					}
				}
				err := c.apply(t.Context(), s, nil)
				if !wrote && does == "removes" {
					continue
				}
				now := m.Tree(live)
				if err == nil && does == "removes" && maps.Equal(now, c.is.live) {
					continue // it was to go
				}
				conflict := (*journal.ConflictError)(nil)
				if !errors.As(err, &conflict) || conflict.Path != name {
					t.Fatalf("%s: %v", where, err)
				}
				conflicts[conflict.Found]++
				if _, was := c.was.live[name]; !was && conflict.Found != "appeared" {
					t.Errorf("%s: it %s", where, conflict.Found)
				}
				if !maps.Equal(now, want) {
					t.Fatalf("%s: %v\n%s", where, err, difference(now, want, want))
				}
			}
		}
	}
	for _, found := range []string{"appeared", "was changed", "was removed"} {
		if conflicts[found] == 0 {
			t.Errorf("no file %s: %v", found, conflicts)
		}
	}
}

// TestTurn_noAnswer: a change was made and the answer that says so did not come, so that
// the request was made once more and found the name changed. That is no conflict.
func TestTurn_noAnswer(t *testing.T) {
	for _, c := range shelved(t) {
		m := c.before.Clone()
		s := newShelf(m)
		s.turned = func(name string) error { return &fs.PathError{Op: "turn", Path: name, Err: disk.ErrChanged} }
		if err := c.apply(t.Context(), s, nil); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if now := m.Tree(live); !maps.Equal(now, c.is.live) {
			t.Fatalf("%s:\n%s", c.name, difference(now, c.was.live, c.is.live))
		}
	}
}

// TestTurn_noAnswerAndNoLook: a request has no answer, and the look whether it was carried out
// fails. That is told, and nothing is taken for done.
func TestTurn_noAnswerAndNoLook(t *testing.T) {
	turns := 0
	for _, c := range shelved(t) {
		m, blind := c.before.Clone(), false
		f := &disktest.Faulty{Disk: m, Hook: func(call disktest.Call) error {
			if blind {
				blind = false
				return &fs.PathError{Op: call.Op, Path: call.Name, Err: syscall.EIO}
			}
			return nil
		}}
		s, turned := &shelf{Disk: f, m: m}, false
		s.turned = func(name string) error {
			blind, turned = true, true
			return &fs.PathError{Op: "turn", Path: name, Err: disk.ErrChanged}
		}
		if err := c.apply(t.Context(), s, nil); turned && !errors.Is(err, syscall.EIO) {
			t.Errorf("%s: %v", c.name, err)
		}
		if turned {
			turns++
		}
	}
	if turns < 5 {
		t.Errorf("%d writes turn a name", turns)
	}
}

// TestTurn_fails lets every call fail, once and from then on. Unless the error says that
// something is unfinished, the store is as it was; after a recovery it is as before the write
// or as after it. Each failure is told.
func TestTurn_fails(t *testing.T) {
	runs, unfinished := 0, 0
	for _, c := range shelved(t) {
		for _, forever := range []bool{false, true} {
			for n := 0; ; n++ {
				m, failed := c.before.Clone(), ""
				f := &disktest.Faulty{Disk: m, Hook: func(call disktest.Call) error {
					if call.N == n || forever && call.N > n {
						failed = call.Op + " " + call.Name
						return &fs.PathError{Op: call.Op, Path: call.Name, Err: syscall.EIO}
					}
					return nil
				}}
				s := &shelf{Disk: f, m: m}
				s.turned = func(name string) error { // it is done, and that is not known
					_, err := f.Lstat(name)
					if errors.Is(err, fs.ErrNotExist) {
						err = nil
					}
					return err
				}
				err := c.apply(t.Context(), s, nil)
				if failed == "" {
					break
				}
				runs++
				where := fmt.Sprintf("%s, call %d fails, %s, forever %v: %v", c.name, n, failed, forever, err)
				open := (*journal.UnfinishedError)(nil)
				switch {
				case err == nil && failed != "lstat .hindcast/journal": // Create tells whether it is there
					t.Fatalf("%s: nobody was told", where)
				case err == nil:
				case !errors.Is(err, syscall.EIO):
					t.Fatal(where)
				case errors.As(err, &open):
					unfinished++
				case !maps.Equal(m.Tree(live), c.was.live):
					t.Fatalf("%s: not as before:\n%s", where, difference(m.Tree(live), c.was.live, c.is.live))
				}
				sound := journal.New(newShelf(m), journal.Options{})
				if failed := sound.Recover(t.Context()); failed != nil {
					t.Fatalf("%s: recover: %v", where, failed)
				}
				now, failure := factsOf(m, sound)
				must(t, failure)
				before, after := maps.Equal(now.live, c.was.live), maps.Equal(now.live, c.is.live) && now.told == c.is.told
				if !before && !after || err == nil && !after {
					t.Fatalf("%s:\n%s", where, difference(now.live, c.was.live, c.is.live))
				}
				for name := range c.after.Tree(whole) {
					if _, err2 := m.Lstat(strings.TrimSuffix(name, "/")); err == nil && err2 != nil {
						t.Fatalf("%s: %v", where, err2)
					}
				}
				for content := range c.was.contents {
					if !now.contents[content] && !c.gone[content] {
						t.Fatalf("%s: a content is lost: %.40q", where, content)
					}
				}
			}
		}
	}
	if runs < 500 || unfinished == 0 {
		t.Errorf("%d failures, %d of them left a write to be finished", runs, unfinished)
	}
}

// TestTurn_comparesWhatItCopies: what is copied at once, out of kept/ or from another
// file, is what the plan saw, or nothing is written.
func TestTurn_comparesWhatItCopies(t *testing.T) {
	for name, breaks := range map[string]func(m *disktest.Memory, name string) error{
		"changed": rewrites,
		"removed": (*disktest.Memory).Remove,
		"a folder": func(m *disktest.Memory, name string) error {
			return errors.Join(m.Remove(name), m.Mkdir(name, 0o700))
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := disktest.NewMemory(map[string]string{"s/a": "0", "s/b": "b"}, 0o640)
			j := journal.New(newShelf(m), journal.Options{})
			put(t, j, "s/a", "1")
			list, err := j.Entries(t.Context())
			must(t, err)
			undo, err := j.PlanUndo(t.Context())
			must(t, err)
			copies := j.Draft()
			copies.Copy("t/b", "s/b")
			fork := plan(t, copies)
			must(t, breaks(m, ".hindcast/kept/"+list[0].Changes()[0].Before.SHA256+"-640"))
			must(t, breaks(m, "s/b"))
			before := m.Tree(live)
			damaged, gone := (*journal.KeptError)(nil), (*journal.PurgedError)(nil)
			if _, err := j.Apply(t.Context(), undo, nil); !errors.As(err, &damaged) && !errors.As(err, &gone) {
				t.Errorf("the undo says %v", err)
			}
			if _, err := j.Apply(t.Context(), fork, nil); !errors.Is(err, model.ErrHeadMoved) || !strings.Contains(err.Error(), "s/b was ") {
				t.Errorf("the fork says %v", err)
			}
			now := m.Tree(live)
			if !maps.Equal(now, before) {
				t.Error(difference(now, before, before))
			}
		})
	}
}

// TestTurn_keepsACopyThatIsTakenBack: a fork is taken back when the agent has written over
// what it copied. The copy is the only one by then, and is kept.
func TestTurn_keepsACopyThatIsTakenBack(t *testing.T) {
	m := disktest.NewMemory(map[string]string{"s/a": "only here"}, 0o640)
	j := journal.New(newShelf(m), journal.Options{})
	d := j.Draft()
	d.Copy("t/a", "s/a")
	refused := errors.New("it does not read back")
	_, err := j.Apply(t.Context(), plan(t, d), func(context.Context) error {
		must(t, rewrites(m, "s/a"))
		return refused
	})
	now := m.Tree(live)
	if !errors.Is(err, refused) || now["t/a"] != "" || now["s/a"] != "640 "+theirs {
		t.Errorf("%v: %v", err, now)
	}
	if !contents(m)["only here"] {
		t.Errorf("what was copied is lost: %v", m.Tree(whole))
	}
}
