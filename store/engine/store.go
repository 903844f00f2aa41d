package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"sync"

	"hindcast/model"
	"hindcast/model/request"
	"hindcast/store"
	"hindcast/store/engine/inspect"
	"hindcast/store/media/files"
)

// Store is an opened store of any kind. It is safe for concurrent use.
type Store struct {
	format  Format
	medium  Medium
	address string
	life    store.Lifetime
	cache   cache
	// known has the places of the sessions that were found last, by their names, where the format has no Place.
	known    sync.Map
	features store.Features
	listing  string // what fails where the sessions cannot be listed
}

var errClosed = fs.ErrClosed

// New returns the store of a format on a medium. The address names the opened store.
func New(f Format, m Medium, address string) *Store {
	s := &Store{format: f, medium: m, address: address, listing: "list sessions"}
	s.features = store.Features{
		Tail: s.Tail, Watch: s.Watch, Cursor: s.Cursor, Growth: s.Growth,
		DerivedIDs: s.DerivedIDs, Facts: s.Facts, Gaps: s.Gaps, Resume: s.Resume,
		Lacks: s.Lacks, Plan: s.Plan, Apply: s.Apply, Journal: s.Journal,
	}
	if len(f.Own) > 0 {
		s.features.Own = &store.Own{By: f.Framework, Paths: f.Own}
	}
	if f.Weave != nil {
		s.features.Weave = func(ctx context.Context, refs []model.Ref, to store.Loom) error { return f.Weave(ctx, s, refs, to) }
	}
	if f.Take != nil {
		s.features.KeepsNames, s.features.PlanConvert = true, s.planConvert
	}
	if f.RowsBack != nil && f.Lacks(model.OpGiveBack) == "" {
		s.features.PlanRowsBack = func(ctx context.Context, of store.GivenRows) (model.Plan, error) {
			plan, err := s.PlanNew(ctx, model.OpGiveBack, func(in In) (*Move, error) { return f.RowsBack(ctx, in, of) })
			return plan, s.Wrap(err, "give back session %q", of.Session)
		}
	}
	if f.Request != nil {
		s.features.ModelRequest = s.readRequest
	}
	if f.Continue != nil {
		s.features.PlanContinue = s.PlanContinue
	}
	return s
}

// Features returns the optional operations of the store.
func (s *Store) Features() store.Features { return s.features }

// Kind returns the kind's name.
func (s *Store) Kind() string { return s.format.Name }

// Address returns the address that the store was opened with.
func (s *Store) Address() string { return s.address }

// DerivedIDs says in a few words what ids are.
func (s *Store) DerivedIDs() string { return s.format.IDs }

// Close lets go of the medium. To close a store again does nothing.
func (s *Store) Close() error {
	if !s.life.End() {
		return nil
	}
	return s.Wrap(s.medium.Close(), "close %q", s.address)
}

// Wrap puts in front of an error what failed.
func (s *Store) Wrap(err error, what string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %s: %w", s.format.Name, fmt.Sprintf(what, args...), files.Cause(err))
}

// Read calls the function what with a consistent view of the store. It returns the error of the function, or
// errClosed if the store is closed.
func (s *Store) Read(ctx context.Context, what func(In) error) error {
	if s.life.Over() {
		return errClosed
	}
	return s.medium.Read(ctx, what)
}

// In calls the function what with the place of a session. The error is model.ErrNoSession if the session does
// not exist.
func (s *Store) In(ctx context.Context, session string, what func(In, Place) error) error {
	return s.Read(ctx, func(in In) error { return s.withPlace(ctx, in, session, what) })
}

func (s *Store) withPlace(ctx context.Context, in In, session string, what func(In, Place) error) error {
	if s.format.Place != nil {
		at, err := s.format.Place(ctx, in, session)
		if err != nil {
			return err
		}
		return what(in.Of(at), at)
	}
	if at, ok := s.known.Load(session); ok { // listing the sessions costs more than reading one row
		if err := what(in, at.(Place)); !errors.Is(err, model.ErrNoSession) && !errors.Is(err, model.ErrNoSnapshot) {
			return err
		}
	}
	places, err := s.format.Places(ctx, in)
	if err != nil {
		return err
	}
	s.known.Clear()
	for _, at := range places {
		s.known.Store(at.SessionName(), at)
	}
	if at, ok := s.known.Load(session); ok {
		return what(in, at.(Place))
	}
	return model.ErrNoSession
}

// Log returns a session as it is, which is not to be changed. The error is model.ErrNoSession.
func (s *Store) Log(ctx context.Context, session string) (*Log, error) {
	now, err := s.current(ctx, session)
	if err != nil {
		return nil, err
	}
	return now.Log, nil
}

// current returns the session in its current state. The error is model.ErrNoSession if it does not exist.
func (s *Store) current(ctx context.Context, name string) (now *session, err error) {
	err = s.In(ctx, name, func(in In, at Place) error {
		now, err = s.load(ctx, in, at)
		return err
	})
	return now, err
}

// Sessions returns the sessions, the newest first.
func (s *Store) Sessions(ctx context.Context) iter.Seq2[model.SessionInfo, error] {
	return func(yield func(model.SessionInfo, error) bool) {
		err := s.yieldSessions(ctx, func(info model.SessionInfo) bool { return yield(info, nil) })
		if err != nil {
			yield(model.SessionInfo{}, s.Wrap(err, "%s", s.listing))
		}
	}
}

func (s *Store) yieldSessions(ctx context.Context, yield func(model.SessionInfo) bool) error {
	if s.format.List != nil {
		return s.Read(ctx, func(in In) error {
			for info, err := range s.format.List(ctx, in) {
				if err != nil || !yield(info) {
					return err
				}
			}
			return ctx.Err()
		})
	}
	var infos []model.SessionInfo
	err := s.Read(ctx, func(in In) (err error) {
		read := func() ([]model.SessionInfo, error) { return s.listInfos(ctx, in) }
		if s.format.Memoise == nil {
			infos, err = read()
		} else {
			infos, err = s.format.Memoise(in, read)
		}
		return err
	})
	for i := 0; i < len(infos) && err == nil; i++ {
		if err = ctx.Err(); err == nil && !yield(infos[i]) {
			return nil
		}
	}
	return err
}

func (s *Store) listInfos(ctx context.Context, in In) (infos []model.SessionInfo, err error) {
	list, err := s.format.Sessions(ctx, in)
	places := s.format.Place == nil
	if places {
		s.known.Clear()
	}
	tell := s.medium.Teller(ctx)
	for i := 0; i < len(list) && err == nil; i++ {
		l, info := &list[i], model.SessionInfo{}
		if places {
			s.known.Store(l.Place.SessionName(), l.Place)
		}
		if l.Info != nil {
			info = *l.Info
		} else if l.Log != nil {
			l.Log, err = tell(ctx, in, l.Place, l.Log)
		} else if now, failed := s.load(ctx, in, l.Place); failed == nil {
			l.Log = now.Log
		} else if !errors.Is(failed, model.ErrNoSession) {
			err = failed
		}
		if l.Log != nil && len(l.Log.Rows) > 0 {
			info.Count(l.Log.Rows)
			s.format.Info(l.Log, &info)
		} else if l.Info == nil {
			continue
		}
		info.ID, info.Kind = l.Place.SessionName(), s.format.Name
		infos = append(infos, info)
	}
	if s.format.Nested {
		dateByNested(infos)
	}
	slices.SortStableFunc(infos, store.NewestFirst)
	return infos, err
}

// dateByNested sets the time of a session to that of the newest session below it, so that it is listed first.
func dateByNested(infos []model.SessionInfo) {
	at := make(map[string]int, len(infos))
	for i := range infos {
		at[infos[i].ID] = i
	}
	for _, below := range infos {
		for end := range below.ID {
			if i, ok := at[below.ID[:end]]; ok && below.ID[end] == '/' && below.UpdatedAt.After(infos[i].UpdatedAt) {
				infos[i].UpdatedAt = below.UpdatedAt
			}
		}
	}
}

// Headers returns the headers of a session. The error is model.ErrNoSession.
func (s *Store) Headers(ctx context.Context, name string) iter.Seq2[model.Header, error] {
	return func(yield func(model.Header, error) bool) {
		enough := errors.New("no more is asked for")
		each := func(h model.Header) error {
			if err := ctx.Err(); err != nil || yield(h, nil) {
				return err
			}
			return enough
		}
		var now *session
		err := s.In(ctx, name, func(in In, at Place) (err error) {
			streamed := false
			if s.format.Headers != nil && s.cache.get(at) == nil {
				streamed, err = s.format.Headers(ctx, in, at, each)
			}
			if !streamed && err == nil {
				now, err = s.load(ctx, in, at)
			}
			return err
		})
		for i := 0; err == nil && now != nil && i < len(now.shown); i++ {
			err = each(now.shown[i])
		}
		if err == nil && now != nil {
			err = now.Err
		}
		if err != nil && !errors.Is(err, enough) {
			yield(model.Header{}, s.Wrap(err, "list snapshots of session %q", name))
		}
	}
}

// withRow calls the function what with a row. An earlier visit of a row is refused.
func (s *Store) withRow(ctx context.Context, ref model.Ref, what func(In, *Row) error) error {
	if err := ref.CheckNoVisit(); err != nil && s.format.Steps == nil {
		return err
	}
	return s.In(ctx, ref.Session, func(in In, at Place) error {
		return what(in, &Row{at, ref.ID, ref.Visit, func() (*Log, int, error) {
			now, err := s.load(ctx, in, at)
			if err != nil {
				return nil, -1, err
			}
			i, err := now.findRow(ref.ID)
			return now.Log, i, cmp.Or(err, ref.CheckNoVisit())
		}})
	})
}

// State returns the bytes of a state. The errors are model.ErrNoSession and model.ErrNoSnapshot.
func (s *Store) State(ctx context.Context, ref model.Ref) (state []byte, err error) {
	err = s.withRow(ctx, ref, func(in In, row *Row) (err error) {
		state, err = s.format.State(ctx, in, row)
		return err
	})
	return state, s.Wrap(err, "read state %q of session %q", ref.ID, ref.Session)
}

// readRequest returns the ModelRequest of [store.Features].
func (s *Store) readRequest(ctx context.Context, ref model.Ref) (r request.Request, err error) {
	err = s.withRow(ctx, ref, func(in In, row *Row) (err error) {
		r, err = s.format.Request(ctx, in, row)
		return err
	})
	return r, s.Wrap(err, "read the request of %q of session %q", ref.ID, ref.Session)
}

func (s *Store) describeRow(ctx context.Context, ref model.Ref) (about About, err error) {
	err = s.withRow(ctx, ref, func(in In, row *Row) (err error) {
		about, err = s.format.About(ctx, in, row)
		return err
	})
	return about, s.Wrap(err, "describe %q of session %q", ref.ID, ref.Session)
}

// Facts returns the facts of a snapshot that its header lacks. It returns the errors of State.
func (s *Store) Facts(ctx context.Context, ref model.Ref) ([]model.Fact, error) {
	about, err := s.describeRow(ctx, ref)
	return about.Facts, err
}

// Gaps returns the keys that the store does not know at a snapshot. It returns the errors of State.
func (s *Store) Gaps(ctx context.Context, ref model.Ref) (model.Gaps, error) {
	about, err := s.describeRow(ctx, ref)
	return about.Gaps, err
}

// Resume returns the calls that go on from a snapshot, with warnings about its messages. It returns the errors
// of State.
func (s *Store) Resume(ctx context.Context, ref model.Ref) ([]model.Resume, error) {
	var calls []model.Resume
	err := s.withRow(ctx, ref, func(in In, row *Row) (err error) {
		if s.format.Resume != nil {
			calls, err = s.format.Resume(ctx, in, row)
			return err
		}
		about, err := s.format.About(ctx, in, row)
		calls = about.Resume
		return err
	})
	if err != nil || len(calls) == 0 {
		return nil, s.Wrap(err, "describe %q of session %q", ref.ID, ref.Session)
	}
	state, err := s.State(ctx, ref)
	if err != nil { // the state itself says why
		return calls, ctx.Err()
	}
	return inspect.WarnOf(calls, s.messageHazards(state)), nil
}

// messageHazards warns of the messages that the framework would mishandle when a session goes on from a state.
func (s *Store) messageHazards(state []byte) []string {
	return inspect.ConversationHazards(s.format.Name, s.format.Framework, state)
}

// Faults returns the faults of a session, or of the store itself if name is "". The error is
// model.ErrNoSession.
func (s *Store) Faults(ctx context.Context, name string) ([]model.Fault, error) {
	if name == "" {
		faults, err := s.checkStore(ctx)
		return faults, s.Wrap(err, "check %q", s.address)
	}
	var now *session
	var own, below []model.Fault
	err := s.In(ctx, name, func(in In, at Place) (err error) {
		if now, err = s.load(ctx, in, at); err == nil && s.format.Faults != nil {
			own, err = s.format.Faults(ctx, in, now.Log)
		}
		return err
	})
	if err == nil {
		below, err = s.medium.Faults(ctx, s, name, now.Log, own)
	}
	if err != nil {
		return nil, s.Wrap(err, "check session %q", name)
	}
	return append(own, below...), nil
}

func (s *Store) checkStore(ctx context.Context) ([]model.Fault, error) {
	var list store.FaultList
	err := s.Read(ctx, func(in In) (err error) {
		list = store.FaultList{}
		var own []model.Fault
		if s.format.Check != nil {
			own, err = s.format.Check(ctx, in)
		}
		if err != nil {
			return err
		}
		below, err := s.medium.Check(ctx, in)
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
	return changes, s.Wrap(err, "watch %q", s.address)
}
