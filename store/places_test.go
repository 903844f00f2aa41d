//go:build unix

package store_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/storetest"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// dated sets the time of a path.
func dated(t *testing.T, at time.Time, elements ...string) {
	t.Helper()
	if err := os.Chtimes(filepath.Join(elements...), at, at); err != nil {
		t.Fatal(err)
	}
}

func TestLook_findsStoresInTheirPlaces(t *testing.T) {
	logs := storetest.Holding("log", "log.json")
	logs.Places = func(at store.Surroundings) []string {
		return []string{filepath.Join(at.Home, "logs"), filepath.Join(at.Home, "logs", "part"), filepath.Join(at.Work, "logs*"), "[", filepath.Join(at.Work, "locked")}
	}
	files := storetest.Filed("db", ".db")
	files.Places = func(at store.Surroundings) []string {
		if at.Temp != "" {
			t.Errorf("the temporary folder is %q", at.Temp)
		}
		return []string{filepath.Join(at.Work, "*.db")}
	}
	dir := storetest.Tree(t, "ho*me[1]/logs/log.json", "ho*me[1]/logs/part/log.json", "ho*me[1]/logs/part/a.db", "hoXme1/logs/log.json",
		"work/logs-a/log.json", "work/logs-b/empty", "work/logs-c -> logs-a", "work/log.db", "work/bad.db", "work/gone.db -> nowhere", "work/dir.db/log.json")
	for i, path := range []string{"ho*me[1]/logs/part", "ho*me[1]/logs/log.json", "ho*me[1]/logs", "work/logs-a/log.json", "work/logs-a", "work/log.db", "work/dir.db/log.json", "work/dir.db"} {
		dated(t, noon.Add(-time.Duration(i)*time.Hour), dir, path)
	}
	kinds := store.Kinds{logs, storetest.Holding("none", "none"), files, {Name: "url"}}
	found := kinds.Look(t.Context(), store.Surroundings{Home: filepath.Join(dir, "ho*me[1]"), Work: filepath.Join(dir, "work")})
	var got []string
	for _, f := range found {
		rel, err := filepath.Rel(dir, f.At)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s %s %s %v %d", f.Name, rel, f.Why, noon.Sub(f.Changed), f.Sessions))
	}
	same(t, got, []string{
		"log ho*me[1]/logs log.json 0s -1", // what is in it changed last, and is a part of it
		"log work/logs-a log.json 3h0m0s -1",
		"log work/dir.db log.json 6h0m0s -1",
		"db work/log.db a file 5h0m0s -1",
	})
	if found := kinds.Look(t.Context(), store.Surroundings{Work: t.TempDir()}); len(found) > 0 {
		t.Errorf("found %v in an empty folder", found)
	}
}

// telling is a store that tells of its sessions what it is told to.
type telling struct {
	opened
	sessions iter.Seq2[model.SessionInfo, error]
	closed   chan<- string
}

func (s telling) Sessions(context.Context) iter.Seq2[model.SessionInfo, error] { return s.sessions }
func (s telling) Close() error {
	s.closed <- s.address
	return nil
}

func TestDescribe_newestFirst(t *testing.T) {
	infos := func(times ...time.Time) iter.Seq2[model.SessionInfo, error] {
		return func(yield func(model.SessionInfo, error) bool) {
			for _, at := range times {
				if !yield(model.SessionInfo{UpdatedAt: at}, nil) {
					return
				}
			}
		}
	}
	torn := func(yield func(model.SessionInfo, error) bool) {
		_ = yield(model.SessionInfo{UpdatedAt: noon.Add(time.Hour)}, nil) && yield(model.SessionInfo{}, errors.New("torn"))
	}
	closed := make(chan string, 9)
	stores := []store.Found{
		{Identity: store.Identity{At: "old"}, Changed: noon, Sessions: -1},
		{Identity: store.Identity{At: "none"}, Changed: noon.Add(-time.Hour), Sessions: -1},
		{Identity: store.Identity{At: "young"}, Changed: noon.Add(-9 * time.Hour), Sessions: -1},
		{Identity: store.Identity{At: "torn"}, Changed: noon.Add(-2 * time.Hour), Sessions: -1},
		{Identity: store.Identity{At: "shut"}, Changed: noon.Add(-3 * time.Hour), Sessions: -1},
	}
	for i := range stores {
		sessions := map[string]iter.Seq2[model.SessionInfo, error]{
			"old": infos(noon.Add(-5*time.Hour), noon.Add(-4*time.Hour)), "none": infos(), "young": infos(noon.Add(-time.Minute)), "torn": torn,
		}[stores[i].At]
		stores[i].Kind.Open = func(_ context.Context, address string) (store.Store, error) {
			if sessions == nil {
				return nil, errors.New("it cannot be opened")
			}
			return telling{opened{address: address}, sessions, closed}, nil
		}
	}
	before := slices.Clone(stores)
	var got []string
	for _, f := range store.Describe(t.Context(), stores) {
		got = append(got, fmt.Sprintf("%s %v %d", f.At, noon.Sub(f.Changed), f.Sessions))
	}
	same(t, got, []string{"young 1m0s 1", "none 1h0m0s 0", "torn 2h0m0s -1", "shut 3h0m0s -1", "old 4h0m0s 2"})
	for i := range before {
		if stores[i].At != before[i].At || stores[i].Sessions != -1 {
			t.Errorf("the stores that were given became %v", stores)
			break
		}
	}
	for range 4 {
		<-closed // each that was opened
	}
}

// A store that does not answer holds nobody up.
func TestDescribe_endsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	free := make(chan struct{})
	t.Cleanup(func() { close(free) })
	var stores []store.Found
	for i := range 9 {
		f := store.Found{Identity: store.Identity{At: strings.Repeat("x", i)}, Changed: noon.Add(time.Duration(i) * time.Hour), Sessions: -1}
		f.Kind.Open = func(context.Context, string) (store.Store, error) {
			cancel()
			<-free // whatever ctx says
			return nil, errors.New("late")
		}
		stores = append(stores, f)
	}
	got := store.Describe(ctx, stores)
	if len(got) != 9 || got[0].At != "xxxxxxxx" || got[8].At != "" {
		t.Errorf("described %v", got)
	}
}

func same(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%q instead of %q", got, want)
	}
}
