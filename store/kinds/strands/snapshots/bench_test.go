package snapshots

import (
	"encoding/json"
	"fmt"
	"hindcast/store/storetest"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// BenchmarkHeaders opens a session of which every snapshot has a window of 400
// messages: cold, with nothing known of its files, hot, when only the latest has
// changed, and in turn with it decodes the same files with encoding/json.
func BenchmarkHeaders(b *testing.B) {
	const n, window, size = 500, 400, 300
	dir := b.TempDir()
	kept := snapshotsOf(dir, "py-long")
	grow(b, kept, n, size, window)
	names, err := filepath.Glob(filepath.Join(kept, historyDir, "*.json"))
	if err != nil {
		b.Fatal(err)
	}
	var total int64
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			b.Fatal(err)
		}
		total += info.Size()
	}
	count := func(s *Store) {
		rows := 0
		for _, err := range s.Headers(b.Context(), "py-long") {
			if err != nil {
				b.Fatal(err)
			}
			rows++
		}
		if rows != n {
			b.Fatalf("%d rows", rows)
		}
	}
	b.Run(fmt.Sprintf("cold/snapshots=%d", n), func(b *testing.B) {
		b.SetBytes(total)
		for b.Loop() {
			s, err := Open(b.Context(), dir)
			if err != nil {
				b.Fatal(err)
			}
			count(s)
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run(fmt.Sprintf("hot/snapshots=%d", n), func(b *testing.B) {
		s := open(b, dir)
		count(s)
		latest := filepath.Join(kept, latestFile)
		data, err := os.ReadFile(latest)
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			rewrite(b, latest, data)
			count(s)
		}
	})
	b.Run(fmt.Sprintf("json/snapshots=%d", n), func(b *testing.B) {
		b.SetBytes(total)
		for b.Loop() {
			for _, name := range names {
				data, err := os.ReadFile(name)
				if err != nil {
					b.Fatal(err)
				}
				var snapshot struct {
					CreatedAt time.Time `json:"created_at"`
					Data      struct {
						Messages []struct {
							Role       string           `json:"role"`
							Content    []map[string]any `json:"content"`
							TrackingID string           `json:"tracking_id"`
						} `json:"messages"`
					} `json:"data"`
				}
				if err := json.Unmarshal(data, &snapshot); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

// BenchmarkFaults reads every file whole.
func BenchmarkFaults(b *testing.B) {
	const n = 200
	dir := b.TempDir()
	grow(b, snapshotsOf(dir, "py-long"), n, 300, 400)
	s := open(b, dir)
	for b.Loop() {
		if found := storetest.Faults(b, s, "py-long"); len(found) > 0 {
			b.Fatalf("%+v", found)
		}
	}
}
