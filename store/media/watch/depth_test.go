package watch

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hindcast/store/storetest/skip"
)

// free are the levels of a store whose folders nest as somebody likes.
var free = []Level{{Depth: 4}}

// below returns the folders that are followed, from the root.
func (w *watcher) below() (list []string) {
	for path, p := range w.places {
		if rel, err := filepath.Rel(w.base, path); err == nil && p.isFolder() {
			list = append(list, filepath.ToSlash(rel))
		}
	}
	slices.Sort(list)
	return list
}

func wantBelow(t *testing.T, w *watcher, want ...string) {
	t.Helper()
	if got := w.below(); !slices.Equal(got, want) {
		t.Errorf("followed are %q, and not %q", got, want)
	}
}

func mkdir(t *testing.T, path ...string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(path...), 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestDepth_noticesWhatAppearsLater(t *testing.T) {
	followed(t, free, func(t *testing.T, w *watcher) {
		write(t, filepath.Join(w.base, "a.json"), "{}")
		notices(t, w, "a file in the root", w.base)
		write(t, filepath.Join(w.base, "org", "user", "team", "a.json"), "{}")
		notices(t, w, "folders in folders", w.base)
		wantBelow(t, w, ".", "org", "org/user", "org/user/team")
		for _, dir := range []string{"org/user/team", "org/user", "org"} {
			replace(t, filepath.Join(w.base, dir, "b.json"), "{}")
			notices(t, w, "a file in "+dir, filepath.Join(w.base, dir))
		}
		// The last level is followed, and what is in it is not.
		mkdir(t, w.base, "org", "user", "team", "last", "beyond")
		notices(t, w, "the last level", filepath.Join(w.base, "org", "user", "team"))
		replace(t, filepath.Join(w.base, "org", "user", "team", "last", "c.json"), "{}")
		notices(t, w, "a file on the last level", filepath.Join(w.base, "org", "user", "team", "last"))
		wantBelow(t, w, ".", "org", "org/user", "org/user/team", "org/user/team/last")
	})
}

func TestDepth_noticesWhatIsRemoved(t *testing.T) {
	followed(t, free, func(t *testing.T, w *watcher) {
		org, user := filepath.Join(w.base, "org"), filepath.Join(w.base, "org", "user")
		for range 2 {
			write(t, filepath.Join(user, "team", "a.json"), "{}")
			notices(t, w, "made", w.base)
			remove(t, filepath.Join(user, "team", "a.json"))
			notices(t, w, "a file removed", filepath.Join(user, "team"))
			remove(t, filepath.Join(user, "team"))
			notices(t, w, "a folder removed", user)
			wantBelow(t, w, ".", "org", "org/user")
			if err := os.Rename(user, filepath.Join(w.base, "user")); err != nil {
				t.Fatal(err)
			}
			// The system tells of the two ends of a move one after the other.
			notices(t, w, "a folder moved", org, w.base)
			wantBelow(t, w, ".", "org", "user")
			replace(t, filepath.Join(w.base, "user", "a.json"), "{}")
			notices(t, w, "a file under the new name", filepath.Join(w.base, "user"))
			remove(t, org)
			remove(t, filepath.Join(w.base, "user"))
			notices(t, w, "all removed", w.base)
			wantBelow(t, w, ".")
			if len(w.places) != 1 || w.watches > 0 && len(w.watched) != 1 {
				t.Errorf("%d places are left, %d of them watched", len(w.places), len(w.watched))
			}
		}
	})
}

// Folders with ignored names are not entered, whenever they appear.
func TestDepth_ignores(t *testing.T) {
	followed(t, free, func(t *testing.T, w *watcher) {
		mkdir(t, w.base, "org", "draft.tmp", "x")
		mkdir(t, w.base, "all.tmp", "x")
		mkdir(t, w.base, "org", "user")
		notices(t, w, "folders", w.base)
		wantBelow(t, w, ".", "org", "org/user")
		mkdir(t, w.base, "org", "user", "later.tmp")
		mkdir(t, w.base, "org", "user", "team")
		notices(t, w, "more folders", filepath.Join(w.base, "org", "user"))
		wantBelow(t, w, ".", "org", "org/user", "org/user/team")
		if len(w.places) != 4 {
			t.Errorf("%d places", len(w.places))
		}
	})
}

// What is beyond the watches that the system is asked for is looked at.
func TestDepth_boundsWhatItWatches(t *testing.T) {
	if listens(t) == nil {
		skip.Missing(t, "the system does not notify")
	}
	root := t.TempDir()
	var folders []string
	for n := range 30 {
		dir := filepath.Join(root, fmt.Sprint("org-", n%5), fmt.Sprint("user-", n))
		folders = append(folders, dir)
		mkdir(t, dir)
	}
	b := defaultBounds()
	b.watches, b.looks = 6, 1000
	w := newWatcher(root, free, isTemporary, b)
	defer w.heard.close()
	if len(w.places) != 36 || len(w.watched) != 6 || len(w.heard.system.WatchList()) != 6 {
		t.Fatalf("%d places, %d of them watched: %v", len(w.places), len(w.watched), w.heard.system.WatchList())
	}
	for _, dir := range folders {
		w.runRound() // what was new before
		w.renewChanged()
		for found := false; !found; { // two changes within a tick may look like one
			replace(t, filepath.Join(dir, "a.json"), "{}")
			w.runRound()
			found = slices.ContainsFunc(w.found, func(p *place) bool { return p.path == dir })
			w.renewChanged()
		}
		if p := w.places[dir]; !w.watched[p] || len(w.watched) != 6 || len(w.heard.system.WatchList()) != 6 {
			t.Errorf("%s changed last; watched are %v", dir, w.heard.system.WatchList())
		}
	}
	b.places = 20
	few := newWatcher(root, free, isTemporary, b)
	defer few.heard.close()
	if len(few.places) != 20 {
		t.Errorf("of at most 20 places there are %d", len(few.places))
	}
}

// Links that lead back up are not followed down without end, and those to other
// folders of the store are.
func TestDepth_links(t *testing.T) {
	followed(t, []Level{{Depth: 50}}, func(t *testing.T, w *watcher) {
		mkdir(t, w.base, "a", "x")
		mkdir(t, w.base, "b", "y")
		for link, target := range map[string]string{
			"a/self": ".", "a/up": "..", "a/b": "../b", "b/a": "../a", "a/x/out": t.TempDir(), "loop": "loop",
		} {
			if err := os.Symlink(target, filepath.Join(w.base, link)); err != nil {
				t.Fatal(err)
			}
		}
		notices(t, w, "folders", w.base)
		wantBelow(t, w, ".", "a", "a/b", "a/b/y", "a/x", "b", "b/a", "b/a/x", "b/y")
		for range 3 { // what is new is found twice
			w.runRound()
			w.renewChanged()
		}
		if w.runRound() {
			t.Errorf("nothing changed, and found is %+v", w.found[0])
		}
	})
}
