package tree

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hindcast/store/media/files"
)

var errBroken = errors.New("the call broke")

// faulty is a tree one of whose calls fails, once.
type faulty struct {
	Tree
	calls, at *int
}

func (f faulty) ask() error {
	if *f.calls++; *f.calls == *f.at {
		return errBroken
	}
	return nil
}

func (f faulty) List(dir string) ([]string, error) {
	if err := f.ask(); err != nil {
		return nil, err
	}
	return f.Tree.List(dir)
}

func (f faulty) Read(name string, buf []byte) ([]byte, Stamp, error) {
	if err := f.ask(); err != nil {
		return buf[:0], Stamp{}, err
	}
	return f.Tree.Read(name, buf)
}

func (f faulty) Stamp(name string) (Stamp, error) {
	if err := f.ask(); err != nil {
		return Stamp{}, err
	}
	return f.Tree.Stamp(name)
}

func (f faulty) OpenFile(name string) (Opened, error) {
	if err := f.ask(); err != nil {
		return nil, err
	}
	return f.Tree.OpenFile(name)
}

// TestIsFolder: a folder, or a link to one in the tree.
func TestIsFolder(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "s/rows/a", "one")
	for name, to := range map[string]string{"in": "s", "file": "s/rows/a", "out": "..", "none": "nowhere"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	tree := openTree(t, dir)
	for name, want := range map[string]bool{"s": true, "s/rows": true, "in": true, "s/rows/a": false, "file": false, "out": false, "none": false, "x": false, "s/rows/a/x": false} {
		if got := IsFolder(tree, name); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if IsFolder(faulty{tree, new(int), pointer(1)}, "s") {
		t.Error("what cannot be looked at is a folder")
	}
}

func pointer(n int) *int { return &n }

// TestBeginnings: of a file no more is read than its beginning, and that once.
func TestBeginnings(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "long", "0123456789")
	put(t, dir, "short", "01")
	on := openTree(t, dir)
	tree, _ := Beginnings(on, 4)
	for name, want := range map[string]string{"long": "0123", "short": "01"} {
		for range 2 {
			data, at, err := tree.Read(name, []byte("buffer")[:0])
			stamp, failed := tree.Stamp(name)
			if string(data) != want || at.Size != int64(len(want)) || stamp.Size != at.Size || stamp.Kind != files.Regular || err != nil || failed != nil {
				t.Errorf("%s: %q, %+v, %+v, %v, %v", name, data, at, stamp, err, failed)
			}
			head, err := Head(tree, name, 3)
			if string(head) != want[:min(3, len(want))] || err != nil {
				t.Errorf("%s begins with %q, %v", name, head, err)
			}
			f, err := tree.OpenFile(name)
			if err != nil {
				t.Fatal(err)
			}
			buf := make([]byte, 9)
			for at := range 6 {
				n, err := f.ReadAt(buf, int64(at))
				if got := string(buf[:n]); got != want[min(at, len(want)):] || err == nil {
					t.Errorf("%s from %d: %q, %v", name, at, got, err)
				}
				if n, err := f.ReadAt(buf[:1], int64(at)); (at < len(want)) != (n == 1 && err == nil) {
					t.Errorf("%s at %d: %d, %v", name, at, n, err)
				}
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	for _, name := range []string{"none", "none/x"} {
		if _, _, err := tree.Read(name, nil); !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
		if _, err := tree.OpenFile(name); !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
		if _, err := Head(on, name, 3); !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	}
	if at, err := tree.Stamp("none"); err != nil || at.Kind != files.Nothing {
		t.Errorf("%+v, %v", at, err)
	}
	if _, _, err := tree.Read(".", nil); err == nil {
		t.Error("a folder is read")
	}
	bad, _ := Beginnings(faulty{on, new(int), pointer(2)}, 4)
	if _, _, err := bad.Read("long", nil); !errors.Is(err, errBroken) {
		t.Error(err)
	}
	if data, err := From(on)("short", nil); string(data) != "01" || err != nil {
		t.Errorf("%q, %v", data, err)
	}
}

// TestProven: a content that the journal has proved is known in the tree, if it is still of that size.
func TestProven(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "a", "one")
	put(t, dir, "b", "other")
	put(t, dir, "c", "one")
	tree := Proven(openTree(t, dir), Steps{{Name: "a", Data: []byte("one")}, {Name: "b", Data: []byte("one")}, {Name: "d", Aside: true}})
	for name, want := range map[string]bool{"a": true, "b": false, "c": false, "d": false} {
		if at, err := tree.Stamp(name); err != nil || (at.Tag != "") != want {
			t.Errorf("%s: %+v, %v", name, at, err)
		}
	}
	broken := Proven(faulty{openTree(t, dir), new(int), pointer(1)}, Steps{{Name: "a", Data: []byte("one")}})
	if at, err := broken.Stamp("a"); err == nil || at.Tag != "" {
		t.Errorf("%+v, %v", at, err)
	}
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

var noonOf = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
