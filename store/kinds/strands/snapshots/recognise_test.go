package snapshots

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"hindcast/store/engine"
	"hindcast/store/media/tree"
)

// looks is a tree whose looks at single names are counted.
type looks struct {
	tree.Tree
	count int
}

func (l *looks) Stamp(name string) (tree.Stamp, error) {
	l.count++
	return l.Tree.Stamp(name)
}

// What is recognised costs looks at its folders, and none at other files.
func TestRecognise_looksAtFoldersAlone(t *testing.T) {
	dir := t.TempDir()
	for i := range 500 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("other_", i, ".txt")), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	disk, err := tree.OpenDisk(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer disk.Close()
	on := &looks{Tree: disk}
	if _, ok, err := sign(t.Context(), engine.Site{}, on); ok || err != nil {
		t.Fatal(ok, err)
	}
	if on.count == 0 || on.count > 8 {
		t.Errorf("%d looks at single names, of 500 files and a folder", on.count)
	}
}
