package query

import (
	"context"
	"iter"

	"hindcast/model"
	"hindcast/store"
)

// Source is a session of a store.
type Source struct {
	Store store.Store
	model.SessionInfo
}

// Sources yields the sessions of one store.
func Sources(s store.Store, sessions iter.Seq2[model.SessionInfo, error]) iter.Seq2[Source, error] {
	return func(yield func(Source, error) bool) {
		for info, err := range sessions {
			if !yield(Source{s, info}, err) {
				return
			}
		}
	}
}

// ReadTimeline reads the headers of a session.
func ReadTimeline(ctx context.Context, s store.Store, session string) (*model.Timeline, error) {
	var all model.Headers
	for h, err := range s.Headers(ctx, session) {
		if err != nil {
			return nil, err
		}
		all.Add(&h)
	}
	return all.Timeline(0), nil
}

// passesOver reports whether the store tells that no state of a session matches, without reading one.
func (p *Pattern) passesOver(ctx context.Context, in Source) bool {
	if p.spelled == nil {
		return false
	}
	may, err := store.Mentions(ctx, in.Store, in.ID, p.tellingText(), p.isSpelled)
	return !may && err == nil // reading the session tells what is wrong
}
