package store

import (
	"context"
	"iter"
)

// SurveyWithin is Survey with bounds of its own.
func (ks Kinds) SurveyWithin(ctx context.Context, dir string, names, folders, told, inside int) iter.Seq2[Finding, error] {
	return ks.survey(ctx, dir, bounds{depth: usual.depth, names: names, folders: folders, told: told, inside: inside})
}
