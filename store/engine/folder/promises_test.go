package folder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store/media/disk"
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

func (unlisted) List(string) ([]string, error) { return nil, errBroken }

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
		if got := v.Moved(); got != c.moved {
			t.Errorf("%s: %q", name, got)
		}
		seen := v.Seen().Moved(openTree(t, dir))
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
		if v.Moved() != "" { // that is told as it is
			t.Errorf("%s: %q", fails, v.Moved())
		}
		if got := v.Seen().Moved(on); got != fails {
			t.Errorf("%s: seen %q", fails, got)
		}
	}
	v := NewView(broken{on, "a"})
	if _, err := v.OpenFile("a"); !errors.Is(err, errBroken) {
		t.Error(err)
	}
	if _, _, err := v.Read("a", nil); !errors.Is(err, errBroken) || v.Seen().Moved(on) != "a" {
		t.Error(err, v.Seen().Moved(on))
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
	on := Beginnings(tree, 4)
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
		bad := Beginnings(broken{openTree(t, dir), name}, 4)
		_, _, read := bad.Read(name, nil)
		_, open := bad.OpenFile(name)
		if !errors.Is(read, errBroken) || !errors.Is(open, errBroken) {
			t.Errorf("%s: %v, %v", name, read, open)
		}
	}
	cut := Beginnings(cutShort{openTree(t, dir)}, 4)
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

func (unreadable) ReadAt([]byte, int64) (int, error) { return 0, errBroken }

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
	list, err := Notes(t.Context(), In{Tree: on, Memo: NewMemo(&files.Memory{})}, ".", names, codec)
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
		notes, err := Notes(t.Context(), In{Tree: tree, Memo: memo}, ".", names, codec)
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
		if got := read(on, memo, "a", "b"); fmt.Sprint(got) != "[a says b says]" || made != 2 || memo.Fetched() != 2 || recalled != 2*round {
			t.Errorf("round %d: %q, %d notes, %d read, %d recalled", round, got, made, memo.Fetched(), recalled)
		}
	}
	over := Overlay(on, Steps{{Name: "c", From: "a"}}, nil)
	if got := read(over, memo, "c"); got[0] != "a says" || memo.Fetched() != 2 || made != 2 {
		t.Errorf("%q, %d read, %d notes", got, memo.Fetched(), made)
	}
	plan := NewMemo(&files.Memory{}).Planning()
	if read(over, plan, "c"); plan.Fetched() != 1 {
		t.Error(plan.Fetched())
	}
	if got := read(over, plan, "a", "c"); fmt.Sprint(got) != "[a says a says]" || plan.Fetched() != 1 {
		t.Errorf("%q, %d read", got, plan.Fetched())
	}
	fails = true
	if got := read(on, memo, "a"); got[0] != "a says" || memo.Fetched() != 3 {
		t.Errorf("%q, %d read", got, memo.Fetched())
	}
	fails, none = false, true
	empty := NewMemo(&files.Memory{})
	was := recalled
	read(on, empty, "a")
	if read(on, empty, "a"); recalled != was || empty.Fetched() != 2 {
		t.Errorf("%d recalled, %d read", recalled-was, empty.Fetched())
	}
	if _, _, err := Decoded(In{Tree: broken{on, "a"}, Memo: memo}, ".", "a", codec); !errors.Is(err, errBroken) {
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
		is, data, err := Decoded(In{Tree: tree, Memo: NewMemo(&files.Memory{})}, ".", "a", codec)
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

// TestStorage_named: plans, receipts and the journal call a session as the kind does; labels lie under its
// name in the storage. What comes of the messages of a state is told where a session goes on from it.
func TestStorage_named(t *testing.T) {
	b := newBook(t)
	b.open(Options{ID: func(at Place) string { return "id of " + at.Session }})
	var asked []string
	b.Port = b.Storage.Port(Kind{Name: "langgraph", Lacks: func(model.Op) string { return "" },
		Find: func(_ model.Op, id string) (Place, error) {
			at := b.place(strings.TrimPrefix(id, "id of "))
			if id == "refused" {
				at.Session = "s"
				return at, errBroken
			}
			return at, nil
		},
		State: func(_ context.Context, ref model.Ref) ([]byte, error) {
			if asked = append(asked, ref.ID); ref.ID == "d" {
				return nil, errBroken
			}
			return []byte(`{"messages":[{"role":"user","content":"go"},{"role":"assistant","content":[{"toolUse":{"toolUseId":"c","name":"t","input":{}}}]},{"role":"user","content":"on"}]}`), nil
		}})
	change := func(op model.Op, session, id string) model.Change {
		return model.Change{Op: op, Ref: model.Ref{Session: "id of " + session, ID: id}, As: "f"}
	}
	p := b.planned(change(model.OpRestore, "s", "b"))
	f := b.planned(change(model.OpFork, "s", "b"))
	if p.Session != "id of s" || f.Session != "id of s" || f.NewSession != "id of f" {
		t.Errorf("%+v, %+v", p, f)
	}
	const none = 2 // hazards without those of the messages
	if len(p.Hazards) <= none || len(f.Hazards) != len(p.Hazards) {
		t.Errorf("%q, %q", p.Hazards, f.Hazards)
	}
	if d := b.planned(change(model.OpRestore, "s", "d")); len(d.Hazards) != none {
		t.Errorf("%q", d.Hazards)
	}
	if asked = nil; len(b.planned(change(model.OpRepair, "s", "b")).Hazards) != none || asked != nil {
		t.Errorf("a repair asks for %q", asked)
	}
	call := []model.Resume{{Call: "go on"}}
	warned, err := b.Port.Warned(t.Context(), model.Ref{Session: "s", ID: "b"}, call)
	if err != nil || len(warned) != 1 || warned[0].Call != "go on" || fmt.Sprint(warned) == fmt.Sprint(call) {
		t.Errorf("%+v, %v", warned, err)
	}
	if plain, err := b.Port.Warned(t.Context(), model.Ref{Session: "s", ID: "d"}, call); err != nil || fmt.Sprint(plain) != fmt.Sprint(call) {
		t.Errorf("%+v, %v", plain, err)
	}
	if asked = nil; true {
		if list, err := b.Port.Warned(t.Context(), model.Ref{Session: "s", ID: "b"}, nil); list != nil || err != nil || asked != nil {
			t.Errorf("%+v, %v, %q", list, err, asked)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Port.Warned(ended, model.Ref{Session: "s", ID: "d"}, call); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	r, err := b.Port.Apply(t.Context(), p)
	if err != nil || r.Session != "id of s" {
		t.Errorf("%+v, %v", r, err)
	}
	if p := b.planned(undo); p.Session != "id of s" || p.Target.ID != "e" || len(p.Asks) != 0 {
		t.Errorf("%+v", p)
	}
	r = b.do(change(model.OpFork, "s", "b"))
	list, err := b.Port.Journal(t.Context())
	if err != nil || r.Session != "id of f" || len(list) != 2 || list[0].Session != "id of f" || list[1].Session != "id of s" {
		t.Errorf("%+v, %+v, %v", r, list, err)
	}
	for id, want := range map[string]string{"id of s": "s", "refused": "s", "x": "x"} {
		if _, _, name := b.Port.LabelFile(t.Context(), id); name != want {
			t.Errorf("%s: %q", id, name)
		}
	}
	at := b.place("g")
	m := &Move{New: &at, Steps: Steps{{Name: "g/rows/a", Data: []byte("- came.")}}}
	if p, err := b.PlanNew(t.Context(), model.Plan{Op: model.OpConvert, NewSession: "id of g"}, m); err != nil || p.NewSession != "id of g" {
		t.Errorf("%+v, %v", p, err)
	}
	if b.Way != "." {
		t.Errorf("the way is %q", b.Way)
	}
}

// TestStorage_movedHead: a write that only moves the head is why the rows behind it are off the path, with
// where it is now; of a row whose file got another content, the row that has its content is meant.
func TestStorage_movedHead(t *testing.T) {
	b := newBook(t)
	b.format.moves = func(m *Move) { m.Steps = slices.DeleteFunc(m.Steps, func(s Step) bool { return s.Aside }) }
	b.do(to(model.OpRestore, "s", "b"))
	b.write(map[string]string{"s/rows/0": "- zero."})
	log, err := b.Log(t.Context(), b.place("s"))
	if err != nil || len(log.Rows) != 6 || log.Head != 2 {
		t.Fatalf("%+v, %v", log, err)
	}
	for i, h := range log.Rows {
		if left := i > 2; left != h.Orphaned && i > 0 || left && (h.Reason.Kind != model.ReasonRestore || h.Reason.TargetID != "b" || h.Reason.TargetIndex != 2 || !h.Reason.At.Equal(noonOf)) {
			t.Errorf("%s: %v, %+v", h.ID, h.Orphaned, h.Reason)
		}
	}
	w := b.Writes(t.Context())
	if list := log.moves(w.Told("s")); len(list) != 1 || list[0].From != "e" || list[0].To != "b" || list[0].Why.TargetIndex != 2 {
		t.Errorf("%+v", list)
	}
	if list := log.moves(nil); list != nil {
		t.Errorf("%+v", list)
	}
	log.Rows, log.Files = log.Rows[:2], log.Files[:2]
	if list := log.moves(w.Told("s")); len(list) != 1 || list[0].Why.TargetIndex != 1 { // as it was then
		t.Errorf("%+v", list)
	}
	for saved, want := range map[string]string{"": "", "s/rows/y": "y"} {
		b := newBook(t)
		b.format.moves = func(m *Move) {
			if saved != "" {
				m.Steps = append(Steps{{Name: "s/rows/a", Data: []byte("- another.")}}, append(m.Steps, Step{Name: saved, Data: []byte("d five.")})...)
				m.Keeps = nil
			}
		}
		b.do(to(model.OpRepair, "s", "e"))
		log, err := b.Log(t.Context(), b.place("s"))
		if err != nil {
			t.Fatal(err)
		}
		w := b.Writes(t.Context())
		if list := log.moves(w.Told("s")); len(list) != 1 || list[0].From != want {
			t.Errorf("saved in %q: %+v", saved, list)
		}
		log.Rows, log.Files = log.Rows[:2], log.Files[:2] // neither is there
		if list := log.moves(w.Told("s")); len(list) != 1 || list[0].From != "e" {
			t.Errorf("saved in %q: %+v", saved, list)
		}
	}
}

// TestCountTurns: turns that are known stay, and the others are counted along the parents, wherever these
// stand.
func TestCountTurns(t *testing.T) {
	end := model.SnapshotEventTurnEnd
	rows := []model.Header{
		{ID: "c", ParentID: "b", TurnIndex: model.TurnUnknown}, {ID: "a", TurnIndex: model.TurnUnknown, Event: end}, {ID: "b", ParentID: "a", TurnIndex: model.TurnUnknown, Event: end},
		{ID: "k", ParentID: "b", TurnIndex: 7, Event: end}, {ID: "l", ParentID: "k", TurnIndex: model.TurnUnknown, Event: end, EventName: "named"}, {ID: "m", ParentID: "l", TurnIndex: model.TurnUnknown},
	}
	countTurns(rows, model.NewTimeline(rows))
	var got []int
	for _, h := range rows {
		got = append(got, h.TurnIndex)
	}
	if want := []int{2, 0, 1, 7, 8, 8}; !slices.Equal(got, want) {
		t.Errorf("%v and not %v", got, want)
	}
}

// TestStorage_verifies: a write whose session reads otherwise than planned is taken back.
func TestStorage_verifies(t *testing.T) {
	b := newBook(t)
	p := b.planned(to(model.OpRestore, "s", "b"))
	before, reads := b.tree(), 0
	b.format.reads = func(In) {
		if reads++; reads == 2 { // behind the write
			b.write(map[string]string{"s/rows/z": "b on."})
		}
	}
	if _, err := b.Port.Apply(t.Context(), p); err == nil {
		t.Error("it is done")
	}
	before["s/rows/z"] = "b on."
	if now := b.tree(); !maps.Equal(now, before) {
		t.Errorf("it is %q", now)
	}
}

// TestStorage_changesTwice: a file that changes between two looks of a plan is told, of an undo too.
func TestStorage_changesTwice(t *testing.T) {
	for _, c := range []model.Change{to(model.OpRestore, "s", "c"), undo} {
		b := newBook(t)
		b.do(to(model.OpRestore, "s", "d"))
		reads := 0
		b.format.reads = func(in In) {
			if reads++; reads == 2 {
				b.write(map[string]string{"s/rows/a": "- changed."})
				_, _, _ = in.Read("s/rows/a", nil) // the format passes over what it cannot read
			}
		}
		b.format.lenient = true
		if _, err := b.Port.Plan(t.Context(), c); !errors.Is(err, model.ErrHeadMoved) || !strings.Contains(err.Error(), "s/rows/a was changed") {
			t.Errorf("%s: %v", c.Op, err)
		}
	}
}

// TestStorage_keptIsLost: a plan that needs a content that cannot be read is none, though the format passes
// over the file.
func TestStorage_keptIsLost(t *testing.T) {
	for _, c := range []model.Change{undo, to(model.OpRestore, "s", "d")} {
		b := newBook(t)
		b.do(to(model.OpRestore, "s", "b"))
		entries, err := b.Entries(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		reads := 0
		b.format.lenient = true
		b.format.reads = func(In) {
			if reads++; reads > 2 || c.Op == model.OpUndo {
				for _, change := range entries[0].Changes() {
					if v := change.Before; v.SHA256 != "" {
						_ = os.RemoveAll(filepath.Join(b.dir, journal.Folder, "kept"))
					}
				}
			}
		}
		if _, err := b.Port.Plan(t.Context(), c); err == nil {
			t.Errorf("%s is planned", c.Op)
		}
	}
}

// TestStorage_cannotOpen: a folder that went before anything was written says so, whatever is asked.
func TestStorage_cannotOpen(t *testing.T) {
	b := newBook(t)
	if err := os.RemoveAll(b.dir); err != nil {
		t.Fatal(err)
	}
	at := b.place("g")
	m := &Move{New: &at, Steps: Steps{{Name: "g/rows/a", Data: []byte("- came.")}}}
	for what, err := range map[string]error{
		"ready": b.Ready(),
		"kept":  func() error { _, err := b.Kept(journal.Version{}); return err }(),
		"lock":  func() error { _, err := b.Lock("x"); return err }(),
		"write": b.WriteThrough(func(on disk.Disk) disk.Disk { return on }),
		"new":   func() error { _, err := b.PlanNew(t.Context(), model.Plan{}, m); return err }(),
		"apply": func() error { _, err := b.Port.Apply(t.Context(), model.Plan{}); return err }(),
	} {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if b.Lacks() == "" {
		t.Error("nothing lacks")
	}
}

// TestStorage_refusesPaths: a step that leads out of the storage makes no plan.
func TestStorage_refusesPaths(t *testing.T) {
	b := newBook(t)
	b.format.moves = func(m *Move) { m.Steps = append(m.Steps, Step{Name: "../x", Data: []byte("out")}) }
	if p, err := b.Port.Plan(t.Context(), to(model.OpRestore, "s", "b")); err == nil {
		t.Errorf("%+v", p)
	}
}

// TestStorage_told: who reads a session in the course of a plan is told what the journal tells of that one.
func TestStorage_told(t *testing.T) {
	b := newBook(t)
	b.do(to(model.OpRestore, "s", "c"))
	b.do(forkAs("s", "b", "f"))
	b.do(undo)
	var told []string
	b.format.reads = func(in In) {
		for _, e := range in.Told.Entries() {
			told = append(told, e.Session)
		}
	}
	b.format.moves = func(*Move) { told = append(told, "then") }
	if b.planned(forkAs("s", "b", "f")); fmt.Sprint(told) != "[s s then f f]" {
		t.Errorf("%q", told)
	}
	told = nil
	at := b.place("f")
	m := &Move{New: &at, Steps: Steps{{Name: "f/rows/a", Data: []byte("- came.")}, {Name: "f/head", Data: []byte("a")}}}
	if _, err := b.PlanNew(t.Context(), model.Plan{Op: model.OpConvert, NewSession: "f"}, m); err != nil || fmt.Sprint(told) != "[f f f]" {
		t.Errorf("%q, %v", told, err)
	}
}

// TestReversal: nothing to take back is no reversal, and an error is told as one.
func TestReversal(t *testing.T) {
	b := newBook(t)
	for _, op := range []model.Op{model.OpUndo, model.OpRedo} {
		if r, err := b.Reversal(t.Context(), op); r != nil || err != nil {
			t.Errorf("%s: %+v, %v", op, r, err)
		}
	}
	b.do(to(model.OpRestore, "s", "b"))
	if r, err := b.Reversal(t.Context(), model.OpRedo); r != nil || err != nil {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := b.Reversal(t.Context(), model.OpUndo); r == nil || err != nil || r.Entry.ID != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := b.Reversal(ended, model.OpUndo); err == nil {
		t.Errorf("%+v", r)
	}
	// A row goes on from one that an undo would take away.
	b.do(to(model.OpRestore, "s", "d"))
	b.write(map[string]string{"s/rows/x": "d on.", "s/head": "d"})
	before := b.tree()
	if p, err := b.Port.Plan(t.Context(), undo); !errors.Is(err, model.ErrHeadMoved) {
		t.Errorf("%+v, %v", p, err)
	}
	if now := b.tree(); !maps.Equal(now, before) {
		t.Errorf("it is %q", now)
	}
}

// TestPurge_each: a purge finds a content once, of each file and of each entry of the session, whatever
// stands between, and not once more.
func TestPurge_each(t *testing.T) {
	b := newBook(t)
	b.write(map[string]string{"s/rows/c": "b secret.", "s/rows/d": "c secret.", "t/rows/c": "b secret of t."})
	b.do(to(model.OpRestore, "t", "a"))
	b.do(to(model.OpRestore, "s", "b"))
	b.do(undo)
	b.do(to(model.OpRestore, "t", "b"))
	b.do(to(model.OpRestore, "s", "a"))
	b.do(forkAs("s", "a", "f"))
	b.do(undo)
	purge := func(session string, scope model.PurgeScope) (paths []string) {
		t.Helper()
		p, err := b.Port.Plan(t.Context(), model.Change{Op: model.OpPurge, Ref: model.Ref{Session: session}, Scope: scope})
		if errors.As(err, new(*model.NothingToError)) {
			return nil
		}
		if p.Loads != "" || len(p.Resume) != 0 { // the session stays as it is
			t.Errorf("%+v", p)
		}
		if err == nil {
			_, err = b.Port.Apply(t.Context(), p)
		}
		if err != nil {
			t.Error(err)
		}
		for _, f := range p.Files {
			paths = append(paths, f.Path)
		}
		slices.Sort(paths)
		return slices.Compact(paths)
	}
	for _, want := range []string{"[s/rows/c s/rows/d]", "[]"} {
		if got := purge("s", ""); fmt.Sprint(got) != want {
			t.Errorf("%q and not %s", got, want)
		}
	}
	if got := purge("f", model.PurgeRedacted); !slices.Contains(got, "f/head") {
		t.Errorf("%q", got)
	}
	if got := purge("t", ""); fmt.Sprint(got) != "[t/rows/c]" {
		t.Errorf("%q", got)
	}
	file := filepath.Join(b.dir, filepath.FromSlash(JournalFile))
	if err := os.WriteFile(file, []byte("no record\n\nno record\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.open(Options{})
	if _, err := b.Port.Plan(t.Context(), model.Change{Op: model.OpPurge, Ref: model.Ref{Session: "s"}}); err == nil {
		t.Error("of a journal that cannot be read something is forgotten")
	}
}

// TestWriter_locks: a lock is held by one, and seen.
func TestWriter_locks(t *testing.T) {
	dir := t.TempDir()
	d := writerOf(t, dir)
	put(t, dir, "a", "1")
	if d.Held("a") {
		t.Error("it is held")
	}
	unlock, err := d.Lock("a")
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "linux" && !d.Held("a") { // other systems do not tell
		t.Error("it is not held")
	}
	if _, err := writerOf(t, dir).Lock("a"); !errors.Is(err, disk.ErrLocked) {
		t.Errorf("it is locked twice: %v", err)
	}
	if err := unlock(); err != nil {
		t.Error(err)
	}
	again, err := d.Lock("a")
	if err != nil || again() != nil {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if list, err := d.Entries(ended); list != nil || !errors.Is(err, context.Canceled) {
		t.Error(list, err)
	}
	if err := d.Check(ended); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := d.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestWriter_ownLast: whose a file is, its last write tells, also where others came behind.
func TestWriter_ownLast(t *testing.T) {
	dir := t.TempDir()
	d := writerOf(t, dir)
	write(t, d, "a", "one")
	write(t, d, "b", "two")
	write(t, d, "c", "six")
	for name, want := range map[string]bool{"s/a": true, "s/b": true, "s/c": true, "s/d": false} {
		if d.own(name) != want {
			t.Errorf("%s: %t", name, !want)
		}
	}
	put(t, dir, "s/a", "eno") // of the same size
	if d.own("s/a") || !d.own("s/b") {
		t.Error("what an agent wrote is Hindcast's, or what it did not")
	}
	if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(JournalFile)), []byte("no record\n\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if writerOf(t, dir).own("s/b") {
		t.Error("of a journal that cannot be read something is told")
	}
}

// TestStorage_recovers: a write that was broken off is finished before the next plan, and one that cannot be
// refuses it until it can.
func TestStorage_recovers(t *testing.T) {
	for _, foreign := range []bool{false, true} {
		b := newBook(t)
		b.do(to(model.OpRestore, "t", "a"))
		if err := b.WriteThrough(func(on disk.Disk) disk.Disk { return killed{on} }); err != nil {
			t.Fatal(err)
		}
		p := b.planned(to(model.OpRepair, "s", "e"))
		func() {
			defer func() {
				if recover() == nil {
					t.Fatal("it was not killed")
				}
			}()
			_, _ = b.Port.Apply(t.Context(), p)
		}()
		if foreign {
			b.write(map[string]string{"s/rows/e": "d somebody else."})
		}
		b.open(Options{})
		if !b.brokenOff(t.Context()) {
			t.Error("nothing was broken off")
		}
		_, err := b.Port.Plan(t.Context(), to(model.OpRestore, "s", "b"))
		text, failed := os.ReadFile(filepath.Join(b.dir, "s/rows/e"))
		if failed != nil {
			t.Fatal(failed)
		}
		if foreign {
			if err == nil || !strings.Contains(err.Error(), "cannot be finished") || b.Broken() == nil || string(text) != "d somebody else." {
				t.Errorf("%v, %q", err, text)
			}
			b.write(map[string]string{"s/rows/e": "d five."})
			if _, err := b.Port.Plan(t.Context(), to(model.OpRestore, "s", "b")); err != nil || b.Broken() != nil {
				t.Error(err, b.Broken())
			}
		} else if err != nil || string(text) != "d mended." {
			t.Errorf("%v, %q", err, text)
		}
		if b.brokenOff(t.Context()) {
			t.Error("it is broken off for ever")
		}
	}
}

// TestStorage_keeps: what is remembered outlives the storage, where there is a cache.
func TestStorage_keeps(t *testing.T) {
	b, cache := newBook(t), files.NewCache(t.TempDir())
	b.write(map[string]string{"s/rows/e": "d " + strings.Repeat("five ", 1<<20) + "."}) // what is worth it
	for i, want := range []int64{5, 0} {
		b.open(Options{Cache: cache})
		if got := b.drawn("s"); got != allRows {
			t.Error(got)
		}
		if n := b.Memo.Fetched(); n != want {
			t.Errorf("%d: %d files are read", i, n)
		}
		if err := b.Storage.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestOpen_farUp: a bucket that has not all the folders above what was opened is read where that is.
func TestOpen_farUp(t *testing.T) {
	b := newBook(t)
	on := newSource(t, b.dir)
	on.above, on.dir = true, "/in/two/one"
	for up, way := range map[int]string{1: "one", 3: "."} {
		b.open(Options{On: on, Up: up})
		if refused := b.Ready() != nil; refused != (way == ".") || b.Way != way || refused && b.Folder() != on.Name() {
			t.Errorf("%d up: %v, %q, %s", up, b.Ready(), b.Way, b.Folder())
		}
	}
}

// TestDraft_folders: a step may make a folder, and an undo of one that took an empty one away does.
func TestDraft_folders(t *testing.T) {
	b := newBook(t)
	j, err := b.Storage.Journal()
	if err != nil {
		t.Fatal(err)
	}
	p, err := Draft(j, Steps{{Name: "made", Version: journal.Version{Folder: true}}}).Plan(model.Plan{Op: model.OpRestore, Session: "s"})
	if err == nil {
		_, err = j.Apply(t.Context(), p, nil)
	}
	at, failed := os.Stat(filepath.Join(b.dir, "made"))
	if err != nil || failed != nil || !at.IsDir() {
		t.Error(err, failed)
	}
	w := b.Writes(t.Context())
	if s := w.Told("s"); len(s.Aside()) != 0 || s.Made("made") != nil { // a folder is no content
		t.Errorf("%+v", s.Aside())
	}
}

// TestSavedIn: of several files that get a content the first counts, and none that had another.
func TestSavedIn(t *testing.T) {
	v := func(sum string) journal.Version { return journal.Version{SHA256: sum, Size: 1} }
	none := journal.Version{}
	got := savedIn([]journal.Change{{Path: "a", Before: none, After: v("1")}, {Path: "b", Before: none, After: v("1")}, {Path: "c", Before: v("2"), After: v("3")}, {Path: "d", Before: v("4"), After: none}, {Path: "e"}})
	if want := map[string]string{"1": "a"}; !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

// TestUnread_of: files with several rows tell of each line, a file that cannot be read or that is told hides
// no other, and a row that is aside is not looked for.
func TestUnread_of(t *testing.T) {
	say := func(text string) string { return `{"role":"user","content":"` + text + `"}` }
	const lost = "words that nobody can see"
	b := newBook(t)
	for name, text := range map[string]string{"one": say(lost), "two": say(lost) + "\n" + say(lost+" either"), "told": say(lost), "aside": say(lost), "last": say(lost)} {
		put(t, b.dir, name, text)
	}
	log := &Log{
		Rows:  []model.Header{{ID: "told"}, {ID: "aside"}, {ID: "none"}, {ID: "a"}, {ID: "b"}, {ID: "c"}, {ID: "d"}},
		Files: []string{"told", "aside", "none", "one", "two", "two", "last"},
		Aside: map[string]*Aside{"aside": {}},
	}
	faults, err := b.Unread(t.Context(), shown{words: "others that are in view"}, "s", log, model.Fault{File: "told"})
	var got []string
	for _, f := range faults {
		got = append(got, fmt.Sprintf("%s %s: %d", f.File, f.Path, f.Records))
	}
	if err != nil || fmt.Sprint(got) == "[]" {
		t.Errorf("%q, %v", got, err)
	}
	records := 0
	for _, f := range faults {
		records += f.Records
	}
	if records != 4 {
		t.Errorf("%q", got)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Unread(ended, shown{words: "x"}, "s", log); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestStorage_closedToCome: a folder that a move closes and that is not there yet is none.
func TestStorage_closedToCome(t *testing.T) {
	b := newBook(t)
	p := b.planned(to(model.OpRestore, "s", "b"))
	b.write(map[string]string{"s/none/x": "1"})
	if _, err := b.Port.Apply(t.Context(), p); err != nil {
		t.Error(err)
	}
}

// TestReversal_hangs: an undo that would take away a row from which another one goes on is refused, whatever
// the move closed; and an undone write no longer says where the head is.
func TestReversal_hangs(t *testing.T) {
	b := newBook(t)
	b.format.moves = func(m *Move) { m.Closed = nil }
	b.do(to(model.OpRestore, "s", "b"))
	b.do(to(model.OpRestore, "s", "d"))
	b.write(map[string]string{"s/rows/x": "d on."})
	if p, err := b.Port.Plan(t.Context(), undo); !errors.Is(err, model.ErrHeadMoved) || !strings.Contains(err.Error(), "has the child") {
		t.Errorf("%+v, %v", p, err)
	}
	b.write(map[string]string{"s/rows/x": ""})
	told := func() *Mark { w := b.Writes(t.Context()); return w.Told("s").Last() }
	for _, want := range []string{"d", "b", ""} {
		if last := told(); last == nil && want != "" || last != nil && last.To != want {
			t.Errorf("the last is %+v and not %q", last, want)
		}
		if want != "" {
			b.do(undo)
		}
	}
}

// TestLog_readsOnce: what was set aside is read with the rest, and no file twice.
func TestLog_readsOnce(t *testing.T) {
	b := newBook(t)
	for _, name := range []string{"a", "b", "c"} { // too young for a note
		put(t, b.dir, "u/rows/"+name, map[string]string{"a": "- one.", "b": "a two.", "c": "b three."}[name])
	}
	b.do(to(model.OpRestore, "u", "b"))
	before := b.Memo.Fetched()
	log, err := b.Log(t.Context(), b.place("u"))
	if n := b.Memo.Fetched() - before; err != nil || len(log.Rows) != 3 || n != 3 {
		t.Errorf("%d rows of %d readings, %v", len(log.Rows), n, err)
	}
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

// TestWriter_brokenOffAndLocked: while another program finishes a write that was broken off, that is no error.
func TestWriter_brokenOffAndLocked(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "s/a", "agent")
	func() {
		d := &writer{dir: dir, Now: time.Now}
		defer func() {
			if recover() == nil {
				t.Fatal("it was not killed")
			}
			_ = d.close()
		}()
		if err := d.WriteThrough(func(on disk.Disk) disk.Disk { return killed{on} }); err != nil {
			t.Fatal(err)
		}
		write(t, d, "a", "hindcast")
	}()
	d := writerOf(t, dir)
	if err := d.WriteThrough(func(on disk.Disk) disk.Disk { return locked{on} }); err != nil {
		t.Fatal(err)
	}
	if d.Recover(t.Context()); d.Broken() != nil {
		t.Error(d.Broken())
	}
	none := writerOf(t, filepath.Join(dir, "none"))
	if list, err := none.Entries(t.Context()); list != nil || err != nil {
		t.Error(list, err)
	}
	if err := none.Check(t.Context()); err != nil {
		t.Error(err)
	}
}
