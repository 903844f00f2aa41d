package kinds_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// tree is all that is in a folder but what Hindcast keeps beside the sessions: for
// each name the mode and, of a file, the content.
type tree map[string]string

func treeOf(t *testing.T, dir string) tree {
	t.Helper()
	found := make(tree)
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.Name() == ".hindcast" {
			return filepath.SkipDir
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		text := info.Mode().String()
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += " " + string(data)
		}
		name, err := filepath.Rel(dir, path)
		found[name] = text
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// difference names what is not the same in two trees.
func (a tree) difference(b tree) []string {
	names := maps.Clone(a)
	maps.Copy(names, b)
	var other []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		switch was, is := a[name], b[name]; {
		case was == is:
		case was == "":
			other = append(other, "there is "+name)
		case is == "":
			other = append(other, name+" is gone")
		default:
			other = append(other, name+" is another: "+was+" … and now "+is)
		}
	}
	return other
}

// storeCopy copies a store with the modes and times of its files, so that nobody
// can say that it was written just now.
func storeCopy(t *testing.T, from string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "store")
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if err := os.Chmod(filepath.Join(to, name), info.Mode().Perm()); err != nil {
			return err
		}
		return os.Chtimes(filepath.Join(to, name), info.ModTime(), info.ModTime())
	})
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// age says of all files of a store that they were written an hour ago.
func age(t *testing.T, dir string) {
	t.Helper()
	ago := time.Now().Add(-time.Hour)
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(path, ago, ago)
	})
	if err != nil {
		t.Fatal(err)
	}
}
