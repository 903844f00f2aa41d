package jsontape

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"hindcast/model/jsontape/jsontest"
)

func TestValid_decidesTheTestSuiteAsEncodingJSONDoes(t *testing.T) {
	for name, data := range suite(t) {
		if got, want := Valid(data), json.Valid(data); got != want {
			t.Errorf("%s: accepted %v, encoding/json %v", name, got, want)
		}
	}
}

// TestValid_everyByteMatters changes, drops and cuts at every byte of a text.
func TestValid_everyByteMatters(t *testing.T) {
	text := []byte(` {"a" : [1, -2.5e+7, true,false ,null, "x\u00e9\n", {}, [ ] ], "b":{"c":"\\"}} `)
	check := func(data []byte) {
		t.Helper()
		if got, want := Valid(data), json.Valid(data); got != want {
			t.Errorf("%q: accepted %v, encoding/json %v", data, got, want)
		}
	}
	check(text)
	for i := range text {
		check(text[:i])
		check(append(bytes.Clone(text[:i]), text[i+1:]...))
		for c := range 256 {
			changed := bytes.Clone(text)
			changed[i] = byte(c)
			check(changed)
		}
	}
}

func TestValid_depth(t *testing.T) {
	for _, depth := range []int{1, 63, 64, 65, MaxDepth - 1, MaxDepth, MaxDepth + 1, 3 * MaxDepth} {
		for _, c := range []struct{ open, closing string }{{"[", "]"}, {`{"a":`, "}"}} {
			data := []byte(strings.Repeat(c.open, depth) + "1" + strings.Repeat(c.closing, depth))
			if got, want := Valid(data), json.Valid(data); got != want {
				t.Errorf("%d of %s: accepted %v, encoding/json %v", depth, c.open, got, want)
			}
		}
	}
}

func FuzzValid(f *testing.F) {
	f.Add([]byte(`{"a":[1,true,null,"\u00e9"],"b":{}}`))
	f.Add([]byte(` [-0.0e-1 , {"":"` + "\xff" + `"}] `))
	f.Fuzz(func(t *testing.T, data []byte) {
		if got, want := Valid(data), json.Valid(data); got != want {
			t.Errorf("%q: accepted %v, encoding/json %v", data, got, want)
		}
	})
}

func BenchmarkValid(b *testing.B) {
	data := jsontest.New(mb, 1).JSON()
	for name, valid := range map[string]func([]byte) bool{"jsontape": Valid, "encoding/json": json.Valid} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if !valid(data) {
					b.Fatal("not valid")
				}
			}
		})
	}
}
