package chat_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/query"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/kinds/claudecode"
	"hindcast/store/kinds/pi"
	"hindcast/store/media/files"
	"hindcast/store/storetest"
)

var homesDir = flag.String("homes", "", "the folder in which the sessions of benchmarks stay from one run to the next")

// agent is one whose sessions are timed.
type agent struct {
	name  string
	kind  func(*files.Cache) engine.Kind
	write storetest.Transcript
	// file is that of a session, and next a message that an agent adds to "s".
	file func(project, id string, begun time.Time) string
	next string
	// more adds to a home what is not a session by itself.
	more func(tb testing.TB, dir string)
}

var agents = []agent{
	{
		"claude-code", claudecode.Kind, storetest.ClaudeTranscript,
		func(project, id string, _ time.Time) string { return "projects/-" + project + "/" + id + ".jsonl" },
		`{"parentUuid":null,"type":"user","message":{"role":"user","content":"more"},"uuid":"a","timestamp":"2026-01-01T00:00:02Z","sessionId":"s"}` + "\n",
		func(tb testing.TB, dir string) { storetest.ClaudeAgents(tb, dir, 50_000) },
	},
	{
		"pi", pi.Kind, storetest.PiTranscript,
		func(project, id string, begun time.Time) string {
			return "sessions/--" + project + "--/" + begun.Format("2006-01-02T15-04-05-000Z") + "_" + id + ".jsonl"
		},
		`{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-01T00:00:02Z","message":{"role":"user","content":"more"}}` + "\n",
		func(testing.TB, string) {},
	},
}

// home returns a folder of 10,000 sessions and 5 GB where HINDCAST_FULL is set.
func (a *agent) home(b *testing.B) string {
	b.Helper()
	dir := filepath.Join(b.TempDir(), a.name)
	if *homesDir != "" {
		dir = filepath.Join(*homesDir, a.name)
		if _, err := os.Stat(dir); err == nil {
			return dir
		}
	}
	sessions := storetest.Sized(500, 10_000)
	storetest.Home(b, dir, sessions, int64(sessions)*500_000, a.write, a.file)
	a.more(b, dir)
	return dir
}

func (a *agent) open(b *testing.B, dir string, cache *files.Cache) store.Store {
	b.Helper()
	s, err := a.kind(cache).Open(b.Context(), dir)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// The list of a large home: its first screen, all of it, and all of it where notes tell it;
// and a search of it for what no session has, and of some for what nearly all have.
func BenchmarkSessions(b *testing.B) {
	for _, a := range agents {
		b.Run(a.name, func(b *testing.B) {
			dir := a.home(b)
			list := func(b *testing.B, cache *files.Cache, most int) {
				b.Helper()
				s := a.open(b, dir, cache)
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
			b.Run("search", func(b *testing.B) {
				pattern := query.Literal("nowhere to be found", query.SmartCase)
				for b.Loop() {
					s, n := a.open(b, dir, nil), 0
					for c, err := range pattern.Candidates(b.Context(), query.Sources(s, store.AnyOrder(b.Context(), s))) {
						if err != nil || !c.Passed {
							b.Fatalf("%+v, %v", c, err)
						}
						n++
					}
					if s.Close(); n == 0 {
						b.Fatal("nothing is searched")
					}
				}
			})
			b.Run("found", func(b *testing.B) {
				const most = 200 // sessions, the newest ones
				pattern := query.Literal("part 8 of it", query.SmartCase)
				hits, size := 0, int64(0)
				for b.Loop() {
					s, n := a.open(b, dir, nil), 0
					hits, size = 0, 0
					for c, err := range pattern.Candidates(b.Context(), query.Sources(s, s.Sessions(b.Context()))) {
						if err != nil {
							b.Fatal(err)
						}
						if n++; n > most {
							break
						}
						if c.Passed {
							continue
						}
						size += c.Size
						hits += a.grep(b, s, c.ID, query.Search{Pattern: pattern})
					}
					if s.Close(); hits == 0 {
						b.Fatal("nothing is found")
					}
				}
				b.ReportMetric(float64(hits), "hits")
				b.ReportMetric(float64(size)/1e6, "MB")
			})
		})
	}
}

// grep returns how many hits a search has in a session.
func (a *agent) grep(b *testing.B, s store.Store, session string, search query.Search) (hits int) {
	b.Helper()
	var headers []model.Header
	for h, err := range s.Headers(b.Context(), session) {
		if err != nil {
			b.Fatal(err)
		}
		headers = append(headers, h)
	}
	for _, err := range query.Open(s, model.NewTimeline(headers)).Grep(b.Context(), search) {
		if err != nil {
			b.Fatal(err)
		}
		hits++
	}
	return hits
}

// One session of 100 MB: its first page, its headers, a state at its head, its states on a loom.
func BenchmarkSession(b *testing.B) {
	for _, a := range agents {
		for _, c := range []struct {
			name string
			line int
		}{{"lines of 256 kB", 256 << 10}, {"lines of 3 kB", 3000}} {
			b.Run(a.name+"/"+c.name, func(b *testing.B) { a.session(b, c.line) })
		}
	}
}

func (a *agent) session(b *testing.B, line int) {
	begun := time.Unix(1e9, 0).UTC()
	const id = "5e551011-0000-4000-8000-000000000000"
	save := func() (dir, file string) {
		dir = filepath.Join(b.TempDir(), a.name)
		file = filepath.Join(dir, a.file("p", id, begun))
		storetest.SaveTranscript(b, file, a.write, id, begun, 100<<20, line)
		return dir, file
	}
	last := func(b *testing.B, s store.Store) (last model.Header, n int) {
		b.Helper()
		for h, err := range s.Headers(b.Context(), id) {
			if err != nil {
				b.Fatal(err)
			}
			last = h
			n++
		}
		return last, n
	}
	dir, _ := save()
	b.Run("headers", func(b *testing.B) {
		n := 0
		for b.Loop() {
			s := a.open(b, dir, nil)
			_, n = last(b, s)
			s.Close()
		}
		b.ReportMetric(float64(n), "snapshots")
	})
	s := a.open(b, dir, nil)
	defer s.Close()
	head, _ := last(b, s)
	b.Run("headers again", func(b *testing.B) {
		for b.Loop() {
			last(b, s)
		}
	})
	b.Run("headers of one that grew", func(b *testing.B) {
		grown, file := save()
		s := a.open(b, grown, nil)
		defer s.Close()
		last(b, s)
		for b.Loop() {
			f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
			if err == nil {
				_, err = f.WriteString(a.next)
			}
			if err = errors.Join(err, f.Close()); err != nil {
				b.Fatal(err)
			}
			last(b, s)
		}
	})
	b.Run("state", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.State(b.Context(), head.Ref()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("weave", func(b *testing.B) {
		refs := []model.Ref{}
		for h, err := range s.Headers(b.Context(), id) {
			if err != nil {
				b.Fatal(err)
			}
			refs = append(refs, h.Ref())
		}
		refs = refs[:min(len(refs), 2000)]
		for b.Loop() {
			if err := s.(*chat.Store).Weave(b.Context(), refs, storetest.NewCloth(len(refs)).Loom()); err != nil {
				b.Fatal(err)
			}
		}
	})
}
