package home

import (
	"context"
	"errors"

	"hindcast/store"
)

// Archive keeps the files of stores, so that sessions whose files are gone can still be read and put back. Its methods
// are safe for concurrent use.
type Archive interface {
	// Path returns where the archive is.
	Path() string
	// Keep keeps the files of a store.
	Keep(ctx context.Context, f store.Found) (Kept, error)
	// KeepRedacted is Keep, but hides the secrets of known shape in new bytes.
	KeepRedacted(ctx context.Context, f store.Found) (Kept, error)
	// ListGone returns the stores whose kept files are gone, some or all: each lists the sessions that are kept and that its tool has
	// no more, and its address begins with [KeptScheme]. They may be opened when the archive is closed.
	ListGone(ctx context.Context) ([]store.Found, error)
	// OpenKept opens all that is kept of a store, also of sessions that its tool still has: it plans a model.OpForget. The error is
	// fs.ErrNotExist if nothing of it is kept.
	OpenKept(ctx context.Context, f store.Found) (store.Store, error)
	// Verify reads all files of the archive. The error is that of the archive itself.
	Verify(ctx context.Context) (Verified, error)
	// Close lets go of the archive.
	Close() error
}

// ErrArchive: an archive cannot be read or written, whatever store is kept in it.
var ErrArchive = errors.New("the archive")

// KeptScheme begins the address of a store with the sessions that are kept and gone; behind it is the path of the store
// that had them.
const KeptScheme = "kept:"

// Kept counts the files of a store that were kept. Sizes are in bytes.
type Kept struct {
	// Files and Bytes count all files of the store. Changed counts the files that were read, because they are new or
	// other than they were kept. Gone counts the files that are missed for the first time.
	Files, Changed, Gone int
	Bytes                int64
	// Added counts the new bytes, and Stored the room that they take.
	Added, Stored int64
}

// Verified counts the files of an archive.
type Verified struct {
	Stores, Files, Gone int
	// Bytes is the size of all files, and Stored the room that they take.
	Bytes, Stored int64
	// Damaged names what cannot be read as it was kept, in order: the whole path of a file, or that of a database with the session whose
	// rows they are.
	Damaged []string
}
