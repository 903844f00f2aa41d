package genkit

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"hindcast/model/jsontape"
	"hindcast/store/engine"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
	"hindcast/store/storetest"
)

// bigRow returns a row with a state of about so many bytes, in messages of two
// kilobytes each, as text with quotes and ends of lines in it.
func bigRow(id string, size int) []byte {
	var b strings.Builder
	said := strings.Repeat(`The quick brown fox jumps over the lazy dog, and the dog says: \"again\". Nobody knows why.\n`, 20)
	for i := 0; b.Len() < size; i++ {
		if i > 0 {
			b.WriteString(",")
		}
		role := []string{"user", "model"}[i%2]
		fmt.Fprintf(&b, "\n      {\n        \"content\": [\n          {\n            \"text\": \"%s\"\n          }\n        ],\n        \"role\": %q\n      }", said, role)
	}
	state := "\"state\": {\n    \"custom\": {\"total\": 5},\n    \"messages\": [" + b.String() + "\n    ],\n    \"sessionId\": \"s\"\n  },\n  \"status\": \"completed\""
	return []byte(goRow(id, "", "s", "2026-11-20T10:00:00Z", state))
}

// The header of a row, its state skipped: on one core, in memory.
func BenchmarkDecodeRow(b *testing.B) {
	for _, size := range []int{1 << 20, 10 << 20} {
		b.Run(fmt.Sprintf("%dMB", size>>20), func(b *testing.B) {
			data := bigRow("a", size)
			b.SetBytes(int64(len(data)))
			defer perCPU(b, len(data))()
			for b.Loop() {
				if r, ok := decodeRow("a", data); !ok || r.title == "" {
					b.Fatal(r)
				}
			}
		})
	}
}

// The same from files, the system's cache warm, by one worker.
func BenchmarkReadRow(b *testing.B) {
	for _, size := range []int{1 << 20, 10 << 20} {
		b.Run(fmt.Sprintf("%dMB", size>>20), func(b *testing.B) {
			dir := b.TempDir()
			data := bigRow("a", size)
			write(b, filepath.Join(dir, "a.json"), string(data))
			t, err := tree.OpenDisk(dir)
			if err != nil {
				b.Fatal(err)
			}
			defer t.Close()
			b.SetBytes(int64(len(data)))
			defer perCPU(b, len(data))()
			for b.Loop() {
				in := engine.In{Tree: t, Memo: tree.NewMemo(&files.Memory{})}
				list, err := tree.Notes(b.Context(), in.Tree, in.Memo, ".", []string{"a.json"}, rowCodec)
				if err != nil || strayOf(&list[0]) != nil {
					b.Fatal(list, err)
				}
			}
		})
	}
}

// A folder with many rows: listed for the first time, again in the same process,
// again by another process that has the notes, and one session of it.
func BenchmarkSessions(b *testing.B) {
	rows := 100_000
	if testing.Short() {
		rows = 20_000
	}
	dir, notes := b.TempDir(), b.TempDir()
	manyRows(b, dir, rows/100, 100, 500)
	list := func(s *Store) {
		n := 0
		for info, err := range s.Sessions(b.Context()) {
			if err != nil {
				b.Fatal(err)
			}
			n += info.Snapshots
		}
		if n != rows {
			b.Fatalf("%d rows", n)
		}
	}
	b.Run("first", func(b *testing.B) {
		defer perCPU(b, 0)()
		for b.Loop() {
			list(open(b, dir))
		}
	})
	b.Run("again", func(b *testing.B) {
		s := open(b, dir)
		list(s)
		defer perCPU(b, 0)()
		for b.Loop() {
			list(s)
		}
	})
	b.Run("kept", func(b *testing.B) {
		cache := files.NewCache(notes)
		again := func() {
			s, err := Options{Cache: cache, Now: func() time.Time { return evening }}.Open(b.Context(), dir)
			if err != nil {
				b.Fatal(err)
			}
			list(s)
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
		}
		again()
		defer perCPU(b, 0)()
		for b.Loop() {
			again()
		}
	})
	b.Run("session", func(b *testing.B) {
		s := open(b, dir)
		list(s)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		defer perCPU(b, 0)()
		for b.Loop() {
			if n := len(storetest.Headers(b, s, "sess-0007")); n != 100 {
				b.Fatal(n)
			}
		}
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(before.HeapAlloc)/(1<<20), "MB-held")
		b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(b.N)/(1<<20), "MB-allocated/op")
	})
	b.Run("state", func(b *testing.B) {
		s := open(b, dir)
		ref := storetest.Headers(b, s, "sess-0007")[50].Ref()
		for b.Loop() {
			if _, err := s.State(b.Context(), ref); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// What a row costs at least: to skip over it once.
func BenchmarkSkip(b *testing.B) {
	data := bigRow("a", 10<<20)
	b.SetBytes(int64(len(data)))
	defer perCPU(b, len(data))()
	for b.Loop() {
		if _, err := jsontape.Skip(data, 0); err != nil {
			b.Fatal(err)
		}
	}
}
