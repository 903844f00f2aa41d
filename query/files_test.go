package query_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/filechange"
	"hindcast/query"
	"hindcast/store"
	"hindcast/store/kinds"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// openFiles opens a session of a store below testdata/files, or the only one that it has.
func openFiles(t *testing.T, kind, session string) (store.Store, *model.Timeline, *query.Session) {
	t.Helper()
	s, err := kinds.All(nil, "").Open(t.Context(), "../testdata/files/"+kind)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if session == "" {
		session = storetest.Sessions(t, s)[0].ID
	}
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
	skip.Sequential(t)
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

// fileLines returns a line for each change of a session: the snapshot, the change, how it is known and what made it.
func fileLines(t *testing.T, line *model.Timeline, steps iter.Seq2[query.FileStep, error]) (list []string) {
	t.Helper()
	for step, err := range steps {
		if err != nil || step.Unread != nil {
			t.Fatal(err, step.Unread)
		}
		for e, c := range step.Changes() {
			path, _ := filechange.PathIn("/home/demo/w", c.Path)
			text := fmt.Sprintf("%s %s %s %s", line.Name(step.Visit), c.Kind, path, conversation.Change(c.Count()))
			if c.More > 0 {
				text += fmt.Sprint(c.More, " more")
			}
			if c.Known != filechange.Recorded {
				text += " " + c.Known.String()
			}
			list = append(list, fmt.Sprintf("%s by %.24s", text, e.How()))
		}
	}
	return list
}

// The copies of files that agents keep tell what commands did, also where no call does. The objects of the project's own
// repository are not in opencode's, and the patch of the turn has them.
func TestFiles_ofCopies(t *testing.T) {
	skip.Sequential(t)
	for _, of := range []struct {
		kind, session string
		want          []string
	}{
		{"copilot-cli", "f4760262-50b7-4fad-8765-f246f090871e", []string{
			"#2 created new.txt +2 by create", "#3 changed a.txt +1 −1 by edit", "#4 changed long.txt +1 −1 by edit", "#5 changed long.txt −1 by edit",
			"#13 changed long.txt  not recorded by bash: printf 'z\\n' >> lo",
			"#17 changed a.txt +1 −1 by bash: sed -i s/one/ONE/ ", "#17 moved moved.txt  by bash: sed -i s/one/ONE/ ", "#17 deleted draft.txt −1 by bash: sed -i s/one/ONE/ ",
			"#17 created made.txt  not recorded by bash: sed -i s/one/ONE/ ", "#17 created /home/demo/outside.txt  not recorded by bash: sed -i s/one/ONE/ ",
			"#21 changed a.txt +2 −1 by edit", "#22 changed moved.txt +1 −1 by edit",
		}},
		{"opencode", "", []string{
			"#1 created new.txt +2 by write", "#4 changed a.txt +1 −3 by bash: printf 'ONE\\\\n\\\\tt", "#4 deleted draft.txt −1 by bash: printf 'ONE\\\\n\\\\tt",
			"#4 moved moved.txt  by bash: printf 'ONE\\\\n\\\\tt", "#7 changed a.txt +1 −1 by edit",
		}},
	} {
		_, line, q := openFiles(t, of.kind, of.session)
		if got := fileLines(t, line, q.Files(t.Context(), false)); !slices.Equal(got, of.want) {
			t.Errorf("%s: they are\n%s\nwant\n%s", of.kind, strings.Join(got, "\n"), strings.Join(of.want, "\n"))
		}
	}
}

// Folded, they give the files that lay on the disk when the recording ended.
func TestFilesBetween_ofCopiesAreTheDisk(t *testing.T) {
	skip.Sequential(t)
	for kind, want := range map[string]map[string]string{
		"copilot-cli": {"a.txt": "ONE\n\ttwo\n3\n4\n", "moved.txt": "alpha\ngamma"},
		"opencode":    {"a.txt": `ONE\n\t2\nthree\n`, "moved.txt": "alpha\nbeta"},
	} {
		_, line, q := openFiles(t, kind, "")
		r, err := q.FilesBetween(t.Context(), model.NoNode, line.Head(), true)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.Fold().All() {
			path, _ := filechange.PathIn("/home/demo/w", f.Path())
			if text, asked := want[path]; asked {
				if got, whole := f.Text(); got != text || !whole || f.Err() != nil {
					t.Errorf("%s: %s is %q, %v, %v, want %q", kind, path, got, whole, f.Err(), text)
				}
				delete(want, path)
			}
		}
		for path := range want {
			t.Errorf("%s: nothing tells of %s", kind, path)
		}
	}
}

// What a sub-agent did stands once, at the step that started it, as the sub-agent's; in the home it is its own session's.
func TestAllFiles_ofSubAgents(t *testing.T) {
	const parent = "51111111-2222-4333-8444-555555555555"
	s, line, q := openFiles(t, "claude-code", parent)
	if got, want := fileLines(t, line, q.AllFiles(t.Context(), false)), []string{"#1 changed sub.txt +1 inferred by sub-agent agent-a80c6f6b"}; !slices.Equal(got, want) {
		t.Errorf("they are %q, want %q", got, want)
	}
	if got := fileLines(t, line, q.Files(t.Context(), false)); got != nil {
		t.Errorf("without sub-agents they are %q", got)
	}
	r, err := q.FilesBetween(t.Context(), model.NoNode, line.Head(), true)
	if err != nil || len(r.Forth) != 1 {
		t.Errorf("the range has %+v, %v", r, err)
	}
	for step, err := range q.AllFiles(t.Context(), false) {
		if e := &step.Effects[0]; err != nil || e.Agent != parent+"/agent-a80c6f6b274e30233" {
			t.Errorf("it is of %q, %v", e.Agent, err)
		}
	}
	var got []string
	for touched, err := range query.FilesAcross(t.Context(), query.Sources(s, s.Sessions(t.Context())), query.FileSearch{Paths: []string{"sub.txt"}}, func(ctx context.Context, in query.Source) (*model.Timeline, error) {
		return query.ReadTimeline(ctx, in.Store, in.ID)
	}) {
		if err != nil || touched.Err != nil {
			t.Fatal(err, touched.Err)
		}
		got = append(got, touched.ID)
	}
	if !slices.Equal(got, []string{parent + "/agent-a80c6f6b274e30233"}) {
		t.Errorf("they are %q", got)
	}
}
