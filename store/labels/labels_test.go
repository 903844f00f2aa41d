package labels_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/kinds"
	"hindcast/store/kinds/jsonl"
	"hindcast/store/labels"
	"hindcast/store/media/files"
	"hindcast/store/native/sqlite"
	"hindcast/store/sample"
	"hindcast/store/storetest"
)

const testdata = "../../testdata"

func open(t *testing.T, address string) store.Store {
	t.Helper()
	s, err := kinds.All((*files.Cache)(nil), "").Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// trips makes a store of the demo.
func trips(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trips.db")
	s, err := sqlite.Create(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Import(t.Context(), sample.Rows()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// of returns the labels of a session in words.
func of(t *testing.T, l labels.Labels, s store.Store, session string) (words []string) {
	t.Helper()
	list, err := l.Of(t.Context(), s, session)
	if err != nil {
		t.Fatal(err)
	}
	for _, label := range list {
		if label.Session != session || label.At.IsZero() {
			t.Errorf("a label of %q is %+v", session, label)
		}
		words = append(words, fmt.Sprintf("%s=%.6s/%d %s", label.Name, label.ID, label.Visit, label.Note))
	}
	return words
}

// Labels lie beside the store where Hindcast has a place of its own, else in the user's
// folder; no file of a framework changes.
func TestLabels_whereTheyLie(t *testing.T) {
	rows := filepath.Join(t.TempDir(), "rows.jsonl")
	f, err := os.Create(rows)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := jsonl.Write(f, sample.Rows()); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ address, file string }{
		{trips(t), "trips.db-labels"},
		{storetest.Copy(t, filepath.Join(testdata, "strands/python-file")), ".hindcast/labels"},
		{storetest.Copy(t, filepath.Join(testdata, "strands/python-snapshot")), ".hindcast/labels"},
		{storetest.Copy(t, filepath.Join(testdata, "genkit/devproject-go-1.13.1")), ".genkit/snapshots/.hindcast/labels"},
		{storetest.Copy(t, filepath.Join(testdata, "langgraph/agent.db")), ""},
		{rows, ""},
	} {
		data := filepath.Join(t.TempDir(), "data")
		l, s := labels.New(data), open(t, c.address)
		session := storetest.Sessions(t, s)[0].ID
		h := storetest.Headers(t, s, session)[0]
		dir := c.address
		if info, err := os.Stat(dir); err == nil && !info.IsDir() {
			dir = filepath.Dir(dir)
		}
		before := storetest.FilesOf(t, dir)
		if got := of(t, l, s, session); got != nil {
			t.Errorf("%s: %q before any", c.address, got)
		}
		label := model.Label{Session: session, ID: h.ID, Visit: h.Visit, Name: "start", Note: "a\nnote"}
		if _, err := l.Set(t.Context(), s, label); err != nil {
			t.Fatal(err)
		}
		after := storetest.FilesOf(t, dir)
		var made []string
		for name := range after {
			if _, there := before[name]; !there {
				made = append(made, name)
			}
		}
		path := filepath.Join(dir, filepath.FromSlash(c.file))
		if c.file == "" {
			found, err := filepath.Glob(filepath.Join(data, "labels", "*"))
			if err != nil || len(found) != 1 || len(made) != 0 {
				t.Errorf("%s: %q and %q were made, %v", c.address, found, made, err)
				continue
			}
			path = found[0]
		}
		for _, name := range made { // a folder of Hindcast's own is not among them
			if name != c.file {
				t.Errorf("%s: %s was made", c.address, name)
			}
			delete(after, name)
		}
		if !maps.Equal(before, after) {
			t.Errorf("%s: a file of the store changed", c.address)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
		if got, want := of(t, labels.New(data), open(t, c.address), session), []string{fmt.Sprintf("start=%.6s/%d a\nnote", h.ID, h.Visit)}; !slices.Equal(got, want) {
			t.Errorf("%s: the labels are %q, and not %q", c.address, got, want)
		}
	}
}

// The folder of one session, and the folder around it, have the same labels.
func TestLabels_sameThroughEitherFolder(t *testing.T) {
	dir := storetest.Copy(t, filepath.Join(testdata, "strands/python-file"))
	l, whole, one := labels.New(""), open(t, dir), open(t, filepath.Join(dir, "session_basic"))
	h := storetest.Headers(t, whole, "basic")[2]
	if _, err := l.Set(t.Context(), whole, model.Label{Session: "basic", ID: h.ID, Name: "third"}); err != nil {
		t.Fatal(err)
	}
	session := storetest.Sessions(t, one)[0].ID
	if a, b := of(t, l, whole, "basic"), of(t, l, one, session); len(a) != 1 || !slices.Equal(a, b) {
		t.Errorf("%q in the store, %q in the folder of the session", a, b)
	}
}

// A link to a store has the labels of the store.
func TestLabels_throughALink(t *testing.T) {
	path, link := trips(t), filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	l, s := labels.New(""), open(t, link)
	if _, err := l.Set(t.Context(), s, model.Label{Session: sample.Trip, ID: storetest.Headers(t, s, sample.Trip)[0].ID, Name: "start"}); err != nil {
		t.Fatal(err)
	}
	if got := of(t, l, open(t, path), sample.Trip); len(got) != 1 {
		t.Errorf("the store has %q", got)
	}
}

func TestLabels_setMoveRemove(t *testing.T) {
	path := trips(t)
	l, s := labels.New(""), open(t, path)
	all := storetest.Headers(t, s, sample.Trip)
	set := func(name string, at int) {
		t.Helper()
		h := all[at]
		if _, err := l.Set(t.Context(), s, model.Label{Session: sample.Trip, ID: h.ID, Visit: h.Visit, Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	set("good", 3)
	set("bad", 7)
	set("good", 4)
	want := []string{fmt.Sprintf("bad=%.6s/%d ", all[7].ID, all[7].Visit), fmt.Sprintf("good=%.6s/%d ", all[4].ID, all[4].Visit)}
	if got := of(t, l, s, sample.Trip); !slices.Equal(got, want) {
		t.Errorf("%q, and not %q", got, want)
	}
	if err := l.Remove(t.Context(), s, sample.Trip, "bad"); err != nil {
		t.Fatal(err)
	}
	if err := l.Remove(t.Context(), s, sample.Trip, "bad"); !errors.Is(err, labels.ErrNoLabel) {
		t.Errorf("to remove it again: %v", err)
	}
	if got := of(t, l, s, sample.Trip); !slices.Equal(got, want[1:]) {
		t.Errorf("%q, and not %q", got, want[1:])
	}
	if got := of(t, l, s, "packing-list"); got != nil {
		t.Errorf("another session has %q", got)
	}
	if _, err := l.Set(t.Context(), s, model.Label{Session: sample.Trip, ID: all[0].ID, Name: "head"}); !errors.As(err, new(*model.LabelError)) {
		t.Errorf("a label head: %v", err)
	}
	// They stay through a restore and its undo.
	w := storetest.AsWriter(s)
	for _, change := range []model.Change{{Op: model.OpRestore, Ref: all[2].Ref()}, {Op: model.OpUndo}} {
		plan, err := w.Plan(t.Context(), change)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Apply(t.Context(), plan); err != nil {
			t.Fatal(err)
		}
		if got := of(t, l, s, sample.Trip); !slices.Equal(got, want[1:]) {
			t.Errorf("after %s: %q, and not %q", change.Op, got, want[1:])
		}
	}
}

func TestLabels_manyWritersAtOnce(t *testing.T) {
	path := trips(t)
	s := open(t, path)
	h := storetest.Headers(t, s, sample.Trip)[0]
	const writers, each = 8, 20
	var running sync.WaitGroup
	for w := range writers {
		running.Go(func() {
			for i := range each {
				if _, err := labels.New("").Set(context.Background(), s, model.Label{Session: sample.Trip, ID: h.ID, Name: fmt.Sprintf("w%d-%d", w, i)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
	if got := of(t, labels.New(""), s, sample.Trip); len(got) != writers*each {
		t.Errorf("%d labels of %d", len(got), writers*each)
	}
}

func TestLabels_trustNoFile(t *testing.T) {
	path := trips(t)
	l, s := labels.New(""), open(t, path)
	beside := path + "-labels"
	whole := `{"session":"trip-planner","id":"abc","name":"whole","at":"2026-01-01T00:00:00Z"}`
	junk := strings.Join([]string{
		"", "null", "[]", "7", "\x00\x01", `{"session":"trip-planner","id":"x","name":"a b"}`, `{"session":"trip-planner","id":"x","name":"\u001b[2J"}`,
		`{"session":"trip-planner","name":"no-id"}`, `{"session":"other","id":"x","name":"theirs"}`, `{"session":"trip-planner","id":"x","name":"../../x"}`, whole,
		`{"session":"trip-planner","id":"abc","na`,
	}, "\n")
	if err := os.WriteFile(beside, []byte(junk), 0o600); err != nil {
		t.Fatal(err)
	}
	want := []string{"whole=abc/0 "}
	if got := of(t, l, s, sample.Trip); !slices.Equal(got, want) {
		t.Errorf("%q, and not %q", got, want)
	}
	// What is set behind a part of a line stands in a line of its own, and the rest stays.
	if _, err := l.Set(t.Context(), s, model.Label{Session: sample.Trip, ID: "def", Name: "new"}); err != nil {
		t.Fatal(err)
	}
	if got := of(t, l, s, sample.Trip); !slices.Equal(got, []string{"new=def/0 ", "whole=abc/0 "}) {
		t.Errorf("%q", got)
	}
	if now, err := os.ReadFile(beside); err != nil || !strings.HasPrefix(string(now), junk+"\n{") {
		t.Errorf("what was there did not stay: %.300q, %v", now, err)
	}
	// Too large, and a link: nothing is read, nothing is written.
	if err := os.Truncate(beside, 5<<20); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Of(t.Context(), s, sample.Trip); !errors.Is(err, labels.ErrTooLarge) {
		t.Errorf("of a large file: %v", err)
	}
	if _, err := l.Set(t.Context(), s, model.Label{Session: sample.Trip, ID: "def", Name: "more"}); !errors.Is(err, labels.ErrTooLarge) {
		t.Errorf("into a large file: %v", err)
	}
	other := filepath.Join(t.TempDir(), "other")
	if err := errors.Join(os.Remove(beside), os.WriteFile(other, []byte(whole), 0o600), os.Symlink(other, beside)); err != nil {
		t.Fatal(err)
	}
	if got, err := l.Of(t.Context(), s, sample.Trip); err == nil {
		t.Errorf("through a link: %v", got)
	}
	if _, err := l.Set(t.Context(), s, model.Label{Session: sample.Trip, ID: "def", Name: "more"}); err == nil {
		t.Error("a label was written through a link")
	}
}

// Where a store cannot be written to, its labels are the user's.
func TestLabels_ofAStoreThatIsOnlyRead(t *testing.T) {
	if !storetest.Unprivileged(t) {
		return
	}
	path := trips(t)
	if err := os.Chmod(filepath.Dir(path), 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(filepath.Dir(path), 0o700) })
	s, data := open(t, path), t.TempDir()
	label := model.Label{Session: sample.Trip, ID: storetest.Headers(t, s, sample.Trip)[0].ID, Name: "start"}
	if _, err := labels.New("").Set(t.Context(), s, label); err == nil {
		t.Error("a label was kept nowhere, and no error")
	}
	if _, err := labels.New(data).Set(t.Context(), s, label); err != nil {
		t.Fatal(err)
	}
	if got := of(t, labels.New(data), s, sample.Trip); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

func TestLabels_aPipeHasNoPlace(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := jsonl.Write(f, sample.Rows()); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Seek(0, 0); err != nil {
		t.Fatal(err)
	}
	s, err := jsonl.From(t.Context(), "-", f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	_, err = labels.New(t.TempDir()).Set(t.Context(), s, model.Label{Session: sample.Trip, ID: "x", Name: "a"})
	if !errors.Is(err, labels.ErrNoPlace) {
		t.Errorf("%v", err)
	}
}

func TestLabels_watch(t *testing.T) {
	path := trips(t)
	l, s := labels.New(t.TempDir()), open(t, path)
	h := storetest.Headers(t, s, sample.Trip)[0]
	ctx, cancel := context.WithCancel(t.Context())
	changes := l.Watch(ctx, s, sample.Trip)
	for _, name := range []string{"one", "two"} { // the file is made, then grows
		if _, err := labels.New("").Set(t.Context(), s, model.Label{Session: sample.Trip, ID: h.ID, Name: name}); err != nil {
			t.Fatal(err)
		}
		storetest.Next(t, changes)
	}
	cancel()
	for range changes {
	}
}

// Labels go along with rows, to the visits that the rows become.
func TestLabels_areExportedAndImported(t *testing.T) {
	s := open(t, trips(t))
	var all []store.Row
	for row, err := range store.Rows(t.Context(), s) {
		if err != nil {
			t.Fatal(err)
		}
		if row.Record == nil && row.Header.SessionID == sample.Trip && row.Header.Index == 5 {
			row.Labels = []model.Label{{Name: "booked", Note: "all\u202e fine"}, {Name: "mine"}, {Name: "head"}}
		}
		all = append(all, row)
	}
	path := filepath.Join(t.TempDir(), "rows.jsonl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := jsonl.Write(f, func(yield func(store.Row, error) bool) {
		for _, row := range all {
			if !yield(row, nil) {
				return
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	// The file shows them, and what is set besides is the user's.
	l, file := labels.New(t.TempDir()), open(t, path)
	list, err := l.Of(t.Context(), file, sample.Trip)
	if err != nil || len(list) != 2 || list[0].Name != "booked" || list[0].Note != "all\u202e fine" || list[0].Visit == 0 {
		t.Errorf("the file has %+v, %v", list, err)
	}
	if err := l.Remove(t.Context(), file, sample.Trip, "mine"); err != nil {
		t.Fatal(err)
	}
	if list, err = l.Of(t.Context(), file, sample.Trip); err != nil || len(list) != 1 {
		t.Errorf("after one was removed the file has %+v, %v", list, err)
	}
	// Into a store whose session has a label of one of the names.
	to := open(t, trips(t))
	if _, err := l.Set(t.Context(), to, model.Label{Session: sample.Trip, ID: storetest.Headers(t, to, sample.Trip)[0].ID, Name: "mine"}); err != nil {
		t.Fatal(err)
	}
	var carried []store.Row
	for row, err := range func() func(func(store.Row, error) bool) {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return jsonl.Read(f)
	}() {
		if err != nil {
			t.Fatal(err)
		}
		if len(row.Labels) > 0 {
			row.Header.Visit += 100 // numbered anew
			carried = append(carried, row)
		}
	}
	n, err := l.ImportLabels(t.Context(), to, carried)
	if err != nil || n != 1 {
		t.Errorf("%d were set, %v", n, err)
	}
	booked := storetest.Headers(t, to, sample.Trip)[5]
	for _, label := range func() []model.Label { list, _ := l.Of(t.Context(), to, sample.Trip); return list }() {
		switch {
		case label.Name == "booked" && (label.ID != booked.ID || label.Visit != booked.Visit):
			t.Errorf("booked is at %+v, and not at %+v", label, booked)
		case label.Name == "mine" && label.Visit == booked.Visit:
			t.Error("a label that was there moved")
		}
	}
}
