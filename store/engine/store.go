package engine

import (
	"context"
	"fmt"
	"io/fs"
	"iter"
	"slices"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/media/files"
)

// Store is an opened store of any kind. It is safe for concurrent use.
type Store struct {
	format  Format
	medium  Medium
	address string
	life    store.Lifetime
	cache   cache
}

var errClosed = fs.ErrClosed

// New returns the store of a format on a medium. The address is what was opened.
func New(f Format, m Medium, address string) *Store {
	return &Store{format: f, medium: m, address: address}
}

// Features returns what the store can do.
func (s *Store) Features() store.Features {
	return store.Features{
		Tail: s.Tail, Watch: s.Watch, Cursor: s.Cursor, Growth: s.Growth, LabelFile: s.LabelFile, Requests: s.medium.Requests,
		DerivedIDs: s.DerivedIDs, Facts: s.Facts, Gaps: s.Gaps, Resume: s.Resume,
		Lacks: s.Lacks, Plan: s.Plan, Apply: s.Apply, Journal: s.Journal,
	}
}

// Kind returns the kind's name.
func (s *Store) Kind() string { return s.format.Name }

// Address returns what was opened.
func (s *Store) Address() string { return s.address }

// DerivedIDs says in a few words what ids are.
func (s *Store) DerivedIDs() string { return s.format.IDs }

// Close lets go of the medium. To close a store again does nothing.
func (s *Store) Close() error {
	if !s.life.End() {
		return nil
	}
	return s.wrap(s.medium.Close(), "close %q", s.address)
}

// wrap puts in front of an error what failed.
func (s *Store) wrap(err error, what string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %s: %w", s.format.Name, fmt.Sprintf(what, args...), files.Cause(err))
}

// read runs what on all that there is, while the store is open.
func (s *Store) read(ctx context.Context, what func(In) error) error {
	if s.life.Over() {
		return errClosed
	}
	return s.medium.Read(ctx, what)
}

// current returns a session as it is. The error is model.ErrNoSession where there is none.
func (s *Store) current(ctx context.Context, name string) (now *session, err error) {
	err = s.read(ctx, func(in In) error {
		at, err := s.format.Place(ctx, in, name)
		if err == nil {
			now, err = s.load(ctx, in, at)
		}
		return err
	})
	return now, err
}

// Sessions returns the sessions, the newest first.
func (s *Store) Sessions(ctx context.Context) iter.Seq2[model.SessionInfo, error] {
	return func(yield func(model.SessionInfo, error) bool) {
		var infos []model.SessionInfo
		err := s.read(ctx, func(in In) (err error) {
			infos, err = s.infos(ctx, in)
			return err
		})
		for i := 0; i < len(infos) && err == nil; i++ {
			if err = ctx.Err(); err == nil && !yield(infos[i], nil) {
				return
			}
		}
		if err != nil {
			yield(model.SessionInfo{}, s.wrap(err, "list sessions of %q", s.address))
		}
	}
}

func (s *Store) infos(ctx context.Context, in In) (infos []model.SessionInfo, err error) {
	list, err := s.format.Sessions(ctx, in)
	tell := s.medium.Teller(ctx)
	for i := 0; i < len(list) && err == nil; i++ {
		var log *Log
		if log, err = tell(ctx, in, list[i].Place, list[i].Log); err == nil && len(log.Rows) > 0 {
			info := model.SessionInfo{ID: list[i].Place.Session, Kind: s.format.Name}
			info.Count(log.Rows)
			s.format.Info(log, &info)
			infos = append(infos, info)
		}
	}
	slices.SortStableFunc(infos, store.NewestFirst)
	return infos, err
}

// Headers returns the headers of a session. The error is model.ErrNoSession.
func (s *Store) Headers(ctx context.Context, session string) iter.Seq2[model.Header, error] {
	return func(yield func(model.Header, error) bool) {
		now, err := s.current(ctx, session)
		for i := 0; err == nil && i < len(now.Rows); i++ {
			if err = ctx.Err(); err == nil && !yield(now.Rows[i], nil) {
				return
			}
		}
		if err != nil {
			yield(model.Header{}, s.wrap(err, "list snapshots of session %q", session))
		}
	}
}

// at runs what on a row. A visit but the latest is none.
func (s *Store) at(ctx context.Context, ref model.Ref, what func(In, *Row) error) error {
	if err := ref.Once(); err != nil {
		return err
	}
	return s.read(ctx, func(in In) error {
		at, err := s.format.Place(ctx, in, ref.Session)
		if err != nil {
			return err
		}
		return what(in, &Row{at, ref.ID, func() (*Log, int, error) {
			now, err := s.load(ctx, in, at)
			if err != nil {
				return nil, -1, err
			}
			i, err := now.at(ref.ID)
			return now.Log, i, err
		}})
	})
}

// State returns the bytes of a state. The errors are model.ErrNoSession and model.ErrNoSnapshot.
func (s *Store) State(ctx context.Context, ref model.Ref) (state []byte, err error) {
	err = s.at(ctx, ref, func(in In, row *Row) (err error) {
		state, err = s.format.State(ctx, in, row)
		return err
	})
	return state, s.wrap(err, "read state %q of session %q", ref.ID, ref.Session)
}

func (s *Store) about(ctx context.Context, ref model.Ref) (about About, err error) {
	err = s.at(ctx, ref, func(in In, row *Row) (err error) {
		about, err = s.format.About(ctx, in, row)
		return err
	})
	return about, s.wrap(err, "describe %q of session %q", ref.ID, ref.Session)
}

// Facts returns what is known of a snapshot besides its header. The errors are those of State.
func (s *Store) Facts(ctx context.Context, ref model.Ref) ([]model.Fact, error) {
	about, err := s.about(ctx, ref)
	return about.Facts, err
}

// Gaps returns the keys that the store does not know at a snapshot. The errors are those of State.
func (s *Store) Gaps(ctx context.Context, ref model.Ref) (model.Gaps, error) {
	about, err := s.about(ctx, ref)
	return about.Gaps, err
}

// Resume returns the calls that go on from a snapshot, and what comes of its messages then. The errors are
// those of State.
func (s *Store) Resume(ctx context.Context, ref model.Ref) ([]model.Resume, error) {
	about, err := s.about(ctx, ref)
	if err != nil || len(about.Resume) == 0 {
		return nil, err
	}
	state, err := s.State(ctx, ref)
	if err != nil { // the state itself says why
		return about.Resume, ctx.Err()
	}
	return store.WarnOf(about.Resume, s.hazards(state)), nil
}

// hazards returns what comes of the messages of a state where a session goes on from it.
func (s *Store) hazards(state []byte) []string {
	return store.ConversationHazards(s.format.Name, s.format.Framework, state)
}

// Faults returns what is wrong with a session, or with the store itself where session is "". The error is
// model.ErrNoSession.
func (s *Store) Faults(ctx context.Context, session string) ([]model.Fault, error) {
	if session == "" {
		faults, err := s.check(ctx)
		return faults, s.wrap(err, "check %q", s.address)
	}
	now, err := s.current(ctx, session)
	var messages, unread []model.Fault
	if err == nil {
		messages, err = store.ConversationFaults(ctx, s, session)
	}
	if err == nil {
		unread, err = s.medium.Unread(ctx, s, session, now.Log)
	}
	if err != nil {
		return nil, s.wrap(err, "check session %q", session)
	}
	return slices.Concat(s.format.Faults(now.Log), messages, unread), nil
}

func (s *Store) check(ctx context.Context) ([]model.Fault, error) {
	var list store.FaultList
	err := s.read(ctx, func(in In) error {
		own, err := s.format.Check(ctx, in)
		if err != nil {
			return err
		}
		below, err := s.medium.Check(ctx)
		for _, f := range append(own, below...) {
			list.Add(f)
		}
		return err
	})
	return list.All(), err
}

// Watch returns a channel that tells of changes until ctx ends or the store is closed.
func (s *Store) Watch(ctx context.Context) (<-chan struct{}, error) {
	changes, err := s.medium.Watch(s.life.Within(ctx))
	return changes, s.wrap(err, "watch %q", s.address)
}

// LabelFile returns where the labels of a session are, see [store.Features].
func (s *Store) LabelFile(ctx context.Context, session string) (dir, file, name string) {
	at := Place{Session: session}
	_ = s.read(ctx, func(in In) error { // of a place that is not found the name suffices
		if found, err := s.format.Place(ctx, in, session); err == nil {
			at = found
		}
		return nil
	})
	return s.medium.LabelFile(at)
}
