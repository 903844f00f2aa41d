package model

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"syscall"
	"time"
)

// Op is a kind of change that Hindcast makes to a store.
type Op string

const (
	// OpRestore makes a snapshot the head of its session again.
	OpRestore Op = "restore"
	// OpFork starts a new session from a snapshot.
	OpFork Op = "fork"
	// OpUndo takes back the last operation that is not undone.
	OpUndo Op = "undo"
	// OpRedo does the last undone operation again.
	OpRedo Op = "redo"
	// OpEdit starts a new session from a snapshot whose state was changed.
	OpEdit Op = "edit"
	// OpConvert makes a session of another kind of store in this one.
	OpConvert Op = "convert"
	// OpContinue starts a session from the conversation in a snapshot of another tool.
	OpContinue Op = "continue"
	// OpImport takes rows in, as they are.
	OpImport Op = "import"
	// OpRepair mends what keeps the framework from starting a session.
	OpRepair Op = "repair"
	// OpPurge forgets for good what Hindcast had set aside. It cannot be undone.
	OpPurge Op = "purge"
	// OpRun lets a process that is running go on from a snapshot.
	OpRun Op = "run"
	// OpGiveBack puts the files of a session back that is kept, where they were.
	OpGiveBack Op = "give back"
	// OpForget removes a kept session from the user's archive. It cannot be undone.
	OpForget Op = "forget"
)

// MakesSession reports whether the operation starts a new session and leaves
// every other as it is, so that to undo it is to take that session away.
func (op Op) MakesSession() bool {
	return op == OpFork || op == OpEdit || op == OpConvert || op == OpContinue
}

// Plan is exactly what an operation will do, computed before anything is
// written. Applying it refuses with [ErrHeadMoved] when the session is no
// longer at its Head.
type Plan struct {
	Op Op
	// Session is the session that changes; for a fork, the one that is read.
	Session string
	// Others are the other sessions that change: those of an import that is undone, or of a conversion of several.
	Others []string
	// NewSession is the session that a fork makes, or a repair where the framework changes none in place.
	NewSession string
	// Branch is the branch of the session that a fork makes instead, in kinds that name
	// branches.
	Branch string
	// Removes says that the session goes with everything in it: an undo of its creation.
	Removes bool
	// Final says that nothing takes back what the plan does: an undo takes away what came from elsewhere, or
	// the files that are given back are in no journal.
	Final bool
	// Target is the snapshot that becomes the head, or the one whose state a new head has.
	Target Point
	// NewHead says that a new snapshot becomes the head: with the state of the target, or what a repair makes of it.
	NewHead bool
	// Head is the head that the plan was made against.
	Head Point
	// Orphans are the visits that leave the active path, Reactivates those
	// that come back to it, both in index order.
	Orphans     []Point
	Reactivates []Point
	// Writes lists each file or table that changes, in order, in words.
	Writes []string
	// Files are the files that change, in the order in which they do; none where
	// the store is not one of files.
	Files []PlanFile
	// Carries counts the parts of a continued conversation that go over, that change and that stay behind.
	Carries []string
	// Loads describes the state that the framework will load next and the call that resumes.
	Loads string
	// Resume are the calls by which the framework goes on from there, the best
	// one first.
	Resume []Resume
	// Hazards are warnings that the person must see before saying yes.
	Hazards []string
	// Asks are the reasons to think twice, such as tool calls that would run again. To
	// carry the plan out is to have said yes to each.
	Asks []string
	// Entry is the journal entry that an undo or a redo is about, else 0.
	Entry int64
	// Carry holds the data that the store needs to carry out its plan. Nothing else reads it. A plan
	// without it is only for reading.
	Carry any
}

// FileChange is the change that a plan makes to a file.
type FileChange string

// The changes of files.
const (
	// FileMade: a folder that is not there yet.
	FileMade FileChange = "make"
	// FileWritten: a file that is not there yet.
	FileWritten FileChange = "write"
	// FileCopied: a file that is not there yet, with the content of another.
	FileCopied FileChange = "copy"
	// FileReplaced: another content takes the place of the one that is kept.
	FileReplaced FileChange = "replace"
	// FileSetAside: the file leaves its place and is kept beside the store.
	FileSetAside FileChange = "set aside"
	// FilePutBack: a file that was kept takes its place again.
	FilePutBack FileChange = "put back"
	// FileForgotten: what was kept is deleted for good.
	FileForgotten FileChange = "forget"
)

// Idle reports whether there is nothing to do, because what the plan is to bring
// about is so already. A run always does something, though Hindcast writes nothing.
func (p *Plan) Idle() bool { return p.Op != OpRun && len(p.Writes) == 0 && len(p.Files) == 0 }

// CanBeUndone reports whether an undo takes back what the plan does. What is forgotten is gone for good, and the tools of a run
// have done what they do.
func (p *Plan) CanBeUndone() bool {
	return p.Op != OpPurge && p.Op != OpForget && p.Op != OpRun && !p.Final
}

// PlanFile is one file or folder that a plan changes.
type PlanFile struct {
	// Path is below the store's address, with slashes.
	Path string     `json:"path"`
	Does FileChange `json:"does"`
	// Size is that of the file, in bytes, after the change if there is one then;
	// 0 of a folder.
	Size int64 `json:"size"`
}

// Resume is a call that goes on from where a plan leads.
type Resume struct {
	// Call is the expression that a program calls, such as `agent(None)`.
	Call string `json:"call"`
	// Then describes the effect: "the model answers the tool results".
	Then string `json:"then"`
}

// Point is one visit of a session. Its zero value is the head of a session without
// snapshots.
type Point struct {
	ID    string `json:"id"`
	Index int    `json:"index"`
	Visit int64  `json:"visit,omitempty"`
	// Name is the visit's name, set by [Timeline.NamePlan].
	Name string `json:"name,omitempty"`
	// drawn is the place of the visit among the snapshots as they are drawn, from
	// 1; 0 where it has no name.
	drawn int
}

// Point returns the visit that the header is of.
func (h Header) Point() Point { return Point{ID: h.ID, Index: h.Index, Visit: h.Visit} }

// String returns the visit's name, or its index if it has no name.
func (p Point) String() string { return nameOr(p.Name, p.Index) }

// Ref returns the reference to a point of the plan's session.
func (p *Plan) Ref(at Point) Ref { return Ref{Session: p.Session, ID: at.ID, Visit: at.Visit} }

// Receipt describes a completed write.
type Receipt struct {
	// Entry is the number of the journal entry, 0 where nothing had to be written
	// or the store keeps no journal.
	Entry int64
	Op    Op
	// Session is the session that now has Head as its head.
	Session string
	Head    Point
	// Orphaned and Reactivated count the visits that moved.
	Orphaned, Reactivated int
}

// JournalEntry is one of Hindcast's own writes to a store.
type JournalEntry struct {
	ID      int64     `json:"id"`
	At      time.Time `json:"at"`
	Op      Op        `json:"op"`
	Session string    `json:"session"`
	// Others are the other sessions that an import or a conversion of several changed.
	Others []string `json:"others,omitempty"`
	// From and To are the heads of Session before and after.
	From      string `json:"from"`
	FromIndex int    `json:"fromIndex"`
	To        string `json:"to"`
	ToIndex   int    `json:"toIndex"`
	// Undone says that the entry is taken back just now.
	Undone bool `json:"undone"`
	// Broken says why the write was broken off and everything of it taken back; "" if it was finished.
	Broken string `json:"broken,omitempty"`
	// Files lists the files that the write changed, in the order of writing; nil if the store has no files,
	// or does not tell.
	Files []PlanFile `json:"files,omitempty"`
}

// UnsupportedError says that a store cannot do an operation, and why, in words
// that fit behind the key that is disabled.
type UnsupportedError struct {
	Op     Op
	Reason string
}

func (e *UnsupportedError) Error() string { return fmt.Sprintf("cannot %s: %s", e.Op, e.Reason) }

// UnwritableError says that the system does not let a store be written, and what to do.
type UnwritableError struct {
	// Err is the system's: syscall.EROFS or fs.ErrPermission.
	Err error
	// Became describes the outcome of the write.
	Became string
}

// Unwritable reports whether an error of a write is the system's refusal of all writes.
func Unwritable(err error) bool {
	return errors.Is(err, syscall.EROFS) || errors.Is(err, fs.ErrPermission)
}

func (e *UnwritableError) Error() string {
	do := "the store must be writable: run Hindcast as its owner, or change its permissions"
	if errors.Is(e.Err, syscall.EROFS) {
		do = "the file system is read-only: copy the store to one that is not"
	}
	return fmt.Sprintf("%v (%s; %s)", e.Err, e.Became, do)
}

func (e *UnwritableError) Unwrap() error { return e.Err }

// NothingToError says that there is nothing to undo or to redo.
type NothingToError struct{ Op Op }

func (e *NothingToError) Error() string { return fmt.Sprintf("nothing to %s", e.Op) }

// PlanKind is the topic of a line of a plan.
type PlanKind uint8

// The kinds of lines, in the order in which people decide by them: what is at stake,
// where the head goes and what that does to the path, what it does to the state, how
// the agent goes on, and what is written.
const (
	// PlanAsks: a reason to think twice before a yes.
	PlanAsks PlanKind = iota
	// PlanWarning: what a person must see before a yes.
	PlanWarning
	// PlanHeadNow: the head before the plan is carried out.
	PlanHeadNow
	// PlanHeadThen: the head after it.
	PlanHeadThen
	// PlanStart: the snapshot that a new session starts at.
	PlanStart
	// PlanUntouched: the session that stays as it is.
	PlanUntouched
	// PlanLeaves: visits that leave the active path.
	PlanLeaves
	// PlanReturns: visits that come back to it.
	PlanReturns
	// PlanState: how the state changes.
	PlanState
	// PlanCarries: the parts that go over to another tool.
	PlanCarries
	// PlanLoads: what the framework loads next.
	PlanLoads
	// PlanResume: a call by which it goes on.
	PlanResume
	// PlanSDK: the version of the SDK that the plan holds for.
	PlanSDK
	// PlanWrites: what is written, in words.
	PlanWrites
	// PlanFiles: neighbouring files to which the same happens.
	PlanFiles
)

// planLabels are the words of the kinds. A line of files is labelled by its change.
var planLabels = [...]string{
	PlanAsks:      "asks",
	PlanWarning:   "warning",
	PlanHeadNow:   "head now",
	PlanHeadThen:  "head then",
	PlanStart:     "starts at",
	PlanUntouched: "untouched",
	PlanLeaves:    "leaves path",
	PlanReturns:   "comes back",
	PlanState:     "state",
	PlanCarries:   "carries",
	PlanLoads:     "loads",
	PlanResume:    "resume",
	PlanSDK:       "sdk",
	PlanWrites:    "writes",
}

// PlanLine is one line of a plan as people read it.
type PlanLine struct {
	Kind PlanKind
	// Does is the change to the files of a line of files, else "".
	Does FileChange
	// Text may hold names out of the data; it is not escaped.
	Text string
}

// Label returns the word or two that stand before the text.
func (l PlanLine) Label() string {
	if l.Kind == PlanFiles {
		return string(l.Does)
	}
	return planLabels[l.Kind]
}

// Headline says in one line what the plan does. Names in it are not escaped.
func (p *Plan) Headline() string {
	target := p.Target
	switch p.Op {
	case OpFork:
		if p.Branch != "" {
			return fmt.Sprintf("fork %s from %s as the branch %s", p.Session, target, p.Branch)
		}
		return fmt.Sprintf("fork %s from %s as %s", p.Session, target, p.NewSession)
	case OpEdit:
		return fmt.Sprintf("fork %s from an edited %s as %s", p.Session, target, p.NewSession)
	case OpConvert:
		if p.Session == p.NewSession {
			return "convert " + AndOthers(p.Session, p.Others)
		}
		return fmt.Sprintf("convert %s as %s", p.Session, p.NewSession)
	case OpContinue:
		return fmt.Sprintf("continue %s from %s as %s", p.Session, target, p.NewSession)
	case OpUndo, OpRedo:
		return fmt.Sprintf("%s write %d on %s", p.Op, p.Entry, AndOthers(p.Session, p.Others))
	case OpRepair, OpPurge, OpGiveBack, OpForget:
		if p.NewSession != "" {
			return fmt.Sprintf("%s %s as %s", p.Op, p.Session, p.NewSession)
		}
		return fmt.Sprintf("%s %s", p.Op, p.Session)
	case OpRun:
		return fmt.Sprintf("run %s from %s", p.Session, target)
	}
	return fmt.Sprintf("%s %s to %s", p.Op, p.Session, target)
}

// AndOthers names a session, and says how many others there are. The name is not
// escaped.
func AndOthers(session string, others []string) string {
	if len(others) == 0 {
		return session
	}
	return session + " and " + Count(len(others), "other session")
}

// Lines returns the whole plan and the lines that are added to it, in the order of
// their kinds, without those that have no text. Visits that are drawn one below the
// other share a line.
func (p *Plan) Lines(more ...PlanLine) []PlanLine {
	lines := append(FileLines(p.Files), more...)
	add := func(kind PlanKind, texts ...string) {
		for _, text := range texts {
			lines = append(lines, PlanLine{Kind: kind, Text: text})
		}
	}
	add(PlanAsks, p.Asks...)
	add(PlanWarning, p.Hazards...)
	now, then := p.Head.withID(), p.Target.withID()
	switch {
	case p.Op == OpConvert || p.Op == OpContinue:
		add(PlanUntouched, AndOthers(p.Session, p.Others))
	case p.Op == OpGiveBack && p.NewSession != "":
		add(PlanStart, then)
	case p.NewSession != "" || p.Branch != "":
		add(PlanStart, then)
		add(PlanUntouched, p.Session+" stays at "+now)
	case p.Op == OpPurge, p.Op == OpGiveBack, p.Op == OpForget:
	default:
		switch {
		case p.Removes:
			then = "none, the session is gone"
		case p.NewHead && p.Op == OpRepair:
			then = "a new snapshot, made of " + then
		case p.NewHead:
			then = "a new snapshot, with the state of " + then
		}
		add(PlanHeadNow, now)
		add(PlanHeadThen, then)
	}
	add(PlanLeaves, planRanges(p.Orphans)...)
	add(PlanReturns, planRanges(p.Reactivates)...)
	add(PlanCarries, p.Carries...)
	add(PlanWrites, p.Writes...)
	add(PlanLoads, p.Loads)
	for _, r := range p.Resume {
		add(PlanResume, r.Call+"  "+r.Then)
	}
	lines = slices.DeleteFunc(lines, func(l PlanLine) bool { return l.Text == "" })
	slices.SortStableFunc(lines, func(a, b PlanLine) int { return cmp.Compare(a.Kind, b.Kind) })
	return lines
}

// FileLines returns the files of a plan or a journal entry as people read them.
// Neighbours of one folder to which the same happens share a line, with the first
// and the last of them: a log may have 10,000 messages.
func FileLines(list []PlanFile) (lines []PlanLine) {
	for len(list) > 0 {
		first, n, size := list[0], 1, list[0].Size
		for n < len(list) && list[n].Does == first.Does && path.Dir(list[n].Path) == path.Dir(first.Path) {
			size += list[n].Size
			n++
		}
		text := first.Path
		if n > 1 {
			text = fmt.Sprintf("%s … %s (%d files)", first.Path, path.Base(list[n-1].Path), n)
		}
		if size > 0 {
			text = fmt.Sprintf("%s, %s", text, AppendSize(nil, size))
		}
		lines = append(lines, PlanLine{PlanFiles, first.Does, text})
		list = list[n:]
	}
	return lines
}

// mostRanges bounds the lines that list the visits which leave the path, or come
// back to it.
const mostRanges = 8

// PlanRange is a run of visits of a plan: the first, the last and their number.
type PlanRange struct {
	First, Last Point
	Len         int
}

// String returns the names of the first and the last.
func (r PlanRange) String() string {
	if r.Len == 1 {
		return r.First.String()
	}
	return r.First.String() + " … " + r.Last.String()
}

// PlanRanges returns the runs of the visits: those that are drawn one below the other,
// with indexes that rise, are one. Where the items have no names, indexes that follow
// each other are a run.
func PlanRanges(items []Point) (runs []PlanRange) {
	items = slices.Clone(items)
	slices.SortStableFunc(items, func(a, b Point) int { return a.drawn - b.drawn })
	follows := func(a, b *Point) bool {
		if a.drawn == 0 || b.drawn == 0 {
			return b.Index == a.Index+1
		}
		return b.drawn == a.drawn+1 && b.Index > a.Index
	}
	for len(items) > 0 {
		n := 1
		for n < len(items) && follows(&items[n-1], &items[n]) {
			n++
		}
		runs, items = append(runs, PlanRange{items[0], items[n-1], n}), items[n:]
	}
	return runs
}

// planRanges lists visits in text, a run in a line.
func planRanges(items []Point) (lines []string) {
	left := len(items)
	for _, run := range PlanRanges(items) {
		switch {
		case len(lines) == mostRanges:
			return append(lines, fmt.Sprintf("and %d more snapshots", left))
		case run.Len == 1:
			lines = append(lines, run.First.withID())
		default:
			lines = append(lines, fmt.Sprintf("%s, %d snapshots", run, run.Len))
		}
		left -= run.Len
	}
	return lines
}

// withID returns the visit's name with the beginning of its id, "none" for the zero
// value.
func (p Point) withID() string {
	if p.ID == "" {
		return "none"
	}
	return p.String() + " " + ShortID(p.ID, 8)
}

// nameOr returns a name, or the index if the name is empty.
func nameOr(name string, index int) string {
	if name == "" {
		return fmt.Sprintf("#%d", index)
	}
	return name
}

// NamePlan names the visits of a plan. The timeline is that of the
// plan's session before the plan is carried out. A visit that it does not have
// stays without a name.
func (t *Timeline) NamePlan(p *Plan) {
	type key struct {
		id    string
		visit int64
	}
	wanted := map[key]*Point{}
	for _, list := range [][]Point{p.Orphans, p.Reactivates} {
		for i := range list {
			wanted[key{list[i].ID, list[i].Visit}] = &list[i]
		}
	}
	drawn := 0
	for _, code := range t.rows {
		n := code.at()
		if code.kind() != RowNode {
			continue
		}
		if !t.IsStep(n) {
			drawn++
		}
		h := t.Header(n)
		// A point without a visit means the latest visit, which is drawn last.
		for _, visit := range []int64{h.Visit, 0} {
			item := wanted[key{h.ID, visit}]
			for _, point := range []*Point{item, &p.Target, &p.Head} {
				if point != nil && point.ID == h.ID && point.Visit == visit && point.Index == h.Index {
					point.Name, point.drawn = t.Name(n), drawn
				}
			}
		}
	}
}
