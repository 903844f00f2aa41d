package genkit

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"hindcast/store/engine/folder"
)

// looks is a tree whose looks at single names are counted.
type looks struct {
	folder.Tree
	count int
}

func (l *looks) Stamp(name string) (folder.Stamp, error) {
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
	disk, err := folder.OpenDisk(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer disk.Close()
	tree := &looks{Tree: disk}
	if _, subfolders, err := list(tree, "."); err != nil || len(subfolders) != 1 {
		t.Fatal(subfolders, err)
	}
	if tree.count == 0 || tree.count > 8 {
		t.Errorf("%d looks at single names, of 500 files and a folder", tree.count)
	}
}
