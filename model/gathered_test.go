package model

import (
	"runtime"
	"testing"
	"unsafe"
)

func TestGathered_keepsTheOrder(t *testing.T) {
	for _, n := range []int{0, 1, 2, gatherChunk - 1, gatherChunk, gatherChunk + 1, 3*gatherChunk + 5} {
		for _, spare := range []int{0, 7} {
			var g Gathered
			for i := range n {
				g.Add(&Header{Index: i})
			}
			if g.Len() != n {
				t.Errorf("%d headers count as %d", n, g.Len())
			}
			all := g.Join(spare)
			if len(all) != n || n > 0 && cap(all) < n+spare || n == 0 && all != nil || g.Len() != 0 {
				t.Fatalf("%d headers and %d more: %d, room for %d; %d are left", n, spare, len(all), cap(all), g.Len())
			}
			for i := range all {
				if all[i].Index != i {
					t.Fatalf("%d of %d headers: #%d is at %d", i, n, all[i].Index, i)
				}
			}
		}
	}
}

// TestGathered_leavesLittleBehind: twice what is kept, where a slice that grows takes
// five times as much.
func TestGathered_leavesLittleBehind(t *testing.T) {
	const n = 200_000
	var before, after runtime.MemStats
	var g Gathered
	runtime.ReadMemStats(&before)
	for i := range n {
		g.Add(&Header{Index: i})
	}
	all := g.Join(0)
	runtime.ReadMemStats(&after)
	taken, kept := after.TotalAlloc-before.TotalAlloc, uint64(len(all))*uint64(unsafe.Sizeof(all[0]))
	if 10*taken > 22*kept {
		t.Errorf("%d bytes for %d of headers", taken, kept)
	}
}

func BenchmarkGathered(b *testing.B) {
	for b.Loop() {
		var g Gathered
		for i := range 100_000 {
			g.Add(&Header{Index: i})
		}
		g.Join(0)
	}
}
