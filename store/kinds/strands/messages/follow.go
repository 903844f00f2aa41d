package messages

import (
	"context"
	"strings"

	"hindcast/store/media/journal"
	"hindcast/store/media/watch"
)

// watch is the Watching of engine.Files. The SDK writes a file beside the one that it
// is for and renames it, so a watch on a folder tells of every file in it, and
// no file needs one of its own. What the SDK writes before it renames is not
// told of.
//
// A store of a few hundred sessions is watched whole; of one with thousands the
// sessions that changed last, about 256 where each has one agent. That one of
// the others changes is noticed some seconds later (ten in a store of 10,000),
// and from then on it is watched.
func (s *Store) watch(ctx context.Context) (<-chan struct{}, error) {
	// "agents" and "multi_agents"; the agents and the orchestrators; "messages".
	levels := []watch.Level{{Prefix: sessionPrefix}, {}, {}, {}}
	if s.single != nil {
		levels = levels[1:]
	}
	sessions := watch.Tree(ctx, s.dir, levels, isTemporary)
	// What was set aside shows when the journal says that the write is done, which
	// is after the messages changed.
	journals := watch.Tree(ctx, s.storage.Folder(), []watch.Level{{Name: journal.Folder}, {Name: "journal"}}, func(name string) bool { return name != journal.Folder && name != "journal" })
	return watch.Any(sessions, journals), nil
}

// isTemporary reports whether the SDK writes a file of this name first and renames it:
// "message_0.json.tmp" until 1.47, ".strands_….tmp" since.
func isTemporary(name string) bool { return strings.HasSuffix(name, ".tmp") }
