package genkit

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// notLookedAt are the rows that the SDK refuses or takes for what Hindcast does not look
// at: no SDK writes such a row, and an edit that makes one is refused.
var notLookedAt = map[string]string{
	"keystate": "a key inside of the state", "keymessage": "a key inside of a message", "keypart": "a key inside of a part", "errorkey": "a key inside of an error",
	"contenttext": "a content that is a text", "statusempty": "a status that is there and empty", "statusexpired": "a status that no SDK writes",
	"snake": "a key in the spelling of Python", "othername": "a row that is named otherwise than its file",
}

// What the SDK for Python takes, and from where it goes on, is what it did when it was
// asked, see testdata/interop/genkit_rows.py.
func TestResume_agreesWithThePythonSDK(t *testing.T) {
	archive, err := os.ReadFile(filepath.Join(testdata, "python-rows.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	dir, name := t.TempDir(), ""
	rows := make(map[string][]byte)
	for line := range bytes.Lines(archive) {
		if header, ok := bytes.CutPrefix(line, []byte("-- ")); ok && bytes.HasSuffix(header, []byte(" --\n")) {
			name = strings.TrimSuffix(string(header), " --\n")
			rows[name] = []byte{}
		} else if name != "" {
			rows[name] = append(rows[name], line...)
		}
	}
	for name, data := range rows {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(filepath.Join(testdata, "python-rows-0.12.0.json"))
	if err != nil {
		t.Fatal(err)
	}
	var answers map[string]struct{ ID, Session string }
	if err := json.Unmarshal(data, &answers); err != nil {
		t.Fatal(err)
	}
	if len(answers) != len(rows) {
		t.Fatalf("%d rows, and the SDK was asked about %d", len(rows), len(answers))
	}
	s := open(t, dir)
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		id, want := strings.TrimSuffix(name, ".json"), answers[name]
		if notLookedAt[id] != "" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			sid, _, _ := strings.Cut(id, "-")
			log, err := s.partOf(sid).Log(t.Context(), sid)
			if err != nil {
				if refused := strings.Contains(want.ID, "Error: "); !refused {
					t.Fatalf("the SDK reads it (%+v): %v", want, err)
				}
				return
			}
			one := sessionOf(log)
			if one.layout != layoutPython {
				t.Fatalf("it is taken for one of %s", one.layout)
			}
			r := one.byID[id]
			if r == nil {
				t.Fatalf("the session has no such row: %v", one.byID)
			}
			if refused := strings.Contains(want.ID, "Error: "); refused != one.pythonRefuses(r) {
				t.Errorf("read by its id the SDK says %q; it is refused here: %t", want.ID, one.pythonRefuses(r))
			}
			if goesOn := want.ID == statusCompleted; goesOn != one.resumeByID(r, evening).isWhole() {
				t.Errorf("the SDK says %q, and here it is %q", want.ID, one.resumeByID(r, evening))
			}
			now, _ := one.resumedRow()
			switch _, fails, failed := strings.Cut(want.Session, "FAILED_PRECONDITION: "); {
			case failed:
				if now.err == "" || !strings.Contains(fails, "leaf") && !strings.Contains(now.err, "cyclic") {
					t.Errorf("the session fails (%s), and here it is %+v", fails, now)
				}
			case want.Session == "" && now.row != nil || want.Session != "" && (now.row == nil || now.row.snapshotID != want.Session):
				t.Errorf("the session goes on from %q, and here from %+v", want.Session, now.row)
			}
		})
	}
}
