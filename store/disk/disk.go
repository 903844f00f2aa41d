// Package disk is the file layer beneath every write to a store that is a folder
// of files. It is a small interface, so that the same code that restores a
// session can be run on a disk that fails at the n-th call, is killed there, or
// loses in a power failure what was not synced; see package disktest.
//
// What is durable: the bytes of a file after Sync of the file; that a name stands
// for a file, or no longer does, after Sync of the folder. Until then both may or
// may not survive, each by itself and in any order.
//
// The package may not know what is in a file.
package disk

import (
	"io/fs"
)

// Disk is a folder and what is below it. Names are slash-separated, relative and
// clean, as [fs.ValidPath] has them; whatever leads outside is refused. Errors
// are those of the file system, as a *fs.PathError or *os.LinkError with the name
// below the root. It is safe for concurrent use.
type Disk interface {
	// Lstat looks at what a name stands for; links are not followed.
	Lstat(name string) (fs.FileInfo, error)
	// Names lists a folder, in order.
	Names(dir string) ([]string, error)
	// Read reads a regular file whole.
	Read(name string) ([]byte, error)
	// Create makes a file with the bytes and the mode; fs.ErrExist if the name is
	// taken. When it fails, what was made of the file is removed again as far as
	// that works.
	Create(name string, data []byte, mode fs.FileMode) error
	// Append adds the bytes to the end of a file, in one write. A part of them may
	// be there after an error.
	Append(name string, data []byte) error
	// Link gives a file a second name; fs.ErrExist if that is taken.
	Link(old, new string) error
	// Rename gives a file another name, in place of what has that name.
	Rename(old, new string) error
	// Exchange swaps what two names stand for, at once. The error is
	// errors.ErrUnsupported where the system cannot.
	Exchange(a, b string) error
	// Mkdir makes a folder; fs.ErrExist if the name is taken.
	Mkdir(name string, mode fs.FileMode) error
	// Remove removes a file or an empty folder.
	Remove(name string) error
	// Sync makes a file's bytes or a folder's names durable.
	Sync(name string) error
	// Lock takes the lock of a file, which is made if it is missing, and gives
	// what lets go of it. The system lets go of it when the process ends. The
	// error is ErrLocked if somebody else has it.
	Lock(name string) (unlock func() error, err error)
}
