package store

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// mostPlaces bounds the places that are asked about.
const mostPlaces = 256

// Found is a store in a place where its kind keeps stores.
type Found struct {
	Identity
	// Changed is when it changed last, as far as that is cheap to tell; zero if
	// it is not known.
	Changed time.Time
	// Sessions is how many sessions it has; -1 if that is not known.
	Sessions int
}

// Look returns the stores that are in the places of all kinds, in the order of the
// kinds and their places. A store that several names lead to is given once, and
// what is below a store of the same kind is a part of that. It only looks: a place
// that cannot be read is left out, as no person named it. It writes nothing.
func (ks Kinds) Look(ctx context.Context, around Surroundings) []Found {
	return ks.LookAloud(ctx, around, func([]Found) {})
}

// LookAloud returns the result of Look. Behind the places of each kind in which it finds stores, it calls tell with
// all stores found so far.
func (ks Kinds) LookAloud(ctx context.Context, around Surroundings, tell func([]Found)) []Found {
	around = around.quotePatterns()
	var found []Found
	var seen []fs.FileInfo
	for _, k := range ks {
		if k.Places == nil {
			continue
		}
		before := len(found)
		for _, pattern := range k.Places(around) {
			paths, err := filepath.Glob(pattern)
			if err != nil {
				continue
			}
			for _, at := range paths {
				info, err := os.Stat(at)
				if err != nil || len(seen) == mostPlaces || slices.ContainsFunc(seen, func(other fs.FileInfo) bool { return os.SameFile(info, other) }) {
					continue
				}
				seen = append(seen, info)
				if id, ok := ks.recogniseAt(ctx, at); ok {
					found = append(found, Found{Identity: *id, Changed: lastChange(at, info), Sessions: -1})
				}
			}
		}
		if len(found) > before {
			tell(outermostStores(found))
		}
	}
	return outermostStores(found)
}

// FoldersAround returns the folders in which a place of a kind may appear, and the places that are folders with the
// folders in them, where the first sessions of a store appear. It also returns a function that reports whether a path
// is on the way to a place, or not far below one.
func (ks Kinds) FoldersAround(around Surroundings) (folders []string, isOnWay func(path string) bool) {
	around = around.quotePatterns()
	onWay := map[int][]string{} // by how many separators they have
	for _, k := range ks {
		if k.Places == nil {
			continue
		}
		for _, pattern := range k.Places(around) {
			for dir, up := filepath.Join(pattern, "*", "*"), -2; dir != filepath.Dir(dir); dir, up = filepath.Dir(dir), up+1 {
				depth := strings.Count(dir, string(filepath.Separator))
				onWay[depth] = append(onWay[depth], dir)
				if up == -2 {
					continue
				}
				paths, err := filepath.Glob(dir)
				for _, path := range paths {
					if info, err := os.Stat(path); err == nil && info.IsDir() && len(folders) < mostPlaces {
						folders = append(folders, path)
					}
				}
				if up > 0 && len(paths) > 0 || err != nil {
					break
				}
			}
		}
	}
	slices.Sort(folders)
	return slices.Compact(folders), func(path string) bool {
		return slices.ContainsFunc(onWay[strings.Count(path, string(filepath.Separator))], func(pattern string) bool {
			fits, _ := filepath.Match(pattern, path) // a bad pattern fits nothing
			return fits
		})
	}
}

// outermostStores returns the stores that are not below another one of their kind.
func outermostStores(found []Found) []Found {
	return slices.DeleteFunc(slices.Clone(found), func(part Found) bool {
		return slices.ContainsFunc(found, func(whole Found) bool {
			return part.Name == whole.Name && strings.HasPrefix(part.At, whole.At+string(filepath.Separator))
		})
	})
}

// recogniseAt returns the first kind that recognises a path.
func (ks Kinds) recogniseAt(ctx context.Context, at string) (*Identity, bool) {
	for _, k := range ks {
		if k.Recognise == nil {
			continue
		}
		if why, ok, err := k.Recognise(ctx, at); ok && err == nil {
			return &Identity{k, at, why}, true
		}
	}
	return nil, false
}

// quotePatterns returns the folders so that they mean themselves in a pattern.
func (s Surroundings) quotePatterns() Surroundings {
	named := s.FolderOf
	return Surroundings{
		Home: quotePattern(s.Home), Temp: quotePattern(s.Temp), Work: quotePattern(s.Work),
		Env: func(variable string) string { return quotePattern(named(variable)) },
	}
}

// quotePattern quotes a path, so that it means itself in a pattern.
func quotePattern(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// mostTouched bounds the entries whose times lastChange reads.
const mostTouched = 256

// lastChange returns the newest modification time of a path and, if it is a folder, of its direct entries.
func lastChange(at string, info fs.FileInfo) time.Time {
	newest := info.ModTime()
	if !info.IsDir() {
		return newest
	}
	dir, err := os.Open(at)
	if err != nil {
		return newest
	}
	defer dir.Close() // it was only read
	entries, _ := dir.ReadDir(mostTouched)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.ModTime().After(newest) {
			newest = info.ModTime()
		}
	}
	return newest
}

// asking is how many stores are asked at the same time.
const asking = 4

// Describe opens each store and asks it for its sessions: how many there are, and
// when the last of them changed. What is not known by the end of ctx stays as it
// is; a change that was not known before is told by the times of files. It returns
// the stores newest first.
func Describe(ctx context.Context, stores []Found) []Found {
	type answer struct {
		i        int
		sessions int
		changed  time.Time
		ok       bool
	}
	answers := make(chan answer, len(stores)) // none waits to tell
	questions := make(chan int, len(stores))
	for i := range stores {
		questions <- i
	}
	close(questions)
	asked := stores
	stores = slices.Clone(stores)
	for range min(asking, len(asked)) {
		go func() {
			for i := range questions {
				sessions, changed, err := asked[i].countSessions(ctx)
				answers <- answer{i, sessions, changed, err == nil}
			}
		}()
	}
	for i := range stores {
		if info, err := os.Stat(stores[i].At); err == nil && stores[i].Changed.IsZero() {
			stores[i].Changed = lastChange(stores[i].At, info)
		}
	}
	for range stores {
		select {
		case a := <-answers:
			if !a.ok {
				continue
			}
			stores[a.i].Sessions = a.sessions
			if !a.changed.IsZero() {
				stores[a.i].Changed = a.changed
			}
		case <-ctx.Done():
			return newestFirst(stores)
		}
	}
	return newestFirst(stores)
}

func newestFirst(stores []Found) []Found {
	slices.SortStableFunc(stores, func(a, b Found) int { return b.Changed.Compare(a.Changed) })
	return stores
}

// countSessions counts the sessions of a store, and returns when the last one changed.
func (f *Found) countSessions(ctx context.Context) (n int, changed time.Time, err error) {
	s, err := f.Open(ctx)
	if err != nil {
		return 0, changed, err
	}
	defer s.Close()
	if features := s.Features(); features.Tally != nil { // without reading any
		return features.Tally(ctx)
	}
	for info, err := range s.Sessions(ctx) {
		if err != nil {
			return 0, changed, err
		}
		n++
		if info.UpdatedAt.After(changed) {
			changed = info.UpdatedAt
		}
	}
	return n, changed, ctx.Err()
}
