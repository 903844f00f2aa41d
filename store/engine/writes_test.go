package engine

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
	"hindcast/store/media/tree"
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
	s, err := OpenStorage(dir, StorageOptions{Notes: "told", Now: time.Now})
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
	steps := tree.Steps{{Name: "record", Data: []byte(content), Aside: content == ""}}
	t.apply(tree.Draft(t.journal, steps).Plan(model.Plan{Op: model.OpRestore, Session: "s"}))
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
	told := w.ForSession("s")
	var got []string
	for _, a := range told.ListAside() {
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
