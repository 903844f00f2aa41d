package pi

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/coding"
	"hindcast/store/files"
	"hindcast/store/storetest"
)

// home is a folder of 10,000 sessions and 5 GB where HINDCAST_FULL is set.
func home(b *testing.B) string {
	b.Helper()
	dir := b.TempDir()
	sessions := storetest.Sized(500, 10_000)
	storetest.Home(b, dir, sessions, int64(sessions)*500_000, storetest.PiTranscript, func(project, id string, begun time.Time) string {
		return "--" + project + "--/" + begun.Format("2006-01-02T15-04-05-000Z") + "_" + id + ".jsonl"
	})
	return dir
}

func openFor(b *testing.B, dir string, cache *files.Cache) store.Store {
	b.Helper()
	s, err := Kind(cache).Open(b.Context(), dir)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// The list of a large home: its first screen, all of it, and all of it where notes tell it.
func BenchmarkSessions(b *testing.B) {
	dir := home(b)
	list := func(b *testing.B, cache *files.Cache, most int) {
		b.Helper()
		s := openFor(b, dir, cache)
		n := 0
		for info, err := range s.Sessions(b.Context()) {
			if err != nil || info.Title == "" {
				b.Fatalf("%+v, %v", info, err)
			}
			if n++; n == most {
				break
			}
		}
		if n == 0 {
			b.Fatal("nothing is listed")
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("screen", func(b *testing.B) {
		for b.Loop() {
			list(b, nil, 50)
		}
	})
	b.Run("all", func(b *testing.B) {
		for b.Loop() {
			list(b, nil, -1)
		}
	})
	b.Run("noted", func(b *testing.B) {
		cache := files.NewCache(b.TempDir())
		list(b, cache, -1)
		for b.Loop() {
			list(b, cache, -1)
		}
	})
}

// One session of 100 MB: its headers, a state at its head, its ropes.
func BenchmarkSession(b *testing.B) {
	for _, c := range []struct {
		name string
		line int
	}{{"lines of 256 kB", 256 << 10}, {"lines of 3 kB", 3000}} {
		dir := filepath.Join(b.TempDir(), "--p--")
		storetest.SaveTranscript(b, filepath.Join(dir, "t_s.jsonl"), storetest.PiTranscript, "s", time.Unix(1e9, 0).UTC(), 100<<20, c.line)
		last := func(b *testing.B, s store.Store) (last model.Header, n int) {
			b.Helper()
			for h, err := range s.Headers(b.Context(), "s") {
				if err != nil {
					b.Fatal(err)
				}
				last = h
				n++
			}
			return last, n
		}
		b.Run(c.name+"/headers", func(b *testing.B) {
			n := 0
			for b.Loop() {
				s := openFor(b, dir, nil)
				_, n = last(b, s)
				s.Close()
			}
			b.ReportMetric(float64(n), "snapshots")
		})
		s := openFor(b, dir, nil)
		head, _ := last(b, s)
		b.Run(c.name+"/headers again", func(b *testing.B) {
			for b.Loop() {
				last(b, s)
			}
		})
		b.Run(c.name+"/headers of one that grew", func(b *testing.B) {
			grown := filepath.Join(b.TempDir(), "--p--")
			file := filepath.Join(grown, "t_s.jsonl")
			storetest.SaveTranscript(b, file, storetest.PiTranscript, "s", time.Unix(1e9, 0).UTC(), 100<<20, c.line)
			s := openFor(b, grown, nil)
			defer s.Close()
			last(b, s)
			for b.Loop() {
				f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
				if err == nil {
					_, err = f.WriteString(answer)
				}
				if err = errors.Join(err, f.Close()); err != nil {
					b.Fatal(err)
				}
				last(b, s)
			}
		})
		b.Run(c.name+"/state", func(b *testing.B) {
			for b.Loop() {
				if _, err := s.State(b.Context(), head.Ref()); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(c.name+"/ropes", func(b *testing.B) {
			refs := []model.Ref{}
			for h, err := range s.Headers(b.Context(), "s") {
				if err != nil {
					b.Fatal(err)
				}
				refs = append(refs, h.Ref())
			}
			refs = refs[:min(len(refs), 2000)]
			for b.Loop() {
				for rope, err := range s.(*coding.Store).Ropes(b.Context(), refs) {
					if err != nil || rope.Err != nil {
						b.Fatal(err, rope.Err)
					}
				}
			}
		})
		s.Close()
	}
}
