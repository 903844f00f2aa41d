package query_test

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/query"
	"hindcast/store"
	"hindcast/store/kinds/claudecode"
	"hindcast/store/kinds/pi"
)

// twoStores opens a store of pi and one of Claude Code, and returns the sessions of both.
func twoStores(t *testing.T) (sources []query.Source) {
	t.Helper()
	for folder, kind := range map[string]store.Kind{"pi": pi.Kind(nil).Kind, "claude-code": claudecode.Kind(nil).Kind} {
		s, err := kind.Open(t.Context(), "../testdata/coding/"+folder)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		for info, err := range s.Sessions(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			sources = append(sources, query.Source{Store: s, SessionInfo: info})
		}
	}
	slices.SortFunc(sources, func(a, b query.Source) int { return store.NewestFirst(a.SessionInfo, b.SessionInfo) })
	return sources
}

// timelineOf reads the timeline of a session.
func timelineOf(t *testing.T, s store.Store, session string) *model.Timeline {
	t.Helper()
	all, err := query.ReadTimeline(t.Context(), s, session)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// yieldSources yields sessions, and then an error if it is not nil.
func yieldSources(sources []query.Source, broken error) func(func(query.Source, error) bool) {
	return func(yield func(query.Source, error) bool) {
		for _, in := range sources {
			if !yield(in, nil) {
				return
			}
		}
		if broken != nil {
			yield(query.Source{}, broken)
		}
	}
}

// A search of a home finds what Grep finds in its sessions, one after the other.
func TestSearchHome(t *testing.T) {
	sources := twoStores(t)
	pattern := query.Literal("branch", query.SmartCase)
	var want []string
	for _, in := range sources {
		for hit, err := range query.Open(in.Store, timelineOf(t, in.Store, in.ID)).Grep(t.Context(), query.Search{Pattern: pattern}) {
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, in.Kind+" "+in.ID+" "+hit.Text)
		}
	}
	search := func(s query.HomeSearch, sources []query.Source) (got []string, looked int) {
		s.Looked = func(*query.Source) { looked++ }
		for hit, err := range query.SearchHome(t.Context(), yieldSources(sources, nil), s) {
			if err = errors.Join(err, hit.Err); err != nil {
				t.Fatal(err)
			}
			tl, err := hit.Locate(t.Context())
			if err != nil || tl.Header(hit.Visit).ID != hit.Ref.ID || hit.Ref.Session != hit.ID {
				t.Fatalf("%+v: %v", hit, err)
			}
			got = append(got, hit.Kind+" "+hit.ID+" "+hit.Text)
		}
		return got, looked
	}
	got, looked := search(query.HomeSearch{Search: query.Search{Pattern: pattern}}, sources)
	if len(want) < 10 || !slices.Equal(got, want) || looked != len(sources) {
		t.Errorf("found\n%q\nin %d sessions, want\n%q\nin %d", got, looked, want, len(sources))
	}
	of := func(s query.HomeSearch, fits func(*query.Source) bool) {
		t.Helper()
		some := slices.DeleteFunc(slices.Clone(sources), func(in query.Source) bool { return !fits(&in) })
		s.Pattern = pattern
		want, n := search(query.HomeSearch{Search: s.Search, OnlyFirst: s.OnlyFirst}, some)
		if got, looked := search(s, sources); len(want) == 0 || n == len(sources) && !s.OnlyFirst || !slices.Equal(got, want) || looked != n {
			t.Errorf("%+v: found\n%q\nin %d sessions, want\n%q\nin %d", s, got, looked, want, n)
		}
	}
	of(query.HomeSearch{Agent: "Claude"}, func(in *query.Source) bool { return in.Kind == "claude-code" })
	newest := sources[len(sources)/2].UpdatedAt
	of(query.HomeSearch{Since: newest}, func(in *query.Source) bool { return !in.UpdatedAt.Before(newest) })
	of(query.HomeSearch{OnlyFirst: true}, func(*query.Source) bool { return true })
	counted := 0
	for hit, err := range query.SearchHome(t.Context(), yieldSources(sources, nil), query.HomeSearch{Search: query.Search{Pattern: pattern}, Counts: true}) {
		if counted += 1 + hit.More; errors.Join(err, hit.Err) != nil {
			t.Fatal(err, hit.Err)
		}
	}
	if counted != len(want) {
		t.Errorf("%d texts were counted of %d", counted, len(want))
	}
	if got, _ := search(query.HomeSearch{Search: query.Search{Pattern: pattern}, OnlyFirst: true}, sources); len(got) >= len(want) || len(slices.Compact(got)) != len(got) {
		t.Errorf("only the first of each session: %q", got)
	}
}

// A session that cannot be read is told of in its place, and the next is searched; a broken list and ctx end the search.
func TestSearchHome_failures(t *testing.T) {
	sources := twoStores(t)
	s := query.HomeSearch{Search: query.Search{Pattern: expr(t, ".")}, OnlyFirst: true}
	gone := sources[1]
	gone.ID = "gone"
	var failed, found int
	broken := errors.New("the list broke off")
	var last error
	for hit, err := range query.SearchHome(t.Context(), yieldSources([]query.Source{gone, sources[0]}, broken), s) {
		switch {
		case err != nil:
			last = err
		case hit.Err != nil && hit.ID == "gone" && found == 0:
			failed++
		case hit.Err == nil:
			found++
		}
	}
	if failed != 1 || found != 1 || last != broken {
		t.Errorf("%d failed, %d found, then %v", failed, found, last)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	n := 0
	for hit, err := range query.SearchHome(ctx, yieldSources(sources, nil), s) {
		if last = err; err == nil && hit.Err != nil {
			t.Fatal(hit.Err)
		}
		n++
		stop()
	}
	if n != 2 || !errors.Is(last, context.Canceled) {
		t.Errorf("cancelled at the first of %d: %v", n, last)
	}
}

// A search that ends early reads no more of its sessions afterwards.
func TestSearchHome_endsItsList(t *testing.T) {
	sources := twoStores(t)
	s := query.HomeSearch{Search: query.Search{Pattern: expr(t, ".")}}
	ended := false
	list := func(yield func(query.Source, error) bool) {
		defer func() { ended = true }()
		for yield(sources[0], nil) {
		}
	}
	for _, err := range query.SearchHome(t.Context(), list, s) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	if !ended {
		t.Error("the list goes on behind the search")
	}
}

// bursting is a store whose scans panic.
type bursting struct{ store.Store }

func (s bursting) Features() store.Features {
	f := s.Store.Features()
	scanner := *f.Scanner
	scanner.Scan = func(context.Context, string, store.Scan) (bool, error) { panic("of a scan") }
	f.Scanner = &scanner
	return f
}

// A panic of a session that is searched ahead, or of the list of sessions, comes to the reader.
func TestSearchHome_panics(t *testing.T) {
	sources := twoStores(t)
	pattern := query.Literal("question", query.MatchCase)
	burst := slices.Clone(sources)
	for i := range burst {
		burst[i].Store = bursting{burst[i].Store}
	}
	for want, list := range map[string]iter.Seq2[query.Source, error]{
		"of a scan": func(yield func(query.Source, error) bool) {
			for _, s := range burst {
				if !yield(s, nil) {
					return
				}
			}
		},
		"of a list": func(yield func(query.Source, error) bool) {
			yield(sources[0], nil)
			panic("of a list")
		},
	} {
		func() {
			defer store.CatchPanic(func(p store.Panic) {
				if p.Value != want || !strings.Contains(p.Stack, "home_test.go") {
					t.Errorf("%v at\n%s", p.Value, p.Stack)
				}
			})
			for _, err := range query.SearchHome(t.Context(), list, query.HomeSearch{Search: query.Search{Pattern: pattern}}) {
				if err != nil {
					t.Fatal(err)
				}
			}
			t.Errorf("the search goes on: %s", want)
		}()
	}
}

// ending is a store that tells when some scans have ended, and whether a session had to be read.
type ending struct {
	store.Store
	scans  atomic.Int64
	unsure atomic.Bool
	ended  chan struct{}
}

func (s *ending) Features() store.Features {
	f := s.Store.Features()
	scanner := *f.Scanner
	scanner.Scan = func(ctx context.Context, session string, scan store.Scan) (bool, error) {
		done, err := s.Store.Features().Scanner.Scan(ctx, session, scan)
		if !done {
			s.unsure.Store(true)
		}
		if s.scans.Add(-1) == 0 {
			close(s.ended)
		}
		return done, err
	}
	f.Scanner = &scanner
	return f
}

// While the reader is at the first text of a session, others are searched to their ends, whatever is found in them.
func TestSearchHome_goesOnAheadOfItsReader(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	search := query.HomeSearch{Search: query.Search{Pattern: query.Literal("question", query.SmartCase)}}
	waited := 0
	for _, in := range twoStores(t) {
		find := func(sessions int, wait bool) (found int, sure bool) {
			s := &ending{Store: in.Store, ended: make(chan struct{})}
			s.scans.Store(int64(sessions))
			in := query.Source{Store: s, SessionInfo: in.SessionInfo}
			for hit, err := range query.SearchHome(t.Context(), yieldSources(slices.Repeat([]query.Source{in}, sessions), nil), search) {
				if err = errors.Join(err, hit.Err); err != nil {
					t.Fatal(err)
				}
				if found++; found > 1 || !wait {
					continue
				}
				select {
				case <-s.ended:
				case <-time.After(20 * time.Second):
					t.Fatalf("%s: %d scans of %d did not end", in.ID, s.scans.Load(), sessions)
				}
			}
			return found, !s.unsure.Load()
		}
		if found, sure := find(1, false); sure && found >= 3 {
			waited++
			find(8, true)
		}
	}
	if waited < 2 {
		t.Errorf("%d sessions have texts enough", waited)
	}
}

// meeting is a store whose sessions have to be read, each reading of one until others are at it. most is how many there were
// at once.
type meeting struct {
	store.Store
	others        int
	mu            sync.Mutex
	reading, most int
	enough        chan struct{}
}

func (s *meeting) Features() store.Features {
	f := s.Store.Features()
	f.Scanner, f.Mentions = nil, nil
	return f
}

func (s *meeting) Headers(ctx context.Context, session string) iter.Seq2[model.Header, error] {
	return func(yield func(model.Header, error) bool) {
		s.mu.Lock()
		if s.reading++; s.reading > s.most {
			if s.most = s.reading; s.most == s.others+1 {
				close(s.enough)
			}
		}
		s.mu.Unlock()
		defer func() {
			s.mu.Lock()
			s.reading--
			s.mu.Unlock()
		}()
		select {
		case <-s.enough:
		case <-ctx.Done():
			yield(model.Header{}, ctx.Err())
			return
		}
		s.Store.Headers(ctx, session)(yield)
	}
}

// Sessions that have to be read are read by several processors, but for large ones, which are read one by one.
func TestSearchHome_readsAhead(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	sources := twoStores(t)
	search := query.HomeSearch{Search: query.Search{Pattern: query.Literal("branch", query.SmartCase)}}
	find := func(others int, size int64) (ids []string, most int) {
		ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
		defer stop()
		s := &meeting{Store: sources[0].Store, others: others, enough: make(chan struct{})}
		if others == 0 {
			s.others = -1
			close(s.enough)
		}
		var list []query.Source
		for _, in := range sources {
			if in.Store == s.Store {
				in.Store, in.Size = s, size
				list = append(list, in)
			}
		}
		for hit, err := range query.SearchHome(ctx, yieldSources(list, nil), search) {
			if err = errors.Join(err, hit.Err); err != nil {
				t.Fatal(err)
			}
			ids = append(ids, hit.ID+" "+hit.Text)
		}
		return ids, s.most
	}
	ahead, most := find(1, 1000)
	alone, least := find(0, 1<<30)
	if most != 2 || least != 1 || len(alone) < 3 || !slices.Equal(ahead, alone) {
		t.Errorf("%d at once found\n%q\nand %d at once\n%q", most, ahead, least, alone)
	}
}
