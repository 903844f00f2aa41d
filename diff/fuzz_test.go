package diff

import (
	"context"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"hindcast/model/jsontape"
)

// Long arrays, whose common heads are skipped, with spaces here and there.
func TestCompare_longArrays(t *testing.T) {
	element := rapid.SampledFrom([]string{`1`, `12`, `"a"`, ` "a" `, `{}`, `{"k":[1,2]}`, `{"k":[1,3]}`, ` [ ]`, `{"long":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}`})
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SliceOfN(element, longArray, 3*longArray).Draw(t, "old")
		w := slices.Clone(v)
		for range rapid.IntRange(0, 3).Draw(t, "changes") {
			at := rapid.IntRange(0, len(w)).Draw(t, "at")
			if rapid.Bool().Draw(t, "insert") {
				w = slices.Insert(w, at, element.Draw(t, "inserted"))
			} else {
				w = slices.Delete(w, at, min(at+rapid.IntRange(1, 20).Draw(t, "removed"), len(w)))
			}
		}
		old, new := []byte(list(v...)), []byte(list(w...))
		r := compare(t, FromTape(parse(t, old)), FromTape(parse(t, new)))
		checkPatch(t, r, old, new)
	})
}

// FuzzCompare takes any two texts: nothing may panic, whichever way they are
// compared the verdict is the same, and the patch leads to the second one.
func FuzzCompare(f *testing.F) {
	for _, p := range pictures {
		f.Add([]byte(p.old), []byte(p.new))
	}
	steps := realStates(f)
	for i := range len(steps) - 1 {
		f.Add(steps[i], steps[i+1])
	}
	f.Fuzz(func(t *testing.T, old, new []byte) {
		if is, _ := sameValue(context.Background(), old, new); is {
			a, b := parse(t, old), parse(t, new)
			if !jsontape.Equal(a, 0, b, 0) {
				t.Fatalf("taken for the same: %q and %q", old, new)
			}
		}
		for _, data := range [][]byte{old, new} {
			if _, _, err := jsontape.ParseTolerant(data); err != nil {
				return
			}
		}
		want := compare(t, FromTape(parse(t, old)), FromTape(parse(t, new)))
		for way, s := range ways(t, old, new) {
			r := compare(t, s[0], s[1])
			if r.Equal() != want.Equal() || r.Duplicates != want.Duplicates {
				t.Fatalf("%s: %q and %q: equal %v, tapes %v", way, old, new, r.Equal(), want.Equal())
			}
			checkFuzzedPatch(t, r, old, new)
		}
	})
}

// checkFuzzedPatch is checkPatch where json-patch is able to follow.
func checkFuzzedPatch(t *testing.T, r *Result, old, new []byte) {
	t.Helper()
	a, err := jsontape.Parse(old)
	if err != nil {
		return
	}
	b, err := jsontape.Parse(new)
	if err != nil || !isContainer(a.Kind(0)) || !isContainer(b.Kind(0)) || !cleanKeys(a) || !cleanKeys(b) {
		return
	}
	checkPatch(t, r, a.Raw(0), new)
}

// cleanKeys: json-patch decodes the root whatever the patch is, and replaces
// what is no valid Unicode in its keys.
func cleanKeys(t *jsontape.Tape) bool {
	for n := range jsontape.Node(t.Len()) {
		if !t.CleanKey(n) {
			return false
		}
	}
	return true
}
