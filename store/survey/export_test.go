package survey

import (
	"context"
	"iter"

	"hindcast/store"
)

// Within is Folder with bounds of its own.
func Within(ctx context.Context, ks store.Kinds, dir string, names, folders, told, inside int) iter.Seq2[Finding, error] {
	return surveyWithin(ctx, ks, dir, bounds{depth: usual.depth, names: names, folders: folders, told: told, inside: inside})
}
