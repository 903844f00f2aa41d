package diff

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hindcast/store/storetest/skip"
)

// What is compared without the elements that both arrays begin with differs as the whole
// does, at the same places, and makes the same patch.
func TestResult_behind(t *testing.T) {
	skip.Sequential(t)
	element := rapid.SampledFrom([]string{`1`, `1.0`, `"a"`, `{"x":1}`, `{"x":2}`, `{"x":[1,2,3]}`, `{"x":[1,2,4]}`, `[]`, `[[1],[2]]`, `[[1],[3]]`})
	list := rapid.SliceOfN(element, 0, 6)
	rapid.Check(t, func(t *rapid.T) {
		common := list.Draw(t, "common")
		var with, bare [2]State
		for side := range 2 {
			tail, rest := list.Draw(t, "tail"), rapid.SampledFrom([]string{``, `,"more":[1,2]`, `,"more":[2,2]`}).Draw(t, "rest")
			state := func(elements []string) State {
				return Bytes([]byte(`{"list":[` + strings.Join(elements, ",") + `]` + rest + `}`))
			}
			with[side], bare[side] = state(append(common[:len(common):len(common)], tail...)), state(tail)
		}
		r, want := compare(t, bare[0], bare[1]).WithCommon("/list", 0, len(common)), compare(t, with[0], with[1])
		if got, want := picture(r), picture(want); got != want {
			t.Fatalf("changes\n%s, want\n%s", got, want)
		}
		got, err := r.Patch()
		whole, wholeErr := want.Patch()
		if err != nil || wholeErr != nil || string(got) != string(whole) {
			t.Fatalf("patch\n%s, %v, want\n%s, %v", got, err, whole, wholeErr)
		}
	})
}

// Where the old array begins with elements that the new one has lost, what both have behind them may
// be left out but for the last.
func TestResult_behindWhatIsGone(t *testing.T) {
	skip.Sequential(t)
	rapid.Check(t, func(t *rapid.T) {
		numbers := func(from int, label string) (list []string) {
			for i := range rapid.IntRange(0, 5).Draw(t, label) {
				list = append(list, fmt.Sprintf(`{"n":[%d]}`, from+i))
			}
			return list
		}
		gone, common, came := numbers(0, "gone"), numbers(100, "common"), numbers(200, "came")
		state := func(parts ...[]string) State {
			return Bytes([]byte(`{"list":[` + strings.Join(slices.Concat(parts...), ",") + `]}`))
		}
		last := []string{`"last"`}
		r := compare(t, state(gone, last), state(last, came)).WithCommon("/list", len(gone), len(common))
		want := compare(t, state(gone, common, last), state(common, last, came))
		if got, want := picture(r), picture(want); got != want {
			t.Fatalf("changes\n%s, want\n%s", got, want)
		}
	})
}
