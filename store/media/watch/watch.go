package watch

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
)

// How it works.
//
// A watcher follows a tree of places: folders, and at most one file in each folder.
// A folder on the last level is one place with all its entries: a log of 10,000
// messages is one place.
//
// The system watches the folders that changed last, as many as bounds allow, and
// reports a change at once. A folder that is found changed takes the watch of the
// folder that has been quiet for longest. If the system watches all places, the
// watcher sleeps until it reports a change.
//
// Otherwise the watcher polls the places: one stat each, whose time and size show
// that an entry was added, removed or replaced. Polling works everywhere, network
// file systems included, but is slow in a large tree, because a round polls a
// bounded number of places. Only polling is left where the system's limits are
// reached, where it cannot watch, or where a watch costs a descriptor for each file.
//
// File times are coarse: two changes within a few milliseconds may leave the same
// time. So a place that one round found changed counts as changed in the next round,
// too.

// Level says which entries of a folder are followed: the entry called Name, which may
// be missing at first, or, if Name is "", the folders whose names begin with Prefix.
//
// Depth repeats the level that many times, one below the other, for stores whose
// folders nest freely. Every folder down to that depth is followed, except folders
// with ignored names and their entries. A level with Depth 0 stands for itself, and
// follows folders with ignored names, too.
type Level struct {
	Name, Prefix string
	Depth        int
	suffixes     []string // more names: Name, and one of them
}

// flattenLevels returns the levels one by one.
func flattenLevels(levels []Level) (list []Level) {
	for _, l := range levels {
		list = append(list, slices.Repeat([]Level{l}, max(1, l.Depth))...)
	}
	return list
}

// bounds limit the cost of watching.
type bounds struct {
	watches int           // folders that the system watches
	places  int           // places in all; what is beyond is not followed
	looks   int           // places that one round looks at
	every   time.Duration // from one round to the next
	settle  time.Duration // from the first sign of a change to the value that tells it
}

// defaultBounds are the bounds that stores are watched with. 1,024 watches are an
// eighth of the least that Linux allows a user by default. A round of 2,000
// takes some 7 ms, so that a store of 10,000 sessions is swept in ten seconds for
// one and a half percent of a processor.
func defaultBounds() bounds {
	return bounds{watches: 1024, places: 200_000, looks: 2000, every: 500 * time.Millisecond, settle: 60 * time.Millisecond}
}

// File tells that a file was appended to, cut, replaced, removed, or made, or one
// beside it, whose name has one of the suffixes more: a value comes soon after, one
// for several changes in a row. When File returns, it is watching. The channel is
// closed when ctx ends, and nothing is left running then.
func File(ctx context.Context, path string, suffixes ...string) <-chan struct{} {
	return watchFile(ctx, path, defaultBounds(), suffixes...)
}

func watchFile(ctx context.Context, path string, b bounds, suffixes ...string) <-chan struct{} {
	name := filepath.Base(path)
	return startWatching(ctx, filepath.Dir(path), []Level{{Name: name, suffixes: suffixes}}, func(n string) bool {
		more, begins := strings.CutPrefix(n, name)
		return !begins || more != "" && !slices.Contains(suffixes, more)
	}, b)
}

// Tree tells, as File does, that something changed in a tree of folders: in root, in
// the entries of root that levels[0] names, in their entries that levels[1] names, and
// so on; also in entries that appear later. A change of an entry with an ignored name
// is not told where the system names the entry. A file that is written in place is
// only noticed in folders that the system watches: the folders that changed last.
//
// Tree does not follow links out of root, nor links to a folder that contains them.
// It returns after it has listed the folders.
func Tree(ctx context.Context, root string, levels []Level, ignore func(name string) bool) <-chan struct{} {
	return startWatching(ctx, root, levels, ignore, defaultBounds())
}

// startWatching begins to watch, and goes on until ctx ends.
func startWatching(ctx context.Context, root string, levels []Level, ignore func(string) bool, b bounds) <-chan struct{} {
	w := newWatcher(root, levels, ignore, b)
	out := make(chan struct{}, 1)
	go w.run(ctx, out)
	return out
}

// newWatcher finds the places and has the newest watched.
func newWatcher(root string, levels []Level, ignore func(string) bool, b bounds) *watcher {
	root, way := existingAncestor(root)
	for _, name := range way {
		levels = slices.Insert(slices.Clone(levels), 0, Level{Name: name})
	}
	foreign := ignore
	ignore = func(name string) bool { return !slices.Contains(way, name) && foreign(name) }
	w := &watcher{
		bounds: b, levels: flattenLevels(levels), ignore: ignore, base: root,
		places: map[string]*place{}, watched: map[*place]bool{},
		heard: newListener(func(event fsnotify.Event) bool { return !ignore(filepath.Base(event.Name)) }),
	}
	w.addPlace(nil, w.base)
	w.watchNewest()
	return w
}

// existingAncestor returns the nearest existing ancestor of a path, and the names below it that are
// missing, the last one first.
func existingAncestor(path string) (dir string, missing []string) {
	dir = filepath.Clean(path)
	for {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return dir, missing
		}
		missing = append(missing, filepath.Base(dir))
		dir = filepath.Dir(dir)
	}
}

// place is a folder or a file that is followed, there or not.
type place struct {
	path  string
	level int // levels[level] says what is followed in it
	// inside are the places in it by name.
	inside map[string]*place
	// info is the result of the last stat, nil if the path did not exist.
	info fs.FileInfo
	// changed is when it changed last, as far as is known.
	changed time.Time
	// again says that the next round takes it for changed.
	again bool
	// telling says that the system watches the folder, and tells of all that happens in it.
	telling bool
}

func (p *place) isFolder() bool { return p.info != nil && p.info.IsDir() }

// watcher is used by one goroutine; what the system says is gathered by another,
// see listener.
type watcher struct {
	bounds
	levels []Level // flat
	ignore func(name string) bool
	base   string // path of the root
	places map[string]*place
	// watched are the folders that the system watches.
	watched map[*place]bool
	heard   *listener
	// started says that what was there at first is followed.
	started bool
	// found are places that a round found changed, or that the system told of.
	found []*place
	// round are the places that are left of a sweep over all of them.
	round []*place
}

func (w *watcher) run(ctx context.Context, out chan<- struct{}) {
	defer close(out)
	defer w.heard.close()
	round := w.nextRound()
	var settled <-chan time.Time
	for {
		sign := false
		select {
		case <-ctx.Done():
			return
		case <-w.heard.sign:
			sign = true
		case <-round:
			sign = w.runRound()
			round = w.nextRound()
		case <-settled:
			settled = nil
			w.markReported()
			w.renewChanged()
			if round == nil {
				round = w.nextRound()
			}
			select {
			case out <- struct{}{}:
			default: // the last value has not been taken, and stands for this one too
			}
		}
		// The next sign does not start the time anew: a writer that never rests
		// is told of, too.
		if sign && settled == nil {
			settled = time.After(w.settle)
		}
	}
}

// nextRound returns a timer channel for the next round, nil where the system reports all changes.
func (w *watcher) nextRound() <-chan time.Time {
	for _, p := range w.places {
		if !w.isTold(p) {
			return time.After(w.every)
		}
	}
	return nil
}

// isTold reports whether the system tells of every change of a place. It misses changes of a file
// that has other names, or that lies elsewhere.
func (w *watcher) isTold(p *place) bool {
	if p.isFolder() {
		return p.telling
	}
	in := w.places[filepath.Dir(p.path)]
	return in != nil && in != p && in.telling && hasOneName(p.path)
}

// runRound is one round. It reports whether it found something changed.
func (w *watcher) runRound() bool {
	if len(w.round) == 0 {
		for _, p := range w.places {
			w.round = append(w.round, p)
		}
	}
	now := w.round[:min(w.looks, len(w.round))]
	w.round = w.round[len(now):]
	for _, p := range now {
		if w.places[p.path] != p {
			continue // it was dropped since the sweep began
		}
		changed := !isSameInfo(p.info, w.statFollowed(p.path))
		if changed || p.again {
			w.found = append(w.found, p)
		}
		p.again = changed
	}
	return len(w.found) > 0
}

// markReported marks the places that the system reported as changed. It forgets the places that
// went away, even if something else has their name now: the system watches a folder, not
// a name. It does so before it renews a place: a moved folder has one watch for both its
// names, and ending the watch of the old name later would end the watch of the new one.
func (w *watcher) markReported() {
	heard, lost := w.heard.takePaths()
	if lost {
		w.renewAll(w.places[w.base])
	}
	for path, gone := range heard {
		p := w.places[path]
		if p == nil {
			continue // it was dropped with the one that it was in, or never followed
		}
		if gone {
			w.emptyPlace(p)
		}
		w.found = append(w.found, p)
	}
}

// renewChanged renews the places that were found changed.
func (w *watcher) renewChanged() {
	for _, p := range w.found {
		if w.places[p.path] == p {
			w.renewPlace(p)
			w.touchPlace(p)
		}
	}
	w.found = nil
}

// renewAll renews every place, because it is not known which changed.
func (w *watcher) renewAll(p *place) {
	w.renewPlace(p)
	for _, inside := range p.inside {
		w.renewAll(inside)
	}
}

// renewPlace looks at a place, and at what is followed in it.
func (w *watcher) renewPlace(p *place) {
	info := w.statFollowed(p.path)
	if !sameFile(p.info, info) {
		w.emptyPlace(p)
	}
	p.info = info
	if !p.isFolder() || p.level == len(w.levels) {
		return
	}
	names, all, err := w.levels[p.level].matchEntries(p.path, w.bounds.places, w.ignore)
	if err != nil {
		return // what is in it is looked at as before; an empty folder is no error
	}
	for name, inside := range p.inside {
		if all && !names[name] {
			w.dropPlace(inside)
			delete(p.inside, name)
		}
	}
	for name := range names {
		path := filepath.Join(p.path, name)
		switch inside := p.inside[name]; {
		case inside == nil && len(w.places) < w.bounds.places:
			w.addPlace(p, path)
		case inside != nil && !isSameInfo(inside.info, w.statFollowed(path)):
			w.renewPlace(inside)
			w.touchPlace(inside)
		}
	}
}

// addPlace follows a path in a place, or the root.
func (w *watcher) addPlace(parent *place, path string) {
	p := &place{path: path, inside: map[string]*place{}}
	w.places[path] = p
	if parent != nil {
		p.level = parent.level + 1
		parent.inside[filepath.Base(path)] = p
	}
	if p.info = w.statFollowed(path); p.info != nil {
		p.changed = p.info.ModTime()
	}
	if w.started {
		w.watchPlace(p)
	}
	w.renewPlace(p)
}

// dropPlace follows a place no longer; the place it was in is the caller's.
func (w *watcher) dropPlace(p *place) {
	w.emptyPlace(p)
	delete(w.places, p.path)
}

// emptyPlace forgets what was known of a place: something else has its name now.
func (w *watcher) emptyPlace(p *place) {
	for _, inside := range p.inside {
		w.dropPlace(inside)
	}
	clear(p.inside)
	w.unwatchPlace(p)
}

// touchPlace notes that a place changed just now.
func (w *watcher) touchPlace(p *place) {
	p.changed = time.Now()
	if w.watchPlace(p) {
		w.renewPlace(p) // what came before it was watched
	}
}

// watchPlace has a folder watched by the system, instead of the one that has been quiet
// for longest if there are as many as bounds allow. It reports whether the
// folder is watched that was not.
func (w *watcher) watchPlace(p *place) bool {
	if !p.isFolder() || w.watched[p] || w.watches == 0 {
		return false
	}
	if len(w.watched) >= w.watches && !w.unwatchQuietest() {
		return false
	}
	err := w.heard.watchFolder(p.path)
	switch {
	case err == nil:
		w.watched[p] = true
		p.telling = tells(p.path)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, errors.ErrUnsupported):
		w.watches = len(w.watched) // the system has its own bounds
	}
	return err == nil
}

// unwatchQuietest reports whether there was one; the root stays watched.
func (w *watcher) unwatchQuietest() bool {
	var quietest *place
	for p := range w.watched {
		if p.path != w.base && (quietest == nil || p.changed.Before(quietest.changed)) {
			quietest = p
		}
	}
	if quietest != nil {
		w.unwatchPlace(quietest)
	}
	return quietest != nil
}

func (w *watcher) unwatchPlace(p *place) {
	if w.watched[p] {
		w.heard.unwatchFolder(p.path)
		delete(w.watched, p)
		p.telling = false
	}
}

// watchNewest has the system watch the root and the folders that changed last.
func (w *watcher) watchNewest() {
	folders := slices.DeleteFunc(slices.Collect(maps.Values(w.places)), func(p *place) bool {
		return p.path == w.base || !p.isFolder()
	})
	slices.SortFunc(folders, func(a, b *place) int { return b.changed.Compare(a.changed) })
	folders = append([]*place{w.places[w.base]}, folders...)
	for _, p := range folders[:min(len(folders), w.watches)] {
		if w.watchPlace(p) {
			w.renewPlace(p)
		}
	}
	// What is not watched may have changed a moment ago, and again in the same
	// tick of its clock.
	for _, p := range w.places {
		p.again = !w.watched[p] && time.Since(p.changed).Abs() < tick
	}
	w.started = true
}

// tick is the coarsest that times of files are.
const tick = 2 * time.Second
