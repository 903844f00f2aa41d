package jsonl_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/kinds/jsonl"
	"hindcast/store/native/sqlite"
	"hindcast/store/storetest"
	"hindcast/store/storetest/fake"
	"hindcast/store/storetest/skip"
)

// write puts a file of that content into a directory of its own.
func write(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rows.jsonl")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t *testing.T, content string) *jsonl.Store {
	t.Helper()
	s, err := jsonl.Open(t.Context(), write(t, content))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// seed is a file as a program of the seed would write it, one json.Marshal of
// a Snapshot a line.
func seed(t *testing.T, states ...string) string {
	t.Helper()
	var out strings.Builder
	parent := ""
	for i, state := range states {
		s := model.Snapshot[json.RawMessage]{
			ID: model.SnapshotID([]byte(state)), ParentID: parent, SessionID: "s", CreatedAt: time.Date(2026, 1, 2, 3, 4, i, 0, time.UTC),
			State: json.RawMessage(state), Index: i, TurnIndex: i, Event: 1,
		}
		parent = s.ID
		line, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "%s\n", line)
	}
	return out.String()
}

func headers(t *testing.T, s store.Store, session string) (all []model.Header) {
	t.Helper()
	for h, err := range s.Headers(t.Context(), session) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, h)
	}
	return all
}

func TestStore_readsTheSeedsSnapshots(t *testing.T) {
	states := []string{`{"messages":[]}`, `{"messages":["}\"{"]}`, `[1,2,{"a":null}]`}
	s := open(t, seed(t, states...))
	all := headers(t, s, "s")
	if len(all) != 3 {
		t.Fatalf("%d headers", len(all))
	}
	for i, h := range all {
		state, err := s.State(t.Context(), h.Ref())
		if err != nil || string(state) != states[i] {
			t.Errorf("state %d is %s, %v", i, state, err)
		}
		if h.Index != i || h.TurnIndex != i || h.Event != 1 || h.Size != int64(len(states[i])) || h.CreatedAt.Second() != i || h.Head != (i == 2) {
			t.Errorf("header %d is %+v", i, h)
		}
	}
	tail, before, err := s.Tail(t.Context(), "s", 2)
	if err != nil || before != 1 || !slices.Equal(tail, all[1:]) {
		t.Errorf("the tail is %+v, %v, %v", tail, before, err)
	}
	for info, err := range s.Sessions(t.Context()) {
		if err != nil || info.ID != "s" || info.Snapshots != 3 || info.Head != (model.Point{ID: all[2].ID, Index: 2}) || !info.UpdatedAt.Equal(all[2].CreatedAt) {
			t.Errorf("the session is %+v, %v", info, err)
		}
	}
	if data, err := s.Get(t.Context(), "s"); data != nil || err != nil {
		t.Errorf("a record %+v, %v", data, err)
	}
	for _, op := range []model.Op{model.OpRestore, model.OpFork, model.OpUndo, model.OpRedo} {
		if reason := store.Reason(s, op); !strings.Contains(reason, "import") {
			t.Errorf("%s: %q", op, reason)
		}
	}
}

// TestStore_formsOfAFile: what editors and pipes do to text files.
func TestStore_formsOfAFile(t *testing.T) {
	plain := seed(t, `{"a":1}`, `{"a":2}`)
	lines := strings.SplitAfter(plain, "\n")
	for name, content := range map[string]string{
		"as written":             plain,
		"no line end at the end": strings.TrimSuffix(plain, "\n"),
		"CRLF":                   strings.ReplaceAll(plain, "\n", "\r\n"),
		"byte order mark":        "\ufeff" + plain,
		"two files in one":       lines[0] + "\ufeff" + lines[1],
		"blank lines":            "\n\n \t\n" + lines[0] + "\r\n\n" + lines[1] + "\n \n",
		"blanks around":          "  " + strings.ReplaceAll(plain, "\n", "  \n"),
		"other order":            strings.ReplaceAll(plain, `"state":{"a":1},`, "") + `{"state":{"a":1},"sessionId":"t","id":"x"}`,
	} {
		s := open(t, content)
		got := headers(t, s, "s")
		if name == "other order" {
			// The first line has lost its state.
			if len(got) != 1 || len(headers(t, s, "t")) != 1 {
				t.Errorf("%s: %+v", name, got)
			}
			continue
		}
		if len(got) != 2 {
			t.Errorf("%s: %+v", name, got)
			continue
		}
		for i, h := range got {
			if state, err := s.State(t.Context(), h.Ref()); err != nil || string(state) != fmt.Sprintf(`{"a":%d}`, i+1) {
				t.Errorf("%s: state %d is %s, %v", name, i, state, err)
			}
		}
		if faults, err := s.Faults(t.Context(), ""); len(faults) != 0 || err != nil {
			t.Errorf("%s: faults %+v, %v", name, faults, err)
		}
	}
	if s := open(t, ""); len(slices.Collect(func(yield func(string) bool) {
		for info := range s.Sessions(t.Context()) {
			if !yield(info.ID) {
				return
			}
		}
	})) != 0 {
		t.Error("an empty file has sessions")
	}
}

// TestStore_damagedLines: each is named with its place, and the others open.
func TestStore_damagedLines(t *testing.T) {
	whole := seed(t, `{"a":1}`)
	for _, c := range []struct{ name, line, place, word string }{
		{"torn", `{"id":"x","sessionId":"s","state":{"a":[1,2`, "byte 43", "end"},
		{"torn in a string", `{"id":"x","sessionId":"s","sta`, "byte 30", "end"},
		{"torn after a comma", `{"id":"x",`, "byte 10", "key"},
		{"no object", `[1,2]`, "byte 0", "object"},
		{"text", `hello`, "byte 0", "object"},
		{"no colon", `{"id" "x"}`, "byte 6", "':'"},
		{"no comma", `{"id":"x" "sessionId":"s"}`, "byte 10", "','"},
		{"more", `{"id":"x","sessionId":"s","state":1} x`, "byte 37", "after"},
		{"bad literal", `{"id":"x","sessionId":"s","index":nul,"state":1}`, "byte 34", "nul"},
		{"bad number", `{"id":"x","sessionId":"s","index":01,"state":1}`, "byte 34", "01"},
		{"bad type", `{"id":"x","sessionId":"s","state":1,"index":"one"}`, "byte 44", "index"},
		{"bad event", `{"id":"x","sessionId":"s","state":1,"event":1.5}`, "byte 44", "event"},
		{"bad time", `{"id":"x","sessionId":"s","state":1,"createdAt":"yesterday"}`, "byte 48", "createdAt"},
		{"bad key", `{"id":"x","sessionId":"s","` + "\x01" + `":1,"state":1}`, "byte 26", "key"},
		{"big index", `{"id":"x","sessionId":"s","state":1,"index":99999999999999999999}`, "byte 44", "index"},
		{"no session", `{"id":"x","state":1}`, "byte 0", "sessionId"},
		{"no id", `{"sessionId":"s","state":1}`, "byte 0", "id"},
		{"no state", `{"id":"x","sessionId":"s"}`, "byte 0", "state"},
		{"two ids", `{"id":"x","id":"y","sessionId":"s","state":1}`, "byte 15", "twice"},
		{"two states", `{"id":"x","sessionId":"s","state":1,"state":2}`, "byte 36", "twice"},
		{"a record without state", `{"session":"s","turnIndex":1}`, "byte 0", "state"},
		{"a record of nobody", `{"session":null,"state":1}`, "byte 11", "null"},
		{"a record of a number", `{"session":7,"state":1}`, "byte 11", "session"},
		{"binary", "\x00\x01\x02", "byte 0", "object"},
	} {
		content := whole + c.line + "\n" + strings.ReplaceAll(whole, `"s"`, `"after"`)
		s := open(t, content)
		faults, err := s.Faults(t.Context(), "")
		if err != nil || len(faults) != 1 {
			t.Errorf("%s: faults %+v, %v", c.name, faults, err)
			continue
		}
		f := faults[0]
		if f.Code != jsonl.FaultLine || f.File != s.Address() || f.Path != "line 2" || !strings.HasPrefix(f.Meaning, c.place+":") || !strings.Contains(f.Meaning, c.word) {
			t.Errorf("%s: fault %+v, want %s: … %s", c.name, f, c.place, c.word)
		}
		if len(headers(t, s, "s")) != 1 || len(headers(t, s, "after")) != 1 {
			t.Errorf("%s: another line does not open", c.name)
		}
		// A file with nothing but that line is refused, with the same words.
		path := write(t, c.line)
		_, err = jsonl.Open(t.Context(), path)
		if want := fmt.Sprintf("jsonl: read %q: line 1: %s", path, f.Meaning); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", c.name, err, want)
		}
		// So is an import of it.
		last := error(nil)
		for _, err := range jsonl.Read(strings.NewReader(content)) {
			last = err
		}
		if c.name != "no state" && (last == nil || last.Error() != "jsonl: read: line 2: "+f.Meaning) {
			t.Errorf("%s: import ends with %v", c.name, last)
		}
	}
}

func TestStore_damagedStateIsFoundWhenRead(t *testing.T) {
	s := open(t, `{"id":"x","sessionId":"s","state":{"a":tru}}`+"\n"+`{"id":"y","sessionId":"s","stateBase64":"!"}`+"\n"+
		`{"id":"z","sessionId":"s","stateBase64":17}`+"\n"+`{"id":"w","sessionId":"s","state":`+strings.Repeat("[", 20_000)+strings.Repeat("]", 20_000)+"}\n")
	for _, c := range []struct{ id, word string }{{"x", "byte 34"}, {"y", "base64"}, {"z", "string"}, {"w", "JSON"}} {
		_, err := s.State(t.Context(), model.Ref{Session: "s", ID: c.id})
		if err == nil || !strings.Contains(err.Error(), c.word) {
			t.Errorf("%s: %v", c.id, err)
		}
	}
	faults, err := s.Faults(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	faults = slices.DeleteFunc(faults, func(f model.Fault) bool { return f.Code != store.FaultState })
	if len(faults) != 4 {
		t.Errorf("faults %+v", faults)
	}
}

func TestStore_manyDamagedLinesAreCounted(t *testing.T) {
	s := open(t, seed(t, "1")+strings.Repeat("{\n", 1000))
	faults, err := s.Faults(t.Context(), "")
	if err != nil || len(faults) != 101 || !strings.Contains(faults[100].Meaning, "900 more") {
		t.Errorf("%d faults, %v", len(faults), err)
	}
}

func TestOpen_whatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	if _, err := jsonl.Open(t.Context(), filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := jsonl.Open(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "directory") {
		t.Errorf("a directory: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := jsonl.Open(ctx, write(t, seed(t, "1"))); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that ended: %v", err)
	}
}

func TestFrom_readsAPipe(t *testing.T) {
	r, w := io.Pipe()
	content := seed(t, `{"a":1}`, `{"a":2}`)
	go func() {
		_, err := io.WriteString(w, content)
		w.CloseWithError(err)
	}()
	s, err := jsonl.From(t.Context(), "-", r)
	if err != nil {
		t.Fatal(err)
	}
	if got := headers(t, s, "s"); len(got) != 2 || s.Address() != "-" {
		t.Errorf("%+v from %q", got, s.Address())
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	broken := errors.New("the pipe broke")
	if _, err := jsonl.From(t.Context(), "-", io.MultiReader(strings.NewReader(content), errReader{broken})); !errors.Is(err, broken) {
		t.Errorf("a broken pipe: %v", err)
	}
}

type errReader struct{ err error }

func (e errReader) Read([]byte) (int, error) { return 0, e.err }

func TestKind_recognise(t *testing.T) {
	kind := jsonl.Kind()
	for _, c := range []struct {
		name, content string
		want          bool
	}{
		{"snapshots", seed(t, `{"a":1}`), true},
		{"blanks first", "\ufeff \n\n" + seed(t, `{"a":1}`), true},
		{"a record", `{"session":"s","turnIndex":0,"state":{}}`, true},
		{"a coded state", `{"id":"x","sessionId":"s","stateBase64":"MQ=="}`, true},
		{"a huge state", `{"id":"x","sessionId":"s","state":"` + strings.Repeat("x", 200_000) + `"}`, true},
		{"empty", "", false},
		{"an array", `[{"id":"x","sessionId":"s","state":1}]`, false},
		{"another object", `{"id":"x","sessionId":"s"}`, false},
		{"a snapshot of Genkit's own", `{"snapshotId":"x","sessionId":"s","state":{}}`, false},
		{"an indented object", "{\n\"id\":\"x\",\"sessionId\":\"s\",\"state\":1}", false},
		{"a database", "SQLite format 3\x00", false},
	} {
		why, ok, err := kind.Recognise(t.Context(), write(t, c.content))
		if ok != c.want || err != nil || why == "" {
			t.Errorf("%s: %q, %v, %v", c.name, why, ok, err)
		}
	}
	if _, ok, err := kind.Recognise(t.Context(), t.TempDir()); ok || err != nil {
		t.Errorf("a directory: %v, %v", ok, err)
	}
	if _, ok, err := kind.Recognise(t.Context(), "-"); !ok || err != nil {
		t.Errorf("the standard input: %v, %v", ok, err)
	}
	if _, _, err := kind.Recognise(t.Context(), filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	s, err := kind.Open(t.Context(), write(t, seed(t, "1")))
	if err != nil || s.Kind() != kind.Name {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func export(t *testing.T, s store.Store) string {
	t.Helper()
	var out bytes.Buffer
	if _, err := jsonl.Write(&out, store.Rows(t.Context(), s)); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestWrite_statesByteForByte(t *testing.T) {
	states := []string{`{"b":1,"a":1.0}`, `"<>&\u2028` + "\u2028" + `"`, "\"\xff\"", "{\n \"a\": 1\r\n}", ` 1 `, `1e999`}
	from := fake.New()
	for i, state := range states {
		err := from.SaveSnapshot(t.Context(), &model.Snapshot[json.RawMessage]{ID: model.SnapshotID([]byte(state)), SessionID: "s", Index: i, State: json.RawMessage(state)})
		if err != nil {
			t.Fatal(err)
		}
	}
	text := export(t, from)
	if n := strings.Count(text, "\n"); n != len(states) {
		t.Fatalf("%d lines:\n%s", n, text)
	}
	if strings.Count(text, `"stateBase64"`) != 2 {
		t.Errorf("only the states with line ends and with blanks around are coded:\n%s", text)
	}
	s := open(t, text)
	rows := slices.Collect(func(yield func(store.Row) bool) {
		for row, err := range jsonl.Read(strings.NewReader(text)) {
			if err != nil {
				t.Fatal(err)
			}
			if !yield(row) {
				return
			}
		}
	})
	for i, h := range headers(t, s, "s") {
		state, err := s.State(t.Context(), h.Ref())
		if err != nil || string(state) != states[i] || string(rows[i].State) != states[i] || h.Size != int64(len(states[i])) {
			t.Errorf("%q came back as %q and %q of size %d, %v", states[i], state, rows[i].State, h.Size, err)
		}
	}
}

func TestWrite_errors(t *testing.T) {
	rows := func(rows ...store.Row) iter.Seq2[store.Row, error] {
		return func(yield func(store.Row, error) bool) {
			for _, row := range rows {
				if !yield(row, nil) {
					return
				}
			}
		}
	}
	good := store.Row{Header: model.Header{ID: "x", SessionID: "s"}, State: []byte("1")}
	for name, c := range map[string]struct {
		row  store.Row
		want error
	}{
		"no JSON":    {store.Row{Header: model.Header{ID: "x", SessionID: "s"}, State: []byte("{")}, store.ErrNotJSON},
		"an id":      {store.Row{Header: model.Header{ID: "\xff", SessionID: "s"}, State: []byte("1")}, jsonl.ErrNotUTF8},
		"a session":  {store.Row{Header: model.Header{ID: "x", SessionID: "\xff"}, State: []byte("1")}, jsonl.ErrNotUTF8},
		"a record":   {store.Row{Record: &model.Data[json.RawMessage]{ID: "\xff", State: []byte("1")}}, jsonl.ErrNotUTF8},
		"a parent":   {store.Row{Header: model.Header{ID: "x", ParentID: "\xff", SessionID: "s"}, State: []byte("1")}, jsonl.ErrNotUTF8},
		"no record?": {store.Row{Record: &model.Data[json.RawMessage]{ID: "s", State: []byte("nope")}}, store.ErrNotJSON},
	} {
		var out bytes.Buffer
		n, err := jsonl.Write(&out, rows(good, c.row))
		if n != 1 || !errors.Is(err, c.want) || !strings.Contains(err.Error(), "row 2") || strings.Count(out.String(), "\n") != 1 {
			t.Errorf("%s: %d rows, %v, %q", name, n, err, out.String())
		}
	}
	broken := errors.New("broken")
	if _, err := jsonl.Write(io.Discard, func(yield func(store.Row, error) bool) { yield(store.Row{}, broken) }); !errors.Is(err, broken) {
		t.Errorf("an error of the rows: %v", err)
	}
	if _, err := jsonl.Write(errWriter{broken}, rows(good)); !errors.Is(err, broken) {
		t.Errorf("an error of the writer: %v", err)
	}
}

type errWriter struct{ err error }

func (e errWriter) Write([]byte) (int, error) { return 0, e.err }

// TestRoundTrip_isByteIdentical: what is exported and imported again exports
// the same, through every kind that keeps visits and through the file itself.
func TestRoundTrip_isByteIdentical(t *testing.T) {
	skip.Sequential(t)
	dir, run := t.TempDir(), 0
	rapid.Check(t, func(r *rapid.T) {
		run++
		from := fake.New()
		if _, err := from.Import(t.Context(), drawRows(r)); err != nil {
			r.Fatal(err)
		}
		first := export(t, from)
		disk, err := sqlite.Create(t.Context(), filepath.Join(dir, fmt.Sprintf("%d.db", run)))
		if err != nil {
			r.Fatal(err)
		}
		defer disk.Close()
		for _, to := range []storetest.Store{fake.New(), disk} {
			for range 2 {
				if _, err := to.Import(t.Context(), jsonl.Read(strings.NewReader(first))); err != nil {
					r.Fatal(err)
				}
				if again := export(t, to); again != first {
					r.Fatalf("through %s:\n%s\nwas\n%s", to.Kind(), again, first)
				}
			}
		}
		lines, err := jsonl.From(t.Context(), "-", strings.NewReader(first))
		if err != nil {
			r.Fatal(err)
		}
		defer lines.Close()
		if again := export(t, lines); again != first {
			r.Fatalf("through jsonl:\n%s\nwas\n%s", again, first)
		}
	})
}

// drawRows draws sessions with everything in them that a row can say.
func drawRows(r *rapid.T) iter.Seq2[store.Row, error] {
	var rows []store.Row
	for _, session := range rapid.SliceOfNDistinct(rapid.StringN(0, 5, -1), 0, 3, rapid.ID).Draw(r, "sessions") {
		known := map[string]bool{}
		for i := range rapid.IntRange(0, 6).Draw(r, "visits") {
			rows = append(rows, drawRow(r, session, i, known))
		}
		if rapid.Bool().Draw(r, "record") {
			rows = append(rows, store.Row{Record: &model.Data[json.RawMessage]{ID: session, State: drawState(r), TurnIndex: rapid.Int().Draw(r, "turn")}})
		}
	}
	return func(yield func(store.Row, error) bool) {
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
	}
}

func drawRow(r *rapid.T, session string, i int, known map[string]bool) store.Row {
	h := model.Header{
		ID: rapid.StringN(1, 3, -1).Draw(r, "id"), SessionID: session, ParentID: rapid.StringN(0, 3, -1).Draw(r, "parent"),
		Index: rapid.Int().Draw(r, "index"), TurnIndex: rapid.Int().Draw(r, "turn"), Event: model.SnapshotEvent(rapid.Int().Draw(r, "event")),
		Position: rapid.String().Draw(r, "position"), Title: rapid.String().Draw(r, "title"), Marks: model.Marks(rapid.IntRange(0, 127).Draw(r, "marks")),
		Orphaned: rapid.Bool().Draw(r, "orphaned"), CreatedAt: drawTime(r),
	}
	if rapid.Bool().Draw(r, "numbered") {
		h.Visit, h.ParentVisit = int64(2*i+1), int64(rapid.IntRange(0, 12).Draw(r, "parent visit"))
	}
	if rapid.Bool().Draw(r, "named") {
		h.Event, h.EventName = model.SnapshotEventNamed, "event "+rapid.String().Draw(r, "name")
	}
	if rapid.Bool().Draw(r, "reason") {
		h.Reason = &model.Reason{Kind: model.ReasonKind(rapid.IntRange(0, 7).Draw(r, "kind")), At: drawTime(r), TargetID: rapid.String().Draw(r, "target"), TargetIndex: rapid.Int().Draw(r, "target index")}
	}
	row := store.Row{Header: h, State: drawState(r)}
	if known[h.ID] && rapid.Bool().Draw(r, "no state") {
		row.State = nil
	}
	known[h.ID] = true
	return row
}

func drawTime(r *rapid.T) time.Time {
	if rapid.Bool().Draw(r, "no time") {
		return time.Time{}
	}
	at := time.Unix(rapid.Int64Range(-62e9, 253e9).Draw(r, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(r, "nanoseconds"))
	return at.In(time.FixedZone("", 60*rapid.IntRange(-1439, 1439).Draw(r, "zone")))
}

func drawState(r *rapid.T) json.RawMessage {
	return json.RawMessage(rapid.SampledFrom([]string{"1", `{"a":[]}`, `"` + "\xff" + `"`, "{\n}", ` "x" `, `{"a":1,"a":2}`, strings.Repeat("[", 50) + strings.Repeat("]", 50)}).Draw(r, "state"))
}
