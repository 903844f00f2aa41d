package diff

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hindcast/model/jsontape"
	"hindcast/model/jsontape/jsontest"
)

// inStep compares in step whatever the size, with every choice of tapes, and
// gives how often it did not have to give up. Each result has to be the one
// that tapes give.
func inStep(t failer, old, new []byte) (stayed int) {
	t.Helper()
	want := compare(t, FromTape(parse(t, old)), FromTape(parse(t, new)))
	for way, s := range ways(t, old, new) {
		if way == "both tapes" {
			continue
		}
		got, err := compareInStep(context.Background(), s[0], s[1], 1)
		if errors.Is(err, errOutOfStep) {
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", way, err)
		}
		stayed++
		if picture(got) != picture(want) {
			t.Fatalf("%s:\nold   %s\nnew   %s\nstep  %s\ntapes %s", way, old, new, picture(got), picture(want))
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%s:\nold   %s\nnew   %s\n%+v\n%+v", way, old, new, got.Entries, want.Entries)
		}
	}
	return stayed
}

func TestCompareInStep_isTheSameAsWithTapes(t *testing.T) {
	stayed, all := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		v := container(t)
		w := change(t, v)
		stayed += inStep(t, text(v, plainSpelling{}), text(w, plainSpelling{}))
		all += 3
	})
	t.Logf("%d of %d stayed in step", stayed, all)
	if stayed < all/3 {
		t.Errorf("only %d of %d comparisons stayed in step", stayed, all)
	}
}

// Long arrays, whose common heads are skipped, with spaces here and there.
func TestCompareInStep_isTheSameOnLongArrays(t *testing.T) {
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
		inStep(t, old, new)
	})
}

func TestCompareInStep_isTheSameOnLargeStates(t *testing.T) {
	for _, p := range jsontest.Pairs(1 << 20) {
		if stayed := inStep(t, p.Old, p.New); stayed == 0 && p.Name != "reformatted" && p.Name != "reordered" && p.Name != "unrelated" {
			t.Errorf("%s: did not stay in step", p.Name)
		}
	}
}

// Values in values are not read again at every level.
func TestCompareInStep_goesDownBounded(t *testing.T) {
	deep := func(depth int, leaf string) []byte {
		return []byte(strings.Repeat("[[1,2],", depth) + leaf + strings.Repeat("]", depth))
	}
	if inStep(t, deep(1000, `"x"`), deep(1000, `"y"`)) == 0 {
		t.Error("did not stay in step")
	}
	inStep(t, deep(jsontape.MaxDepth-2, `"x"`), deep(jsontape.MaxDepth-2, `"y"`))
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
		got, err := compareInStep(context.Background(), Bytes(old), Bytes(new), 1)
		for _, data := range [][]byte{old, new} {
			if _, _, err := jsontape.ParseTolerant(data); err != nil {
				return // what is wrong may be in bytes that both share
			}
		}
		want := compare(t, FromTape(parse(t, old)), FromTape(parse(t, new)))
		for way, s := range ways(t, old, new) {
			r, err := compareInStep(context.Background(), s[0], s[1], 1)
			if err == nil && (r.Equal() != want.Equal() || r.Duplicates != want.Duplicates) {
				t.Fatalf("%s: %q and %q: equal %v, tapes %v", way, old, new, r.Equal(), want.Equal())
			}
		}
		for _, r := range []*Result{want, got} {
			if r == got && err != nil {
				continue
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

// Of two arrays with a few changes only one is read: the bytes of the other are
// compared with it, also behind a long stretch that is in one of them alone.
func TestCutter_readsEqualElementsOnce(t *testing.T) {
	const n, strange = 1000, 20
	var old, new []string
	for i := range n {
		e := fmt.Sprintf(`{"text":"message %d"}`, i)
		old = append(old, e)
		if i%100 != 50 {
			new = append(new, e)
		}
		if i == n/2 {
			for k := range strange {
				new = append(new, fmt.Sprintf(`{"text":"strange %d %s"}`, k, strings.Repeat("x", 50)))
			}
		}
	}
	a, b := cutter{data: []byte(list(old...)), at: 1}, cutter{data: []byte(list(new...)), at: 1}
	copied := 0
	for !a.closed || !b.closed {
		c, other := &a, &b
		if a.closed || !b.closed && len(a.data)-a.at <= len(b.data)-b.at {
			c, other = &b, &a
		}
		if k, s := c.findCopy(other); k >= 0 {
			copied++
			if !bytes.Equal(cut(c.data, s), cut(other.data, other.elements[k])) {
				t.Fatalf("element %q is taken for %q", cut(c.data, s), cut(other.data, other.elements[k]))
			}
		}
		c.next(other)
	}
	if len(a.elements) != len(old) || len(b.elements) != len(new) {
		t.Errorf("%d and %d elements were cut, want %d and %d", len(a.elements), len(b.elements), len(old), len(new))
	}
	if copied < n-3*strange {
		t.Errorf("%d of %d equal elements were not read again", copied, n-10)
	}
}
