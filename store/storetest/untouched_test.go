package storetest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hindcast/store/storetest"
)

// failures gathers what a check says instead of failing.
type failures struct {
	testing.TB
	list []string
}

func (f *failures) Helper()           {}
func (f *failures) Error(args ...any) { f.list = append(f.list, fmt.Sprint(args...)) }

func TestUntouched(t *testing.T) {
	long := time.Now().Add(-time.Hour)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	// keep sets back the times that a change leaves on a file and its folder.
	keep := func(path string) { must(os.Chtimes(path, long, long)) }
	for what, c := range map[string]struct {
		change func(dir string)
		want   []string // beginnings of what is said
	}{
		"nothing": {func(string) {}, nil},
		"read": {func(dir string) {
			_, err := os.ReadFile(filepath.Join(dir, "a", "f"))
			must(err)
		}, nil},
		"added": {func(dir string) {
			must(os.Mkdir(filepath.Join(dir, "a", "new"), 0o755))
			keep(filepath.Join(dir, "a"))
		}, []string{"a/new was added"}},
		"removed": {func(dir string) {
			must(os.Remove(filepath.Join(dir, "a", "f")))
			keep(filepath.Join(dir, "a"))
		}, []string{"a/f was removed"}},
		"something came and went in a folder": {func(dir string) {
			must(os.WriteFile(filepath.Join(dir, "lock"), nil, 0o644))
			must(os.Remove(filepath.Join(dir, "lock")))
		}, []string{". was written to"}},
		"written with the time set back": {func(dir string) {
			must(os.WriteFile(filepath.Join(dir, "a", "f"), []byte("2"), 0o644))
			keep(filepath.Join(dir, "a", "f"))
		}, []string{"a/f has other content"}},
		"touched": {func(dir string) {
			must(os.Chtimes(filepath.Join(dir, "a", "f"), time.Now(), time.Now()))
		}, []string{"a/f was written to"}},
		"another mode": {func(dir string) {
			must(os.Chmod(filepath.Join(dir, "a"), 0o700))
		}, []string{"a was drwxr-xr-x and is drwx"}},
		"replaced by its like": {func(dir string) {
			old, spare := filepath.Join(dir, "a", "f"), filepath.Join(dir, "a", "g")
			must(os.WriteFile(spare, []byte("1"), 0o644))
			keep(spare)
			must(os.Rename(spare, old))
			keep(filepath.Join(dir, "a"))
		}, []string{"a/f was replaced by another"}},
		"a link that leads elsewhere": {func(dir string) {
			link := filepath.Join(dir, "link")
			must(os.Remove(link))
			must(os.Symlink("b", link))
			keep(dir)
		}, []string{"link has other content"}},
	} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			must(os.Mkdir(filepath.Join(dir, "a"), 0o755))
			must(os.WriteFile(filepath.Join(dir, "a", "f"), []byte("1"), 0o644))
			must(os.Symlink("a", filepath.Join(dir, "link")))
			for _, name := range []string{"a/f", "a", "."} {
				keep(filepath.Join(dir, name))
			}
			said := &failures{TB: t}
			check := storetest.Untouched(said, dir)
			c.change(dir)
			check()
			// A new link is another file, made at another time, besides.
			if what == "a link that leads elsewhere" {
				said.list = slices.DeleteFunc(said.list, func(s string) bool { return !strings.Contains(s, "content") })
			}
			if len(said.list) != len(c.want) {
				t.Fatalf("it says %q, and not %q", said.list, c.want)
			}
			for i, want := range c.want {
				if !strings.HasPrefix(said.list[i], want) {
					t.Errorf("it says %q, and not %q", said.list[i], want)
				}
			}
		})
	}
}
