package strandssnapshots

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"hindcast/store/lineage"
	"hindcast/store/storetest"
)

// seeds gives all files of the fixtures and the hazards.
func seeds(f *testing.F) {
	f.Helper()
	for _, name := range written {
		err := filepath.WalkDir(fixture(name), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			f.Add(data)
			return err
		})
		if err != nil {
			f.Fatal(err)
		}
	}
	for _, h := range hazards(f) {
		for _, content := range h {
			f.Add(content)
		}
	}
}

// FuzzFile puts any bytes into the place of a snapshot: all there is to it is
// asked, and holds together.
func FuzzFile(f *testing.F) {
	seeds(f)
	dir := f.TempDir()
	files := map[string]string{
		"a": filepath.Join(snapshotsOf(dir, "a"), latestFile),
		"g": filepath.Join(dir, "session", "g", "scopes", "multiAgent", "g1", "snapshots", latestFile),
	}
	for _, file := range files {
		mustWrite(f, file, "{}")
	}
	mustWrite(f, filepath.Join(snapshotsOf(dir, "a"), historyDir, "snapshot_01950000-0000-7000-8000-000000000001.json"),
		string(hazards(f)["py-healthy"]["latest"]))
	s := open(f, dir)
	f.Fuzz(func(t *testing.T, data []byte) {
		for session, file := range files {
			if err := os.WriteFile(file, data, 0o644); err != nil {
				t.Fatal(err)
			}
			storetest.Faults(t, s, session)
			for _, h := range storetest.Headers(t, s, session) {
				state, err := s.State(t.Context(), h.Ref())
				if err == nil && session == "a" && h.Size != int64(len(state)) {
					t.Errorf("%+v has a state of %d bytes", h, len(state))
				}
				if err == nil && !bytes.Contains(data, state) && session == "a" && h.ID == latestID {
					t.Errorf("the state is not in the file: %s", state)
				}
				if _, err := s.Facts(t.Context(), h.Ref()); err != nil && session == "a" {
					t.Error(err)
				}
			}
		}
	})
}

// FuzzCapture reads any bytes, and the note of what was read gives the same.
func FuzzCapture(f *testing.F) {
	seeds(f)
	before := &messages{[]lineage.Print{lineage.OfID("00000000-0000-4000-8000-000000000000")}, []shape{fromUser}}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, m := readCapture(data)
		if len(m.prints) != len(m.shapes) {
			t.Fatalf("%d messages and %d shapes", len(m.prints), len(m.shapes))
		}
		note := appendNote(&c, before, &m)
		if note == nil {
			return
		}
		var again messages
		kept, ok := parseNote(note, before, &again)
		if !ok || len(again.prints) != len(m.prints) || len(m.prints) > 0 && !reflect.DeepEqual(again, m) {
			t.Fatalf("%t: %+v, not %+v", ok, again, m)
		}
		if other := appendNote(&kept, before, &again); !bytes.Equal(other, note) {
			t.Fatalf("%s\nnot\n%s", other, note)
		}
	})
}

// FuzzParseNote reads any bytes as a note.
func FuzzParseNote(f *testing.F) {
	before := &messages{[]lineage.Print{2, 4, 6}, []shape{1, 2, 3}}
	c := capture{Dialect: python, Title: "t"}
	f.Add(appendNote(&c, before, &messages{[]lineage.Print{4, 6, 8}, []shape{2, 3, 4}}))
	f.Add(appendNote(&c, before, &messages{}))
	f.Fuzz(func(t *testing.T, note []byte) {
		var m messages
		if _, ok := parseNote(note, before, &m); ok && len(m.prints) != len(m.shapes) {
			t.Fatalf("%d messages and %d shapes", len(m.prints), len(m.shapes))
		}
	})
}
