package tree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hindcast/store/media/files"
	"hindcast/store/media/journal"
	"hindcast/store/storetest/skip"
)

// broken is a tree in which one name cannot be looked at, read or listed.
type broken struct {
	Tree
	name string
}

func (b broken) List(dir string) ([]string, error) {
	if dir == b.name {
		return nil, errBroken
	}
	return b.Tree.List(dir)
}

func (b broken) Read(name string, buf []byte) ([]byte, Stamp, error) {
	if name == b.name {
		return buf[:0], Stamp{}, errBroken
	}
	return b.Tree.Read(name, buf)
}

func (b broken) Stamp(name string) (Stamp, error) {
	if name == b.name {
		return Stamp{}, errBroken
	}
	return b.Tree.Stamp(name)
}

func (b broken) OpenFile(name string) (Opened, error) {
	if name == b.name {
		return nil, errBroken
	}
	return b.Tree.OpenFile(name)
}

// TestOverlay_names: what each step leaves at its name, whichever way it is asked for, and whose errors are
// told.
func TestOverlay_names(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"d/a": "below", "d/b": "gone", "d/c": "old", "x": "source"} {
		put(t, dir, name, text)
	}
	kept := journal.Version{SHA256: "5", Size: 4}
	steps := Steps{
		{Name: "d/b", Aside: true}, {Name: "d/c", Data: []byte("new")}, {Name: "copy", From: "x"}, {Name: "back", Version: kept}, {Name: "lost", Version: journal.Version{SHA256: "6", Size: 4}},
		{Name: "made", Version: journal.Version{Folder: true}}, {Name: "deep/er/f", Data: []byte("1")}, {Name: "none/z", Aside: true},
	}
	keeper := func(v journal.Version) ([]byte, error) {
		if v == kept {
			return []byte("kept"), nil
		}
		return nil, errBroken
	}
	over := Overlay(openTree(t, dir), steps, keeper)
	for name, c := range map[string]struct {
		kind files.Kind
		text string
		from string
		err  error // of reading it
	}{
		"d/a": {files.Regular, "below", "", nil}, "d/b": {files.Nothing, "", "", fs.ErrNotExist}, "d/c": {files.Regular, "new", "", nil}, "copy": {files.Regular, "source", "x", nil},
		"back": {files.Regular, "kept", "", nil}, "lost": {files.Regular, "", "", errBroken}, "made": {files.Directory, "", "", files.ErrNotRegular}, "deep": {files.Directory, "", "", nil},
		"deep/er": {files.Directory, "", "", nil}, "none": {files.Nothing, "", "", fs.ErrNotExist}, "none/z": {files.Nothing, "", "", fs.ErrNotExist},
	} {
		at, err := over.Stamp(name)
		if err != nil || at.Kind != c.kind || at.From != c.from {
			t.Errorf("%s: %+v, %v", name, at, err)
		}
		data, read, err := over.Read(name, []byte("buffer")[:0])
		if c.kind != files.Directory || c.err != nil {
			if !errors.Is(err, c.err) || c.err == nil && (string(data) != c.text || read.Size != int64(len(c.text)) || read.From != c.from) {
				t.Errorf("%s reads %q, %+v, %v", name, data, read, err)
			}
		}
		head, err := Head(over, name, 9)
		if c.kind != files.Directory && (!errors.Is(err, c.err) || string(head) != c.text) {
			t.Errorf("%s begins %q, %v", name, head, err)
		}
	}
	for name, want := range map[string]string{".": "back copy d deep lost made x", "d": "a c", "deep": "er", "deep/er": "f", "made": ""} {
		list, err := over.List(name)
		if got := strings.Join(slices.Sorted(slices.Values(list)), " "); err != nil || got != want {
			t.Errorf("%s lists %q, %v", name, got, err)
		}
	}
	for _, name := range []string{"copy", "back", "d/c", "d/b", "none", "nowhere"} {
		if list, err := over.List(name); !errors.Is(err, fs.ErrNotExist) || len(list) != 0 {
			t.Errorf("%s lists %q, %v", name, list, err)
		}
	}
	for name, fails := range map[string]string{"copy": "x", "d/a": "d/a", "x": "x"} {
		bad := Overlay(broken{openTree(t, dir), fails}, steps, keeper)
		_, stamp := bad.Stamp(name)
		_, _, read := bad.Read(name, nil)
		_, open := bad.OpenFile(name)
		for _, err := range []error{stamp, read, open} {
			if !errors.Is(err, errBroken) {
				t.Errorf("%s where %s fails: %v", name, fails, err)
			}
		}
	}
	for name, fails := range map[string]string{".": ".", "d": "d", "deep": "deep", "deep/er": "deep/er"} {
		if list, err := Overlay(broken{openTree(t, dir), fails}, steps, keeper).List(name); !errors.Is(err, errBroken) {
			t.Errorf("%s lists %q, %v", name, list, err)
		}
	}
	if list, err := Overlay(broken{openTree(t, dir), "x"}, steps, keeper).List("."); !errors.Is(err, errBroken) { // what copy is cannot be told
		t.Errorf("it lists %q, %v", list, err)
	}
	for _, tree := range []Tree{broken{openTree(t, dir), "deep"}, unlisted{openTree(t, dir)}} {
		if at, err := Overlay(tree, steps, keeper).Stamp("deep"); !errors.Is(err, errBroken) {
			t.Errorf("it is %+v, %v", at, err)
		}
	}
}

// unlisted is a tree of which nothing can be listed.
type unlisted struct{ Tree }

// TestStamp_is: two stamps are of one content by its tag and size where one has a tag, else by how the file
// looks.
func TestStamp_is(t *testing.T) {
	look := func(kind files.Kind, size int64) files.Stamp {
		return files.Stamp{Kind: kind, Size: size, Modified: noonOf}
	}
	for _, c := range []struct {
		a, b Stamp
		want bool
	}{
		{Stamp{Stamp: look(files.Regular, 1)}, Stamp{Stamp: look(files.Regular, 1)}, true},
		{Stamp{Stamp: look(files.Regular, 1)}, Stamp{Stamp: look(files.Regular, 2)}, false},
		{Stamp{Stamp: look(files.Regular, 1)}, Stamp{Stamp: look(files.Link, 1)}, false},
		{Stamp{Stamp: look(files.Regular, 1), Tag: "a"}, Stamp{Stamp: look(files.Regular, 1)}, false},
		{Stamp{Stamp: look(files.Regular, 1)}, Stamp{Stamp: look(files.Regular, 1), Tag: "a"}, false},
		{Stamp{Stamp: look(files.Regular, 1), Tag: "a"}, Stamp{Stamp: files.Stamp{Size: 1}, Tag: "a"}, true},
		{Stamp{Stamp: look(files.Regular, 1), Tag: "a"}, Stamp{Stamp: look(files.Regular, 2), Tag: "a"}, false},
		{Stamp{Stamp: look(files.Regular, 1), Tag: "a"}, Stamp{Stamp: look(files.Regular, 1), Tag: "b"}, false},
	} {
		if got := c.a.Is(c.b); got != c.want {
			t.Errorf("%+v and %+v: %t", c.a, c.b, got)
		}
	}
}

// TestView_movedHow: a name that is otherwise than a view found it is told, in each way in which it can be.
func TestView_movedHow(t *testing.T) {
	for name, c := range map[string]struct {
		look  func(v *View)
		does  func(dir string)
		moved string
	}{
		"nothing":             {func(v *View) { v.Stamp("a"); v.List("."); v.Read("a", nil) }, func(string) {}, ""},
		"a file that changed": {func(v *View) { v.Stamp("a") }, func(dir string) { put(t, dir, "a", "other") }, "a"},
		"one that was read":   {func(v *View) { v.Read("a", nil) }, func(dir string) { put(t, dir, "a", "other") }, "a"},
		"one that was opened": {func(v *View) {
			if f, err := v.OpenFile("a"); err == nil {
				f.Close()
			}
		}, func(dir string) { put(t, dir, "a", "other") }, "a"},
		"one that came":      {func(v *View) { v.Stamp("b") }, func(dir string) { put(t, dir, "b", "new") }, "b"},
		"a folder that grew": {func(v *View) { v.List("d") }, func(dir string) { put(t, dir, "d/b", "new") }, "d"},
		"a folder that went": {func(v *View) { v.List("d") }, func(dir string) { os.RemoveAll(filepath.Join(dir, "d")) }, "d"},
		"another file":       {func(v *View) { v.Stamp("a") }, func(dir string) { put(t, dir, "d/b", "new") }, ""},
		"what was not there": {func(v *View) { v.Read("none", nil); v.List("no") }, func(string) {}, ""},
	} {
		dir := t.TempDir()
		put(t, dir, "a", "one")
		put(t, dir, "d/a", "two")
		v := NewView(openTree(t, dir))
		c.look(v)
		c.does(dir)
		if got := v.FindMoved(); got != c.moved {
			t.Errorf("%s: %q", name, got)
		}
		seen := v.ListSeen().FindMoved(openTree(t, dir))
		if seen != c.moved {
			t.Errorf("%s: seen %q", name, seen)
		}
	}
	dir := t.TempDir()
	put(t, dir, "a", "one")
	on := openTree(t, dir)
	for fails, look := range map[string]func(v *View) error{
		"a": func(v *View) error { _, err := v.Stamp("a"); return err },
		".": func(v *View) error { _, err := v.List("."); return err },
	} {
		v := NewView(broken{on, fails})
		if err := look(v); !errors.Is(err, errBroken) {
			t.Errorf("%s: %v", fails, err)
		}
		if v.FindMoved() != "" { // that is told as it is
			t.Errorf("%s: %q", fails, v.FindMoved())
		}
		if got := v.ListSeen().FindMoved(on); got != fails {
			t.Errorf("%s: seen %q", fails, got)
		}
	}
	v := NewView(broken{on, "a"})
	if _, err := v.OpenFile("a"); !errors.Is(err, errBroken) {
		t.Error(err)
	}
	if _, _, err := v.Read("a", nil); !errors.Is(err, errBroken) || v.ListSeen().FindMoved(on) != "a" {
		t.Error(err, v.ListSeen().FindMoved(on))
	}
}

// TestView_looksOnce: a folder is listed once, and a name is looked at once, in the course of a plan.
func TestView_looksOnce(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "a", "one")
	calls, at := 0, 0
	v := NewView(faulty{openTree(t, dir), &calls, &at})
	for range 3 {
		if names, err := v.List("."); err != nil || len(names) != 1 {
			t.Error(names, err)
		}
		if at, err := v.Stamp("a"); err != nil || at.Size != 3 {
			t.Error(at, err)
		}
	}
	if calls != 2 {
		t.Errorf("%d calls", calls)
	}
}

// TestBeginnings_readOnce: of a file that is asked several times the beginning is read once, and errors are
// told.
func TestBeginnings_readOnce(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "long", "0123456789")
	put(t, dir, "exact", "0123")
	tree := &bytesCounted{Tree: openTree(t, dir)}
	on, _ := Beginnings(tree, 4)
	for range 3 {
		for _, name := range []string{"long", "exact"} {
			if head, err := Head(on, name, 4); err != nil || string(head) != "0123" {
				t.Errorf("%s: %q, %v", name, head, err)
			}
		}
	}
	if tree.bytes != 8 {
		t.Errorf("%d bytes are read", tree.bytes)
	}
	for _, name := range []string{"long", "none"} {
		bad, _ := Beginnings(broken{openTree(t, dir), name}, 4)
		_, _, read := bad.Read(name, nil)
		_, open := bad.OpenFile(name)
		if !errors.Is(read, errBroken) || !errors.Is(open, errBroken) {
			t.Errorf("%s: %v, %v", name, read, open)
		}
	}
	cut, _ := Beginnings(cutShort{openTree(t, dir)}, 4)
	if data, _, err := cut.Read("long", nil); !errors.Is(err, errBroken) {
		t.Errorf("%q, %v", data, err)
	}
	if head, err := Head(cut, "long", 4); !errors.Is(err, errBroken) {
		t.Errorf("%q, %v", head, err)
	}
	if head, err := Head(cutShort{openTree(t, dir)}, "long", 4); !errors.Is(err, errBroken) {
		t.Errorf("%q, %v", head, err)
	}
	if data, at, err := on.Read("exact", nil); err != nil || string(data) != "0123" || at.Size != 4 {
		t.Errorf("%q, %+v, %v", data, at, err)
	}
}

// bytesCounted counts the bytes that are read of opened files.
type bytesCounted struct {
	Tree
	bytes int
}

func (b *bytesCounted) OpenFile(name string) (Opened, error) {
	f, err := b.Tree.OpenFile(name)
	return readCounted{f, b}, err
}

type readCounted struct {
	Opened
	of *bytesCounted
}

func (r readCounted) ReadAt(p []byte, off int64) (int, error) {
	n, err := r.Opened.ReadAt(p, off)
	r.of.bytes += n
	return n, err
}

// cutShort is a tree whose files can be opened and not read.
type cutShort struct{ Tree }

func (c cutShort) OpenFile(name string) (Opened, error) {
	f, err := c.Tree.OpenFile(name)
	return unreadable{f}, err
}

type unreadable struct{ Opened }

// TestNotes_joined: what is made of a file is completed by that of the one before it that could be read, and
// no more files are read ahead of that than there may be.
func TestNotes_joined(t *testing.T) {
	dir := t.TempDir()
	var names []string
	for i := range 3 * mostApart {
		names = append(names, fmt.Sprintf("f%04d", i))
		put(t, dir, names[i], "x")
	}
	var decoded atomic.Int64 // several are read at once
	joined, most, noted := 0, 0, 0
	codec := Codec[int]{
		Decode: func(File) (int, bool) { decoded.Add(1); return 1, true },
		Note:   func(int) []byte { noted++; return nil },
		Recall: func(File) (int, error) { return 0, errBroken },
		Join: func(before int, is *int) bool {
			most = max(most, int(decoded.Load())-joined)
			joined++
			*is += before
			return true
		},
		First: 100,
	}
	on := broken{openTree(t, dir), names[200]}
	list, err := Notes(t.Context(), on, NewMemo(&files.Memory{}), ".", names, codec)
	if err != nil || len(list) != len(names) {
		t.Fatal(len(list), err)
	}
	for i, n := range list {
		want := 101 + i
		if i > 200 {
			want--
		}
		if i == 200 && !errors.Is(n.Err, errBroken) || i != 200 && (n.Err != nil || n.Is != want) || n.Name != names[i] {
			t.Fatalf("%s: %+v", names[i], n)
		}
	}
	if joined != len(names)-1 || noted != joined || most > mostApart {
		t.Errorf("%d are joined, %d noted, and up to %d read ahead", joined, noted, most)
	}
}

// TestNotes_kept: a note is made once of a content, of a copy under the name of its source, none where there
// is nothing to note, and a note that says nothing is made anew.
func TestNotes_kept(t *testing.T) {
	dir := t.TempDir()
	old := time.Now().Add(-time.Hour)
	for _, name := range []string{"a", "b"} {
		put(t, dir, name, name+" says")
		if err := os.Chtimes(filepath.Join(dir, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	made, recalled, fails, none := 0, 0, false, false
	codec := Codec[string]{
		Decode: func(f File) (string, bool) { return string(f.Data), true },
		Note: func(s string) []byte {
			made++
			if none {
				return nil
			}
			return []byte(s)
		},
		Recall: func(f File) (string, error) {
			recalled++
			if fails {
				return "", errBroken
			}
			return string(f.Data), nil
		},
	}
	memo := NewMemo(&files.Memory{})
	read := func(tree Tree, memo *Memo, names ...string) (list []string) {
		t.Helper()
		notes, err := Notes(t.Context(), tree, memo, ".", names, codec)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range notes {
			if n.Err != nil {
				t.Fatal(n.Err)
			}
			list = append(list, n.Is)
		}
		return list
	}
	on := openTree(t, dir)
	for round := range 3 {
		if got := read(on, memo, "a", "b"); fmt.Sprint(got) != "[a says b says]" || made != 2 || memo.CountReads() != 2 || recalled != 2*round {
			t.Errorf("round %d: %q, %d notes, %d read, %d recalled", round, got, made, memo.CountReads(), recalled)
		}
	}
	over := Overlay(on, Steps{{Name: "c", From: "a"}}, nil)
	if got := read(over, memo, "c"); got[0] != "a says" || memo.CountReads() != 2 || made != 2 {
		t.Errorf("%q, %d read, %d notes", got, memo.CountReads(), made)
	}
	plan := NewMemo(&files.Memory{}).Planning()
	if read(over, plan, "c"); plan.CountReads() != 1 {
		t.Error(plan.CountReads())
	}
	if got := read(over, plan, "a", "c"); fmt.Sprint(got) != "[a says a says]" || plan.CountReads() != 1 {
		t.Errorf("%q, %d read", got, plan.CountReads())
	}
	fails = true
	if got := read(on, memo, "a"); got[0] != "a says" || memo.CountReads() != 3 {
		t.Errorf("%q, %d read", got, memo.CountReads())
	}
	fails, none = false, true
	empty := NewMemo(&files.Memory{})
	was := recalled
	read(on, empty, "a")
	if read(on, empty, "a"); recalled != was || empty.CountReads() != 2 {
		t.Errorf("%d recalled, %d read", recalled-was, empty.CountReads())
	}
	if _, _, err := DecodeFile(broken{on, "a"}, memo, ".", "a", codec); !errors.Is(err, errBroken) {
		t.Error(err)
	}
}

// TestDecode_halfWritten: a file that is not whole is read again while it changes.
func TestDecode_halfWritten(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		texts []string // what the file is at each reading
		want  string
		reads int
	}{
		"whole at once": {[]string{"one."}, "one.", 1},
		"whole then":    {[]string{"on", "one."}, "one.", 2},
		"it stays so":   {[]string{"on", "on", "one."}, "on", 2},
		"it never ends": {[]string{"o", "on", "one", "one."}, "one", 3},
		"it goes":       {[]string{"on", ""}, "on", 2},
		"it goes twice": {[]string{"o", "on", ""}, "on", 3},
	} {
		reads := 0
		tree := texts{openTree(t, dir), c.texts, &reads}
		codec := Codec[string]{Decode: func(f File) (string, bool) { return string(f.Data), strings.HasSuffix(string(f.Data), ".") }}
		is, data, err := DecodeFile(tree, NewMemo(&files.Memory{}), ".", "a", codec)
		if is != c.want || string(data) != c.want || err != nil || reads != c.reads {
			t.Errorf("%s: %q, %q, %v after %d", name, is, data, err, reads)
		}
	}
}

// texts is a tree in which a file is another at each reading; "" is none.
type texts struct {
	Tree
	all   []string
	reads *int
}

func (s texts) Read(string, []byte) ([]byte, Stamp, error) {
	text := s.all[*s.reads]
	if *s.reads++; text == "" {
		return nil, Stamp{}, fs.ErrNotExist
	}
	return []byte(text), Stamp{Stamp: files.Stamp{Kind: files.Regular, Size: int64(len(text))}}, nil
}

// TestDisk_closesWhatItHolds: a folder that is held no more is open no more.
func TestDisk_closesWhatItHolds(t *testing.T) {
	const open = "/proc/self/fd"
	if _, err := os.ReadDir(open); err != nil {
		skip.Missing(t, "the system does not list the open files of a process: %v", err)
	}
	dir := t.TempDir()
	put(t, dir, "d/a", "1")
	d := openTree(t, dir)
	use := func() {
		release := d.Hold("d")
		for range 2 {
			if _, err := d.Stamp("d/a"); err != nil {
				t.Error(err)
			}
			if names, err := d.List("d"); err != nil || len(names) != 1 {
				t.Error(names, err)
			}
		}
		release()
	}
	use()
	before, _ := os.ReadDir(open)
	for range 30 {
		use()
	}
	if after, _ := os.ReadDir(open); len(after) > len(before)+10 {
		t.Errorf("%d files were open, then %d", len(before), len(after))
	}
}

func (unlisted) List(string) ([]string, error) { return nil, errBroken }

func (unreadable) ReadAt([]byte, int64) (int, error) { return 0, errBroken }
