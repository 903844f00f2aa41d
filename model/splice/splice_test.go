package splice

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"hindcast/model/jsontape"
	"hindcast/model/jsontape/jsontest"
)

func TestReplace_leavesEveryOtherByte(t *testing.T) {
	const deep = "{ \"a\" : [1.0, NaN ,\"\\ud800\"],\r\n\t\"n\":123456789012345678901234567890 , \"m\": [ {\"x\":1} , {\"x\":2} , {\"x\":3} ], \"e\":[ ], \"o\":{ } }"
	tests := []struct{ name, text, pointer, value, want string }{
		{"a scalar", deep, "/m/1/x", " 7\n", strings.Replace(deep, `{"x":2}`, `{"x":7}`, 1)},
		{"the whole, one place changed", `{ "a" : 1 , "b": [1 , 2] }`, "", "{\n \"a\": 1,\n \"b\": [1, 3]\n}", `{ "a" : 1 , "b": [1 , 3] }`},
		{"two places far apart", `{ "a" : 1 , "b": [1 , 2], "c" : 3 }`, "", `{"a":9,"b":[1,2],"c":8}`, `{ "a" : 9 , "b": [1 , 2], "c" : 8 }`},
		{"an element in front", `[ 1 , 2 ]`, "", `[0,1,2]`, `[ 0,1 , 2 ]`},
		{"an element in the middle", `[ 1 , 2 ]`, "", `[1,5,2]`, `[ 1 , 5,2 ]`},
		{"an element behind", `[ 1 , 2 ]`, "", `[1,2,3]`, `[ 1 , 2,3 ]`},
		{"the first of what was empty", `{"a":[ ],"b" : 1}`, "", `{"a":[{"k": 1}],"b":1}`, `{"a":[{"k":1}],"b" : 1}`},
		{"the first goes", `[ 1 , 2 , 3 ]`, "", `[2,3]`, `[ 2 , 3 ]`},
		{"the middle goes", `[ 1 , 2 , 3 ]`, "", `[1,3]`, `[ 1 , 3 ]`},
		{"the last goes", `[ 1 , 2 , 3 ]`, "", `[1,2]`, `[ 1 , 2 ]`},
		{"all go", `[ 1 , 2 ]`, "", `[]`, `[]`},
		{"several for one", `[ 1 , 2 , 3 ]`, "", `[1,7,8,9,3]`, `[ 1 , 7,8,9 , 3 ]`},
		{"a member is renamed", `{ "a" : 1 , "b" : 2 }`, "", `{"c":1,"b":2}`, `{ "c":1 , "b" : 2 }`},
		{"members change places", `{ "a" : 1 , "b" : 2 }`, "", `{"b":2,"a":1}`, `{ "b":2,"a":1 }`},
		{"another kind", `{ "a" : [1] }`, "/a", `{"b" : 1}`, `{ "a" : {"b":1} }`},
		{"a spelling", `[1.0]`, "", `[1.00]`, `[1.00]`},
		{"NaN where there was one", `[NaN, 1]`, "", `[NaN, 2]`, `[NaN, 2]`},
		{"a byte order mark", `[1]`, "/0", "\ufeff2", `[2]`},
		{"the last of duplicate keys", `{"a":1 ,"a":2}`, "/a", `3`, `{"a":1 ,"a":3}`},
		{"escapes in the pointer", `{"a/b~c":1}`, "/a~1b~0c", `2`, `{"a/b~c":2}`},
	}
	for _, test := range tests {
		got, err := Replace([]byte(test.text), test.pointer, []byte(test.value))
		if err != nil || string(got) != test.want {
			t.Errorf("%s: %q, %v, want %q", test.name, got, err, test.want)
		}
	}
}

func TestReplace_refuses(t *testing.T) {
	var noPlace *PointerError
	var noValue *ValueError
	for _, test := range []struct {
		name, text, pointer, value string
		is                         func(error) bool
		says                       string
	}{
		{"nothing there", `{"a":1}`, "/b", `2`, func(err error) bool { return errors.As(err, &noPlace) }, "there is nothing at /b"},
		{"no pointer", `{"a":1}`, "a", `2`, func(err error) bool { return errors.As(err, &noPlace) }, `"a" is no JSON Pointer: one begins with /`},
		{"no JSON", `{"a":1}`, "/a", "{\n  \"x\": ,\n}", func(err error) bool { return errors.As(err, &noValue) && noValue.Line == 2 && noValue.Column == 8 }, "line 2, column 8: "},
		{"nothing at all", `{"a":1}`, "/a", "", func(err error) bool { return errors.As(err, &noValue) }, "line 1, column 1: "},
		{"NaN where there was none", `[1]`, "", `[NaN]`, func(err error) bool { return errors.As(err, &noValue) }, "line 1, column 2: "},
		{"the same", `{"a": [1, 2]}`, "/a", "[\n  1,\n  2\n]\n", func(err error) bool { return errors.Is(err, ErrUnchanged) }, "nothing changed"},
		{"the text is not JSON", `{`, "", `1`, func(err error) bool { e := (*jsontape.SyntaxError)(nil); return errors.As(err, &e) }, "byte 1"},
	} {
		got, err := Replace([]byte(test.text), test.pointer, []byte(test.value))
		if got != nil || !test.is(err) || !strings.HasPrefix(err.Error(), test.says) {
			t.Errorf("%s: %q, %v", test.name, got, err)
		}
	}
}

func TestPretty(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":[1,NaN,{}],"b":[],"c":"x, {\"y\":[1]}"}`: "{\n  \"a\": [\n    1,\n    NaN,\n    {}\n  ],\n  \"b\": [],\n  \"c\": \"x, {\\\"y\\\":[1]}\"\n}\n",
		` "\ud800" `: "\"\\ud800\"\n",
		`1.50`:       "1.50\n",
	} {
		if got := string(Pretty([]byte(text))); got != want {
			t.Errorf("%s is %q, want %q", text, got, want)
		}
	}
}

func TestPretty_depthCostsNoMoreThanItsPart(t *testing.T) {
	deep := strings.Repeat("[", jsontape.MaxDepth) + "1" + strings.Repeat("]", jsontape.MaxDepth)
	if got := Pretty([]byte(deep)); len(got) > 3*mostIndent*2*jsontape.MaxDepth {
		t.Errorf("%d bytes", len(got))
	}
}

// A change at the very bottom of a deep text would be quadratic if each level
// compared what is below it.
func TestReplace_deepIsNotQuadratic(t *testing.T) {
	jsontest.Linear(t, jsontape.MaxDepth/2, func(depth int) func() {
		half := strings.Repeat(`[[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20],`, depth)
		text := half + "1" + strings.Repeat("]", depth)
		edited := strings.Replace(text, ",1]]", ",2]]", 1)
		return func() {
			got, err := Replace([]byte(text), "", []byte(edited))
			if err != nil || string(got) != half+"2"+strings.Repeat("]", depth) {
				t.Fatal(err)
			}
		}
	})
}

// Whatever is edited to whatever, the result has the tokens of the edited text;
// and what goes through Pretty comes back as it was.
func FuzzReplace(f *testing.F) {
	f.Add([]byte(`{"a":[1,2,{"b":null}]}`), []byte(`{"a":[1,3,2,{"b":true}]}`))
	f.Add([]byte(`[ 1 , 2 , 3 ]`), []byte(`[3]`))
	f.Add([]byte(`{ "a" : 1 , "b" : 2 }`), []byte(`{"b":2,"c":[],"a":1}`))
	f.Add([]byte(`[NaN,-Infinity]`), []byte(`[NaN]`))
	f.Add([]byte(`{"a":{"a":{"a":[ ]}}}`), []byte(`{"a":{"a":{"a":[[]]},"b":0}}`))
	f.Fuzz(func(t *testing.T, text, value []byte) {
		old, err := At(text, "")
		if err != nil {
			return
		}
		if _, err := Replace(text, "", Pretty(old)); err != nil && !errors.Is(err, ErrUnchanged) {
			t.Fatalf("Pretty(%q) = %q: %v", old, Pretty(old), err)
		} else if err == nil {
			t.Fatalf("Pretty(%q) = %q is another", old, Pretty(old))
		}
		got, err := Replace(text, "", value)
		want := jsontape.AppendCompact(nil, bytes.TrimPrefix(value, mark))
		if errors.Is(err, ErrUnchanged) {
			got = text
			want = jsontape.AppendCompact(nil, old)
			got, _ = At(got, "")
		} else if err != nil {
			return
		} else if got, err = At(got, ""); err != nil {
			t.Fatalf("%q to %q: %v", text, value, err)
		}
		if have := jsontape.AppendCompact(nil, got); !bytes.Equal(have, want) {
			t.Fatalf("%q to %q is %q", text, value, have)
		}
	})
}
