package journal_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"hindcast/model"
	"hindcast/store/disk"
	"hindcast/store/journal"
)

func TestJournal_thereAndBack(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"s/a": "one", "s/m/1": "first", "s/m/2": "second"} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o640))
	}
	d, err := disk.Open(dir)
	must(t, err)
	defer d.Close()
	j := journal.New(d, journal.Options{})
	draft := j.Draft()
	draft.Put("s/a", []byte("two"))
	draft.SetAside("s/m/2")
	draft.Link("t/m/1", "s/m/1")
	plan, err := draft.Plan(model.Plan{Op: model.OpRestore, Session: "s"})
	must(t, err)
	_, err = j.Apply(t.Context(), plan, nil)
	must(t, err)
	look(t, dir, map[string]string{"s/a": "two", "s/m/1": "first", "s/m/2": "", "t/m/1": "first"})
	if _, err = j.Apply(t.Context(), plan, nil); !errors.Is(err, model.ErrHeadMoved) {
		t.Error(err)
	}
	undo, err := j.PlanUndo(t.Context())
	must(t, err)
	_, err = j.Apply(t.Context(), undo, nil)
	must(t, err)
	look(t, dir, map[string]string{"s/a": "one", "s/m/1": "first", "s/m/2": "second", "t/m/1": "", "t": ""})
	redo, err := j.PlanRedo(t.Context())
	must(t, err)
	_, err = j.Apply(t.Context(), redo, nil)
	must(t, err)
	look(t, dir, map[string]string{"s/a": "two", "s/m/1": "first", "s/m/2": "", "t/m/1": "first"})
}

func look(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	for name, text := range want {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if text == "" && !errors.Is(err, os.ErrNotExist) || text != "" && string(got) != text {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
