package storetest

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Untouched remembers all that is in dir and dir itself: each path, its type and
// mode, its bytes or where a link leads, its time of modification, and which
// file it is. check fails the test for each path at which anything of that is
// different, or that came or went; it may be called several times. When something
// was last read is not looked at. Links are not followed.
//
// A kind of store that only reads shows with it that it does.
func Untouched(t testing.TB, dir string) (check func()) {
	t.Helper()
	before, err := look(dir)
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		after, err := look(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, difference := range differences(before, after) {
			t.Error(difference)
		}
	}
}

// seen is what one look found at a path.
type seen struct {
	info fs.FileInfo
	// content is a hash of the bytes of a file, or where a link leads; or why
	// that cannot be told.
	content string
}

// look returns what is at each path below dir, and at dir itself as ".".
func look(dir string) (map[string]seen, error) {
	found := map[string]seen{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		found[name] = seen{info, content(path, info.Mode())}
		return nil
	})
	return found, err
}

func content(path string, mode fs.FileMode) string {
	switch {
	case mode&fs.ModeSymlink != 0:
		target, err := os.Readlink(path)
		if err != nil {
			return err.Error()
		}
		return target
	case mode.IsRegular():
		hash, err := hashOf(path)
		if err != nil {
			return err.Error()
		}
		return hash
	}
	return "" // a folder is what is in it, and nothing is read from a pipe
}

func hashOf(path string) (string, error) {
	data, err := os.ReadFile(path)
	hash := sha256.Sum256(data)
	return string(hash[:]), err
}

// differences words what differs between two looks, in the order of the paths.
func differences(before, after map[string]seen) (list []string) {
	names := maps.Clone(before)
	maps.Copy(names, after)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		b, was := before[name]
		a, is := after[name]
		switch {
		case !was:
			list = append(list, fmt.Sprintf("%s was added", name))
		case !is:
			list = append(list, fmt.Sprintf("%s was removed", name))
		default:
			list = append(list, b.differences(name, a)...)
		}
	}
	return list
}

func (s seen) differences(name string, now seen) (list []string) {
	if s.info.Mode() != now.info.Mode() {
		list = append(list, fmt.Sprintf("%s was %v and is %v", name, s.info.Mode(), now.info.Mode()))
	}
	if !os.SameFile(s.info, now.info) {
		list = append(list, fmt.Sprintf("%s was replaced by another", name))
	}
	if !s.info.ModTime().Equal(now.info.ModTime()) {
		list = append(list, fmt.Sprintf("%s was written to: its time was %v and is %v", name, s.info.ModTime(), now.info.ModTime()))
	}
	if s.content != now.content {
		list = append(list, fmt.Sprintf("%s has other content", name))
	}
	return list
}
