//go:build unix

package chat_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
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
// and a search of it for texts that no session has, few, and all, beside rg.
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
			for name, text := range map[string]string{"absent": "nowhere to be found", "rare": "part 888 of it", "frequent": "part 8 of it", "common": "look at"} {
				b.Run("search/"+name, func(b *testing.B) { a.search(b, dir, text) })
				b.Run("rg/"+name, func(b *testing.B) { ripgrep(b, dir, text) })
			}
		})
	}
}

// search times a search of all sessions.
func (a *agent) search(b *testing.B, dir, text string) {
	before, hits := cpuTime(b, syscall.RUSAGE_SELF), 0
	for b.Loop() {
		s := a.open(b, dir, nil)
		sessions := query.Sources(s, s.Sessions(b.Context()))
		hits = 0
		for hit, err := range query.SearchHome(b.Context(), sessions, query.HomeSearch{Search: query.Search{Pattern: query.Literal(text, query.SmartCase)}}) {
			if err = errors.Join(err, hit.Err); err != nil {
				b.Fatal(err)
			}
			hits++
		}
		s.Close()
	}
	b.ReportMetric(float64((cpuTime(b, syscall.RUSAGE_SELF)-before).Milliseconds())/float64(b.N), "cpu-ms/op")
	b.ReportMetric(float64(hits), "hits")
}

// ripgrep times rg with the lines that it finds.
func ripgrep(b *testing.B, dir, text string) {
	if _, err := exec.LookPath("rg"); err != nil {
		b.Skip("rg is not installed")
	}
	before, lines := cpuTime(b, syscall.RUSAGE_CHILDREN), 0
	for b.Loop() {
		out, err := exec.CommandContext(b.Context(), "rg", "--no-config", "--no-ignore", "--hidden", "-i", "-F", text, dir).Output()
		if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
			b.Fatal(err)
		}
		lines = bytes.Count(out, []byte("\n"))
	}
	b.ReportMetric(float64((cpuTime(b, syscall.RUSAGE_CHILDREN)-before).Milliseconds())/float64(b.N), "cpu-ms/op")
	b.ReportMetric(float64(lines), "lines")
}

// cpuTime returns the CPU time that processes took.
func cpuTime(b *testing.B, who int) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
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
