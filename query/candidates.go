package query

import (
	"context"
	"iter"
	"runtime"

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

// Candidate is a session that a search comes to.
type Candidate struct {
	Source
	// Passed: no state of the session matches, and none was read to say so.
	Passed bool
}

// Candidates yields sessions in their order, and which of them the pattern passes
// over, see store.Mentions. It looks at some sessions ahead, as many at once as there are
// processors: files are searched while the reader reads a session. An error is one of
// sessions, or the end of ctx.
func (p *Pattern) Candidates(ctx context.Context, sessions iter.Seq2[Source, error]) iter.Seq2[Candidate, error] {
	return func(yield func(Candidate, error) bool) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		for looked := range p.ahead(ctx, sessions) {
			if c := <-looked; !yield(c.Candidate, c.err) || c.err != nil {
				return
			}
		}
		if ctx.Err() != nil {
			yield(Candidate{}, ctx.Err())
		}
	}
}

// coming is a candidate that is looked at, or why there are no more.
type coming struct {
	Candidate
	err error
}

// atOnce bounds the sessions that are looked at ahead of the reader.
const atOnce = 256

// ahead sends what becomes one candidate each, in order, and looks at them meanwhile. It ends
// with ctx.
func (p *Pattern) ahead(ctx context.Context, sessions iter.Seq2[Source, error]) <-chan <-chan coming {
	order := make(chan (<-chan coming), atOnce)
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	go func() {
		defer close(order)
		for source, err := range sessions {
			looked := make(chan coming, 1)
			select {
			case <-ctx.Done():
				return
			case order <- looked:
			}
			if err != nil {
				looked <- coming{err: err}
				return
			}
			free <- struct{}{}
			go func() {
				defer func() { <-free }()
				looked <- coming{Candidate: p.look(ctx, source)}
			}()
		}
	}()
	return order
}

// look asks the store whether states of a session may match.
func (p *Pattern) look(ctx context.Context, in Source) Candidate {
	if len(p.needle) == 0 {
		return Candidate{Source: in}
	}
	may, err := store.Mentions(ctx, in.Store, in.ID, p.needle, func(text []byte) bool { return p.next(text, 0) >= 0 })
	return Candidate{in, !may && err == nil} // reading the session tells what is wrong
}
