package diff

import (
	"testing"

	"hindcast/model/jsontape/jsontest"
)

const mb = 1 << 20

// benchStates gives pairs of 10 MB states; peers/ has the same ones.
func benchStates() map[string][2][]byte {
	s := jsontest.New(10*mb, 1)
	old := s.JSON()
	return map[string][2][]byte{
		"append":      {old, s.Clone().Append().JSON()},
		"step":        {old, s.Clone().Step().JSON()},
		"10edits":     {old, s.Clone().Edit(10).JSON()},
		"mixed":       {old, s.Clone().Mix(len(s.Messages) / 100).JSON()},
		"slid":        {old, s.Clone().DropFirst().Append().JSON()},
		"reformatted": {old, s.Indented()},
		"reordered":   {old, s.Reordered()},
		"unrelated":   {old, jsontest.New(10*mb, 2).JSON()},
	}
}

// run compares again and again; ms/MB is for one MB of one state.
func run(b *testing.B, states func() (old, new State)) {
	var r *Result
	b.ReportAllocs()
	size := 0
	for b.Loop() {
		b.StopTimer()
		old, new := states()
		size = len(old.data)
		b.StartTimer()
		r = compare(b, old, new)
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N)/(float64(size)/mb), "ms/MB")
	b.ReportMetric(float64(r.Added+r.Removed+r.Replaced+r.Moved), "changes")
	b.ReportMetric(float64(r.Respelled), "respelled")
}

func BenchmarkCompare(b *testing.B) {
	for name, s := range benchStates() {
		old, new := parse(b, s[0]), parse(b, s[1])
		b.Run(name+"/cold", func(b *testing.B) {
			run(b, func() (State, State) { return Bytes(s[0]), Bytes(s[1]) })
		})
		b.Run(name+"/oldSeen", func(b *testing.B) {
			run(b, func() (State, State) { return Parsed(old), Bytes(s[1]) })
		})
		b.Run(name+"/newSeen", func(b *testing.B) {
			run(b, func() (State, State) { return Bytes(s[0]), Parsed(new) })
		})
		b.Run(name+"/bothSeen", func(b *testing.B) {
			run(b, func() (State, State) { return Parsed(old), Parsed(new) })
		})
	}
}

func BenchmarkResult_Patch(b *testing.B) {
	s := benchStates()["mixed"]
	r := compare(b, Bytes(s[0]), Bytes(s[1]))
	for b.Loop() {
		if _, err := r.Patch(); err != nil {
			b.Fatal(err)
		}
	}
}
