package lineage

import (
	"fmt"
	"runtime"
	"testing"
)

// BenchmarkAdd takes in sessions of snapshots with 2,000 messages each, as a
// sliding window of that size leaves them, with a restore now and then.
func BenchmarkAdd(b *testing.B) {
	const size = 2000
	for _, n := range []int{1000, 10_000} {
		b.Run(fmt.Sprintf("snapshots=%d", n), func(b *testing.B) {
			ids := make([]Print, size+2*n)
			for i := range ids {
				ids[i] = OfID(fmt.Sprint(i))
			}
			var before, after runtime.MemStats
			for b.Loop() {
				runtime.GC()
				runtime.ReadMemStats(&before)
				tree := NewTree()
				for i := range n {
					at := 2 * i
					if i%100 == 99 {
						at = i // back to what was saved half as far on
					}
					tree.Add(ids[at:at+size], UnknownRemoved)
				}
				runtime.GC()
				runtime.ReadMemStats(&after)
				b.ReportMetric((float64(after.HeapAlloc)-float64(before.HeapAlloc))/(1<<20), "MB")
				runtime.KeepAlive(tree)
			}
			b.ReportMetric(float64(n)*size*float64(b.N)/b.Elapsed().Seconds(), "messages/s")
		})
	}
}

// BenchmarkAdd_growing takes in a session in which nothing is taken out.
func BenchmarkAdd_growing(b *testing.B) {
	const n = 2000
	ids := make([]Print, 2*n)
	for i := range ids {
		ids[i] = OfID(fmt.Sprint(i))
	}
	for b.Loop() {
		tree := NewTree()
		for i := range n {
			if link := tree.Add(ids[:2*i+2], UnknownRemoved); link.Parent != i-1 {
				b.Fatalf("%+v", link)
			}
		}
	}
	b.ReportMetric(float64(n)*(n+1)*float64(b.N)/b.Elapsed().Seconds(), "messages/s")
}
