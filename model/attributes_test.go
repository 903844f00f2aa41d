package model

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestParseAttributes(t *testing.T) {
	for in, want := range map[string]Attributes{
		`null`: "", ` {} `: "", `{ "a" : [ 1, 2 ] , "b":"c d" }`: `{"a":[1,2],"b":"c d"}`, `{"a":"<"}`: `{"a":"\u003c"}`,
	} {
		if got, err := ParseAttributes([]byte(in)); got != want || err != nil {
			t.Errorf("%s: %q, %v", in, got, err)
		}
	}
	for _, in := range []string{``, `[]`, `"a"`, `{"a":1,"a":2}`, `{"":1}`, `{"a":1`, `{"a":1}{}`} {
		if got, err := ParseAttributes([]byte(in)); err == nil || got != "" {
			t.Errorf("%s: %q, %v", in, got, err)
		}
	}
}

func TestHeader_ProgramText(t *testing.T) {
	for _, test := range []struct {
		alias      string
		attributes Attributes
		want       string
	}{
		{"", "", ""},
		{"a", "", "{a}"},
		{"", `{"status":"done"}`, "{status=done}"},
		{"a", `{"n":1,"error":{"kind":"x"},"none":null}`, `{a, n=1, error={"kind":"x"}, none=null}`},
		{"a", `{"n":1,`, `{a, n=1}`}, // a header that no store wrote
	} {
		h := Header{Alias: test.alias, Attributes: test.attributes}
		if got := h.ProgramText(); got != test.want {
			t.Errorf("%q %q: %s", test.alias, test.attributes, got)
		}
	}
}

func TestAttributes_Facts(t *testing.T) {
	got := Attributes(`{"status":"a\nb","n":[1]}`).Facts()
	want := []Fact{{Label: "status", Value: "a\nb"}, {Label: "n", Value: "[1]"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("facts %+v", got)
	}
	if text, err := json.Marshal(Attributes("")); string(text) != "null" || err != nil {
		t.Errorf("none is %s, %v", text, err)
	}
}

// TestTimeline_ResolveTakesAnAlias: the program's own id means its visit, whole or from its beginning.
func TestTimeline_ResolveTakesAnAlias(t *testing.T) {
	tl := NewTimeline([]Header{
		{ID: "aaaa", Alias: "order-7"}, {ID: "bbbb", ParentID: "aaaa", Index: 1, Alias: "order-8"}, {ID: "cccc", ParentID: "bbbb", Index: 2}, {ID: "dddd", ParentID: "cccc", Index: 3, Alias: "x"},
	})
	for spec, want := range map[string]Node{"order-7": 0, "order-8": 1, "x": 3, "cccc": 2, "order-8~1": 0} {
		if n, err := tl.Resolve(spec); n != want || err != nil {
			t.Errorf("%s is node %d, %v", spec, n, err)
		}
	}
	for _, spec := range []string{"order", "order-9", "rder-7"} {
		if n, err := tl.Resolve(spec); err == nil {
			t.Errorf("%s is node %d", spec, n)
		}
	}
}
