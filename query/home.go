package query

import (
	"context"
	"hash/maphash"
	"iter"
	"runtime"
	"strings"
	"sync"
	"time"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/store"
)

// HomeSearch is a search of many sessions.
type HomeSearch struct {
	Search
	// Project is a part of a project's path, in letters of either case, and Agent the kind of a session, see [IsAgent].
	// Since is when sessions changed at the earliest. An empty field selects all.
	Project, Agent string
	Since          time.Time
	// File is the whole path of a file or its last names: its changes are found instead of texts. It may be empty.
	File string
	// OnlyFirst ends the search of a session at its first hit. Exact has each hit located, see [SessionHit.Locate]: the
	// sessions in which something is found are read.
	OnlyFirst, Exact bool
	// Counts has texts counted: a hit may stand for some of them, see [SessionHit].More.
	Counts bool
	// Looked is called with each session that was searched to its end, or passed over; or nil.
	Looked func(*Source)
	// Timeline reads the timeline of a session, nil for that of its headers alone. It is called concurrently.
	Timeline func(ctx context.Context, in Source) (*model.Timeline, error)
}

// Narrow narrows the search by the words that a person typed.
func (s *HomeSearch) Narrow(by *Words) {
	for _, of := range []struct {
		to *string
		is string
	}{{&s.Project, by.Project}, {&s.Agent, by.Agent}, {&s.Tool, by.Tool}, {&s.Role, by.Role}, {&s.File, by.File}} {
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
//
// Where a session need not be read, Visit and Active are model.NoNode and Message -1 until [SessionHit.Locate], and Path
// is "" in a message.
type SessionHit struct {
	Source
	Hit
	// Ref names the snapshot that has the text first. It is zero where Visit is not known.
	Ref model.Ref
	// At is the time of the message, zero where it is not known.
	At time.Time
	// More is how many other texts of the session the hit stands for, by [HomeSearch].Counts.
	More int
	Err  error

	place int64
	nth   int
	read  *located
	// sum is the hash of Text, and needle a part of it, where Visit is not known.
	sum    uint64
	needle string
}

// located reads the timeline of a session when it is first asked for.
type located struct {
	mu       sync.Mutex
	timeline *model.Timeline
	read     func(ctx context.Context) (*model.Timeline, error)
}

// Locate returns the timeline of the session, and fills in Ref, Message, Visit and Active where they are not known. It may
// read the session, once for all that was found in it. It needs no Text.
func (h *SessionHit) Locate(ctx context.Context) (*model.Timeline, error) {
	h.read.mu.Lock()
	defer h.read.mu.Unlock()
	t := h.read.timeline
	if t == nil {
		var err error
		if t, err = h.read.read(ctx); err != nil {
			return nil, err
		}
		h.read.timeline = t
	}
	if h.Visit != model.NoNode {
		return t, nil
	}
	ref, err := h.FindRef(ctx)
	if err != nil {
		return nil, err
	}
	for n := range model.Node(t.Len()) {
		if at := t.Header(n); at.Ref() == ref {
			h.Visit = n
			break
		}
	}
	if h.Visit != model.NoNode && t.OnPath(h.Visit) {
		h.Active = h.Visit
		return t, nil
	}
	for exact, err := range Open(h.Store, t).Grep(ctx, Search{Pattern: Literal(h.needle, MatchCase)}) {
		if err != nil {
			return nil, err
		}
		if maphash.String(seed, exact.Text) == h.sum {
			h.Active = exact.Active
			break
		}
	}
	return t, nil
}

// IsLeft reports whether no snapshot on the path has the text, as far as Visit is known.
func (h *SessionHit) IsLeft() bool { return h.Visit != model.NoNode && h.Active == model.NoNode }

// FindRef returns Ref. It fills in Ref and Message where they are not known, and may read the session for them.
func (h *SessionHit) FindRef(ctx context.Context) (model.Ref, error) {
	if h.Ref != (model.Ref{}) {
		return h.Ref, nil
	}
	var err error
	h.Ref, h.Message, err = h.Store.Features().Scanner.Find(ctx, h.ID, h.place, h.nth)
	return h.Ref, err
}

// SearchHome searches sessions in their order, and yields each text as it is found. While the reader takes
// it, the next sessions are searched. An error is one of sessions, or the end of ctx, and ends the sequence. Once that
// has ended no more of sessions is read.
func SearchHome(ctx context.Context, sessions iter.Seq2[Source, error], s HomeSearch) iter.Seq2[SessionHit, error] {
	if s.File != "" {
		return s.searchFile(ctx, sessions)
	}
	return func(yield func(SessionHit, error) bool) {
		ctx, stop := context.WithCancel(ctx)
		order := s.searchAhead(ctx, s.selectSessions(sessions))
		defer func() {
			stop()
			for range order { // its sender ends
			}
		}()
		for of := range order {
			for part := range of.allParts() {
				for i := range part {
					if !yield(part[i], nil) {
						return
					}
				}
			}
			if of.panicked != nil {
				panic(*of.panicked)
			}
			if ctx.Err() != nil {
				yield(SessionHit{}, ctx.Err())
				return
			}
			if of.err != nil {
				yield(SessionHit{}, of.err)
				return
			}
			if !of.done && !s.searchSession(ctx, of, func(hit SessionHit) bool { return yield(hit, nil) }) {
				return
			}
			if ctx.Err() != nil {
				yield(SessionHit{}, ctx.Err())
				return
			}
			if s.Looked != nil {
				s.Looked(&of.Source)
			}
		}
		if ctx.Err() != nil {
			yield(SessionHit{}, ctx.Err())
		}
	}
}

// searchFile yields the changes of File by the steps of sessions: the match is the last name of the file.
func (s *HomeSearch) searchFile(ctx context.Context, sessions iter.Seq2[Source, error]) iter.Seq2[SessionHit, error] {
	return func(yield func(SessionHit, error) bool) {
		each := func(yield func(Source, error) bool) {
			for in, err := range s.selectSessions(sessions) {
				if !yield(in, err) {
					return
				}
				if s.Looked != nil {
					s.Looked(&in)
				}
			}
		}
		for of, err := range FilesAcross(ctx, each, FileSearch{Paths: []string{s.File}}, s.readTimeline) {
			if err != nil || of.Err != nil {
				if !yield(SessionHit{Source: of.Source, Err: of.Err}, err) {
					return
				}
				continue
			}
			h, active := of.Timeline.Header(of.Visit), model.NoNode
			if of.Timeline.OnPath(of.Visit) {
				active = of.Visit
			}
			for e, c := range of.Changes() {
				hit := Hit{Visit: of.Visit, Active: active, Message: -1, To: len(c.Path), From: strings.LastIndexAny(c.Path, `/\`) + 1}
				hit.Text = strings.Join([]string{c.Path, c.Kind.String(), conversation.Change(c.Count()), e.How()}, "  ")
				found := SessionHit{Source: of.Source, Hit: hit, Ref: h.Ref(), At: h.CreatedAt, read: &located{timeline: of.Timeline}}
				if (!s.Orphaned || active == model.NoNode) && !yield(found, nil) {
					return
				}
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

// searched is a session that is searched ahead of the reader.
type searched struct {
	Source
	// parts are the texts that are found ahead of the reader. The other fields are set when it is closed. rest are texts behind
	// those of parts: the search of the session ends without waiting for its reader.
	parts chan []SessionHit
	rest  []SessionHit
	// done says that nothing else is to be found. told has the texts that were found.
	done bool
	told map[uint64]bool
	err  error
	// panicked is the panic of the search, nil without one.
	panicked *store.Panic
}

// allParts yields the texts that are found ahead of the reader, and waits for each part.
func (of *searched) allParts() iter.Seq[[]SessionHit] {
	return func(yield func([]SessionHit) bool) {
		for part := range of.parts {
			if !yield(part) {
				return
			}
		}
		yield(of.rest)
	}
}

// atOnce bounds the sessions that are searched ahead of the reader, and mostReadAhead the bytes of one that has to be read. A larger
// one, and one of unknown size, is read when the reader comes to it.
const atOnce, mostReadAhead = 32, 8 << 20

// searchAhead sends the sessions in their order, and searches them meanwhile, as many at once as there are processors. It ends
// with ctx.
func (s *HomeSearch) searchAhead(ctx context.Context, sessions iter.Seq2[Source, error]) <-chan *searched {
	order := make(chan *searched, atOnce)
	free := make(chan *scanning, runtime.GOMAXPROCS(0))
	for range cap(free) {
		free <- &scanning{HomeSearch: s}
	}
	go func() {
		defer close(order)
		defer store.CatchPanic(func(p store.Panic) {
			of := &searched{parts: make(chan []SessionHit), panicked: &p}
			close(of.parts)
			select {
			case <-ctx.Done():
			case order <- of:
			}
		})
		for source, err := range sessions {
			of := &searched{Source: source, parts: make(chan []SessionHit, 1), err: err}
			select {
			case <-ctx.Done():
				return
			case order <- of:
			}
			if err != nil {
				close(of.parts)
				return
			}
			f := <-free
			go func() {
				defer func() { free <- f }()
				defer close(of.parts)
				defer store.CatchPanic(func(p store.Panic) { of.panicked = &p })
				f.scanAhead(ctx, of)
				if !of.done && 0 < of.Size && of.Size <= mostReadAhead {
					of.done = s.searchSession(ctx, of, func(hit SessionHit) bool {
						select {
						case of.parts <- []SessionHit{hit}:
							return true
						case <-ctx.Done():
							return false
						}
					})
				}
			}()
		}
	}()
	return order
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

// searchSession reads a session, yields the texts found in it that were not told, and reports whether to go on.
func (s *HomeSearch) searchSession(ctx context.Context, of *searched, yield func(SessionHit) bool) bool {
	if s.OnlyFirst && len(of.told) > 0 {
		return true
	}
	in := of.Source
	t, err := s.readTimeline(ctx, in)
	if err == nil {
		read := &located{timeline: t}
		for hit, wrong := range Open(in.Store, t).Grep(ctx, s.Search) {
			if err = wrong; err != nil {
				break
			}
			if len(of.told) > 0 && of.told[maphash.String(seed, hit.Text)] {
				continue
			}
			h := t.Header(hit.Visit)
			if !yield(SessionHit{Source: in, Hit: hit, Ref: h.Ref(), At: h.CreatedAt, read: read}) {
				return false
			}
			if s.OnlyFirst {
				break
			}
		}
	}
	if err != nil && ctx.Err() == nil {
		return yield(SessionHit{Source: in, Err: err})
	}
	return true
}

// readTimeline reads the timeline of a session.
func (s *HomeSearch) readTimeline(ctx context.Context, in Source) (*model.Timeline, error) {
	if s.Timeline != nil {
		return s.Timeline(ctx, in)
	}
	return ReadTimeline(ctx, in.Store, in.ID)
}
