//go:build unix

package survey_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"hindcast/store"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
	"hindcast/store/survey"
)

// surveyed returns what a survey of a folder tells, a line for each place, with
// paths from the folder on.
func surveyed(t *testing.T, kinds store.Kinds, dir string) []string {
	t.Helper()
	check := storetest.Untouched(t, dir)
	defer check()
	return told(t, dir, survey.Folder(t.Context(), kinds, dir))
}

func told(t *testing.T, dir string, findings iter.Seq2[survey.Finding, error]) (lines []string) {
	t.Helper()
	for f, err := range findings {
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, describe(dir, &f))
	}
	return lines
}

func describe(dir string, f *survey.Finding) string {
	kind := f.Kind
	if kind == "" {
		kind = "-"
	}
	if f.Behind != "" {
		kind += " behind " + f.Behind
	}
	rel, err := filepath.Rel(dir, f.Path)
	if err != nil {
		rel = f.Path
	}
	return fmt.Sprintf("%s %q %s", kind, rel, f.Why)
}

func same(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("told\n  %s\nand not\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

const noKind = "no kind knows it"

func TestFolder_tellsOfEveryPlace(t *testing.T) {
	skip.Sequential(t)
	kinds := store.Kinds{storetest.Holding("log", "log.json"), storetest.Filed("db", ".db"), storetest.Filed("lines", ".jsonl"), storetest.Holding("other", "other.json")}
	for _, c := range []struct {
		name  string
		names []string
		want  []string
	}{
		{"an empty folder", nil, []string{`- "." ` + noKind}},
		{"itself a store", []string{"log.json", "a.db.txt"}, []string{`log "." log.json`}},
		{"nearer first, then by name", []string{"b/log.json", "a/c/log.json", "a/z.db", "a/b.JSONL", "notes.txt"}, []string{
			`- "." ` + noKind,
			`- "a" ` + noKind,
			`lines "a/b.JSONL" a file`, // whatever the case
			`db "a/z.db" a file`,
			`log "b" log.json`,
			`log "a/c" log.json`,
		}},
		{"what a kind misses", []string{"bad.db"}, []string{`- "." ` + noKind, `- "bad.db" ` + noKind + "; db: it is bad"}},
		{"a store is not entered", []string{"s/log.json", "s/deep/log.json", "s/deep/er/a.db"}, []string{`- "." ` + noKind, `log "s" log.json`}},
		{"but for what is directly in it", []string{"s/log.json", "s/a.db", "s/bad.db", "s/.logs/sessions/other.json", "s/.logs/log.json", "s/in/b.db", "s/of/other.json"}, []string{
			`- "." ` + noKind, `log "s" log.json`, `db "s/a.db" a file`, `other "s/of" other.json`, `other "s/.logs/sessions" other.json`,
		}},
		{"hidden folders", []string{".sessions/log.json", ".agent/sessions/log.json", ".logs/a.db"}, []string{
			`- "." ` + noKind,
			`- ".agent" ` + noKind,
			`- ".logs" ` + noKind, `db ".logs/a.db" a file`,
			`log ".sessions" log.json`,
			`log ".agent/sessions" log.json`,
		}},
		{"hidden junk", []string{".git/a.db", ".venv/a.db", ".cache/a.db", ".ruff_cache/a.db", ".hindcast/a.db", ".hindcast-17/a.db", ".Trash-1000/a.db", ".idea/a.db"}, []string{
			`- "." ` + noKind,
			`- ".Trash-1000" what was thrown away`,
			`- ".cache" a cache`,
			`- ".git" version control`,
			`- ".hindcast" what Hindcast keeps`,
			`- ".hindcast-17" what Hindcast keeps`,
			`- ".idea" the settings of a program`,
			`- ".ruff_cache" a cache`,
			`- ".venv" packages of others`,
		}},
		{"packages and caches", []string{"node_modules/a.db", "vendor/a.db", "__pycache__/a.db", "cache/a.db", "testdata/a.db"}, []string{
			`- "." ` + noKind, `- "__pycache__" a cache`, `- "cache" a cache`, `- "node_modules" packages of others`, `- "testdata" what tests read`, `- "vendor" packages of others`,
		}},
		{"temporary files", []string{"a.db.tmp", ".a.db_tmp_1f"}, []string{
			`- "." ` + noKind, `- ".a.db_tmp_1f" a temporary file`, `- "a.db.tmp" a temporary file`,
		}},
		{"links and loops", []string{"a/loop -> ..", "a/self -> self", "b.db -> real", "real", "out -> /", "gone -> nowhere"}, []string{
			`- "." ` + noKind,
			`- "b.db" a symbolic link, which is not followed`,
			`- "gone" a symbolic link, which is not followed`,
			`- "out" a symbolic link, which is not followed`,
			`- "a" ` + noKind,
			`- "a/loop" a symbolic link, which is not followed`,
			`- "a/self" a symbolic link, which is not followed`,
		}},
		{"pipes", []string{"a.db |", "b |"}, []string{`- "." ` + noKind, `- "a.db" not a regular file`}},
		{"folders named like files", []string{"a.db/log.json", "b.jsonl/"}, []string{`- "." ` + noKind, `log "a.db" log.json`, `- "b.jsonl" ` + noKind}},
		{"hostile names", []string{"two\nlines\x1b[2J/\u202e.db", "jsonl:x/log.json", "\xff\xfe.db"}, []string{
			`- "." ` + noKind, `db "\xff\xfe.db" a file`, `log "jsonl:x" log.json`,
			`- "two\nlines\x1b[2J" ` + noKind, `db "two\nlines\x1b[2J/\u202e.db" a file`,
		}},
		{"too deep", []string{"1/2/3/4/5/6/a.db", "1/2/3/4/5/6/7/b.db"}, []string{
			`- "." ` + noKind, `- "1" ` + noKind, `- "1/2" ` + noKind, `- "1/2/3" ` + noKind, `- "1/2/3/4" ` + noKind,
			`- "1/2/3/4/5" ` + noKind, `- "1/2/3/4/5/6" ` + noKind,
			`- "1/2/3/4/5/6/7" more than 6 folders deep`, `db "1/2/3/4/5/6/a.db" a file`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			same(t, surveyed(t, kinds, storetest.Tree(t, c.names...)), c.want)
		})
	}
}

func TestFolder_twoClaimsAreBothTold(t *testing.T) {
	skip.Sequential(t)
	kinds := store.Kinds{storetest.Holding("first", "a"), storetest.Holding("none", "z"), storetest.Holding("second", "b"), storetest.Filed("db", ".db"), storetest.Filed("other", ".db")}
	same(t, surveyed(t, kinds, storetest.Tree(t, "s/a", "s/b", "s/in/b", "s/in/a", "s/part/b", "s/part/z", "s/other/z", "t.db")), []string{
		`- "." ` + noKind,
		`db "t.db" a file`, `other behind db "t.db" a file`,
		`first "s" a`, `second behind first "s" b`,
		`none "s/other" z`, // and no folder of the store's own is told
	})
	id, err := kinds.Identify(t.Context(), filepath.Join(storetest.Tree(t, "s/a", "s/b"), "s"))
	if err != nil || id.Name != "first" {
		t.Errorf("opened by %v, %v", id, err)
	}
}

// A place that cannot be looked at is told with its error, and the others too.
func TestFolder_unreadable(t *testing.T) {
	skip.Sequential(t)
	broken := storetest.Holding("broken", "a")
	broken.Recognise = func(_ context.Context, path string) (string, bool, error) {
		if strings.HasSuffix(path, "locked") {
			return "", false, &fs.PathError{Op: "open", Path: path, Err: fs.ErrPermission}
		}
		return "", false, nil
	}
	kinds := store.Kinds{broken, storetest.Filed("db", ".db"), storetest.Holding("log", "log.json")}
	dir := storetest.Tree(t, "locked/a.db", "next/a.db", "of/locked/log.json")
	same(t, surveyed(t, kinds, dir), []string{
		`- "." ` + noKind,
		`- "locked" it cannot be looked at: permission denied`, `db "locked/a.db" a file`,
		`- "next" ` + noKind, `db "next/a.db" a file`,
		`- "of" ` + noKind, `log "of/locked" log.json`, // what one kind can tell is told
	})
	for f, err := range survey.Folder(t.Context(), kinds, dir) {
		if err != nil || (f.Err != nil) != strings.HasPrefix(f.Why, "it cannot") || f.Err != nil && !errors.Is(f.Err, fs.ErrPermission) {
			t.Errorf("%+v, %v", f, err)
		}
	}
}

func TestFolder_ofWhatMayNotBeRead(t *testing.T) {
	skip.Sequential(t)
	if !storetest.Unprivileged(t) {
		return
	}
	dir := storetest.Tree(t, "shut/a.db", "open/a.db")
	shut := filepath.Join(dir, "shut")
	if err := os.Chmod(shut, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(shut, 0o755) })
	got := told(t, dir, survey.Folder(t.Context(), store.Kinds{storetest.Filed("db", ".db")}, dir))
	same(t, got, []string{`- "." ` + noKind, `- "open" ` + noKind, `db "open/a.db" a file`, `- "shut" ` + noKind, `- "shut" it cannot be looked at: permission denied`})
}

func TestFolder_isBounded(t *testing.T) {
	skip.Sequential(t)
	kinds := store.Kinds{storetest.Filed("db", ".db"), storetest.Holding("log", "log.json")}
	names := func(n int, pattern string) (list []string) {
		for i := range n {
			list = append(list, fmt.Sprintf(pattern, i))
		}
		return list
	}
	t.Run("names", func(t *testing.T) {
		dir := storetest.Tree(t, names(40, "%d.txt")...)
		same(t, told(t, dir, survey.Within(t.Context(), kinds, dir, 40, 9, 99, 9)), []string{`- "." ` + noKind})
		same(t, told(t, dir, survey.Within(t.Context(), kinds, dir, 39, 9, 99, 9)), []string{
			`- "." ` + noKind, `- "." it has more than 39 names: the others are not looked at`,
		})
	})
	t.Run("folders", func(t *testing.T) {
		dir := storetest.Tree(t, names(5, "%d/x/y/")...)
		got := told(t, dir, survey.Within(t.Context(), kinds, dir, 99, 8, 99, 9))
		want := `- "." it has more than 8 folders: 5 more that were met are not looked into, nor what is in them; name one of them`
		if last := got[len(got)-1]; len(got) != 9 || last != want {
			t.Errorf("told\n  %s", strings.Join(got, "\n  "))
		}
	})
	t.Run("places", func(t *testing.T) {
		dir := storetest.Tree(t, names(9, "%d -> nowhere")...)
		got := told(t, dir, survey.Within(t.Context(), kinds, dir, 99, 99, 5, 9))
		if last := got[len(got)-1]; len(got) != 6 || !strings.HasPrefix(last, `- "." more than 5 places are told of`) {
			t.Errorf("told\n  %s", strings.Join(got, "\n  "))
		}
	})
	t.Run("a store", func(t *testing.T) {
		var asked atomic.Int64
		counting := storetest.Filed("db", ".db")
		recognise := counting.Recognise
		counting.Recognise = func(ctx context.Context, path string) (string, bool, error) {
			asked.Add(1)
			return recognise(ctx, path)
		}
		dir := storetest.Tree(t, append(names(50, "s/message_%d.db"), "s/log.json")...)
		for range survey.Within(t.Context(), store.Kinds{storetest.Holding("log", "log.json"), counting}, dir, 99, 99, 99, 7) {
		}
		if n := asked.Load(); n < 6 || n > 9 {
			t.Errorf("another kind was asked about %d places", n)
		}
	})
}

func TestFolder_errors(t *testing.T) {
	skip.Sequential(t)
	kinds := store.Kinds{storetest.Filed("db", ".db")}
	pipe := filepath.Join(storetest.Tree(t, "p |"), "p")
	for path, word := range map[string]string{
		filepath.Join(t.TempDir(), "none"):               "no such file",
		filepath.Join(storetest.Tree(t, "file"), "file"): "not a folder",
		pipe: "not a folder",
		filepath.Join(storetest.Tree(t, "loop -> loop"), "loop"):    "too many levels",
		filepath.Join(storetest.Tree(t, "gone -> nowhere"), "gone"): "no such file",
		filepath.Join(t.TempDir(), strings.Repeat("x", 300)):        "too long",
	} {
		n := 0
		for f, err := range survey.Folder(t.Context(), kinds, path) {
			if n++; err == nil || !strings.Contains(err.Error(), word) || !strings.HasPrefix(err.Error(), "survey ") {
				t.Errorf("%s: %+v, %v", path, f, err)
			}
		}
		if n != 1 {
			t.Errorf("%s: %d answers", path, n)
		}
	}
	// A link that was named is followed.
	linked := storetest.Tree(t, "real/a.db", "link -> real")
	same(t, surveyed(t, kinds, filepath.Join(linked, "link")), []string{`- "." ` + noKind, `db "a.db" a file`})

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for _, err := range survey.Folder(ctx, kinds, storetest.Tree(t, "a/b/c/", "b/", "c/")) {
		cancel()
		last = err
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("a survey that was cancelled ends with %v", last)
	}
	for range survey.Folder(t.Context(), kinds, storetest.Tree(t, "a/b.db", "c/d.db")) {
		break // nothing is told to who has gone
	}
}

func BenchmarkFolder_project(b *testing.B) {
	dir := storetest.Tree(b)
	for i := range 40 {
		for j := range 20 {
			sub := filepath.Join(dir, fmt.Sprintf("%d/%d", i, j))
			if err := os.MkdirAll(sub, 0o700); err != nil {
				b.Fatal(err)
			}
			for k := range 20 {
				if err := os.WriteFile(filepath.Join(sub, fmt.Sprintf("%d.go", k)), nil, 0o600); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	kinds := store.Kinds{storetest.Holding("log", "log.json"), storetest.Filed("db", ".db"), storetest.Filed("lines", ".jsonl")}
	for b.Loop() {
		for range survey.Folder(b.Context(), kinds, dir) {
		}
	}
}
