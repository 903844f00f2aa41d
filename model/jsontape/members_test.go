package jsontape

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"hindcast/model/jsontape/jsontest"
)

func TestMembers(t *testing.T) {
	type member struct{ key, value string }
	for text, want := range map[string][]member{
		`{}`: nil, " [ ] ": nil, "[]]": nil,
		`{"a":1}`:                   {{`"a"`, `1`}},
		` { "a" : [ 1 ] , "": {} }`: {{`"a"`, `[ 1 ]`}, {`""`, `{}`}},
		`{"a":1,"a":2}`:             {{`"a"`, `1`}, {`"a"`, `2`}},
		`{"\"}\\":"]\\"} behind`:    {{`"\"}\\"`, `"]\\"`}},
		"[1,\n\ttrue , \"x\",NaN]":  {{"", `1`}, {"", `true`}, {"", `"x"`}, {"", `NaN`}},
	} {
		var got []member
		for m, err := range Members([]byte(text)) {
			if err != nil {
				t.Errorf("%s: %v", text, err)
				break
			}
			if string(m.Value) != text[m.Offset:m.Offset+len(m.Value)] || (m.Key == nil) == (text[strings.IndexAny(text, "{[")] == '{') {
				t.Errorf("%s: %q at %d", text, m.Value, m.Offset)
			}
			got = append(got, member{string(m.Key), string(m.Value)})
		}
		if len(got) != len(want) {
			t.Errorf("%s: %q, and not %q", text, got, want)
			continue
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s: %q, and not %q", text, got, want)
			}
		}
	}
}

func TestMembers_ofWhatIsNone(t *testing.T) {
	for text, want := range map[string]int64{
		"": 0, "  ": 2, "1": 0, ` "x"`: 1, "]": 0,
		"{": 1, "[": 1, `{"a`: 3, `{"a"`: 4, `{"a":`: 5, `{"a":1`: 6, `[1`: 2, `[1,`: 3, `["a`: 3, "[[": 2,
		`{1:2}`: 1, `{"a" 1}`: 5, `{"a":}`: 5, `{"a":1,}`: 7, `{"a":1]`: 6, `{"a":1 "b":2}`: 7, `{,}`: 1,
		`[1,]`: 3, `[,1]`: 1, `[1 2]`: 3, `[1}`: 2, `[:]`: 1,
	} {
		last := errors.New("none")
		for m, err := range Members([]byte(text)) {
			if last = err; err != nil && (m.Key != nil || m.Value != nil || m.Offset != 0) {
				t.Errorf("%s: %+v comes with an error", text, m)
			}
		}
		if syntax := (*SyntaxError)(nil); !errors.As(last, &syntax) || syntax.Offset != want {
			t.Errorf("%s: %v, and not an error at %d", text, last, want)
		}
	}
}

// Whoever has enough stops.
func TestMembers_stops(t *testing.T) {
	for text, most := range map[string]int{`[1,2,`: 1, `{"a":1,"b":2}`: 2, `[1,2,3]`: 3} {
		n := 0
		for _, err := range Members([]byte(text)) {
			if n++; n == most || err != nil {
				break
			}
		}
		if n != most {
			t.Errorf("%s: %d members", text, n)
		}
	}
}

// Of every text that parses, Members finds what Parse does; of any other, it
// finds values that are there, one behind the other, or says where it ends.
func FuzzMembers(f *testing.F) {
	for _, text := range messages(f) {
		f.Add(text)
	}
	for _, text := range suite(f) {
		if len(text) < 1000 {
			f.Add(text)
		}
	}
	f.Add(jsontest.New(2000, 1).JSON())
	f.Fuzz(func(t *testing.T, text []byte) {
		tape, wrong := Parse(text)
		var want Node = None
		if wrong == nil && (tape.Kind(0) == Object || tape.Kind(0) == Array) {
			want = tape.First(0)
		}
		behind := 0
		for m, err := range Members(text) {
			if err != nil {
				syntax := (*SyntaxError)(nil)
				if !errors.As(err, &syntax) || syntax.Offset < 0 || syntax.Offset > int64(len(text)) {
					t.Errorf("%q: %v", text, err)
				}
				if wrong == nil && (tape.Kind(0) == Object || tape.Kind(0) == Array) {
					t.Errorf("%q parses: %v", text, err)
				}
				return
			}
			if m.Offset < behind || len(m.Value) == 0 || !bytes.Equal(text[m.Offset:m.Offset+len(m.Value)], m.Value) {
				t.Fatalf("%q: %q at %d, after %d", text, m.Value, m.Offset, behind)
			}
			behind = m.Offset + len(m.Value)
			if wrong != nil {
				continue
			}
			if want == None {
				t.Fatalf("%q has no member %q", text, m.Value)
			}
			if !bytes.Equal(m.Value, tape.Raw(want)) || !bytes.Equal(m.Key, tape.RawKey(want)) {
				t.Errorf("%q: %s: %q, and not %s: %q", text, m.Key, m.Value, tape.RawKey(want), tape.Raw(want))
			}
			want = tape.Next(want)
		}
		if want != None {
			t.Errorf("%q: from %q on, nothing is found", text, tape.Raw(want))
		}
	})
}

// BenchmarkMembers finds what is beside a large value: the header of a snapshot.
func BenchmarkMembers(b *testing.B) {
	for name, state := range map[string][]byte{
		"compact":  jsontest.New(10*mb, 1).JSON(),
		"indented": jsontest.New(10*mb, 1).IndentedJSON(),
		"text":     []byte(`"` + strings.Repeat("What was said, \\\"at length\\\", to an agent. ", 10*mb/42) + `"`),
	} {
		text := append(append([]byte(`{"id":"a","state":`), state...), `,"parent":"b"}`...)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				n := 0
				for _, err := range Members(text) {
					if err != nil {
						b.Fatal(err)
					}
					n++
				}
				if n != 3 {
					b.Fatal(n)
				}
			}
		})
	}
}

func TestFindMember(t *testing.T) {
	for data, want := range map[string]string{
		` {"a":1,"k": [2] ,"b":3}`: "[2]", `{"k":1,"k":2}`: "2", `{"k":null}`: "null",
		`{"a":{"k":1}}`: "", `["k"]`: "", `"k"`: "", `7`: "", ``: "", `{"k":1`: "", `{"k":1,`: "",
	} {
		if got := FindMember([]byte(data), `"k"`); string(got) != want {
			t.Errorf("of %s: %q, want %q", data, got, want)
		}
	}
}
