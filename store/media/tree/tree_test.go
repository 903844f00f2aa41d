package tree

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// whole is a tree that counts calls of Read.
type whole struct {
	Tree
	reads int
}

func (w *whole) Read(name string, buf []byte) ([]byte, Stamp, error) {
	w.reads++
	return w.Tree.Read(name, buf)
}

// Whatever a tree is wrapped in, to read a part of a file does not read the file.
func TestTree_wrapped_readsAPart(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	steps := Steps{{Name: "b", Data: []byte("b")}}
	for name, wrap := range map[string]func(Tree) Tree{
		"view":     func(on Tree) Tree { return NewView(on) },
		"overlay":  func(on Tree) Tree { return Overlay(on, steps, nil) },
		"proven":   func(on Tree) Tree { return Proven(on, steps) },
		"noting":   func(on Tree) Tree { return noting{on, nil} },
		"embedded": func(on Tree) Tree { return struct{ Tree }{on} },
		"several":  func(on Tree) Tree { return NewView(Overlay(Proven(on, steps), steps, nil)) },
	} {
		below := &whole{Tree: openTree(t, dir)}
		f, err := wrap(below).OpenFile("a")
		if err != nil {
			t.Fatal(err)
		}
		part := make([]byte, 10)
		if n, err := f.ReadAt(part, 1000); n != len(part) || err != nil {
			t.Errorf("%s: %d bytes, %v", name, n, err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if below.reads != 0 {
			t.Errorf("%s: all of the file is read", name)
		}
	}
}

// A folder that was held is let go of by the last who holds it.
func TestDisk_Hold_letsGo(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "sub"), 0o700), os.WriteFile(filepath.Join(dir, "sub", "a"), []byte("a"), 0o600)); err != nil {
		t.Fatal(err)
	}
	d := openTree(t, dir)
	first, second := d.Hold("sub"), d.Hold("sub")
	if _, _, err := d.Read("sub/a", nil); err != nil {
		t.Fatal(err)
	}
	open := d.held["sub"].folder
	first()
	if _, err := open.Stat("a"); err != nil {
		t.Errorf("somebody holds it still: %v", err)
	}
	second()
	if _, err := open.Stat("a"); !errors.Is(err, fs.ErrClosed) || len(d.held) != 0 {
		t.Errorf("nobody holds it, and it is open: %v, %v", err, d.held)
	}
}
