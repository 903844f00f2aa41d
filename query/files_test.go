package query_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/model/filechange"
	"hindcast/query"
	"hindcast/store"
	"hindcast/store/kinds"
)

// openFiles opens a session of a store below testdata/files.
func openFiles(t *testing.T, kind, session string) (store.Store, *model.Timeline, *query.Session) {
	t.Helper()
	s, err := kinds.All(nil, "").Open(t.Context(), "../testdata/files/"+kind)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	line, err := query.ReadTimeline(t.Context(), s, session)
	if err != nil {
		t.Fatal(err)
	}
	return s, line, query.Open(s, line)
}

const notes = "41111111-2222-4333-8444-555555555555"

func TestFiles_tellEachChangeWhereItCame(t *testing.T) {
	_, line, q := openFiles(t, "odd", notes)
	var got []string
	for step, err := range q.Files(t.Context(), false) {
		if err != nil {
			t.Fatal(err)
		}
		for e, c := range step.Changes() {
			got = append(got, fmt.Sprintf("%s %v %s %s", line.Name(step.Visit), line.OnPath(step.Visit), e.How(), strings.TrimPrefix(c.Path, "/home/demo/notes/")))
		}
	}
	if want := []string{"#2 true Write notes.txt", "#6 false Edit notes.txt", "#8 false Write extra.txt", "#12 true Edit notes.txt"}; !slices.Equal(got, want) {
		t.Errorf("they are %q, want %q", got, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range q.Files(ctx, false) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the error is %v", err)
		}
	}
}

// From one snapshot to any other and back nothing is left, and from a to b and from b to c is from a to c.
func TestFilesBetween_addUp(t *testing.T) {
	_, line, q := openFiles(t, "odd", notes)
	fold := func(ways ...[2]model.Node) string {
		s := new(filechange.Folds)
		for _, way := range ways {
			r, err := q.FilesBetween(t.Context(), way[0], way[1], true)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range r.Changes() {
				s.Add(&c)
			}
		}
		var patch []byte
		for _, f := range s.All() {
			if f.Err() != nil {
				t.Fatal(f.Err())
			}
			if c, none := f.Change(); !none {
				patch = filechange.AppendPatch(patch, &c)
			}
		}
		return string(patch)
	}
	for a := range model.Node(line.Len()) {
		for b := range model.Node(line.Len()) {
			if got := fold([2]model.Node{a, b}, [2]model.Node{b, a}); got != "" {
				t.Fatalf("from %s to %s and back is\n%s", line.Name(a), line.Name(b), got)
			}
			c := line.Head()
			if got, want := fold([2]model.Node{a, b}, [2]model.Node{b, c}), fold([2]model.Node{a, c}); got != want {
				t.Fatalf("by %s from %s to the head is\n%swant\n%s", line.Name(b), line.Name(a), got, want)
			}
		}
	}
}

func TestTextBefore(t *testing.T) {
	_, line, q := openFiles(t, "odd", notes)
	for at, want := range map[string]string{"#4": "one\ntwo\n", "#6": "one\ntwo\n", "#9": "ONE\ntwo\n", "#12": "one\ntwo\n", "#13": "one\nTWO\n"} {
		n, err := line.Resolve(at)
		if err != nil {
			t.Fatal(err)
		}
		if got, file, err := q.TextBefore(t.Context(), n, "notes.txt", "/home/demo/notes"); err != nil || got != want || file != "/home/demo/notes/notes.txt" {
			t.Errorf("before %s it is %q of %q, %v, want %q", at, got, file, err, want)
		}
	}
	n, _ := line.Resolve("#2")
	if _, _, err := q.TextBefore(t.Context(), n, "notes.txt", ""); !errors.Is(err, filechange.ErrNoFile) {
		t.Errorf("the error is %v", err)
	}
}

// Codex's event about the end of a call is beside its output, and gives the patch.
func TestFiles_ofCodex(t *testing.T) {
	s, line, q := openFiles(t, "codex", "01a21f82-931c-7040-a1b5-613d7fee045e")
	n := 0
	for step, err := range q.Files(t.Context(), false) {
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range step.Changes() {
			if n++; c.Known != filechange.Recorded || c.Hunks == nil {
				t.Errorf("%s is %s", c.Path, c.Known)
			}
		}
		state, err := s.State(t.Context(), line.FullHeader(step.Visit).Ref())
		if err != nil || !strings.Contains(string(state), `"unified_diff"`) {
			t.Errorf("the event is not in the state: %v", err)
		}
	}
	if n != 2 {
		t.Errorf("%d changes", n)
	}
}
