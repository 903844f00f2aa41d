package disk

import (
	"os"

	"golang.org/x/sys/windows"
)

// asItself has nothing to say here.
const asItself = 0

// lock locks the first byte of a file. Closing the file, and so the end of the
// process, lets go of it.
func lock(f *os.File) error {
	const how = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, &windows.Overlapped{})
	if err == windows.ERROR_LOCK_VIOLATION || err == windows.ERROR_IO_PENDING {
		return ErrLocked
	}
	return err
}
