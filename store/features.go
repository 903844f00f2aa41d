package store

import (
	"context"
	"encoding/json"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/model/filechange"
	"hindcast/model/handover"
	"hindcast/model/request"
)

// Features are the optional operations of a store, besides the methods of [Store]. A nil function means that
// the store lacks the operation. All functions are safe for concurrent use.
type Features struct {
	// Find is that of the function [Find], for a store that need not read a session to tell.
	Find func(ctx context.Context, session string) error
	// Tail returns up to n headers, the last in the order of Headers, in that order, and how many there are
	// before them: [Uncounted] if there are some and it takes long to count them. So the first screen need not
	// wait for all. Where a fact depends on the earlier headers it is left out: a TurnIndex is
	// model.TurnUnknown then, and a Size 0.
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
	// Surveys says that Ropes or Weave has to look at a whole session to know any of its states.
	Surveys bool
	// Sieve returns a Weave of a session's states with {} for each message that does not have a text and is not
	// close before one that has it: nil where the store cannot tell. has is that of [Mentions], as is
	// the field Mentions.
	Sieve    func(ctx context.Context, session string, text []byte, has func([]byte) bool) (weave func(context.Context, []model.Ref, Loom) error, err error)
	Mentions func(ctx context.Context, session string, text []byte, has func([]byte) bool) (bool, error)
	// IsAdded reports whether the store itself adds the text at a JSON Pointer to states, of a key that of its value: a sum, or a
	// key around what the agent wrote. A search leaves it out. Nil for a store that adds none.
	IsAdded func(pointer string, key bool) bool
	// Scanner finds messages with a text without reading sessions; nil for a store that has to.
	Scanner *Scanner

	// Kept says that the files of the sessions are gone, and that the store reads a copy: a plan of model.OpGiveBack puts
	// them back. No other operation is possible but to undo that, and to do it again.
	Kept bool
	// PlanGiveBack computes the plan that writes files of a session, which the store reads as if they were in its folder. It returns
	// model.ErrNoSession. It is nil in a store that is not made of files.
	PlanGiveBack func(ctx context.Context, session string, files []GivenFile) (model.Plan, error)

	// PlanRowsBack computes the plan that adds the rows of a session to the tables that it was in. The error is fs.ErrExist if another row is
	// where one was, and [ErrSessionExists]. It is nil in a store that is not made of rows, or only read.
	PlanRowsBack func(ctx context.Context, of GivenRows) (model.Plan, error)

	// DerivedIDs, Facts and Gaps belong to stores that derive their snapshots from what a framework wrote; all
	// are nil if ids are hashes of states. DerivedIDs says in a few words what the ids are, such as "the SHA-256
	// of the message and its place". Facts returns the facts of a snapshot beyond its header, the most useful
	// first. Gaps returns the keys that the store does not know at a snapshot, nil if it knows the whole state;
	// State returns the same bytes in either case. Facts and Gaps return the errors of State.
	//
	// What each kind does not know:
	//
	//	kind               sessions         keys at the top of the state
	//	strands            message logs     state, conversation_manager_state, interrupt_state, model_state: agent.json has them once
	//	strands            orchestrators    all of a Python record but type, id, current_task, node_results and the order of the nodes
	//	strands-snapshots  orchestrators    the same; of a TypeScript record all but startTime, results and _pendingInput
	//	genkit             steps of a turn  custom, artifacts, and what else a session's state has: traces do not tell of them
	//	langgraph          all              channels that keep changes only
	//	adk                all              app, user; with schema 0 state too
	//	mastra             threads          thread
	//	llamaindex         all              state, events
	//	agno               all              session
	//	dbos               all              workflow
	//
	// In langgraph no state has the keys; the last five have them as of now. In the first three the newest
	// snapshot has them as of now. A branch that a restore left has them as of then at its tip, if the record
	// of then was kept. The other kinds record whole states.
	DerivedIDs func() string
	// Own are the parts of a state that the framework keeps for itself; nil if the kind knows no such part.
	Own   *Own
	Facts func(ctx context.Context, ref model.Ref) ([]model.Fact, error)
	Gaps  func(ctx context.Context, ref model.Ref) (model.Gaps, error)
	// Resume returns the calls by which a framework goes on from a snapshot without a write before, the best
	// one first. It returns the errors of State. Across is that of the function [MeetingPoint]. Record returns
	// the record of a session; nil and no error if the session has no record.
	Resume func(ctx context.Context, ref model.Ref) ([]model.Resume, error)
	// ModelRequest returns the request to the model that the answer of a snapshot came from. For a snapshot that is no
	// answer it is the request of the next answer behind it. Its Body is nil where the store has nothing more of it than
	// the states have. Where it is ByState, the states also tell which answer that is. It returns the errors of State.
	ModelRequest func(ctx context.Context, ref model.Ref) (request.Request, error)
	Across       func(ctx context.Context, ref model.Ref) (model.Ref, error)
	// SubAgents returns the sessions of the sub-agents that the snapshots of a session started, in their order.
	// FileCopies yields what an agent's own copies of files tell of a session, in the order of its snapshots; nil for a
	// store without any. An error ends the sequence. Both return the errors of Headers.
	SubAgents  func(ctx context.Context, session string) ([]Started, error)
	FileCopies func(ctx context.Context, session string) iter.Seq2[filechange.Copies, error]
	Record     func(ctx context.Context, session string) (*model.Data[json.RawMessage], error)
	// LabelFile returns the file of Hindcast's own that belongs to a session: the folder that it is in or
	// below, its path from there, and the session's name in it. dir is "" if there is no such file. Labels
	// returns labels that the store received with its snapshots, as a portable file does, or that another
	// program keeps in it.
	LabelFile func(ctx context.Context, session string) (dir, file, name string)
	Labels    func(ctx context.Context, session string) ([]model.Label, error)

	// Watch sends a value soon after the store may have changed. Several changes in a row may send one value,
	// and a value may come without a change. Watch writes nothing. The channel is closed when ctx ends, and
	// when the store can no longer be watched.
	Watch func(ctx context.Context) (<-chan struct{}, error)
	// Cursor returns how far a session reaches just now. A reader of the session after that may meet visits
	// beyond the cursor, and meets them again in Growth. Growth returns the news of a session since a
	// cursor. The error of both is model.ErrNoSession.
	Cursor func(ctx context.Context, session string) (Cursor, error)
	Growth func(ctx context.Context, session string, since Cursor) (Growth, error)
	// SDKs returns the names of the SDKs that open the store, if their versions differ in how they do. Assume
	// restricts them to one version of one of them; it should be called before the store is read, as a later
	// call affects later reads only. Its error is [ErrUnknownSDK]. Assumed returns the assumed versions, at
	// most one for each SDK. By default, texts show the newest version's behaviour, and verdicts and calls name
	// the version from which they hold.
	SDKs    func() []string
	Assume  func(Release) error
	Assumed func() Releases
	// Requests is that of [CountRequests].
	Requests func() (Requests, bool)

	// Lacks returns in a few words why the store cannot do an operation, "" if it can. A store that is only
	// read may have it.
	Lacks func(op model.Op) string
	// Plan computes the effects of a change; it writes nothing. If nothing has to change, the plan is idle, see
	// model.Plan.Idle: applying it writes nothing, and its receipt has no entry. A store that numbers its
	// revisions still writes, so that a running agent notices. Applying a plan of model.OpRun runs models and
	// tools.
	//
	// It returns the errors of State; a model.UnsupportedError for an operation that the store lacks or a
	// snapshot from which nothing can go on; a model.NothingToError if there is nothing to undo, redo, repair
	// or purge; ErrSessionExists if the new session's name is taken; and model.ErrHeadMoved if another program
	// wrote after the write to undo.
	Plan func(ctx context.Context, change model.Change) (model.Plan, error)
	// EditsTexts says that an edit changes no more of a state than texts, see conversation.Conversation.EditableText.
	EditsTexts bool
	// Apply carries out a plan: everything in it or nothing. It refuses with model.ErrHeadMoved when the store
	// is not as the plan expects it, journals what it does, and verifies by reading back.
	Apply func(ctx context.Context, plan model.Plan) (model.Receipt, error)
	// Journal returns Hindcast's own writes, newest first. From a damaged journal it returns the readable
	// entries and the error; with any other error it returns nil.
	Journal func(ctx context.Context) ([]model.JournalEntry, error)
	// PlanConvert computes the plan that makes the session as out of a session of another store. Where KeepsNames, the new
	// session has the name of the other one if as is "", and all sessions are made if session is "", too.
	PlanConvert func(ctx context.Context, from Store, session, as string) (model.Plan, error)
	KeepsNames  bool
	// PlanContinue computes the plan of a session, as or a new id, in which the agent of the store goes on with the
	// conversation of another tool. It returns ErrSessionExists, and a model.UnsupportedError for a conversation
	// without messages and for an id of another form. It is nil if the agent takes no conversation.
	PlanContinue func(ctx context.Context, from *handover.Source, as string) (model.Plan, error)
	// Import adds rows as they are in one transaction, visits, orphaned ones and reasons included, and returns
	// the number of new visits, without steps of model.MarkTraced. Visits that the store already has stay
	// unchanged. An error in the sequence undoes everything. The import is an entry of the journal, unless it
	// changes nothing or fills an empty store.
	Import func(ctx context.Context, rows iter.Seq2[Row, error]) (int, error)
}

// Started is the session of a sub-agent, and the id of the snapshot that started it.
type Started struct{ ID, Session string }

// GivenFile is a file that a plan writes as it was.
type GivenFile struct {
	// Name is below the folder that [Features].LabelFile returns, with slashes.
	Name string
	Data []byte
	Mode fs.FileMode // permission bits
}

// GivenRows are the rows of a session as they were.
type GivenRows struct {
	// Session is the session's id, and Key are the values by which its rows name it.
	Session string
	Key     []string
	Rows    []GivenRow
}

// GivenRow is a row of a table.
type GivenRow struct {
	Table string
	// At is the row id, 0 if it is not known. Values are nil, int64, float64, string or []byte, by the columns.
	At     int64
	Values map[string]any
	// Shared says that other sessions have the row as well: one that is there stays as it is.
	Shared bool
}

// Own are the parts of a state that a framework keeps for itself: they tell how it went on, not what it did.
type Own struct {
	// By names the framework.
	By string
	// Paths are JSON Pointers, in which * stands for any one part. What is below them is own, too.
	Paths []string
}

// Has reports whether the value at a JSON Pointer is the framework's own.
func (o *Own) Has(path string) bool {
	parts := strings.Split(path, "/")
	return slices.ContainsFunc(o.Paths, func(own string) bool {
		of := strings.Split(own, "/")
		return len(of) <= len(parts) && slices.EqualFunc(of, parts[:len(of)], func(own, part string) bool { return own == part || own == "*" })
	})
}
