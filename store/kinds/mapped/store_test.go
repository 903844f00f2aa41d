package mapped_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/kinds/jsonl"
	"hindcast/store/kinds/mapped"
	"hindcast/store/storetest"
	"hindcast/store/storetest/fake"
)

// What a map opens is what it imports: the same rows, and sessions that say the same.
func TestOpen_isAnImportThatIsNotMade(t *testing.T) {
	m := parse(t, seed)
	path := filepath.Join(t.TempDir(), "x.jsonl")
	rapid.Check(t, func(r *rapid.T) {
		var export bytes.Buffer
		if _, err := jsonl.WriteWhole(&export, store.Rows(t.Context(), lived(t, r))); err != nil {
			r.Fatal(err)
		}
		if err := os.WriteFile(path, export.Bytes(), 0o600); err != nil {
			r.Fatal(err)
		}
		imported := fake.New()
		_, err := imported.Import(t.Context(), mapped.Read(t.Context(), []mapped.Source{{Path: path}}, m, nil))
		if err != nil {
			return // there is nothing to open either
		}
		opened, err := mapped.Open(t.Context(), path, m)
		if err != nil {
			r.Fatal(err)
		}
		defer opened.Close()
		want, have := all(t, imported), all(t, opened)
		for i := range want {
			if want[i].Record != nil {
				t.Fatal("a map reads no records")
			}
		}
		if !reflect.DeepEqual(want, have) {
			r.Fatalf("%+v, want\n%+v", have, want)
		}
		for info, err := range opened.Sessions(t.Context()) {
			if err != nil {
				r.Fatal(err)
			}
			for other := range imported.Sessions(t.Context()) {
				if other.ID == info.ID && (other.Snapshots != info.Snapshots || info.Orphaned != model.NewTimeline(storetest.Headers(t, opened, info.ID)).Orphans() || other.Head != info.Head || other.Title != info.Title || !other.UpdatedAt.Equal(info.UpdatedAt)) {
					r.Fatalf("%+v, want\n%+v", info, other)
				}
			}
		}
	})
}

// A file that grows is read anew with the next list; a state whose file became another
// is not given for what it was.
func TestOpen_filesThatChange(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s.jsonl")
	write := func(lines ...string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ids := func(s store.Store) (ids []string) {
		t.Helper()
		for h, err := range s.Headers(t.Context(), "s") {
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, h.ID)
		}
		return ids
	}
	write(`{"id":"a","v":1}`)
	s, err := mapped.Open(t.Context(), path, parse(t, "id=id,state=v"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := ids(s); !slices.Equal(got, []string{"a"}) {
		t.Errorf("%q", got)
	}
	write(`{"id":"a","v":1}`, `{"id":"b","v":[2]}`)
	if got := ids(s); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("%q", got)
	}
	write(`{"id":"a","v":1}`, `{"id":"c","v":333}`)
	if state, err := s.State(t.Context(), model.Ref{Session: "s", ID: "b"}); err == nil || !strings.Contains(err.Error(), "it changed while it was read") {
		t.Errorf("%s, %v", state, err)
	}
	for _, ref := range []model.Ref{{Session: "s", ID: "none"}, {Session: "none", ID: "a"}, {Session: "s", ID: "a", Visit: 7}} {
		if _, err := s.State(t.Context(), ref); !errors.Is(err, model.ErrNoSnapshot) && !errors.Is(err, model.ErrNoSession) {
			t.Errorf("%+v: %v", ref, err)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	for _, err := range s.Headers(t.Context(), "s") {
		if !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the file is gone: %v", err)
		}
	}
}

// A folder of states, one a file, is a session; nothing in it is written.
func TestOpen_folder(t *testing.T) {
	s, err := mapped.Open(t.Context(), fixtures+"states", parse(t, "state=$"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	n := 0
	for info, err := range s.Sessions(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		for h, err := range s.Headers(t.Context(), info.ID) {
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.State(t.Context(), h.Ref()); err != nil {
				t.Error(err)
			}
			n++
		}
		if faults, err := s.Faults(t.Context(), info.ID); err != nil || len(faults) > 0 {
			t.Errorf("%+v, %v", faults, err)
		}
	}
	if n == 0 {
		t.Error("there is no snapshot")
	}
	if s.Features().Plan != nil || store.Reason(s, model.OpRestore) == "" {
		t.Error("it can be written to")
	}
}
