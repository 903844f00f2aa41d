package watch

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// large makes a store of 10,000 sessions, 40,001 folders.
func large(b *testing.B) string {
	root := b.TempDir()
	for n := range 10_000 {
		if err := os.MkdirAll(filepath.Join(root, fmt.Sprint("session_", n), "agents", "agent_default", "messages"), 0o755); err != nil {
			b.Fatal(err)
		}
	}
	return root
}

// BenchmarkFollow begins to watch a large store.
func BenchmarkFollow(b *testing.B) { benchmarkFollow(b, log) }

// BenchmarkFollow_depth does so by depth alone.
func BenchmarkFollow_depth(b *testing.B) { benchmarkFollow(b, free) }

func benchmarkFollow(b *testing.B, levels []Level) {
	root := large(b)
	for b.Loop() {
		newWatcher(root, levels, isTemporary, defaultBounds()).heard.close()
	}
	b.StopTimer()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	w := newWatcher(root, levels, isTemporary, defaultBounds())
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MiB")
	b.ReportMetric(float64(len(w.places)), "places")
	b.ReportMetric(float64(len(w.watched)), "watches")
	w.heard.close()
}

// BenchmarkRound is one round over a part of a large store.
func BenchmarkRound(b *testing.B) {
	w := newWatcher(large(b), log, isTemporary, defaultBounds())
	defer w.heard.close()
	for b.Loop() {
		w.runRound()
	}
}
