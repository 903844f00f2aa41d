package jsonl

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
)

var lineSeeds = []string{
	`{"id":"5f7c","parentId":"","sessionId":"s","createdAt":"2026-01-02T03:04:05.6Z","state":{"a":[1,"}\"",{}]},"index":1,"turnIndex":0,"event":"turnEnd","orphaned":true}`,
	`{"id":"x","sessionId":"s","index":0,"turnIndex":0,"event":7,"head":true,"reason":{"kind":"restore","at":"2026-01-02T03:04:05+01:00","target":"x","targetIndex":2,"text":"…"},"visit":3,"parentVisit":1,"marks":["evicted"],"stateBase64":"MQ=="}`,
	`{"session":"s","turnIndex":2,"state":null}`,
	` { "st\u0061te" : 1 , "id":"x","sessionId":"s" , "other":[ {} ]} `,
	`{"id":"x","ID":"y","sessionId":"s","state":-0.0e-0}`,
	`{"id":"x","sessionId":"s","state":"\ud800"}`,
	`{"id":"x","sessionId":"s","state":[[[`,
	`{"id":"x","id":"x","sessionId":"s","state":1}`,
	"{\"id\":\"x\",\"sessionId\":\"\xff\",\"state\":1}",
	`{"":"","":1}`, `{}`, `[]`, `"`, ``, `{"id"`, `{"a":1,}`, `{"a":1}}`,
}

// FuzzParseLine holds the reader of lines against encoding/json: it takes
// every whole snapshot that encoding/json takes, sees the same in it, and takes
// nothing else but what is wrong inside the state, which it does not look at.
func FuzzParseLine(f *testing.F) {
	for _, seed := range lineSeeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		l, err := parseLine(text)
		if err != nil {
			place, ok := errors.AsType[*lineError](err)
			if !ok || place.offset < 0 || place.offset > len(text) {
				t.Fatalf("the error %v has no place in %q", err, text)
			}
		}
		if !json.Valid(text) {
			if err == nil && validOutsideState(text, l) {
				t.Fatalf("%q is no JSON, but its state is not to blame", text)
			}
			return
		}
		want, ok := oracle(text)
		if ok != (err == nil) {
			t.Fatalf("%q: %v, but encoding/json takes it: %v", text, err, ok)
		}
		if err != nil {
			return
		}
		got := model.Header{}
		if l.session == nil {
			got = l.header
		}
		if !reflect.DeepEqual(got, want.header) || !reflect.DeepEqual(l.session, want.session) || string(text[l.state.start:l.state.end]) != string(want.state) {
			t.Fatalf("%q gives %+v, want %+v", text, l, want)
		}
	})
}

// validOutsideState reports whether a line with another state is JSON: the
// line itself is not, and then its state must be the reason.
func validOutsideState(text []byte, l line) bool {
	if l.state.end == 0 {
		return true
	}
	other := bytes.Join([][]byte{text[:l.state.start], []byte("0"), text[l.state.end:]}, nil)
	return !json.Valid(other)
}

type oracleLine struct {
	header  model.Header
	session *string
	state   []byte
}

// oracle reads a line with encoding/json and model alone.
func oracle(text []byte) (line oracleLine, ok bool) {
	var members map[string]json.RawMessage
	if json.Unmarshal(text, &members) != nil || members == nil {
		return line, false
	}
	states := 0
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.Token()
	for dec.More() {
		key, _ := dec.Token()
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			return line, false
		}
		if key == "state" || key == "stateBase64" {
			states, line.state = states+1, value
		}
	}
	var header model.Header
	if states > 1 || json.Unmarshal(text, &header) != nil {
		return line, false
	}
	if _, has := members["sessionId"]; has {
		line.header = header
		return line, header.ID != ""
	}
	if json.Unmarshal(members["session"], &line.session) != nil {
		return line, false
	}
	return line, line.session != nil && states == 1
}

// FuzzScan: whatever the file, every line that is whole is in the index, and
// what is read by its place in the file is what Read gives.
func FuzzScan(f *testing.F) {
	f.Add([]byte(strings.Join(lineSeeds, "\n")))
	f.Add([]byte("\ufeff\r\n\n" + lineSeeds[0] + "\r\n\ufeff" + lineSeeds[1] + "\n" + lineSeeds[2]))
	f.Add([]byte(lineSeeds[1] + "\n" + `{"id":"x","sessionId":"s","visit":9}`))
	f.Fuzz(func(t *testing.T, file []byte) {
		x := newIndex()
		if err := x.read(t.Context(), "file", bytes.NewReader(file)); err != nil {
			t.Fatal(err)
		}
		var rows []store.Row
		var failed error
		for row, err := range Read(bytes.NewReader(file)) {
			if failed = err; err == nil {
				rows = append(rows, row)
			}
		}
		if damage := cmp.Or(x.first, x.last.err); failed == nil && damage != nil && !errors.Is(damage, store.ErrNoState) {
			t.Fatalf("a line is damaged for one reader only: %v", damage)
		}
		for _, row := range rows {
			if row.Record != nil || row.State == nil {
				continue
			}
			at := x.sessions[row.Header.SessionID].states[row.Header.ID]
			if at.start < 0 || at.end > int64(len(file)) || at.start >= at.end {
				t.Fatalf("the state of %q is said to be at %+v of %d bytes", row.Header.ID, at, len(file))
			}
		}
		var again bytes.Buffer
		if _, err := Write(&again, func(yield func(store.Row, error) bool) {
			for _, row := range rows {
				if !yield(row, nil) {
					return
				}
			}
		}); err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		i := 0
		for row, err := range Read(&again) {
			if err != nil || !bytes.Equal(row.State, rows[i].State) || row.Header.ID != rows[i].Header.ID {
				t.Fatalf("row %d came back as %+v, %v", i, row, err)
			}
			i++
		}
	})
}

// FuzzGrow: a file that is read in two parts, as somebody reads it who looks
// while it is written, is what it is when it is read at once.
func FuzzGrow(f *testing.F) {
	f.Add([]byte(strings.Join(lineSeeds, "\n")), 100)
	f.Add([]byte("\ufeff\r\n\n"+lineSeeds[0]+"\r\n\ufeff"+lineSeeds[1]+"\n"+lineSeeds[2]), 4)
	f.Add([]byte(lineSeeds[0]+"\n"+strings.Replace(lineSeeds[0], `"5f7c"`, `"6"`, 1)+"\n"), len(lineSeeds[0])+9)
	f.Fuzz(func(t *testing.T, file []byte, cut int) {
		if cut < 0 || cut > len(file) {
			return
		}
		once, parts := newIndex(), newIndex()
		for _, read := range []struct {
			x    *index
			upTo int
		}{{once, len(file)}, {parts, cut}, {parts, len(file)}} {
			if read.x.last.taken {
				return // hasGrown asks for a file to be read anew then
			}
			if err := read.x.read(t.Context(), "file", bytes.NewReader(file[read.x.end:read.upTo])); err != nil {
				t.Fatal(err)
			}
		}
		for _, x := range []*index{once, parts} {
			for _, ss := range x.sessions {
				ss.settled = 0
			}
		}
		if text := func(err error) string { return fmt.Sprint(err) }; text(once.first) != text(parts.first) || text(once.last.err) != text(parts.last.err) {
			t.Fatalf("the errors are %v and %v, at once %v and %v", parts.first, parts.last.err, once.first, once.last.err)
		}
		once.first, once.last.err, parts.first, parts.last.err = nil, nil, nil, nil
		if !reflect.DeepEqual(once, parts) {
			t.Fatalf("cut at %d of %q the index is\n%+v, at once\n%+v", cut, file, parts, once)
		}
	})
}

func TestLines_longLinesAndPlaces(t *testing.T) {
	long := strings.Repeat("x", 3<<18)
	in := newLines(strings.NewReader("a\n\n" + long + "\r\nb"))
	for _, want := range []struct {
		text   string
		number int
		start  int64
	}{{"a", 1, 0}, {long, 3, 3}, {"b", 4, int64(len(long) + 5)}} {
		text, err := in.read()
		if err != nil || string(text) != want.text || in.number != want.number || in.start != want.start {
			t.Errorf("line %d at %d has %d bytes, %v; want line %d at %d", in.number, in.start, len(text), err, want.number, want.start)
		}
	}
	if _, err := in.read(); err != io.EOF {
		t.Errorf("after the end: %v", err)
	}
}
