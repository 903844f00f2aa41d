package chat

import (
	"bytes"
	"slices"
	"testing"

	"hindcast/store/engine"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
)

func TestIsNumber(t *testing.T) {
	for text, want := range map[string]bool{"": true, "622": true, "1.5e3": true, "first question": false, "a1": false, "622 x": false, "1x2": false} {
		if got := isNumber([]byte(text)); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}

// A text is found wherever it lies, also over the end of a piece.
func TestContains(t *testing.T) {
	has := func(text string) func([]byte) bool {
		return func(in []byte) bool { return bytes.Contains(in, []byte(text)) }
	}
	text := bytes.Repeat([]byte("x"), 3*searchedAtOnce)
	for _, at := range []int{0, searchedAtOnce - 3, searchedAtOnce, searchedAtOnce + 2, 2*searchedAtOnce + 1, len(text) - 6} {
		whole := bytes.Clone(text)
		copy(whole[at:], "Needle")
		in := engine.In{Tree: tree.Overlay(nil, tree.Steps{{Name: "f", Data: whole}}, nil), Memo: tree.NewMemo(&files.Memory{})}
		for needle, want := range map[string]bool{"Needle": true, "needle": false, "absent": false} {
			if found, err := new(Store).fileContains(t.Context(), in.Tree, "f", len(needle), has(needle)); found != want || err != nil {
				t.Errorf("at %d, %q: %t, %v", at, needle, found, err)
			}
		}
	}
	whole := bytes.Clone(text)
	copy(whole[searchedAtOnce-2:], `\u043f`)
	in := engine.In{Tree: tree.Overlay(nil, tree.Steps{{Name: "f", Data: whole}}, nil), Memo: tree.NewMemo(&files.Memory{})}
	if found, err := new(Store).fileContains(t.Context(), in.Tree, "f", len("\u043f"), has(`\u043f`)); !found || err != nil {
		t.Errorf("an escape over the end of a piece: %t, %v", found, err)
	}
	if words, _ := ownWith([]byte("Assist")); !slices.Equal(words, []string{"assistant"}) {
		t.Error("a role is no word of Hindcast's")
	}
}
