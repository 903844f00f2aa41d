package watch

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"hindcast/store/storetest/skip"
)

// patience is how long a test waits for what must come.
const patience = 20 * time.Second

// told waits for a value.
func told(t *testing.T, changes <-chan struct{}, what string) {
	t.Helper()
	select {
	case _, open := <-changes:
		if !open {
			t.Fatalf("%s: the channel is closed", what)
		}
	case <-time.After(patience):
		t.Fatalf("%s is not told", what)
	}
}

// toldUntil takes values until a condition holds.
func toldUntil(t *testing.T, changes <-chan struct{}, what string, holds func() bool) {
	t.Helper()
	for !holds() {
		told(t, changes, what)
	}
}

// write writes a file, in place.
func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// replace writes a file as writers do that nobody should find half done.
func replace(t *testing.T, path, content string) {
	t.Helper()
	write(t, path+".tmp", content)
	if err := os.Rename(path+".tmp", path); err != nil {
		t.Fatal(err)
	}
}

func appendTo(t *testing.T, path, content string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(content); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

// ways are how changes can come to be known: each has to do alone.
var ways = map[string]func(*bounds){
	"the system alone": func(b *bounds) { b.every = time.Hour },
	"rounds alone":     func(b *bounds) { b.watches, b.every = 0, 5*time.Millisecond },
	"as it is used":    func(*bounds) {},
}

func eachWay(t *testing.T, test func(t *testing.T, b bounds)) {
	for name, change := range ways {
		t.Run(name, func(t *testing.T) {
			b := defaultBounds()
			b.settle = 5 * time.Millisecond
			change(&b)
			if b.every == time.Hour && listens(t) == nil {
				skip.Missing(t, "the system does not notify")
			}
			test(t, b)
		})
	}
}

// listens returns a listener on a system that can tell, or else nil.
func listens(t *testing.T) *listener {
	e := newListener(func(event fsnotify.Event) bool { return !isTemporary(filepath.Base(event.Name)) })
	t.Cleanup(e.close)
	if e.system == nil {
		return nil
	}
	return e
}

func isTemporary(name string) bool { return strings.HasSuffix(name, ".tmp") }

// log are the levels of a tree like that of a message log.
var log = []Level{{Prefix: "session_"}, {Name: "agents"}, {Prefix: "agent_"}, {Name: "messages"}}

func TestFile_tellsWhateverHappensToIt(t *testing.T) {
	eachWay(t, func(t *testing.T, b bounds) {
		path := filepath.Join(t.TempDir(), "rows.jsonl")
		changes := watchFile(t.Context(), path, b)
		for _, step := range []struct {
			what string
			do   func()
		}{
			{"made", func() { write(t, path, "1\n") }},
			{"appended to", func() { appendTo(t, path, "2\n") }},
			{"cut", func() {
				if err := os.Truncate(path, 1); err != nil {
					t.Fatal(err)
				}
			}},
			{"replaced", func() { replace(t, path, "3") }},
			{"appended to after it was replaced", func() { appendTo(t, path, "4\n") }},
			{"removed", func() { remove(t, path) }},
			{"made again", func() { write(t, path, "5\n") }},
			{"written in place", func() { write(t, path, "6\n") }},
		} {
			drain(changes)
			step.do()
			told(t, changes, step.what)
		}
	})
}

// drain takes what was told of the steps before.
func drain(changes <-chan struct{}) {
	select {
	case <-changes:
	default:
	}
}

func TestFile_whoseFolderIsMadeLater(t *testing.T) {
	eachWay(t, func(t *testing.T, b bounds) {
		dir := filepath.Join(t.TempDir(), "later", "below")
		path := filepath.Join(dir, "rows.jsonl")
		changes := watchFile(t.Context(), path, b)
		for range 3 {
			write(t, path, "1\n")
			told(t, changes, "a file in a new folder")
			remove(t, filepath.Dir(dir))
			toldUntil(t, changes, "a folder removed", func() bool { return !exists(path) })
		}
	})
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func TestFile_thatIsALink(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	path, target := filepath.Join(dir, "link"), filepath.Join(elsewhere, "rows.jsonl")
	write(t, target, "1\n")
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
	changes := File(t.Context(), path)
	appendTo(t, target, "2\n")
	told(t, changes, "an append behind a link")
}

// notices lets w notice what happened, until it has noticed it in each of some
// folders. It is as run does it, but that nothing noticed before can be mistaken for it.
func notices(t *testing.T, w *watcher, what string, folders ...string) {
	t.Helper()
	for missing := slices.Clone(folders); len(missing) > 0; {
		if w.watches == 0 {
			w.runRound()
		} else {
			told(t, w.heard.sign, what)
			w.markReported()
		}
		missing = slices.DeleteFunc(missing, func(folder string) bool {
			return slices.ContainsFunc(w.found, func(p *place) bool { return p.path == folder })
		})
		w.renewChanged()
		if w.watches == 0 && len(missing) > 0 {
			t.Fatalf("%s: a round finds nothing in %q", what, missing)
		}
	}
}

// followed runs a test with a watcher that only hears of changes, and with one
// that only looks.
func followed(t *testing.T, levels []Level, test func(t *testing.T, w *watcher)) {
	for name, watches := range map[string]int{"heard": defaultBounds().watches, "looked at": 0} {
		t.Run(name, func(t *testing.T) {
			if watches > 0 && listens(t) == nil {
				skip.Missing(t, "the system does not notify")
			}
			b := defaultBounds()
			b.watches = watches
			w := newWatcher(t.TempDir(), levels, isTemporary, b)
			t.Cleanup(w.heard.close)
			test(t, w)
		})
	}
}

func TestTree_noticesWhatAppearsLater(t *testing.T) {
	followed(t, log, func(t *testing.T, w *watcher) {
		for n := range 3 {
			session := filepath.Join(w.base, fmt.Sprint("session_", n))
			agent := filepath.Join(session, "agents", "agent_a")
			messages := filepath.Join(agent, "messages")
			replace(t, filepath.Join(messages, "message_0.json"), "{}")
			notices(t, w, "a session", w.base)
			replace(t, filepath.Join(messages, "message_1.json"), "{}")
			notices(t, w, "a message", messages)
			replace(t, filepath.Join(agent, "agent.json"), "{}")
			notices(t, w, "an agent's file", agent)
			replace(t, filepath.Join(session, "session.json"), "{}")
			notices(t, w, "a session's file", session)
			other := filepath.Join(session, "agents", "agent_b")
			if err := os.Mkdir(other, 0o755); err != nil {
				t.Fatal(err)
			}
			notices(t, w, "another agent", filepath.Join(session, "agents"))
			replace(t, filepath.Join(other, "messages", "message_0.json"), "{}")
			notices(t, w, "its messages", other)
			replace(t, filepath.Join(other, "messages", "message_1.json"), "{}")
			notices(t, w, "a message of it", filepath.Join(other, "messages"))
		}
	})
}

// A folder that is removed and made again, or gives its name to another, is
// another folder.
func TestTree_followsTheNameNotTheFolder(t *testing.T) {
	followed(t, log, func(t *testing.T, w *watcher) {
		session, other := filepath.Join(w.base, "session_a"), filepath.Join(w.base, "session_b")
		messages := filepath.Join("agents", "agent_a", "messages")
		message := filepath.Join(messages, "message_0.json")
		move := func(from, to string) func() {
			return func() {
				if err := os.Rename(from, to); err != nil {
					t.Fatal(err)
				}
			}
		}
		write(t, filepath.Join(session, message), "{}")
		notices(t, w, "a session", w.base)
		for range 2 {
			for _, step := range []struct {
				what   string
				do     func()
				folder string
			}{
				{"removed", func() { remove(t, session) }, w.base},
				{"made again", func() { write(t, filepath.Join(session, message), "{}") }, w.base},
				{"a message in it", func() { replace(t, filepath.Join(session, message), "[]") }, filepath.Join(session, messages)},
				{"renamed", move(session, other), w.base},
				{"a message under the new name", func() { replace(t, filepath.Join(other, message), "{}") }, filepath.Join(other, messages)},
				{"renamed back", move(other, session), w.base},
				{"a message under the old name", func() { replace(t, filepath.Join(session, message), "{}") }, filepath.Join(session, messages)},
			} {
				step.do()
				notices(t, w, step.what, step.folder)
			}
		}
		if len(w.places) != 5 {
			t.Errorf("%d places are left", len(w.places))
		}
	})
}

func TestTree_tellsWhatItNotices(t *testing.T) {
	eachWay(t, func(t *testing.T, b bounds) {
		root := t.TempDir()
		changes := startWatching(t.Context(), root, log, isTemporary, b)
		replace(t, filepath.Join(root, "session_a", "agents", "agent_a", "messages", "message_0.json"), "{}")
		told(t, changes, "a message")
	})
}

func TestTree_linksDoNotLeadOut(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	write(t, filepath.Join(outside, "agents", "agent_a", "messages", "message_0.json"), "{}")
	write(t, filepath.Join(root, "elsewhere", "agents", "agent_a", "messages", "message_0.json"), "{}")
	for name, target := range map[string]string{"session_out": outside, "session_in": "elsewhere"} {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	w := newWatcher(root, log, isTemporary, defaultBounds())
	defer w.heard.close()
	for path, want := range map[string]bool{
		filepath.Join(root, "session_in", "agents", "agent_a", "messages"):  true,
		filepath.Join(root, "session_out", "agents", "agent_a", "messages"): false,
	} {
		if p := w.places[path]; want != (p != nil && p.isFolder()) {
			t.Errorf("%s is followed: %v", path, p)
		}
	}
}

// What is ignored is not told: the sign of the second folder comes, and nothing
// was said about the first.
func TestEar_ignoresTemporaryFiles(t *testing.T) {
	e := listens(t)
	if e == nil {
		skip.Missing(t, "the system does not notify")
	}
	ignored, other := t.TempDir(), t.TempDir()
	for _, dir := range []string{ignored, other} {
		if err := e.watchFolder(dir); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(ignored, ".strands_x7.tmp"), "{}")
	write(t, filepath.Join(ignored, "message_0.json.tmp"), "{}")
	if err := os.Remove(filepath.Join(ignored, ".strands_x7.tmp")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(other, "message_0.json"), "{}")
	told(t, e.sign, "the other folder")
	paths, lost := e.takePaths()
	_, heard := paths[other]
	if _, heardIgnored := paths[ignored]; lost || !heard || heardIgnored {
		t.Errorf("heard of %v, lost: %v", paths, lost)
	}
}

func TestEar_hearsThatSignsWereLost(t *testing.T) {
	e := listens(t)
	if e == nil {
		skip.Missing(t, "the system does not notify")
	}
	for i := range mostPaths + 1 {
		e.noteEvent(fsnotify.Event{Name: fmt.Sprintf("folder_%d/x", i), Op: fsnotify.Create})
	}
	if paths, lost := e.takePaths(); !lost || len(paths) != 0 {
		t.Errorf("after too many: %d paths, lost: %v", len(paths), lost)
	}
	<-e.sign
	e.system.Errors <- fsnotify.ErrEventOverflow
	told(t, e.sign, "an overflow")
	if _, lost := e.takePaths(); !lost {
		t.Error("nothing is lost")
	}
}

// After signs were lost, folders that nobody told of are followed all the same.
func TestTree_afterSignsWereLost(t *testing.T) {
	root := t.TempDir()
	w := newWatcher(root, log, isTemporary, defaultBounds())
	defer w.heard.close()
	messages := filepath.Join(root, "session_a", "agents", "agent_a", "messages")
	write(t, filepath.Join(messages, "message_0.json"), "{}")
	w.heard.mu.Lock()
	clear(w.heard.paths)
	w.heard.lost = true
	w.heard.mu.Unlock()
	w.markReported()
	if p := w.places[messages]; p == nil || !p.isFolder() {
		t.Errorf("the new folder is not followed: %v", p)
	}
}

// A folder that was removed and made again before it was looked at is another one, even
// where the file system numbers both alike.
func TestTree_hearsOfAFolderMadeAgain(t *testing.T) {
	if listens(t) == nil {
		skip.Missing(t, "the system does not notify")
	}
	root := t.TempDir()
	session := filepath.Join(root, "session_a")
	for range 20 {
		mkdir(t, session)
		w := newWatcher(root, log, isTemporary, defaultBounds())
		before := w.places[session].info
		remove(t, session)
		mkdir(t, session)
		alike := sameFile(before, w.statFollowed(session))
		notices(t, w, "made again", root)
		replace(t, filepath.Join(session, "session.json"), "{}")
		notices(t, w, "a file in it", session)
		w.heard.close()
		remove(t, session)
		if alike {
			return
		}
	}
	t.Skip("this file system gives no number twice")
}

// The folders that changed last are watched, never more than bounds allow, and
// a folder in which a round finds something takes the place of a quiet one.
func TestTree_watchesWhatChangedLast(t *testing.T) {
	if listens(t) == nil {
		skip.Missing(t, "the system does not notify")
	}
	root := t.TempDir()
	hour := func(n int) time.Time { return time.Now().Add(time.Duration(n-100) * time.Hour) }
	messages := func(n int) string {
		return filepath.Join(root, fmt.Sprint("session_", n), "agents", "agent_a", "messages")
	}
	const sessions = 20
	for n := range sessions {
		write(t, filepath.Join(messages(n), "message_0.json"), "{}")
		for dir := messages(n); dir != root; dir = filepath.Dir(dir) {
			if err := os.Chtimes(dir, hour(n), hour(n)); err != nil {
				t.Fatal(err)
			}
		}
	}
	b := defaultBounds()
	b.watches = 9
	w := newWatcher(root, log, isTemporary, b)
	defer w.heard.close()
	watched := func(path string) bool { p := w.places[path]; return p != nil && w.watched[p] }
	if !watched(root) || !watched(messages(19)) || !watched(messages(18)) || watched(messages(17)) || len(w.watched) != 9 {
		t.Errorf("of %d places these are watched: %v", len(w.places), w.heard.system.WatchList())
	}
	alone := newWatcher(root, log, isTemporary, bounds{watches: 1, places: 100})
	defer alone.heard.close()
	if alone.touchPlace(alone.places[messages(19)]); len(alone.watched) != 1 || !alone.watched[alone.places[root]] {
		t.Errorf("of one watch the root takes none: %v", alone.heard.system.WatchList())
	}
	replace(t, filepath.Join(messages(3), "message_1.json"), "{}")
	if !w.runRound() {
		t.Error("a round finds nothing")
	}
	w.renewChanged()
	if !watched(messages(3)) || !watched(root) || len(w.watched) != 9 || len(w.heard.system.WatchList()) != 9 {
		t.Errorf("then these are watched: %v", w.heard.system.WatchList())
	}
}

// No bound of a large store is passed, and what is beyond is passed over.
func TestTree_boundsWhatItFollows(t *testing.T) {
	root := t.TempDir()
	for n := range 50 {
		write(t, filepath.Join(root, fmt.Sprint("session_", n), "agents", "agent_a", "messages", "message_0.json"), "{}")
	}
	b := defaultBounds()
	b.places, b.looks = 30, 7
	w := newWatcher(root, log, isTemporary, b)
	defer w.heard.close()
	if len(w.places) != 30 {
		t.Errorf("%d places", len(w.places))
	}
	// Of a folder with more entries than that not all are read, and those that
	// were are not taken for gone when others are read the next time.
	b.places = 3
	few := newWatcher(root, log, isTemporary, b)
	defer few.heard.close()
	before := maps.Clone(few.places)
	few.renewAll(few.places[few.base])
	if len(few.places) != 3 || !maps.Equal(few.places, before) {
		t.Errorf("of three places %d are left", len(few.places))
	}
	for sweep := range 2 {
		seen := 0
		for range 5 { // 7 places four times, and 2
			before := len(w.round)
			w.runRound()
			if before == 0 {
				before = len(w.places)
			}
			seen += before - len(w.round)
		}
		if seen != 30 {
			t.Errorf("sweep %d looked at %d places of 30", sweep, seen)
		}
	}
}

// Where the system cannot tell, nothing is asked of it twice.
func TestTree_withoutTheSystem(t *testing.T) {
	root := t.TempDir()
	w := newWatcher(root, log, isTemporary, defaultBounds())
	w.heard.close()
	w.heard.system = nil
	clear(w.watched)
	write(t, filepath.Join(root, "session_a", "session.json"), "{}")
	if !w.runRound() {
		t.Error("a round finds nothing")
	}
	w.renewChanged()
	if len(w.watched) != 0 || w.watches != 0 {
		t.Errorf("%d folders are watched, %d may be", len(w.watched), w.watches)
	}
}

// Rounds are made only while there is something that the system does not tell of.
func TestTree_looksOnlyWhereTheSystemDoesNotTell(t *testing.T) {
	root := t.TempDir()
	if !tells(root) || listens(t) == nil {
		skip.Missing(t, "it is not known that the system tells all of %s", root)
	}
	at := func(name string) string { return filepath.Join(root, name) }
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(root, "session_a", "agents", "agent_a", "messages", "message_0.json"), "{}")
	write(t, at("one"), "1")
	write(t, at("two"), "2")
	do(os.Link(at("two"), at("second name")))
	do(os.Symlink(at("one"), at("link")))
	do(os.Symlink(at("session_a"), at("session_link")))
	few := defaultBounds()
	few.watches = 4
	for _, c := range []struct {
		what   string
		root   string
		levels []Level
		bounds bounds
		rounds bool
	}{
		{"a tree", root, log, defaultBounds(), false},
		{"a file", root, []Level{{Name: "one"}}, defaultBounds(), false},
		{"no file yet", root, []Level{{Name: "none"}}, defaultBounds(), false},
		{"a file and one beside it that is not there", root, []Level{{Name: "one", suffixes: []string{"-wal"}}}, defaultBounds(), false},
		{"a file with two names", root, []Level{{Name: "two"}}, defaultBounds(), true},
		{"a file beside one with two names", root, []Level{{Name: "tw", suffixes: []string{"o"}}}, defaultBounds(), true},
		{"a link to a file", root, []Level{{Name: "link"}}, defaultBounds(), true},
		{"no folder yet", at("none/below"), []Level{{Name: "one"}}, defaultBounds(), false},
		{"more folders than may be watched", root, log, few, true},
	} {
		w := newWatcher(c.root, c.levels, isTemporary, c.bounds)
		if got := w.nextRound() != nil; got != c.rounds {
			t.Errorf("%s: rounds are made: %v", c.what, got)
		}
		w.heard.close()
	}
	// Elsewhere than in a local file system, all is looked at.
	w := newWatcher(root, log, isTemporary, defaultBounds())
	defer w.heard.close()
	w.places[root].telling = false
	if w.nextRound() == nil {
		t.Error("of a folder that others change no round is made")
	}
}

// A tree that grows a folder which cannot be watched is looked at from then on.
func TestTree_looksAgainWhereWatchesEnd(t *testing.T) {
	root := t.TempDir()
	b := defaultBounds()
	b.watches, b.every, b.settle = 2, 5*time.Millisecond, time.Millisecond
	changes := startWatching(t.Context(), root, []Level{{Prefix: "session_"}}, isTemporary, b)
	for _, name := range []string{"session_a", "session_b", "session_c"} {
		write(t, filepath.Join(root, name, "session.json"), "{}")
		told(t, changes, name)
	}
	for _, name := range []string{"session_a", "session_b", "session_c"} {
		drain(changes)
		write(t, filepath.Join(root, name, "more.json"), "{}")
		told(t, changes, "a file in "+name)
	}
}

// Times of files are coarse, so a change that a round found is told twice: the
// second time for what may have followed within the same tick.
func TestTree_looksAgainAtWhatChanged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	write(t, path, "1")
	long := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, long, long); err != nil {
		t.Fatal(err)
	}
	b := defaultBounds()
	b.watches = 0
	w := newWatcher(filepath.Dir(path), []Level{{Name: "f"}}, isTemporary, b)
	defer w.heard.close()
	w.runRound() // the folder is new, so that it counts as changed once
	w.renewChanged()
	if w.runRound() {
		t.Error("a change is found before there is one")
	}
	now := time.Now()
	if err := os.Chtimes(path, now, now); err != nil {
		t.Fatal(err)
	}
	for round, want := range []bool{true, true, false} {
		if got := w.runRound(); got != want {
			t.Errorf("round %d after the change: %v", round, got)
		}
		w.renewChanged()
	}
}

// A writer that never rests is told of again and again, but not for each write.
func TestFile_coalesces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.jsonl")
	write(t, path, "")
	b := defaultBounds()
	b.settle = 50 * time.Millisecond
	started := time.Now()
	changes := watchFile(t.Context(), path, b)
	const writes = 2000
	done := make(chan struct{})
	go func() {
		defer close(done)
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Error(err)
			return
		}
		defer f.Close()
		for range writes {
			if _, err := f.WriteString("a line\n"); err != nil {
				t.Error(err)
			}
		}
	}()
	values := 0
	for size := int64(0); size < writes*int64(len("a line\n")); values++ {
		told(t, changes, "a burst")
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		size = info.Size()
	}
	<-done
	if most := int(time.Since(started)/b.settle) + 1; values > most {
		t.Errorf("%d values in %v", values, time.Since(started))
	}
}

// What watched is gone with the context: the channel is closed, and then
// neither a goroutine nor a descriptor is left.
func TestTree_endsWithItsContext(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "session_a", "agents", "agent_a", "messages", "message_0.json"), "{}")
	goroutines, descriptors := runtime.NumGoroutine(), openDescriptors(t)
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		changes := Tree(ctx, root, log, isTemporary)
		cancel()
		for range changes {
		}
	}
	if n := openDescriptors(t); n > descriptors {
		t.Errorf("%d descriptors are open, %d were", n, descriptors)
	}
	// A goroutine that has done all it does may take a moment to be gone.
	for deadline := time.Now().Add(patience); runtime.NumGoroutine() > goroutines; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines run, %d did", runtime.NumGoroutine(), goroutines)
		}
	}
}

// openDescriptors counts the descriptors that are open, 0 where the system does
// not list them.
func openDescriptors(t *testing.T) int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Log(err)
	}
	return len(entries)
}
