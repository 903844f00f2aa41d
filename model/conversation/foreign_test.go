package conversation

import (
	"testing"

	"hindcast/model/jsontape"
)

// A list of messages of no known shape is found by its name, or by who speaks in it.
func TestForeign(t *testing.T) {
	for state, want := range map[string]string{
		`{"messages":[{"body":"x"}]}`:                                  "/messages",
		`{"data":{"history":[{"body":"x"}]}}`:                          "/data/history",
		`{"a":{"b":{"c":{"full_conversation":[{"body":"x"}]}}}}`:       "/a/b/c/full_conversation",
		`{"turns":[{"author":"user","body":"x"}]}`:                     "/turns",
		`[{"type":"human","payload":{"content":"x"}}]`:                 "",
		`[{"type":"human","data":{"content":"x"}}]`:                    "none",
		`{"turns":[{"author":"user","content":[{"text":"x"}]}]}`:       "/turns",
		`{"messages":[{"role":"user","content":"x"}]}`:                 "none",
		`{"messages":[],"turns":[{"role":"wizard","name":"x"}]}`:       "none",
		`{"messages":["x"]}`:                                           "none",
		`{"custom":{"turns":[{"author":"user","body":"x"}]}}`:          "none",
		`{"a":{"b":{"c":{"d":{"e":{"messages":[{"body":"deep"}]}}}}}}`: "none",
	} {
		tape, err := jsontape.Parse([]byte(state))
		if err != nil {
			t.Fatal(err)
		}
		got := "none"
		if n := Decode(tape).Foreign(); n >= 0 {
			got = tape.Pointer(n)
		}
		if got != want {
			t.Errorf("in %s it is %q, want %q", state, got, want)
		}
	}
}
