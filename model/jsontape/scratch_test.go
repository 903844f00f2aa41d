package jsontape

import (
	"bytes"
	"strings"
	"testing"

	"hindcast/store/storetest/skip"
)

// A tape in used memory is what a new one is, whatever was there before.
func TestScratch_isLikeANewTape(t *testing.T) {
	texts := []string{
		`{"a":1,"a":2,"b":[true,{"c":null}]}`, `[]`, `{"cut":[`, `{"\u0061":1,"a":[[["x"]]]}`, `"only"`, `{"x":NaN}`, "\ufeff{}", `[1,`,
		`[` + strings.Repeat(`{"k":[1,2]},`, 40_000) + `0]`, `{"a":{"b":{"c":"d"}}}`, `nul`, `[1,2,3]`,
	}
	var s Scratch
	for _, text := range append(texts, texts...) {
		data := []byte(text)
		want, wrong := Parse(data)
		got, err := s.Parse(data)
		sameTape(t, text, got, err, want, wrong)
		want, _, wrong = ParseTolerant(data)
		got, err = s.ParseTolerant(data)
		sameTape(t, text, got, err, want, wrong)
	}
}

func sameTape(t *testing.T, text string, got *Tape, err error, want *Tape, wrong error) {
	t.Helper()
	if (err == nil) != (wrong == nil) || err != nil && err.Error() != wrong.Error() {
		t.Fatalf("%.40q: %v, want %v", text, err, wrong)
	}
	if err != nil {
		return
	}
	if got.Len() != want.Len() || !bytes.Equal(got.Data(), want.Data()) || got.HasShadowed() != want.HasShadowed() {
		t.Fatalf("%.40q: another tape", text)
	}
	for n := range Node(want.Len()) {
		if got.nodes[n] != want.nodes[n] || got.IsShadowed(n) != want.IsShadowed(n) || got.Hash(n) != want.Hash(n) {
			t.Fatalf("%.40q: node %d is %+v, want %+v", text, n, got.nodes[n], want.nodes[n])
		}
	}
}

func TestScratch_allocatesNothingForTheNextText(t *testing.T) {
	skip.Counting(t)
	data := []byte(`{"message":{"role":"user","content":[{"text":"hi"}]},"message_id":0}`)
	var s Scratch
	if n := testing.AllocsPerRun(100, func() {
		if _, err := s.Parse(data); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
