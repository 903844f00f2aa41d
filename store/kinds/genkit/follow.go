package genkit

import (
	"context"
	"strings"

	"hindcast/store/media/watch"
)

// Watch returns a channel that tells of changes: rows and pointers of all places are followed,
// those of places that appear later, and the traces. The SDKs write a file beside
// the one that it is for and rename it; of the first nothing is told.
func (s *Store) Watch(ctx context.Context) (<-chan struct{}, error) {
	ctx = s.life.Within(ctx)
	if s.on != nil {
		return s.on.Watch(ctx)
	}
	var sources []<-chan struct{}
	for _, levels := range s.watchLevels() {
		sources = append(sources, watch.Tree(ctx, s.dir, levels, isUnwatched))
	}
	if j := s.joinedTraces(); j != nil {
		sources = append(sources, watch.Tree(ctx, j.dir, []watch.Level{{Name: "traces"}}, isTemporary))
	}
	return watch.Any(sources...), nil
}

// watchLevels returns the ways down from the opened folder to where rows are.
func (s *Store) watchLevels() [][]watch.Level {
	rows := watch.Level{Depth: mostDepth}
	_ = s.findParts() // what it could not open is not followed either
	inProject := [][]watch.Level{{{Name: ".genkit"}, {Name: "snapshots"}, rows}, {{Prefix: ".snapshots"}, rows}}
	switch b := s.listParts()[0]; {
	case b.dir == ".":
		return [][]watch.Level{{rows}}
	case b.dir == "snapshots":
		return [][]watch.Level{{{Name: "snapshots"}, rows}}
	}
	return inProject
}

// isUnwatched reports whether a name tells nothing: temporary files, and
// folders that are not gone into.
func isUnwatched(name string) bool {
	switch {
	case name == pointersFolder, name == ".genkit", strings.HasPrefix(name, ".snapshots"):
		return false
	}
	return isTemporary(name) || isPassedOver(name)
}
