package strandssnapshots

import (
	"context"
	"strings"

	"hindcast/store/watch"
)

// below are the levels of the folders in that of a session.
var below = []watch.Level{{Name: scopesDir}, {}, {}, {Name: snapshots}, {Name: historyDir}}

// Watch implements store.Watcher. The SDKs write a file beside the one that it
// is for and rename it, so a watch on a folder tells of every file in it. What
// they write before they rename is not told of.
//
// A store of a few hundred sessions is watched whole; of one with thousands those
// that changed last.
func (s *Store) Watch(ctx context.Context) (<-chan struct{}, error) {
	if s.single != nil {
		return watch.Tree(ctx, s.dir, below, isTemporary), nil
	}
	// Sessions lie in the folder and in its session/, which need not be there
	// yet: two trees, one level apart.
	beside := watch.Tree(ctx, s.dir, append([]watch.Level{{}}, below...), isTemporary)
	inside := watch.Tree(ctx, s.dir, append([]watch.Level{{Name: namespace}, {}}, below...), isTemporary)
	return either(beside, inside), nil
}

// either gives a value for each that one of two channels gives, or one for
// several, and is closed when both are.
func either(a, b <-chan struct{}) <-chan struct{} {
	out := make(chan struct{}, 1)
	go func() {
		defer close(out)
		for a != nil || b != nil {
			var ok bool
			select {
			case _, ok = <-a:
				if !ok {
					a = nil
				}
			case _, ok = <-b:
				if !ok {
					b = nil
				}
			}
			if !ok {
				continue
			}
			select {
			case out <- struct{}{}:
			default: // the last value has not been taken, and stands for this one too
			}
		}
	}()
	return out
}

// isTemporary reports whether a name is one that an SDK writes to first:
// ".__strands_tmp_…" of Python, "….__strands_tmp_…" of TypeScript, "….tmp" of its
// legacy storage.
func isTemporary(name string) bool {
	return strings.HasSuffix(name, ".tmp") || strings.Contains(name, ".__strands_tmp_")
}
