package tree

import (
	"fmt"
	"testing"
)

// TestMemo_Keep keeps the values that were used last, one of each key, in plans too.
func TestMemo_Keep(t *testing.T) {
	m := NewMemo(nil)
	for i := range mostKept {
		m.Keep(fmt.Sprint(i), i)
	}
	if m.Planning().FindKept("0") != 0 {
		t.Error("what fits is forgotten")
	}
	m.Keep("new", "a")
	m.Keep("new", "b")
	for key, want := range map[string]any{"0": 0, "1": nil, "2": 2, "new": "b", "never": nil} {
		if got := m.FindKept(key); got != want {
			t.Errorf("under %q is %v, want %v", key, got, want)
		}
	}
}
