package keymap

// Action is something that a key can do. Its zero value is no action.
type Action uint8

// The actions. What each does is in its help text in the table below.
const (
	None Action = iota

	MoveDown
	MoveUp
	HalfDown
	HalfUp
	PageDown
	PageUp
	Top
	Bottom

	StepBack
	StepForward
	Child
	Parent
	PrevBranch
	NextBranch
	PrevPrompt
	NextPrompt
	NextError
	GoHead
	Across
	Play
	Faster
	Slower
	Scrubber

	NextTab
	PrevTab
	ShowDiff
	ShowState
	ShowMessages
	ShowContext
	ShowFiles
	ShowResume
	ShowInfo
	Open
	Fold
	Unfold
	FoldAll
	UnfoldAll
	NextChange
	PrevChange
	SideBySide
	Sort
	Group
	NextMessage
	PrevMessage
	PrevRun
	NextRun
	ShowRaw
	OpenPicture
	TraceFile
	MoreContext
	LessContext
	Zoom
	SplitLess
	SplitMore
	Tokens
	Lines
	Days

	Mark
	ClearMark
	MarkSession
	ClearMarks
	CompareRuns
	Compare
	CompareHead
	Search
	SearchNext
	SearchPrev

	Why
	History
	PrevSet
	NextSet
	FindWhere
	Blame
	Bisect
	Watch
	Answers
	SetLabel
	GoLabel

	Restore
	Fork
	Continue
	Edit
	EditState
	EditMessage
	EditResult
	EditValue
	EditAgain
	Discard
	Run
	Repair
	Undo
	Redo
	Journal
	Purge
	PurgeRedacted
	PurgeAll
	Yank
	YankID
	YankValue
	YankPath
	YankCall
	YankResume
	Share
	ShareSession
	SharePath
	ShareBranch
	ShareRange

	Accept
	Widen
	Narrow
	Regexp
	Other
	Yes
	No
	PlanDetails
	HideTour
	Help
	Details
	Reload
	Back
	Redraw
	Suspend
	Quit

	actions
)

// Group orders the help.
type group uint8

const (
	moving group = iota
	travelling
	looking
	comparing
	asking
	changing
	answering
	groups
)

func (g group) String() string {
	return [groups]string{"Move", "Travel in time", "Look", "Compare and search", "Ask", "Change", "Answer and leave"}[g]
}

// actionTable gives each action its name in the user's file, its help, its
// group, and what can disable it.
var actionTable = [actions]struct {
	name, help string
	group      group
	disabled   func(*Context) string
}{
	None: {name: "none", group: groups},

	MoveDown: {"move-down", "down", moving, nil},
	MoveUp:   {"move-up", "up", moving, nil},
	HalfDown: {"half-down", "half page down", moving, nil},
	HalfUp:   {"half-up", "half page up", moving, nil},
	PageDown: {"page-down", "page down", moving, nil},
	PageUp:   {"page-up", "page up", moving, nil},
	Top:      {"top", "first line", moving, nil},
	Bottom:   {"bottom", "last line", moving, nil},

	StepBack:    {"step-back", "step back", travelling, noSnapshot},
	StepForward: {"step-forward", "step forward", travelling, noSnapshot},
	Child:       {"child", "to child", travelling, noSnapshot},
	Parent:      {"parent", "to parent", travelling, noSnapshot},
	PrevBranch:  {"previous-branch", "previous branch, compaction", travelling, noBranch},
	NextBranch:  {"next-branch", "next branch, compaction", travelling, noBranch},
	PrevPrompt:  {"previous-prompt", "previous prompt", travelling, noTurn},
	NextPrompt:  {"next-prompt", "next prompt", travelling, noTurn},
	NextError:   {"next-error", "next error", travelling, noError},
	GoHead:      {"head", "follow head", travelling, noSnapshot},
	Across:      {"across", "sub-agent and back", travelling, noSnapshot},
	Play:        {"play", "play the session", travelling, noSnapshot},
	Faster:      {"faster", "play faster", travelling, nil},
	Slower:      {"slower", "play slower", travelling, nil},
	Scrubber:    {"scrubber", "line of time", travelling, noSnapshot},

	NextTab:      {"next-tab", "next tab", looking, nil},
	PrevTab:      {"previous-tab", "previous tab", looking, nil},
	ShowDiff:     {"show-diff", "diff tab", looking, nil},
	ShowState:    {"show-state", "state tab", looking, nil},
	ShowMessages: {"show-messages", "messages tab", looking, nil},
	ShowContext:  {"show-context", "context tab", looking, nil},
	ShowFiles:    {"show-files", "files tab", looking, nil},
	ShowResume:   {"show-resume", "resume tab", looking, nil},
	ShowInfo:     {"show-info", "info tab", looking, nil},
	Open:         {"open", "open", looking, nil},
	Fold:         {"fold", "fold", looking, nil},
	Unfold:       {"unfold", "unfold", looking, nil},
	FoldAll:      {"fold-all", "fold all", looking, nil},
	UnfoldAll:    {"unfold-all", "unfold all", looking, nil},
	NextChange:   {"next-change", "next change", looking, nil},
	PrevChange:   {"previous-change", "previous change", looking, nil},
	SideBySide:   {"side-by-side", "side by side", looking, nil},
	Sort:         {"sort", "sort rows", looking, nil},
	Group:        {"group", "group rows", looking, nil},
	NextMessage:  {"next-message", "next message", looking, nil},
	PrevMessage:  {"previous-message", "previous message", looking, nil},
	PrevRun:      {"previous-run", "previous run", looking, nil},
	NextRun:      {"next-run", "next run", looking, nil},
	ShowRaw:      {"show-raw", "raw text", looking, nil},
	OpenPicture:  {"open-picture", "open picture", looking, nil},
	TraceFile:    {"trace-file", "file across sessions", looking, nil},
	MoreContext:  {"more-context", "more context", looking, nil},
	LessContext:  {"less-context", "less context", looking, nil},
	Zoom:         {"zoom", "zoom", looking, nil},
	SplitLess:    {"split-less", "smaller timeline", looking, nil},
	SplitMore:    {"split-more", "larger timeline", looking, nil},
	Tokens:       {"tokens", "column of tokens", looking, noSnapshot},
	Lines:        {"lines", "column of changes", looking, noSnapshot},
	Days:         {"days", "cost by day", looking, nil},

	Mark:        {"mark", "mark", comparing, noSnapshot},
	ClearMark:   {"clear-mark", "clear mark", comparing, noMark},
	MarkSession: {"mark-session", "mark to compare", comparing, nil},
	ClearMarks:  {"clear-marks", "clear marks", comparing, func(c *Context) string { return unless(c.Marked > 0, "no session is marked") }},
	CompareRuns: {"compare-runs", "compare marked", comparing, func(c *Context) string { return unless(c.Marked > 1, "mark two sessions or more first") }},
	Compare:     {"compare", "diff", comparing, noSnapshot},
	CompareHead: {"compare-head", "diff with head", comparing, noOther},
	Search:      {"search", "search", comparing, nil},
	SearchNext:  {"search-next", "next match", comparing, noSearch},
	SearchPrev:  {"search-previous", "previous match", comparing, noSearch},

	Why:       {"why", "why it failed", asking, noSnapshot},
	History:   {"history", "history of value", asking, noSnapshot},
	PrevSet:   {"previous-set", "value's previous change", asking, noSnapshot},
	NextSet:   {"next-set", "value's next change", asking, noSnapshot},
	Blame:     {"blame", "who set what", asking, nil},
	FindWhere: {"find-where", "find where true", asking, noSnapshot},
	Bisect:    {"bisect", "bisect from mark", asking, noMarked},
	Watch:     {"watch", "watch value", asking, noSnapshot},
	Answers:   {"answers", "last answers", asking, noAnswers},
	SetLabel:  {"label", "label, note", asking, noSnapshot},
	GoLabel:   {"go-label", "go to label", asking, noLabels},

	Restore:       {"restore", "restore", changing, noSnapshot},
	Fork:          {"fork", "fork", changing, noSnapshot},
	Continue:      {"continue", "continue elsewhere", changing, noSnapshot},
	Edit:          {"edit", "edit and fork", changing, noSnapshot},
	EditState:     {"edit-state", "edit whole state", changing, nil},
	EditMessage:   {"edit-message", "edit message", changing, nil},
	EditResult:    {"edit-result", "edit tool result", changing, nil},
	EditValue:     {"edit-value", "edit value", changing, nil},
	EditAgain:     {"edit-again", "edit again", changing, nil},
	Discard:       {"discard", "discard the edit", changing, nil},
	Run:           {"run", "run from here", changing, noSnapshot},
	Repair:        {"repair", "repair", changing, nil},
	Undo:          {"undo", "undo", changing, nil},
	Redo:          {"redo", "redo", changing, nil},
	Journal:       {"journal", "journal", changing, nil},
	Purge:         {"purge", "purge", changing, nil},
	PurgeRedacted: {"purge-redacted", "purge redacted", changing, nil},
	PurgeAll:      {"purge-all", "purge all kept", changing, nil},
	Yank:          {"yank", "copy", changing, noSnapshot},
	YankID:        {"yank-id", "copy id", changing, nil},
	YankValue:     {"yank-value", "copy value", changing, nil},
	YankPath:      {"yank-path", "copy path", changing, nil},
	YankCall:      {"yank-call", "copy resume call", changing, nil},
	YankResume:    {"yank-resume", "copy resume payload", changing, nil},
	Share:         {"share", "share without secrets", changing, nil},
	ShareSession:  {"share-session", "share session", changing, nil},
	SharePath:     {"share-path", "share path", changing, nil},
	ShareBranch:   {"share-branch", "share branch", changing, nil},
	ShareRange:    {"share-range", "share from mark", changing, nil},

	Widen:       {"widen", "search wider", comparing, nil},
	Narrow:      {"narrow", "search narrower", comparing, nil},
	Regexp:      {"regexp", "regexp", comparing, nil},
	Accept:      {"accept", "accept", answering, nil},
	Other:       {"other", "other answer", answering, nil},
	Yes:         {"yes", "yes", answering, nil},
	No:          {"no", "no", answering, nil},
	PlanDetails: {"plan-details", "whole plan", answering, nil},
	HideTour:    {"hide-tour", "hide the tour", answering, func(c *Context) string { return unless(c.Tour, "no tour shows") }},
	Help:        {"help", "help", answering, nil},
	Details:     {"details", "whole message", answering, func(c *Context) string { return unless(c.Message, "there is no message") }},
	Reload:      {"reload", "read again", answering, nil},
	Back:        {"back", "back", answering, nil},
	Redraw:      {"redraw", "redraw", answering, nil},
	Suspend:     {"suspend", "suspend", answering, nil},
	Quit:        {"quit", "quit", answering, nil},
}

// String returns the action's name as the user's file has it.
func (a Action) String() string { return actionTable[a].name }

// Help describes the action in at most three words.
func (a Action) Help() string { return actionTable[a].help }

func (a Action) group() group { return actionTable[a].group }

// Context decides which actions make sense just now.
type Context struct {
	// Lacks maps each action that the store does not support to the reason.
	Lacks map[Action]string
	// Snapshot says that a snapshot is selected, Mark that one is marked.
	Snapshot, Mark bool
	// Branches says that the timeline has branches.
	Branches bool
	// Turns says that the session has turns.
	Turns bool
	// Errors says that a snapshot has an error, Head that the head is selected.
	Errors, Head bool
	// Marked is how many sessions of the list are marked.
	Marked int
	// Search says that there is something to search for again.
	Search bool
	// Answers says that a question was asked.
	Answers bool
	// Labels says that a snapshot has a label.
	Labels bool
	// Message says that a message stands in the last line.
	Message bool
	// Tour says that the tour of the demo shows.
	Tour bool
}

// WhyDisabled returns the reason for which an action can do nothing just now, in a
// few words, or "" if it can.
func (a Action) WhyDisabled(c Context) string {
	if why := c.Lacks[a]; why != "" {
		return why
	}
	if why := actionTable[a].disabled; why != nil {
		return why(&c)
	}
	return ""
}

func noSnapshot(c *Context) string { return unless(c.Snapshot, "no snapshot is selected") }
func noMark(c *Context) string     { return unless(c.Mark, "no snapshot is marked") }
func noMarked(c *Context) string   { return first(noSnapshot(c), noMark(c)) }
func noBranch(c *Context) string {
	return unless(c.Branches, "the session has no branches or compactions")
}
func noTurn(c *Context) string  { return unless(c.Turns, "the session has no turns") }
func noError(c *Context) string { return unless(c.Errors, "no snapshot has an error") }
func noOther(c *Context) string {
	return first(noSnapshot(c), unless(!c.Head, "the head is selected"))
}
func noSearch(c *Context) string { return unless(c.Search, "nothing was searched for yet") }

func noLabels(c *Context) string { return unless(c.Labels, "no snapshot has a label") }

func noAnswers(c *Context) string { return unless(c.Answers, "nothing was asked yet") }

func unless(ok bool, reason string) string {
	if ok {
		return ""
	}
	return reason
}

// first returns the first reason that there is.
func first(reasons ...string) string {
	for _, r := range reasons {
		if r != "" {
			return r
		}
	}
	return ""
}

// bindings are the keys that Hindcast comes with: those that people's hands
// know from less, vim, lazygit, undotree and fx.
var bindings = []struct {
	scope  Scope
	action Action
	keys   []string
}{
	{Global, Quit, []string{"ctrl+c"}},
	{Global, Suspend, []string{"ctrl+z"}},
	{Global, Redraw, []string{"ctrl+l"}},

	{Browse, MoveDown, []string{"j", "down"}},
	{Browse, MoveUp, []string{"k", "up"}},
	{Browse, HalfDown, []string{"ctrl+d"}},
	{Browse, HalfUp, []string{"ctrl+u"}},
	{Browse, PageDown, []string{"ctrl+f", "pgdown"}},
	{Browse, PageUp, []string{"ctrl+b", "pgup"}},
	{Browse, Top, []string{"g", "home"}},
	{Browse, Bottom, []string{"G", "end"}},
	{Browse, Help, []string{"?"}},
	{Browse, Back, []string{"q", "esc"}},

	{Picker, Open, []string{"enter", "l", "right"}},
	{Picker, Search, []string{"/"}},
	{Picker, Fold, []string{"h", "left", "-"}},
	{Picker, Unfold, []string{"+"}},
	{Picker, FoldAll, []string{"H"}},
	{Picker, UnfoldAll, []string{"L"}},
	{Picker, Sort, []string{"s"}},
	{Picker, Group, []string{"tab"}},
	{Picker, Days, []string{"t"}},
	{Picker, MarkSession, []string{" "}},
	{Picker, ClearMarks, []string{"M"}},
	{Picker, CompareRuns, []string{"D"}},
	{Picker, Reload, []string{"f5"}},
	{Picker, YankCall, []string{"y"}},
	{Picker, Details, []string{"v"}},
	{Picker, Undo, []string{"u"}},
	{Picker, Redo, []string{"ctrl+r"}},
	{Picker, Journal, []string{"O"}},
	{Picker, Repair, []string{"R"}},
	{Picker, Restore, []string{"r"}},

	{Runs, Open, []string{"enter"}},
	{Runs, PrevRun, []string{"h", "left"}},
	{Runs, NextRun, []string{"l", "right"}},
	{Runs, PrevChange, []string{"("}},
	{Runs, NextChange, []string{")"}},
	{Runs, Reload, []string{"f5"}},
	{Runs, Details, []string{"v"}},

	{Session, Reload, []string{"f5"}},
	{Session, Details, []string{"v"}},
	{Session, Why, []string{"!"}},
	{Session, StepBack, []string{"[", ","}},
	{Session, StepForward, []string{"]", "."}},
	{Session, Child, []string{"J"}},
	{Session, Parent, []string{"K"}},
	{Session, PrevBranch, []string{"{"}},
	{Session, NextBranch, []string{"}"}},
	{Session, NextError, []string{"E"}},
	{Session, GoHead, []string{"@"}},
	{Session, Across, []string{"o"}},
	{Session, Scrubber, []string{"p"}},
	{Session, NextTab, []string{"tab"}},
	{Session, PrevTab, []string{"shift+tab"}},
	{Session, ShowDiff, []string{"1"}},
	{Session, ShowState, []string{"2"}},
	{Session, ShowMessages, []string{"3"}},
	{Session, ShowContext, []string{"4"}},
	{Session, ShowFiles, []string{"5"}},
	{Session, ShowResume, []string{"6"}},
	{Session, ShowInfo, []string{"7"}},
	{Session, Zoom, []string{"z"}},
	{Session, SplitLess, []string{"ctrl+left", "ctrl+up"}},
	{Session, SplitMore, []string{"ctrl+right", "ctrl+down"}},
	{Session, Tokens, []string{"t"}},
	{Session, Lines, []string{"c"}},
	{Session, Mark, []string{"="}},
	{Session, ClearMark, []string{"M"}},
	{Session, Compare, []string{"d"}},
	{Session, CompareHead, []string{"D"}},
	{Session, Search, []string{"/"}},
	{Session, SearchNext, []string{"n"}},
	{Session, SearchPrev, []string{"N"}},
	{Session, History, []string{"b"}},
	{Session, PrevSet, []string{"<"}},
	{Session, NextSet, []string{">"}},
	{Session, FindWhere, []string{"F"}},
	{Session, Bisect, []string{"B"}},
	{Session, Watch, []string{"w"}},
	{Session, Answers, []string{"8"}},
	{Session, SetLabel, []string{"m"}},
	{Session, GoLabel, []string{"'"}},
	{Session, Restore, []string{"r"}},
	{Session, Fork, []string{"f"}},
	{Session, Continue, []string{"C"}},
	{Session, Edit, []string{"e"}},
	{Session, Run, []string{"x"}},
	{Session, Repair, []string{"R"}},
	{Session, Undo, []string{"u"}},
	{Session, Redo, []string{"ctrl+r"}},
	{Session, Journal, []string{"O"}},
	{Session, Yank, []string{"y"}},
	{Session, HideTour, []string{"T"}},

	{Timeline, Open, []string{"enter"}},
	{Timeline, Play, []string{" "}},
	{Timeline, Faster, []string{"+"}},
	{Timeline, Slower, []string{"-"}},
	{Timeline, PrevPrompt, []string{"("}},
	{Timeline, NextPrompt, []string{")"}},
	{Timeline, Fold, []string{"h", "left"}},
	{Timeline, Unfold, []string{"l", "right"}},
	{Timeline, FoldAll, []string{"H"}},
	{Timeline, UnfoldAll, []string{"L"}},

	{Tab, Open, []string{"enter", " "}},
	{Tab, Fold, []string{"h", "left"}},
	{Tab, Unfold, []string{"l", "right"}},
	{Tab, FoldAll, []string{"H"}},
	{Tab, UnfoldAll, []string{"L"}},

	{Diff, NextChange, []string{")"}},
	{Diff, PrevChange, []string{"("}},
	{Diff, MoreContext, []string{"+"}},
	{Diff, LessContext, []string{"-"}},
	{Diff, SideBySide, []string{"s"}},

	{State, Blame, []string{"a"}},

	{Messages, NextMessage, []string{")"}},
	{Messages, PrevMessage, []string{"("}},
	{Messages, ShowRaw, []string{"R"}},
	{Messages, OpenPicture, []string{"o"}},

	{Files, TraceFile, []string{"s"}},

	{ContextTab, NextMessage, []string{")"}},
	{ContextTab, PrevMessage, []string{"("}},

	{Overlay, Accept, []string{"enter"}},
	{Overlay, Undo, []string{"u"}},
	{Overlay, Redo, []string{"ctrl+r"}},

	{Manual, Search, []string{"/"}},

	{Written, Purge, []string{"P"}},

	{Menu, Accept, []string{"enter"}},
	{Menu, YankID, []string{"i"}},
	{Menu, YankValue, []string{"v"}},
	{Menu, YankPath, []string{"p"}},
	{Menu, YankCall, []string{"c"}},
	{Menu, YankResume, []string{"r"}},
	{Menu, Share, []string{"s"}},

	{EditMenu, Accept, []string{"enter"}},
	{EditMenu, EditState, []string{"s"}},
	{EditMenu, EditMessage, []string{"m"}},
	{EditMenu, EditResult, []string{"t"}},
	{EditMenu, EditValue, []string{"v"}},

	{PurgeMenu, Accept, []string{"enter"}},
	{PurgeMenu, PurgeRedacted, []string{"r"}},
	{PurgeMenu, PurgeAll, []string{"a"}},

	{ShareMenu, Accept, []string{"enter"}},
	{ShareMenu, ShareSession, []string{"s"}},
	{ShareMenu, SharePath, []string{"p"}},
	{ShareMenu, ShareBranch, []string{"b"}},
	{ShareMenu, ShareRange, []string{"m"}},

	{ContinueMenu, Accept, []string{"enter"}},

	{Broken, Accept, []string{"enter"}},
	{Broken, EditAgain, []string{"e"}},
	{Broken, Discard, []string{"D"}},

	{Confirm, Accept, []string{"enter"}},
	{Confirm, Other, []string{"h", "l", "left", "right"}},
	{Confirm, PlanDetails, []string{"tab"}},
	{Confirm, Yes, []string{"y"}},
	{Confirm, No, []string{"n"}},

	{Input, Accept, []string{"enter"}},
	{Input, Widen, []string{"tab"}},
	{Input, Narrow, []string{"shift+tab"}},
	{Input, Regexp, []string{"ctrl+r"}},
	{Input, Help, []string{"f1"}},
	{Input, Back, []string{"esc"}},
	{Input, MoveDown, []string{"down", "ctrl+n"}},
	{Input, MoveUp, []string{"up", "ctrl+p"}},
	{Input, PageDown, []string{"pgdown"}},
	{Input, PageUp, []string{"pgup"}},
	{Input, Quit, []string{"ctrl+c"}},
}
