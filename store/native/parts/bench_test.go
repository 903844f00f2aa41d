package parts

import (
	"crypto/sha256"
	"testing"

	"hindcast/model/jsontape/jsontest"
)

func BenchmarkSplit(b *testing.B) {
	text := jsontest.New(1<<20, 1).JSON()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if len(Split(text)) < 500 {
			b.Fatal("too few parts")
		}
	}
}

// BenchmarkMatch finds the parts of a state of 1 MB in the one before it.
func BenchmarkMatch(b *testing.B) {
	var kept stream
	s := jsontest.New(1<<20, 1)
	old := NewText(s.JSON())
	list, _ := kept.put(old)
	next := NewText(s.Step().JSON())
	b.Run("compared", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			Match(next, []Base{{old, list}}, func(Place) bool { return true })
		}
	})
	// What it would cost to know every part by its hash, without looking one up.
	b.Run("hashed", func(b *testing.B) {
		for b.Loop() {
			for i := range next.Parts {
				sha256.Sum256(next.partAt(i))
			}
		}
	})
}

func BenchmarkCompare(b *testing.B) {
	var kept stream
	s := jsontest.New(1<<19, 1)
	old := NewText(s.JSON())
	list, _ := kept.put(old)
	next, _ := kept.put(NewText(s.Step().JSON()), Base{old, list})
	b.ReportAllocs()
	for b.Loop() {
		Compare(list, next)
	}
}
