package chat

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// What is joined reads as if it were one text, from any place, and what is large is not copied.
func TestJoined(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var j, other joined
		want := ""
		for range rapid.IntRange(0, 8).Draw(t, "parts") {
			text := strings.Repeat(rapid.StringMatching("[a-z]{1,3}").Draw(t, "text"), rapid.SampledFrom([]int{0, 1, 7, leastLent}).Draw(t, "times"))
			want += text
			switch rapid.IntRange(0, 2).Draw(t, "how") {
			case 0:
				j.text(text)
			case 1:
				j.bytes([]byte(text))
			case 2:
				other = joined{}
				other.bytes([]byte(text))
				j.join(&other)
			}
		}
		at := rapid.IntRange(0, len(want)).Draw(t, "at")
		got := make([]byte, rapid.IntRange(0, len(want)-at).Draw(t, "bytes"))
		if n := j.copyAt(got, at); n != len(got) || string(got) != want[at:at+n] || j.size != len(want) {
			t.Fatalf("%d of %d bytes at %d are %.40q", n, len(got), at, got)
		}
	})
	large := bytes.Repeat([]byte("x"), leastLent)
	var j joined
	j.text("before")
	j.bytes(large)
	j.text("behind")
	if len(j.pieces) != 3 || &j.pieces[1][0] != &large[0] || string(large) != strings.Repeat("x", leastLent) {
		t.Errorf("there are %d pieces", len(j.pieces))
	}
}
