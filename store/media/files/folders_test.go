package files_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hindcast/store/media/files"
)

// Folders lists the folders and the links, each time anew, of a folder that takes the system several
// calls to list.
func TestFolder_Folders(t *testing.T) {
	dir := t.TempDir()
	var want []string
	for i := range 3000 {
		name := fmt.Sprint("a-name-of-some-length-", i)
		at := filepath.Join(dir, name)
		var err error
		switch i % 100 {
		case 0:
			err = os.Mkdir(at, 0o700)
			want = append(want, name)
		case 1:
			if err = os.Symlink("nowhere", at); err == nil {
				want = append(want, name)
			} else {
				err = os.WriteFile(at, nil, 0o600) // no links here
			}
		default:
			err = os.WriteFile(at, nil, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	folder, err := files.OpenFolder(root, ".")
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	slices.Sort(want)
	for range 2 {
		if got, err := folder.Folders(); err != nil || !slices.Equal(slices.Sorted(slices.Values(got)), want) {
			t.Fatalf("%d folders and links, not %d, %v", len(got), len(want), err)
		}
		if names, err := folder.Names(); err != nil || len(names) != 3000 {
			t.Fatalf("%d names, %v", len(names), err)
		}
	}
}
