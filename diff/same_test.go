package diff

import (
	"context"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hindcast/model/jsontape"
	"hindcast/model/jsontape/jsontest"
	"hindcast/store/storetest/skip"
)

func isSame(t failer, old, new []byte) bool {
	t.Helper()
	is, err := sameValue(context.Background(), old, new)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return is
}

// inAnyOrder is the spelling of one program, but for white space and the order of keys.
type inAnyOrder struct{ looseSpelling }

func (inAnyOrder) number(n number) string { return plainSpelling{}.number(n) }
func (inAnyOrder) quote(s string) string  { return plainSpelling{}.quote(s) }

func TestSameValue_findsWhatWasWrittenAnew(t *testing.T) {
	skip.Sequential(t)
	rapid.Check(t, func(t *rapid.T) {
		v := container(t)
		old, new := text(v, inAnyOrder{looseSpelling{t}}), text(v, inAnyOrder{looseSpelling{t}})
		if !isSame(t, old, new) && !strings.Contains(string(old), `\u`) {
			t.Fatalf("not found to be the same:\n%s\n%s", old, new)
		}
	})
}

// What it takes for the same is the same for tapes.
func TestSameValue_isNeverWrong(t *testing.T) {
	skip.Sequential(t)
	rapid.Check(t, func(t *rapid.T) {
		v := container(t)
		old, new := text(v, looseSpelling{t}), text(change(t, v), looseSpelling{t})
		a, b := parse(t, old), parse(t, new)
		if isSame(t, old, new) && !jsontape.Equal(a, 0, b, 0) {
			t.Fatalf("taken for the same:\n%s\n%s", old, new)
		}
	})
}

func TestSameValue_pictures(t *testing.T) {
	many := func(from, step int) string {
		keys := strings.Fields(strings.Repeat("k ", 40))
		for i := range keys {
			keys[i] = `"` + strings.Repeat("k", (i*step+from)%40+1) + `":0`
		}
		return "{" + strings.Join(keys, ", ") + "}"
	}
	for _, c := range []struct {
		old, new string
		want     bool
	}{
		{`[1,2]`, ` [ 1 , 2 ]` + "\n", true},
		{`{"a":1,"b":[{}]}`, `{"b": [{ }], "a": 1}`, true},
		{many(0, 1), many(3, 7), true},
		{`{}`, `{"a":1}`, false},
		{`{"a":1,"b":2}`, `{"b":2}`, false},
		{`{"a":1,"b":2}`, `{"b":1,"a":2}`, false},
		{`[12]`, `[1 2]`, false},
		{`[1, 2]`, `[12]`, false},
		{`["a b"]`, `["a  b"]`, false},
		{`[1 2]`, `[1  2]`, false},                // no JSON
		{`["a\x"]`, `[ "a\x"]`, false},            // no JSON
		{`[NaN]`, `[ NaN]`, false},                // left to the tapes
		{`{"a":1,}`, `{"a":1 ,}`, false},          // no JSON
		{`{"a":1 "b":2}`, `{"b":2 "a":1}`, false}, // no JSON
		{`{"a":1,"b":2}`, `{"a":1 "b":2}`, false},
		{`{"a":1,"b":2}`, `{"b":2 "a":1}`, false},
		{`{"a":1,"b":2}`, `{"b":2,"a":1,}`, false},
		{`{"a":1,"b":2}`, `{"a":1,"b":2,}`, false},
		{`{"a":1,"b":2}`, `{"b":2,"a":1,"c":3}`, false},
		{`{"a":1,"b":2,"c":3}`, `{"b":2,"a":1}`, false},
		{`[1]x`, `[ 1]x`, false},
		{`[1`, `[ 1`, false},
		{``, ` `, false},
		{`1`, ` 1 `, true},
		// The last of duplicate keys counts.
		{`{"a":1,"a":2,"b":0}`, `{"b":0,"a":2,"a":1}`, false},
		{`{"a":1,"a":2,"b":0}`, `{"b":0,"a":1,"a":2}`, true},
		{`{"a":1,"\u0061":2}`, `{"\u0061":2,"a":1}`, false},
		{`{"a":1,"b":2,"a":3}`, `{"a":1,"a":3,"b":2}`, true},
	} {
		if got := isSame(t, []byte(c.old), []byte(c.new)); got != c.want {
			t.Errorf("%s and %s: same %v", c.old, c.new, got)
		}
	}
}

// A state that another program wrote is compared without a tape: what it takes in
// memory has nothing to do with its size.
func TestCompare_keepsNothingOfWhatWasWrittenAnew(t *testing.T) {
	skip.Counting(t)
	for _, p := range jsontest.Pairs(1 << 20) {
		if p.Name != "reformatted" && p.Name != "reordered" {
			continue
		}
		old, new := Bytes(p.Old), Bytes(p.New)
		if n := testing.AllocsPerRun(3, func() { compare(t, old, new) }); n > 100 {
			t.Errorf("%s: %v allocations", p.Name, n)
		}
	}
}

// Objects in objects, all with keys in another order, are not read again and again.
func TestSameValue_isBounded(t *testing.T) {
	jsontest.Linear(t, 8000, func(n int) func() {
		old := []byte(strings.Repeat(`{"a":0,"b":`, n) + "1" + strings.Repeat("}", n))
		new := []byte(strings.Repeat(`{"b":`, n) + "1" + strings.Repeat(`,"a":0}`, n))
		return func() { isSame(t, old, new) }
	})
	deep := jsontape.MaxDepth + 1
	old := strings.Repeat("[", deep) + strings.Repeat("]", deep)
	if isSame(t, []byte(old), []byte(" "+old)) {
		t.Error("deeper than a text may be, and taken for the same")
	}
}

func TestSameValue_canBeCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	old := []byte("[" + strings.Repeat("1,", 10_000) + "1]")
	if _, err := sameValue(ctx, old, append([]byte(" "), old...)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that it was cancelled", err)
	}
}
