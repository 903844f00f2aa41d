package genkit

import (
	"sync"

	"hindcast/model"
	"hindcast/store/sdk"
)

// Codes of the faults. Those of the lineage are model's: FaultMissingParent,
// FaultForeignParent, FaultSelfParent, FaultParentCycle, FaultSeveralRoots,
// FaultEqualTime, FaultParentNewer.
const (
	// FaultRowFile: the file is no JSON, empty, cut off, or goes on behind the row.
	FaultRowFile = "row-file"
	// FaultRowShape: a member is not of the type that it has to be.
	FaultRowShape = "row-shape"
	// FaultBOM and FaultNotUTF8: how the text is encoded.
	FaultBOM     = "byte-order-mark"
	FaultNotUTF8 = "not-utf8"
	// FaultDuplicateKey: a key is there twice.
	FaultDuplicateKey = "duplicate-key"
	// FaultUnknownKey: a key that no SDK writes.
	FaultUnknownKey = "unknown-key"
	// FaultUnknownStatus and FaultUnknownFinish: values that no SDK writes.
	FaultUnknownStatus = "unknown-status"
	FaultUnknownFinish = "unknown-finish-reason"
	// FaultBigInteger: an integer in the state that is beyond 2^53.
	FaultBigInteger = "big-integer"
	// FaultTime: a time is not in the form of RFC 3339. FaultNoTime: the time of the row is missing or
	// zero.
	FaultTime   = "row-time"
	FaultNoTime = "no-time"
	// FaultTimeOrder: as texts the times are in another order than as times.
	FaultTimeOrder = "time-order"
	// FaultNoSession: the row names no session; or its state alone does.
	FaultNoSession = "no-session"
	// FaultSessionMismatch: the row and its state name two sessions.
	FaultSessionMismatch = "session-mismatch"
	// FaultName: an id that cannot be part of a path.
	FaultName = "invalid-name"
	// FaultNameMismatch: the file is not named after the snapshot in it.
	FaultNameMismatch = "name-mismatch"

	// FaultExpired: work whose worker has died.
	FaultExpired = "expired"
	// FaultAborting: a status that other SDKs do not know.
	FaultAborting = "aborting"
	// FaultFailedLeaf: a failed turn that JavaScript and Python go back from, and that
	// early versions of Go refuse.
	FaultFailedLeaf = "failed-leaf"
	// FaultAbortedEmpty: aborted before there was a state.
	FaultAbortedEmpty = "aborted-without-state"
	// FaultHeartbeat: a sign of life that was left behind by work that is over.
	FaultHeartbeat = "heartbeat-left"
	// FaultNoLeaf: each row is the parent of another.
	FaultNoLeaf = "no-leaf"

	// FaultPointerMissing, FaultPointerFile, FaultPointerDangling and
	// FaultPointerDisagrees are about the pointer of a session;
	// FaultPointerUnknown is a pointer of no session.
	FaultPointerMissing   = "pointer-missing"
	FaultPointerFile      = "pointer-file"
	FaultPointerDangling  = "pointer-dangling"
	FaultPointerDisagrees = "pointer-disagrees"
	FaultPointerUnknown   = "pointer-unknown-session"

	// FaultStray: a JSON file among the rows that is not a row.
	FaultStray = "stray-file"
	// FaultUnreadable: a file or folder that cannot be read.
	FaultUnreadable = "unreadable"
	// FaultSymlink: a link, which Hindcast does not follow.
	FaultSymlink = "symlink"
	// FaultLeftover: a temporary file of a writer that was killed.
	FaultLeftover = "leftover-file"
	// FaultJournal: a write of Hindcast's own that was broken off and cannot be
	// finished, or a journal that cannot be read.
	FaultJournal = "unfinished-write"
	// FaultTraces: traces that cannot be read, so that steps are missing.
	FaultTraces = "unreadable-traces"
)

// verdicts describe how the SDKs handle a fault, in the order of the layouts. The SDKs are Go 1.13.1
// (localstore/file.go, agent.go), JavaScript 1.42.0 (session-stores.ts, agent.ts), and Python 0.12.0
// (_file_store.py, _snapshot.py); versions.go describes earlier versions.
type verdicts [3]string

// sameVerdict is one verdict for all.
func sameVerdict(verdict string) verdicts { return verdicts{verdict, verdict, verdict} }

const (
	goUnread = "asked for by its id, it is an error; a search for the session's newest row passes it over"
	goPartly = "asked for by its id, it is an error; a search passes it over where createdAt or sessionId are wrong, " +
		"else it finds nothing if this is the newest row, and the session begins anew"
	jsUnread = "asked for by its id, it is a SyntaxError; without a good pointer, so is every search for a session in this folder"
	pyUnread = "asked for by its id, it is a ValidationError; a search for a session passes it over"
)

// judgeFault returns a fault with the verdict of the SDKs of a layout.
func (g *grouping) judgeFault(l layout, f model.Fault) model.Fault {
	v := sdk.Says(severities()[f.Code][l], known()[f.Code][l])
	if old, differs := earlier()[f.Code][l]; differs {
		v = v.WithRule(old.rule, old.verdict)
	}
	f = g.sdkVersions(l).WithVerdict(f, v)
	f.Verdict = "Genkit " + l.String() + ": " + f.Verdict
	return f
}

// severities are how bad the faults are, in the order of the layouts, where that is
// more than odd.
var severities = sync.OnceValue(func() map[string][3]model.Severity {
	return map[string][3]model.Severity{
		FaultRowFile:         {model.Loses, model.Loses, model.Loses},
		FaultBOM:             {model.Loses, model.Loses, model.Loses},
		FaultRowShape:        {model.Loses, model.Odd, model.Loses},
		FaultNotUTF8:         {model.Loses, model.Loses, model.Loses},
		FaultUnknownKey:      {model.Loses, model.Odd, model.Loses},
		FaultUnknownStatus:   {model.Odd, model.Loses, model.Loses},
		FaultUnknownFinish:   {model.Odd, model.Odd, model.Loses},
		FaultBigInteger:      {model.Loses, model.Loses, model.Odd},
		FaultTime:            {model.Loses, model.Odd, model.Odd},
		FaultNoTime:          {model.Odd, model.Loses, model.Loses},
		FaultTimeOrder:       {model.Odd, model.Loses, model.Loses},
		FaultName:            {model.Loses, model.Loses, model.Loses},
		FaultExpired:         {model.Stops, model.Loses, model.Loses},
		FaultAborting:        {model.Loses, model.Loses, model.Loses},
		FaultFailedLeaf:      {model.Odd, model.Loses, model.Loses},
		FaultAbortedEmpty:    {model.Stops, model.Loses, model.Loses},
		FaultNoLeaf:          {model.Odd, model.Stops, model.Stops},
		"foreign-parent":     {model.Odd, model.Loses, model.Loses},
		"self-parent":        {model.Odd, model.Stops, model.Stops},
		"parent-cycle":       {model.Odd, model.Stops, model.Stops},
		"parent-newer":       {model.Loses, model.Odd, model.Odd},
		FaultPointerMissing:  {model.Mended, model.Mended, model.Mended},
		FaultPointerFile:     {model.Mended, model.Mended, model.Mended},
		FaultPointerDangling: {model.Mended, model.Mended, model.Mended},
		FaultPointerUnknown:  {model.Loses, model.Stops, model.Odd},
		FaultStray:           {model.Odd, model.Loses, model.Odd},
		FaultUnreadable:      {model.Loses, model.Stops, model.Loses},
	}
})

var known = sync.OnceValue(func() map[string]verdicts {
	return map[string]verdicts{
		FaultRowFile: {goUnread, jsUnread, pyUnread},
		FaultBOM:     {goUnread, jsUnread, pyUnread},
		FaultRowShape: {goPartly,
			"loads; the value is used as it is",
			pyUnread},
		FaultNotUTF8: {"loads; what is not UTF-8 becomes U+FFFD, for good when the row is rewritten",
			"loads; what is not UTF-8 becomes U+FFFD, for good when the row is rewritten",
			"asked for by its id, it is a UnicodeDecodeError; a search for a session passes it over"},
		FaultDuplicateKey: sameVerdict("loads; the last one counts, and a rewrite drops the others"),
		FaultUnknownKey: {"loads; a rewrite of the row (an abort, a sign of life) drops the key",
			"loads, and keeps the key",
			"the model forbids it: " + pyUnread},
		FaultUnknownStatus: {"loads; it can be resumed with the state that it has",
			"loads; it is not completed, so a resume goes back to the last row that is",
			"the model forbids it: " + pyUnread},
		FaultUnknownFinish: {"loads", "loads", "the model forbids it: " + pyUnread},
		FaultBigInteger: {"loads; a number that is read into any is rounded to a float64, and the next row has the rounded one",
			"loads; the number is rounded, and the next row has the rounded one",
			"loads, exactly"},
		FaultTime: {goPartly, "loads; times are compared as texts", "loads; times are compared as texts"},
		FaultNoTime: {"loads; it is the oldest row of its session",
			"loads; a search never takes it for the newest",
			"missing, the row is refused: " + pyUnread + "; zero, it is the oldest row of its session"},
		FaultTimeOrder: {"orders by the instants, as here",
			"compares the texts: a search for the newest row may find another one",
			"compares the texts: a search for the newest row may find another one"},
		FaultNoSession: {"the store would not write it; it is found by its id only",
			"found by the session in its state; without that by its id only",
			"found by the session in its state; without that by its id only"},
		FaultSessionMismatch: {"the row's own session counts; resumed, the state's is overwritten by it",
			"the row's own session counts",
			"the row's own session counts"},
		FaultName: {"refused: an id may not be empty, begin with a dot, hold a slash, a backslash, \"..\" or a control character",
			"refused where it holds a slash, a backslash or NUL, or is \"..\"",
			"refused where it is no plain file name"},
		FaultNameMismatch: {"reads it by the name of the file and answers with the id in it; a search may find it for its session",
			"reads it by the name of the file and answers with the id in it; a search may find it for its session",
			"reads it by the name of the file and answers with the id in it; a search may find it for its session"},
		FaultExpired: {"shown as expired; resuming it is refused with FAILED_PRECONDITION, which names the parent",
			"pending is shown as expired, aborting is not; a resume goes back to the last completed row",
			"pending is shown as expired; a resume goes back to the last completed row"},
		FaultAborting: {"waits for the worker to record its state",
			"not a status that it knows; a resume goes back to the last completed row",
			"a resume goes back to the last completed row"},
		FaultFailedLeaf: {"resumed, and the next turn is its child",
			"cannot be resumed: the next turn starts from the last completed row, and this one stays behind as a dead end",
			"cannot be resumed: the next turn starts from the last completed row, and this one stays behind as a dead end"},
		FaultAbortedEmpty: {"refused with FAILED_PRECONDITION, which names the parent",
			"cannot be resumed: a resume goes back to the last completed row",
			"cannot be resumed: a resume goes back to the last completed row"},
		FaultHeartbeat: sameVerdict("loads; it is not looked at once the work is over"),
		FaultNoLeaf: {"loads: Go does not look for leaves",
			"a search for the session fails: \"" + noLeaf + "\"; with a good pointer it is not searched for",
			"a search for the session fails: \"" + noLeaf + "\""},

		"missing-parent": sameVerdict("loads: parents are for information; where a store prunes old rows this is how the oldest one looks"),
		"foreign-parent": {"loads: parents are for information",
			"loads; going back from a row that is not completed may lead into the other session",
			"loads; going back from a row that is not completed may lead into the other session"},
		"self-parent": {"loads: parents are for information; pruning stops here",
			"written by JavaScript 1.42 when detached work ends; alone and without its pointer the session fails: \"" + noLeaf +
				"\"; with maxPersistedChainLength the next save never returns",
			"it is no leaf; alone in its session it fails: \"" + noLeaf + "\""},
		"parent-cycle": {"loads: parents are for information; pruning stops where the circle closes",
			"none of them is a leaf; with maxPersistedChainLength a save never returns",
			"none of them is a leaf; going back stops where the circle closes"},
		"several-roots": sameVerdict("loads: which row is resumed does not depend on it"),
		"equal-time": {"the greater id counts as the newer",
			"the first name in the folder counts as the newer",
			"the greater id counts as the newer"},
		"parent-newer": {"loads; without a pointer the parent may be taken for the newest row",
			"loads: a parent is no leaf, whatever its time",
			"loads: a parent is no leaf, whatever its time"},

		FaultPointerMissing:   sameVerdict("goes through all rows of the folder, and writes the pointer anew"),
		FaultPointerFile:      sameVerdict("takes it for none: goes through all rows of the folder, and writes the pointer anew"),
		FaultPointerDangling:  sameVerdict("does not trust it: goes through all rows of the folder, and writes the pointer anew"),
		FaultPointerDisagrees: sameVerdict("trusts the pointer, and resumes the row that it names; the next new row moves it on"),
		FaultPointerUnknown: {"finds no row: the session begins anew under its id",
			"the session is not found",
			"there are no pointers: it is not looked at"},

		FaultStray:      {"passed over", "passed over if it is JSON; else every search for a session without a good pointer fails", "passed over"},
		FaultUnreadable: {goUnread, "every search for a session without a good pointer fails", pyUnread},
		FaultSymlink:    sameVerdict("follows it; Hindcast does not, and lists nothing of it"),
		FaultLeftover:   sameVerdict("ignored: a writer was stopped before it was done"),
	}
})
