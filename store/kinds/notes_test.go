package kinds_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store/storetest/skip"
)

// What other programs leave in a store is noted, and is no fault: the same faults are
// found, and the same exit code comes of them.
func TestDoctor_notesWhatOtherProgramsLeave(t *testing.T) {
	skip.Sequential(t)
	litter := []string{".DS_Store", "Thumbs.db", "desktop.ini", "._x", ".x.swp", "#x#", "x~", "x.bak", "x.orig"}
	doctor := func(dir string) (code int, harmful, notes []model.Fault) {
		code, out, err := inProcess(t, "doctor", dir, "--json")
		var faults []model.Fault
		if wrong := json.Unmarshal([]byte(out), &faults); wrong != nil {
			t.Fatalf("%v: %.300s%s", wrong, out, err)
		}
		for _, f := range faults {
			if f.Severity == model.Note {
				notes = append(notes, f)
			}
		}
		return code, model.Harmful(faults), notes
	}
	for name, of := range map[string]string{"strands": "strands/python-file", "strands-snapshots": "strands/python-snapshot", "genkit": "genkit/go-1.13.1"} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(filepath.Join(testdata, of))); err != nil {
			t.Fatal(err)
		}
		wantCode, want, none := doctor(dir)
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || slices.Contains(litter, d.Name()) || strings.HasPrefix(d.Name(), "._") {
				return err
			}
			if !d.IsDir() { // as macOS does on the disks of others
				return os.WriteFile(filepath.Join(filepath.Dir(path), "._"+d.Name()), []byte("\x00\x05\x16\x07"), 0o600)
			}
			for _, name := range litter {
				if err := os.WriteFile(filepath.Join(path, name), []byte("litter"), 0o600); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		code, harmful, notes := doctor(dir)
		if code != wantCode || len(harmful) != len(want) || len(none) > 0 {
			t.Errorf("%s: exit %d and %d faults, before the litter %d and %d: %v", name, code, len(harmful), wantCode, len(want), harmful)
		}
		if len(notes) < len(litter) {
			t.Errorf("%s: noted are %v", name, notes)
		}
		for _, f := range harmful {
			if strings.Contains(f.Meaning, "backup") {
				t.Errorf("%s: %v", name, f)
			}
		}
	}
}
