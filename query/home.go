package query

import (
	"context"
	"iter"
	"strings"
	"sync"
	"time"

	"hindcast/model"
)

// HomeSearch is a search of many sessions.
type HomeSearch struct {
	Search
	// Project is a part of a project's path, in letters of either case, and Agent the kind of a session, see [IsAgent].
	// Since is when sessions changed at the earliest. An empty field selects all.
	Project, Agent string
	Since          time.Time
	// OnlyFirst ends the search of a session at its first hit.
	OnlyFirst bool
	// Looked is called with each session that was searched to its end, or passed over; or nil.
	Looked func(*Source)
	// Timeline reads the timeline of a session, nil for that of its headers alone.
	Timeline func(ctx context.Context, in Source) (*model.Timeline, error)
}

// Narrow narrows the search by the words that a person typed.
func (s *HomeSearch) Narrow(by *Words) {
	for _, of := range []struct {
		to *string
		is string
	}{{&s.Project, by.Project}, {&s.Agent, by.Agent}, {&s.Tool, by.Tool}, {&s.Role, by.Role}} {
		if of.is != "" {
			*of.to = of.is
		}
	}
	if !by.Since.IsZero() {
		s.Since = by.Since
	}
	s.Failed, s.Orphaned = s.Failed || by.Failed, s.Orphaned || by.Left
}

// SessionHit is a text that was found in a session. With Err it has no text: Err says why the session could not be
// searched, or not to its end.
type SessionHit struct {
	Source
	Hit
	// Ref names the snapshot that has the text first.
	Ref model.Ref
	Err error

	at *placing
}

// placing reads the timeline of a session when it is first asked for.
type placing struct {
	mu       sync.Mutex
	timeline *model.Timeline
	read     func(ctx context.Context) (*model.Timeline, error)
}

// Locate returns the timeline of the session, and fills in Visit and Active as far as they are not known. It may read the
// session, once for all that was found in it.
func (f *SessionHit) Locate(ctx context.Context) (*model.Timeline, error) {
	f.at.mu.Lock()
	defer f.at.mu.Unlock()
	if f.at.timeline == nil {
		t, err := f.at.read(ctx)
		if err != nil {
			return nil, err
		}
		f.at.timeline = t
	}
	return f.at.timeline, nil
}

// SearchHome searches sessions in their order, and yields each text as it is found. While the reader takes
// it, the next sessions are looked at. An error is one of sessions, or the end of ctx, and ends the sequence.
func SearchHome(ctx context.Context, sessions iter.Seq2[Source, error], s HomeSearch) iter.Seq2[SessionHit, error] {
	return func(yield func(SessionHit, error) bool) {
		for c, err := range s.Candidates(ctx, s.selectSessions(sessions)) {
			if err != nil {
				yield(SessionHit{}, err)
				return
			}
			if !c.Passed && !s.searchSession(ctx, c.Source, yield) {
				return
			}
			if ctx.Err() != nil {
				yield(SessionHit{}, ctx.Err())
				return
			}
			if s.Looked != nil {
				s.Looked(&c.Source)
			}
		}
	}
}

// Selects reports whether the search is of a session. A session of unknown project or time is selected where none is
// asked for.
func (s *HomeSearch) Selects(in *model.SessionInfo) bool {
	return strings.Contains(strings.ToLower(in.Project), strings.ToLower(s.Project)) && !in.UpdatedAt.Before(s.Since) &&
		(s.Agent == "" || IsAgent(in.Kind, s.Agent))
}

// selectSessions yields the sessions that a search selects.
func (s *HomeSearch) selectSessions(sessions iter.Seq2[Source, error]) iter.Seq2[Source, error] {
	return func(yield func(Source, error) bool) {
		for in, err := range sessions {
			if err == nil && !s.Selects(&in.SessionInfo) {
				continue
			}
			if !yield(in, err) {
				return
			}
		}
	}
}

// searchSession yields the texts found in a session, and reports whether to go on.
func (s *HomeSearch) searchSession(ctx context.Context, in Source, yield func(SessionHit, error) bool) bool {
	t, err := s.readTimeline(ctx, in)
	if err == nil {
		at := &placing{timeline: t}
		for hit, wrong := range Open(in.Store, t).Grep(ctx, s.Search) {
			if err = wrong; err != nil {
				break
			}
			h := t.Header(hit.Visit)
			if !yield(SessionHit{Source: in, Hit: hit, Ref: h.Ref(), at: at}, nil) {
				return false
			}
			if s.OnlyFirst {
				break
			}
		}
	}
	if err != nil && ctx.Err() == nil {
		return yield(SessionHit{Source: in, Err: err}, nil)
	}
	return true
}

// readTimeline reads the timeline of a session.
func (s *HomeSearch) readTimeline(ctx context.Context, in Source) (*model.Timeline, error) {
	if s.Timeline != nil {
		return s.Timeline(ctx, in)
	}
	var all model.Headers
	for h, err := range in.Store.Headers(ctx, in.ID) {
		if err != nil {
			return nil, err
		}
		all.Add(&h)
	}
	return all.Timeline(0), nil
}
