package match

import (
	"fmt"
	"strings"
	"testing"

	"hindcast/model/jsontape"
)

func TestQuery_ignoresCase(t *testing.T) {
	for _, tc := range []struct {
		query, text string
		want        bool
	}{
		{"", "", false},
		{"", "anything", false},
		{"opera", "the Opera de Lyon", true},
		{"OPERA", "the opera", true},
		{"opera", "oper", false},
		{"aab", "aaab", true},
		{"aAb", "AaAB", true},
		{"12", "5121", true},
		{"über", "ÜBER", true},
		{"café", "CAFÉ", true},
		{"[", "a[b", true},
		{"@", "`", false},
	} {
		if got := New(tc.query).InString(tc.text); got != tc.want {
			t.Errorf("%q in %q is %v", tc.query, tc.text, got)
		}
		if start, end := New(tc.query).Index(tc.text); start >= 0 != tc.want {
			t.Errorf("%q in %q is at %d", tc.query, tc.text, start)
		} else if tc.want && !strings.EqualFold(tc.text[start:end], tc.query) {
			t.Errorf("%q in %q is %q", tc.query, tc.text, tc.text[start:end])
		}
	}
}

func TestQuery_looksAtWhatAStringReads(t *testing.T) {
	tape, err := jsontape.Parse([]byte(`{"a\u0062c": "x\ny", "plain": "caf\u00e9", "n": 1.50, "t": true, "o": {"in": 1}, "s": "end"}`))
	if err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"abc": "key 1", "x\ny": "value 1", `\n`: "", "u00e9": "", "café": "value 2", "1.5": "value 3",
		"TRUE": "value 4", "plain": "key 2", `"`: "", "in": "key 2 key 6", "END": "value 7",
	} {
		var found []string
		for n := range jsontape.Node(tape.Len()) {
			if New(query).InKey(tape, n) {
				found = append(found, fmt.Sprint("key ", n))
			}
			if New(query).InValue(tape, n) {
				found = append(found, fmt.Sprint("value ", n))
			}
		}
		if got := strings.Join(found, " "); got != want {
			t.Errorf("%q is in %q, want %q", query, got, want)
		}
	}
}

func BenchmarkQuery(b *testing.B) {
	text := []byte(strings.Repeat("The quick brown fox jumps over the lazy dog. ", 25_000))
	for _, query := range []string{"needle", "the end", "Xx"} {
		b.Run(query, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			q := New(query)
			for b.Loop() {
				q.In(text)
			}
		})
	}
}
