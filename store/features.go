package store

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"hindcast/model"
)

// Features are the optional operations of a store, besides the methods of [Store]. A nil function means that
// the store lacks the operation. All functions are safe for concurrent use.
type Features struct {
	// Find is that of the function [Find], for a store that need not read a session to tell.
	Find func(ctx context.Context, session string) error
	// Tail is that of [Tailer].
	Tail func(ctx context.Context, session string, n int) (headers []model.Header, before int, err error)
	// AnyOrder, Only, Tally and NamesForks save a reader from reading all sessions, see the functions
	// [AnyOrder], [Only], [Describe] and [NamesForks].
	AnyOrder   func(ctx context.Context) iter.Seq2[model.SessionInfo, error]
	Only       func(ctx context.Context) string
	Tally      func(ctx context.Context) (sessions int, changed time.Time, err error)
	NamesForks func() bool

	// Peek, States and Compare are for a store that keeps states in parts, and need not read large ones whole.
	// Peek returns as much of the beginning of a state as is quick to read, all of it if the state is small.
	// States returns two states as State does, and reads what both have once. Compare returns the spans in
	// which two states differ, in order, apart from each other: the bytes between them are equal, and those
	// of a span may be equal too. No spans mean equal states. Apart is called by [TakeApart].
	Peek    func(ctx context.Context, ref model.Ref) ([]byte, error)
	States  func(ctx context.Context, a, b model.Ref) (x, y []byte, err error)
	Compare func(ctx context.Context, a, b model.Ref) ([]Span, error)
	Apart   func(ctx context.Context, a, b model.Ref) (Apart, error)
	// Ropes returns the states of snapshots of one session, in the order of refs, as the bytes that they
	// share. What it yields is lent until the next. An error ends the sequence. Fill reads runs, one
	// after the other, into dst, which is as long as they are together. A store has both or none.
	Ropes func(ctx context.Context, refs []model.Ref) iter.Seq2[Rope, error]
	Fill  func(ctx context.Context, runs []Run, dst []byte) error
	// Weave hands the states of snapshots of one session to a loom, in any order, and reads them in one
	// transaction: for a store that has each state as a row. An error is one of all that were not handed over.
	Weave func(ctx context.Context, refs []model.Ref, to Loom) error
	// Surveys says that Ropes has to look at a whole session to know any of its states.
	Surveys bool
	// Sieve returns a Weave of a session's states with {} for each message that does not have a text and is not
	// close before one that has it: nil where the store cannot tell. has is that of [Mentions], as is
	// the field Mentions.
	Sieve    func(ctx context.Context, session string, text []byte, has func([]byte) bool) (weave func(context.Context, []model.Ref, Loom) error, err error)
	Mentions func(ctx context.Context, session string, text []byte, has func([]byte) bool) (bool, error)

	// DerivedIDs, Facts and Gaps are the methods of [Deriver]. All are nil if ids are hashes of states.
	DerivedIDs func() string
	Facts      func(ctx context.Context, ref model.Ref) ([]model.Fact, error)
	Gaps       func(ctx context.Context, ref model.Ref) (model.Gaps, error)
	// Resume is that of [Resumer], Across that of the function [MeetingPoint], Record the Get of [Recorder].
	Resume func(ctx context.Context, ref model.Ref) ([]model.Resume, error)
	Across func(ctx context.Context, ref model.Ref) (model.Ref, error)
	Record func(ctx context.Context, session string) (*model.Data[json.RawMessage], error)
	// LabelFile returns the file of Hindcast's own that belongs to a session: the folder that it is in or
	// below, its path from there, and the session's name in it. dir is "" if there is no such file. Labels
	// returns labels that the store received with its snapshots, as a portable file does, or that another
	// program keeps in it.
	LabelFile func(ctx context.Context, session string) (dir, file, name string)
	Labels    func(ctx context.Context, session string) ([]model.Label, error)

	// Watch is the method of [Watcher]; Cursor and Growth are the methods of [Grower].
	Watch  func(ctx context.Context) (<-chan struct{}, error)
	Cursor func(ctx context.Context, session string) (Cursor, error)
	Growth func(ctx context.Context, session string, since Cursor) (Growth, error)
	// SDKs, Assume and Assumed are the methods of [Versioned].
	SDKs    func() []string
	Assume  func(Release) error
	Assumed func() Releases
	// Requests is that of [CountRequests].
	Requests func() (Requests, bool)

	// Lacks returns why an operation cannot be done, "" if it can. A store that is only read may have it.
	Lacks func(op model.Op) string
	// Plan, Apply and Journal are the methods of [Writer]. PlanConvert computes the plan that makes the session
	// as out of a session of another store. Import is the method of [Importer].
	Plan        func(ctx context.Context, change model.Change) (model.Plan, error)
	Apply       func(ctx context.Context, plan model.Plan) (model.Receipt, error)
	Journal     func(ctx context.Context) ([]model.JournalEntry, error)
	PlanConvert func(ctx context.Context, from Store, session, as string) (model.Plan, error)
	Import      func(ctx context.Context, rows iter.Seq2[Row, error]) (int, error)
}

// FeaturesOf returns the features of a store. It asks the store's method Features, and derives them from its
// type otherwise. No other function asks a store by its type.
func FeaturesOf(s Store) (f Features) {
	if says, ok := s.(interface{ Features() Features }); ok {
		return says.Features()
	}
	if s, ok := s.(Tailer); ok {
		f.Tail = s.Tail
	}
	if s, ok := s.(interface {
		Ropes(ctx context.Context, refs []model.Ref) iter.Seq2[Rope, error]
		Fill(ctx context.Context, runs []Run, dst []byte) error
	}); ok {
		f.Ropes, f.Fill = s.Ropes, s.Fill
	}
	_, f.Surveys = s.(interface{ Surveys() })
	if s, ok := s.(Deriver); ok {
		f.DerivedIDs, f.Facts, f.Gaps = s.DerivedIDs, s.Facts, s.Gaps
	}
	if s, ok := s.(Resumer); ok {
		f.Resume = s.Resume
	}
	if s, ok := s.(Recorder); ok {
		f.Record = s.Get
	}
	if s, ok := s.(interface {
		LabelFile(ctx context.Context, session string) (dir, file, name string)
	}); ok {
		f.LabelFile = s.LabelFile
	}
	if s, ok := s.(interface {
		Labels(ctx context.Context, session string) ([]model.Label, error)
	}); ok {
		f.Labels = s.Labels
	}
	if s, ok := s.(Watcher); ok {
		f.Watch = s.Watch
	}
	if s, ok := s.(Grower); ok {
		f.Cursor, f.Growth = s.Cursor, s.Growth
	}
	if s, ok := s.(Versioned); ok {
		f.SDKs, f.Assume, f.Assumed = s.SDKs, s.Assume, s.Assumed
	}
	if s, ok := s.(interface{ Requests() (Requests, bool) }); ok {
		f.Requests = s.Requests
	}
	if s, ok := s.(interface{ Lacks(op model.Op) string }); ok {
		f.Lacks = s.Lacks
	}
	if s, ok := s.(Writer); ok {
		f.Plan, f.Apply, f.Journal = s.Plan, s.Apply, s.Journal
	}
	if s, ok := s.(Importer); ok {
		f.Import = s.Import
	}
	return f
}
