package diff

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hindcast/store/storetest/skip"
)

// marked draws a text diff: -{deleted}- and +{inserted}+.
func marked(d TextDiff) string {
	var b strings.Builder
	for _, s := range d.Spans {
		fmt.Fprintf(&b, map[TextOp]string{Same: "%s", Deleted: "-{%s}-", Inserted: "+{%s}+"}[s.Op], s.Text)
	}
	return b.String()
}

func TestText_pictures(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"", "", ""},
		{"same", "same", "same"},
		{"", "a", "+{a}+"},
		{"a", "", "-{a}-"},
		{"the red car", "the blue car", "the -{red}-+{blue}+ car"},
		{"one\ntwo\nthree\n", "one\nthree\n", "one\n-{two\n}-three\n"},
		{"one\nthree\n", "one\ntwo\nthree\n", "one\n+{two\n}+three\n"},
		{"first line\nsecond line\n", "first line\nsecond row\n", "first line\nsecond -{line}-+{row}+\n"},
		{"no newline", "no newline\n", "no newline+{\n}+"},
		{"total: 120.50 €", "total: 140.50 €", "total: -{120}-+{140}+.50 €"},
		{"café", "cafe\u0301", "-{café}-+{cafe\u0301}+"},
		{"cafés", "cafès", "-{cafés}-+{cafès}+"}, // é and è share a byte
		{"(a)(b)", "(a)(c)", "(a)(-{b}-+{c}+)"},
		{"wordier", "wordy", "-{wordier}-+{wordy}+"},
		{"a\r\nb", "a\nb", "a-{\r\n}-+{\n}+b"},
	} {
		d := Text(c.old, c.new, time.Minute)
		if got := marked(d); got != c.want || d.Coarse || d.Bytes {
			t.Errorf("%q and %q: got %q, want %q (coarse %v, bytes %v)", c.old, c.new, got, c.want, d.Coarse, d.Bytes)
		}
	}
}

func TestText_tellsInvalidBytesApart(t *testing.T) {
	d := Text("ab\xff\xfecd", "ab\xff\xfdcd", time.Minute)
	if got, want := marked(d), "ab\xff-{\xfe}-+{\xfd}+cd"; got != want || !d.Bytes {
		t.Errorf("got %q, want %q, bytes %v", got, want, d.Bytes)
	}
	// Here go-diff puts an insertion before a deletion.
	old, new := "1010010", "000100001\xd3001"
	checkText(t, old, new, Text(old, new, time.Minute))
	if d := Text("\xff", "\ufffd", time.Minute); len(d.Spans) != 2 || !d.Bytes {
		t.Errorf("a bad byte and its replacement mark: %q", marked(d))
	}
}

// checkText holds what every text diff promises.
func checkText(t failer, old, new string, d TextDiff) {
	t.Helper()
	var a, b strings.Builder
	for i, s := range d.Spans {
		if s.Op != Inserted {
			a.WriteString(s.Text)
		}
		if s.Op != Deleted {
			b.WriteString(s.Text)
		}
		if s.Text == "" || i > 0 && (s.Op == d.Spans[i-1].Op || s.Op == Deleted && d.Spans[i-1].Op == Inserted) {
			t.Fatalf("%q and %q: spans not in order: %q", old, new, marked(d))
		}
	}
	if a.String() != old || b.String() != new {
		t.Fatalf("%q and %q: spans make %q and %q", old, new, a.String(), b.String())
	}
}

func TestText_spansMakeUpBothStrings(t *testing.T) {
	skip.Sequential(t)
	piece := rapid.SampledFrom([]string{"a", "b", "word", " ", "\n", "\r\n", "é", "😀", "\ufffd", ".", "\x00", "\xff", "\xf0\x9f"})
	rapid.Check(t, func(t *rapid.T) {
		join := func(label string) string {
			return strings.Join(rapid.SliceOfN(piece, 0, 40).Draw(t, label), "")
		}
		old, new := join("old"), join("new")
		checkText(t, old, new, Text(old, new, time.Minute))
	})
}

func FuzzText(f *testing.F) {
	f.Add("the red car\n", "the blue car\n")
	f.Add("\xff\xfe", "\xff\xfd")
	f.Add("a\nb\nc\n", "c\nb\na\n")
	f.Fuzz(func(t *testing.T, old, new string) {
		checkText(t, old, new, Text(old, new, time.Second))
	})
}

func TestText_marksWhatItGaveUpOn(t *testing.T) {
	var old, new strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&old, "old line %d\n", i)
		fmt.Fprintf(&new, "new %d line\n", i)
	}
	d := Text(old.String(), new.String(), time.Nanosecond)
	checkText(t, old.String(), new.String(), d)
	if !d.Coarse {
		t.Error("no time at all, and not coarse")
	}
}

func TestText_boundsItsWork(t *testing.T) {
	for name, c := range map[string][2]string{
		"repeated lines": {strings.Repeat("a\n", 100_000), strings.Repeat("a\n", 50_000) + "b\n" + strings.Repeat("a\n", 10_000) + "c"},
		"one long line":  {"x" + strings.Repeat("ab cd ", 50_000), strings.Repeat("ab cd ", 50_000) + "y"},
		"many lines":     {manyLines(110_000, "x"), manyLines(110_000, "y")},
		"bytes":          {strings.Repeat("\xff\xfe", 60_000), strings.Repeat("\xfe\xff", 60_000)},
		"long":           {"x " + strings.Repeat("a", maxText) + " x", "y " + strings.Repeat("a", maxText) + " y"},
	} {
		d := Text(c[0], c[1], TextLimit)
		checkText(t, c[0], c[1], d)
		if !d.Coarse {
			t.Errorf("%s: not coarse", name)
		}
	}
}

func TestText_findsOneWordInALongLine(t *testing.T) {
	line := strings.Repeat("the quick brown fox ", 500_000)
	d := Text(line+"jumps "+line, line+"sleeps "+line, time.Minute)
	if len(d.Spans) != 4 || d.Spans[1].Text != "jumps" || d.Spans[2].Text != "sleeps" || d.Coarse {
		t.Errorf("%d spans, coarse %v", len(d.Spans), d.Coarse)
	}
}

func manyLines(n int, word string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s %d\n", word, i)
	}
	return b.String()
}

func TestAlphabet_runesAndRanks(t *testing.T) {
	for _, n := range []int{0, 1, surrogates - firstRune - 1, surrogates - firstRune, 0xFFFD - firstRune - 0x800 - 1, 0xFFFD - firstRune - 0x800, manyPieces * 2} {
		r := nthRune(n)
		if rank(r) != n || string([]rune(string(r))) != string(r) || r == '\ufffd' || !strings.ContainsRune(string(r), r) {
			t.Errorf("%d: %U has rank %d", n, r, rank(r))
		}
	}
}
