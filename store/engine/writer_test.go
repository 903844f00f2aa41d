package engine

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store/engine/planning"
	"hindcast/store/media/disk"
	"hindcast/store/media/journal"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// writerOf returns what a storage folder is written with.
func writerOf(t *testing.T, dir string) *writer {
	t.Helper()
	d := &writer{dir: dir, Now: func() time.Time { return noon }}
	t.Cleanup(func() {
		if err := d.closeDisk(); err != nil {
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
func write(t *testing.T, d *writer, name, text string) {
	t.Helper()
	j, err := d.Journal()
	if err != nil {
		t.Fatal(err)
	}
	draft := j.Draft()
	draft.Put("s/"+name, []byte(text))
	plan, err := draft.Plan(model.Plan{Op: model.OpRestore, Session: "s"})
	if err == nil {
		_, err = j.Apply(t.Context(), plan, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// back undoes the last write, or does it again.
func back(t *testing.T, d *writer, op model.Op, want int64) {
	t.Helper()
	plan, e, err := d.planBack(t.Context(), op)
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

func TestWriter_writesNothingByItself(t *testing.T) {
	dir := t.TempDir()
	d := writerOf(t, dir)
	d.Recover(t.Context())
	list, err := d.Entries(t.Context())
	if d.HasWrites() || d.Broken() != nil || len(list) != 0 || err != nil {
		t.Errorf("%v, %v, %v", d.Broken(), list, err)
	}
	_, _, err = d.planBack(t.Context(), model.OpUndo)
	if nothing := (*model.NothingToError)(nil); !errors.As(err, &nothing) || nothing.Op != model.OpUndo {
		t.Errorf("the error is %v", err)
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 0 {
		t.Errorf("there is %v, %v", names, err)
	}
}

func TestWriter_ofAFolderThatIsNotThere(t *testing.T) {
	d := writerOf(t, filepath.Join(t.TempDir(), "none"))
	d.Recover(t.Context())
	if d.Broken() != nil {
		t.Errorf("%v is broken off", d.Broken())
	}
	if _, _, err := d.planBack(t.Context(), model.OpUndo); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the error is %v", err)
	}
	// It is there as soon as somebody makes it.
	if err := os.Mkdir(d.Folder(), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Journal(); err != nil {
		t.Error(err)
	}
}

func TestWriter_knowsWhatHindcastWrote(t *testing.T) {
	dir := t.TempDir()
	d := writerOf(t, dir)
	put(t, dir, "s/a", "agent")
	own := func(want bool, when string) {
		t.Helper()
		if d.isOwnWrite("s/a") != want {
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
	if d.isOwnWrite("s/b") {
		t.Error("a file that is not there is Hindcast's")
	}
}

func TestWriter_livelySessions(t *testing.T) {
	dir := t.TempDir()
	d := writerOf(t, dir)
	put(t, dir, "s/agent", "1")
	write(t, d, "own", "2")
	stamp := func(name string, ago time.Duration) Written { return Written{"s/" + name, noon.Add(-ago)} }
	for _, c := range []struct {
		name  string
		files []Written
		ago   time.Duration
		want  bool
	}{
		{"nothing", nil, 0, false},
		{"a file without a time", []Written{{Name: "s/agent"}}, 0, false},
		{"long ago", []Written{stamp("agent", planning.LiveWithin+time.Second)}, 0, false},
		{"just now", []Written{stamp("agent", planning.LiveWithin)}, planning.LiveWithin, true},
		{"ahead of the clock", []Written{stamp("agent", -planning.LiveWithin)}, 0, true},
		{"far ahead of it", []Written{stamp("agent", -planning.LiveWithin-time.Second)}, 0, false},
		{"by Hindcast", []Written{stamp("own", time.Second)}, 0, false},
		{"by both", []Written{stamp("agent", 3*time.Second), stamp("own", time.Second)}, 3 * time.Second, true},
	} {
		if ago, lively := d.findRecentWrite(c.files); ago != c.ago || lively != c.want {
			t.Errorf("%s: %v, %v", c.name, ago, lively)
		}
	}
}

// full is a disk on which nothing can be appended any more.
type full struct{ disk.Disk }

var errFull = errors.New("the disk is full")

func (full) Append(string, []byte) error { return errFull }

func TestWriter_goesThroughAnotherDisk(t *testing.T) {
	dir := t.TempDir()
	d := writerOf(t, dir)
	if err := d.WriteThrough(func(on disk.Disk) disk.Disk { return full{on} }); err != nil {
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
type killed struct{ disk.Disk }

func (killed) Exchange(string, string) error { panic("killed") }

// breakOff has a writer killed in the middle of a write to s/a.
func breakOff(t *testing.T, dir string) {
	t.Helper()
	d := &writer{dir: dir, Now: time.Now}
	defer func() {
		if recover() == nil {
			t.Fatal("it was not killed")
		}
		_ = d.closeDisk()
	}()
	if err := d.WriteThrough(func(on disk.Disk) disk.Disk { return killed{on} }); err != nil {
		t.Fatal(err)
	}
	write(t, d, "a", "hindcast")
}

func TestWriter_finishesWhatWasBrokenOff(t *testing.T) {
	for _, foreign := range []bool{false, true} {
		dir := t.TempDir()
		put(t, dir, "s/a", "agent")
		breakOff(t, dir)
		if foreign {
			put(t, dir, "s/a", "somebody else")
		}
		d := writerOf(t, dir)
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
type locked struct{ disk.Disk }

func (locked) Lock(string) (func() error, error) { return nil, disk.ErrLocked }

func TestWriter_leavesASecondWriterAlone(t *testing.T) {
	dir := t.TempDir()
	write(t, writerOf(t, dir), "a", "hindcast")
	d := writerOf(t, dir)
	if err := d.WriteThrough(func(on disk.Disk) disk.Disk { return locked{on} }); err != nil {
		t.Fatal(err)
	}
	d.Recover(t.Context())
	if d.Broken() != nil {
		t.Errorf("%v is taken for broken off", d.Broken())
	}
}
