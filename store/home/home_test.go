package home_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/home"
	"hindcast/store/storetest/fake"
	"hindcast/store/storetest/skip"
)

// shelf is a store whose sessions and failures a test writes.
type shelf struct {
	*fake.Store
	sessions []model.SessionInfo
	// err ends the list behind them, and boom is panicked there.
	err  error
	boom any
	// listed counts the lists, and changes tells watchers.
	listed  atomic.Int32
	read    atomic.Int32 // sessions of the lists
	changes chan struct{}
	closed  atomic.Bool
}

func (s *shelf) Sessions(ctx context.Context) iter.Seq2[model.SessionInfo, error] {
	s.listed.Add(1)
	return func(yield func(model.SessionInfo, error) bool) {
		for _, info := range s.sessions {
			if s.read.Add(1); !yield(info, ctx.Err()) {
				return
			}
		}
		if s.boom != nil {
			panic(s.boom)
		}
		if s.err != nil {
			yield(model.SessionInfo{}, s.err)
		}
	}
}

func (s *shelf) Features() store.Features {
	return store.Features{
		Find: func(_ context.Context, session string) error {
			if slices.ContainsFunc(s.sessions, func(info model.SessionInfo) bool { return info.ID == session }) {
				return nil
			}
			return model.ErrNoSession
		},
		Watch: func(ctx context.Context) (<-chan struct{}, error) { return s.watchUntil(ctx), nil },
	}
}

// watchUntil sends the changes on until ctx ends.
func (s *shelf) watchUntil(ctx context.Context) <-chan struct{} {
	out := make(chan struct{})
	go func() {
		defer close(out)
		for {
			select {
			case <-ctx.Done():
				return
			case _, open := <-s.changes:
				if !open {
					return
				}
			}
			select {
			case <-ctx.Done():
				return
			case out <- struct{}{}:
			}
		}
	}()
	return out
}

func (s *shelf) Close() error {
	s.closed.Store(true)
	return nil
}

// shelfOf is a store with sessions, the first one changed last, each a minute older than the one before.
func shelfOf(ids ...string) *shelf {
	s := &shelf{Store: fake.New(), changes: make(chan struct{})}
	for i, id := range ids {
		s.sessions = append(s.sessions, model.SessionInfo{ID: id, Kind: "shelf", UpdatedAt: time.Unix(int64(10_000-60*i), 0)})
	}
	return s
}

// errLocked keeps a store from being opened.
var errLocked = errors.New("it is locked")

// houseOf is a home of stores that were found; nil is one that cannot be opened.
func houseOf(shelves ...*shelf) *home.Home {
	var found []store.Found
	for i, s := range shelves {
		k := store.Kind{Name: "shelf", Open: func(context.Context, string) (store.Store, error) {
			if s == nil {
				return nil, errLocked
			}
			return s, nil
		}}
		found = append(found, store.Found{Identity: store.Identity{Kind: k, At: fmt.Sprint("place ", i)}})
	}
	return home.FromFound(found)
}

// listOf returns what a home lists, sorted, a line each, and the errors.
func listOf(sessions iter.Seq2[*home.Session, error]) (lines []string, errs []error) {
	for s, err := range sessions {
		switch {
		case err != nil:
			errs = append(errs, err)
		case s.Err != nil:
			lines = append(lines, s.Store.At+": "+s.Err.Error())
		default:
			lines = append(lines, s.Store.At+" "+s.ID)
		}
	}
	slices.Sort(lines)
	return lines, errs
}

// inParts flattens parts.
func inParts(parts iter.Seq2[[]home.Session, error]) iter.Seq2[*home.Session, error] {
	return func(yield func(*home.Session, error) bool) {
		for part, err := range parts {
			if err != nil && !yield(new(home.Session), err) {
				return
			}
			for _, s := range part {
				if !yield(&s, nil) {
					return
				}
			}
		}
	}
}

// The list of a home is those of its stores, whatever becomes of one of them, in one piece and in parts.
func TestHome_listsWhatItsStoresList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var shelves []*shelf
		var want []string
		for i := range rapid.IntRange(0, 9).Draw(t, "stores") {
			at := fmt.Sprint("place ", i)
			kind := rapid.IntRange(0, 4).Draw(t, "kind")
			if kind == 0 {
				shelves, want = append(shelves, nil), append(want, at+": "+errLocked.Error())
				continue
			}
			var ids []string
			for j := range rapid.IntRange(0, 40).Draw(t, "sessions") {
				ids = append(ids, fmt.Sprint("session-", j))
				want = append(want, at+" "+ids[j])
			}
			s := shelfOf(ids...)
			if kind == 1 {
				s.err = errors.New("it is damaged")
				want = append(want, at+": it is damaged")
			}
			shelves = append(shelves, s)
		}
		slices.Sort(want)
		h := houseOf(shelves...)
		for name, list := range map[string]iter.Seq2[*home.Session, error]{
			"sessions": h.Sessions(t.Context()), "newest": h.ListNewest(t.Context()), "batches": inParts(h.Batches(t.Context())), "again": inParts(h.Relist(t.Context())),
		} {
			if got, errs := listOf(list); !slices.Equal(got, want) || errs != nil {
				t.Fatalf("%s: %q, %v; want %q", name, got, errs, want)
			}
		}
	})
}

// The newest sessions of all stores come in the order of their changes, each with its sub-agents, and no store is read
// further than the session behind the last one of it that came.
func TestHome_ListNewest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var shelves []*shelf
		var want []string
		changed := map[string]time.Time{}
		for i := range rapid.IntRange(1, 6).Draw(t, "stores") {
			s := shelfOf()
			at := time.Unix(100_000, 0)
			for j := range rapid.IntRange(0, 20).Draw(t, "sessions") {
				at = at.Add(-time.Duration(rapid.IntRange(0, 500).Draw(t, "before")) * time.Second)
				id := fmt.Sprintf("s%d-%02d", i, j)
				s.sessions = append(s.sessions, model.SessionInfo{ID: id, UpdatedAt: at})
				changed[id], want = at, append(want, id)
				if rapid.Bool().Draw(t, "agent") {
					s.sessions = append(s.sessions, model.SessionInfo{ID: id + "/agent", Parent: id, UpdatedAt: at.Add(-time.Hour)})
					changed[id+"/agent"], want = at, append(want, id+"/agent")
				}
			}
			shelves = append(shelves, s)
		}
		slices.SortStableFunc(want, func(a, b string) int { return cmp.Or(changed[b].Compare(changed[a]), strings.Compare(a, b)) })
		most := rapid.IntRange(1, 30).Draw(t, "taken")
		var got []string
		for s, err := range houseOf(shelves...).ListNewest(t.Context()) {
			if err != nil || s.Err != nil {
				t.Fatal(err, s.Err)
			}
			if got = append(got, s.ID); len(got) == most {
				break
			}
		}
		if !slices.Equal(got, want[:min(most, len(want))]) {
			t.Fatalf("%q\nof %q", got, want)
		}
		for i, s := range shelves {
			taken := 0
			for _, id := range got {
				if strings.HasPrefix(id, fmt.Sprintf("s%d-", i)) {
					taken++
				}
			}
			if read := int(s.read.Load()); read > taken+1 {
				t.Errorf("%d sessions of store %d are read for %d", read, i, taken)
			}
		}
	})
}

// A store whose list was left early is read again.
func TestHome_relistsWhatWasLeft(t *testing.T) {
	s := shelfOf("a", "b")
	h := houseOf(s)
	listOf(h.Sessions(t.Context()))
	s.sessions = shelfOf("a", "b", "c").sessions
	h.Forget()
	for range h.ListNewest(t.Context()) {
		break
	}
	if got, _ := listOf(inParts(h.Relist(t.Context()))); len(got) != 3 {
		t.Errorf("%q", got)
	}
}

// A reader that leaves, and a context that ends, leave nothing running behind.
func TestHome_leftEarly(t *testing.T) {
	var shelves []*shelf
	for range 20 {
		var ids []string
		for j := range 1000 {
			ids = append(ids, fmt.Sprint(j))
		}
		shelves = append(shelves, shelfOf(ids...))
	}
	before := runtime.NumGoroutine()
	h := houseOf(shelves...)
	n := 0
	for range h.Sessions(t.Context()) {
		if n++; n == 3 {
			break
		}
	}
	for range h.Batches(t.Context()) {
		break
	}
	for range h.ListNewest(t.Context()) {
		break
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n = 0
	for range h.Sessions(ctx) {
		if n++; n == 3 {
			cancel()
		}
	}
	if n > 10_000 {
		t.Errorf("%d sessions came behind the end", n)
	}
	for i := 0; runtime.NumGoroutine() > before; i++ {
		if i == 20_000 { // others have the processors, too
			t.Fatalf("%d goroutines run, %d before", runtime.NumGoroutine(), before)
		}
		time.Sleep(time.Millisecond)
	}
}

// A panic in a store comes to the reader, with the place where it happened.
func TestHome_panics(t *testing.T) {
	s := shelfOf("a", "b")
	s.boom = "boom"
	for name, list := range map[string]func(*home.Home){
		"sessions": func(h *home.Home) { listOf(h.Sessions(t.Context())) },
		"batches":  func(h *home.Home) { listOf(inParts(h.Batches(t.Context()))) },
	} {
		func() {
			defer func() {
				if p, is := recover().(store.Panic); !is || p.Value != "boom" || !strings.Contains(p.Stack, "home_test.go") {
					t.Errorf("%s: %+v", name, p)
				}
			}()
			list(houseOf(shelfOf("c"), s))
		}()
	}
}

// Again reads the stores alone that changed.
func TestHome_again(t *testing.T) {
	one, two := shelfOf("a"), shelfOf("b")
	h := houseOf(one, two, nil)
	listOf(h.Sessions(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	changes, err := h.Watch(ctx)
	if err != nil {
		t.Fatal(err)
	}
	two.sessions = append(two.sessions, model.SessionInfo{ID: "new"})
	two.changes <- struct{}{}
	<-changes
	got, _ := listOf(inParts(h.Relist(t.Context())))
	if want := []string{"place 0 a", "place 1 b", "place 1 new", "place 2: it is locked"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if one.listed.Load() != 1 || two.listed.Load() != 2 {
		t.Errorf("listed %d and %d times", one.listed.Load(), two.listed.Load())
	}
	close(one.changes)
	close(two.changes)
	cancel()
	for range changes { // it is closed
	}
	if h.Forget(); one.listed.Load() != 1 {
		t.Error("it was read without being asked")
	}
	if listOf(inParts(h.Relist(t.Context()))); one.listed.Load() != 2 || two.listed.Load() != 3 {
		t.Errorf("after Forget: listed %d and %d times", one.listed.Load(), two.listed.Load())
	}
}

func TestHome_Find(t *testing.T) {
	h := houseOf(shelfOf("trip-planner", "trip", "7ffd5cb9-ffe6"), shelfOf("trip", "7ffd0000"), nil)
	for name, want := range map[string]string{
		"trip":         "[place 0 trip place 1 trip]", // an id goes before beginnings
		"trip-":        "[place 0 trip-planner]",
		"7ffd":         "[place 0 7ffd5cb9-ffe6 place 1 7ffd0000]",
		"7ffd5":        "[place 0 7ffd5cb9-ffe6]",
		"7ff":          "[]", // too short
		"nobody":       "[]",
		"trip-planner": "[place 0 trip-planner]",
	} {
		found, err := h.FindSession(t.Context(), name)
		got := []string{}
		for _, s := range found {
			got = append(got, s.Store.At+" "+s.ID)
		}
		slices.Sort(got)
		if fmt.Sprint(got) != want || err != nil {
			t.Errorf("%s: %v, %v; want %s", name, got, err, want)
		}
	}
}

// Sub-agents of a session have its id as the beginning of theirs: the name means the session.
func TestHome_Find_sessionBeforeItsAgents(t *testing.T) {
	h, _ := newMachine(t)
	for name, want := range map[string][]string{
		"b58a5d13":                               {"b58a5d13-7517-4bb3-9c99-e62cde19c103"},
		"b58a5d13-7517-4bb3-9c99-e62cde19c103/a": {"b58a5d13-7517-4bb3-9c99-e62cde19c103/agent-8a0da39c"},
		"0a94d6d4":                               {"0a94d6d4-88e1-44f3-947a-abb35c9ed35f/agent-5b24f59d"}, // its session is gone
	} {
		found, err := h.FindSession(t.Context(), name)
		var got []string
		for _, s := range found {
			got = append(got, s.ID)
		}
		if !slices.Equal(got, want) || err != nil {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
	}
}

func TestHome_Latest(t *testing.T) {
	old, young := shelfOf("old"), shelfOf("young", "younger")
	young.sessions[0].UpdatedAt = time.Unix(20_000, 0)
	for _, c := range []struct {
		home *home.Home
		want string
		err  error
	}{
		{houseOf(old, young, nil), "young", nil},
		{houseOf(old), "old", nil},
		{houseOf(shelfOf(), nil), "", errLocked},
		{houseOf(shelfOf()), "", model.ErrNoSession},
		{houseOf(), "", model.ErrNoSession},
	} {
		if got, err := c.home.LatestSession(t.Context()); got.ID != c.want || !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
			t.Errorf("%q, %v; want %q, %v", got.ID, err, c.want, c.err)
		}
	}
}

// box is a kind whose stores are the folders and files that end in .box.
func box(places ...string) store.Kind {
	return store.Kind{
		Name: "box", Files: []string{"*.box"},
		Recognise: func(_ context.Context, path string) (string, bool, error) {
			_, err := os.Stat(path)
			return "it ends in .box", strings.HasSuffix(path, ".box"), err
		},
		Open:   func(context.Context, string) (store.Store, error) { return shelfOf("s"), nil },
		Places: func(store.Surroundings) []string { return places },
	}
}

// Each store is found once, whatever leads to it; a part of a store is none of its own; and an address that a person
// added is there whatever becomes of it.
func TestHome_Look(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"usual/a.box", "work/b.box", "work/deep/c.box", "outer.box/inner.box"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "usual/a.box"), filepath.Join(dir, "work/link.box")); err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	kinds := store.Kinds{box(at("usual/*.box"), at("outer.box/inner.box"), at("outer.box"))}
	for _, c := range []struct {
		name   string
		places home.Places
		want   string
		errs   int
	}{
		{"usual places", home.Places{}, "usual/a.box outer.box", 0},
		{"and below a folder", home.Places{Below: []string{at("work")}}, "usual/a.box outer.box work/b.box work/deep/c.box", 0},
		{"below a place that is found", home.Places{Below: []string{dir}}, "usual/a.box outer.box work/b.box work/deep/c.box", 0},
		{"a folder that is a store", home.Places{Folder: at("outer.box")}, "usual/a.box outer.box", 0},
		{"a folder of stores", home.Places{Folder: at("work")}, "usual/a.box outer.box work/b.box work/deep/c.box", 0},
		{"a folder that is not there", home.Places{Below: []string{at("nowhere")}}, "usual/a.box outer.box", 1},
		{"added", home.Places{Added: addedTo(t, "# ours", at("work/b.box"), at("usual/a.box"))}, "usual/a.box outer.box work/b.box", 0},
		{"added and gone", home.Places{Added: addedTo(t, at("gone.bax"))}, "usual/a.box outer.box gone.bax", 0},
		{"added, in a file that cannot be read", home.Places{Added: home.Added{File: dir}}, "usual/a.box outer.box", 1},
	} {
		h := home.New(kinds, c.places)
		errs := 0
		for _, err := range h.FindStores(t.Context()) {
			if err != nil {
				errs++
			}
		}
		var got []string
		for _, s := range h.Stores() {
			rel, err := filepath.Rel(dir, s.At)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, filepath.ToSlash(rel))
		}
		if strings.Join(got, " ") != c.want || errs != c.errs {
			t.Errorf("%s: %q, %d errors; want %q, %d", c.name, got, errs, c.want, c.errs)
		}
	}
}

// addedTo returns a file of stores that a person added, with these lines.
func addedTo(t *testing.T, lines ...string) home.Added {
	a := home.Added{File: filepath.Join(t.TempDir(), "stores")}
	for _, line := range lines {
		if _, err := a.AddAddress(line); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

// What is found after a part of it takes the place of that part, and looking twice finds nothing new.
func TestHome_looksOnce(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "outer.box/inner.box"), 0o700); err != nil {
		t.Fatal(err)
	}
	h := home.New(store.Kinds{box(filepath.Join(dir, "outer.box"))}, home.Places{Added: addedTo(t, filepath.Join(dir, "outer.box/inner.box"))})
	listOf(h.Sessions(t.Context()))
	if got, errs := listOf(h.Sessions(t.Context())); len(got) != 1 || strings.Contains(got[0], "inner.box") || errs != nil {
		t.Errorf("%q, %v", got, errs)
	}
	if err := os.Mkdir(filepath.Join(dir, "late.box"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if _, err := h.Stores()[0].Open(t.Context()); !errors.Is(err, context.Canceled) {
		t.Errorf("behind the end a store opens: %v", err)
	}
}

// Closing a home closes the stores that were opened, and no other is opened.
func TestHome_Close(t *testing.T) {
	one, two := shelfOf("a"), shelfOf("b")
	h := houseOf(one, two)
	if _, err := h.Stores()[0].Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	if h.OnlyStore() != nil {
		t.Error("two stores have an only one")
	}
	if err := h.Close(); err != nil || !one.closed.Load() || two.closed.Load() {
		t.Errorf("%v, closed %v and %v", err, one.closed.Load(), two.closed.Load())
	}
	if h := home.FromStore(one); h.OnlyStore() != store.Store(one) {
		t.Error("the only store is another")
	}
}

// While a store is being opened, which may take long, it can be asked whether it is open. A store that opens
// behind the end of its home is closed.
func TestStore_Opened(t *testing.T) {
	begun, release := make(chan struct{}), make(chan struct{})
	late := shelfOf("a")
	k := store.Kind{Name: "slow", Open: func(context.Context, string) (store.Store, error) {
		close(begun)
		<-release
		return late, nil
	}}
	h := home.FromFound([]store.Found{{Identity: store.Identity{Kind: k, At: "far away"}}})
	failed := make(chan error)
	go func() {
		_, err := h.Stores()[0].Open(context.Background())
		failed <- err
	}()
	<-begun
	if h.Stores()[0].Opened() != nil || h.OnlyStore() != nil {
		t.Error("it is open")
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	close(release)
	if err := <-failed; !errors.Is(err, context.Canceled) || !late.closed.Load() {
		t.Errorf("%v, closed: %v", err, late.closed.Load())
	}
}

// Servers that do not answer keep no place that another store could be read in.
func TestHome_listsOthersWhileServersDoNotAnswer(t *testing.T) {
	down := store.Kind{Name: "down", Schemes: []string{"down"}, Open: func(ctx context.Context, _ string) (store.Store, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	var lines []string
	for i := range 20 {
		lines = append(lines, fmt.Sprintf("down://host/%d", i))
	}
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "a.box"), 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	h := home.New(store.Kinds{down, box()}, home.Places{Below: []string{dir}, Added: addedTo(t, lines...)})
	for session, err := range h.Sessions(ctx) {
		if err != nil || session.Err != nil {
			t.Fatal(err, session.Err)
		}
		return // the one of the box, which was found last
	}
	t.Error("nothing is listed")
}

// A watched home lists a store that appears in a usual place, below a folder, or in the file of added stores.
func TestHome_watchesForNewStores(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "windows" {
		skip.Missing(t, "the system does not tell of new files")
	}
	dir, settings := t.TempDir(), t.TempDir()
	at := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	if err := os.MkdirAll(at("work/deep"), 0o700); err != nil {
		t.Fatal(err)
	}
	added := home.Added{File: filepath.Join(settings, "stores")}
	h := home.New(store.Kinds{box(at("usual/tool/*.box"))}, home.Places{Below: []string{at("work")}, Added: added})
	listOf(h.Sessions(t.Context()))
	changes, err := h.Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := 0
	for _, c := range []struct {
		what   string
		appear func() error
	}{
		{"in a usual place that was not there", func() error { return os.MkdirAll(at("usual/tool/a.box"), 0o700) }},
		{"in a usual place", func() error { return os.Mkdir(at("usual/tool/b.box"), 0o700) }},
		{"below the folder", func() error { return os.Mkdir(at("work/deep/c.box"), 0o700) }},
		{"in a new folder below it", func() error { return os.MkdirAll(at("work/new/d.box"), 0o700) }},
		{"added", func() error {
			err := os.MkdirAll(at("else/e.box"), 0o700)
			_, wrong := added.AddAddress(at("else/e.box"))
			return errors.Join(err, wrong)
		}},
	} {
		if err := c.appear(); err != nil {
			t.Fatal(err)
		}
		want++
		for len(h.Stores()) < want {
			select {
			case <-changes:
				for _, err := range h.Relist(t.Context()) {
					if err != nil {
						t.Fatal(err)
					}
				}
			case <-time.After(20 * time.Second):
				t.Fatalf("%s: %d stores, want %d", c.what, len(h.Stores()), want)
			}
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	again, err := h.Watch(ctx)
	if err != nil {
		t.Fatal(err)
	}
	stop()
	for range again { // it ends
	}
}
