package tui

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"hindcast/model"
	"hindcast/query"
	"hindcast/store"
	"hindcast/tui/answers"
	"hindcast/tui/dialog"
	"hindcast/tui/parting"
	"hindcast/tui/timeline"
)

// The facts that commands bring back, in the past tense. gen is that of the
// task that asked.

// panickedMsg: a command panicked.
type panickedMsg struct{ err *PanicError }

// ranLongMsg: work of a kind has been running for longer than patience.
type ranLongMsg struct {
	kind taskKind
	gen  uint64
}

// spunMsg: it is time for the spinner's next frame.
type spunMsg struct{}

// storesToldMsg: stores were found, and next brings what is found after them.
type storesToldMsg struct {
	gen    uint64
	stores []store.Found
	next   tea.Cmd
}

// storesFoundMsg: the search for stores has ended.
type storesFoundMsg struct {
	gen     uint64
	options Options
	err     error
}

// storeOpenedMsg: the store that was chosen was opened.
type storeOpenedMsg struct {
	gen   uint64
	store store.Store
	err   error
}

// sessionsListedMsg: the store told its sessions, or those up to now: rest reads the others,
// nil if that are all. part counts the facts before this one of the same listing.
type sessionsListedMsg struct {
	gen      uint64
	sessions []model.SessionInfo
	part     int
	rest     *lister
	err      error
}

// onlySessionMsg: the store has no other session.
type onlySessionMsg struct {
	gen     uint64
	session string
}

// countedMsg: the only session was listed, too.
type countedMsg struct {
	gen      uint64
	sessions []model.SessionInfo
	err      error
}

// tailReadMsg: the newest snapshots of a session were read; the content says
// whether there are older ones. total is how many there are in all, 0 if that is not
// known; cursor is how far the session reached before, nil if the store cannot tell.
type tailReadMsg struct {
	gen     uint64
	content *timeline.Content
	total   int
	cursor  *store.Cursor
	err     error
}

// headersReadMsg: all snapshots of a session were read.
type headersReadMsg struct {
	gen     uint64
	content *timeline.Content
	cursor  *store.Cursor
	err     error
}

// ofWatchMsg: a fact of a turn of the watch of that number. Those of an earlier
// store are dropped.
type ofWatchMsg struct {
	watch uint64
	fact  tea.Msg
}

// watchedMsg: the store is watched, or cannot be.
type watchedMsg struct {
	changes <-chan struct{}
	err     error
}

// changedMsg: the store may have changed, or its watch has ended.
type changedMsg struct{ closed bool }

// calmedMsg: nothing changed for a while.
type calmedMsg struct{}

// restedMsg: the next update may come.
type restedMsg struct{}

// grewMsg: what is new in the open session was read. matches are those of the
// timeline, looked for in the content that replaces it, after search, which is the
// generation of the latest search then. only says that the store has no other
// session.
type grewMsg struct {
	gen     uint64
	growth  growth
	matches timeline.Matches
	search  uint64
	only    bool
	took    time.Duration
	err     error
}

// relistedMsg: the sessions were listed again.
type relistedMsg struct {
	gen      uint64
	sessions []model.SessionInfo
	took     time.Duration
	err      error
}

// faultsFoundMsg: the faults of a session were looked for.
type faultsFoundMsg struct {
	gen    uint64
	faults []model.Fault
	ids    map[string]struct{} // by which the faults call what they are about
	err    error
}

// labelsReadMsg: the labels of the session were read and placed in a timeline.
type labelsReadMsg struct {
	lent   uint64 // what lend returned
	gen    uint64
	of     *model.Timeline
	labels timeline.Labels
	err    error
}

// labelsWatchedMsg: the labels of a session are watched.
type labelsWatchedMsg struct{ watch labelWatch }

// labelsChangedMsg: the labels may have changed, by the watch of that number.
type labelsChangedMsg struct{ watch uint64 }

// labelsRestedMsg: the next change of the labels may come.
type labelsRestedMsg struct{ watch uint64 }

// labelledMsg: a label was set or taken away, or why not. done says it.
type labelledMsg struct {
	gen    uint64
	prompt *dialog.Prompt
	done   string
	err    error
}

// statsReadMsg: some of what the visits of a timeline add was read.
type statsReadMsg struct {
	gen uint64
	of  *model.Timeline
	part[query.Stat]
	read func() tea.Msg
}

// summedMsg: what the session cost was summed up.
type summedMsg struct {
	lent uint64 // what lend returned
	gen  uint64
	of   *model.Timeline
	bill *bill
	err  error
}

// usageRestedMsg: the session may be added up again.
type usageRestedMsg struct{}

// sharedMsg: the session was written to a file, or why not. hidden lists the secrets that
// were hidden at so many places.
type sharedMsg struct {
	gen    uint64
	prompt *dialog.Prompt
	path   string
	places int
	hidden string
	err    error
}

// playedMsg: it is time for the next step of a session that is played.
type playedMsg struct{ gen uint64 }

// fetchedMsg: the states that may be wanted next were read.
type fetchedMsg struct{ gen uint64 }

// preparedMsg: what a tab shows of a subject was worked out; or, if part is set,
// what of it can be shown at once.
type preparedMsg struct {
	part    bool
	gen     uint64
	tab     int
	subject subject
	content any
	err     error
}

// foundMsg: a search for a text has ended.
type foundMsg struct {
	lent    uint64 // what lend returned, where the timeline was read
	gen     uint64
	at      searched
	text    string
	matches any
	err     error
}

// begunMsg: a question is asked as work of a kind; the timeline is read no longer. read
// waits for answers.
type begunMsg struct {
	lent uint64 // what lend returned
	kind taskKind
	gen  uint64
	read func() tea.Msg
}

// answeredMsg: a question has answers. Their nodes are those of a timeline; read waits for
// more.
type answeredMsg struct {
	gen uint64
	of  *model.Timeline
	part[answers.Answer]
	read func() tea.Msg
}

// blamedMsg: it was worked out which snapshots set some values; read waits for more.
type blamedMsg struct {
	gen uint64
	part[query.Blamed]
	read func() tea.Msg
}

// partedMsg: it was worked out where two lines parted, and what they did since.
type partedMsg struct {
	lent    uint64 // what lend returned
	gen     uint64
	content *parting.Content
}

// watchesReadMsg: what is watched in a store was read.
type watchesReadMsg struct {
	store store.Store
	texts []string
	err   error
}

// watchesKeptMsg: what is watched was kept for the next time.
type watchesKeptMsg struct{ err error }

// watchedValuesMsg: values that are watched were worked out. Their nodes are those of a
// timeline; read waits for more.
type watchedValuesMsg struct {
	gen uint64
	of  *model.Timeline
	part[watchedValue]
	read func() tea.Msg
}

// plannedMsg: what a write will do was worked out.
type plannedMsg struct {
	lent     uint64 // what lend returned
	gen      uint64
	proposal proposal
	err      error
}

// appliedMsg: a plan was carried out, or refused.
type appliedMsg struct {
	gen      uint64
	proposal proposal
	receipt  model.Receipt
	err      error
}

// readToEditMsg: what can be edited in a snapshot was found.
type readToEditMsg struct {
	gen     uint64
	draft   draft
	choices []choice
	err     error
}

// draftWrittenMsg: the file for the editor was written.
type draftWrittenMsg struct {
	gen   uint64
	draft *draft
	err   error
}

// editedMsg: the editor was left, or could not be started.
type editedMsg struct {
	draft *draft
	err   error
}

// draftReadMsg: what the editor left was read: the state that it makes, or what is
// wrong with it.
type draftReadMsg struct {
	gen   uint64
	draft *draft
	state []byte
	err   error
}

// crossedMsg: the place was looked for where the session of a sub-agent meets another.
type crossedMsg struct {
	gen uint64
	to  model.Ref
	err error
}

// journalReadMsg: the journal was read.
type journalReadMsg struct {
	gen     uint64
	entries []model.JournalEntry
	err     error
}

// quietMsg: no key came for a while; the dialog that is open takes an answer.
type quietMsg struct{ gen uint64 }

// copiedMsg: a text was sent to tmux, or else to the terminal's clipboard.
type copiedMsg struct {
	what, text string
	tmux       bool // it is in a buffer of tmux
	err        error
}
