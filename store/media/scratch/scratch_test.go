package scratch_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"hindcast/store/media/scratch"
)

// What a process left that was killed before it had the lock goes: an empty folder that is old
// enough. All else without a lock stays.
func TestMake_sweepsWhatAKillLeft(t *testing.T) {
	dir := t.TempDir()
	old := time.Now().Add(-2 * time.Minute)
	folders := []struct {
		name    string
		holds   string
		at      time.Time
		remains bool
	}{
		{".hindcast-1", "", old, false},
		{".hindcast-2", "", old, false},
		{".hindcast-3", "", time.Now(), true},
		{".hindcast-4", "a person's", old, true},
		{".hindcast-5", "hindcast-lock", old, false}, // nobody holds it
		{"hindcast-6", "", old, true},
		{".hindcas-7", "", old, true},
	}
	for _, f := range folders {
		path := filepath.Join(dir, f.name)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if f.holds != "" {
			if err := os.WriteFile(filepath.Join(path, f.holds), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chtimes(path, f.at, f.at); err != nil {
			t.Fatal(err)
		}
	}
	made, err := scratch.Make(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range folders {
		_, err := os.Lstat(filepath.Join(dir, f.name))
		if (err == nil) != f.remains {
			t.Errorf("%s remains: %v", f.name, err == nil)
		}
	}
	if err := made.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(made.Path); !os.IsNotExist(err) {
		t.Errorf("its own folder: %v", err)
	}
}
