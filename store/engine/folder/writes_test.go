package folder

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store/media/journal"
)

// told is a storage with a session that has one file.
type told struct {
	*testing.T
	*Storage
	journal *journal.Journal
}

func newTold(t *testing.T) *told {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "record"), []byte("a"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(dir, Options{Notes: "told", Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	j, err := s.Journal()
	if err != nil {
		t.Fatal(err)
	}
	return &told{t, s, j}
}

func (t *told) apply(plan model.Plan, err error) {
	t.Helper()
	if err == nil {
		_, err = t.journal.Apply(t.Context(), plan, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// put gives the file a content, aside if that is "".
func (t *told) put(content string) {
	t.Helper()
	steps := Steps{{Name: "record", Data: []byte(content), Aside: content == ""}}
	t.apply(Draft(t.journal, steps).Plan(model.Plan{Op: model.OpRestore, Session: "s"}))
}

func (t *told) back(op model.Op) {
	t.Helper()
	plan, _, err := t.planBack(t.Context(), op)
	t.apply(plan, err)
}

// tells compares what the journal tells of contents, with what was done to them.
func (t *told) tells(want ...string) {
	t.Helper()
	w := t.Writes(t.Context())
	told := w.Told("s")
	var got []string
	for _, a := range told.Aside() {
		data, err := told.Read(a)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s %s", data, [...]string{"set aside", "replaced", "undone", "back"}[a.How]))
	}
	if slices.Sort(got); strings.Join(got, ", ") != strings.Join(want, ", ") {
		t.Errorf("it tells %q instead of %q", got, want)
	}
}

// A content that a write takes away, that another brings back, and that goes again because
// that is undone, is as it was after the first: Hindcast did not make it.
func TestTold_broughtBackByAWrite(t *testing.T) {
	for _, other := range []string{"", "b"} {
		s := newTold(t)
		first := map[string]string{"": "a set aside", "b": "a replaced"}[other]
		s.put(other)
		s.tells(first)
		s.put("a")
		if other == "" {
			s.tells("a back")
		} else {
			s.tells("a back", "b replaced")
		}
		s.back(model.OpUndo)
		if other == "" {
			s.tells(first)
		} else {
			s.tells(first, "b back")
		}
		s.back(model.OpRedo)
		s.back(model.OpUndo)
		s.back(model.OpUndo)
		if other == "" {
			s.tells("a back")
		} else {
			s.tells("a back", "b undone")
		}
	}
}

// What was found of a folder in which another program writes may be of two moments.
func TestView_moved(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a", "1")
	for want, then := range map[string]func(){"": func() {}, ".": func() { write("b", "1") }, "a": func() { write("a", "22") }} {
		v := NewView(openTree(t, dir))
		if _, err := v.List("."); err != nil {
			t.Fatal(err)
		}
		if _, err := v.Stamp("a"); err != nil {
			t.Fatal(err)
		}
		if then(); v.Moved() != want {
			t.Errorf("%q moved, and not %q", v.Moved(), want)
		}
	}
}

// What was seen in a view holds for a tree as long as all of it is there as it was, and what
// was not there is not.
func TestSeen_moved(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(dir string) error
		want string
	}{
		"nothing":                  {func(string) error { return nil }, ""},
		"a file grows":             {func(dir string) error { return os.WriteFile(filepath.Join(dir, "a"), []byte("longer"), 0o600) }, "a"},
		"a file comes":             {func(dir string) error { return os.WriteFile(filepath.Join(dir, "sub", "b"), nil, 0o600) }, "sub"},
		"a file that was not read": {func(dir string) error { return os.WriteFile(filepath.Join(dir, "none"), nil, 0o600) }, "none"},
		"a folder that was not":    {func(dir string) error { return os.Mkdir(filepath.Join(dir, "nowhere"), 0o700) }, "nowhere"},
	} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "a"), []byte("a"), 0o600); err != nil {
			t.Fatal(err)
		}
		tree := openTree(t, dir)
		v := NewView(tree)
		_, stampErr := v.Stamp("a")
		_, listErr := v.List("sub")
		_, _, readErr := v.Read("none", nil)
		_, noneErr := v.List("nowhere")
		if stampErr != nil || listErr != nil || readErr == nil || noneErr == nil {
			t.Fatal(stampErr, listErr, readErr, noneErr)
		}
		seen := v.Seen()
		if err := c.do(dir); err != nil {
			t.Fatal(err)
		}
		if got := seen.Moved(tree); got != c.want {
			t.Errorf("%s: %q moved, want %q", name, got, c.want)
		}
	}
}
