// Package checkpoints makes a store out of a folder in which a framework keeps checkpoints
// as files of JSON, which name the one before. A kind says how a file is read,
// and how a checkpoint is put back, see [Format]. How files are listed, remembered, watched
// and changed, and how errors are worded, is here for all of them.
//
// A checkpoint is put back by a new file: a copy that the framework takes for the newest. No
// file is changed, and an undo takes the copy away.
package checkpoints

import (
	"time"

	"hindcast/model"
	"hindcast/store"
)

// Item is one snapshot, as its file tells it.
type Item struct {
	// Session is the name of the session.
	Session string
	// Header holds the facts of the file alone. TurnIndex may be model.TurnUnknown, and Index is
	// not set.
	model.Header
	// Opening is the title of a session that begins with the snapshot.
	Opening string
	// Own holds further notes of the kind.
	Own []byte
	// File is the file, named from the folder that was opened.
	File string
}

// Decoded is the content of a file.
type Decoded struct {
	Items []Item
	// Flaw describes the damage of the file, "" if it is intact. A file without items and without
	// a flaw does not belong to the kind.
	Flaw string
}

// Format is the part of a kind that is written in Go. Its methods are pure: the same files are the
// same snapshots.
type Format interface {
	// Is reports whether a file can be one of the kind's by its name, which is from the
	// folder that was opened.
	Is(name string) bool
	// Signs reports whether a file is one of the kind's, from its beginning: its name counts, too,
	// for a folder around the one that is meant has the same files, further down.
	Signs(name string, head []byte) bool
	// Decode returns the content of a file.
	Decode(name string, data []byte) Decoded
	// Arrange puts the items of a session in the order in which they were recorded, names
	// the parents that the files do not name, and returns the position of the head.
	Arrange(items []Item) (head int)
	// State returns the state of an item of a file.
	State(data []byte, of *Item) ([]byte, error)
	// Facts returns the facts of an item that its header lacks.
	Facts(data []byte, of *Item) model.Facts
	// Faults returns the faults of an arranged session.
	Faults(items []Item, head int) []model.Fault
	// Resume returns the calls that go on from an item, the best one first. dir is the
	// folder that was opened, as programs may name it; "" for the one they run in.
	Resume(dir string, of *Item) []model.Resume
	// Lacks returns why a session does not support an operation, "" if it does. The item is the
	// first item of the session.
	Lacks(op model.Op, of *Item) string
	// Restore returns the file that makes an item the head of its session. The error is a
	// *model.UnsupportedError where none does.
	Restore(p *Putting) (New, error)
	// Loads describes the state that the framework loads of a session after a plan.
	Loads(items []Item, head int) string
}

// Putting is an item that is to be put back.
type Putting struct {
	// Dir is the folder that was opened, by its whole name; "" where it is on no disk.
	Dir string
	// Items are the items of the session. At is the position of the restored item, and Head
	// the position of the head.
	Items    []Item
	At, Head int
	Data     []byte // of its file
	Now      time.Time
}

// Item returns the restored item.
func (p *Putting) Item() *Item { return &p.Items[p.At] }

// New is a file that is written.
type New struct {
	Name string
	Data []byte
	// Writes describes the file. Hazards and Asks warn of its consequences.
	Writes        string
	Hazards, Asks []string
}

// Kind describes a kind.
type Kind struct {
	// Name, Framework and IDs are documented at store.Kind and [store.Features].
	Name, Framework, IDs string
	// Own are the paths of the Own of [store.Features].
	Own []string
	// Depth is how many levels of folders below the one that is opened have files.
	Depth int
	// Unlisted describes how the framework treats a file that cannot be read.
	Unlisted string
	// Severity is how bad such a file is.
	Severity model.Severity
	// Notes names the notes of the kind; it changes with their content.
	Notes string
	// Temporary reports whether the framework writes a file of that name first and renames it later.
	Temporary func(name string) bool
	// Running warns of an agent that runs when a session is put back.
	Running string
	// Signed describes, from one file of the folder, why the folder was recognised.
	Signed string
	// Places is documented at store.Kind.
	Places func(store.Surroundings) []string
	Format Format
}
