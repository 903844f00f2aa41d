package jsontape

import (
	"strings"
	"testing"
	"unsafe"
)

// The short texts of records that follow each other are one string, and decode as those of a new tape.
func TestScratch_internsShortTexts(t *testing.T) {
	var s Scratch
	before, last, texts := "", "", []string{`"an id"`, `"an id"`, `"\u0061n id"`, `"an\tid"`, `"` + strings.Repeat("x", 100) + `"`, "\"\xff\"", `""`, `"an id"`}
	for i, text := range append(texts, texts...) {
		tape, err := s.Parse([]byte(text))
		fresh, wrong := Parse([]byte(text))
		if err != nil || wrong != nil {
			t.Fatal(err, wrong)
		}
		got := tape.Text(0)
		if want := fresh.Text(0); got != want {
			t.Errorf("%s is %q, want %q", text, got, want)
		}
		if i > 1 && text == before && unsafe.StringData(got) != unsafe.StringData(last) { // the first one is not held
			t.Errorf("%s is another string the next time", text)
		}
		before, last = text, got
	}
}

// The body of a key is found whatever stands between it and its value.
func TestTape_keysBesideWhiteSpace(t *testing.T) {
	for _, between := range []string{":", ": ", " :", " : ", ":  ", ":\n", "\n:\t", "  :  "} {
		for _, key := range []string{"", "k", "a: ", `:\"`, `\":`, `\": \":`, " ", ":"} {
			tape, err := Parse([]byte(`{"` + key + `"` + between + `"v"}`))
			if err != nil {
				t.Fatalf("%q, %q: %v", key, between, err)
			}
			if got, want := string(tape.RawKey(1)), `"`+key+`"`; got != want {
				t.Errorf("between %q the key is %s, want %s", between, got, want)
			}
		}
	}
}
