// Package disk is the file layer beneath every write to a store that is a folder
// of files. It is a small interface, so that the same code that restores a
// session can be run on a disk that fails at the n-th call, is killed there, or
// loses in a power failure what was not synced; see package disktest.
//
// What is durable: the bytes that Create and Append were given, once they are
// done; those that Copy copied after Flush; that a name stands for a file, or no longer does, after Sync of the
// folder. Until then both may or may not survive, each by itself and in any order;
// only what Rename, Place or Exchange moves is never in neither place.
//
// No symbolic link is ever followed: not to a file, and to no folder on the way,
// wherever it leads. Only the folder that a disk is opened at may be one. Nothing
// waits for the other end of a pipe.
package disk

import (
	"errors"
	"fmt"
	"io/fs"
)

// MaxSize bounds the files that are read whole, in bytes.
const MaxSize = 256 << 20

var (
	// ErrLocked: another process, or another part of this one, has the lock.
	ErrLocked = errors.New("another process is writing here")
	// ErrSymlink: a name is a symbolic link, or leads through one.
	ErrSymlink = errors.New("a symbolic link, which is not followed")
	// ErrNotRegular: it is a folder, a pipe, a device.
	ErrNotRegular = errors.New("not a regular file")
	// ErrChanged: a name is not as it was when it was looked at.
	ErrChanged = errors.New("another program changed it")
	// ErrTooLarge: the file is larger than MaxSize.
	ErrTooLarge = fmt.Errorf("larger than %d MiB", MaxSize>>20)
)

// Disk is a folder with everything below it. Names are slash-separated, relative and
// clean, see [fs.ValidPath]; any other name is fs.ErrInvalid. An error is one of this
// package, or a *fs.PathError or *os.LinkError of the file system with the names below
// the folder; after Close it is fs.ErrClosed. A Disk is safe for concurrent use.
type Disk interface {
	// Lstat looks at what a name stands for; a link is looked at itself.
	Lstat(name string) (fs.FileInfo, error)
	// SameFile reports whether two looks were at the same file, whatever became of
	// its name and its bytes in between.
	SameFile(a, b fs.FileInfo) bool
	// Names lists a folder, in order.
	Names(dir string) ([]string, error)
	// Read reads a regular file whole. The errors are ErrNotRegular, ErrSymlink and
	// ErrTooLarge.
	Read(name string) ([]byte, error)
	// Load reads as Read does, into buf as far as it is large enough, and looks at
	// the file that it reads. buf may be nil.
	Load(name string, buf []byte) ([]byte, fs.FileInfo, error)
	// Create makes a file with the bytes and the mode, whatever the umask is, and
	// makes the bytes durable; fs.ErrExist if the name is taken. When it fails, what
	// was made of the file is removed again as far as that works.
	Create(name string, data []byte, mode fs.FileMode) error
	// Append adds the bytes to the end of a file, in one write, and makes them
	// durable. After an error some of them may be there, also as others.
	Append(name string, data []byte) error
	// Copy makes a file with the bytes and the time of another and the mode, whatever
	// the umask is; fs.ErrExist if the name is taken. The two share nothing that a write into one of
	// them changes in the other. The bytes are durable after Flush. When it fails, what
	// was made of the file is removed again as far as that works.
	Copy(old, new string, mode fs.FileMode) error
	// Flush makes the bytes of many files durable, as Sync does for each of them.
	Flush(names []string) error
	// Rename renames a file, replacing any file at the new name.
	Rename(old, new string) error
	// Place renames a file or a folder; fs.ErrExist if that is taken.
	// Where the system cannot do so at once, it looks first.
	Place(old, new string) error
	// Exchange swaps what two names stand for, at once. The error is
	// errors.ErrUnsupported where the system cannot.
	Exchange(a, b string) error
	// Mkdir makes a folder with the mode, whatever the umask is; fs.ErrExist if the
	// name is taken.
	Mkdir(name string, mode fs.FileMode) error
	// Remove removes a file or an empty folder.
	Remove(name string) error
	// Sync makes a file's bytes or a folder's names durable.
	Sync(name string) error
	// Lock takes the lock of a file, which is made if it is missing, and returns
	// the function that releases it. The system lets go of it when the process ends. The
	// error is ErrLocked if another process has it, and errors.ErrUnsupported where
	// there are no locks.
	Lock(name string) (unlock func() error, err error)
}

// Turner is a Disk that changes a name atomically, and only if the name is as it was seen: a
// bucket, which refuses a request whose condition does not hold. So a write never has to put
// another program's file back. A folder exists as long as it has entries.
type Turner interface {
	Disk
	// Keep copies a file that is still as it was to another name, replacing any file there.
	// The error is ErrChanged if it has changed.
	Keep(name string, was fs.FileInfo, as string) error
	// Turn puts what another file holds at a name, and removes the file where from is "". was is a look at
	// the file that has the name, nil where it is free. The error is ErrChanged where that is
	// not so any more; then nothing changed.
	Turn(name string, was fs.FileInfo, from string) error
	// Width returns how many calls at once are worth it.
	Width() int
}
