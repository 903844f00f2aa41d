package snapshots

import (
	"context"
	"strings"

	"hindcast/store/media/journal"
	"hindcast/store/media/watch"
)

// below are the levels of the folders in that of a session.
var below = []watch.Level{{Name: scopesDir}, {}, {}, {Name: snapshots}, {Name: historyDir}}

// watchFolder watches the folder. The SDKs write a file beside the one that it
// is for and rename it, so a watch on a folder tells of every file in it. What
// they write before they rename is not told of.
//
// A store of a few hundred sessions is watched whole; of one with thousands those
// that changed last.
func (s *Store) watchFolder(ctx context.Context) (<-chan struct{}, error) {
	dir := s.Address()
	if s.single != nil {
		return watch.Tree(ctx, dir, below, isForeign), nil
	}
	// Sessions lie in the folder and in its session/, which need not be there
	// yet: two trees, one level apart.
	beside := watch.Tree(ctx, dir, append([]watch.Level{{}}, below...), isForeign)
	inside := watch.Tree(ctx, dir, append([]watch.Level{{Name: namespace}, {}}, below...), isForeign)
	return watch.Any(beside, inside), nil
}

// isForeign reports whether a name is nothing to follow: that of a temporary file,
// or of Hindcast's own folder.
func isForeign(name string) bool { return name == journal.Folder || isTemporary(name) }

// isTemporary reports whether an SDK writes a file of this name first and renames it:
// ".__strands_tmp_…" of Python, "….__strands_tmp_…" of TypeScript, "….tmp" of its legacy
// storage.
func isTemporary(name string) bool {
	return strings.HasSuffix(name, ".tmp") || strings.Contains(name, ".__strands_tmp_")
}
