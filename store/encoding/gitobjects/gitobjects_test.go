package gitobjects

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/store/media/tree"
	"hindcast/store/storetest/skip"
)

// repository is a repository that git makes.
type repository struct {
	testing.TB
	dir string
}

func newRepository(t testing.TB) *repository {
	if _, err := exec.LookPath("git"); err != nil {
		skip.Missing(t, "there is no git")
	}
	r := &repository{t, t.TempDir()}
	r.git("init", "-q")
	return r
}

func (r *repository) git(args ...string) string {
	r.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = r.dir, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@a", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@a")
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		r.Fatalf("git %v: %v\n%s", args, err, &said)
	}
	return strings.TrimSpace(string(out))
}

// write writes files and returns the tree that git makes of all.
func (r *repository) write(files map[string]string) string {
	r.Helper()
	for name, text := range files {
		file := filepath.Join(r.dir, name)
		if text == "" {
			os.Remove(file)
			continue
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			r.Fatal(err)
		}
	}
	r.git("add", "-A")
	return r.git("write-tree")
}

// open opens the objects of the repository, as a tree of the folder around it has them.
func (r *repository) open() *Objects {
	r.Helper()
	disk, err := tree.OpenDisk(r.dir)
	if err != nil {
		r.Fatal(err)
	}
	o := Open(disk, []string{".git/objects"})
	r.Cleanup(func() {
		if err := errors.Join(o.Close(), disk.Close()); err != nil {
			r.Error(err)
		}
	})
	return o
}

// changes returns the differences of two trees, "path: before → after".
func changes(t testing.TB, o *Objects, a, b string) (list []string) {
	t.Helper()
	text := func(e Entry) string {
		if e.ID == "" {
			return "none"
		}
		data, err := o.ReadBlob(e.ID, MostBytes)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%.12q %d", data, len(data))
	}
	if err := o.CompareTrees(t.Context(), a, b, func(path string, before, after Entry) error {
		list = append(list, path+": "+text(before)+" → "+text(after))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return list
}

// Loose or packed as deltas, the differences of two trees and the bytes of each file are as git made them.
func TestCompareTrees_looseAndPacked(t *testing.T) {
	r := newRepository(t)
	long := strings.Repeat("a line that stays\n", 4000)
	trees := []string{
		r.write(map[string]string{"a.txt": "one\n", "dir/b.txt": long, "dir/deep/c.txt": "c\n", "x": "a file\n", "gone": "g\n"}),
		r.write(map[string]string{"a.txt": "two\n", "dir/b.txt": "first\n" + long, "gone": "", "x": ""}),
		r.write(map[string]string{"dir/b.txt": long + "last\n", "x/y": "a folder\n", "a b\tü.txt": "odd\n"}),
	}
	for _, id := range trees {
		r.git("tag", "t"+id, r.git("commit-tree", "-m", "m", id))
	}
	want := [][]string{
		{`a.txt: "one\n" 4 → "two\n" 4`, fmt.Sprintf(`dir/b.txt: "a line that " %d → "first\na line" %d`, len(long), len(long)+6), `gone: "g\n" 2 → none`, `x: "a file\n" 7 → none`},
		{`a b` + "\t" + `ü.txt: none → "odd\n" 4`, fmt.Sprintf(`dir/b.txt: "first\na line" %d → "a line that " %d`, len(long)+6, len(long)+5), `x/y: none → "a folder\n" 9`},
	}
	for _, state := range []string{"loose", "packed"} {
		if state == "packed" {
			r.git("gc", "-q", "--aggressive", "--prune=now")
			if loose, _ := filepath.Glob(filepath.Join(r.dir, ".git/objects/[0-9a-f][0-9a-f]/*")); len(loose) > 0 {
				t.Fatalf("git left %q", loose)
			}
		}
		o := r.open()
		for i := range want {
			if got := changes(t, o, trees[i], trees[i+1]); !slices.Equal(got, want[i]) {
				t.Errorf("%s: they are\n%s\nwant\n%s", state, strings.Join(got, "\n"), strings.Join(want[i], "\n"))
			}
		}
		if got := len(changes(t, o, "", trees[2])); got != 5 {
			t.Errorf("%s: %d files came of nothing", state, got)
		}
		for line := range strings.Lines(r.git("cat-file", "--batch-all-objects", "--batch-check")) {
			id, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
			kind, data, err := o.readObject(id, MostBytes)
			if is := fmt.Sprintf("%s %d", kind, len(data)); err != nil || is != rest {
				t.Errorf("%s: %s is %s, %v, want %s", state, id, is, err, rest)
			}
		}
	}
}

// What another repository lent is read there, and is missing where that is gone.
func TestOpen_alternates(t *testing.T) {
	lender, r := newRepository(t), newRepository(t)
	before := lender.write(map[string]string{"a.txt": "lent\n"})
	alternates := filepath.Join(r.dir, ".git/objects/info/alternates")
	if err := os.WriteFile(alternates, []byte("\nrelative\n"+filepath.Join(lender.dir, ".git/objects")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	after := r.write(map[string]string{"a.txt": "own\n"})
	if got := changes(t, r.open(), before, after); !slices.Equal(got, []string{`a.txt: "lent\n" 5 → "own\n" 4`}) {
		t.Errorf("they are %q", got)
	}
	if err := os.RemoveAll(lender.dir); err != nil {
		t.Fatal(err)
	}
	if err := r.open().CompareTrees(t.Context(), before, after, nil); !errors.Is(err, ErrMissing) {
		t.Errorf("the error is %v", err)
	}
}

func TestCommitTrees(t *testing.T) {
	r := newRepository(t)
	first := r.write(map[string]string{"a": "1\n"})
	r.git("commit", "-qm", "one")
	second := r.write(map[string]string{"a": "2\n"})
	r.git("commit", "-qm", "two\n\ntree of words")
	o := r.open()
	if parent, tree, at, err := o.CommitTrees(r.git("rev-parse", "HEAD")); parent != first || tree != second || err != nil || fmt.Sprint(at.Unix()) != r.git("log", "-1", "--format=%ct") {
		t.Errorf("they are %s and %s at %v, %v", parent, tree, at, err)
	}
	for _, state := range []string{"loose", "packed"} {
		for _, digits := range []int{7, 8, 39, 40} {
			if id := r.git("rev-parse", "HEAD"); o.ResolvePrefix(id[:digits]) != id {
				t.Errorf("%s: of %s comes %q", state, id[:digits], o.ResolvePrefix(id[:digits]))
			}
		}
		for _, none := range []string{"", "12", "zzzzzzz", "../../..", strings.Repeat("0", 40), strings.Repeat("f", 9)} {
			if id := o.ResolvePrefix(none); id != "" {
				t.Errorf("%s: of %q comes %s", state, none, id)
			}
		}
		r.git("gc", "-q", "--prune=now")
		o = r.open()
	}
	if parent, tree, _, err := o.CommitTrees(r.git("rev-parse", "HEAD~1")); parent != "" || tree != first || err != nil {
		t.Errorf("they are %q and %s, %v", parent, tree, err)
	}
}

// A damaged object, another's content, and an object that is too large are errors.
func TestReadBlob_refuses(t *testing.T) {
	r := newRepository(t)
	r.write(map[string]string{"a": "one\n", "b": "two\n", "c": strings.Repeat("long\n", 100)})
	file := func(id string) string { return filepath.Join(r.dir, ".git/objects", id[:2], id[2:]) }
	a, b, c := r.git("hash-object", "a"), r.git("hash-object", "b"), r.git("hash-object", "c")
	text, err := os.ReadFile(file(b))
	if err = errors.Join(err, os.Chmod(file(a), 0o600), os.WriteFile(file(a), text, 0o600)); err != nil {
		t.Fatal(err)
	}
	o := r.open()
	for id, want := range map[string]error{a: errDamaged, c: ErrTooLarge, "": ErrMissing, "../../../etc/passwd": ErrMissing, strings.Repeat("0", 40): ErrMissing} {
		if _, err := o.ReadBlob(id, 100); !errors.Is(err, want) {
			t.Errorf("the error of %q is %v, want %v", id, err, want)
		}
	}
}

// No pack makes the reader fail, or take more than it may.
func FuzzPack(f *testing.F) {
	r := newRepository(f)
	files := map[string]string{}
	for i := range 8 {
		files[fmt.Sprint("f", i)] = strings.Repeat("a line that stays\n", 50) + fmt.Sprint(i)
	}
	r.write(files)
	r.git("commit", "-qm", "m")
	r.git("gc", "-q", "--aggressive")
	id := r.git("rev-parse", "HEAD:f3")
	packs, _ := filepath.Glob(filepath.Join(r.dir, ".git/objects/pack/*"))
	content := map[string][]byte{}
	for _, name := range packs {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		content[filepath.Ext(name)] = data
	}
	names := slices.Sorted(maps.Keys(content))
	if !slices.Contains(names, ".idx") || !slices.Contains(names, ".pack") {
		f.Fatalf("the packs are %q", packs)
	}
	f.Add(content[".idx"], content[".pack"])
	f.Fuzz(func(t *testing.T, index, data []byte) {
		dir := t.TempDir()
		if err := errors.Join(os.MkdirAll(filepath.Join(dir, "pack"), 0o700), os.WriteFile(filepath.Join(dir, "pack/p.idx"), index, 0o600), os.WriteFile(filepath.Join(dir, "pack/p.pack"), data, 0o600)); err != nil {
			t.Fatal(err)
		}
		disk, err := tree.OpenDisk(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer disk.Close()
		o := Open(disk, []string{"."})
		defer o.Close()
		if data, err := o.ReadBlob(id, 1<<20); err == nil && len(data) != len(files["f3"]) {
			t.Errorf("%d bytes", len(data))
		}
	})
}
