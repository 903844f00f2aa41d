package chat

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/filechange"
	"hindcast/model/request"
	"hindcast/store/engine"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
)

// Format reads what one coding agent writes. It is safe for concurrent use.
type Format interface {
	// Spots returns where the sessions of a storage are, as far as names tell.
	Spots(ctx context.Context, in engine.In) ([]Spot, error)
	// Spot returns where the session of such a [Spot.Name] is, whether it is there or not.
	Spot(name string) Spot
	// Glance returns the list's entry of a session, without reading all of a large one.
	Glance(in engine.In, at Spot) (Glance, error)
	// Read reads a session; a missing file is a session without entries. It returns an error if a file cannot
	// be read; damage in a file is a fault.
	Read(ctx context.Context, in engine.In, at Spot) (*Session, error)
	// Messages returns the messages that an entry of a session adds to a state.
	Messages(in engine.In, s *Session, e *Entry) ([]Message, error)
}

// Forker is a [Format] whose agent resumes a session that Hindcast made.
type Forker interface {
	Format
	// NewID returns the id of a new session: as, or a fresh id if as is "". The error describes the form of
	// ids if as has another form.
	NewID(as string) (string, error)
	// Fork returns the files of a new session that ends with an entry. The error is a
	// model.UnsupportedError where the agent could not go on from there.
	Fork(c Cut) (*Fork, error)
}

// Identifier is a [Format] whose files' names do not tell what the agent calls a session.
type Identifier interface {
	// ID returns the agent's id of the session, from the beginning of its file; "" if the beginning does not
	// have it. A file with an id counts as a session wherever it lies, if a person opened it. ID is called
	// once for a file that does not change.
	ID(in engine.In, at Spot) string
}

// Nested is a [Format] with sessions in the files of other sessions, which Spots does not return.
// [Session].Within lists them after a read, and [Glance].Within as far as it looks.
type Nested interface {
	// Within returns where the session "SESSION/NAME" is, in the file of SESSION; false where no
	// session has such a name.
	Within(session Spot, name string) (Spot, bool)
}

// Restorer is a [Format] whose agent keeps a pointer of its own to the head of a session, and
// goes on from whatever entry that names.
type Restorer interface {
	Format
	// Restore returns the steps that have the pointer name an entry, none where it is the
	// head already. The error is a model.UnsupportedError where the agent could not go on
	// from there.
	Restore(c Cut) (*Restored, error)
	// Lock returns the file that the agent holds locked while it writes to a session. It need
	// not be there.
	Lock(at Spot) string
}

// Sizer is a [Format] whose sessions have more files than Spots tells of.
type Sizer interface {
	// Small reports whether all of a session is quickly read for the list.
	Small(in engine.In, at Spot) bool
}

// Scattered is a [Format] whose sessions have files that no [Spot] names.
type Scattered interface {
	// Rest returns how many bytes these take in a session. It reads none of them.
	Rest(in engine.In, at Spot) int64
}

// Caller is a [Format] whose agent can be called at an entry with nothing written before.
type Caller interface {
	// Calls returns the calls that go on from an entry, the best one first.
	Calls(s *Session, e *Entry) []model.Resume
}

// Requester is a [Format] whose files have the requests of its agent.
type Requester interface {
	// Request returns the request that an entry is the answer to, without a Body where the files do not have it.
	Request(ctx context.Context, in engine.In, s *Session, answer *Entry) (request.Request, error)
}

// Copier is a [Format] whose agent keeps copies of the files that it changes.
type Copier interface {
	// Copies calls found with the changes that the copies of a session tell, in the order of its entries, until found
	// returns false.
	Copies(ctx context.Context, in engine.In, s *Session, found func(filechange.Copies) bool) error
}

// Spot is where a session is.
type Spot struct {
	// File is the file that tells it from all others, in the names of the storage.
	File string
	// More are its other files that names tell of, in order.
	More []string
	// ID is how the agent calls the session, with that of its parent before it where it is
	// that of a sub-agent: "SESSION/AGENT".
	ID string
	// Named says that the name of the file tells it for sure: no [Identifier] is asked.
	Named bool
	// Project is the folder that the session is about, as far as the names tell.
	Project string
	// Part tells it from the other sessions of its file, "" in a file of one. Then At is
	// when it changed last, and Size how many bytes it takes there: the file does not say.
	Part string
	At   time.Time
	Size int64
}

// Name returns the name that identifies the session in the storage: the file, and the part of it.
func (s *Spot) Name() string {
	if s.Part == "" {
		return s.File
	}
	return s.File + "#" + s.Part
}

// latestStamp returns the look of a session: that of the file that changed last, or of its part of
// one, which is never the same for sure.
func (s *Spot) latestStamp(in engine.In) (at tree.Stamp, err error) {
	if at, err = in.Stamp(s.File); err == nil && s.Part != "" && at.Kind != files.Nothing {
		at = tree.Stamp{Stamp: files.Stamp{Kind: at.Kind, Modified: s.At, Size: s.Size}}
	}
	size := at.Size // that of another file, or of a folder, is none of the session's
	for _, file := range s.More {
		more, err := in.Stamp(file)
		switch {
		case err != nil || at.Kind == files.Nothing || !more.Modified.After(at.Modified):
		case more.Kind == files.Directory:
			at.Modified = more.Modified
		default:
			at = more
		}
	}
	at.Size = size
	return at, err
}

// otherFiles returns the spots of the session's other files.
func (s *Spot) otherFiles() (list []Spot) {
	for _, file := range s.More {
		list = append(list, Spot{File: file})
	}
	return list
}

// Glance is the list's entry of a session. The texts are untrusted.
type Glance struct {
	// Title is the session's name, or what the user said first.
	Title string
	// Project is the folder that the session is about.
	Project string
	// Faults are known without reading all of the session, and Within are the sessions in its file, see
	// [Nested].
	Faults []model.Fault
	Within []Inner
}

// Inner is the session of a sub-agent in the file of the one that started it. The title is
// untrusted, "" where it is not known.
type Inner struct{ Name, Title string }

// Session is one conversation. It is not changed once it was read.
type Session struct {
	Spot  Spot
	Title string
	// Project is the folder that the session is about.
	Project string
	// Entries are in the order in which they were recorded.
	Entries []Entry
	// Head is the index of the entry that the agent would go on from, or -1.
	Head int
	// Pointed says that the agent's own pointer names the head, or names no entry.
	Pointed bool
	// Faults are the faults of the files.
	Faults []model.Fault
	// Within are the sessions in its file, see [Nested].
	Within []Inner
	// Own is the format's own data.
	Own any

	// agent wrote the session, and dir is the folder of the storage on the disk, or "".
	agent *Agent
	dir   string
	// ids holds the ids of the entries that were added, and before the index of the entry before each.
	ids    IDs
	before []int
	// at maps an id to the index of its entry, and parents has the index of each entry's parent or -1. Both
	// are filled in once all entries are known.
	at      map[string]int
	parents []int
	// tangled says that an entry is recorded before its parent: only then may the lineage run
	// in a circle.
	tangled bool
}

// Entry is a message that is complete, or another record that changes what the model reads.
type Entry struct {
	// ID and Parent are the agent's own; Parent is "" of a first one.
	ID, Parent string
	At         time.Time
	Said       Said
	// Event names an event that the role does not tell: "compaction".
	Event string
	// Turn is the turn that it is in, counted from 1, where the format counts them; else a turn
	// ends with each answer that calls no tool and does not go on.
	Turn int
	// GoesOn says of an answer that its turn does not end with it, though it calls no tool.
	GoesOn bool
	// Title is one line about the entry, if Said does not give it. It is untrusted. Note follows the title in
	// the entry's row.
	Title  string
	Note   string
	Marks  model.Marks
	Reason *model.Reason // why it is off the path where the format knows
	// Meta is as of the entry. Entries share it.
	Meta *Meta
	// File has the records that the entry is made of, and Records are where in it.
	File    string
	Records []Span
	// Context, if it is not nil, has the indexes of the entries whose messages are the state at this entry,
	// itself among them. A nil Context means the parent's state and this entry's messages.
	Context []int
	// Unsent says that the agent does not send the entry to the model: its messages are in its own state alone.
	Unsent bool
	// Version tells contents of one id apart where the records do not; "" else.
	Version string
	// Child is the session of the first sub-agent that the entry started, or ""; see Starts.
	Child string
	// Facts are further facts about the entry. The values are untrusted.
	Facts model.Facts
	// Own is the format's own data.
	Own any
}

// subAgent is the label of a session that an entry started.
const subAgent = "sub-agent"

// Starts notes that the entry started the session of a sub-agent. An answer may start several.
func (e *Entry) Starts(session string) {
	switch {
	case e.Child == "":
		e.Child = session
	case !e.hasStarted(session):
		e.Facts.Add(subAgent, session)
	}
}

// hasStarted reports whether the entry started the session of a sub-agent.
func (e *Entry) hasStarted(session string) bool {
	return slices.Contains(e.StartedSessions(), session)
}

// StartedSessions returns the sessions of the sub-agents that the entry started, in their order.
func (e *Entry) StartedSessions() (list []string) {
	if e.Child != "" {
		list = append(list, e.Child)
	}
	for _, f := range e.Facts {
		if f.Label == subAgent {
			list = append(list, f.Value)
		}
	}
	return list
}

// SkipUnsent takes the entries that are not sent out of the states behind them.
func (s *Session) SkipUnsent() {
	kept, unsent := 0, map[string]int{}
	for i := range s.Entries {
		e := &s.Entries[i]
		if before, is := unsent[e.Parent]; is && e.Context == nil && kept < MostKept {
			e.Context = append(s.SentEntries(s.Reads(before)), i)
			kept += len(e.Context)
		}
		if e.Unsent {
			unsent[e.ID] = i
		}
	}
}

// SentEntries returns the entries of a list that the agent sends to the model.
func (s *Session) SentEntries(entries []int) (list []int) {
	for _, i := range entries {
		if !s.Entries[i].Unsent {
			list = append(list, i)
		}
	}
	return list
}

// MostKept bounds the records that a format inspects to find which ones compactions keep: in some files each
// compaction keeps all records before it.
const MostKept = 5_000_000

// Role is who speaks.
type Role uint8

// The roles.
const (
	System Role = iota
	User
	Assistant
	Tool
	// Other is a role that Hindcast does not know.
	Other
)

var roles = [...]string{"system", "user", "assistant", "tool", "unknown"}

// RoleOf returns the role that messages name so, Other for another word.
func RoleOf(word string) Role {
	if i := slices.Index(roles[:Other], word); i >= 0 {
		return Role(i)
	}
	return Other
}

// String returns the role as messages name it.
func (r Role) String() string { return roles[r] }

// Meta holds the settings that a session ran with, in the words of the agent. The texts are untrusted.
type Meta struct {
	Model, Dir, Branch, Commit, Version, Mode string
}

// With returns the settings after a record with settings is, whose empty fields change nothing. It returns m
// itself if nothing changes, so that entries share it.
func (m *Meta) With(is Meta) *Meta {
	now := Meta{
		Model: cmp.Or(is.Model, m.Model), Dir: cmp.Or(is.Dir, m.Dir), Branch: cmp.Or(is.Branch, m.Branch),
		Commit: cmp.Or(is.Commit, m.Commit), Version: cmp.Or(is.Version, m.Version), Mode: cmp.Or(is.Mode, m.Mode),
	}
	if now == *m {
		return m
	}
	return &now
}

// workDir returns the folder in which the agent worked, "" where it is not known.
func (m *Meta) workDir() string {
	if m == nil {
		return ""
	}
	return m.Dir
}

// Span is where a record is in a file, in bytes.
type Span struct{ At, Len int64 }

// Cut describes a new session: the path to the entry To, under the id ID.
type Cut struct {
	In      engine.In
	Session *Session
	To      *Entry
	ID      string
	// Dir is the folder of the storage on the disk.
	Dir string
	// Op is the operation that needs it.
	Op model.Op
	// Gone is that of model.Change.
	Gone bool
}

// Fork is a session in the making.
type Fork struct {
	Spot  Spot
	Steps tree.Steps
	// Writes say what the files hold, and Hazards what comes of it.
	Writes, Hazards []string
	// Calls are the calls that resume the session.
	Calls []model.Resume
}

// Restored is a session that gets another head.
type Restored struct {
	Steps tree.Steps
	// Uses is documented at engine.Move.
	Uses map[string]string
	// Writes say what changes, and Hazards what comes of it.
	Writes, Hazards []string
	// Calls are the calls that go on from the new head.
	Calls []model.Resume
}

// Add adds an entry behind one that was added, by its position, and returns its own; -1 is behind
// none. Where another entry has its id, it gets one of its own.
func (s *Session) Add(e Entry, before int) (at int) {
	e.ID = s.ids.Take(e.ID)
	if before >= 0 {
		e.Parent = s.Entries[before].ID
	}
	s.Entries, s.before = append(s.Entries, e), append(s.before, before)
	return len(s.Entries) - 1
}

// GrowEntries makes room for as many more entries.
func (s *Session) GrowEntries(n int) {
	s.Entries, s.before = slices.Grow(s.Entries, n), slices.Grow(s.before, n)
}

// Before returns the index of the entry before the one at, or -1.
func (s *Session) Before(at int) int { return s.before[at] }

// pathTo returns the entries from the first to one, by their positions. One that the lineage
// comes to twice ends it.
func (s *Session) pathTo(to int) (list []int) {
	if len(s.parents) != len(s.Entries) { // it is being read
		s.findParents()
	}
	seen := make([]bool, len(s.Entries))
	for at := to; at >= 0 && !seen[at]; at = s.parents[at] {
		seen[at] = true
		list = append(list, at)
	}
	slices.Reverse(list)
	return list
}

// findParents finds the parents, whose ids are final.
func (s *Session) findParents() {
	s.at = make(map[string]int, len(s.Entries))
	for i := range s.Entries {
		s.at[s.Entries[i].ID] = i
	}
	s.parents = make([]int, len(s.Entries))
	for i := range s.Entries {
		s.parents[i] = -1
		if p, ok := s.at[s.Entries[i].Parent]; ok && p != i {
			s.parents[i] = p
			s.tangled = s.tangled || p > i
		}
	}
}

// isLinked reports whether each entry names an earlier one as its parent, or none.
func (s *Session) isLinked() bool {
	for i := range s.Entries {
		if s.parents[i] < 0 && s.Entries[i].Parent != "" {
			return false
		}
	}
	return !s.tangled
}

// finishEntries completes the entries once all of them are read. It makes duplicate ids unique, so that no entry is
// lost from view. It names the tools of results in titles, and marks the entries that the model no longer
// reads.
func (s *Session) finishEntries() {
	calls := map[string]*Call{}
	for i := range s.Entries {
		e := &s.Entries[i]
		for k := range e.Said.Calls {
			calls[e.Said.Calls[k].ID] = &e.Said.Calls[k]
		}
	}
	s.findParents()
	if _, unnamed := s.at[""]; unnamed || len(s.at) < len(s.Entries) {
		ids := IDs{}
		for i := range s.Entries {
			s.Entries[i].ID = ids.Take(s.Entries[i].ID)
		}
		s.findParents()
	}
	var said Opening
	for i := range s.Entries {
		e := &s.Entries[i]
		if slices.ContainsFunc(e.Said.Results, func(r Result) bool { return r.Inferred }) {
			e.Facts.Add("failure", "inferred from the exit code in the text of the result")
		}
		title, failed := e.Said.Title(calls, e.Meta.workDir())
		if e.Title = cmp.Or(e.Title, title); failed {
			e.Marks |= model.MarkError
		}
		if e.Note != "" {
			e.Title = strings.TrimSpace(e.Title + " (" + e.Note + ")")
		}
		said.addEntry(e)
	}
	s.Title = cmp.Or(s.Title, said.Title())
	s.markEvicted()
}

const (
	// EventCommand is the event of a command that a person typed and the program answers: "/model".
	EventCommand = "command"
	// EventUser is the event of a person's words. A format names it where the words are a command that the model answers.
	EventUser = "user input"
	// EventContext is the event of a message that the program wrote: "[Request interrupted by user]".
	EventContext = "context"
)

// StoredTitle returns a title that an agent stored, as the person typed it. It returns "" if the program
// wrote all of it, or if it matches one of the path.Match patterns of placeholders in none.
func StoredTitle(title string, none ...string) string {
	words, by := conversation.WordsTyped(title)
	words = conversation.Cut(conversation.OneLine(words), conversation.MaxTitle)
	if by == conversation.Wrapped || slices.ContainsFunc(none, func(pattern string) bool { is, _ := path.Match(pattern, words); return is }) {
		return ""
	}
	return words
}

// Opening gathers what a session may be called, in the order of its messages.
type Opening struct{ conversation.Openings }

// addEntry adds the words of an entry, except a sub-agent's task and texts that the program writes by itself.
func (o *Opening) addEntry(e *Entry) {
	if e.Reason != nil && e.Reason.Kind == model.ReasonSidechain {
		return
	}
	if e.Event == "" || e.Event == EventUser || e.Event == EventCommand {
		o.Say(e.Said)
	}
}

// Say adds what a message says.
func (o *Opening) Say(said Said) {
	switch {
	case said.Role == User:
		o.Add(said.Words, said.By)
	case said.Role == Assistant && len(said.Calls) == 0:
		o.Answer(said.Words)
	}
}

// markEvicted marks the entries on the way to the head that the model no longer reads.
func (s *Session) markEvicted() {
	reads := map[int]bool{}
	for _, i := range s.Reads(s.Head) {
		reads[i] = true
	}
	for _, i := range s.pathTo(s.Head) {
		if !reads[i] {
			s.Entries[i].Marks |= model.MarkEvicted
		}
	}
}

// At returns the index of an entry, or -1.
func (s *Session) At(id string) int {
	if len(s.parents) != len(s.Entries) { // it is being read
		return slices.IndexFunc(s.Entries, func(e Entry) bool { return e.ID == id })
	}
	if at, known := s.at[id]; known {
		return at
	}
	return -1
}

// Path returns the entries from the first to one.
func (s *Session) Path(to *Entry) (list []*Entry) {
	for _, i := range s.pathTo(s.At(to.ID)) {
		list = append(list, &s.Entries[i])
	}
	return list
}

// recordBytes returns how many bytes its records take.
func (s *Session) recordBytes() (bytes int64) {
	for i := range s.Entries {
		for _, r := range s.Entries[i].Records {
			bytes += r.Len
		}
	}
	return bytes
}

// IsHead reports whether the agent would go on from an entry.
func (s *Session) IsHead(e *Entry) bool { return s.Head >= 0 && s.Entries[s.Head].ID == e.ID }

// Fault notes what is wrong with the file of the session, at a place of it, and returns that.
func (s *Session) Fault(code string, severity model.Severity, place, meaning, verdict string) *model.Fault {
	s.Faults = append(s.Faults, model.Fault{Code: code, Severity: severity, File: s.Spot.File, Path: place, Meaning: meaning, Verdict: verdict})
	return &s.Faults[len(s.Faults)-1]
}

// OnHeadPath reports whether an entry is on the way to the head.
func (s *Session) OnHeadPath(e *Entry) bool {
	if s.Head < 0 {
		return false
	}
	for _, i := range s.pathTo(s.Head) {
		if s.Entries[i].ID == e.ID {
			return true
		}
	}
	return false
}
