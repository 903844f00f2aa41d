package mapped_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/kinds/mapped"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

const fixtures = "../../../testdata/mapped/"

// in returns a source that is one document, or lines.
func in(text string) []mapped.Source {
	return []mapped.Source{{Path: "in", In: strings.NewReader(text)}}
}

func read(t *testing.T, m mapped.Map, sources []mapped.Source) ([]store.Row, error) {
	t.Helper()
	var rows []store.Row
	for row, err := range mapped.Read(t.Context(), sources, m, nil) {
		if err != nil {
			return rows, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func mustRead(t *testing.T, m mapped.Map, text string) []store.Row {
	t.Helper()
	rows, err := read(t, m, in(text))
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// folder writes files into a new folder and returns its path.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// lines draws rows: index, id, parent and what is special about each.
func lines(rows []store.Row) string {
	var out strings.Builder
	for _, row := range rows {
		h := row.Header
		fmt.Fprintf(&out, "%s #%d %.12s<%.12s", h.SessionID, h.Index, h.ID, h.ParentID)
		if h.Orphaned {
			out.WriteString(" orphaned")
		}
		if h.Head {
			out.WriteString(" head")
		}
		if h.Marks.Has(model.MarkInferred) {
			out.WriteString(" inferred")
		}
		fmt.Fprintf(&out, " %s\n", row.State)
	}
	return out.String()
}

func hold(t *testing.T, got, want string) {
	t.Helper()
	if got = strings.TrimSpace(got); got != strings.TrimSpace(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestRead_everythingHasADefault(t *testing.T) {
	rows, err := read(t, mapped.Map{}, []mapped.Source{{Path: fixtures + "states"}})
	if err != nil {
		t.Fatal(err)
	}
	var steps []string
	for i, row := range rows {
		h := row.Header
		steps = append(steps, strings.Fields(string(row.State))[2])
		var compact bytes.Buffer
		if err := json.Compact(&compact, row.State); err != nil {
			t.Fatal(err)
		}
		if h.ID != model.SnapshotID(compact.Bytes()) || h.SessionID != "states" || h.Index != i || h.TurnIndex != 0 || h.EventName != "imported" ||
			h.Event != model.SnapshotEventNamed || !h.CreatedAt.IsZero() || h.Orphaned || h.Head != (i == len(rows)-1) || h.Size != int64(len(row.State)) {
			t.Errorf("row %d is %+v", i, h)
		}
		if i > 0 && (h.ParentID != rows[i-1].Header.ID || !h.Marks.Has(model.MarkInferred)) || i == 0 && (h.ParentID != "" || h.Marks != 0) {
			t.Errorf("row %d follows %q, marks %v", i, h.ParentID, h.Marks.Words())
		}
	}
	if want := []string{"1,", "2,", "3,", "10,"}; !slices.Equal(steps, want) {
		t.Errorf("the steps are %q, want %q: files are in the order of their numbers", steps, want)
	}
	if rows[0].State[0] != '{' || !bytes.HasSuffix(rows[0].State, []byte("\n}")) {
		t.Errorf("the state is %q, which is not the value as it is written", rows[0].State)
	}
}

func TestRead_rowsThatAreListedNewestFirstAreTurnedAround(t *testing.T) {
	m := parse(t, "id=checkpoint_id,parent=parent_checkpoint_id,time=ts,state=channel_values.messages[-1],session=thread_id,event=metadata.source,index=metadata.step,title='x'")
	_, err := read(t, m, []mapped.Source{{Path: fixtures + "checkpoints.jsonl"}})
	if err == nil || !strings.Contains(err.Error(), "channel_values.messages[-1] leads to nothing") {
		t.Errorf("an empty list has a last message: %v", err)
	}
	m = parse(t, "id=checkpoint_id,parent=parent_checkpoint_id,time=ts,state=metadata,session=thread_id,event=metadata.source,index=metadata.step")
	rows, err := read(t, m, []mapped.Source{{Path: fixtures + "checkpoints.jsonl"}})
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, row := range rows {
		h := row.Header
		parent := strings.TrimPrefix(h.ParentID, "1f0c2a7e-")
		fmt.Fprintf(&got, "%s #%d %.4s<%.4s %s %s", h.SessionID, h.Index, strings.TrimPrefix(h.ID, "1f0c2a7e-"), parent, h.CreatedAt.Format(time.RFC3339Nano), h.EventText())
		if h.Head {
			got.WriteString(" head")
		}
		got.WriteString("\n")
	}
	hold(t, got.String(), `
packing #-1 0000< 2025-03-01T09:00:00.5Z input
packing #0 0001<0000 2025-03-01T09:00:04Z loop head
trip #-1 0000< 2025-03-01T10:00:00.123456Z input
trip #0 0001<0000 2025-03-01T10:00:03.123457Z loop
trip #1 0002<0001 2025-03-01T10:00:06.123458Z loop
trip #2 0003<0002 2025-03-01T10:00:09.123459Z loop
trip #3 0004<0002 2025-03-01T10:00:12.12346Z update
trip #4 0005<0004 2025-03-01T10:00:15.123461Z loop head`)
}

func TestRead_withoutParentsTimesTellThatRowsAreNewestFirst(t *testing.T) {
	m := parse(t, "id=i,time=t,state=i")
	for text, want := range map[string]string{
		`{"i":3,"t":1700000003}` + "\n" + `{"i":2,"t":1700000002}` + "\n" + `{"i":1,"t":1700000002}`: "123",
		`{"i":3,"t":1700000003}` + "\n" + `{"i":2}` + "\n" + `{"i":1,"t":1700000001}`:                "321",
		`{"i":3,"t":1700000003}` + "\n" + `{"i":2,"t":1700000002}` + "\n" + `{"i":1,"t":1700000009}`: "321",
		`{"i":3,"t":1700000003}` + "\n" + `{"i":2,"t":1700000003}`:                                   "32",
	} {
		got := ""
		for _, row := range mustRead(t, m, text) {
			got += row.Header.ID
		}
		if got != want {
			t.Errorf("%s\nis read as %s, want %s", text, got, want)
		}
	}
}

func TestRead_oneDocumentHoldsManyRows(t *testing.T) {
	want, err := read(t, parse(t, "id=checkpoint_id,parent=parent_checkpoint_id,time=ts,state=channel_values,session=thread_id,event=metadata.source"), []mapped.Source{{Path: fixtures + "checkpoints.jsonl"}})
	if err != nil {
		t.Fatal(err)
	}
	want = slices.DeleteFunc(want, func(row store.Row) bool { return row.Header.SessionID != "trip" })
	for _, text := range []string{
		"rows=$.checkpoints[*],session=$.thread,id=checkpoint.id,parent=parent_config.configurable.checkpoint_id,time=@.checkpoint.ts,state=checkpoint['channel_values'],event=/metadata/source",
		"rows=/checkpoints,session='trip',id=/checkpoint/id,parent=/parent_config/configurable/checkpoint_id,time=checkpoint.ts,state=/checkpoint/channel_values,event=metadata.source",
	} {
		rows, err := read(t, parse(t, text), []mapped.Source{{Path: fixtures + "checkpoints.json"}})
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) != len(want) {
			t.Fatalf("%s gives %d rows, want %d", text, len(rows), len(want))
		}
		for i := range rows {
			have, wanted := rows[i].Header, want[i].Header
			wanted.Size = have.Size // one of them is indented
			if !reflect.DeepEqual(have, wanted) {
				t.Errorf("%s: row %d is\n%+v, want\n%+v", text, i, have, wanted)
			}
		}
	}
}

func TestRead_rowsSpread(t *testing.T) {
	const document = `{"threads":[{"id":"a","rows":[{"s":1},{"s":2}]},{"id":"b"},{"id":"c","rows":{"x":{"s":3},"y":{"s":4}}}]}`
	hold(t, lines(mustRead(t, parse(t, "rows=$.threads[*].rows.*,id=s,state=s"), document)), `
in #0 1< 1
in #1 2<1 inferred 2
in #2 3<2 inferred 3
in #3 4<3 head inferred 4`)
	hold(t, lines(mustRead(t, parse(t, "rows=$[*],state=@"), `[1, [2, 3] , "x"]`)), strings.TrimSpace(lines(mustRead(t, parse(t, ""), "1\n[2, 3]\n\"x\""))))
	if rows := mustRead(t, parse(t, "rows=$[*]"), `[]`); len(rows) != 0 {
		t.Errorf("an empty list has rows: %s", lines(rows))
	}
}

// Bytes of a state are those of the file, whatever is around it.
func TestRead_statesAreByteForByte(t *testing.T) {
	states := []string{
		`{ "a" : 1.0 ,"b":12345678901234567890123, "a":2}`, `"\u00e9\ud800 ☺"`, `[1e400,-0.0,0.10]`, "null", "{\n\t\"x\":\t[ ]\r\n}", "\"\xff\"",
	}
	var text strings.Builder
	text.WriteString("\ufeff[")
	for i, state := range states {
		if i > 0 {
			text.WriteString(" , ")
		}
		fmt.Fprintf(&text, `{"id":%d,"s":  %s  ,"n":NaN}`, i, state)
	}
	text.WriteString("]")
	rows := mustRead(t, parse(t, "rows=$[*],id=id,state=s"), text.String())
	for i, state := range states {
		if got := string(rows[i].State); got != state {
			t.Errorf("the state %q came out as %q", state, got)
		}
	}
	const crlf = "\ufeff\r\n{\"id\":1, \"s\": [1 ]}\r\n\r\n  {\"id\":2,\"s\":2}  \r\n"
	hold(t, lines(mustRead(t, parse(t, "id=id,state=s"), crlf)), "in #0 1< [1 ]\nin #1 2<1 head inferred 2")
	hold(t, lines(mustRead(t, parse(t, "id=id"), "\ufeff\n { \"id\":\n1 } \n")), "in #0 1< head { \"id\":\n1 }")
}

func TestRead_lineageIsTakenAsItIs(t *testing.T) {
	m := parse(t, "id=i,parent=p,state=i,orphaned=o,head=h")
	for _, c := range []struct{ name, text, want string }{
		{"a parent that never comes", `{"i":1} {"i":2,"p":9}`, "in #0 1< 1\nin #1 2<9 head 2"},
		{"a parent that comes later, among others", `{"i":1} {"i":3,"p":2} {"i":2,"p":1} {"i":4,"p":3}`, "in #0 1< 1\nin #1 2<1 2\nin #2 3<2 3\nin #3 4<3 head 4"},
		{"no parents at all", `{"i":1,"p":null} {"i":2,"p":""}`, "in #0 1< 1\nin #1 2< head 2"},
		{"its own parent", `{"i":1,"p":1} {"i":2,"p":1}`, "in #0 1<1 1\nin #1 2<1 head 2"},
		{"a circle", `{"i":1,"p":3} {"i":2,"p":1} {"i":3,"p":2}`, "in #0 2<1 2\nin #1 3<2 3\nin #2 1<3 head 1"},
		{"a circle of two", `{"i":2,"p":1} {"i":1,"p":2}`, "in #0 1<2 1\nin #1 2<1 head 2"},
		{"visits", `{"i":1} {"i":2,"p":1} {"i":1,"p":2} {"i":3,"p":1}`, "in #0 1< 1\nin #1 2<1 2\nin #2 1<2 1\nin #3 3<1 head 3"},
		{"a head by name", `{"i":1} {"i":2,"p":1,"h":true} {"i":3,"p":2}`, "in #0 1< 1\nin #1 2<1 head 2\nin #2 3<2 3"},
		{"two heads by name", `{"i":1,"h":true} {"i":2,"p":1,"h":true} {"i":3,"p":2,"h":false}`, "in #0 1< 1\nin #1 2<1 head 2\nin #2 3<2 3"},
		{"orphaned leaves", `{"i":1} {"i":2,"p":1} {"i":3,"p":2,"o":true}`, "in #0 1< 1\nin #1 2<1 head 2\nin #2 3<2 orphaned 3"},
		{"all orphaned", `{"i":1,"o":true}`, "in #0 1< orphaned 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			hold(t, lines(mustRead(t, m, strings.ReplaceAll(c.text, "} {", "}\n{")+"\n")), c.want)
		})
	}
}

// A chain of parents that is listed newest first is followed without recursion.
func TestRead_deepLineageIsPutInOrder(t *testing.T) {
	const n = 20_000
	var text strings.Builder
	text.WriteString(`{"i":"x","p":0}` + "\n") // so that not all parents come later
	for i := n; i > 0; i-- {
		fmt.Fprintf(&text, `{"i":%d,"p":%d}`+"\n", i, i-1)
	}
	text.WriteString(`{"i":0}` + "\n" + `{"i":"y","p":0}`)
	rows := mustRead(t, parse(t, "id=i,parent=p"), text.String())
	place := map[string]int{}
	for i, row := range rows {
		if p, ok := place[row.Header.ParentID]; row.Header.ParentID != "" && (!ok || p >= i) {
			t.Fatalf("row %d comes before its parent", i)
		}
		place[row.Header.ID] = i
	}
	if len(rows) != n+3 {
		t.Errorf("%d rows, want %d", len(rows), n+3)
	}
}

func TestRead_saysWhichRowIsWrong(t *testing.T) {
	for _, c := range []struct{ name, m, text, want string }{
		{"not JSON", "", "{\"a\":1}\n{\"a\":\n", "in: line 2: byte 6: "},
		{"a broken document", "", "{\n\"a\":x}", "in: byte 6: "},
		{"nothing", "", " \n", "in: there is nothing in it"},
		{"no state", "state=s", "{\"s\":1}\n{\"t\":1,\"u\":2}", "in: line 2: state: s leads to nothing; the row has t, u"},
		{"no state, by an id that is new", "state=s,id=t", "{\"s\":1,\"t\":1}\n{\"t\":2}", "in: line 2: state: s leads to nothing; the row has t"},
		{"no id", "id=a.b", "{\"a\":{\"b\":1}}\n{\"a\":{\"b\":null}}", "in: line 2: id: a.b leads to nothing; the row has a"},
		{"an empty id", "id=a", "{\"a\":\"\"}", "in: id: a leads to nothing; the row has a"},
		{"no object", "id=a", "[1]", "in: /0: id: a leads to nothing; the row is a number"},
		{"an array in lines", "id=a", "[1]\n[2]", "in: line 1: id: a leads to nothing; the row is an array"},
		{"a text that is no JSON", "state=s|fromjson", `{"s":"{"}`, "in: state: |fromjson: the text is not JSON: "},
		{"a text that is none", "state=s|fromjson", `{"s":{}}`, "in: state: |fromjson enters a text, and it is an object"},
		{"a text that holds less", "id=s|fromjson.x", `{"s":"{}"}`, "in: id: s|fromjson.x leads to nothing; the row has s"},
		{"where in no text", "where=s|fromjson==1", `{"s":1}`, "in: where: |fromjson enters a text, and it is a number"},
		{"where takes none", "where=type==message", "{\"type\":1}\n{}", "in: where: type==message takes none of 2 rows"},
		{"no session", "session=a", "{}", "in: session: a leads to nothing; the row is an object of nothing"},
		{"$ is the document", "rows=$[*],id=$.a", `[{"a":1}]`, "in: /0: id: $.a leads to nothing; the document is an array; $ is the document here, and @ the row"},
		{"no rows", "rows=$.a.b[*]", `{"a":{"c":1}}`, "in: rows: $.a.b[*] leads to no array and to no object; the document has a"},
		{"rows of a number", "rows=/a", `{"a":1}`, "in: rows: /a leads to no array and to no object; the document has a"},
		{"an id that is an object", "id=a", `{"a":{}}`, "in: id: a text or a number was expected, and it is an object"},
		{"a parent that is true", "parent=a", `{"a":true}`, "in: parent: a text or a number was expected, and it is a true"},
		{"an index that is half", "index=a", `{"a":1.5}`, "in: index: a whole number was expected, and it is 1.5"},
		{"an index that is text", "index=a", `{"a":"1"}`, `in: index: a whole number was expected, and it is "1"`},
		{"a turn without bounds", "turn=a", `{"a":1e300}`, "in: turn: a whole number was expected, and it is 1e300"},
		{"an event that is a list", "event=a", `{"a":[]}`, "in: event: "},
		{"orphaned by a word", "orphaned=a", `{"a":"yes"}`, "in: orphaned: true or false was expected, and it is a string"},
		{"a time that is none", "time=a", "{}\n{\"a\":\"soon\"}", `in: line 2: time: "soon" is no time: want RFC 3339`},
		{"a state of NaN", "state=s", "{\"s\":1}\n{\"s\":{\"x\":[1,NaN]}}", "in: line 2: state: the state is not one JSON value: /s/x/1 is NaN, which JSON does not have"},
		{"one id for two states", "id=a,state=s", "{\"a\":1,\"s\":1}\n{\"a\":2,\"s\":1}\n{\"a\":1,\"s\":2}", `in: line 3: id: "1" was there with another state in in: line 1; without id in the map`},
	} {
		t.Run(c.name, func(t *testing.T) {
			rows, err := read(t, parse(t, c.m), in(c.text))
			if err == nil || !strings.HasPrefix(err.Error(), "mapped: "+c.want) {
				t.Errorf("the error is\n%v, want\nmapped: %s", err, c.want)
			}
			if _, ok := errors.AsType[*mapped.RowError](err); !ok || len(rows) != 0 {
				t.Errorf("%d rows, and an error that is a %T", len(rows), err)
			}
		})
	}
}

func TestRead_timesAreReadAsTheyAreWritten(t *testing.T) {
	for value, want := range map[string]string{
		`"2025-03-01T10:00:00Z"`:                "2025-03-01T10:00:00Z",
		`"2025-03-01T10:00:00.123456789+02:00"`: "2025-03-01T10:00:00.123456789+02:00",
		`"2025-03-01T10:00:00.123456"`:          "2025-03-01T10:00:00.123456Z",
		`"2025-03-01T10:00:00.123456+00:00"`:    "2025-03-01T10:00:00.123456Z",
		`"2025-03-01 10:00:00.5-05:30"`:         "2025-03-01T10:00:00.5-05:30",
		`"2025-03-01 10:00:00"`:                 "2025-03-01T10:00:00Z",
		`"2025-03-01T10:00:00+0200"`:            "2025-03-01T10:00:00+02:00",
		`"2025-03-01T10:00"`:                    "2025-03-01T10:00:00Z",
		`"2025-03-01"`:                          "2025-03-01T00:00:00Z",
		`"Sat Mar 01 2025 10:00:00 GMT+0100 (Central European Standard Time)"`: "2025-03-01T10:00:00+01:00",
		`"Sat, 01 Mar 2025 10:00:00 GMT"`:                                      "2025-03-01T10:00:00Z",
		"1740823200":                                                           "2025-03-01T10:00:00Z",
		"1740823200.123456":                                                    "2025-03-01T10:00:00.123456Z",
		"1740823200.1234567891":                                                "2025-03-01T10:00:00.123456789Z",
		"1740823200123":                                                        "2025-03-01T10:00:00.123Z",
		"1740823200123.5":                                                      "2025-03-01T10:00:00.1235Z",
		"1740823200123456":                                                     "2025-03-01T10:00:00.123456Z",
		"1740823200123456789":                                                  "2025-03-01T10:00:00.123456789Z",
		`"1740823200"`:                                                         "2025-03-01T10:00:00Z",
		"1.7408232e9":                                                          "2025-03-01T10:00:00Z",
		"0":                                                                    "1970-01-01T00:00:00Z",
		"-1.5":                                                                 "1969-12-31T23:59:58.5Z",
		"-1740823200123":                                                       "1914-11-02T13:59:59.877Z",
		"null":                                                                 "0001-01-01T00:00:00Z",
		`"20250301"`:                                                           "",
		`"2025"`:                                                               "",
		`""`:                                                                   "",
		"1e30":                                                                 "",
		"true":                                                                 "",
		`"0x1p40"`:                                                             "",
		`"Sat, 01 Mar 2025 10:00:00 CET"`:                                      "",
		`"12025-03-01T10:00:00Z"`:                                              "",
	} {
		rows, err := read(t, parse(t, "time=t"), in(`{"t":`+value+`}`))
		switch {
		case want == "" && !errors.Is(err, mapped.ErrTime):
			t.Errorf("%s: %v, want %v", value, err, mapped.ErrTime)
		case want != "" && err != nil:
			t.Errorf("%s: %v", value, err)
		case want != "" && rows[0].Header.CreatedAt.Format(time.RFC3339Nano) != want:
			t.Errorf("%s is %s, want %s", value, rows[0].Header.CreatedAt.Format(time.RFC3339Nano), want)
		}
	}
}

func TestRead_titlesAndEvents(t *testing.T) {
	const text = `{"s":{"messages":[{"role":"user","content":"hello"}]},"t":"first\nsecond","e":"toolIterationEnd","n":2}`
	for m, want := range map[string]string{
		"state=s":                        "hello|imported",
		"state=s,title=t":                "first|imported",
		"state=s,title='it is',event=e":  "it is|tool iteration",
		"state=s,title=missing,event=n":  "hello|invocation end",
		"state=s,event=missing":          "hello|imported",
		"state=s,event='turnEnd'":        "hello|turn end",
		"state=s,event='a \"new\" \\\\'": `hello|a "new" \`,
	} {
		h := mustRead(t, parse(t, m), text)[0].Header
		if got := h.Title + "|" + h.EventText(); got != want {
			t.Errorf("%s gives %q, want %q", m, got, want)
		}
	}
}

func TestRead_sessionsAreNamedByFilesAndFolders(t *testing.T) {
	dir := folder(t, map[string]string{
		"1.json": `1`, "2.json": `2`, "log.jsonl": "3\n4", "one.ndjson": "5", "many.json": "6\n7",
		"sub/10.json": `8`, "sub/9.json": `9`, "sub/log.jsonl": "10", ".hidden.json": "{", ".git/x.json": "{", "notes.txt": "{",
	})
	rows, err := read(t, mapped.Map{}, []mapped.Source{{Path: dir}})
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, row := range rows {
		got += row.Header.SessionID + "=" + string(row.State) + " "
	}
	hold(t, got, "run=1 run=2 log=3 log=4 many=6 many=7 one=5 run/sub=9 run/sub=8 sub/log=10")

	_, err = read(t, mapped.Map{}, mapped.From(nil, filepath.Join(dir, "log.jsonl"), filepath.Join(dir, "sub", "log.jsonl")))
	if err == nil || !strings.Contains(err.Error(), `would make the session "log"`) {
		t.Errorf("two files of one name are one session: %v", err)
	}
	rows, err = read(t, parse(t, "session='both'"), mapped.From(strings.NewReader("11\n12"), filepath.Join(dir, "log.jsonl"), filepath.Join(dir, "2.json"), "-"))
	if err != nil {
		t.Fatal(err)
	}
	got = ""
	for _, row := range rows {
		got += row.Header.SessionID + "=" + string(row.State) + " "
	}
	hold(t, got, "both=3 both=4 both=2 both=11 both=12")
}

func TestRead_foldersAreNotLeft(t *testing.T) {
	secret := filepath.Join(folder(t, map[string]string{"secret.json": `"secret"`}), "secret.json")
	dir := folder(t, map[string]string{"1.json": `1`})
	for name, to := range map[string]string{"2.json": secret, "sub": filepath.Dir(secret), "loop": "."} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	storetest.Pipe(t, filepath.Join(dir, "3.json"))
	check := storetest.Untouched(t, dir)
	rows, err := read(t, mapped.Map{}, []mapped.Source{{Path: dir}})
	if err != nil || len(rows) != 1 || string(rows[0].State) != "1" {
		t.Errorf("%s, %v; want the one file that is one", lines(rows), err)
	}
	check()
	// What a person names is followed, also where it is a link.
	if rows, err = read(t, mapped.Map{}, mapped.From(nil, filepath.Join(dir, "2.json"))); err != nil || len(rows) != 1 {
		t.Errorf("%s, %v; want the file that was named", lines(rows), err)
	}
	if _, err = read(t, mapped.Map{}, mapped.From(nil, t.TempDir())); err == nil || !strings.Contains(err.Error(), "no file in the folder") {
		t.Errorf("an empty folder: %v", err)
	}
	if _, err = read(t, mapped.Map{}, mapped.From(nil, filepath.Join(dir, "missing.json"))); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// A pipe that a person names is read as a stream.
func TestRead_pipesAreStreams(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "rows.jsonl")
	storetest.Pipe(t, pipe)
	go func() { _ = os.WriteFile(pipe, []byte("1\n2\n"), 0) }()
	rows, err := read(t, parse(t, "id=$"), mapped.From(nil, pipe))
	if err != nil {
		t.Fatal(err)
	}
	hold(t, lines(rows), "rows #0 1< 1\nrows #1 2<1 head inferred 2")
}

func TestRead_aFileThatChangesMeanwhileIsAnError(t *testing.T) {
	for name, now := range map[string]string{"another": `{"x":2}`, "shorter": `1`, "longer": `{"x":11}`} {
		dir := folder(t, map[string]string{"1.json": `{"x":0}`, "2.json": `{"x":1}`})
		var err error
		n := 0
		for row, wrong := range mapped.Read(t.Context(), []mapped.Source{{Path: dir}}, mapped.Map{}, nil) {
			if err = wrong; err != nil {
				break
			}
			if n++; string(row.State) == `{"x":0}` {
				if err := os.WriteFile(filepath.Join(dir, "2.json"), []byte(now), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		if n != 1 || err == nil || !strings.HasSuffix(err.Error(), "2.json: state: it changed while it was read") {
			t.Errorf("%s: %d rows, %v", name, n, err)
		}
	}
}

func TestRead_stopsWhenItIsTold(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	var err error
	for _, wrong := range mapped.Read(ctx, in("1\n2\n3"), mapped.Map{}, nil) {
		if err = wrong; err == nil {
			n++
		}
		cancel()
	}
	if n != 1 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d rows, %v", n, err)
	}
	for range mapped.Read(t.Context(), in("1\n2\n3"), mapped.Map{}, nil) {
		break
	}
}

// Memory holds headers and one document, not what is imported.
func TestRead_memoryIsBounded(t *testing.T) {
	skip.Counting(t)
	const rows, size, most = 1200, 32 << 10, 12 << 20
	state := `"` + strings.Repeat("x", size) + `"`
	text := func(yield func(string) bool) {
		for i := range rows {
			if !yield(fmt.Sprintf(`{"i":%d,"s":%s}`+"\n", i, state)) {
				return
			}
		}
	}
	path := filepath.Join(t.TempDir(), "rows.jsonl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range text {
		if _, err := f.WriteString(line); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	var stats runtime.MemStats
	n := 0
	for row, err := range mapped.Read(t.Context(), mapped.From(nil, path), parse(t, "id=i,state=s"), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n%400 == 0 {
			runtime.GC()
			if runtime.ReadMemStats(&stats); stats.HeapAlloc > most {
				t.Errorf("after %d rows %d bytes are in use", n, stats.HeapAlloc)
			}
		}
		_ = row
	}
	if n != rows {
		t.Errorf("%d rows, want %d", n, rows)
	}
}

// A document that is an array is its rows, unless a path begins at the document.
func TestRead_ofAnArray(t *testing.T) {
	const text = "[{\"id\":\"a\",\"s\":1},\n {\"id\":\"b\",\"s\":[2]}]"
	with := mustRead(t, parse(t, "rows=$[*],id=id,state=s"), text)
	hold(t, lines(mustRead(t, parse(t, "id=id,state=s"), text)), lines(with))
	hold(t, lines(with), "in #0 a< 1\nin #1 b<a head inferred [2]\n")
	hold(t, lines(mustRead(t, parse(t, "id=$[0].id,state=$"), text)), "in #0 a< head "+text+"\n")
	hold(t, lines(mustRead(t, parse(t, "id=/0"), "[\"a\"]\n[\"b\"]")), "in #0 a< [\"a\"]\nin #1 b<a head inferred [\"b\"]\n")
}

// Rows of another kind are passed over and counted, whatever is wrong with them.
func TestRead_where(t *testing.T) {
	const text = `{"type":"message","id":1,"s":1}
{"type":"ping"}
{"type":"message","id":2,"s":2,"n":3}
{"other":true}
`
	for where, want := range map[string]struct {
		rows    string
		skipped int
	}{
		"where=type==message":         {"1 2", 2},
		"where=type=='message'":       {"1 2", 2},
		"where = type == \"message\"": {"1 2", 2},
		"where=n==3":                  {"2", 3},
		"where=/id!=":                 {},
		"where=n!=3,where=id==1":      {},
	} {
		m, err := mapped.ParseMap("id=id,state=s," + where)
		if want.rows == "" {
			if err == nil {
				t.Errorf("%s is taken", where)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		skipped, ids := -1, ""
		for row, err := range mapped.Read(t.Context(), in(text), m, func(n int) { skipped = n }) {
			if err != nil {
				t.Fatalf("%s: %v", where, err)
			}
			if skipped < 0 {
				t.Errorf("%s: a row is given before it is told how many are skipped", where)
			}
			ids += " " + row.Header.ID
		}
		if ids[1:] != want.rows || skipped != want.skipped {
			t.Errorf("%s: rows%s, %d skipped", where, ids, skipped)
		}
	}
	if m := parse(t, "id=id,state=s,where=type!=ping"); len(mustRead(t, m, `{"type":"ping"}`+"\n"+`{"id":1,"s":1}`)) != 1 {
		t.Error("a row without the value is not another than it")
	}
}

// JSON that is in a text is entered, in every column and as often as is asked.
func TestRead_fromJSON(t *testing.T) {
	inner := `{ "at": 1.50, "values": {"n":1,"é":"\u00e9"}, "deep": "{\"k\":\"v\"}" }`
	quoted, err := json.Marshal(inner)
	if err != nil {
		t.Fatal(err)
	}
	text := `{"c":` + string(quoted) + `,"s":"x"}`
	for m, want := range map[string]string{
		"state=c|fromjson":                                                   inner,
		"state=c|fromjson.values":                                            `{"n":1,"é":"\u00e9"}`,
		"state=c | fromjson['deep'] | fromjson .k":                           `"v"`,
		"state=c|fromjson.at,id=c|fromjson.deep|fromjson.k,session=s":        `1.50`,
		"state=s,title=c|fromjson.deep|fromjson.k,where=c|fromjson.at==1.50": `"x"`,
	} {
		rows := mustRead(t, parse(t, m), text)
		if len(rows) != 1 || string(rows[0].State) != want || rows[0].Header.Size != int64(len(want)) {
			t.Errorf("%s: %s", m, rows[0].State)
		}
	}
	for _, m := range []string{"state=c|tojson", "state=c|", "state=c|fromjson|", "rows=$.c|fromjson[*]"} {
		if _, err := mapped.ParseMap(m); err == nil {
			t.Errorf("%s is taken", m)
		}
	}
}
