//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestWalk: opening a folder part by part finds and refuses what the one call does
// that newer systems have for it.
func TestWalk(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "a/b/c"), 0o755), os.WriteFile(filepath.Join(dir, "a/file"), nil, 0o600),
		os.Symlink("b", filepath.Join(dir, "a/in")), os.Symlink("..", filepath.Join(dir, "a/up"))); err != nil {
		t.Fatal(err)
	}
	root, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for name, want := range map[string]error{
		"a": nil, "a/b": nil, "a/b/c": nil, "a/x": fs.ErrNotExist, "x/b": fs.ErrNotExist, "a/file": unix.ENOTDIR, "a/file/x": unix.ENOTDIR,
		"a/in": ErrSymlink, "a/in/c": ErrSymlink, "a/up": ErrSymlink, "a/up/a": ErrSymlink,
	} {
		for _, open := range []func(int, string) (int, error){walkFolders, openFolder} {
			file, err := open(int(root.Fd()), name)
			if !errors.Is(err, want) {
				t.Errorf("%s: %v instead of %v", name, err, want)
			}
			if err == nil {
				unix.Close(file)
			}
		}
	}
}

// TestStepwise: so it is with files that are read.
func TestStepwise(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "a"), 0o755), os.WriteFile(filepath.Join(dir, "a/file"), nil, 0o600),
		os.Symlink("file", filepath.Join(dir, "a/link")), os.Symlink("a", filepath.Join(dir, "in")), os.Symlink("/etc", filepath.Join(dir, "out")),
		os.Symlink("none", filepath.Join(dir, "a/dangling")), unix.Mkfifo(filepath.Join(dir, "a/pipe"), 0o600)); err != nil {
		t.Fatal(err)
	}
	root, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for name, want := range map[string]error{
		"a/file": nil, "a": nil, ".": nil, "a/pipe": nil, "a/x": fs.ErrNotExist, "x/file": fs.ErrNotExist, "a/file/x": unix.ENOTDIR,
		"a/link": ErrSymlink, "a/dangling": ErrSymlink, "in": ErrSymlink, "in/file": ErrSymlink, "out/passwd": ErrSymlink,
	} {
		for _, open := range []func(int, string) (int, error){openStepwise, openFile} {
			file, err := open(int(root.Fd()), name)
			if !errors.Is(err, want) {
				t.Errorf("%s: %v instead of %v", name, err, want)
			}
			if err == nil {
				unix.Close(file)
			}
		}
	}
}
