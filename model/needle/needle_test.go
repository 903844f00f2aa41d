package needle

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// A needle is found at each of its places, in letters of either case if it folds, and at no other place. Both ways to look for a pair
// find the same places.
func TestNeedle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fold := rapid.Bool().Draw(t, "fold")
		letters := `[a-cjz"1@]{1,5}`
		if !fold {
			letters = `[a-cA-CjJzZ"1@\x60ſ]{1,5}`
		}
		text := []byte(rapid.StringMatching(`[a-cA-CjJzZ"1@\x60ſ]{0,200}`).Draw(t, "text"))
		n := New([]byte(rapid.StringMatching(letters).Draw(t, "needle")), fold)
		if rapid.Bool().Draw(t, "long") { // the place is behind what is searched at once
			text = append(bytes.Repeat([]byte("x"), pairAtOnce-rapid.IntRange(0, 60).Draw(t, "before")), text...)
		}
		in := text
		if fold {
			in = bytes.Map(func(r rune) rune {
				if 'A' <= r && r <= 'Z' {
					r += 'a' - 'A'
				}
				return r
			}, text)
		}
		for from, at := 0, 0; at >= 0; from = at + 1 {
			want := bytes.Index(in[from:], n.text)
			if want >= 0 {
				want += from
			}
			if at = n.Index(text, from); at != want {
				t.Fatalf("%q is at %d behind %d of %q, not at %d", n.text, at, from, text, want)
			}
			apart := max(n.rarest, n.beside)
			if end := len(text) - apart; from < end {
				one, beside := text[from+n.rarest:end+n.rarest], text[from+n.beside:end+n.beside]
				if at, want := n.indexPair(one, beside), n.indexEach(one, beside); at != want {
					t.Fatalf("the pair %+v is at %d of %q and %q, not at %d", n.pair, at, one, beside, want)
				}
			}
		}
	})
}

func TestNeedle_LastIndex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(rapid.StringMatching(`[ab]{0,40}`).Draw(t, "text"))
		for range rapid.IntRange(0, 4).Draw(t, "fillings") {
			text = append(append(text, bytes.Repeat([]byte("x"), lookedBack-rapid.IntRange(0, 20).Draw(t, "fewer"))...), rapid.StringMatching(`[ab]{0,20}`).Draw(t, "more")...)
		}
		n := New([]byte(rapid.StringMatching(`[abx]{1,9}`).Draw(t, "needle")), false)
		if got, want := n.LastIndex(text), bytes.LastIndex(text, n.text); got != want {
			t.Fatalf("%q is last at %d of %q, not at %d", n.text, got, text, want)
		}
	})
}

func BenchmarkNeedle(b *testing.B) {
	text := bytes.Repeat([]byte(`{"type":"text","text":"func (q *Session) Grep(ctx context.Context, s Search) {"},`), 1<<13)
	for _, word := range []string{"xqzzyv", "frobnicate the", "quick"} {
		b.Run(word, func(b *testing.B) {
			n := New([]byte(word), true)
			for b.SetBytes(int64(len(text))); b.Loop(); {
				if n.Index(text, 0) >= 0 {
					b.Fatal("found")
				}
			}
		})
	}
}
