package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hindcast/store/storetest/skip"
)

// A stamp is trusted when whatever is written after the look leaves other times.
func TestStamp_lookedAt(t *testing.T) {
	looked := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	at := func(before time.Duration) time.Time { return looked.Add(-before) }
	for _, c := range []struct {
		what              string
		modified, changed time.Time
		want              bool
	}{
		{"written long ago", at(time.Hour), at(time.Hour), true},
		{"written just now", at(0), at(0), false},
		{"written within the tick", at(tick), at(tick), false},
		{"written a moment before it", at(tick + 1), at(tick + 1), true},
		{"its time set back just now", at(time.Hour), at(0), true},
		{"its time set to the future long ago", at(-time.Hour), at(time.Hour), true},
		{"of another clock, which is ahead", at(-time.Hour), at(-time.Hour), false},
		{"long ago, on a system that says no more", at(time.Hour), time.Time{}, true},
		{"just now, on a system that says no more", at(0), time.Time{}, false},
		{"in the future, on a system that says no more", at(-time.Hour), time.Time{}, false},
	} {
		s := Stamp{Modified: c.modified, changed: c.changed}.lookedAt(looked)
		if s.settled != c.want || s.Same(s) != c.want {
			t.Errorf("%s: %v", c.what, s.settled)
		}
	}
}

func TestStamp_Same(t *testing.T) {
	long := time.Now().Add(-time.Hour)
	s := Stamp{Size: 1, Modified: long, changed: long, inode: 2, device: 3}.lookedAt(time.Now())
	if !s.Same(s) {
		t.Error("it is not the same as itself")
	}
	if elsewhere := s; !s.Same(elsewhere.in(time.UTC)) {
		t.Error("it is another in another time zone")
	}
	for what, change := range map[string]func(*Stamp){
		"size":      func(s *Stamp) { s.Size++ },
		"time":      func(s *Stamp) { s.Modified = s.Modified.Add(1) },
		"change":    func(s *Stamp) { s.changed = s.changed.Add(1) },
		"inode":     func(s *Stamp) { s.inode++ },
		"device":    func(s *Stamp) { s.device++ },
		"unsettled": func(s *Stamp) { s.settled = false },
	} {
		other := s
		change(&other)
		if s.Same(other) || other.Same(s) {
			t.Errorf("of another %s it is the same", what)
		}
	}
}

func (s Stamp) in(zone *time.Location) Stamp {
	s.Modified, s.changed = s.Modified.In(zone), s.changed.In(zone)
	return s
}

// What happens to a file that was looked at is seen by its stamp, although size
// and time of modification are as they were.
func TestStampOf_seesWhatHappened(t *testing.T) {
	long := time.Now().Add(-time.Hour)
	for what, change := range map[string]func(path string) error{
		"replaced by its like": func(path string) error {
			if err := os.WriteFile(path+".tmp", []byte("two"), 0o644); err != nil {
				return err
			}
			return os.Rename(path+".tmp", path)
		},
		"written in place": func(path string) error { return os.WriteFile(path, []byte("two"), 0o644) },
	} {
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, []byte("one"), 0o644); err != nil {
			t.Fatal(err)
		}
		look := func() Stamp {
			t.Helper()
			if err := os.Chtimes(path, long, long); err != nil {
				t.Fatal(err)
			}
			info, err := os.Lstat(path)
			if err != nil {
				t.Fatal(err)
			}
			return StampOf(info, time.Now())
		}
		before := look()
		if before.changed.IsZero() {
			skip.Missing(t, "a stamp has no more than size and time")
		}
		// The system's own time has to go on by more than its tick is long.
		for now := before; now.changed.Equal(before.changed); now = look() {
			if err := change(path); err != nil {
				t.Fatal(err)
			}
		}
		if after := look(); before.Same(after) {
			t.Errorf("%s: %+v is the same as %+v", what, before, after)
		}
	}
}

// bare is what a system tells of a file that says no more than size and time.
type bare struct{ fs.FileInfo }

func (bare) Sys() any { return nil }

// Where the system says no more than size and time, a stamp goes by these alone: it is trusted
// once the time is older than a tick, and another size or time is another content.
func TestStampOf_whereTheSystemSaysLess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	at := time.Now().Add(-time.Hour)
	look := func(text string, modified time.Time) Stamp {
		t.Helper()
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o644), os.Chtimes(path, modified, modified)); err != nil {
			t.Fatal(err)
		}
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		return StampOf(bare{info}, time.Now())
	}
	first := look("one", at)
	if first.Kind != Regular || first.Size != 3 || !first.Modified.Equal(at) || !first.changed.IsZero() || first.inode != 0 || first.device != 0 {
		t.Errorf("%+v", first)
	}
	if again := look("one", at); !first.Same(again) || !first.IsFile(again) {
		t.Errorf("%+v is another than %+v", again, first)
	}
	for what, other := range map[string]Stamp{"size": look("four", at), "time": look("one", at.Add(time.Second)), "just written": look("one", time.Now())} {
		if first.Same(other) {
			t.Errorf("%s: %+v is the same as %+v", what, other, first)
		}
	}
	if now := look("one", time.Now()); now.Same(now) {
		t.Error("what was written just now is trusted")
	}
}
