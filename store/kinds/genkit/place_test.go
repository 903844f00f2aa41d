package genkit

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

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

// What is listed costs looks at its folders, and none at other files.
func TestList_looksAtFoldersAlone(t *testing.T) {
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
	if _, subfolders, err := listFolder(on, "."); err != nil || len(subfolders) != 1 {
		t.Fatal(subfolders, err)
	}
	if on.count == 0 || on.count > 8 {
		t.Errorf("%d looks at single names, of 500 files and a folder", on.count)
	}
}
