package journal

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"sync"
	"time"

	"hindcast/model"
	"hindcast/store/media/disk"
)

// Change is one file that goes from one version to another.
type Change struct {
	Path   string           `json:"path"`
	Does   model.FileChange `json:"does"`
	Before Version          `json:"before,omitzero"`
	After  Version          `json:"after,omitzero"`
}

// Guard is something beside the changes that must stay as the plan saw it while
// the files change.
type Guard struct {
	// Path is a file that must keep its version, or a folder to which no names may
	// come and from which none may go but those of the changes.
	Path    string  `json:"path"`
	Version Version `json:"version,omitzero"`
	// Others is the SHA-256 of the other names of a folder, those not counted that
	// are ignored: each with a zero byte behind it, in order.
	Others string `json:"others,omitempty"`
}

// Entry is one write in the journal.
type Entry struct {
	model.JournalEntry
	// Head is the row that was the head after it, which need not be To: a write may make
	// a row of its own.
	Head string `json:"head,omitempty"`
	// Came are the names that came since the entry before, see [Draft.Rows].
	Came []Came `json:"came,omitempty"`
	// NewSession is set of a write that made one.
	NewSession string  `json:"newSession,omitempty"`
	Guards     []Guard `json:"guards,omitempty"`
	// Was is the kind's own record of its store as it was before the write, see
	// [Draft.Was].
	Was string `json:"was,omitempty"`
	// TakenBack says that it was not carried out to its end: it counts as undone, and
	// cannot be done again. An agent may have read the store in the middle of it.
	TakenBack bool `json:"-"`
	// parts hold the changes to files.
	parts []*Part
}

// Parts returns the changes to files, packed, see [Entry.AllChanges]. Entries that say the same
// of some files have one Part of them, as long as the journal is in memory.
func (e *Entry) Parts() []*Part { return e.parts }

// AllChanges returns the changes of the entry in the order in which they were made, and behind
// them those that do nothing: the files that it left as they were and whose contents it
// kept, see [Draft.Keep]. They are unpacked each time.
func (e *Entry) AllChanges() []Change { return unpackAll(e.parts, func(*Part) bool { return true }) }

// Changes returns the changes of the entry in the order in which they were made.
func (e *Entry) Changes() []Change { return unpackAll(e.parts, func(p *Part) bool { return !p.stays }) }

// Stays returns the changes of the entry that do nothing, in the order in which the kind
// named the files.
func (e *Entry) Stays() []Change { return unpackAll(e.parts, func(p *Part) bool { return p.stays }) }

// Options are the settings that a kind gives its journal.
type Options struct {
	// Ignore reports whether a name in a folder is not the kind's, such as that of
	// a file that is being written. Nil ignores none.
	Ignore func(name string) bool
	// Private says that a new file is readable by its owner alone. Else it is as those
	// beside it.
	Private bool
	// Now gives the time for the journal; nil is time.Now.
	Now func() time.Time
}

// Journal is that of one store. It is safe for concurrent use, by several
// processes too.
type Journal struct {
	disk disk.Disk
	// turner is the disk, if it is one; nil for any other.
	turner disk.Turner
	o      Options

	mu sync.Mutex
	// known is the history parsed from the journal when its file was as knownAs.
	known   *history
	knownAs fs.FileInfo
	parts   map[sum]*Part // of known
}

// New returns the journal of the store on a disk. Nothing is read or written.
func New(d disk.Disk, o Options) *Journal {
	if o.Ignore == nil {
		o.Ignore = func(string) bool { return false }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	turner, _ := d.(disk.Turner)
	return &Journal{disk: d, turner: turner, o: o}
}

// Entries returns what was written, the oldest first, each with whether it is undone
// just now, those included that were taken back before they ended. Undoing and redoing
// are not entries of their own. A store to which nothing was written has none. The list is the caller's, what is in it is not to be
// written to. The error is a DamagedError where records cannot be read: then the
// others are given as well.
func (j *Journal) Entries(ctx context.Context) ([]Entry, error) {
	h, err := j.readHistory()
	if err != nil {
		return nil, explainOutcome(err, unread)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return slices.Clone(h.entries), h.damageError()
}

// OpenEntry returns the write that was broken off and is not finished yet, with
// its changes; nil if every write ended. Another program may be making it just now.
func (j *Journal) OpenEntry(ctx context.Context) (*Entry, error) {
	h, err := j.readHistory()
	if err != nil {
		return nil, explainOutcome(err, unread)
	}
	if h.open == nil {
		return nil, ctx.Err()
	}
	return &h.openIntent().Entry, ctx.Err()
}

// Journal returns the entries as [store.Features].Journal does, newest first and without those that
// were taken back. The error is that of Entries.
func (j *Journal) Journal(ctx context.Context) ([]model.JournalEntry, error) {
	list, err := j.Entries(ctx)
	if damaged := (*DamagedError)(nil); err != nil && !errors.As(err, &damaged) {
		return nil, err
	}
	entries, files := make([]model.JournalEntry, 0, len(list)), map[*Part][]model.PlanFile{}
	for _, e := range slices.Backward(list) {
		if e.TakenBack {
			continue
		}
		e.Files = []model.PlanFile{}
		for _, p := range e.parts {
			if files[p] == nil && !p.stays {
				files[p] = planFiles(p.Changes())
			}
			e.Files = append(e.Files, files[p]...)
		}
		entries = append(entries, e.JournalEntry)
	}
	return entries, err
}

// planFiles returns changes as plans do.
func planFiles(changes []Change) []model.PlanFile {
	list := make([]model.PlanFile, 0, len(changes))
	for _, c := range changes {
		size := c.After.Size
		if c.After.None() {
			size = c.Before.Size
		}
		list = append(list, model.PlanFile{Path: c.Path, Does: c.Does, Size: size})
	}
	return list
}
