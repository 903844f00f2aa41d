package jsontape

import (
	"bytes"
	"encoding/json"
	"io"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestEqual_comparesValues(t *testing.T) {
	long := strings.Repeat("9", 400)
	groups := [][]string{
		{`1`, `1.0`, `1e0`, `10e-1`, `0.1E1`, `1.000`, `0.001e+3`},
		{`-1`, `-1.0`, `-10e-1`},
		{`0`, `-0`, `0.0`, `0e5`, `-0.0e-99999999999999999999999`},
		{`100`, `1e2`, `1.00e2`, `1000e-1`},
		{`1.5`, `15e-1`, `0.15e1`, `150e-2`},
		{`9007199254740993`, `9007199254740993.0`},
		{`9007199254740992`}, // the same float64
		{long, long + ".0", long + "0e-1"},
		{long + "1"},
		{`1e1000`, `10e999`},
		{`1e1001`},
		{`1e99999999999999999999`, `10e99999999999999999998`, `0.1e100000000000000000000`, `1e+0099999999999999999999`},
		{`1e-99999999999999999999`, `10e-100000000000000000000`, `0.1e-99999999999999999998`},
		{`1e99999999999999999998`},
		{`1e999999999999999999`, `0.1e1000000000000000000`, `100e999999999999999997`},
		{`"a"`, `"\u0061"`},
		{`"\n\"\\/"`, `"\u000a\u0022\u005c\/"`},
		{`"é"`, `"\u00e9"`, `"\u00E9"`},
		{`"e\u0301"`}, // the same to a reader, another string
		{`"😀"`, `"\ud83d\ude00"`},
		{`"\ud83d"`}, {`"\ude00"`}, {`"\ufffd"`, `"` + "\ufffd" + `"`}, {"\"\xff\""}, {"\"\xfe\""},
		{`"1"`}, {`true`}, {`false`}, {`null`}, {`""`}, {`[]`}, {`{}`}, {`[[]]`}, {`[{}]`}, {`[null]`}, {`{"":null}`},
		{`{"a":1,"b":2}`, `{"b":2.0,"a":1}`, ` { "a" : 1 , "\u0062" : 2 } `, `{"a":9,"a":1,"b":2}`},
		{`{"a":2,"b":1}`},
		{`{"a":1,"b":2,"c":null}`},
		{`[1,2]`, `[1.0,2]`},
		{`[2,1]`},
		{`[[1],2]`}, {`[[1,2]]`}, {`[1,[2]]`},
		{`{"a":{"b":[1,{"c":"x"}]}}`, `{"a":{"b":[1.0,{"c":"\u0078"}]}}`},
	}
	type value struct {
		text  string
		group int
	}
	var all []value
	for i, g := range groups {
		for _, text := range g {
			all = append(all, value{text, i})
		}
	}
	for _, a := range all {
		for _, b := range all {
			x, y := mustParse(t, a.text), mustParse(t, b.text)
			if got, want := Equal(x, 0, y, 0), a.group == b.group; got != want {
				t.Errorf("%.50s and %.50s: equal %v", a.text, b.text, got)
			}
			if got, want := x.Hash(0) == y.Hash(0), a.group == b.group; got != want && !bothHuge(a.text, b.text) {
				t.Errorf("%.50s and %.50s: same hash %v", a.text, b.text, got)
			}
		}
	}
}

// bothHuge: exponents from maxPower on are left out of the hash.
func bothHuge(a, b string) bool {
	return strings.Contains(a, "e") && strings.Contains(b, "e") && len(a) > 18 && len(b) > 18
}

func TestEqualScalar_isForScalarsOnly(t *testing.T) {
	all := []string{`null`, `true`, `false`, `1`, `"a"`, `[]`, `{}`}
	for i, a := range all {
		for j, b := range all {
			want := i == j && a != `[]` && a != `{}`
			if got := EqualScalar(mustParse(t, a), 0, mustParse(t, b), 0); got != want {
				t.Errorf("%s and %s: %v", a, b, got)
			}
		}
	}
}

func TestEqual_tellsNamedNumbersApart(t *testing.T) {
	all := []string{"NaN", "Infinity", "-Infinity", "1"}
	for i, a := range all {
		for j, b := range all {
			x, _, _ := ParseTolerant([]byte(a))
			y, _, _ := ParseTolerant([]byte(b))
			if Equal(x, 0, y, 0) != (i == j) {
				t.Errorf("%s and %s", a, b)
			}
		}
	}
}

// value decodes one JSON value with numbers as exact fractions. It gives false
// where an exponent is too large for that.
func value(data []byte) (any, bool) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil, false
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, false
	}
	return exact(v)
}

func exact(v any) (any, bool) {
	ok := true
	switch v := v.(type) {
	case json.Number:
		if i := strings.IndexAny(string(v), "eE"); i >= 0 && len(v)-i > 5 {
			return nil, false
		}
		r, ok := new(big.Rat).SetString(string(v))
		if !ok {
			return nil, false
		}
		return "#" + r.String(), true
	case string:
		return `"` + v, true
	case []any:
		for i := range v {
			if v[i], ok = exact(v[i]); !ok {
				return nil, false
			}
		}
	case map[string]any:
		for k := range v {
			if v[k], ok = exact(v[k]); !ok {
				return nil, false
			}
		}
	}
	return v, true
}

func FuzzEqual(f *testing.F) {
	for _, s := range [][2]string{
		{`[1,2.50]`, `[1.0,25e-1]`}, {`{"a":1,"b":[]}`, `{"b":[],"a":1}`}, {`"\u0061"`, `"a"`}, {`{"a":1,"a":2}`, `{"a":2}`},
		{`-0.0`, `0`}, {`1e5`, `100000`}, {`[[],{}]`, `[{},[]]`},
	} {
		f.Add([]byte(s[0]), []byte(s[1]))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		x, errX := Parse(a)
		y, errY := Parse(b)
		if errX != nil || errY != nil {
			return
		}
		got := Equal(x, 0, y, 0)
		if got && x.Hash(0) != y.Hash(0) {
			t.Fatal("equal, but the hashes differ")
		}
		if got != Equal(y, 0, x, 0) {
			t.Fatal("not symmetric")
		}
		v, ok := value(a)
		w, okToo := value(b)
		if !ok || !okToo {
			return
		}
		j, _ := json.Marshal(v)
		k, _ := json.Marshal(w)
		same := bytes.Equal(j, k)
		if got && !same {
			t.Fatalf("called equal: %s and %s", j, k)
		}
		if !got && same && !bytes.Contains(j, []byte("\ufffd")) {
			t.Fatalf("called different: %s and %s", j, k)
		}
	})
}

// Few members are matched in another way than many; both have to agree.
func TestMatchMembers_fewAndManyAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	object := func() string {
		var members []string
		for range r.IntN(8) {
			key := []string{`"a"`, `"\u0061"`, `"b"`, `"c"`, `"\/"`, `"/"`, `""`}[r.IntN(7)]
			members = append(members, key+":1")
		}
		return "{" + strings.Join(members, ",") + "}"
	}
	for range 2000 {
		a, b := mustParse(t, object()), mustParse(t, object())
		var few, many []Pair
		matchFew(a, a.First(0), b, b.First(0), func(p Pair) bool { few = append(few, p); return true })
		matchRest(a, a.First(0), b, b.First(0), func(p Pair) bool { many = append(many, p); return true })
		if !slices.Equal(few, many) {
			t.Fatalf("%s and %s: %v, %v", a.Data(), b.Data(), few, many)
		}
		if got := slices.Collect(MatchMembers(a, 0, b, 0)); len(got) != len(few) {
			t.Fatalf("%s and %s: %v, %v", a.Data(), b.Data(), got, few)
		}
	}
}
