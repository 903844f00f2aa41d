package messages

import (
	"fmt"
	"slices"
	"testing"
)

// What came since the last entry is not in the log that it knew, and neither is what it
// changed; what stands behind such a file is.
func TestPredecessors_ofTheLogThatWas(t *testing.T) {
	file := func(k int) messageFile {
		f, _ := fileOf(fmt.Sprintf("message_%d.json", k))
		return f
	}
	h := &history{entries: []entryChanges{{was: namesFrom("0,2..4,6..8")}}}
	for n, k := range []int{3, 6, 8} {
		h.contents = append(h.contents, content{file: file(k)})
		h.entries[0].changes = append(h.entries[0].changes, mention{before: int32(n), after: none})
	}
	var now []messageFile
	for k := range 10 {
		now = append(now, file(k))
	}
	want := []element{{file(2), none}, {file(4), none}, {file(7), none}}
	if got := h.predecessors(now); !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
}
