package tree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hindcast/model"
	"hindcast/store/media/disk"
	"hindcast/store/media/files"
	"hindcast/store/media/journal"
	"hindcast/store/storetest/skip"
)

func openTree(t testing.TB, dir string) *Disk {
	t.Helper()
	d, err := OpenDisk(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// held returns all that is in a tree below a folder, the journal's own left out: of a
// file its bytes. Whatever the tree says of a name has to agree.
func held(t rapid.TB, tree Tree, dir string, all map[string]string) map[string]string {
	names, err := tree.List(dir)
	if err != nil {
		t.Fatalf("list %s: %v", dir, err)
	}
	if once := slices.Compact(slices.Sorted(slices.Values(names))); len(once) != len(names) {
		t.Fatalf("%s lists %q", dir, names)
	}
	for _, name := range names {
		name = path.Join(dir, name)
		if name == journal.Folder {
			continue
		}
		switch at, err := tree.Stamp(name); {
		case err != nil:
			t.Fatal(err)
		case at.Kind == files.Directory:
			all[name] = "a folder"
			held(t, tree, name, all)
		case at.Kind != files.Regular:
			t.Fatalf("%s is listed and %+v", name, at)
		default:
			data, read, err := tree.Read(name, nil)
			if err != nil || !at.Is(read) || at.Size != int64(len(data)) {
				t.Fatalf("%s is %+v, read it is %+v, %v", name, at, read, err)
			}
			all[name] = string(data)
		}
	}
	return all
}

// A tree with steps laid over it is the tree after the same steps were done on a disk.
func TestOverlay_isTheDiskAfterTheSteps(t *testing.T) {
	skip.Sequential(t)
	root, n := t.TempDir(), 0
	rapid.Check(t, func(r *rapid.T) {
		n++
		dir := filepath.Join(root, fmt.Sprint(n))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			r.Fatal(err)
		}
		names := rapid.SampledFrom([]string{"a", "b", "d/a", "d/b", "d/e/a", "d/e/b", "f/a", "f/g/a"})
		put := func(name, text string) {
			file := filepath.Join(dir, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				r.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				r.Fatal(err)
			}
		}
		there := map[string]bool{}
		for _, name := range rapid.SliceOfDistinct(names, rapid.ID[string]).Draw(r, "files") {
			put(name, rapid.StringN(0, 5, -1).Draw(r, "text"))
			there[name] = true
		}
		d, err := OpenDisk(dir)
		if err != nil {
			r.Fatal(err)
		}
		defer d.Close()
		on, err := disk.Open(dir)
		if err != nil {
			r.Fatal(err)
		}
		defer on.Close()
		j := journal.New(on, journal.Options{})
		for range rapid.IntRange(1, 3).Draw(r, "writes") {
			var steps Steps
			for _, name := range rapid.SliceOfDistinct(names, rapid.ID[string]).Draw(r, "changed") {
				if there[name] && rapid.Bool().Draw(r, "aside") {
					steps = append(steps, Step{Name: name, Aside: true})
					delete(there, name)
					continue
				}
				steps = append(steps, Step{Name: name, Data: []byte(rapid.StringN(0, 5, -1).Draw(r, "new"))})
				there[name] = true
			}
			for from := range there { // a copy of a file that stays as it is
				if !slices.ContainsFunc(steps, func(s Step) bool { return s.Name == from || s.Name == "copy/a" || s.From != "" }) && !there["copy/a"] {
					steps = append(steps, Step{Name: "copy/a", From: from})
				}
			}
			if n := len(steps); n > 0 && steps[n-1].From != "" {
				there["copy/a"] = true
			}
			over := Overlay(NewView(d), steps, j.Read)
			want := held(r, over, ".", map[string]string{})
			plan, err := Draft(j, steps).Plan(model.Plan{Op: model.OpRestore})
			if err != nil {
				r.Fatal(err)
			}
			if _, err := j.Apply(t.Context(), plan, nil); err != nil {
				r.Fatal(err)
			}
			same(r, want, held(r, d, ".", map[string]string{}))
		}
		for { // each taken back, by the steps that the journal tells
			plan, err := j.PlanUndo(t.Context())
			if errors.As(err, new(*model.NothingToError)) {
				return
			}
			if err != nil {
				r.Fatal(err)
			}
			entries, err := j.Entries(t.Context())
			if err != nil {
				r.Fatal(err)
			}
			i := slices.IndexFunc(entries, func(e journal.Entry) bool { return e.ID == plan.Entry })
			over := Overlay(NewView(d), Back(&entries[i], model.OpUndo), j.Read)
			want := held(r, over, ".", map[string]string{})
			if _, err := j.Apply(t.Context(), plan, nil); err != nil {
				r.Fatal(err)
			}
			same(r, want, held(r, d, ".", map[string]string{}))
		}
	})
}

func same(t rapid.TB, want, got map[string]string) {
	for name := range want {
		if was, there := got[name]; !there || was != want[name] {
			t.Fatalf("%s is %q (there: %v), laid over it was %q", name, was, there, want[name])
		}
	}
	for name := range got {
		if _, laid := want[name]; !laid {
			t.Fatalf("%s is there, and was not laid over", name)
		}
	}
}

// What one plan reads is of one moment: a file that changes between a look and the next
// is told of.
func TestView_seesAFileThatChanges(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one")
	v := NewView(openTree(t, dir))
	if _, _, err := v.Read("a", nil); err != nil {
		t.Fatal(err)
	}
	write("another")
	if _, _, err := v.Read("a", nil); !errors.As(err, new(*ChangedError)) || v.FindChange() == nil {
		t.Errorf("%v, %v", err, v.FindChange())
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if at, err := v.Stamp("a"); err != nil || at.Size != 3 {
		t.Errorf("a second look finds %+v, %v", at, err)
	}
	if _, _, err := v.Read("b", nil); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// A file is decoded once in the course of a plan, whatever trees it is in, and not at all
// where it is remembered.
func TestNotes_decodesOnce(t *testing.T) {
	dir := t.TempDir()
	old := time.Now().Add(-time.Hour)
	var names []string
	for i := range 40 {
		name := fmt.Sprintf("f%02d", i)
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(name+" says"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, old, old); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	codec := Codec[*string]{
		Decode: func(f File) (*string, bool) { text := string(f.Data); return &text, true },
		Note:   func(s *string) []byte { return []byte(*s) },
		Recall: func(f File) (*string, error) { text := string(f.Data); return &text, nil },
	}
	v := NewView(openTree(t, dir))
	memo := NewMemo(&files.Memory{})
	read := func(tree Tree, memo *Memo) []Noted[*string] {
		t.Helper()
		list, err := Notes(t.Context(), tree, memo, ".", names, codec)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	plan := memo.Planning()
	first := read(v, plan)
	over := read(Overlay(v, Steps{{Name: "f07", Data: []byte("changed")}, {Name: "f09", Aside: true}}, nil), plan)
	for i := range first {
		switch names[i] {
		case "f07":
			if *first[i].Is != "f07 says" || *over[i].Is != "changed" {
				t.Errorf("%q, then %q", *first[i].Is, *over[i].Is)
			}
		case "f09":
			if !errors.Is(over[i].Err, fs.ErrNotExist) {
				t.Error(over[i].Err)
			}
		default:
			if first[i].Is != over[i].Is || *first[i].Is != names[i]+" says" {
				t.Errorf("%s was decoded twice, or is %q", names[i], *first[i].Is)
			}
		}
	}
	if n := plan.CountReads(); n != 41 {
		t.Errorf("%d files were read", n)
	}
	if read(v, memo.Planning()); memo.CountReads() != 41 {
		t.Errorf("%d files were read again", memo.CountReads()-41)
	}
}

// slow is a tree of files of one size whose reading takes a while.
type slow struct {
	size          int64
	running, most atomic.Int64
	data          func(name string) []byte
}

func (s *slow) OpenFile(string) (Opened, error) { return nil, fs.ErrNotExist }

func (s *slow) Hold(string) (release func()) { return func() {} }

func (s *slow) Remote() Remote { return nil }

func (s *slow) List(string) ([]string, error) { return nil, fs.ErrNotExist }

func (s *slow) Folders(string) ([]string, error) { return nil, fs.ErrNotExist }

func (s *slow) Stamp(string) (at Stamp, err error) {
	at.Kind, at.Size = files.Regular, s.size
	return at, nil
}

func (s *slow) Read(name string, _ []byte) ([]byte, Stamp, error) {
	now := s.running.Add(1)
	defer s.running.Add(-1)
	for before := s.most.Load(); now > before && !s.most.CompareAndSwap(before, now); before = s.most.Load() {
	}
	time.Sleep(time.Millisecond) // a file takes its time
	at, _ := s.Stamp(name)
	return s.data(name), at, nil
}

var text = Codec[string]{
	Decode: func(f File) (string, bool) { return string(f.Data), !strings.HasSuffix(string(f.Data), "torn") },
	Note:   func(string) []byte { return nil },
}

// Several files are read at once, but of large ones one after the other.
func TestNotes_oneLargeFileAtATime(t *testing.T) {
	for _, large := range []bool{false, true} {
		tree := &slow{size: 1, data: func(name string) []byte { return []byte(name) }}
		if large {
			tree.size = largeFile + 1
		}
		var names []string
		for i := range 64 {
			names = append(names, fmt.Sprintf("%02d", i))
		}
		list, err := Notes(t.Context(), tree, NewMemo(&files.Memory{}), ".", names, text)
		if err != nil {
			t.Fatal(err)
		}
		for i := range list {
			if list[i].Is != names[i] || list[i].Err != nil {
				t.Errorf("%s is %+v", names[i], list[i])
			}
		}
		if got := tree.most.Load(); large != (got == 1) {
			t.Errorf("of files that are large: %v, %d are read at once", large, got)
		}
	}
}

// A file that is found torn while its writer replaces it is read again.
func TestNotes_againWhatIsTorn(t *testing.T) {
	reads := 0
	tree := &slow{size: 1, data: func(string) []byte {
		reads++
		return []byte([]string{"a is torn", "a is whole"}[min(reads-1, 1)])
	}}
	got, data, err := DecodeFile(tree, NewMemo(&files.Memory{}), ".", "a", text)
	if got != "a is whole" || string(data) != got || err != nil {
		t.Errorf("%q of %q, %v", got, data, err)
	}
}

// To open and to let go of a folder does not disturb what others read in it just then.
func TestDisk_isSafeForConcurrentUse(t *testing.T) {
	dir := t.TempDir()
	var dirs []string
	for i := range 3 {
		sub := fmt.Sprint("d", i)
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, sub, "a"), []byte(sub), 0o600); err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, sub)
	}
	d := openTree(t, dir)
	var running sync.WaitGroup
	for worker := range 4 {
		running.Go(func() {
			for i := range 2000 {
				sub := dirs[(i/50+worker%2)%len(dirs)]
				release := func() {}
				if i%3 > 0 {
					release = d.Hold(sub)
				}
				if names, err := d.List(sub); err != nil || !slices.Equal(names, []string{"a"}) {
					t.Errorf("%s lists %q, %v", sub, names, err)
				}
				if at, err := d.Stamp(sub + "/a"); err != nil || at.Kind != files.Regular {
					t.Errorf("%s/a is %+v, %v", sub, at, err)
				}
				if data, _, err := d.Read(sub+"/a", nil); err != nil || string(data) != sub {
					t.Errorf("%s/a is %q, %v", sub, data, err)
				}
				release()
			}
		})
	}
	running.Wait()
	if len(d.held) > 0 {
		t.Errorf("%d folders are held still", len(d.held))
	}
}

// A folder that another takes the place of is seen as it is when it is listed, whatever
// was read in the one before, and although that is held.
func TestDisk_seesAFolderThatIsReplaced(t *testing.T) {
	dir := t.TempDir()
	make := func(text string) {
		t.Helper()
		err := os.Mkdir(filepath.Join(dir, "d"), 0o700)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "d", "a"), []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	d := openTree(t, dir)
	for _, text := range []string{"one", "another"} {
		make(text)
		defer d.Hold("d")()
		if _, err := d.List("d"); err != nil {
			t.Fatal(err)
		}
		if data, _, err := d.Read("d/a", nil); err != nil || string(data) != text {
			t.Errorf("it is %q instead of %q, %v", data, text, err)
		}
		if err := os.Rename(filepath.Join(dir, "d"), filepath.Join(dir, text)); err != nil {
			t.Fatal(err)
		}
		if _, err := d.List("d"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("gone, it is listed, %v", err)
		}
	}
}

// A folder that is held is opened when it is first used, and once.
func TestDisk_opensWhatIsHeldOnce(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("a"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "d", "a"), []byte("a"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := openTree(t, dir)
	release := d.Hold("d")
	if n := d.opened.Load(); n != 0 {
		t.Errorf("%d folders were opened before one was used", n)
	}
	for _, sub := range []string{"d", "."} {
		for range 2 {
			if names, err := d.List(sub); err != nil || !slices.Contains(names, "a") {
				t.Fatalf("%s lists %q, %v", sub, names, err)
			}
			if at, err := d.Stamp(Join(sub, "a")); err != nil || at.Kind != files.Regular {
				t.Fatalf("it is %+v, %v", at, err)
			}
			if data, _, err := d.Read(Join(sub, "a"), nil); err != nil || string(data) != "a" {
				t.Fatalf("it is %q, %v", data, err)
			}
		}
	}
	release()
	if n := d.opened.Load(); n != 1 {
		t.Errorf("%d folders were opened", n)
	}
	if _, err := d.List("d"); err != nil || d.opened.Load() != 2 {
		t.Errorf("let go of, %d folders were opened, %v", d.opened.Load(), err)
	}
}

// What is read of a step is the reader's, who reads the next file into it.
func TestOverlay_lendsNoContent(t *testing.T) {
	over := Overlay(openTree(t, t.TempDir()), Steps{{Name: "a", Data: []byte("one")}}, nil)
	for range 2 {
		data, _, err := over.Read("a", nil)
		if err != nil || string(data) != "one" {
			t.Fatalf("it is %q, %v", data, err)
		}
		clear(data)
	}
}

// A content has a note of its own, whatever the file of its name has by now.
func TestMemo_notesOfContents(t *testing.T) {
	m := NewMemo(&files.Memory{})
	m.Note("a", Stamp{Tag: "1"}, []byte("first"))
	m.Note("a", Stamp{Tag: "2"}, []byte("second"))
	for _, c := range []struct{ name, tag, want string }{{"a", "1", "first"}, {"a", "2", "second"}, {"b", "1", ""}, {"a", "", ""}} {
		for _, memo := range []*Memo{m, m.Planning()} {
			if text, ok := memo.Recall(c.name, Stamp{Tag: c.tag}); string(text) != c.want || ok != (c.want != "") {
				t.Errorf("of %+v it is %q, %t", c, text, ok)
			}
		}
	}
}

// A step may make a folder, which is there, and empty.
func TestOverlay_ofAFolder(t *testing.T) {
	o := Overlay(openTree(t, t.TempDir()), Steps{{Name: "new", Version: journal.Version{Folder: true}}}, nil)
	at, err := o.Stamp("new")
	names, listed := o.List("new")
	_, _, read := o.Read("new", nil)
	if at.Kind != files.Directory || err != nil || len(names) != 0 || listed != nil || !errors.Is(read, files.ErrNotRegular) {
		t.Errorf("it is %+v, %v; it lists %q, %v; it reads %v", at, err, names, listed, read)
	}
}

// A folder into which steps put a name, or from which they take one, is not the folder as it is: what was remembered of one is not
// taken for the other.
func TestOverlay_folderIsAnother(t *testing.T) {
	dir := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(filepath.Join(dir, "old", "deep"), 0o700))
	must(os.WriteFile(filepath.Join(dir, "old", "deep", "file"), nil, 0o600))
	must(os.Mkdir(filepath.Join(dir, "beside"), 0o700))
	on := openTree(t, dir)
	stampOf := func(on Tree, name string) Stamp {
		t.Helper()
		at, err := on.Stamp(name)
		must(err)
		return at
	}
	taken := Steps{{Name: "old/deep/file", Aside: true}}
	for what, steps := range map[string]Steps{"taken": taken, "put": {{Name: "old/deep/more", Data: []byte("x")}}} {
		o := Overlay(on, steps, nil)
		if was, is := stampOf(on, "old/deep"), stampOf(o, "old/deep"); was.Is(is) || is.Kind != files.Directory {
			t.Errorf("%s: the folder is %+v, and was %+v", what, is, was)
		}
		if !stampOf(o, "old/deep").Is(stampOf(Overlay(on, steps, nil), "old/deep")) {
			t.Errorf("%s: the same steps make another folder", what)
		}
		if !stampOf(on, "beside").Is(stampOf(o, "beside")) {
			t.Errorf("%s: a folder beside it is another", what)
		}
	}
}

// What is made of a copy that a plan would make is remembered of the file that it is a copy of.
func TestNotes_ofACopy(t *testing.T) {
	dir := t.TempDir()
	old := time.Now().Add(-time.Hour)
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "file"), []byte("text"), 0o600), os.Chtimes(filepath.Join(dir, "file"), old, old)); err != nil {
		t.Fatal(err)
	}
	codec := Codec[string]{
		Decode: func(f File) (string, bool) { return string(f.Data), true },
		Note:   func(s string) []byte { return []byte(s) },
		Recall: func(f File) (string, error) { return string(f.Data), nil },
	}
	tree, memo := openTree(t, dir), NewMemo(&files.Memory{})
	read := func(tree Tree, name string) {
		t.Helper()
		list, err := Notes(t.Context(), tree, memo, ".", []string{name}, codec)
		if err != nil || list[0].Err != nil || list[0].Is != "text" {
			t.Errorf("%s: %+v, %v", name, list, err)
		}
	}
	read(Overlay(tree, Steps{{Name: "copy", From: "file"}}, nil), "copy")
	read(tree, "file")
	if n := memo.CountReads(); n != 1 {
		t.Errorf("%d files were read instead of one", n)
	}
}
