package chat

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"hindcast/store/storetest/skip"
)

func TestLongText_indexIn(t *testing.T) {
	skip.Sequential(t)
	rapid.Check(t, func(t *rapid.T) {
		in := []byte(rapid.StringMatching(`[ab]{0,300}`).Draw(t, "in"))
		from := rapid.IntRange(0, len(in)).Draw(t, "from")
		text := bytes.Clone(in[from:rapid.IntRange(from, len(in)).Draw(t, "to")])
		if len(text) > 0 && rapid.Bool().Draw(t, "other") {
			text[len(text)-1] = 'c'
		}
		long := newLongText(text)
		if got, want := long.indexIn(in), bytes.Index(in, text); got != want {
			t.Fatalf("%q in %q: %d, want %d", text, in, got, want)
		}
	})
}

// A text is found on a line with a mark, however far that is, and on no other line.
func TestNear_Beside(t *testing.T) {
	text, mark := bytes.Repeat([]byte("word "), 20), `"item"`
	line := func(parts ...string) []byte { return []byte(`{"is":` + parts[0] + `,"text":"` + parts[1] + "\"}\n") }
	far := bytes.Repeat(line(`"event"`, "other"), closeBeside/8)
	here := line(`"event"`, string(text))
	for name, c := range map[string]struct {
		before, behind []byte
		want           bool
	}{
		"alone":         {},
		"other lines":   {far, far, false},
		"before":        {line(mark, string(text)), nil, true},
		"behind":        {nil, line(mark, string(text)), true},
		"far before":    {append(line(mark, string(text)), far...), far, true},
		"far behind":    {far, append(bytes.Clone(far), line(mark, string(text))...), true},
		"a mark beside": {append(line(mark, "no"), here...), append(bytes.Clone(here), line(mark, "no")...), false},
		"behind a copy": {nil, append(append(bytes.Clone(here), far...), line(mark, string(text))...), true},
	} {
		l := &lineScan{buf: bytes.Join([][]byte{c.before, here, c.behind}, nil)}
		begin := len(c.before)
		if got := (Near{l, begin, begin + len(here)}).FindsBeside(text, mark); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
