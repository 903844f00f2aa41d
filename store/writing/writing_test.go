package writing

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store/disk"
	"hindcast/store/journal"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// at returns the desk of a storage folder with a session s.
func at(t *testing.T, dir string) *Desk {
	t.Helper()
	d := New(dir, "s", func(string) bool { return false })
	d.Now = func() time.Time { return noon }
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// write has Hindcast write a file of the session.
func write(t *testing.T, d *Desk, name, text string) {
	t.Helper()
	j, err := d.Journal()
	if err != nil {
		t.Fatal(err)
	}
	draft := j.Draft()
	draft.Put(d.Inside(name), []byte(text))
	plan, err := draft.Plan(model.Plan{Op: model.OpRestore, Session: "s"})
	if err == nil {
		_, err = j.Apply(t.Context(), plan, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// back undoes the last write, or does it again.
func back(t *testing.T, d *Desk, op model.Op, want int64) {
	t.Helper()
	plan, e, err := d.PlanBack(t.Context(), op)
	if err != nil || e.ID != want || plan.Entry != want {
		t.Fatalf("%+v, %+v, %v", plan, e, err)
	}
	j, err := d.Journal()
	if err == nil {
		_, err = j.Apply(t.Context(), plan, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestDesk_writesNothingByItself(t *testing.T) {
	dir := t.TempDir()
	d := at(t, dir)
	d.Recover(t.Context())
	list, err := d.Entries(t.Context())
	if d.Begun() || d.Broken() != nil || len(list) != 0 || err != nil {
		t.Errorf("%v, %v, %v", d.Broken(), list, err)
	}
	_, _, err = d.PlanBack(t.Context(), model.OpUndo)
	if nothing := (*model.NothingToError)(nil); !errors.As(err, &nothing) || nothing.Op != model.OpUndo {
		t.Errorf("the error is %v", err)
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 0 {
		t.Errorf("there is %v, %v", names, err)
	}
}

func TestDesk_ofAFolderThatIsNotThere(t *testing.T) {
	d := at(t, filepath.Join(t.TempDir(), "none"))
	d.Recover(t.Context())
	if d.Broken() != nil {
		t.Errorf("%v is broken off", d.Broken())
	}
	if _, _, err := d.PlanBack(t.Context(), model.OpUndo); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the error is %v", err)
	}
	// It is there as soon as somebody makes it.
	if err := os.Mkdir(d.Folder(), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Disk(); err != nil {
		t.Error(err)
	}
}

func TestDesk_knowsWhatHindcastWrote(t *testing.T) {
	dir := t.TempDir()
	d := at(t, dir)
	put(t, dir, "s/a", "agent")
	own := func(want bool, when string) {
		t.Helper()
		if d.Own("s/a") != want {
			t.Errorf("%s it is Hindcast's: %v", when, !want)
		}
	}
	own(false, "before")
	write(t, d, "a", "hindcast")
	own(true, "written")
	back(t, d, model.OpUndo, 1)
	own(true, "undone")
	back(t, d, model.OpRedo, 1)
	own(true, "done again")
	put(t, dir, "s/a", "agent")
	own(false, "as it was before, written by an agent,")
	put(t, dir, "s/a", "hindcast!")
	own(false, "another one")
	if d.Own("s/b") {
		t.Error("a file that is not there is Hindcast's")
	}
}

func TestDesk_livelySessions(t *testing.T) {
	dir := t.TempDir()
	d := at(t, dir)
	put(t, dir, "s/agent", "1")
	write(t, d, "own", "2")
	stamp := func(name string, ago time.Duration) Stamp { return Stamp{"s/" + name, noon.Add(-ago)} }
	for _, c := range []struct {
		name  string
		files []Stamp
		ago   time.Duration
		want  bool
	}{
		{"nothing", nil, 0, false},
		{"a file without a time", []Stamp{{Name: "s/agent"}}, 0, false},
		{"long ago", []Stamp{stamp("agent", 11*time.Second)}, 0, false},
		{"just now", []Stamp{stamp("agent", 10*time.Second)}, 10 * time.Second, true},
		{"ahead of the clock", []Stamp{stamp("agent", -10*time.Second)}, 0, true},
		{"far ahead of it", []Stamp{stamp("agent", -11*time.Second)}, 0, false},
		{"by Hindcast", []Stamp{stamp("own", time.Second)}, 0, false},
		{"by both", []Stamp{stamp("agent", 3*time.Second), stamp("own", time.Second)}, 3 * time.Second, true},
	} {
		if ago, lively := d.Lively(10*time.Second, c.files...); ago != c.ago || lively != c.want {
			t.Errorf("%s: %v, %v", c.name, ago, lively)
		}
	}
}

// full is a disk on which nothing can be appended any more.
type full struct{ Disk }

var errFull = errors.New("the disk is full")

func (full) Append(string, []byte) error { return errFull }

func TestDesk_goesThroughAnotherDisk(t *testing.T) {
	dir := t.TempDir()
	d := at(t, dir)
	if err := d.Through(func(on Disk) Disk { return full{on} }); err != nil {
		t.Fatal(err)
	}
	j, err := d.Journal()
	if err != nil {
		t.Fatal(err)
	}
	draft := j.Draft()
	draft.Put("a", []byte("1"))
	plan, err := draft.Plan(model.Plan{Op: model.OpRestore})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Apply(t.Context(), plan, nil); !errors.Is(err, errFull) {
		t.Errorf("the error is %v", err)
	}
}

// killed is a disk that is gone when a file is to be moved out of the way of what is
// written.
type killed struct{ Disk }

func (killed) Exchange(string, string) error { panic("killed") }

func TestDesk_finishesWhatWasBrokenOff(t *testing.T) {
	for _, foreign := range []bool{false, true} {
		dir := t.TempDir()
		put(t, dir, "s/a", "agent")
		func() {
			d := New(dir, "s", nil)
			defer func() {
				if recover() == nil {
					t.Fatal("it was not killed")
				}
				_ = d.Close()
			}()
			if err := d.Through(func(on Disk) Disk { return killed{on} }); err != nil {
				t.Fatal(err)
			}
			write(t, d, "a", "hindcast")
		}()
		if foreign {
			put(t, dir, "s/a", "somebody else")
		}
		d := at(t, dir)
		d.Recover(t.Context())
		text, err := os.ReadFile(filepath.Join(dir, "s", "a"))
		conflict := (*journal.ConflictError)(nil)
		switch {
		case err != nil:
			t.Error(err)
		case foreign && (string(text) != "somebody else" || !errors.As(d.Broken(), &conflict)):
			t.Errorf("there is %s, and %v", text, d.Broken())
		case !foreign && (string(text) != "hindcast" || d.Broken() != nil):
			t.Errorf("there is %s, and %v", text, d.Broken())
		}
	}
}

// locked is a disk on which somebody else writes just now.
type locked struct{ Disk }

func (locked) Lock(string) (func() error, error) { return nil, disk.ErrLocked }

func TestDesk_leavesASecondWriterAlone(t *testing.T) {
	dir := t.TempDir()
	write(t, at(t, dir), "a", "hindcast")
	d := at(t, dir)
	if err := d.Through(func(on Disk) Disk { return locked{on} }); err != nil {
		t.Fatal(err)
	}
	d.Recover(t.Context())
	if d.Broken() != nil {
		t.Errorf("%v is taken for broken off", d.Broken())
	}
}
