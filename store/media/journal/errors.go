package journal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"

	"hindcast/model"
	"hindcast/store/media/disk"
)

// ErrNoCarry: a plan is not one that this store made.
var ErrNoCarry = errors.New("the plan was not made by this store")

// ConflictError says that a file is not as the plan saw it. Nothing of the plan is
// done then.
type ConflictError struct {
	// Path is the file, or the folder whose names changed.
	Path string
	// Found says in a few words what became of it.
	Found string
	// Do advises another action; "" where there is nothing better than to look again.
	Do string
}

func (e *ConflictError) Error() string {
	do := e.Do
	if do == "" {
		do = "stop the agent, then plan again"
	}
	return fmt.Sprintf("%s %s since: another program writes to the session: %s", e.Path, e.Found, do)
}

// Is makes errors.Is(err, model.ErrHeadMoved) hold.
func (e *ConflictError) Is(target error) bool { return target == model.ErrHeadMoved }

// PurgedError says that a content is needed which is no longer kept.
type PurgedError struct {
	Path string // where it was
	// By is the entry that forgot it, 0 where none did.
	By int64
}

func (e *PurgedError) Error() string {
	if e.By != 0 {
		return fmt.Sprintf("what %s was is not kept any more: write %d purged it", e.Path, e.By)
	}
	return fmt.Sprintf("what %s was is not kept any more: it was removed from %s", e.Path, keptName)
}

// Is makes errors.Is(err, fs.ErrNotExist) hold.
func (e *PurgedError) Is(target error) bool { return target == fs.ErrNotExist }

// KeptError says that kept files are not what their names say: the drive damaged them,
// or they were written into, or taken one for another. What needs them is not written.
type KeptError struct {
	Names []string // below the store
}

func (e *KeptError) Error() string {
	return fmt.Sprintf("%s: not what its name, the SHA-256 of its content, says: put the true file back from a copy of the store, or move this one away; what needs it can then not be taken back", joinFew(e.Names))
}

// UnfinishedError says that a write was broken off and could be neither finished nor
// taken back. Its intent is in the journal: [Journal.Recover] ends it, or the next
// write.
type UnfinishedError struct {
	Entry int64
	Err   error
}

func (e *UnfinishedError) Error() string {
	return fmt.Sprintf("write %d is not finished: it will be when the store is opened next: %v", e.Entry, e.Err)
}

func (e *UnfinishedError) Unwrap() error { return e.Err }

// LeftError says that a write was broken off, and that some of it stays as it is: it
// could not be taken back, because what that needs is lost. The entry says so.
type LeftError struct {
	Entry int64
	Err   error
}

func (e *LeftError) Error() string {
	return fmt.Sprintf("write %d was broken off, and not all of it could be taken back: %v", e.Entry, e.Err)
}

func (e *LeftError) Unwrap() error { return e.Err }

// errCopy: a write that copies files was broken off. They are not kept until then.
var errCopy = errors.New("it was broken off before all files were copied")

// unread describes the outcome of a write when the journal could not be read.
const unread = "what was written is not known"

// explainOutcome adds to an error the outcome of the write, and a remedy.
func explainOutcome(err error, became string) error {
	if model.Unwritable(err) {
		return fmt.Errorf("journal: %w", &model.UnwritableError{Err: err, Became: became})
	}
	if do := remedyOf(err); do != "" {
		became += "; " + do
	}
	return fmt.Errorf("journal: %w (%s)", err, became)
}

// remedyOf returns advice on an error of the system, or "".
func remedyOf(err error) string {
	switch {
	case errors.Is(err, disk.ErrLocked):
		return "try again when it is done"
	case errors.Is(err, fs.ErrClosed):
		return "the store was closed: open it again"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, io.ErrShortWrite):
		return "the disk may be full: free some space and try again"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "too many files are open: close some programs, or raise the limit with ulimit -n"
	case errors.Is(err, syscall.EIO):
		return "the drive reports an error: save a copy of the store elsewhere first"
	case errors.Is(err, ErrFull):
		return "give " + fileName + " another name, and the next write begins a new one: nothing that is kept is lost, but what was written until now can then not be undone, and what it set aside no longer shows, until the file has its name back"
	case errors.As(err, new(*FormatError)):
		return "give " + fileName + " another name, and the next write begins a new one: what was written until now can then not be undone, and what it set aside no longer shows"
	case errors.Is(err, ErrTooMuch):
		return "restore to a snapshot that is nearer first"
	case errors.Is(err, disk.ErrSymlink):
		return "put the file or the folder itself in place of the link"
	case errors.Is(err, errors.ErrUnsupported):
		return "this file system cannot do what a safe write needs: copy the store to another"
	}
	return ""
}
