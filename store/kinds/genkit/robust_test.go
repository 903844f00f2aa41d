package genkit

import (
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store/media/journal"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// with returns the first fault of a code.
func with(list []model.Fault, code string) (found model.Fault) {
	if i := slices.IndexFunc(list, func(f model.Fault) bool { return f.Code == code }); i >= 0 {
		found = list[i]
	}
	return found
}

// A way back that runs in a circle is told as that: there is a leaf.
func TestFaults_ofACircleBehindALeaf(t *testing.T) {
	skip.Sequential(t)
	dir := t.TempDir()
	for i, names := range []string{"a b", "b a", "c b"} {
		id, parent, _ := strings.Cut(names, " ")
		write(t, filepath.Join(dir, "global", id+".json"), jsRow(id, parent, "s", fmt.Sprintf("2026-11-20T10:00:0%d.000Z", i), "failed"))
	}
	list := storetest.Faults(t, open(t, dir), "s")
	if f := with(list, FaultNoLeaf); f.Code != "" {
		t.Errorf("told is %+v", f)
	}
	if with(list, model.FaultParentCycle).Code == "" {
		t.Errorf("no circle is told of in %+v", list)
	}
}

// A pointer to a row of its own session that cannot be read says so.
func TestFaults_ofAPointerToADamagedRow(t *testing.T) {
	skip.Sequential(t)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "global", "a.json"), goRow("a", "", "s", "2026-11-20T10:00:00Z", ""))
	write(t, filepath.Join(dir, "global", "b.json"), goRow("b", "a", "s", "2026-11-20T10:00:01Z", `"state": 5, "status": "completed"`))
	write(t, filepath.Join(dir, "global", "c.json"), `{"snapshotId": "c", "sess`)
	write(t, filepath.Join(dir, "global", "d.json"), "")
	write(t, filepath.Join(dir, "global", "f..f.json"), goRow("f..f", "", "s", "2026-11-20T09:00:00Z", ""))
	pointer := filepath.Join(dir, "global", pointersFolder, "s.json")
	for _, c := range []struct{ id, meaning string }{
		{"b", `it names "b", which cannot be read whole`},
		{"d", `it names "d", which cannot be read`},
		{"e", `it names "e", which is not there`},
		{"f..f", `it names "f..f", which cannot be the id of a snapshot`},
	} {
		write(t, pointer, `{"currentSnapshotId": "`+c.id+`", "currentCreatedAt": "2026-11-20T10:00:00Z", "updatedAt": "2026-11-20T10:00:00Z"}`)
		if f := with(storetest.Faults(t, open(t, dir), "s"), FaultPointerDangling); f.Meaning != c.meaning {
			t.Errorf("told is %q, not %q", f.Meaning, c.meaning)
		}
	}
}

// Go takes none of a pointer that it cannot read whole.
func TestDecodePointer_ofGoWithATimeThatIsNone(t *testing.T) {
	const both = `{"currentSnapshotId": "a", "currentCreatedAt": "2026-11-20T10:00:00Z", "updatedAt": "yesterday"}`
	if p := decodePointer([]byte(both)); p.err == nil {
		t.Errorf("of Go: %+v", p)
	}
	// JavaScript looks at the id alone.
	if p := decodePointer([]byte(`{"currentSnapshotId": "a", "updatedAt": "yesterday"}`)); p.err != nil || p.current != "a" {
		t.Errorf("of JavaScript: %+v", p)
	}
}

// Of a member that is there twice, only the last is told.
func TestDecodeRow_membersThatAreThereTwice(t *testing.T) {
	said := `"messages": [{"role": "user", "content": [{"text": "the first"}]}], "sessionId": "other"`
	for _, c := range []struct{ more, title, session string }{
		{`"state": {` + said + `}, "state": {}, "status": "completed"`, "", ""},
		{`"state": {` + said + `}, "state": null, "status": "completed"`, "", ""},
		{`"state": {` + said + `, "messages": null}, "status": "completed"`, "", "other"},
		{`"error": {"message": "no"}, "error": null, "state": {` + said + `}`, "the first", "other"},
	} {
		r, ok := decodeRow("a", []byte(goRow("a", "", "s", "2026-11-20T10:00:00Z", c.more)))
		if !ok || r.headline() != c.title || r.stateSession != c.session || r.errored || c.title == "" && r.messages != 0 || !r.hasState && r.size != 0 {
			t.Errorf("%s: %+v", c.more, r)
		}
	}
}

// A check that was given up says nothing of folders.
func TestFaults_givenUp(t *testing.T) {
	skip.Sequential(t)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "global", "a.json"), goRow("a", "", "s", "2026-11-20T10:00:00Z", ""))
	s := open(t, dir)
	if found, err := s.Faults(cancelled(t), ""); err == nil || len(found) > 0 {
		t.Errorf("told is %+v, %v", found, err)
	}
}

// Where the search for rows ends, that is told.
func TestFaults_ofMoreFoldersThanAreSearched(t *testing.T) {
	skip.Sequential(t)
	if testing.Short() {
		t.Skip("it makes many folders")
	}
	dir := t.TempDir()
	for i := range mostFolders + 1 {
		if err := os.Mkdir(filepath.Join(dir, fmt.Sprintf("user-%05d", i)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if f := with(storetest.Faults(t, open(t, dir), ""), FaultUnreadable); !strings.Contains(f.Meaning, "more than 20000 folders") || f.Verdict == "" {
		t.Errorf("told is %+v", f)
	}
}

// A journal of an earlier version is named and left as it is: the store is read, and not
// written to.
func TestFaults_ofAJournalOfAnEarlierVersion(t *testing.T) {
	skip.Sequential(t)
	dir := copyOfStore(t, "go-1.13.1")
	text := `{"id":1,"at":"2026-11-20T10:00:00Z","op":"restore","session":"barista/sess-main","from":"a","fromIndex":1,"to":"b","toIndex":0,"undone":false}`
	line := fmt.Sprintf("\n%08x %s\n", crc32.Checksum([]byte(text), crc32.MakeTable(crc32.Castagnoli)), text)
	file := filepath.Join(dir, journal.Folder, "journal")
	write(t, file, line)
	s := open(t, dir)
	list := storetest.Headers(t, s, sessMain)
	if f := with(storetest.Faults(t, s, sessMain), FaultJournal); !strings.Contains(f.Meaning, "earlier version") || strings.Contains(f.Meaning, "broken off") {
		t.Errorf("told is %+v", f)
	}
	for _, op := range []model.Op{model.OpRestore, model.OpFork, model.OpUndo} {
		if _, err := s.Plan(t.Context(), model.Change{Op: op, Ref: list[0].Ref(), As: "new"}); !errors.As(err, new(*journal.FormatError)) {
			t.Errorf("a %s: %v", op, err)
		}
	}
	if _, err := s.Journal(t.Context()); !errors.As(err, new(*journal.FormatError)) {
		t.Errorf("the journal: %v", err)
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != line {
		t.Errorf("the journal is %q, %v", data, err)
	}
}

// What macOS leaves beside each row on a disk of another system is a note, and does not
// hide the rows. JavaScript reads it in a search, which then fails; so that is told of
// each session that has no pointer.
func TestFaults_ofWhatOtherProgramsLeave(t *testing.T) {
	skip.Sequential(t)
	dir := t.TempDir()
	for i, sid := range []string{"pointed", "searched"} {
		for j := range 3 {
			id := fmt.Sprintf("%c%d", 'a'+i, j)
			write(t, filepath.Join(dir, "global", id+rowSuffix), jsRow(id, "", sid, fmt.Sprintf("2026-11-20T10:00:0%d.000Z", j), "completed"))
			write(t, filepath.Join(dir, "global", "._"+id+rowSuffix), "\x00\x05\x16\x07")
		}
	}
	write(t, filepath.Join(dir, "global", pointersFolder, "pointed.json"), `{"currentSnapshotId":"a2","currentCreatedAt":"2026-11-20T10:00:02.000Z"}`)
	write(t, filepath.Join(dir, "global", pointersFolder, "._pointed.json"), "\x00\x05\x16\x07")
	if why, ok, err := Kind(nil).Recognise(t.Context(), dir); !ok {
		t.Fatalf("it is no store: %s, %v", why, err)
	}
	s := open(t, dir)
	list := storetest.Faults(t, s, "")
	if len(list) != 7 || len(model.Harmful(list)) != 0 {
		t.Errorf("of the store is told %+v", list)
	}
	for sid, want := range map[string]int{"pointed": 0, "searched": 1} {
		stops := 0
		for _, f := range storetest.Faults(t, s, sid) {
			if f.Severity == model.Stops && f.Code == FaultPointerMissing && strings.Contains(f.Verdict, `fails at "._a0.json"`) {
				stops++
			}
		}
		if stops != want {
			t.Errorf("%s: told is %+v", sid, storetest.Faults(t, s, sid))
		}
	}
}
