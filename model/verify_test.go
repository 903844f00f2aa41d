package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"hindcast/model/jsontape"
	"hindcast/store/storetest/skip"
)

// Rule 1: the id is the hash of the compact JSON as its writer serialised it,
// and a verifier says which serialisation matched.
func TestRule01_idIsTheHashOfTheCompactJSON(t *testing.T) {
	// printf '{}' | sha256sum
	if got, want := SnapshotID([]byte(`{}`)), "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"; got != want {
		t.Errorf("the id of {} is %s, not %s", got, want)
	}
	for _, test := range []struct {
		name   string
		hashed string // what the writer hashed
		stored string
		want   Serialisation
	}{
		{"as stored", `{"b":1,"a":"<é>"}`, `{"b":1,"a":"<é>"}`, SerialisationStored},
		{"stored with spaces", `{"b":1,"a":"<é>"}`, "{\n  \"b\": 1,\n  \"a\": \"<é>\"\n}\n", SerialisationCompact},
		{"hashed with spaces too", `{"b": 1}`, `{"b": 1}`, SerialisationStored},
		{"Go sorts keys and escapes", `{"a":"\u003c&"}`, `{"a":"<&"}`, SerialisationNone},
		{"Go sorts keys", `{"a":"\u003c\u0026","b":5.0}`, `{"b":5.0,"a":"<&"}`, SerialisationGo},
		{"Go takes numbers for float64", `{"a":9007199254740992,"b":5}`, `{"b":5.0,"a":9007199254740993}`, SerialisationGo},
		{"RFC 8785", `{"a":"<é>","b":1e+30}`, `{"b":1E30,"a":"<\u00e9>"}`, SerialisationRFC8785},
		{"another state", `{"a":1}`, `{"a":2}`, SerialisationNone},
		{"not JSON, but hashed as it is", `{"a":`, `{"a":`, SerialisationStored},
	} {
		v := Verify(SnapshotID([]byte(test.hashed)), []byte(test.stored))
		if v.Matched != test.want || v.OK() != (test.want != SerialisationNone) {
			t.Errorf("%s: %v, not %v (%s)", test.name, v.Matched, test.want, v.Text())
		}
		if upper := Verify(strings.ToUpper(SnapshotID([]byte(test.hashed))), []byte(test.stored)); !reflect.DeepEqual(upper, v) {
			t.Errorf("%s: %+v in upper case", test.name, upper)
		}
	}
}

func TestVerify_triesInOrderAndSaysSo(t *testing.T) {
	none := SnapshotID(nil)
	all := []Serialisation{SerialisationStored, SerialisationCompact, SerialisationGo, SerialisationRFC8785}
	for _, test := range []struct {
		id, stored string
		tried      []Serialisation
		text       string
	}{
		{SnapshotID([]byte(`1`)), `1`, all[:1], "the id is the SHA-256 of the state (stored bytes)"},
		{SnapshotID([]byte(`{"a":1}`)), `{ "a":1}`, all[:2], "the id is the SHA-256 of the state (compacted)"},
		{none, `{"a":1}`, all, "the id is not the SHA-256 of the state; tried stored bytes, compacted, Go re-marshal, RFC 8785"},
		{none, `{"a":`, all[:1], "the id is not the SHA-256 of the state; tried stored bytes (then: not JSON: unexpected end of JSON input)"},
		{none, `1e999`, all[:3], "the id is not the SHA-256 of the state; tried stored bytes, compacted, Go re-marshal (then: cannot re-marshal: the number \"1e999\" is out of range)"},
		{none, `{} {}`, all[:1], "the id is not the SHA-256 of the state; tried stored bytes (then: not JSON"},
		{"01a1fba8-d308-7108-be55-af0a42436852", `{}`, nil, "the id is not a SHA-256"},
		{none[:63], `{}`, nil, "the id is not a SHA-256"},
		{none[:63] + "g", `{}`, nil, "the id is not a SHA-256"},
		{"", ``, nil, "the id is not a SHA-256"},
	} {
		v := Verify(test.id, []byte(test.stored))
		if !reflect.DeepEqual(v.Tried, test.tried) || !strings.HasPrefix(v.Text(), test.text) {
			t.Errorf("%.12q, %q: tried %v: %s", test.id, test.stored, v.Tried, v.Text())
		}
		if (test.tried == nil) != errors.Is(v.Err, ErrNotHash) {
			t.Errorf("%.12q: %v", test.id, v.Err)
		}
	}
}

func TestVerify_standsAnything(t *testing.T) {
	large := []byte(`"` + strings.Repeat("a", maxReserialised) + `"`)
	for name, stored := range map[string][]byte{
		"deep":      []byte(strings.Repeat("[", 9_999) + strings.Repeat("]", 9_999)),
		"too deep":  []byte(strings.Repeat("[", 200_000) + strings.Repeat("]", 200_000)),
		"unclosed":  []byte(strings.Repeat(`{"a":`, 200_000)),
		"not UTF-8": []byte("{\"\xff\":\"\xed\xa0\x80\"}"),
		"surrogate": []byte(`{"\ud800":"\udfff"}`),
		"long":      []byte(strings.Repeat("9", 1<<20)),
		"large":     large,
		"nothing":   nil,
	} {
		v := Verify(strings.Repeat("0", 64), stored)
		if v.OK() || len(v.Tried) == 0 || len(v.Text()) > 1<<10 {
			t.Errorf("%s: %+v", name, v)
		}
		if v := Verify(SnapshotID(stored), stored); v.Matched != SerialisationStored {
			t.Errorf("%s: its own id: %s", name, v.Text())
		}
	}
	if v := Verify(strings.Repeat("0", 64), large); v.Err == nil || len(v.Tried) != 2 {
		t.Errorf("a large state: %s", v.Text())
	}
}

// rfc8785 returns the RFC 8785 form of a JSON text.
func rfc8785(data []byte) ([]byte, error) {
	t, err := jsontape.Parse(data)
	if err != nil {
		return nil, err
	}
	return t.AppendCanonical(nil, 0, nil)
}

func FuzzVerify(f *testing.F) {
	for _, seed := range []string{
		`{"b":1,"a":[1e30,-0,"\ud83d\ude00",null]}`, `{"a":9007199254740993,"\u20ac":0.1}`, ` [ 1 , 2 ] `, `"\ud800"`, `1e999`, `{`, "\xff", ``,
		`[1e21,1e-7,123456789012345678901234567890,5e-324]`, `{"":{"":{"":[]}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, stored []byte) {
		if v := Verify(SnapshotID(stored), stored); v.Matched != SerialisationStored {
			t.Fatalf("its own id: %s", v.Text())
		}
		if v := Verify(strings.Repeat("0", 64), stored); v.OK() {
			t.Fatalf("no id: %s", v.Text())
		}
		canonical, err := rfc8785(stored)
		if err != nil {
			return
		}
		if v := Verify(SnapshotID(canonical), stored); !v.OK() {
			t.Fatalf("the id of %s: %s", canonical, v.Text())
		}
		again, err := rfc8785(canonical)
		if err != nil || string(again) != string(canonical) {
			t.Fatalf("%s is then %s, %v", canonical, again, err)
		}
		if !json.Valid(canonical) || !utf8.Valid(canonical) {
			t.Fatalf("not JSON: %q", canonical)
		}
		var was, is any
		if json.Unmarshal(stored, &was) != nil || json.Unmarshal(canonical, &is) != nil || !reflect.DeepEqual(was, is) {
			t.Fatalf("%s is not %s", stored, canonical)
		}
	})
}

// The id of a state without the spaces is told without a copy of it: of one that is
// indented, with strings that hold quotes, spaces and escapes.
func TestVerify_compactsWithoutACopy(t *testing.T) {
	skip.Counting(t)
	compact := `{"a b":" \" \\","c":["\\\" ",{"d":" \u0022 "}],"e":1}`
	var indented bytes.Buffer
	if err := json.Indent(&indented, []byte(compact), " \t", "\t "); err != nil {
		t.Fatal(err)
	}
	if v := Verify(SnapshotID([]byte(compact)), indented.Bytes()); v.Matched != SerialisationCompact {
		t.Errorf("matched %v: %s", v.Matched, v.Text())
	}
	large := []byte(`[` + strings.Repeat(`"some text", `, 300_000) + `1]`)
	id, size := compactID(large)
	var want bytes.Buffer
	if err := json.Compact(&want, large); err != nil || id != SnapshotID(want.Bytes()) || size != want.Len() {
		t.Errorf("%s of %d bytes, and not %s of %d: %v", id, size, SnapshotID(want.Bytes()), want.Len(), err)
	}
	if n := testing.AllocsPerRun(1, func() { compactID(large) }); n > 10 {
		t.Errorf("%v allocations for a state of %d bytes", n, len(large))
	}
}
