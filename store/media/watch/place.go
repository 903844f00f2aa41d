package watch

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// matchEntries returns the names of the entries of a folder that belong to the level, and
// whether these are all: no more are read than most.
func (l Level) matchEntries(dir string, most int, ignore func(name string) bool) (names map[string]bool, all bool, err error) {
	if l.Name != "" {
		names = map[string]bool{l.Name: true}
		for _, suffix := range l.suffixes {
			names[l.Name+suffix] = true
		}
		return names, true, nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return nil, false, err
	}
	defer f.Close() // it was only read
	names = map[string]bool{}
	for len(names) < most {
		entries, err := f.ReadDir(256)
		for _, e := range entries {
			folder := e.IsDir() || e.Type()&fs.ModeSymlink != 0
			if folder && strings.HasPrefix(e.Name(), l.Prefix) && !(l.Depth > 0 && ignore(e.Name())) {
				names[e.Name()] = true
			}
		}
		if errors.Is(err, io.EOF) {
			return names, true, nil
		}
		if err != nil {
			return nil, false, err
		}
	}
	return names, false, nil
}

// statFollowed returns the file info of a path, nil if the watcher does not follow it: a link
// to a folder has to stay within the root.
func (w *watcher) statFollowed(path string) fs.FileInfo {
	info, err := os.Lstat(path)
	if err != nil {
		return nil
	}
	if info.Mode()&fs.ModeSymlink == 0 {
		return info
	}
	if info, err = os.Stat(path); err != nil {
		return nil
	}
	if info.IsDir() && path != w.base && (!isBelow(w.base, path) || w.isAround(info, path)) {
		return nil
	}
	return info
}

// isAround reports whether a folder is an ancestor of a path: a search in it would
// not end.
func (w *watcher) isAround(dir fs.FileInfo, path string) bool {
	for path != w.base && path != filepath.Dir(path) {
		path = filepath.Dir(path)
		if info, err := os.Stat(path); err == nil && os.SameFile(dir, info) {
			return true
		}
	}
	return false
}

// isBelow reports whether what a path leads to is below a folder.
func isBelow(dir, path string) bool {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return false
	}
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// sameFile reports whether two looks at a path found the same thing, or both
// nothing.
func sameFile(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b)
}

// isSameInfo reports whether two looks at a path found no difference.
func isSameInfo(a, b fs.FileInfo) bool {
	return sameFile(a, b) && (a == nil || a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()))
}
