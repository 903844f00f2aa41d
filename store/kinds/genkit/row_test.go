package genkit

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"hindcast/model"
)

func TestDecodeRow_readsTimesOfAnyKind(t *testing.T) {
	want := time.Date(2026, 11, 21, 1, 15, 22, 0, time.UTC)
	for text, nanos := range map[string]int{
		"2026-11-21T01:15:22Z":                        0,
		"2026-11-21T01:15:22.2Z":                      200_000_000,
		"2026-11-21T01:15:22.230885006Z":              230_885_006,
		"2026-11-21T06:45:22.230885006+05:30":         230_885_006,
		"2026-11-20T17:15:22.182-08:00":               182_000_000,
		"2026-11-21T01:15:22.182345+00:00":            182_345_000,
		"2026-11-21T01:15:22.1234567890123-00:00":     123_456_789,
		"2026-11-21T01:15:22.000000000+00:00":         0,
		"2026-11-21T13:15:22+12:00":                   0,
		"2026-11-21T01:15:22.00000000000000000+00:00": 0,
	} {
		r, ok := decodeRow("a", []byte(goRow("a", "", "s", text, "")))
		if !ok || len(r.flaws) != 0 || !r.created.at.Equal(want.Add(time.Duration(nanos))) {
			t.Errorf("%s is %v, %v", text, r.created.at, r.flaws)
		}
	}
	for _, text := range []string{"", "yesterday", "2026-11-21", "2026-11-21T01:15:22", "2026-11-21 01:15:22Z", "1795223757651", "2026-13-41T00:00:00Z"} {
		r, ok := decodeRow("a", []byte(goRow("a", "", "s", text, "")))
		if !ok || !r.badTime || !r.created.at.IsZero() || len(r.flaws) != 1 || r.flaws[0].code != FaultTime {
			t.Errorf("%q is %v, %+v", text, r.created.at, r.flaws)
		}
	}
}

// Whatever is read of a row is read whichever order its keys have.
func TestDecodeRow_takesKeysInAnyOrder(t *testing.T) {
	members := []string{`"snapshotId":"a"`, `"sessionId":"s"`, `"parentId":"p"`, `"createdAt":"2026-11-20T10:00:00Z"`, `"status":"failed"`,
		`"error":{"message":"no","status":"INTERNAL"}`, `"state":{"sessionId":"s","messages":[{"role":"user","content":[{"text":"hi"}]}]}`}
	var first row
	for i := range members {
		turned := append(append([]string{}, members[i:]...), members[:i]...)
		r, ok := decodeRow("a", []byte("{"+strings.Join(turned, " ,\n")+"}"))
		r.style = styleOther
		if i == 0 {
			first = r
		}
		if !ok || !reflect.DeepEqual(r, first) || r.title != "hi" || r.errMessage != "no" || r.messages != 1 || len(r.flaws) != 0 {
			t.Errorf("%v gives %+v", turned, r)
		}
	}
}

func TestDecodeRow_titles(t *testing.T) {
	long := strings.Repeat(`{"role":"user","content":[{"text":"`+strings.Repeat("x", 2000)+`"}]},`, 100)
	for _, c := range []struct {
		messages, title string
		marks           model.Marks
	}{
		{`[]`, "", 0},
		{`[{"role":"model","content":[{"text":"a\nb"}]}]`, "a b", 0},
		{`[{"role":"model","content":[{"toolRequest":{"name":"pay","ref":"1"},"metadata":{"interrupt":true}}]}]`, "pay", model.MarkInterrupted},
		{`[{"role":"model","content":[{"toolRequest":{"name":"pay","ref":"1"}}]},{"role":"tool","content":[{"toolResponse":{"name":"pay","ref":"1","output":1}}]}]`, "pay  1", 0},
		{`[` + long + `{"role":"user","content":[{"text":"last"}]}]`, "last", 0},
		{`[{"role":"user","content":[{"text":"` + strings.Repeat("y", 2<<20) + `"}]}]`, "", 0},
		{`"none"`, "", 0},
		{`[7]`, "", 0},
	} {
		r, ok := decodeRow("a", []byte(goRow("a", "", "s", at(0), `"state":{"messages":`+c.messages+`},"status":"completed"`)))
		if !ok || r.title != c.title || r.rowMarks() != c.marks {
			t.Errorf("%.80s gives %q, %v", c.messages, r.title, r.rowMarks().Words())
		}
	}
}

// The error of a row is behind what the user asked, cut in no character.
func TestHeadline_ofAnError(t *testing.T) {
	r := row{errored: true, errMessage: "no\n" + strings.Repeat("é", 200), title: "hi"}
	got := r.headline()
	if !strings.HasPrefix(got, "hi: no é") || !strings.HasSuffix(got, "é…") || len(got) > 130 {
		t.Errorf("the title is %q", got)
	}
}

// Texts that are kept are bounded, however long they are.
func TestDecodeRow_boundsWhatItKeeps(t *testing.T) {
	huge := strings.Repeat("x", 1<<20)
	text := `{"snapshotId":"a","sessionId":"` + huge + `","parentId":"` + huge + `","status":"` + huge + `","createdAt":"` + huge +
		`","error":{"message":"` + huge + `"},"` + huge + `":1,"state":{"sessionId":"` + huge + `"}}`
	r, ok := decodeRow("a", []byte(text))
	if note := r.appendNote(nil); !ok || len(note) > 64<<10 {
		t.Errorf("kept are %d bytes", len(note))
	}
}

// The outline of every real row is what encoding/json sees.
func TestDecodeRow_agreesWithEncodingJSON(t *testing.T) {
	n := 0
	eachRow(t, func(id string, data []byte) {
		var want struct {
			SnapshotID, ParentID, SessionID, Status, FinishReason string
			CreatedAt                                             time.Time
			Error                                                 *struct{ Status, Message string }
			State                                                 *json.RawMessage
		}
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatal(err)
		}
		r, ok := decodeRow(id, data)
		if !ok || r.snapshotID != want.SnapshotID || r.parentID != want.ParentID || r.sessionID != want.SessionID || r.status != want.Status ||
			r.finishReason != want.FinishReason || !r.created.at.Equal(want.CreatedAt) || r.hasState != (want.State != nil) || r.errored != (want.Error != nil) {
			t.Errorf("%s is %+v, want %+v", id, r, want)
		}
		if want.Error != nil && (r.errMessage != want.Error.Message || r.errStatus != want.Error.Status) {
			t.Errorf("%s failed with %q %q", id, r.errStatus, r.errMessage)
		}
		if want.State != nil && r.size != int64(len(*want.State)) {
			t.Errorf("%s has a state of %d bytes, want %d", id, r.size, len(*want.State))
		}
		n++
	})
	if n < 40 {
		t.Errorf("only %d rows were read", n)
	}
}

// A note gives the row back.
func TestNote_givesTheRowBack(t *testing.T) {
	check := func(id string, data []byte) {
		r, ok := decodeRow(id, data)
		if !ok {
			return
		}
		back, err := parseNote(id, r.appendNote(nil))
		if err != nil || !reflect.DeepEqual(back, r) {
			t.Errorf("%+v became %+v, %v", r, back, err)
		}
	}
	eachRow(t, check)
	for _, h := range hazards(t) {
		for _, f := range h.files {
			check("a", f.Data)
		}
	}
}

// eachRow visits all real rows.
func eachRow(t testing.TB, visit func(id string, data []byte)) {
	t.Helper()
	for _, name := range fixtures {
		err := filepath.WalkDir(filepath.Join(testdata, name), func(file string, e fs.DirEntry, err error) error {
			id, isRow := strings.CutSuffix(filepath.Base(file), rowSuffix)
			if err != nil || e.IsDir() || !isRow || len(id) != 36 || filepath.Base(filepath.Dir(file)) == pointersFolder {
				return err
			}
			data, err := os.ReadFile(file)
			visit(id, data)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestDecodePointer(t *testing.T) {
	for text, want := range map[string]struct {
		current string
		isGo    bool
		err     bool
	}{
		`{"currentSnapshotId":"a","currentCreatedAt":"2026-11-20T10:00:00Z","updatedAt":"2026-11-20T10:00:00Z"}`: {"a", true, false},
		`{"currentSnapshotId":"a","updatedAt":"2026-11-20T10:00:00.000Z"}`:                                       {"a", false, false},
		`{"currentSnapshotId":"a","currentCreatedAt":"x"}`:                                                       {"a", true, true},
		`{"currentSnapshotId":7}`:  {"", false, true},
		`{"currentSnapshotId":""}`: {"", false, true},
		`[]`:                       {"", false, true},
		`{`:                        {"", false, true},
		``:                         {"", false, true},
		`null`:                     {"", false, true},
	} {
		p := decodePointer([]byte(text))
		if p.current != want.current || p.isGo() != want.isGo || (p.err != nil) != want.err {
			t.Errorf("%s is %+v", text, p)
		}
	}
}

// A state whose size the row knows is not looked at again: what is in it makes no difference.
func TestRow_statesAreFoundBySize(t *testing.T) {
	data := []byte(`{"createdAt":"2026-01-01T00:00:00Z","snapshotId":"a","sessionId":"s","state":{"messages":[{"role":"user"}]},"status":"completed"}`)
	r, ok := decodeRow("a", data)
	if !ok || len(r.flaws) > 0 {
		t.Fatalf("%+v", r)
	}
	other := []byte(strings.Replace(string(data), `[{"role":`, `]]]]]]]]"`, 1))
	if got, err := r.stateIn(other); err != nil || string(got) != `{"messages":]]]]]]]]""user"}]}` {
		t.Errorf("%s, %v", got, err)
	}
}

func FuzzDecodeRow(f *testing.F) {
	eachRow(f, func(_ string, data []byte) { f.Add(data) })
	for _, h := range hazards(f) {
		for _, file := range h.files {
			f.Add(file.Data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		before := bytes.Clone(data)
		r, ok := decodeRow("a", data)
		if !bytes.Equal(before, data) {
			t.Fatal("the data was written to")
		}
		state, err := stateOf(data)
		if err == nil && r.hasState && !r.broken && r.size != int64(len(state)) && !bytes.Contains(data, []byte(`"state`)) {
			t.Fatalf("the state has %d bytes, the row says %d", len(state), r.size)
		}
		if found, failed := r.stateIn(data); !bytes.Equal(found, state) || (failed == nil) != (err == nil) {
			t.Fatalf("the state is %q, %v; with the row known %q, %v", state, err, found, failed)
		}
		if ok {
			back, err := parseNote("a", r.appendNote(nil))
			if err != nil || !reflect.DeepEqual(back, r) {
				t.Fatalf("%+v became %+v, %v", r, back, err)
			}
		}
		var whole struct {
			SnapshotID string `json:"snapshotId"`
		}
		if json.Unmarshal(data, &whole) == nil && r.broken && len(data) > 0 && data[0] == '{' {
			t.Fatalf("encoding/json reads what is damaged: %+v", r.flaws)
		}
		documentFlaws(data)
		artifactNames(data)
		r.newHeader(evening)
		s := made(layoutGo, nil, &r)
		headersOf(t, s)
		s.sessionFaults()
	})
}

func FuzzDecodePointer(f *testing.F) {
	for _, name := range []string{"go-1.13.1/barista/global/.pointers/sess-main.json", "js-1.42.0-detachbug/global/.pointers/s.json"} {
		data, err := os.ReadFile(filepath.Join(testdata, name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p := decodePointer(data)
		_, err := time.Parse(time.RFC3339, p.createdAt.text)
		if p.err == nil && (p.current == "" || p.isGo() && err != nil) {
			t.Fatalf("%q is %+v", data, p)
		}
	})
}

func FuzzParseNote(f *testing.F) {
	eachRow(f, func(id string, data []byte) {
		r, _ := decodeRow(id, data)
		f.Add(r.appendNote(nil))
	})
	f.Fuzz(func(t *testing.T, note []byte) {
		r, err := parseNote("a", note)
		if err != nil && !errors.Is(err, errNote) {
			t.Fatal(err)
		}
		if err == nil {
			if back, err := parseNote("a", r.appendNote(nil)); err != nil || !reflect.DeepEqual(back, r) {
				t.Fatalf("%+v became %+v, %v", r, back, err)
			}
		}
	})
}
