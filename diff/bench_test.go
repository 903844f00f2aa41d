//go:build unix

package diff

import (
	"math"
	"syscall"
	"testing"

	"hindcast/model/jsontape/jsontest"
)

const mb = 1 << 20

// cpu returns the processor time that the process has used, in ms.
func cpu(b *testing.B) float64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return float64(used.Utime.Nano()+used.Stime.Nano()) / 1e6
}

// benchCompare compares again and again; ms/MB is for one MB of one state, and
// least-cpu-ms/MB is the processor time of the fastest run, which other work on the
// machine disturbs least.
func benchCompare(b *testing.B, old, new State) {
	var r *Result
	b.ReportAllocs()
	size, least := float64(len(old.data))/mb, math.Inf(1)
	for b.Loop() {
		before := cpu(b)
		r = compare(b, old, new)
		least = min(least, cpu(b)-before)
	}
	b.ReportMetric(least/size, "least-cpu-ms/MB")
	b.ReportMetric(b.Elapsed().Seconds()*1000/float64(b.N)/size, "ms/MB")
	b.ReportMetric(float64(r.Added+r.Removed+r.Replaced+r.Moved), "changes")
	b.ReportMetric(float64(r.Respelled), "respelled")
}

func BenchmarkCompare(b *testing.B) {
	for _, p := range jsontest.Pairs(10 * mb) {
		old, new := parse(b, p.Old), parse(b, p.New)
		old.Hash(0)
		new.Hash(0)
		b.Run(p.Name+"/cold", func(b *testing.B) { benchCompare(b, Bytes(p.Old), Bytes(p.New)) })
		b.Run(p.Name+"/oldSeen", func(b *testing.B) { benchCompare(b, FromTape(old), Bytes(p.New)) })
		b.Run(p.Name+"/newSeen", func(b *testing.B) { benchCompare(b, Bytes(p.Old), FromTape(new)) })
		b.Run(p.Name+"/bothSeen", func(b *testing.B) { benchCompare(b, FromTape(old), FromTape(new)) })
	}
}

func BenchmarkResult_Patch(b *testing.B) {
	p := jsontest.Pairs(10 * mb)[3]
	r := compare(b, Bytes(p.Old), Bytes(p.New))
	for b.Loop() {
		if _, err := r.Patch(); err != nil {
			b.Fatal(err)
		}
	}
}
