package store

import (
	"context"

	"hindcast/model"
)

// Gaps returns the gaps of some snapshots of a store of any kind together: what a
// comparison of their states leaves out.
func Gaps(ctx context.Context, s Store, refs ...model.Ref) (gaps model.Gaps, err error) {
	f := s.Features()
	if f.Gaps == nil {
		return model.Gaps{}, nil
	}
	for _, ref := range refs {
		of, err := f.Gaps(ctx, ref)
		if err != nil {
			return model.Gaps{}, err
		}
		gaps = gaps.With(of)
	}
	return gaps, nil
}
