package genkit

import (
	"context"

	"hindcast/store/watch"
)

// Watch implements store.Watcher.
func (s *Store) Watch(ctx context.Context) (<-chan struct{}, error) {
	return watch.Tree(ctx, s.dir, nil, isTemporary), nil
}
