package rows

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store/media/journal"
)

// TestRow_json: each value comes back in its type, to the last bit.
func TestRow_json(t *testing.T) {
	row := Row{"null": nil, "int": int64(math.MinInt64), "real": 0.1, "inf": math.Inf(-1), "text": "ü\"", "odd": "\xff\xfe", "bytes": []byte{0, 255}, "none": []byte{}}
	data, err := json.Marshal([]Row{row, nil})
	if err != nil {
		t.Fatal(err)
	}
	var back []Row
	if err := json.Unmarshal(data, &back); err != nil || len(back) != 2 || !reflect.DeepEqual(back[0], row) || back[1] != nil {
		t.Errorf("%#v, %v of %s", back, err, data)
	}
	if _, err := json.Marshal(Row{"x": 1}); err == nil || !strings.Contains(err.Error(), `column "x" is a int`) {
		t.Error(err)
	}
	for _, text := range []string{`{"x":1.5}`, `{"x":true}`, `{"x":{}}`, `{"x":[1]}`, `{"x":{"r":"word"}}`, `{"x":{"b":1}}`, `{"x":"\ud800\u"}`, `[1]`} {
		var r Row
		if err := json.Unmarshal([]byte(text), &r); err == nil {
			t.Errorf("%s is read as %#v", text, r)
		}
	}
}

// TestRow tells what a row has, and when two are the same.
func TestRow(t *testing.T) {
	r := Row{"text": "a", "bytes": []byte("b"), "int": int64(1), "null": nil}
	if r.Text("text") != "a" || r.Text("bytes") != "b" || r.Text("int") != "" || r.Text("null") != "" || r.Bytes("none") != nil {
		t.Error("the columns have other values")
	}
	if r.As("text", []byte("x")) != "x" || !reflect.DeepEqual(r.As("bytes", []byte("x")), []byte("x")) {
		t.Error("a value has another type")
	}
	if other := r.With("text", "c"); other.Text("text") != "c" || r.Text("text") != "a" {
		t.Error(other, r)
	}
	for _, c := range []struct {
		a, b Row
		want bool
	}{
		{nil, nil, true}, {nil, Row{}, false}, {Row{}, nil, false}, {Row{}, Row{}, true},
		{r, r.With("text", "a"), true}, {r, r.With("text", "b"), false}, {r, r.With("more", nil), false},
		{r, r.With("bytes", []byte("b")), true}, {r, r.With("bytes", []byte("c")), false}, {r, r.With("bytes", "b"), false}, {r.With("bytes", "b"), r, false},
		{r, r.With("int", 1.0), false}, {r, r.With("null", int64(0)), false},
	} {
		if got := c.a.equal(c.b); got != c.want {
			t.Errorf("%v and %v: %t", c.a, c.b, got)
		}
	}
}

// TestStep names the row of a step by what is an id, and says in words what steps write.
func TestStep(t *testing.T) {
	came := Step{Table: "b", After: Row{"session_id": "s", "id": "x", "body": "text", "n_id": int64(1)}}
	changed := Step{Table: "a", Before: Row{"id": "y"}, After: Row{"id": "y", "n": int64(2)}, At: 7}
	went := Step{Table: "b", Before: Row{"id": strings.Repeat("z", 50)}}
	for s, want := range map[*Step]string{&came: `the row of b with id "x", session_id "s"`, &changed: `the row of a with id "y"`, &went: `the row of b with id "` + strings.Repeat("z", 40) + `"`} {
		if got := s.String(); got != want {
			t.Error(got)
		}
	}
	if got := describeSteps([]Step{came, changed, went, came}); !slices.Equal(got, []string{"rows of b: 2 added, 1 removed", "rows of a: 1 replaced"}) {
		t.Errorf("%q", got)
	}
	if got := reverseSteps([]Step{came, changed, went}); !reflect.DeepEqual(got, []Step{{Table: "b", After: went.Before}, {Table: "a", Before: changed.After, After: changed.Before, At: 7}, {Table: "b", Before: came.After}}) {
		t.Errorf("%+v", got)
	}
	if where, args := came.rowCondition([]string{"session_id", "id"}); where != ` WHERE "session_id" = ? AND "id" = ?` || !reflect.DeepEqual(args, []any{"s", "x"}) {
		t.Error(where, args)
	}
	if got := tablesOf([]Step{came, changed, went}); !slices.Equal(got, []string{"a", "b"}) {
		t.Error(got)
	}
}

// line seals a record, as it lies in a journal.
func line(t testing.TB, r record) string {
	t.Helper()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(journal.Seal(text))
}

// wrote is a record of a write.
func wrote(id int64, op model.Op, of int64) record {
	return record{Format: journalFormat, Of: of, Write: &entry{JournalEntry: model.JournalEntry{ID: id, Op: op, Session: "s", From: "a", To: "b"}, Head: "b"}}
}

// TestHistory: a journal tells what was written and what of it is undone; what cannot be read is counted.
func TestHistory(t *testing.T) {
	restore, fork := model.OpRestore, model.OpFork
	for _, c := range []struct {
		what  string
		lines []any // records, or texts
		want  string
		open  int64
		err   string
		torn  bool
	}{
		{what: "nothing"},
		{what: "a write", lines: []any{wrote(1, restore, 0), record{Done: 1}}, want: "1"},
		{what: "two writes", lines: []any{wrote(1, restore, 0), record{Done: 1}, wrote(2, fork, 0), record{Done: 2}}, want: "1 2"},
		{what: "one that is open", lines: []any{wrote(1, restore, 0), record{Done: 1}, wrote(2, fork, 0)}, want: "1", open: 2},
		{what: "one that is off", lines: []any{wrote(1, restore, 0), record{Off: 1}}},
		{what: "the end of another", lines: []any{wrote(1, restore, 0), record{Done: 2}, record{Off: 2}}, open: 1},
		{what: "an end twice", lines: []any{wrote(1, restore, 0), record{Done: 1}, record{Done: 1}, record{Off: 1}}, want: "1"},
		{what: "an undo", lines: []any{wrote(1, restore, 0), record{Done: 1}, wrote(2, model.OpUndo, 1), record{Done: 2}}, want: "1 undone"},
		{what: "a redo", lines: []any{wrote(1, restore, 0), record{Done: 1}, wrote(2, model.OpUndo, 1), record{Done: 2}, wrote(3, model.OpRedo, 1), record{Done: 3}}, want: "1"},
		{what: "an undo that is off", lines: []any{wrote(1, restore, 0), record{Done: 1}, wrote(2, model.OpUndo, 1), record{Off: 2}}, want: "1"},
		{what: "an undo of what is not there", lines: []any{wrote(1, restore, 0), record{Done: 1}, wrote(2, model.OpUndo, 7), record{Done: 2}}, want: "1"},
		{what: "a write behind an undo", lines: []any{wrote(1, restore, 0), record{Done: 1}, wrote(2, model.OpUndo, 1), record{Done: 2}, wrote(3, fork, 0), record{Done: 3}}, want: "1 undone superseded 3"},
		{what: "an id that was", lines: []any{wrote(2, restore, 0), record{Done: 2}, wrote(1, fork, 0), record{Done: 1}}, want: "2"},
		{what: "empty lines", lines: []any{wrote(1, restore, 0), "\n", record{Done: 1}}, want: "1"},
		{what: "a line that cannot be read", lines: []any{wrote(1, restore, 0), record{Done: 1}, "torn\n", wrote(2, fork, 0), record{Done: 2}}, want: "1 2", err: "1 lines of the journal cannot be read, the first is line 5"},
		{what: "two, far apart", lines: []any{"torn\n", wrote(1, restore, 0), "torn\n", record{Done: 1}}, want: "1", err: "2 lines of the journal cannot be read, the first is line 1"},
		{what: "a torn end", lines: []any{wrote(1, restore, 0), record{Done: 1}, "torn"}, want: "1", torn: true},
		{what: "a torn end that was told of", lines: []any{wrote(1, restore, 0), record{Done: 1}, "torn\n", record{Torn: true, Format: journalFormat, Write: wrote(2, fork, 0).Write}, record{Done: 2}}, want: "1 2"},
		{what: "another version", lines: []any{record{Format: 9, Write: wrote(1, restore, 0).Write}, record{Done: 1}, wrote(2, restore, 0), record{Done: 2}}, want: "1 2", err: errFormat.Error()},
	} {
		var text strings.Builder
		for _, l := range c.lines {
			if r, is := l.(record); is {
				text.WriteString(line(t, r))
			} else {
				text.WriteString(l.(string))
			}
		}
		h := newHistory([]byte(text.String()))
		var got []string
		for _, e := range h.entries {
			words := []string{string(rune('0' + e.ID))}
			if e.Undone {
				words = append(words, "undone")
			}
			if e.superseded {
				words = append(words, "superseded")
			}
			got = append(got, strings.Join(words, " "))
		}
		var open int64
		if h.open != nil {
			open = h.open.ID
		}
		says := ""
		if err := h.damageError(); err != nil {
			says = err.Error()
		}
		if strings.Join(got, " ") != c.want || open != c.open || says != c.err || h.torn != c.torn {
			t.Errorf("%s: %q, open %d, %q, torn %t", c.what, got, open, says, h.torn)
		}
	}
}

// TestHistory_pending is the write that is undone, or done again, next.
func TestHistory_pending(t *testing.T) {
	of := func(states ...string) *history {
		h := &history{}
		for i, s := range states {
			h.entries = append(h.entries, entry{JournalEntry: model.JournalEntry{ID: int64(i + 1), Undone: s != "", Session: "s"}, superseded: s == "superseded"})
		}
		return h
	}
	for _, c := range []struct {
		h          *history
		undo, redo int64
	}{
		{of(), 0, 0}, {of(""), 1, 0}, {of("", ""), 2, 0}, {of("", "undone"), 1, 2}, {of("undone", "undone"), 0, 1}, {of("superseded", ""), 2, 0}, {of("superseded", "", "undone", "undone"), 2, 3},
	} {
		for op, want := range map[model.Op]int64{model.OpUndo: c.undo, model.OpRedo: c.redo} {
			var got int64
			if e := c.h.nextReversal(op); e != nil {
				got = e.ID
			}
			if got != want {
				t.Errorf("%s of %+v: %d instead of %d", op, c.h.entries, got, want)
			}
		}
	}
	var ids []int64
	for _, e := range of("", "undone", "").journalEntries() {
		ids = append(ids, e.ID)
	}
	if !slices.Equal(ids, []int64{3, 2, 1}) {
		t.Error(ids)
	}
}

// TestHistory_moves are the writes that put the head of the session elsewhere.
func TestHistory_moves(t *testing.T) {
	at := time.Unix(start, 0)
	of := func(id int64, op model.Op, session, origin string, undone bool) entry {
		return entry{JournalEntry: model.JournalEntry{ID: id, Op: op, Session: session, At: at, From: "from", To: "to", ToIndex: 3, Undone: undone}, Head: "head", Newest: "newest", Origin: origin}
	}
	h := &history{entries: []entry{
		of(1, model.OpRestore, "s", "", true), of(2, model.OpRestore, "other", "", false), of(3, model.OpFork, "s", "", false), of(4, model.OpRepair, "s", "origin", false),
		of(5, model.OpRestore, "s", "", false), of(6, model.OpRepair, "s", "", false),
	}}
	want := []model.Move{
		{From: "from", To: "head", Why: &model.Reason{Kind: model.ReasonRestore, At: at, TargetID: "to", TargetIndex: 3}},
		{From: "from", To: "head", Why: &model.Reason{Kind: model.ReasonRepair, At: at}},
	}
	if got := h.headMoves("s"); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if !h.wroteHead("head") || !h.wroteHead("newest") || h.wroteHead("from") || (&history{}).wroteHead("") {
		t.Error("what Hindcast wrote is not known")
	}
}

// TestBook: a journal is read again where its file is another, or longer; what cannot be read of it is an error.
func TestBook(t *testing.T) {
	dir := t.TempDir()
	b := &book{path: filepath.Join(dir, "in", "journal")}
	first := func() int64 {
		t.Helper()
		h, err := b.readHistory()
		if err != nil {
			t.Fatal(err)
		}
		return h.last
	}
	if first() != 0 {
		t.Error("it is not empty")
	}
	for _, r := range []record{wrote(1, model.OpRestore, 0), {Done: 1}} {
		if err := b.appendRecord(r); err != nil {
			t.Fatal(err)
		}
	}
	if first() != 1 {
		t.Error("what was written is not read")
	}
	info, err := os.Stat(b.path)
	if folder, failed := os.Stat(filepath.Dir(b.path)); err != nil || failed != nil || info.Mode() != 0o600 || folder.Mode().Perm() != 0o700 {
		t.Error(info, folder, err, failed)
	}
	other := &book{path: b.path}
	if err := other.appendRecord(wrote(2, model.OpRestore, 0)); err != nil {
		t.Fatal(err)
	}
	if first() != 2 {
		t.Error("what another wrote is not read")
	}
	// Another file of the same size, as a tool that synchronises folders puts one there.
	swapped := line(t, wrote(1, model.OpRestore, 0)) + line(t, record{Done: 1}) + line(t, wrote(3, model.OpRestore, 0))
	if at, err := os.Stat(b.path); err != nil || at.Size() != int64(len(swapped)) {
		t.Fatal(at, len(swapped), err)
	}
	if err := errors.Join(os.WriteFile(b.path+".new", []byte(swapped), 0o600), os.Rename(b.path+".new", b.path)); err != nil {
		t.Fatal(err)
	}
	if first() != 3 {
		t.Error("another file of the same size is not read")
	}
	if err := os.Remove(b.path); err != nil {
		t.Fatal(err)
	}
	if first() != 0 {
		t.Error("it is still read")
	}
	if err := b.appendRecord(wrote(5, model.OpRestore, 0)); err != nil || first() != 5 {
		t.Error(err)
	}
	// The torn end of a line is told of by the next.
	data, err := os.ReadFile(b.path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b.path, append(data, "\ntorn"...), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := b.appendRecord(record{Done: 5}); err != nil {
		t.Fatal(err)
	}
	if h, err := b.readHistory(); err != nil || h.damageError() != nil || len(h.entries) != 1 {
		t.Errorf("%+v, %v", h, err)
	}
	// What is of another version is not written to, nor is what is full.
	if err := os.WriteFile(b.path, []byte(line(t, record{Format: 9, Write: wrote(6, model.OpRestore, 0).Write})), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := b.appendRecord(wrote(7, model.OpRestore, 0)); !errors.Is(err, errFormat) {
		t.Error(err)
	}
	if err := os.WriteFile(b.path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(b.path, 255<<20); err != nil { // takes no space
		t.Fatal(err)
	}
	if err := b.appendRecord(wrote(8, model.OpRestore, 0)); !errors.Is(err, errFull) || !strings.Contains(err.Error(), "write the journal") {
		t.Error(err)
	}
	if err := b.appendRecord(record{Done: 8}); err != nil { // the end of a write has room
		t.Error(err)
	}
	if err := os.Remove(b.path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(b.path, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := b.readHistory(); err == nil || !strings.Contains(err.Error(), "read the journal") {
		t.Error(err)
	}
	if err := b.appendRecord(wrote(9, model.OpRestore, 0)); err == nil {
		t.Error("it is written to")
	}
}

// TestEntry_steps: what cannot be unpacked is an error.
func TestEntry_steps(t *testing.T) {
	steps := []Step{{Table: "a", Before: Row{"id": "x"}, At: 3}, {Table: "b", After: Row{"n": int64(1)}}}
	packed, err := packSteps(steps)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := (&entry{Steps: packed}).unpackSteps(); err != nil || !reflect.DeepEqual(got, steps) {
		t.Errorf("%+v, %v", got, err)
	}
	text, err := packSteps([]Step{{After: Row{"x": 1}}})
	if err == nil {
		t.Errorf("it is packed: %q", text)
	}
	for _, bad := range [][]byte{[]byte("no zstd"), packed[:len(packed)-3]} {
		if _, err := (&entry{JournalEntry: model.JournalEntry{ID: 4}, Steps: bad}).unpackSteps(); err == nil || !strings.Contains(err.Error(), "entry 4 of the journal") {
			t.Error(err)
		}
	}
}

// TestNewEntry says where the session is, and where a fork came from.
func TestNewEntry(t *testing.T) {
	p := model.Plan{Op: model.OpFork, Session: "s", NewSession: "n", Head: model.Point{ID: "h", Index: 4}, Target: model.Point{ID: "t", Index: 2}}
	e := newEntry(&p, Place{ID: "n", Key: []any{"n", ""}, tables: map[string]string{"a": "b"}}, time.Unix(start, 5_000_001).In(time.FixedZone("", 3600)))
	if e.At != time.Unix(start, 5_000_000).UTC() || e.Session != "n" || e.Origin != "s" || !e.makesSession() || e.From != "h" || e.FromIndex != 4 || e.To != "t" || e.ToIndex != 2 || !slices.Equal(e.Key, []string{"n", ""}) {
		t.Errorf("%+v", e)
	}
	if at := e.sessionPlace(); at.ID != "n" || !reflect.DeepEqual(at.Key, []any{"n", ""}) || at.Name("a") != "b" {
		t.Errorf("%+v", at)
	}
	p.NewSession = ""
	if e := newEntry(&p, Place{}, time.Unix(start, 0)); e.makesSession() {
		t.Errorf("%+v", e)
	}
}
