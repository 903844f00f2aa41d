package chat

import (
	"bytes"
	"slices"
	"testing"

	"hindcast/store/engine"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
)

// A search leaves out what Hindcast adds to states, and nothing that an agent wrote.
func TestIsAdded(t *testing.T) {
	for pointer, want := range map[string][2]bool{ // of the value, and of its key
		"": {}, "/messages": {false, true}, "/meta": {false, true}, "/meta/cwd": {false, true},
		"/messages/3/usage": {true, true}, "/messages/3/usage/inputTokens": {true, true}, "/messages/3/cost": {true, true},
		"/messages/3/metadata/metrics/latencyMs": {true, true}, "/messages/3": {}, "/messages/3/role": {}, "/messages/3/raw/usage/cost": {},
		"/messages/3/content/0/text": {},
	} {
		if got := [2]bool{isAdded(pointer, false), isAdded(pointer, true)}; got != want {
			t.Errorf("%q: %t", pointer, got)
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
	if words := ownWith([]byte("Assist")); !slices.Equal(words, []string{"assistant"}) {
		t.Error("a role is no word of Hindcast's")
	}
}
